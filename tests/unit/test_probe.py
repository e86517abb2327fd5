"""probe(): whose pass it is, and what it says when it can't run."""

from __future__ import annotations

import pytest
import torch

from gradwidget import GradWidget, GradWidgetError, GraphGoneError


def test_a_pass_started_by_a_hook_inside_is_not_the_probe():
    x = torch.tensor(2.0, requires_grad=True)
    h = x * 2
    out = h * h
    runs = []

    def nested(_):
        if not runs:
            runs.append(1)
            torch.autograd.grad(out, h, retain_graph=True)

    h.register_hook(nested)
    w = GradWidget(out)
    assert w.probe() is w.passes[0]
    assert [(p.kind, p.inside) for p in w.passes] == [("probe", 0), ("grad", 1)]


def test_an_error_of_the_users_hook_is_the_cause():
    x = torch.tensor(2.0, requires_grad=True)
    out = x * 3

    def broken(_):
        raise ValueError("mine")

    x.register_hook(broken)
    w = GradWidget(out)
    with pytest.raises(GradWidgetError, match="ValueError: mine") as caught:
        w.probe()
    assert isinstance(caught.value.__cause__, ValueError)
    assert list(x._backward_hooks.values()) == [broken]
    assert x.grad is None


def test_a_freed_graph_says_so():
    x = torch.tensor(2.0, requires_grad=True)
    out = x.exp()
    w = GradWidget(out)
    out.backward()
    with pytest.raises(GraphGoneError, match="has freed the graph"):
        w.probe()
