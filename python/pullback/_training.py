"""Policies learned through the physics."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback import _pullback
from pullback._arrays import Array

if TYPE_CHECKING:
    from pullback._task import Task


@dataclass(frozen=True)
class Training:
    """What came of a run."""

    #: Mean return of whole episodes at the end, actions being means.
    return_mean: float
    #: Half of its 95 % interval.
    return_interval: float
    #: Epochs that are done, and how many of them an earlier run had done.
    epochs: int
    resumed: int
    #: Where the run is kept; ``policy.onnx`` is the policy.
    folder: Path
    #: All figures.
    figures: dict[str, Any] = field(repr=False)

    @property
    def metrics(self) -> dict[str, Array]:
        """Columns of ``metrics.csv``."""
        with open(self.folder / "metrics.csv", newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        columns = zip(*rows, strict=True) if rows else [()] * len(header)
        return {
            name: np.array([float(x) if x else np.nan for x in column])
            for name, column in zip(header, columns, strict=True)
        }


def train(
    task: Task | str,
    folder: str | os.PathLike[str],
    *,
    algorithm: str = "sapo",
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    precision: str = "f32",
    shard: int = 16,
    checkpoint_every: int = 50,
    stop_after: int | None = None,
    threads: int | None = None,
    episodes: int = 128,
    watch: Callable[[dict[str, float]], object] | None = None,
) -> Training:
    """Learn a policy for a task in ``folder``, or go on with what is there.

    A task is one of `environments` by its name, or a robot of your own by `Task.of_model`, which needs a
    ``preset``: that of a similar task, such as ``dflex-hopper``.

    ``settings`` change those of the preset: ``{"epochs": 200, "critic": {"lr": 1e-3}}``. ``watch`` is called
    after each epoch. `pullback play` and `pullback compare` read the folder.
    """
    from pullback._system import processors

    if precision not in ("f32", "f64"):
        raise _pullback.ConfigError(f"precision `{precision}` is not one of f32, f64")
    asking = {
        "algorithm": algorithm,
        "preset": preset,
        "settings": json.dumps(dict(settings or {})),
        "seed": seed,
        "double": precision == "f64",
        "shard": shard,
        "checkpoint_every": checkpoint_every,
        "stop_after": stop_after,
        "threads": processors() if threads is None else threads,
        "episodes": episodes,
        "folder": os.fspath(folder),
    }

    def tell(epoch: int, epochs: int, steps: int, rate: float, report: list[tuple[str, float]]) -> None:
        if watch is not None:
            watch({"epoch": epoch, "epochs": epochs, "steps": steps, "steps_per_second": rate, **dict(report)})

    told = json.loads(_pullback.train(_task_of(task), asking, None if watch is None else tell))
    return Training(
        told["return_mean"], told["return_interval"], told["epochs"], told["resumed"], Path(folder), told
    )


def _task_of(task: Task | str) -> _pullback.Task | str:
    return task if isinstance(task, str) else task._core


def environments() -> dict[str, str]:
    """Names of the tasks that policies can be learned for, each with a line on what it is."""
    return dict(_pullback.catalog("environments"))


def algorithms() -> dict[str, str]:
    """Names of the algorithms that learn policies."""
    return dict(_pullback.catalog("algorithms"))
