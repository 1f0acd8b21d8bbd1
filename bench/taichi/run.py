"""Times Taichi's CPU backend on the cases exported by `pullback bench mpm`.

usage: python3 run.py CASES.json BUILD_FOLDER THREADS

Makes a virtual environment with the `taichi` wheel in BUILD_FOLDER and runs measure.py in it, once per case: Taichi
compiles for fixed sizes. Prints one JSON object: the version, and by name of the case the best seconds per substep with the loss
and its gradient in the initial velocities.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import last_line, prepare  # noqa: E402

VERSION = "1.7.4"
PACKAGES = [f"taichi=={VERSION}", "numpy<2.3"]


def main() -> None:
    cases, build, threads = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    measure, python = pathlib.Path(__file__).with_name("measure.py"), prepare(build, VERSION, PACKAGES)
    names = [case["name"] for case in json.loads(cases.read_text())]
    said = {name: json.loads(last_line([python, measure, cases, str(i), threads])) for i, name in enumerate(names)}
    print(json.dumps({"version": f"Taichi {VERSION}", "cases": said}))


if __name__ == "__main__":
    main()
