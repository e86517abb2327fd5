"""What `to_json` writes, `from_json` reads back: the same graph, numbers and words; or it says why it can't."""

from __future__ import annotations

import gc
import json
import math
import re
import weakref

import networkx as nx
import pytest
import torch
from torch import nn
from unit.looking import call

import gradwidget as gw
from gradwidget import GradWidget, GradWidgetError, Summary, from_json


def strict(text):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def abc():
    a = torch.tensor(1.1, requires_grad=True)
    b = torch.tensor(1.2, requires_grad=True)
    c = torch.tensor(1.3, requires_grad=True)
    d = a * b
    e = d * c
    w = GradWidget(e)
    e.backward()
    return w


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.factor = 2 + 3j
        ctx.huge = 10**30
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def odd():
    """Numbers that JSON can't say, other dtypes, several outputs, parallel edges, cuts, a user's Function."""
    x = torch.tensor([[0.1, float("nan")], [float("inf"), -0.0]], dtype=torch.float64, requires_grad=True)
    half = torch.tensor([0.1, 65504.0], dtype=torch.bfloat16, requires_grad=True)
    z = torch.tensor([1 + 2j, complex("nan")], requires_grad=True)
    cube = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    first, second = (x * x).unbind()
    big = torch.tensor([2**53 + 1, 0]) % 2
    out = Double.apply(first[big]).sum() + second.sum() + (half * 3).float().sum() + z.abs().sum() + cube.exp().sum()
    w = GradWidget(out)
    out.backward()
    return w


def mlp():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    loss = model(torch.randn(8, 64)).pow(2).mean()
    w = GradWidget(loss, names=model)
    loss.backward(retain_graph=True)
    loss.backward()
    return w


def grads():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**3).sum()
    w = GradWidget(y)
    torch.autograd.grad(y, x, retain_graph=True)
    return w


def before():
    x = torch.ones(2, requires_grad=True)
    return GradWidget(x.exp().sum())


def equal(ours, theirs):
    if isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    if isinstance(theirs, torch.Tensor) and isinstance(ours, Summary):
        norm = torch.linalg.vector_norm(theirs.double()).item()
        return theirs.numel() > 1024 and ours.form.shape == tuple(theirs.shape) and math.isclose(ours.stats.norm, norm)
    if isinstance(theirs, torch.Tensor):
        return ours.dtype == theirs.dtype and torch.equal(torch.nan_to_num(ours, 7), torch.nan_to_num(theirs, 7))
    return ours == theirs or (str(ours) == str(theirs) == "nan")


@pytest.mark.parametrize("make", [abc, odd, mlp, grads, before], ids=lambda f: f.__name__)
def test_round_trip(make):
    w = make()
    text = w.to_json()
    strict(text)
    snapshot = from_json(text)
    assert nx.utils.graphs_equal(snapshot.graph, w.graph)
    assert list(snapshot.graph.nodes) == list(w.graph.nodes)
    assert [(p.number, p.label, p.kind, p.state, list(p.order)) for p in snapshot.passes] == [
        (p.number, p.label, p.kind, p.state, p.order) for p in w.passes
    ]
    for key in [*range(len(w)), *w._inspection.places]:
        ours, theirs = snapshot[key], w[key]
        for plain in ("key", "op", "label", "kind", "name", "names", "shape", "dtype", "device", "function"):
            assert getattr(ours, plain) == getattr(theirs, plain), (key, plain)
        for text in ("formula", "module", "source", "why", "user_hooks"):
            assert str(getattr(ours, text)) == str(getattr(theirs, text)), (key, text)
        for numbers in ("value", "gradients"):
            assert equal(getattr(ours, numbers), getattr(theirs, numbers)), (key, numbers)
        if w.passes:
            assert equal(ours.gradient, theirs.gradient), key
        assert [(h.number, h.step, h.steps) for h in ours.hooks] == [(h.number, h.step, h.steps) for h in theirs.hooks]
        assert list(ours.saved) == list(theirs.saved)
        for one, other in zip(ours.saved.values(), theirs.saved.values(), strict=True):
            assert (one.name, one.state, one.same_as, one.note) == (other.name, other.state, other.same_as, other.note)
            assert equal(one.value, other.value), (key, one)
        for ours_pass, theirs_pass in zip(snapshot.passes, w.passes, strict=True):
            assert equal(ours_pass.gradient(key), theirs_pass.gradient(key))
    assert from_json(text if isinstance(text, bytes) else w.to_json()).to_text() == snapshot.to_text()


def test_node_link_form_for_other_readers():
    w = abc()
    data = strict(w.to_json())
    assert (data["version"], data["gradwidget"]) == (1, gw.__version__)
    graph = nx.node_link_graph(data, edges="edges")
    assert nx.utils.graphs_equal(nx.MultiDiGraph(graph.edges), nx.MultiDiGraph(w.graph.edges))
    assert (graph.nodes[1]["value"], graph.nodes[1]["gradient"]) == ("1.32", "1.3")
    assert graph.nodes[1]["gradient_norm"] == pytest.approx(1.3)


def test_same_program_same_text():
    one, other = (re.sub(r'"sequence":\d+', "", abc().to_json()) for _ in range(2))  # torch counts on
    assert one == other


def test_sizes_of_what_is_large():
    w = mlp()
    snapshot = from_json(w.to_json())
    weight = snapshot["0.weight"]
    assert isinstance(weight.gradient, Summary)
    assert weight.gradient.stats.norm == pytest.approx(w["0.weight"].gradient.norm().item())
    assert isinstance(weight.value, Summary)
    assert len(w.to_json()) < 300_000


def test_repr_and_errors():
    snapshot = from_json(abc().to_json())
    assert repr(snapshot) == "Snapshot(5 nodes, 4 edges, 1 pass)"
    assert repr(snapshot["d"]) == "SnapshotNode(1: Mul d, scalar f32, value 1.32, gradient 1.3)"
    assert repr(snapshot.passes[0]) == "StoredPass(1: backward from e, 5 nodes, complete)"
    assert [node.name for node in snapshot] == ["e", "d", "c", "a", "b"]
    for key in ("f", 5, -1, True, None):
        with pytest.raises(gw.UnknownNodeError):
            snapshot[key]


def test_editing_what_was_read_changes_nothing():
    snapshot = from_json(abc().to_json())
    snapshot["d"].gradient.zero_()
    snapshot["d"].value.zero_()
    snapshot.graph.clear()
    assert snapshot["d"].gradient.item() == pytest.approx(1.3)
    assert snapshot["d"].value.item() == pytest.approx(1.32)
    assert len(snapshot.graph) == 5


def test_holds_no_tensor_of_the_users():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    w = GradWidget(y.sum())
    held = [weakref.ref(x), weakref.ref(y), weakref.ref(w._inspection)]
    snapshot = from_json(w.to_json())
    w.close()
    del x, y, w
    gc.collect()
    assert [one() for one in held[:2]] == [None, None]
    assert snapshot["x"].value.tolist() == [1, 1, 1]


def test_widget():
    w = abc()
    snapshot = from_json(w.to_json())
    shown = snapshot.widget()
    assert isinstance(shown, GradWidget)
    assert shown._graph == w._graph
    detail = call(shown, "details", key="d")["result"]
    assert detail == snapshot.page["details"]["1"]
    assert detail["outputs"][0]["gradient"]["text"] == "1.3"
    assert "snapshot" in call(shown, "probe")["error"]["cause"]
    assert "snapshot" in call(shown, "unpack", key=1, name="self")["error"]["cause"]
    shown.selected = "d"
    shown.step = 2
    with pytest.raises(GradWidgetError):
        shown.selected = "nobody"
    with pytest.raises(GradWidgetError):
        shown.step = 9
    assert shown["d"].gradient.item() == pytest.approx(1.3)
    assert repr(shown) == "Snapshot(5 nodes, 4 edges, 1 pass, shown)"
    for refused in (shown.probe, shown.refresh, shown.to_json, shown.to_dot, shown.trace):
        with pytest.raises(gw.GraphGoneError):
            refused()
    data, _ = snapshot._repr_mimebundle_()
    assert data["text/plain"] == repr(snapshot)
    assert set(data) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    with shown:
        shown.close()


def test_a_graph_too_large_to_be_held():
    x = torch.ones(2**22, requires_grad=True)
    w = GradWidget((x * 2 * 3 * 4 * 5 * 6 * 7).sum(), keep="summary")
    assert len(from_json(w.to_json())) == len(w)
    assert w._inspection._nodes is None


HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "\u202e",
    "\ud800",
    '"quotes"\\',
    "\x00\n",
    "x" * 10_000,
    "__proto__",
]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:12]))
def test_hostile_names(name):
    x = torch.ones((), requires_grad=True)
    w = GradWidget(x.exp(), names={name: x})
    text = w.to_json()
    text.encode("utf-8")
    snapshot = from_json(text)
    assert snapshot[name].names == (name, "x")
    assert nx.utils.graphs_equal(snapshot.graph, w.graph)
    snapshot.widget()
    assert "<img" not in snapshot._repr_mimebundle_()[0]["text/html"]


def test_newer_version_is_refused_in_words():
    data = strict(abc().to_json()) | {"version": 2, "gradwidget": "9.1"}
    with pytest.raises(GradWidgetError, match=r"format 2, written by gradwidget 9.1; .* newer gradwidget"):
        from_json(json.dumps(data))


def test_picture_for_another_page():
    data = strict(abc().to_json())
    data["page"]["graph"] = {"v": 99, "names": [], "title": "?"}
    snapshot = from_json(json.dumps(data))
    with pytest.raises(GradWidgetError, match="another one"):
        snapshot.widget()
    assert "another one" in snapshot._repr_mimebundle_()["text/plain"]


def replaced(data, path, value):
    data = json.loads(json.dumps(data))
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(data)


BROKEN = [
    (["version"], "1"), (["version"], -1), (["version"], True), (["rank"], "0"), (["directed"], False),
    (["nodes"], {}), (["nodes", 0], []), (["nodes", 0, "id"], 10**9), (["nodes", 0, "shapes"], [["a"]]),
    (["nodes", 0, "shapes"], [[-1]]), (["nodes", 0, "names"], "e"), (["nodes", 0, "op"], 3),
    (["edges", 0, "target"], 10**15), (["edges", 0, "source"], -1), (["edges", 0, "key"], []), (["edges"], [[0, 1]]),
    (["tensors", 0, "shape"], [10**15]), (["tensors", 0, "shape"], [10**15] * 60),
    (["tensors", 0, "data"], ["1" * 400]),
    (["tensors", 0, "data"], [{}]), (["tensors", 0, "dtype"], None), (["tensors", 0], {"shape": [1]}),
    (["values", 0], [0]), (["values", 0, 2], 10**9), (["values", 0, 0], -1), (["saved", 0, 1, 0, "state"], "evil"),
    (["saved", 0, 1, 0, "value"], {"__reduce__": "os.system"}), (["formulas"], [[0, 1]]),
    (["passes", 0, "order"], [0, 99]), (["passes", 0, "arrived"], []), (["passes", 0, "returned"], [[0, 10**9, None]]),
    (["passes", 0, "number"], 1.5), (["passes", 0, "bad"], {"key": 77}), (["page"], None), (["page", "graph"], []),
    (["page", "graph", "op"], [10**9] * 5), (["page", "graph", "nodes"], 10**9), (["page", "graph", "ops"], [1]),
    (["page", "graph", "target"], [0]), (["page", "live", "passes"], 3), (["page", "details"], {"../x": {}}),
    (["page", "details", "1"], {"key": 4}), (["page", "graph", "names"], [[0, 0, [3]]]), (["graph"], "evil"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), BROKEN, ids=str)
def test_wrong_types_and_ranges(path, value):
    with pytest.raises(GradWidgetError) as caught:
        from_json(replaced(strict(abc().to_json()), path, value))
    assert caught.value.remedy


def test_broken_text():
    text = abc().to_json()
    for broken in (
        *(text[: len(text) * i // 12] for i in range(12)),
        *("", "null", "[]", "{}", "3", "NaN", b"\xff\xfe", "[" * 100_000, '{"a":' * 5_000),
        text.replace('"version":1', '"version":' + "9" * 100_000, 1),
        text.replace('"version":1', '"version":1e999', 1),
        text.replace('"tensors":[', '"tensors":[NaN,', 1),
        text.replace('"formulas":[', '"formulas":' + "[" * 200 + "]" * 200 + ',"more":[', 1),
    ):
        with pytest.raises(GradWidgetError):
            from_json(broken)
    for wrong in (None, 3, ["x"]):
        with pytest.raises(GradWidgetError, match="JSON is text"):
            from_json(wrong)


def test_unknown_parts_of_later_writers_are_left_alone():
    data = strict(abc().to_json())
    data["later"] = [1]
    data["nodes"][0]["later"] = [1]
    data["page"]["graph"]["later"] = {"x": 1}
    assert from_json(json.dumps(data)).graph.nodes[0]["later"] == (1,)


def test_random_damage(request):
    """Any one thing replaced by any other: an error of ours, or a snapshot that can be looked at."""
    import random

    data = strict(abc().to_json())
    chance = random.Random(3)
    junk = [None, True, -1, 0, 3, 10**18, 1.5, "", "x", [], [[]], {}, {"x": []}, ["x"]]

    def paths(value, path):
        yield path
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, one in inner:
            yield from paths(one, [*path, key])

    every = [path for path in paths(data, []) if path]
    read = 0
    for _ in range(1_000):
        try:
            snapshot = from_json(replaced(data, chance.choice(every), chance.choice(junk)))
        except GradWidgetError:
            continue
        read += 1
        for node in snapshot:
            node.value, node.gradients, node.saved, node.hooks, node.why, node.function, node.user_hooks, repr(node)
        snapshot.to_text(), repr(snapshot), snapshot._repr_mimebundle_()
    assert 0 < read < 1_000
