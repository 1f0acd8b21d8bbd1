"""Environments for Gymnasium: every task by name, and any MJCF file.

>>> import gymnasium
>>> import pullback.gymnasium
>>> env = gymnasium.make("pullback/Ant-v0", render_mode="rgb_array")
>>> envs = gymnasium.make_vec("pullback/Ant-v0", num_envs=64)

Names are known as soon as this module is imported; where the package is installed Gymnasium imports it by
itself.

A robot of your own is a `pullback.Task`: ``Env(task, reward=...)``, ``VectorEnv(task, 64, reward=...)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pullback.gymnasium._names import ids, register

if TYPE_CHECKING:
    from pullback.gymnasium._env import Env
    from pullback.gymnasium._vector import VectorEnv

_HOMES = {"Env": "_env", "VectorEnv": "_vector"}

__all__ = ["Env", "VectorEnv", "ids", "register"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pullback.gymnasium' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"pullback.gymnasium.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


register()
