"""Backward passes as data: what arrived where, in which order, and what was handed on."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch

from gradwidget._summary import Stats, Summary, form_of, format_number, norm, readable, summarize, unobserved
from gradwidget._walk import Form

Gradient: TypeAlias = "torch.Tensor | Summary | None"
"""Of one output: the tensor where it was kept whole, else a `Summary`; None where none arrived."""

Place: TypeAlias = "tuple[int, int]"
"""(node, output number): one tensor of the graph."""


class Reduced(NamedTuple):
    """A gradient of which only the norm was kept, as a scalar on its own device."""

    form: Form
    norm: torch.Tensor | None
    note: str
    twin: weakref.ref[torch.Tensor] | None = None  # the leaf's `.grad`: the same numbers while its version stands
    version: int = -1

    def intact(self) -> torch.Tensor | None:
        """The twin, if it still is what arrived."""
        twin = self.twin() if self.twin is not None else None
        return twin if twin is not None and version_of(twin) == self.version else None


class Pending(NamedTuple):
    """A gradient that is to be read from its leaf's `.grad` at the end of the pass."""

    form: Form
    memory: int  # where it lay when it arrived, and its version then
    version: int
    norm: torch.Tensor | None


class Stale(NamedTuple):
    """A gradient that was overwritten in place after it had been captured."""

    form: Form


class Same(NamedTuple):
    """What a step handed on, or passed as it came, is what arrived at this place."""

    place: Place


Item: TypeAlias = "torch.Tensor | Reduced | Pending | Stale | None"
Arrived: TypeAlias = "Item | Same"
Handed: TypeAlias = "torch.Tensor | Reduced | Same | None"


@dataclass(slots=True, repr=False)
class BackwardPass:
    """One call of `backward()` or `autograd.grad()`, and what was captured in it.

    Attributes:
        number: 1, 2, ... in the order in which the passes began.
        label: "backward from e", "grad of loss w.r.t. x", "probe".
        kind: "backward", "grad" or "probe".
        state: "running", "complete" or "failed".
        inside: number of the pass in one of whose hooks this one was started; 0: none.
        order: numbers of the nodes that ran, in the engine's own order.
        note: why it failed, or "".
    """

    number: int
    label: str = ""
    kind: str = "backward"
    state: str = "running"
    inside: int = 0
    order: list[int] = field(default_factory=list)
    note: str = ""
    arrived: list[tuple[Arrived, ...]] = field(default_factory=list)  # per step, what arrived at each output
    versions: dict[int, tuple[int, ...]] = field(default_factory=dict)  # step -> of tensors held as they arrived
    steps: dict[int, int] = field(default_factory=dict)  # node -> step
    handed: dict[int, list[Handed]] = field(default_factory=dict)  # step -> what went to each input
    received: dict[int, tuple[Item, ...]] = field(default_factory=dict)  # step -> after the user's node pre-hooks
    returned: dict[Place, Item] = field(default_factory=dict)  # what autograd.grad() gave to the user
    ladders: dict[Place, list[Item]] = field(default_factory=dict)  # before the first tensor hook, after each
    ladder_names: dict[Place, list[str]] = field(default_factory=dict)  # "", then of each hook
    wrapped: bool = False  # its gradients are of a function transform, or of is_grads_batched=True
    mixed: bool = False  # another pass ran at the same time, or inside
    fresh: set[int] = field(default_factory=set)  # leaves whose `.grad` was None before
    resolve: Callable[[int | str], tuple[int, int | None]] = field(default=lambda key: (int(key), None))
    create_graph: bool = False
    plain: bool = False  # neither wrapped nor create_graph
    whole: bool = False  # a gradient was asked for everything
    asked: tuple[str, ...] = ()  # else for these, by name
    accumulates: bool | None = None  # into .grad; None unknown
    pending: list[int] = field(default_factory=list)  # steps with a `Pending`
    read: int = 0  # bytes of leaves' gradients that were read at the end
    thread: int = 0
    depth: int = 0  # of nested passes in its thread; 0 unknown
    second_from: int = 0  # sequence number of the first node that a pass with create_graph=True makes

    @property
    def captures(self) -> dict[int, tuple[Gradient, ...]]:
        """Node number -> what arrived there, one entry for each output of the node, in execution order."""
        return {key: self.at(key) for key in self.order}

    def gradient(self, key: int | str) -> Any:
        """What arrived at a node (its number, or a name) in this pass; None if nothing did.

        Returns:
            A tensor of the output's shape, or a `Summary` where only that was kept. Of a node with several outputs
            that is asked for by number: a tuple, one entry for each output.

        Raises:
            UnknownNodeError: no node has that number or name.
        """
        number, output = self.resolve(key)
        found = tuple(map(own, self.at(number)))
        if output is None:
            return found[0] if len(found) == 1 else found or None
        return found[output] if output < len(found) else None

    def reached(self, key: int) -> bool:
        """Whether a gradient of this pass belongs to the node, be it that autograd.grad() returned it."""
        return key in self.steps or any(place[0] == key for place in self.returned)

    def at(self, key: int) -> tuple[Gradient, ...]:
        """What arrived at each output of a node, or was returned for it; empty if nothing was."""
        return tuple(map(opened, self.items(key)))

    def items(self, key: int) -> tuple[Item, ...]:
        """The same, as it is kept."""
        step = self.steps.get(key)
        if step is not None:
            return self.row(step)
        outputs = [place[1] for place in self.returned if place[0] == key]
        return tuple(self.returned.get((key, output)) for output in range(max(outputs, default=-1) + 1))

    @unobserved()
    def row(self, step: int) -> tuple[Item, ...]:
        """What arrived in a step, as far as it still is what arrived."""
        items = self.arrived[step]
        versions = self.versions.get(step) or (-1,) * len(items)
        return tuple(
            self._at_place(item.place)
            if isinstance(item, Same)
            else Stale(form_of(item))
            if isinstance(item, torch.Tensor) and version >= 0 and version_of(item) != version
            else item
            for item, version in zip(items, versions, strict=True)
        )

    def _at_place(self, place: Place) -> Item:
        step = self.steps.get(place[0])
        row = () if step is None else self.row(step)
        return row[place[1]] if place[1] < len(row) else None

    def handed_on(self, step: int) -> tuple[Item, ...]:
        """What a step handed to each of its inputs, where that is known."""
        row = self.handed.get(step, ())
        return tuple(self._at_place(item.place) if isinstance(item, Same) else item for item in row)

    def add(self, key: int, row: tuple[Arrived, ...], versions: tuple[int, ...] = ()) -> None:
        """Note what arrived at a node; no version, or -1, is not checked later."""
        if versions:
            self.versions[len(self.order)] = versions
        self.steps[key] = len(self.order)
        self.order.append(key)
        self.arrived.append(row)

    @unobserved()
    def settle(self) -> None:
        """Take the norms of leaves whose `.grad` is still what the pass has left there: it may change at any time."""
        for step, row in enumerate(self.arrived):
            item = row[0] if row else None
            if isinstance(item, Reduced) and item.norm is None and item.intact() is not None:
                self.arrived[step] = (item._replace(norm=_norm(item)),)

    @unobserved()
    def keep_only(self, budget: int) -> int:
        """Reduce to norms what exceeds `budget` bytes, the largest first. Returns the bytes still kept."""
        sized = [(_bytes(t), step) for step, row in enumerate(self.arrived) for t in row if isinstance(t, torch.Tensor)]
        used = sum(size for size, _ in sized)
        for size, step in sorted(sized, reverse=True):
            if used <= budget:
                break
            self.arrived[step] = tuple(
                reduced(t) if isinstance(t, torch.Tensor) and _bytes(t) == size else t for t in self.row(step)
            )
            self.versions[step] = tuple(
                -1 if not isinstance(t, torch.Tensor) else version_of(t) for t in self.arrived[step]
            )
            used -= size
        return used

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        return f"BackwardPass({self.number}: {self.label}, {len(self.order)} nodes, {self.state})"


def reduced(tensor: torch.Tensor) -> Reduced:
    """A gradient's norm, without waiting for its device."""
    with unobserved():
        plain, note = readable(tensor)
        if plain is None:
            return Reduced(form_of(tensor), None, note)
        return Reduced(form_of(tensor), norm(plain), "Only its norm was kept; keep='all' keeps gradients whole.")


def opened(item: Item) -> Gradient:
    """What the user gets to see of an item."""
    if item is None or isinstance(item, torch.Tensor):
        return item
    if isinstance(item, Stale):
        return Summary(item.form, 0, None, None, None, "It was overwritten in place after it had been captured.")
    if isinstance(item, Pending):
        return Summary(item.form, 0, None, None, None, "The pass has not ended yet.")
    twin = item.intact()
    if twin is not None and _as_long(twin, item.norm):
        return twin
    stats = None
    if item.norm is not None:
        nan = float("nan")
        stats = Stats(float(item.norm), nan, nan, nan, nan, 0, 0, 0)
    return Summary(item.form, math.prod(item.form.shape or (0,)), stats, None, None, item.note)


@unobserved()
def _as_long(tensor: torch.Tensor, length: torch.Tensor | None) -> bool:
    """Whether a tensor still has its norm: edits through `.data` or numpy change no version."""
    plain, _ = readable(tensor)
    if length is None or plain is None:
        return True
    now, before = float(norm(plain)), float(length)
    return math.isclose(now, before, rel_tol=1e-4) or (math.isnan(now) and math.isnan(before))


@unobserved()
def own(gradient: Gradient) -> Gradient:
    """A copy for the user: editing it changes nothing that was captured."""
    return gradient.detach().clone() if isinstance(gradient, torch.Tensor) else gradient


def summary_of(gradient: Gradient) -> Summary | None:
    """The `Summary` of what arrived."""
    return summarize(gradient) if isinstance(gradient, torch.Tensor) else gradient


def norms(items: Iterable[Item]) -> list[float | None]:
    """2-norms of many items: one read for each device."""
    waiting: dict[torch.device, list[tuple[int, torch.Tensor]]] = {}
    found: list[float | None] = []
    with unobserved():
        for item in items:
            value = _norm(item)
            if value is not None:
                waiting.setdefault(value.device, []).append((len(found), value))
            found.append(None)
        for pairs in waiting.values():
            row = torch.stack(
                [value.to(torch.float64) if value.device.type != "mps" else value for _, value in pairs]
            ).tolist()
            for (i, _), number in zip(pairs, row, strict=True):
                found[i] = number
    return found


def texts(items: Iterable[Item]) -> list[str]:
    """What fits on a wire: numbers of up to four elements, "none", or "". One read for each device and dtype."""
    waiting: dict[tuple[torch.device, torch.dtype], list[tuple[int, torch.Tensor]]] = {}
    found: list[str] = []
    with unobserved():
        for item in items:
            found.append("none" if item is None else "")
            tensor = _small(item)
            if tensor is not None:
                waiting.setdefault((tensor.device, tensor.dtype), []).append((len(found) - 1, tensor))
        for pairs in waiting.values():
            numbers = torch.cat([tensor.reshape(-1) for _, tensor in pairs]).tolist()
            at = 0
            for i, tensor in pairs:
                part = [format_number(x) for x in numbers[at : at + tensor.numel()]]
                at += tensor.numel()
                found[i] = f"[{', '.join(part)}]" if tensor.dim() else part[0]
    return found


def _small(item: Item) -> torch.Tensor | None:
    if not isinstance(item, torch.Tensor) or item.dim() > 1 or not 0 < item.numel() <= 4:
        return None
    return readable(item)[0]


def _norm(item: Item) -> torch.Tensor | None:
    if isinstance(item, Reduced):
        twin = item.intact() if item.norm is None else None
        return item.norm if twin is None else reduced(twin).norm
    if isinstance(item, torch.Tensor):
        plain, _ = readable(item)
        return None if plain is None else norm(plain)
    return None


def version_of(tensor: torch.Tensor) -> int:
    """A tensor's version, -1 if it counts none."""
    try:
        with torch._C.DisableTorchFunction():
            return tensor._version
    except Exception:  # inference tensors
        return -1


def _bytes(tensor: torch.Tensor) -> int:
    try:
        return tensor.numel() * tensor.element_size()
    except Exception:
        return 0
