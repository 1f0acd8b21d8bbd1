"""Times gradients of standing quadrupeds by CasADi for `pullback reproduce articulated-adjoint`.

usage: python3 run.py MODEL.json BUILD_FOLDER ROBOTSxSTEPS...

Makes a virtual environment with the `casadi` wheel in BUILD_FOLDER and runs measure.py in it, once per case, so that every
peak of memory is that of a program of its own. Prints one JSON object: the version and a row per case.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import ALONE, last_line, prepare  # noqa: E402

VERSION = "3.8.2"
PACKAGES = [f"casadi=={VERSION}", "numpy==2.4.6"]


def main() -> None:
    model, build, cases = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    python, measure = prepare(build, VERSION, PACKAGES), pathlib.Path(__file__).with_name("measure.py")
    rows = [json.loads(last_line([python, measure, model, *case.split("x")], ALONE)) for case in cases]
    print(json.dumps({"version": f"CasADi {VERSION}", "rows": rows}))


if __name__ == "__main__":
    main()
