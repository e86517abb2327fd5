"""Which nodes of a graph a backward pass with create_graph=True has made: the second-order part."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import torch

from gradwidget._walk import Columns, Node, is_leaf

PASSES = 1_000
"""Passes of a thread that are remembered."""

_local = threading.local()

_UNSURE = (
    "A backward pass with create_graph=True has made part of this graph, and nobody watched it: only what it surely "
    "made is marked. Make a GradWidget of the first output before that pass, or run it inside gw.record()."
)


class Second(NamedTuple):
    """`made`: nodes that such a pass has made. `unsure`: nodes of which that can't be told; `note` says why."""

    made: list[int]
    unsure: frozenset[int] = frozenset()
    note: str = ""


def note_pass(first: int, last: int) -> None:
    """A pass of this thread has made the nodes with sequence numbers from `first` to below `last`."""
    spans: list[tuple[int, int]] = vars(_local).setdefault("spans", [])
    spans.append((first, last))
    del spans[:-PASSES]


def find(
    columns: Columns,
    nodes: Sequence[Node],
    roots: Sequence[torch.Tensor | None],
    by_text: Callable[[], tuple[Collection[int], bool]],
) -> Second:
    """The second-order part of a graph, as far as passes were seen, else as its nodes or the source text tell.

    Args:
        columns: the graph.
        nodes: its nodes.
        roots: the tensors that it was made from.
        by_text: outputs that the source text says are gradients, and whether others come from one.
    """
    low, high = min(columns.sequence), max(columns.sequence)
    spans = [(first, last) for first, last in vars(_local).get("spans", ()) if low < last and first <= high]
    if spans:
        numbers = enumerate(columns.sequence)
        made = [key for key, number in numbers if any(first <= number < last for first, last in spans)]
        if made:
            return Second(made)
    double = {i for i, op in enumerate(columns.ops) if op.name.endswith("BackwardBackward0")}
    sure = {key for key, op in enumerate(columns.op) if op in double} if double else set()
    grads = {id(grad) for node in nodes if is_leaf(node) if (grad := _grad_of(node.variable)) is not None}
    sure.update(key for (key, _), root in zip(columns.outputs, roots, strict=True) if id(root) in grads)
    given, come = by_text()
    sure.update(columns.outputs[i][0] for i in given)
    if not sure and not come:
        return Second([])
    unsure = {key for key, op in enumerate(columns.op) if columns.ops[op].kind != "leaf"} - sure
    return Second(sorted(sure), frozenset(unsure), _UNSURE if unsure else "")


def _grad_of(variable: Any) -> torch.Tensor | None:
    if type(variable) not in (torch.Tensor, torch.nn.Parameter):  # reading it would run somebody's code
        return None
    grad: torch.Tensor | None = variable.grad
    return grad
