"""Sensors by MuJoCo, as golden files for crates/scene/tests/all/sensors.rs.

Models are those of crates/scene/tests/models/sensor. Per model: states along a motion under random controls, with all sensor
data. The solver runs to convergence without a warm start.
"""

import json
import pathlib

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "crates/scene/tests/models/sensor"
GOLDEN = ROOT / "crates/scene/tests/golden/sensor"
STATES, SPACING = 6, 25


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for path in sorted(MODELS.glob("*.xml")):
        model = mujoco.MjModel.from_xml_path(str(path))
        model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = 0.0, 500, 200
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)
        data, random = mujoco.MjData(model), np.random.default_rng(5)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        states = []
        for _ in range(STATES):
            data.qvel[:] += random.uniform(-1.0, 1.0, model.nv)
            data.ctrl[:] = random.uniform(-1.0, 1.0, model.nu)
            for _ in range(SPACING):
                mujoco.mj_step(model, data)
            copy = mujoco.MjData(model)
            copy.qpos[:], copy.qvel[:], copy.ctrl[:] = data.qpos, data.qvel, data.ctrl
            copy.act[:] = data.act
            copy.mocap_pos[:], copy.mocap_quat[:] = data.mocap_pos, data.mocap_quat
            mujoco.mj_forward(model, copy)
            states.append(
                {
                    "qpos": copy.qpos.tolist(),
                    "qvel": copy.qvel.tolist(),
                    "act": copy.act.tolist(),
                    "ctrl": copy.ctrl.tolist(),
                    "mocap": np.concatenate([copy.mocap_pos, copy.mocap_quat], axis=1).ravel().tolist(),
                    "contacts": int(copy.ncon),
                    "sensordata": copy.sensordata.tolist(),
                }
            )
        golden = {"mujoco": mujoco.__version__, "model": str(path.relative_to(ROOT)), "states": states}
        (GOLDEN / f"{path.stem}.json").write_text(json.dumps(golden) + "\n")
        print(path.stem, model.nsensordata, [s["contacts"] for s in states])


if __name__ == "__main__":
    main()
