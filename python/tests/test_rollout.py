"""Rollouts: shapes, environments, and the traps of arrays."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from conftest import load, moved

import pullback


def test_shapes_follow_the_inputs(cartpole):
    n, m = len(cartpole.state), len(cartpole.control)
    one = cartpole.rollout(7)
    assert one.states.shape == (8, n) and one.controls.shape == (7, m) and one.steps == 7
    many = cartpole.rollout(7, state=np.tile(cartpole.state.defaults, (3, 1)))
    assert many.states.shape == (3, 8, n) and many.final.shape == (3, n)
    assert np.allclose(one.times, np.arange(8) * cartpole.dt)
    assert cartpole.rollout(7, params=np.tile(cartpole.params.defaults, (2, 1))).states.shape == (2, 8, n)
    assert cartpole.rollout(controls=np.zeros((5, 4, m))).states.shape == (5, 5, n)
    assert many.named[cartpole.state.names[0]].shape[:2] == (3, 8)


@pytest.mark.parametrize("name", ["ant", "cartpole", "pendulum"])
def test_environments_do_not_depend_on_their_neighbours(name):
    system = load(name)
    inputs = moved(system, 12, envs=11)
    many = system.rollout(**inputs)
    for i in (0, 7, 10):
        alone = system.rollout(state=inputs["state"][i], controls=inputs["controls"][i])
        assert np.allclose(many.states[i], alone.states, rtol=1e-9, atol=1e-11)
    plain = system.rollout(**inputs, lanes=False)
    assert np.array_equal(
        plain.states[3], system.rollout(state=inputs["state"][3], controls=inputs["controls"][3]).states
    )
    some = system.rollout(state=inputs["state"][2:5], controls=inputs["controls"][2:5])
    assert np.array_equal(some.states, many.states[2:5])


def test_threads_change_no_bit(ant):
    inputs = moved(ant, 10, envs=19)
    one, three = (ant.rollout(**inputs, threads=threads) for threads in (1, 3))
    assert np.array_equal(one.states, three.states)


def test_a_control_may_hold_for_several_steps(cartpole):
    controls = moved(cartpole, 4)["controls"]
    held = cartpole.rollout(controls=controls, substeps=3)
    fine = cartpole.rollout(controls=np.repeat(controls, 3, axis=0))
    assert np.array_equal(held.states, fine.states[::3])


def test_a_step_is_the_first_of_a_rollout(ant):
    inputs = moved(ant, 1)
    assert np.array_equal(ant.step(inputs["state"], inputs["controls"][0]), ant.rollout(**inputs).final)
    many = moved(ant, 1, envs=3)
    assert ant.step(many["state"], many["controls"][:, 0]).shape == (3, len(ant.state))


def test_arrays_of_any_order_and_type_give_the_same(ant):
    inputs = moved(ant, 6, envs=4)
    wanted = ant.rollout(**inputs).states
    fortran = {what: np.asfortranarray(array) for what, array in inputs.items()}
    assert not fortran["controls"].flags.c_contiguous
    assert np.array_equal(ant.rollout(**fortran).states, wanted)
    reversed_twice = {what: array[::-1].copy()[::-1] for what, array in inputs.items()}
    assert np.array_equal(ant.rollout(**reversed_twice).states, wanted)
    lists = {what: array.tolist() for what, array in inputs.items()}
    assert np.array_equal(ant.rollout(**lists).states, wanted)
    swapped = {what: array.astype(">f8") for what, array in inputs.items()}
    assert np.array_equal(ant.rollout(**swapped).states, wanted)
    for array in inputs.values():
        array.flags.writeable = False
    assert np.array_equal(ant.rollout(**inputs).states, wanted)


def test_single_precision_is_widened_and_nothing_is_narrowed(pendulum):
    state = np.array([0.3, 0.1], dtype=np.float32)
    assert np.array_equal(
        pendulum.rollout(5, state=state).states, pendulum.rollout(5, state=state.astype(float)).states
    )
    with pytest.raises(pullback.ConfigError, match="must be real numbers, got an array of complex128"):
        pendulum.rollout(5, state=np.array([0.3, 1j]))
    with pytest.raises(pullback.ConfigError, match="must be real numbers"):
        pendulum.rollout(5, state=["a", "b"])


def test_the_compiled_part_refuses_what_the_files_would_copy(ant):
    from pullback import _pullback

    batch = _pullback.Batch(ant._core, (4, 6, 1), 1, True, ("revolve", 1, 1))
    inputs = moved(ant, 6, envs=4)
    with pytest.raises(pullback.ConfigError, match="controls must be C-contiguous"):
        batch.rollout((inputs["state"], np.asfortranarray(inputs["controls"]), ant.params.defaults))
    with pytest.raises(TypeError):
        batch.rollout((inputs["state"].astype(np.float32), inputs["controls"], ant.params.defaults))


def test_a_trajectory_does_not_change_with_its_inputs(cartpole):
    inputs = moved(cartpole, 5)
    trajectory = cartpole.rollout(**inputs)
    bars = np.ones_like(trajectory.states)
    before = trajectory.vjp(bars)
    inputs["state"][:] = 7.0
    inputs["controls"][:] = 7.0
    assert np.array_equal(trajectory.vjp(bars).params, before.params)
    assert not np.shares_memory(trajectory.states, cartpole.rollout(5).states)


def test_what_is_not_finite_is_named(ant):
    state = np.tile(ant.state.defaults, (3, 1))
    state[1, 2] = np.nan
    with pytest.raises(pullback.ConfigError, match=r"state: .*\[2\] is NaN in row 1; inputs must be finite"):
        ant.rollout(5, state=state)
    with pytest.raises(pullback.ConfigError, match="params: .* is inf; inputs must be finite"):
        ant.rollout(5, params={"*.mass": np.inf})


def test_a_failing_environment_is_named_and_the_others_run(pendulum):
    lengths = np.tile(pendulum.params.defaults, (4, 1))
    pendulum.params.named(lengths)["length"][2] = 1e-200
    with pytest.raises(
        pullback.StepError, match="environment 2 of 4, one of 1 that failed: .* reduce the time step"
    ):
        pendulum.rollout(200, state={"angle": 1.0}, params=lengths)
    target = pullback.losses.state_target(pendulum, "angle")
    values = pendulum.value(target, 200, state={"angle": 1.0}, params=lengths)
    assert np.isinf(values[2]) and np.isfinite(np.delete(values, 2)).all()


def test_shapes_that_do_not_fit_are_refused(cartpole):
    n, m = len(cartpole.state), len(cartpole.control)
    for arguments, told in [
        ({}, "say how long: steps=100"),
        ({"steps": 3, "controls": np.zeros((4, m))}, "controls for 4 steps and steps=3"),
        ({"steps": 3, "state": np.zeros(n + 1)}, f"state needs {n} entries"),
        (
            {"steps": 3, "state": np.zeros((2, n)), "controls": np.zeros((3, 3, m))},
            "different numbers of environments",
        ),
        ({"steps": 3, "state": np.zeros((2, 2, n))}, "state has 3 axes"),
        ({"steps": 3, "state": np.zeros((0, n))}, "at least one environment"),
        ({"steps": 3, "substeps": 0}, "substeps must be at least 1"),
        ({"steps": 3, "threads": 0}, "and one thread"),
    ]:
        with pytest.raises(pullback.ConfigError, match=told):
            cartpole.rollout(**arguments)
    with pytest.raises(pullback.ConfigError, match="stepped one by one: leave out lanes=True"):
        load("pendulum").rollout(3, lanes=True)


def test_other_threads_of_python_go_on(ant):
    counted, done = 0, threading.Event()

    def work():
        ant.rollout(2000, threads=1)
        done.set()

    thread = threading.Thread(target=work)
    start = time.perf_counter()
    thread.start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    thread.join()
    # Held, the interpreter would let this loop turn a handful of times.
    assert counted > 20 or time.perf_counter() - start < 0.05


def test_one_system_serves_many_threads(cartpole):
    inputs = moved(cartpole, 30, envs=9)
    wanted = cartpole.rollout(**inputs).states
    found = [None] * 8

    def work(i):
        found[i] = cartpole.rollout(**inputs).states

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(states, wanted) for states in found)


def test_a_panic_is_a_runtime_error():
    from pullback import _pullback

    with pytest.raises(
        RuntimeError, match="the engine panicked, which is a defect of it: on purpose; please report it"
    ):
        _pullback._panics("on purpose")
