"""Captured gradients, judged by torch.autograd.grad; and a backward pass that does not notice being watched."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from unit.judge import assert_captured, hooks_on, same, torch_walk, true_gradients

import gradwidget
from gradwidget import GradWidget, Summary, _capture


def leaf(*shape, **kw):
    return torch.rand(shape, requires_grad=True, **kw)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        return x * 2, y * 3

    @staticmethod
    def backward(ctx, g, h):
        return g * 2, h * 3


class Lazy(Scale):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 2, y * 3

    @staticmethod
    def backward(ctx, g, h):
        return None if g is None else g * 2, None if h is None else h * 3


def mlp():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))(torch.rand(5, 3)).pow(2).mean()


def fan_in():
    x = leaf(3)
    h = x.exp()
    return (h * h + h.sin() + x).sum()


def split():
    a, _, c = leaf(6).split(2)
    return (a * c.exp()).sum()


def unbind():
    rows = leaf(3, 2).unbind()
    return rows[2].sum() * rows[0].prod()


def lstm():
    seq, (_, c) = nn.LSTM(2, 3)(torch.rand(4, 1, 2))
    return seq[-1].sum() + c.sum()


def attention():
    return nn.MultiheadAttention(4, 2)(*[leaf(3, 1, 4)] * 3)[0].sum()


def views():
    x = leaf(4)
    h = x * 1
    h[1:3].mul_(2)
    return (h.view(2, 2).t() * h.view(2, 2)).sum()


def function():
    x, y = Scale.apply(leaf(2), leaf(2))
    return x.sum() + 0 * y.sum()


def lazy_function():
    x, _ = Lazy.apply(leaf(2), leaf(2))
    return x.sum()


def complex_numbers():
    z = leaf(3, dtype=torch.complex64)
    return (z.exp() * z.conj()).abs().sum()


def half():
    return (leaf(3, dtype=torch.float16) * 3).exp().sum()


def bfloat16():
    return (leaf(3, dtype=torch.bfloat16) * 3).exp().sum()


def float64():
    return (leaf(3, dtype=torch.float64) * 3).exp().sum()


def mixed_precision():
    x = leaf(3)
    return (x.half() * 2).float().sum() + x.double().sum()


def not_finite():
    x = torch.tensor([0.0, -1.0, 1.0], requires_grad=True)
    return (x.sqrt() / x).sum() * float("inf")


def empty():
    return leaf(0, 3).sum() + leaf(2).sum()


PROGRAMS = [
    mlp,
    fan_in,
    split,
    unbind,
    lstm,
    attention,
    views,
    function,
    lazy_function,
    complex_numbers,
    half,
    bfloat16,
    float64,
    mixed_precision,
    not_finite,
    empty,
]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)


@each_program
def test_every_gradient_is_that_of_autograd_grad(program):
    out = program()
    truth = true_gradients(out)
    w = GradWidget(out)
    out.backward()
    assert_captured(w, truth)


@each_program
def test_a_probe_captures_the_same(program):
    out = program()
    truth = true_gradients(out)
    w = GradWidget(out)
    w.probe()
    assert_captured(w, truth)


@each_program
def test_with_keep_all(program):
    out = program()
    truth = true_gradients(out)
    w = GradWidget(out, keep="all")
    out.backward()
    assert_captured(w, truth)


def fingerprint(program, watched):
    """What a neutral observer must not change, after the program and its backward."""
    torch.manual_seed(3)
    out = program()
    nodes = torch_walk(out)[0]
    leaves = [n.variable for n in nodes if hasattr(n, "variable")]
    held = None
    if watched:
        held = GradWidget(out)
        held[0].saved, held.graph, repr(held[0])
    out.backward(retain_graph=True)
    first = [x.grad for x in leaves]
    out.backward()
    facts = []
    for x, grad in zip(leaves, first, strict=True):
        g = x.grad
        # Not g._version: torch copies a gradient that is held elsewhere, and a copy begins at version 1.
        shown = None if g is None else (g.tolist(), g.stride(), g.dtype, g.requires_grad)
        facts.append((g is grad, shown, x._version, x.requires_grad))
    return str(facts), out._version, out.retains_grad, torch.get_rng_state().sum().item(), str(out.detach())


@each_program
def test_watching_changes_nothing(program):
    assert fingerprint(program, watched=True) == fingerprint(program, watched=False)


def test_strides_of_grad_are_those_without_the_widget():
    def strides(watched):
        weight = torch.rand(3, 5).t().requires_grad_()
        channels = torch.rand(1, 2, 3, 3).to(memory_format=torch.channels_last).requires_grad_()
        expanded = torch.rand(4, requires_grad=True)
        out = (torch.ones(2, 5) @ weight).sum() + channels.exp().sum() + expanded.sum()
        w = GradWidget(out) if watched else None
        out.backward()
        assert w is None or len(w.passes) == 1
        return [x.grad.stride() for x in (weight, channels, expanded)]

    assert strides(True) == strides(False)


def test_dropout_draws_the_same_numbers():
    def train(watched):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(4):
            loss = net(torch.rand(3, 4)).pow(2).mean()
            if watched:
                w = GradWidget(loss)
                repr(w[0]), w.to_json()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return torch.cat([p.detach().flatten() for p in net.parameters()])

    assert torch.equal(train(True), train(False))


def test_the_a_b_c_example():
    a = torch.tensor(1.1, requires_grad=True)
    b = torch.tensor(1.2, requires_grad=True)
    c = torch.tensor(1.3, requires_grad=True)
    d = a * b
    e = d * c
    w = GradWidget(e)
    e.backward()
    assert [f"{w[n].gradient.item():.4g}" for n in "abcde"] == ["1.56", "1.43", "1.32", "1.3", "1"]
    assert [f"{w[n].value.item():.4g}" for n in "abcde"] == ["1.1", "1.2", "1.3", "1.32", "1.716"]
    assert len(w["d"].hooks) == 1
    assert "d.grad is None" in w["d"].why


def test_passes_are_kept_apart():
    x = leaf(2)
    h = x.exp()
    out = h.sum()
    w = GradWidget(out)
    out.backward(retain_graph=True)
    out.backward(torch.tensor(2.0), retain_graph=True)
    out.backward(torch.tensor(-1.0))
    assert [one.number for one in w.passes] == [1, 2, 3]
    assert [g.tolist() for g in w["h"].gradients] == [[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]]
    assert w["h"].gradient.tolist() == [-1.0, -1.0]
    assert same(w["x"].gradients[1], 2 * h.detach())
    assert same(x.grad, w["x"].gradients[0] + w["x"].gradients[1] + w["x"].gradients[2])


def test_accumulation_of_two_losses():
    x = leaf(2)
    one, two = x.sin().sum(), x.cos().sum()
    w = GradWidget(one, two)
    one.backward()
    first = x.grad.clone()
    two.backward()
    assert same(w["x"].gradients[0], first)
    assert same(w["x"].gradients[1], -x.detach().sin())
    assert [p.label for p in w.passes] == ["backward from one", "backward from two"]


def test_a_pass_that_does_not_reach_a_node():
    x = leaf(2)
    one, two = x.sin().sum(), x.cos().sum()
    w = GradWidget(one, two)
    one.backward()
    assert w.passes[0].gradient("two") is None
    assert w["two"].hooks == ()
    assert w["two"].gradient is None


def test_order_is_that_of_the_engine():
    a, b = leaf(2), leaf(2)
    h = (a * b).exp()
    out = (h * a).sum()
    order = []
    for node in torch_walk(out)[0]:
        node.register_prehook(lambda _, n=node: order.append(n))
    w = GradWidget(out)
    out.backward()
    number = {node: i for i, node in enumerate(torch_walk(out)[0])}
    assert w.passes[0].order == [number[n] for n in order]
    assert [w[key].hooks[0].step for key in w.passes[0].order] == list(range(1, len(order) + 1))


def test_autograd_grad_runs_the_inner_nodes_only():
    x = leaf(2)
    h = x.exp()
    out = h.sum()
    w = GradWidget(out)
    (g,) = torch.autograd.grad(out, x)
    assert w["h"].gradient.tolist() == [1.0, 1.0]
    assert w.passes[0].order == [w["out"].key, w["h"].key]
    assert (w.passes[0].kind, w.passes[0].label) == ("grad", "grad of out w.r.t. x")
    assert [capture.step for capture in w["x"].hooks] == [0]  # returned, without running the leaf
    assert same(w["x"].gradient, g)
    assert same(g, h.detach())


def test_inputs_of_backward_limit_what_runs():
    x, y = leaf(2), leaf(2)
    out = (x.sin() * y.cos()).sum()
    w = GradWidget(out)
    out.backward(inputs=[x])
    assert same(w["x"].gradient, x.grad)
    assert w["y"].hooks == ()
    assert y.grad is None


def test_a_gradient_given_by_the_user():
    x = leaf(3)
    out = x.exp()
    seed = torch.tensor([1.0, 2.0, 3.0])
    truth = true_gradients(out, seed)
    w = GradWidget(out)
    out.backward(seed)
    assert_captured(w, truth)


def test_none_for_outputs_that_are_not_used():
    x = leaf(6)
    parts = x.unbind()
    out = parts[1] * parts[4]
    w = GradWidget(out)
    out.backward()
    arrived = w.passes[0].at(w["parts[1]"].key)
    assert [g is None for g in arrived] == [True, False, True, True, False, True]
    assert w["parts[1]"].gradient.item() == parts[4].item()


def test_zeros_made_up_for_a_function_are_told_from_none():
    out = function()
    w = GradWidget(out)
    out.backward()
    eager = lazy_function()
    v = GradWidget(eager)
    eager.backward()
    key = next(k for k, n in w.graph.nodes(data=True) if n["op"] == "ScaleBackward")
    lazy = next(k for k, n in v.graph.nodes(data=True) if n["op"] == "LazyBackward")
    assert w.passes[0].at(key)[1].tolist() == [0.0, 0.0]
    assert v.passes[0].at(lazy)[1] is None


def test_create_graph_captures_and_can_be_differentiated_again():
    x = leaf(2)
    out = x.pow(3).sum()
    w = GradWidget(out)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    g.sum().backward()
    assert same(x.grad, 6 * x.detach())
    assert not w["out"].gradient.requires_grad


@pytest.mark.parametrize("keep", ["auto", "all", "summary"])
def test_create_graph_does_not_leak(keep):
    def program():
        x = leaf(4)
        h = x.pow(3)
        out = h.sum()
        w = GradWidget(out, keep=keep)
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        (g * g).sum().backward()
        assert w.passes
        references = [weakref.ref(t) for t in (x, h, out, g, x.grad)]
        w.close()
        x.grad = None
        return references

    references = program()
    gc.collect()
    assert [r() for r in references] == [None] * 5


@pytest.mark.filterwarnings("ignore:Using backward")
def test_backward_with_create_graph_does_not_leak_while_the_widget_lives():
    def program():
        x = leaf(4)
        out = x.pow(3).sum()
        w = GradWidget(out, keep="summary")
        out.backward(create_graph=True)
        references = [weakref.ref(t) for t in (x, out, x.grad)]
        x.grad = None
        return w, references

    w, references = program()
    gc.collect()
    assert [r() for r in references] == [None] * 3
    assert len(w.passes) == 1


class Mistake(Exception):
    pass


def fails_once():
    """A program whose first backward raises in a hook of the user."""
    x = leaf(2)
    h = x.exp()
    out = h.sin().sum()
    fail = [True]

    def hook(_):
        if fail.pop():
            raise Mistake("mine")

    handle = h.register_hook(hook)
    return x, h, out, handle


def test_a_failing_backward_raises_the_users_error_only():
    _, h, out, _ = fails_once()
    w = GradWidget(out)
    with pytest.raises(Mistake, match=r"^mine$") as caught:
        out.backward()
    assert caught.value.__context__ is None
    assert w.passes[0].state == "failed"
    assert "raised" in w.passes[0].note
    assert h.shape == (2,)


def test_the_pass_after_a_failing_one_is_complete():
    x, h, out, handle = fails_once()
    w = GradWidget(out)
    with pytest.raises(Mistake):
        out.backward(retain_graph=True)
    handle.remove()
    y = x.cos().sum()
    v = GradWidget(y, h.detach() * x)
    y.backward()
    assert [p.state for p in v.passes] == ["complete"]
    assert w.passes[0].state == "failed"
    assert same(v["x"].gradient, -x.detach().sin())


def test_a_second_backward_through_a_freed_graph():
    x = leaf(2)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()
    assert [p.state for p in w.passes] == ["complete", "failed"]


def test_users_hook_that_modifies_in_place():
    x = leaf(2)
    h = x.exp()
    out = h.sum() + (h * 3).sum()
    h.register_hook(lambda g: g.mul_(10))
    w = GradWidget(out)
    out.backward()
    assert w["h"].gradient.tolist() == [40.0, 40.0]
    assert same(x.grad, 40 * h.detach())


def test_what_a_later_hook_edits_is_kept_as_it_arrived():
    x, small = leaf(200, 200), leaf(2)
    h, i = x.exp(), small.exp()
    out = (h * 2).sum() + (i * 2).sum()
    w = GradWidget(out)

    def later(gs):
        gs[0].mul_(10)

    h.grad_fn.register_prehook(later)
    i.grad_fn.register_prehook(later)
    out.backward()
    assert w["i"].gradient.tolist() == [2.0, 2.0]  # kept as a copy
    assert w["h"].gradient.unique().tolist() == [2.0]


def test_users_hooks_run_once_and_stay():
    x = leaf(2)
    h = x.exp()
    calls = []
    h.register_hook(lambda g: calls.append("tensor"))
    h.grad_fn.register_prehook(lambda g: calls.append("pre"))
    h.grad_fn.register_hook(lambda *_: calls.append("post"))
    x.register_post_accumulate_grad_hook(lambda _: calls.append("accumulated"))
    out = h.sum()
    w = GradWidget(out)
    out.backward(retain_graph=True)
    w.close()
    out.backward()
    assert calls == ["tensor", "pre", "post", "accumulated"] * 2


def test_users_hook_that_returns_another_gradient():
    x = leaf(2)
    h = x.exp()
    h.register_hook(lambda g: g * 100)
    out = h.sum()
    w = GradWidget(out)
    out.backward()
    assert w["h"].gradient.tolist() == [100.0, 100.0]
    assert same(w["x"].gradient, x.grad)


def test_a_backward_inside_a_hook_is_a_pass_of_its_own():
    x = leaf(2)
    h = x.exp()
    inner = x.sin().sum()
    out = h.sum()
    h.register_hook(lambda _: inner.backward())
    w = GradWidget(out, inner)
    out.backward()
    assert sorted((p.label, p.state) for p in w.passes) == [
        ("backward from inner", "complete"),
        ("backward from out", "complete"),
    ]
    by_label = {p.label: p for p in w.passes}
    assert same(by_label["backward from inner"].gradient("x"), x.detach().cos())
    assert same(by_label["backward from out"].gradient("x"), h.detach())


def test_looking_at_the_widget_inside_a_hook():
    x = leaf(2)
    h = x.exp()
    out = h.sum()
    w = GradWidget(out)
    seen = []
    h.register_hook(lambda _: seen.append((w.passes[0].state, repr(w["out"]))))
    out.backward()
    assert seen[0][0] == "running"
    assert w.passes[0].state == "complete"


def test_backward_in_another_thread():
    x = leaf(2)
    out = x.exp().sum()
    truth = true_gradients(out)
    w = GradWidget(out)
    thread = threading.Thread(target=out.backward)
    thread.start()
    thread.join()
    assert w.passes[0].state == "complete"
    assert_captured(w, truth)


def test_passes_in_several_threads_are_kept_apart():
    x = leaf(50)
    outs = [(x * k).exp().sum() for k in range(1, 9)]
    w = GradWidget(*outs)
    threads = [threading.Thread(target=out.backward) for out in outs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [p.state for p in w.passes] == ["complete"] * 8
    arrived = sorted(g.sum().item() for g in w["x"].gradients)
    expected = sorted((k * (x.detach() * k).exp()).sum().item() for k in range(1, 9))
    assert arrived == pytest.approx(expected)


def test_a_failing_backward_in_another_thread():
    _, _, out, _ = fails_once()
    w = GradWidget(out)
    caught = []

    def work():
        try:
            out.backward()
        except Mistake as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(caught) == 1
    assert w.passes[0].state == "failed"


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(reentrant):
    runs = []

    def block(t):
        runs.append(1)
        return (t.sin() * t.exp()).sum()

    x = leaf(2)
    out = checkpoint(block, x, use_reentrant=reentrant) * 2
    plain = block(x) * 2
    (expected,) = torch.autograd.grad(plain, x)
    runs.clear()
    w = GradWidget(out)
    out.backward()
    assert len(runs) == 1
    assert same(w["x"].gradient, expected)
    assert same(x.grad, expected)
    assert {p.state for p in w.passes} == {"complete"}


def test_sparse_gradients():
    table = nn.Embedding(5, 2, sparse=True)
    out = table(torch.tensor([1, 1, 3])).sum()
    w = GradWidget(out)
    out.backward()
    found = w["table.weight"].gradient
    assert found.layout is torch.sparse_coo
    assert torch.equal(found.to_dense(), table.weight.grad.to_dense())
    assert repr(w["table.weight"])
    w._update_page()


class Tagged(torch.Tensor):
    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Tagged.calls += 1
        return super().__torch_function__(func, types, args, kwargs or {})


def test_tensor_subclass():
    x = torch.rand(3).as_subclass(Tagged).requires_grad_()
    out = (x * 2).exp().sum()
    before = Tagged.calls
    w = GradWidget(out)
    assert Tagged.calls == before
    out.backward()
    after = Tagged.calls
    w._update_page()
    assert type(w["x"].value) is torch.Tensor
    assert torch.equal(torch.Tensor.as_subclass(w["x"].gradient, torch.Tensor), x.grad.as_subclass(torch.Tensor))
    assert after - before <= 4  # backward() and .grad are the user's


def test_inference_mode_around():
    x = leaf(2)
    out = x.exp().sum()
    with torch.inference_mode():
        w = GradWidget(out)
        repr(w[0])
    out.backward()
    with torch.inference_mode():
        w._update_page()
        assert same(w["x"].gradient, x.grad)


def test_no_grad_around():
    x = leaf(2)
    out = x.exp().sum()
    with torch.no_grad():
        w = GradWidget(out)
        w.probe()
        out.backward()
    assert len(w.passes) == 2
    assert same(w["x"].gradient, x.grad)


def test_hooks_are_gone_after_close():
    x = leaf(2)
    out = (x.exp() * x).sum()
    nodes = torch_walk(out)[0]
    nodes[0].register_prehook(lambda _: None)
    before = [hooks_on(n) for n in nodes]
    w = GradWidget(out)
    assert [hooks_on(n) for n in nodes] == [b + 1 for b in before]
    w.close()
    assert [hooks_on(n) for n in nodes] == before


def test_hooks_are_gone_after_with():
    out = leaf(2).exp().sum()
    nodes = torch_walk(out)[0]
    with GradWidget(out) as w:
        out.backward()
    assert [hooks_on(n) for n in nodes] == [0] * len(nodes)
    assert len(w.passes) == 1
    assert w[1].gradient.tolist() == [1.0, 1.0]


def test_hooks_are_gone_when_with_raises():
    out = leaf(2).exp().sum()
    nodes = torch_walk(out)[0]
    with pytest.raises(Mistake), GradWidget(out):
        raise Mistake
    assert [hooks_on(n) for n in nodes] == [0] * len(nodes)


def test_hooks_are_gone_after_refresh():
    first, second = leaf(2).exp().sum(), leaf(2).sin().sum()
    w = GradWidget(first)
    w.refresh(second)
    assert [hooks_on(n) for n in torch_walk(first)[0]] == [0, 0, 0]
    assert [hooks_on(n) for n in torch_walk(second)[0]] == [1, 1, 1]


def test_no_hook_without_watch():
    out = leaf(2).exp().sum()
    w = GradWidget(out, watch=False)
    assert [hooks_on(n) for n in torch_walk(out)[0]] == [0, 0, 0]
    out.backward()
    assert w.passes == []


def test_probe_without_watch_leaves_no_hook():
    out = leaf(2).exp().sum()
    w = GradWidget(out, watch=False)
    one = w.probe()
    assert one.state == "complete"
    assert [hooks_on(n) for n in torch_walk(out)[0]] == [0, 0, 0]


def test_a_failing_construction_leaves_no_hook(monkeypatch):
    out = leaf(2).exp().sum()

    def broken(_):
        raise Mistake

    monkeypatch.setattr(gradwidget._widget._wire, "graph_payload", broken)
    with pytest.raises(Mistake):
        GradWidget(out)
    gc.collect()
    assert [hooks_on(n) for n in torch_walk(out)[0]] == [0, 0, 0]


def test_two_widgets_on_one_graph():
    x = leaf(2)
    out = x.exp().sum()
    one, two = GradWidget(out), GradWidget(out)
    one.close()
    out.backward()
    assert one.passes == []
    assert same(two["x"].gradient, x.grad)


def test_probe_leaves_grad_alone():
    x, y = leaf(2), leaf(2)
    y.grad = torch.ones(2)
    kept = y.grad
    out = (x * y).sum()
    w = GradWidget(out)
    w.probe()
    assert x.grad is None
    assert y.grad is kept
    assert kept.tolist() == [1.0, 1.0]
    assert kept._version == 0
    out.backward()
    assert same(x.grad, y.detach())


def test_probe_leaves_grad_of_a_retaining_tensor_alone():
    x = leaf(2)
    h = x.exp()
    h.retain_grad()
    out = h.sum()
    GradWidget(out).probe()
    assert h.grad is None
    out.backward()
    assert h.grad.tolist() == [1.0, 1.0]


def test_probe_runs_no_post_accumulate_hook():
    x = leaf(2)
    x.register_post_accumulate_grad_hook(lambda _: pytest.fail("ran"))
    GradWidget(x.exp().sum()).probe()


def test_probe_of_an_output_that_is_no_scalar():
    x = leaf(3)
    out = x.exp()
    truth = true_gradients(out, torch.ones(3))
    w = GradWidget(out)
    assert w.probe().label == "probe"
    assert_captured(w, truth)


def test_probe_of_several_outputs():
    x = leaf(3)
    one, two = x.exp(), x.sin().sum()
    w = GradWidget(one, two)
    w.probe()
    (expected,) = torch.autograd.grad([one, two], x, [torch.ones(3), torch.ones(())])
    assert same(w["x"].gradient, expected)


def test_probe_of_an_edge_and_of_a_node():
    x = leaf(4)
    parts = x.split(2)
    for output in (torch.autograd.graph.get_gradient_edge(parts[1]), parts[0].grad_fn):
        w = GradWidget(output)
        w.probe()
        assert w["x"].gradient.sum().item() == 2.0


def test_probe_of_a_freed_graph_says_so():
    out = leaf(2).exp().sum()
    w = GradWidget(out)
    out.backward()
    with pytest.raises(gradwidget.GraphGoneError, match=r"freed.*retain_graph"):
        w.probe()


def test_probe_after_an_in_place_edit_is_of_the_graph_that_is_shown():
    x = torch.tensor(2.0, requires_grad=True)
    out = x * 3
    w = GradWidget(out)
    out.mul_(5)
    w.probe()
    assert w["x"].gradient.item() == 3.0


def test_probe_of_a_leaf():
    x = leaf(2)
    w = GradWidget(x)
    w.probe()
    assert w["x"].gradient.tolist() == [1.0, 1.0]
    assert x.grad is None


def test_summary_keeps_norms_only():
    x = leaf(100)
    h = x.exp()
    out = (h * h).sum()
    w = GradWidget(out, keep="summary")
    out.backward()
    found = w.passes[0].gradient("h")
    assert isinstance(found, Summary)
    assert found.stats.norm == pytest.approx((2 * h).norm().item())
    assert found.form.shape == (100,)


def test_summary_keeps_no_gradient_alive():
    x = leaf(100)
    h = x.exp()
    references = []
    h.register_hook(lambda g: references.append(weakref.ref(g)))
    out = (h * h).sum()
    w = GradWidget(out, keep="summary")
    out.backward()
    assert len(w.passes) == 1
    assert references[0]() is None


@pytest.mark.parametrize("keep", ["auto", "summary"])
def test_beyond_the_budget_of_a_pass_gradients_are_reduced_at_once(monkeypatch, keep):
    monkeypatch.setattr(_capture, "DURING", 500)
    x = leaf(100)
    h = x.exp()
    out = (h * h).sin().sum()
    alive = []
    h.register_hook(lambda g: alive.append(weakref.ref(g)))
    w = GradWidget(out, keep=keep)
    out.backward()
    assert alive[0]() is None
    found = w.passes[0].gradient("h")
    assert isinstance(found, Summary)
    assert found.stats.norm == pytest.approx((2 * h * (h * h).cos()).norm().item())


def test_after_a_pass_the_largest_are_reduced_first(monkeypatch):
    monkeypatch.setattr(_capture, "AFTER", 100)
    x = leaf(100)
    h = x.exp()
    out = h.sum()
    w = GradWidget(out)
    out.backward()
    one = w.passes[0]
    assert isinstance(one.gradient("h"), Summary)
    assert isinstance(one.gradient("out"), torch.Tensor)


def test_the_newest_pass_stays_whole(monkeypatch):
    monkeypatch.setattr(_capture, "AFTER", 1_000)
    x = leaf(100)
    h = x.exp()
    out = h.sum()
    w = GradWidget(out)
    out.backward(retain_graph=True)
    out.backward()
    old, new = w.passes
    assert isinstance(old.gradient("x"), Summary)
    assert isinstance(new.gradient("x"), torch.Tensor)


def test_keep_all_ignores_the_budgets(monkeypatch):
    for name in ("DURING", "AFTER", "SMALL"):
        monkeypatch.setattr(_capture, name, 1)
    x = leaf(100)
    out = (x.exp() * x).sum()
    truth = true_gradients(out)
    w = GradWidget(out, keep="all")
    out.backward()
    assert_captured(w, truth)


def test_a_large_leaf_is_read_from_grad(monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    out = (x.exp() * x).sum()
    (expected,) = torch.autograd.grad(out, x, retain_graph=True)
    w = GradWidget(out)
    out.backward()
    assert same(w["x"].gradient, expected)
    assert same(x.grad, expected)


def test_a_large_leafs_gradient_is_stolen_not_copied(monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    out = (x * 2).sum()
    pointers = []
    x.register_hook(lambda g: pointers.append(g.data_ptr()))
    GradWidget(out)
    out.backward()
    assert x.grad.data_ptr() == pointers[0]


def test_a_large_leaf_whose_grad_has_changed_since(monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    out = (x.exp() * x).sum()
    (expected,) = torch.autograd.grad(out, x, retain_graph=True)
    w = GradWidget(out)
    out.backward()
    w.passes
    x.grad.zero_()
    found = w["x"].gradient
    assert isinstance(found, Summary)
    assert ".grad has changed since" in found.note
    assert found.stats is None or found.stats.norm == pytest.approx(expected.norm().item())


def test_a_large_leaf_in_the_second_pass(monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    out = (x.exp() * x).sum()
    (expected,) = torch.autograd.grad(out, x, retain_graph=True)
    w = GradWidget(out)
    out.backward(retain_graph=True)
    out.backward()
    assert same(w.passes[1].gradient("x"), expected)
    assert same(x.grad, expected + expected)


def test_a_large_leaf_whose_hook_clears_grad(monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", None))
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    assert w["x"].gradient.stats.norm == pytest.approx(x.exp().norm().item())


def test_grad_cleared_between_passes_does_not_change_what_was_captured():
    x = leaf(3)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward(retain_graph=True)
    expected = x.grad.clone()
    x.grad.zero_()
    x.grad = None
    out.backward()
    assert same(w["x"].gradients[0], expected)
    assert same(w["x"].gradients[1], expected)


def test_optimizer_steps_do_not_change_what_was_captured():
    net = nn.Linear(3, 1)
    out = net(torch.ones(3)).sum()
    w = GradWidget(out)
    out.backward()
    expected = net.weight.grad.clone()
    nn.utils.clip_grad_norm_(net.parameters(), 0.01)
    torch.optim.SGD(net.parameters(), 0.1).step()
    assert same(w["net.weight"].gradient, expected)


def test_only_the_newest_passes_are_kept(monkeypatch):
    monkeypatch.setattr(_capture, "PASSES", 3)
    x = leaf(1)
    out = x.exp()
    w = GradWidget(out)
    for _ in range(5):
        out.backward(retain_graph=True)
    assert [p.number for p in w.passes] == [3, 4, 5]
    assert w._inspection.dropped == 2


INJECTED = ["take", "finish", "_begin", "_changed"]


@pytest.mark.parametrize("method", INJECTED)
@pytest.mark.parametrize("error", [ValueError, RuntimeError, MemoryError])
def test_an_error_of_ours_never_reaches_backward(monkeypatch, method, error):
    def broken(*_, **__):
        raise error("ours")

    x = leaf(2)
    out = x.exp().sum()
    (expected,) = torch.autograd.grad(out, x, retain_graph=True)
    w = GradWidget(out)
    if method == "_changed":
        monkeypatch.setattr(GradWidget, "_changed", broken)
    else:
        monkeypatch.setattr(_capture.Recorder, method, broken)
    out.backward()
    assert same(x.grad, expected)
    w.passes


def test_what_could_not_be_captured_says_why(monkeypatch):
    take = _capture.Recorder.take

    def broken(self, key, gradients):
        if key in self._leaves:
            raise ValueError("ours")
        return take(self, key, gradients)

    monkeypatch.setattr(_capture.Recorder, "take", broken)
    x = leaf(_capture.SMALL)
    h = x.exp()
    out = h.sum()
    w = GradWidget(out)
    out.backward()
    found = w["x"].gradient
    assert isinstance(found, Summary)
    assert "Could not be captured (ValueError: ours)" in found.note
    assert same(w["h"].gradient, torch.ones_like(h))
    assert same(x.grad, h.detach())


def test_keyboard_interrupt_goes_through(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_capture.Recorder, "take", interrupted)
    out = leaf(2).exp().sum()
    GradWidget(out)
    with pytest.raises(KeyboardInterrupt):
        out.backward()


def test_calling_a_node_by_hand():
    x = leaf(2)
    out = x.exp()
    w = GradWidget(out)
    out.grad_fn(torch.ones(2))
    assert w.passes == []


def test_leaf_as_output():
    x = leaf(2)
    w = GradWidget(x)
    x.backward(torch.tensor([1.0, 2.0]))
    assert w["x"].gradient.tolist() == [1.0, 2.0]


def test_repr_of_a_pass_is_short():
    x = leaf(2)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    assert repr(w.passes) == "[BackwardPass(1: backward from out, 3 nodes, complete)]"
    assert repr(w["out"].hooks) == "(HookCapture(pass 1, step 1 of 3: tensor(1.)),)"


def test_a_gradient_that_was_never_captured_is_none():
    x = leaf(2)
    h = x.exp()
    out = h.sum()
    w = GradWidget(out, watch=False)
    out.backward()
    assert w["h"].gradient is None
    assert same(w["x"].gradient, x.grad)


@pytest.mark.filterwarnings("ignore")  # torch's own, in torch.compile
def test_a_compiled_region():
    compiled = torch.compile(lambda t: (t.sin() * t).sum(), backend="aot_eager")
    x = leaf(3)
    out = compiled(x)
    eager = (x.sin() * x).sum()
    (expected,) = torch.autograd.grad(eager, x)
    w = GradWidget(out)
    out.backward()
    assert torch.allclose(w["x"].gradient, expected)
    assert same(w["x"].gradient, x.grad)


def test_functorch_grad_around():
    """Inside a transform tensors have no values to read: nothing of it may break the user's function."""

    def f(t):
        out = (t * 2).exp().sum()
        if out.requires_grad:
            GradWidget(out)
        return out

    x = torch.rand(3)
    assert torch.allclose(torch.func.grad(f)(x), 2 * (2 * x).exp())
