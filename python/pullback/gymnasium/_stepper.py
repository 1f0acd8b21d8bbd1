"""What `Env` and `VectorEnv` share: environments on lanes, rewards and ends of Python, and what is shown."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from pullback import _pullback
from pullback._arrays import Array
from pullback._pullback import ConfigError
from pullback._replay import Replay
from pullback._system import processors
from pullback._task import Observations, Task, task_of

Floats: TypeAlias = npt.NDArray[np.float32]
Flags: TypeAlias = npt.NDArray[np.bool_]

#: From what was seen before a step, the actions and what was seen after it to a reward for each environment.
Reward: TypeAlias = Callable[[Observations, Floats, Observations], Any]
#: From what is seen to whether the episode of each environment ends.
Terminated: TypeAlias = Callable[[Observations], Any]

RENDER_MODES = ["human", "rgb_array"]


@dataclass(frozen=True)
class Step:
    """What a step of all environments gave."""

    #: What is seen next: of a new episode where one ended.
    observations: Floats
    rewards: Array
    terminated: Flags
    truncated: Flags
    #: Where the simulation failed; the episode has ended there.
    failed: Flags
    #: What was seen before any episode began anew.
    final: Floats

    @property
    def done(self) -> Flags:
        return self.terminated | self.truncated


class Stepper:
    """Environments of a task, with rewards and ends of Python's where these are given."""

    def __init__(
        self,
        task: Task | str,
        envs: int,
        *,
        reward: Reward | None,
        terminated: Terminated | None,
        precision: str,
        threads: int | None,
    ) -> None:
        if precision not in ("f32", "f64"):
            raise ConfigError(f"precision `{precision}` is not one of f32, f64")
        self.task = task_of(task)
        if (reward or terminated) and self.task.system is None:
            raise ConfigError(
                f"{self.task.name} is a built-in task with its own reward and ends; "
                "reward and terminated are for tasks made by Task.of_model"
            )
        self._reward, self._terminated = reward, terminated
        threads = processors() if threads is None else threads
        self._core = _pullback.Environments(self.task._core, envs, threads, 0, precision == "f64")
        self.envs = envs
        self._seen = np.zeros((envs, self.task.observation_size), np.float32)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (self.task.observation_size,), np.float32)

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (self.task.action_size,), np.float32)

    def reset(self, seed: int) -> Floats:
        """Begin the first episode of this seed everywhere."""
        self._seen = self._rows(self._core.reset(seed % 2**64))
        return self._seen.copy()

    def restart(self, which: Flags) -> Floats:
        """Begin the next episode somewhere; what is seen everywhere."""
        if which.any():
            self._seen = self._rows(self._core.restart(which.tolist()))
        return self._seen.copy()

    def step(self, actions: Any, held: Flags | None = None) -> Step:
        """Take an action everywhere but where environments are held."""
        actions = np.asarray(actions, np.float32)
        if actions.shape != (self.envs, self.task.action_size):
            raise ConfigError(f"actions have shape {actions.shape}, not {(self.envs, self.task.action_size)}")
        frozen = held is not None and held.any()
        told = self._core.step(actions.reshape(-1), held.tolist() if held is not None and frozen else None)
        seen, rewards, terminated, truncated, failed, final = told
        seen, final = self._rows(seen), self._rows(final)
        moved = np.ones(self.envs, bool) if held is None else ~held
        if self._reward is not None:
            before, after = self.task.named(self._seen), self.task.named(final)
            rewards = np.where(moved & ~failed, self._row("reward", self._reward(before, actions, after)), 0.0)
        if self._terminated is not None:
            ends = self._row("terminated", self._terminated(self.task.named(final))).astype(bool) & moved
            anew = ends & ~terminated & ~truncated
            terminated, truncated = terminated | ends, truncated & ~ends
            if anew.any():
                seen = self._rows(self._core.restart(anew.tolist()))
        self._seen = seen
        return Step(seen.copy(), np.asarray(rewards, np.float64), terminated, truncated, failed, final)

    def state(self, env: int) -> Array:
        return self._core.state(env)

    def picture(self, env: int) -> npt.NDArray[np.uint8]:
        return self.task.render(self.state(env))

    def _rows(self, flat: Floats) -> Floats:
        return flat.reshape(self.envs, self.task.observation_size)

    def _row(self, what: str, values: Any) -> Array:
        found = np.asarray(values)
        if found.shape != (self.envs,):
            raise ConfigError(
                f"{what} gave an array of shape {found.shape} for {self.envs} environments; "
                f"it takes one value for each, shape ({self.envs},)"
            )
        return found


class Screen:
    """The states of an episode as a page in the browser, for ``render_mode="human"``.

    The page is opened once, when an episode has ended or the environment is closed; later episodes replace it.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._states: list[Array] = []
        self._page: Path | None = None

    def begin(self, state: Array) -> None:
        self._states = [state]

    def add(self, state: Array) -> None:
        self._states.append(state)

    @property
    def replay(self) -> Replay:
        return self._task.replay(self._states)

    def show(self) -> None:
        if len(self._states) < 2:
            return
        first = self._page is None
        if self._page is None:
            self._page = Path(tempfile.mkdtemp(prefix="pullback-")) / f"{self._task.name}.html"
        self.replay.save(self._page)
        if first:
            webbrowser.open(self._page.as_uri())
