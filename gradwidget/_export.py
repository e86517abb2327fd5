"""The graph as text."""

from __future__ import annotations

from gradwidget._dot import numbers
from gradwidget._inspect import Inspection
from gradwidget._wire import title

_MOST_ROWS = 60


def to_text(inspection: Inspection) -> str:
    """A short table, a row a node: number, operation, name, shape, value, gradient. Deterministic."""
    columns = inspection.columns
    size = len(columns)
    lines = [f"{title(inspection)}: {size} nodes, {len(columns.source)} edges"]
    rows = [("", "node", "name", "form", "value", "gradient")]
    for key in range(min(size, _MOST_ROWS)):
        value, gradient = numbers(inspection, key)
        forms = columns.forms_of(key)
        rows.append(
            (
                str(key),
                columns.ops[columns.op[key]].label,
                inspection.names_of(key)[0] if inspection.names_of(key) else "",
                forms[0].text if forms else "?",
                value.text if value is not None else "",
                gradient.text if gradient is not None else "",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if size > _MOST_ROWS:
        lines.append(f"... and {size - _MOST_ROWS} more nodes")
    return "\n".join(lines)
