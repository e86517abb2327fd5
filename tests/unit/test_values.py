"""Forward values: from names, from leaves, from what consumers saved; what is unknown stays unknown."""

from __future__ import annotations

import gc

import pytest
import torch
from torch import nn
from unit.judge import same, torch_walk

from gradwidget import GradWidget, _inspect


def key_of(w, op):
    return next(key for key, node in w.graph.nodes(data=True) if node["op"] == op)


def test_named_tensors():
    x = torch.rand(3, requires_grad=True)
    h = x + 1
    out = h.sum()
    w = GradWidget(out)
    assert all(same(w[n].value, t.detach()) for n, t in {"x": x, "h": h, "out": out}.items())


def test_leaves_without_a_name():
    net = [nn.Linear(2, 1)]

    def call(out):
        return GradWidget(out)

    out = net[0](torch.ones(2))
    w = call(out)
    leaves = [k for k, n in w.graph.nodes(data=True) if n["kind"] == "leaf"]
    found = sorted(w[k].value.flatten().tolist() for k in leaves)
    assert found == sorted(p.detach().flatten().tolist() for p in net[0].parameters())


def test_an_output_without_a_name():
    x = torch.rand(3, requires_grad=True)
    expected = x.detach().exp().sum()
    assert same(GradWidget(x.exp().sum())[0].value, expected)


def test_from_what_a_consumer_saved():
    x = torch.rand(3, requires_grad=True)
    out = (x + 1).sin().sum()
    w = GradWidget(out)
    assert same(w[key_of(w, "AddBackward0")].value, x.detach() + 1)


def test_from_what_the_node_itself_saved():
    x = torch.rand(3, requires_grad=True)
    out = x.exp().sum()
    w = GradWidget(out)
    assert same(w[key_of(w, "ExpBackward0")].value, x.detach().exp())


def test_known_values_stay_after_backward():
    x = torch.rand(3, requires_grad=True)
    out = (x + 1).sin().sum()
    w = GradWidget(out)
    out.backward()
    assert same(w[key_of(w, "AddBackward0")].value, x.detach() + 1)


def test_what_nobody_kept_is_unknown():
    x = torch.rand(3, requires_grad=True)
    out = ((x + 1) + 2).sum()
    w = GradWidget(out)
    assert w[2].op == "AddBackward0"
    assert w[2].value is None
    assert "did not keep this value" in w._inspection.value_note((2, 0))


def test_each_output_of_a_node():
    x = torch.rand(4, requires_grad=True)
    low, high = x.split(2)
    w = GradWidget((low * high).sum())
    assert same(w["low"].value, x.detach()[:2])
    assert same(w["high"].value, x.detach()[2:])
    both = w[w["low"].key].value
    assert isinstance(both, tuple)
    assert same(both[1], x.detach()[2:])


def test_an_unused_output_is_unknown():
    x = torch.rand(4, requires_grad=True)
    out = x.split(2)[1].exp().sum()
    w = GradWidget(out)
    values = w[key_of(w, "SplitBackward0")].value
    assert values[0] is None


def test_values_of_single_outputs_are_not_mixed_up():
    x = torch.rand(3, 2, requires_grad=True)
    first, second, third = x.unbind()
    w = GradWidget((third * first).sum() + second.sum())
    assert [w[n].value.tolist() for n in ("first", "second", "third")] == x.tolist()


def test_of_a_tensor_changed_in_place_since():
    x = torch.rand(3, requires_grad=True)
    before = x.detach().clone()
    out = (x * 2).sum()
    w = GradWidget(out)
    with torch.no_grad():
        x.add_(1)
    assert same(w["x"].value, before)
    assert "changed in place since (version 0, now 1)" in w._inspection.value_note((w["x"].key, 0))


def test_a_big_tensor_changed_in_place_says_so(monkeypatch):
    monkeypatch.setattr(_inspect, "COPY", 2)
    x = torch.rand(3, requires_grad=True)
    out = (x * 2).sum()
    w = GradWidget(out)
    with torch.no_grad():
        x.add_(1)
    assert same(w["x"].value, x.detach())
    assert "As it is now" in w._inspection.value_note((w["x"].key, 0))


def test_a_value_can_be_changed_without_changing_the_widget():
    x = torch.tensor([2.0], requires_grad=True)
    w = GradWidget((x * 3).sum())
    w["x"].value.mul_(10)
    assert w["x"].value.tolist() == [2.0]


def test_values_need_no_gradient():
    x = torch.rand(3, requires_grad=True)
    out = x.exp()
    w = GradWidget(out)
    assert not w["x"].value.requires_grad
    assert not w["out"].value.requires_grad


def test_values_do_not_die_with_their_tensors():
    x = torch.rand(3, requires_grad=True)
    h = x + 1
    expected = h.detach().clone()
    w = GradWidget((h + 1).sum())
    del h
    gc.collect()
    assert same(w["h"].value, expected)


def test_the_budget_of_copies(monkeypatch):
    monkeypatch.setattr(_inspect, "COPIES", 10)
    tensors = [torch.rand(4, requires_grad=True) for _ in range(5)]
    w = GradWidget(sum(tensors).sum())
    copied = [w._inspection._values.get((w[f"tensors[{i}]"].key, 0)) for i in range(5)]
    assert sum(c is not None for c in copied) == 2
    assert all(same(w[f"tensors[{i}]"].value, tensors[i].detach()) for i in range(5))


def test_values_of_a_whole_network_are_those_of_the_forward_pass():
    seen = {}
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Sigmoid())
    for i, layer in enumerate(net):
        layer.register_forward_hook(lambda m, a, out, i=i: seen.__setitem__(i, out))
    out = net(torch.rand(2, 3)).sum()
    w = GradWidget(out)
    nodes = torch_walk(out)[0]
    known = 0
    for i, tensor in seen.items():
        value = w[nodes.index(tensor.grad_fn)].value
        if value is not None:
            assert same(value, tensor.detach()), i
            known += 1
    assert known >= 2  # tanh and sigmoid save their results


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
def test_keep_their_dtype(dtype):
    x = torch.ones(2, dtype=dtype, requires_grad=True)
    w = GradWidget((x * 2).sum())
    assert w["x"].value.dtype is dtype


def test_outputs_found_among_what_one_consumer_saved_are_not_mixed_up():
    def program():
        x = torch.rand(200, requires_grad=True)
        low, high = x.split(100)
        return (low * high).sum(), x.detach()

    out, x = program()
    w = GradWidget(out, keep="summary")  # copies nothing of that size: it is looked for when asked
    low, high = w[key_of(w, "SplitBackward0")].value
    assert same(low, x[:100])
    assert same(high, x[100:])
