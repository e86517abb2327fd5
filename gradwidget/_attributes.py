"""What torch itself says of a tensor, whatever a subclass has under the same name."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter


def asked(tensor: torch.Tensor, name: str) -> Any:
    """An attribute, read by torch's own descriptor: no property and no `__getattribute__` of a subclass runs.

    May raise what torch raises, such as for the `grad_fn` of a stale view.
    """
    with torch._C.DisableTorchFunctionSubclass():
        return getattr(torch.Tensor, name).__get__(tensor)


def called(tensor: torch.Tensor, name: str, *arguments: Any) -> Any:
    """The same of a method: its result."""
    with torch._C.DisableTorchFunctionSubclass():
        return getattr(torch.Tensor, name)(tensor, *arguments)


def marks(tensor: torch.Tensor) -> dict[str, Any]:
    """What was set on the tensor itself; nothing where a class has code of its own for that."""
    for base in type(tensor).__mro__:
        own = base.__dict__.get("__dict__")
        if own is not None and type(own) is not types.GetSetDescriptorType:
            return {}
    found: dict[str, Any] = object.__getattribute__(tensor, "__dict__")  # torch.compile can't trace the descriptor
    return found


def is_lazy(tensor: torch.Tensor) -> bool:
    """Whether it is a parameter or buffer of a lazy module without a shape yet (`isinstance` would ask it)."""
    return issubclass(type(tensor), (UninitializedBuffer, UninitializedParameter))
