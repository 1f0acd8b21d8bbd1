"""Names of tasks in Gymnasium's registry."""

from __future__ import annotations

from gymnasium.envs.registration import register as register_env
from gymnasium.envs.registration import registry

from pullback import _pullback


def ids() -> dict[str, str]:
    """Gymnasium's name of each task: ``pullback/Ant-v0`` of ``ant``."""
    return {f"pullback/{_camel(name)}-v0": name for name, _ in _pullback.catalog("environments")}


def register() -> None:
    """Make all tasks known to Gymnasium, as importing `pullback.gymnasium` does. Doing so again is harmless."""
    for name, task in ids().items():
        if name not in registry:
            # Episodes are truncated by the task itself, so there is no limit here.
            register_env(
                name,
                entry_point="pullback.gymnasium:Env",
                vector_entry_point="pullback.gymnasium:VectorEnv",
                kwargs={"task": task},
            )


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
