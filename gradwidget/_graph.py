"""Columns -> a networkx graph of plain data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import networkx as nx

from gradwidget._walk import Columns, collector_paused

Names = Mapping[tuple[int, int], Sequence[str]]
"""(node, output number) -> names of that tensor."""


class Told(NamedTuple):
    """What is known of nodes beside the columns."""

    sources: Mapping[int, str]
    modules: Mapping[int, str]
    second: Collection[int]  # made by a backward pass
    unsure: Collection[int] = ()  # perhaps


def build(
    columns: Columns,
    names: Names,
    told: Told,
    torch_version: str,
) -> nx.MultiDiGraph[int]:
    """The graph as `backward_graph` returns it, built in bulk."""
    order = dict.fromkeys(told.unsure) | dict.fromkeys(told.second, 2)
    names_of: dict[int, list[str]] = {}
    for (key, _), found in sorted(names.items()):
        names_of.setdefault(key, []).extend(n for n in found if n not in names_of.get(key, ()))
    cuts: dict[int, list[int]] = {}
    for key, slot in zip(columns.cut_node, columns.cut_input, strict=True):
        cuts.setdefault(key, []).append(slot)
    with collector_paused():
        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        graph.add_nodes_from(
            (key, _attributes(columns, key, names_of, cuts, told) | {"order": order.get(key, 1)})
            for key in range(len(columns))
        )
        graph.add_edges_from(
            (source, target, {"input": slot, "output": output})
            for source, target, slot, output in zip(
                columns.source, columns.target, columns.input, columns.output, strict=True
            )
        )
    graph.graph["outputs"] = [
        (key, number, next(iter(names.get((key, number), ())), "")) for key, number in columns.outputs
    ]
    graph.graph["torch"] = torch_version
    return graph


def _attributes(
    columns: Columns,
    key: int,
    names: Mapping[int, list[str]],
    cuts: Mapping[int, list[int]],
    told: Told,
) -> dict[str, Any]:
    op = columns.ops[columns.op[key]]
    forms = columns.forms_of(key)
    own = names.get(key, ())
    return {
        "op": op.name,
        "label": op.label,
        "kind": op.kind,
        "name": own[0] if own else "",
        "names": tuple(own),
        "shapes": tuple(form.shape for form in forms),
        "dtypes": tuple(form.dtype for form in forms),
        "devices": tuple(form.device for form in forms),
        "saved": op.saved,
        "cut": tuple(cuts.get(key, ())),
        "module": told.modules.get(key, ""),
        "source": told.sources.get(key, ""),
        "sequence": columns.sequence[key],
    }
