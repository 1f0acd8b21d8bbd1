"""Seconds of the networks of one epoch of SAPO in PyTorch, on one thread at f32 (see run.py).

As a user would write them: modules of linear layers, LayerNorm and SiLU. The actor runs forward over the horizon and back from
a given cotangent of its outputs, with the gradient of its inputs; both critics give values at every step; then they are fitted
by mean squares with AdamW and clipped gradients.
"""

import json
import pathlib
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
EPOCHS = 10


def mlp(sizes: list[int]) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(inputs, outputs), nn.LayerNorm(outputs), nn.SiLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def main() -> None:
    s = json.loads(pathlib.Path(sys.argv[1]).read_text())
    actor = mlp([s["observation"], *s["actor"], 2 * s["actions"]])
    critics = [mlp([s["observation"], *s["critic"], 1]) for _ in range(s["critics"])]
    actor_optimizer = torch.optim.AdamW(actor.parameters(), lr=2e-3, betas=(0.7, 0.95))
    critic_optimizers = [torch.optim.AdamW(c.parameters(), lr=5e-4, betas=(0.7, 0.95)) for c in critics]
    rows = s["envs"] * s["horizon"]
    observations = torch.randn(s["horizon"], s["envs"], s["observation"])
    targets = torch.randn(rows, 1)
    batch = rows // s["batches"]

    def epoch() -> None:
        outputs, inputs = [], []
        for t in range(s["horizon"]):
            seen = observations[t].clone().requires_grad_()
            outputs.append(actor(seen))
            inputs.append(seen)
            with torch.no_grad():
                torch.stack([c(observations[t]) for c in critics]).min(0)
        actor_optimizer.zero_grad()
        for out in reversed(outputs):
            out.backward(torch.ones_like(out))
        nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        actor_optimizer.step()
        flat = observations.reshape(rows, -1)
        for _ in range(s["iterations"]):
            for first in range(0, rows, batch):
                for critic, optimizer in zip(critics, critic_optimizers):
                    optimizer.zero_grad()
                    loss = (critic(flat[first : first + batch]) - targets[first : first + batch]).square().mean()
                    loss.backward()
                    nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
                    optimizer.step()

    epoch()
    times = []
    for _ in range(EPOCHS):
        start = time.perf_counter()
        epoch()
        times.append(time.perf_counter() - start)
    found = {"version": f"PyTorch {torch.__version__}", "epoch_seconds": sum(times) / EPOCHS, "best_seconds": min(times)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
