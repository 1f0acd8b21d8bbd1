"""Golden file of mesh volume, center, principal moments and frames, by MuJoCo.

Meshes: a tetrahedron, an L-shaped prism (not convex), a torus (not star-shaped) and a prism of 2 cm. Each is turned and
moved so that nothing is symmetric by accident. Coordinates are rounded to f32, as MuJoCo stores them. `placed` is a whole
body with a mesh asset that is scaled, mirrored and has a reference frame, on a geom that is itself displaced.
"""

import json
import os
from pathlib import Path

import mujoco
import numpy as np

GOLDEN = Path(__file__).resolve().parent.parent / "crates/scene/tests/golden/mesh_inertia.json"
KINDS = ["legacy", "exact", "convex", "shell"]


def prism(polygon, cuts, height):
    polygon, n = np.array(polygon, float), len(polygon)
    vertices = np.vstack([np.c_[polygon, np.full(n, z)] for z in (0.0, height)])
    faces = [t[::-1] for t in cuts] + [[i + n for i in t] for t in cuts]
    for i in range(n):
        j = (i + 1) % n
        faces += [[i, j, j + n], [i, j + n, i + n]]
    return vertices, np.array(faces)


def torus(big, small, around, tube):
    u, v = np.meshgrid(np.arange(around), np.arange(tube), indexing="ij")
    a, b = 2 * np.pi * u.ravel() / around, 2 * np.pi * v.ravel() / tube
    r = big + small * np.cos(b)
    vertices = np.c_[r * np.cos(a), 0.8 * r * np.sin(a), small * np.sin(b)]
    at = lambda i, j: (i % around) * tube + j % tube
    faces = []
    for i in range(around):
        for j in range(tube):
            faces += [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
    return vertices, np.array(faces)


def turned(mesh, seed):
    vertices, faces = mesh
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.linalg.det(q))
    size = np.abs(vertices).max()
    vertices = vertices @ q.T + size * rng.uniform(-0.5, 0.5, 3)
    return vertices.astype(np.float32).astype(float), faces


def weigh(vertices, faces, kind):
    flat = lambda values: " ".join(repr(v) for v in values.ravel().tolist())
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <compiler boundmass="0" boundinertia="0"/>
      <asset><mesh name="m" inertia="{kind}" vertex="{flat(vertices)}" face="{flat(faces)}"/></asset>
      <worldbody><body><freejoint/><geom type="mesh" mesh="m" density="1"/></body></worldbody>
    </mujoco>""")
    return {
        "volume": float(model.body_mass[1]),
        "position": model.geom_pos[0].tolist(),
        "orientation": model.geom_quat[0].tolist(),
        "moments": model.body_inertia[1].tolist(),
        "hull_vertices": int(model.mesh_graph[model.mesh_graphadr[0]]) if model.mesh_graphadr[0] >= 0 else None,
    }


def place(vertices, faces):
    flat = lambda values: " ".join(repr(v) for v in values.ravel().tolist())
    xml = f"""
    <mujoco>
      <compiler boundmass="0" boundinertia="0"/>
      <asset><mesh name="m" inertia="exact" scale="-1 2 0.5" refpos="0.1 -0.2 0.3" refquat="0.8 0.1 -0.3 0.4"
        vertex="{flat(vertices)}" face="{flat(faces)}"/></asset>
      <worldbody><body><freejoint/>
        <geom type="mesh" mesh="m" density="3" pos="0.5 0.6 -0.7" quat="0.3 0.5 0.1 -0.7"/>
      </body></worldbody>
    </mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, model.body_iquat[1])
    axes = axes.reshape(3, 3)
    return {
        "xml": xml,
        "mass": float(model.body_mass[1]),
        "com": model.body_ipos[1].tolist(),
        "inertia": (axes @ np.diag(model.body_inertia[1]) @ axes.T).tolist(),
    }


def main():
    corner = [[0, 0], [2, 0], [2, 0.5], [0.5, 0.5], [0.5, 1.5], [0, 1.5]]
    cuts = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    meshes = {
        "tetrahedron": turned((np.array([[0, 0, 0], [1, 0, 0], [0.2, 1.3, 0], [0.1, 0.3, 0.7]]),
                               np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])), 1),
        "corner": turned(prism(corner, cuts, 0.7), 2),
        "torus": turned(torus(0.5, 0.15, 24, 12), 3),
        "small": turned(prism([[0, 0], [0.02, 0], [0.005, 0.012]], [[0, 1, 2]], 0.006), 4),
    }
    golden = {"by": f"mujoco {mujoco.__version__}, reference/mesh_inertia.py", "meshes": {}}
    for name, (vertices, faces) in meshes.items():
        golden["meshes"][name] = {
            "vertices": vertices.tolist(),
            "triangles": faces.tolist(),
            "weighed": {kind: weigh(vertices, faces, kind) for kind in KINDS},
        }
    golden["placed"] = place(*meshes["corner"])
    temporary = GOLDEN.with_suffix(".tmp")
    temporary.write_text(json.dumps(golden) + "\n")
    os.replace(temporary, GOLDEN)


if __name__ == "__main__":
    main()
