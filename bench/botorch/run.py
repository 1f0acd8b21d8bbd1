"""Times BoTorch on the points exported by `pullback bench bo`.

usage: python3 run.py DATA.json BUILD_FOLDER

Makes a virtual environment with BoTorch in BUILD_FOLDER and runs measure.py in it on one thread. PyPI's wheel of torch for Linux
loads the CUDA libraries at import, so they are installed too, some 5 GB, though nothing runs on a GPU. Prints one JSON object: the
versions, and by number of points the best seconds of a fit, of a proposal and of one likelihood with gradient, with the
objective that the fit reached.
"""

import os
import pathlib
import subprocess
import sys

VERSION = "0.18.1"
PACKAGES = [f"botorch=={VERSION}", "torch==2.15.0", "numpy"]


def prepare(build: pathlib.Path) -> pathlib.Path:
    """The interpreter of the environment, made once."""
    python, ready = build / "venv/bin/python", build / f"ready-{VERSION}"
    if not ready.exists():
        quiet = {"stdout": sys.stderr, "check": True}
        subprocess.run([sys.executable, "-m", "venv", build / "venv"], **quiet)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], **quiet)
        ready.touch()
    return python


def main() -> None:
    data, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    build.mkdir(parents=True, exist_ok=True)
    measure = pathlib.Path(__file__).with_name("measure.py")
    one_thread = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    environment = {**os.environ, **one_thread, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([prepare(build), measure, data], capture_output=True, text=True, env=environment)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        sys.exit(done.returncode)
    print(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
