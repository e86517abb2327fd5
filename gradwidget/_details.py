"""What the panel shows of a node -> JSON. Spells the wire keys of `Detail` in `frontend/src/wire.ts`."""

from __future__ import annotations

import json
import math
from typing import Any

import torch

from gradwidget import _told
from gradwidget._explain import Part, explain
from gradwidget._formulas import Piece
from gradwidget._inspect import Inspection
from gradwidget._made import code_of
from gradwidget._passes import Gradient, opened, reduced
from gradwidget._saved import Saved
from gradwidget._summary import SIDE, Corner, Summary, format_number, summarize, unobserved
from gradwidget._trace import SPELLED, TraceRow, trace
from gradwidget._walk import Form
from gradwidget._why import in_panel
from gradwidget._wire import Json, number

DETAILED = 300
"""Nodes up to which details are sent along."""
AT_ONCE = 60
"""Nodes up to which that is done before the figure is shown; else after the cell."""
DETAIL_BYTES = 400_000
DETAIL_ELEMENTS = 1 << 21
"""Elements that are summarised for it: some 50 ms."""
SENT_SIDE = 8


class Summaries:
    """Wire form of tensors, each summarised once however often it stands in one payload."""

    def __init__(self, side: int, most: int | None = None) -> None:
        self._side = side  # rows and columns that are shown of a bigger tensor
        self._most = most  # elements of a tensor of which more than the norm is told; None: of any
        self.elements = 0
        self.memo: dict[Any, Any] = {}  # what diagnoses of one payload have in common
        self._made: dict[int, tuple[torch.Tensor, Json]] = {}

    def of(self, gradient: Gradient) -> Json | None:
        if not isinstance(gradient, torch.Tensor):
            return None if gradient is None else tensor(gradient)
        made = self._made.get(id(gradient))
        if made is None and self.is_large(gradient.numel()):
            brief = opened(reduced(gradient))
            assert isinstance(brief, Summary)
            made = self._made[id(gradient)] = (gradient, tensor(brief))
        elif made is None:
            made = self._made[id(gradient)] = (gradient, tensor(summarize(gradient, self._side)))
            self.elements += made[1]["numel"]
        return made[1]

    def is_large(self, size: int) -> bool:
        """Whether so many elements are too many to look at each."""
        return self._most is not None and size > self._most


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
        "module": inspection.module_of(key),
        "module_types": [f"{c.type} (call {c.call})" for c in inspection.modules.get(key, ())],
        "source": inspection.sources.get(key, ""),
        "code": "",
        "made_note": "",
        "subtitle": _SUBTITLES.get(op.kind, ""),
        "outputs": [],
        "captures": [],
        "captures_note": "",
        "hooks": [],
        "hook_steps": [],
        "hooks_note": "",
        "function": None,
        "history": [],
        "history_start": 0,
        "saved": [],
        "saved_note": "",
        "inputs": [],
        "consumers": [],
        "formula": None,
        "why": None,
        "problem": "",
    }
    for part in (_source, _outputs, _why, _captures, _hooks, _function, _saved, _neighbours, _formula):
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


def _source(inspection: Inspection, key: int, found: Json, _: Summaries) -> None:
    made = inspection.made
    place = made.places.get(key)
    if place is not None:
        found["code"] = code_of(place)
        if place.cell and not found["source"].startswith(f"cell {place.cell},"):
            found["made_note"] = f"Run by cell {place.cell}."
    if key in made.compiled:
        found["made_note"] = "Inside a compiled region nothing is recorded."
    elif place is None and inspection.kind_of(key) != "leaf":
        if made.places or inspection.modules:
            found["made_note"] = "Made outside of record(): its line and module are not known."
        elif not inspection.sources:
            found["made_note"] = "Line and module: with gw.record(): or %load_ext gradwidget, before the forward pass."


def _outputs(inspection: Inspection, key: int, found: Json, summaries: Summaries) -> None:
    forms = inspection.columns.forms_of(key) or (Form(None, "", ""),)
    last = inspection.last_pass_with(key)
    op = inspection.columns.ops[inspection.columns.op[key]]
    for output, one in enumerate(forms):
        place = (key, output)
        value = inspection.value_or_summary(place)
        gradient = None
        note = ""
        if last is not None:
            arrived = last.at(key)
            gradient = arrived[output] if output < len(arrived) else None
            if gradient is None:
                note = "None arrived: the output does not depend on this one, or a Function returned None."
            elif key not in last.steps:
                note = "Returned by autograd.grad(); not added to any .grad."
        else:
            note = _no_gradient(inspection)
        grad = _told.grad_of(inspection.tensor(place))
        large = summaries.is_large(math.prod(one.shape or ()))
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
                "grad_note": _told.accumulated(inspection, key) if op.kind == "leaf" and not large else "",
            }
        )


def _why(inspection: Inspection, key: int, found: Json, summaries: Summaries) -> None:
    if any(summaries.is_large(math.prod(one.shape or ())) for one in inspection.columns.forms_of(key)):
        return
    told = (in_panel(inspection, key, output["output"], summaries.memo) for output in found["outputs"])
    one = next(filter(None, told), None)
    if one is not None:
        found["why"] = {
            "kind": one.kind,
            "cause": one.cause,
            "remedy": one.remedy,
            "evidence": list(one.evidence),
        }


def _no_gradient(inspection: Inspection) -> str:
    if inspection.passes:
        return "Not reached by any backward pass so far."
    if inspection.watching:
        return "No backward pass yet: call backward()."
    return "Not captured: the widget is not watching. Make a new one before backward(), or call w.probe()."


def _captures(inspection: Inspection, key: int, found: Json, summaries: Summaries) -> None:
    captures = _told.captures(inspection, key)
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


def _hooks(inspection: Inspection, key: int, found: Json, summaries: Summaries) -> None:
    found["hooks"] = [{"kind": h.kind, "name": h.name, "where": h.where} for h in _told.user_hooks(inspection, key)]
    found["hooks_note"] = _told.hooks_note(inspection, key) if found["hooks"] else ""
    effects = next((c.effects for c in reversed(_told.captures(inspection, key))), ())
    found["hook_steps"] = [
        {"what": e.what, "change": e.change, "tensor": summaries.of(e.gradient), "note": e.note} for e in effects
    ]


def _function(inspection: Inspection, key: int, found: Json, _: Summaries) -> None:
    info = _told.function(inspection, key)
    if info is not None:
        needs = [list(pair) for pair in info.needs]
        found["function"] = {"name": info.name, "where": info.where, "materialize": info.materialize, "needs": needs}
    history = _told.history_of(inspection, key)
    if history is not None:
        start, lengths = history
        found["history"] = [None if n is None else number(n) for n in lengths]
        found["history_start"] = start


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
                "unpack": one.state == "packed" and inspection.nodes() is not None,
            }
        )
    if not entries:
        leaf = inspection.columns.ops[inspection.columns.op[key]].kind == "leaf"
        found["saved_note"] = "" if leaf else "This operation saves nothing for backward()."


def _saved_text(one: Saved) -> str:
    if one.state == "scalar":
        value = one.value
        return format_number(value) if isinstance(value, (bool, int, float, complex)) else _cut(str(value))
    return "None" if one.state == "none" else ""


def _cut(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:100]}… ({len(text):,} characters)"


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


def _formula(inspection: Inspection, key: int, found: Json, _: Summaries) -> None:
    one = explain(inspection, key)
    last = inspection.last_pass_with(key)
    if one.state == "leaf" and one.arrival is None:
        return
    found["formula"] = {
        "state": one.state,
        "pass": 0 if last is None else last.number,
        "forward": _maths(one.forward),
        "arrival": _maths(one.arrival),
        "hint": _maths(one.hint),
        "parts": [_part(part) for part in one.parts],
        "note": one.note,
        "text": one.text,
    }


def _part(part: Part) -> Json:
    return {
        "slot": part.slot,
        "key": part.place[0],
        "gradient": part.gradient.as_dict(),
        "alone": part.alone,
        "local": _maths(part.local),
        "chain": _maths(part.chain),
        "numbers": _maths(part.numbers),
        "result": _maths(part.result),
        "note": part.note,
    }


def _maths(piece: Piece | None) -> Json | None:
    """`Maths`."""
    return None if piece is None else piece.as_dict()


TRACED = 100
"""Nodes up to which the trace is sent along."""


@unobserved()
def trace_payload(inspection: Inspection) -> Json:
    """`TracePayload`."""
    if len(inspection) > SPELLED:
        note = f"{len(inspection):,} steps are too many for a table here; w.trace() gives them as rows."
        return {"rows": [], "outputs": [], "note": note, "markdown": "", "latex": "", "csv": ""}
    found = trace(inspection)
    return {
        "rows": [_trace_row(row) for row in found],
        "outputs": [_trace_row(row) for row in found.outputs],
        "note": "",
        "markdown": found.to_markdown(),
        "latex": found.to_latex(),
        "csv": found.to_csv(),
    }


def _trace_row(row: TraceRow) -> Json:
    return {
        "key": row.key,
        "name": row.name,
        "op": row.op,
        "statement": row.pieces["statement"].as_dict(),
        "adjoints": [{"key": one.key, "line": one.line.as_dict()} for one in row.adjoints],
    }


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
    summaries = Summaries(SENT_SIDE)
    size = 0
    for key in range(len(inspection)):
        one = detail(inspection, key, summaries)
        size += len(json.dumps(one))
        if size > DETAIL_BYTES * 4 or summaries.elements > DETAIL_ELEMENTS:  # numbers gzip to about a quarter
            break
        found[str(key)] = one
    return found
