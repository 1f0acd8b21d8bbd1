"""Rollouts as differentiable operators of PyTorch on the CPU: in ``autograd``, ``nn.Module``,
``torch.func.grad``, ``vmap`` and ``torch.compile(fullgraph=True)``.

Contiguous ``float64`` tensors cross without copies; physics runs in double, ``float32`` is converted before and
after it. First derivatives are exact. Second derivatives raise RuntimeError: nothing is silently wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from pullback import _pullback
from pullback._camera import Camera
from pullback._pullback import ConfigError
from pullback._schedule import Schedule
from pullback._system import Inputs, System

__all__ = ["Rollout", "loss", "render", "rollout", "step"]


def rollout(
    system: System,
    state: torch.Tensor,
    controls: torch.Tensor,
    params: torch.Tensor | None = None,
    *,
    substeps: int = 1,
    threads: int | None = None,
    lanes: bool | None = None,
) -> torch.Tensor:
    """States of a rollout, ``(..., steps + 1, n)``, from ``state (..., n)``, ``controls (..., steps, m)`` and
    ``params (p)`` or ``(..., p)``. Leading axes are environments.
    """
    if params is None:
        params = torch.from_numpy(system.params.defaults.copy())
    wanted = {"state": (state, (len(system.state),)), "params": (params, (len(system.params),))}
    wanted["controls"] = (controls, (*controls.shape[-2:-1], len(system.control)))
    for what, (tensor, last) in wanted.items():
        if (
            tensor.ndim < len(last)
            or tensor.shape[tensor.ndim - len(last) :] != last
            or (what == "controls" and tensor.ndim < 2)
        ):
            steps = "steps, " if what == "controls" else ""
            raise ConfigError(f"{what} must end in ({steps}{last[-1]}), got shape {tuple(tensor.shape)}")
        if tensor.device.type != "cpu" or not tensor.is_floating_point():
            raise ConfigError(f"{what} must be real numbers on the CPU, got {tensor.dtype} on {tensor.device}")
    dtype = torch.promote_types(state.dtype, controls.dtype)
    steps = controls.shape[-2]
    own_params = params.shape[:-1]
    lead = torch.broadcast_shapes(state.shape[:-1], controls.shape[:-2], own_params)

    def rows(tensor: torch.Tensor, last: tuple[int, ...]) -> torch.Tensor:
        return tensor.to(torch.float64).expand(*lead, *last).reshape(-1, *last)

    x, u = rows(state, (len(system.state),)), rows(controls, (steps, len(system.control)))
    # Parameters that all environments share stay one set.
    p = rows(params, (len(system.params),)) if own_params else params.to(torch.float64)
    operator = _operator(system, substeps, threads, lanes)
    states = _Rollout.apply(x, u, p, operator)
    return states.reshape(*lead, steps + 1, len(system.state)).to(dtype)


def step(
    system: System,
    state: torch.Tensor,
    control: torch.Tensor,
    params: torch.Tensor | None = None,
    *,
    substeps: int = 1,
    threads: int | None = None,
    lanes: bool | None = None,
) -> torch.Tensor:
    """The next state."""
    how: dict[str, Any] = {"substeps": substeps, "threads": threads, "lanes": lanes}
    return rollout(system, state, control[..., None, :], params, **how)[..., -1, :]


def render(camera: Camera, state: torch.Tensor) -> torch.Tensor:
    """Pictures of states ``(..., n)`` by a camera: ``(..., height, width, 4)``."""
    n = len(camera.system.state)
    if state.ndim < 1 or state.shape[-1] != n:
        raise ConfigError(f"state must end in ({n}), got shape {tuple(state.shape)}")
    if state.device.type != "cpu" or not state.is_floating_point():
        raise ConfigError(f"state must be real numbers on the CPU, got {state.dtype} on {state.device}")
    if "_torch_number" not in camera.__dict__:
        camera.__dict__["_torch_number"] = len(_cameras)
        _cameras.append(camera)
    rows = state.to(torch.float64).reshape(-1, n)
    pictures = _Render.apply(rows, camera.__dict__["_torch_number"])
    return pictures.reshape(*state.shape[:-1], *camera.shape).to(state.dtype)


class Rollout(torch.nn.Module):
    """A rollout as a module; physical parameters that ``learned`` names are its `learned`, a
    `torch.nn.Parameter`.

    >>> module = pullback.torch.Rollout(pullback.load("pendulum"), learned="length")
    >>> states = module(state, controls)
    """

    def __init__(self, system: System, learned: str | None = None, *, substeps: int = 1) -> None:
        super().__init__()
        self.system = system
        self.substeps = substeps
        self.register_buffer("params", torch.from_numpy(system.params.defaults.copy()))
        if learned is None:
            self.learned = None
        else:
            self.register_buffer("places", torch.from_numpy(system.params.select(learned)))
            self.learned = torch.nn.Parameter(self.params[self.places].clone())

    def forward(self, state: torch.Tensor, controls: torch.Tensor) -> torch.Tensor:
        params = self.params
        if self.learned is not None:
            params = params.index_put((self.places,), self.learned.to(params.dtype))
        return rollout(self.system, state, controls, params, substeps=self.substeps)


def loss(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[..., tuple[np.ndarray, ...]]:
    """A loss for `System.gradient` from a function of states and controls that PyTorch can differentiate."""

    def loss_and_cotangents(states: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, ...]:
        seen = np.broadcast_to(controls, (*states.shape[:-2], *controls.shape[-2:])).copy()
        tensors = [torch.from_numpy(array).requires_grad_() for array in (states, seen)]
        value = function(*tensors)
        bars = torch.autograd.grad(value.sum(), tensors, allow_unused=True, materialize_grads=True)
        return value.detach().numpy(), *(bar.numpy() for bar in bars)

    return loss_and_cotangents


#: Systems by the number that operators know them by; kept, since a compiled graph may outlive everything else.
_operators: list[tuple[System, int, int | None, bool | None]] = []


def _operator(system: System, *how: Any) -> int:
    """The number of a system and how it is run; one for each choice."""
    made = system.__dict__.setdefault("_torch_operators", {})
    if how not in made:
        made[how] = len(_operators)
        _operators.append((system, *how))
    return made[how]


def _call(operator: int, work: Callable[[_pullback.Batch, Inputs], Any], *tensors: torch.Tensor) -> Any:
    system, substeps, threads, lanes = _operators[operator]
    x, u, p = (tensor.detach().contiguous().numpy() for tensor in tensors)
    given = Inputs(x, u, p, x.shape[0], u.shape[1], substeps)
    with system._batch(given, Schedule.all(), threads, lanes) as batch:
        return work(batch, given)


@torch.library.custom_op("pullback::rollout", mutates_args=(), device_types="cpu")
def _forward(state: torch.Tensor, controls: torch.Tensor, params: torch.Tensor, operator: int) -> torch.Tensor:
    return torch.from_numpy(
        _call(operator, lambda batch, given: batch.rollout(given.arrays), state, controls, params)
    )


@_forward.register_fake
def _(state: torch.Tensor, controls: torch.Tensor, params: torch.Tensor, operator: int) -> torch.Tensor:
    return state.new_empty((state.shape[0], controls.shape[1] + 1, state.shape[1]))


@torch.library.custom_op("pullback::rollout_vjp", mutates_args=(), device_types="cpu")
def _backward(
    state: torch.Tensor,
    controls: torch.Tensor,
    params: torch.Tensor,
    states_bar: torch.Tensor,
    operator: int,
) -> list[torch.Tensor]:
    bars = states_bar.detach().contiguous().numpy()
    found = _call(operator, lambda batch, given: batch.vjp(given.arrays, bars, None), state, controls, params)
    shapes = (state.shape, controls.shape, (state.shape[0], params.shape[-1]))
    return [torch.from_numpy(bar).reshape(shape) for bar, shape in zip(found, shapes, strict=True)]


@_backward.register_fake
def _(
    state: torch.Tensor,
    controls: torch.Tensor,
    params: torch.Tensor,
    states_bar: torch.Tensor,
    operator: int,
) -> list[torch.Tensor]:
    return [
        state.new_empty(state.shape),
        controls.new_empty(controls.shape),
        params.new_empty((state.shape[0], params.shape[-1])),
    ]


class _Rollout(torch.autograd.Function):
    """A rollout whose pullback is a Function too, so that transformations of `torch.func` go through both."""

    @staticmethod
    def forward(
        state: torch.Tensor, controls: torch.Tensor, params: torch.Tensor, operator: int
    ) -> torch.Tensor:
        return _forward(state, controls, params, operator)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        *tensors, ctx.operator = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, states_bar: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        state, controls, params = ctx.saved_tensors
        bars = _RolloutVjp.apply(state, controls, params, states_bar, ctx.operator)
        params_bar = bars[2] if params.ndim == 2 else bars[2].sum(0)
        return bars[0], bars[1], params_bar, None

    @staticmethod
    def vmap(info: Any, dims: Sequence[int | None], *inputs: Any) -> tuple[torch.Tensor, int]:
        *tensors, operator = inputs
        flat = _flat(info.batch_size, dims, tensors)
        states = _Rollout.apply(*flat, operator)
        return states.reshape(info.batch_size, -1, *states.shape[1:]), 0


class _RolloutVjp(torch.autograd.Function):
    """The pullback of a rollout; cotangents of parameters are of each environment."""

    @staticmethod
    def forward(*inputs: Any) -> tuple[torch.Tensor, ...]:
        return tuple(_backward(*inputs))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *bars: torch.Tensor) -> None:
        raise RuntimeError(
            "second derivatives of a rollout are not implemented: "
            "take the gradient once, or use differences of gradients"
        )

    @staticmethod
    def vmap(
        info: Any, dims: Sequence[int | None], *inputs: Any
    ) -> tuple[tuple[torch.Tensor, ...], tuple[int, ...]]:
        *tensors, operator = inputs
        bars = _RolloutVjp.apply(*_flat(info.batch_size, dims, tensors), operator)
        return tuple(bar.reshape(info.batch_size, -1, *bar.shape[1:]) for bar in bars), (0, 0, 0)


def _flat(count: int, dims: Sequence[int | None], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors whose mapped axis is joined with that of the environments. Parameters that all share stay one
    set."""
    found = []
    envs = tensors[0].shape[0] if dims[0] is None else tensors[0].movedim(dims[0], 0).shape[1]
    for i, (tensor, dim) in enumerate(zip(tensors, dims, strict=False)):
        is_params = i == 2
        if dim is None:
            if is_params and tensor.ndim == 1:
                found.append(tensor)
                continue
            tensor = tensor.expand(count, *tensor.shape)
        else:
            tensor = tensor.movedim(dim, 0)
        if is_params and tensor.ndim == 2:
            tensor = tensor[:, None, :].expand(-1, envs, -1)
        found.append(tensor.reshape(count * envs, *tensor.shape[2:]))
    return found


#: Cameras by the number that operators know them by.
_cameras: list[Camera] = []


@torch.library.custom_op("pullback::render", mutates_args=(), device_types="cpu")
def _draw(state: torch.Tensor, camera: int) -> torch.Tensor:
    return torch.from_numpy(_cameras[camera].draw(state.detach().contiguous().numpy()))


@_draw.register_fake
def _(state: torch.Tensor, camera: int) -> torch.Tensor:
    return state.new_empty((state.shape[0], *_cameras[camera].shape))


@torch.library.custom_op("pullback::render_vjp", mutates_args=(), device_types="cpu")
def _draw_vjp(state: torch.Tensor, pictures_bar: torch.Tensor, camera: int) -> torch.Tensor:
    bar = pictures_bar.detach().contiguous().numpy()
    return torch.from_numpy(_cameras[camera].vjp(bar, state.detach().contiguous().numpy())[0])


@_draw_vjp.register_fake
def _(state: torch.Tensor, pictures_bar: torch.Tensor, camera: int) -> torch.Tensor:
    return state.new_empty(state.shape)


class _Render(torch.autograd.Function):
    """Pictures, whose pullback is a Function too."""

    @staticmethod
    def forward(state: torch.Tensor, camera: int) -> torch.Tensor:
        return _draw(state, camera)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        state, ctx.camera = inputs
        ctx.save_for_backward(state)

    @staticmethod
    def backward(ctx: Any, pictures_bar: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _RenderVjp.apply(*ctx.saved_tensors, pictures_bar, ctx.camera), None

    @staticmethod
    def vmap(
        info: Any, dims: Sequence[int | None], state: torch.Tensor, camera: int
    ) -> tuple[torch.Tensor, int]:
        (rows,) = _rows(info.batch_size, dims, [state])
        pictures = _Render.apply(rows, camera)
        return pictures.reshape(info.batch_size, -1, *pictures.shape[1:]), 0


class _RenderVjp(torch.autograd.Function):
    """The pullback of pictures."""

    @staticmethod
    def forward(*inputs: Any) -> torch.Tensor:
        return _draw_vjp(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *bars: torch.Tensor) -> None:
        raise RuntimeError(
            "second derivatives of a picture are not implemented: "
            "take the gradient once, or use differences of gradients"
        )

    @staticmethod
    def vmap(info: Any, dims: Sequence[int | None], *inputs: Any) -> tuple[torch.Tensor, int]:
        *tensors, camera = inputs
        bar = _RenderVjp.apply(*_rows(info.batch_size, dims, tensors), camera)
        return bar.reshape(info.batch_size, -1, bar.shape[-1]), 0


def _rows(count: int, dims: Sequence[int | None], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors whose mapped axis is joined with the first of their own."""
    found = []
    for tensor, dim in zip(tensors, dims, strict=False):
        tensor = tensor.expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        found.append(tensor.reshape(-1, *tensor.shape[2:]))
    return found
