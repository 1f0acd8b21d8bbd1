"""Times MuJoCo on a model file for `pullback bench ant`.

usage: python3 run.py MODEL.xml BUILD_FOLDER ENVIRONMENTS STEPS SETTLE DROP

Makes a virtual environment with the `mujoco` wheel in BUILD_FOLDER and runs measure.py in it. Prints one JSON object with
the version and environment steps per second.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import last_line, prepare  # noqa: E402

VERSION = "3.17.0"
PACKAGES = [f"mujoco=={VERSION}", "numpy==2.4.6"]


def main() -> None:
    model, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    measure = pathlib.Path(__file__).with_name("measure.py")
    print(last_line([prepare(build, VERSION, PACKAGES), measure, model, *sys.argv[3:]]))


if __name__ == "__main__":
    main()
