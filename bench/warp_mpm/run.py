"""Times Warp's CPU device on the clouds exported by `pullback bench mpm`.

usage: python3 run.py CLOUDS.json BUILD_FOLDER

Makes a virtual environment with the `warp-lang` wheel in BUILD_FOLDER and runs measure.py in it. Prints one JSON object: the
version, and by name of the cloud the best seconds per substep with the loss and its gradient in the initial velocities.
"""

import pathlib
import subprocess
import sys

VERSION = "1.9.1"
PACKAGES = [f"warp-lang=={VERSION}", "numpy"]


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
    clouds, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    build.mkdir(parents=True, exist_ok=True)
    measure = pathlib.Path(__file__).with_name("measure.py")
    done = subprocess.run([prepare(build), measure, clouds, build / "kernels"], capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        sys.exit(done.returncode)
    # Warp may greet on standard output; the result is the last line.
    print(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
