"""Random MJCF files through MuJoCo and through `pullback inspect`: what both load must agree to 1e-9.

    python reference/fuzz_mjcf.py --program target/release/pullback --cases 2000
    python reference/fuzz_mjcf.py --program target/release/pullback FILE.xml ...

Compared at a random state: names, masses, joint ranges, poses, mass matrix, bias force, acceleration and energies, without
constraints; and, in the cases that keep contacts on, which pairs of geoms touch. What MuJoCo rejects we must answer
without a crash. Prints the seeds that disagree, keeps their files in --keep, and counts refusals by message.
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

from fuzz_models import Maker

TOLERANCE = 1e-9
# MuJoCo leaves off-diagonal entries of 1e-12 kg m² in the principal axes of a mesh, and takes the difference of two
# ellipsoids 1e-6 m apart for a hollow one; both cost it digits.
COARSE = 2e-7
# Condition of the mass matrix beyond which accelerations are not compared: parallel joints make it singular.
WORST_CONDITION = 1e6
# Depth below which two narrow phases may differ about a contact at all, m.
SHALLOW = 2e-3


class Disagreement(Exception):
    """What differs."""


def check(what, ours, theirs, floor=1e-3, tolerance=TOLERANCE):
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    if ours.shape != theirs.shape:
        raise Disagreement(f"{what}: shape {ours.shape} against {theirs.shape}")
    scale = max(floor, np.abs(theirs).max(initial=0.0))
    error = np.abs(ours - theirs).max(initial=0.0) / scale
    if not error <= tolerance:
        raise Disagreement(f"{what}: off by {error:.1e}")


def check_names(what, ours, theirs):
    if len(ours) != len(theirs):
        raise Disagreement(f"{what}: {len(ours)} against {len(theirs)}")
    for a, b in zip(ours, theirs):
        if b and a != b:
            raise Disagreement(f"{what}: `{a}` against `{b}`")


def inspect(program, path, data):
    def listed(values):
        return ",".join(repr(float(x)) for x in values)

    command = [program, "inspect", str(path), "--json"]
    if data is not None:
        command += ["--qpos", listed(data.qpos), "--qvel", listed(data.qvel), "--ctrl", listed(data.ctrl)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def random_state(model, random):
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, random.uniform(-0.7, 0.7, model.nv), 1.0)
    data.qvel[:] = random.uniform(-0.5, 0.5, model.nv)
    data.ctrl[:] = random.uniform(-1.5, 1.5, model.nu)
    return data


def gravity_energy(model, data):
    """Potential energy of the weights alone."""
    off = int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    return 0.0 if off else -float(model.body_mass @ (data.xipos @ model.opt.gravity))


def compare(model, data, ours, coarse):
    tolerance = COARSE if coarse else TOLERANCE

    def names(count, kind):
        return [kind(i).name for i in range(count)]

    check_names("bodies", [b["name"] for b in ours["bodies"]], names(model.nbody, model.body)[1:])
    check_names("joints", [j["name"] for j in ours["joints"]], names(model.njnt, model.joint))
    check_names("geoms", ours["geoms"], names(model.ngeom, model.geom))
    check_names("sites", ours["sites"], names(model.nsite, model.site))
    check_names("actuators", ours["actuators"], names(model.nu, model.actuator))
    for i, joint in enumerate(ours["joints"]):
        if (joint.get("range") is not None) != bool(model.jnt_limited[i]):
            raise Disagreement(f"joint {joint['name']}: limited {model.jnt_limited[i]}, ours {joint.get('range')}")
        if joint.get("range"):
            check(f"range of {joint['name']}", joint["range"], model.jnt_range[i])
    check("masses", [b["mass"] for b in ours["bodies"]], model.body_mass[1:], tolerance=tolerance)
    check("xpos", np.reshape([b["xpos"] for b in ours["bodies"]], (-1, 3)), data.xpos[1:], 1.0)
    quats = np.reshape([b["xquat"] for b in ours["bodies"]], (-1, 4))
    signs = np.where((quats * data.xquat[1:]).sum(axis=1) < 0, -1.0, 1.0)
    check("xquat", quats * signs[:, None], data.xquat[1:], 1.0)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    check("qM", np.array(ours["qM"]).reshape(mass.shape), mass, tolerance=tolerance)
    check("qfrc_bias", ours["qfrc_bias"], data.qfrc_bias, tolerance=tolerance)
    kinetic = ours["kinetic_energy"] + 0.5 * model.dof_armature @ data.qvel**2
    check("kinetic energy", kinetic, data.energy[1], tolerance=tolerance)
    check("potential energy", ours["potential_energy"], gravity_energy(model, data), 1.0, tolerance)
    contact_off = int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    if contact_off and (model.nv == 0 or np.linalg.cond(mass) < WORST_CONDITION):
        check("qacc", ours["qacc"], data.qacc, tolerance=tolerance)
    if not contact_off:
        compare_contacts(model, data, ours)


def compare_contacts(model, data, ours):
    """Every pair deep in contact for one is found by the other."""
    index = {name: i for i, name in enumerate(ours["geoms"])}

    def deepest(contacts):
        depth = {}
        for pair, distance in contacts:
            pair = tuple(sorted(pair))
            depth[pair] = min(distance, depth.get(pair, 0.0))
        return depth

    mine = deepest(((index[a], index[b]), c["distance"]) for c in ours["contacts"] for a, b in [c["geoms"]])
    theirs = deepest((map(int, c.geom), float(c.dist)) for c in data.contact if c.dist < 0)
    for pair in set(mine) ^ set(theirs):
        # Shapes around the same point have no direction in which to part.
        if np.linalg.norm(data.geom_xpos[pair[0]] - data.geom_xpos[pair[1]]) < 1e-9:
            continue
        depth = -min(mine.get(pair, 0.0), theirs.get(pair, 0.0))
        if depth > SHALLOW:
            whose = "ours" if pair in mine else "MuJoCo's"
            labels = [f"{ours['geoms'][g]} ({mujoco.mjtGeom(model.geom_type[g]).name})" for g in pair]
            raise Disagreement(f"contact {labels} {depth:.4f} m deep only in {whose}")


def run(program, path, seed, tally):
    """One file; the outcome as a word and a sentence."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        answer = inspect(program, path, None)
        if answer.returncode not in (0, 1, 2):
            raise Disagreement(f"crash on a file MuJoCo rejects: {answer.stderr[-300:]}") from None
        if answer.returncode == 0:
            tally["accepted: " + re.sub(r"'[^']*'|\d+", "*", str(error).split("\n")[0])] += 1
            return "accepted"
        tally["both refuse: " + re.sub(r"'[^']*'|\d+", "*", str(error).split("\n")[0])] += 1
        return "both refuse"
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    data = random_state(model, np.random.default_rng(seed))
    mujoco.mj_forward(model, data)
    answer = inspect(program, path, data)
    if answer.returncode not in (0, 1, 2):
        raise Disagreement(f"crash: {answer.stderr[-300:]}")
    if answer.returncode != 0:
        message = (answer.stderr.strip() or answer.stdout.strip()).split("\n")[0]
        tally["refused: " + re.sub(r"^.*?\d+:\d+: |`[^`]*_\d+`", "", message)] += 1
        return "refused"
    part = path.with_name("part.xml")
    texts = path.read_text() + (part.read_text() if part.is_file() else "")
    coarse = model.nmesh > 0 or "shellinertia" in texts
    compare(model, data, json.loads(answer.stdout), coarse)
    return "agree"


def main():
    mujoco.set_mju_user_warning(lambda message: None)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="target/release/pullback")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the files that disagree")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="compare these instead of random ones")
    options = parser.parse_args()
    tally, outcomes = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder) / "case.xml"
        for seed in range(len(options.files)) if options.files else range(options.first, options.first + options.cases):
            path = scratch
            if options.files:
                path = options.files[seed]
            else:
                maker = Maker(seed, contact=seed % 3 == 2)
                path.write_text(maker.text())
                path.with_name("part.xml").write_text(maker.part or "")
            label = str(path) if options.files else f"seed {seed}"
            try:
                outcomes[run(options.program, path, seed, tally)] += 1
            except Disagreement as why:
                outcomes["DISAGREE"] += 1
                print(f"{label}: {why}")
                if options.keep and not options.files:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    kept = path.read_text().replace('file="part.xml"', f'file="part{seed}.xml"')
                    (options.keep / f"case{seed}.xml").write_text(kept)
                    if maker.part:
                        (options.keep / f"part{seed}.xml").write_text(maker.part)
    for message, count in tally.most_common(40):
        print(f"{count:6}  {message}")
    print(dict(outcomes))
    sys.exit(1 if outcomes["DISAGREE"] else 0)


if __name__ == "__main__":
    main()
