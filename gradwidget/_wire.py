"""Everything -> JSON for the page. The only speller of wire keys; its other end is `frontend/src/wire.ts`."""

from __future__ import annotations

import gzip
import json
import math
from typing import Any

import torch

from gradwidget._inspect import Inspection
from gradwidget._passes import BackwardPass, Gradient, norms, texts
from gradwidget._saved import Saved, is_freed
from gradwidget._summary import SIDE, Corner, Summary, format_number, summarize, unobserved
from gradwidget._view import grad_of, why
from gradwidget._walk import Form, collector_paused

VERSION = 1
DRAWN = 3_000
"""Nodes up to which gradients are sent for the wires; the page draws no more."""
SENT_PASSES = 20
DETAILED = 300
"""Nodes up to which details are sent along."""
AT_ONCE = 60
"""Nodes up to which that is done before the figure is shown; else after the cell."""
DETAIL_BYTES = 400_000
DETAIL_ELEMENTS = 1 << 21
"""Elements that are summarised for it: some 50 ms."""
_SENT_SIDE = 8
_SAFE = 2**53

Json = dict[str, Any]


def pack(payload: Json) -> bytes:
    """Strict JSON, gzipped; the same payload gives the same bytes."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "replace"), compresslevel=5, mtime=0)


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
            "notes": list(inspection.notes),
        }


def title(inspection: Inspection) -> str:
    """What the figure is of: "e = Mul", "3 outputs"."""
    outputs = inspection.columns.outputs
    if len(outputs) != 1:
        return f"{len(outputs)} outputs"
    name = inspection.name_of(outputs[0])
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


@unobserved()
def live_payload(inspection: Inspection) -> Json:
    """`LivePayload`."""
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
        "passes": [pass_payload(one) for one in sent],
        "dropped": inspection.dropped + len(passes) - len(sent),
    }


def _status(inspection: Inspection) -> str:
    if inspection.closed:
        return "Closed: the hooks are removed; what was captured stays."
    if not inspection.watching:
        return "Not watching: gradients are not captured. Make it with watch=True, or call w.probe()."
    return ""


def pass_payload(one: BackwardPass) -> Json:
    """`Pass`."""
    keys: list[int] = []
    outputs: list[int] = []
    items: list[Any] = []
    for step, key in enumerate(one.order):
        if key >= DRAWN:
            continue
        for output, item in enumerate(one.row(step)):
            keys.append(key)
            outputs.append(output)
            items.append(item)
    return {
        "number": one.number,
        "label": one.label,
        "state": "failed" if one.state == "failed" else "complete",
        "note": one.note,
        "order": one.order,
        "key": keys,
        "output": outputs,
        "text": texts(items),
        "norm": [None if n is None else number(n) for n in norms(items)],
    }


class Summaries:
    """Wire form of tensors, each summarised once however often it stands in one payload."""

    def __init__(self, side: int) -> None:
        self._side = side  # rows and columns that are shown of a bigger tensor
        self.elements = 0
        self._made: dict[int, tuple[torch.Tensor, Json]] = {}

    def of(self, gradient: Gradient) -> Json | None:
        if not isinstance(gradient, torch.Tensor):
            return None if gradient is None else tensor(gradient)
        made = self._made.get(id(gradient))
        if made is None:
            made = self._made[id(gradient)] = (gradient, tensor(summarize(gradient, self._side)))
            self.elements += made[1]["numel"]
        return made[1]


@unobserved()
def detail(inspection: Inspection, key: int, summaries: Summaries | None = None) -> Json:
    """`Detail` of one node. What can't be read says why."""
    summaries = summaries or Summaries(SIDE)
    columns = inspection.columns
    op = columns.ops[columns.op[key]]
    names = inspection.names_of(key)
    found: Json = {
        "key": key,
        "op": op.name,
        "label": op.label,
        "kind": op.kind,
        "names": list(names),
        "module": "",
        "source": inspection.sources.get(key, ""),
        "subtitle": _SUBTITLES.get(op.kind, ""),
        "outputs": [],
        "captures": [],
        "captures_note": "",
        "saved": [],
        "saved_note": "",
        "inputs": [],
        "consumers": [],
        "why": "",
        "problem": "",
    }
    for part in (_outputs, _captures, _saved, _neighbours):
        try:
            part(inspection, key, found, summaries)
        except Exception as error:
            found["problem"] = f"A part of this node can't be shown ({type(error).__name__}: {str(error)[:200]})."
    return found


_SUBTITLES = {
    "operation": "operation, not a leaf",
    "leaf": "leaf: backward() adds to its .grad",
    "function": "torch.autograd.Function, not a leaf",
    "checkpoint": "checkpointed region: its operations run again in backward()",
    "compiled": "compiled region: its intermediates do not exist; run it in eager mode to look inside",
    "hook": "module backward hook",
}


def _outputs(inspection: Inspection, key: int, found: Json, summaries: Summaries) -> None:
    forms = inspection.columns.forms_of(key) or (Form(None, "", ""),)
    last = inspection.last_pass_with(key)
    for output, one in enumerate(forms):
        place = (key, output)
        value = inspection.value(place)
        gradient = None
        note = ""
        if last is not None:
            arrived = last.at(key)
            gradient = arrived[output] if output < len(arrived) else None
            if gradient is None:
                note = "None arrived: the output does not depend on this one, or a Function returned None."
        else:
            note = _no_gradient(inspection)
        grad = grad_of(inspection.tensor(place))
        found["outputs"].append(
            {
                "output": output,
                "names": inspection.names.get(place, []),
                "form": one.text,
                "value": summaries.of(value),
                "value_note": inspection.value_note(place),
                "gradient": summaries.of(gradient),
                "gradient_note": note,
                "gradient_pass": 0 if last is None else last.number,
                "grad": summaries.of(grad),
                "grad_note": "",
            }
        )
        found["why"] = found["why"] or why(inspection, key, output)


def _no_gradient(inspection: Inspection) -> str:
    if inspection.passes:
        return "Not reached by any backward pass so far."
    if inspection.watching:
        return "No backward pass yet: call backward()."
    return "Not captured: the widget is not watching. Make a new one before backward(), or call w.probe()."


def _captures(inspection: Inspection, key: int, found: Json, summaries: Summaries) -> None:
    captures = inspection.captures(key)
    for one in captures[-50:]:
        gradients = [summaries.of(g) for g in one.gradients]
        found["captures"].append(
            {
                "pass": one.number,
                "label": one.label,
                "step": one.step,
                "steps": one.steps,
                "gradients": gradients,
                "note": next((g["note"] for g in gradients if g is not None and g["note"]), ""),
            }
        )
    if not captures:
        found["captures_note"] = _no_gradient(inspection)


def _saved(inspection: Inspection, key: int, found: Json, summaries: Summaries) -> None:
    entries = inspection.saved_with_tensors(key)
    for one, raw in entries.values():
        found["saved"].append(
            {
                "name": one.name,
                "state": one.state,
                "same_as": one.same_as,
                "tensor": summaries.of(raw),
                "text": _saved_text(one),
                "note": one.note,
            }
        )
    if not entries:
        leaf = inspection.columns.ops[inspection.columns.op[key]].kind == "leaf"
        found["saved_note"] = "" if leaf else "This operation saves nothing for backward()."


def _saved_text(one: Saved) -> str:
    if one.state == "scalar":
        value = one.value
        return format_number(value) if isinstance(value, (bool, int, float, complex)) else str(value)[:2_000]
    return "None" if one.state == "none" else ""


def _neighbours(inspection: Inspection, key: int, found: Json, _: Summaries) -> None:
    columns, edges = inspection.columns, inspection.edges
    inputs: dict[int, list[Any]] = {
        slot: [-1, inspection.cut_label(key, slot) or "constant"] for slot in edges.cuts[key]
    }
    for edge in edges.inputs[key]:
        target, output = columns.target[edge], columns.output[edge]
        inputs[columns.input[edge]] = [target, inspection.name_of((target, output)) or inspection.label_of(target)]
    found["inputs"] = [inputs[slot] for slot in sorted(inputs)]
    found["consumers"] = [
        [columns.source[edge], inspection.label_of(columns.source[edge])] for edge in edges.consumers[key][:50]
    ]


def tensor(summary: Summary) -> Json:
    """`TensorView`."""
    stats, histogram = summary.stats, summary.histogram
    return {
        "shape": list(summary.form.shape or ()),
        "dtype": summary.form.dtype,
        "device": summary.form.device,
        "form": summary.form.text,
        "numel": summary.numel,
        "text": summary.text,
        "exact": summary.exact,
        "stats": None
        if stats is None
        else {
            **{k: number(getattr(stats, k)) for k in ("norm", "mean", "std", "min", "max")},
            **{k: getattr(stats, k) for k in ("nan", "inf", "zero")},
        },
        "histogram": None
        if histogram is None
        else {"low": number(histogram.low), "high": number(histogram.high), "counts": list(histogram.counts)},
        "values": None if summary.corner is None else corner(summary.corner),
        "note": summary.note,
    }


def corner(value: Corner) -> Json:
    """`TensorCorner`."""
    plain = all(type(x) in (int, float) for x in value.data)
    return {
        "rows": value.rows,
        "columns": value.columns,
        "data": [number(x) for x in value.data],
        "text": None if plain else [format_number(x) for x in value.data],
        "whole": value.whole,
        "index": value.index,
    }


@unobserved()
def details_payload(inspection: Inspection, most: int) -> Json:
    """Details of the nodes nearest the outputs, as many as the budgets hold; none of a graph beyond `most` nodes."""
    if len(inspection) > most:
        return {}
    found: Json = {}
    summaries = Summaries(_SENT_SIDE)
    size = 0
    for key in range(len(inspection)):
        one = detail(inspection, key, summaries)
        size += len(json.dumps(one))
        if size > DETAIL_BYTES * 4 or summaries.elements > DETAIL_ELEMENTS:  # numbers gzip to about a quarter
            break
        found[str(key)] = one
    return found
