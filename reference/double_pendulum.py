"""Golden file of the double pendulum, by MuJoCo.

Model: two hinges about y, a point mass at the end of each rod, viscous joints, motors at both joints, no contact.

Coordinates: MuJoCo's joint angles are relative, q = (θ₁, θ₂ − θ₁); ours are absolute, θ = (q₁, q₁ + q₂). The map is
linear, so RK4 commutes with it and trajectories agree to round-off. Joint torques are the same in both: the work
τ₁ δθ₁ + τ₂ (δθ₂ − δθ₁) is τ₁ δq₁ + τ₂ δq₂.

Inertia: MuJoCo wants some (above 1e-15 kg m²); with 1e-14 beside m l² of 0.1 kg m² or more its effect is below 1e-13.
"""

import json
import os
from pathlib import Path

import mujoco
import numpy as np

GOLDEN = Path(__file__).resolve().parent.parent / "crates/physics/tests/golden/double_pendulum.json"
POINT_INERTIA = 1e-14  # kg m²
DT = 0.002  # s
SAMPLE_EVERY = 25  # steps, 50 ms
SAMPLES = 20  # one second

# Parameters in the order of our layout.
NAMES = ["upper.length", "upper.mass", "upper.damping", "lower.length", "lower.mass", "lower.damping", "gravity"]


def build(params):
    l1, m1, c1, l2, m2, c2, gravity = (repr(float(p)) for p in params)
    inertia = " ".join([repr(POINT_INERTIA)] * 3)
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option timestep="{DT!r}" integrator="RK4" gravity="0 0 -{gravity}">
        <flag contact="disable" eulerdamp="disable"/>
      </option>
      <worldbody>
        <body>
          <joint type="hinge" axis="0 1 0" damping="{c1}"/>
          <inertial pos="0 0 -{l1}" mass="{m1}" diaginertia="{inertia}"/>
          <body pos="0 0 -{l1}">
            <joint type="hinge" axis="0 1 0" damping="{c2}"/>
            <inertial pos="0 0 -{l2}" mass="{m2}" diaginertia="{inertia}"/>
          </body>
        </body>
      </worldbody>
    </mujoco>""")


def relative(absolute):
    return np.array([absolute[0], absolute[1] - absolute[0]])


def absolute(relative):
    return np.array([relative[0], relative[0] + relative[1]])


def prepare(params, state, torque):
    model = build(params)
    data = mujoco.MjData(model)
    data.qpos[:] = relative(state[:2])
    data.qvel[:] = relative(state[2:])
    data.qfrc_applied[:] = torque
    return model, data


def acceleration(params, state, torque):
    model, data = prepare(params, state, torque)
    mujoco.mj_forward(model, data)
    return absolute(data.qacc)


def trajectory(params, state, torque):
    model, data = prepare(params, state, torque)
    states = []
    for _ in range(SAMPLES):
        for _ in range(SAMPLE_EVERY):
            mujoco.mj_step(model, data)
        states.append(np.concatenate([absolute(data.qpos), absolute(data.qvel)]).tolist())
    return states


def main():
    random = np.random.default_rng(0)

    def draw(gravity):
        link = lambda: [random.uniform(0.4, 1.6), random.uniform(0.5, 2.0), random.uniform(0.0, 0.5)]
        params = [*link(), *link(), gravity]
        state = [*random.uniform(-np.pi, np.pi, 2), *random.uniform(-3.0, 3.0, 2)]
        torque = random.uniform(-2.0, 2.0, 2).tolist()
        return params, state, torque

    accelerations = []
    for _ in range(20):
        params, state, torque = draw(random.uniform(5.0, 15.0))
        result = acceleration(params, state, torque).tolist()
        accelerations.append({"params": params, "state": state, "torque": torque, "acceleration": result})

    trajectories = []
    for _ in range(3):
        params, state, torque = draw(9.81)
        states = trajectory(params, state, torque)
        trajectories.append({"params": params, "state": state, "torque": torque, "states": states})

    golden = {
        "source": f"mujoco {mujoco.__version__}",
        "script": "reference/double_pendulum.py",
        "params": NAMES,
        "dt": DT,
        "sample_every": SAMPLE_EVERY,
        "accelerations": accelerations,
        "trajectories": trajectories,
    }
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    temporary = GOLDEN.with_suffix(".tmp")
    temporary.write_text(json.dumps(golden, indent=1, default=float) + "\n")
    os.replace(temporary, GOLDEN)
    print(f"{GOLDEN.name}: {golden['source']}, {len(accelerations)} accelerations, {len(trajectories)} trajectories")


if __name__ == "__main__":
    main()
