"""What MuJoCo finds at a state of a random file, how it differs from ours, and what explains a difference.

A difference counts as explained only by evidence from MuJoCo itself, taken at the state where it is seen:

    midphase      without its midphase MuJoCo lists the same contacts; those it left out lie beyond their margin, so no row is
                  made of them. Its bounds of bodies with several geoms do not grow by the gap
    iteration     a contact comes from GJK and EPA, and MuJoCo's own result moves at least half as far, or to ours, when their
                  tolerance changes; of distances also when the state is nudged by 1e-9
    vertices      a mesh touches, or gives a geom its frame and size or a body its inertia, and MuJoCo's own result moves at
                  least half as far, or to ours, when its vertices move by one unit of the last place of the single precision in
                  which it stores them
    diagonal      a body slides along parallel axes, and MuJoCo takes its mass matrix for diagonal (`body_simple`), so that its
                  kinetic energy is not that of the body; with the axes turned by 1e-9 it does not, and finds what we do
    path          a contact comes from GJK and EPA, and MuJoCo's own result moves at least half as far, or to ours, when the axes
                  of a box, cylinder, capsule or ellipsoid are named otherwise or its lists of the faces at the vertices of a
                  mesh have another order: of several features that match it takes the first
    centers       the centers of two shapes coincide, where MuJoCo's iteration has no direction to start from; 1e-5 m apart it
                  finds as many contacts as we do
    tie           MuJoCo's own result moves at least half as far, or to ours, when the state or the frames of geoms are nudged by
                  1e-13: round-off decides which of two equally near features touch, or the problem loses the digits
    unconverged   MuJoCo's own gradient is not small, so its acceleration is no optimum
    inner stage   a step of RK4 differs because one of its inner stages does, by one of the reasons above
    unstable      all single steps agree; MuJoCo's own motion from a start nudged by 1e-13 ends at least half as far off, or
                  off by half of its own size

Whatever has no such evidence is a defect until explained, and its name is in capitals.
"""

import collections

import mujoco
import numpy as np

# Relative to the largest entry; distances in meters.
TOLERANCE = {"distance": 1e-9, "row": 1e-6, "qacc": 1e-6, "qfrc": 1e-6, "step": 1e-8, "drift": 1e-5}
# Relative gradient of MuJoCo's own solution above which it is no optimum.
CONVERGED = 1e-9
# Relative nudges of a state: round-off, and one that tells the noise of an iteration from a slope.
ROUND_OFF, NUDGE, NUDGES = 1e-13, 1e-9, 6
# Turn of an axis, rad, by which it is not parallel to another.
TURN = 1e-9
# Distance, m, up to which centers coincide, and one at which they do not.
COINCIDENT, APART = 1e-9, 1e-5
# Tolerances of GJK and EPA to try beside that of the file, and more iterations than it allows.
CCD_TOLERANCES = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12]
CCD_ITERATIONS = 1000
CONTACT_ROW = int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)
MIDPHASE = int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)

# Pairs that both sides collide in closed form.
EXACT = {("plane", k) for k in ("sphere", "capsule", "box", "cylinder", "ellipsoid")} | {
    ("sphere", "sphere"), ("capsule", "sphere"), ("cylinder", "sphere"), ("box", "sphere"), ("capsule", "capsule"),
    ("box", "capsule"), ("box", "box"),
}
EXACT = {tuple(sorted(pair)) for pair in EXACT}


def converge(model, tolerance):
    model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = tolerance, 500, 200
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)


# States


def snapshot(data):
    mocap = np.concatenate([data.mocap_pos, data.mocap_quat], axis=1).ravel()
    return {"qpos": data.qpos.tolist(), "qvel": data.qvel.tolist(), "ctrl": data.ctrl.tolist(), "mocap": mocap.tolist()}


def placed(model, state):
    """Data at a state."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = state["qpos"], state["qvel"], state["ctrl"]
    mocap = np.array(state["mocap"]).reshape(-1, 7)
    data.mocap_pos[:], data.mocap_quat[:] = mocap[:, :3], mocap[:, 3:]
    return data


def nudged(model, data, size, seed):
    """Moves data to a state `size` apart, relative to each coordinate."""
    random = np.random.default_rng(seed)
    mujoco.mj_integratePos(model, data.qpos, size * random.uniform(-1, 1, model.nv), 1.0)
    data.qvel[:] += size * random.uniform(-1, 1, model.nv) * np.maximum(1.0, np.abs(data.qvel))
    return data


def flew_apart(data):
    size = max(np.abs(data.qpos).max(initial=0), np.abs(data.qvel).max(initial=0))
    return not size < 1e6 or any(data.warning[i].number for i in (4, 5, 6))


# What MuJoCo finds


def gradient(model, data):
    """Relative gradient of the primal cost at MuJoCo's solution."""
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    inertial = mass @ data.qacc
    residual = inertial - data.qfrc_smooth - data.qfrc_constraint
    scale = max(np.abs(inertial).max(initial=0), np.abs(data.qfrc_constraint).max(initial=0), 1e-3)
    return np.abs(residual).max(initial=0) / scale


def acting_rows(model, data):
    """Rows without those of equalities whose Jacobian is zero, which MuJoCo drops when it is so to the last bit."""
    jacobian = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        for i in range(data.nefc):
            start, count = data.efc_J_rowadr[i], data.efc_J_rownnz[i]
            jacobian[i, data.efc_J_colind[start : start + count]] = data.efc_J[start : start + count]
    else:
        jacobian = data.efc_J.ravel()[: data.nefc * model.nv].reshape(data.nefc, model.nv)
    largest = np.abs(jacobian).max(axis=1, initial=0.0)
    keep = np.ones(data.nefc, bool)
    for i in range(data.ne):
        keep[i] = largest[: data.ne][data.efc_id[: data.ne] == data.efc_id[i]].max() > 1e-12
    return keep


def contacts_of(data):
    return [(int(c.geom1), int(c.geom2), float(c.dist), float(c.includemargin)) for c in data.contact]


def found(model, data, positions=False):
    """What MuJoCo finds at the state of `data`, which moves on by a step; only the contacts where positions are enough."""
    state = snapshot(data)
    if positions:
        mujoco.mj_fwdPosition(model, data)
        return {"contacts": contacts_of(data)}
    mujoco.mj_forward(model, data)
    keep = acting_rows(model, data)
    result = {
        "state": state,
        "contacts": contacts_of(data),
        "rows": np.array([data.efc_type >= CONTACT_ROW, data.efc_aref, data.efc_R]).T[keep],
        "types": data.efc_type[keep],
        "qacc": data.qacc.copy(),
        "qfrc": data.qfrc_constraint.copy(),
        "gradient": gradient(model, data),
    }
    mujoco.mj_step(model, data)
    result["step"] = (data.qpos.copy(), data.qvel.copy())
    return result


def probed(ours):
    """What our program answers, under the same names."""
    rows = np.array(ours["rows"], float).reshape(-1, 3)
    step = (np.array(ours["qpos"]), np.array(ours["qvel"]))
    return {**ours, "rows": rows, "qfrc": ours["qfrc_constraint"], "step": step}


def kind(model, geom):
    return mujoco.mjtGeom(int(model.geom_type[geom])).name.removeprefix("mjGEOM_").lower()


def shapes(model, pair):
    return tuple(sorted(kind(model, geom) for geom in pair))


def iterated(model, contacts):
    """Whether a contact comes from an iteration."""
    return any(shapes(model, c[:2]) not in EXACT for c in contacts)


# How two results differ: each measure is 1 where a difference is at its tolerance


def by_pair(contacts):
    pairs = collections.defaultdict(list)
    for one, two, distance, *_ in contacts:
        pairs[tuple(sorted((one, two)))].append(distance)
    return {pair: sorted(distances) for pair, distances in pairs.items()}


def pair_difference(pair):
    def measure(one, two):
        a, b = (by_pair(x["contacts"]).get(pair, []) for x in (one, two))
        if len(a) != len(b):
            return np.inf
        return max((abs(x - y) for x, y in zip(a, b)), default=0.0) / TOLERANCE["distance"]

    measure.pair = pair
    return measure


def row_errors(one, two):
    """Name and error of each group of rows: contacts in any order, and with any sign of a weld's rotation."""
    a, b = one["rows"], two["rows"]
    fixed, contact = b[:, 0] == 0, b[:, 0] == 1
    for name, mine, other in [
        ("aref", np.abs(a[fixed, 1]), np.abs(b[fixed, 1])),
        ("R", a[fixed, 2], b[fixed, 2]),
        ("contact aref", np.sort(a[contact, 1]), np.sort(b[contact, 1])),
        ("contact R", np.sort(a[contact, 2]), np.sort(b[contact, 2])),
    ]:
        yield name, np.abs(mine - other) / np.maximum(np.abs(other), 1e-3 if "aref" in name else 1e-300) / TOLERANCE["row"]


def row_difference(one, two):
    if len(one["rows"]) != len(two["rows"]) or (one["rows"][:, 0] != two["rows"][:, 0]).any():
        return np.inf
    return max((error.max(initial=0.0) for _, error in row_errors(one, two)), default=0.0)


def relative(ours, theirs, floor):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    scale = max(floor, np.abs(theirs).max(initial=0.0))
    return np.abs(ours - theirs).max(initial=0.0) / scale


def end_difference(ours, theirs):
    """Relative difference of two states, each positions and velocities."""
    return max(relative(a, b, 1.0) for a, b in zip(ours, theirs))


def number_difference(key, floor):
    return lambda one, two: relative(one[key], two[key], floor) / TOLERANCE[key]


MOTION = {
    "qacc": number_difference("qacc", 1.0),
    "qfrc": number_difference("qfrc", 1e-2),
    "step": lambda one, two: end_difference(one["step"], two["step"]) / TOLERANCE["step"],
}


def first_difference(model, ours, theirs, motion=tuple(MOTION)):
    """Name, text and measure of the first difference, or nothing."""
    pairs = sorted(set(by_pair(ours["contacts"])) | set(by_pair(theirs["contacts"])))
    for pair in pairs:
        measure = pair_difference(pair)
        if not measure(ours, theirs) <= 1.0:
            a, b = (by_pair(x["contacts"]).get(pair, []) for x in (ours, theirs))
            return f"contacts {'-'.join(shapes(model, pair))}", f"{pair}: {a} against {b}", measure
    if not row_difference(ours, theirs) <= 1.0:
        name = "number"
        if len(ours["rows"]) == len(theirs["rows"]):
            name = next((name for name, error in row_errors(ours, theirs) if (error > 1.0).any()), "kinds")
        return f"rows {name}", f"{len(ours['rows'])} against {len(theirs['rows'])}", row_difference
    for key in motion:
        error = MOTION[key](ours, theirs)
        if not error <= 1.0:
            return key, f"off by {error * TOLERANCE[key]:.1e}, gradient {theirs['gradient']:.1e}", MOTION[key]
    return None


# What explains a difference


def without_midphase(model, ours, theirs):
    """What MuJoCo finds without its midphase, if that is our list of contacts and more only beyond the margins."""
    model.opt.disableflags |= MIDPHASE
    again = found(model, placed(model, theirs["state"]))
    model.opt.disableflags &= ~MIDPHASE
    listed, beyond = by_pair(theirs["contacts"]), [c for c in again["contacts"] if c[2] >= c[3]]
    same = set(by_pair(ours["contacts"])) == set(by_pair(again["contacts"]))
    added = [pair for pair in by_pair(again["contacts"]) if pair not in listed]
    silent = all(distances == by_pair(beyond).get(pair) for pair, distances in by_pair(again["contacts"]).items() if pair in added)
    return again if same and added and silent else None


def close(ours, theirs, variant, measure):
    """Whether a variant of MuJoCo's result lies where ours does, or at least half as far from the original."""
    return measure(ours, variant) <= 1.0 or measure(theirs, variant) >= 0.5 * min(measure(ours, theirs), 1e300)


def other_tolerances(model, state, positions):
    """What MuJoCo finds by other tolerances of GJK and EPA."""
    tolerance, iterations = model.opt.ccd_tolerance, model.opt.ccd_iterations
    for model.opt.ccd_iterations in (iterations, CCD_ITERATIONS):
        for model.opt.ccd_tolerance in CCD_TOLERANCES:
            yield found(model, placed(model, state), positions)
    model.opt.ccd_tolerance, model.opt.ccd_iterations = tolerance, iterations


def nudged_states(model, state, size, positions):
    for seed in range(NUDGES):
        yield found(model, nudged(model, placed(model, state), size, seed), positions)


def nudged_geoms(model, state, size, positions):
    """What MuJoCo finds with the frames of all geoms nudged."""
    kept = model.geom_pos.copy(), model.geom_quat.copy(), model.geom_sameframe.copy()
    model.geom_sameframe[:] = 0
    for seed in range(NUDGES):
        random = np.random.default_rng(seed)
        model.geom_pos[:] = kept[0] + size * random.uniform(-1, 1, kept[0].shape)
        model.geom_quat[:] = kept[1] + size * random.uniform(-1, 1, kept[1].shape)
        yield found(model, placed(model, state), positions)
    model.geom_pos[:], model.geom_quat[:], model.geom_sameframe[:] = kept


def other_vertices(model, state, positions):
    """What MuJoCo finds with vertices of meshes one unit of their last place apart."""
    kept = model.mesh_vert.copy()
    for seed in range(2 * NUDGES):
        toward = np.random.default_rng(seed).choice(np.float32([-1e9, 1e9]), kept.shape)
        model.mesh_vert[:] = np.nextafter(kept, toward)
        yield found(model, placed(model, state), positions)
    model.mesh_vert[:] = kept


def compiled_again(model, path, change):
    """The model of the file at `path` after `change`, with the options of `model`."""
    spec = mujoco.MjSpec.from_file(str(path))
    change(spec)
    again = spec.compile()
    converge(again, model.opt.tolerance)
    return again


def other_meshes(model, path):
    """The model compiled from vertices one unit of their last place apart."""

    def moved(random):
        def change(spec):
            for mesh in spec.meshes:
                vertices = np.float32(mesh.uservert)
                mesh.uservert = np.nextafter(vertices, random.choice(np.float32([-1e9, 1e9]), vertices.shape)).astype(float)

        return change

    for seed in range(NUDGES if model.nmesh else 0):
        yield compiled_again(model, path, moved(np.random.default_rng(seed)))


def turned_slides(model, path):
    """The model with the slides of simple bodies turned, each by another angle, if two of them are parallel."""
    slides = [np.flatnonzero((model.jnt_bodyid == b) & (model.jnt_type == SLIDE)) for b in np.flatnonzero(model.body_simple)]
    parallel = {j for s in slides for i in s for j in s if i != j and abs(model.jnt_axis[i] @ model.jnt_axis[j]) > 0.5}

    def change(spec):
        for j in parallel:
            axis = model.jnt_axis[j]
            spec.joints[j].axis = axis + TURN * (1 + j) * np.roll(axis, 1)

    return [compiled_again(model, path, change)] if parallel else []


# Turns of a shape that leave it as it is: order of the axes, and a rotation vector in quarter turns.
HALF_TURNS = [((0, 1, 2), (2, 0, 0)), ((0, 1, 2), (0, 2, 0)), ((0, 1, 2), (0, 0, 2))]
QUARTER_TURNS = [((0, 2, 1), (1, 0, 0)), ((2, 1, 0), (0, 1, 0)), ((1, 0, 2), (0, 0, 1))]
TURNS = {"box": HALF_TURNS + QUARTER_TURNS, "ellipsoid": HALF_TURNS + QUARTER_TURNS, "cylinder": HALF_TURNS, "capsule": HALF_TURNS}


def other_axes(model, state, geoms, positions):
    """What MuJoCo finds with the axes of one of the geoms named otherwise."""
    kept = model.geom_quat.copy(), model.geom_size.copy(), model.geom_sameframe.copy(), model.opt.disableflags
    model.geom_sameframe[:] = 0
    # Bounds of the midphase stand along the old axes.
    model.opt.disableflags |= MIDPHASE
    for geom in geoms:
        for order, turn in TURNS.get(kind(model, geom), []):
            rotation = np.zeros(4)
            mujoco.mju_axisAngle2Quat(rotation, np.array(turn) / np.linalg.norm(turn), np.linalg.norm(turn) * np.pi / 2)
            mujoco.mju_mulQuat(model.geom_quat[geom], kept[0][geom], rotation)
            model.geom_size[geom] = kept[1][geom][list(order)]
            yield found(model, placed(model, state), positions)
            model.geom_quat[geom], model.geom_size[geom] = kept[0][geom], kept[1][geom]
    model.geom_sameframe[:], model.opt.disableflags = kept[2], kept[3]


def other_lists(model, state, positions):
    """What MuJoCo finds with its lists of the faces at each vertex of a mesh in another order."""
    kept = model.mesh_polymap.copy()
    for seed in range(2 * NUDGES):
        random = np.random.default_rng(seed)
        for first, count in zip(model.mesh_polymapadr, model.mesh_polymapnum):
            model.mesh_polymap[first : first + count] = random.permutation(kept[first : first + count])
        yield found(model, placed(model, state), positions)
    model.mesh_polymap[:] = kept


def centers_apart(model, state, pair, ours):
    """Whether the centers of a pair coincide, and MuJoCo finds as many contacts as we do where they do not."""
    data = placed(model, state)
    mujoco.mj_fwdPosition(model, data)
    if np.linalg.norm(data.geom_xpos[pair[0]] - data.geom_xpos[pair[1]]) > COINCIDENT:
        return False
    apart = nudged_geoms(model, state, APART, True)
    counts = {len(by_pair(variant["contacts"]).get(pair, [])) for variant in apart}
    return len(by_pair(ours["contacts"]).get(pair, [])) in counts


def explanation(model, path, ours, theirs, difference):
    """The cause of a difference at a state, by evidence, or nothing."""
    name, _, measure = difference
    state, positions = theirs["state"], name.startswith("contacts")
    # A pair may touch on either side alone.
    touching = [*theirs["contacts"], *ours["contacts"]]
    pair = getattr(measure, "pair", None)
    if pair:
        touching = [c for c in touching if tuple(sorted(c[:2])) == pair]

    def shown_by(variants):
        # Every variant is drawn, since the last ones put the model back.
        return any([close(ours, theirs, variant, measure) for variant in variants])

    if iterated(model, touching) and shown_by(other_tolerances(model, state, positions)):
        return "iteration"
    if shown_by(nudged_states(model, state, ROUND_OFF, positions)) or shown_by(nudged_geoms(model, state, ROUND_OFF, positions)):
        return "tie"
    meshes = any("mesh" in shapes(model, c[:2]) for c in touching)
    if meshes and shown_by(other_vertices(model, state, positions)):
        return "vertices"
    if positions and iterated(model, touching) and shown_by(nudged_states(model, state, NUDGE, positions)):
        return "iteration"
    solids = sorted({geom for c in touching if shapes(model, c[:2]) not in EXACT for geom in c[:2]})
    if shown_by(other_axes(model, state, solids, positions)):
        return "path"
    if solids and meshes and shown_by(other_lists(model, state, positions)):
        return "path"
    if pair and iterated(model, touching) and centers_apart(model, state, pair, ours):
        return "centers"
    if name in MOTION and theirs["gradient"] > CONVERGED:
        return "unconverged"
    if shown_by(found(again, placed(again, state), positions) for again in other_meshes(model, path)):
        return "vertices"
    turned = [found(again, placed(again, state)) for again in turned_slides(model, path)]
    if any(first_difference(model, ours, variant) is None for variant in turned):
        return "diagonal"
    return None


def inner_stages(model, state):
    """States of the inner stages of a step of RK4."""
    data = placed(model, state)
    mujoco.mj_forward(model, data)
    start, h = (data.qpos.copy(), data.qvel.copy()), model.opt.timestep
    velocity, acceleration = start[1], data.qacc.copy()
    for fraction in (0.5, 0.5, 1.0):
        data = placed(model, state)
        mujoco.mj_integratePos(model, data.qpos, velocity, fraction * h)
        data.qvel[:] = start[1] + fraction * h * acceleration
        yield snapshot(data)
        mujoco.mj_forward(model, data)
        velocity, acceleration = data.qvel.copy(), data.qacc.copy()


def end(model, state, steps):
    """State after so many steps."""
    data = placed(model, state)
    for _ in range(steps):
        mujoco.mj_step(model, data)
    return data.qpos.copy(), data.qvel.copy()


def drift_explanation(model, path, state, steps, drift):
    """Why MuJoCo's own motion drifts half as far, or by half its size: nudges of the start or of the vertices of meshes."""
    base = end(model, state, steps)

    def far(other):
        return not end_difference(other, base) < 0.5 * min(drift, 1.0)

    nudges = (snapshot(nudged(model, placed(model, state), ROUND_OFF, seed)) for seed in range(NUDGES))
    if any(far(end(model, start, steps)) for start in nudges):
        return "unstable"
    if any(far(end(again, state, steps)) for again in other_meshes(model, path)):
        return "vertices"
    return None
