"""The test functions of crates/optim/src/test_functions.rs, of points in the box scaled to [-1, 1]."""

import math

import numpy as np


def rastrigin(u: np.ndarray) -> float:
    return float(np.sum(u * u + 10.0 * (1.0 - np.cos(2.0 * math.pi * u))))


def ackley(u: np.ndarray) -> float:
    radius = math.sqrt(np.mean(u * u))
    return 20.0 * (1.0 - math.exp(-0.2 * radius)) + math.e - math.exp(np.mean(np.cos(2.0 * math.pi * u)))


def griewank(u: np.ndarray) -> float:
    return float(np.sum(u * u) / 4000.0 + 1.0 - np.prod(np.cos(u / np.sqrt(np.arange(1, len(u) + 1)))))


def levy(u: np.ndarray) -> float:
    w = 1.0 + (u - 1.0) / 4.0
    middle = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * w[:-1] + 1.0) ** 2)
    last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
    return float(math.sin(math.pi * w[0]) ** 2 + np.sum(middle) + last)


def rosenbrock(u: np.ndarray) -> float:
    return float(np.sum(100.0 * (u[1:] - u[:-1] ** 2) ** 2 + (1.0 - u[:-1]) ** 2))


SHAPES = {f.__name__: f for f in (rastrigin, ackley, griewank, levy, rosenbrock)}


class Function:
    """A case as exported: its shape, shift and box; remembers the lowest value it has had."""

    def __init__(self, case: dict):
        self.shape, self.shift = SHAPES[case["shape"]], np.array(case["shift"])
        self.low, self.high = case["bounds"]
        self.best, self.calls = math.inf, 0

    def __call__(self, z) -> float:
        x = self.low + 0.5 * (np.asarray(z, dtype=float) + 1.0) * (self.high - self.low)
        value = self.shape(x - self.shift)
        self.best, self.calls = min(self.best, value), self.calls + 1
        return value
