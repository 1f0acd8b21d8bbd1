"""`pullback.from_mujoco`, and functions by MJX's names. The tests beside MuJoCo itself need its package."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from conftest import load

import pullback
import pullback.mujoco as mjx

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"

PENDULUM = """<mujoco><option timestep="0.005"/><worldbody><body name="bob" pos="0 0 1">
<joint name="hinge" axis="0 1 0"/><geom type="sphere" size="0.1" pos="0 0 -0.5" mass="2"/></body></worldbody>
<actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator></mujoco>"""


def compiled(**changes: object) -> SimpleNamespace:
    """The fields of an `MjModel` of the pendulum that are compared."""
    told = {
        "nq": 1,
        "nv": 1,
        "nu": 1,
        "na": 0,
        "nbody": 2,
        "body_mass": np.array([0.0, 2.0]),
        "timestep": 0.005,
    }
    told.update(changes)
    return SimpleNamespace(opt=SimpleNamespace(timestep=told.pop("timestep")), **told)


def test_a_text_is_read_as_a_file_is() -> None:
    system = pullback.from_mujoco(compiled(), PENDULUM)
    assert system.dt == 0.005 and len(system.state) == 2 and len(system.control) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nq": 2}, "nq is 2 in the MjModel and 1 in the XML"),
        ({"body_mass": np.array([0.0, 2.1])}, "body bob has 2.1 kg and 2 kg"),
        ({"timestep": 0.002}, "timestep is 0.002 s and 0.005 s"),
        ({"nbody": 3, "body_mass": np.ones(3)}, "2 and 1 bodies"),
    ],
)
def test_what_differs_from_the_model_is_named(change: dict[str, object], said: str) -> None:
    with pytest.raises(pullback.ConfigError, match=said):
        pullback.from_mujoco(compiled(**change), PENDULUM)


def test_steps_by_the_names_of_mjx_are_those_of_the_system() -> None:
    ant = load(str(ASSETS / "ant.xml"))
    data = mjx.make_data(ant).replace(ctrl=np.full(8, 0.1))
    assert data.qpos.shape == (15,) and data.qvel.shape == (14,) and data.act.shape == (0,)
    state = np.concatenate([data.qpos, data.qvel])
    for _ in range(3):
        data, state = mjx.step(ant, data), ant.step(state, np.full(8, 0.1))
        assert np.array_equal(np.concatenate([data.qpos, data.qvel]), state)
    assert data.time == pytest.approx(0.03)
    many = mjx.step(ant, data.replace(ctrl=np.linspace(0.0, 0.1, 24).reshape(3, 8)))
    assert many.qpos.shape == (3, 15)
    with pytest.raises(pullback.ConfigError, match="no field qacc"):
        data.replace(qacc=0.0)


@pytest.mark.parametrize("name", ["ant", "hopper", "half_cheetah", "swimmer", "walker2d"])
def test_steps_and_derivatives_are_those_of_mujoco(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    file = ASSETS / f"{name}.xml"
    model = mujoco.MjModel.from_xml_path(str(file))
    system = pullback.from_mujoco(model, file)
    data = mujoco.MjData(model)
    random = np.random.default_rng(0)
    data.qpos[:] += random.uniform(-0.05, 0.05, model.nq)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.qvel[:] = random.uniform(-0.5, 0.5, model.nv)
    data.ctrl[:] = random.uniform(-0.3, 0.3, model.nu)
    ours = mjx.put_data(system, data)
    for _ in range(5):
        mujoco.mj_step(model, data)
        ours = mjx.step(system, ours)
    # The contact solvers end at their own tolerances.
    assert np.allclose(ours.qpos, data.qpos, atol=1e-5) and np.allclose(ours.qvel, data.qvel, atol=1e-5)
    if model.nq == model.nv:
        exact = system.jacobian(mjx.state_of(system, data), data.ctrl.copy())
        differences = [differenced(mujoco, model, data, field) for field in ("qpos", "qvel", "ctrl")]
        found = np.hstack([exact.A, exact.B])
        wanted = np.hstack(differences)
        assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()


def differenced(mujoco, model, data, field: str) -> np.ndarray:
    """Central differences of a step of MuJoCo."""
    columns, h = [], 1e-6
    for i in range(len(getattr(data, field))):
        ends = []
        for side in (h, -h):
            moved = mujoco.MjData(model)
            moved.qpos[:], moved.qvel[:], moved.ctrl[:] = data.qpos, data.qvel, data.ctrl
            getattr(moved, field)[i] += side
            mujoco.mj_step(model, moved)
            ends.append(np.concatenate([moved.qpos, moved.qvel]))
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    return np.array(columns).T
