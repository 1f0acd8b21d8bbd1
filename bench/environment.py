"""What the scripts of all peers share: an environment that is made once, and a program run in it."""

import os
import pathlib
import subprocess
import sys

# For programs that are to work on one thread and no graphics card.
ALONE = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")} | {"CUDA_VISIBLE_DEVICES": ""}


def prepare(build: pathlib.Path, version: str, packages: list[str]) -> pathlib.Path:
    """The interpreter of the environment in `build`, made once per version of the peer."""
    build.mkdir(parents=True, exist_ok=True)
    python, ready = build / "venv/bin/python", build / f"ready-{version}"
    if not ready.exists():
        quiet = {"stdout": sys.stderr, "check": True}
        subprocess.run([sys.executable, "-m", "venv", build / "venv"], **quiet)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], **quiet)
        ready.touch()
    return python


def last_line(command: list, variables: dict[str, str] | None = None) -> str:
    """The last line that a program prints: peers may greet on standard output. A failure ends this program too."""
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | (variables or {}))
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout.splitlines()[-1]
