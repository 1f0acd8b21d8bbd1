"""Control by looking ahead."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pullback import _pullback
from pullback._arrays import Array
from pullback._replay import Replay


@dataclass(frozen=True)
class Episode:
    """An episode that was planned and applied piece by piece."""

    #: Whether the task is solved.
    solved: bool
    #: The loss of the episode.
    cost: float
    #: States at which controls change, and the last.
    states: Array = field(repr=False)
    controls: Array = field(repr=False)
    #: The loss at each of the states.
    costs: Array = field(repr=False)
    #: A page that plays it.
    replay: Replay = field(repr=False)
    #: All figures, as `pullback mpc --json` has them.
    figures: dict[str, Any] = field(repr=False)


def mpc(
    task: str | os.PathLike[str],
    *,
    planner: str = "hybrid",
    settings: Mapping[str, Any] | None = None,
    targets: Mapping[str, Any] | None = None,
    horizon: int | None = None,
    apply: int | None = None,
    spacing: int | None = None,
    interpolation: str | None = None,
    time: float | None = None,
    keyframe: str | None = None,
    from_distance: float | None = None,
    bound: float | None = None,
    control_step: float | None = None,
    effort: float | None = None,
    within: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Episode:
    """An episode of a control task by its name, or of the robot of a file with ``targets``.

    ``targets`` says where states, sites or bodies should be: ``{"tip": (0, 0, 2)}``. Options are those of
    `pullback mpc`. Where ``folder`` is given the run is kept there, and the same call goes on after an
    interruption.
    """
    from pullback._system import processors

    def values(target: Any) -> list[float]:
        return [float(x) for x in target] if hasattr(target, "__iter__") else [float(target)]

    asking = {
        "planner": planner,
        "settings": json.dumps(dict(settings or {})),
        "horizon": horizon,
        "apply": apply,
        "spacing": spacing,
        "interpolation": interpolation,
        "time": time,
        "targets": None if targets is None else [(name, values(target)) for name, target in targets.items()],
        "keyframe": keyframe,
        "from_distance": from_distance,
        "bound": bound,
        "control_step": control_step,
        "effort": effort,
        "within": within,
        "seed": seed,
        "threads": processors() if threads is None else threads,
        "folder": None if folder is None else os.fspath(folder),
    }
    text, page, states, controls, costs = _pullback.mpc(os.fspath(task), asking)
    told = json.loads(text)
    n, m = len(told["states"]), len(told["controls"])
    return Episode(
        told["judgment"]["solved"],
        told["cost"],
        states.reshape(-1, n),
        controls.reshape(-1, m),
        costs,
        Replay(page),
        told,
    )
