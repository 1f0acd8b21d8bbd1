"""Seconds of the processor for a silhouette and its gradient in Mitsuba 3, variant llvm_ad_rgb, on one thread at f32 (see run.py).

Mitsuba has no soft rasterizer: it traces 16 rays per pixel, with gradients of visibility by its integrator `direct_projective`. The mesh is
white in white light from everywhere, so the picture is its silhouette; the loss is the mean of (picture - target)^2.
"""

import json
import math
import pathlib
import sys
import time

import drjit as dr
import mitsuba as mi

mi.set_variant("llvm_ad_rgb")
dr.set_thread_count(1)
SAMPLES = 16
KEY = "mesh.vertex_positions"


def load(case: dict, camera: dict, folder: pathlib.Path) -> mi.Scene:
    vertices, faces = case["mesh"]["vertices"], case["mesh"]["faces"]
    mesh = mi.Mesh("mesh", len(vertices), len(faces))
    numbers = mi.traverse(mesh)
    numbers["vertex_positions"] = mi.Float([x for v in vertices for x in v])
    numbers["faces"] = mi.UInt32([i for f in faces for i in f])
    numbers.update()
    file = folder / "mesh.ply"
    mesh.write_ply(str(file))
    film = {"type": "hdrfilm", "width": case["size"], "height": case["size"], "rfilter": {"type": "box"}, "pixel_format": "luminance"}
    place = mi.ScalarTransform4f().look_at([0, 0, camera["distance"]], [0, 0, 0], [0, 1, 0])
    fov = 2 * math.degrees(math.atan(camera["half_height"]))
    return mi.load_dict({
        "type": "scene",
        "integrator": {"type": "direct_projective", "hide_emitters": True},
        "sensor": {"type": "perspective", "fov": fov, "to_world": place, "film": film},
        "light": {"type": "constant"},
        "mesh": {"type": "ply", "filename": str(file), "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": 1.0}}},
    })


def best(run, repeats: int) -> float:
    times = []
    # The first runs compile.
    for i in range(repeats + 2):
        start = time.process_time()
        run()
        if i >= 2:
            times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    file = pathlib.Path(sys.argv[1])
    given = json.loads(file.read_text())
    rows = []
    for case in given["cases"]:
        scene = load(case, given["camera"], file.parent)
        params = mi.traverse(scene)
        size = case["size"]
        target = mi.TensorXf(mi.Float(case["target"]), (size, size, 1))

        def forward() -> None:
            dr.eval(mi.render(scene, params, spp=SAMPLES))
            dr.sync_thread()

        def gradient() -> None:
            dr.enable_grad(params[KEY])
            dr.backward(dr.mean(dr.square(mi.render(scene, params, spp=SAMPLES) - target)))
            dr.eval(dr.grad(params[KEY]))
            dr.sync_thread()
            dr.disable_grad(params[KEY])

        alone = best(forward, 8)
        rows.append({"name": case["name"], "forward": alone, "backward": best(gradient, 6) - alone})
    print(json.dumps({"version": f"Mitsuba {mi.__version__}", "samples": SAMPLES, "cases": rows}))


if __name__ == "__main__":
    main()
