"""The usual case of a capture at the least cost for each node: small gradients of the one plain pass that runs.

What anything else needs is left to the recorder. A hook of Python costs torch 1 us a node, a copy another one; these
add less than that.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradwidget._passes import BackwardPass, Same

_current_task: Callable[[], int] = torch._C._current_graph_task_id
_NOBODY = -2  # no task of the engine has that number

DROP, HOLD, COPY = range(3)
"""What is done with what a node hands to one of its inputs."""


class Lane:
    """The pass that is written to, and how many bytes are held for us."""

    __slots__ = ("arrived", "budget", "fresh", "handed", "order", "steps", "task", "used")

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.used = 0
        self.open(_NOBODY, BackwardPass(0))

    def open(self, task: int, one: BackwardPass) -> None:
        """Let hooks write to this pass."""
        self.order, self.arrived, self.steps = one.order, one.arrived, one.steps
        self.handed, self.fresh = one.handed, one.fresh
        self.task = task

    def shut(self) -> None:
        """Send everything to the recorder. A hook of another thread may be at work, so it keeps what it writes to."""
        self.task = _NOBODY


def arriving(
    lane: Lane,
    key: int,
    cost: int,
    *,
    leaf: weakref.ref[torch.Tensor] | None,
    only: tuple[int, int] | None,
    otherwise: Callable[[Any], None],
) -> Callable[[tuple[torch.Tensor | None, ...]], None]:
    """A pre-hook of a node with one small output. `only` is the (node, input) that alone leads there."""
    source, slot = only or (-1, 0)
    same = Same((key, 0))
    plain = torch.Tensor

    def arrived(gradients: tuple[torch.Tensor | None, ...]) -> None:
        gradient = gradients[0]
        if lane.task != _current_task() or type(gradient) is not plain or lane.used + cost > lane.budget:
            return otherwise(gradients)
        row = None
        if source >= 0:
            row = lane.handed.get(lane.steps.get(source, -1))
            if row is not None and slot < len(row) and row[slot] is not gradient:
                return otherwise(gradients)  # a hook of the user's came in between
        try:
            copy = gradient.clone()
            if leaf is not None:
                variable = leaf()
                if variable is not None and variable.grad is None:
                    lane.fresh.add(key)
        except Exception:
            return otherwise(gradients)
        lane.used += cost
        lane.steps[key] = len(lane.order)
        lane.order.append(key)
        lane.arrived.append((copy,))
        if row is not None and slot < len(row):
            row[slot] = same
        return None

    vars(arrived)["__wrapped__"] = otherwise  # by which it is known as ours
    return arrived


def leaving(
    lane: Lane,
    key: int,
    plan: Sequence[int],
    *,
    prehooks: Callable[[], Any],
    otherwise: Callable[[Any, Any], None],
) -> Callable[[tuple[Any, ...], tuple[Any, ...]], None]:
    """A post-hook of a node. `plan` says for each input what is done with what goes there."""
    count = len(plan)
    all_held = all(what == HOLD for what in plan)
    plain = torch.Tensor

    def left(handed: tuple[torch.Tensor | None, ...], received: tuple[Any, ...]) -> None:
        step = lane.steps.get(key) if lane.task == _current_task() else None
        hooks = prehooks()
        if step is None or (hooks is not None and len(hooks) > 1):
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
