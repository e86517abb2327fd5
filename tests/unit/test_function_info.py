"""What is told of a user's `torch.autograd.Function`."""

from __future__ import annotations

import torch
from unit.looking import detail, leaf, look

from gradwidget import GradWidget


class Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, y):
        return x * factor + y

    @staticmethod
    def backward(ctx, g):
        return g * 2, None, g


class Lazy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *tensors):
        ctx.set_materialize_grads(False)
        ctx.note = "kept"
        return tensors[0] * 1, tensors[1] * 1

    @staticmethod
    def backward(ctx, g, h):
        return g, h


class Split(torch.autograd.Function):
    """forward without ctx, setup_context."""

    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


def of(out):
    w = GradWidget(out)
    key = next(k for k in range(len(w)) if w[k].kind == "function")
    return w, w[key]


def line(cls):
    return f"test_function_info.py:{cls.backward.__code__.co_firstlineno}"


def test_name_place_and_needs():
    y = torch.ones(2)
    w, view = of(Plain.apply(leaf(2), 2.0, y).sum())
    found = view.function
    assert (found.name, found.where) == ("Plain", line(Plain))
    assert found.needs == (("x", True), ("factor", False), ("y", False))
    assert found.materialize
    look(w)


def test_none_is_not_materialised():
    a, _ = Lazy.apply(leaf(2), leaf(2))
    out = a.sum()
    w, view = of(out)
    assert not view.function.materialize
    assert view.function.needs == (("tensors[0]", True), ("tensors[1]", True))
    assert view.saved["ctx.note"].value == "kept"
    out.backward()
    assert w.passes[0].at(view.key)[1] is None


def test_setup_context():
    _, view = of(Split.apply(leaf(2), 3.0).sum())
    assert view.function.needs == (("x", True), ("factor", False))
    assert (view.function.name, view.function.where) == ("Split", line(Split))


def test_a_class_made_in_a_function():
    class Inner(Plain):
        pass

    _, view = of(Inner.apply(leaf(2), 2.0, leaf(2)).sum())
    assert view.function.name == "Inner"
    assert view.function.where == line(Plain)


def test_the_page_gets_it():
    w, view = of(Plain.apply(leaf(2), 2.0, leaf(2)).sum())
    assert detail(w, view.key)["function"] == {
        "name": "Plain",
        "where": line(Plain),
        "materialize": True,
        "needs": [["x", True], ["factor", False], ["y", True]],
    }


def test_other_nodes_have_none():
    out = leaf(2).exp().sum()
    w = GradWidget(out)
    assert [w[k].function for k in range(len(w))] == [None] * 3
    assert detail(w, 0)["function"] is None


def test_when_the_graph_is_gone():
    w, view = of(Plain.apply(leaf(2), 2.0, leaf(2)).sum())
    w.close()
    assert view.function is None


def test_after_backward():
    out = Plain.apply(leaf(2), 2.0, leaf(2)).sum()
    _, view = of(out)
    before = view.function
    out.backward()
    assert view.function == before
