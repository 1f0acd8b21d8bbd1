"""Microseconds of MuJoCo's steps and of its derivatives of a step, on one thread.

usage: python measure.py CASE.json

The case has the model's text or file, a start state (qpos, qvel, act) and the controls of every step. Every repetition is the same
motion: the batched rollout of one environment from the start state, with and without warm start. mjd_transitionFD, one-sided,
is taken at states along that motion.
"""

import json
import sys
import time

import mujoco
import numpy as np
from mujoco import rollout

REPETITIONS = 30
# Steps between two states at which derivatives are taken.
SPACING = 20
FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS


def microseconds(run, units: int, repetitions: int = REPETITIONS) -> list[float]:
    """Microseconds per unit of every repetition, after one that is not counted."""
    run()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e6 / units)
    return times


def read(case) -> mujoco.MjModel:
    if case["file"]:
        return mujoco.MjModel.from_xml_path(case["file"])
    return mujoco.MjModel.from_xml_string(case["model"])


def started(model, case) -> mujoco.MjData:
    data = mujoco.MjData(model)
    state = np.array(case["state"])
    data.qpos[:], data.qvel[:], data.act[:] = np.split(state, [model.nq, model.nq + model.nv])
    return data


def rollouts(model, case, control) -> list[float]:
    data = started(model, case)
    state = np.empty((1, mujoco.mj_stateSize(model, FULL)))
    mujoco.mj_getState(model, data, state[0], FULL)
    out = np.empty((1, len(control), state.shape[1]))
    sensors = np.empty((1, len(control), model.nsensordata))
    with rollout.Rollout(nthread=0) as pool:
        return microseconds(
            lambda: pool.rollout(model, [data], state, control[None], state=out, sensordata=sensors), len(control)
        )


def main() -> None:
    with open(sys.argv[1]) as file:
        case = json.load(file)
    model = read(case)
    control = np.array(case["controls"]).reshape(case["steps"], model.nu)
    found = {"version": f"MuJoCo {mujoco.__version__}", "rollout": rollouts(model, case, control)}

    cold = read(case)
    cold.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)
    found["cold"] = rollouts(cold, case, control)

    # The motion once more, step by step.
    data = started(model, case)
    datas, iterations, rows, contacts = [], [], [], []
    for step, u in enumerate(control):
        data.ctrl[:] = u
        if step % SPACING == 0:
            mujoco.mj_forward(model, data)
            copy = mujoco.MjData(model)
            mujoco.mj_copyData(copy, model, data)
            datas.append(copy)
        mujoco.mj_step(model, data)
        iterations.append(max(data.solver_niter))
        rows.append(data.nefc)
        contacts.append(data.ncon)
    found["end"] = np.concatenate([data.qpos, data.qvel, data.act]).tolist()
    for name, values in {"iterations": iterations, "rows": rows, "contacts": contacts}.items():
        found[name] = float(np.mean(values))

    n = 2 * model.nv + model.na
    a, b = np.zeros((n, n)), np.zeros((n, model.nu))

    def differences() -> None:
        for data in datas:
            mujoco.mjd_transitionFD(model, data, 1e-6, 0, a, b, None, None)

    found["transition_fd"] = microseconds(differences, len(datas), 10)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
