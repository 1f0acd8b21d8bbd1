"""A differentiable multiphysics engine: ask a simulator not only what happens, but what should be changed.

>>> import pullback
>>> ant = pullback.load("ant")
>>> far = pullback.losses.state_target(ant, "*.position[0]", at=1.0)
>>> found = ant.gradient(far, steps=100, wrt=["params.*.mass"])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pullback import _processor

_processor.require()

from pullback._pullback import ConfigError, StepError, __version__, target_features  # noqa: E402

_processor.require_compiled(target_features)
del target_features

if TYPE_CHECKING:
    from pullback import losses
    from pullback._camera import Camera
    from pullback._identify import Identification, Quantity
    from pullback._objective import (
        Diagnosis,
        Landscape,
        Objective,
        Optimum,
        doctor,
        landscape,
        methods,
        optimize,
        tasks,
    )
    from pullback._planning import Episode, mpc
    from pullback._replay import Replay
    from pullback._results import Gradient, Linearization, Trajectory
    from pullback._schedule import Schedule
    from pullback._section import Named, Section
    from pullback._system import System, load, names
    from pullback._task import Observations, Task
    from pullback._training import Training, algorithms, environments, train
    from pullback.mujoco import from_mujoco

#: Where each name is defined. Files, and NumPy with them, are read when a name is used for the first time.
_HOMES = {
    "Camera": "_camera",
    "Diagnosis": "_objective",
    "Episode": "_planning",
    "Gradient": "_results",
    "Identification": "_identify",
    "Landscape": "_objective",
    "Linearization": "_results",
    "Named": "_section",
    "Objective": "_objective",
    "Observations": "_task",
    "Optimum": "_objective",
    "Quantity": "_identify",
    "Replay": "_replay",
    "Schedule": "_schedule",
    "Section": "_section",
    "System": "_system",
    "Task": "_task",
    "Training": "_training",
    "Trajectory": "_results",
    "algorithms": "_training",
    "doctor": "_objective",
    "environments": "_training",
    "from_mujoco": "mujoco",
    "landscape": "_objective",
    "load": "_system",
    "methods": "_objective",
    "mpc": "_planning",
    "names": "_system",
    "optimize": "_objective",
    "tasks": "_objective",
    "train": "_training",
}
_MODULES = ("gymnasium", "jax", "losses", "mujoco", "torch")

__all__ = [
    "Camera",
    "ConfigError",
    "Diagnosis",
    "Episode",
    "Gradient",
    "Identification",
    "Landscape",
    "Linearization",
    "Named",
    "Objective",
    "Observations",
    "Optimum",
    "Quantity",
    "Replay",
    "Schedule",
    "Section",
    "StepError",
    "System",
    "Task",
    "Training",
    "Trajectory",
    "__version__",
    "algorithms",
    "doctor",
    "environments",
    "from_mujoco",
    "landscape",
    "load",
    "losses",
    "methods",
    "mpc",
    "names",
    "optimize",
    "tasks",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"pullback.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"pullback.{name}")
    else:
        raise AttributeError(f"module 'pullback' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
