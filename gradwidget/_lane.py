"""The usual cases of a capture, at the least cost for each node, in the one plain pass that runs.

They are gradients of inner nodes, and small ones of leaves. What anything else needs is left to the recorder. A hook of
Python costs torch 1 us a node, a copy another one; these add less than that.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from gradwidget._passes import BackwardPass, Same

_current_task: Callable[[], int] = torch._C._current_graph_task_id
_NOBODY = -2  # no task of the engine has that number

DROP, HOLD, COPY = range(3)
"""What is done with what a node hands to one of its inputs."""
PART = 4
"""One gradient may take this part of the budget that is left, so that some of it is left for the last ones."""


class Lane:
    """The pass that is written to, and how many bytes are held for us."""

    __slots__ = ("arrived", "budget", "fresh", "handed", "hold", "order", "steps", "task", "used", "versions")

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.used = 0
        self.open(_NOBODY, BackwardPass(0))

    def open(self, task: int, one: BackwardPass) -> None:
        """Let hooks write to this pass."""
        self.order, self.arrived, self.steps = one.order, one.arrived, one.steps
        self.handed, self.fresh, self.versions = one.handed, one.fresh, one.versions
        self.hold = one.whole  # else the user gets some of the gradients, and may edit them
        self.task = task

    def shut(self) -> None:
        """Send everything to the recorder. A hook of another thread may be at work, so it keeps what it writes to."""
        self.task = _NOBODY


def arriving(
    lane: Lane,
    key: int,
    cost: int,
    *,
    hold: bool,
    leaf: weakref.ref[torch.Tensor] | None,
    only: tuple[int, int] | None,
    prehooks: Mapping[int, Callable[[], Any]],
    otherwise: Callable[[Any], None],
) -> Callable[[tuple[torch.Tensor | None, ...]], None]:
    """A pre-hook of a node with one output.

    Args:
        lane: what is written to.
        key: number of the node.
        cost: bytes that count against the budget.
        hold: whether what arrives may be held as it is, if the user gets none of it.
        leaf: the tensor, if it is one.
        only: the (node, input) that alone leads there.
        prehooks: for each node, what returns the dictionary of its pre-hooks. A later one of the user's may edit.
        otherwise: the recorder's own hook.
    """
    source, slot = only or (-1, 0)
    least = PART * cost
    same = Same((key, 0))
    plain = torch.Tensor

    def arrived(gradients: tuple[torch.Tensor | None, ...]) -> None:
        gradient = gradients[0]
        if lane.task != _current_task() or type(gradient) is not plain or lane.used + least > lane.budget:
            return otherwise(gradients)
        row = None
        if source >= 0:
            row = lane.handed.get(lane.steps.get(source, -1))
            if row is not None and slot < len(row) and row[slot] is not gradient:
                return otherwise(gradients)  # a hook of the user's came in between
        step = len(lane.order)
        try:
            if hold and lane.hold and len(prehooks[key]()) == 1:
                kept = gradient
                lane.versions[step] = (gradient._version,)
            else:
                kept = gradient.clone()
            if leaf is not None:
                variable = leaf()
                if variable is not None and variable.grad is None:
                    lane.fresh.add(key)
        except Exception:
            return otherwise(gradients)
        lane.used += cost
        lane.steps[key] = step
        lane.order.append(key)
        lane.arrived.append((kept,))
        if row is not None and slot < len(row):
            row[slot] = same
        return None

    vars(arrived)["__wrapped__"] = otherwise  # by which it is known as ours
    return arrived


def arriving_together(
    lane: Lane,
    key: int,
    cost: int,
    *,
    hold: bool,
    only: Sequence[tuple[int, int] | None],
    prehooks: Mapping[int, Callable[[], Any]],
    otherwise: Callable[[Any], None],
) -> Callable[[tuple[torch.Tensor | None, ...]], None]:
    """A pre-hook of a node with several small outputs. `only` has one entry for each."""
    sources = [(output, *place) for output, place in enumerate(only) if place is not None]
    same = [Same((key, output)) for output in range(len(only))]
    count = len(only)
    plain = torch.Tensor

    def arrived(gradients: tuple[torch.Tensor | None, ...]) -> None:
        if lane.task != _current_task() or len(gradients) != count or lane.used + PART * cost > lane.budget:
            return otherwise(gradients)
        known: list[tuple[list[Any], int, int]] = []
        for output, source, slot in sources:
            row = lane.handed.get(lane.steps.get(source, -1))
            if row is not None and slot < len(row):
                if row[slot] is not gradients[output]:
                    return otherwise(gradients)  # a hook of the user's came in between
                known.append((row, slot, output))
        step = len(lane.order)
        try:
            for gradient in gradients:
                if gradient is not None and type(gradient) is not plain:
                    return otherwise(gradients)
            if hold and lane.hold and len(prehooks[key]()) == 1:
                kept = gradients
                lane.versions[step] = tuple([-1 if g is None else g._version for g in gradients])
            else:
                kept = tuple([None if g is None else g.clone() for g in gradients])
        except Exception:
            return otherwise(gradients)
        lane.used += cost
        lane.steps[key] = step
        lane.order.append(key)
        lane.arrived.append(kept)
        for row, slot, output in known:
            row[slot] = same[output]
        return None

    vars(arrived)["__wrapped__"] = otherwise
    return arrived


def leaving(
    lane: Lane,
    key: int,
    plan: Sequence[int],
    *,
    prehooks: Mapping[int, Callable[[], Any]],
    otherwise: Callable[[Any, Any], None],
) -> Callable[[tuple[Any, ...], tuple[Any, ...]], None]:
    """A post-hook of a node. `plan` says for each input what is done with what goes there."""
    count = len(plan)
    all_held = all(what == HOLD for what in plan)
    plain = torch.Tensor

    def left(handed: tuple[torch.Tensor | None, ...], received: tuple[Any, ...]) -> None:
        step = lane.steps.get(key) if lane.task == _current_task() else None
        if step is None or len(prehooks[key]() or "?") > 1:
            return otherwise(handed, received)
        if all_held:
            lane.handed[step] = list(handed[:count])
            return None
        row: list[Any] = []
        try:
            for gradient, what in zip(handed, plan, strict=False):
                if gradient is None or what == DROP:
                    row.append(None)
                elif what == HOLD:
                    row.append(gradient)
                elif type(gradient) is plain:
                    row.append(gradient.clone())
                else:
                    return otherwise(handed, received)
        except Exception:
            return otherwise(handed, received)
        lane.handed[step] = row
        return None

    vars(left)["__wrapped__"] = otherwise
    return left
