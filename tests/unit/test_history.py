"""A widget in a training loop: norms over the iterations, and nothing that grows."""

from __future__ import annotations

import gc
import math
import weakref
from collections import deque

import pytest
import torch
from ipywidgets.widgets.widget import _instances as instances
from torch import nn
from unit.judge import hooks_on, torch_walk
from unit.looking import detail, leaf, look

from gradwidget import GradWidget, _capture
from gradwidget._history import KEPT, History


def history(widget, key):
    found = detail(widget, key)
    return found["history_start"], found["history"]


def test_the_norms_are_those_of_plain_torch():
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    w = None
    truth = []
    for _ in range(12):
        loss = net(torch.rand(4, 3)).pow(2).sum()
        if w is None:
            w = GradWidget(loss)
        else:
            w.refresh(loss)
        optimizer.zero_grad()
        loss.backward()
        truth.append(net.weight.grad.double().norm().item())
        optimizer.step()
    assert history(w, "net.weight") == (1, pytest.approx(truth, rel=1e-12))
    assert history(w, "loss") == (1, [1.0] * 12)


def test_the_norms_of_inner_nodes():
    x = leaf(4)
    w, truth = None, []
    for k in range(5):
        h = x.exp()
        loss = (h * k).sin().sum()
        (g,) = torch.autograd.grad(loss, h, retain_graph=True)
        truth.append(g.double().norm().item())
        if w is None:
            w = GradWidget(loss)
        else:
            w.refresh(loss)
        loss.backward()
        x.grad = None
    assert history(w, "h") == (1, pytest.approx(truth, rel=1e-12))


@pytest.mark.parametrize("keep", ["auto", "all", "summary"])
def test_the_norms_of_large_leaves(monkeypatch, keep):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    w, truth = None, []
    for k in range(1, 5):
        loss = (x.exp() * k).sum()
        if w is None:
            w = GradWidget(loss, keep=keep)
        else:
            w.refresh(loss)
        x.grad = None
        loss.backward()
        truth.append(x.grad.double().norm().item())
    assert history(w, "x") == (1, pytest.approx(truth, rel=1e-6))


def test_accumulated_gradients_are_told_by_what_each_pass_added(monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    x = leaf(100)
    w, truth = None, []
    for k in range(1, 5):
        loss = (x * k).sum()
        if w is None:
            w = GradWidget(loss)
        else:
            w.refresh(loss)
        loss.backward()
        truth.append(10.0 * k)
    assert history(w, "x") == (1, pytest.approx(truth))


def test_without_a_loop_there_is_none():
    x = leaf(2)
    loss = x.exp().sum()
    w = GradWidget(loss)
    loss.backward()
    assert history(w, "x") == (0, [])


def test_an_iteration_without_a_pass_is_left_out():
    x = leaf(2)
    w = GradWidget(x.sum())
    for _ in range(3):
        loss = x.sum()
        w.refresh(loss)
    loss.backward()
    w.refresh(x.sum())
    assert len(w._inspection.history) == 1


def test_nan_and_none_are_told_apart():
    kept = History()
    kept.add({"a": 0, "b": 1}, [math.nan, None])
    kept.add({"b": 0}, [math.inf])
    first, found = kept.of("a")
    assert first == 1
    assert math.isnan(found[0])
    assert found[1] is None
    assert kept.of("b") == (1, [None, math.inf])
    assert kept.of("c") == (1, [None, None])
    assert History().of("a") == (0, [])


def test_only_the_newest_rows_are_kept():
    kept = History()
    for i in range(KEPT + 50):
        kept.add({"a": 0}, [float(i)])
    first, found = kept.of("a")
    assert (first, len(found), len(kept)) == (51, KEPT, KEPT)
    assert found == [float(i) for i in range(50, KEPT + 50)]


def test_a_changed_structure_keeps_histories_by_name():
    x, y = leaf(2), leaf(2)
    loss = x.exp().sum()
    w = GradWidget(loss)
    loss.backward()
    loss = (x.sin() * y).sum()
    w.refresh(loss)
    loss.backward()
    expected = y.detach() * x.detach().cos()
    start, found = history(w, "x")
    assert start == 1
    assert found == pytest.approx([x.exp().norm().item(), expected.norm().item()])
    assert history(w, "y")[1] == [None, pytest.approx(x.sin().norm().item())]
    assert history(w, "loss")[1] == [1.0, 1.0]
    look(w)


def test_a_failed_iteration_does_not_stop_the_loop():
    x = leaf(2)
    w = None
    for k in range(4):
        h = x.exp()
        if k == 1:
            h.register_hook(lambda _: 1 / 0)
        loss = h.sum()
        if w is None:
            w = GradWidget(loss)
        else:
            w.refresh(loss)
        if k == 1:
            with pytest.raises(ZeroDivisionError):
                loss.backward()
        else:
            loss.backward()
    assert history(w, "loss") == (1, [1.0] * 4)
    assert [n is None for n in history(w, "x")[1]] == [False, True, False, False]


def test_refresh_with_what_has_no_graph_leaves_all_as_it_was():
    from gradwidget import NoGraphError

    x = leaf(2)
    loss = x.exp().sum()
    w = GradWidget(loss)
    loss.backward()
    with pytest.raises(NoGraphError):
        w.refresh(torch.ones(2))
    assert len(w.passes) == 1
    assert w["x"].gradient is not None


def counts():
    gc.collect()
    objects = gc.get_objects()
    tensors = sum(issubclass(type(o), torch.Tensor) for o in objects)
    return tensors, len(objects)


def test_a_thousand_refreshes_are_flat():
    weight = leaf(20)
    weight.register_hook(lambda g: None)
    nodes = torch_walk(weight)[0]
    losses = deque(maxlen=50)
    w = GradWidget((weight * 2).exp().sum())

    def iterate(times):
        for _ in range(times):
            loss = (weight * torch.rand(20)).exp().sum()
            w.refresh(loss)
            weight.grad = None
            loss.backward()
            losses.append(weakref.ref(loss))

    def figures():
        return {
            "counts": counts(),
            "hooks": (hooks_on(nodes[0]), len(weight._backward_hooks)),
            "passes": len(w.passes),
            "recorders": len([r for r in _capture._recorders if r() is not None]),
            "widgets": len(instances),
            "rows": len(w._inspection.history),
        }

    iterate(KEPT + 20)
    before = figures()
    iterate(1_000 - KEPT - 20)
    after = figures()
    (tensors, objects), (tensors_after, objects_after) = before.pop("counts"), after.pop("counts")
    assert before == after
    assert after["hooks"] == (1, 1)
    assert (after["passes"], after["rows"]) == (1, KEPT)
    assert tensors_after == tensors
    assert objects_after - objects <= 20
    assert sum(r() is not None for r in losses) == 1


def test_refreshes_with_create_graph_are_flat():
    x = leaf(5)
    w = GradWidget(x.pow(3).sum())
    found = []
    for k in range(60):
        loss = x.pow(3).sum()
        w.refresh(loss)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        g.sum().backward()
        x.grad = None
        del loss, g
        if k in (29, 59):
            found.append(counts()[0])
    assert found[0] == found[1]


def test_history_from_python():
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    w = None
    for scale in (1, 2, 3):
        loss = (scale * x * x / 2).sum()
        if w is None:
            w = GradWidget(loss)
            assert w["x"].history == []
        else:
            w.refresh(loss)
        x.grad = None
        loss.backward()
    assert w["x"].history == [5.0, 10.0, 15.0]
