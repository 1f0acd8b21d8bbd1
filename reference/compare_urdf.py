#!/usr/bin/env python3
"""Compares `pullback inspect` with Pinocchio, and with MuJoCo where it compiles the robot, on every URDF file below the given paths.

    python reference/compare_urdf.py --program target/release/pullback PATH...

At random states: positions of links, mass matrix and bias force (Coriolis, gravity), with the root fixed and floating. A file
that is refused with a remedy (--fix-inertia, --allow-ignored NAME) is tried again with it and counted apart. With
--fix-inertia Pinocchio gets the correction too, made here a second time from its definition. A summary of who agrees,
differs or is refused, and why, is printed at the end; one JSON object per file goes to --out.

Good corpora are the PyPI packages `pybullet` (pybullet_data), `example-robot-data` (cmeel), `rtb-data` and `robosuite`,
unpacked; none of their files is part of this project. Needs `pin`, `mujoco` and numpy (reference/requirements.txt).
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pinocchio as pin

TOLERANCE = 1e-8
SLACK = 1e-6  # of the checks of inertias, relative to the trace
LEAST_MASS, LEAST_MOMENT = 1e-3, 1e-6  # what --fix-inertia gives to joints that move nothing


def relative(ours, theirs):
    """Largest difference over the largest entry; infinite where shapes differ."""
    ours, theirs = np.ravel(np.asarray(ours, float)), np.ravel(np.asarray(theirs, float))
    if ours.shape != theirs.shape:
        return float("inf")
    if ours.size == 0:
        return 0.0
    error, scale = np.max(np.abs(ours - theirs)), np.max(np.abs(theirs))
    return float(error / scale if scale > 1e-12 else error) if np.isfinite(error) else float("inf")


def inspect(program, file, arguments):
    command = [program, "inspect", str(file), "--json", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return None, "no answer in 300 s"
    if done.returncode == 0:
        return json.loads(done.stdout), ""
    lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
    return None, next((line for line in reversed(lines) if not line.startswith("note:")), lines[-1])[:600]


def remedy(refusal, tried):
    """The option that a refusal names, unless it was tried."""
    if "--fix-inertia" in refusal and "--fix-inertia" not in tried:
        return ["--fix-inertia"]
    found = re.search(r"--allow-ignored (\w+)|allow `([\w.]+)`", refusal)
    name = found and (found.group(1) or found.group(2))
    return ["--allow-ignored", name] if name and name not in tried else None


def load(program, file, arguments):
    """What the program says of the file, with as many of its own remedies as it takes."""
    tried = []
    for _ in range(4):
        ours, refusal = inspect(program, file, arguments + tried)
        more = None if ours else remedy(refusal, tried)
        if more is None:
            return ours, refusal, tried
        tried += more
    return None, refusal, tried


def shifted(link, key, change):
    element = link.find(f"inertial/{key[0]}")
    element.set(key[1], repr(change(float(element.get(key[1], 0)))))


def corrected(text, notes):
    """The text with the inertias that --fix-inertia gives; `notes` name the joints that moved nothing."""
    root = ET.fromstring(text)
    links = {link.get("name"): link for link in root.findall("link")}
    for link in links.values():
        tensor = link.find("inertial/inertia")
        if tensor is None:
            continue
        keys = [["ixx", "ixy", "ixz"], ["ixy", "iyy", "iyz"], ["ixz", "iyz", "izz"]]
        inertia = np.array([[float(tensor.get(k, 0)) for k in row] for row in keys])
        moments, axes = np.linalg.eigh(inertia)
        slack = SLACK * np.abs(moments).sum()
        if moments[0] < -slack or moments[2] > moments[0] + moments[1] + slack:
            second = np.maximum(moments.sum() / 2 - moments, 0)
            fixed = axes @ np.diag(second.sum() - second) @ axes.T
            for i, row in enumerate(keys):
                for j in range(i, 3):
                    tensor.set(row[j], repr(float(fixed[i, j])))
    idle = [note for note in notes if "had no mass or no inertia" in note]
    for name in re.findall(r"`([^`]+)`", idle[0].split("to move:")[1] if idle else ""):
        link = links[name]
        if link.find("inertial") is None:
            inertial = ET.SubElement(link, "inertial")
            ET.SubElement(inertial, "mass", value="0")
            ET.SubElement(inertial, "inertia", ixx="0", ixy="0", ixz="0", iyy="0", iyz="0", izz="0")
        shifted(link, ("mass", "value"), lambda m: max(m, LEAST_MASS))
        for key in ("ixx", "iyy", "izz"):
            shifted(link, ("inertia", key), lambda i: i + LEAST_MOMENT)
    return ET.tostring(root, encoding="unicode")


def bare(text):
    """The text without shapes, which say nothing about the dynamics without contact."""
    root = ET.fromstring(text)
    for link in root.findall("link"):
        for shape in link.findall("visual") + link.findall("collision"):
            link.remove(shape)
    return root


def read_text(file):
    return file.read_bytes().decode(errors="replace").strip("\0 \t\r\n")


class Pinocchio:
    """One robot; coordinates and velocities of ours to its own."""

    def __init__(self, text, floating):
        root = [pin.JointModelFreeFlyer()] if floating else []
        text = ET.tostring(bare(text), encoding="unicode")
        self.model = pin.buildModelFromXML(text, *root)
        self.data = self.model.createData()

    def evaluate(self, ours, q, v):
        model, data = self.model, self.data
        theirs, speed, moving = pin.neutral(model), np.zeros(model.nv), np.zeros((model.nv, len(v)))
        drift = np.zeros(model.nv)
        for joint in ours["joints"]:
            name = "root_joint" if joint["name"] == "floating_base" else joint["name"]
            place = model.getJointId(name)
            if place >= model.njoints:
                raise ValueError(f"Pinocchio has no joint `{name}`")
            at, a, b = model.joints[place], joint["qpos"], joint["qvel"]
            if joint["kind"] == "free":
                w, x, y, z = q[a + 3 : a + 7]
                # Ours stands in the world, Pinocchio's in the frame of its origin.
                world = pin.SE3(pin.Quaternion(w, x, y, z), np.array(q[a : a + 3]))
                local = model.jointPlacements[place].inverse() * world
                theirs[at.idx_q : at.idx_q + 7] = pin.SE3ToXYZQUAT(local)
                turn = world.rotation.T
                moving[at.idx_v : at.idx_v + 3, b : b + 3] = turn
                moving[at.idx_v + 3 : at.idx_v + 6, b + 3 : b + 6] = np.eye(3)
                # d(Rᵀ v)/dt = Rᵀ v̇ − ω × Rᵀ v
                drift[at.idx_v : at.idx_v + 3] = -np.cross(v[b + 3 : b + 6], turn @ v[b : b + 3])
            elif at.nv == 1:
                theirs[at.idx_q : at.idx_q + at.nq] = [q[a]] if at.nq == 1 else [np.cos(q[a]), np.sin(q[a])]
                moving[at.idx_v, b] = 1
            else:
                raise ValueError(f"joint `{name}` is not compared")
        if model.nv != len(v):
            raise ValueError(f"Pinocchio has {model.nv} velocities, we {len(v)}")
        speed = moving @ v
        mass = pin.crba(model, data, theirs)
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = pin.nonLinearEffects(model, data, theirs, speed) + mass @ drift
        pin.framesForwardKinematics(model, data, theirs)
        frames = {f.name: data.oMf[i].translation for i, f in enumerate(model.frames) if f.type == pin.FrameType.BODY}
        return {"qM": moving.T @ mass @ moving, "qfrc_bias": moving.T @ bias, "frames": frames}


class Mujoco:
    """The same by MuJoCo, whose conventions are ours."""

    def __init__(self, text, floating):
        root = bare(text)
        for joint in root.findall("joint"):
            ranged = joint.get("type") in ("revolute", "prismatic")
            for idle in joint.findall("mimic") + ([] if ranged else joint.findall("limit")):
                joint.remove(idle)
        extension = ET.SubElement(root, "mujoco")
        ET.SubElement(extension, "compiler", fusestatic="false")
        spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
        if floating:
            spec.worldbody.bodies[0].add_freejoint(name="floating_base")
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def evaluate(self, ours, q, v):
        model, data = self.model, self.data
        rows = np.zeros(len(v), int)
        for joint in ours["joints"]:
            at = model.joint(joint["name"])
            size, count = {"free": (7, 6), "ball": (4, 3)}.get(joint["kind"], (1, 1))
            if at.type[0] != ["free", "ball", "slide", "hinge"].index(joint["kind"]):
                raise ValueError("joints of another kind")
            data.qpos[at.qposadr[0] : at.qposadr[0] + size] = q[joint["qpos"] : joint["qpos"] + size]
            rows[joint["qvel"] : joint["qvel"] + count] = at.dofadr[0] + np.arange(count)
        if model.nv != len(v):
            raise ValueError(f"MuJoCo has {model.nv} velocities, we {len(v)}")
        data.qvel[rows] = v
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        frames = {model.body(i).name: data.xpos[i] for i in range(1, model.nbody)}
        return {"qM": mass[np.ix_(rows, rows)], "qfrc_bias": data.qfrc_bias[rows], "frames": frames}


def random_state(ours, rng):
    q, v = np.zeros(ours["nq"]), rng.uniform(-1, 1, ours["nv"])
    for joint in ours["joints"]:
        at = joint["qpos"]
        if joint["kind"] in ("free", "ball"):
            start = at + 3 if joint["kind"] == "free" else at
            q[at:start] = rng.uniform(-1, 1, start - at)
            turn = rng.normal(size=4)
            q[start : start + 4] = turn / np.linalg.norm(turn)
        else:
            q[at] = rng.uniform(-1, 1)
    return q, v


def compare(program, file, arguments, states):
    """What became of one file with a fixed or floating base."""
    ours, refusal, tried = load(program, file, arguments)
    row = {"remedies": tried, "refusal": refusal}
    if ours is None:
        return {**row, "status": "refused"}
    row["notes"] = ours.get("notes", [])
    text, floating = read_text(file), "--floating-base" in arguments
    if "--fix-inertia" in tried:
        text = corrected(text, row["notes"])
    peers = {}
    for name, peer in (("pinocchio", Pinocchio), ("mujoco", Mujoco)):
        try:
            peers[name] = peer(text, floating)
        except (ValueError, RuntimeError, ET.ParseError, IndexError) as e:
            row[name] = f"does not read it: {str(e).strip().splitlines()[0][:150] if str(e).strip() else type(e).__name__}"
    if ours["nv"] == 0:
        return {**row, "status": "loads, nothing moves"}
    rng, errors = np.random.default_rng(0), collections.defaultdict(dict)
    for _ in range(states):
        q, v = random_state(ours, rng)
        numbers = lambda x: ",".join(repr(float(n)) for n in x)
        here, refusal = inspect(program, file, [*arguments, *tried, f"--qpos={numbers(q)}", f"--qvel={numbers(v)}"])
        if here is None:
            return {**row, "status": "refused", "refusal": refusal}
        for name, peer in list(peers.items()):
            try:
                theirs = peer.evaluate(here, q, v)
            except (ValueError, KeyError) as e:
                row[name] = f"not compared: {e}"
                del peers[name]
                continue
            found = errors[name]
            for key in ("qM", "qfrc_bias"):
                found[key] = max(found.get(key, 0.0), relative(here[key], theirs[key]))
            both = [(b["xpos"], theirs["frames"][b["name"]]) for b in here["bodies"] if b["name"] in theirs["frames"]]
            if both:
                found["xpos"] = max(found.get("xpos", 0.0), relative(*map(np.array, zip(*both))))
    for name in peers:
        bad = {key: error for key, error in errors[name].items() if error > TOLERANCE}
        row[name] = f"differs: {bad}" if bad else "agrees"
    row["errors"] = errors
    judged = [row[name] for name in ("pinocchio", "mujoco") if name in peers]
    wrong = any(j.startswith("differs") for j in judged)
    return {**row, "status": "differs" if wrong else "agrees" if judged else "loads, no peer reads it"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--program", default="target/release/pullback")
    parser.add_argument("--states", type=int, default=3)
    parser.add_argument("--package", action="append", default=[], metavar="NAME=DIR|DIR")
    parser.add_argument("--out", default="compare_urdf.jsonl")
    options = parser.parse_args()
    pin_arguments = [a for package in options.package for a in ("--package", package)]
    files = [f for p in map(pathlib.Path, options.paths) for f in ([p] if p.is_file() else sorted(p.rglob("*.urdf")))]
    counts = {base: collections.Counter() for base in ("fixed base", "floating base")}
    peers, reasons, remedies, odd = collections.Counter(), collections.Counter(), collections.Counter(), []
    with open(options.out, "w") as out:
        for file in files:
            row = {"file": str(file)}
            for base, more in (("fixed base", []), ("floating base", ["--floating-base"])):
                row[base] = found = compare(options.program, file, pin_arguments + more, options.states)
                status = found["status"] + (f" with {' '.join(found['remedies'])}" if found["remedies"] else "")
                counts[base][status] += 1
                for name in ("pinocchio", "mujoco"):
                    if name in found:
                        peers[f"{base}, {name} {found[name].split(':')[0]}"] += 1
                if base == "fixed base" or found["status"] == "differs":
                    if found["status"] == "refused":
                        reasons[re.sub(r"^.*?\.urdf(:\d+)*: ", "", found["refusal"])[:160]] += 1
                    if found["status"] not in ("agrees", "loads, nothing moves"):
                        odd.append((str(file), base, status, found))
            out.write(json.dumps(row) + "\n")
            out.flush()
    print(f"{len(files)} files")
    for base, found in counts.items():
        print(base, *(f"\n  {n:5} {status}" for status, n in found.most_common()))
    print("peers", *(f"\n  {n:5} {what}" for what, n in sorted(peers.items())))
    print("refused", *(f"\n  {n:5} {reason}" for reason, n in reasons.most_common()))
    for file, base, status, found in odd:
        detail = found["refusal"] or "; ".join(f"{n} {found[n]}" for n in ("pinocchio", "mujoco") if n in found)
        print(f"{file} ({base}): {status}: {detail}")


if __name__ == "__main__":
    main()
