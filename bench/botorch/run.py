"""Times BoTorch on the points exported by `pullback bench bo`.

usage: python3 run.py DATA.json BUILD_FOLDER

Makes a virtual environment with BoTorch in BUILD_FOLDER and runs measure.py in it on one thread. PyPI's wheel of torch for Linux
loads the CUDA libraries at import, so they are installed too, some 5 GB, though nothing runs on a GPU. Prints one JSON object: the
versions, and by number of points the best seconds of a fit, of a proposal and of one likelihood with gradient, with the
objective that the fit reached.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import ALONE, last_line, prepare  # noqa: E402

VERSION = "0.18.1"
PACKAGES = [f"botorch=={VERSION}", "torch==2.15.0", "numpy"]


def main() -> None:
    data, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    measure = pathlib.Path(__file__).with_name("measure.py")
    print(last_line([prepare(build, VERSION, PACKAGES), measure, data], ALONE))


if __name__ == "__main__":
    main()
