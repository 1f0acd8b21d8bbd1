"""Parameters from recordings."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback import _pullback
from pullback._arrays import Array, numbers
from pullback._pullback import ConfigError

if TYPE_CHECKING:
    from pullback._system import System


@dataclass(frozen=True)
class Quantity:
    """A quantity that was found."""

    name: str
    unit: str
    value: float
    #: Its standard error; None where the data cannot tell the quantity.
    error: float | None
    #: Where the search began.
    start: float
    #: Whether it ended on a bound with the misfit still falling beyond it.
    at_bound: bool


@dataclass(frozen=True)
class Identification(Mapping[str, Quantity]):
    """Quantities with their errors, by name."""

    quantities: dict[str, Quantity]
    #: Combinations that the data cannot tell, in words.
    untold: list[str]
    #: Correlations of the errors.
    correlations: Array = field(repr=False)
    #: All figures, as `pullback identify --json` has them.
    figures: dict[str, Any] = field(repr=False)

    def __getitem__(self, name: str) -> Quantity:
        return self.quantities[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    @property
    def params(self) -> dict[str, float]:
        """The values by name: ``params=found.params`` of a rollout, where the names are those of parameters."""
        return {name: quantity.value for name, quantity in self.quantities.items()}


def identify(
    system: System,
    data: Any,
    fit: str | Iterable[str],
    *,
    free: str | Iterable[str] = (),
    start: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    transform: Mapping[str, str] | None = None,
    noise: Mapping[str, float] | float | None = None,
    keyframe: str | None = None,
    method: str = "gauss-newton",
    settings: Mapping[str, Any] | None = None,
    starts: int = 1,
    budget: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Identification:
    """Parameters of a system from recordings of its motion: see `System.identify`."""
    from pullback._system import processors

    given = data if isinstance(data, list | tuple) else [data]
    asking = {
        "fit": _texts(fit),
        "free": _texts(free),
        "start": dict(start or {}),
        "bounds": dict(bounds or {}),
        "transform": dict(transform or {}),
        "noise": dict(noise) if isinstance(noise, Mapping) else {} if noise is None else {"*": float(noise)},
        "keyframe": keyframe,
        "method": method,
        "settings": json.dumps(dict(settings or {})),
        "starts": starts,
        "budget": budget,
        "seed": seed,
        "threads": processors() if threads is None else threads,
        "folder": None if folder is None else os.fspath(folder),
    }
    recordings = [_recording(one, f"recording {i}") for i, one in enumerate(given)]
    told = json.loads(_pullback.identify(system._core, recordings, asking))
    quantities = {}
    for row in told["quantities"]:
        error = row["error"]["error"] if row["error"] else None
        quantities[row["name"]] = Quantity(
            row["name"], row["unit"], row["value"], error, row["start"], row["at_bound"]
        )
    correlations = np.array(told["correlations"], dtype=float)
    return Identification(quantities, [one["words"] for one in told["untold"]], correlations, told)


def _texts(patterns: str | Iterable[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _recording(data: Any, name: str) -> tuple[str, list[str], Array, Array]:
    """Name, columns, times and values: of the path of a CSV file, or of a mapping of columns to arrays."""
    if isinstance(data, str | os.PathLike):
        name, data = os.fspath(data), _read(data)
    columns = {str(column): numbers(f"{name}: {column}", values) for column, values in dict(data).items()}
    if "time" not in columns:
        raise ConfigError(f"{name}: no column is called `time`; there is {', '.join(columns)}")
    times = columns.pop("time")
    for column, values in columns.items():
        if values.shape != times.shape or times.ndim != 1:
            raise ConfigError(
                f"{name}: {column} has shape {values.shape} and time {times.shape}; columns are of one axis"
            )
    values = np.stack(list(columns.values()), axis=1) if columns else np.empty((len(times), 0))
    return name, list(columns), times, np.ascontiguousarray(values)


def _read(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """The columns of a CSV file; empty cells are NaN."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(line for line in file if line.strip() and not line.startswith("#")))
    if not rows:
        raise ConfigError(
            f"{os.fspath(path)}: the file is empty; the first line names the columns, one of them `time`"
        )
    header, *rows = rows
    columns: dict[str, list[float]] = {name.strip(): [] for name in header}
    for number, row in enumerate(rows, 2):
        if len(row) != len(columns):
            raise ConfigError(f"{os.fspath(path)}:{number}: {len(row)} cells for {len(columns)} columns")
        for column, cell in zip(columns.values(), row, strict=True):
            try:
                column.append(float(cell) if cell.strip() else float("nan"))
            except ValueError:
                raise ConfigError(f"{os.fspath(path)}:{number}: `{cell.strip()}` is not a number") from None
    return columns
