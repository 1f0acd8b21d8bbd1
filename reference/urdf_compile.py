"""Golden files of our URDF models, by Pinocchio.

For each model: mass, center and inertia of what each joint moves (Pinocchio fuses links on fixed joints) and of what is
fixed, and, at a few configurations, the placements of all links, the center of mass of the moving parts and the
joint-space mass matrix. Collision shapes are left out: its reader knows no capsules.

Conventions: coordinates are stored per joint, a free joint as position and quaternion wxyz, a continuous joint as its
angle. The velocity of a free joint is linear in the world frame, angular in the body frame; Pinocchio's linear velocity is
in the body frame, so the mass matrix is M' = Sᵀ M S with S = diag(Rᵀ, 1). Rows follow `velocities`, a list of joint names.
A floating joint below a joint that moves is three slides `name_x`, `name_y`, `name_z` in the frame of its origin and a ball
`name`; R is then the rotation from the body to that frame.
"""

import json
import os
import re
from pathlib import Path

import numpy as np
import pinocchio as pin

TESTS = Path(__file__).resolve().parent.parent / "crates/scene/tests"
MODELS = {"arm": False, "cart_pole": False, "gripper": False, "quadruped": True, "floating": False, "carrier": False}  # floating base?
CONFIGURATIONS = 3


def weighed(inertia):
    return {"mass": inertia.mass, "com": inertia.lever.tolist(), "inertia": inertia.inertia.tolist()}


def compile_model(name, floating):
    text = (TESTS / f"models/{name}.urdf").read_text()
    text = re.sub(r"<collision.*?</collision>", "", text, flags=re.DOTALL)
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromXML(text)
    data = model.createData()
    rename = {"root_joint": "floating_base"}
    joints = [(i, rename.get(model.names[i], model.names[i])) for i in range(1, model.njoints)]
    links = [f for f in model.frames if f.type == pin.FrameType.BODY and f.name != "universe"]
    rng = np.random.default_rng(len(name))

    golden = {"by": f"pinocchio {pin.__version__}, reference/urdf_compile.py", "floating_base": floating}
    golden["groups"] = {joint: weighed(model.inertias[i]) for i, joint in joints}
    golden["fixed"] = weighed(model.inertias[0])
    golden["total_mass"] = pin.computeTotalMass(model) + model.inertias[0].mass
    below = {i for i, _ in joints if model.joints[i].nq == 7 and model.parents[i] != 0}
    slides = lambda joint: [f"{joint}_{axis}" for axis in "xyz"]
    golden["velocities"] = [
        name
        for i, joint in joints
        for name in (slides(joint) + 3 * [joint] if i in below else model.joints[i].nv * [joint])
    ]
    golden["configurations"] = []
    for k in range(CONFIGURATIONS):
        q, stored = pin.neutral(model), {}
        to_body = np.eye(model.nv)
        for i, joint in joints:
            j = model.joints[i]
            if j.nq == 7:
                turn = pin.Quaternion(*(rng.normal(size=4))) if k else pin.Quaternion(1, 0, 0, 0)
                turn.normalize()
                position = rng.uniform(-1, 1, 3) if k else np.zeros(3)
                q[j.idx_q : j.idx_q + 7] = [*position, turn.x, turn.y, turn.z, turn.w]
                placed = pin.SE3(turn, position)
                if i in below:
                    stored |= {slide: [x] for slide, x in zip(slides(joint), position.tolist())}
                    stored[joint] = [turn.w, turn.x, turn.y, turn.z]
                else:
                    # Our free joints are placed in the world, Pinocchio's in the frame of their origin.
                    placed = model.jointPlacements[i] * placed
                    w = pin.Quaternion(placed.rotation)
                    stored[joint] = [*placed.translation.tolist(), w.w, w.x, w.y, w.z]
                to_body[j.idx_v : j.idx_v + 3, j.idx_v : j.idx_v + 3] = placed.rotation.T
            else:
                value = float(rng.uniform(-1, 1)) if k else 0.0
                q[j.idx_q : j.idx_q + j.nq] = [value] if j.nq == 1 else [np.cos(value), np.sin(value)]
                stored[joint] = [value]
        pin.framesForwardKinematics(model, data, q)
        placements = {}
        for f in links:
            placement = data.oMf[model.getFrameId(f.name)]
            placements[f.name] = {"position": placement.translation.tolist(), "rotation": placement.rotation.tolist()}
        mass = pin.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        golden["configurations"].append({
            "q": stored,
            "links": placements,
            "com": pin.centerOfMass(model, data, q).tolist(),
            "mass_matrix": (to_body.T @ mass @ to_body).tolist(),
        })
    return golden


def main():
    for name, floating in MODELS.items():
        path = TESTS / f"golden/urdf_{name}.json"
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(compile_model(name, floating)) + "\n")
        os.replace(temporary, path)


if __name__ == "__main__":
    main()
