"""The figure as a table for viewers that run no scripts: GitHub, nbviewer, mail. Text only, and the same each time."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from gradwidget._inspect import Inspection
from gradwidget._passes import Gradient, Reduced, norms, texts
from gradwidget._snapshot import Snapshot
from gradwidget._summary import format_number, summarize, unobserved
from gradwidget._wire import title

ROWS = 60
BYTES = 30_000
_LONGEST = 60
_ELEMENTS = 1 << 16  # of a value whose size is told by its norm
_HEADS = ("", "operation", "name", "shape", "value", "gradient", "inputs")

Row = Sequence[str]


def with_html(bundle: Any, static: str) -> Any:
    """A widget's bundle for the notebook, with the table for those that can't show the widget."""
    if bundle is None:
        return None
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    return {**data, "text/html": static}, metadata


@unobserved()
def of_inspection(inspection: Inspection) -> str:
    """The table of a graph as it stands now."""
    columns, edges = inspection.columns, inspection.edges
    size = min(ROWS, len(columns))
    last = [inspection.last_pass_with(key) for key in range(size)]
    items = [None if one is None else next(iter(one.items(key)), None) for key, one in enumerate(last)]
    # A leaf's gradient may be read from its `.grad`, which may be big.
    big = [isinstance(item, torch.Tensor) and item.numel() > _ELEMENTS for item in items]
    lengths = norms([None if large or _unread(item) else item for item, large in zip(items, big, strict=True)])
    gradients = [
        "" if one is None else short or ("" if length is None else f"‖·‖ {format_number(length)}")
        for one, short, length in zip(last, texts(items), lengths, strict=True)
    ]

    def row(key: int) -> Row:
        forms = columns.forms_of(key)
        inputs = [inspection.label_of(columns.target[edge]) for edge in edges.inputs[key][:6]]
        return (
            str(key),
            columns.ops[columns.op[key]].label,
            ", ".join(inspection.names_of(key)[:3]),
            forms[0].text if forms else "?",
            _value(inspection.known_value((key, 0))),
            gradients[key],
            ", ".join(inputs),
        )

    return _page(title(inspection), len(columns), len(columns.source), size, row)


def _unread(item: Any) -> bool:
    return isinstance(item, Reduced) and item.norm is None and math.prod(item.form.shape or (0,)) > _ELEMENTS


def _value(value: torch.Tensor | None) -> str:
    return "" if value is None or value.numel() > _ELEMENTS else summarize(value).text


def of_snapshot(snapshot: Snapshot) -> str:
    """The table of a snapshot."""
    graph = snapshot.graph
    size = min(ROWS, len(snapshot))

    def row(key: int) -> Row:
        node = snapshot[key]
        inputs = [snapshot[target].name or snapshot[target].label for target in graph[key]][:6]
        form = node._form
        return (
            str(key),
            node.label,
            ", ".join(node.names[:3]),
            "?" if form is None else form.text,
            _short(node._value_of(0)),
            _short(node._gradient_of(0)),
            ", ".join(inputs),
        )

    rank = "" if snapshot.rank is None else f"rank {snapshot.rank}: "
    return _page(f"{rank}{snapshot.page['graph'].get('title', '')}", len(graph), graph.number_of_edges(), size, row)


def _short(gradient: Gradient) -> str:
    if gradient is None:
        return ""
    return summarize(gradient).text if isinstance(gradient, torch.Tensor) else gradient.text


def _page(head: str, nodes: int, edges: int, size: int, row: Callable[[int], Row]) -> str:
    counts = f"{nodes:,} node{'s' * (nodes != 1)}, {edges:,} edge{'s' * (edges != 1)}"
    rows: list[Row] = []
    used = 1_000
    for key in range(size):
        cells = row(key)
        used += len(_row(cells).encode("utf-8", "replace"))
        if used > BYTES:
            break
        rows.append(cells)
    note = f"The first {len(rows)} of {nodes:,} nodes, from the output." if len(rows) < nodes else ""
    return table(f"{cut(head)} · {counts}", _HEADS, rows, note)


def table(caption: str, heads: Iterable[str], rows: Iterable[Row], note: str = "") -> str:
    """A table in HTML without colours of its own, so that it can be read on light and on dark."""
    cells = "".join(f'<th style="{_CELL};border-bottom:1px solid currentColor">{text(head)}</th>' for head in heads)
    return (
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f'<caption style="text-align:left;font-weight:600">{text(caption)}</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(map(_row, rows))}</tbody></table>"
        + (f"<p>{text(note)}</p>" if note else "")
    )


_CELL = "text-align:left;padding:2px 10px"


def _row(cells: Row) -> str:
    inside = "".join(f'<td style="text-align:left">{text(cut(cell))}</td>' for cell in cells)
    return f"<tr>{inside}</tr>"


def text(value: str) -> str:
    """Text as HTML: markup stays text, and marks that would turn the reading order end with it."""
    plain = "".join(c if c.isprintable() or "\u200e" <= c <= "\u206f" else "\ufffd" for c in value)
    escaped = html.escape(plain)
    return (
        f"<bdi>{escaped}</bdi>"
        if any("\u0590" <= c <= "\u08ff" or "\u200e" <= c <= "\u206f" for c in plain)
        else escaped
    )


def cut(value: str) -> str:
    """The beginning of what is long."""
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}… ({len(value):,} characters)"
