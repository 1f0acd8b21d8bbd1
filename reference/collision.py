"""Golden file of contacts, by MuJoCo.

Every pair of geom types: sizes, world poses of the geoms, the margin, and all contacts MuJoCo reports (distance,
normal from the first to the second geom, position). Pairs that MuJoCo computes in closed form have three dozen cases
each, half of them with a margin, in which shapes may be apart: random poses, axes along those of the world, one axis
in common, and nearly so. Pairs of the convex solver have shallow overlaps, and shapes apart within a margin; the
solver runs at a tolerance of 1e-12 so that its answers can be compared to 1e-6. Meshes are one random polytope; its
vertices are written as MuJoCo compiled them. Terrain is one field of hills under every solid type, in a file of its
own: its grid as MuJoCo compiled it, and contacts of shapes that overlap it by less than a fifth of a cell.
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
CLOSED = {  # pairs in closed form
    "plane": TYPES[1:],
    "sphere": ["sphere", "capsule", "cylinder", "box"],
    "capsule": ["capsule", "box"],
    "box": ["box"],
}
CLOSED_CASES = 36
DEEPEST = 0.12  # m
MARGIN = 0.1  # m
UNSURE = 1e-7  # m


def numbers(values):
    return " ".join(repr(float(v)) for v in values)


def geom(kind, size, margin):
    if kind == "plane":
        shape = 'size="1 1 1"'
    elif kind == "mesh":
        shape = 'mesh="rock"'
    else:
        shape = f'size="{numbers(size)}"'
    return f'<geom type="{kind}" margin="{margin}" {shape}/>'


def body(kind, size, position, orientation, margin=0.0):
    joint = "" if kind == "plane" else "<freejoint/>"
    return f'<body pos="{numbers(position)}" quat="{numbers(orientation)}">{joint}{geom(kind, size, margin)}</body>'


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


def collide(rock, kinds, sizes, positions, orientations, margin):
    # Margins of the two geoms add up.
    bodies = [body(*each, margin / 2) for each in zip(kinds, sizes, positions, orientations)]
    model = build(rock, bodies)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    assert all((c.geom1, c.geom2) == (0, 1) for c in data.contact)
    return model, data


def record(kinds, sizes, data, margin):
    return {
        "kinds": kinds,
        "sizes": [size.tolist() for size in sizes],
        "positions": data.geom_xpos.tolist(),
        "rotations": data.geom_xmat.tolist(),
        "margin": margin,
        "contacts": [
            {"distance": c.dist, "normal": c.frame[:3].tolist(), "position": c.pos.tolist()} for c in data.contact
        ],
    }


def case(random, rock, kinds, low, high, margin):
    """The first draw whose smallest distance is between low and high."""
    while True:
        drawn = draw(random, kinds)
        model, data = collide(rock, kinds, *drawn, margin)
        distances = [c.dist for c in data.contact]
        if distances and low < min(distances) < high:
            return record(kinds, drawn[0], data, margin), model


def product(p, q):
    result = np.zeros(4)
    mujoco.mju_mulQuat(result, p, q)
    return result


def pose(random, how, kinds):
    """Sizes, positions and orientations: random, along the axes, with one axis in common, and nearly so."""
    sizes, positions, orientations = draw(random, kinds)
    if how == 1:
        # Turns of the cube without round-off.
        turns = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], [0.5, -0.5, 0.5, 0.5]]
        orientations = [np.array(turns[i], float) for i in random.integers(len(turns), size=2)]
    if how >= 2:
        angle = random.uniform(0.0, 3.0) if how == 2 else 10.0 ** random.uniform(-6.0, -2.0)
        axis = np.eye(3)[2 if how == 2 else random.integers(3)]
        turn = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])
        orientations[1] = product(orientations[0], turn)
    if kinds[0] == "plane":
        up = np.zeros(3)
        mujoco.mju_rotVecQuat(up, np.array([0.0, 0.0, 1.0]), orientations[0])
        positions[1] = positions[0] + random.uniform(0.0, 0.7) * up + random.uniform(-0.3, 0.3, 3)
    return sizes, positions, orientations


def closed_case(random, rock, kinds, index):
    """The first draw with contacts that a slightly different margin would not change."""
    margin = MARGIN * (index // 4 % 2)
    while True:
        drawn = pose(random, index % 4, kinds)
        model, data = collide(rock, kinds, *drawn, margin)
        others = [margin - UNSURE, margin + UNSURE] if margin else [UNSURE]
        counts = [collide(rock, kinds, *drawn, other)[1].ncon for other in others]
        distances = [c.dist for c in data.contact]
        if distances and min(distances) > -3 * DEEPEST and all(count == data.ncon for count in counts):
            return record(kinds, drawn[0], data, margin), model


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
            kinds = [first, second]
            if second in CLOSED.get(first, []):
                made = [closed_case(random, rock, kinds, k) for k in range(CLOSED_CASES)]
            else:
                made = [case(random, rock, kinds, -DEEPEST, -1e-3, 0.0) for _ in range(CASES)]
                made += [case(random, rock, kinds, 1e-3, 0.9 * MARGIN, MARGIN) for _ in range(CASES // 2)]
            cases += [each for each, _ in made]
            vertices = made[0][1].mesh_vert.tolist()
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
