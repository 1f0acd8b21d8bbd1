"""Whether this processor has what the compiled part asks for; without it the process would end at once."""

from __future__ import annotations

import platform
import sys

#: Flags of /proc/cpuinfo that together are x86-64-v3.
X86_64_V3 = frozenset({"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"})


def flags() -> frozenset[str] | None:
    """Flags of an x86-64 processor; None where they are not known."""
    if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("flags"):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return None


def require(needed: frozenset[str] = X86_64_V3, present: frozenset[str] | None = None) -> None:
    """Raise ImportError where a flag is missing."""
    present = flags() if present is None else present
    missing = sorted(needed - present) if present else []
    if missing:
        raise ImportError(
            f"pullback needs an x86-64-v3 processor (Intel Haswell of 2013, AMD Excavator of 2015, or later); "
            f"this one lacks {', '.join(missing)}"
        )


def require_compiled(features: str, present: frozenset[str] | None = None) -> None:
    """Raise ImportError where the compiled part asks for a feature that is missing: it was built on another
    machine."""
    present = flags() if present is None else present
    if not present:
        return
    # /proc/cpuinfo writes avx512_vnni for the compiler's avx512vnni.
    there = {flag.replace("_", "") for flag in present}
    missing = sorted(name for name in features.split(",") if name.startswith("avx512") and name not in there)
    if missing:
        raise ImportError(
            f"pullback was compiled for another processor: this one lacks {', '.join(missing)}; "
            "install it again here (python -m pip install .), or a wheel made by `cargo xtask wheel`"
        )
