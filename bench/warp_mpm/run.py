"""Times Warp's CPU device on the cases exported by `pullback bench mpm`.

usage: python3 run.py CASES.json BUILD_FOLDER

Makes a virtual environment with the `warp-lang` wheel in BUILD_FOLDER and runs measure.py in it. Prints one JSON object: the
version, and by name of the case the best seconds per substep with the loss and its gradient in the initial velocities.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import last_line, prepare  # noqa: E402

VERSION = "1.9.1"
PACKAGES = [f"warp-lang=={VERSION}", "numpy"]


def main() -> None:
    cases, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    measure = pathlib.Path(__file__).with_name("measure.py")
    print(last_line([prepare(build, VERSION, PACKAGES), measure, cases, build / "kernels"]))


if __name__ == "__main__":
    main()
