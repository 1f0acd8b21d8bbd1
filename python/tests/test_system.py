"""Loading, names and the arrays behind them."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import MODELS, load

import pullback


def test_importing_reads_no_numpy_and_takes_no_time():
    program = "import sys, pullback; assert 'numpy' not in sys.modules"
    best = min(timed(program) for _ in range(5))
    assert best < 0.2, f"{best} s"


def timed(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


def test_a_file_a_carried_model_and_a_scene_are_loaded_by_name():
    ant = load("ant")
    assert pullback.load(MODELS / "ant.xml").state.names == ant.state.names
    assert "ant" in repr(ant) and ant.dt > 0.0
    assert load("pendulum").params.names == ("length", "mass", "damping", "gravity")
    assert {"ant", "pendulum"} <= set(pullback.names())


def test_options_reach_the_engine():
    assert pullback.load("pendulum", dt=0.02).dt == 0.02
    adaptive = pullback.load("cartpole", method="tsit5", tolerance=1e-8)
    fixed = pullback.load("cartpole", method="rk4")
    ends = [system.rollout(20, state={"*.q": 0.3}).final for system in (adaptive, fixed)]
    assert not np.array_equal(*ends) and np.allclose(*ends, atol=1e-3)
    convex, penalty = pullback.load("ant"), pullback.load("ant", contact="penalty")
    assert (
        len(convex.params) != len(penalty.params) or convex.rollout(50).final[2] != penalty.rollout(50).final[2]
    )


def test_names_give_views_and_patterns_select():
    system = load("double-pendulum")
    state = system.state.defaults.copy()
    named = system.state.named(state)
    for name in system.state.names:
        named[name] = 0.25
        assert np.shares_memory(named[name], state)
    assert (state == 0.25).all() and list(named) == list(system.state.names)
    masses = system.params.select("*mass*")
    assert [system.params.entries[i] for i in masses] == [n for n in system.params.entries if "mass" in n]
    vector = system.params.vector_of({"*mass*": 3.0})
    assert (vector[masses] == 3.0).all() and (
        np.delete(vector, masses) == np.delete(system.params.defaults, masses)
    ).all()
    assert system.params.units["gravity"] == "m/s^2"


def test_defaults_cannot_be_changed_by_accident(pendulum):
    with pytest.raises(ValueError, match="read-only"):
        pendulum.params.defaults[0] = 1.0


def test_keyframes_are_starts(ant):
    assert ant.keyframes == ["home"]
    state, control = ant.keyframe("home")
    trajectory = ant.rollout(3, state="home")
    assert np.array_equal(trajectory.states[0], state)
    assert np.array_equal(trajectory.controls, np.tile(control, (3, 1)))


def test_wrong_names_are_told_as_in_rust():
    with pytest.raises(
        pullback.ConfigError, match=r"no scene is called `pendulm` \(did you mean `pendulum`\?\)"
    ):
        pullback.load("pendulm")
    with pytest.raises(pullback.ConfigError, match="there is convex, complementarity, penalty"):
        pullback.load("ant", contact="sticky")
    with pytest.raises(pullback.ConfigError, match="nothing is called `masss` .did you mean `mass`.*; there is length, mass"):
        load("pendulum").params.select("masss")
    with pytest.raises(pullback.ConfigError, match="no/such/robot.xml"):
        pullback.load("no/such/robot.xml")
    with pytest.raises(pullback.ConfigError, match="are choices for model files"):
        pullback.load("pendulum", from_distance=0.1)
    with pytest.raises(pullback.ConfigError, match="only the base of a URDF file can be made to float"):
        pullback.load("ant", floating_base=True)


def test_a_wrong_processor_is_an_import_error():
    from pullback import _processor

    with pytest.raises(ImportError, match="x86-64-v3 processor .* lacks avx2, fma"):
        _processor.require(present=_processor.X86_64_V3 - {"avx2", "fma"})
    with pytest.raises(ImportError, match="compiled for another processor: this one lacks avx512f"):
        _processor.require_compiled("sse,avx2,avx512f", present=_processor.X86_64_V3)
    _processor.require_compiled("sse,avx2", present=_processor.X86_64_V3)
    _processor.require(present=frozenset())  # an unknown processor is not refused
