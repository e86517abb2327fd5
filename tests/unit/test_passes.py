"""Passes: their order, what each node handed on, what was returned, and which were nested or failed."""

from __future__ import annotations

import contextlib
import threading

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from unit.judge import same, torch_walk
from unit.looking import detail, effects, leaf, look

from gradwidget import GradWidget, Summary, _capture
from gradwidget._passes import opened
from gradwidget._told import accumulated


class Both(torch.autograd.Function):
    """Hands a gradient to both inputs, whoever asked."""

    @staticmethod
    def forward(ctx, x, factor, y):
        return x * factor + y

    @staticmethod
    def backward(ctx, g):
        return g * 2, None, g


class Third(torch.autograd.Function):
    """Two outputs, and None for an input that wants a gradient."""

    @staticmethod
    def forward(ctx, x, y):
        return x * 2, y * 3

    @staticmethod
    def backward(ctx, g, h):
        return g * 2, None


class Mistake(Exception):
    pass


def fan_in():
    x = leaf(3)
    h = x.exp()
    return (h * h + h.sin() * x + x).sum()


def split():
    a, _, c = leaf(6).split(2)
    return (a * c.exp()).sum()


def function():
    x, y = leaf(2), leaf(2)
    return Both.apply(x.sin(), 2.0, y).sum()


def function_with_none():
    a, b = Third.apply(leaf(2).exp(), leaf(2).exp())
    return (a * b).sum()


def tensor_hooks():
    x = leaf(2)
    h = x.exp()
    h.register_hook(lambda g: g * 10)
    k = h.sin() * h.cos()
    k.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: -g)
    return k.sum()


def broadcasting():
    return (leaf(3, 1) * leaf(4) + leaf()).exp().sum()


def linear():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))(torch.rand(5, 3)).pow(2).mean()


def views():
    h = leaf(4) * 1
    h[1:3].mul_(2)
    return (h.view(2, 2).t() @ h.view(2, 2)).sum()


def same_leaf_twice():
    x = leaf(2)
    return (x * x).sum()


PROGRAMS = [
    fan_in,
    split,
    function,
    function_with_none,
    tensor_hooks,
    broadcasting,
    linear,
    views,
    same_leaf_twice,
]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)


@each_program
def test_the_order_is_that_of_the_engine(program):
    out = program()
    nodes = torch_walk(out)[0]
    truth = []
    with torch.autograd.set_multithreading_enabled(False):
        handle = nodes[0].register_prehook(lambda _: truth.extend(torch._C._current_graph_task_execution_order()))
        with GradWidget(out) as w:
            out.backward()
    handle.remove()
    number = {node: key for key, node in enumerate(nodes)}
    assert len(truth) == len(nodes)
    assert w.passes[0].order == [number[node] for node in truth]


@each_program
def test_what_a_node_hands_on_is_what_a_hook_of_torch_sees(program):
    out = program()
    nodes = torch_walk(out)[0]
    truth = {}
    for key, node in enumerate(nodes):
        if not hasattr(node, "variable"):
            node.register_hook(
                lambda given, _, k=key: truth.update({k: [g if g is None else g.clone() for g in given]})
            )
    with GradWidget(out) as w:
        out.backward()
    one = w.passes[0]
    assert len(truth) >= 2
    for key, given in truth.items():
        slots = [s for s, (following, _) in enumerate(nodes[key].next_functions) if following is not None]
        handed = one.handed_on(one.steps[key])
        for slot in slots:
            assert same(handed[slot] if slot < len(handed) else None, given[slot]), (key, slot)
        assert all(handed[s] is None for s in range(len(handed)) if s not in slots)


def test_what_a_node_hands_on_above_the_budget_of_a_copy_is_its_norm(monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    h = x.exp()
    out = (h * 2 + h * 3).sum()
    with GradWidget(out) as w:
        out.backward()
    one = w.passes[0]
    key = next(k for k in one.order if w[k].op == "MulBackward0")
    (handed,) = (opened(item) for item in one.handed_on(one.steps[key]) if item is not None)
    assert isinstance(handed, Summary)
    assert handed.stats.norm in (pytest.approx(20.0), pytest.approx(30.0))


# --- returned values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted", [["x"], ["h"], ["k"], ["x", "y"], ["x", "k"], ["y", "h"], ["h", "k"], ["x", "y", "h", "k"]], ids="-".join
)
def test_returned_gradients_are_what_the_user_got(wanted):
    x, y = leaf(3), leaf(3)
    h = x.exp()
    k = (h * y).sin() + h
    loss = (k * k * y).sum()
    tensors = {"x": x, "y": y, "h": h, "k": k}
    w = GradWidget(loss)
    found = torch.autograd.grad(loss, [tensors[name] for name in wanted])
    one = w.passes[0]
    assert (one.kind, one.state) == ("grad", "complete")
    asked = one.label.removeprefix("grad of loss w.r.t. ").removesuffix(", ...").split(", ")
    assert 0 < len(set(asked)) <= 3
    assert set(asked) <= set(wanted)
    for name, gradient in zip(wanted, found, strict=True):
        assert same(one.gradient(name), gradient), name
        assert w[name].hooks[-1].number == 1
    assert all(t.grad is None for t in (x, y))
    look(w)


def test_a_returned_gradient_of_several_consumers_and_a_seed():
    x = leaf(3)
    h = x.exp()
    loss = (h * 2 + h.sin() * h).sum()
    w = GradWidget(loss, h)
    (g,) = torch.autograd.grad([loss, h], h, [torch.tensor(1.0), torch.full((3,), 5.0)])
    assert torch.allclose(2 + h.cos() * h + h.sin() + 5, g)
    found = w["h"].gradient
    assert found is None or isinstance(found, Summary) or torch.allclose(found, g)


def test_a_returned_gradient_is_after_the_tensor_hooks():
    x = leaf(3)
    x.register_hook(lambda g: g * 10)
    loss = x.exp().sum()
    w = GradWidget(loss)
    (g,) = torch.autograd.grad(loss, x)
    assert same(w["x"].gradient, g)
    assert effects(w, "x") == [("arrived", ""), ("after <lambda>", "×10"), ("left", "unchanged")]


def test_a_returned_gradient_does_not_change_when_the_user_edits_his():
    x = leaf(3)
    h = x.exp()
    loss = (h * 2).sum()
    w = GradWidget(loss)
    (g,) = torch.autograd.grad(loss, h)
    g.zero_()
    found = w["h"].gradient
    assert isinstance(found, Summary) or found.tolist() == [2.0, 2.0, 2.0]


def test_only_what_was_asked_for_is_returned():
    x, y = leaf(2), leaf(2)
    out = Both.apply(x, 2.0, y).sum()
    w = GradWidget(out)
    torch.autograd.grad(out, x)
    assert w.passes[0].label == "grad of out w.r.t. x"
    assert w["y"].gradient is None


def test_inputs_of_backward_leave_out_what_a_function_hands_on_all_the_same():
    x, y = leaf(2), leaf(2)
    out = Both.apply(x, 2.0, y).sum()
    w = GradWidget(out)
    out.backward(inputs=[x])
    assert w.passes[0].kind == "backward"
    assert same(w["x"].gradient, x.grad)
    assert y.grad is None
    assert w["y"].hooks == ()


def test_what_autograd_grad_returned_is_not_in_grad():
    x = leaf(2)
    loss = x.exp().sum()
    w = GradWidget(loss)
    torch.autograd.grad(loss, x)
    panel = detail(w, "x")["outputs"][0]
    assert "autograd.grad()" in panel["gradient_note"]
    assert panel["grad"] is None


def test_batched_gradients_can_not_be_read_and_say_so():
    x = leaf(3)
    y = x.exp()
    w = GradWidget(y)
    (g,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    assert same(g, torch.diag(y.detach()))
    assert isinstance(w["y"].gradient, Summary)
    assert "inside a function transform" in w["y"].gradient.note
    assert "can't be read" in w.passes[0].note
    look(w)


# --- several passes -----------------------------------------------------------------------------------------------


def test_two_losses_over_one_trunk():
    net = nn.Linear(3, 3)
    trunk = net(torch.ones(2, 3)).tanh()
    one, two = trunk.sum(), trunk.pow(2).sum()
    w = GradWidget(one, two)
    one.backward(retain_graph=True)
    first = net.weight.grad.clone()
    two.backward()
    assert [p.label for p in w.passes] == ["backward from one", "backward from two"]
    assert not w.passes[0].reached(w["two"].key)
    assert not w.passes[1].reached(w["one"].key)
    assert same(w["net.weight"].gradients[0], first)
    assert torch.allclose(w["net.weight"].gradients[1] + first, net.weight.grad)
    note = detail(w, "net.weight")["outputs"][0]["grad_note"]
    assert note == "Accumulated over 2 passes (1, 2): zero_grad() was not called in between."


def twice(between=lambda x: None):
    x = leaf(3)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward(retain_graph=True)
    between(x)
    out.backward(retain_graph=True)
    return x, out, w


def note_of(widget, name="x"):
    return accumulated(widget._inspection, widget[name].key)


def test_accumulation_is_told():
    _, out, w = twice()
    assert note_of(w) == "Accumulated over 2 passes (1, 2): zero_grad() was not called in between."
    out.backward()
    assert note_of(w) == "Accumulated over 3 passes (1, 2, 3): zero_grad() was not called in between."


@pytest.mark.parametrize(
    "clear", [lambda x: setattr(x, "grad", None), lambda x: x.grad.zero_()], ids=["set_to_none", "zero_"]
)
def test_zero_grad_in_between_both_ways(clear):
    x, _, w = twice(clear)
    assert note_of(w) == ""
    assert same(w["x"].gradients[1], x.grad)


def test_accumulation_counts_from_the_last_zero_grad():
    _, out, w = twice(lambda x: setattr(x, "grad", None))
    out.backward()
    assert note_of(w) == "Accumulated over 2 passes (2, 3): zero_grad() was not called in between."


def test_a_grad_that_was_there_before():
    x = leaf(3)
    x.grad = torch.ones(3)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    assert note_of(w) == ".grad held a gradient before the first pass that the widget has seen."


def test_a_grad_that_was_changed_since():
    x, _, w = twice()
    x.grad.mul_(3)
    assert note_of(w) == ".grad is not the sum of what the passes brought: something has changed it since."


def test_a_pass_through_another_graph_is_not_a_pass_of_this_one():
    x = leaf(3)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    (x * 2).sum().backward()
    assert [p.label for p in w.passes] == ["backward from out"]
    assert "another graph" in note_of(w)


def test_create_graph_is_a_pass_whose_gradients_need_none():
    x = leaf(3)
    h = x.pow(3)
    out = h.sum()
    w = GradWidget(out)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    assert same(w["x"].gradient, g.detach())
    assert not w["x"].gradient.requires_grad
    assert not w["h"].gradient.requires_grad
    assert w.passes[0].kind == "grad"


def test_b_below_a_are_one_pass():
    x = leaf(3)
    b = x.exp()
    a = b.sin()
    w = GradWidget(a, b)
    torch.autograd.backward([a, b], [torch.ones(3), torch.full((3,), 2.0)])
    assert len(w.passes) == 1
    assert same(w["b"].gradient, b.detach().cos() + 2)
    assert same(w["x"].gradient, x.grad)
    assert len(w.passes[0]) == 3


# --- passes that fail ---------------------------------------------------------------------------------------------


def raising_hook():
    x = leaf(2)
    h = x.exp()
    out = h.sin().sum()
    armed = [True]

    def hook(_):
        if armed.pop() if armed else False:
            raise Mistake("mine")

    h.register_hook(hook)
    return x, out


def in_place_error():
    x = leaf(2)
    h = x.exp()
    out = h.sin().sum()
    h.mul_(2)
    return x, out


@pytest.mark.parametrize("program", [raising_hook, in_place_error])
def test_a_failed_pass_is_told_by_the_beginning_of_the_next(program):
    x, out = program()
    other = x.cos().sum()
    w = GradWidget(out, other)
    with contextlib.suppress(Mistake, RuntimeError):
        out.backward(retain_graph=True)
    states = []
    other.register_hook(lambda _: None)
    x.register_hook(lambda _: states.extend(p.state for p in w._inspection._recorder.passes))
    other.backward()
    assert states == ["failed", "running"]
    assert [p.state for p in w.passes] == ["failed", "complete"]
    assert "raised" in w.passes[0].note
    assert same(w.passes[1].gradient("x"), -x.detach().sin())
    assert [p.inside for p in w.passes] == [0, 0]
    look(w)


def test_a_second_backward_after_the_graph_was_freed_then_a_good_one():
    x = leaf(2)
    out, other = x.exp().sum(), x.cos().sum()
    w = GradWidget(out, other)
    out.backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()
    other.backward()
    assert [p.state for p in w.passes] == ["complete", "failed", "complete"]
    assert same(w.passes[2].gradient("x"), -x.detach().sin())


def test_a_failed_pass_holds_no_promise_of_a_leaf(monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x, y = leaf(100), leaf(100)
    h = (y * 2).exp()
    out = (x * 3).sum() + h.sum()
    y.register_hook(lambda _: 1 / 0)
    w = GradWidget(out)
    with pytest.raises(ZeroDivisionError):
        out.backward()
    assert w.passes[0].state == "failed"
    if x.grad is None:
        pytest.skip("the engine did not reach x first")
    assert same(w.passes[0].gradient("x"), x.grad)
    look(w)


# --- nested passes ------------------------------------------------------------------------------------------------


def test_a_backward_in_a_hook_is_inside():
    x = leaf(2)
    h = x.exp()
    inner, out = x.sin().sum(), h.sum()
    h.register_hook(lambda _: inner.backward())
    w = GradWidget(out, inner)
    out.backward()
    assert [(p.label, p.inside, p.state) for p in w.passes] == [
        ("backward from out", 0, "complete"),
        ("backward from inner", 1, "complete"),
    ]
    assert same(w.passes[0].gradient("x"), h.detach())
    assert same(w.passes[1].gradient("x"), x.detach().cos())
    assert note_of(w) in ("", "Accumulated over 2 passes (1, 2): zero_grad() was not called in between.")


def test_three_levels():
    x = leaf(2)
    a, b, c = x.sin(), x.cos(), x.exp()
    one, two, three = a.sum(), b.sum(), c.sum()
    a.register_hook(lambda _: two.backward())
    b.register_hook(lambda _: three.backward())
    w = GradWidget(one, two, three)
    one.backward()
    assert [(p.label, p.inside) for p in w.passes] == [
        ("backward from one", 0),
        ("backward from two", 1),
        ("backward from three", 2),
    ]


def test_a_nested_pass_that_fails_inside_one_that_goes_on():
    x = leaf(2)
    h = x.exp()
    k = x.sin()
    inner, out = k.sum(), h.sum()
    k.register_hook(lambda _: 1 / 0)

    def hook(_):
        with contextlib.suppress(ZeroDivisionError):
            inner.backward()

    h.register_hook(hook)
    w = GradWidget(out, inner)
    out.backward()
    assert [(p.label, p.state, p.inside) for p in w.passes] == [
        ("backward from out", "complete", 0),
        ("backward from inner", "failed", 1),
    ]
    assert same(w.passes[0].gradient("x"), h.detach())


def test_reentrant_checkpoint_is_inside():
    x = leaf(2)
    weight = leaf(2)
    out = checkpoint(lambda t: (t.sin() * weight).sum(), x, use_reentrant=True) * 2
    plain = weight * 1
    w = GradWidget(out, plain)
    out.backward()
    assert w.passes[0].label == "backward from out"
    assert w.passes[0].state == "complete"
    assert same(w["x"].gradient, x.grad)
    assert all(p.inside in (0, 1) for p in w.passes)
    look(w)


def test_two_passes_at_one_large_leaf_are_not_taken_for_each_other(monkeypatch):
    """The inner pass adds to `.grad` after the outer one has arrived there, and before it has been added."""
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    out, inner = (x * 2).sum(), (x * 3).sum()
    accumulate = torch_walk(x)[0][0]
    w = GradWidget(out, inner)
    armed = [True]

    def between(_):
        if armed:
            armed.pop()
            inner.backward()

    accumulate.register_prehook(between)
    out.backward()
    assert x.grad[0].item() == 5.0
    for one, factor in zip(w.passes, (2.0, 3.0), strict=True):
        found = one.gradient("x")
        if isinstance(found, torch.Tensor):
            assert found.tolist() == [factor] * 100
        else:
            assert "Another backward pass" in found.note


@pytest.mark.parametrize("size", [50, 20_000])
def test_threads_on_one_shared_leaf(size):
    x = leaf(size)
    outs = [(x * k).sum() for k in range(1, 7)]
    w = GradWidget(*outs)
    factors = {key: i + 1 for i, (key, _, _) in enumerate(w.graph.graph["outputs"])}
    for _ in range(5):
        x.grad = None
        gate = threading.Barrier(len(outs))

        def work(out, gate=gate):
            gate.wait()
            out.backward(retain_graph=True)

        threads = [threading.Thread(target=work, args=(out,)) for out in outs]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert x.grad[0].item() == 21.0
        newest = w.passes[-len(outs) :]
        assert [p.state for p in newest] == ["complete"] * len(outs)
        for one in newest:
            found = one.gradient("x")
            if isinstance(found, torch.Tensor):
                assert found.unique().tolist() == [factors[one.order[0]]]
    assert len(w.passes) == 30


@pytest.mark.parametrize("program", ["linear", "view", "cat", "function"])
def test_a_leafs_gradient_is_not_copied_for_us(program):
    """Version 0: torch has taken the gradient over as `.grad`; a copy begins at 1."""
    programs = {
        "linear": lambda x, y: nn.functional.linear(torch.ones(2, 2), x, y[0]),
        "view": lambda x, y: x.t() @ y.t(),
        "cat": lambda x, y: torch.cat([x, y]).sin(),
        "function": lambda x, y: Both.apply(x * 1, 2.0, y * 1),
    }

    def versions(watched):
        x, y = leaf(2, 2), leaf(2, 2)
        out = (programs[program](x, y) * 3).sum()
        w = GradWidget(out) if watched else None
        out.backward()
        assert w is None or len(w.passes) == 1
        return [x.grad._version, y.grad._version]

    assert versions(watched=True) == versions(watched=False) == [0, 0]


def test_a_gradient_that_is_handed_on_as_it_is_is_not_copied_for_us():
    x = leaf(2)
    out = ((x + 1) * 2).sum()
    w = GradWidget(out)
    out.backward()
    assert len(w.passes) == 1
    assert x.grad._version == 0


def test_labels_say_all_that_was_asked_for():
    x = leaf(3)
    h = x * 2
    out = (h * h).sum()
    w = GradWidget(out)
    torch.autograd.grad(out, [h, x], retain_graph=True)  # h ran as well, on the way to x
    torch.autograd.grad(out, [torch.autograd.graph.GradientEdge(h.grad_fn, 0)], retain_graph=True)
    out.backward(inputs=[x], retain_graph=True)
    torch.autograd.grad(out, [x], torch.ones(2), is_grads_batched=True, retain_graph=True)
    out.backward()
    assert [(p.label, p.kind) for p in w.passes] == [
        ("grad of out w.r.t. h, x", "grad"),
        ("grad of out w.r.t. Mul", "grad"),
        ("backward from out, only into x", "backward"),
        ("grad of out w.r.t. x", "grad"),
        ("backward from out", "backward"),
    ]


@pytest.mark.parametrize("adds", [1, 2, 30])
@pytest.mark.parametrize("size", [2, 200])
def test_a_gradient_that_passes_a_chain_of_sums_as_it_is_becomes_the_leafs(adds, size):
    def version(watched):
        x = leaf(size, size)
        y = x
        for _ in range(adds):
            y = y + 1
        out = (y * 3).sum()
        w = GradWidget(out) if watched else None
        out.backward()
        if w is not None:
            assert all(g is not None and same(g, x.grad) for key in range(2, len(w)) for g in [w[key].gradient])
            (one,) = w.passes
            assert all(same(opened(one.handed_on(step)[0]), x.grad) for step in range(2, len(one) - 1))
        return x.grad._version

    assert version(watched=True) == version(watched=False) == 0


def test_a_failed_pass_names_where_it_stopped():
    x = leaf(2)
    h = x * 1
    h.register_hook(lambda g: 1 / 0)
    out = (h * 2).sum()
    w = GradWidget(out)
    with pytest.raises(ZeroDivisionError):
        out.backward()
    assert w.passes[0].note == (
        "backward() raised; Mul (node 1) was the last node that it came to, and what came after is missing."
    )
