"""The wire's goldens: written here (GW_WRITE_GOLDENS=1), read by the front end's tests, compared in every run."""

from __future__ import annotations

import contextlib
import gzip
import json
import linecache
import os
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import gradwidget
from gradwidget import GradWidget, _cells, _wire

HERE = Path(__file__).parent
WRITE = os.environ.get("GW_WRITE_GOLDENS") == "1"
TYPES = (HERE.parents[1] / "gradwidget" / "frontend" / "src" / "wire.ts").read_text("utf-8")


def unpack(data):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(gzip.decompress(data).decode("utf-8"), parse_constant=refuse)


def payloads(w):
    w._update_page()
    return {
        "graph": unpack(w._graph),
        "live": unpack(w._live),
        "details": unpack(w._details),
        "references": unpack(w._references),
        "trace": unpack(w._trace) if w._trace else None,
    }


def abc():
    a = torch.tensor(1.1, requires_grad=True)
    b = torch.tensor(1.2, requires_grad=True)
    c = torch.tensor(1.3, requires_grad=True)
    d = a * b
    e = d * c
    return e, {"a": a, "b": b, "c": c, "d": d, "e": e}


def mlp():
    """Numbers that every machine computes alike: small integers."""
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_((torch.arange(parameter.numel()).reshape(parameter.shape) % 5 - 1) * (i + 1))
    x = torch.arange(12.0).reshape(4, 3)
    loss = (model(x) - 1).pow(2).sum()
    return loss, {"model": model, "loss": loss}


def hostile():
    x = torch.tensor([0.0, 1.0, -1.0, float("nan")], dtype=torch.float64, requires_grad=True)
    big = torch.tensor([2**53 + 1, 0, 1, 2])
    ratio = 1 / x
    low, high = ratio.split(2)
    picked = x[big % 4]
    out = (low * float("inf")).sum() + high.sum() + picked.sum() + (x * (1 + 2j)).real.sum()
    names = {
        "</script><img src=x onerror=alert(1)>": x,
        "网络 🔥 \u202e": ratio,
        "a\"b'\\\n": low,
        "x" * 200: high,
        "out": out,
    }
    return out, names


CASES = {"abc": abc, "mlp": mlp, "hostile": hostile}


def make(made):
    """The widget of a (names, outputs) list that it empties: nothing else of the program is in its scope."""
    return GradWidget(made.pop(), names=made.pop())


def shown(case, after):
    out, names = CASES[case]()
    with contextlib.closing(make([names, out])) as w:
        if after:
            out.backward(retain_graph=True)
            out.backward()
        return payloads(w)


def written(payload):
    """Indented, but each piece of mathematics on a line of its own."""
    lines = []

    def set_aside(value):
        if isinstance(value, list):
            return [set_aside(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"text", "maths"}:
            lines.append(json.dumps(value, ensure_ascii=False, allow_nan=False))
            return f"@{len(lines) - 1}@"
        return {key: set_aside(item) for key, item in value.items()}

    text = json.dumps(set_aside(payload), ensure_ascii=False, allow_nan=False, indent=1)
    return re.sub(r'"@(\d+)@"', lambda match: lines[int(match[1])], text)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("case", CASES)
def test_golden(case, when):
    compare(shown(case, when == "after"), HERE / f"{case}-{when}")


def compare(found, folder):
    for name, payload in found.items():
        path = folder / f"{name}.json"
        text = written(payload) + "\n"
        if WRITE:
            folder.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        assert json.loads(path.read_text("utf-8")) == json.loads(text), path.name


LESSON = """\
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)

x = a * b  # </script><b>not HTML</b>
y = torch.relu(x) + 1
"""


def lesson():
    """A recorded graph over four cells."""
    linecache.cache["lesson.py"] = (len(LESSON), None, LESSON.splitlines(keepends=True), "lesson.py")
    space = {"torch": torch}
    with gradwidget.record():
        exec(compile(LESSON, "lesson.py", "exec"), space)
    a, b, y = space["a"], space["b"], space["y"]
    with contextlib.closing(make([{"a": a, "b": b, "y": y}, y])) as w:
        strip = [w._inspection.cells]
        _cells.after_cell(3, strip)
        y.backward()
        _cells.after_cell(4, strip)
        with torch.no_grad():
            a -= 0.5 * a.grad
        _cells.after_cell(5, strip)
        a.grad = b.grad = None
        _cells.after_cell(6, strip)
        return payloads(w)


def test_golden_of_recorded_code_and_cells():
    found = lesson()
    compare(found, HERE / "lesson")
    assert set(found["graph"]["code"]) == fields("CodePayload")
    assert all(set(one) == fields("CodeFile") for one in found["graph"]["code"]["files"])
    assert all(set(one) == fields("CellState") for one in found["live"]["cells"])


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_same_program_gives_the_same_bytes(case, after):
    assert json.dumps(shown(case, after)) == json.dumps(shown(case, after))


def fields(interface):
    """Names of the fields of one TypeScript interface of the wire."""
    body = re.search(rf"export interface {interface} \{{(.*?)\n\}}", TYPES, re.DOTALL)[1]
    return set(re.findall(r"^  (\w+)\??:", body, re.MULTILINE))


def kinds(interface, field):
    """The words that a field may have."""
    line = re.search(rf"export (?:type|interface) {interface}\b(.*?)\n(?:\}}|\n)", TYPES, re.DOTALL)[1]
    line = re.search(rf"{field}: (.*?);", line)[1] if field else line
    return set(re.findall(r'"(\w+)"', line))


each_payload = pytest.mark.parametrize("case", CASES)


@each_payload
def test_every_field_is_one_that_the_page_knows(case):
    found = shown(case, True)
    assert set(found["graph"]) == fields("GraphPayload")
    assert set(found["live"]) == fields("LivePayload")
    assert all(set(one) == fields("Pass") for one in found["live"]["passes"])
    assert all(set(one) == fields("Form") for one in found["graph"]["forms"])
    references = found["references"]
    assert set(references) == fields("ReferencesPayload")
    for part, interface in (("names", "Name"), ("objects", "Object"), ("memory", "Memory"), ("sentences", "Sentence")):
        assert references[part] or part == "sentences"
        assert all(set(one) == fields(f"Reference{interface}") for one in references[part])
    for detail in found["details"].values():
        assert set(detail) == fields("Detail")
        assert all(set(one) == fields("DetailOutput") for one in detail["outputs"])
        assert all(set(one) == fields("Capture") for one in detail["captures"])
        assert all(set(one) == fields("Saved") for one in detail["saved"])
        assert detail["formula"] is None or set(detail["formula"]) == fields("Formula")
        assert all(set(one) == fields("FormulaPart") for one in (detail["formula"] or {"parts": []})["parts"])
        for view in tensor_views(detail):
            assert set(view) == fields("TensorView")
            assert view["stats"] is None or set(view["stats"]) == fields("Stats")
            assert view["values"] is None or set(view["values"]) == fields("TensorCorner")


@each_payload
def test_every_field_of_the_trace_is_one_that_the_page_knows(case):
    found = shown(case, True)["trace"]
    assert set(found) == fields("TracePayload")
    assert all(set(one) == fields("TraceRow") for one in found["rows"] + found["outputs"])
    assert all(set(one) == fields("Adjoint") for row in found["rows"] for one in row["adjoints"])


def tensor_views(value):
    if isinstance(value, dict):
        if "histogram" in value:
            yield value
        for item in value.values():
            yield from tensor_views(item)
    elif isinstance(value, list):
        for item in value:
            yield from tensor_views(item)


def test_words_are_those_that_the_page_knows():
    from gradwidget._saved import STATES

    assert set(STATES) == kinds("Saved", "state")
    assert kinds("Pass", "state") == {"complete", "failed"}


def test_both_ends_speak_the_same_version():
    assert int(re.search(r"WIRE_VERSION = (\d+)", TYPES)[1]) == _wire.VERSION


@each_payload
def test_columns_are_of_one_length(case):
    graph = shown(case, False)["graph"]
    assert len(graph["op"]) == len(graph["form"]) == graph["nodes"]
    assert len({len(graph[column]) for column in ("source", "target", "input", "output")}) == 1
    assert len(graph["ops"]) == len(graph["labels"]) == len(graph["kinds"])
    assert all(-1 <= form < len(graph["forms"]) for form in graph["form"])


@each_payload
def test_rows_of_a_pass_are_of_one_length(case):
    for one in shown(case, True)["live"]["passes"]:
        assert len({len(one[column]) for column in ("key", "output", "text", "norm")}) == 1
        assert set(one["key"]) == set(one["order"])


NUMBERS = [
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    (-float("inf"), "-inf"),
    (2**53, 2**53),
    (2**53 + 1, str(2**53 + 1)),
    (-(2**60), str(-(2**60))),
    (1.5, 1.5),
    (True, 1),
    (0, 0),
    (5e-324, 5e-324),
    (1.7976931348623157e308, 1.7976931348623157e308),
]


@pytest.mark.parametrize(("number", "sent"), NUMBERS, ids=str)
def test_numbers_survive_the_trip(number, sent):
    assert json.loads(json.dumps(_wire.number(number), allow_nan=False)) == sent


def test_minus_zero_survives_the_trip():
    assert json.dumps(_wire.number(-0.0)) == "-0.0"


def test_names_are_sent_as_they_are():
    _, names = hostile()
    sent = {name for _, _, found in shown("hostile", False)["graph"]["names"] for name in found}
    assert set(names) <= sent


def test_a_lone_surrogate_does_not_break_the_payload():
    x = torch.ones((), requires_grad=True)
    with GradWidget(x.exp(), names={"\ud800": x}) as w:
        assert unpack(w._graph)["nodes"] == 2


def test_no_details_of_a_large_graph():
    h = torch.ones((), requires_grad=True)
    for _ in range(600):
        h = h.sin()
    with GradWidget(h) as w:
        assert payloads(w)["details"] == {}


def test_the_state_of_a_graph_under_500_nodes_stays_under_a_megabyte():
    torch.manual_seed(0)
    h = torch.rand(40, 40, requires_grad=True)
    x = h
    for _ in range(240):
        h = (h * torch.rand(40, 40)).sin() if _ % 2 else h @ torch.rand(40, 40)
    out = h.sum() + x.sum()
    with GradWidget(out) as w:
        assert 200 < len(w) < 500
        for _ in range(3):
            out.backward(retain_graph=True)
        w._update_page()
        assert len(w._graph) + len(w._live) + len(w._details) + len(w._references) < 750_000  # in base64 a third more


def test_a_payload_of_a_large_graph_is_small():
    h = torch.ones((), requires_grad=True)
    for _ in range(20_000):
        h = h + 0.001
    with GradWidget(h) as w:
        assert len(w._graph) < 2_000_000
        assert len(unpack(w._graph)["op"]) == 20_001
