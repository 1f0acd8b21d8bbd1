"""The lowest values that the package `cmaes` finds on exported cases (see run.py).

Its CMA class with its defaults and bounds, restarted as its README shows for IPOP-CMA-ES: when `should_stop`, with a doubled
population from a random mean.
"""

import json
import pathlib
import sys

import cmaes
import numpy as np
from functions import Function


def search(case: dict, seed: int) -> float:
    function, dim = Function(case), len(case["shift"])
    random = np.random.RandomState(seed)
    bounds = np.array([[-1.0, 1.0]] * dim)
    optimizer = cmaes.CMA(mean=np.array(case["start"], dtype=float), sigma=case["sigma"], bounds=bounds, seed=seed)
    while True:
        solutions = []
        for _ in range(optimizer.population_size):
            if function.calls == case["budget"]:
                return function.best
            z = optimizer.ask()
            solutions.append((z, function(z)))
        optimizer.tell(solutions)
        if optimizer.should_stop():
            optimizer = cmaes.CMA(
                mean=random.uniform(-1.0, 1.0, dim),
                sigma=case["sigma"],
                bounds=bounds,
                seed=seed + 1,
                population_size=2 * optimizer.population_size,
            )


def main() -> None:
    cases = json.loads(pathlib.Path(sys.argv[1]).read_text())
    found = {}
    for case in cases:
        ends = [search(case, seed) for seed in range(case["seeds"])]
        found[case["name"]] = {"ends": ends, "at_center": Function(case)(np.zeros(len(case["shift"])))}
    print(json.dumps({"version": f"cmaes {cmaes.__version__}", "cases": found}))


if __name__ == "__main__":
    main()
