"""Times Taichi's CPU backend on the clouds exported by `pullback bench mpm`.

usage: python3 run.py CLOUDS.json BUILD_FOLDER THREADS

Makes a virtual environment with the `taichi` wheel in BUILD_FOLDER and runs measure.py in it, once per cloud: Taichi
compiles for fixed sizes. Prints one JSON object: the version, and by name of the cloud the best seconds per substep with the loss
and its gradient in the initial velocities.
"""

import json
import pathlib
import subprocess
import sys

VERSION = "1.7.4"
PACKAGES = [f"taichi=={VERSION}", "numpy<2.3"]


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
    clouds, build, threads = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    build.mkdir(parents=True, exist_ok=True)
    measure, python, results = pathlib.Path(__file__).with_name("measure.py"), prepare(build), {}
    for index, cloud in enumerate(json.loads(clouds.read_text())):
        done = subprocess.run([python, measure, clouds, str(index), threads], capture_output=True, text=True)
        sys.stderr.write(done.stderr)
        if done.returncode != 0:
            sys.exit(done.returncode)
        # Taichi may greet on standard output; the result is the last line.
        results[cloud["name"]] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps({"version": f"Taichi {VERSION}", "clouds": results}))


if __name__ == "__main__":
    main()
