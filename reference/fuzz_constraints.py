"""Random MJCF files with constraints and contacts through MuJoCo and through our solver.

    cargo build --release -p pullback-scene --example constraint_probe
    python reference/fuzz_constraints.py --program target/release/examples/constraint_probe --cases 2000

Each file moves for 20 steps of MuJoCo from a random state. At each of these states both sides report contacts, acceleration,
constraint force and the state one step later, and we run the 20 steps on our own as well. MuJoCo's solver goes to convergence
without a warm start. Three files in four have only shapes whose pairs MuJoCo collides in closed form.

Every disagreement has a category:

    contacts ...           distances or numbers of contacts differ, by the pair of shapes; or what follows from the
                           1e-6 to which GJK and EPA leave positions and normals
    unconverged            MuJoCo's own gradient is not small, so its acceleration is no optimum
    ill-conditioned        the mass matrix or the Hessian loses the digits
    ROWS ...               reference accelerations or regularizations differ; by the kind of constraint
    QACC, QFRC, STEP       a defect until explained
    drift                  every single step agrees and the motion of 20 steps does not
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import mujoco
import numpy as np

import fuzz_models
from fuzz_models import Maker, Node

STEPS = 20
# Relative to the largest entry; distances in meters.
TOLERANCE = {"distance": 1e-9, "row": 1e-6, "qacc": 1e-6, "qfrc": 1e-6, "step": 1e-8, "drift": 1e-5}
# Relative gradient of MuJoCo's own solution above which it is no optimum.
CONVERGED = 1e-9
CONTACT_ROW = int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
CLOSED_FORM = {"sphere": 1, "capsule": 2, "box": 3}
REFERENCES = [[0.02, 1], [0.01, 0.7], [0.1, 1.5], [-500, -30], [0.05]]
IMPEDANCES = [[0.9, 0.95], [0.5, 0.99, 0.01], [0.8, 0.9, 0.05, 0.3, 3], [0.95, 0.6, 0.02, 0.7, 1], [0.99, 0.99, 0]]


class Constrained(Maker):
    """Files full of constraints."""

    def __init__(self, seed):
        super().__init__(seed, contact=True)
        self.closed = seed % 4 != 3

    def pick(self, items):
        if items == list(fuzz_models.SHAPES) and self.closed:
            items = list(CLOSED_FORM)
        return super().pick(items)

    def softness(self, a, solref, solimp, p=0.3):
        if self.chance(p):
            a[solref] = self.pick(REFERENCES)
        if self.chance(p):
            a[solimp] = self.pick(IMPEDANCES)

    def asset(self):
        return Node("asset") if self.closed else super().asset()

    def option(self):
        node = super().option()
        node.attributes.pop("solver", None)
        node.attributes.pop("iterations", None)
        if self.chance(0.4):
            node.attributes |= {"cone": "elliptic", "impratio": np.round(np.exp(self.r.uniform(-2, 4)), 3)}
        return node

    def joint_attributes(self, p=0.35, kind=None):
        a = super().joint_attributes(p, kind)
        if kind != "free" and self.chance(0.5):
            a["frictionloss"] = self.positive(0.01, 1.0)
            self.softness(a, "solreffriction", "solimpfriction")
        if kind and kind != "free" and self.chance(0.4):
            a |= {"range": [0 if kind == "ball" else -abs(self.angle(0.5)), abs(self.angle(0.5)) + 0.1], "limited": "true"}
            if self.chance(0.3):
                a["margin"] = self.positive(0.0, 0.2)
            self.softness(a, "solreflimit", "solimplimit")
        return a

    def geom_common(self, p=0.15):
        a = super().geom_common(p)
        if self.chance(0.5):
            a["condim"] = self.pick(["1", "3", "4", "6"])
            a["friction"] = self.positive(0.0, 1.5, 3)
        self.softness(a, "solref", "solimp")
        if self.chance(0.2):
            a["margin"] = self.positive(0.0, 0.1)
            if self.chance(0.5):
                a["gap"] = self.positive(0.0, 0.1)
        if self.chance(0.1):
            a["solmix"] = self.positive(0.0, 2.0)
        if self.chance(0.1):
            a["priority"] = self.pick(["0", "1", "2"])
        return a

    def equalities(self):
        node = super().equalities()
        for one in node.children:
            self.softness(one.attributes, "solref", "solimp")
        for one in list(node.children):
            if self.chance(0.15):
                again = Node(one.tag, **{k: v for k, v in one.attributes.items() if k != "name"})
                node.add(again)
        return node


def converge(model, tolerance):
    model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = tolerance, 500, 200
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)


def random_start(model, random):
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, random.uniform(-0.5, 0.5, model.nv), 1.0)
    data.qvel[:] = random.uniform(-1.0, 1.0, model.nv)
    data.ctrl[:] = random.uniform(-1.0, 1.0, model.nu)
    return data


def snapshot(data):
    mocap = np.concatenate([data.mocap_pos, data.mocap_quat], axis=1).ravel()
    return {"qpos": data.qpos.tolist(), "qvel": data.qvel.tolist(), "ctrl": data.ctrl.tolist(), "mocap": mocap.tolist()}


def gradient(model, data):
    """Relative gradient of the primal cost at MuJoCo's solution, and the condition of the mass matrix."""
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    inertial = mass @ data.qacc
    residual = inertial - data.qfrc_smooth - data.qfrc_constraint
    scale = max(np.abs(inertial).max(initial=0), np.abs(data.qfrc_constraint).max(initial=0), 1e-3)
    return np.abs(residual).max(initial=0) / scale, np.linalg.cond(mass) if model.nv else 1.0


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


def motion(model, data):
    """States along the motion of MuJoCo, and what it finds there; None where it flies apart."""
    states = []
    for _ in range(STEPS):
        state = snapshot(data)
        mujoco.mj_forward(model, data)
        residual, condition = gradient(model, data)
        keep = acting_rows(model, data)
        found = {
            "state": state,
            "contacts": [(int(c.geom1), int(c.geom2), float(c.dist), float(c.includemargin)) for c in data.contact],
            "qacc": data.qacc.copy(),
            "qfrc": data.qfrc_constraint.copy(),
            "smooth": data.qacc_smooth.copy(),
            "rows": np.array([data.efc_type >= CONTACT_ROW, data.efc_aref, data.efc_R]).T[keep],
            "types": data.efc_type[keep],
            "gradient": residual,
            "condition": condition,
        }
        mujoco.mj_step(model, data)
        size = max(np.abs(data.qpos).max(initial=0), np.abs(data.qvel).max(initial=0))
        if not size < 1e6 or any(data.warning[i].number for i in (4, 5, 6)):
            return states
        found["next"] = (data.qpos.copy(), data.qvel.copy())
        states.append(found)
    return states


def kind(model, geom):
    return mujoco.mjtGeom(int(model.geom_type[geom])).name.removeprefix("mjGEOM_").lower()


# Pairs that both sides collide in closed form.
EXACT = {("plane", k) for k in ("sphere", "capsule", "box", "cylinder", "ellipsoid")} | {
    ("sphere", "sphere"), ("capsule", "sphere"), ("cylinder", "sphere"), ("box", "sphere"), ("capsule", "capsule"),
    ("box", "capsule"), ("box", "box"),
}
EXACT = {tuple(sorted(pair)) for pair in EXACT}


def iterated(model, contacts):
    """Whether some contact comes from an iteration, which leaves its position and normal to about 1e-6."""
    return any(tuple(sorted((kind(model, c[0]), kind(model, c[1])))) not in EXACT for c in contacts)


def by_pair(contacts):
    pairs = collections.defaultdict(list)
    for one, two, distance, *_ in contacts:
        pairs[tuple(sorted((one, two)))].append(distance)
    return {pair: sorted(distances) for pair, distances in pairs.items()}


def compare_contacts(model, mine, theirs):
    """The category of the first difference, or nothing."""
    ours, expected = by_pair(mine), by_pair(theirs)
    for pair in sorted(set(ours) | set(expected)):
        a, b = ours.get(pair, []), expected.get(pair, [])
        label = "contacts " + "-".join(sorted(kind(model, g) for g in pair))
        if len(a) != len(b):
            return f"{label}: number", f"{pair}: {a} against {b}"
        worst = max((abs(x - y) for x, y in zip(a, b)), default=0.0)
        if worst > TOLERANCE["distance"]:
            return f"{label}: distance", f"{pair}: off by {worst:.1e}"
    return None


def relative(ours, theirs, floor):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    scale = max(floor, np.abs(theirs).max(initial=0.0))
    return np.abs(ours - theirs).max(initial=0.0) / scale


def compare_rows(ours, theirs, types):
    """The kind of the first row that differs; rows of contacts in any order, and with any sign of a weld's rotation."""
    ours = np.array(ours, float).reshape(-1, 3)
    if len(ours) != len(theirs):
        return "rows: number", f"{len(ours)} against {len(theirs)}"
    fixed, contact = theirs[:, 0] == 0, theirs[:, 0] == 1
    for name, mine, other in [
        ("aref", np.abs(ours[fixed, 1]), np.abs(theirs[fixed, 1])),
        ("R", ours[fixed, 2], theirs[fixed, 2]),
        ("contact aref", np.sort(ours[contact, 1]), np.sort(theirs[contact, 1])),
        ("contact R", np.sort(ours[contact, 2]), np.sort(theirs[contact, 2])),
    ]:
        bad = np.abs(mine - other) > TOLERANCE["row"] * np.maximum(np.abs(other), 1e-3 if "aref" in name else 0.0)
        if bad.any():
            i = int(np.argmax(bad))
            label = "" if "contact" in name else mujoco.mjtConstraint(int(types[fixed][i])).name.removeprefix("mjCNSTR_").lower()
            return f"rows: {label} {name}", f"row {i}: {mine[i]:.9g} against {other[i]:.9g}"
    return None


class Probe:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, case):
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def run(probe, path, seed, worst, tally):
    """The category of a file and what differs; a tolerance of zero takes MuJoCo much longer, and is for doubts."""
    outcome, why = attempt(probe, path, seed, worst, tally, 1e-15)
    if outcome in ("unconverged", "drift") or outcome.isupper():
        outcome, why = attempt(probe, path, seed, worst, collections.Counter(), 0.0)
    return outcome, why


def attempt(probe, path, seed, worst, tally, tolerance):
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return "MuJoCo refuses", ""
    converge(model, tolerance)
    if model.nv == 0:
        return "nothing moves", ""
    states = motion(model, random_start(model, np.random.default_rng(seed)))
    if not states:
        return "flies apart at once", ""
    answer = probe.ask({"file": str(path), "states": [s["state"] for s in states], "steps": len(states)})
    if "refused" in answer:
        tally["refused: " + re.sub(r"^.*?\d+:\d+: |`[^`]*`", "", answer["refused"])[:90]] += 1
        return "refused", ""
    if "panic" in answer:
        return "PANIC", ""
    tally["states"] += len(states)
    tally["states in contact"] += sum(bool(s["contacts"]) for s in states)
    tally["states with constraint rows"] += sum(len(s["rows"]) > 0 for s in states)
    for i, (theirs, ours) in enumerate(zip(states, answer["states"])):
        where = f"state {i}"
        difference = compare_contacts(model, ours["contacts"], theirs["contacts"])
        if difference:
            return difference[0], f"{where} {difference[1]}"
        loose = iterated(model, theirs["contacts"])
        difference = compare_rows(ours["rows"], theirs["rows"], theirs["types"])
        if difference and loose and "contact" in difference[0]:
            return "contacts of iterated pairs: rows", f"{where} {difference[1]}"
        if difference:
            return difference[0].upper(), f"{where} {difference[1]}"
        if not ours["converged"]:
            return "OURS NOT CONVERGED", where
        errors = {
            "qacc": relative(ours["qacc"], theirs["qacc"], 1.0),
            "qfrc": relative(ours["qfrc_constraint"], theirs["qfrc"], 1e-2),
            "step": max(relative(ours[k], theirs["next"][j], 1.0) for j, k in enumerate(["qpos", "qvel"])),
        }
        for key, error in errors.items():
            if not error <= TOLERANCE[key]:
                text = f"{where}: {key} off by {error:.1e}, gradient {theirs['gradient']:.1e}, condition {theirs['condition']:.1e}"
                if theirs["condition"] > 1e8:
                    return "ill-conditioned", text
                if theirs["gradient"] > CONVERGED:
                    return "unconverged", text
                if loose:
                    return "contacts of iterated pairs: motion", text
                return key.upper(), text
            worst[key] = max(worst[key], error)
    end = states[-1]["next"]
    drift = max(relative(answer["end"][k], end[j], 1.0) for j, k in enumerate(["qpos", "qvel"]))
    if not drift <= TOLERANCE["drift"]:
        return "drift", f"off by {drift:.1e}"
    worst["drift"] = max(worst["drift"], drift)
    return "agree", ""


def main():
    mujoco.set_mju_user_warning(lambda message: None)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="target/release/examples/constraint_probe")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the files that disagree")
    options = parser.parse_args()
    probe = Probe(options.program)
    outcomes, tally, worst = collections.Counter(), collections.Counter(), collections.defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "case.xml"
        for seed in range(options.first, options.first + options.cases):
            path.write_text(Constrained(seed).text())
            outcome, why = run(probe, path, seed, worst, tally)
            outcomes[outcome] += 1
            if why:
                print(f"seed {seed}: {outcome}: {why}", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"case{seed}.xml").write_text(path.read_text())
    for message, count in tally.most_common(20):
        print(f"{count:6}  {message}")
    print("worst of those that agree:", {k: f"{v:.1e}" for k, v in worst.items()})
    for outcome, count in outcomes.most_common():
        print(f"{count:6}  {outcome}")
    sys.exit(1 if any(outcome.isupper() for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()
