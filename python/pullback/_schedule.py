"""How the states of a rollout are kept for the way back."""

from __future__ import annotations

from typing import NamedTuple


class Schedule(NamedTuple):
    """How the states of a rollout are kept for the way back; it never changes a gradient, only memory and
    time."""

    name: str
    frame: int = 1
    slots: int = 1

    @classmethod
    def all(cls) -> Schedule:
        """Every state; nothing is computed twice."""
        return cls("all")

    @classmethod
    def every(cls, steps: int) -> Schedule:
        """Every so many steps of the physics; each stretch is run once more."""
        return cls("every", frame=steps)

    @classmethod
    def revolve(cls, slots: int) -> Schedule:
        """A fixed number of states, placed optimally; memory does not grow with the horizon."""
        return cls("revolve", slots=slots)

    @classmethod
    def two_level(cls, frame: int, slots: int) -> Schedule:
        """Frames of ``frame`` steps: ``slots`` of their starts, and the inside of one frame at a time."""
        return cls("two-level", frame=frame, slots=slots)
