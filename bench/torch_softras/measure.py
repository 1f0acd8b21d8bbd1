"""Seconds of the processor for a soft silhouette and its gradient in PyTorch, on one thread at f32 (see run.py).

As a user would write SoftRas: every pixel meets every face, in chunks of pixels so that memory stays bounded. With d the distance of
a pixel to the outline of a face, D = sigmoid(+-d^2 / sigma), alpha = 1 - prod (1 - D), and the loss is the mean of (alpha - target)^2.
"""

import json
import pathlib
import sys
import time

import torch

torch.set_num_threads(1)
# Products of pixels and faces in one chunk.
CHUNK = 1 << 22


def cross(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def to_segment(p: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Squared distances of points (n, 1, 2) to segments (faces, 2)."""
    along, off = b - a, p - a
    t = ((off * along).sum(-1) / along.square().sum(-1).clamp_min(1e-12)).clamp(0, 1)
    return (off - t[..., None] * along).square().sum(-1)


def silhouette(p: torch.Tensor, corners: torch.Tensor, sigma: float) -> torch.Tensor:
    p = p[:, None]
    a, b, c = corners.unbind(1)
    square = torch.minimum(torch.minimum(to_segment(p, a, b), to_segment(p, b, c)), to_segment(p, c, a))
    sides = [cross(b - a, p - a), cross(c - b, p - b), cross(a - c, p - c)]
    inside = torch.stack([s >= 0 for s in sides]).all(0) | torch.stack([s <= 0 for s in sides]).all(0)
    x = torch.where(inside, square, -square) / sigma
    return 1 - torch.exp(torch.nn.functional.logsigmoid(-x).sum(-1))


class Case:
    def __init__(self, case: dict, camera: dict) -> None:
        self.size, self.sigma = case["size"], case["sigma"]
        self.vertices = torch.tensor(case["mesh"]["vertices"], dtype=torch.float32)
        self.faces = torch.tensor(case["mesh"]["faces"])
        self.scale, self.distance = camera["half_height"], camera["distance"]
        centers = (torch.arange(self.size) + 0.5) / self.size * 2 - 1
        y, x = torch.meshgrid(-centers, centers, indexing="ij")
        self.pixels = torch.stack([x, y], -1).reshape(-1, 2)
        self.target = torch.tensor(case["target"], dtype=torch.float32)
        self.chunk = max(1, CHUNK // len(self.faces))

    def corners(self, vertices: torch.Tensor) -> torch.Tensor:
        # The camera looks down the axis of z.
        depth = self.distance - vertices[:, 2:]
        return (vertices[:, :2] / (depth * self.scale))[self.faces]

    def forward(self) -> torch.Tensor:
        with torch.no_grad():
            corners = self.corners(self.vertices)
            return torch.cat([silhouette(p, corners, self.sigma) for p in self.pixels.split(self.chunk)])

    def gradient(self) -> torch.Tensor:
        vertices = self.vertices.clone().requires_grad_()
        corners = self.corners(vertices)
        held = corners.detach().requires_grad_()
        for p, target in zip(self.pixels.split(self.chunk), self.target.split(self.chunk)):
            ((silhouette(p, held, self.sigma) - target).square().sum() / len(self.target)).backward()
        corners.backward(held.grad)
        return vertices.grad


def best(run, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    given = json.loads(pathlib.Path(sys.argv[1]).read_text())
    rows = []
    for one in given["cases"]:
        if not one["dense"]:
            continue
        case = Case(one, given["camera"])
        heavy = case.size**2 * len(case.faces) > 20_000_000
        repeats = 2 if heavy else 5
        alpha, gradient = case.forward(), case.gradient()
        forward = best(case.forward, repeats)
        both = best(case.gradient, repeats)
        rows.append(
            {"name": one["name"], "forward": forward, "backward": both - forward, "alpha": alpha.tolist(), "gradient": gradient.flatten().tolist()}
        )
    print(json.dumps({"version": f"PyTorch {torch.__version__}", "cases": rows}))


if __name__ == "__main__":
    main()
