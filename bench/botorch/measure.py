"""Seconds of BoTorch's Bayesian optimization at given points, on one thread at f64 (see run.py).

The model is ours: Matern 5/2 with a length scale per variable, a signal variance, a noise and a constant mean; priors of BoTorch's
defaults on length scales and noise, ours on the signal. A trial is a fit from BoTorch's own start by fit_gpytorch_mll
(L-BFGS-B) and the maximum of LogExpectedImprovement from 512 raw samples and 10 restarts. `warm` is a fit that starts from
the optimum at one point less, as a patient user would write it.
"""

import json
import math
import pathlib
import sys
import time
import warnings

import botorch
import gpytorch
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
# Repetitions of each measurement, fewer when they are long.
REPETITIONS, SECONDS = 3, 20.0


def build(x: torch.Tensor, y: torch.Tensor) -> SingleTaskGP:
    d = x.shape[-1]
    prior = LogNormalPrior(loc=math.sqrt(2.0) + 0.5 * math.log(d), scale=math.sqrt(3.0))
    scales = MaternKernel(
        nu=2.5,
        ard_num_dims=d,
        lengthscale_prior=prior,
        lengthscale_constraint=GreaterThan(2.5e-2, transform=None, initial_value=prior.mode),
    )
    # The values are standardized already.
    covariance = ScaleKernel(scales, outputscale_prior=LogNormalPrior(loc=1.0, scale=1.0))
    covariance.outputscale = 1.0
    return SingleTaskGP(x, y, covar_module=covariance, outcome_transform=None)


def best(work) -> float:
    times, start = [], time.perf_counter()
    while len(times) < REPETITIONS and (not times or time.perf_counter() - start < SECONDS):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def measure(case: dict) -> dict:
    x, y = torch.tensor(case["points"]), torch.tensor(case["values"]).unsqueeze(-1)
    bounds = torch.stack([torch.zeros(x.shape[1]), torch.ones(x.shape[1])])
    model = build(x, y)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()

    def likelihood() -> None:
        model.zero_grad()
        (-mll(model(*model.train_inputs), model.train_targets)).backward()

    likelihood()
    seconds = {"likelihood": best(likelihood)}
    kept = {}

    def fit() -> None:
        kept["model"] = build(x, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(kept["model"].likelihood, kept["model"]))

    seconds["fit"] = best(fit)
    model = kept["model"]
    model.train()
    reached = ExactMarginalLogLikelihood(model.likelihood, model)(model(*model.train_inputs), model.train_targets)
    seconds["objective"] = float(reached)
    seconds["signal"] = float(model.covar_module.outputscale)
    seconds["noise"] = float(model.likelihood.noise)
    seconds["scales"] = model.covar_module.base_kernel.lengthscale.detach().flatten().tolist()
    model.eval()

    less = build(x[:-1], y[:-1])
    fit_gpytorch_mll(ExactMarginalLogLikelihood(less.likelihood, less))
    optimum = less.state_dict()

    def warm() -> None:
        again = build(x, y)
        again.load_state_dict(optimum)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(again.likelihood, again))

    seconds["warm"] = best(warm)

    def propose() -> None:
        torch.manual_seed(0)
        # BoTorch maximizes; the values handed over are already negated losses.
        acquisition = LogExpectedImprovement(model, best_f=y.max())
        _, kept["value"] = optimize_acqf(acquisition, bounds=bounds, q=1, num_restarts=10, raw_samples=512)

    propose()
    seconds["propose"] = best(propose)
    seconds["acquisition"] = float(kept["value"])
    return seconds


def main() -> None:
    cases = json.loads(pathlib.Path(sys.argv[1]).read_text())
    version = f"BoTorch {botorch.__version__}, GPyTorch {gpytorch.__version__}, torch {torch.__version__}"
    print(json.dumps({"version": version, "cases": {case["name"]: measure(case) for case in cases}}))


if __name__ == "__main__":
    main()
