"""Prints a hand of 23 hinges and 39 muscles with two balls in it as MJCF (pip install mujoco==3.17.0): python3 make_muscle_hand.py > muscle_hand.xml

Frames: x along the fingers, z out of the palm (up), y towards the little finger. The origin of the palm is the center of the wrist, that of a
phalanx its joint nearer to the wrist. Flexion turns x towards z. Lengths in m, angles in degrees, forces in N.
"""

import itertools

import mujoco
import numpy as np

# Fingers: joint at the head of the metacarpal bone, its base, turn about z, lengths of the three phalanges and their radii.
FINGERS = {
    "index": ((0.090, -0.032, 0.003), (0.030, -0.017, -0.003), -5, (0.042, 0.025, 0.022), (0.0095, 0.0085, 0.0075)),
    "middle": ((0.093, -0.010, -0.002), (0.031, -0.005, -0.006), 0, (0.047, 0.029, 0.023), (0.0095, 0.0085, 0.0075)),
    "ring": ((0.087, 0.012, -0.002), (0.029, 0.007, -0.006), 5, (0.043, 0.027, 0.023), (0.009, 0.008, 0.007)),
    "little": ((0.078, 0.032, 0.004), (0.026, 0.018, -0.002), 11, (0.034, 0.020, 0.020), (0.008, 0.007, 0.0065)),
}

# Thumb: joint at its root, direction of its bones, direction of its flexion, lengths and radii of metacarpal bone and phalanges.
THUMB_ROOT = np.array((0.020, -0.026, 0.006))
THUMB_BONES, THUMB_FLEXION = (0.70, -0.58, 0.42), (0.0, 0.85, 0.50)
THUMB_LENGTHS, THUMB_RADII = (0.046, 0.034, 0.027), (0.011, 0.010, 0.009)

# Joints: axis, range, angle at rest, and class unless it is `finger`.
WRIST = {"deviation": ((0, 0, 1), (-20, 30), 0, "wrist"), "flexion": ((0, -1, 0), (-60, 60), 0, "wrist")}
KNUCKLE = {"spread": ((0, 0, 1), (-20, 20), 0, "side"), "proximal": ((0, -1, 0), (-20, 90), 32)}
MIDDLE, DISTAL = ((0, -1, 0), (0, 100), 38), ((0, -1, 0), (0, 80), 22)
THUMB_BASE = {"thumb_abduction": ((0, 0, -1), (-25, 35), -8), "thumb_flexion": ((0, -1, 0), (-25, 40), 0)}
THUMB_KNUCKLE = {"thumb_side": ((0, 0, -1), (-15, 15), 0, "side"), "thumb_proximal": ((0, -1, 0), (-10, 60), 12)}
THUMB_TIP = ((0, -1, 0), (-10, 80), 15)

HEIGHT = 0.25
BALLS = {"ball1": (0.080, 0.014, 0.030), "ball2": (0.080, -0.030, 0.034)}
RADIUS, MASS = 0.022, 0.043

LINES = []  # of the file
TENDONS = {}  # name: path of (kind, name) or (kind, geom, side site)
FORCES = {}  # name: peak force


def put(depth, line):
    LINES.append("  " * depth + line)


def text(vector):
    return " ".join(f"{round(float(x), 7):g}" for x in np.atleast_1d(vector))


def site(depth, name, point):
    put(depth, f'<site name="{name}" pos="{text(point)}"/>')


def joint(depth, name, axis, limits, rest, kind="finger"):
    put(depth, f'<joint name="{name}" class="{kind}" axis="{text(axis)}" range="{text(limits)}" springref="{text(rest)}"/>')


def capsule(depth, name, a, b, radius, extra=""):
    put(depth, f'<geom name="{name}" fromto="{text((*a, *b))}" size="{text(radius)}"{extra}/>')


def pulley(depth, name, radius, center=(0, 0, 0), turn=0):
    """Cylinder across a hinge, which tendons on the back of the hand wrap, and the site that says on which side."""
    put(depth, f'<geom name="{name}" class="wrap" size="{text(radius)} 0.01" pos="{text(center)}" euler="90 0 {text(turn)}"/>')
    site(depth, f"{name}_back", np.add(center, (0, 0, -2 * radius)))


def muscle(name, force, path):
    """Path: words, each a site, or `geom/side` for a wrapping geom."""
    TENDONS[name], FORCES[name] = path.split(), force


def turned(degrees, vector):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array((c * vector[0] - s * vector[1], s * vector[0] + c * vector[1], vector[2]))


# Muscles of the wrist: peak force, origin on the forearm, two sites beside the joint, insertion on the palm; the abductor inserts on the thumb.
WRIST_MUSCLES = {
    "flexor_carpi_radialis": (150, (-0.22, -0.020, 0.020), (-0.012, -0.018, 0.014), (0.012, -0.017, 0.013), (0.035, -0.016, 0.004)),
    "palmaris_longus": (70, (-0.22, 0.000, 0.026), (-0.012, 0.000, 0.017), (0.012, 0.000, 0.016), (0.040, -0.001, 0.004)),
    "flexor_carpi_ulnaris": (180, (-0.22, 0.022, 0.018), (-0.012, 0.022, 0.013), (0.012, 0.021, 0.012), (0.030, 0.020, 0.004)),
    "extensor_carpi_radialis_longus": (150, (-0.24, -0.026, -0.006), (-0.020, -0.021, -0.011), (0.020, -0.021, -0.011), (0.034, -0.018, -0.010)),
    "extensor_carpi_radialis_brevis": (130, (-0.23, -0.018, -0.016), (-0.020, -0.008, -0.014), (0.020, -0.008, -0.014), (0.035, -0.006, -0.013)),
    "thumb_long_abductor": (40, (-0.13, -0.010, -0.016), (-0.012, -0.027, 0.001), (0.008, -0.030, 0.004), None),
    "extensor_carpi_ulnaris": (130, (-0.22, 0.018, -0.018), (-0.020, 0.022, -0.011), (0.020, 0.022, -0.011), (0.030, 0.019, -0.008)),
}
FLEXORS = [n for n in WRIST_MUSCLES if "extensor" not in n]

# Long muscles of fingers and thumb: peak force, origin on the forearm, place at the wrist (y, z).
LONG = {
    **{f"deep_flexor_{f}": (50, (-0.20, y - 0.002, 0.010), (y, 0.010)) for f, y in zip(FINGERS, (-0.008, -0.003, 0.003, 0.008))},
    **{f"superficial_flexor_{f}": (40, (-0.21, y, 0.018), (y, 0.013)) for f, y in zip(FINGERS, (-0.006, -0.002, 0.004, 0.009))},
    **{f"extensor_{f}": (30, (-0.22, y, -0.018), (y, -0.013)) for f, y in zip(FINGERS, (-0.006, -0.002, 0.002, 0.006))},
    "own_extensor_index": (20, (-0.13, -0.002, -0.014), (-0.004, -0.0125)),
    "own_extensor_little": (20, (-0.20, 0.012, -0.018), (0.010, -0.0125)),
    "thumb_long_flexor": (50, (-0.16, -0.012, 0.008), (-0.011, 0.010)),
    "thumb_long_extensor": (30, (-0.14, 0.002, -0.016), (-0.013, -0.0125)),
    "thumb_short_extensor": (25, (-0.10, -0.006, -0.016), (-0.022, -0.009)),
}


def finger(name):
    """Bodies of a finger and its six muscles; the index and little finger have one more extensor."""
    head, _, turn, (proximal, middle, distal), (r1, r2, r3) = FINGERS[name]
    z1, z2, z3 = r1, 0.9 * r2, 0.75 * r3

    # Palm: sites before the knuckle, and its pulley.
    before = lambda x, y, z: np.add(head, turned(turn, (x, y, z)))
    site(3, f"{name}_flexor_palm", before(-0.016, 0, 0.010))
    site(3, f"{name}_extensor_palm", before(-0.022, 0, -0.011))
    site(3, f"{name}_lumbrical_palm", before(-0.026, -0.006, 0.008))
    for side, y in (("radial", -0.008), ("ulnar", 0.008)):
        site(3, f"{name}_{side}_palm", before(-0.030, y, 0.004))
    pulley(3, f"{name}_knuckle", 0.009, head, turn)

    put(3, f'<body name="{name}_proximal" pos="{text(head)}" euler="0 0 {turn}">')
    for part, figures in KNUCKLE.items():
        joint(4, f"{name}_{part}", *figures)
    capsule(4, f"{name}_proximal", (0, 0, 0), (proximal, 0, 0), r1)
    for side, y in (("radial", -0.009), ("ulnar", 0.009)):
        site(4, f"{name}_{side}", (0.012, y, 0.003))
    site(4, f"{name}_flexor_1", (0.016, 0, z1))
    site(4, f"{name}_flexor_2", (proximal - 0.016, 0, z1))
    site(4, f"{name}_hood_side", (0.016, -0.008, 0.003))
    site(4, f"{name}_hood", (proximal - 0.014, -0.003, -0.95 * r1))
    site(4, f"{name}_extensor_1", (0.5 * proximal, 0, -r1))
    pulley(4, f"{name}_middle_joint", 0.0065 * r2 / 0.0085, (proximal, 0, 0))
    put(4, f'<body name="{name}_middle" pos="{text((proximal, 0, 0))}">')
    joint(5, f"{name}_middle", *MIDDLE)
    capsule(5, f"{name}_middle", (0, 0, 0), (middle, 0, 0), r2)
    site(5, f"{name}_flexor_3", (0.5 * middle, 0, z2))
    site(5, f"{name}_extensor_2", (0.5 * middle, 0, -z2))
    pulley(5, f"{name}_distal_joint", 0.005 * r3 / 0.0075, (middle, 0, 0))
    put(5, f'<body name="{name}_distal" pos="{text((middle, 0, 0))}">')
    joint(6, f"{name}_distal", *DISTAL)
    capsule(6, f"{name}_distal", (0, 0, 0), (distal - r3, 0, 0), r3)
    site(6, f"{name}_flexor_4", (0.010, 0, z3))
    site(6, f"{name}_extensor_3", (0.009, 0, -z3))
    put(5, "</body>")
    put(4, "</body>")
    put(3, "</body>")

    # Muscles: flexors in front of all joints, extensors behind them, the lumbrical in front of the knuckle and behind the others.
    n = name
    wrist = "{0}_origin {0}_wrist_1 {0}_wrist_2"
    back = f"{n}_middle_joint/{n}_middle_joint_back {n}_extensor_2 {n}_distal_joint/{n}_distal_joint_back {n}_extensor_3"
    front = f"{n}_flexor_palm {n}_flexor_1 {n}_flexor_2 {n}_flexor_3"
    muscle(f"deep_flexor_{n}", LONG[f"deep_flexor_{n}"][0], wrist.format(f"deep_flexor_{n}") + f" {front} {n}_flexor_4")
    muscle(f"superficial_flexor_{n}", LONG[f"superficial_flexor_{n}"][0], wrist.format(f"superficial_flexor_{n}") + f" {front}")
    for extensor in (f"extensor_{n}", f"own_extensor_{n}"):
        if extensor in LONG:
            path = f"{extensor}_origin {extensor}_wrist_1 wrist/wrist_back {extensor}_wrist_2 {n}_extensor_palm {n}_knuckle/{n}_knuckle_back {n}_extensor_1 {back}"
            muscle(extensor, LONG[extensor][0], path)
    muscle(f"lumbrical_{n}", 10, f"{n}_lumbrical_palm {n}_hood_side {n}_hood {back}")
    muscle(f"radial_interosseus_{n}", 20, f"{n}_radial_palm {n}_radial")
    muscle(f"ulnar_interosseus_{n}", 20, f"{n}_ulnar_palm {n}_ulnar")


def thumb():
    """Bodies of the thumb and its seven muscles. Its y points to the adducting side."""
    x = np.array(THUMB_BONES) / np.linalg.norm(THUMB_BONES)
    z = THUMB_FLEXION - np.dot(THUMB_FLEXION, x) * x
    z /= np.linalg.norm(z)
    y = np.cross(z, x)
    (metacarpal, proximal, distal), (r1, r2, r3) = THUMB_LENGTHS, THUMB_RADII
    from_thumb = lambda *p: THUMB_ROOT + np.stack((x, y, z), 1) @ p

    put(3, f'<geom name="thumb_root" class="wrap" type="sphere" size="0.008" pos="{text(THUMB_ROOT)}"/>')
    site(3, "thumb_root_back", from_thumb(0, 0, -0.016))
    site(3, "thumb_short_abductor_palm", (0.008, -0.012, 0.020))
    site(3, "thumb_opponens_palm", (0.012, -0.002, 0.014))
    site(3, "thumb_adductor_palm", (0.058, -0.008, -0.004))
    site(3, "thumb_flexor_palm", from_thumb(-0.004, -0.002, 0.011))

    put(3, f'<body name="thumb_metacarpal" pos="{text(THUMB_ROOT)}" xyaxes="{text((*x, *y))}">')
    for part, figures in THUMB_BASE.items():
        joint(4, part, *figures)
    capsule(4, "thumb_metacarpal", (0.004, 0, 0), (metacarpal, 0, 0), r1)
    site(4, "thumb_flexor_1", (metacarpal - 0.016, 0, r1))
    site(4, "thumb_extensor_1", (0.5 * metacarpal, 0, -r1))
    site(4, "thumb_short_extensor_1", (0.5 * metacarpal, -0.003, -r1))
    site(4, "thumb_long_abductor_insertion", (0.014, -0.008, -0.007))
    site(4, "thumb_opponens", (0.030, -0.010, 0.005))
    pulley(4, "thumb_knuckle", 0.008, (metacarpal, 0, 0))
    put(4, f'<body name="thumb_proximal" pos="{text((metacarpal, 0, 0))}">')
    for part, figures in THUMB_KNUCKLE.items():
        joint(5, part, *figures)
    capsule(5, "thumb_proximal", (0, 0, 0), (proximal, 0, 0), r2)
    site(5, "thumb_short_abductor", (0.010, -0.009, 0.003))
    site(5, "thumb_adductor", (0.010, 0.009, 0.003))
    site(5, "thumb_flexor_2", (0.5 * proximal, 0, 0.9 * r2))
    site(5, "thumb_short_extensor", (0.010, -0.002, -r2))
    site(5, "thumb_extensor_2", (0.5 * proximal, 0, -r2))
    pulley(5, "thumb_middle_joint", 0.0065, (proximal, 0, 0))
    put(5, f'<body name="thumb_distal" pos="{text((proximal, 0, 0))}">')
    joint(6, "thumb_distal", *THUMB_TIP)
    capsule(6, "thumb_distal", (0, 0, 0), (distal - r3, 0, 0), r3)
    site(6, "thumb_flexor_3", (0.012, 0, 0.8 * r3))
    site(6, "thumb_extensor_3", (0.011, 0, -0.8 * r3))
    put(5, "</body>")
    put(4, "</body>")
    put(3, "</body>")

    back = "{0}_origin {0}_wrist_1 wrist/wrist_back {0}_wrist_2 thumb_root/thumb_root_back"
    knuckle = "thumb_knuckle/thumb_knuckle_back"
    name = "thumb_long_flexor"
    muscle(name, LONG[name][0], f"{name}_origin {name}_wrist_1 {name}_wrist_2 thumb_flexor_palm thumb_flexor_1 thumb_flexor_2 thumb_flexor_3")
    name = "thumb_long_extensor"
    path = f"{back.format(name)} thumb_extensor_1 {knuckle} thumb_extensor_2 thumb_middle_joint/thumb_middle_joint_back thumb_extensor_3"
    muscle(name, LONG[name][0], path)
    name = "thumb_short_extensor"
    muscle(name, LONG[name][0], f"{back.format(name)} thumb_short_extensor_1 {knuckle} thumb_short_extensor")
    muscle("thumb_short_abductor", 25, "thumb_short_abductor_palm thumb_short_abductor")
    muscle("thumb_opponens", 40, "thumb_opponens_palm thumb_opponens")
    muscle("thumb_adductor", 25, "thumb_adductor_palm thumb_adductor")


def file(lengths=None, key=None, targets=None):
    """The whole file: length ranges of the tendons, lines of the keyframe and places of the targets are known after a first pass."""
    LINES.clear()
    TENDONS.clear()
    put(0, '<mujoco model="muscle_hand">')
    put(1, "<!-- Right hand, palm up, on a forearm that is held still, moved by 39 muscles, with two balls in it that are to change places. Lengths")
    put(1, "     of bones are those of a large adult hand in round figures; radius and mass of the balls, step and contact are those of DiffMJX's in-hand swap;")
    put(1, "     peak forces, paths of tendons and all else are ours. The balls collide with everything, the hand with nothing else.")
    put(1, "     Written by make_muscle_hand.py. -->")
    put(1, '<compiler angle="degree" autolimits="true"/>')
    put(1, '<option timestep="0.0025" gravity="0 0 -9.81" integrator="Euler"/>')
    put(1, "<default>")
    put(2, '<geom type="capsule" density="1100" contype="1" conaffinity="0" solref="0.02 1" solimp="0 0.95 0.001 0.5 2" rgba="0.86 0.68 0.56 1"/>')
    put(2, '<site size="0.0015" rgba="0.5 0.1 0.1 1"/>')
    put(2, '<tendon width="0.001" rgba="0.75 0.2 0.2 1"/>')
    put(2, '<muscle ctrllimited="true" ctrlrange="0 1" timeconst="0.01 0.04"/>')
    put(2, '<default class="finger">')
    put(3, '<joint type="hinge" stiffness="0.1" damping="0.02" armature="0.0001"/>')
    put(2, "</default>")
    put(2, '<default class="side">')
    put(3, '<joint type="hinge" stiffness="0.25" damping="0.02" armature="0.0001"/>')
    put(2, "</default>")
    put(2, '<default class="wrist">')
    put(3, '<joint type="hinge" stiffness="0.8" damping="0.1" armature="0.001"/>')
    put(2, "</default>")
    put(2, '<default class="wrap">')
    put(3, '<geom type="cylinder" contype="0" conaffinity="0" density="0" group="3" rgba="0.5 0.6 0.8 0.4"/>')
    put(2, "</default>")
    put(1, "</default>")
    put(1, "<worldbody>")
    put(2, '<light pos="0 -0.5 1.5" dir="0 0.3 -1"/>')
    put(2, '<geom name="floor" type="plane" size="1 1 0.1" rgba="0.3 0.35 0.4 1"/>')

    # Forearm.
    put(2, f'<body name="forearm" pos="0 0 {HEIGHT}">')
    capsule(3, "radius", (-0.24, -0.014, 0), (-0.02, -0.016, -0.001), 0.014)
    capsule(3, "ulna", (-0.24, 0.014, 0), (-0.02, 0.015, -0.001), 0.014)
    put(3, '<geom name="wrist" class="wrap" size="0.010 0.03" euler="90 0 0"/>')
    site(3, "wrist_back", (0, 0, -0.02))
    for name, (_, origin, first, _, _) in WRIST_MUSCLES.items():
        site(3, f"{name}_origin", origin)
        site(3, f"{name}_wrist_1", first)
    for name, (_, origin, (y, z)) in LONG.items():
        site(3, f"{name}_origin", origin)
        site(3, f"{name}_wrist_1", (-0.010 if z > 0 else -0.020, y, z))

    # Palm: carpus, metacarpal bones, the pads of thumb and little finger and the skin between them, a hollow together.
    put(3, '<body name="palm">')
    for part, figures in WRIST.items():
        joint(4, f"wrist_{part}", *figures)
    put(4, '<geom name="carpus" type="ellipsoid" pos="0.016 0 -0.002" size="0.024 0.029 0.012"/>')
    for name, (head, base, _, _, radii) in FINGERS.items():
        capsule(4, f"{name}_metacarpal", base, head, radii[0])
    capsule(4, "thumb_pad", (0.026, -0.022, 0.006), (0.050, -0.034, 0.006), 0.013)
    capsule(4, "little_pad", (0.022, 0.022, 0.005), (0.066, 0.036, 0.008), 0.013)
    for name, (_, _, _, second, insertion) in WRIST_MUSCLES.items():
        site(4, f"{name}_wrist_2", second)
        if insertion:
            site(4, f"{name}_insertion", insertion)
        wrap = "" if name in FLEXORS else "wrist/wrist_back "
        muscle(name, WRIST_MUSCLES[name][0], f"{name}_origin {name}_wrist_1 {wrap}{name}_wrist_2 {name}_insertion")
    for name, (_, _, (y, z)) in LONG.items():
        site(4, f"{name}_wrist_2", (0.010 if z > 0 else 0.020, y, z))
    for name, point in (targets or {}).items():
        put(4, f'<site name="{name}" pos="{text(point)}" size="0.006" rgba="0.2 0.8 0.3 0.5"/>')
    start = len(LINES)
    for name in FINGERS:
        finger(name)
    thumb()
    LINES[start:] = ["  " + line for line in LINES[start:]]
    put(3, "</body>")
    put(2, "</body>")
    for (name, point), color in zip(BALLS.items(), ("0.85 0.2 0.15 1", "0.15 0.35 0.8 1")):
        put(2, f'<body name="{name}" pos="{text(np.add(point, (0, 0, HEIGHT)))}">')
        put(3, f'<freejoint name="{name}"/>')
        put(3, f'<geom name="{name}" type="sphere" size="{RADIUS}" mass="{MASS}" conaffinity="1" rgba="{color}"/>')
        put(3, f'<site name="{name}"/>')
        put(2, "</body>")
    put(1, "</worldbody>")

    put(1, "<tendon>")
    for name, path in TENDONS.items():
        put(2, f'<spatial name="{name}">')
        for word in path:
            geom, _, side = word.partition("/")
            put(3, f'<geom geom="{geom}" sidesite="{side}"/>' if side else f'<site site="{geom}"/>')
        put(2, "</spatial>")
    put(1, "</tendon>")
    put(1, "<actuator>")
    for name, force in FORCES.items():
        low, high = lengths[name] if lengths else (0.1, 0.2)
        put(2, f'<muscle name="{name}" tendon="{name}" force="{force}" lengthrange="{low:.4f} {high:.4f}"/>')
    put(1, "</actuator>")
    if key:
        put(1, "<keyframe>")
        put(2, '<key name="home"')
        for i, (attribute, values) in enumerate(key.items()):
            put(5, f'{attribute}="{values}"' + ("/>" if i + 1 == len(key) else ""))
        put(1, "</keyframe>")
    put(0, "</mujoco>")
    return "\n".join(LINES) + "\n"


def length_ranges():
    """Shortest and longest length of every tendon over the corners and centers of the ranges of the joints that it crosses."""
    model = mujoco.MjModel.from_xml_string(file())
    data = mujoco.MjData(model)
    hinges = [j for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
    chains = {}
    for t in range(model.ntendon):
        crossed = []
        for j in hinges:
            lengths = []
            for x in np.linspace(*model.jnt_range[j], 5):
                data.qpos[:] = model.qpos0
                data.qpos[model.jnt_qposadr[j]] = x
                mujoco.mj_fwdPosition(model, data)
                lengths.append(data.ten_length[t])
            if np.ptp(lengths) > 1e-9:
                crossed.append(j)
        chains.setdefault(tuple(crossed), []).append(t)
    ranges = {}
    for crossed, tendons in chains.items():
        lengths = []
        for q in itertools.product(*(np.linspace(*model.jnt_range[j], 3) for j in crossed)):
            data.qpos[:] = model.qpos0
            data.qpos[model.jnt_qposadr[list(crossed)]] = q
            mujoco.mj_fwdPosition(model, data)
            lengths.append(data.ten_length[tendons].copy())
        for i, t in enumerate(tendons):
            ranges[model.tendon(t).name] = (np.min(lengths, 0)[i], np.max(lengths, 0)[i])
    return ranges


def hinges_of(model):
    """Coordinates and velocities of the hinges."""
    hinges = [j for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
    return model.jnt_qposadr[hinges], model.jnt_dofadr[hinges]


def activations(model, data, load):
    """Activations near 0.04 whose torques and `load` are in balance at the state of `data`: least squares by coordinate descent."""
    _, dofs = hinges_of(model)
    forces, moment = [], np.zeros((model.nu, model.nv))
    for level in (0.0, 1.0):
        data.act[:] = level
        mujoco.mj_forward(model, data)
        forces.append(data.actuator_force.copy())
    mujoco.mju_sparse2dense(moment, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind)
    torque = (moment.T * (forces[1] - forces[0]))[dofs]
    load = load + (moment.T @ forces[0])[dofs]
    a = np.full(model.nu, 0.04)
    matrix = torque.T @ torque + 1e-6 * np.eye(model.nu)
    for _ in range(3000):
        for i in range(model.nu):
            gradient = torque[:, i] @ (torque @ a + load) + 1e-6 * (a[i] - 0.04)
            a[i] = np.clip(a[i] - gradient / matrix[i, i], 0.0, 0.5)
    return a


def home(lengths):
    """Settles the balls in the hand held still, then everything under the constant activations that hold it there."""
    model = mujoco.MjModel.from_xml_string(file(lengths))
    data = mujoco.MjData(model)
    coordinates, dofs = hinges_of(model)
    pose = model.qpos_spring[coordinates]
    armature = model.dof_armature[dofs].copy()
    model.dof_armature[dofs] = 1e6
    data.qpos[coordinates] = pose
    for _ in range(4000):
        mujoco.mj_step(model, data)
        data.qvel *= 0.995
    data.qvel[:] = 0
    mujoco.mj_forward(model, data)
    load = (data.qfrc_passive - data.qfrc_bias + data.qfrc_constraint)[dofs]
    model.dof_armature[dofs] = armature
    a = np.round(activations(model, data, load), 3)
    data.ctrl[:], data.act[:] = a, a
    for _ in range(4000):
        mujoco.mj_step(model, data)
        data.qvel *= 0.995
    rows = [data.qpos[:2], *np.split(data.qpos[2:18], 4), data.qpos[18:23], data.qpos[23:30], data.qpos[30:]]
    controls = "\n               ".join(text(a[i : i + 10]) for i in range(0, model.nu, 10))
    key = {"qpos": "\n               ".join(text(r) for r in rows), "act": controls, "ctrl": controls}
    palm, frame = data.body("palm").xpos, data.body("palm").xmat.reshape(3, 3)
    places = {b: frame.T @ (data.body(b).xpos - palm) for b in BALLS}
    return key, {"target1": places["ball2"], "target2": places["ball1"]}


if __name__ == "__main__":
    lengths = length_ranges()
    key, targets = home(lengths)
    print(file(lengths, key, targets), end="")
