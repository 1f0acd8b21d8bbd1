"""Times the Python package on a case exported by `pullback bench python`.

usage: python3 run.py CASE.json BUILD_FOLDER

Builds a wheel of the package with the profile of benchmarks, installs it into a virtual environment in BUILD_FOLDER and runs
measure.py there. Prints one JSON object: the version, microseconds per call, and seconds from import to the first gradient.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from environment import last_line, prepare  # noqa: E402

PACKAGES = ["maturin==1.16.0", "numpy==2.4.6"]


def main() -> None:
    case, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    python = prepare(build, "-".join(PACKAGES), PACKAGES)
    wheels = build / "wheels"
    for old in wheels.glob("*.whl"):
        old.unlink()
    quiet = {"stdout": sys.stderr, "check": True, "cwd": ROOT}
    how = ["--profile", "release-lto", "--interpreter", python, "--out", wheels]
    subprocess.run([python, "-m", "maturin", "build", "--quiet", *how], **quiet)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel], **quiet)
    print(last_line([python, pathlib.Path(__file__).with_name("measure.py"), case]))


if __name__ == "__main__":
    main()
