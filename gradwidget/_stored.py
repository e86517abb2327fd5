"""A graph with its passes -> JSON that outlives the program: networkx' node-link form, and all that a page shows.

{"gradwidget": "0.1.0", "version": 1, "rank": 0, "world": 2,
"directed": true, "multigraph": true, "graph": {...}, "nodes": [...], "edges": [...],
"tensors": [...],  each once; elsewhere a tensor is its number in this table
"values": [[node, output, tensor], ...], "saved": [[node, [variable, ...]], ...], "formulas": [[node, text], ...],
"passes": [...], "page": {"graph", "live", "details"}}
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import networkx as nx
import torch

from gradwidget import _details, _wire
from gradwidget._inspect import Inspection
from gradwidget._passes import BackwardPass, Gradient, Item, norms, opened, reduced, summary_of, texts
from gradwidget._summary import Summary, form_of, format_number, readable, summarize, unobserved
from gradwidget._view import NodeView
from gradwidget._walk import collector_paused
from gradwidget._wire import Json, number

VERSION = 1
WHOLE = 1_024
"""Elements up to which a tensor is stored whole."""
NUMBERS = 1 << 20
"""Numbers of tensors that one file holds in all."""
SUMMARISED = 1 << 16
"""Elements up to which a tensor's statistics are stored; of a larger one, only the norm is."""
PANELS = 3_000
"""Nodes up to which saved variables and panels are stored."""
PANEL_BYTES = 16 << 20
EXTRAS = ("value", "gradient", "gradient_norm")
"""What stands beside a node's own attributes, for other readers of node-link JSON."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(inspection: Inspection, gradwidget: str, rank: int | None = None, world: int | None = None) -> str:
    """Strict JSON. `gradwidget`: the version that writes; `rank` of `world`: of the process in a distributed job."""
    with collector_paused(), _pinned(inspection):
        return dumped(_stored(inspection, gradwidget, rank, world))


def dumped(data: Json) -> str:
    """Text of any data of ours: lone surrogates, which no encoding can say, are escaped."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@contextmanager
def _pinned(inspection: Inspection) -> Iterator[None]:
    """Walk a graph that is not held once, not for each node."""
    held = inspection._nodes is not None
    if not held:
        inspection._nodes = inspection.nodes()
    try:
        yield
    finally:
        if not held:
            inspection._nodes = None


@unobserved()
def _stored(inspection: Inspection, gradwidget: str, rank: int | None, world: int | None) -> Json:
    tensors = _Tensors()
    panels = len(inspection) <= PANELS
    graph = inspection.graph
    passes = inspection.passes
    for one in passes:
        one.settle()
    values = _values(inspection, tensors, deep=panels)
    _add_texts(graph, passes, {key: tensors.text(index) for key, output, index in values if not output})
    data: Json = nx.node_link_data(graph, edges="edges")
    live = _wire.live_payload(inspection)
    bad = {one["number"]: one["bad"] for one in live["passes"]}
    kept = [_pass(one, tensors, bad.get(one.number)) for one in passes]
    saved = _saved(inspection, tensors) if panels else []
    return {
        "gradwidget": gradwidget,
        "version": VERSION,
        "rank": rank,
        "world": world,
        **data,
        "tensors": tensors.table,
        "values": values,
        "saved": saved,
        "formulas": _formulas(inspection) if panels else [],
        "passes": kept,
        "page": {
            "graph": _wire.graph_payload(inspection),
            "live": live,
            "details": _panels(inspection) if panels else {},
        },
    }


def _values(inspection: Inspection, tensors: _Tensors, *, deep: bool) -> list[list[Any]]:
    found = []
    for key in range(len(inspection)):
        for output in range(len(inspection.columns.forms_of(key)) or 1):
            place = (key, output)
            value = inspection.value(place) if deep else inspection.known_value(place)
            if value is not None:
                found.append([key, output, tensors.add(value)])
    return found


def _add_texts(graph: Any, passes: list[BackwardPass], values: dict[int, str]) -> None:
    items: dict[int, Item] = {}
    for one in passes:
        for step, key in enumerate(one.order):
            items[key] = next(iter(one.row(step)), None)
        items |= {key: item for (key, output), item in one.returned.items() if not output}
    lengths, short = norms(items.values()), texts(items.values())
    gradients = dict(zip(items, zip(lengths, short, items.values(), strict=True), strict=True))
    for key, attributes in graph.nodes(data=True):
        length, text, item = gradients.get(key, (None, "", None))
        attributes["value"] = values.get(key)
        whole = text or ("" if length is None else f"‖·‖ {format_number(length)}")
        attributes["gradient"] = None if item is None else whole
        attributes["gradient_norm"] = None if length is None else number(length)


def _pass(one: BackwardPass, tensors: _Tensors, bad: Json | None) -> Json:
    return {
        "number": one.number,
        "label": one.label,
        "kind": one.kind,
        "state": one.state,
        "inside": one.inside,
        "note": one.note,
        "order": list(one.order),
        "arrived": [[tensors.add(opened(item)) for item in one.row(step)] for step in range(len(one))],
        "returned": [[*place, tensors.add(opened(item))] for place, item in one.returned.items()],
        "bad": bad,
    }


def _saved(inspection: Inspection, tensors: _Tensors) -> list[list[Any]]:
    found: list[list[Any]] = []
    for key in range(len(inspection)):
        variables = [
            {
                "name": one.name,
                "state": one.state,
                "value": {"tensor": tensors.add(raw)} if raw is not None else plain(one.value),
                "same_as": one.same_as,
                "note": one.note,
            }
            for one, raw in inspection.saved_with_tensors(key).values()
        ]
        if variables:
            found.append([key, variables])
    return found


def _formulas(inspection: Inspection) -> list[list[Any]]:
    told = ((key, str(NodeView(inspection, key).formula)) for key in range(len(inspection)))
    return [[key, text] for key, text in told if text]


def _panels(inspection: Inspection) -> Json:
    found: Json = {}
    summaries = _details.Summaries(8, SUMMARISED)
    size = 0
    for key in range(len(inspection)):
        one = _details.detail(inspection, key, summaries)
        for variable in one["saved"]:
            variable["unpack"] = False  # nobody could
        size += len(json.dumps(one))
        if size > PANEL_BYTES:
            break
        found[str(key)] = one
    return found


def plain(value: Any) -> Any:
    """A number, text, tuple or None: what JSON can't say by its type's name."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if value.bit_length() > 1_000:
            return f"a whole number of {value.bit_length():,} bits"
        return value if -(2**53) <= value <= 2**53 else {"int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": number(value)}
    if isinstance(value, complex):
        return {"complex": [plain(value.real), plain(value.imag)]}
    return [plain(one) for one in value] if isinstance(value, (tuple, list)) else str(value)


class _Tensors:
    """The table of tensors: each stands in it once, however often it is met."""

    def __init__(self) -> None:
        self.table: list[Json] = []
        self._kept: list[Gradient] = []
        self._known: dict[int, int] = {}
        self._numbers = 0

    def add(self, tensor: Gradient) -> int | None:
        if tensor is None:
            return None
        known = self._known.get(id(tensor))
        if known is None:
            known = self._known[id(tensor)] = len(self._kept)
            self._kept.append(tensor)
            self.table.append(self._whole(tensor) if isinstance(tensor, torch.Tensor) else _summary(tensor))
        return known

    def _whole(self, tensor: torch.Tensor) -> Json:
        form = form_of(tensor)
        size = 0 if form.shape is None else math.prod(form.shape)
        if form.shape is not None and size <= WHOLE and self._numbers + size <= NUMBERS:
            content, note = readable(tensor)
            if content is not None and content.numel() == size:
                self._numbers += size
                return {"shape": form.shape, "dtype": form.dtype, "device": form.device, "data": _data(content)}
            return _summary(Summary(form, size, None, None, None, note))
        if size <= SUMMARISED:
            return _summary(summarize(tensor, 8))
        short = opened(reduced(tensor))
        assert isinstance(short, Summary)
        return _summary(Summary(form, size, short.stats, None, None, "Only its norm was stored."))

    def text(self, index: int | None) -> str:
        """As a `Summary` says it: "1.3", "[1, 2]", or the norm of what is bigger."""
        if index is None:
            return ""
        entry = self.table[index]
        if "data" not in entry:
            stats = entry["stats"]
            norm = None if stats is None else stats["norm"]
            return "" if norm is None else f"‖·‖ {format_number(float(norm))}"
        summary = summary_of(self._kept[index])
        return "" if summary is None else summary.text


def _data(content: torch.Tensor) -> list[Any]:
    """Row by row; floats of 32 bits and less by the shortest decimal that names them, complex ones as pairs."""
    flat: Any = content.flatten()
    if flat.is_complex():
        return [[number(x.real), number(x.imag)] for x in flat.tolist()]
    if flat.dtype.is_floating_point and flat.dtype is not torch.float64:
        if flat.numel() == 1:
            return [number(float(str(flat.to(torch.float32).cpu().numpy()[0])))]
        return [number(float(str(x))) for x in flat.to(torch.float32).cpu().numpy()]
    return [number(x) for x in flat.tolist()]


def _summary(one: Summary) -> Json:
    stats, histogram, corner = one.stats, one.histogram, one.corner
    return {
        "shape": one.form.shape,
        "dtype": one.form.dtype,
        "device": one.form.device,
        "numel": one.numel,
        "stats": None
        if stats is None
        else {k: number(getattr(stats, k)) for k in ("norm", "mean", "std", "min", "max", "nan", "inf", "zero")},
        "histogram": None
        if histogram is None
        else [number(histogram.low), number(histogram.high), list(histogram.counts)],
        "corner": None
        if corner is None
        else [corner.rows, corner.columns, [plain(x) for x in corner.data], corner.whole, corner.index],
        "note": one.note,
    }
