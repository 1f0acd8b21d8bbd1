"""Random MJCF files out of the features our reader claims, valid for MuJoCo in nearly all cases.

`Maker(seed).text()` is one file; `part` is then the text of the file `part.xml` that it attaches, if it attaches one. Every
choice comes from one generator, so a seed is a reproduction.
"""

import numpy as np

SHAPES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
TETRAHEDRON = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
SEQUENCES = ["xyz", "XYZ", "zyx", "ZYX", "zxz", "xYz", "XzY", "yxz"]


def words(numbers):
    return " ".join(f"{float(x):.6g}" for x in np.atleast_1d(numbers))


class Node:
    """An element under construction."""

    def __init__(self, tag, **attributes):
        self.tag, self.attributes, self.children = tag, attributes, []

    def add(self, child):
        self.children.append(child)
        return child

    def lines(self, indent=0):
        pad = "  " * indent
        named = "".join(
            f' {k.rstrip("_")}="{v if isinstance(v, str) else words(v)}"' for k, v in self.attributes.items()
        )
        if not self.children:
            return [f"{pad}<{self.tag}{named}/>"]
        inner = [line for child in self.children for line in child.lines(indent + 1)]
        return [f"{pad}<{self.tag}{named}>", *inner, f"{pad}</{self.tag}>"]


class Maker:
    """Writes one file; `contact` keeps contacts on, which leaves shapes overlapping."""

    def __init__(self, seed, contact=False, attaches=True):
        self.r = np.random.default_rng(seed)
        self.contact = contact
        self.letter = "n" if attaches else "m"
        self.count = {}
        self.classes, self.joints, self.geoms, self.bodies, self.sites = ["main"], [], [], [], []
        self.limited, self.coordinates = {}, []
        self.degrees, self.autolimits = True, True
        self.meshes, self.irregular, self.materials = [], [], []
        self.in_replicate = False
        self.part = "" if attaches and self.r.random() < 0.15 else None

    # Choices.

    def chance(self, p):
        return self.r.random() < p

    def pick(self, items):
        return items[int(self.r.integers(len(items)))]

    def vec(self, n=3, size=0.5):
        return np.round(self.r.uniform(-size, size, n), 3)

    def positive(self, low=0.03, high=0.3, n=None):
        return np.round(self.r.uniform(low, high, n), 3)

    def name(self, kind, p=0.7):
        """A name of this kind, sometimes none."""
        self.count[kind] = self.count.get(kind, 0) + 1
        # Not ending in a digit: MuJoCo takes `a1` for a copy of `a` where something is replicated. Parts have names of their
        # own: MuJoCo takes a name that a part leaves behind for one of the main file.
        return {"name": f"{kind}{self.count[kind]}{self.letter}"} if self.chance(p) else {}

    def angle(self, size=1.5):
        a = float(self.r.uniform(-size, size))
        return round(np.degrees(a), 2) if self.degrees else round(a, 4)

    def orientation(self, p=0.5):
        if not self.chance(p):
            return {}
        way = self.pick(["quat", "axisangle", "euler", "xyaxes", "zaxis"])
        if way == "quat":
            return {"quat": self.vec(4, 2.0)}
        if way == "axisangle":
            return {"axisangle": np.append(self.vec(), self.angle(4.0))}
        if way == "euler":
            return {"euler": [self.angle(3.0) for _ in range(3)]}
        if way == "xyaxes":
            return {"xyaxes": self.vec(6)}
        return {"zaxis": self.pick([self.vec(), np.array([0, 0, 1]), np.array([0, 0, -2]), np.array([0, 1, 0])])}

    def pose(self, p=0.6):
        pos = {"pos": self.vec()} if self.chance(p) else {}
        return pos | self.orientation()

    def class_(self, p=0.3):
        return {"class_": self.pick(self.classes)} if self.chance(p) else {}

    # Sections.

    def compiler(self):
        a = {}
        if self.chance(0.5):
            self.degrees = self.chance(0.5)
            a["angle"] = "degree" if self.degrees else "radian"
        if self.chance(0.4):
            a["eulerseq"] = self.pick(SEQUENCES)
        if self.chance(0.2):
            a["coordinate"] = "local"
        if self.chance(0.3):
            a["inertiafromgeom"] = self.pick(["auto", "true", "auto", "false"])
        if self.chance(0.2):
            a["inertiagrouprange"] = self.pick([[0, 5], [0, 2], [1, 3]])
        if self.chance(0.2):
            self.autolimits = self.chance(0.5)
            a["autolimits"] = "true" if self.autolimits else "false"
        if self.chance(0.3):
            a["balanceinertia"] = "true"
        if self.chance(0.3):
            a["boundmass"] = self.positive(0.01, 0.5)
        if self.chance(0.3):
            a["boundinertia"] = self.positive(0.001, 0.05)
        if self.chance(0.15):
            a["settotalmass"] = self.positive(1.0, 10.0)
        # MuJoCo 3.17 fuses bodies of a part by the angles and sequence of the main file.
        fuse = [] if self.part is not None else ["fusestatic"]
        for flag in [*fuse, "discardvisual", "alignfree", "fitaabb"]:
            if self.chance(0.05 if flag == "alignfree" else 0.12):
                a[flag] = "true"
        return Node("compiler", **a)

    def option(self):
        node = Node("option")
        a = node.attributes
        if self.chance(0.3):
            a["gravity"] = self.vec(3, 10.0)
        if self.chance(0.3):
            a["timestep"] = self.positive(0.001, 0.01)
        if self.chance(0.3):
            a["integrator"] = self.pick(["Euler", "RK4", "implicit", "implicitfast"])
        if self.chance(0.2):
            a["cone"], a["impratio"] = "elliptic", 2
        if self.chance(0.2):
            a["solver"], a["iterations"] = self.pick(["Newton", "CG", "PGS"]), 20
        if self.chance(0.1):
            a |= {"tolerance": 1e-9, "ls_iterations": 30, "o_solref": [0.03], "o_friction": self.positive(0.1, 1.0, 2)}
        flags = {} if self.contact else {"constraint": "disable"}
        for flag in ["gravity", "spring", "damper", "clampctrl", "actuation", "filterparent", "eulerdamp", "warmstart",
                     "equality", "frictionloss", "limit", "island", "override", "multiccd"]:
            if self.chance(0.08):
                flags[flag] = self.pick(["disable", "enable"])
        node.add(Node("flag", **flags))
        return node

    def default(self, depth=0):
        node = Node("default")
        if depth > 0:
            name = f"class_{len(self.classes)}"
            self.classes.append(name)
            node.attributes["class_"] = name
        elif self.chance(0.3):
            node.attributes["class_"] = "main"
        if self.chance(0.5):
            node.add(Node("joint", **self.joint_attributes(0.25)))
        if self.chance(0.5):
            node.add(Node("geom", **self.geom_default()))
        if self.chance(0.2):
            node.add(Node("site", size=self.positive(), **self.pose(0.3)))
        if self.chance(0.3):
            tag = self.pick(["motor", "position", "velocity", "general"])
            node.add(Node(tag, **self.actuator_attributes(tag, 0.3)))
        if self.chance(0.1):
            node.add(Node("mesh", scale=self.positive(0.5, 2.0, 3)))
        if self.chance(0.1):
            node.add(Node("pair", friction=[0.7, 0.8], condim="4", solref=self.positive(0.01, 0.1)))
        if self.chance(0.15):
            node.add(Node("equality", solref=self.positive(0.01, 0.1), active=self.pick(["true", "true", "false"])))
        for tag in ["camera", "light", "material", "tendon"]:
            if self.chance(0.06):
                looks = {"camera": {"fovy": "30", "pos": self.vec()}, "light": {"dir": self.vec()}}
                node.add(Node(tag, **looks.get(tag, {})))
        if self.chance(0.1):
            node.add(Node("texture", rgb1=self.positive(n=3), builtin="flat"))
        if depth < 3:
            for _ in range(int(self.r.integers(0, 3))):
                node.add(self.default(depth + 1))
        return node

    def asset(self):
        node = Node("asset")
        if self.chance(0.3):
            node.add(Node("material", name="grid", texture="grid", rgba="1 0 0 1", **self.class_(0.2)))
            node.add(Node("texture", name="grid", type="2d", builtin="checker", width="8", height="8"))
            node.add(Node("texture", type="skybox", builtin="gradient", width="4", height="24"))
            self.materials.append("grid")
        for i in range(int(self.r.integers(0, 3))):
            corners = np.array(TETRAHEDRON if self.chance(0.3) else self.r.uniform(-1, 1, (8, 3)))
            corners = np.round(corners * self.r.uniform(0.1, 0.4), 4)
            mesh = Node("mesh", name=f"mesh_{i}", vertex=corners.ravel())
            if len(corners) == 4:
                mesh.attributes["face"] = "0 2 1 0 1 3 0 3 2 1 2 3"
            if self.chance(0.3):
                mesh.attributes["scale"] = self.positive(0.5, 2.0, 3) * self.pick([1, np.array([1, -1, 1])])
            if self.chance(0.3):
                mesh.attributes["refpos"] = self.vec()
            if self.chance(0.3):
                mesh.attributes["refquat"] = self.vec(4)
            if self.chance(0.5):
                mesh.attributes["inertia"] = self.pick(["legacy", "exact", "convex", "shell"])
            mesh.attributes |= self.class_(0.2)
            self.meshes.append(f"mesh_{i}")
            if len(corners) > 4:
                self.irregular.append(f"mesh_{i}")
            node.add(mesh)
        return node

    def joint_attributes(self, p=0.35, kind=None):
        a = {}
        if kind:
            a["type"] = kind
        if self.chance(p):
            a["axis"] = self.vec(3, 2.0)
        if self.chance(p):
            a["pos"] = self.vec(3, 0.2)
        for key, low, high in [("damping", 0, 2), ("stiffness", 0, 20), ("armature", 0, 0.3)]:
            if self.chance(p):
                a[key] = self.positive(low, high)
        for key in ["ref", "springref"]:
            if self.chance(p * 0.5):
                a[key] = self.angle(0.5)
        if self.chance(p):
            a["range"] = [0 if kind == "ball" else -abs(self.angle(1.0)), abs(self.angle(1.0)) + 0.1]
            if not self.autolimits or self.chance(0.2):
                a["limited"] = self.pick(["true", "false"])
        if self.chance(0.1):
            a |= {"margin": 0.01, "solreflimit": [0.03, 1], "solimplimit": [0.9, 0.95]}
        if self.chance(0.1):
            a |= {"frictionloss": self.positive(0, 0.5), "solreffriction": [0.01], "solimpfriction": self.positive(0.5, 0.9)}
        if kind not in ("ball", "free") and self.chance(0.1):
            a["actuatorfrcrange"] = [-self.positive(0.5, 5), self.positive(0.5, 5)]
            if not self.autolimits or self.chance(0.2):
                a["actuatorfrclimited"] = self.pick(["true", "false"])
        if self.chance(0.05):
            a["springdamper"] = self.positive(0.1, 1.0, 2)
        if self.chance(0.05):
            a["group"] = "2"
        return a

    def joint(self, kind):
        named = self.name("joint", 0.9)
        node = Node("joint", **named, **self.joint_attributes(kind=kind), **self.class_())
        if named:
            self.joints.append((named["name"], kind))
            self.limited[named["name"]] = node.attributes.get("limited") != "false" and "range" in node.attributes
        return node

    def geom_common(self, p=0.15):
        a = {}
        if self.chance(p):
            a["friction"] = self.positive(0.1, 1.0, int(self.r.integers(1, 4)))
        if self.chance(p):
            a["contype"], a["conaffinity"] = self.pick(["0", "1", "2", "3"]), self.pick(["0", "1", "2"])
        if self.chance(p):
            a["group"] = self.pick(["0", "1", "3"])
        if self.chance(p):
            a["density"] = self.positive(100, 2000)
        if self.chance(p):
            a["mass"] = self.positive(0.0 if self.chance(0.1) else 0.1, 3.0)
        if self.chance(0.05):
            a |= {"solref": [0.01], "solimp": [0.8, 0.9], "condim": "4", "priority": "1", "solmix": 2}
        if self.chance(0.05):
            a["rgba"] = [0.3, 0.5, 0.7, 1]
        if self.chance(0.05):
            a |= {"user": "", "material": "", "solref": " "}
        elif self.materials and self.chance(0.2):
            a["material"] = self.pick(self.materials)
        return a

    def geom_default(self):
        a = self.geom_common(0.3)
        if self.chance(0.3):
            a["type"] = self.pick(list(SHAPES))
        if self.chance(0.5):
            a["size"] = self.positive(n=3)
        if self.chance(0.15):
            a |= self.pose(0.5)
        return a

    def geom(self, world=False):
        a = self.name("geom")
        kind = self.pick(list(SHAPES))
        if world and self.chance(0.3):
            kind = "plane"
        if self.meshes and self.chance(0.2):
            kind = "mesh"
        a["type"] = kind
        if kind == "mesh":
            a |= {"mesh": self.pick(self.meshes)} | self.pose()
            # The axes of a regular mesh are a matter of round-off.
            if a["mesh"] in self.irregular and self.chance(0.4):
                a |= {"type": self.pick(list(SHAPES)), "fitscale": self.positive(0.3, 1.2)}
        elif kind == "plane":
            a |= {"size": self.pick(["0 0 1", "5 5 0.1"]), "pos": self.vec(3, 0.1)}
        else:
            a["size"] = self.positive(n=3 if self.chance(0.3) else SHAPES[kind])
            if kind != "sphere" and self.chance(0.35):
                a["fromto"] = self.vec(6, 0.4)
                if kind in ("box", "ellipsoid"):
                    a["size"] = self.positive(n=int(self.r.integers(1, 3)))
                if self.chance(0.1):
                    a |= self.orientation()
                if self.chance(0.1):
                    a["pos"] = [0, 0, 0]
            else:
                a |= self.pose()
            if self.chance(0.06):
                a["shellinertia"] = "true"
        a |= {k: v for k, v in self.geom_common().items()} | self.class_(0.2)
        if "name" in a and not self.in_replicate:
            self.geoms.append(a["name"])
        return Node("geom", **a)

    def inertial(self):
        a = {"pos": self.vec(3, 0.2), "mass": self.positive(0.1, 4.0)}
        b, c = np.sort(self.positive(0.02, 0.1, 2))
        moments = np.array([b, c, self.r.uniform(c - b, c + b) * 0.9 + 0.1 * c]).round(5)
        if self.chance(0.08):
            moments[2] *= 4
        if self.chance(0.4):
            q, _ = np.linalg.qr(self.r.normal(size=(3, 3)))
            full = q @ np.diag(moments) @ q.T
            a["fullinertia"] = full[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        elif self.chance(0.95):
            a |= {"diaginertia": moments} | self.orientation()
        return Node("inertial", **a)

    def contents(self, node, joints):
        """Joints, geoms, sites and looks of a body, some of them inside frames."""

        def place():
            if self.chance(0.8):
                return node
            frame = node.add(Node("frame", **self.pose(), **self.childclass(0.2)))
            return frame.add(Node("frame", **self.pose())) if self.chance(0.2) else frame

        for kind in joints:
            place().add(self.joint(kind))
        if self.chance(0.3):
            place().add(self.inertial())
        for _ in range(int(self.r.integers(1, 4))):
            place().add(self.geom())
        for _ in range(int(self.r.integers(0, 3))):
            named = self.name("site")
            if named and not self.in_replicate:
                self.sites.append(named["name"])
            a = {"type": self.pick(list(SHAPES)), "size": self.positive(n=3)} if self.chance(0.4) else {}
            if self.materials and self.chance(0.2):
                a["material"] = self.pick(self.materials)
            place().add(Node("site", **named, **a, **self.pose(), **self.class_(0.2)))
        if self.chance(0.1):
            mode = self.pick(["fixed", "track", "trackcom"])
            place().add(Node("camera", **self.name("camera"), **self.pose(), mode=mode, **self.class_(0.2)))
        if self.chance(0.1):
            place().add(Node("light", pos=self.vec(), dir="0 0 -1", mode=self.pick(["fixed", "track", "trackcom"])))

    def childclass(self, p=0.25):
        return {"childclass": self.pick(self.classes)} if self.chance(p) else {}

    def body(self, depth):
        named = self.name("body")
        node = Node("body", **named, **self.pose(), **self.childclass())
        if self.chance(0.08):
            node.attributes["gravcomp"] = self.pick([self.positive(0.1, 1.0), np.array(1.0)])
        if self.chance(0.05):
            node.attributes["fuse"] = "false"
        if named and not self.in_replicate:
            self.bodies.append(named["name"])
        if depth == 0 and self.chance(0.3):
            free = self.name("joint")
            if free and not self.in_replicate:
                self.joints.append((free["name"], "free"))
            node.add(Node("freejoint", **free) if self.chance(0.6) else Node("joint", type="free", **free))
            joints = []
        else:
            joints = self.pick([["hinge"], ["hinge"], ["slide"], ["ball"], ["hinge", "hinge"], ["slide", "hinge"],
                                ["slide", "slide", "hinge"], ["slide", "ball"], [], ["hinge", "slide", "hinge"]])
        self.contents(node, joints)
        if depth < 4:
            for _ in range(int(self.r.integers(0, 3 if depth < 2 else 2))):
                child = self.body(depth + 1)
                wrap = self.chance(0.15)
                (node.add(Node("frame", **self.pose(), **self.childclass(0.3))) if wrap else node).add(child)
        return node

    def world(self):
        node = Node("worldbody")
        if self.chance(0.5):
            node.add(self.geom(world=True))
        if self.chance(0.2):
            node.add(Node("light", pos="0 0 3"))
        for _ in range(int(self.r.integers(1, 3))):
            node.add(self.body(0))
        if self.chance(0.12):
            self.in_replicate = True
            a = {"count": str(int(self.r.integers(1, 4))), "offset": self.vec()}
            if self.chance(0.5):
                a["euler"] = [self.angle(1.0) for _ in range(3)]
            if self.chance(0.3):
                a["sep"] = "-"
            kept = list(self.joints)
            node.add(Node("replicate", **a)).add(self.body(2))
            self.joints = kept
            self.in_replicate = False
        if self.part is not None:
            self.attach(node)
        return node

    def attach(self, node):
        """Parts of another file, in the world; the joints of a part get actuators here too."""
        inner = Maker(int(self.r.integers(1 << 30)), attaches=False)
        self.part = inner.text()
        for prefix in ["p_", "q-"][: int(self.r.integers(1, 3))]:
            a = {"model": "part", "prefix": prefix}
            if inner.bodies and self.chance(0.4):
                a["body"] = self.pick(inner.bodies)
            else:
                self.joints += [(prefix + name, kind) for name, kind in inner.joints]
            node.add(Node("frame", **self.pose(), **self.childclass())).add(Node("attach", **a))

    def actuator_attributes(self, tag, p=0.4):
        a = {}
        if self.chance(p):
            a["gear"] = self.pick([self.vec(1, 50.0), self.vec(6, 3.0)])
        if tag != "none" and self.chance(p):
            a["ctrlrange"] = [-self.positive(0.2, 1), self.positive(0.2, 1)]
            if not self.autolimits or self.chance(0.2):
                a["ctrllimited"] = self.pick(["true", "false"])
        if self.chance(p):
            a["forcerange"] = [-self.positive(1, 9), self.positive(1, 9)]
            if not self.autolimits or self.chance(0.2):
                a["forcelimited"] = self.pick(["true", "false"])
        if tag == "position":
            if self.chance(0.7):
                a["kp"] = self.positive(1, 100)
            if self.chance(0.4):
                a[self.pick(["kv", "kv", "dampratio"])] = self.positive(0.1, 2)
        if tag == "velocity" and self.chance(0.7):
            a["kv"] = self.positive(0.1, 5)
        if tag == "general":
            if self.chance(0.6):
                a |= {"gainprm": self.positive(1, 10), "biastype": "affine"}
                if self.chance(0.7):
                    a["biasprm"] = self.vec(3, 5.0)
        return a

    def actuators(self):
        node = Node("actuator")
        for _ in range(int(self.r.integers(0, 5)) if self.joints else 0):
            tag = self.pick(["motor", "position", "velocity", "general"])
            joint, kind = self.pick(self.joints)
            a = self.name("actuator") | {"joint": joint} | self.actuator_attributes(tag) | self.class_(0.3)
            inherits = tag == "position" and "ctrlrange" not in a and self.limited.get(joint) and kind != "ball"
            if inherits and self.chance(0.5):
                a["inheritrange"] = self.positive(0.5, 1.2)
            node.add(Node(tag, **a))
        return node

    def contacts(self):
        node = Node("contact")
        if len(self.geoms) > 1 and self.chance(0.4):
            one, two = self.r.choice(self.geoms, 2, replace=False)
            pair = Node("pair", geom1=str(one), geom2=str(two), **self.class_(0.2))
            if self.chance(0.4):
                friction = self.positive(0.1, 1.0, int(self.r.integers(1, 6)))
                pair.attributes |= {"friction": friction, "condim": self.pick(["1", "3", "4", "6"])}
            if self.chance(0.3):
                pair.attributes |= {"margin": 0.01, "gap": 0.02, "solref": [0.03, 0.8], "solreffriction": [0.01]}
            node.add(pair)
        if len(self.bodies) > 1 and self.chance(0.4):
            one, two = self.r.choice(self.bodies, 2, replace=False)
            node.add(Node("exclude", body1=str(one), body2=str(two)))
        return node

    def equalities(self):
        node = Node("equality")
        scalar = [name for name, kind in self.joints if kind in ("hinge", "slide")]
        for _ in range(int(self.r.integers(0, 4)) if self.chance(0.4) else 0):
            a = self.name("equality") | self.class_(0.2)
            if self.chance(0.2):
                a |= {"solref": [0.03], "solimp": self.positive(0.5, 0.9)}
            if self.chance(0.2):
                a["active"] = self.pick(["true", "false"])
            tag = self.pick(["connect", "weld", "joint"])
            if tag == "joint" and scalar:
                picked = self.r.permutation(scalar)[: int(self.r.integers(1, 3))]
                a |= {f"joint{i + 1}": str(name) for i, name in enumerate(picked)}
                if self.chance(0.5):
                    a["polycoef"] = self.vec(int(self.r.integers(1, 6)), 1.0)
            elif tag != "joint" and len(self.sites) > 1 and self.chance(0.3):
                a |= {f"site{i + 1}": str(name) for i, name in enumerate(self.r.permutation(self.sites)[:2])}
            elif tag != "joint" and self.bodies:
                picked = self.r.permutation(self.bodies)[: int(self.r.integers(1, 3))]
                a |= {f"body{i + 1}": str(name) for i, name in enumerate(picked)}
                if tag == "connect" or self.chance(0.5):
                    a["anchor"] = self.vec()
                if tag == "weld" and self.chance(0.3):
                    a["relpose"] = self.vec(7, 1.0)
            else:
                continue
            if tag == "weld" and self.chance(0.3):
                a["torquescale"] = self.positive(0.1, 2.0)
            node.add(Node(tag, **a))
        return node

    def text(self):
        root = Node("mujoco", model="fuzz")
        root.add(self.compiler())
        root.add(self.option())
        if self.chance(0.1):
            root.add(Node("statistic", extent="2"))
            root.add(Node("visual")).add(Node("global", offwidth="64"))
        if self.chance(0.8):
            root.add(self.default())
        asset = root.add(self.asset())
        if self.part is not None:
            asset.add(Node("model", name="part", file="part.xml"))
        root.add(self.world())
        root.add(self.contacts())
        root.add(self.equalities())
        root.add(self.actuators())
        if self.chance(0.1):
            root.add(Node("keyframe")).add(Node("key", name="home"))
        lines = root.lines()
        if self.chance(0.1):
            lines.insert(1, "stray text <!-- and a comment with -- inside -->")
        return "\n".join(lines) + "\n"
