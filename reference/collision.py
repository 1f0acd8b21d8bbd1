"""Golden file of contacts, by MuJoCo.

Every pair of geom types, eight random shallow overlaps each: sizes, world poses of the geoms, and all contacts MuJoCo
reports (distance, normal from the first to the second geom, position). The convex solver runs at a tolerance of 1e-12 so
that its answers can be compared to 1e-6. Meshes are one random polytope; its vertices are written as MuJoCo compiled them.
Terrain is one field of hills under every solid type, in a file of its own: its grid as MuJoCo compiled it, and contacts of
shapes that overlap it by less than a fifth of a cell.
"""

import json
import os
from pathlib import Path

import mujoco
import numpy as np

GOLDEN = Path(__file__).resolve().parent.parent / "crates/collision/tests/golden/collision.json"
TYPES = ["plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"]
SIZES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
TERRAIN = GOLDEN.with_name("heightfield.json")
ROWS, COLUMNS, FIELD = 7, 8, [1.4, 1.2, 0.3, 0.4]
CASES = 8
DEEPEST = 0.12  # m


def numbers(values):
    return " ".join(repr(float(v)) for v in values)


def geom(kind, size):
    if kind == "plane":
        return '<geom type="plane" size="1 1 1"/>'
    if kind == "mesh":
        return '<geom type="mesh" mesh="rock"/>'
    return f'<geom type="{kind}" size="{numbers(size)}"/>'


def body(kind, size, position, orientation):
    joint = "" if kind == "plane" else "<freejoint/>"
    return f'<body pos="{numbers(position)}" quat="{numbers(orientation)}">{joint}{geom(kind, size)}</body>'


def build(rock, bodies):
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option ccd_tolerance="1e-12" ccd_iterations="500"/>
      <asset><mesh name="rock" vertex="{numbers(rock.ravel())}"/></asset>
      <worldbody>{"".join(bodies)}</worldbody>
    </mujoco>""")


def draw(random, kinds):
    sizes = [random.uniform(0.2, 0.5, SIZES.get(kind, 0)) for kind in kinds]
    direction = random.normal(size=3)
    direction /= np.linalg.norm(direction)
    reach = random.uniform(0.1, 1.4)
    origin = random.uniform(-1.0, 1.0, 3)
    positions = [origin, origin + reach * direction]
    orientations = [q / np.linalg.norm(q) for q in random.normal(size=(2, 4))]
    return sizes, positions, orientations


def case(random, rock, kinds):
    """The first draw that overlaps, but not deeply."""
    while True:
        sizes, positions, orientations = draw(random, kinds)
        model = build(rock, [body(*each) for each in zip(kinds, sizes, positions, orientations)])
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        depths = [c.dist for c in data.contact]
        if depths and -DEEPEST < min(depths) < -1e-3:
            break
    first, second = (0, 1)
    assert all((c.geom1, c.geom2) == (first, second) for c in data.contact)
    return {
        "kinds": kinds,
        "sizes": [size.tolist() for size in sizes],
        "positions": data.geom_xpos.tolist(),
        "rotations": data.geom_xmat.tolist(),
        "contacts": [
            {"distance": c.dist, "normal": c.frame[:3].tolist(), "position": c.pos.tolist()} for c in data.contact
        ],
    }, model


def hills_model(rock, hills, solid):
    rows = " ".join(repr(float(v)) for v in hills[::-1].ravel())
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option ccd_tolerance="1e-12" ccd_iterations="500"/>
      <asset>
        <mesh name="rock" vertex="{numbers(rock.ravel())}"/>
        <hfield name="hills" nrow="{ROWS}" ncol="{COLUMNS}" size="{numbers(FIELD)}" elevation="{rows}"/>
      </asset>
      <worldbody><geom type="hfield" hfield="hills" pos="0.2 -0.1 0.3" euler="20 -10 35"/>{solid}</worldbody>
    </mujoco>""")


def terrain():
    """Solids on hills."""
    random = np.random.default_rng(1)
    rock = random.normal(size=(14, 3))
    rock = 0.2 * rock / np.linalg.norm(rock, axis=1, keepdims=True)
    hills = random.uniform(size=(ROWS, COLUMNS))
    cases, grid, vertices = [], None, None
    for kind in TYPES[1:]:
        found = 0
        while found < 2 * CASES:
            size = random.uniform(0.1, 0.25, SIZES.get(kind, 0))
            position = [0.2, -0.1, 0.3] + random.uniform([-0.8, -0.7, 0.1], [0.8, 0.7, 0.8])
            model = hills_model(rock, hills, body(kind, size, position, random.normal(size=4)))
            data = mujoco.MjData(model)
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            depths = [c.dist for c in data.contact]
            if not depths or not -0.04 < min(depths) < -1e-3:
                continue
            found += 1
            grid = model.hfield_data.tolist()
            vertices = model.mesh_vert.tolist()
            deepest = min(data.contact, key=lambda c: c.dist)
            assert (deepest.geom1, deepest.geom2) == (0, 1)
            cases.append({
                "kind": kind,
                "size": size.tolist(),
                "positions": data.geom_xpos.tolist(),
                "rotations": data.geom_xmat.tolist(),
                "distance": deepest.dist,
                "normal": deepest.frame[:3].tolist(),
            })
    write(TERRAIN, {
        "source": f"mujoco {mujoco.__version__}",
        "script": "reference/collision.py",
        "rows": ROWS,
        "columns": COLUMNS,
        "size": FIELD,
        "values": grid,
        "mesh": vertices,
        "cases": cases,
    })


def write(path, golden):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(golden, default=float) + "\n")
    os.replace(temporary, path)
    print(f"{path.name}: {golden['source']}, {len(golden['cases'])} cases")


def main():
    random = np.random.default_rng(0)
    rock = random.normal(size=(14, 3))
    rock = 0.35 * rock / np.linalg.norm(rock, axis=1, keepdims=True)
    cases, vertices = [], None
    for i, first in enumerate(TYPES):
        for second in TYPES[max(i, 1) :]:
            for _ in range(CASES):
                made, model = case(random, rock, [first, second])
                vertices = model.mesh_vert.tolist() if model.nmesh else vertices
                cases.append(made)
    golden = {
        "source": f"mujoco {mujoco.__version__}",
        "script": "reference/collision.py",
        "mesh": vertices,
        "cases": cases,
    }
    write(GOLDEN, golden)
    terrain()


if __name__ == "__main__":
    main()
