"""Microseconds of steps of Brax's generalized pipeline forward and backward, on one core of the CPU, in single precision.

usage: python measure.py CASE.json STEPS BATCH...

The case has the model's text, a start state (positions, then velocities), the controls of every step and the bound of random
velocities that are added, so that environments differ. Of every batch: STEPS steps forward, and the gradient of the sum of the
final positions with respect to start states and controls. Every step is a checkpoint.
"""

import importlib.metadata
import json
import os
import sys
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax  # noqa: E402
import numpy as np  # noqa: E402
from brax.generalized import pipeline  # noqa: E402
from brax.io import mjcf  # noqa: E402
from jax import numpy as jp  # noqa: E402

REPETITIONS = 7


def timed(function, arguments, units: int) -> tuple[float, float, bool]:
    """Least microseconds per unit, seconds of compilation, and whether the result is finite."""
    start = time.perf_counter()
    compiled = jax.jit(function).lower(*arguments).compile()
    compilation = time.perf_counter() - start
    result = jax.block_until_ready(compiled(*arguments))
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append((time.perf_counter() - start) * 1e6 / units)
    finite = all(bool(jp.isfinite(x).all()) for x in jax.tree.leaves(result))
    return min(times), compilation, finite


def main() -> None:
    with open(sys.argv[1]) as file:
        case = json.load(file)
    steps, batches = int(sys.argv[2]), [int(batch) for batch in sys.argv[3:]]
    system = mjcf.loads(case["model"])
    nq, nv, nu = system.q_size(), system.qd_size(), system.act_size()

    def run(state, controls):
        start = pipeline.init(system, state[:nq], state[nq:])

        def step(at, control):
            return pipeline.step(system, at, control), None

        end, _ = jax.lax.scan(jax.checkpoint(step), start, controls)
        return jp.concatenate([end.q, end.qd])

    def loss(states, controls):
        return jax.vmap(run)(states, controls)[:, :nq].sum()

    random = np.random.default_rng(0)
    version = importlib.metadata.version("brax")
    found = {"version": f"Brax {version} (jax {jax.__version__})", "batches": []}
    for envs in batches:
        states = np.tile(case["state"], (envs, 1))
        states[:, nq:] += random.uniform(-case["velocity"], case["velocity"], (envs, nv))
        controls = np.array(case["controls"]).reshape(case["steps"], nu)[:steps]
        tiled = np.tile(controls, (envs, 1, 1))
        arguments = (jp.array(states, dtype=jp.float32), jp.array(tiled, dtype=jp.float32))
        batch = {"environments": envs}
        functions = {"forward": jax.vmap(run), "gradient": jax.grad(loss, argnums=(0, 1))}
        for name, function in functions.items():
            batch[name], batch[f"compile_{name}"], batch["finite"] = timed(function, arguments, envs * steps)
        found["batches"].append(batch)
    finite = all(batch["finite"] for batch in found["batches"])
    found["note"] = (
        f"Brax: generalized pipeline, one core, single precision, {steps} steps; gradients in states and controls "
        f"{'were' if finite else 'were not'} all finite"
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
