"""Times MuJoCo on a model file for `pullback bench ant`.

usage: python3 run.py MODEL.xml BUILD_FOLDER ENVIRONMENTS STEPS SETTLE DROP

Makes a virtual environment with the `mujoco` wheel in BUILD_FOLDER and runs measure.py in it. Prints one JSON object with
the version and environment steps per second.
"""

import pathlib
import subprocess
import sys

VERSION = "3.17.0"


def prepare(build: pathlib.Path) -> pathlib.Path:
    """The environment's Python, made once per version."""
    venv = build / f"venv-{VERSION}"
    python, done = venv / "bin/python", venv / "ready"
    if not done.exists():
        quiet = {"stdout": sys.stderr, "check": True}
        subprocess.run([sys.executable, "-m", "venv", venv], **quiet)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"mujoco=={VERSION}", "numpy==2.4.6"], **quiet)
        done.touch()
    return python


def main() -> None:
    model, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    build.mkdir(parents=True, exist_ok=True)
    measure = pathlib.Path(__file__).with_name("measure.py")
    subprocess.run([prepare(build), measure, model, *sys.argv[3:]], check=True)


if __name__ == "__main__":
    main()
