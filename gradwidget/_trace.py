"""The evaluation trace: the forward pass row by row, each with the adjoint that came back."""

from __future__ import annotations

from dataclasses import dataclass

from gradwidget._inspect import Inspection
from gradwidget._passes import summary_of
from gradwidget._summary import summarize
from gradwidget._walk import topological


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One step. `value` and `gradient` are short texts, "" where unknown; `inputs` are names or operations."""

    key: int
    name: str
    op: str
    inputs: tuple[str, ...]
    value: str
    gradient: str


def trace(inspection: Inspection) -> list[TraceRow]:
    """One row a node, in an order in which the forward pass could have run: leaves first, outputs last."""
    columns, edges = inspection.columns, inspection.edges
    order, _, _ = topological(columns)
    rows = []
    for key in reversed(order):
        value = inspection.known_value((key, 0))
        last = inspection.last_pass_with(key)
        arrived = last.at(key) if last is not None else ()
        gradient = summary_of(arrived[0]) if arrived else None
        rows.append(
            TraceRow(
                key,
                next(iter(inspection.names_of(key)), ""),
                columns.ops[columns.op[key]].label,
                tuple(inspection.label_of(columns.target[edge]) for edge in edges.inputs[key]),
                "" if value is None else summarize(value).text,
                "" if gradient is None else gradient.text,
            )
        )
    return rows
