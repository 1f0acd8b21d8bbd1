"""The same numbers as Rust, to the last bit: `crates/pullback/examples/golden.rs` writes them in the same
run."""

from __future__ import annotations

import os

import numpy as np
import pytest
from conftest import golden, load, of_bits

import pullback

CASES = golden()


@pytest.mark.skipif("PULLBACK_GOLDEN" not in os.environ, reason="cargo xtask test makes the golden file")
def test_there_are_five_systems():
    assert len(CASES) == 5 and sum("batch" in case for case in CASES) == 3


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["system"])
def test_one_environment_has_the_same_bits(case):
    system, steps = load(case["system"]), case["steps"]
    inputs = {
        "state": of_bits(case["state"]),
        "controls": of_bits(case["controls"]).reshape(steps, len(system.control)),
    }
    target = pullback.losses.state_target(system, case["pattern"], running=0.5, terminal=2.0)
    loss = target + pullback.losses.effort(system, 0.01)
    found = system.gradient(loss, **inputs)
    same("states", system.rollout(**inputs).states, case["states"])
    for what, array in (("loss", found.loss), ("state_bar", found.state), ("params_bar", found.params)):
        same(what, array, case[what])
    same("controls_bar", found.controls, case["controls_bar"])


@pytest.mark.parametrize("case", [case for case in CASES if "batch" in case], ids=lambda case: case["system"])
def test_many_environments_have_the_same_bits(case):
    system, steps, case = load(case["system"]), case["steps"], case["batch"] | {"pattern": case["pattern"]}
    state = of_bits(case["state"]).reshape(-1, len(system.state))
    envs = len(state)
    inputs = {
        "state": state,
        "controls": of_bits(case["controls"]).reshape(envs, steps, len(system.control)),
        "params": np.tile(system.params.defaults, (envs, 1)),
    }
    found = system.gradient(pullback.losses.state_target(system, case["pattern"]), **inputs)
    same("final", system.rollout(**inputs).final, case["final"])
    for what, array in (("loss", found.loss), ("state_bar", found.state), ("params_bar", found.params)):
        same(what, array, case[what])
    same("controls_bar", found.controls, case["controls_bar"])


def same(what: str, found: np.ndarray, bits: list[str]) -> None:
    wanted = of_bits(bits)
    found = np.ravel(found)
    assert found.shape == wanted.shape, what
    differ = np.flatnonzero(found.view(np.uint64) != wanted.view(np.uint64))
    assert not len(differ), (
        f"{what}: {len(differ)} of {len(found)} differ, the first {found[differ[0]]} {wanted[differ[0]]}"
    )
