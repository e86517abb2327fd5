"""Graphs of gradients: first and second order are told apart, and nothing stays alive."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
import torch
from unit.judge import assert_same_graph, same, true_gradients
from unit.looking import leaf, look

from gradwidget import GradWidget, backward_graph


def orders(graph):
    return {key: node["order"] for key, node in graph.nodes(data=True)}


def cubed():
    x = leaf(3)
    out = x.pow(3).sum()
    return x, out


def test_the_graph_of_a_gradient():
    x, out = cubed()
    GradWidget(out)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    w = GradWidget(g)
    assert_same_graph(w.graph, g)
    found = orders(w.graph)
    for key, order in found.items():
        assert order == (1 if w[key].kind == "leaf" else 2), w[key].op
    assert w["g"].key == 0
    assert w["x"].kind == "leaf"


def test_first_and_second_order_in_one_graph():
    x = leaf(3)
    h = x.exp()
    out = h.sin().sum()
    GradWidget(out)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    penalty = (g * h).sum()
    w = GradWidget(penalty)
    by_op = {w[key].op: order for key, order in orders(w.graph).items()}
    assert by_op["ExpBackward0"] == 1
    assert by_op["CosBackward0"] == 2
    assert by_op["SumBackward0"] == 1  # the user's own, after the pass
    assert orders(w.graph)[w["penalty"].key] == 1
    truth = true_gradients(penalty)
    penalty.backward()
    assert same(w["x"].gradient, truth[w["x"].key, 0])
    look(w)


def test_second_derivatives_are_right():
    x, out = cubed()
    first = GradWidget(out)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    second = GradWidget(g.sum())
    g.sum().backward()
    assert torch.allclose(x.grad, 6 * x)
    assert [p.label for p in second.passes] == ["backward from g"]  # by another sum()
    assert [p.kind for p in first.passes] == ["grad"]  # the other meets nothing of it but x


@pytest.mark.filterwarnings("ignore:Using backward")
def test_the_grad_of_a_leaf_after_backward_with_create_graph():
    x, out = cubed()
    w = GradWidget(out)
    out.backward(create_graph=True)
    v = GradWidget(x.grad)
    assert_same_graph(v.graph, x.grad)
    assert 2 in orders(v.graph).values()
    assert same(w["x"].gradient, x.grad.detach())
    v.probe()
    look(v)
    x.grad = None


def test_third_order():
    x = leaf(2)
    out = x.pow(4).sum()
    GradWidget(out)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    w = GradWidget(g)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    assert w.passes[0].create_graph
    assert set(orders(backward_graph(h)).values()) == {1, 2}
    assert torch.allclose(h, 12 * x**2)


def test_without_create_graph_all_are_of_first_order():
    _, out = cubed()
    w = GradWidget(out)
    out.backward()
    y = leaf(3).exp().sum()
    assert set(orders(backward_graph(y)).values()) == {1}
    assert set(orders(w.graph).values()) == {1}


def test_what_is_made_after_the_pass_is_of_first_order():
    x, out = cubed()
    GradWidget(out)
    torch.autograd.grad(out, x, create_graph=True)
    again = x.pow(3).sum().exp().sin()
    assert set(orders(backward_graph(again)).values()) == {1}


def test_numbers_of_another_thread_do_not_count():
    """Sequence numbers begin anew in each thread, and the ids of threads are used again."""
    found = []

    def second_order():
        x, out = cubed()
        w = GradWidget(out)
        torch.autograd.grad(out, x, create_graph=True)
        assert w.passes[0].create_graph

    def first_order():
        out = cubed()[1].exp().sin().cos().exp().sin()
        found.append(set(orders(backward_graph(out)).values()))

    for target in (second_order, first_order, first_order):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    assert found == [{1}, {1}]


def test_what_was_not_watched_is_not_claimed():
    x, out = cubed()
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    graph = backward_graph(g)
    found = {key: data["order"] for key, data in graph.nodes(data=True)}
    assert found.pop(0) == 2  # by the source text
    leaves = {key for key, data in graph.nodes(data=True) if data["kind"] == "leaf"}
    assert all(order == (1 if key in leaves else None) for key, order in found.items())


@pytest.mark.parametrize("keep", ["auto", "all", "summary"])
def test_nothing_stays_alive(keep):
    def program():
        x, out = cubed()
        w = GradWidget(out, keep=keep)
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        v = GradWidget(g, keep=keep)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        look(w), look(v)
        references = [weakref.ref(t) for t in (x, out, g, h)]
        w.close(), v.close()
        return references

    references = program()
    gc.collect()
    assert [r() for r in references] == [None] * 4
