"""Backward passes as data: what arrived where, in which order."""

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


class Kept(NamedTuple):
    """A gradient kept by reference, with the version it had when it arrived (-1: it counts none)."""

    tensor: torch.Tensor
    version: int


class Reduced(NamedTuple):
    """A gradient of which only the norm was kept, as a scalar on its own device."""

    form: Form
    norm: torch.Tensor | None
    note: str
    twin: weakref.ref[torch.Tensor] | None = None  # the leaf's `.grad`: the same numbers while its version stands
    version: int = -1


class Pending(NamedTuple):
    """A gradient that is to be read from its leaf's `.grad` at the end of the pass."""

    form: Form


Item: TypeAlias = "Kept | Reduced | Pending | None"


@dataclass(slots=True, repr=False)
class BackwardPass:
    """One call of `backward()` or `autograd.grad()`, and what was captured in it.

    Attributes:
        number: 1, 2, ... in the order in which the passes began.
        label: "backward from e".
        state: "running", "complete" or "failed".
        order: numbers of the nodes that ran, in the engine's own order.
        note: why it failed, or "".
    """

    number: int
    label: str = ""
    state: str = "running"
    order: list[int] = field(default_factory=list)
    note: str = ""
    rows: list[tuple[Item, ...]] = field(default_factory=list)  # per step, what arrived at each output
    resolve: Callable[[int | str], tuple[int, int | None]] = field(default=lambda key: (int(key), None))
    create_graph: bool = False
    thread: int = 0
    _steps: dict[int, int] = field(default_factory=dict)

    @property
    def captures(self) -> dict[int, tuple[Gradient, ...]]:
        """Node number -> what arrived there, one entry for each output of the node, in execution order."""
        return {key: self.at(key) for key in self.order}

    def gradient(self, key: int | str) -> Any:
        """What arrived at a node (its number, or a name) in this pass; None if the node did not run.

        Returns:
            A tensor of the output's shape, or a `Summary` where only that was kept. Of a node with several outputs
            that is asked for by number: a tuple, one entry for each output.

        Raises:
            UnknownNodeError: no node has that number or name.
        """
        number, output = self.resolve(key)
        found = self.at(number)
        if output is None:
            return found[0] if len(found) == 1 else found or None
        return found[output] if output < len(found) else None

    def step_of(self, key: int) -> int | None:
        """Position of a node in the pass, from 0; None if it did not run."""
        if len(self._steps) != len(self.order):
            self._steps = {k: i for i, k in enumerate(self.order)}
        return self._steps.get(key)

    def at(self, key: int) -> tuple[Gradient, ...]:
        """What arrived at each output of a node; empty if it did not run."""
        step = self.step_of(key)
        return () if step is None else tuple(map(opened, self.rows[step]))

    def notes(self, key: int) -> list[str]:
        """Why something that arrived at a node can't be told in full."""
        step = self.step_of(key)
        items = () if step is None else self.rows[step]
        return [item.note for item in items if isinstance(item, Reduced) and item.note]

    def keep_only(self, budget: int) -> int:
        """Reduce to norms what exceeds `budget` bytes, the largest first. Returns the bytes still kept."""
        sized = [(_bytes(item.tensor), step, i) for step, row in enumerate(self.rows) for i, item in enumerate(row) if isinstance(item, Kept)]
        used = sum(size for size, _, _ in sized)
        for size, step, i in sorted(sized, reverse=True):
            if used <= budget:
                break
            row = list(self.rows[step])
            row[i] = reduced(row[i].tensor, row[i].version)  # type: ignore[union-attr]
            self.rows[step] = tuple(row)
            used -= size
        return used

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        return f"BackwardPass({self.number}: {self.label}, {len(self.order)} nodes, {self.state})"


def reduced(tensor: torch.Tensor, version: int = -1) -> Reduced:
    """A gradient's norm, without waiting for its device."""
    if version >= 0 and version_of(tensor) != version:
        return Reduced(form_of(tensor), None, "It was overwritten in place after it had been captured.")
    with unobserved():
        plain, note = readable(tensor)
        if plain is None:
            return Reduced(form_of(tensor), None, note)
        return Reduced(form_of(tensor), norm(plain), "Only its norm was kept; keep='all' keeps gradients whole.")


def opened(item: Item) -> Gradient:
    """What the user gets to see of an item."""
    if item is None:
        return None
    if isinstance(item, Kept):
        if item.version >= 0 and version_of(item.tensor) != item.version:
            return Summary(form_of(item.tensor), 0, None, None, None, "It was overwritten in place after it had been captured.")
        return item.tensor
    if isinstance(item, Pending):
        return Summary(item.form, 0, None, None, None, "The pass has not ended yet.")
    twin = item.twin() if item.twin is not None else None
    if twin is not None and version_of(twin) == item.version:
        return twin
    stats = None
    if item.norm is not None:
        nan = float("nan")
        stats = Stats(float(item.norm), nan, nan, nan, nan, 0, 0, 0)
    return Summary(item.form, math.prod(item.form.shape or (0,)), stats, None, None, item.note)


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
            row = torch.stack([value.to(torch.float64) if value.device.type != "mps" else value for _, value in pairs]).tolist()
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
    tensor: torch.Tensor | None = None
    if isinstance(item, Kept) and (item.version < 0 or version_of(item.tensor) == item.version):
        tensor = item.tensor
    if tensor is None or tensor.dim() > 1 or not 0 < tensor.numel() <= 4:
        return None
    return readable(tensor)[0]


def _norm(item: Item) -> torch.Tensor | None:
    if isinstance(item, Reduced):
        return item.norm
    if isinstance(item, Kept) and (item.version < 0 or version_of(item.tensor) == item.version):
        plain, _ = readable(item.tensor)
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
