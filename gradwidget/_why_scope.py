"""Where a tensor's history was cut: names that share its memory, hold its values, or were rounded from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple

import torch

from gradwidget import _names
from gradwidget._attributes import asked
from gradwidget._outputs import is_no_grad_view
from gradwidget._source_text import Spot
from gradwidget._summary import form_of, readable, unobserved

COMPARED = 1 << 16
"""Elements up to which the values of two tensors are compared."""
PAIRS = 1_000
"""Pairs of tensors that are compared, at most."""
FEWEST = 4
"""Elements from which on equal whole numbers are taken for more than a coincidence."""


_INSIDE = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>"})


class Cut(NamedTuple):
    """A tensor without history, and the tracked one that it was taken from.

    `kind` is "detached", "viewed", "numpy", "copied" or "rounded"; `how` the words for it. Shared memory is a
    fact, equal numbers are a possibility only. `enters` is False where nothing tells that the output was computed
    from it.
    """

    kind: str
    name: str
    source: str
    how: str
    key: int  # node that it enters; -1 unknown
    enters: bool = True


class Owner(NamedTuple):
    """The module that holds a tensor, and as what: "parameter", "buffer" or "attribute"."""

    module: str
    key: str
    kind: str


def _mode() -> str:
    """Whether gradients are switched off here: "off", "inference" or ""."""
    return "inference" if torch.is_inference_mode_enabled() else "" if torch.is_grad_enabled() else "off"


@dataclass(slots=True)
class Scope:
    """Tensors and modules by name, for as long as a question is answered."""

    tensors: list[tuple[str, torch.Tensor]] = field(default_factory=list)
    modules: list[tuple[str, Any]] = field(default_factory=list)
    spot: Spot | None = None  # where the question is asked
    mode: str = ""  # there: "off" without gradients, "inference"
    limited: bool = False  # more names than are looked at

    @classmethod
    def of_frame(cls, frame: FrameType | None) -> Scope:
        spot = Spot.of(frame)
        items = _names.variables(frame)
        while frame is not None and frame.f_code.co_name in _INSIDE:
            frame = frame.f_back
            items += _names.variables(frame)
        found = cls._of(items)
        found.spot = spot
        found.mode = _mode()
        return found

    @classmethod
    def of_space(cls, space: Mapping[str, Any]) -> Scope:
        found = cls._of(_names.variables_of(space))
        found.spot, found.mode = Spot(None, 0), _mode()
        return found

    @classmethod
    def _of(cls, items: list[tuple[str, Any]]) -> Scope:
        items = list({name: (name, value) for name, value in reversed(items)}.values())[::-1]  # locals hide globals
        return cls(_names.tensors_of(items), _names.modules_among(items), limited=_names.limited(items))

    @property
    def limit_fact(self) -> tuple[str, ...]:
        """That names were left out, if they were."""
        told = f"there are more names than the {_names.LIMIT:,} that are looked at: the rest was skipped"
        return (told,) if self.limited else ()

    def name_of(self, tensor: torch.Tensor | None) -> str:
        """First name of a tensor, or ""."""
        return next((name for name, one in self.tensors if one is tensor), "")

    def buffers(self) -> set[int]:
        """The ids of the buffers of all modules: running means, counts of batches."""
        tables = (object.__getattribute__(module, "__dict__").get("_buffers") or {} for _, module in self.modules)
        return {id(value) for table in tables for value in list(table.values()) if value is not None}

    def owner_of(self, tensor: torch.Tensor | None) -> Owner | None:
        """The first module that holds a tensor."""
        for path, module in self.modules:
            inside = object.__getattribute__(module, "__dict__")
            for table, kind in (("_parameters", "parameter"), ("_buffers", "buffer")):
                for key, value in list((inside.get(table) or {}).items()):
                    if value is tensor and value is not None:
                        return Owner(path, key, kind)
            for key, value in list(inside.items()):
                if value is tensor and value is not None:
                    return Owner(path, key, "attribute")
        return None


@unobserved()
def tracked(tensor: torch.Tensor) -> bool:
    """Whether a tensor needs a gradient and its history can be read."""
    try:
        return bool(asked(tensor, "requires_grad")) and (
            asked(tensor, "grad_fn") is not None or not is_no_grad_view(tensor)
        )
    except RuntimeError:  # a stale view
        return False


@unobserved()
def shares_memory(one: torch.Tensor, other: torch.Tensor) -> str:
    """Whether two tensors share memory: "storage" (a view, detach(), .data), "memory" (by way of numpy), or ""."""
    try:
        first, second = one.untyped_storage(), other.untyped_storage()
        if first._cdata == second._cdata and first.nbytes():
            return "storage"
        near = first.data_ptr() == second.data_ptr() and first.data_ptr() and first.nbytes()
    except Exception:  # sparse tensors and subclasses have no storage
        return ""
    return "memory" if near else ""


@unobserved()
def _view_of(tensor: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether autograd knows one as a view of the other, or of what the other is a view of: no detach(), no .data."""
    base = tensor._base
    return base is not None and (base is source or base is source._base)


@unobserved()
def _plain(tensor: torch.Tensor) -> torch.Tensor | None:
    try:
        plain = readable(tensor)[0] if 0 < tensor.numel() <= COMPARED else None
    except Exception:
        return None
    return None if plain is None or plain.is_complex() else plain.to("cpu", torch.float64)


def _telling(plain: torch.Tensor) -> bool:
    """Whether equal values are no coincidence: many different ones, or one that nobody types."""
    if bool((plain == plain.reshape(-1)[0]).all()):
        plain = plain.reshape(-1)[:1]
    return plain.numel() >= 16 or bool((plain * 4 != (plain * 4).round()).any())


@unobserved()
def same_values(one: torch.Tensor, other: torch.Tensor, *, surely: bool = False) -> bool:
    """Whether two different tensors hold the same numbers, whatever their dtypes; telling ones, if not `surely`."""
    if one is other or form_of(one).shape != form_of(other).shape:
        return False
    first, second = _plain(one), _plain(other)
    if first is None or second is None or first.shape != second.shape:
        return False
    return bool(torch.allclose(first, second, rtol=1e-3, atol=0)) and (surely or _telling(first))


@unobserved()
def holds_number(one: torch.Tensor, number: torch.Tensor) -> bool:
    """Whether a single number that nobody types is among the elements of a tensor."""
    first, second = _plain(one), _plain(number)
    if first is None or second is None or second.numel() != 1 or not _telling(second):
        return False
    return bool(torch.isclose(first.reshape(-1), second.reshape(-1), rtol=1e-5, atol=0).any())


_ROUNDINGS: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("argmax(-1)", lambda t: t.argmax(-1)),
    ("argmax(0)", lambda t: t.argmax(0)),
    ("argmin(-1)", lambda t: t.argmin(-1)),
    ("argsort()", lambda t: t.argsort()),
    ("a cast to integers (.long(), .int())", lambda t: t.trunc()),
    ("round()", lambda t: t.round()),
)


def _compared(numbers: torch.Tensor, values: torch.Tensor) -> bool:
    """Whether zeros and ones tell on which side of some number the values lie."""
    if numbers.shape != values.shape or not bool(((numbers == 0) | (numbers == 1)).all()):
        return False
    low, high = values[numbers == 0], values[numbers == 1]
    return bool(low.numel() and high.numel() and (low.max() < high.min() or high.max() < low.min()))


def _made(make: Callable[[torch.Tensor], torch.Tensor], values: torch.Tensor) -> torch.Tensor:
    try:
        return make(values)
    except Exception:  # a dimension that it does not have
        return torch.empty(0)


@unobserved()
def rounded_from(one: torch.Tensor, source: torch.Tensor) -> str:
    """An operation by which whole numbers could come out of a tensor: "argmax()", "round()"; "" if none fits."""
    numbers, values = _plain(one), _plain(source)
    if numbers is None or values is None or not bool((numbers == numbers.round()).all()):
        return ""
    if numbers.numel() < FEWEST or bool((numbers == numbers.reshape(-1)[0]).all()):  # a count, a constant
        return ""
    if _compared(numbers, values):
        return "a comparison"
    counted = numbers.dim() == 1 and bool((numbers == torch.arange(numbers.numel())).all())
    for name, make in _ROUNDINGS:
        if "arg" in name and (one.dtype.is_floating_point or (counted and numbers.numel() > 1)):
            continue
        made = _made(make, values)
        same = made.shape == numbers.shape and bool((made.double() == numbers).all())
        if same and bool((made.double() == values).all() if made.shape == values.shape else False):
            continue  # they were whole before
        if same:
            return name
    return ""


def cut_between(
    sources: Iterable[tuple[str, torch.Tensor]], ends: Iterable[tuple[str, torch.Tensor, int]], *, equal: bool = True
) -> Iterator[Cut]:
    """Which tensor without history (name, tensor, node it enters) was taken from which tracked one: surest first."""
    sources, ends = list(sources), list(ends)
    pairs = [(end, source) for end in ends for source in sources if end[1] is not source[1]][:PAIRS]
    for (name, tensor, key), (origin, source) in pairs:
        shared = shares_memory(tensor, source)
        if shared == "storage" and _view_of(tensor, source):
            yield Cut("viewed", name, origin, "a view under `no_grad`", key)
        elif shared == "storage":
            yield Cut("detached", name, origin, "detach() or .data", key)
        elif shared == "memory":
            yield Cut("numpy", name, origin, "numpy", key)
    if not equal:
        return
    for (name, tensor, key), (origin, source) in pairs:
        if same_values(tensor, source):
            yield Cut("copied", name, origin, "a copy of its values", key)
    for (name, tensor, key), (origin, source) in pairs:
        if not name and not tensor.dim():  # a number in the code
            continue
        how = rounded_from(tensor, source)
        if how:
            yield Cut("rounded", name, origin, how, key)
