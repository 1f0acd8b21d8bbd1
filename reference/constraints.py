"""Constraints by MuJoCo, as golden files for crates/scene/tests/all/constraints.rs.

Models are those of crates/scene/tests/models/contact and a few others, each with both cones. Per model and cone: 20 states of
a motion under random controls, most of them in contact, with all contacts (distance, position, frame), all constraint rows
(violation, reference acceleration, regularization, and the Jacobian by its products with two fixed vectors), the acceleration
and the constraint force; and where the file ends up after 200 steps of each integrator. The solver runs to convergence without
a warm start.
"""

import json
import pathlib

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "crates/scene/tests/models"
FILES = [
    *sorted((MODELS / "contact").glob("*.xml")),
    MODELS / "constraints.xml",
    MODELS / "quadruped.xml",
    ROOT / "models/ant.xml",
    ROOT / "models/humanoid.xml",
    ROOT / "models/hopper.xml",
    ROOT / "models/half_cheetah.xml",
    ROOT / "models/laikago.xml",
    ROOT / "models/hand.xml",
]
GOLDEN = ROOT / "crates/scene/tests/golden/constraints"
STATES, SPACING, STEPS = 20, 15, 200
INTEGRATORS = {"Euler": 0, "RK4": 1, "implicit": 2, "implicitfast": 3}


def converged(model: mujoco.MjModel) -> None:
    """The optimum itself, from no guess."""
    model.opt.tolerance, model.opt.iterations = 0.0, 500
    model.opt.ls_iterations = 200
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)


def started(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return data


def vectors(nv: int) -> np.ndarray:
    """Two vectors that tell Jacobians apart; the test computes the same ones."""
    k = np.arange(nv)
    return np.stack([np.cos(1.0 + 0.7 * k), np.sin(0.3 + 1.3 * k)])


def rows(data: mujoco.MjData, jacobian: np.ndarray, products: np.ndarray, which) -> list[dict]:
    return [
        {
            "pos": data.efc_pos[i],
            "aref": data.efc_aref[i],
            "R": data.efc_R[i],
            "J": (products @ jacobian[i]).tolist(),
        }
        for i in which
    ]


def at(model: mujoco.MjModel, data: mujoco.MjData) -> dict:
    mujoco.mj_forward(model, data)
    jacobian = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        for i in range(data.nefc):
            start, count = data.efc_J_rowadr[i], data.efc_J_rownnz[i]
            jacobian[i, data.efc_J_colind[start : start + count]] = data.efc_J[start : start + count]
    else:
        jacobian = data.efc_J.reshape(data.nefc, model.nv).copy()
    products = vectors(model.nv)
    contact_rows, contacts = set(), []
    for contact in data.contact:
        dim = contact.dim
        count = 0 if contact.efc_address < 0 else 1 if dim == 1 else 2 * (dim - 1) if model.opt.cone == 0 else dim
        own = range(contact.efc_address, contact.efc_address + count)
        contact_rows.update(own)
        contacts.append(
            {
                "geoms": [int(contact.geom1), int(contact.geom2)],
                "dist": contact.dist,
                "pos": contact.pos.tolist(),
                "frame": contact.frame.tolist(),
                "dim": int(dim),
                "rows": rows(data, jacobian, products, own),
            }
        )
    others = [i for i in range(data.nefc) if i not in contact_rows]
    return {
        "qpos": data.qpos.tolist(),
        "qvel": data.qvel.tolist(),
        "ctrl": data.ctrl.tolist(),
        "mocap": np.concatenate([data.mocap_pos, data.mocap_quat], axis=1).ravel().tolist(),
        "contacts": contacts,
        "rows": rows(data, jacobian, products, others),
        "qacc": data.qacc.tolist(),
        "qfrc_constraint": data.qfrc_constraint.tolist(),
    }


def states(model: mujoco.MjModel, random: np.random.Generator) -> list[dict]:
    """States along a motion that random controls and pushes keep going."""
    data = started(model)
    data.qvel[:] += random.uniform(-0.5, 0.5, model.nv)
    found = []
    while len(found) < STATES:
        for i in range(model.nu):
            low, high = model.actuator_ctrlrange[i] if model.actuator_ctrllimited[i] else (-1.0, 1.0)
            data.ctrl[i] = random.uniform(low, high) * 0.5
        for _ in range(SPACING):
            mujoco.mj_step(model, data)
        data.qvel[:] += random.uniform(-0.3, 0.3, model.nv)
        copy = mujoco.MjData(model)
        copy.qpos[:], copy.qvel[:], copy.ctrl[:] = data.qpos, data.qvel, data.ctrl
        copy.mocap_pos[:], copy.mocap_quat[:] = data.mocap_pos, data.mocap_quat
        found.append(at(model, copy))
    return found


def motion(file: pathlib.Path, cone: int, integrator: int) -> dict:
    model = mujoco.MjModel.from_xml_path(str(file))
    converged(model)
    model.opt.cone, model.opt.integrator = cone, integrator
    # Round-off would decide after how many sweeps a gain is below the tolerance.
    model.opt.noslip_tolerance = 0.0
    data = started(model)
    # Some files start exactly where a contact begins.
    data.qvel[:] += 0.02 * vectors(model.nv)[0]
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    return {"qpos": data.qpos.tolist(), "qvel": data.qvel.tolist()}


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        record = {"source": f"mujoco {mujoco.__version__}", "file": str(file.relative_to(ROOT)), "cones": {}}
        for name, cone in [("pyramidal", 0), ("elliptic", 1)]:
            model = mujoco.MjModel.from_xml_path(str(file))
            converged(model)
            model.opt.cone = cone
            record["cones"][name] = {
                "invweight": {
                    "body": model.body_invweight0.tolist(),
                    "dof": model.dof_invweight0.tolist(),
                },
                "states": states(model, np.random.default_rng(7)),
                "motion": {key: motion(file, cone, value) for key, value in INTEGRATORS.items()},
            }
        text = json.dumps(record, separators=(",", ":"))
        (GOLDEN / f"{file.stem}.json").write_text(text + "\n")
        print(file.stem, len(text), [len(s["contacts"]) for s in record["cones"]["elliptic"]["states"]])


if __name__ == "__main__":
    main()
