"""Gradients that are held as they arrive: torch must not notice, so the two lists of operations are checked with it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gradwidget import GradWidget, _capture
from gradwidget._holdable import FRESH, SAME, holdable
from gradwidget._inspect import Inspection
from gradwidget._walk import describe_op


def leaf(*shape):
    return (torch.rand(shape) + 0.5).requires_grad_()


MADE = {
    "Bmm": lambda: torch.bmm(leaf(2, 3, 4), leaf(2, 4, 5)),
    "Cos": lambda: leaf(3).cos(),
    "Div": lambda: leaf(3) / leaf(3),
    "Exp": lambda: leaf(3).exp(),
    "Gelu": lambda: nn.functional.gelu(leaf(3)),
    "Log": lambda: leaf(3).log(),
    "LogSoftmax": lambda: leaf(3).log_softmax(0),
    "Mm": lambda: leaf(3, 4) @ leaf(4, 2),
    "Mul": lambda: leaf(3) * leaf(3),
    "Neg": lambda: -leaf(3),
    "Pow": lambda: leaf(3) ** 1,
    "Relu": lambda: leaf(3).relu(),
    "Sigmoid": lambda: leaf(3).sigmoid(),
    "Silu": lambda: nn.functional.silu(leaf(3)),
    "Sin": lambda: leaf(3).sin(),
    "Softmax": lambda: leaf(3).softmax(0),
    "Split": lambda: leaf(4).split(4)[0],
    "Sqrt": lambda: leaf(3).sqrt(),
    "Tanh": lambda: leaf(3).tanh(),
    "UnsafeSplit": lambda: leaf(4).unsafe_split(4)[0],
    "Convolution": lambda: nn.functional.conv2d(leaf(1, 2, 5, 5), leaf(3, 2, 2, 2), leaf(3)),
    "Embedding": lambda: nn.functional.embedding(torch.tensor([0, 2, 0]), leaf(3, 2)),
    "MaxPool2DWithIndices": lambda: nn.functional.max_pool2d(leaf(1, 2, 4, 4), 2),
    "NativeBatchNorm": lambda: nn.functional.batch_norm(leaf(4, 3), None, None, leaf(3), leaf(3), training=True),
    "NativeLayerNorm": lambda: nn.functional.layer_norm(leaf(4, 3), (3,), leaf(3), leaf(3)),
    "NllLoss": lambda: nn.functional.nll_loss(leaf(4, 3), torch.tensor([0, 1, 2, 0])),
    "Add": lambda: leaf(3) + leaf(3),
    "Addmm": lambda: torch.addmm(leaf(2, 2), leaf(2, 3), leaf(3, 2)),
    "Expand": lambda: leaf(1, 3).expand(2, 3),
    "Mean": lambda: leaf(3).mean(),
    "Permute": lambda: leaf(2, 3).permute(1, 0),
    "Squeeze": lambda: leaf(1, 3).squeeze(),
    "Sub": lambda: leaf(3) - leaf(3),
    "Sum": lambda: leaf(3).sum(),
    "T": lambda: leaf(2, 3).t(),
    "Transpose": lambda: leaf(2, 3).transpose(0, 1),
    "Unsqueeze": lambda: leaf(3).unsqueeze(0),
    "UnsafeView": lambda: torch.ops.aten._unsafe_view(leaf(2, 3), (3, 2)),
    "View": lambda: leaf(2, 3).view(6),
}


@pytest.mark.parametrize("label", sorted(FRESH | SAME))
def test_what_an_operation_hands_on(label):
    out = MADE[label]()
    assert describe_op(out.grad_fn).label == label
    given = torch.rand(out.shape)
    before, version = given.clone(), given._version
    seen = []
    out.grad_fn.register_hook(lambda handed, received: seen.append((handed, received)))
    out.backward(given)
    handed = [part for part in seen[0][0] if part is not None]
    assert handed
    assert torch.equal(given, before)
    assert given._version == version
    if label in FRESH:
        memory = {part.untyped_storage().data_ptr() for part in (given, *handed)}
        assert len(memory) == 1 + len(handed)


def test_what_may_come_to_a_sum_or_a_leaf_is_not_held():
    x, b = leaf(3), leaf(3)
    shared = x.exp()
    before = shared + b  # hands on to a leaf
    turned = before.view(3)  # and so does this, to the same one
    apart = turned.tanh()
    double = shared * 2
    total = apart + double
    out = total.sum()
    tensors = {"before": before, "turned": turned, "apart": apart, "double": double, "total": total, "out": out}
    inspection = Inspection((out,), watch=False, look=False, names=tensors)
    numbers = {name: inspection.find(name)[0] for name in tensors}
    sizes = inspection.columns.nbytes()
    anywhere = holdable(inspection.columns, sizes, 1_000, alone=False)
    # The seed comes to out, which hands it on to total and further; nothing of that is ours to hold.
    assert {name for name, key in numbers.items() if anywhere[key]} == set()
    leading = (total * 2).sum()
    inspection = Inspection((leading,), watch=False, look=False, names=tensors)
    numbers = {name: inspection.find(name)[0] for name in tensors if name != "out"}
    found = holdable(inspection.columns, inspection.columns.nbytes(), 1_000, alone=False)
    assert {name for name, key in numbers.items() if found[key]} == {"apart", "double", "total"}
    found = holdable(inspection.columns, inspection.columns.nbytes(), 1_000, alone=True)
    assert {name for name, key in numbers.items() if found[key]} == set()  # a hook on apart could edit all three


@pytest.mark.parametrize("length", [50, 800])
def test_torch_does_not_notice(length):
    def run(watch):
        torch.manual_seed(0)
        cell, bias = nn.LSTMCell(3, 4), leaf(4)
        h = c = torch.zeros(2, 4)
        steps = []
        for _ in range(length // 10):
            h, c = cell(torch.rand(2, 3), (h, c))
            h = h + bias
            steps.append(h)
        loss = sum(step.mean() for step in steps)
        widget = GradWidget(loss) if watch else None
        loss.backward()
        leaves = [*cell.parameters(), bias]
        return [(p.grad.clone(), p.grad._version, p.grad.stride()) for p in leaves], widget

    plain, _ = run(False)
    watched, widget = run(True)
    assert all(torch.equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(plain, watched, strict=True))
    assert widget.passes[0].state == "complete"


def test_what_a_hook_edits_later_is_said_to_be_overwritten(monkeypatch):
    monkeypatch.setattr(_capture, "FOLLOWED", 1)
    x, y = leaf(3), leaf(3)
    first, second = x.exp(), y.exp()
    total = first + second
    out = (total * 2).sum()
    w = GradWidget(out)

    def edit(gradient):
        gradient.mul_(10)

    second.register_hook(edit)
    out.backward()
    assert "overwritten in place" in w["total"].gradient.note
    assert torch.equal(y.grad, 20 * second.detach())


class TenTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient.mul_(10)


@pytest.mark.parametrize("size", [3, 300])
def test_a_function_that_edits_what_it_receives(size):
    x = torch.ones(size, size, requires_grad=True)
    h = TenTimes.apply(x)
    out = ((h * 5) * 3).sum()
    w = GradWidget(out)
    out.backward()
    assert w["h"].gradient.unique().tolist() == [15.0]
    assert x.grad.unique().tolist() == [150.0]


@pytest.mark.parametrize("size", [3, 300])
def test_large_gradients_that_torch_adds_up_in_place(size):
    def run(watch):
        torch.manual_seed(0)
        x, y = leaf(size, size), leaf(size, size)
        h = x + 1
        out = ((h + x) * y + h.sin()).sum()
        w = GradWidget(out) if watch else None
        out.backward()
        return [(p.grad, p.grad._version, p.grad.stride()) for p in (x, y)], w, h

    plain, _, _ = run(False)
    watched, w, _ = run(True)
    assert all(torch.equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(plain, watched, strict=True))
    assert isinstance(w["h"].gradient, torch.Tensor)


@pytest.mark.parametrize("size", [3, 300])
def test_a_seed_that_the_user_edits_later(size):
    x = torch.ones(size, size, requires_grad=True)
    h = x + 1
    out = h + 1
    w = GradWidget(out)
    seed = torch.ones(size, size)
    out.backward(seed)
    seed.data.fill_(9)
    assert w["out"].gradient.unique().tolist() == [1.0]
    assert w["h"].gradient.unique().tolist() == [1.0]


def test_a_weight_that_is_turned_has_its_norm_there_too():
    weight = torch.rand(300, 200, requires_grad=True)
    out = (torch.rand(50, 200) @ weight.t()).pow(2).sum()
    w = GradWidget(out)
    turned = next(key for key, data in w.graph.nodes(data=True) if data["label"] == "T")
    out.backward()
    found = w[turned].gradient
    assert found.stats.norm == pytest.approx(weight.grad.norm().item(), rel=1e-5)
    assert "the leaf's gradient" in found.note
    assert torch.equal(w["weight"].gradient, weight.grad)
