"""Random MJCF files with constraints and contacts through MuJoCo and through our solver.

    cargo build --release -p pullback-scene --example constraint_probe
    python reference/fuzz_constraints.py --program target/release/examples/constraint_probe --cases 2000

Each file moves for 20 steps of MuJoCo from a random state. At each of these states both sides report contacts, rows, acceleration,
constraint force and the state one step later, and we run the 20 steps on our own as well. MuJoCo's solver goes to convergence
without a warm start. Three files in four have only shapes whose pairs MuJoCo collides in closed form.

A file agrees, or each of its differences is explained by evidence (fuzz_evidence.py names the causes), or it has a defect.
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
from fuzz_evidence import (
    MOTION, TOLERANCE, converge, drift_explanation, end_difference, explanation, first_difference, flew_apart, found, inner_stages,
    placed, probed, without_midphase,
)
from fuzz_models import Maker, Node

STEPS = 20
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


def random_start(model, random):
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, random.uniform(-0.5, 0.5, model.nv), 1.0)
    data.qvel[:] = random.uniform(-1.0, 1.0, model.nv)
    data.ctrl[:] = random.uniform(-1.0, 1.0, model.nu)
    return data


def motion(model, data):
    """What MuJoCo finds along its motion, as long as that does not fly apart."""
    states = []
    for _ in range(STEPS):
        state = found(model, data)
        if flew_apart(data):
            break
        states.append(state)
    return states


class Probe:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, case):
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


# Outcomes of files that one of the two sides does not move.
NOT_COMPARED = ("MuJoCo refuses", "nothing moves", "flies apart at once", "refused")


def run(probe, path, seed, worst, tally):
    """The outcome of a file and what differs; a tolerance of zero takes MuJoCo much longer, and is for doubts."""
    outcome, why = attempt(probe, path, seed, worst, tally, 1e-15)
    if outcome.isupper() or "unconverged" in outcome or "unstable" in outcome:
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
        return "PANIC", "our program stopped"
    tally["states"] += len(states)
    tally["states in contact"] += sum(bool(s["contacts"]) for s in states)
    tally["states with constraint rows"] += sum(len(s["rows"]) > 0 for s in states)
    causes = []
    for i, (theirs, ours) in enumerate(zip(states, answer["states"])):
        if not ours["converged"]:
            return "OURS NOT CONVERGED", f"state {i}"
        cause, name, text = at_state(probe, path, model, probed(ours), theirs)
        if name and not cause:
            return name.upper(), f"state {i}: {text}"
        if cause:
            tally[f"states that differ by {cause}"] += 1
            causes.append((f"explained by {cause}: {name}", f"state {i}: {text}"))
        else:
            for key, measure in MOTION.items():
                worst[key] = max(worst[key], measure(probed(ours), theirs) * TOLERANCE[key])
    if causes:
        return causes[0]
    drift = end_difference((answer["end"]["qpos"], answer["end"]["qvel"]), states[-1]["step"])
    if not drift <= TOLERANCE["drift"]:
        cause = drift_explanation(model, path, states[0]["state"], len(states), drift)
        return f"explained by {cause}: drift" if cause else "DRIFT", f"off by {drift:.1e}"
    worst["drift"] = max(worst["drift"], drift)
    return "agree", ""


def at_state(probe, path, model, ours, theirs):
    """Cause, name and text of a difference; all empty if there is none, the cause if nothing explains it."""
    difference, midphase = first_difference(model, ours, theirs), ""
    if difference and difference[0].startswith("contacts"):
        again = without_midphase(model, ours, theirs)
        if again:
            midphase, theirs = difference[:2], again
            difference = first_difference(model, ours, theirs)
    if not difference:
        return ("midphase", *midphase) if midphase else ("", "", "")
    name, text, _ = difference
    cause = explanation(model, path, ours, theirs, difference)
    if not cause and name == "step" and model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        cause = inner_stage(probe, path, model, theirs)
    return cause, name, text


def inner_stage(probe, path, model, theirs):
    """The cause of a difference in an inner stage of RK4, or nothing."""
    stages = list(inner_stages(model, theirs["state"]))
    answer = probe.ask({"file": str(path), "states": stages, "steps": 0})
    for state, ours in zip(stages, answer["states"]):
        stage, ours = found(model, placed(model, state)), probed(ours)
        difference = first_difference(model, ours, stage, ("qacc", "qfrc"))
        cause = difference and explanation(model, path, ours, stage, difference)
        if difference:
            return cause and f"inner stage, {cause} of {difference[0]}"
    return None


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
    compared = sum(count for outcome, count in outcomes.items() if outcome not in NOT_COMPARED)
    explained = sum(count for outcome, count in outcomes.items() if outcome.startswith("explained"))
    defects = compared - outcomes["agree"] - explained
    print(f"{compared} files compared: {outcomes['agree']} agree, {explained} differ by a cause that is shown, {defects} do not")
    print("every disagreement explained" if defects == 0 else "NOT every disagreement explained")
    sys.exit(1 if defects else 0)


if __name__ == "__main__":
    main()
