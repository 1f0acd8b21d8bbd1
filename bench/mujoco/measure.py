"""Environment steps per second of MuJoCo's batched rollout, and of its derivatives of a step.

usage: python measure.py MODEL.xml ENVIRONMENTS STEPS SETTLE DROP

Environments start from keyframe 0, lifted by DROP meters, with joints and controls drawn at random as in the program's own
benchmark, and settle for SETTLE steps before anything is measured.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
from mujoco import rollout

REPETITIONS = 30
THREADS = (1, 2)


def best_seconds(run) -> float:
    """The least disturbed of many repetitions."""
    run()
    seconds = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def full_state(model, data) -> np.ndarray:
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, data, state, spec)
    return state


def settled_states(model, envs: int, settle: int, drop: float, random) -> np.ndarray:
    data = mujoco.MjData(model)
    start = []
    for _ in range(envs):
        mujoco.mj_resetDataKeyframe(model, data, 0)
        data.qpos[2] += drop
        data.qpos[7:] += random.uniform(-0.02, 0.02, model.nq - 7)
        start.append(full_state(model, data))
    control = random.uniform(-0.2, 0.2, (envs, settle, model.nu))
    states, _ = rollout.rollout(model, data, np.array(start), control)
    return states[:, -1].copy()


def derivatives_run(model, datas, pool):
    """A function that takes the derivatives of a step in every environment, the environments shared out over the pool."""
    n = 2 * model.nv + model.na
    threads = len(pool)
    scratch = [(np.zeros((n, n)), np.zeros((n, model.nu))) for _ in range(threads)]

    def work(thread: int) -> None:
        a, b = scratch[thread]
        for data in datas[thread::threads]:
            mujoco.mjd_transitionFD(model, data, 1e-6, 0, a, b, None, None)

    def run() -> None:
        for future in [executor.submit(work, thread) for thread, executor in enumerate(pool)]:
            future.result()

    return run


def main() -> None:
    envs, steps, settle, drop = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
    model = mujoco.MjModel.from_xml_path(sys.argv[1])
    random = np.random.default_rng(0)
    states = settled_states(model, envs, settle, drop, random)
    control = random.uniform(-0.2, 0.2, (envs, steps, model.nu))

    datas = []
    for i in range(envs):
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, states[i], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        data.ctrl[:] = control[i, 0]
        mujoco.mj_forward(model, data)
        datas.append(data)
    found = {"version": f"MuJoCo {mujoco.__version__}", "contacts": float(np.mean([d.ncon for d in datas]))}

    for threads in THREADS:
        own = [mujoco.MjData(model) for _ in range(threads)]
        out = np.empty((envs, steps, states.shape[1]))
        sensors = np.empty((envs, steps, model.nsensordata))
        with rollout.Rollout(nthread=threads if threads > 1 else 0) as pool:
            seconds = best_seconds(
                lambda: pool.rollout(model, own, states, control, state=out, sensordata=sensors, skip_checks=False)
            )
        found[f"rollout_{threads}"] = envs * steps / seconds
        executors = [ThreadPoolExecutor(1) for _ in range(threads)]
        found[f"transition_fd_{threads}"] = envs / best_seconds(derivatives_run(model, datas, executors))
        for executor in executors:
            executor.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
