"""Times silhouettes in Mitsuba 3, for `pullback bench render`.

usage: python3 run.py CASES.json BUILD_FOLDER

Makes a virtual environment with mitsuba in BUILD_FOLDER and runs measure.py in it on one thread. Its compiler is a library of the system:
LLVM 17 or newer, by `apt-get install libllvm19` or the variable DRJIT_LIBLLVM_PATH. Prints one JSON object: the version, and of each case the
best seconds of forward and backward.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environment import ALONE, last_line, prepare  # noqa: E402

VERSION = "3.9.1"
PACKAGES = [f"mitsuba=={VERSION}", "numpy"]
LIBRARY = "DRJIT_LIBLLVM_PATH"


def llvm() -> str:
    """The newest LLVM among the system's libraries; older ones than 17 fail on AVX-512."""
    if LIBRARY in os.environ:
        return os.environ[LIBRARY]
    found = {}
    for library in pathlib.Path("/usr/lib").glob("*/libLLVM*.so*"):
        digits = "".join(c if c.isdigit() else " " for c in library.name).split()
        if digits and int(digits[0]) >= 17:
            found[int(digits[0])] = str(library)
    if not found:
        sys.exit("Mitsuba needs LLVM 17 or newer: apt-get install libllvm19, or set DRJIT_LIBLLVM_PATH")
    return found[max(found)]


def main() -> None:
    cases, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    measure = pathlib.Path(__file__).with_name("measure.py")
    print(last_line([prepare(build, VERSION, PACKAGES), measure, cases], ALONE | {LIBRARY: llvm()}))


if __name__ == "__main__":
    main()
