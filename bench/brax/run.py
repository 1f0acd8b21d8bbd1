"""Times Brax on a case exported by `pullback bench python`, on one core of the CPU.

usage: python3 run.py CASE.json BUILD_FOLDER STEPS BATCH...

Makes a virtual environment with the `brax` and `jax` wheels in BUILD_FOLDER and runs measure.py in it. Prints one JSON object:
the versions, and for every batch the microseconds per step of one environment and the seconds of compilation.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import ALONE, last_line, prepare  # noqa: E402

VERSION = "0.14.2"
PACKAGES = [f"brax=={VERSION}"]


def main() -> None:
    case, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    measure = pathlib.Path(__file__).with_name("measure.py")
    python = prepare(build, VERSION, PACKAGES)
    print(last_line([python, measure, case, *sys.argv[3:]], ALONE | {"JAX_PLATFORMS": "cpu"}))


if __name__ == "__main__":
    main()
