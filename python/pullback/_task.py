"""`Task`: what policies are learned for, by name or of a robot of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pullback import _pullback
from pullback._arrays import Array, numbers
from pullback._pullback import ConfigError, Loss
from pullback._replay import Replay
from pullback._system import System


class Task:
    """What `train` and `pullback.gymnasium` take: ``Task("ant")``, or a robot of your own by `Task.of_model`.

    `environments` lists the names. Observations and actions are flat; each number of an action is in [-1, 1].
    """

    def __init__(self, name: str, *, small: bool = False, paper_values: bool = False) -> None:
        """A built-in task. ``small`` is a version with few particles, ``paper_values`` has the constants that
        the paper prints where its code has others."""
        self._core = _pullback.Task.named(name, small, paper_values)
        #: The robot of a task made by `of_model`.
        self.system: System | None = None
        self._seen: Array | None = None

    @classmethod
    def of_model(
        cls,
        system: System,
        loss: Loss | None = None,
        *,
        bonus: float = 0.0,
        observe: str = "*",
        alive: Mapping[str, tuple[float, float]] | None = None,
        start: Any = None,
        params: Any = None,
        noise: float = 0.0,
        substeps: int = 1,
        episode_length: int = 1000,
        name: str | None = None,
    ) -> Task:
        """The robot of a file as a task.

        The reward of a step is ``bonus`` minus the loss over a rollout of that one control: running terms of
        ``loss`` see the state before and the control, terminal terms the state after. It has exact gradients.
        ``observe`` selects entries of the state, ``alive`` gives ranges of entries outside which an episode
        ends, ``noise`` bounds what is added to positions and velocities at the start (a state or a keyframe),
        and each action is held for ``substeps`` steps. Actions go to the ranges of the controls.
        """
        if isinstance(start, str):
            start, _ = system.keyframe(start)
        ranges = []
        for pattern, (low, high) in (alive or {}).items():
            if not float(low) < float(high):
                raise ConfigError(f"alive: `{pattern}` has the range ({low}, {high}); give the lower end first")
            ranges += [(int(i), float(low), float(high)) for i in system.state.select(pattern)]
        seen = system.state.select(observe)
        asking = {
            "name": system.name if name is None else name,
            "start": numbers("start", system.state.vector_of(start)),
            "params": numbers("params", system.params.vector_of(params)),
            "seen": [int(i) for i in seen],
            "loss": loss,
            "bonus": float(bonus),
            "alive": ranges,
            "noise": float(noise),
            "substeps": substeps,
            "episode_length": episode_length,
        }
        task = cls.__new__(cls)
        task._core = _pullback.Task.of_model(system._core, asking)
        task.system = system
        task._seen = seen
        return task

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def observation_size(self) -> int:
        return self._core.observation

    @property
    def action_size(self) -> int:
        return self._core.actions

    @property
    def episode_length(self) -> int:
        """Actions per episode, after which it is truncated."""
        return self._core.episode_length

    @property
    def action_seconds(self) -> float:
        """Seconds per action."""
        return self._core.action_seconds

    @property
    def observed(self) -> tuple[str, ...]:
        """Name of each number of an observation; empty for built-in tasks, whose observations have none."""
        if self.system is None or self._seen is None:
            return ()
        entries = self.system.state.entries
        return tuple(entries[i] for i in self._seen)

    def named(self, observations: np.ndarray[Any, Any]) -> Observations:
        """Observations by the names of the state."""
        return Observations(self, observations)

    def replay(self, states: Any) -> Replay:
        """A page that plays states, one for each action and the last."""
        return Replay(self._core.replay([list(map(float, state)) for state in states]))

    def render(
        self,
        state: Any,
        *,
        size: tuple[int, int] | None = None,
        camera: str | int | None = None,
        azimuth: float | None = None,
        elevation: float | None = None,
        distance: float | None = None,
        lookat: Sequence[float] | None = None,
    ) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """A picture of a state: ``(height, width, 3)`` bytes, as `System.render` makes them."""
        view = {
            "name": None if camera is None else str(camera),
            "azimuth": azimuth,
            "elevation": elevation,
            "distance": distance,
            "lookat": None if lookat is None else [float(x) for x in lookat],
        }
        return self._core.picture(numbers("state", state), view, size)

    def __repr__(self) -> str:
        sizes = f"{self.observation_size} observed, {self.action_size} actions"
        return (
            f"<pullback.Task {self.name}: {sizes}, {self.episode_length} steps of {self.action_seconds:.4g} s>"
        )


class Observations:
    """Observations by names: a name or pattern gives its columns, a single entry without an axis of its own."""

    def __init__(self, task: Task, array: np.ndarray[Any, Any]) -> None:
        if task.system is None or task._seen is None:
            raise ConfigError(f"{task.name}: observations of built-in tasks have no names; use the array")
        self._section = task.system.state
        self._seen = task._seen
        #: The array itself.
        self.array = array

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        wanted = self._section.select(name)
        columns = np.flatnonzero(np.isin(self._seen, wanted))
        if len(columns) != len(wanted):
            raise ConfigError(f"`{name}` is not observed as a whole; add it to observe")
        return self.array[..., columns[0] if len(columns) == 1 else columns]


def task_of(task: Task | str) -> Task:
    """A task, or the built-in one of that name."""
    if isinstance(task, Task):
        return task
    if isinstance(task, Path):
        raise ConfigError(f"{task}: load the file and make a task of it: Task.of_model(pullback.load(...))")
    return Task(task)
