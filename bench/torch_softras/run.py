"""Times soft silhouettes in PyTorch, for `pullback bench render`.

usage: python3 run.py CASES.json BUILD_FOLDER

Makes a virtual environment with torch in BUILD_FOLDER and runs measure.py in it on one thread. PyPI's wheel of torch for Linux
loads the CUDA libraries at import, so they are installed too, some 5 GB, though nothing runs on a GPU. Prints one JSON object: the
version, and of each case the best seconds of forward and backward, the silhouette and the gradient of the loss.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import ALONE, last_line, prepare  # noqa: E402

VERSION = "2.15.0"
PACKAGES = [f"torch=={VERSION}", "numpy"]


def main() -> None:
    cases, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    measure = pathlib.Path(__file__).with_name("measure.py")
    print(last_line([prepare(build, VERSION, PACKAGES), measure, cases], ALONE))


if __name__ == "__main__":
    main()
