"""Dynamics of URDF models with mimic joints, by Pinocchio, as golden files for crates/scene/tests/mimic.rs.

At a few random states: mass matrix, bias force and acceleration on the independent joints, stored by joint name.
Pinocchio's ABA knows no mimic joints; the acceleration is −M⁻¹ bias, without controls, with its own M and bias.
"""

import json
import re
from pathlib import Path

import numpy as np
import pinocchio as pin

TESTS = Path(__file__).resolve().parent.parent / "crates/scene/tests"
MODELS = ["gripper", "mimic_hand"]
STATES = 4


def golden_of(name):
    text = (TESTS / f"models/{name}.urdf").read_text()
    text = re.sub(r"<collision.*?</collision>", "", text, flags=re.DOTALL)
    model = pin.buildModelFromXML(text, mimic=True)
    data = model.createData()
    joints = [i for i in range(1, model.njoints) if model.joints[i].nv == 1]
    assert len(joints) == model.nv, "hinges and slides with ranges only"
    names = [None] * model.nv
    for i in joints:
        names[model.joints[i].idx_v] = model.names[i]
    random = np.random.default_rng(len(name))
    states = []
    for _ in range(STATES):
        q, v = random.uniform(-0.8, 0.8, (2, model.nv))
        mass = pin.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = pin.rnea(model, data, q, v, np.zeros(model.nv))
        states.append({
            "q": q.tolist(),
            "v": v.tolist(),
            "mass_matrix": mass.tolist(),
            "bias": bias.tolist(),
            "acceleration": np.linalg.solve(mass, -bias).tolist(),
        })
    return {"by": f"pinocchio {pin.__version__}, reference/urdf_mimic.py", "joints": names, "states": states}


def main():
    for name in MODELS:
        (TESTS / f"golden/mimic_{name}.json").write_text(json.dumps(golden_of(name)) + "\n")


if __name__ == "__main__":
    main()
