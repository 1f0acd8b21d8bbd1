"""Times MuJoCo on a case exported by `pullback bench contact` or `bench muscle`.

usage: python3 run.py CASE.json BUILD_FOLDER

Makes a virtual environment with the `mujoco` wheel in BUILD_FOLDER and runs measure.py in it. Prints one JSON object: the
version, microseconds of every repetition, and how the motion went.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import ALONE, last_line, prepare  # noqa: E402

VERSION = "3.17.0"
PACKAGES = [f"mujoco=={VERSION}", "numpy==2.4.6"]


def main() -> None:
    case, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    measure = pathlib.Path(__file__).with_name("measure.py")
    print(last_line([prepare(build, VERSION, PACKAGES), measure, case], ALONE))


if __name__ == "__main__":
    main()
