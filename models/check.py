"""Checks every model here with MuJoCo (pip install mujoco==3.17.0) and prints the table of README.md: python3 check.py"""

import pathlib

import mujoco
import numpy as np

FEET = {"ant": "foot", "ant_run": "foot", "hopper": "foot", "half_cheetah": "foot", "humanoid": "sole", "laikago": "toe", "racecar": "wheel"}


def gap(model, data, geom):
    """Distance from the lowest point of a sphere or capsule to the ground."""
    radius, half = model.geom_size[geom][:2]
    capsule = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE
    return data.geom_xpos[geom][2] - radius - capsule * half * abs(data.geom_xmat[geom][8])


def height(model, data):
    """Height of the first body or, where there is one, of the first site (tip, grip, cube, top)."""
    return data.site_xpos[0][2] if model.nsite else data.xpos[1][2]


print("| model | nq | nv | nu | mass, kg | feet to ground at home, mm | height at home, m | height after 2 s, m |")
print("|---|---|---|---|---|---|---|---|")
for path in sorted(pathlib.Path(__file__).parent.glob("*.xml")):
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    start = height(model, data)

    # Feet touch the ground at home.
    name = path.stem
    gaps = [1e3 * gap(model, data, g) for g in range(model.ngeom) if name in FEET and FEET[name] in model.geom(g).name]
    assert all(abs(g) < 5 for g in gaps), (name, gaps)
    feet = f"{max(map(abs, gaps)):.1f}" if gaps else "-"

    # Two seconds with the controls of the keyframe stay finite and MuJoCo has nothing to warn about.
    for _ in range(round(2 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    assert np.isfinite(data.qpos).all() and not any(w.number for w in data.warning), name
    row = [name, model.nq, model.nv, model.nu, f"{model.body_subtreemass[0]:.2f}", feet, f"{start:.3f}", f"{height(model, data):.3f}"]
    print("| " + " | ".join(str(x) for x in row) + " |")
