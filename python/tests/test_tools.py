"""Searches, identification, planning, pictures and pages."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import load

import pullback


def swing(pendulum):
    """How far a pendulum of unknown length is from where one of 1.3 m would be."""
    target = pendulum.rollout(60, state={"angle": 0.5}, params={"length": 1.3}).named["angle"][-1]
    loss = pullback.losses.state_target(pendulum, "angle", at=target)
    return pendulum.objective(loss, "params.length", 60, state={"angle": 0.5}, bounds=[(0.8, 2.0)])


def test_a_search_over_rollouts_finds_a_length(pendulum):
    objective = swing(pendulum)
    assert objective.names == ["params.length"] and objective.bounds == [(0.8, 2.0)] and len(objective) == 1
    found = pullback.optimize(objective, method="lbfgs", budget=40)
    assert abs(found["params.length"] - 1.3) < 1e-5 and found.loss < 1e-10
    assert found.losses.min() == found.loss and len(found.losses) <= 40
    again = pullback.optimize(objective, method="lbfgs", budget=40)
    assert np.array_equal(found.x, again.x)


def test_an_objective_is_what_scipy_takes(pendulum):
    objective = swing(pendulum)
    loss, gradient = objective(objective.start)
    (high, _), (low, _) = objective(objective.start + 1e-6), objective(objective.start - 1e-6)
    assert np.isclose(gradient[0], (high - low) / 2e-6, rtol=1e-6) and loss > 0.0


def test_a_function_of_python_is_an_objective():
    def bowl(x):
        return ((x - 0.3) ** 2).sum(), 2.0 * (x - 0.3)

    objective = pullback.Objective.function(bowl, [(-1.0, 1.0)] * 3, names=["a", "b", "c"])
    found = pullback.optimize(objective, method="lbfgs", budget=30)
    assert np.allclose(found.x, 0.3, atol=1e-6) and np.isclose(found["b"], 0.3)
    assert pullback.doctor(objective, points=8, lines=3).verdict == "trustworthy"

    def failing(x):
        if x[0] < 0.0:
            raise pullback.StepError("it fell over")
        return bowl(x)

    found = pullback.optimize(
        pullback.Objective.function(failing, [(-1.0, 1.0)] * 2), method="random", budget=40
    )
    assert 0 < found.failures < 40 and np.isinf(found.losses).sum() == found.failures
    with pytest.raises(ZeroDivisionError):
        pullback.optimize(pullback.Objective.function(lambda x: 1 / 0, [(0.0, 1.0)]), method="random", budget=5)
    with pytest.raises(pullback.ConfigError, match="the gradient has 2 entries for 1 variables"):
        wrong = pullback.Objective.function(lambda x: (0.0, np.zeros(2)), [(0.0, 1.0)])
        pullback.optimize(wrong, method="random", budget=5)


def test_a_search_goes_on_from_its_log(pendulum, tmp_path):
    objective, log = swing(pendulum), tmp_path / "run.jsonl"
    first = pullback.optimize(objective, method="random", budget=10, log=log)
    more = pullback.optimize(objective, method="random", budget=15, log=log)
    assert more.resumed == 10 and np.array_equal(more.losses[:10], first.losses)


def test_tasks_have_landscapes_and_diagnoses():
    assert {"point-bounce", "rope"} <= set(pullback.tasks()) and "bo-leap" in pullback.methods()
    seen = pullback.landscape("point-bounce", points=(5, 4))
    assert seen.values.shape == (4, 5) and seen.adjoint.shape == (4, 5, 2)
    assert np.median(np.abs(seen.adjoint - seen.difference)) < 1e-3 * np.abs(seen.adjoint).max()
    assert pullback.doctor("point-bounce", points=6, lines=2).verdict in {"trustworthy", "rugged", "misleading"}
    with pytest.raises(pullback.ConfigError, match="no task is called `ropee`"):
        pullback.optimize("ropee")
    with pytest.raises(pullback.ConfigError, match="no search method is called"):
        pullback.optimize("point-bounce", method="magic")


def test_parameters_are_found_in_recordings(pendulum, tmp_path):
    truth = pendulum.rollout(100, state={"angle": 1.0}, params={"length": 1.2, "damping": 0.3})
    noise = np.random.default_rng(0).normal(size=101) * 1e-3
    recording = {"time": truth.times, "angle": truth.named["angle"][:, 0] + noise, "rate": np.full(101, np.nan)}
    recording["rate"][0] = 0.0
    found = pendulum.identify(recording, ["length", "damping"], free="angle")
    for name, wanted in (("length", 1.2), ("damping", 0.3)):
        assert abs(found[name].value - wanted) < 5 * found[name].error < 0.05
    file = tmp_path / "swing.csv"
    rows = [f"{t},{a}" for t, a in zip(recording["time"], recording["angle"], strict=True)]
    file.write_text("time,angle\n" + "\n".join(rows) + "\n")
    from_file = pendulum.identify(file, "length,damping", free="angle")
    assert np.isclose(from_file.params["length"], found.params["length"], rtol=1e-3)
    with pytest.raises(pullback.ConfigError, match="no column is called `time`"):
        pendulum.identify({"angle": [0.0, 1.0]}, "length")
    with pytest.raises(pullback.ConfigError, match="times must increase, and 0 follows 0"):
        pendulum.identify({"time": [0.0, 0.0], "angle": [0.0, 1.0]}, "length")


def test_an_episode_is_planned():
    episode = pullback.mpc("cartpole-swing-up", planner="gradient", time=0.4, seed=1)
    assert episode.states.shape[0] == episode.controls.shape[0] + 1 == len(episode.costs)
    assert np.isclose(episode.costs.sum(), episode.cost) and not episode.solved
    again = pullback.mpc("cartpole-swing-up", planner="gradient", time=0.4, seed=1, threads=1)
    assert np.array_equal(episode.controls, again.controls)
    with pytest.raises(pullback.ConfigError, match="targets belongs to model files"):
        pullback.mpc("acrobot", targets={"tip": (0, 0, 2)})


def test_states_are_seen_and_played(ant, tmp_path):
    picture = ant.render("home", size=(64, 48))
    assert picture.shape == (48, 64, 3) and picture.dtype == np.uint8 and len(np.unique(picture)) > 8
    assert not np.array_equal(picture, ant.render("home", size=(64, 48), azimuth=10.0))
    trajectory = ant.rollout(20, state="home")
    page = trajectory.replay()
    assert (
        page._repr_html_().startswith("<iframe srcdoc=")
        and page.save(tmp_path / "ant.html").read_text() == page.html
    )
    with pytest.raises(pullback.ConfigError, match="there are no pages of this scene"):
        load("smoke-plume-2d").rollout(1).replay()
    with pytest.raises(pullback.ConfigError, match="distance must be positive"):
        ant.render(distance=-1.0)


def test_a_camera_sees_with_gradients(cartpole):
    camera = pullback.Camera(cartpole, target=(0.0, 0.0, 0.0), distance=4.0, size=(24, 16), softness=2.0)
    state = cartpole.state.defaults + 0.1
    picture = camera.draw(state)
    assert picture.shape == (16, 24, 4) and 0.0 < picture[..., 3].mean() < 1.0
    bar = np.random.default_rng(0).normal(size=picture.shape)
    state_bar, params_bar = camera.vjp(bar, state)
    for entry in range(2):
        shift = np.zeros_like(state)
        shift[entry] = 1e-6
        difference = (camera.draw(state + shift) - camera.draw(state - shift)) / 2e-6
        assert np.isclose((difference * bar).sum(), state_bar[entry], rtol=1e-4, atol=1e-6)
    assert params_bar.shape == (len(cartpole.params),) and params_bar.any()
    assert camera.draw(np.stack([state] * 3)).shape == (3, 16, 24, 4)
    with pytest.raises(pullback.ConfigError, match="only robots of files are seen"):
        pullback.Camera(load("pendulum"))
    with pytest.raises(pullback.ConfigError, match="distance must be positive"):
        pullback.Camera(cartpole, distance=-1.0)


def test_models_are_inspected(ant):
    model = ant.model
    assert model["nq"] + model["nv"] == len(ant.state) and model["nu"] == len(ant.control)
    assert {joint["kind"] for joint in model["joints"]} == {"free", "hinge"}
    assert sum(body["mass"] for body in model["bodies"]) > 0.0 and model["timestep"] == ant.dt
    with pytest.raises(pullback.ConfigError, match="only the robots of files have a model"):
        _ = load("pendulum").model


def test_a_policy_is_learned_and_goes_on(tmp_path):
    seen = []
    how = {"algorithm": "shac", "settings": {"envs": 16}, "episodes": 8}
    first = pullback.train("cartpole", tmp_path, **how, stop_after=2, watch=seen.append)
    assert [at["epoch"] for at in seen] == [1, 2] and np.isfinite(first.return_mean) and first.epochs == 2
    more = pullback.train("cartpole", tmp_path, **how, stop_after=3)
    assert (more.resumed, more.epochs) == (2, 3) and len(more.metrics["epoch"]) == 3
    assert (tmp_path / "policy.onnx").stat().st_size > 1000
    with pytest.raises(pullback.ConfigError, match="cartpoll"):
        pullback.train("cartpoll", tmp_path / "other")
    with pytest.raises(pullback.ConfigError, match="is not one of f32, f64"):
        pullback.train("cartpole", tmp_path / "other", precision="f16")

    def stop(at):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pullback.train("cartpole", tmp_path / "stopped", **how, stop_after=1, watch=stop)
