"""What the tests share: systems of all kinds, loaded once."""

from __future__ import annotations

import json
import os
import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback

#: Where models lie in a checkout.
MODELS = Path(__file__).parents[2] / "models"


@cache
def load(name: str, **options: Any) -> pullback.System:
    return pullback.load(name, **options)


@pytest.fixture(scope="session")
def ant() -> pullback.System:
    """A robot with contacts, on lanes."""
    return load("ant")


@pytest.fixture(scope="session")
def pendulum() -> pullback.System:
    """A built-in scene of two numbers."""
    return load("pendulum")


@pytest.fixture(scope="session")
def cartpole() -> pullback.System:
    """A robot with controls and without contacts."""
    return load("cartpole")


def moved(system: pullback.System, steps: int, envs: int | None = None, seed: int = 0) -> dict[str, np.ndarray]:
    """A start and controls off all symmetries."""
    random = np.random.default_rng(seed)
    lead = () if envs is None else (envs,)
    state = system.state.defaults + random.uniform(-0.01, 0.01, (*lead, len(system.state)))
    controls = random.uniform(-0.3, 0.3, (*lead, steps, len(system.control)))
    return {"state": state, "controls": controls}


def golden() -> list[dict[str, Any]]:
    """What the program in Rust has written, if a run of tests made it."""
    path = os.environ.get("PULLBACK_GOLDEN")
    return json.loads(Path(path).read_text())["cases"] if path else []


def of_bits(texts: list[str]) -> np.ndarray:
    return np.array([struct.unpack(">d", bytes.fromhex(text))[0] for text in texts], dtype=np.float64)
