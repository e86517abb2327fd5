"""One node -> its saved variables and their states. Reads only when asked; runs no saved-tensor hook unasked."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import torch

from gradwidget._summary import copy_of
from gradwidget._walk import Node, is_function, is_leaf

STATES = ("value", "none", "scalar", "freed", "modified", "packed", "unknown")

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_TO_THE_END = 2**63 - 1
_UNSIGNED = 2**63


@dataclass(frozen=True, slots=True)
class Reading:
    """One saved variable as it stands now. Holds the tensor itself: keep it no longer than needed."""

    name: str
    state: str
    tensor: torch.Tensor | None = None
    scalar: Any = None
    note: str = ""


class Saved:
    """One saved variable of a node, as a value: nothing in it belongs to the graph.

    Attributes:
        name: as torch calls it, without `_saved_`: "self", "other", "result".
        state: one of "value", "none", "scalar", "freed" (by backward), "modified" (in place since it was saved),
            "packed" (by a saved-tensor hook), "unknown".
        value: a tensor (a copy), a number, a tuple or None. For "freed" and "modified": as last seen, if it was.
        same_as: name of the tensor that it is, or "".
        note: a sentence on the state, or "".
    """

    __slots__ = ("name", "note", "same_as", "state", "value")

    def __init__(self, name: str, state: str, value: Any = None, same_as: str = "", note: str = "") -> None:
        self.name = name
        self.state = state
        self.value = value
        self.same_as = same_as
        self.note = note

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        same = f", same_as={self.same_as!r}" if self.same_as else ""
        value = f", {self.value!r}" if self.value is not None else ""
        return f"Saved({self.name}: {self.state}{value}{same})"


def read(node: Node) -> list[Reading]:
    """The saved variables of a node. Never raises; what can't be read says why."""
    if is_leaf(node):
        return []
    return _read_function(node) if is_function(node) else _read_operation(node)


def is_freed(node: Node) -> bool:
    """Whether a backward pass has freed what the node saved (False for nodes that save nothing)."""
    return any(reading.state == "freed" for reading in read(node))


def _read_operation(node: Node) -> list[Reading]:
    readings: list[Reading] = []
    # dir() of the type: on the node itself every attribute that is looked up would be read.
    for attribute in sorted((a for a in dir(type(node)) if a.startswith("_saved_")), key=_first_self):
        name = attribute.removeprefix("_saved_")
        try:
            readings.extend(_read_attribute(node, name, attribute))
        except Exception as error:
            readings.append(_refused(name, error))
    return readings


def _first_self(attribute: str) -> tuple[bool, str]:
    return attribute != "_saved_self", attribute


def _read_attribute(node: Node, name: str, attribute: str) -> list[Reading]:
    if not hasattr(type(node), f"_raw{attribute}"):
        return [_scalar(name, getattr(node, attribute))]
    packed = _packing(getattr(node, f"_raw{attribute}"))
    if packed:
        return [Reading(name, "packed", note=packed)]
    return _opened(name, getattr(node, attribute))


def _opened(name: str, value: Any) -> list[Reading]:
    if isinstance(value, (tuple, list)):
        return [r for i, item in enumerate(value) for r in _opened(f"{name}[{i}]", item)]
    if value is None:
        return [Reading(name, "none", note="Nothing was saved here.")]
    return [Reading(name, "value", tensor=value)]


def _read_function(node: Node) -> list[Reading]:
    readings: list[Reading] = []
    try:
        packed = _packing(node._raw_saved_tensors)
        if packed:
            readings.append(Reading("saved_tensors", "packed", note=packed))
        else:
            readings.extend(_opened("saved_tensors", tuple(node.saved_tensors)))
    except Exception as error:
        readings.append(_refused("saved_tensors", error))
    for name, value in sorted(getattr(node, "__dict__", {}).items()):
        if issubclass(type(value), torch.Tensor):
            readings.append(
                Reading(f"ctx.{name}", "value", tensor=value, note="An attribute of ctx, not freed by backward().")
            )
        else:
            readings.append(_scalar(f"ctx.{name}", value))
    return readings


def unpack(node: Node, name: str) -> list[Reading]:
    """Read one saved variable even if it is packed: this runs the user's hook, or a checkpoint's forward pass."""
    try:
        if is_function(node):
            found = _opened("saved_tensors", tuple(node.saved_tensors))
            return [replace(r, note="Unpacked on request.") for r in found]
        return [replace(r, note="Unpacked on request.") for r in _opened(name, getattr(node, f"_saved_{name}"))]
    except Exception as error:
        return [_refused(name, error)]


def _packing(raw: Any) -> str:
    """Who packed a saved tensor, as a sentence; empty if nobody did, so that reading it runs no code."""
    for one in raw if isinstance(raw, (tuple, list)) else (raw,):
        if not hasattr(type(one), "unpack_hook"):
            # Before torch 2.10 nothing tells whether reading would run a hook.
            return "Not read: this torch can't tell whether reading it would run a saved-tensor hook."
        hook = one.unpack_hook
        if hook is not None:
            where = getattr(hook, "__module__", "") or ""
            if where.startswith("torch.utils.checkpoint"):
                return "Packed by checkpoint: reading it would run the forward pass of the region again."
            if "save_on_cpu" in getattr(hook, "__qualname__", ""):
                return "Packed by save_on_cpu: reading it would copy it back to its device."
            name = getattr(hook, "__qualname__", type(hook).__qualname__)
            return f"Packed by a saved-tensor hook ({name}): reading it would run that hook."
    return ""


def _scalar(name: str, value: Any) -> Reading:
    value = _signed(value)
    if value is None:
        return Reading(name, "none")
    note = "To the end." if type(value) is int and value == _TO_THE_END else ""
    if _is_plain(value):
        return Reading(name, "scalar", scalar=value, note=note)
    if type(value) in (tuple, list, torch.Size) and len(value) <= 64 and all(_is_plain(v) for v in value):
        return Reading(name, "scalar", scalar=tuple(value))
    if type(value) in (torch.dtype, torch.device, torch.layout):
        return Reading(name, "scalar", scalar=str(value))
    return Reading(name, "scalar", scalar=f"<{type(value).__qualname__}>")


def _is_plain(value: Any) -> bool:
    # By type: isinstance() would ask the object's own `__class__`.
    return value is None or issubclass(type(value), (bool, int, float, complex, str))


def _signed(value: Any) -> Any:
    """Torch hands out signed integers as unsigned ones."""
    if type(value) is int and value >= _UNSIGNED:
        return value - 2**64
    return type(value)(map(_signed, value)) if type(value) in (tuple, list) else value


def _refused(name: str, error: Exception) -> Reading:
    text = str(error)
    if "already been freed" in text or "second time" in text:
        return Reading(name, "freed", note="Freed by backward().")
    if "modified by an inplace operation" in text:
        match = _VERSIONS.search(text)
        versions = f"saved at version {match[2]}, now at version {match[1]}" if match else "its version has changed"
        return Reading(
            name,
            "modified",
            note=f"Changed in place after it was saved ({versions}): backward() would raise here. "
            "Use the out-of-place form, or clone() before the change.",
        )
    return Reading(
        name, "unknown", note=f"Can't be read ({type(error).__name__}: {text.splitlines()[0][:160] if text else ''})."
    )


def settled(reading: Reading, same_as: str, last: Saved | None, copy_limit: int) -> Saved:
    """A `Reading` without the graph's tensors: copied up to `copy_limit` elements, or as last seen."""
    if reading.tensor is not None:
        small = _numel(reading.tensor) <= copy_limit
        value = copy_of(reading.tensor) if small else None
        if value is None and last is not None:
            value = last.value
        return Saved(reading.name, reading.state, value, same_as, reading.note)
    if reading.state in ("freed", "modified") and last is not None:
        note = reading.note + (" Shown as last seen." if last.value is not None else "")
        return Saved(reading.name, reading.state, last.value, last.same_as, note)
    return Saved(reading.name, reading.state, reading.scalar, same_as, reading.note)


def _numel(tensor: torch.Tensor) -> int:
    with torch._C.DisableTorchFunction():
        try:
            return tensor.numel()
        except Exception:
            return 0
