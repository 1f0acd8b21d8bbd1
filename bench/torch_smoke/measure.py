"""Stable fluids in PyTorch at f32 (see run.py): seconds per step, forward and with the gradient in the first state.

As a user of PyTorch would write it: velocities at the lower faces of cells, advection by `grid_sample`, buoyancy, and a projection
by conjugate gradients that stop at a relative residual, whose backward pass is the same solve. Arrays have the axes in reverse, as
`grid_sample` wants them: the first axis of the grid is the last of an array.
"""

import json
import pathlib
import sys
import time

import torch
import torch.nn.functional as F

# Repetitions at most, and seconds of a case after which there are no more.
ROUNDS = 5
ENOUGH = 6.0


def along(u: torch.Tensor, axis: int) -> int:
    """The dimension of an array for an axis of the grid."""
    return u.dim() - 1 - axis


def upper(u: torch.Tensor, axis: int) -> torch.Tensor:
    """Values one cell further up along an axis, zero at the wall."""
    dim = along(u, axis)
    zero = torch.zeros_like(u.narrow(dim, 0, 1))
    return torch.cat([u.narrow(dim, 1, u.shape[dim] - 1), zero], dim)


def lower(u: torch.Tensor, axis: int) -> torch.Tensor:
    """Values one cell further down; those of the first cell are not used."""
    return u.roll(1, along(u, axis))


def open_faces(u: torch.Tensor, axis: int) -> torch.Tensor:
    """The velocity with zero at the lower wall."""
    dim = along(u, axis)
    return torch.cat([torch.zeros_like(u.narrow(dim, 0, 1)), u.narrow(dim, 1, u.shape[dim] - 1)], dim)


def apply(x: torch.Tensor) -> torch.Tensor:
    """A x: sums of differences from the neighbors."""
    out = torch.zeros_like(x)
    for dim in range(x.dim()):
        d = x.diff(dim=dim)
        n = d.shape[dim]
        out.narrow(dim, 1, n).add_(d)
        out.narrow(dim, 0, n).sub_(d)
    return out


class Solve(torch.autograd.Function):
    """x = A⁻¹ b by conjugate gradients; A is symmetric, so the backward pass is the same."""

    tolerance = 1e-5
    most_iterations = 0

    @staticmethod
    def solve(b: torch.Tensor) -> torch.Tensor:
        x, r = torch.zeros_like(b), b.clone()
        p, rr = r.clone(), torch.dot(r.flatten(), r.flatten())
        enough = Solve.tolerance**2 * rr.item()
        iterations = 0
        while rr.item() > enough and iterations < 2000:
            image = apply(p)
            alpha = rr / torch.dot(p.flatten(), image.flatten())
            x.add_(p * alpha)
            r.sub_(image * alpha)
            following = torch.dot(r.flatten(), r.flatten())
            p.mul_(following / rr).add_(r)
            rr = following
            iterations += 1
        Solve.most_iterations = max(Solve.most_iterations, iterations)
        return x

    @staticmethod
    def forward(_, b: torch.Tensor) -> torch.Tensor:
        return Solve.solve(b)

    @staticmethod
    def backward(_, x_bar: torch.Tensor) -> torch.Tensor:
        return Solve.solve(x_bar)


class Smoke:
    def __init__(self, case: dict):
        self.axes, self.n = case["dimensions"], case["cells"]
        self.scale, self.rise = case["dt"] / case["spacing"], case["dt"] * case["buoyancy"]
        shape = (self.n,) * self.axes
        places = torch.meshgrid(*[torch.arange(self.n, dtype=torch.float32)] * self.axes, indexing="ij")
        self.places = list(reversed(places))  # by axis of the grid
        self.cells = shape

    def velocity_at(self, u: list[torch.Tensor], face: int | None) -> list[torch.Tensor]:
        """Velocities where a field stands: at centers of cells or at lower faces along an axis."""
        out = []
        for b, v in enumerate(u):
            if face is None:
                out.append(0.5 * (v + upper(v, b)))
            elif face == b:
                out.append(v)
            else:
                both = v + upper(v, b)
                out.append(0.25 * (both + lower(both, face)))
        return out

    def advect(self, field: torch.Tensor, u: list[torch.Tensor], face: int | None) -> torch.Tensor:
        # The upper wall is a face too.
        sizes = [self.n] * self.axes
        if face is not None:
            pad = [0, 0] * self.axes
            pad[2 * face + 1] = 1
            field, sizes[face] = F.pad(field, pad), self.n + 1
        traced = []
        for b, v in enumerate(self.velocity_at(u, face)):
            place = self.places[b] - self.scale * v
            traced.append(place * (2.0 / (sizes[b] - 1)) - 1.0)
        grid = torch.stack(traced, -1)[None]
        return F.grid_sample(field[None, None], grid, padding_mode="border", align_corners=True)[0, 0]

    def project(self, u: list[torch.Tensor]) -> list[torch.Tensor]:
        divergence = sum(upper(v, a) - v for a, v in enumerate(u))
        q = Solve.apply(-divergence)
        return [open_faces(v - (q - lower(q, a)), a) for a, v in enumerate(u)]

    def step(self, u: list[torch.Tensor], density: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
        moved = self.advect(density, u, None)
        pushed = [open_faces(self.advect(v, u, a), a) for a, v in enumerate(u)]
        up = self.axes - 1
        pushed[up] = open_faces(pushed[up] + self.rise * 0.5 * (moved + lower(moved, up)), up)
        return self.project(pushed), moved


def measure(case: dict) -> dict:
    smoke, count = Smoke(case), case["cells"] ** case["dimensions"]
    fields = torch.tensor(case["start"], dtype=torch.float32).split(count)
    fields = [f.reshape(smoke.cells).clone() for f in fields]
    target = torch.tensor(case["target"], dtype=torch.float32).reshape(smoke.cells)
    Solve.tolerance, Solve.most_iterations = case["tolerance"], 0

    def run(fields: list[torch.Tensor]) -> torch.Tensor:
        u, density = list(fields[:-1]), fields[-1]
        for _ in range(case["steps"]):
            u, density = smoke.step(u, density)
        return (density - target).square().sum() / target.square().sum()

    def forward() -> None:
        with torch.no_grad():
            run(fields)

    def gradient() -> tuple[float, float]:
        leaves = [f.clone().requires_grad_() for f in fields]
        loss = run(leaves)
        loss.backward()
        return loss.item(), sum(f.grad.square().sum().item() for f in leaves) ** 0.5

    loss, length = gradient()
    best = {"forward": float("inf"), "gradient": float("inf")}
    begun = time.perf_counter()
    for done in range(ROUNDS):
        if done > 0 and time.perf_counter() - begun > ENOUGH:
            break
        for name, what in (("forward", forward), ("gradient", gradient)):
            start = time.perf_counter()
            what()
            best[name] = min(best[name], (time.perf_counter() - start) / case["steps"])
    return best | {"loss": loss, "gradient_length": length, "iterations": Solve.most_iterations}


def main() -> None:
    torch.set_num_threads(int(sys.argv[2]))
    cases = json.loads(pathlib.Path(sys.argv[1]).read_text())
    found = {case["name"]: measure(case) for case in cases}
    print(json.dumps({"version": f"PyTorch {torch.__version__}", "cases": found}))


if __name__ == "__main__":
    main()
