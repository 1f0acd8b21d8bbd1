"""Times Pinocchio on a model exported by `pullback bench articulated`.

usage: python3 run.py MODEL.txt BUILD_FOLDER

Makes a virtual environment with the `pin` wheel in BUILD_FOLDER, compiles main.cpp against it and runs it. Prints one
JSON object with the version and the best seconds per call.
"""

import json
import pathlib
import subprocess
import sys

VERSION = "4.1.0"


def prepare(build: pathlib.Path) -> pathlib.Path:
    """The program, built once."""
    program = build / "pinocchio-bench"
    source = pathlib.Path(__file__).with_name("main.cpp")
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    python = build / "venv/bin/python"
    quiet = {"stdout": sys.stderr, "check": True}
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", build / "venv"], **quiet)
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"pin=={VERSION}", "cmeel-eigen==3.4.1"], **quiet)
    prefix = next((build / "venv/lib").glob("python3*/site-packages/cmeel.prefix"))
    # The wheel's own instantiations are linked; its instruction set must be kept, so no -march=native.
    flags = ["-O3", "-DNDEBUG", "-std=c++17", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION"]
    flags += ["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS"]
    flags += ["-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]
    paths = [f"-I{prefix}/include", f"-I{prefix}/include/eigen3", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"]
    libraries = ["-lpinocchio_default", "-lboost_serialization", "-Wl,--allow-shlib-undefined"]
    subprocess.run(["g++", *flags, str(source), "-o", str(program), *paths, *libraries], **quiet)
    return program


def main() -> None:
    model, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    build.mkdir(parents=True, exist_ok=True)
    output = subprocess.run([prepare(build), model], check=True, capture_output=True, text=True).stdout
    print(json.dumps({"version": f"pin {VERSION}", **json.loads(output)}))


if __name__ == "__main__":
    main()
