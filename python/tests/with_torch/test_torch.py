"""Rollouts as operators of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import load, moved

import pullback

torch = pytest.importorskip("torch")

SYSTEMS = ["pendulum", "double-pendulum", "cartpole", "arm9", "ant"]


def tensors(system, steps, envs=None, grad=False):
    return {
        what: torch.from_numpy(array).requires_grad_(grad) for what, array in moved(system, steps, envs).items()
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_gradients_pass_the_check_of_torch(name):
    system = load(name)
    inputs = tensors(system, 4, grad=True)
    params = torch.from_numpy(system.params.defaults.copy())
    scale = torch.ones(len(params), dtype=torch.float64, requires_grad=True)

    def final(state, controls, scale):
        return pullback.torch.rollout(system, state, controls, params * scale)[-1]

    assert torch.autograd.gradcheck(
        final, (*inputs.values(), scale), eps=1e-6, atol=1e-5, rtol=1e-4, fast_mode=len(params) > 20
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_bits_are_those_of_numpy(name):
    system = load(name)
    for envs in (None, 11):
        inputs = tensors(system, 6, envs, grad=True)
        wanted = system.rollout(**{what: x.detach().numpy() for what, x in inputs.items()})
        states = pullback.torch.rollout(system, **inputs)
        assert np.array_equal(states.detach().numpy(), wanted.states)
        bars = np.random.default_rng(1).normal(size=states.shape)
        states.backward(torch.from_numpy(bars))
        found = wanted.vjp(bars)
        assert np.array_equal(inputs["state"].grad.numpy(), found.state)
        assert np.array_equal(inputs["controls"].grad.numpy(), found.controls)


def test_tensors_cross_without_copies(cartpole, monkeypatch):
    seen = []
    call = pullback.torch._call
    monkeypatch.setattr(
        pullback.torch, "_call", lambda operator, work, *t: seen.append(t) or call(operator, work, *t)
    )
    inputs = tensors(cartpole, 5, envs=3)
    pullback.torch.rollout(cartpole, **inputs)
    ((state, controls, _),) = seen
    assert (
        state.data_ptr() == inputs["state"].data_ptr() and controls.data_ptr() == inputs["controls"].data_ptr()
    )


def test_tensors_in_any_order_give_the_same(cartpole):
    inputs = tensors(cartpole, 5, envs=3)
    wanted = pullback.torch.rollout(cartpole, **inputs)
    turned = {what: x.movedim(0, -1).contiguous().movedim(-1, 0) for what, x in inputs.items()}
    assert not turned["controls"].is_contiguous()
    assert torch.equal(pullback.torch.rollout(cartpole, **turned), wanted)


def test_functional_transformations_go_through(cartpole):
    inputs = tensors(cartpole, 6, envs=5)
    params = torch.from_numpy(cartpole.params.defaults.copy())
    wanted = pullback.torch.rollout(cartpole, **inputs)
    mapped = torch.func.vmap(lambda x, u: pullback.torch.rollout(cartpole, x, u))(*inputs.values())
    assert torch.equal(mapped, wanted)

    def loss(state, controls, params):
        return (pullback.torch.rollout(cartpole, state, controls, params)[-1] ** 2).sum()

    each = torch.func.vmap(torch.func.grad(loss, argnums=2), in_dims=(0, 0, None))(*inputs.values(), params)
    target = pullback.losses.state_target(cartpole, "*")
    arrays = {what: x.numpy() for what, x in inputs.items()}
    own = cartpole.gradient(target, **arrays, params=np.tile(params.numpy(), (5, 1)))
    assert np.array_equal(each.numpy(), own.params)
    varied = params * torch.linspace(0.9, 1.1, 5, dtype=torch.float64)[:, None]
    each = torch.func.vmap(torch.func.grad(loss, argnums=2))(*inputs.values(), varied)
    assert np.array_equal(each.numpy(), cartpole.gradient(target, **arrays, params=varied.numpy()).params)
    total = torch.func.grad(lambda p: torch.func.vmap(loss, in_dims=(0, 0, None))(*inputs.values(), p).sum())(
        params
    )
    assert np.allclose(total.numpy(), own.params.sum(axis=0), rtol=1e-12)
    matrix = torch.func.jacrev(lambda x: pullback.torch.step(cartpole, x, inputs["controls"][0, 0]))(
        inputs["state"][0]
    )
    jacobian = cartpole.jacobian(arrays["state"][0], arrays["controls"][0, 0]).A
    assert np.allclose(matrix.numpy(), jacobian, rtol=1e-9, atol=1e-12)


def test_a_compiled_graph_has_no_break(cartpole):
    inputs = tensors(cartpole, 6, envs=3, grad=True)

    def loss(state, controls):
        return (pullback.torch.rollout(cartpole, state, controls * 2.0) ** 2).sum()

    wanted = torch.autograd.grad(loss(**inputs), list(inputs.values()))
    pullback.torch.rollout(cartpole, **inputs)
    compiled = torch.compile(loss, fullgraph=True)
    found = torch.autograd.grad(compiled(**inputs), list(inputs.values()))
    assert all(torch.allclose(a, b, rtol=1e-12) for a, b in zip(found, wanted, strict=True))


def test_a_module_learns_a_length(pendulum):
    state = torch.tensor([0.5, 0.0], dtype=torch.float64)
    controls = torch.zeros(40, 1, dtype=torch.float64)
    truth = torch.from_numpy(pendulum.rollout(40, state=state.numpy(), params={"length": 1.3}).states)
    module = pullback.torch.Rollout(pendulum, learned="length")
    assert [name for name, _ in module.named_parameters()] == ["learned"]
    optimizer = torch.optim.LBFGS(
        module.parameters(),
        max_iter=30,
        tolerance_grad=1e-12,
        tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimizer.zero_grad()
        loss = ((module(state, controls) - truth) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert abs(module.learned.item() - 1.3) < 1e-5


def test_single_precision_is_widened_and_narrowed(cartpole):
    inputs = {what: x.float().requires_grad_() for what, x in tensors(cartpole, 5, envs=2).items()}
    states = pullback.torch.rollout(cartpole, **inputs)
    assert states.dtype == torch.float32
    states.sum().backward()
    assert inputs["state"].grad.dtype == torch.float32


@pytest.mark.parametrize("linear", [True, False])
def test_second_derivatives_are_refused(cartpole, linear):
    inputs = tensors(cartpole, 4, grad=True)
    states = pullback.torch.rollout(cartpole, **inputs)
    loss = states.sum() if linear else (states**2).sum()
    (slope,) = torch.autograd.grad(loss, inputs["state"], create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives of a rollout are not implemented"):
        (slope**2).sum().backward()
    with pytest.raises(RuntimeError, match="second derivatives of a rollout are not implemented"):
        torch.autograd.grad((slope**2).sum(), inputs["state"])


def test_a_loss_of_torch_serves_gradients_of_systems(cartpole):
    loss = pullback.torch.loss(
        lambda states, controls: (states[..., -1, :] ** 2).sum(-1) + 0.1 * (controls**2).sum((-2, -1))
    )
    ours = pullback.losses.state_target(cartpole, "*") + pullback.losses.effort(cartpole, 0.1)
    for envs in (None, 4):
        inputs = moved(cartpole, 7, envs=envs)
        found, wanted = cartpole.gradient(loss, **inputs), cartpole.gradient(ours, **inputs)
        assert np.allclose(found.loss, wanted.loss, rtol=1e-12)
        assert np.allclose(found.params, wanted.params, rtol=1e-9, atol=1e-12)


def test_errors_keep_their_type_and_text(pendulum, cartpole):
    params = torch.tensor([1e-200, 1.0, 0.0, 9.81], dtype=torch.float64)
    with pytest.raises(pullback.StepError, match="reduce the time step"):
        pullback.torch.rollout(
            pendulum,
            torch.tensor([1.0, 0.0], dtype=torch.float64),
            torch.zeros(200, 1, dtype=torch.float64),
            params,
        )
    with pytest.raises(pullback.ConfigError, match=r"state must end in \(4\), got shape \(3,\)"):
        pullback.torch.rollout(cartpole, torch.zeros(3), torch.zeros(5, 1))
    with pytest.raises(pullback.ConfigError, match="must be real numbers on the CPU"):
        pullback.torch.rollout(cartpole, torch.zeros(4, dtype=torch.int64), torch.zeros(5, 1))


def test_pictures_pass_the_check_of_torch_and_find_a_pose(cartpole):
    camera = pullback.Camera(cartpole, target=(0.0, 0.0, 0.0), distance=4.0, size=(24, 16), softness=2.0)
    state = torch.from_numpy(cartpole.state.defaults + 0.1)
    assert torch.autograd.gradcheck(
        lambda x: pullback.torch.render(camera, x), state.clone().requires_grad_(), atol=1e-5, rtol=1e-3
    )
    rows = torch.stack([state, state + 0.05])
    assert torch.equal(
        torch.func.vmap(lambda x: pullback.torch.render(camera, x))(rows), pullback.torch.render(camera, rows)
    )
    wanted = pullback.torch.render(camera, state).detach()

    def loss(x):
        return ((pullback.torch.render(camera, x) - wanted) ** 2).sum()

    slope = torch.func.grad(loss)(state + 0.02)
    assert slope[:2].abs().min() > 0.0 and loss(state + 0.02 - 1e-5 * slope) < loss(state + 0.02)
    x = state.clone().requires_grad_()
    (slope,) = torch.autograd.grad(pullback.torch.render(camera, x).pow(2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives of a picture are not implemented"):
        slope.sum().backward()
