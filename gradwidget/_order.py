"""The order in which a graph is told, and the number of each node in it: v1, v2, ... and v0, v-1, ... for inputs."""

from __future__ import annotations

from dataclasses import dataclass

from gradwidget._formulas.typeset import Piece, row
from gradwidget._inspect import Inspection
from gradwidget._passes import Place
from gradwidget._walk import topological


@dataclass(frozen=True, slots=True)
class Order:
    """`keys`: leaves first, then what needs no more than what stands before it. `numbers`: by key, as in the survey."""

    keys: list[int]
    numbers: list[int]


def order_of(inspection: Inspection) -> Order:
    """By distance from the leaves, then as the forward pass ran: the order of the tables in arXiv:1502.05767."""
    found: Order | None = inspection.worked_out.get("order")
    if found is None:
        found = inspection.worked_out["order"] = _made(inspection)
    return found


def _made(inspection: Inspection) -> Order:
    columns, edges = inspection.columns, inspection.edges
    size = len(columns)
    level = [0] * size
    down, _, _ = topological(columns)
    for key in reversed(down):
        if inspection.kind_of(key) != "leaf":
            level[key] = 1 + max((level[columns.target[e]] for e in edges.inputs[key]), default=0)
    first = [(size, size, size)] * size
    for edge, source in enumerate(columns.source):
        key = columns.target[edge]
        first[key] = min(first[key], (level[source], columns.sequence[source], columns.input[edge]))
    leaves = [key for key in range(size) if inspection.kind_of(key) == "leaf"]
    others = [key for key in range(size) if inspection.kind_of(key) != "leaf"]
    leaves.sort(key=lambda key: (first[key], key))
    others.sort(key=lambda key: (level[key], columns.sequence[key], -key))
    numbers = [0] * size
    for i, key in enumerate(leaves):
        numbers[key] = i + 1 - len(leaves)
    for i, key in enumerate(others):
        numbers[key] = i + 1
    return Order([*leaves, *others], numbers)


def symbol_of(inspection: Inspection, place: Place) -> Piece:
    """`v₁`; of a node with several outputs `v₁,₀`."""
    index = str(order_of(inspection).numbers[place[0]])
    if len(inspection.columns.forms_of(place[0])) > 1:
        index += f",{place[1]}"
    shown = index.replace("-", "−")
    return Piece(f"v{index.translate(_LOWERED)}", row(["msub", ["mi", "v"], ["mn", shown]]))


_LOWERED = str.maketrans("0123456789-,", "₀₁₂₃₄₅₆₇₈₉₋,")
