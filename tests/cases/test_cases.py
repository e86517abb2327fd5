"""Situations from public bug reports in small programs of our own; and the handed ones, where their folder is given."""

# ruff: noqa: PLC2401 - names in any script are the thing under test

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from gradwidget import GradWidget, backward_graph, why

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def close_widgets():
    import ipywidgets

    yield
    ipywidgets.Widget.close_all()


def leaf(value):
    return torch.tensor(value, requires_grad=True)


def leaves(graph):
    return {name for _, node in graph.nodes(data=True) if node["kind"] == "leaf" for name in node["names"]}


def ops(graph):
    return sorted(node["op"] for _, node in graph.nodes(data=True))


def test_alias_and_copy_under_no_grad():
    base = leaf([1.0, 2.0]) * 3
    with torch.no_grad():
        alias = base
        copy = base + 0
    out = alias.sum()
    w = GradWidget(out)
    assert w["alias"].names == ("base", "alias")
    with pytest.raises(KeyError, match="needs no gradient"):
        w["copy"]
    assert copy.grad_fn is None
    assert [why(t).kind for t in (base.detach(), copy)] == ["detached", "untracked"]


def test_a_view_whose_history_raises_does_not_break_the_figure():
    base = leaf([1.0, 2.0, 3.0]) * 2
    with torch.no_grad():
        stale = base[:2]
    fresh = base[1:]
    out = fresh.sum()
    w = GradWidget(out)
    base.mul_(10)
    with pytest.raises(RuntimeError, match="no_grad"):
        stale.grad_fn
    assert "stale" not in leaves(w.graph)
    found = why(stale)
    assert found.kind == "stale-view"
    assert "view of base" in found.cause
    assert GradWidget(base.sum())["base"].value.tolist() == [20.0, 40.0, 60.0]


def test_a_tensor_with_an_outdated_history_can_be_an_output():
    root = leaf([1.0, 1.0, 1.0, 1.0])
    board = (root * 3).reshape(2, 2)
    board.t().sub_(0.5)
    w = GradWidget(board)
    board.sum().backward()
    assert w["root"].gradient.tolist() == [3.0] * 4
    assert w["board"].gradient.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_looking_into_a_checkpoint_runs_nothing():
    runs = []

    def block(t):
        runs.append(1)
        return (t.sin() * t).sum()

    x = leaf([0.3, 0.7])
    y = checkpoint(block, x, use_reentrant=False)
    w = GradWidget(y)
    assert {s.state for k in range(len(w)) for s in w[k].saved.values()} >= {"packed"}
    assert len(runs) == 1
    y.backward()
    assert len(runs) == 2


def test_saved_tensors_after_backward():
    x = leaf([1.0, 2.0])
    square = x.pow(2)
    out = (square.exp() + 1).sum()
    w = GradWidget(out)
    out.backward()
    assert w["square"].saved["self"].state == "freed"
    assert w["square"].saved["self"].value.tolist() == [1.0, 2.0]
    assert w["square"].saved["exponent"].value == 2


class Pass(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a.clone(), b.clone()

    @staticmethod
    def backward(ctx, g, h):
        return g, h


class PassLazily(Pass):
    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        return a.clone(), b.clone()


def test_a_made_up_zero_is_not_none():
    a, b, c, d = leaf(2.0), leaf(3.0), leaf(2.0), leaf(3.0)
    used, unused = Pass.apply(a, b)
    used_too, unused_too = PassLazily.apply(c, d)
    loss = used * 5 + used_too * 5
    w = GradWidget(loss)
    loss.backward()
    assert w["b"].gradient.item() == 0.0
    assert w["d"].gradient is None
    assert (w["b"].why.kind, w["d"].why.kind) == ("unused-output", "function-none")
    assert (why(b, loss).kind, why(d, loss).kind) == ("unused-output", "function-none")
    assert (unused.item(), unused_too.item()) == (3.0, 3.0)


def test_hooks_that_change_the_gradient():
    x = leaf(3.0)
    h = x * 4
    out = h * 2
    log = []
    h.retain_grad()
    h.register_hook(lambda g: log.append(g.item()))
    h.register_hook(lambda g: g * 100)
    x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.item()))
    w = GradWidget(out)
    out.backward()
    assert log == [2.0, 800.0]
    assert w["x"].why.kind == w["h"].why.kind == "hook"
    assert "by 100" in why(x).cause
    assert (w["h"].gradient.item(), h.grad.item(), w["x"].gradient.item()) == (200.0, 200.0, 800.0)


def test_outputs_of_one_node():
    x = leaf([5.0, 1.0, 4.0, 2.0])
    best, index = x.topk(2)
    low, high = x.split(2)
    u = list(x.view(2, 2))
    out = best[1] * 10 + high.prod() + u[1][0] + low.sum()
    w = GradWidget(out)
    out.backward()
    assert w["u.1"].key == w["u[1]"].key
    assert w["high"].gradient.tolist() == [2.0, 4.0]
    assert w["u.0"].gradient is None
    with pytest.raises(KeyError):
        w["index"]
    assert index.tolist() == [0, 2]


def test_an_lstm_is_one_node():
    net = nn.LSTM(2, 3)
    seq, (_, cell) = net(torch.ones(4, 1, 2))
    graph = backward_graph(seq[-1].sum() + cell.sum())
    assert [op for op in ops(graph) if "Rnn" in op] == ["MkldnnRnnLayerBackward0"]
    assert {"net.weight_ih_l0", "net.weight_hh_l0", "net.bias_ih_l0", "net.bias_hh_l0"} == leaves(graph)


def test_nan_from_the_branch_not_taken():
    x = leaf([-4.0, 9.0])
    root = (x * 1).sqrt()
    loss = torch.where(x > 0, root, x).sum()
    w = GradWidget(loss)
    loss.backward()
    assert w["loss"].value.item() == -1.0
    assert w["root"].gradient.tolist() == [0.0, 1.0]
    assert str(w["x"].gradient[0].item()) == "nan"
    assert w["x"].why.kind == "nan-sqrt"
    assert "Where (node 1) left those elements out" in why(x, loss).cause


def test_a_loss_wrapped_again_has_no_operations():
    model = nn.Linear(2, 1)
    wrapped = torch.tensor([p.item() for p in model(torch.ones(3, 2))], requires_grad=True)
    loss = wrapped.sum()
    graph = backward_graph(loss)
    assert ops(graph) == ["AccumulateGrad", "SumBackward0"]
    assert leaves(graph) == {"wrapped"}
    loss.backward()
    told = why(model.weight, loss)  # what was copied is gone, so that it can't be proven
    assert told.kind == "not-reachable"
    assert "`.item()`" in told.cause


def test_a_buffer_enters_as_a_constant():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(2))
            self.register_buffer("mean", torch.zeros(2))
            self.shift = torch.zeros(2)

        def forward(self, x):
            return (x - self.mean) * self.gain + self.shift

    layer = Layer()
    graph = backward_graph(layer(torch.ones(2)).sum())
    assert leaves(graph) == {"layer.gain"}
    assert (why(layer.mean).kind, why(layer.shift).kind) == ("buffer", "attribute")
    assert sum(len(node["cut"]) for _, node in graph.nodes(data=True)) == 2


def test_tied_weights_are_one_leaf_with_two_edges():
    model = nn.ModuleDict({"emb": nn.Embedding(3, 2), "out": nn.Linear(2, 3, bias=False)})
    model["out"].weight = model["emb"].weight
    loss = model["out"](model["emb"](torch.tensor([1])))[0, 2]
    w = GradWidget(loss)
    loss.backward()
    key = w["model.out.weight"].key
    assert key == w["model.emb.weight"].key
    assert w.graph.in_degree(key) == 2
    assert torch.equal(w[key].gradient, model["emb"].weight.grad)
    told = w[key].why
    assert told.kind == "tied"
    shares = [text.partition(" handed on ")[0] for text in told.evidence]
    assert shares[:2] == ["Embedding (node 3)", "T (node 4)"]
    assert told.evidence[2].startswith("their sum is")


def test_a_square_saves_its_input_twice():
    a = leaf(3.0)
    y = a * a
    w = GradWidget(y)
    assert [s.same_as for s in w["y"].saved.values()] == ["a", "a"]
    assert [e["input"] for e in w.graph.get_edge_data(0, 1).values()] == [0, 1]


def test_diamonds_are_visited_once():
    x = torch.ones((), dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(40):
        y = y * 0.5 + y * 0.5
    w = GradWidget(y)
    y.backward()
    assert (len(w), w.graph.number_of_edges()) == (121, 160)
    assert w["x"].gradient.item() == 1.0


def test_twenty_thousand_nodes():
    x = leaf(1.0)
    h = x
    for _ in range(20_000):
        h = h + 0.001
    w = GradWidget(h)
    h.backward()
    assert len(w) == 20_001
    assert w["x"].gradient.item() == 1.0
    assert len(w._graph) + len(w._live) + len(w._details) < 2_000_000


@pytest.mark.filterwarnings("ignore")  # torch's own, in torch.compile
def test_a_compiled_region_is_one_node():
    compiled = torch.compile(lambda t: (t.sin().pow(2)).sum(), backend="aot_eager")
    x = leaf([0.5, 1.0])
    loss = compiled(x)
    w = GradWidget(loss)
    loss.backward()
    assert (len(w), w["loss"].kind) == (2, "compiled")
    assert torch.equal(w["x"].gradient, x.grad)
    assert w["loss"].saved is not None


def test_detach_keeps_the_generator_out():
    G, D = nn.Linear(2, 2), nn.Linear(2, 1)
    fake = G(torch.ones(4, 2))
    cut = F.softplus(D(fake.detach())).mean()
    whole = F.softplus(D(fake)).mean()
    assert leaves(backward_graph(cut)) == {"D.weight", "D.bias"}
    assert why(G.weight, cut).kind == "detached-upstream"
    assert leaves(backward_graph(whole)) == {"D.weight", "D.bias", "G.weight", "G.bias"}


def test_a_parametrized_weight_is_shown_by_its_originals():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    y = layer(torch.ones(1, 2)).sum()
    assert why(layer.weight, y).kind == "parametrized"
    with pytest.raises(KeyError, match="original0"):
        GradWidget(y)["layer.weight"]
    found = leaves(backward_graph(y))
    assert found == {"layer.parametrizations.weight.original0", "layer.parametrizations.weight.original1"}


def test_broadcast_gradients_are_summed():
    a = leaf(2.0)
    row = torch.ones(5, requires_grad=True)
    out = (a * torch.ones(4, 5) + row).sum()
    w = GradWidget(out)
    out.backward()
    assert w["a"].gradient.item() == 20.0
    assert w["row"].gradient.tolist() == [4.0] * 5
    assert w["row"].why.evidence == ("(4,5) summed to (5,) at Add (node 1)",)
    assert w["a"].why.kind == "broadcast"


def test_numbers_that_json_cannot_say():
    x = leaf([0.0, 1.0, -1.0])
    index = torch.tensor([2**53 + 1, -1, 7])
    ratio = 1.0 / x
    half = x.to(torch.bfloat16)
    out = (ratio - ratio).sum() + half.float().sum() + (x * 1e-45).sum() + x[index % 3].sum()
    w = GradWidget(out)
    out.backward()

    def refuse(constant):
        raise AssertionError(constant)

    json.loads(w.to_json(), parse_constant=refuse)
    assert [str(v) for v in w["ratio"].value.tolist()] == ["inf", "1.0", "-1.0"]


def test_an_old_widget_keeps_nothing_alive_once_closed():
    def cell():
        x = torch.ones(1_000, requires_grad=True)
        h = (x * 2).exp()
        out = h.sum()
        return GradWidget(out), [weakref.ref(t) for t in (x, h, out)]

    w, references = cell()
    w.close()
    gc.collect()
    assert [r() for r in references] == [None] * 3
    assert len(w) == 4


def test_names_in_any_script():
    网络 = nn.Module()
    for name in ("层 一", "🔥", "טבלה", "</script><img src=x onerror=alert(1)>", "x" * 300):
        网络.add_module(name, nn.Linear(1, 1))
    ñandú = torch.ones(1, 1)
    for child in 网络.children():
        ñandú = child(ñandú)
    α = leaf(1.0)
    损失 = ñandú.sum() * α
    w = GradWidget(损失)
    assert {"α", "网络.🔥.weight", "网络.层 一.bias", f"网络.{'x' * 300}.weight"} <= leaves(w.graph)
    assert w["损失"].kind == "operation"


def test_two_losses_on_one_trunk():
    t, a, b = leaf(2.0), leaf(3.0), leaf(-1.0)
    trunk = t * t
    one, two = trunk * a, (trunk * b).exp()
    constant = torch.tensor(1.0)
    w = GradWidget(one, two, constant)
    assert len(w) == 7
    one.backward()
    with pytest.raises(RuntimeError, match="second time") as caught:
        two.backward()
    assert "b.grad" in str(why(caught.value))
    assert (w["b"].why.kind, w["t"].why.kind) == ("failed-pass", "several-uses")
    assert [p.state for p in w.passes] == ["complete", "failed"]
    assert w.passes[0].gradient("t").item() == 12.0
    assert b.grad is not None  # written before it failed


def test_anomaly_mode_tells_the_line():
    with torch.autograd.set_detect_anomaly(True):
        p = leaf([0.0, 1.0])
        guilty = torch.pow(p, 0.5)  # THE LINE
        loss = (guilty * torch.tensor([0.0, 1.0])).sum()
    w = GradWidget(loss)
    line = int(w["guilty"].source.rpartition(":")[2])
    assert "THE LINE" in Path(__file__).read_text("utf-8").splitlines()[line - 1]
    loss.backward()
    assert str(w["p"].gradient[0].item()) == "nan"
    assert w["p"].why.kind == "nan-pow"
    assert f":{line}" in w["p"].why.cause


def test_a_long_recurrence_has_one_leaf_with_many_edges():
    w, u = leaf(0.9), leaf(0.1)
    h = torch.tensor(0.0)
    for _ in range(500):
        h = torch.tanh(w * h + u)
    shown = GradWidget(h)
    assert len(shown) == 1_502
    assert shown.graph.in_degree(shown["w"].key) == 500
    h.backward()
    assert torch.equal(shown["w"].gradient, w.grad)


@pytest.mark.skipif("GW_CASES" not in os.environ, reason="GW_CASES=folder with run.py runs the handed cases")
def test_the_handed_cases():
    folder = Path(os.environ["GW_CASES"])
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, str(folder / "run.py"), "--deep"],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
