"""Rollouts inside programs of JAX."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import load, moved

import pullback

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

SYSTEMS = ["pendulum", "double-pendulum", "cartpole", "arm9", "ant"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_gradients_pass_the_check_of_jax(name):
    from jax.test_util import check_grads

    system = load(name)
    inputs = moved(system, 5)
    params = system.params.defaults

    # Parameters differ by orders of magnitude: their logarithms' scale is 1.
    def final(state, controls, scale):
        return pullback.jax.rollout(system, state, controls, params * scale)[-1]

    scale = np.ones_like(params)
    check_grads(
        final,
        (inputs["state"], inputs["controls"], scale),
        order=1,
        modes=["rev"],
        atol=1e-5,
        rtol=1e-5,
        eps=1e-6,
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_bits_are_those_of_numpy(name):
    system = load(name)
    for envs in (None, 11):
        inputs = moved(system, 6, envs=envs)
        wanted = system.rollout(**inputs)
        states, pull = jax.vjp(
            lambda x, u: pullback.jax.rollout(system, x, u), inputs["state"], inputs["controls"]
        )
        assert np.array_equal(states, wanted.states)
        bars = np.random.default_rng(1).normal(size=states.shape)
        state_bar, controls_bar = pull(bars)
        found = wanted.vjp(bars)
        assert np.array_equal(state_bar, found.state) and np.array_equal(controls_bar, found.controls)


def test_jit_vmap_and_scan_go_through(cartpole):
    inputs = moved(cartpole, 6, envs=5)
    wanted = cartpole.rollout(**inputs).states
    one = pullback.jax.Rollout(cartpole)
    assert np.array_equal(jax.jit(one)(**{k: jnp.asarray(v) for k, v in inputs.items()}), wanted)
    assert np.array_equal(jax.jit(jax.vmap(one))(inputs["state"], inputs["controls"]), wanted)

    def body(state, control):
        following = pullback.jax.step(cartpole, state, control)
        return following, following

    controls = inputs["controls"].swapaxes(0, 1)
    _, states = jax.jit(lambda x, u: jax.lax.scan(body, x, u))(inputs["state"], controls)
    assert np.array_equal(states.swapaxes(0, 1), wanted[:, 1:])


def test_vmap_of_grad_gives_the_gradient_of_each_environment(cartpole):
    inputs = moved(cartpole, 6, envs=5)

    def loss(state, controls, params):
        return (pullback.jax.rollout(cartpole, state, controls, params)[-1] ** 2).sum()

    params = jnp.asarray(cartpole.params.defaults)
    each = jax.jit(jax.vmap(jax.grad(loss, argnums=2), in_axes=(0, 0, None)))(*inputs.values(), params)
    wanted = cartpole.gradient(
        pullback.losses.state_target(cartpole, "*"), **inputs, params=np.tile(cartpole.params.defaults, (5, 1))
    )
    assert np.array_equal(each, wanted.params)
    total = jax.grad(lambda p: jax.vmap(loss, in_axes=(0, 0, None))(*inputs.values(), p).sum())(params)
    assert np.allclose(total, wanted.params.sum(axis=0), rtol=1e-12)


def test_single_precision_is_that_of_jax_alone(ant):
    inputs = {what: array.astype(np.float32) for what, array in moved(ant, 10, envs=3).items()}
    params = ant.params.defaults.astype(np.float32)

    def final(state, controls):
        return pullback.jax.rollout(ant, state, controls, params)[..., -1, :]

    states, pull = jax.vjp(jax.jit(final), inputs["state"], inputs["controls"])
    assert states.dtype == jnp.float32
    wide = {what: array.astype(float) for what, array in inputs.items()}
    wanted = ant.rollout(**wide, params=np.tile(params.astype(float), (3, 1)))
    assert np.array_equal(states, wanted.final.astype(np.float32))
    bars = np.zeros_like(wanted.states)
    bars[:, -1] = 1.0
    state_bar, _ = pull(np.ones_like(states))
    assert np.array_equal(state_bar, wanted.vjp(bars).state.astype(np.float32))


def test_a_loss_of_jax_serves_gradients_of_systems(cartpole):
    loss = pullback.jax.loss(
        lambda states, controls: (states[..., -1, :] ** 2).sum(-1) + 0.1 * (controls**2).sum((-2, -1))
    )
    ours = pullback.losses.state_target(cartpole, "*") + pullback.losses.effort(cartpole, 0.1)
    for envs in (None, 4):
        inputs = moved(cartpole, 7, envs=envs)
        found, wanted = cartpole.gradient(loss, **inputs), cartpole.gradient(ours, **inputs)
        assert np.allclose(found.loss, wanted.loss, rtol=1e-12)
        assert np.allclose(found.params, wanted.params, rtol=1e-9, atol=1e-12)
        assert np.allclose(found.controls, wanted.controls, rtol=1e-9, atol=1e-12)


def test_errors_are_errors_of_jax(pendulum, cartpole):
    with pytest.raises(Exception, match="became (NaN|inf|-inf) in step"):
        jax.block_until_ready(
            jax.jit(pullback.jax.Rollout(pendulum))(
                jnp.array([1.0, 0.0]), jnp.zeros((200, 1)), jnp.array([1e-200, 1.0, 0.0, 9.81])
            )
        )
    with pytest.raises(pullback.ConfigError, match=r"state must end in \(4\), got shape \(3,\)"):
        pullback.jax.rollout(cartpole, jnp.zeros(3), jnp.zeros((5, 1)))


def test_the_handler_itself_refuses_what_does_not_fit(cartpole):
    pullback.jax.Rollout(cartpole)
    n, m, p = len(cartpole.state), len(cartpole.control), len(cartpole.params)
    call = jax.ffi.ffi_call("pullback_rollout", jax.ShapeDtypeStruct((6, n), jnp.float64))
    fit = [jnp.zeros(n), jnp.zeros((5, m)), jnp.asarray(cartpole.params.defaults)]
    number = np.int64(next(iter(cartpole._xla_numbers.values())))
    assert call(*fit, operator=number).shape == (6, n)
    for arguments, attributes, told in [
        (fit, {"operator": np.int64(10**6)}, "no system has the number 1000000"),
        (fit, {"operator": np.int32(0)}, "no 64-bit integer"),
        (fit, {}, "there is no attribute `operator`"),
        ([jnp.zeros(n + 1), *fit[1:]], {"operator": number}, "state of 1 environments must end in"),
        ([*fit[:2], jnp.zeros((2, p))], {"operator": number}, "params of 1 environments must end in"),
        ([*fit[:2], fit[2].astype(int)], {"operator": number}, "must be float32 or float64"),
    ]:
        with pytest.raises(Exception, match=told):
            jax.block_until_ready(call(*arguments, **attributes))


def test_what_is_not_there_is_an_error_and_never_a_wrong_number(cartpole):
    inputs = moved(cartpole, 3)

    def loss(state):
        return (pullback.jax.rollout(cartpole, state, inputs["controls"])[-1] ** 2).sum()

    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(loss, (jnp.asarray(inputs["state"]),), (jnp.ones(len(cartpole.state)),))
    with pytest.raises(Exception, match="ffi_call|cannot be differentiated|Differentiation"):
        jax.grad(lambda x: jax.grad(loss)(x).sum())(jnp.asarray(inputs["state"]))
