"""Golden meshes by Gmsh, in each of the formats that are read, with their counts and measures.

`solid` is a block with a cylindrical notch, in two physical groups; `sheet` is a disk with a hole, tilted. The geometry has
a center point that belongs to no element, and one file carries parametric coordinates.
"""

import json
from pathlib import Path

import gmsh

GOLDEN = Path(__file__).resolve().parent.parent / "crates/scene/tests/golden/gmsh"


def solid():
    block = gmsh.model.occ.addBox(0, 0, 0, 1, 0.8, 0.6)
    notch = gmsh.model.occ.addCylinder(0.5, 0, 0.6, 0, 0.8, 0, 0.3)
    half = gmsh.model.occ.addBox(1, 0, 0, 0.4, 0.8, 0.6)
    (_, cut), = gmsh.model.occ.cut([(3, block)], [(3, notch)])[0]
    gmsh.model.occ.fragment([(3, cut)], [(3, half)])
    gmsh.model.occ.synchronize()
    for i, (_, tag) in enumerate(gmsh.model.getEntities(3)):
        gmsh.model.addPhysicalGroup(3, [tag], name=f"part {i}")


def sheet():
    outer = gmsh.model.occ.addDisk(0, 0, 0, 1, 1)
    inner = gmsh.model.occ.addDisk(0.2, 0, 0, 0.3, 0.3)
    gmsh.model.occ.addPoint(0, 0, 5)
    cut = gmsh.model.occ.cut([(2, outer)], [(2, inner)])[0]
    gmsh.model.occ.rotate(cut, 0, 0, 0, 1, 0.5, 0, 0.7)
    gmsh.model.occ.synchronize()


def measure(dimension):
    kind = {2: 2, 3: 4}[dimension]
    tags, nodes = gmsh.model.mesh.getElementsByType(kind)
    name = {2: "area", 3: "volume"}[dimension]
    total = float(sum(gmsh.model.mesh.getElementQualities(tags, "volume")))
    return {"vertices": len(set(nodes)), "elements": len(tags), "measure": total, "of": name}


gmsh.initialize()
gmsh.option.setNumber("General.Terminal", 0)
GOLDEN.mkdir(parents=True, exist_ok=True)
golden = {"gmsh": gmsh.__version__}
for shape, dimension, size in [(solid, 3, 0.45), (sheet, 2, 0.45)]:
    gmsh.clear()
    shape()
    gmsh.option.setNumber("Mesh.MeshSizeMin", size)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    gmsh.option.setNumber("Mesh.SaveAll", 1)
    gmsh.model.mesh.generate(dimension)
    golden[shape.__name__] = measure(dimension)
    for version in [2.2, 4.1]:
        for binary in [0, 1]:
            gmsh.option.setNumber("Mesh.MshFileVersion", version)
            gmsh.option.setNumber("Mesh.Binary", binary)
            gmsh.option.setNumber("Mesh.SaveParametric", int(version == 4.1 and shape is sheet))
            name = f"{shape.__name__}_{version}_{'binary' if binary else 'text'}.msh".replace(".", "", 1)
            gmsh.write(str(GOLDEN / name))
gmsh.finalize()
(GOLDEN / "measures.json").write_text(json.dumps(golden, indent=1) + "\n")
