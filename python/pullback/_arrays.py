"""Arrays as the engine takes them: C-contiguous ``float64``."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pullback._pullback import ConfigError

#: What the engine takes and gives.
Array: TypeAlias = npt.NDArray[np.float64]

_DOUBLE = np.dtype(np.float64)


def numbers(what: str, values: Any) -> Array:
    """``values`` as a C-contiguous ``float64`` array: itself if it is one, else a copy.

    Lists, integers, ``float32`` and arrays in Fortran's order are copied; what is not real is refused.
    """
    plain = type(values) is np.ndarray and values.dtype is _DOUBLE
    if plain and values.flags.c_contiguous and values.flags.aligned:
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ConfigError(f"{what} must be real numbers, got an array of {array.dtype}")
    # Subclasses and unaligned arrays are copied too.
    return np.require(array, np.float64, ["C", "ALIGNED"])
