"""Microseconds of MJX's steps forward and backward, on one core of the CPU, in MJX's single precision.

usage: python measure.py CASE.json STEPS BATCH...

The case has the model's text, a start state (qpos, then qvel), the controls of every step and the bound of random velocities
that are added, so that environments differ. Of every batch: STEPS steps forward with the file's solver settings; the same with
the settings that are differentiated; and the gradient of the sum of the final positions with respect to start states and
controls. A `while_loop` has no reverse mode, and MJX's solver is one unless it takes a single iteration, so a single
iteration is what is differentiated, with four of the line search, which is a scan. Every step is a checkpoint.
"""

import json
import os
import sys
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax  # noqa: E402
import mujoco  # noqa: E402
import numpy as np  # noqa: E402
from jax import numpy as jp  # noqa: E402
from mujoco import mjx  # noqa: E402

REPETITIONS = 7
ITERATIONS, LINE_SEARCH = 1, 4


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
    host = mujoco.MjModel.from_xml_string(case["model"])
    plain = mjx.put_model(host)
    host.opt.iterations, host.opt.ls_iterations = ITERATIONS, LINE_SEARCH
    single = mjx.put_model(host)
    blank = mjx.make_data(plain)
    nq = host.nq

    def rollout(model):
        """The final state of one environment."""

        def step(data, control):
            return mjx.step(model, data.replace(ctrl=control)), None

        def run(state, controls):
            data = blank.replace(qpos=state[:nq], qvel=state[nq:])
            data, _ = jax.lax.scan(jax.checkpoint(step), data, controls)
            return jp.concatenate([data.qpos, data.qvel])

        return jax.vmap(run)

    def loss(states, controls):
        return rollout(single)(states, controls)[:, :nq].sum()

    random = np.random.default_rng(0)
    found = {"version": f"MJX {mujoco.__version__} (jax {jax.__version__})", "batches": []}
    for envs in batches:
        states = np.tile(case["state"], (envs, 1))
        states[:, nq:] += random.uniform(-case["velocity"], case["velocity"], (envs, host.nv))
        controls = np.array(case["controls"]).reshape(case["steps"], host.nu)[:steps]
        arguments = (jp.array(states, dtype=jp.float32), jp.array(np.tile(controls, (envs, 1, 1)), dtype=jp.float32))
        batch = {"environments": envs}
        for name, function in {
            "forward": rollout(plain),
            "unrolled": rollout(single),
            "gradient": jax.grad(loss, argnums=(0, 1)),
        }.items():
            batch[name], batch[f"compile_{name}"], batch["finite"] = timed(function, arguments, envs * steps)
        found["batches"].append(batch)
    found["note"] = (
        f"MJX: one core, single precision, {steps} steps; differentiated with {ITERATIONS} iteration of the solver and {LINE_SEARCH} of "
        "its line search, since its solver of more iterations is a loop without reverse mode; gradients in states and controls "
        f"{'were' if all(b['finite'] for b in found['batches']) else 'were not'} all finite"
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
