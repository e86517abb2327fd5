"""Two widgets on one graph, and passes of other graphs that meet the same leaves."""

from __future__ import annotations

import torch
from torch import nn

from gradwidget import GradWidget, _bad, _told


def test_both_see_what_each_hook_does():
    x = torch.tensor(2.0, requires_grad=True)
    h = x * 3
    h.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g * 7)
    out = h * h
    widgets = [GradWidget(out), GradWidget(out)]
    keys = list(x._backward_hooks), list(h._backward_hooks)
    out.backward()
    for w in widgets:
        assert [e.change for e in w["x"].hooks[0].effects] == ["", "×7", "unchanged"]
        assert [e.change for e in w["h"].hooks[0].effects] == ["", "×2", "unchanged"]
        assert w.passes[0].handed_on(1)[0].item() == 72  # before x's hook
    assert (list(x._backward_hooks), list(h._backward_hooks)) == keys


def test_both_blame_the_hook_for_its_nan():
    x = torch.tensor(2.0, requires_grad=True)
    out = (x * 3) * 2
    x.register_hook(lambda g: g * float("nan"))
    widgets = [GradWidget(out), GradWidget(out)]
    out.backward()
    for w in widgets:
        bad = _bad.first_bad(w._inspection, w.passes[0])
        assert bad is not None
        assert bad.key == w["x"].key


def test_a_pass_through_another_graph_is_not_this_graphs():
    layer = nn.Linear(2, 1)
    out = layer(torch.ones(1, 2)).sum()
    w = GradWidget(out, names=layer)
    layer(torch.ones(1, 2)).mul(100).sum().backward()
    assert w.passes == []
    out.backward()
    assert [p.label for p in w.passes] == ["backward from out"]
    assert w["bias"].gradient.tolist() == [1.0]
    assert layer.bias.grad.tolist() == [101.0]


def test_joint_passes_name_all_their_outputs():
    x = torch.tensor(2.0, requires_grad=True)
    l1, l2 = x * 2, x * 3
    w = GradWidget(l1, l2)
    (l1 + l2).backward(retain_graph=True)
    torch.autograd.backward([l1, l2], retain_graph=True)
    l1.backward()
    assert [p.label for p in w.passes] == ["backward from l1, l2", "backward from l1, l2", "backward from l1"]


def test_create_graph_from_a_clean_grad_has_nothing_to_say():
    x = torch.tensor(2.0, requires_grad=True)
    out = x**3
    w = GradWidget(out)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    assert g.item() == 12
    out2 = x**3
    w = GradWidget(out2)
    g = torch.autograd.grad(out2, x, create_graph=True)[0]
    g.backward()
    assert _told.accumulated(w._inspection, w["x"].key) == ""
