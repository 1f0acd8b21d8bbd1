"""Losses that the engine computes by itself. Sums of them are losses: ``a + b``.

A loss may also be any function that is handed the states ``(..., steps + 1, n)`` and the controls ``(...,
steps, m)`` and returns the loss and its cotangents: ``(loss, states_bar)`` or ``(loss, states_bar,
controls_bar)``. `pullback.torch.loss` and `pullback.jax.loss` make one of a function that returns the loss
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pullback._arrays import numbers
from pullback._pullback import Loss

if TYPE_CHECKING:
    from pullback._system import System

__all__ = ["Loss", "effort", "final_state", "state_target"]


def state_target(
    system: System,
    pattern: str,
    at: Any = None,
    *,
    norm: Literal["square", "smooth", "cosine"] = "square",
    softness: float = 0.1,
    running: float = 0.0,
    terminal: float = 1.0,
) -> Loss:
    """Entries of the state that should have given values, or be zero.

    ``running`` weighs every state but the last, ``terminal`` the last. ``smooth`` is the distance, rounded off
    within ``softness``; ``cosine`` is for angles, for which whole turns are the same.
    """
    target = None
    if at is not None:
        chosen = len(system.state.select(pattern))
        target = numbers("at", at)
        target = np.full(chosen, float(target)) if target.ndim == 0 else target.reshape(-1)
    return Loss.state_target(system._core, pattern, target, norm, softness, running, terminal)


def effort(system: System, weight: Any = 1.0, *, reference: Any = None) -> Loss:
    """Squares of the controls about ``reference``, or their defaults, each with its weight."""
    count = len(system.control)
    weights = np.broadcast_to(numbers("weight", weight), (count,))
    about = system.control.vector_of(reference)
    return Loss.effort(system._core, numbers("weight", weights), about)


def final_state(system: System, weights: Any) -> Loss:
    """A weighted sum of the final state: an array of weights, or a mapping of names to weights."""
    if isinstance(weights, dict):
        vector = np.zeros(len(system.state))
        for pattern, weight in weights.items():
            vector[system.state.select(pattern)] = weight
        weights = vector
    return Loss.final_state(system._core, numbers("weights", weights))
