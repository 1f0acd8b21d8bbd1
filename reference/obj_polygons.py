"""Golden file of how MuJoCo cuts the polygons of OBJ files into triangles.

Prisms over random polygons: quadrilaterals, convex and star-shaped polygons of five to eight corners, some turned, some away
from the origin, some not planar. MuJoCo moves vertices to the inertial frame of a mesh; the nearest original names them.
"""

import json
import os
from pathlib import Path

import mujoco
import numpy as np

TARGET = Path(__file__).resolve().parent.parent / "crates/scene/tests/golden/obj_polygons.json"
CASES = 40
MODEL = """<mujoco><asset><mesh name="m" file="m.obj" inertia="exact"/></asset><worldbody><body><freejoint/>
<geom type="mesh" mesh="m" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""


def prism(polygon):
    n = len(polygon)
    vertices = np.array([[x, y, z] for z in (0.0, 1.0) for x, y in polygon])
    sides = [[i, (i + 1) % n, n + (i + 1) % n, n + i] for i in range(n)]
    return vertices, [list(range(n))[::-1], list(range(n, 2 * n)), *sides]


def polygon(random, n, star):
    while True:
        angles = np.sort(random.uniform(0, 2 * np.pi, n))
        if np.diff(np.append(angles, angles[0] + 2 * np.pi)).max() < 2.5:
            radii = random.uniform(0.3, 1.0, n) if star else np.ones(n)
            return np.c_[2 * radii * np.cos(angles), radii * np.sin(angles)]


def obj(vertices, faces):
    lines = ["v " + " ".join(repr(float(x)) for x in v) for v in vertices]
    return "\n".join(lines + ["f " + " ".join(str(i + 1) for i in f) for f in faces]) + "\n"


def triangles(text, vertices):
    m = mujoco.MjModel.from_xml_string(MODEL, {"m.obj": text.encode()})
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, m.mesh_quat[0])
    placed = m.mesh_vert @ turn.reshape(3, 3).T + m.mesh_pos[0]
    index = [int(np.argmin(((vertices - v) ** 2).sum(axis=1))) for v in placed]
    return [index[i] for i in m.mesh_face.ravel()]


def main():
    random = np.random.default_rng(0)
    cases = []
    while len(cases) < CASES:
        k = len(cases)
        flat = polygon(random, 4 + k % 5, star=k % 2 == 1) + random.normal(size=2) * (k % 3)
        vertices, faces = prism(flat)
        if k % 3:
            turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
            vertices = vertices @ (turn * np.sign(np.linalg.det(turn))).T
        if k % 5 == 0:
            vertices = vertices + random.normal(size=vertices.shape) * 0.02
        vertices = vertices.round(5)
        text = obj(vertices, faces)
        try:
            cases.append({"obj": text, "triangles": triangles(text, vertices)})
        except ValueError:
            # Cuts of a polygon far from planar may enclose no volume.
            continue
    temporary = TARGET.with_suffix(".tmp")
    temporary.write_text(json.dumps({"mujoco": mujoco.__version__, "cases": cases}) + "\n")
    os.replace(temporary, TARGET)


if __name__ == "__main__":
    main()
