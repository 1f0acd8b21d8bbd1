"""Environments for Gymnasium."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from conftest import MODELS, load
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.passive_env_checker import env_step_passive_checker
from gymnasium.vector import AutoresetMode

import pullback
import pullback.gymnasium
from pullback.gymnasium import Env, VectorEnv

#: Tasks that have a version with few particles.
SMALL = {"rolling-flat", "soft-jumper", "hand-flip", "fluid-move"}

#: Models of Gymnasium's own environments.
ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def hopper(**options: object) -> pullback.Task:
    """A hopper of a file of Gymnasium's that falls within a few steps."""
    system = load(str(ASSETS / "hopper.xml"))
    told: dict[str, object] = {"substeps": 4, "noise": 0.005, "alive": {"rootz.q": (0.7, 10.0)}, **options}
    return pullback.Task.of_model(system, **told)


def actions_of(env: VectorEnv, steps: int) -> np.ndarray:
    random = np.random.default_rng(5)
    return random.uniform(-1.0, 1.0, (steps, *env.action_space.shape)).astype(np.float32)


@pytest.mark.parametrize("name", pullback.gymnasium.ids().values())
def test_every_task_passes_the_checker_of_environments(name: str) -> None:
    task = pullback.Task(name, small=name in SMALL)
    env = Env(task)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Observations have no bounds, and environments made here have no specification.
        warnings.filterwarnings("ignore", message=".*(infinity|spec|render).*")
        check_env(env, skip_render_check=True)


def test_every_name_makes_an_environment_and_environments() -> None:
    assert {"pullback/Ant-v0", "pullback/AntMujoco-v0", "pullback/Pendulum1-v0"} <= set(gymnasium.registry)
    assert set(pullback.gymnasium.ids().values()) == set(pullback.environments())
    env = gymnasium.make("pullback/Cartpole-v0")
    assert env.spec is not None and env.spec.id == "pullback/Cartpole-v0"
    seen, _ = env.reset(seed=1)
    assert seen.shape == (5,) and seen.dtype == np.float32
    # The passive checker of `make` watches each step.
    for _ in range(3):
        env.step(env.action_space.sample())
    env_step_passive_checker(env.unwrapped, np.zeros(1, np.float32))
    envs = gymnasium.make_vec("pullback/Cartpole-v0", num_envs=20)
    assert isinstance(envs.unwrapped, VectorEnv) and envs.reset(seed=1)[0].shape == (20, 5)


def test_one_environment_is_the_first_of_many() -> None:
    env, envs = Env("cartpole"), VectorEnv("cartpole", 19, threads=2)
    seen, _ = env.reset(seed=11)
    seen_all, _ = envs.reset(seed=11)
    assert np.array_equal(seen, seen_all[0]) and not np.array_equal(seen_all[0], seen_all[1])
    for actions in actions_of(envs, 5):
        one, many = env.step(actions[0]), envs.step(actions)
        assert np.array_equal(one[0], many[0][0]) and one[1] == many[1][0]


def test_rewards_are_losses_of_rollouts_of_one_control() -> None:
    system = load(str(ASSETS / "hopper.xml"))
    loss = pullback.losses.state_target(system, "rootx.v", 2.0) + pullback.losses.effort(system, 0.1)
    task = hopper(loss=loss, bonus=1.5)
    envs = VectorEnv(task, 3, precision="f64")
    before, _ = envs.reset(seed=2)
    assert task.observed == tuple(system.state.entries)
    for actions in actions_of(envs, 3):
        after, rewards, *_ = envs.step(actions)
        low, high = system.control.lower, system.control.upper
        controls = 0.5 * (low + high) + 0.5 * (high - low) * actions.astype(float)
        found = system.value(loss, state=before.astype(float), controls=controls[:, None], substeps=4)
        # Observations are single precision, and contacts are stiff.
        assert np.allclose(rewards, 1.5 - found, atol=2e-3), (rewards, found)
        before = after


def test_rewards_and_ends_in_python_see_names() -> None:
    def reward(before, action, after):
        assert before["rootx.q"].shape == (4,) and before["root?.q"].shape == (4, 3)
        return after["rootx.v"] - 0.1 * (action**2).sum(axis=1)

    envs = VectorEnv(
        hopper(alive=None),
        4,
        reward=reward,
        terminated=lambda seen: np.abs(seen["rooty.q"]) > 0.05,
        autoreset_mode="SameStep",
    )
    envs.reset(seed=3)
    names, ended = list(envs.task.observed), 0
    for actions in actions_of(envs, 60):
        seen, rewards, terminated, _, infos = envs.step(actions)
        final = np.stack([infos["final_obs"][i] if terminated[i] else seen[i] for i in range(4)])
        wanted = final[:, names.index("rootx.v")] - 0.1 * (actions**2).sum(axis=1)
        assert np.allclose(rewards, wanted, atol=1e-5)
        assert not terminated.any() or (np.abs(final[terminated, names.index("rooty.q")]) > 0.05).all()
        assert (np.abs(seen[:, names.index("rooty.q")]) <= 0.05).all(), "a new episode has begun"
        ended += int(terminated.sum())
    assert ended > 0
    with pytest.raises(pullback.ConfigError, match="one value for each"):
        bad = VectorEnv(hopper(), 4, reward=lambda *_: 1.0)
        bad.reset(seed=1)
        bad.step(np.zeros((4, 3), np.float32))


def histories(mode: AutoresetMode, steps: int) -> list[list[tuple]]:
    """What each environment goes through, without the steps that only begin an episode."""
    envs = VectorEnv(
        hopper(episode_length=7), 5, reward=lambda _, __, after: after["rootx.v"], autoreset_mode=mode
    )
    current, _ = envs.reset(seed=9)
    random = [np.random.default_rng(i) for i in range(5)]
    found: list[list[tuple]] = [[] for _ in range(5)]
    over = np.zeros(5, bool)
    for _ in range(steps):
        actions = np.zeros((5, 3), np.float32)
        for i in np.flatnonzero(~over):
            actions[i] = random[i].uniform(-1.0, 1.0, 3)
        seen, rewards, terminated, truncated, infos = envs.step(actions)
        done = terminated | truncated
        for i in range(5):
            if over[i]:
                assert rewards[i] == 0.0 and not done[i]
                continue
            last = infos["final_obs"][i] if mode is AutoresetMode.SAME_STEP and done[i] else seen[i]
            found[i].append((current[i].copy(), last.copy(), rewards[i], terminated[i], truncated[i]))
        current = seen
        if mode is AutoresetMode.NEXT_STEP:
            over = done
        elif mode is AutoresetMode.DISABLED and done.any():
            with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
                envs.step(actions)
            current, _ = envs.reset(options={"reset_mask": done})
    return found


def test_all_autoreset_modes_tell_the_same_episodes() -> None:
    modes = {mode: histories(mode, 40) for mode in AutoresetMode}
    same = modes[AutoresetMode.SAME_STEP]
    ends = sum(step[3] or step[4] for one in same for step in one)
    assert ends > 10
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
        for one, other in zip(same, modes[mode], strict=True):
            assert len(other) > 25
            for a, b in zip(one, other, strict=False):
                assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)), mode


def test_what_makes_no_sense_is_refused_by_name(tmp_path: Path) -> None:
    cases = [
        (lambda: Env("no-such-task"), "no-such-task"),
        (lambda: Env("cartpole", render_mode="ansi"), "ansi"),
        (lambda: Env("cartpole", reward=lambda *_: 0.0), "cartpole is a built-in task"),
        (lambda: VectorEnv("cartpole", 2, precision="f16"), "f16"),
        (lambda: VectorEnv("cartpole", 2).reset(seed=[1, 2]), "one seed"),
        (lambda: VectorEnv("cartpole", 2).reset(options={"low": 0}), "low"),
        (lambda: hopper(alive={"rootz.q": (1.0, 0.0)}), "lower end first"),
        (lambda: hopper(substeps=0), "substeps"),
        (lambda: pullback.Task.of_model(pullback.load("pendulum")), "robots of files"),
        (lambda: pullback.train(hopper(name="mine"), tmp_path), "preset"),
    ]
    for wrong, said in cases:
        with pytest.raises(pullback.ConfigError, match=said):
            wrong()
    with pytest.raises(pullback.ConfigError, match="action 0 of environment 1 is NaN"):
        envs = VectorEnv("cartpole", 2)
        envs.reset(seed=0)
        envs.step(np.array([[0.0], [np.nan]], np.float32))
    with pytest.raises(gymnasium.error.ResetNeeded):
        Env("cartpole").step(np.zeros(1, np.float32))


def test_pictures_show_the_state_and_people_see_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gymnasium.make("pullback/Cartpole-v0", render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    assert first.dtype == np.uint8 and first.shape[2] == 3
    for _ in range(20):
        env.step(np.ones(1, np.float32))
    assert (env.render() != first).any()
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    env = gymnasium.make("pullback/Cartpole-v0", render_mode="human")
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.zeros(1, np.float32))
    assert env.unwrapped.replay.html.startswith("<!doctype html>")
    env.close()
    assert len(shown) == 1 and shown[0].startswith("file://")


def test_a_policy_is_trained_for_a_robot_of_a_file(tmp_path: Path) -> None:
    system = load(str(MODELS / "cartpole.xml"))
    loss = pullback.losses.state_target(system, "*", running=0.0)
    task = pullback.Task.of_model(system, loss, noise=0.05, substeps=4, episode_length=32, name="upright")
    settings = {"epochs": 3, "envs": 16}
    told = pullback.train(
        task, tmp_path, algorithm="shac", preset="dflex-cartpole", settings=settings, episodes=16, threads=1
    )
    assert told.epochs == 3 and np.isfinite(told.return_mean)
    # A task of another loss does not go on with that run.
    other = pullback.Task.of_model(system, noise=0.05, substeps=4, episode_length=32, name="upright")
    with pytest.raises(pullback.ConfigError):
        pullback.train(other, tmp_path, algorithm="shac", preset="dflex-cartpole", settings=settings, threads=1)


def test_a_robot_of_gymnasiums_files_learns_by_shac(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = MODELS.parent / "python" / "examples" / "train_own_robot.py"
    monkeypatch.setattr("sys.argv", [str(program), str(tmp_path / "run"), "60"])
    runpy.run_path(str(program))
    # Without control the pole falls within 20 steps, at a return of about -30.
    assert float(capsys.readouterr().out.split("Return ")[1].split()[0]) > 150.0
