"""Golden file of contacts of MuJoCo's convex solver, and of planes with meshes.

Each pair has three dozen cases: sizes, world poses of the geoms, the margin, and all contacts (distance, normal from the
first to the second geom, position). Poses are random, along the axes of the world, with one axis in common, and nearly
parallel; in half of them there is a margin, within which shapes may be apart. The solver runs at a tolerance of 1e-12.

Meshes are a gem (triangles) and a drum (faces of four and eight corners) whose coordinates single precision holds
exactly; they are written as MuJoCo compiled them, with the triangles of their hulls in its order. Left out are cases in
which MuJoCo answers otherwise for another order of a mesh's vertices, for a mesh written in another frame, or for a pose
that differs by 1e-7, or in which two contacts coincide: there the order of its search, or round-off, decides.
"""

from pathlib import Path

import mujoco
import numpy as np
from collision import geom, numbers, pose, product, write

GOLDEN = Path(__file__).resolve().parent.parent / "crates/collision/tests/golden/convex.json"
PAIRS = [
    ("plane", "mesh"),
    ("sphere", "ellipsoid"),
    ("sphere", "mesh"),
    ("capsule", "ellipsoid"),
    ("capsule", "cylinder"),
    ("capsule", "mesh"),
    ("ellipsoid", "ellipsoid"),
    ("ellipsoid", "cylinder"),
    ("ellipsoid", "box"),
    ("ellipsoid", "mesh"),
    ("cylinder", "cylinder"),
    ("cylinder", "box"),
    ("cylinder", "mesh"),
    ("box", "mesh"),
    ("mesh", "mesh"),
]
CASES = 36
MARGIN = 0.1  # m
DEEPEST = 0.12  # m
MOVED = 1e-7  # m and rad, by which poses are moved to see whether the answer is stable
SAME = 1e-4  # m, to which answers must then agree
SIGNS = (-1.0, 1.0)
CORNERS = [[x, y, z] for x in SIGNS for y in SIGNS for z in SIGNS]
GEM = np.array([c * np.array([0.25, 0.1875, 0.125]) for c in np.array(CORNERS)] + [
    sign * tip * axis for tip, axis in zip([0.34375, 0.28125, 0.21875], np.eye(3)) for sign in SIGNS
])
DRUM = np.array([
    [x * a, y * b, z * 0.1875] for a, b in [(0.28125, 0.125), (0.125, 0.25)] for x, y, z in CORNERS
])
MESHES = [GEM, DRUM]


def collide(meshes, kinds, which, sizes, positions, orientations, margin):
    bodies = []
    for kind, mesh, size, position, orientation in zip(kinds, which, sizes, positions, orientations):
        shape = geom(kind, size, margin / 2).replace('"rock"', f'"mesh{mesh}"')
        joint = "" if kind == "plane" else "<freejoint/>"
        bodies.append(f'<body pos="{numbers(position)}" quat="{numbers(orientation)}">{joint}{shape}</body>')
    assets = [f'<mesh name="mesh{i}" vertex="{numbers(v.ravel())}"/>' for i, v in enumerate(meshes)]
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option ccd_tolerance="1e-12" ccd_iterations="500"/>
      <asset>{"".join(assets)}</asset>
      <worldbody>{"".join(bodies)}</worldbody>
    </mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    return model, data


def same(data, other):
    """Whether contacts agree, in any order."""
    ours = [np.concatenate([c.pos, c.frame[:3], [c.dist]]) for c in data.contact]
    theirs = [np.concatenate([c.pos, c.frame[:3], [c.dist]]) for c in other.contact]
    near = lambda a, b: np.max(np.abs(a - b)) < SAME
    return len(ours) == len(theirs) and all(any(near(a, b) for b in theirs) for a in ours)


def stable(random, drawn, data):
    kinds, which, sizes, positions, orientations, margin = drawn
    points = [c.pos for c in data.contact]
    if any(np.linalg.norm(p - q) < SAME for i, p in enumerate(points) for q in points[:i]):
        return False
    for _ in range(12):
        # The same meshes, shuffled, and written in a frame that is turned.
        turn = random.normal(size=4)
        turn /= np.linalg.norm(turn)
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, turn)
        meshes = [random.permutation(mesh) @ matrix.reshape(3, 3).T for mesh in MESHES]
        back = turn * [1.0, -1.0, -1.0, -1.0]
        written = [product(q, back) if kind == "mesh" else q for kind, q in zip(kinds, orientations)]
        moved = [p + MOVED * random.normal(size=3) for p in positions]
        turned = [q + MOVED * random.normal(size=4) for q in orientations]
        turned = [q / np.linalg.norm(q) for q in turned]
        if not same(data, collide(meshes, kinds, which, sizes, positions, written, margin)[1]):
            return False
        if not same(data, collide(MESHES, kinds, which, sizes, moved, turned, margin)[1]):
            return False
    return True


def case(random, kinds, index):
    margin = MARGIN * (index // 4 % 2)
    while True:
        sizes, positions, orientations = pose(random, index % 4, kinds)
        drawn = (kinds, random.integers(2, size=2).tolist(), sizes, positions, orientations, margin)
        model, data = collide(MESHES, *drawn)
        deepest = min((c.dist for c in data.contact), default=1.0)
        if not -DEEPEST < deepest <= 0.9 * margin or not stable(random, drawn, data):
            continue
        return model, {
            "kinds": kinds,
            "meshes": drawn[1],
            "sizes": [size.tolist() for size in sizes],
            "positions": data.geom_xpos.tolist(),
            "rotations": data.geom_xmat.tolist(),
            "margin": margin,
            "contacts": [
                {"distance": c.dist, "normal": c.frame[:3].tolist(), "position": c.pos.tolist()} for c in data.contact
            ],
        }


def compiled(model, mesh):
    """Vertices of a mesh, and the triangles of its hull."""
    start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    graph = model.mesh_graph[model.mesh_graphadr[mesh] :]
    corners, faces = graph[0], graph[1]
    # Two numbers, twice the corners, edges with an end mark for each corner, triangles.
    triangles = graph[2 + 3 * corners + 3 * faces :][: 3 * faces].reshape(-1, 3)
    return {"vertices": model.mesh_vert[start : start + count].tolist(), "triangles": triangles.tolist()}


def main():
    random = np.random.default_rng(3)
    cases, model = [], None
    for kinds in PAIRS:
        for index in range(CASES):
            model, made = case(random, kinds, index)
            cases.append(made)
    write(GOLDEN, {
        "source": f"mujoco {mujoco.__version__}",
        "script": "reference/convex.py",
        "meshes": [compiled(model, mesh) for mesh in range(len(MESHES))],
        "cases": cases,
    })


if __name__ == "__main__":
    main()
