"""Rollouts as functions of JAX: inside ``jit``, ``grad``, ``vmap``, ``scan``; ``float32`` and ``float64``.

The engine is called by XLA itself, without Python. Single precision is that of JAX alone: physics runs in
double. First derivatives are exact; JAX refuses forward mode and second derivatives of functions of this kind
with an error.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pullback import _pullback
from pullback._pullback import ConfigError
from pullback._system import System, processors

__all__ = ["Rollout", "loss", "rollout", "step"]


def rollout(
    system: System,
    state: jax.Array,
    controls: jax.Array,
    params: jax.Array | None = None,
    *,
    substeps: int = 1,
) -> jax.Array:
    """States of a rollout, ``(..., steps + 1, n)``, from ``state (..., n)``, ``controls (..., steps, m)`` and
    ``params (..., p)``. Leading axes are environments, and are broadcast against each other.
    """
    return Rollout(system, substeps=substeps)(state, controls, params)


def step(
    system: System,
    state: jax.Array,
    control: jax.Array,
    params: jax.Array | None = None,
    *,
    substeps: int = 1,
) -> jax.Array:
    """The next state."""
    return rollout(system, state, jnp.asarray(control)[..., None, :], params, substeps=substeps)[..., -1, :]


class Rollout:
    """A rollout of a system as a function of JAX."""

    def __init__(
        self, system: System, *, substeps: int = 1, threads: int | None = None, lanes: bool | None = None
    ) -> None:
        self.system = system
        lanes = system._core.lanes if lanes is None else lanes
        self._function = _make(_number(system, substeps, processors() if threads is None else threads, lanes))

    def __call__(self, state: jax.Array, controls: jax.Array, params: jax.Array | None = None) -> jax.Array:
        system = self.system
        state, controls = jnp.asarray(state), jnp.asarray(controls)
        params = jnp.asarray(system.params.defaults if params is None else params)
        dtype = jnp.result_type(state, controls, params)
        dtype = dtype if dtype in (jnp.float32, jnp.float64) else jnp.result_type(float)
        wanted = {
            "state": (state, (len(system.state),)),
            "controls": (controls, (*controls.shape[-2:-1], len(system.control))),
            "params": (params, (len(system.params),)),
        }
        leads = []
        for what, (array, last) in wanted.items():
            axes = array.ndim - (2 if what == "controls" else 1)
            if axes < 0 or array.shape[axes:] != last:
                steps = "steps, " if what == "controls" else ""
                raise ConfigError(f"{what} must end in ({steps}{last[-1]}), got shape {array.shape}")
            leads.append(array.shape[:axes])
        lead = jnp.broadcast_shapes(*leads)
        arrays = (jnp.broadcast_to(a, (*lead, *last)).astype(dtype) for a, last in wanted.values())
        return self._function(*arrays)


def loss(function: Callable[[jax.Array, jax.Array], jax.Array]) -> Callable[..., tuple[np.ndarray, ...]]:
    """A loss for `System.gradient` from a function of states and controls that JAX can differentiate."""

    @jax.jit
    def both(states: jax.Array, controls: jax.Array) -> Any:
        value, pull = jax.vjp(function, states, controls)
        return value, pull(jnp.ones_like(value))

    def loss_and_cotangents(states: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, ...]:
        seen = jnp.broadcast_to(jnp.asarray(controls), (*states.shape[:-2], *controls.shape[-2:]))
        value, bars = both(jnp.asarray(states), seen)
        return np.asarray(value), *(np.asarray(bar) for bar in bars)

    return loss_and_cotangents


@functools.cache
def _register() -> None:
    """Make the handlers known to XLA, once in a process."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for name, address in _pullback.xla_handlers():
        jax.ffi.register_ffi_target(name, new(address, b"xla._CUSTOM_CALL_TARGET", None), platform="cpu")


def _number(system: System, *how: Any) -> int:
    """The number by which programs of XLA know a system and how it is run; one for each choice."""
    numbers = system.__dict__.setdefault("_xla_numbers", {})
    if how not in numbers:
        numbers[how] = _pullback.xla_operator(system._core, *how)
    return numbers[how]


@functools.cache
def _make(number: int) -> Callable[..., jax.Array]:
    """The rollout of arrays of one type with equal leading axes."""
    _register()
    operator = np.int64(number)

    def forward(state: jax.Array, controls: jax.Array, params: jax.Array) -> jax.Array:
        lead, steps = controls.shape[:-2], controls.shape[-2]
        states = jax.ShapeDtypeStruct((*lead, steps + 1, state.shape[-1]), state.dtype)
        call = jax.ffi.ffi_call("pullback_rollout", states, vmap_method="broadcast_all")
        return call(state, controls, params, operator=operator)

    def forward_and_kept(*inputs: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        return forward(*inputs), inputs

    def backward(kept: tuple[jax.Array, ...], states_bar: jax.Array) -> tuple[jax.Array, ...]:
        bars = [jax.ShapeDtypeStruct(primal.shape, primal.dtype) for primal in kept]
        call = jax.ffi.ffi_call("pullback_rollout_vjp", bars, vmap_method="broadcast_all")
        return tuple(call(*kept, states_bar, operator=operator))

    function = jax.custom_vjp(forward)
    function.defvjp(forward_and_kept, backward)
    return function
