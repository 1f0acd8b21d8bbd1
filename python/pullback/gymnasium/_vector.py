"""`VectorEnv`: many environments of a task, on lanes and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import vector
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from pullback._pullback import ConfigError
from pullback._task import Task
from pullback.gymnasium._stepper import Flags, Floats, Reward, Step, Stepper, Terminated


class VectorEnv(vector.VectorEnv[Floats, Floats, npt.NDArray[Any]]):
    """Many environments of a task, stepped side by side: what `gymnasium.make_vec` gives.

    What an environment does depends on its number and the seed alone. ``autoreset_mode`` is Gymnasium's:
    ``NEXT_STEP``, where the step after the end of an episode begins the next, ``SAME_STEP``, where the same
    step does and ``infos["final_obs"]`` holds the end, or ``DISABLED``, where ``reset`` does with
    ``options={"reset_mask": ...}``.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        task: Task | str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        reward: Reward | None = None,
        terminated: Terminated | None = None,
        precision: str = "f32",
        threads: int | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f"render_mode `{render_mode}`: many environments have rgb_array alone")
        self._mode = AutoresetMode(autoreset_mode)
        self._stepper = Stepper(
            task, num_envs, reward=reward, terminated=terminated, precision=precision, threads=threads
        )
        self.task = self._stepper.task
        fps = max(1, round(1.0 / self.task.action_seconds))
        self.metadata = {**self.metadata, "autoreset_mode": self._mode, "render_fps": fps}
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space = self._stepper.observation_space
        self.single_action_space = self._stepper.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        #: Whether the episode of each environment is over and the next not yet shown.
        self._over = np.zeros(num_envs, bool)
        self._shown: Floats | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        if seed is not None and not isinstance(seed, int | np.integer):
            raise ConfigError("one seed serves all environments, which differ by their numbers; give an int")
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        if options:
            raise ConfigError(f"{self.task.name}: there is no option {', '.join(map(str, options))} of reset")
        if mask is not None:
            return self._reset_some(self._checked(mask, seed)), {}
        super().reset(seed=seed)
        if seed is not None or self._shown is None:
            begin = int(self.np_random.integers(2**63)) if seed is None else int(seed)
            self._shown = self._stepper.reset(begin)
        else:
            self._shown = self._stepper.restart(~self._over)
        self._over = np.zeros(self.num_envs, bool)
        return self._shown.copy(), {}

    def _checked(self, mask: Any, seed: int | None) -> Flags:
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ConfigError(f"reset_mask must be an array of bool of shape ({self.num_envs},)")
        if not mask.any():
            raise ConfigError("reset_mask selects no environment")
        if seed is not None:
            raise ConfigError("a seed is that of all environments; leave out reset_mask or the seed")
        if self._shown is None:
            raise ResetNeeded(f"{self.task.name}: begin with a reset of all environments")
        return mask

    def _reset_some(self, mask: Flags) -> Floats:
        # Where an episode has ended the next one has begun.
        seen = self._stepper.restart(mask & ~self._over)
        shown = np.where(mask[:, None], seen, self._shown)
        self._over = self._over & ~mask
        self._shown = shown
        return shown.copy()

    def step(self, actions: Floats) -> tuple[Floats, npt.NDArray[np.float64], Flags, Flags, dict[str, Any]]:
        if self._shown is None:
            raise ResetNeeded(f"{self.task.name}: call reset before the first step")
        if self._mode is AutoresetMode.DISABLED and self._over.any():
            over = ", ".join(map(str, np.flatnonzero(self._over)[:8]))
            raise ResetNeeded(
                f'{self.task.name}: episodes {over} are over; reset by options["reset_mask"]'
            )
        held = self._over if self._mode is AutoresetMode.NEXT_STEP else None
        found = self._stepper.step(actions, held)
        infos = self._infos(found)
        if self._mode is AutoresetMode.SAME_STEP:
            self._shown = found.observations
        else:
            self._shown = np.where(found.done[:, None], found.final, found.observations)
            self._over = found.done
        return self._shown.copy(), found.rewards, found.terminated, found.truncated, infos

    def _infos(self, found: Step) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(found.done):
            info = {"failed": True} if found.failed[i] else {}
            if self._mode is AutoresetMode.SAME_STEP:
                info = {"final_obs": found.final[i], "final_info": info}
            infos = self._add_info(infos, info, int(i))
        return infos

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """A picture of each environment."""
        if self.render_mode is None:
            return None
        return tuple(self._stepper.picture(i) for i in range(self.num_envs))
