"""Where in a pass numbers first went bad: the step that made NaN or infinity out of finite numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gradwidget._inspect import Inspection
from gradwidget._passes import BackwardPass, norms


@dataclass(frozen=True, slots=True)
class Bad:
    """The first bad number of a pass: the node that made it, its step from 0, "NaN" or "infinity", and a sentence."""

    key: int
    step: int
    kind: str
    text: str


def first_bad(inspection: Inspection, one: BackwardPass) -> Bad | None:
    """Find it by what arrived at each node, and by what each handed on where that is known."""
    rows = [one.row(step) for step in range(len(one))]
    handed = {step: one.handed_on(step) for step in one.handed}
    arrived = _kinds(rows)
    made = dict(zip(handed, _kinds(list(handed.values())), strict=True))
    for step, key in enumerate(one.order):
        if arrived[step] and step == 0:
            return Bad(key, 0, arrived[0], f"The pass began with {arrived[0]}.")
        if not arrived[step] and made.get(step):
            return _made(inspection, key, step, made[step])
        if arrived[step]:  # no step is known to have handed it on: look for one that could have
            consumers = {inspection.columns.source[edge] for edge in inspection.edges.consumers[key]}
            makers = consumers & one.steps.keys()
            if all(_known(inspection, handed.get(one.steps[maker], ()), maker, key) for maker in makers):
                return Bad(key, step, arrived[step], _arose(inspection, one, key, arrived[step], bool(makers)))
            if len(makers) == 1:
                maker = makers.pop()
                return _made(inspection, maker, one.steps[maker], arrived[step])
            where = f"it arrived at {inspection.label_of(key)}, handed on by one of its {len(makers)} consumers"
            return Bad(key, step, arrived[step], f"First {arrived[step]}: {where}.")
    return None


def _known(inspection: Inspection, row: Sequence[Any], maker: int, key: int) -> bool:
    """Whether all that one step handed to a node is known: then it was finite, or the search had ended there."""
    edges = [edge for edge in inspection.edges.inputs[maker] if inspection.columns.target[edge] == key]
    slots = [inspection.columns.input[edge] for edge in edges]
    return all(slot < len(row) and row[slot] is not None for slot in slots)


def _arose(inspection: Inspection, one: BackwardPass, key: int, kind: str, fed: bool) -> str:
    label = inspection.label_of(key)
    if not fed:
        return f"First {kind}: the gradient given for {label}, or a hook on it."
    if any(place[0] == key for place in one.ladders):
        return f"First {kind}: a hook on {label} made it; what arrived there was finite."
    return f"First {kind}: at {label}, of finite numbers: their sum, a gradient given to backward(), or a hook on it."


def _made(inspection: Inspection, key: int, step: int, kind: str) -> Bad:
    label = inspection.columns.ops[inspection.columns.op[key]].label
    name = next(iter(inspection.names_of(key)), "")
    place = inspection.sources.get(key, "")
    subject = f"{label}{f' ({name})' if name else ''}{f', {place},' if place else ''}"
    return Bad(key, step, kind, f"First {kind}: {subject} handed it on; what it received was finite.")


def _kinds(rows: Sequence[Sequence[Any]]) -> list[str]:
    """What is wrong in each row: "NaN", "infinity" or ""."""
    lengths = iter(norms(item for row in rows for item in row))
    return [next(filter(None, [_kind(item, next(lengths)) for item in row]), "") for row in rows]


def _kind(item: Any, length: float | None) -> str:
    if length is None or math.isfinite(length):
        return ""
    if math.isnan(length):
        return "NaN"
    # The norm of big finite numbers may be infinite too.
    finite = type(item) is torch.Tensor and not item.is_sparse and bool(torch.isfinite(item).all())
    return "" if finite else "infinity"
