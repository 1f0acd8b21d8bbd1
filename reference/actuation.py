"""Tendons, muscles and actuators by MuJoCo, as golden files for crates/scene/tests/all/actuation.rs.

Models are those of crates/scene/tests/models/actuation and models/muscle_*.xml. Per model: 20 states of a motion under random
controls with lengths, velocities and moments of tendons and actuators (moments by their products with two fixed vectors),
forces, rates of activations and accelerations; and where the model ends up after 200 steps of each integrator. The solver runs
to convergence without a warm start.
"""

import json
import pathlib

import mujoco
import numpy as np

from constraints import INTEGRATORS, converged, started, vectors

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = [
    *sorted((ROOT / "crates/scene/tests/models/actuation").glob("*.xml")),
    *sorted((ROOT / "models").glob("muscle_*.xml")),
]
GOLDEN = ROOT / "crates/scene/tests/golden/actuation"
STATES, SPACING, STEPS = 20, 15, 200


def dense(values, rownnz, rowadr, colind, shape) -> np.ndarray:
    matrix = np.zeros(shape)
    for i in range(shape[0]):
        start, count = rowadr[i], rownnz[i]
        matrix[i, colind[start : start + count]] = values[start : start + count]
    return matrix


def at(model: mujoco.MjModel, data: mujoco.MjData) -> dict:
    mujoco.mj_forward(model, data)
    products = vectors(model.nv).T
    tendons = dense(data.ten_J, model.ten_J_rownnz, model.ten_J_rowadr, model.ten_J_colind, (model.ntendon, model.nv))
    moments = dense(
        data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind, (model.nu, model.nv)
    )
    names = ["qpos", "qvel", "act", "ctrl", "ten_length", "ten_velocity", "actuator_length", "actuator_velocity"]
    names += ["actuator_force", "qfrc_passive", "qfrc_actuator", "act_dot", "qacc"]
    return {
        **{name: getattr(data, name).tolist() for name in names},
        "ten_J": (tendons @ products).tolist(),
        "actuator_moment": (moments @ products).tolist(),
    }


def controls(model: mujoco.MjModel, rng: np.random.Generator) -> np.ndarray:
    low = np.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, 0], -1)
    high = np.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, 1], 1)
    return rng.uniform(low, high)


def golden(file: pathlib.Path) -> dict:
    model = mujoco.MjModel.from_xml_path(str(file))
    converged(model)
    rng = np.random.default_rng(1)
    data, states = started(model), []
    data.qvel[:] = rng.uniform(-1, 1, model.nv)
    for _ in range(STATES):
        data.ctrl[:] = controls(model, rng)
        for _ in range(SPACING):
            mujoco.mj_step(model, data)
        states.append(at(model, data))
    ends = {}
    for name, integrator in INTEGRATORS.items():
        model.opt.integrator = integrator
        data = started(model)
        data.qvel[:] = 0.1 * np.cos(np.arange(model.nv))
        data.ctrl[:] = controls(model, np.random.default_rng(2))
        start = {"qvel": data.qvel.tolist(), "ctrl": data.ctrl.tolist()}
        for _ in range(STEPS):
            mujoco.mj_step(model, data)
        ends[name] = {**start, "end": [*data.qpos.tolist(), *data.qvel.tolist(), *data.act.tolist()]}
    ranges = [r.tolist() for r in model.actuator_lengthrange]
    return {"mujoco": mujoco.__version__, "lengthrange": ranges, "states": states, "motion": ends}


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        (GOLDEN / f"{file.stem}.json").write_text(json.dumps(golden(file)) + "\n")
