"""The graph as text, JSON and DOT."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx

from gradwidget._inspect import Inspection
from gradwidget._passes import summary_of
from gradwidget._summary import Summary, summarize
from gradwidget._wire import number, title

_MOST_ROWS = 60


def to_text(inspection: Inspection) -> str:
    """A short table, a row a node: number, operation, name, shape, value, gradient. Deterministic."""
    columns = inspection.columns
    size = len(columns)
    lines = [f"{title(inspection)}: {size} nodes, {len(columns.source)} edges"]
    rows = [("", "node", "name", "form", "value", "gradient")]
    for key in range(min(size, _MOST_ROWS)):
        value, gradient = _numbers(inspection, key)
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


def _numbers(inspection: Inspection, key: int) -> tuple[Summary | None, Summary | None]:
    value = inspection.known_value((key, 0))
    last = inspection.last_pass_with(key)
    arrived = last.at(key) if last is not None else ()
    return (None if value is None else summarize(value)), (summary_of(arrived[0]) if arrived else None)


def to_json(inspection: Inspection) -> str:
    """The graph in networkx node-link form, with the short text of each value and gradient. Strict JSON."""
    graph = inspection.graph
    for key, attributes in graph.nodes(data=True):
        value, gradient = _numbers(inspection, key)
        attributes["value"] = None if value is None else value.text
        attributes["gradient"] = None if gradient is None else gradient.text
        norm = None if gradient is None or gradient.stats is None else gradient.stats.norm
        attributes["gradient_norm"] = None if norm is None else number(norm)
    data: Any = nx.node_link_data(graph, edges="edges")
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


def to_dot(inspection: Inspection) -> str:
    """The graph in graphviz' DOT language, drawn in the direction of the forward pass."""
    columns = inspection.columns
    lines = ["digraph {", "  rankdir=LR", "  node [shape=box, fontname=Helvetica, fontsize=11]"]
    for key in range(len(columns)):
        op = columns.ops[columns.op[key]]
        forms = columns.forms_of(key)
        value, gradient = _numbers(inspection, key)
        parts = [" ".join(filter(None, (op.label, *inspection.names_of(key)[:1]))), forms[0].text if forms else ""]
        parts += [f"value {value.text}"] if value is not None and value.text else []
        parts += [f"gradient {gradient.text}"] if gradient is not None and gradient.text else []
        lines.append(f"  {key} [label={_quoted(parts)}]")
    for source, target in zip(columns.source, columns.target, strict=True):
        lines.append(f"  {target} -> {source}")
    return "\n".join([*lines, "}", ""])


def _quoted(parts: list[str]) -> str:
    escaped = [p.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for p in parts if p]
    return '"' + "\\n".join(escaped) + '"'
