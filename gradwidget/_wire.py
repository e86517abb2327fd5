"""Everything -> JSON for the page. The only speller of wire keys; its other end is `frontend/src/wire.ts`."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from collections.abc import Collection, Container
from typing import Any, cast

from gradwidget import _made
from gradwidget._bad import Bad, first_bad
from gradwidget._fold import Fold, Group
from gradwidget._inspect import Inspection
from gradwidget._objects import look
from gradwidget._passes import BackwardPass, norms, texts
from gradwidget._probe import probe_note
from gradwidget._references import References
from gradwidget._references_drawn import drawn
from gradwidget._saved import is_freed
from gradwidget._summary import summarize, unobserved
from gradwidget._told import hooked
from gradwidget._walk import Form, collector_paused

VERSION = 1
DRAWN = 3_000
"""Nodes up to which gradients are sent for the wires; the page draws no more."""
SENT_PASSES = 20
NAMED = 300
"""Named tensors up to which the references are sent along; of more, they are looked at when the page asks."""
_SAFE = 2**53

Json = dict[str, Any]


def pack(payload: Json) -> bytes:
    """Strict JSON, gzipped; the same payload gives the same bytes."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "replace"), compresslevel=3, mtime=0)


def number(x: Any) -> Any:
    """A number that JSON can say, else its name or digits as a string."""
    if isinstance(x, bool):
        return int(x)
    if isinstance(x, int):
        return x if -_SAFE <= x <= _SAFE else str(x)
    if isinstance(x, complex):
        return number(abs(x))
    if math.isfinite(x):
        return x
    return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"


def form(value: Form) -> Json:
    return {"shape": value.shape, "dtype": value.dtype, "device": value.device, "text": value.text}


@unobserved()
def graph_payload(inspection: Inspection) -> Json:
    """`GraphPayload`."""
    columns = inspection.columns
    with collector_paused():
        return {
            "v": VERSION,
            "title": title(inspection),
            "nodes": len(columns),
            "ops": [op.name for op in columns.ops],
            "labels": [op.label for op in columns.ops],
            "kinds": [op.kind for op in columns.ops],
            "forms": [form(f) for f in columns.forms],
            "op": columns.op,
            "form": columns.form,
            "multi": [[key, *forms] for key, forms in columns.multi.items()],
            "source": columns.source,
            "target": columns.target,
            "input": columns.input,
            "output": columns.output,
            "cuts": [
                [
                    key,
                    slot,
                    inspection.cut_label(key, slot),
                    "This input needs no gradient: a constant, a detached tensor, or one made under no_grad().",
                ]
                for key, slot in zip(columns.cut_node[:DRAWN], columns.cut_input, strict=False)
            ],
            "names": [[key, output, names] for (key, output), names in sorted(inspection.names.items())],
            "outputs": [[key, output, inspection.name_of((key, output))] for key, output in columns.outputs],
            "values": _values(inspection),
            "second": inspection.second,
            "code": _code(inspection),
            **groups(inspection.fold),
            "lines": _lines(inspection),
            "notes": list(inspection.notes),
        }


def groups(fold: Fold) -> Json:
    """The part of `GraphPayload` that tells of groups."""
    columns = zip(*fold.groups, strict=True) if fold.groups else ([] for _ in Group._fields)
    told = dict(zip(Group._fields, map(list, columns), strict=True))
    del told["nodes"]
    return {"groups": told, "member": fold.member if fold.groups else [], "collapsed": list(fold.first)}


def _lines(inspection: Inspection) -> list[list[Any]]:
    """Source lines with the keys of the nodes that each made."""
    found: dict[str, list[int]] = {}
    for key, line in sorted(inspection.sources.items()):
        found.setdefault(line, []).append(key)
    return [[line, keys] for line, keys in found.items()]


def shown(inspection: Inspection, collapsed: Collection[str]) -> Container[int]:
    """Nodes whose gradients are sent: all of a graph that can be drawn whole.

    Of others what is drawn, what leaves the groups that are, and leaves.
    """
    if len(inspection) <= DRAWN:
        return range(len(inspection))
    fold, columns = inspection.fold, inspection.columns
    holder = fold.holders(collapsed)
    box = [key if m < 0 or holder[m] < 0 else -1 - holder[m] for key, m in enumerate(fold.member)]
    found = {key for key, b in enumerate(box) if b >= 0}
    found.update(t for s, t in zip(columns.source, columns.target, strict=True) if box[s] != box[t])
    found.update(key for key, _ in columns.outputs)
    leaves = (key for key in range(len(columns)) if inspection.kind_of(key) == "leaf")
    found.update(itertools.islice(leaves, DRAWN))
    return found


def title(inspection: Inspection) -> str:
    """What the figure is of: "e = Mul", "3 outputs"."""
    outputs = inspection.columns.outputs
    if len(outputs) != 1:
        return f"{len(outputs)} outputs"
    names = inspection.names.get(outputs[0], [])
    name = " = ".join([name for name in names if name.isidentifier()][:3] or names[:1])
    label = inspection.columns.ops[inspection.columns.op[outputs[0][0]]].label
    if label == "leaf":
        return f"leaf {name}" if name else "a leaf"
    return f"{name} = {label}" if name else label


def _values(inspection: Inspection) -> list[list[Any]]:
    found = []
    for (key, output), tensor in sorted(inspection.small_values()):
        if key < DRAWN:
            text = summarize(tensor).small_text
            if text:
                found.append([key, output, text])
    return found


def _code(inspection: Inspection) -> Json:
    """`CodePayload`."""
    places = inspection.made.places
    files, spots = _made.code(inspection.made)
    table = list(dict.fromkeys(spots.values()))
    index = {place: table.index(spot) for place, spot in spots.items()}
    found = [-1] * len(inspection) if table else []
    for key, place in places.items():
        if place in index:
            found[key] = index[place]
    return {
        "recorded": bool(places or inspection.modules),
        "files": [{"title": one.title, "lines": one.lines} for one in files],
        "places": table,
        "place": found,
    }


def _cells(inspection: Inspection) -> list[Json]:
    """`CellState`s: what has not changed since the one before is left out."""
    found: list[Json] = []
    values: dict[int, Any] = {}
    grads: dict[int, Any] = {}
    for state in inspection.cells.states:
        row: Json = {"cell": state.cell, "what": list(state.what), "pass": state.passes}
        for name, seen, known in (("value", state.values, values), ("grad", state.grads, grads)):
            changed = [key for key in seen if key < DRAWN and (key not in known or known[key] is not seen[key].item)]
            items = [seen[key].item for key in changed]
            known |= {key: seen[key].item for key in changed}
            row[f"{name}_key"] = changed
            row[f"{name}_text"] = texts(items)
            row[f"{name}_norm"] = [None if n is None else number(n) for n in norms(items)]
        found.append(row)
    return found


def _first_bad(inspection: Inspection, one: BackwardPass) -> Bad | None:
    """What `first_bad` found, once for each pass: in a large graph it takes seconds."""
    if one.state == "running":
        return first_bad(inspection, one)
    if one.number not in inspection.judged:
        inspection.judged[one.number] = first_bad(inspection, one)
    return cast("Bad | None", inspection.judged[one.number])


@unobserved()
def live_payload(inspection: Inspection, drawn: Container[int] | None = None) -> Json:
    """`LivePayload`. `drawn`: nodes whose gradients are sent, see `shown`."""
    drawn = shown(inspection, inspection.fold.first) if drawn is None else drawn
    passes = inspection.passes
    sent = passes[-SENT_PASSES:]
    for one in sent:
        one.settle()
    nodes = inspection.nodes() if len(inspection) <= DRAWN else None
    freed = nodes is not None and any(is_freed(node) for node in nodes[:20])
    return {
        "v": VERSION,
        "watching": inspection.watching,
        "status": _status(inspection),
        "freed": freed,
        "passes": [pass_payload(inspection, one, drawn) for one in sent],
        "probe": _probe(inspection, freed=freed),
        "cells": _cells(inspection),
        "dropped": inspection.dropped + len(passes) - len(sent),
    }


def _probe(inspection: Inspection, *, freed: bool) -> Json:
    if inspection.nodes() is None:
        return {"possible": False, "note": "The graph is gone."}
    if freed:
        return {"possible": False, "note": "A backward() has freed the graph."}
    return {"possible": True, "note": probe_note(inspection)}


def _status(inspection: Inspection) -> str:
    if inspection.closed:
        return "Closed: the hooks are removed; what was captured stays."
    if not inspection.watching:
        return "Not watching: gradients are not captured. Make it with watch=True, or call w.probe()."
    return ""


@unobserved()
def references_payload(inspection: Inspection, most: int | None = None) -> Json:
    """`ReferencesPayload`; an empty one for more than `most` named tensors."""
    pairs = inspection.named()
    if most is not None and len(pairs) > most:
        return {}
    seen = look(pairs, brief=True)
    keys = inspection.keys_of_tensors()
    nodes = {one.object.id: keys.get(one.facts.identity) for one in seen}
    return drawn(References(seen), nodes.get)


def pass_payload(inspection: Inspection, one: BackwardPass, drawn: Container[int] | None = None) -> Json:
    """`Pass`."""
    drawn = shown(inspection, inspection.fold.first) if drawn is None else drawn
    keys: list[int] = []
    outputs: list[int] = []
    items: list[Any] = []
    for step, key in enumerate(one.order):
        if key in drawn:
            for output, item in enumerate(one.row(step)):
                keys.append(key)
                outputs.append(output)
                items.append(item)
    for (key, output), item in one.returned.items():
        if key in drawn:
            keys.append(key)
            outputs.append(output)
            items.append(item)
    handed = [
        (step, slot, item)
        for step in one.handed
        if one.order[step] in drawn
        for slot, item in enumerate(one.handed_on(step))
        if item is not None
    ]
    lengths = norms([*items, *(item for _, _, item in handed)])
    of_arrived, of_handed = lengths[: len(items)], lengths[len(items) :]
    finite = all(n is None or math.isfinite(n) for n in lengths) and len(inspection) <= DRAWN
    bad = None if finite else _first_bad(inspection, one)
    changed = hooked(one)
    return {
        "number": one.number,
        "label": one.label,
        "kind": one.kind,
        "inside": one.inside,
        "state": "failed" if one.state == "failed" else "complete",
        "note": one.note,
        "order": one.order,
        "key": keys,
        "output": outputs,
        "text": texts(items),
        "norm": [None if n is None else number(n) for n in of_arrived],
        "handed_step": [step for step, _, _ in handed],
        "handed_input": [slot for _, slot, _ in handed],
        "handed_text": texts([item for _, _, item in handed]),
        "handed_norm": [None if n is None else number(n) for n in of_handed],
        "bad": None if bad is None else {"key": bad.key, "step": bad.step, "kind": bad.kind, "text": bad.text},
        "hooked_key": list(changed),
        "hooked_change": list(changed.values()),
    }
