"""Differentiable pictures of robots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback import _pullback
from pullback._arrays import Array, numbers
from pullback._pullback import ConfigError

if TYPE_CHECKING:
    from pullback._system import System


class Camera:
    """A camera that sees the geoms of a robot with soft outlines, so that pictures have gradients everywhere.

    It looks at ``target`` from ``distance`` metres, ``azimuth`` degrees around z from x, ``elevation`` degrees
    above the horizon, with a vertical field of view of ``view`` degrees. ``size`` is width and height, outlines
    are ``softness`` pixels wide.
    """

    def __init__(
        self,
        system: System,
        *,
        target: Sequence[float] = (0.0, 0.0, 0.5),
        distance: float = 3.0,
        azimuth: float = -90.0,
        elevation: float = 15.0,
        view: float = 45.0,
        size: tuple[int, int] = (64, 64),
        softness: float = 1.0,
    ) -> None:
        self.system = system
        self.size = size
        place = [float(azimuth), float(elevation), float(distance)]
        at = [float(x) for x in target]
        self._core = _pullback.Camera(system._core, at, place, float(view), size, float(softness))

    def draw(self, state: Any = None, params: Any = None) -> Array:
        """Pictures of states: ``(..., height, width, 4)``, red, green and blue as light, then coverage."""
        x, inputs = self._inputs(state, params)
        return self._core.draw(inputs).reshape(*x.shape[:-1], *self.shape)

    def vjp(self, pictures_bar: Any, state: Any = None, params: Any = None) -> tuple[Array, Array]:
        """The pullback of `draw`: cotangents of the states, and of the parameters over all pictures."""
        x, inputs = self._inputs(state, params)
        bar = numbers("pictures_bar", pictures_bar)
        if bar.shape != (*x.shape[:-1], *self.shape):
            raise ConfigError(f"pictures_bar needs shape {(*x.shape[:-1], *self.shape)}, got {bar.shape}")
        states_bar, params_bar = self._core.draw_vjp(inputs, bar)
        return states_bar.reshape(x.shape), params_bar.reshape(-1, len(self.system.params)).sum(axis=0)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of a picture."""
        return self.size[1], self.size[0], 4

    def _inputs(self, state: Any, params: Any) -> tuple[Array, tuple[Array, Array, Array]]:
        if isinstance(state, str):
            state, _ = self.system.keyframe(state)
        x, p = self.system.state.vector_of(state), self.system.params.vector_of(params)
        if p.ndim > 1:
            raise ConfigError("all pictures share one set of parameters")
        return x, (np.ascontiguousarray(x), self.system.control.defaults, p)
