"""Times smoke in PyTorch on the cases exported by `pullback bench smoke`.

usage: python3 run.py CASES.json BUILD_FOLDER THREADS

Makes a virtual environment with torch in BUILD_FOLDER and runs measure.py in it. PyPI's wheel of torch for Linux loads the CUDA
libraries at import, so they are installed too, some 5 GB, though nothing runs on a GPU. Prints one JSON object: the version, and
by name of the case the best seconds per step forward and with the gradient, loss, length of the gradient, and iterations.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import ALONE, last_line, prepare  # noqa: E402

VERSION = "2.15.0"
PACKAGES = [f"torch=={VERSION}", "numpy"]


def main() -> None:
    cases, build, threads = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    measure = pathlib.Path(__file__).with_name("measure.py")
    variables = ALONE | {name: threads for name in ALONE if name.endswith("_THREADS")}
    print(last_line([prepare(build, VERSION, PACKAGES), measure, cases, threads], variables))


if __name__ == "__main__":
    main()
