"""Searches the functions exported by `pullback bench search` with a peer.

usage: python3 run.py CASES.json BUILD_FOLDER cmaes|botorch

Makes a virtual environment with the peer in BUILD_FOLDER/PEER/venv, or takes that of `pullback bench bo` for BoTorch (some 5 GB),
and runs with_PEER.py in it. What a peer finds depends on cases, seeds and versions alone, so it is kept in BUILD_FOLDER/PEER and
read back for the same cases. Prints one JSON object: the version, and by name of the case the lowest value of each seed, and the value at the center
of the box, by which the functions of both sides are seen to be the same.
"""

import hashlib
import importlib.util
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from environment import ALONE, last_line, prepare  # noqa: E402

VERSION = "0.13.1"
PACKAGES = [f"cmaes=={VERSION}", "numpy"]


def botorch():
    """The script of `pullback bench bo`, which has the environment of BoTorch."""
    spec = importlib.util.spec_from_file_location("botorch_run", HERE.parent / "botorch/run.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def canonical(value) -> str:
    """Text that does not depend on the order of keys or on the last digits of numbers, which differ between sines."""
    if isinstance(value, dict):
        return "".join(key + canonical(value[key]) for key in sorted(value))
    if isinstance(value, list):
        return "".join(canonical(entry) + "," for entry in value)
    return value if isinstance(value, str) else f"{value:.12g}"


def main() -> None:
    cases, peer = pathlib.Path(sys.argv[1]), sys.argv[3]
    build = pathlib.Path(sys.argv[2]).resolve() / peer
    build.mkdir(parents=True, exist_ok=True)
    if peer == "botorch":
        script, environment = botorch(), build.parents[2] / "bench-bo/botorch"
        version, packages = script.VERSION, script.PACKAGES
    else:
        environment, version, packages = build, VERSION, PACKAGES
    parts = [canonical(json.loads(cases.read_text())), str(packages)]
    parts += [HERE.joinpath(name).read_text() for name in (f"with_{peer}.py", "functions.py")]
    kept = build / f"found-{hashlib.sha256(''.join(parts).encode()).hexdigest()[:16]}.json"
    if not kept.exists():
        python = prepare(environment, version, packages)
        kept.write_text(last_line([python, HERE / f"with_{peer}.py", cases], ALONE))
    print(kept.read_text())


if __name__ == "__main__":
    main()
