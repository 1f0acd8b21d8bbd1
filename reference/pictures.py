#!/usr/bin/env python3
"""Compares pictures of `pullback simulate --picture` with MuJoCo's own renderer, on the given MJCF files.

    MUJOCO_GL=osmesa python reference/pictures.py --program target/release/pullback --out out/pictures FILE...

For every file: the silhouette of all that is no plane or terrain, from the free camera and from each camera of the file,
as intersection over union of the pixels of both (both get a copy of the file without lights and materials, all geoms
in one color); and both pictures of the file itself side by side, to be looked at. Needs `mujoco`, numpy and pillow, and
OSMesa or EGL for MuJoCo. Public files come with the PyPI packages `gymnasium` and `dm_control`.
"""

import argparse
import pathlib
import subprocess
import tempfile

import mujoco
import numpy as np
from PIL import Image

WIDTH, HEIGHT = 320, 240
COLOR = (1.0, 0.0, 1.0, 1.0)


def silhouette_file(path, folder):
    """A copy of a model in one color on nothing."""
    spec = mujoco.MjSpec.from_file(str(path))
    base = path.parent.resolve()
    spec.meshdir, spec.texturedir = (str((base / d).resolve()) for d in (spec.meshdir, spec.texturedir))
    for geom in list(spec.geoms):
        if geom.type in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD):
            geom.rgba[3] = 0
            geom.material = ""
        else:
            geom.rgba, geom.material = COLOR, ""
    for site in spec.sites:
        site.rgba[3] = 0
        site.material = ""
    for light in list(spec.lights):
        spec.delete(light)
    for tendon in spec.tendons:
        tendon.rgba[3] = 0
        tendon.material = ""
    for material in list(spec.materials):
        spec.delete(material)
    for texture in list(spec.textures):
        spec.delete(texture)
    head = spec.visual.headlight
    head.ambient, head.diffuse, head.specular, head.active = (1, 1, 1), (0, 0, 0), (0, 0, 0), 1
    spec.compile()
    copy = pathlib.Path(folder) / f"{path.stem}.xml"
    copy.write_text(spec.to_xml())
    return copy


def of_mujoco(path, camera, view):
    model = mujoco.MjModel.from_xml_path(str(path))
    model.vis.global_.offwidth, model.vis.global_.offheight = WIDTH, HEIGHT
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    if camera is None:
        camera = mujoco.MjvCamera()
        camera.lookat, camera.distance = view["lookat"], view["distance"]
        camera.azimuth, camera.elevation = view["azimuth"], view["elevation"]
    with mujoco.Renderer(model, HEIGHT, WIDTH) as renderer:
        renderer.update_scene(data, camera)
        return renderer.render().copy()


def of_pullback(program, path, camera, view, out):
    picture = out / "picture.png"
    place = ",".join(str(float(x)) for x in view["lookat"])
    free = ["--camera", "free", "--lookat", place, *(f"--{k}={view[k]}" for k in ("distance", "azimuth", "elevation"))]
    model = mujoco.MjModel.from_xml_path(str(path))
    command = [program, "simulate", str(path), "--time", str(model.opt.timestep), "--picture", str(picture)]
    command += ["--size", f"{WIDTH}x{HEIGHT}", "--out", str(out)] + (free if camera is None else ["--camera", str(camera)])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return np.asarray(Image.open(picture).convert("RGB"))


def mask(image):
    """Pixels of the one color."""
    return (image[..., 0] > 128) & (image[..., 1] < 128) & (image[..., 2] > 128)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    worst = 1.0
    for path in options.files:
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
            view = {"lookat": model.stat.center, "distance": 1.5 * model.stat.extent, "azimuth": 120.0, "elevation": -20.0}
            with tempfile.TemporaryDirectory() as folder:
                flat = silhouette_file(path, folder)
                for camera in [None, *range(model.ncam)]:
                    ours = mask(of_pullback(options.program, flat, camera, view, options.out))
                    theirs = mask(of_mujoco(flat, camera, view))
                    union = np.sum(ours | theirs)
                    iou = 1.0 if union == 0 else np.sum(ours & theirs) / union
                    name = "free" if camera is None else model.camera(camera).name or camera
                    print(f"{path.stem:24} {name!s:16} IoU {iou:.4f} of {union} pixels", flush=True)
                    # A silhouette of few pixels is all border.
                    worst = min(worst, iou) if union > 500 else worst
            pair = [of_mujoco(path, None, view), of_pullback(options.program, path, None, view, options.out)]
            Image.fromarray(np.hstack(pair)).save(options.out / f"{path.stem}.png")
        except (RuntimeError, ValueError) as error:
            print(f"{path.stem:24} {error}", flush=True)
    print(f"worst IoU of more than 500 pixels: {worst:.4f}")


if __name__ == "__main__":
    main()
