"""Names of the entries of flat vectors: states, controls and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pullback._arrays import Array, numbers
from pullback._pullback import ConfigError

if TYPE_CHECKING:
    from pullback import _pullback


class Section:
    """Names, units, bounds and defaults of the entries of one vector: ``system.state``, ``.control`` or
    ``.params``."""

    def __init__(self, system: _pullback.System, vector: str) -> None:
        self._system = system
        #: ``state``, ``control`` or ``params``.
        self.vector = vector
        told = system.section(vector)
        #: Names of the slices, in order.
        self.names: tuple[str, ...] = tuple(told["names"])
        #: SI unit of each slice, by name; ``1`` for pure numbers.
        self.units: dict[str, str] = dict(zip(self.names, told["units"], strict=True))
        #: A line on each slice, by name.
        self.docs: dict[str, str] = dict(zip(self.names, told["docs"], strict=True))
        #: Where each slice lies, by name.
        self.slices: dict[str, slice] = {
            name: slice(start, stop)
            for name, start, stop in zip(self.names, told["starts"], told["stops"], strict=True)
        }
        #: Smallest value of each entry that makes sense.
        self.lower: Array = _frozen(told["lower"])
        #: Largest value of each entry that makes sense.
        self.upper: Array = _frozen(told["upper"])
        #: Value of each entry when nothing else is said.
        self.defaults: Array = _frozen(told["defaults"])

    def __len__(self) -> int:
        return len(self.defaults)

    @property
    def entries(self) -> list[str]:
        """Name of every entry: ``angle[1]``, or plain ``angle`` where it is the only one."""
        found = []
        for name, at in self.slices.items():
            length = at.stop - at.start
            found += [name] if length == 1 else [f"{name}[{i}]" for i in range(length)]
        return found

    def select(self, pattern: str) -> npt.NDArray[np.intp]:
        """Indices of the entries that a pattern of names selects, such as ``*.mass`` or ``hip.*,knee.*``."""
        return np.array(self._system.select(self.vector, pattern), dtype=np.intp)

    def named(self, array: Array) -> Named:
        """An array whose last axis is this vector, by names: reading and writing go to the array itself."""
        return Named(self, array)

    def vector_of(self, values: Any = None) -> Array:
        """The defaults, changed as told: by a mapping of names or patterns to values, or by a whole array."""
        if values is None:
            return self.defaults.copy()
        if isinstance(values, Mapping):
            vector = self.defaults.copy()
            for pattern, value in values.items():
                vector[self.select(pattern)] = value
            return vector
        vector = numbers(self.vector, values)
        if vector.shape[-1:] != (len(self),):
            raise ConfigError(
                f"{self.vector} needs {len(self)} entries along its last axis, got shape {vector.shape}"
            )
        return vector

    def __repr__(self) -> str:
        rows = [f"<{self.vector}: {len(self)} entries>"]
        for name, at in self.slices.items():
            values = np.array2string(self.defaults[at], precision=4, threshold=8)
            rows.append(f"  {name:32} {values} {self.units[name]}")
        return "\n".join(rows)


class Named(Mapping[str, Array]):
    """An array by the names of its last axis.

    A name gives a view, a pattern with ``*`` or ``?`` and the name of a single entry such as ``angle[1]`` a
    copy of the entries selected; assignment writes to the array in each case.
    """

    def __init__(self, section: Section, array: Array) -> None:
        if array.shape[-1:] != (len(section),):
            raise ConfigError(
                f"an array of {section.vector} has {len(section)} entries along its last axis, "
                f"not shape {array.shape}"
            )
        self._section = section
        #: The array itself.
        self.array = array

    def __getitem__(self, name: str) -> Array:
        return self.array[..., self._at(name)]

    def __setitem__(self, name: str, value: npt.ArrayLike) -> None:
        self.array[..., self._at(name)] = value

    def _at(self, name: str) -> slice | npt.NDArray[np.intp]:
        at = self._section.slices.get(name)
        return self._section.select(name) if at is None else at

    def __iter__(self) -> Iterator[str]:
        return iter(self._section.names)

    def __len__(self) -> int:
        return len(self._section.names)

    def __repr__(self) -> str:
        return f"<named {self._section.vector} of shape {self.array.shape}: {', '.join(self._section.names)}>"


def _frozen(array: Array) -> Array:
    # Memory of NumPy's own: PyTorch's compiler wants to make constants writable for a moment.
    array = array.copy()
    array.flags.writeable = False
    return array
