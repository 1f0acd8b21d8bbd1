"""Microseconds per call of the Python package, and seconds from import to the first gradient.

usage: python measure.py CASE.json

The case has the name of a carried model and its contact model, start states, controls of every step, and repetitions.
"""

import json
import platform
import subprocess
import sys
import time

import numpy as np
import pullback

FIRST = """
import time
start = time.perf_counter()
import pullback
system = pullback.load({model!r}, contact={contact!r})
imported = time.perf_counter()
system.gradient(pullback.losses.final_state(system, {{"*.position": 1.0}}), 32)
print(time.perf_counter() - start, imported - start)
"""


def best(function, repetitions: int) -> float:
    """Least microseconds of a call."""
    found = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found) * 1e6


def main() -> None:
    with open(sys.argv[1]) as file:
        case = json.load(file)
    system = pullback.load(case["model"], contact=case["contact"])
    envs, repetitions = case["envs"], case["repetitions"]
    state = np.array(case["states"]).reshape(envs, len(system.state))
    controls = np.array(case["controls"]).reshape(envs, -1, len(system.control))
    one = np.ascontiguousarray(controls[:, :1])
    loss = pullback.losses.final_state(system, {"*.position": 1.0})
    found = {"version": f"pullback {pullback.__version__} (Python {platform.python_version()}, NumPy {np.__version__})"}
    for threads in case["threads"]:
        for what, u in (("step", one), ("rollout", controls)):
            inputs = {"state": state, "controls": u, "threads": threads}
            found[f"{what}_{threads}"] = best(lambda inputs=inputs: system.rollout(**inputs), repetitions)
            found[f"{what}_gradient_{threads}"] = best(
                lambda inputs=inputs: system.gradient(loss, **inputs), repetitions
            )
    program = FIRST.format(model=case["model"], contact=case["contact"])
    firsts = [
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(5)
    ]
    found["first_gradient"] = min(float(first) for first, _ in firsts)
    found["import_and_load"] = min(float(imported) for _, imported in firsts)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
