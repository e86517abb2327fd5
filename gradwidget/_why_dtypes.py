"""What a dtype can hold, for words and remedies."""

from __future__ import annotations

import re

import torch

_FITTING = {  # what stands in a remedy, and what it has to be in a narrow dtype
    "1e-12": {"float16": "1e-4"},
    "1e-10": {"float16": "1e-3"},  # where the derivative grows faster
    "1e-6": {"float16": "1e-3", "bfloat16": "1e-2"},  # beside 1
}
_SMALL = re.compile("|".join(_FITTING))


def fitted(remedy: str, dtype: str) -> str:
    """A remedy whose small numbers this dtype can tell from 0, and from 1; and whose reciprocals it can hold."""
    return _SMALL.sub(lambda found: _FITTING[found[0]].get(dtype, found[0]), remedy)


def limits(dtype: str) -> tuple[float, float] | None:
    """Smallest and biggest positive number of a floating point dtype, None for others."""
    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype) or not kind.is_floating_point:
        return None
    info = torch.finfo(kind)
    return info.smallest_normal * info.eps, info.max


def beyond(dtype: str) -> str:
    """Up to where a dtype holds numbers, as a sentence; "" where that is no concern."""
    found = limits(dtype)
    return f" {dtype} holds numbers up to {found[1]:.5g}." if found is not None and dtype == "float16" else ""


def beneath(dtype: str) -> str:
    """Below which number a dtype knows only 0, as a clause."""
    found = limits(dtype)
    return "" if found is None else f"{dtype} takes what is below {found[0]:.1g} as 0"
