"""Gradients: one way against the others."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import load, moved

import pullback
from pullback import Schedule

SYSTEMS = ["pendulum", "double-pendulum", "cartpole", "arm9", "ant"]


def quadratic(states, controls):
    """The loss of `test_a_loss_in_python_gives_the_bits_of_one_in_rust`, and its cotangents."""
    loss = 0.5 * (states[..., :-1, :] ** 2).sum((-2, -1)) + 2.0 * (states[..., -1, :] ** 2).sum(-1)
    bars = states * 2.0 * 0.5
    bars[..., -1, :] = states[..., -1, :] * 2.0 * 2.0
    return loss, bars


def end_of_torso(states, controls):
    """How far ahead the torso of the ant ends."""
    bars = np.zeros_like(states)
    bars[-1, 0] = 1.0
    return states[-1, 0], bars


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_loss_in_python_gives_the_bits_of_one_in_rust(name):
    system = load(name)
    target = pullback.losses.state_target(system, "*", running=0.5, terminal=2.0)
    for envs in (None, 11):
        inputs = moved(system, 9, envs=envs)
        ours, theirs = system.gradient(target, **inputs), system.gradient(quadratic, **inputs)
        assert np.allclose(ours.loss, theirs.loss, rtol=1e-13)
        for what in ("state", "controls", "params"):
            assert np.array_equal(ours[what], theirs[what]), what
            assert ours[what].any() or not ours[what].size or what == "controls"


def test_every_schedule_gives_the_same_bits_in_the_memory_it_predicts(ant):
    inputs = moved(ant, 20)
    target = pullback.losses.state_target(ant, "*.position")
    wanted = ant.gradient(target, **inputs)
    schedules = [Schedule.every(5), Schedule.revolve(3), Schedule.two_level(4, 2)]
    for schedule in schedules:
        seen = ant.gradient(end_of_torso, **inputs, schedule=schedule).params
        assert np.array_equal(seen, ant.gradient(end_of_torso, **inputs).params), schedule
        assert np.array_equal(ant.gradient(target, **inputs, schedule=schedule).params, wanted.params), schedule
        assert ant.predict_bytes(500, schedule=schedule) < ant.predict_bytes(500)
    assert ant.predict_bytes(500, envs=64) > 8 * ant.predict_bytes(500) > 0


@pytest.mark.parametrize("name", SYSTEMS)
def test_forward_and_reverse_mode_are_transposes(name):
    system, random = load(name), np.random.default_rng(3)
    inputs = moved(system, 8)
    tangents = {
        "state": random.normal(size=len(system.state)) * 1e-3,
        "controls": random.normal(size=(8, len(system.control))),
        "params": random.normal(size=len(system.params)) * 1e-2 * system.params.defaults,
    }
    states, tangent = system.jvp(**inputs, tangents=tangents)
    trajectory = system.rollout(**inputs)
    assert np.array_equal(states, trajectory.states)
    bars = random.normal(size=states.shape)
    pulled = trajectory.vjp(bars)
    along = sum(float((pulled[what] * tangents[what]).sum()) for what in tangents)
    assert np.isclose((bars * tangent).sum(), along, rtol=1e-8)


@pytest.mark.parametrize("name", ["cartpole", "arm9"])
def test_jacobians_are_those_of_a_step(name):
    system = load(name)
    inputs = moved(system, 1)
    state, control = inputs["state"], inputs["controls"][0]
    found = system.jacobian(state, control)
    assert np.array_equal(found.next, system.step(state, control))
    trajectory = system.rollout(**inputs)
    for row in range(len(system.state)):
        bars = np.zeros_like(trajectory.states)
        bars[-1, row] = 1.0
        pulled = trajectory.vjp(bars)
        assert np.array_equal(pulled.state, found.A[row])
        assert np.array_equal(pulled.controls[0], found.B[row])
        assert np.array_equal(pulled.params, found.C[row])


def test_what_environments_share_gets_the_sum(cartpole):
    inputs = moved(cartpole, 6, envs=5)
    target = pullback.losses.state_target(cartpole, "*")
    shared = cartpole.gradient(target, **inputs)
    own = cartpole.gradient(target, **inputs, params=np.tile(cartpole.params.defaults, (5, 1)))
    assert shared.params.shape == (len(cartpole.params),) and own.params.shape == (5, len(cartpole.params))
    assert np.array_equal(own.params.sum(axis=0), shared.params)
    assert shared.loss.shape == (5,) and np.array_equal(shared.loss, own.loss)


def test_parts_are_asked_for_by_name(ant):
    target = pullback.losses.state_target(ant, "*.position[0]")
    found = ant.gradient(target, 10, wrt=["params.*.mass", "controls"])
    assert list(found) == ["params.*.mass", "controls"] and found.state is None
    assert np.array_equal(found["params.*.mass"], found.params[ant.params.select("*.mass")])
    assert ant.gradient(target, 10, wrt="state").params is None
    with pytest.raises(pullback.ConfigError, match="was not asked for `state` but for params"):
        found["state"]
    with pytest.raises(pullback.ConfigError, match="`mass` is not state, controls or params"):
        ant.gradient(target, 10, wrt=["mass"])


def test_differences_agree(cartpole):
    inputs = moved(cartpole, 20)
    target = pullback.losses.state_target(cartpole, "*.q") + pullback.losses.effort(cartpole, 0.1)
    found = cartpole.gradient(target, **inputs)
    direction = np.random.default_rng(5).normal(size=inputs["controls"].shape)
    ends = [
        cartpole.value(target, state=inputs["state"], controls=inputs["controls"] + sign * 1e-5 * direction)
        for sign in (1.0, -1.0)
    ]
    assert np.isclose((ends[0] - ends[1]) / 2e-5, (found.controls * direction).sum(), rtol=1e-7)


def test_losses_in_python_may_see_controls(cartpole):
    inputs = moved(cartpole, 6)

    def loss(states, controls):
        return (controls**2).sum(), np.zeros_like(states), 2.0 * controls

    found = cartpole.gradient(loss, **inputs)
    assert np.array_equal(found.controls, 2.0 * inputs["controls"]) and not found.params.any()


def test_wrong_losses_are_refused(cartpole, ant):
    target = pullback.losses.state_target(ant, "*")
    with pytest.raises(pullback.ConfigError, match="the loss was made for another system than cartpole"):
        cartpole.gradient(target, 5)
    with pytest.raises(pullback.ConfigError, match="two different systems"):
        target + pullback.losses.effort(cartpole)
    with pytest.raises(pullback.ConfigError, match="the cotangent of the states needs shape"):
        cartpole.gradient(lambda states, controls: (0.0, states[:-1]), 5)
    with pytest.raises(pullback.ConfigError, match="norm `cubic` is not one of"):
        pullback.losses.state_target(ant, "*", norm="cubic")
    with pytest.raises(ZeroDivisionError):
        cartpole.gradient(lambda states, controls: 1 / 0, 5)


def test_gradients_that_are_not_finite_are_step_errors(pendulum):
    bars = np.full((6, 2), np.inf)
    with pytest.raises(pullback.StepError, match="the gradient with respect to angle became"):
        pendulum.rollout(5).vjp(bars)


def test_gradients_are_checked_three_ways(pendulum):
    report = pendulum.gradcheck()
    assert report.passed and report.checks and "angle" in str(report)
