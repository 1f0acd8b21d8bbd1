"""Dynamics of every model file by MuJoCo, as golden files for crates/scene/tests/dynamics.rs.

Constraints (contact, limits) are off and joint damping is explicit. Per model: at two random states the mass matrix,
bias force, acceleration, body poses and energies; and one simulated second by semi-implicit Euler and by RK4.
"""

import json
import pathlib

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / "models", ROOT / "crates/scene/tests/models"]
GOLDEN = ROOT / "crates/scene/tests/golden/dynamics"
SAMPLES = 5


def settings(model: mujoco.MjModel) -> None:
    """No constraints, explicit damping, energies computed; a step at which explicit stiff servos are stable, since an
    unstable step blows a rounding error up to any size."""
    model.opt.timestep = min(model.opt.timestep, 5e-4)
    bits = mujoco.mjtDisableBit
    model.opt.disableflags |= int(bits.mjDSBL_CONSTRAINT) | int(bits.mjDSBL_EULERDAMP)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)


def random_state(model: mujoco.MjModel, random: np.random.Generator) -> mujoco.MjData:
    """A configuration around the reference one, moderate velocities, controls inside their ranges."""
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, random.uniform(-0.7, 0.7, model.nv), 1.0)
    data.qvel[:] = random.uniform(-0.5, 0.5, model.nv)
    for i in range(model.nu):
        low, high = model.actuator_ctrlrange[i] if model.actuator_ctrllimited[i] else (-1.0, 1.0)
        data.ctrl[i] = random.uniform(low, high) * 0.3
    return data


def at(model: mujoco.MjModel, data: mujoco.MjData) -> dict:
    """What MuJoCo computes at a state."""
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    return {
        "qpos": data.qpos.tolist(),
        "qvel": data.qvel.tolist(),
        "ctrl": data.ctrl.tolist(),
        "mass_matrix_lower": mass[np.tril_indices(model.nv)].tolist(),
        "bias": data.qfrc_bias.tolist(),
        "acceleration": data.qacc.tolist(),
        "positions": data.xpos[1:].ravel().tolist(),
        "orientations": data.xquat[1:].ravel().tolist(),
        "potential_energy": float(data.energy[0]),
        "kinetic_energy": float(data.energy[1]),
    }


def trajectory(model: mujoco.MjModel, start: dict, integrator: int) -> dict:
    """One second, sampled."""
    model.opt.integrator = integrator
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = start["qpos"], start["qvel"], start["ctrl"]
    steps = round(1.0 / model.opt.timestep)
    states, when = [], []
    for step in range(1, steps + 1):
        mujoco.mj_step(model, data)
        if step % max(1, steps // SAMPLES) == 0:
            states.append(data.qpos.tolist() + data.qvel.tolist())
            when.append(step)
    return {"steps": when, "states": states}


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for old in GOLDEN.glob("*.json"):
        old.unlink()
    for path in sorted(path for folder in FOLDERS for path in folder.glob("*.xml")):
        model = mujoco.MjModel.from_xml_path(str(path))
        settings(model)
        random = np.random.default_rng(0)
        states = [at(model, random_state(model, random)) for _ in range(2)]
        golden = {
            "mujoco": mujoco.__version__,
            "model": str(path.relative_to(ROOT)),
            "timestep": model.opt.timestep,
            "states": states,
            "euler": trajectory(model, states[0], mujoco.mjtIntegrator.mjINT_EULER),
            "rk4": trajectory(model, states[0], mujoco.mjtIntegrator.mjINT_RK4),
        }
        kind = "own" if path.parent == FOLDERS[0] else "test"
        (GOLDEN / f"{kind}-{path.stem}.json").write_text(json.dumps(golden) + "\n")
    print(f"dynamics: mujoco {mujoco.__version__}, {len(list(GOLDEN.glob('*.json')))} models")


if __name__ == "__main__":
    main()
