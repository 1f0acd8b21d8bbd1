"""The lowest values that BoTorch's Bayesian optimization finds on exported cases, on one thread at f64 (see run.py).

Its defaults: SingleTaskGP, fit_gpytorch_mll, LogExpectedImprovement from 512 raw samples and 10 restarts, after scrambled Sobol
points as many as said in the case.
"""

import json
import pathlib
import sys
import warnings

import botorch
import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from functions import Function
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def search(case: dict, seed: int) -> float:
    function, dim = Function(case), len(case["shift"])
    torch.manual_seed(seed)
    bounds = torch.tensor([[-1.0] * dim, [1.0] * dim])
    sobol = torch.quasirandom.SobolEngine(dim, scramble=True, seed=seed).draw(case["initial"])
    x = 2.0 * sobol.double() - 1.0
    # BoTorch maximizes.
    y = torch.tensor([[-function(z)] for z in x.numpy()])
    while function.calls < case["budget"]:
        scaled = {"input_transform": Normalize(dim, bounds=bounds), "outcome_transform": Standardize(m=1)}
        model = SingleTaskGP(x, y, **scaled)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=y.max())
        z, _ = optimize_acqf(acquisition, bounds=bounds, q=1, num_restarts=10, raw_samples=512)
        x = torch.cat([x, z])
        y = torch.cat([y, torch.tensor([[-function(z.numpy()[0])]])])
    return function.best


def main() -> None:
    cases = json.loads(pathlib.Path(sys.argv[1]).read_text())
    found = {}
    for case in cases:
        ends = [search(case, seed) for seed in range(case["seeds"])]
        found[case["name"]] = {"ends": ends, "at_center": Function(case)(np.zeros(len(case["shift"])))}
        sys.stderr.write(f"{case['name']}: {ends}\n")
    print(json.dumps({"version": f"BoTorch {botorch.__version__}", "cases": found}))


if __name__ == "__main__":
    main()
