"""Forces of a medium by MuJoCo, as golden files for crates/scene/tests/all/fluid.rs.

Models are those of crates/scene/tests/models/fluid. Per model: random states with the force of the medium, all passive
forces and the acceleration, and from each state one step by every integrator. The solver runs to convergence.
"""

import json
import pathlib

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "crates/scene/tests/models/fluid"
GOLDEN = ROOT / "crates/scene/tests/golden/fluid"
STATES = 4
INTEGRATORS = {"Euler": 0, "RK4": 1, "implicit": 2, "implicitfast": 3}


def load(path: pathlib.Path) -> mujoco.MjModel:
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = 0.0, 500, 200
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)
    return model


def random_state(model: mujoco.MjModel, random: np.random.Generator) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, random.uniform(-0.6, 0.6, model.nv), 1.0)
    data.qvel[:] = random.uniform(-2.0, 2.0, model.nv)
    data.ctrl[:] = random.uniform(-0.5, 0.5, model.nu)
    return data


def stepped(model: mujoco.MjModel, start: mujoco.MjData, integrator: int) -> list[float]:
    model.opt.integrator = integrator
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = start.qpos, start.qvel, start.ctrl
    mujoco.mj_step(model, data)
    return [*data.qpos.tolist(), *data.qvel.tolist()]


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for path in sorted(MODELS.glob("*.xml")):
        model, random, states = load(path), np.random.default_rng(3), []
        for _ in range(STATES):
            data = random_state(model, random)
            steps = {name: stepped(model, data, kind) for name, kind in INTEGRATORS.items()}
            mujoco.mj_forward(model, data)
            states.append(
                {
                    "qpos": data.qpos.tolist(),
                    "qvel": data.qvel.tolist(),
                    "ctrl": data.ctrl.tolist(),
                    "qfrc_fluid": data.qfrc_fluid.tolist(),
                    "qfrc_passive": data.qfrc_passive.tolist(),
                    "qacc": data.qacc.tolist(),
                    "steps": steps,
                }
            )
        golden = {"mujoco": mujoco.__version__, "model": str(path.relative_to(ROOT)), "states": states}
        (GOLDEN / f"{path.stem}.json").write_text(json.dumps(golden) + "\n")
    print(f"fluid: mujoco {mujoco.__version__}, {len(list(GOLDEN.glob('*.json')))} models")


if __name__ == "__main__":
    main()
