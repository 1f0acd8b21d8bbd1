"""`System`: a scene or the robot of a file, its rollouts and their derivatives."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback import _pullback
from pullback._arrays import Array, numbers
from pullback._identify import Identification, identify
from pullback._objective import Objective
from pullback._pullback import ConfigError, Loss
from pullback._replay import Replay
from pullback._results import Gradient, Linearization, Trajectory
from pullback._schedule import Schedule
from pullback._section import Section

#: Environments that lie side by side in the lanes of a register.
LANES = 8

#: Memories of batches that a system keeps for the next call of the same sizes.
KEPT_BATCHES = 4

#: A loss written in Python: from states and controls to the loss and its cotangents.
PythonLoss = Callable[[Array, Array], tuple[Any, ...]]


def load(
    name: str | os.PathLike[str],
    *,
    dt: float | None = None,
    method: str | None = None,
    tolerance: float | None = None,
    contact: str | None = None,
    allow_ignored: Iterable[str] = (),
    floating_base: bool = False,
    fix_inertia: bool = False,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    collision_softness: float = 0.0,
    from_distance: float = 0.0,
) -> System:
    """The robot of an MJCF or URDF file, a carried model (``ant``) or a built-in scene (``pendulum``).

    ``dt`` is the step in seconds, ``method`` the integrator and ``tolerance`` that of adaptive inner steps,
    where they are not to be those of the file. ``contact`` is ``convex``, ``penalty`` or ``complementarity``.
    ``allow_ignored`` names elements of the file to overlook although they change the motion. `names` lists what
    is built in.
    """
    if isinstance(allow_ignored, str):
        allow_ignored = [allow_ignored]
    options = {
        "dt": dt,
        "method": method,
        "tolerance": tolerance,
        "contact": contact,
        "allow_ignored": list(allow_ignored),
        "floating_base": floating_base,
        "fix_inertia": fix_inertia,
        "packages": [f"{package}={os.fspath(folder)}" for package, folder in (packages or {}).items()],
        "collision_softness": collision_softness,
        "from_distance": from_distance,
    }
    return System(_pullback.System(os.fspath(name), options))


def names() -> dict[str, str]:
    """Names of the built-in scenes and carried models, each with a line on what it is."""
    return dict(_pullback.names())


@dataclass(frozen=True)
class Inputs:
    """What a rollout starts from, in shapes that fit each other."""

    #: ``(n,)``, or ``(envs, n)``.
    state: Array
    #: ``(steps, m)``, or ``(envs, steps, m)``.
    controls: Array
    #: ``(p,)``, or ``(envs, p)``.
    params: Array
    #: How many environments; None for one without an axis of its own.
    envs: int | None
    steps: int
    #: Steps of the system per control.
    substeps: int

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.state, self.controls, self.params

    def copied(self) -> Inputs:
        # Defaults cannot change.
        state, controls, params = (
            a.copy() if a.flags.writeable or not a.flags.owndata else a for a in self.arrays
        )
        return Inputs(state, controls, params, self.envs, self.steps, self.substeps)

    def pulled(self, cotangents: Iterable[Array]) -> list[Array]:
        """Cotangents of each environment in the shapes of the inputs: what is shared gets the sum."""
        found = []
        for primal, bar, own_rank in zip(self.arrays, cotangents, (1, 2, 1), strict=True):
            if self.envs is None or primal.ndim > own_rank:
                found.append(bar.reshape(primal.shape))
            else:
                found.append(bar.reshape((self.envs, *primal.shape)).sum(axis=0))
        return found


class System:
    """A differentiable system x' = step(x, u, p): made by `load`.

    States, controls and parameters are flat ``float64`` arrays whose entries have names: `state`, `control` and
    `params` tell them. Where an axis of environments comes first the system is run for many of them at once, on
    lanes of registers and on threads, while other threads of Python go on.
    """

    def __init__(self, core: _pullback.System) -> None:
        self._core = core
        #: Names of the state.
        self.state = Section(core, "state")
        #: Names of the control of one step.
        self.control = Section(core, "control")
        #: Names of the parameters.
        self.params = Section(core, "params")
        self._batches: list[tuple[tuple[Any, ...], _pullback.Batch]] = []
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def summary(self) -> str:
        """A line on what it is."""
        return self._core.summary

    @property
    def dt(self) -> float:
        """Seconds per step."""
        return self._core.dt

    @property
    def horizon(self) -> float:
        """Seconds after which there is nothing new to see."""
        return self._core.horizon

    @property
    def notes(self) -> list[str]:
        """What the file says that is not used."""
        return self._core.notes

    @property
    def keyframes(self) -> list[str]:
        """Names of the starts that the file gives; `rollout` takes one as ``state="home"``."""
        return self._core.keyframes

    @property
    def model(self) -> dict[str, Any]:
        """What the file of a robot describes: bodies, joints and geoms with their numbers, all else by name."""
        found: dict[str, Any] = json.loads(_pullback.model(self._core))
        return found

    def keyframe(self, wanted: str | int) -> tuple[Array, Array]:
        """State and control of a start that the file gives, by name or number."""
        return self._core.keyframe(str(wanted))

    def inputs(
        self,
        steps: int | None = None,
        *,
        state: Any = None,
        controls: Any = None,
        params: Any = None,
        substeps: int = 1,
    ) -> Inputs:
        """What `rollout` makes of its arguments."""
        if isinstance(state, str):
            state, at_rest = self.keyframe(state)
            controls = at_rest if controls is None else controls
        x = self.state.defaults if state is None else self.state.vector_of(state)
        p = self.params.defaults if params is None else self.params.vector_of(params)
        u = self._controls(controls, steps)
        for what, array, most in (("state", x, 2), ("controls", u, 3), ("params", p, 2)):
            if not most - 1 <= array.ndim <= most:
                raise ConfigError(
                    f"{what} has {array.ndim} axes; it takes {most - 1}, or {most} for many environments"
                )
        if steps is not None and u.shape[-2] != steps:
            raise ConfigError(f"there are controls for {u.shape[-2]} steps and steps={steps}")
        counts = {a.shape[0] for a, rank in ((x, 1), (u, 2), (p, 1)) if a.ndim > rank}
        if len(counts) > 1:
            shapes = f"state {x.shape}, controls {u.shape}, params {p.shape}"
            raise ConfigError(f"the inputs are for different numbers of environments: {shapes}")
        return Inputs(x, u, p, counts.pop() if counts else None, u.shape[-2], substeps)

    def _controls(self, controls: Any, steps: int | None) -> Array:
        if controls is None:
            if steps is None:
                raise ConfigError("say how long: steps=100, or give controls for every step")
            return self._core.controls(steps).reshape(steps, len(self.control))
        u = self.control.vector_of(controls)
        if u.ndim > 1:
            return u
        if steps is None:
            raise ConfigError("one control is held for all steps; say how many: steps=100")
        return np.tile(u, (steps, 1))

    def step(self, state: Any = None, control: Any = None, params: Any = None, *, substeps: int = 1) -> Array:
        """The next state, of one environment or of many: ``state`` and ``control`` may have an axis of
        environments."""
        u = self.control.vector_of(control)
        return self.rollout(state=state, controls=u[..., None, :], params=params, substeps=substeps).final

    def rollout(
        self,
        steps: int | None = None,
        *,
        state: Any = None,
        controls: Any = None,
        params: Any = None,
        substeps: int = 1,
        threads: int | None = None,
        lanes: bool | None = None,
    ) -> Trajectory:
        """Run ``steps`` steps from ``state`` under ``controls``, each held for ``substeps`` steps of ``dt``.

        Each input may be left out, be an array, or a mapping of names or patterns to values
        (``params={"*.mass": 2.0}``); ``state`` may be the name of a keyframe. A first axis of environments on
        any of them runs many at once. An environment that fails raises `StepError`, after all others have run.
        """
        given = self.inputs(steps, state=state, controls=controls, params=params, substeps=substeps)
        with self._batch(given, Schedule.revolve(1), threads, lanes) as batch:
            states = batch.rollout(given.arrays)
        return Trajectory(self, states if given.envs is not None else states[0], given.copied())

    def vjp(
        self,
        trajectory: Trajectory,
        states_bar: Any,
        controls_bar: Any = None,
        *,
        schedule: Schedule | None = None,
        threads: int | None = None,
        lanes: bool | None = None,
    ) -> Gradient:
        """The pullback of a rollout: see `Trajectory.vjp`. It is run again, keeping states by ``schedule``."""
        given = trajectory.inputs
        states_bar = self._like("states_bar", states_bar, trajectory.states)
        if controls_bar is not None:
            whole = (*trajectory.states.shape[:-2], given.steps, len(self.control))
            controls_bar = self._like("controls_bar", controls_bar, np.empty(whole))
        with self._batch(given, schedule or Schedule.all(), threads, lanes) as batch:
            found = batch.vjp(given.arrays, states_bar, controls_bar)
        state, controls, params = given.pulled(found)
        return Gradient(
            np.nan, state, controls, params, {"state": state, "controls": controls, "params": params}
        )

    def gradient(
        self,
        loss: Loss | PythonLoss,
        steps: int | None = None,
        *,
        wrt: Iterable[str] = ("state", "controls", "params"),
        state: Any = None,
        controls: Any = None,
        params: Any = None,
        substeps: int = 1,
        schedule: Schedule | None = None,
        threads: int | None = None,
        lanes: bool | None = None,
    ) -> Gradient:
        """The loss over a rollout and its gradient with respect to ``wrt``.

        ``wrt`` lists ``state``, ``controls``, ``params``, or parts of them by names: ``params.*.mass``. One
        sweep backwards gives all. A loss of `pullback.losses` needs no Python; a function of states and
        controls is called once with the whole trajectory, which is then run again for the way back. States are
        kept by ``schedule``.
        """
        given = self.inputs(steps, state=state, controls=controls, params=params, substeps=substeps)
        with self._batch(given, schedule or Schedule.all(), threads, lanes) as batch:
            if isinstance(loss, Loss):
                values, *found = batch.gradients(given.arrays, loss)
            else:
                states = batch.rollout(given.arrays)
                seen = states if given.envs is not None else states[0]
                told, *bars = loss(seen, given.controls)
                values = numbers("the loss", told)
                states_bar = self._like("the cotangent of the states", bars[0], seen)
                controls_bar = None
                if len(bars) > 1 and bars[1] is not None:
                    whole = (*seen.shape[:-2], given.steps, len(self.control))
                    controls_bar = self._like("the cotangent of the controls", bars[1], np.empty(whole))
                found = batch.vjp(given.arrays, states_bar, controls_bar)
        total = values.reshape(-1)[0] if given.envs is None else values
        return self._gradient(total, given.pulled(found), wrt)

    def value(
        self,
        loss: Loss,
        steps: int | None = None,
        *,
        state: Any = None,
        controls: Any = None,
        params: Any = None,
        substeps: int = 1,
        threads: int | None = None,
        lanes: bool | None = None,
    ) -> Any:
        """The loss over a rollout without its gradient; infinite where an environment of many fails."""
        given = self.inputs(steps, state=state, controls=controls, params=params, substeps=substeps)
        with self._batch(given, Schedule.revolve(1), threads, lanes) as batch:
            values = batch.values(given.arrays, loss)
            if given.envs is None and batch.failures:
                raise _pullback.StepError(batch.failures[0][1])
        return values if given.envs is not None else values[0]

    def jvp(
        self,
        steps: int | None = None,
        *,
        tangents: Mapping[str, Any],
        state: Any = None,
        controls: Any = None,
        params: Any = None,
        substeps: int = 1,
    ) -> tuple[Array, Array]:
        """The states of a rollout of one environment, and their derivative along tangents of ``state``,
        ``controls`` and ``params``, each an array or, but for controls, a mapping of names to values; what is
        not named stays.
        """
        given = self.inputs(steps, state=state, controls=controls, params=params, substeps=substeps)
        if given.envs is not None:
            raise ConfigError("forward mode takes one environment at a time")
        primals = dict(zip(("state", "controls", "params"), given.arrays, strict=True))
        if unknown := set(tangents) - set(primals):
            raise ConfigError(f"tangents are of state, controls and params, not {', '.join(sorted(unknown))}")
        directions = []
        for what, primal in primals.items():
            told = tangents.get(what)
            tangent = np.zeros_like(primal)
            if isinstance(told, Mapping):
                section = self.control if what == "controls" else getattr(self, what)
                for pattern, value in told.items():
                    tangent[..., section.select(pattern)] = value
            elif told is not None:
                tangent = self._like(f"the tangent of {what}", told, primal)
            directions.append(tangent)
        along = directions[0], directions[1], directions[2]
        found = self._core.jvp(given.arrays, along, (given.steps, substeps))
        states, tangent = (values.reshape(given.steps + 1, len(self.state)) for values in found)
        return states, tangent

    def jacobian(self, state: Any = None, control: Any = None, params: Any = None) -> Linearization:
        """The next state and the exact Jacobians A, B and C of a step."""
        if isinstance(state, str):
            state, at_rest = self.keyframe(state)
            control = at_rest if control is None else control
        x, u, p = self.state.vector_of(state), self.control.vector_of(control), self.params.vector_of(params)
        if max(x.ndim, u.ndim, p.ndim) > 1:
            raise ConfigError("Jacobians are of one environment at a time")
        following, *found = self._core.linearize(x, u, p)
        return Linearization(following, *(matrix.reshape(len(x), -1) for matrix in found))

    def objective(
        self,
        loss: Loss,
        variables: str,
        steps: int | None = None,
        *,
        bounds: Sequence[tuple[float, float]] | None = None,
        state: Any = None,
        controls: Any = None,
        params: Any = None,
        substeps: int = 1,
        schedule: Schedule | None = None,
    ) -> Objective:
        """The loss as a function of the entries that ``variables`` selects, such as ``state.angle,
        params.*.mass, control.*``: what `optimize`, `landscape` and `doctor` take. ``bounds`` are of each
        variable, in place of those of its entry.
        """
        given = self.inputs(steps, state=state, controls=controls, params=params, substeps=substeps)
        if given.envs is not None:
            raise ConfigError("an objective is of one environment")
        sizes = (given.steps, substeps, schedule or Schedule.all())
        limits = None if bounds is None else [(float(low), float(high)) for low, high in bounds]
        return Objective(
            _pullback.Objective.of_rollouts(self._core, loss, given.arrays, variables, limits, *sizes)
        )

    def identify(self, data: Any, fit: str | Iterable[str], **options: Any) -> Identification:
        """Parameters from recordings, with their errors.

        ``data`` is a recording or a list of them: the path of a CSV file, or a mapping of columns to arrays.
        One column is ``time``; the others are names of states, sensors and controls, NaN where nothing was
        measured. ``fit`` are patterns of parameters: ``"*.mass"``, or ``"m=*.mass"`` where all share one value.
        Options are those of `pullback identify`: ``free`` (patterns of states whose initial values are found
        too), ``start``, ``bounds``, ``transform`` and ``noise`` (by name), ``keyframe``, ``method``,
        ``settings``, ``starts``, ``budget``, ``seed``, ``threads``, ``folder``.
        """
        return identify(self, data, fit, **options)

    def render(
        self,
        state: Any = None,
        control: Any = None,
        params: Any = None,
        *,
        size: tuple[int, int] | None = None,
        camera: str | int | None = None,
        azimuth: float | None = None,
        elevation: float | None = None,
        distance: float | None = None,
        lookat: Sequence[float] | None = None,
    ) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """A picture of a state: ``(height, width, 3)`` bytes.

        ``size`` is width and height. ``camera`` names one of the model; degrees and metres move the free
        camera.
        """
        if isinstance(state, str):
            state, at_rest = self.keyframe(state)
            control = at_rest if control is None else control
        inputs = self.state.vector_of(state), self.control.vector_of(control), self.params.vector_of(params)
        view = {
            "name": None if camera is None else str(camera),
            "azimuth": azimuth,
            "elevation": elevation,
            "distance": distance,
            "lookat": None if lookat is None else [float(x) for x in lookat],
        }
        return _pullback.render(self._core, inputs, view, size)

    def replay(self, trajectory: Trajectory, env: int = 0) -> Replay:
        """A page that plays a trajectory; of many environments, that of one."""
        given = trajectory.inputs

        def of_env(array: Array, rank: int) -> Array:
            return np.ascontiguousarray(array[env]) if array.ndim > rank else array

        inputs = of_env(given.state, 1), of_env(given.controls, 2), of_env(given.params, 1)
        states = of_env(trajectory.states, 2)
        return Replay(_pullback.replay(self._core, inputs, states, self.dt * given.substeps))

    def predict_bytes(
        self,
        steps: int,
        *,
        envs: int = 1,
        substeps: int = 1,
        schedule: Schedule | None = None,
        lanes: bool | None = None,
    ) -> int:
        """Peak bytes of `gradient`, known before it runs; adaptive integrators keep their inner steps on top of
        that."""
        lanes = self._lanes(envs if envs > 1 else None, lanes)
        return _pullback.predict_bytes(self._core, (envs, steps, substeps), lanes, schedule or Schedule.all())

    def gradcheck(self, *, seed: int = 0, tolerance: float = 1e-8, steps: int | None = None) -> GradientReport:
        """Compare pullbacks with forward mode and with differences: ``report.passed``, and a table when
        printed."""
        return GradientReport([GradientCheck(*row) for row in self._core.gradcheck(seed, tolerance, steps)])

    def __repr__(self) -> str:
        return repr(self._core)

    def _like(self, what: str, values: Any, other: Array) -> Array:
        array = numbers(what, values)
        if array.shape != other.shape:
            raise ConfigError(f"{what} needs shape {other.shape}, got {array.shape}")
        return array

    def _gradient(self, loss: Any, whole: list[Array], wrt: Iterable[str]) -> Gradient:
        if isinstance(wrt, str):
            wrt = [wrt]
        state, controls, params = whole
        places = {
            "state": (state, self.state),
            "control": (controls, self.control),
            "controls": (controls, self.control),
            "params": (params, self.params),
        }
        parts = {}
        for asked in wrt:
            vector, _, pattern = asked.partition(".")
            if vector not in places:
                raise ConfigError(
                    f"wrt: `{asked}` is not state, controls or params, or a part such as params.*.mass"
                )
            array, section = places[vector]
            parts[asked] = array[..., section.select(pattern)] if pattern else array
        asked_for = {asked.partition(".")[0].removesuffix("s") for asked in parts}

        def if_asked(name: str, array: Array) -> Array | None:
            return array if name in asked_for else None

        whole_parts = if_asked("state", state), if_asked("control", controls), if_asked("param", params)
        return Gradient(loss, *whole_parts, parts)

    def _lanes(self, envs: int | None, lanes: bool | None) -> bool:
        return (self._core.lanes and (envs or 1) > 1) if lanes is None else lanes

    @contextmanager
    def _batch(
        self, given: Inputs, schedule: Schedule, threads: int | None, lanes: bool | None
    ) -> Iterator[_pullback.Batch]:
        """Memory for rollouts of these sizes, kept for the next call."""
        envs, beside = given.envs if given.envs is not None else 1, self._lanes(given.envs, lanes)
        if threads is None:
            # A robot keeps to one thread; scenes of particles and grids use several for one environment.
            packs = -(-envs // LANES) if beside else envs
            threads = processors() if packs > 1 or not self._core.robot else 1
        key = (envs, given.steps, given.substeps, threads, beside, schedule)
        with self._lock:
            at = next((i for i, (of, _) in enumerate(self._batches) if of == key), None)
            batch = None if at is None else self._batches.pop(at)[1]
        if batch is None:
            batch = _pullback.Batch(self._core, (envs, given.steps, given.substeps), threads, beside, schedule)
        try:
            yield batch
        finally:
            with self._lock:
                self._batches = [*self._batches[1 - KEPT_BATCHES :], (key, batch)]


@dataclass(frozen=True)
class GradientCheck:
    """One comparison of a pullback with forward mode and with differences."""

    #: What was compared.
    what: str
    passed: bool
    #: Largest error against forward mode.
    forward: float
    #: Largest error against differences.
    difference: float
    #: The entries.
    table: str


@dataclass(frozen=True)
class GradientReport:
    """All comparisons of a system."""

    checks: list[GradientCheck]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        return "\n\n".join(f"{check.what}\n{check.table}" for check in self.checks)


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
