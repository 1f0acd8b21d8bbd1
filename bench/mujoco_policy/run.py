"""Plays policies of `ant-mujoco` in MuJoCo for `pullback reproduce articulated-learning`.

usage: python3 run.py POLICIES BUILD_FOLDER EPISODES

POLICIES is a text file with an ONNX file or `random` or `zero` in each line. Makes a virtual environment with MuJoCo and
ONNX Runtime in BUILD_FOLDER and runs reference/play_policy.py in it. Prints one JSON object with MuJoCo's version and
a row for each line.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from environment import last_line, prepare  # noqa: E402

PLAYER = ROOT / "reference/play_policy.py"


def packages() -> list[str]:
    """The versions that golden files are made with."""
    lines = (ROOT / "reference/requirements.txt").read_text().splitlines()
    return [line for line in lines if line.split("==")[0] in ("mujoco", "numpy", "onnxruntime")]


def main() -> None:
    policies, build, episodes = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    wanted = packages()
    python = prepare(build, "-".join(wanted), wanted)
    rows = []
    for policy in policies.read_text().splitlines():
        who = [f"--{policy}"] if policy in ("random", "zero") else [policy]
        rows.append(json.loads(last_line([python, PLAYER, *who, "--episodes", episodes])))
    print(json.dumps({"version": rows[0]["mujoco"], "rows": rows}))


if __name__ == "__main__":
    main()
