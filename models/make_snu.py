"""Prints a lower body of 11 boxes and 152 muscles as MJCF: python3 make_snu.py > snu.xml

Frames: x forward, y left, z up, all bodies aligned with the world where it stands. Points are (x, distance to the side, z) of one leg in the
world where it stands; the other leg mirrors them. Lengths in m, forces in N.
"""

import math

STRENGTH = 0.36  # tension per control and peak force
TOTAL, WEAKEST, STRONGEST = 55158, 45, 1793  # sum and bounds of the peak forces

# Bodies: parent, joint and its range, place of the joint, center of the box, its sizes, mass.
BODIES = {
    "pelvis": (None, "free", None, (-0.0308, 0, 0.9809), (-0.0308, 0, 0.9809), (0.1294, 0.2083, 0.1454), 15),
    "femur": ("pelvis", "ball", None, (-0.0116, 0.0903, 0.9337), (-0.0110, 0.0949, 0.7362), (0.1398, 0.1271, 0.4043), 7),
    "tibia": ("femur", "hinge", (0, 2.3), (-0.0103, 0.0995, 0.5387), (-0.0261, 0.0898, 0.3082), (0.1141, 0.1198, 0.4156), 3),
    "foot": ("tibia", "ball", None, (-0.0419, 0.0800, 0.0776), (-0.0100, 0.0860, 0.0249), (0.1570, 0.0756, 0.0498), 0.6),
    "foot_thumb": ("foot", "hinge", (-0.6, 0.6), (0.0692, 0.0781, 0.0201), (0.0973, 0.0781, 0.0131), (0.0563, 0.0407, 0.0262), 0.2),
    "foot_pinky": ("foot", "hinge", (-0.6, 0.6), (0.0494, 0.1227, 0.0142), (0.0758, 0.1227, 0.0119), (0.0529, 0.0422, 0.0238), 0.2),
}

# Muscles: number of bundles, peak force of each, path of the first, path of the last; the paths of those between are interpolated.
MUSCLES = {
    # Buttock and hip.
    "gluteus_maximus": (5, 420,
        "pelvis -.100 .055 1.030, pelvis -.105 .095 .970, femur -.055 .145 .900, femur -.030 .122 .850",
        "pelvis -.110 .015 .940, pelvis -.095 .060 .885, femur -.060 .110 .840, femur -.025 .112 .790"),
    "gluteus_medius": (5, 480,
        "pelvis .020 .120 1.030, pelvis -.005 .140 .985, femur -.008 .158 .930",
        "pelvis -.095 .065 1.025, pelvis -.070 .125 .975, femur -.035 .152 .945"),
    "gluteus_minimus": (3, 250,
        "pelvis .010 .110 1.000, femur .005 .150 .930",
        "pelvis -.065 .085 .990, femur -.020 .152 .945"),
    "tensor_fasciae_latae": (1, 120, "pelvis .035 .118 1.015, femur .020 .148 .850, femur .000 .146 .600, tibia .020 .128 .505", None),
    "iliacus": (3, 300,
        "pelvis .015 .105 1.010, pelvis .032 .080 .950, femur .018 .082 .910, femur -.028 .078 .875",
        "pelvis -.060 .075 1.020, pelvis .028 .068 .948, femur .012 .074 .905, femur -.030 .074 .885"),
    "psoas": (2, 400,
        "pelvis -.060 .035 1.045, pelvis .025 .062 .955, femur .012 .072 .910, femur -.032 .072 .890",
        "pelvis -.075 .030 1.020, pelvis .022 .058 .950, femur .010 .068 .908, femur -.034 .070 .895"),
    "piriformis": (1, 240, "pelvis -.105 .025 .975, pelvis -.085 .075 .955, femur -.035 .140 .950", None),
    "gemellus_superior": (1, 90, "pelvis -.075 .055 .910, femur -.035 .135 .945", None),
    "gemellus_inferior": (1, 90, "pelvis -.070 .055 .885, femur -.035 .135 .938", None),
    "obturator_internus": (1, 180, "pelvis -.020 .035 .910, pelvis -.082 .055 .905, femur -.036 .138 .946", None),
    "obturator_externus": (1, 150, "pelvis .000 .030 .905, femur -.035 .100 .900, femur -.032 .132 .930", None),
    "quadratus_femoris": (1, 250, "pelvis -.060 .070 .870, femur -.040 .125 .890", None),
    # Inner thigh.
    "pectineus": (1, 150, "pelvis .030 .040 .930, femur -.020 .085 .860", None),
    "adductor_longus": (2, 280,
        "pelvis .030 .018 .905, femur -.010 .092 .760",
        "pelvis .030 .016 .900, femur -.008 .092 .690"),
    "adductor_brevis": (1, 230, "pelvis .018 .022 .900, femur -.018 .090 .830", None),
    "adductor_magnus": (4, 320,
        "pelvis .000 .030 .880, femur -.020 .090 .840, femur -.018 .095 .810",
        "pelvis -.055 .050 .862, femur -.025 .062 .680, femur -.008 .060 .570"),
    "gracilis": (1, 160, "pelvis .018 .014 .895, femur -.032 .054 .640, tibia -.026 .055 .470, tibia .014 .074 .440", None),
    "sartorius": (1, 150, "pelvis .036 .112 1.010, femur .045 .085 .820, femur -.024 .050 .610, tibia -.022 .054 .480, tibia .018 .076 .445", None),
    # Front and back of the thigh.
    "rectus_femoris": (2, 600,
        "pelvis .024 .092 .985, femur .055 .095 .800, femur .052 .097 .572, tibia .046 .098 .530, tibia .042 .099 .485",
        "pelvis .010 .105 .978, femur .055 .101 .800, femur .052 .102 .572, tibia .046 .101 .530, tibia .042 .101 .485"),
    "vastus_lateralis": (3, 480,
        "femur .005 .148 .880, femur .035 .138 .700, femur .048 .115 .572, tibia .044 .108 .530, tibia .042 .104 .485",
        "femur -.020 .130 .700, femur .030 .140 .640, femur .045 .125 .568, tibia .040 .116 .525, tibia .040 .106 .485"),
    "vastus_medialis": (3, 420,
        "femur .000 .075 .830, femur .040 .072 .680, femur .048 .086 .572, tibia .044 .092 .530, tibia .042 .097 .485",
        "femur -.010 .070 .640, femur .030 .058 .600, femur .042 .074 .565, tibia .040 .084 .525, tibia .040 .094 .485"),
    "vastus_intermedius": (2, 500,
        "femur .022 .110 .820, femur .046 .103 .600, femur .050 .101 .572, tibia .044 .101 .530, tibia .041 .100 .487",
        "femur .018 .095 .740, femur .046 .097 .600, femur .050 .098 .572, tibia .044 .099 .530, tibia .041 .100 .487"),
    "biceps_femoris_long": (2, 450,
        "pelvis -.064 .066 .868, femur -.048 .128 .660, tibia -.036 .138 .470, tibia -.028 .140 .455",
        "pelvis -.068 .060 .862, femur -.050 .122 .665, tibia -.038 .134 .465, tibia -.030 .138 .450"),
    "biceps_femoris_short": (2, 280,
        "femur -.025 .110 .760, femur -.044 .128 .655, tibia -.035 .137 .470, tibia -.028 .140 .455",
        "femur -.025 .115 .690, femur -.040 .132 .640, tibia -.034 .138 .468, tibia -.026 .140 .453"),
    "semitendinosus": (1, 400, "pelvis -.066 .058 .866, femur -.052 .070 .665, tibia -.038 .060 .460, tibia .010 .072 .435", None),
    "semimembranosus": (2, 560,
        "pelvis -.062 .070 .872, femur -.048 .075 .660, tibia -.036 .070 .470, tibia -.028 .072 .455",
        "pelvis -.060 .066 .872, femur -.048 .068 .655, tibia -.034 .064 .468, tibia -.026 .066 .455"),
    # Calf and shin.
    "gastrocnemius_medial": (2, 700,
        "femur -.030 .072 .590, tibia -.050 .075 .420, tibia -.070 .078 .180, foot -.086 .078 .045",
        "femur -.032 .082 .592, tibia -.052 .084 .420, tibia -.072 .080 .180, foot -.086 .080 .045"),
    "gastrocnemius_lateral": (1, 650, "femur -.030 .125 .590, tibia -.050 .115 .420, tibia -.070 .086 .180, foot -.086 .083 .045", None),
    "soleus": (2, 1793,
        "tibia -.035 .085 .430, tibia -.065 .080 .170, foot -.085 .077 .040",
        "tibia -.035 .125 .460, tibia -.065 .086 .170, foot -.085 .084 .040"),
    "plantaris": (1, 45, "femur -.029 .118 .588, tibia -.048 .105 .425, tibia -.068 .076 .180, foot -.085 .074 .045", None),
    "popliteus": (1, 120, "femur -.015 .132 .548, tibia -.040 .100 .505, tibia -.028 .080 .460", None),
    "tibialis_anterior": (1, 800, "tibia .012 .108 .420, tibia -.004 .074 .130, foot .012 .060 .070, foot .030 .056 .030", None),
    "tibialis_posterior": (1, 1100, "tibia -.030 .105 .380, tibia -.062 .058 .090, foot -.035 .052 .045, foot .010 .056 .022", None),
    "extensor_hallucis_longus": (1, 160, "tibia -.005 .115 .280, tibia -.006 .078 .125, foot .020 .072 .065, foot .060 .076 .042, foot_thumb .090 .078 .028", None),
    "extensor_digitorum_longus": (2, 170,
        "tibia .000 .125 .400, tibia -.008 .086 .120, foot .015 .094 .060, foot .045 .115 .035, foot_pinky .066 .116 .026",
        "tibia -.002 .128 .340, tibia -.010 .090 .120, foot .010 .100 .058, foot .042 .124 .034, foot_pinky .066 .130 .026"),
    "peroneus_longus": (1, 850, "tibia -.020 .138 .450, tibia -.064 .108 .090, foot -.040 .118 .040, foot .000 .112 .008, foot .028 .068 .010", None),
    "peroneus_brevis": (1, 420, "tibia -.025 .132 .300, tibia -.060 .108 .088, foot -.035 .118 .045, foot .005 .122 .025", None),
    "peroneus_tertius": (1, 120, "tibia -.010 .125 .220, tibia -.012 .094 .115, foot .010 .118 .040", None),
    "flexor_hallucis_longus": (1, 380, "tibia -.035 .118 .300, tibia -.068 .072 .090, foot -.050 .064 .040, foot .050 .076 .006, foot_thumb .095 .078 .004", None),
    "flexor_digitorum_longus": (1, 280, "tibia -.030 .090 .320, tibia -.065 .062 .092, foot -.040 .058 .042, foot .030 .105 .006, foot_pinky .070 .122 .004", None),
    # Foot.
    "extensor_hallucis_brevis": (1, 60, "foot -.025 .100 .050, foot .060 .080 .042, foot_thumb .082 .078 .027", None),
    "extensor_digitorum_brevis": (1, 70, "foot -.025 .106 .048, foot .040 .120 .034, foot_pinky .062 .123 .025", None),
    "abductor_hallucis": (1, 130, "foot -.075 .066 .012, foot .030 .055 .012, foot_thumb .080 .060 .008", None),
    "flexor_hallucis_brevis": (1, 150, "foot .010 .085 .010, foot .060 .078 .004, foot_thumb .080 .078 .002", None),
    "flexor_digitorum_brevis": (1, 150, "foot -.075 .088 .008, foot .035 .118 .004, foot_pinky .066 .122 .002", None),
    "abductor_digiti_minimi": (1, 110, "foot -.075 .098 .012, foot .020 .128 .010, foot_pinky .060 .140 .008", None),
    "flexor_digiti_minimi_brevis": (1, 70, "foot .005 .118 .010, foot .036 .124 .004, foot_pinky .062 .126 .002", None),
}


def points(path):
    """(body, (x, side, z)) of every waypoint of a path in the table."""
    words = [word.split() for word in path.split(",")]
    return [(body, tuple(map(float, xyz))) for body, *xyz in words]


def bundles():
    """(name, peak force, waypoints) of the muscles of one leg. Forces between the bounds are scaled so that both legs have the published sum."""
    rows = []
    for name, (count, force, first, last) in MUSCLES.items():
        first = points(first)
        last = points(last) if last else first
        for i in range(count):
            t = i / max(count - 1, 1)
            path = [(body, tuple((1 - t) * a + t * b for a, b in zip(p, q))) for (body, p), (_, q) in zip(first, last)]
            rows.append((f"{name}_{i + 1}" if count > 1 else name, force, path))
    bounds = (WEAKEST, STRONGEST)
    fixed = sum(force for _, force, _ in rows if force in bounds)
    scale = (TOTAL / 2 - fixed) / (sum(force for _, force, _ in rows) - fixed)
    return [(name, force if force in bounds else force * scale, path) for name, force, path in rows]


def text(vector):
    return " ".join(f"{round(x, 6):g}" for x in vector)


def place(point, side):
    """World point of the left (side 1) or right (side -1) leg."""
    return (point[0], side * point[1], point[2])


def body(name, side, prefix, depth):
    """Body with its waypoints and the bodies that hang on it."""
    parent, joint, limits, origin, center, sizes, mass = BODIES[name]
    pad = "  " * depth
    full = prefix + name
    at, middle = place(origin, side), place(center, side)
    above = place(BODIES[parent][3], side) if parent else (0, 0, 0)
    local = lambda p, o: text(a - b for a, b in zip(p, o))
    print(f'{pad}<body name="{full}" pos="{local(at, above)}">')
    if joint == "free":
        print(f'{pad}  <freejoint name="{full}"/>')
    else:
        # The spring of the source's ball joints acts on the vector part of the quaternion, half the angle.
        stiffness = 5 * math.sqrt(mass / 15) * (0.5 if joint == "ball" else 1)
        extra = f' axis="0 1 0" range="{text(limits)}"' if limits else ""
        print(f'{pad}  <joint name="{full}" type="{joint}" stiffness="{stiffness:.6g}"{extra}/>')
    print(f'{pad}  <geom name="{full}" pos="{local(middle, at)}" size="{text(s / 2 for s in sizes)}" mass="{mass}"/>')
    legs = ((1, "left_"), (-1, "right_")) if name == "pelvis" else ((side, prefix),)
    for leg, its in legs:
        for muscle, _, path in bundles():
            for i, (of, point) in enumerate(path):
                if of == name:
                    print(f'{pad}  <site name="{its}{muscle}_{"abcde"[i]}" pos="{local(place(point, leg), at)}"/>')
        for child, (of, *_) in BODIES.items():
            if of == name:
                body(child, leg, its, depth + 1)
    print(f"{pad}</body>")


if __name__ == "__main__":
    legs = [(prefix + name, force, path) for prefix in ("left_", "right_") for name, force, path in bundles()]
    mass = BODIES["pelvis"][-1] + 2 * sum(figures[-1] for name, figures in BODIES.items() if name != "pelvis")
    print(f"""<mujoco model="snu">
  <!-- Lower body of 11 boxes, {mass:.1f} kg, moved by {len(legs)} muscles that are lines of waypoints with a tension of {STRENGTH} times the peak force per unit of control,
       without curves or passive force. Sizes, masses, joints and their places, springs, damping, armature, friction and the sum and bounds
       of the peak forces are those of DiffRL's SNU humanoid; centers of boxes below the pelvis, waypoints, the shares of the muscles and the step are ours.
       Written by make_snu.py. -->
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002" gravity="0 0 -9.81" integrator="Euler"/>
  <default>
    <geom type="box" contype="1" conaffinity="0" friction="0.5 0.005 0.0001" rgba="0.86 0.78 0.66 1"/>
    <joint damping="2" armature="0.05"/>
    <site size="0.004" rgba="0.5 0.1 0.1 1"/>
    <tendon width="0.003" rgba="0.75 0.2 0.2 1"/>
    <general ctrlrange="0 1"/>
  </default>
  <worldbody>
    <light pos="0 -1 3" dir="0 0.3 -1"/>
    <geom name="floor" type="plane" size="10 10 0.1" conaffinity="1" rgba="0.3 0.35 0.4 1"/>""")
    body("pelvis", 1, "", 2)
    print("  </worldbody>\n  <tendon>")
    for name, _, path in legs:
        sites = "".join(f'<site site="{name}_{"abcde"[i]}"/>' for i in range(len(path)))
        print(f'    <spatial name="{name}">{sites}</spatial>')
    print("  </tendon>\n  <actuator>")
    for name, force, _ in legs:
        print(f'    <general name="{name}" tendon="{name}" gainprm="{-STRENGTH * force:.4f}"/>')
    print("  </actuator>\n  <keyframe>")
    joints = " 1 0 0 0 0 1 0 0 0 0 0" * 2
    for name, height in (("home", BODIES["pelvis"][3][2]), ("start", 1)):
        print(f'    <key name="{name}" qpos="{BODIES["pelvis"][3][0]} 0 {height} 1 0 0 0{joints}"/>')
    print("  </keyframe>\n</mujoco>")
