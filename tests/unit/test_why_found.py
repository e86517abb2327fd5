"""`why` says what is so: causes that only look alike are not named, against plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gradwidget import GradWidget, why


def leaf(value=(1.0, 2.0, 3.0)):
    return torch.tensor(value, requires_grad=True)


# --- powers -----------------------------------------------------------------------------------------------------------


INNOCENT = {
    "sqrt": (lambda x: (x**2).sqrt(), "nan-sqrt", "Sqrt"),
    "log": (lambda x: (x**2).log(), "nan-log", "Log"),
    "reciprocal": (lambda x: 1 / x**3, "nan-division", "Reciprocal"),
    "where": (lambda x: torch.where(x > 0, (x**2).rsqrt(), x), "nan-sqrt", "Rsqrt"),
    "division": (lambda x: x**2 / x, "nan-division", "Div"),
}


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize(("made", "kind", "op"), INNOCENT.values(), ids=INNOCENT)
def test_a_whole_power_is_not_blamed_for_what_comes_after_it(made, kind, op, watched):
    x = leaf((-3.0, 0.0, 2.0))
    loss = made(x).sum()
    w = GradWidget(loss) if watched else None
    loss.backward(retain_graph=True)
    assert not x.grad.isfinite().all()
    said = why(x)
    assert said.kind == kind
    assert op in said.cause
    assert "Pow" not in said.cause
    assert "** p" not in said.remedy
    del w


@pytest.mark.parametrize("made", [one for one, _, _ in INNOCENT.values()], ids=INNOCENT)
def test_nor_is_it_a_candidate_after_all_was_freed(made):
    x = leaf((-3.0, 0.0, 2.0))
    loss = made(x).sum()
    loss.backward()
    said = why(x)
    assert "Pow" not in said.cause
    assert "** p" not in said.remedy


def test_a_fractional_power_is_blamed_and_clamped():
    x = leaf((-3.0, 0.0, 2.0))
    (x**0.5).sum().backward()
    loss = (x**0.5).sum()
    said = why(x, loss)
    assert said.kind == "nan-pow"
    assert "clamp" in said.remedy


def test_a_negative_whole_power_is_guarded_at_0_and_not_clamped():
    x = leaf((-3.0, 0.0, 2.0))
    loss = (x**-2).sum()
    loss.backward(retain_graph=True)
    assert x.grad[1].isinf()
    assert x.grad[0].isfinite()
    said = why(x, loss)
    assert said.kind == "nan-pow"
    assert "clamp" not in said.remedy


def test_the_gradient_of_an_exponent_at_a_negative_base():
    x, p = leaf((-3.0, 1.0, 2.0)), leaf(2.0)
    loss = (x**p).sum()
    loss.backward(retain_graph=True)
    assert p.grad.isnan()
    assert why(p, loss).kind == "nan-pow"


def test_a_power_beyond_the_dtype_is_an_overflow():
    x = leaf((1e30, -1.0))
    loss = (x**3).sum()
    loss.backward(retain_graph=True)
    assert x.grad[0].isinf()
    assert why(x, loss).kind == "overflow"


# --- views under no_grad ----------------------------------------------------------------------------------------------


def test_a_view_under_no_grad_is_told_as_one():
    x = leaf()
    with torch.no_grad():
        v = x[:2]
    loss = (v * 2).sum()
    said = why(x, loss)
    assert said.kind == "no-grad-view"
    assert "v is a view of x made under `no_grad`" in said.cause
    assert "No gradient ever passes from v to x" in said.cause
    assert "detach()" not in said.cause + said.remedy


def test_a_view_under_no_grad_of_a_value_in_between():
    x = leaf()
    h = x * 2
    y = leaf((1.0, 1.0))
    with torch.no_grad():
        v = h[:2]
    loss = (v * y).sum()
    loss.backward()
    assert x.grad is None
    said = why(x, loss)
    assert said.kind == "no-grad-view"
    assert "v is a view of h" in said.cause


def test_detach_is_still_told_as_detach():
    x = leaf()
    y = leaf()
    d = x.detach()
    loss = (d * y).sum()
    said = why(x, loss)
    assert said.kind == "detached-upstream"
    assert "detach() or .data" in said.cause


# --- guesses from equal whole numbers -------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.bn, self.bn2 = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.BatchNorm1d(3)

    def forward(self, x):
        return self.bn(self.fc(x))


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_a_count_of_batches_is_no_argmax_of_an_unused_layer(name):
    net = Net()
    loss = net(torch.rand(4, 3)).square().sum()
    loss.backward()
    said = why(getattr(net.bn2, name), loss)
    assert said.kind == "not-reachable"
    assert "it was not used" in said.cause
    assert "num_batches_tracked" not in str(said)


def test_a_single_index_and_a_few_labels_tell_nothing():
    logits = leaf((0.5, 2.0, 1.0))
    k, other = torch.tensor(1), leaf()
    loss = other.sum()
    assert why(logits, loss).kind == "not-reachable"
    labels = torch.tensor([0.0, 1.0, 0.0])
    assert "comparison" not in str(why(labels)).partition("Remedy")[0]
    assert k.item() == 1


def test_a_guess_does_not_win_over_an_unused_branch():
    table = leaf(((0.5, 2.5, 1.0), (3.0, 0.0, 1.0), (0.0, 1.0, 2.0), (0.5, 0.7, 0.1)))
    logits = table * 2
    best = logits.argmax(-1)
    other = leaf()
    loss = other[best].sum()
    said = why(table, loss)
    assert said.kind == "unused-branch"
    assert any("best holds what argmax(-1) gives of" in fact for fact in said.evidence)


# --- a leaf without a gradient among others that have one -------------------------------------------------------------


class Quant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x * scale

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def test_a_function_further_up_is_named():
    x, ls = leaf(), leaf()
    loss = Quant.apply(x, ls.exp()).square().sum()
    loss.backward()
    assert ls.grad is None
    for said in (why(ls, loss), why(ls)):
        assert said.kind == "function-none"
        assert "Quant" in said.cause


def test_a_function_that_another_path_goes_around_is_not():
    x, ls = leaf(), leaf()
    loss = (Quant.apply(x, ls.exp()).square() + ls.exp()).sum()
    loss.backward()
    ls.grad = None
    assert "Quant" not in why(ls, loss).cause


def test_an_optimizer_over_a_part_of_the_leaves_was_zeroed():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    opt = torch.optim.SGD(a.parameters(), lr=0.1)
    loss = b(a(torch.ones(1, 2)).tanh()).square().sum()
    loss.backward()
    opt.zero_grad()
    said = why(a.weight, loss)
    assert said.kind == "cleared"
    assert "(with 1 other), for example by `zero_grad()` of an optimizer" in said.cause
    assert "inputs=" in said.cause
    assert "alone" not in said.cause


def test_a_gradient_in_another_graph_tells_nothing():
    x, y = leaf(), leaf()
    loss, other = x.square().sum(), y.square().sum()
    other.backward()
    loss.backward()
    x.grad = None
    said = why(x)
    assert "other leaves have gradients" not in said.cause
    assert not any("y.grad" in fact for fact in said.evidence)


# --- several uses, tied weights, several passes -----------------------------------------------------------------------


def test_a_clone_is_no_remedy_for_several_uses():
    x = leaf()
    loss = (x * x.exp()).sum()
    loss.backward()
    said = why(x, loss)
    assert said.kind == "several-uses"
    assert "clone" not in said.remedy
    assert "chain rule" in said.remedy


def test_tied_weights_are_untied_by_a_parameter_of_their_own():
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    b.weight = a.weight
    loss = b(a(torch.ones(1, 3))).square().sum()
    loss.backward()
    said = why(a.weight, loss)
    assert said.kind == "tied"
    assert "nn.Parameter(w.detach().clone())" in said.remedy


def test_a_second_pass_without_a_widget_leaves_a_trace():
    x = leaf()
    loss = x.square().sum()
    loss.backward(retain_graph=True)
    once = str(why(x, loss))
    loss.backward()
    assert torch.equal(x.grad, 4 * x)
    assert "a second pass" not in once
    assert "a second pass has added to it, or `clip_grad_norm_`" in why(x, loss).cause


# --- a name that was given to another tensor --------------------------------------------------------------------------


def test_a_leaf_that_was_rebound():
    w, lr = leaf(), 0.1
    w.square().sum().backward()
    with torch.no_grad():
        w = w - lr * w.grad
    said = why(w)
    assert said.kind == "untracked"
    assert "the name w was given to a new tensor" in said.cause
    assert "w -= lr * w.grad" in said.remedy
    assert "outside" not in said.remedy


def test_a_leaf_that_was_rebound_where_no_source_can_be_read():
    space = {"torch": torch, "why": why, "w": leaf()}
    exec("w.square().sum().backward()\nwith torch.no_grad():\n    w = w - 0.1 * w.grad\nsaid = why(w)", space)
    assert "its name was given to a new tensor" in space["said"].cause
    assert "w -= lr * w.grad" in space["said"].remedy


# --- zeros by construction --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        lambda s: F.cross_entropy(s, torch.zeros(3, dtype=torch.long)),
        lambda s: s.softmax(-1).square().sum(),
        lambda s: s.log_softmax(1).sum(),
    ],
    ids=["cross_entropy", "softmax", "log_softmax"],
)
@pytest.mark.parametrize("watched", [False, True])
def test_a_softmax_over_one_class_is_not_saturated(made, watched):
    s = leaf(((1.0,), (2.0,), (3.0,)))
    loss = made(s)
    w = GradWidget(loss) if watched else None
    loss.backward(retain_graph=True)
    assert not s.grad.any()
    said = why(s, loss)
    assert "single class" in said.cause
    assert "saturated" not in said.cause
    del w


@pytest.mark.parametrize("op", [F.relu6, F.hardtanh], ids=["relu6", "hardtanh"])
@pytest.mark.parametrize("watched", [False, True])
def test_above_the_bound_is_a_clamp(op, watched):
    x = leaf((7.0, 20.0))
    loss = op(x).sum()
    w = GradWidget(loss) if watched else None
    loss.backward(retain_graph=True)
    assert not x.grad.any()
    said = why(x, loss)
    assert said.kind == "clamped"
    assert "logits" not in said.remedy
    del w


# --- more names than are looked at ------------------------------------------------------------------------------------


def test_skipped_names_are_told():
    x = leaf()
    few = why(x)
    many = [torch.zeros(1)] * 10_001
    said = why(x)
    assert not any("skipped" in fact for fact in few.evidence)
    assert any("10,000" in fact and "skipped" in fact for fact in said.evidence)
    assert len(many) == 10_001


def test_a_function_is_named_where_no_other_leaf_tells():
    ls = leaf()
    loss = Quant.apply(torch.ones(3), ls.exp()).square().sum()
    loss.backward()
    assert ls.grad is None
    said = why(ls, loss)
    assert "the custom Function Quant" in said.cause


def test_the_gradient_of_an_exponent_of_a_negative_number():
    x = leaf((1.0, 2.0))
    loss = ((-2.0) ** x).sum()
    loss.backward(retain_graph=True)
    assert x.grad.isnan().all()
    assert why(x, loss).kind == "nan-pow"


shadowed = torch.ones(3, requires_grad=True) * 2


def test_a_local_name_hides_a_global_one():
    x = leaf()
    shadowed = x.exp().sum()
    assert "`shadowed.backward()`" in why(x, shadowed).remedy
