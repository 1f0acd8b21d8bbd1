"""Times Warp's CPU device on the soft bodies exported by `pullback bench fem`.

usage: python3 run.py BODIES.json BUILD_FOLDER

Makes a virtual environment with the `warp-lang` wheel in BUILD_FOLDER and runs measure.py in it. Prints one JSON object: the
version, and by name of the body the best seconds per substep with final positions and
gradients of solids.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import last_line, prepare  # noqa: E402

# The last release with warp.sim.
VERSION = "1.9.1"
PACKAGES = [f"warp-lang=={VERSION}", "numpy"]


def main() -> None:
    bodies, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    measure = pathlib.Path(__file__).with_name("measure.py")
    print(last_line([prepare(build, VERSION, PACKAGES), measure, bodies, build / "kernels"]))


if __name__ == "__main__":
    main()
