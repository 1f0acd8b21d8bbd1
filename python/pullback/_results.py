"""What rollouts and gradients come back as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback._arrays import Array
from pullback._pullback import ConfigError

if TYPE_CHECKING:
    from pullback._replay import Replay
    from pullback._section import Named
    from pullback._system import Inputs, System


@dataclass(frozen=True)
class Trajectory:
    """A rollout that has run. Leading axes: the environment if there are many, then the step."""

    system: System
    #: States at which controls change, and the last: ``(steps + 1, n)``, or ``(envs, steps + 1, n)``.
    states: Array
    #: What it was run with; copies, so that arrays of the caller may change.
    inputs: Inputs = field(repr=False)

    @property
    def steps(self) -> int:
        """How many controls."""
        return int(self.states.shape[-2]) - 1

    @property
    def times(self) -> Array:
        """Seconds of each state."""
        return np.arange(self.steps + 1, dtype=np.float64) * (self.system.dt * self.inputs.substeps)

    @property
    def controls(self) -> Array:
        """The controls, ``(steps, m)`` or ``(envs, steps, m)``."""
        return self.inputs.controls

    @property
    def final(self) -> Array:
        """The last state."""
        return self.states[..., -1, :]

    @property
    def named(self) -> Named:
        """The states by names: ``trajectory.named["root.position"]``."""
        return self.system.state.named(self.states)

    def vjp(self, states_bar: Any, controls_bar: Any = None) -> Gradient:
        """The pullback: from cotangents of all states, and of controls where a loss sees these itself, to those
        of the initial state, the controls and the parameters. A cotangent has the shape of what was given.
        """
        return self.system.vjp(self, states_bar, controls_bar)

    def replay(self, env: int = 0) -> Replay:
        """A page that plays it; of many environments, that of one."""
        return self.system.replay(self, env)

    def __len__(self) -> int:
        return self.steps + 1


@dataclass(frozen=True)
class Gradient(Mapping[str, Array]):
    """The gradient of a loss over a rollout, each part in the shape of its input.

    An input that all environments share gets the sum over the environments.
    """

    #: The loss, one for each environment if there are many; NaN where only a pullback was asked for.
    loss: Any
    #: With respect to the initial state; None if not asked for.
    state: Array | None
    #: With respect to the controls.
    controls: Array | None
    #: With respect to the parameters.
    params: Array | None
    #: Parts that were asked for, by what was asked: ``gradient["params.*.mass"]``.
    parts: dict[str, Array] = field(repr=False)

    def __getitem__(self, asked: str) -> Array:
        try:
            return self.parts[asked]
        except KeyError:
            there = ", ".join(self.parts)
            raise ConfigError(
                f"the gradient was not asked for `{asked}` but for {there}; add it to wrt"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


@dataclass(frozen=True)
class Linearization:
    """A step and its Jacobians: x' + A dx + B du + C dp. Entries of a quaternion count as numbers of their
    own."""

    #: The next state.
    next: Array
    #: With respect to the state, ``(n, n)``.
    A: Array
    #: With respect to the control, ``(n, m)``.
    B: Array
    #: With respect to the parameters, ``(n, p)``.
    C: Array
