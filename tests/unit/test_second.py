"""First and second order: which nodes a backward pass has made, with and without somebody watching."""

from __future__ import annotations

import pytest
import torch

import gradwidget as gw
from gradwidget import GradWidget


def orders(widget):
    return {data["label"]: data["order"] for _, data in widget.graph.nodes(data=True)}


def x_of(number):
    return torch.tensor(number, requires_grad=True)


def test_a_watched_pass():
    x = x_of(0.5)
    y = x.tanh()
    w = GradWidget(y)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    second = GradWidget(g)
    assert orders(second) == {"TanhBackward": 2, "Tanh": 1, "leaf": 1}
    assert second._inspection.notes == ()
    w.close()


@pytest.mark.parametrize("how", ["grad", "backward", "tensor"])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_recorded_pass(how):
    x = x_of(0.5)
    with gw.record():
        y = x**3
        if how == "grad":
            (g,) = torch.autograd.grad(y, x, create_graph=True)
        elif how == "backward":
            torch.autograd.backward(y, create_graph=True)
        else:
            y.backward(create_graph=True)
        g = g if how == "grad" else x.grad
        penalty = g.exp()
    found = orders(GradWidget(penalty))
    assert found.pop("Exp") == 1  # made from the gradient, by no pass
    assert found.pop("leaf") == 1
    assert set(found.values()) == {2}


@pytest.mark.filterwarnings("ignore:Using backward")
def test_what_nobody_watched_is_unsure_and_says_so():
    x = x_of(0.5)
    y = x.tanh().exp()
    y.backward(create_graph=True)
    w = GradWidget(x.grad)
    assert orders(w) == {"Copy": 2, "TanhBackward": 2, "Mul": None, "Tanh": None, "Exp": None, "leaf": 1}
    assert "gw.record()" in w._inspection.notes[0]
    x.grad = None


def test_a_plain_graph_is_of_first_order():
    x = x_of(0.5)
    w = GradWidget(x.tanh().exp())
    assert orders(w) == {"Exp": 1, "Tanh": 1, "leaf": 1}
    assert w._inspection.notes == ()


def test_by_the_source_text_a_gradient_is_known():
    x = x_of(2.0)
    y = x**3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    w = GradWidget(g)
    root = w.graph.nodes[w["g"].key]
    assert (root["order"], orders(w)["Pow"], orders(w)["leaf"]) == (2, None, 1)
    assert "gw.record()" in w._inspection.notes[0]


def test_what_comes_from_a_gradient_is_unsure():
    x = x_of(2.0)
    y = x**3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    penalty = (g - 1).pow(2)
    w = GradWidget(penalty)
    assert set(orders(w).values()) == {None, 1}
    assert w._inspection.second == []


def test_the_text_of_others_counts_for_nothing():
    x = x_of(2.0)
    y = x**3
    torch.autograd.grad(y, x, create_graph=True)
    assert set(orders(GradWidget(y)).values()) == {1}
