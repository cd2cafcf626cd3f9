"""Checks that the training of profile-guided optimization ran every kernel of vector instructions.

    llvm-profdata show --all-functions --counts PROFILE | python release/check_training.py

The compiler treats a kernel that the training did not run as rarely used code, and leaves out its
vector instructions: a run that needs the kernel then takes longer than without a profile. Only
processors with AVX2 run these kernels; elsewhere there is nothing to check.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

#: What is in the symbol of a kernel's entry (crates/engine/src/simd.rs).
KERNEL = "lasthop_engine4simd9with_avx2"


def kernels(lines: Iterable[str]) -> Iterator[tuple[str, list[int]]]:
    """The symbol of each kernel in the profile, and how often each of its blocks ran."""
    name = ""
    for line in lines:
        key, _, value = line.strip().partition(": ")
        if line.startswith("  ") and not line.startswith("   "):
            name = key.rstrip(":")
        elif KERNEL in name and key == "Block counts":
            yield name, [int(count) for count in value.strip("[]").split(",") if count.strip()]


def has_kernels() -> bool:
    """True if this processor runs the kernels: x86-64 with AVX2."""
    cpuinfo = Path("/proc/cpuinfo")
    return platform.machine() == "x86_64" and (not cpuinfo.exists() or "avx2" in cpuinfo.read_text(encoding="utf-8"))


def main() -> None:
    """Reads the profile and names the kernels that did not run."""
    found = list(kernels(sys.stdin))
    if not has_kernels():
        print("this processor has no AVX2: the kernels of the training were not checked")
        return
    if not found:
        sys.exit("the profile has no kernel: it is empty, or the kernels have another name")
    idle = [name for name, counts in found if not any(counts)]
    if idle:
        sys.exit("the training ran none of these kernels; add a scenario to release/training:\n" + "\n".join(idle))
    print(f"the training ran all of {len(found)} kernels")


if __name__ == "__main__":
    main()
