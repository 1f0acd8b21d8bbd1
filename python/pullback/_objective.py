"""What searches minimize, and the searches: `optimize`, `landscape`, `doctor`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pullback import _pullback
from pullback._arrays import Array, numbers
from pullback._pullback import ConfigError


@dataclass(frozen=True)
class Variable:
    """One variable of an objective."""

    name: str
    unit: str
    lower: float
    upper: float
    start: float


class Objective:
    """A loss of some variables within bounds, with its gradient.

    Of a built-in task by its name, of a loss over rollouts by `System.objective`, or of a function of Python.
    """

    def __init__(self, core: _pullback.Objective) -> None:
        self._core = core
        #: The variables.
        self.variables = [Variable(*row) for row in core.variables()]

    @classmethod
    def task(cls, name: str) -> Objective:
        """A built-in task; `tasks` lists them."""
        return cls(_pullback.Objective.of_task(name))

    @classmethod
    def function(
        cls,
        function: Callable[[Array], tuple[float, Any]],
        bounds: Sequence[tuple[float, float]],
        *,
        start: Any = None,
        names: Sequence[str] | None = None,
        floor: float | None = None,
    ) -> Objective:
        """A function from an array of variables to the loss and its gradient.

        A `StepError` that it raises counts as a simulation that failed, anything else ends the search.
        ``floor`` is a loss that none is below, if one is known.
        """

        def checked(x: Array) -> tuple[float, Array]:
            loss, gradient = function(x)
            return float(loss), numbers("the gradient", gradient)

        bounds = [(float(low), float(high)) for low, high in bounds]
        middle = [0.5 * (low + high) for low, high in bounds]
        begin = middle if start is None else [float(x) for x in start]
        called = [f"x[{i}]" for i in range(len(bounds))] if names is None else list(names)
        return cls(_pullback.Objective.of_function(checked, called, bounds, begin, floor))

    @property
    def names(self) -> list[str]:
        return [variable.name for variable in self.variables]

    @property
    def bounds(self) -> list[tuple[float, float]]:
        return [(variable.lower, variable.upper) for variable in self.variables]

    @property
    def start(self) -> Array:
        """The variables when nothing else is said."""
        return np.array([variable.start for variable in self.variables])

    def __call__(self, x: Any) -> tuple[float, Array]:
        """The loss at ``x`` and its gradient: what `scipy.optimize.minimize` takes with ``jac=True``."""
        return self._core.value_grad(numbers("x", x))

    def __len__(self) -> int:
        return len(self.variables)


@dataclass(frozen=True)
class Optimum:
    """What a search ended with."""

    #: The lowest loss.
    loss: float
    #: Where it is.
    x: Array
    #: Names of the variables.
    names: list[str]
    #: Losses of all simulations, infinite where one failed.
    losses: Array = field(repr=False)
    #: Simulations that failed.
    failures: int
    #: Simulations read back from the log of an interrupted search.
    resumed: int
    #: Name and settings of the method.
    settings: str

    def __getitem__(self, name: str) -> float:
        try:
            return float(self.x[self.names.index(name)])
        except ValueError:
            raise ConfigError(f"no variable is called `{name}`; there is {', '.join(self.names)}") from None


def optimize(
    objective: Objective | str,
    *,
    method: str = "bo-leap",
    budget: int = 1000,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    log: str | os.PathLike[str] | None = None,
) -> Optimum:
    """Search for the lowest loss of an objective, or of a task by its name.

    ``budget`` counts simulations; `methods` lists the methods. Where ``log`` names a file the search is kept
    there, and the same call goes on after an interruption.
    """
    text = _of(objective)._core.optimize(
        method, json.dumps(dict(settings or {})), budget, seed, None if log is None else os.fspath(log)
    )
    told = json.loads(text)
    losses = np.array([np.inf if x is None else x for x in told["losses"]])
    return Optimum(
        told["loss"],
        np.array(told["x"]),
        told["names"],
        losses,
        told["failures"],
        told["resumed"],
        told["settings"],
    )


@dataclass(frozen=True)
class Landscape:
    """An objective over two of its variables."""

    names: tuple[str, str]
    #: Values of the first variable, along the columns.
    xs: Array
    #: Values of the second variable, along the rows.
    ys: Array
    #: Losses, ``(len(ys), len(xs))``; NaN where the simulation failed.
    values: Array
    #: Gradients by pullbacks, ``(len(ys), len(xs), 2)``.
    adjoint: Array
    #: Gradients by differences.
    difference: Array
    failures: int


def landscape(
    objective: Objective | str, dims: tuple[int, int] = (0, 1), *, points: int | tuple[int, int] = 41
) -> Landscape:
    """Losses and gradients, by pullbacks and by differences, over two variables."""
    grid = (points, points) if isinstance(points, int) else points
    told = json.loads(_of(objective)._core.landscape(dims, grid))
    shape = (len(told["ys"]), len(told["xs"]))
    floats = {
        name: np.array(told[name], dtype=float) for name in ("xs", "ys", "values", "adjoint", "difference")
    }
    return Landscape(
        tuple(told["names"]),
        floats["xs"],
        floats["ys"],
        floats["values"].reshape(shape),
        floats["adjoint"].reshape(*shape, 2),
        floats["difference"].reshape(*shape, 2),
        told["failures"],
    )


@dataclass(frozen=True)
class Diagnosis:
    """Whether the gradients of an objective can be trusted."""

    #: ``trustworthy``, ``rugged``, ``plateaued`` or ``misleading``.
    verdict: str
    #: What follows from it.
    advice: str
    #: All figures, as `pullback doctor --json` has them.
    figures: dict[str, Any] = field(repr=False)


def doctor(objective: Objective | str, *, points: int = 48, lines: int = 12, seed: int = 0) -> Diagnosis:
    """What to know about an objective before choosing a method."""
    told = json.loads(_of(objective)._core.doctor(points, lines, seed))
    return Diagnosis(told.pop("verdict"), told.pop("advice"), told)


def tasks() -> dict[str, str]:
    """Names of the built-in tasks, each with a line on what it is."""
    return dict(_pullback.catalog("tasks"))


def methods() -> dict[str, str]:
    """Names of the methods of search."""
    return dict(_pullback.catalog("methods"))


def _of(objective: Objective | str) -> Objective:
    return Objective.task(objective) if isinstance(objective, str) else objective
