"""`Env`: one environment of a task."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from pullback._pullback import ConfigError
from pullback._replay import Replay
from pullback._task import Task
from pullback.gymnasium._stepper import RENDER_MODES, Floats, Reward, Screen, Stepper, Terminated


class Env(gymnasium.Env[Floats, Floats]):
    """One environment of a task: what `gymnasium.make` gives.

    ``reward`` and ``terminated`` are functions of named observations, for tasks made by
    `pullback.Task.of_model`.
    They see an axis of environments, here of length one, so that they serve `VectorEnv` too.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES}

    def __init__(
        self,
        task: Task | str,
        *,
        render_mode: str | None = None,
        reward: Reward | None = None,
        terminated: Terminated | None = None,
        precision: str = "f32",
    ) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ConfigError(f"render_mode `{render_mode}` is not one of {', '.join(RENDER_MODES)}")
        self._stepper = Stepper(task, 1, reward=reward, terminated=terminated, precision=precision, threads=1)
        self.task = self._stepper.task
        self.metadata = {**self.metadata, "render_fps": max(1, round(1.0 / self.task.action_seconds))}
        self.observation_space = self._stepper.observation_space
        self.action_space = self._stepper.action_space
        self.render_mode = render_mode
        self._screen = Screen(self.task)
        #: Whether there is an episode, and whether a step was taken in it.
        self._running = self._moved = self._seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        super().reset(seed=seed)
        if options:
            raise ConfigError(f"{self.task.name}: there is no option {', '.join(map(str, options))} of reset")
        if seed is not None or not self._seeded:
            begin = int(self.np_random.integers(2**63)) if seed is None else seed
            seen = self._stepper.reset(begin)
            self._seeded = True
        else:
            # Where an episode has ended the next one has begun.
            seen = self._stepper.restart(np.array([self._moved and self._running]))
        self._running, self._moved = True, False
        if self.render_mode == "human":
            self._screen.begin(self._stepper.state(0))
        return seen[0], {}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        if not self._running:
            raise ResetNeeded(f"{self.task.name}: the episode is over, or none has begun; call reset")
        found = self._stepper.step(np.asarray(action, np.float32)[None])
        done = bool(found.done[0])
        self._running, self._moved = not done, True
        if self.render_mode == "human":
            if done:
                self._screen.show()
            else:
                self._screen.add(self._stepper.state(0))
        info = {"failed": True} if found.failed[0] else {}
        ended = bool(found.terminated[0]), bool(found.truncated[0])
        return found.final[0], float(found.rewards[0]), *ended, info

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The picture now, in mode ``rgb_array``; in mode ``human`` the episode is shown when it has ended."""
        return self._stepper.picture(0) if self.render_mode == "rgb_array" else None

    @property
    def replay(self) -> Replay:
        """A page that plays the episode so far; in mode ``human`` alone, which keeps its states."""
        if self.render_mode != "human":
            raise ConfigError('an episode is kept where render_mode="human"')
        return self._screen.replay

    def close(self) -> None:
        if self.render_mode == "human" and self._running:
            self._screen.show()
            self._running = False
