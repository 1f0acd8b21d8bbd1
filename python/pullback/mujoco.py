"""For programs of MuJoCo: gradients of an `mujoco.MjModel`, and functions by the names of `mujoco.mjx`.

>>> import mujoco, pullback
>>> model = mujoco.MjModel.from_xml_path("ant.xml")
>>> system = pullback.from_mujoco(model, "ant.xml")
>>> jacobian = system.jacobian(state=pullback.mujoco.state_of(system, mujoco.MjData(model)))

States are ``(qpos, qvel, act)`` and controls ``ctrl``, in MuJoCo's order and frames.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pullback._arrays import Array, numbers
from pullback._pullback import ConfigError
from pullback._system import System, load

__all__ = ["Data", "from_mujoco", "make_data", "put_data", "state_of", "step"]

#: Masses may differ by this part of the largest: integrals over meshes are rounded differently.
MASS_TOLERANCE = 1e-3


def from_mujoco(model: Any, xml: str | os.PathLike[str], **options: Any) -> System:
    """The system of an `mujoco.MjModel` and the XML it was made of: the path of a file, or its text.

    Sizes, the step, masses and names are compared with the model; an error names what differs, such as a model
    that was changed after it was compiled. What changes the motion and is not read from the file is an error of
    `load`, whose ``options`` these are. A text must not refer to other files.
    """
    if isinstance(xml, str) and xml.lstrip().startswith("<"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.xml"
            file.write_text(xml, encoding="utf-8")
            system = load(file, **options)
    else:
        system = load(xml, **options)
    if differs := _differences(model, system, timestep="dt" not in options):
        raise ConfigError(
            f"{system.name}: the MjModel and its XML differ: {'; '.join(differs)}. Give the XML that the model "
            "was compiled from, or save that of a changed model by mujoco.mj_saveLastXML"
        )
    return system


def _differences(model: Any, system: System, *, timestep: bool) -> list[str]:
    """What an `MjModel` and a system do not agree on."""
    told = system.model
    found = [
        f"{size} is {getattr(model, size)} in the MjModel and {told[size]} in the XML"
        for size in ("nq", "nv", "nu", "na")
        if getattr(model, size) != told[size]
    ]
    if timestep and not np.isclose(model.opt.timestep, told["timestep"], rtol=1e-12):
        found.append(f"timestep is {model.opt.timestep} s and {told['timestep']} s")
    bodies = {body["name"]: body for body in told["bodies"]}
    count = model.nbody - 1
    if count != len(bodies):
        found.append(f"there are {count} and {len(bodies)} bodies")
        return found
    masses = np.array([body["mass"] for body in told["bodies"]])
    scale = MASS_TOLERANCE * max(float(np.max(model.body_mass)), 1e-12)
    for at in range(count):
        theirs, name = float(model.body_mass[at + 1]), told["bodies"][at]["name"]
        if abs(theirs - masses[at]) > scale:
            found.append(f"body {name} has {theirs:.6g} kg and {masses[at]:.6g} kg")
    return found


def state_of(system: System, data: Any) -> Array:
    """The state of an `mujoco.MjData`: ``(qpos, qvel, act)``."""
    act = () if data.act is None else data.act
    state = np.concatenate([np.asarray(part, np.float64).reshape(-1) for part in (data.qpos, data.qvel, act)])
    if len(state) != len(system.state):
        raise ConfigError(f"{system.name}: the data has {len(state)} states, not {len(system.state)}")
    return state


@dataclass(frozen=True)
class Data:
    """What `mujoco.mjx.Data` holds of a moment: it is replaced, never changed. A first axis may count
    environments."""

    qpos: Array
    qvel: Array
    act: Array
    ctrl: Array
    time: float = 0.0

    def replace(self, **changes: Any) -> Data:
        """The same data but for some fields: ``data.replace(ctrl=...)``."""
        if unknown := set(changes) - {"qpos", "qvel", "act", "ctrl", "time"}:
            raise ConfigError(f"data has no field {', '.join(sorted(unknown))}")
        arrays = {name: value if name == "time" else numbers(name, value) for name, value in changes.items()}
        return replace(self, **arrays)


def make_data(system: System) -> Data:
    """Data at the reference pose, at rest."""
    return _data(system, system.state.defaults.copy(), system.control.defaults.copy(), 0.0)


def put_data(system: System, data: Any) -> Data:
    """Data of an `mujoco.MjData`."""
    return _data(system, state_of(system, data), np.array(data.ctrl, np.float64), float(data.time))


def step(system: System, data: Data) -> Data:
    """A step of the physics, of one environment or of many."""
    parts = [data.qpos, data.qvel, data.act]
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in [*parts, data.ctrl]))
    state = np.concatenate([np.broadcast_to(part, (*lead, part.shape[-1])) for part in parts], axis=-1)
    control = np.broadcast_to(data.ctrl, (*lead, data.ctrl.shape[-1]))
    following = system.step(state, np.ascontiguousarray(control))
    return _data(system, following, data.ctrl, data.time + system.dt)


def _data(system: System, state: Array, control: Array, time: float) -> Data:
    nq, nv = system.model["nq"], system.model["nv"]
    return Data(state[..., :nq], state[..., nq : nq + nv], state[..., nq + nv :], control, time)
