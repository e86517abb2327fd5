"""The widget as the page sees it: traits are set, messages are sent, and the Python side is asserted."""

from __future__ import annotations

import gzip
import json
import threading

import pytest
import torch
from torch import nn
from unit.judge import same

import gradwidget
from gradwidget import GradWidget, UnknownNodeError, _ipython, _names


def unpack(data):
    return json.loads(gzip.decompress(data))


class Events:
    def __init__(self):
        self.registered = []

    def register(self, name, function):
        assert name == "post_run_cell"
        self.registered.append(function)


class Shell:
    """As much of IPython's shell as a widget asks for."""

    def __init__(self):
        self.events = Events()
        self.user_ns = {}

    def end_cell(self):
        for function in self.events.registered:
            function(None)


@pytest.fixture
def shell(monkeypatch):
    fake = Shell()
    for room in (_ipython, _names):
        monkeypatch.setattr(room, "shell", lambda: fake)
    return fake


@pytest.fixture
def abc():
    a = torch.tensor(1.1, requires_grad=True)
    b = torch.tensor(1.2, requires_grad=True)
    c = torch.tensor(1.3, requires_grad=True)
    d = a * b
    e = d * c
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


@pytest.fixture
def w(abc):
    return GradWidget(abc["e"], names=abc)


@pytest.fixture
def sent(w, monkeypatch):
    """Messages that the page receives."""
    messages = []
    monkeypatch.setattr(w, "send", lambda content, buffers=None: messages.append(content))
    return messages


def ask(w, content):
    """A message of the page, by the way that ipywidgets takes."""
    w._handle_custom_msg(content, [])


def test_traits_that_the_page_reads(w):
    assert {n for n in w.traits(sync=True) if not n.startswith("_model") and not n.startswith("_view")} >= {
        "_graph",
        "_live",
        "_details",
        "selected",
        "height",
        "direction",
    }
    assert unpack(w._graph)["nodes"] == 5
    assert unpack(w._live)["passes"] == []
    assert set(unpack(w._details)) == {"0", "1", "2", "3", "4"}


def test_options_reach_the_page(abc):
    w = GradWidget(abc["e"], height=300, direction="down")
    assert (w.height, w.direction) == (300, "down")


def test_every_call_gets_one_reply_with_its_id(w, sent):
    for i in range(5):
        ask(w, {"kind": "call", "id": f"q{i}", "method": "details", "params": {"key": i}})
    assert [(m["kind"], m["id"], m["result"]["key"]) for m in sent] == [("reply", f"q{i}", i) for i in range(5)]


BAD_CALLS = [
    {"method": "details", "params": {"key": 99}},
    {"method": "details", "params": {"key": "zz"}},
    {"method": "details", "params": {"key": None}},
    {"method": "details", "params": {"key": [1]}},
    {"method": "details", "params": {}},
    {"method": "details", "params": None},
    {"method": "details"},
    {"method": "nothing", "params": {"key": 0}},
    {},
]


@pytest.mark.parametrize("call", BAD_CALLS, ids=str)
def test_a_call_that_fails_is_answered_with_an_error(w, sent, call):
    ask(w, {"kind": "call", "id": "q", **call})
    (reply,) = sent
    assert (reply["kind"], reply["id"]) == ("reply", "q")
    assert "result" not in reply
    assert all(reply["error"][part] for part in ("cause", "remedy"))


def test_an_error_of_ours_is_answered(w, sent, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(gradwidget._widget._details, "detail", broken)
    ask(w, {"kind": "call", "id": "q", "method": "details", "params": {"key": 0}})
    assert "ZeroDivisionError: ours" in sent[0]["error"]["cause"]


@pytest.mark.parametrize("content", [None, "text", 3, [], {}, {"kind": "reply", "id": "q"}, {"kind": "other"}], ids=str)
def test_what_is_no_call_is_not_answered(w, sent, content):
    ask(w, content)
    assert sent == []


def test_replies_are_strict_json(w, sent):
    for key in range(5):
        ask(w, {"kind": "call", "id": "q", "method": "details", "params": {"key": key}})
    json.dumps(sent, allow_nan=False)


def test_a_call_after_close_is_answered(w, sent):
    w._inspection.close()
    ask(w, {"kind": "call", "id": "q", "method": "details", "params": {"key": 1}})
    assert sent[0]["result"]["key"] == 1


def test_selected_by_name_and_number(w):
    for value in ("d", 1, None, "e"):
        w.selected = value
        assert w.selected == value


def test_selected_by_the_page(w):
    w.set_state({"selected": 3})
    assert w.selected == 3
    assert w[w.selected].name == "a"


def test_selected_is_observed(w):
    seen = []
    w.observe(lambda change: seen.append(change["new"]), "selected")
    w.set_state({"selected": 1})
    w.selected = "a"
    assert seen == [1, "a"]


@pytest.mark.parametrize("value", ["zz", 99, -1, True])
def test_an_invalid_selection_is_refused(w, value):
    w.selected = "d"
    with pytest.raises(UnknownNodeError):
        w.selected = value
    assert w.selected == "d"


def test_the_page_is_updated_when_the_cell_has_ended(abc, shell):
    w = GradWidget(abc["e"], names=abc)
    abc["e"].backward()
    shell.end_cell()
    (one,) = unpack(w._live)["passes"]
    assert (one["label"], one["state"], one["text"]) == (
        "backward from e",
        "complete",
        ["1", "1.32", "1.3", "1.56", "1.43"],
    )
    assert unpack(w._details)["1"]["captures"][0]["gradients"][0]["text"] == "1.3"


def test_the_page_is_updated_during_a_long_cell(abc, shell):
    w = GradWidget(abc["e"], names=abc)
    abc["e"].backward()
    assert len(unpack(w._live)["passes"]) == 1


def test_a_cell_without_a_pass_sends_nothing(abc, shell):
    w = GradWidget(abc["e"], names=abc)
    shell.end_cell()
    before = (w._live, w._details)
    shell.end_cell()
    assert (w._live, w._details) == before


def test_a_failed_pass_reaches_the_page(abc, shell):
    def fail(_):
        raise ValueError("mine")

    abc["d"].register_hook(fail)
    w = GradWidget(abc["e"], names=abc)
    with pytest.raises(ValueError, match="mine"):
        abc["e"].backward()
    shell.end_cell()
    (one,) = unpack(w._live)["passes"]
    assert (one["state"], one["order"]) == ("failed", [0, 2])  # e and c; then the hook on d raised
    assert one["note"]


def test_a_pass_in_a_thread_reaches_the_page(abc, shell):
    w = GradWidget(abc["e"], names=abc)
    thread = threading.Thread(target=abc["e"].backward)
    thread.start()
    thread.join()
    shell.end_cell()
    assert len(unpack(w._live)["passes"]) == 1


def test_a_broken_widget_does_not_spoil_the_cell(abc, shell, monkeypatch):
    w = GradWidget(abc["e"], names=abc)
    abc["e"].backward()
    monkeypatch.setattr(GradWidget, "_update_page", lambda *_: 1 / 0)
    shell.end_cell()
    assert len(w.passes) == 1


def test_one_registration_for_all_widgets(abc, shell):
    for _ in range(3):
        GradWidget(abc["e"])
    abc["e"].backward()
    assert len(shell.events.registered) == 1


def test_names_of_the_notebook_are_found_from_a_helper(abc, shell):
    shell.user_ns.update(abc, Out={1: abc["d"]}, In=[], _oh={1: abc["d"]}, _=abc["d"], _1=abc["d"])
    space = {"out": abc["e"]}
    exec("from gradwidget import GradWidget\nw = GradWidget(out)", space)
    assert set(space["w"]["d"].names) == {"d"}


def test_repr(abc):
    a = abc["a"]
    assert repr(GradWidget(abc["e"])) == "GradWidget(5 nodes, 4 edges)"
    assert repr(GradWidget(a)) == "GradWidget(1 node, 0 edges)"
    assert repr(GradWidget(a.exp())) == "GradWidget(2 nodes, 1 edge)"


def test_reprs_of_nodes_are_short_and_without_addresses(w, abc):
    assert repr(w["d"]) == "NodeView(1: Mul d, scalar f32, value 1.32)"
    abc["e"].backward()
    assert repr(w["d"]) == "NodeView(1: Mul d, scalar f32, value 1.32, gradient 1.3)"
    assert repr(w["a"]) == "NodeView(3: leaf a, scalar f32, value 1.1, gradient 1.56)"


def test_a_view_shows_what_comes_later(w, abc):
    view = w["d"]
    assert view.gradient is None
    abc["e"].backward()
    assert view.gradient.item() == pytest.approx(1.3)


def test_all_attributes_of_a_view(w):
    view = w["d"]
    assert (view.key, view.op, view.label, view.kind, view.name, view.names) == (
        1,
        "MulBackward0",
        "Mul",
        "operation",
        "d",
        ("d", "abc['d']"),
    )
    assert (view.shape, view.dtype, view.device) == ((), "float32", "cpu")
    assert (view.module, view.source) == ("", "")


def test_length_and_truth(w):
    assert len(w) == 5
    assert w


def test_probe_updates_the_page_and_leaves_grad(w, abc, shell):
    w.probe()
    shell.end_cell()
    assert unpack(w._live)["passes"][0]["label"] == "probe"
    assert abc["a"].grad is None


def test_refresh_shows_the_new_graph(w):
    x = torch.tensor(2.0, requires_grad=True)
    out = x.exp()
    w.refresh(out)
    assert unpack(w._graph)["title"] == "out = Exp"
    assert len(w) == 2
    out.backward()
    assert same(w["x"].gradient, x.grad)


def test_refresh_keeps_a_selection_that_still_exists(w, abc):
    w.selected = "d"
    d = abc["a"] + abc["b"]
    w.refresh(d * abc["c"])
    assert w.selected == "d"
    assert w["d"].op == "AddBackward0"


def test_refresh_drops_a_selection_that_is_gone(w):
    w.selected = "d"
    x = torch.ones((), requires_grad=True)
    w.refresh(x.exp())
    assert w.selected is None


def test_refresh_keeps_the_names_given(w, abc):
    w.refresh(abc["e"])
    assert w[0].op == "MulBackward0"


def test_refresh_does_not_watch_what_was_not_to_be_watched(abc):
    w = GradWidget(abc["e"], watch=False)
    again = abc["a"].exp()
    w.refresh(again)
    again.backward()
    assert w.passes == []


def test_close_keeps_what_was_captured(w, abc):
    abc["e"].backward()
    w.close()
    assert w["d"].gradient.item() == pytest.approx(1.3)
    assert w["d"].value.item() == pytest.approx(1.32)
    assert w["d"].saved["self"].value.item() == pytest.approx(1.1)
    assert w.graph.number_of_nodes() == 5
    assert w.to_text()


def test_close_twice(w):
    w.close()
    w.close()
    assert len(w) == 5


def test_a_pass_after_close_is_not_seen(w, abc):
    w.close()
    abc["e"].backward()
    assert w.passes == []


def test_with_says_that_it_is_closed(abc):
    with GradWidget(abc["e"]) as w:
        abc["e"].backward()
    live = unpack(w._live)
    assert (live["watching"], len(live["passes"])) == (False, 1)
    assert live["status"].startswith("Closed")


def test_status_says_that_nothing_is_watched(abc):
    w = GradWidget(abc["e"], watch=False)
    live = unpack(w._live)
    assert live["watching"] is False
    assert "watch=True" in live["status"]


def test_a_training_loop():
    net = nn.Linear(2, 1)
    w = GradWidget(net(torch.ones(2)).sum())
    for _ in range(3):
        loss = net(torch.ones(2)).pow(2).sum()
        w.refresh(loss)
        net.zero_grad()
        loss.backward()
        assert same(w["net.weight"].gradient, net.weight.grad)
        assert len(w.passes) == 1


def test_trace_is_the_forward_pass_row_by_row(w, abc):
    abc["e"].backward()
    rows = [(row.name, row.op, row.value, row.gradient) for row in w.trace()]
    assert rows[-1] == ("e", "Mul", "1.716", "1")
    assert {r for r in rows if r[1] == "leaf"} == {
        ("a", "leaf", "1.1", "1.56"),
        ("b", "leaf", "1.2", "1.43"),
        ("c", "leaf", "1.3", "1.32"),
    }


def test_text(w, abc):
    abc["e"].backward()
    assert w.to_text().splitlines() == [
        "e = Mul: 5 nodes, 4 edges",
        "   node  name  form        value  gradient",
        "0  Mul   e     scalar f32  1.716  1",
        "1  Mul   d     scalar f32  1.32   1.3",
        "2  leaf  c     scalar f32  1.3    1.32",
        "3  leaf  a     scalar f32  1.1    1.56",
        "4  leaf  b     scalar f32  1.2    1.43",
    ]


def test_json_is_strict_and_complete():
    x = torch.tensor([float("nan"), float("inf"), 1.0], requires_grad=True)
    out = (x * float("inf")).sum()
    w = GradWidget(out)
    out.backward()

    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(w.to_json(), parse_constant=refuse)
    assert len(data["nodes"]) == 3
    assert len(data["edges"]) == 2


def test_dot_quotes_every_name():
    x = torch.ones((), requires_grad=True)
    w = GradWidget(x.exp(), names={'"]; evil [label="\\\n': x})
    line = next(line for line in w.to_dot().splitlines() if "evil" in line)
    assert line.count('"') - line.count('\\"') == 2


def test_anomaly_mode_gives_source_lines():
    with torch.autograd.set_detect_anomaly(True):
        x = torch.ones((), requires_grad=True)
        out = x.exp()
    w = GradWidget(out)
    assert w["out"].source.startswith("test_widget.py:")
    assert "test_widget" in w.graph.nodes[0]["source"]


def test_two_widgets_do_not_disturb_each_other(abc):
    one, two = GradWidget(abc["e"]), GradWidget(abc["d"])
    one.selected = 1
    assert two.selected is None
    abc["e"].backward()
    assert [len(one.passes), len(two.passes)] == [1, 1]
    assert two[0].gradient.item() == pytest.approx(1.3)
