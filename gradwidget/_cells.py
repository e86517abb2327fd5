"""How values and gradients stood after each cell that changed them. On with `%load_ext gradwidget`."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from gradwidget._ipython import running_cell
from gradwidget._passes import BackwardPass, Gradient, Item, opened, reduced, version_of
from gradwidget._passes import norms as norms_of
from gradwidget._summary import copy_of, unobserved

SMALL = 64
"""Elements up to which a value or gradient is copied; of bigger ones, the norm is taken."""
READ = 64 << 20
"""Bytes of which norms are taken after one cell; beyond, what has changed is not known."""
KEPT = 50
"""Cells that are kept."""


@dataclass(frozen=True, slots=True)
class CellRecord:
    """How a graph's leaves stood when a cell had ended.

    Attributes:
        cell: number of the cell.
        what: what it did: "built", "backward", "backward ×3", "step", "zero_grad", "clip", "gradients changed".
        passes: number of the last backward pass that had been captured by then, 0 none.
        values: leaf (its node's number) -> its value then: a tensor, a `Summary`, None where it is not known.
        gradients: leaf -> its `.grad` then; None also where there was none.
    """

    cell: int
    what: tuple[str, ...]
    passes: int
    values: dict[int, Gradient]
    gradients: dict[int, Gradient]

    def __repr__(self) -> str:
        return f"CellRecord(cell {self.cell}: {', '.join(self.what)})"


class _Seen(NamedTuple):
    """A tensor as it was looked at."""

    tensor: weakref.ref[torch.Tensor] | None
    version: int
    item: Item  # a copy or a norm

    @property
    def none(self) -> bool:
        return self.tensor is None


class _State(NamedTuple):
    cell: int
    what: tuple[str, ...]
    passes: int
    values: dict[int, _Seen]
    grads: dict[int, _Seen]


class Strip:
    """The cells of one graph."""

    def __init__(self, leaves: Mapping[int, weakref.ref[torch.Tensor]], owner: Callable[[], Any]) -> None:
        self._leaves = dict(leaves)
        self._owner = owner  # has the passes
        self._states: list[_State] = []
        self._born = running_cell()
        self.tell: Callable[[], None] = lambda: None
        _strips.add(self)

    def close(self) -> None:
        """Look no more."""
        _strips.discard(self)

    @property
    def records(self) -> list[CellRecord]:
        """One for each cell that built or changed something."""
        return [
            CellRecord(
                s.cell,
                s.what,
                s.passes,
                {key: _told(seen.item) for key, seen in s.values.items()},
                {key: _told(seen.item) for key, seen in s.grads.items()},
            )
            for s in self._states
        ]

    @property
    def states(self) -> list[_State]:
        """The same as it is kept."""
        return self._states

    @unobserved()
    def look(self, cell: int) -> bool:
        """A cell has ended. Whether it has changed anything."""
        before = self._states[-1] if self._states else None
        budget = READ
        values: dict[int, _Seen] = {}
        grads: dict[int, _Seen] = {}
        for key, reference in self._leaves.items():
            tensor = reference()
            if tensor is None:
                if before is not None:
                    values[key], grads[key] = before.values[key], before.grads[key]
                else:
                    values[key] = grads[key] = _NOTHING
                continue
            values[key], budget = _look(tensor, None if before is None else before.values[key], budget)
            grad = None if _is_wrapped(tensor) else tensor.grad
            grads[key], budget = _look(grad, None if before is None else before.grads[key], budget)
        owner = self._owner()
        passes = [] if owner is None else [one for one in owner.passes if one.state != "running"]
        what = _what(before, values, grads, [p for p in passes if before is None or p.number > before.passes])
        if not what:
            return False
        last = max([p.number for p in passes] + [0 if before is None else before.passes])
        self._states.append(_State(self._born if before is None else cell, what, last, values, grads))
        del self._states[1:-KEPT]
        return True


def _is_wrapped(tensor: torch.Tensor) -> bool:
    return type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


_NOTHING = _Seen(None, -1, None)


def _look(tensor: torch.Tensor | None, before: _Seen | None, budget: int) -> tuple[_Seen, int]:
    if tensor is None:
        return _NOTHING, budget
    version = version_of(tensor)
    known = before is not None and before.tensor is not None and before.tensor() is tensor
    small = 0 < _numel(tensor) <= SMALL
    if known and before is not None and before.version == version and not (small and tensor.device.type == "cpu"):
        return before, budget
    reference = weakref.ref(tensor)
    if small:
        copy = copy_of(tensor)
        if known and before is not None and _equal(copy, before.item):  # edits through .data move no version
            return before._replace(version=version), budget
        return _Seen(reference, version, copy), budget
    size = _numel(tensor) * tensor.element_size()
    if size > budget:
        return _Seen(reference, version, None), budget
    return _Seen(reference, version, reduced(tensor)), budget - size


def _numel(tensor: torch.Tensor) -> int:
    try:
        return tensor.numel()
    except Exception:
        return 0


def _equal(copy: torch.Tensor | None, item: Item) -> bool:
    return (
        isinstance(copy, torch.Tensor)
        and isinstance(item, torch.Tensor)
        and copy.shape == item.shape
        and copy.dtype == item.dtype
        and bool(torch.equal(copy, item) or _same_bits(copy, item))
    )


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal where NaN equals NaN."""
    return bool(torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)) if a.is_floating_point() else False


def _what(
    before: _State | None, values: Mapping[int, _Seen], grads: Mapping[int, _Seen], new: list[BackwardPass]
) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for one in new:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    ran = [f"{kind} ×{count}" if count > 1 else kind for kind, count in counts.items()]
    if before is None:
        return ("built", *ran)
    changed = [key for key, seen in grads.items() if seen is not before.grads[key] and _differ(seen, before.grads[key])]
    moved = any(_differ(seen, before.values[key]) for key, seen in values.items())
    gone = [key for key in changed if not before.grads[key].none and _is_zero(grads[key])]
    found = []
    if gone and len(gone) == len(changed):
        found.append("zero_grad")
    found += ran
    if changed and not gone and not new:
        factors = [_factor(grads[key], before.grads[key]) for key in changed]
        clipped = all(f is not None and f < 1 and abs(f - (factors[0] or 0)) <= 1e-3 * f for f in factors)
        found.append("clip" if clipped else "gradients changed")
    if moved:
        found.append("step")
    return tuple(found)


def _differ(seen: _Seen, before: _Seen) -> bool:
    if seen is before or (seen.none and before.none):
        return False
    return seen.tensor is not before.tensor or seen.version != before.version or seen.item is not before.item


def _is_zero(seen: _Seen) -> bool:
    if seen.none:
        return True
    if isinstance(seen.item, torch.Tensor):
        return not bool(seen.item.count_nonzero())
    return norms_of([seen.item])[0] == 0


def _factor(seen: _Seen, before: _Seen) -> float | None:
    now, then = norms_of([seen.item, before.item])
    return now / then if now and then else None


def _told(item: Item) -> Any:
    found = opened(item)
    return found.clone() if isinstance(found, torch.Tensor) else found


_strips: weakref.WeakSet[Strip] = weakref.WeakSet()


def after_cell(cell: int, strips: Iterable[Strip] | None = None) -> None:
    """Look at every graph on view."""
    for strip in list(_strips if strips is None else strips):
        with contextlib.suppress(Exception):  # a broken widget must not spoil the user's cell
            if strip.look(cell):
                strip.tell()


def _cell_ended(result: object = None) -> None:
    number = getattr(result, "execution_count", None)  # the shell counts on before it tells
    after_cell(number if type(number) is int else 0)


def load(shell: Any) -> None:
    """`%load_ext gradwidget`."""
    unload(shell)
    shell.events.register("post_run_cell", _cell_ended)


def unload(shell: Any) -> None:
    """`%unload_ext gradwidget`."""
    with contextlib.suppress(ValueError):
        shell.events.unregister("post_run_cell", _cell_ended)
