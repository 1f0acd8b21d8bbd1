"""Golden files of the MJCF reader: what MuJoCo compiles from each of our own models.

Inertia is written as a matrix in the body frame, so that the choice of principal axes does not matter. Ranges of joints and
actuators without limits are written as null. Flags that take forces away are applied, as our reader does. Unnamed elements
have empty names. Of equalities those that are active are written, with bodies, anchors and orientations for both forms.
"""

import json
import os
from pathlib import Path

import mujoco
import numpy as np

import dynamics

TESTS = Path(__file__).resolve().parent.parent / "crates/scene/tests"
JOINTS = ["free", "ball", "slide", "hinge"]
GEOMS = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}
INTEGRATORS = ["Euler", "Rk4", "Implicit", "ImplicitFast"]
DISABLED = mujoco.mjtDisableBit
IDENTITY = [1.0, 0.0, 0.0, 0.0]


def rotation(quat):
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quat)
    return matrix.reshape(3, 3)


def enabled(m, bit):
    return not int(m.opt.disableflags) & int(bit)


def limited(flag, interval):
    return [float(x) for x in interval] if flag else None


def softness(solref, solimp):
    return [float(x) for x in (*solref, *solimp)]


def bodies(m):
    passive = enabled(m, DISABLED.mjDSBL_SPRING) or enabled(m, DISABLED.mjDSBL_DAMPER)
    carried = passive and enabled(m, DISABLED.mjDSBL_GRAVITY)
    for i in range(m.nbody):
        axes = rotation(m.body_iquat[i])
        yield {
            "name": m.body(i).name,
            "parent": int(m.body_parentid[i]),
            "pos": m.body_pos[i].tolist(),
            "quat": m.body_quat[i].tolist(),
            "mass": float(m.body_mass[i]),
            "com": m.body_ipos[i].tolist(),
            "inertia": (axes @ np.diag(m.body_inertia[i]) @ axes.T).tolist(),
            "gravcomp": float(m.body_gravcomp[i]) * carried,
            "mocap": bool(m.body_mocapid[i] >= 0),
        }


def joints(m):
    for i in range(m.njnt):
        yield {
            "name": m.joint(i).name,
            "body": int(m.jnt_bodyid[i]),
            "type": JOINTS[m.jnt_type[i]],
            "pos": m.jnt_pos[i].tolist(),
            "axis": m.jnt_axis[i].tolist(),
            "range": limited(m.jnt_limited[i], m.jnt_range[i]),
            "damping": float(m.dof_damping[m.jnt_dofadr[i]]) * enabled(m, DISABLED.mjDSBL_DAMPER),
            "armature": float(m.dof_armature[m.jnt_dofadr[i]]),
            "stiffness": float(m.jnt_stiffness[i]) * enabled(m, DISABLED.mjDSBL_SPRING),
            "springref": float(m.qpos_spring[m.jnt_qposadr[i]]),
            "margin": float(m.jnt_margin[i]),
            "limit": softness(m.jnt_solref[i], m.jnt_solimp[i]),
            "frictionloss": float(m.dof_frictionloss[m.jnt_dofadr[i]]),
            "friction": softness(m.dof_solref[m.jnt_dofadr[i]], m.dof_solimp[m.jnt_dofadr[i]]),
            "actuatorfrcrange": limited(m.jnt_actfrclimited[i], m.jnt_actfrcrange[i]),
        }


def geoms(m):
    for i in range(m.ngeom):
        yield {
            "name": m.geom(i).name,
            "body": int(m.geom_bodyid[i]),
            "type": GEOMS[int(m.geom_type[i])],
            "size": m.geom_size[i].tolist(),
            "pos": m.geom_pos[i].tolist(),
            "quat": m.geom_quat[i].tolist(),
            "contype": int(m.geom_contype[i]),
            "conaffinity": int(m.geom_conaffinity[i]),
            "friction": m.geom_friction[i].tolist(),
            "margin": float(m.geom_margin[i]),
            "gap": float(m.geom_gap[i]),
            "condim": int(m.geom_condim[i]),
            "priority": int(m.geom_priority[i]),
            "solmix": float(m.geom_solmix[i]),
            "solref": m.geom_solref[i].tolist(),
            "solimp": m.geom_solimp[i].tolist(),
            "rgba": color(m, m.geom_rgba[i], m.geom_matid[i]),
        }


def color(m, own, material):
    """The color that is drawn: that of the material unless the own one is not the default."""
    plain = np.array_equal(own, np.array([0.5, 0.5, 0.5, 1.0], np.float32))
    return (m.mat_rgba[material] if plain and material >= 0 else own).tolist()


def sites(m):
    for i in range(m.nsite):
        yield {
            "pos": m.site_pos[i].tolist(),
            "quat": m.site_quat[i].tolist(),
            "type": GEOMS[int(m.site_type[i])],
            "size": m.site_size[i].tolist(),
            "rgba": color(m, m.site_rgba[i], m.site_matid[i]),
        }


def cameras(m):
    for i in range(m.ncam):
        yield {
            "name": m.camera(i).name,
            "body": int(m.cam_bodyid[i]),
            "pos": m.cam_pos[i].tolist(),
            "quat": m.cam_quat[i].tolist(),
            "mode": int(m.cam_mode[i]),
            "target": int(m.cam_targetbodyid[i]),
            "orthographic": bool(m.cam_projection[i]),
            "fovy": float(m.cam_fovy[i]),
            "intrinsic": m.cam_intrinsic[i].tolist() if m.cam_sensorsize[i].any() else None,
            "resolution": m.cam_resolution[i].tolist(),
        }


def lights(m):
    for i in range(m.nlight):
        strengths = [m.light_attenuation[i], m.light_ambient[i], m.light_diffuse[i], m.light_specular[i]]
        yield {
            "name": m.light(i).name,
            "body": int(m.light_bodyid[i]),
            "pos": m.light_pos[i].tolist(),
            "dir": m.light_dir[i].tolist(),
            "mode": int(m.light_mode[i]),
            "target": int(m.light_targetbodyid[i]),
            "type": int(m.light_type[i]),
            "active": bool(m.light_active[i]),
            "castshadow": bool(m.light_castshadow[i]),
            "strengths": np.concatenate(strengths).tolist(),
            "cone": [float(m.light_cutoff[i]), float(m.light_exponent[i])],
        }


def materials(m):
    """With the texture of the color, which stands second of all roles."""
    names = ["emission", "specular", "shininess", "reflectance", "metallic", "roughness"]
    for i in range(m.nmat):
        yield {
            "name": m.mat(i).name,
            "texture": int(m.mat_texid[i, 1]),
            "texrepeat": m.mat_texrepeat[i].tolist(),
            "rgba": m.mat_rgba[i].tolist(),
            "factors": [float(getattr(m, f"mat_{name}")[i]) for name in names],
        }


def actuators(m):
    clamped = enabled(m, DISABLED.mjDSBL_CLAMPCTRL)
    for i in range(m.nu):
        on = enabled(m, DISABLED.mjDSBL_ACTUATION)
        bias = m.actuator_biasprm[i, :3] if m.actuator_biastype[i] and on else np.zeros(3)
        yield {
            "name": m.actuator(i).name,
            "joint": int(m.actuator_trnid[i, 0]),
            "gear": m.actuator_gear[i].tolist(),
            "gain": float(m.actuator_gainprm[i, 0]) * on,
            "bias": bias.tolist(),
            "ctrlrange": limited(m.actuator_ctrllimited[i] and clamped, m.actuator_ctrlrange[i]),
            "forcerange": limited(m.actuator_forcelimited[i] and on, m.actuator_forcerange[i]),
        }


def equalities(m):
    """Frames as the reader keeps them: what each body's own frame is followed by."""
    kinds = mujoco.mjtEq
    for i in np.flatnonzero(m.eq_active0):
        first, second = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        data, kind = m.eq_data[i], int(m.eq_type[i])
        equality = {"name": m.equality(i).name, "softness": softness(m.eq_solref[i], m.eq_solimp[i])}
        if kind == kinds.mjEQ_JOINT:
            yield equality | {"type": "joint", "joints": [first, second], "polycoef": data[:5].tolist()}
            continue
        weld = kind == kinds.mjEQ_WELD
        equality["type"] = "weld" if weld else "connect"
        if m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE:
            sites = [first, second]
            equality |= {"bodies": m.site_bodyid[sites].tolist(), "anchors": m.site_pos[sites].tolist()}
            orientations = m.site_quat[sites].tolist()
        else:
            # A weld keeps the anchor on its second body first.
            anchors = [data[3:6], data[0:3]] if weld else [data[0:3], data[3:6]]
            equality |= {"bodies": [first, second], "anchors": [a.tolist() for a in anchors]}
            orientations = [data[6:10].tolist(), IDENTITY]
        if weld:
            equality |= {"orientations": orientations, "torquescale": float(data[10])}
        yield equality


def pairs(m):
    for i in range(m.npair):
        yield {
            "geoms": [int(m.pair_geom1[i]), int(m.pair_geom2[i])],
            "condim": int(m.pair_dim[i]),
            "friction": m.pair_friction[i].tolist(),
            "softness": softness(m.pair_solref[i], m.pair_solimp[i]),
            "solreffriction": m.pair_solreffriction[i].tolist(),
            "margin": float(m.pair_margin[i]),
            "gap": float(m.pair_gap[i]),
        }


def keyframe(m, i):
    """Orientations of mocap bodies are made units, as MuJoCo does where it uses them."""
    orientations = m.key_mquat[i].reshape(-1, 4).copy()
    for quat in orientations:
        mujoco.mju_normalize4(quat)
    mocap = np.hstack([m.key_mpos[i].reshape(-1, 3), orientations])
    return {
        "qpos": m.key_qpos[i].tolist(),
        "qvel": m.key_qvel[i].tolist(),
        "ctrl": m.key_ctrl[i].tolist(),
        "mocap": mocap.ravel().tolist(),
    }


def override(m):
    """The law of all contacts, if one replaces those of geoms and pairs."""
    if not int(m.opt.enableflags) & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        return None
    return [m.opt.o_margin, *softness(m.opt.o_solref, m.opt.o_solimp), *m.opt.o_friction]


def options(m):
    constraints = enabled(m, DISABLED.mjDSBL_CONSTRAINT)

    return {
        "timestep": float(m.opt.timestep),
        "gravity": m.opt.gravity.tolist() if enabled(m, DISABLED.mjDSBL_GRAVITY) else [0.0] * 3,
        "integrator": INTEGRATORS[m.opt.integrator],
        "cone": ["Pyramidal", "Elliptic"][m.opt.cone],
        "impratio": float(m.opt.impratio),
        "contact": constraints and enabled(m, DISABLED.mjDSBL_CONTACT),
        "limit": constraints and enabled(m, DISABLED.mjDSBL_LIMIT),
        "eulerdamp": enabled(m, DISABLED.mjDSBL_EULERDAMP),
        "filterparent": enabled(m, DISABLED.mjDSBL_FILTERPARENT),
        "refsafe": enabled(m, DISABLED.mjDSBL_REFSAFE),
        "equality": constraints and enabled(m, DISABLED.mjDSBL_EQUALITY),
        "frictionloss": constraints and enabled(m, DISABLED.mjDSBL_FRICTIONLOSS),
        "solver": [m.opt.iterations, m.opt.tolerance, m.opt.ls_iterations, m.opt.ls_tolerance],
        "override": override(m),
    }


def compile_model(path):
    m = mujoco.MjModel.from_xml_path(str(path))
    return {
        "mujoco": mujoco.__version__,
        "qpos0": m.qpos0.tolist(),
        "bodies": list(bodies(m)),
        "joints": list(joints(m)),
        "geoms": list(geoms(m)),
        "sites": list(sites(m)),
        "cameras": list(cameras(m)),
        "lights": list(lights(m)),
        "materials": list(materials(m)),
        "textures": [{"name": m.texture(i).name, "type": int(m.tex_type[i])} for i in range(m.ntex)],
        "actuators": list(actuators(m)),
        "keys": [keyframe(m, i) for i in range(m.nkey)],
        "pairs": list(pairs(m)),
        "equalities": list(equalities(m)),
        "excludes": [sorted([int(s) >> 16, int(s) & 0xFFFF]) for s in m.exclude_signature],
        "options": options(m),
    }


def state(path):
    """The dynamics at one random state."""
    model = mujoco.MjModel.from_xml_path(str(path))
    dynamics.settings(model)
    return dynamics.at(model, dynamics.random_state(model, np.random.default_rng(0)))


def write(target, golden, indent):
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(golden, indent=indent) + "\n")
    os.replace(temporary, target)
    print(target.name)


def main():
    for path in sorted((TESTS / "models").glob("*.xml")):
        write(TESTS / "golden" / f"{path.stem}.json", compile_model(path), 1)
    # Models kept from the fuzzer and models in the style of public ones: also their dynamics.
    for path in sorted((TESTS / "models/varied").glob("*.xml")):
        golden = compile_model(path) | {"model": str(path.relative_to(dynamics.ROOT)), "states": [state(path)]}
        write(TESTS / "golden/varied" / f"{path.stem}.json", golden, None)


if __name__ == "__main__":
    main()
