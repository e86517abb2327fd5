"""One situation for each leaf of the tree, against plain torch: the kind, and words that have to be said."""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from gradwidget import Diagnosis, GradWidget, GradWidgetError, why
from gradwidget._why_errors import ERRORS
from gradwidget._why_numbers import BAD, ZERO
from gradwidget._why_tree import ITSELF, MISSING, PRESENT, STRUCTURE, UNTRACKED, Leaf

SITUATIONS = []


def situation(kind, *words):
    def add(program):
        SITUATIONS.append(pytest.param(program, kind, words, id=f"{kind}: {program.__name__}"))
        return program

    return add


def leaf(value=(1.0, 2.0, 3.0)):
    return torch.tensor(value, requires_grad=True)


# --- the tensor itself ------------------------------------------------------------------------------------------------


@situation("integer", "int64", "index.dtype is int64")
def whole_numbers():
    index = torch.tensor([1, 2])
    return why(index)


@situation("integer", "bool")
def a_bool():
    mask = torch.tensor([True, False])
    return why(mask)


@situation("swapped", "gw.why(x, loss)")
def asked_the_wrong_way_round():
    x = leaf()
    loss = (x * 2).sum()
    return why(loss, x)


@situation("rounded", "argmax", "logits", "softmax")
def an_argmax():
    logits = leaf([[1.0, 5.0, 2.0], [3.0, 1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 3.0, 1.0]]) * 2
    best = logits.argmax(-1)
    return why(best)


@situation("rounded", "comparison", "score")
def a_comparison():
    score = leaf([-1.0, 2.0, 0.5, -3.0]) * 1
    hit = score > 0
    return why(hit)


@situation("rounded", "round()", "score")
def a_rounded_copy_under_no_grad():
    score = leaf([-1.2, 2.4, 0.7, 3.1]) * 1
    with torch.no_grad():
        rounded = score.round()
    return why(rounded)


@situation("uninitialized", "lazy module", "Run one batch through the module")
def a_lazy_layer_before_its_first_pass():
    layer = nn.LazyLinear(2)
    return why(layer.weight)


@situation("inference", "inference_mode", "clone()")
def made_under_inference_mode():
    with torch.inference_mode():
        x = torch.ones(3)
    return why(x)


@situation("stale-view", "no_grad", "base", "history")
def a_view_with_an_invalid_history():
    base = leaf() * 2
    with torch.no_grad():
        view = base[:2]
    base.mul_(10)
    return why(view)


@situation("frozen", "requires_grad=False", "model is frozen", "2 of 2 parameters")
def a_frozen_module():
    model = nn.Linear(2, 1).requires_grad_(False)
    return why(model.weight)


@situation("buffer", "buffer of norm", "nn.Parameter")
def a_buffer():
    norm = nn.BatchNorm1d(2)
    return why(norm.running_mean)


@situation("attribute", "plain tensor attribute of layer", "register_buffer")
def a_plain_attribute():
    layer = nn.Linear(2, 1)
    layer.scale = torch.tensor([0.3, 0.4])
    return why(layer.scale)


@situation("detached", "shares memory with h", "detach()", "can't be told apart")
def a_detached_tensor():
    h = leaf() * 2
    d = h.detach()
    return why(d)


@situation("data", "h", ".data")
def a_data_whose_version_differs():
    h = leaf() * 2
    d = h.data
    h.add_(1)
    return why(d)


@situation("numpy", "numpy", "h")
def a_numpy_round_trip():
    h = leaf() * 2
    back = torch.from_numpy(h.detach().numpy())
    return why(back)


@situation("copied", "h", "no_grad", "no history")
def computed_under_no_grad():
    h = leaf([1.1, 2.3]) * 2
    with torch.no_grad():
        copy = h + 0
    return why(copy)


@situation("copied", "torch.tensor()", "loss")
def an_item_wrapped_again():
    x = leaf([0.1, 0.2])
    loss = (x * 1.5).sum()
    again = torch.tensor(loss.item())
    return why(again)


@situation("untracked", "no_grad", "constant", "does not keep which")
def a_constant_or_a_no_grad_result():
    x = leaf()
    with torch.no_grad():
        y = x * 2
    del x
    return why(y)


@situation("no-grad-view", "view of base", "no_grad", "grad_fn is None")
def a_view_made_under_no_grad():
    base = leaf() * 2
    with torch.no_grad():
        view = base[:2]
    assert view.requires_grad
    return why(view)


@situation("transform", "torch.func", "x")
def inside_a_transform():
    found = []

    def f(x):
        found.append(why(x))
        found.append(why(x * 2, x.sum()))
        return (x * x).sum()

    torch.func.grad(f)(torch.ones(3))
    torch.func.vmap(f)(torch.ones(3, 2))
    assert {one.kind for one in found} == {"transform"}
    return found[0]


class Plain(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(6.0).reshape(2, 3),
        lambda: torch.linspace(0, 1, 4).view(2, 2),
        lambda: torch.randn(4)[:2],
        lambda: torch.ones(3, 3).T,
        lambda: torch.ones(3, 3)[0],
        lambda: torch.ones(3).as_subclass(Plain),
    ],
    ids=["reshape", "view", "slice", "transpose", "index", "subclass"],
)
def test_a_leaf_that_is_a_view_is_a_leaf(make):
    a = make().requires_grad_()
    loss = (a**2).sum()
    assert why(a, loss).kind == "not-run"
    w = GradWidget(loss)
    assert w["a"].why.kind in ("", "not-run")
    loss.backward()
    assert why(a, loss).kind == "present"
    assert not w["a"].why


def test_a_view_that_was_marked_before_its_base_is_a_leaf():
    base = torch.ones(3)
    view = base[:2].requires_grad_()
    base.requires_grad_()
    assert why(view, (view * 2).sum()).kind == "not-run"
    early = torch.ones(3)[:2]
    early._base.requires_grad_()
    found = why(early)
    assert found.kind == "no-grad-view"
    assert "or before" in found.cause


# --- its way to the output --------------------------------------------------------------------------------------------


@situation("parametrized", "lin.parametrizations.weight.original0", "lin.parametrizations.weight.original1")
def weight_norm():
    lin = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    loss = lin(torch.ones(1, 2)).sum()
    loss.backward()
    return why(lin.weight, loss)


@situation("parametrized", "lin.parametrizations.weight.original")
def spectral_norm():
    lin = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2, bias=False))
    return why(lin.weight)


@situation("rewrapped", "rewrapped", "torch.tensor", "trains nothing")
def a_loss_of_wrapped_items():
    model = nn.Linear(2, 1)
    parts = [(p - 1.0).abs().mean() for p in model(torch.ones(3, 2))]
    rewrapped = torch.tensor([p.item() for p in parts], requires_grad=True)
    loss = rewrapped.sum()
    loss.backward()
    return why(model.weight, loss)


@situation("rewrapped", "loss", "new leaf")
def a_loss_that_is_a_leaf():
    model = nn.Linear(2, 1)
    loss = model(torch.ones(3, 2)).detach().mean().requires_grad_()
    loss.backward()
    return why(model.bias, loss)


@situation("detached-upstream", "d was made from h by detach()", "loss")
def detached_upstream():
    x, w = leaf(), leaf()
    h = x * 2
    d = h.detach()
    loss = (d * w).sum()
    loss.backward()
    return why(x, loss)


@situation("detached-upstream", "fake", "G.weight")
def detached_without_a_name():
    G, D = nn.Linear(2, 2), nn.Linear(2, 1)
    fake = G(torch.ones(4, 2))
    loss = F.softplus(D(fake.detach())).mean()
    return why(G.weight, loss)


@situation("detached-upstream", "d was made from h")
def detached_and_only_added():
    x, w = leaf(), leaf()
    h = x * 2
    d = h.detach()
    loss = (d + w).sum()
    return why(x, loss)


@situation("detached-upstream", "loss was made from total")
def a_detached_loss():
    x = leaf()
    total = (x * 2).sum()
    loss = total.detach()
    return why(x, loss)


@situation("numpy-upstream", "numpy", "h")
def numpy_upstream():
    x, w = leaf(), leaf()
    h = x * 2
    back = torch.from_numpy(h.detach().numpy())
    loss = (back * w).sum()
    return why(x, loss)


@situation("copied-upstream", "h", ".item()")
def an_item_upstream():
    x, w = leaf(), leaf()
    h = (x * 2.3).sum()
    loss = (w * h.item()).sum()
    return why(x, loss)


@situation("rounded-upstream", "argmax", "logits")
def an_argmax_upstream():
    logits = leaf([[1.0, 5.0, 2.0], [3.0, 1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 3.0, 1.0]])
    table = leaf([1.0, 2.0, 3.0])
    best = logits.argmax(-1)
    loss = table[best].sum()
    loss.backward()
    return why(logits, loss)


@situation("rounded-upstream", "comparison", "score")
def a_comparison_upstream():
    score, w = leaf([-1.0, 2.0, 0.5, -3.0]), leaf([1.0, 2.0, 3.0, 4.0])
    loss = ((score > 0).float() * w).sum()
    return why(score, loss)


def bystander():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    x = torch.tensor([[0.3, 0.7]])
    return a, b, a(x), b(x)


@situation("unused-branch", "ya is the last")
def a_bystander_is_not_blamed():
    a, b, ya, yb = bystander()
    logged, pred = ya.detach(), ya.argmax(1)
    loss = yb.sum()
    assert len((logged, pred, b)) == 3
    return why(a.weight, loss)


@situation("detached-upstream", "it was not used there, or", "One possibility: logged")
def a_bystander_after_backward_is_a_possibility():
    a, b, ya, yb = bystander()
    logged = ya.detach()
    loss = yb.sum()
    loss.backward()
    assert len((logged, b)) == 2
    return why(a.weight, loss)


@situation("untracked", "constant")
def positions_are_no_argsort():
    x = leaf([1.2, 2.7, 3.1])
    pos = torch.arange(3.0)
    assert x is not None
    return why(pos)


@situation("rounded", "a comparison of x, so it could", "Or it is a constant")
def a_comparison_cast_to_floats():
    x = leaf([1.2, 2.7, 3.5, 0.1])
    acc = (x > 2).float()
    return why(acc)


@situation("integer", "int64")
def labels_are_no_argmax():
    logits = leaf([[1.5, 0.0], [0.5, 2.0]])
    labels = torch.tensor([0, 1])
    assert logits is not None
    return why(labels)


@situation("not-reachable", "As far as autograd recorded", "the leaves behind loss are k")
def features_under_no_grad():
    net, k = nn.Linear(2, 2), leaf([0.5, 1.5])
    with torch.no_grad():
        feat = net(torch.ones(1, 2))
    loss = (feat * k).sum()
    return why(net.weight, loss)


@situation("not-reachable", "the leaves behind loss are delta")
def an_adversarial_delta():
    net = nn.Linear(2, 2).requires_grad_(False)
    delta = torch.full((1, 2), 0.3, requires_grad=True)
    loss = net(torch.ones(1, 2) + delta).sum()
    net.requires_grad_()
    return why(net.bias, loss)


@situation("not-reachable", "was not computed from net.weight")
def functional_call_with_its_own_parameters():
    net = nn.Linear(2, 2)
    own = {n: torch.full_like(p, 0.3).requires_grad_() for n, p in net.named_parameters()}
    loss = torch.func.functional_call(net, own, (torch.ones(1, 2),)).sum()
    return why(net.weight, loss)


@situation("not-reachable", "before `requires_grad_()` was called")
def marked_after_the_forward_pass():
    a, k = torch.ones(3), leaf()
    loss = (a + k).sum()
    a.requires_grad_()
    return why(a, loss)


@situation("marked-late", "before it required a gradient", "as a constant")
def marked_after_it_was_saved():
    a, k = torch.ones(3), leaf()
    loss = (a * k).sum()
    a.requires_grad_()
    return why(a, loss)


@situation("unused-branch", "aux, made in test_why.py:")
def an_unused_branch_that_was_recorded():
    import gradwidget as gw

    x, w = leaf(), leaf()
    with gw.record():
        aux = x.exp()
        loss = (w * 2).sum()
    found = why(x, loss)
    assert aux is not None
    assert "gw.record" not in str(found)
    return found


@situation("copy-used", "x64", "same values")
def a_cast_copy_was_used():
    x = leaf()
    x64 = x.detach().double().requires_grad_()
    loss = (x64 * 2).sum()
    loss.backward()
    return why(x, loss)


@situation("no-graph", "loss has no graph", "x")
def a_loss_without_a_graph():
    x = leaf()
    with torch.no_grad():
        loss = (x * 2).sum()
    return why(x, loss)


@situation("sibling-output", "sibling", "loss does not depend on high")
def another_output_of_one_node():
    x = leaf([1.0, 2.0, 3.0, 4.0])
    low, high = x.split(2)
    loss = low.sum()
    loss.backward()
    return why(high, loss)


@situation("replaced", "no name holds")
def a_parameter_replaced_after_the_forward_pass():
    model = nn.Linear(3, 1, bias=False)
    loss = model(torch.ones(1, 3)).sum()
    model.weight = nn.Parameter(torch.zeros(1, 3))
    loss.backward()
    return why(model.weight, loss)


@situation("unused-branch", "aux", "unused branch", "gw.record()")
def an_unused_branch():
    x, w = leaf(), leaf()
    aux = x.exp()
    loss = (w * 2).sum()
    loss.backward()
    assert aux.requires_grad
    return why(x, loss)


@situation("not-reachable", "loss was not computed from x")
def never_used():
    x, w = leaf(), leaf([0.5, 1.5])
    loss = (w * 2).sum()
    return why(x, loss)


# --- no .grad ---------------------------------------------------------------------------------------------------------


@situation("moved-copy", "original", "x")
def a_moved_leaf():
    x = leaf()
    x64 = x.to(torch.float64)
    loss = x64.sum()
    loss.backward()
    return why(x64, loss)


@situation("moved-copy", "no name holds")
def a_leaf_that_was_moved_at_once():
    x = torch.ones(3, requires_grad=True).double()
    x.sum().backward()
    return why(x)


@situation("leaf-lost", "Mul", "no name holds")
def a_leaf_that_was_scaled_at_once():
    w = torch.ones(3, requires_grad=True) * 0.1
    w.sum().backward()
    return why(w)


@situation("arrived-none", "No gradient arrived at high")
def nothing_arrived():
    x = leaf([1.0, 2.0, 3.0, 4.0])
    low, high = x.split(2)  # noqa: RUF059
    loss = low.sum()
    w = GradWidget(loss)
    loss.backward()
    return w["high"].why.diagnosis


@situation("retained-late", "after `backward()` had run")
def retained_too_late():
    x = leaf()
    h = x * 2
    loss = h.exp().sum()
    loss.backward()
    h.retain_grad()
    return why(h, loss)


@situation("retained-not-run", "no `backward()` has run yet")
def retained_and_not_run():
    x = leaf()
    h = x * 2
    h.retain_grad()
    loss = h.exp().sum()
    return why(h, loss)


@situation("not-leaf", "not a leaf", "Mul", "h.retain_grad()")
def a_computed_tensor():
    x = leaf()
    h = x * 2
    h.sum().backward()
    return why(h)


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g, None


@situation("function-none", "returned None", "custom Function")
def a_function_that_returns_none_watched():
    x, y = leaf(), leaf()
    loss = Nothing.apply(x, y).sum()
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    assert y.grad is None
    return why(y, loss)


@situation("function-none", "custom Function", "x.grad is there")
def a_function_that_returns_none():
    x, y = leaf(), leaf()
    loss = Nothing.apply(x, y).exp().sum()
    loss.backward()
    return why(y, loss)


@situation("returned", "autograd.grad()", "pass 1")
def returned_by_autograd_grad():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    torch.autograd.grad(loss, x)
    assert len(w)
    return why(x, loss)


@situation("probed", "probe")
def only_probed():
    x = leaf()
    loss = (x * x).sum()
    GradWidget(loss).probe()
    return why(x)


@situation("cleared", "cleared since", "set_to_none=True", "[2, 2, 2]")
def cleared_and_watched():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward()
    torch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=True)
    assert len(w)
    return why(x, loss)


@situation("cleared", "zero_grad()", "autograd.grad()", "does not tell which")
def cleared():
    x = leaf()
    loss = x.exp().sum()
    loss.backward()
    x.grad = None
    return why(x, loss)


@situation("failed-pass", "failed before it came here", "b.grad")
def a_pass_that_failed_before():
    t, a, b = leaf(2.0), leaf(3.0), leaf(-1.0)
    trunk = t * t
    one, two = (trunk * a).sum(), (trunk * b).exp()
    one.backward()
    t.grad = None
    w = GradWidget(two)
    with pytest.raises(RuntimeError, match="second time"):
        two.backward()
    assert len(w)
    return why(t, two)


@situation("failed-pass", "failed after that", "incomplete")
def written_by_a_pass_that_failed():
    t, a, b = leaf(2.0), leaf(3.0), leaf(-1.0)
    trunk = t * t
    one, two = (trunk * a).sum(), (trunk * b).exp()
    w = GradWidget(one, two)
    one.backward()
    with pytest.raises(RuntimeError, match="second time"):
        two.backward()
    assert len(w)
    return why(b)


@situation("left-out", "inputs=", "has reached this leaf")
def left_out_and_watched():
    x, y = leaf(), leaf()
    loss = (x * y).sum()
    w = GradWidget(loss)
    loss.backward(inputs=[x])
    assert len(w)
    return why(y, loss)


@situation("left-out", "inputs=", "x.grad is there")
def left_out():
    x, y = leaf(), leaf()
    loss = (x * y).sum()
    loss.backward(inputs=[x])
    return why(y, loss)


@situation("not-run", "no backward() has been seen yet")
def not_run_and_watched():
    x = leaf()
    loss = x.exp().sum()
    w = GradWidget(loss)
    assert len(w)
    return why(x)


@situation("not-run", "has not run yet on loss", "loss.backward()")
def not_run():
    x = leaf()
    loss = x.exp().sum()
    return why(x, loss)


@situation("not-run", "save nothing")
def not_run_and_nothing_saved():
    x, y = leaf(), leaf()
    loss = x + y
    return why(x, loss)


@situation("unused", "a and b are one tensor")
def an_alias_made_under_no_grad():
    a = leaf()
    with torch.no_grad():
        b = a
    return why(b)


@situation("no-graph", "the trail from model.weight ends at pred")
def a_loss_of_detached_predictions():
    model = nn.Linear(2, 3)
    pred = model(torch.ones(4, 2))
    loss = F.mse_loss(pred.detach(), torch.zeros(4, 3))
    return why(model.weight, loss)


@situation("not-reachable", "y enters it without a history")
def a_no_grad_result_enters():
    x, w = leaf(), leaf()
    with torch.no_grad():
        y = x * 2
    loss = (y * w).sum()
    return why(x, loss)


@situation("unreachable", "does not lead to first.weight", "detach()")
def the_graph_that_ran_does_not_lead_to_it():
    first, second = nn.Linear(3, 2), nn.Linear(2, 1)
    h = first(torch.ones(1, 3)).detach()
    loss = second(h).sum()
    loss.backward()
    return why(first.weight)


@situation("unused", "no tensor in scope was computed from x")
def nothing_in_scope_uses_it():
    x = leaf()
    return why(x)


# --- numbers ----------------------------------------------------------------------------------------------------------


def watched(make, *values):
    x = leaf(*values)
    loss = make(x)
    w = GradWidget(loss)
    loss.backward()
    found = why(x, loss)
    w.close()
    return found


@situation("padding-index", "padding_idx")
def only_the_padding_row():
    layer = nn.Embedding(4, 2, padding_idx=0)
    loss = layer(torch.tensor([0, 0])).sum()
    with GradWidget(loss):
        loss.backward()
        return why(layer.weight, loss)


@situation("nan-softmax", "a row that is all -inf", "torch.finfo(x.dtype).min")
def everything_masked():
    return watched(lambda x: (x + torch.full((2,), -torch.inf)).softmax(0).pow(2).sum(), [1.0, 2.0])


@situation("nan-empty", "a mean of nothing", "max(count, 1)")
def a_mean_of_nothing():
    return watched(lambda x: (x[x > 5] ** 2).mean() * x[0], [1.0, 2.0])


@situation("times-zero", "net.1.weight is all zeros")
def a_second_layer_of_zeros_unwatched():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    nn.init.zeros_(net[1].weight)
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    return why(net[0].weight, loss)


@situation("bad-value", "Softmax", "all -inf", "gradient of q is finite")
def a_masked_row_before_a_finite_gradient():
    q = leaf([[1.0, 2.0], [3.0, 4.0]])
    mask = torch.tensor([[True, True], [False, True]])
    a = (q @ q.T).masked_fill(mask, -torch.inf).softmax(-1)
    loss = a.sum()
    loss.backward()
    return why(q, loss)


@situation("bad-value", "data has NaN too")
def data_that_is_nan():
    layer, data = nn.Linear(2, 1), torch.tensor([1.0, torch.nan])
    loss = layer(data).sum()
    loss.backward()
    return why(layer.bias, loss)


@situation("changed-after", "earlier h", "changed in place")
def changed_after_the_loss():
    x = leaf()
    h = x * 2
    loss = h.sum()
    h.mul_(3)
    return why(h, loss)


@situation("overwritten", "Fill", "overwrote")
def overwritten_in_a_copy():
    def make(x):
        y = x.clone()
        y[:] = 0.0
        return y.sum()

    return watched(make, [1.0, 2.0])


@situation("dead-end", "h", "detach()", "gw.why(w, loss)")
def a_detached_feature_without_the_loss():
    w, v = leaf(), leaf()
    h = w.sigmoid()
    loss = (h.detach() * v).sum()
    loss.backward()
    return why(w)


@situation("pairs", "(8, 8) of (8, 1)", "all pairs", "squeeze(-1)")
def a_column_met_a_row():
    layer = nn.Linear(2, 1)
    target = torch.rand(8)
    loss = ((layer(torch.rand(8, 2)) - target) ** 2).mean()
    loss.backward()
    found = why(layer.weight, loss)
    layer.zero_grad()
    right = ((layer(torch.rand(8, 2)) - target.unsqueeze(-1)) ** 2).mean()
    right.backward()
    assert why(layer.weight, right).kind == "present"
    return found


@situation("dead-relu", "ReLU", "received")
def a_dead_relu():
    return watched(lambda x: (x - 10).relu().sum())


@situation("dead-relu", "ReLU")
def a_dead_relu_unwatched():
    x = leaf()
    h = (x - 10).relu()
    loss = h.sum()
    loss.backward()
    return why(x, loss)


@situation("saturated", "Sigmoid")
def a_saturated_sigmoid():
    return watched(lambda x: (x * 1000).sigmoid().sum())


@situation("saturated", "Tanh")
def a_saturated_tanh_unwatched():
    x = leaf()
    h = (x * 1000).tanh()
    loss = h.sum()
    loss.backward()
    return why(x, loss)


@situation("masked", "Where")
def a_masked_where():
    return watched(lambda x: torch.where(x > 100, x, torch.zeros(3)).sum())


@situation("masked", "MaskedFill")
def a_masked_fill():
    return watched(lambda x: x.masked_fill(x < 100, 0.0).sum())


@situation("clamped", "Clamp")
def a_clamp():
    return watched(lambda x: x.clamp(10, 20).sum())


@situation("clamped", "Clamp")
def a_clamp_unwatched():
    x = leaf()
    loss = (x * 1).clamp(10, 20).sum()
    w = GradWidget(loss, watch=False)
    loss.backward(retain_graph=True)
    assert len(w)
    return why(x, loss)


@situation("step-function", "Round")
def a_round():
    return watched(lambda x: (x * 1.3).round().sum())


@situation("step-function", "Sign")
def a_sign_unwatched():
    x = leaf()
    loss = x.sign().sum()
    loss.backward()
    return why(x, loss)


@situation("times-zero", "multiplied by 0", "Mul")
def times_zero():
    return watched(lambda x: (x * torch.zeros(3)).sum())


@situation("not-selected", "Stack")
def not_selected():
    x, y = leaf(), leaf()
    rows = torch.stack([x, y])
    loss = rows[0].sum()
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    return why(y, loss)


@situation("zero-derivative", "add up to 1")
def the_sum_of_a_softmax():
    return watched(lambda x: x.softmax(0).sum())


@situation("zero", "does not tell")
def a_step_function_on_one_of_two_paths():
    x = leaf([1.2, 2.3])
    loss = (x + (x.round() - x).detach() + x.round() * 0).sum()
    loss.backward()
    x.grad.zero_()
    return why(x, loss)


@situation("unreadable", "can't be read")
def a_meta_gradient():
    x = torch.ones(2, device="meta", requires_grad=True)
    loss = (x * 2).sum()
    loss.backward()
    return why(x, loss)


@situation("flat-point", "Pow", "flat")
def a_flat_point():
    return watched(lambda x: (x - torch.tensor([1.0, 2.0, 3.0])).pow(2).sum())


class Zeros(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 0


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x.clone(), y.clone()

    @staticmethod
    def backward(ctx, g, h):
        return g, h


@situation("function-zero", "returned zeros", "Zeros")
def a_function_that_returns_zeros():
    return watched(lambda x: Zeros.apply(x).sum())


@situation("unused-output", "made up", "set_materialize_grads")
def an_unused_output():
    a, b = leaf(2.0), leaf(3.0)
    used, unused = Pair.apply(a, b)
    loss = used * 5
    w = GradWidget(loss)
    loss.backward()
    assert unused.requires_grad
    assert len(w)
    return why(b, loss)


@situation("unused-output", "made up")
def an_unused_output_unwatched():
    a, b = leaf(2.0), leaf(3.0)
    loss = Pair.apply(a, b)[0] * 5
    loss.backward()
    return why(b, loss)


@situation("cancels", "cancel")
def shares_that_cancel():
    return watched(lambda x: (x * 3 - x * 3).sum())


@situation("zero-start", "began with a gradient of 0")
def a_pass_that_began_with_zero():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward(torch.tensor(0.0))
    assert len(w)
    return why(x, loss)


@situation("zero-derivative", "Cosh", "derivative is 0")
def another_zero_derivative():
    return watched(lambda x: x.cosh().sum(), [0.0, 0.0])


@situation("zeroed", "zero_grad(set_to_none=False)")
def filled_with_zeros():
    x = leaf()
    x.grad = torch.zeros(3)
    loss = (x * 2).sum()
    w = GradWidget(loss)
    assert len(w)
    return why(x, loss)


@situation("zero", "does not tell", "GradWidget")
def zero_for_an_unknown_reason():
    x = leaf()
    loss = x.exp().sum()
    loss.backward()
    x.grad.zero_()
    return why(x, loss)


@situation("nan-sqrt", "Sqrt", "Where", "0 * inf", "Guard the input")
def the_branch_that_where_did_not_take():
    x = leaf([-4.0, 9.0])
    root = (x * 1).sqrt()
    loss = torch.where(x > 0, root, x).sum()
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    return why(x, loss)


@situation("nan-sqrt", "Sqrt", "infinite")
def the_root_of_zero_unwatched():
    x = leaf([0.0, 9.0])
    root = x.sqrt()
    loss = root.sum()
    loss.backward()
    return why(x, loss)


@situation("nan-norm", "norm of zeros", "Sqrt")
def the_norm_of_zeros():
    return watched(lambda x: x.pow(2).sum().sqrt(), [0.0, 0.0])


@situation("nan-norm", "norm of zeros", "+ 1e-12).sqrt()")
def one_through_the_norm_of_zeros():
    return watched(lambda x: x.norm() ** -1, [0.0, 0.0])


@situation("nan-std", "single number")
def the_std_of_a_single_number():
    def make(x):
        s = x.var()
        return torch.where(s.isnan(), torch.zeros(()), s)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return watched(make, [2.0])


@situation("norm-of-zeros", "torch takes 0")
def a_norm_at_zero():
    return watched(lambda x: x.norm(), [0.0, 0.0])


@situation("nan-log", "Log", "0 or less")
def the_log_of_zero():
    return watched(lambda x: (x * 1).log().clamp(min=-5).sum(), [0.0, 1.0])


@situation("nan-division", "divides by 0")
def a_division_by_zero():
    return watched(lambda x: (torch.ones(2) / x).clamp(max=5).sum(), [0.0, 1.0])


@situation("nan-pow", "Pow", "NaN")
def a_power_at_zero():
    return watched(lambda x: (x.pow(0.5) * torch.tensor([0.0, 1.0])).sum(), [0.0, 1.0])


@situation("nan-edge", "Acos")
def the_edge_of_acos():
    return watched(lambda x: x.acos().sum(), [1.0, 0.0])


@situation("overflow", "Exp")
def an_overflow():
    return watched(lambda x: torch.where(x > 500, torch.zeros(2), x.exp()).sum(), [1000.0, 0.0])


@pytest.mark.parametrize("watch", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize(("power", "dtype", "wider"), [(3, torch.float16, "float"), (20, torch.float32, "double")])
def test_a_power_that_overflows(power, dtype, wider, watch):
    a = torch.tensor([300.0], dtype=dtype, requires_grad=True)
    loss = (a**power).clamp(max=1e4).sum() * 1e-4 + (a**power).sum()
    w = GradWidget(loss) if watch else None
    loss.backward()
    found = why(a, loss)
    assert found.kind == "overflow", str(found)
    assert "dtype" in found.cause
    assert f".{wider}()" in found.remedy
    b = getattr(torch.tensor([300.0]), wider)().requires_grad_()
    (b**power).sum().backward()
    assert b.grad.isfinite().all()
    if w is not None:
        w.close()


@situation("nan-degenerate", "eigenvalues")
def equal_eigenvalues():
    x = torch.eye(2, requires_grad=True)
    _, vectors = torch.linalg.eigh(x)
    loss = vectors.abs().sum()
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    return why(x, loss)


@situation("nan-times-infinity", "0 times infinity")
def zero_times_infinity():
    return watched(lambda x: (x * torch.tensor([float("inf"), 1.0])).clamp(max=5).sum(), [1.0, 1.0])


class Nans(Zeros):
    @staticmethod
    def backward(ctx, g):
        return g / 0 - g / 0


@situation("nan-function", "Nans", "gradcheck")
def a_function_that_returns_nan():
    return watched(lambda x: Nans.apply(x).sum())


@situation("nan-given", "began with NaN")
def a_pass_that_began_with_nan():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward(torch.tensor(float("nan")))
    assert len(w)
    return why(x, loss)


@situation("nan-operation", "not finite", "Lgamma")
def another_operation_at_a_pole():
    return watched(lambda x: x.lgamma().clamp(max=3).sum(), [0.0, 1.0])


@situation("nan-log", "Log", "loss has NaN")
def zero_times_the_log_of_zero_unwatched():
    x = leaf([0.0, 1.0])
    loss = (x * x.log()).sum()
    loss.backward()
    return why(x, loss)


@situation("bad-value", "n): it is in the output", "Div (n) could have")
def divided_by_the_norm_of_zeros_unwatched():
    x = leaf([0.0, 0.0])
    n = x / x.norm()
    n.sum().backward()
    return why(x)


@situation("bad-value", "forward pass has NaN already", "x")
def a_leaf_with_nan():
    return watched(lambda x: (x * x).sum(), [float("nan"), 1.0])


@situation("nan", "does not tell which", "Sqrt")
def nan_for_an_unknown_reason():
    x = leaf([4.0, 9.0])
    loss = (x * 1).sqrt().sum()
    loss.backward()
    x.grad.fill_(float("nan"))
    return why(x, loss)


@situation("hook", "hook on h", "by 100", "remove()")
def a_hook_that_scales():
    x = leaf()
    h = x * 4
    h.register_hook(lambda g: g * 100)
    loss = h.sum()
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    return why(x, loss)


@situation("hook", "set it to zero", "hook on h")
def a_hook_that_sets_to_zero():
    x = leaf()
    h = x * 4
    h.register_hook(lambda g: g * 0)
    loss = h.sum()
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    return why(x, loss)


@situation("hook-possible", "hook on h", "nobody watched")
def a_hook_unwatched():
    x = leaf()
    h = x * 4
    h.register_hook(lambda g: g * 100)
    loss = h.exp().log().sum()
    loss.backward()
    return why(x, loss)


@situation("accumulated", "zero_grad()", "pass 1 added [2, 2, 2]", "pass 2 added")
def accumulated():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward(retain_graph=True)
    loss.backward()
    assert len(w)
    return why(x, loss)


@situation("accumulated", "loss1 and loss2", "zero_grad()")
def accumulated_over_two_losses_unwatched():
    x = leaf()
    loss1, loss2 = (x * x).sum(), x.exp().sum()
    loss1.backward()
    loss2.backward()
    return why(x)


@situation("accumulated", "written to several times", "does not tell which")
def accumulated_unwatched():
    x = leaf()
    for _ in range(3):
        loss = (x * x).sum()
        loss.backward()
    return why(x, loss)


@situation("accumulated", "another graph")
def accumulated_from_another_graph():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward()
    (x * 3).sum().backward()
    assert len(w)
    return why(x, loss)


@situation("changed-since", "clip_grad_norm_")
def clipped():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss, keep="all")
    loss.backward()
    nn.utils.clip_grad_norm_([x], 0.1)
    assert len(w)
    return why(x, loss)


@situation("accumulated", "held a gradient before", "brought [1, 1, 1]", "zero_grad()")
def accumulated_before_the_widget_was_made():
    x = leaf()
    for i in range(3):
        loss = (x * 1).sum()
        if i == 2:
            w = GradWidget(loss)
        loss.backward()
    assert w["x"].why.kind == "accumulated"
    return why(x, loss)


@situation("present", "finite, not zero")
def zeros_before_the_widget_was_made():
    x = leaf()
    x.grad = torch.zeros(3)
    loss = (x * 1).sum()
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    return why(x, loss)


@situation("zeroed", "after the pass", "brought [2, 2, 2]", "set_to_none=False")
def zeroed_after_the_pass():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward()
    torch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=False)
    assert len(w)
    return why(x, loss)


@situation("cancels", "passes 1 and 2", "sum is 0")
def passes_that_cancel():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward(retain_graph=True)
    loss.backward(torch.tensor(-1.0))
    assert len(w)
    return why(x, loss)


@situation("changed-since", "double", "post-accumulate hook on x")
def changed_by_a_hook_after_accumulation():
    def double(t):
        t.grad.mul_(2)

    x = leaf()
    x.register_post_accumulate_grad_hook(double)
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    found = why(x, loss)
    assert len(set(found.evidence)) == len(found.evidence)
    return found


@situation("several-uses", "used 4 times")
def used_four_times_in_one_pass_unwatched():
    x = leaf()
    loss = (x * 1 + x * 2 + x * 3 + x * 4).sum()
    loss.backward()
    assert x.grad._version > 1
    return why(x, loss)


@situation("tied", "one tensor under 2 names", "emb.weight", "out.weight", "their sum is", "Embedding")
def tied_weights():
    emb, out = nn.Embedding(3, 2), nn.Linear(2, 3, bias=False)
    out.weight = emb.weight
    loss = out(emb(torch.tensor([1])))[0, 2]
    w = GradWidget(loss)
    loss.backward()
    assert len(w)
    return why(emb.weight, loss)


@situation("several-uses", "used twice", "handed on 3", "their sum is 6")
def used_twice():
    a = leaf(3.0)
    y = a * a
    w = GradWidget(y)
    y.backward()
    assert len(w)
    return why(a, y)


@situation("several-uses", "used twice", "y (2 times)")
def used_twice_unwatched():
    a = leaf(3.0)
    y = a * a
    y.backward()
    return why(a, y)


@situation("broadcast", "(4,5) summed to (5,)", "4 times")
def broadcast_row():
    row = torch.ones(5, requires_grad=True)
    loss = (torch.ones(4, 5) + row).sum()
    loss.backward()
    return why(row, loss)


@situation("from-elsewhere", "not from other")
def a_gradient_from_elsewhere():
    x, y = leaf(), leaf()
    (x * 2).sum().backward()
    other = y.sum()
    return why(x, other)


@situation("present", "finite, not zero", "[2, 2, 2]")
def nothing_unusual():
    x = leaf()
    loss = (x * 2).sum()
    loss.backward()
    return why(x, loss)


@pytest.fixture(autouse=True)
def close_widgets():
    import ipywidgets

    yield
    ipywidgets.Widget.close_all()


@pytest.mark.parametrize(("program", "kind", "words"), SITUATIONS)
def test_situation(program, kind, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns where .grad of a non-leaf is read
        found = program()
    assert found.kind == kind, str(found)
    for word in words:
        assert word in str(found), str(found)
    assert isinstance(found, Diagnosis)
    assert found.cause


# --- errors -----------------------------------------------------------------------------------------------------------

ERRORS_SEEN = []


def error(kind, *words):
    def add(program):
        ERRORS_SEEN.append(pytest.param(program, kind, words, id=f"{kind}: {program.__name__}"))
        return program

    return add


@error(
    "inplace-modified",
    "y was changed in place",
    "version 1, saved at 0",
    "Exp",
    "`y += 1`",
    "y = y + 1",
    "test_why.py:",
)
def a_saved_result_was_changed():
    x = leaf()
    y = x.exp()
    loss = y.sum()
    y += 1
    loss.backward()


@error("inplace-modified", "w was changed in place", "`w.add_(1)`")
def a_saved_leaf_was_changed():
    x, w = leaf(), leaf()
    loss = (x * w).sum()
    with torch.no_grad():
        w.add_(1)
    loss.backward()


@error("inplace-modified", "model.1.weight", ".step()", "Run all `backward()` calls before `optimizer.step()`")
def the_optimizer_stepped_before_backward():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(1, 2)).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    loss.backward()


@error("second-backward", "loss", "ran on loss before", "retain_graph=True")
def backward_twice():
    x = leaf()
    loss = x.exp().sum()
    loss.backward()
    loss.backward()


@error("second-backward", "trunk", "loss2 shares with loss1", "(loss1 + loss2).backward()")
def two_losses_on_one_trunk():
    x, a, b = leaf(2.0), leaf(3.0), leaf(-1.0)
    trunk = x * x
    loss1, loss2 = trunk * a, (trunk * b).exp()
    loss1.backward()
    loss2.backward()


@error("second-backward", "b.grad", "before it failed it had written")
def two_losses_on_one_trunk_watched():
    x, a, b = leaf(2.0), leaf(3.0), leaf(-1.0)
    trunk = x * x
    loss1, loss2 = trunk * a, (trunk * b).exp()
    w = GradWidget(loss1, loss2)
    loss1.backward()
    assert len(w)
    loss2.backward()


@error("second-backward", "earlier iteration", "detach()")
def a_hidden_state_that_is_carried_over():
    w = leaf(0.9)
    h = leaf(1.0) * 1
    for _ in range(2):
        h = torch.tanh(w * h)
        loss = h * h
        loss.backward()


@error("second-backward", "freed")
def a_saved_tensor_read_after_backward():
    x = leaf()
    y = x.exp()
    y.sum().backward()
    y.grad_fn._saved_result


@error("no-graph", "loss has no graph", "no_grad")
def a_loss_of_constants():
    loss = torch.ones(3).sum()
    loss.backward()


@error("no-graph", "All 2 parameters in scope are frozen")
def a_loss_of_a_frozen_model():
    model = nn.Linear(2, 1).requires_grad_(False)
    loss = model(torch.ones(1, 2)).sum()
    loss.backward()


@error("no-graph", "int64")
def a_loss_of_whole_numbers():
    loss = leaf().argmax()
    loss.backward()


@error("complex-output", "complex64", "`loss.abs()`")
def a_complex_loss():
    loss = (torch.ones(2, dtype=torch.complex64, requires_grad=True) * 2).sum()
    loss.backward()


@error("not-scalar", "losses", "(3,)", "losses.sum().backward()")
def a_loss_with_three_elements():
    losses = leaf() * 2
    losses.backward()


@error("seed-shape", "loss", "ones_like")
def a_seed_of_another_shape():
    loss = (leaf() * 2).sum()
    loss.backward(torch.ones(2))


@error("leaf-inplace", "w is a leaf", "torch.no_grad()")
def an_update_outside_of_no_grad():
    w = leaf()
    w += 1


@error("leaf-view-inplace", "view of a leaf", "torch.no_grad()")
def a_part_of_a_leaf_set():
    w = leaf()
    w[:2].mul_(2)


@error("no-grad-view-modified", "view", "base", "no_grad")
def a_no_grad_view_was_changed():
    base = leaf() * 2
    with torch.no_grad():
        view = base[:2]
    view.mul_(2)


@error("no-grad-view-modified", "no_grad")
def the_base_of_a_no_grad_view_was_changed():
    base = leaf() * 2
    with torch.no_grad():
        view = base[:2]
    base.mul_(2)
    view.grad_fn


@error("multi-view-modified", "first", "unbind")
def one_of_several_views_was_changed():
    first, _ = (leaf((1.0, 2.0)) * 2).unbind()
    first.add_(1)


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g, g


@error("function-view-modified", "y", "clone")
def a_view_of_a_function_was_changed():
    y = Same.apply(leaf() * 1)
    y.add_(1)


@error("gradient-count", "SameBackward", "expected 1, got 2")
def a_function_with_too_many_gradients():
    Same.apply(leaf()).sum().backward()


class Misshapen(Same):
    @staticmethod
    def backward(ctx, g):
        return torch.ones(7)


@error("gradient-shape", "MisshapenBackward", "[7]")
def a_function_with_a_misshapen_gradient():
    Misshapen.apply(leaf()).sum().backward()


@error("unused-input", "allow_unused=True", "asked for w ")
def a_gradient_of_what_was_not_used():
    x, w = leaf(), leaf()
    torch.autograd.grad(x.sum(), w)


@error("unused-input", "d was made from h by detach()")
def a_gradient_through_a_cut():
    x, w = leaf(), leaf()
    h = x * 2
    d = h.detach()
    loss = (d * w).sum()
    torch.autograd.grad(loss, x)


@error("inplace-modified", "a tensor of shape (1, 3)", "output of Sigmoid", "inplace=True")
def a_layer_that_works_in_place():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
    model(torch.ones(1, 2)).sum().backward()


@error("untracked-input", "requires_grad")
def a_gradient_of_a_constant():
    torch.autograd.grad(leaf().sum(), torch.ones(3))


@error("inference-saved", "inference_mode", "clone()")
def an_inference_tensor_in_a_computation():
    with torch.inference_mode():
        x = torch.ones(3)
    leaf() * x


@error("inference-edit", "x", "inference_mode")
def an_inference_tensor_changed():
    with torch.inference_mode():
        x = torch.ones(3)
    x.add_(1)


@error("anomaly-nan", "SqrtBackward0", "0 * inf")
def anomaly_mode_found_nan():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(True):
            (leaf((0.0, 1.0)).sqrt() * 0).sum().backward()


@error("grad-assigned", ".grad", "dtype")
def a_gradient_of_another_shape_assigned():
    leaf().grad = torch.ones(2)


@error("dtype-mismatch", "dtypes", "float64")
def two_dtypes():
    torch.mm(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64))


@error("device-mismatch", "devices", "register_buffer")
def two_devices():
    raise RuntimeError("Expected all tensors to be on the same device, but found cuda:0 and cpu!")


@error("numpy-of-tracked", "y", "detach().numpy()")
def numpy_of_a_tracked_tensor():
    y = leaf() * 2
    y.numpy()


@error("integer-grad", "index", "floating point")
def a_gradient_for_whole_numbers():
    index = torch.tensor([1, 2])
    index.requires_grad_()


@error("integer-grad", "floating point")
def whole_numbers_that_require_a_gradient():
    torch.tensor([1, 2], requires_grad=True)


@error("optimizer-nonleaf", "leaf")
def an_optimizer_of_a_computed_tensor():
    torch.optim.SGD([leaf() * 2], lr=0.1)


@error("flag-of-nonleaf", "h", "detach()")
def a_flag_of_a_computed_tensor():
    h = leaf() * 2
    h.requires_grad = False


@error("deepcopy", "detach()", "raised in test_why.py:")
def a_deepcopy_of_a_computed_tensor():
    import copy

    copy.deepcopy(leaf() * 2)


@error("hook-refused", "c", "no gradient")
def a_hook_on_a_constant():
    c = torch.ones(3)
    c.register_hook(print)


@error("no-derivative", "no derivative")
def an_operation_without_a_derivative():
    raise NotImplementedError("the derivative for 'aten::nextafter' is not implemented.")


@error("one-memory", "row", "clone")
def an_expanded_tensor_changed():
    row = (leaf((1.0,)) * 2).detach().expand(3)
    row.add_(torch.ones(3))


@error("ddp-unused", "find_unused_parameters")
def an_unused_parameter_in_ddp():
    raise RuntimeError("Expected to have finished reduction in the prior iteration before starting a new one.")


@error("inference-view", "inference_mode")
def a_view_made_in_inference_mode():
    raise RuntimeError("A view was created in inference mode and its base or another view of its base was modified")


@error("gradwidget-error", "No output was given")
def an_error_of_ours():
    GradWidget()


@error("unknown-error", "ZeroDivisionError", "test_why.py:")
def another_error():
    1 / 0


@error("no-graph", "loss has no graph")
def an_error_that_was_raised_from_another():
    loss = torch.ones(3).sum()
    try:
        loss.backward()
    except RuntimeError as cause:
        raise ValueError("the step failed") from cause


@error("target-dtype", "target.long()")
def class_numbers_of_another_dtype():
    F.cross_entropy(torch.zeros(1, 3, requires_grad=True), torch.tensor([1.0]))


@error("target-dtype", "target.float()")
def whole_numbers_as_probabilities():
    F.binary_cross_entropy_with_logits(torch.zeros(2, requires_grad=True), torch.tensor([0, 1]))


@error("shape-mismatch", "1x3 and 2x1")
def a_layer_of_another_size():
    nn.Linear(2, 1)(torch.ones(1, 3))


@error("no-parameters", "nn.ModuleList")
def layers_in_a_plain_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2)]

    torch.optim.SGD(Net().parameters(), lr=0.1)


@error("optimizer-nontensor", "no tensor")
def a_number_to_optimize():
    torch.optim.SGD([1.0], lr=0.1)


@error("loss-no-tensor", "float", ".item()")
def a_sum_of_items():
    total = (leaf() ** 2).sum().item()
    total.backward()


@error("grad-is-none", "w.grad is None where", "Call `loss.backward()`")
def an_update_before_backward():
    w = leaf()
    loss = (w**2).sum()
    with torch.no_grad():
        w -= 0.1 * w.grad
    loss.backward()


class WithoutBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


class OldWay(torch.autograd.Function):
    def forward(self, x):
        return x * 2


@error("no-backward", "@staticmethod def backward")
def a_function_without_backward():
    WithoutBackward.apply(leaf()).sum().backward()


@error("legacy-function", "MyFunction.apply(x)")
def a_function_written_the_old_way():
    OldWay()(leaf())


@error("data-dtype", ".float()")
def whole_numbers_into_data():
    leaf().data = torch.tensor([1, 2, 3])


@error("no-graph", "h has no graph")
def a_head_without_a_graph():
    h = torch.ones(3)
    h.sum().backward()


@error("inference-edit", "z was made under")
def one_of_two_was_made_under_inference_mode():
    with torch.inference_mode():
        z = torch.ones(3)
    w = leaf()
    w.register_hook(print), z.requires_grad_()


@pytest.mark.parametrize(("program", "kind", "words"), ERRORS_SEEN)
def test_error(program, kind, words):
    with pytest.raises(Exception) as caught:
        program()
    found = why(caught.value)
    assert found.kind == kind, str(found)
    for word in words:
        assert word in str(found), str(found)


# --- sentences that were wrong once -----------------------------------------------------------------------------------


def raised_by(program):
    with pytest.raises(RuntimeError) as caught:
        program()
    return why(caught.value)


def test_a_broadcast_under_a_mean_is_not_called_bigger():
    x, bias = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([0.0, 0.0])
    loss = (x + bias).mean()
    loss.backward()
    found = why(bias, loss)
    assert found.kind == "broadcast"
    assert "Mean (loss)" in found.cause
    assert "need not be bigger" in found.cause
    assert "use `.mean()`" not in found.remedy


def test_a_broadcast_under_a_sum_is_told_without_a_mean():
    x, bias = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([0.0, 0.0])
    loss = (x + bias).sum()
    loss.backward()
    assert "need not be bigger" not in why(bias, loss).cause
    assert "use `.mean()`" in why(bias, loss).remedy


def half(*values):
    return torch.tensor(values, dtype=torch.float16, requires_grad=True)


@pytest.mark.parametrize("watched_too", [False, True])
def test_a_half_loss_that_is_infinite_is_told_though_its_gradient_is_finite(watched_too):
    x = half(60000.0, 60000.0)
    loss = x.sum()
    watch = GradWidget(loss) if watched_too else None
    loss.backward()
    assert x.grad.tolist() == [1, 1]
    for found in (why(x, loss), why(x)):
        assert found.kind == "bad-value", str(found)
        assert "loss" in found.cause
        assert "65504" in found.cause
        assert ".float()" in found.remedy
    safe = x.float().sum()
    assert torch.isfinite(safe)
    del watch


REMEDIES = [
    ("(x + 1e-4).sqrt()", lambda x: x.sqrt()),
    ("x.clamp(min=1e-4).sqrt()", lambda x: x.sqrt()),
    ("(x + 1e-3).rsqrt()", lambda x: x.rsqrt()),
    ("x.clamp(min=1e-4).log()", lambda x: x.log()),
    ("x.clamp(min=1e-4) ** p", lambda x: x**0.5),
    ("x.clamp(-1 + 1e-3, 1 - 1e-3).acos()", lambda x: (x + 1).acos()),
    ("(x.pow(2).sum() + 1e-4).sqrt()", lambda x: x.norm()),
]


@pytest.mark.parametrize(("code", "make"), REMEDIES)
def test_remedies_for_half_numbers_work_in_half_numbers(code, make):
    x = half(0.0, 0.0)
    loss = make(x) ** 0.5 if "pow(2)" in code else make(x).sum()
    with GradWidget(loss):
        loss.backward()
        found = why(x, loss)
    assert code.replace(".acos()", "") in found.remedy, str(found)
    x.grad = None
    eval(code, {"x": x + 1 if "acos" in code else x, "p": 0.5}).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_the_remedy_of_the_only_candidate_is_given():
    x = leaf([1.0, 0.0])
    loss = (x + 0.0).acos().sum()
    loss.backward()
    found = why(x, loss)
    assert "Acos" in found.cause
    assert "could have" in found.cause
    assert "`x.clamp(-1 + 1e-6, 1 - 1e-6)`" in found.remedy
    assert "Watch the next pass" in found.remedy


def test_a_product_too_small_for_half_numbers_is_no_factor_of_zero():
    x = half(1e-4)
    loss = (x * x * x).sum()
    loss.backward()
    assert "6e-08" in why(x, loss).cause
    found = watched_in(torch.float16, lambda x: ((x * 1e-4) * 1e-4).sum(), 1.0)
    assert found.kind == "underflow"
    assert "GradScaler" in found.remedy


def watched_in(dtype, make, *values):
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    loss = make(x)
    with GradWidget(loss):
        loss.backward()
        return why(x, loss)


def test_a_relu_that_let_others_pass_is_not_called_dead():
    found = watched(lambda x: (x.relu() * torch.tensor([1.0, 0.0])).sum(), [-1.0, 2.0])
    assert found.kind == "dead-relu"
    assert "had no positive input" not in found.cause
    assert "Where a gradient arrived" in found.cause


def test_switched_off_gradients_are_told_where_they_are_off():
    w = leaf()
    with torch.no_grad():
        y = (w * 2).sum()
        asked = [why(y), why(w, y), why(w)]
    torch.set_grad_enabled(False)
    try:
        z = (w * 2).sum()
        asked += [why(z), why(w, z)]
        with pytest.raises(RuntimeError) as caught:
            z.backward()
        asked.append(why(caught.value))
    finally:
        torch.set_grad_enabled(True)
    for found in asked:
        assert "gradients are switched off right now" in found.cause, str(found)
        assert "`torch.set_grad_enabled(True)`" in found.remedy
        assert "torch.is_grad_enabled() is False" in found.evidence
    assert "switched off" not in why(y).cause


def test_asked_under_inference_mode():
    w = leaf()
    with torch.inference_mode():
        y = (w * 2).sum()
        assert why(y).kind == "inference"
        assert "inference_mode()` is in force right now" in why(w, y).cause
        assert "inference_mode()` is in force right now" in why(w).cause
    loss = (w * 2).sum()
    with torch.inference_mode():
        assert why(w, loss).kind == "not-run"


def test_asked_inside_a_transform():
    w, answers = leaf(), []

    def f(x):
        y = x * w
        answers.extend([why(x), why(y), why(x, y), why(w, y)])
        return y.sum()

    torch.func.grad(f)(torch.ones(3))
    assert [one.kind for one in answers] == ["transform"] * 4
    assert "argnums" in answers[-1].remedy


def test_a_fake_tensor_is_not_called_finite():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.ones(3, requires_grad=True)
        loss = (x * 2).sum()
        loss.backward()
        found = why(x, loss)
    assert found.kind == "unreadable"
    assert "FakeTensor" in found.cause


@pytest.mark.parametrize("make", ["meta", "empty", "jagged", "strided"])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_numbers_that_can_not_be_read_are_not_called_finite(make):
    if make == "meta":
        x = torch.ones(3, device="meta", requires_grad=True)
        loss = (x * 2).sum()
    elif make == "empty":
        x = torch.ones(0, 3, requires_grad=True)
        loss = (x * 2).sum()
    elif make == "jagged":
        x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True, layout=torch.jagged)
        loss = (x * 2).values().sum()
    else:
        x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True)
        loss = torch.nested.to_padded_tensor(x * 2, 0.0).sum()
    loss.backward()
    found = why(x, loss)
    assert found.kind == "unreadable", str(found)
    assert "finite" not in str(found)
    assert ("no elements" if make == "empty" else make if make == "meta" else "ested") in found.cause


class SecondOfTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 1, a * 2

    @staticmethod
    def backward(ctx, first, second):
        return second


class FirstOfTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def test_none_of_a_function_names_materializing_only_where_that_is_so():
    a, b = leaf(), leaf()
    out = FirstOfTwo.apply(a, b * 3).sum()
    with GradWidget(out):
        out.backward()
        found = why(b, out)
    assert "the custom Function FirstOfTwo (node 1) has returned None" in found.cause
    assert "materialize" not in str(found)
    first, second = SecondOfTwo.apply(a)
    loss = first.sum()
    a.grad = None
    with GradWidget(loss):
        loss.backward()
        found = why(a, loss)
    assert "set_materialize_grads(False)" in found.cause
    del second


def test_an_uninitialized_parameter_in_an_error():
    with pytest.raises(ValueError, match="uninitialized") as caught:
        nn.LazyLinear(2).weight.sum()
    found = why(caught.value)
    assert found.kind == "uninitialized"
    assert "Run one batch" in found.remedy


def test_a_remedy_is_code_that_can_be_run():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)))
    assert "`gw.why(net[1][0].weight, loss)`" in why(net[1][0].weight).remedy
    assert why(torch.ones(3)).cause.startswith("The tensor needs no gradient")
    assert "`x.requires_grad_()`" in why(torch.ones(3)).remedy
    assert "the tensor's .requires_grad is False" in why(torch.ones(3)).evidence


def test_a_gradient_from_elsewhere_tells_where_the_graph_is_cut():
    x = leaf()
    h = x * 2
    cut = (h.detach() * leaf()).sum()
    h.sum().backward()
    found = why(x, cut)
    assert found.kind == "from-elsewhere"
    assert "detach()" in found.cause
    assert "h" in found.cause


def test_two_graphs_of_which_one_was_cleared_are_no_sum():
    w = leaf()
    first, second = (w**2).sum(), (w**3).sum()
    first.backward()
    w.grad = None
    second.backward()
    assert why(w).kind not in ("accumulated", "several-uses")


def test_a_use_by_an_output_that_did_not_run_is_no_share():
    w = leaf()
    first, second = (w * 2).sum(), (w * 3).sum()
    first.backward()
    assert why(w).kind == "present"
    v = leaf()
    both = (v * 2 + v * 3).sum()
    both.backward()
    assert why(v).kind == "several-uses"
    assert why(v, both).kind == "several-uses"
    del second


def test_a_pass_that_failed_before_it_came_here_may_be_none_of_the_sum():
    t, a, b = leaf(2.0), leaf(3.0), leaf(-1.0)
    feat = t * t
    loss1, loss2 = feat * a, (feat * b).exp()
    loss1.backward()
    with pytest.raises(RuntimeError):
        loss2.backward()
    assert "failed before it came here" in why(t).cause


def test_divisions_on_other_branches_are_not_multiplied():
    layer = nn.Linear(2, 3)
    h = layer(torch.rand(4, 2))
    one, two = h.mean(1).sum(), h.mean(0).sum()
    one.backward()
    assert " and " not in why(layer.bias).cause.partition("divides")[2]
    del two


def test_a_leaf_that_was_cast_after_the_forward_pass_is_still_behind_it():
    layer = nn.Linear(2, 1, bias=False)
    y = layer(torch.ones(1, 2)).sum()
    layer.double()
    assert why(layer.weight, y).kind == "not-run"
    y.backward()
    assert layer.weight.grad is not None
    assert why(layer.weight, y).kind == "present"


def test_an_output_that_no_operation_uses_gets_none():
    x = leaf()
    first, second = SecondOfTwo.apply(x)
    loss = second.sum()
    with GradWidget(loss):
        loss.backward()
        found = why(first)
    assert found.kind == "arrived-none"
    assert "no operation that ran uses it" in found.cause


def test_a_gradient_of_a_linear_function_is_a_constant():
    x = leaf()
    (g,) = torch.autograd.grad((x * 2).sum(), x, create_graph=True)
    assert not g.requires_grad
    assert "as that of a linear function" in why(g).cause
    assert "Pass `create_graph" not in why(g).remedy


def test_a_tensor_changed_in_place_after_the_loss():
    x = leaf()
    h = x * 2
    loss = h.sum()
    h.mul_(3)
    found = why(h, loss)
    assert found.kind == "changed-after"
    assert "h._version is 1" in found.evidence
    h = x * 2
    aux = h * 3
    loss = h.sum()
    assert why(aux, loss).kind != "changed-after"
    loss = h.sum()
    h = h + 1
    assert why(h, loss).kind == "changed-after"


def test_a_backward_hook_of_a_module_is_named():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, into, out: (into[0] * 0,))
    x = leaf([[1.0, 2.0]])
    loss = layer(x).sum()
    loss.backward()
    assert "a backward hook of a module stands on the way, which may change it" in why(x, loss).evidence
    x.grad = None
    loss = layer(x).sum()
    with GradWidget(loss):
        loss.backward()
        found = why(x, loss)
    assert found.kind == "hook"
    assert "A backward hook of a module set the gradient to zero" in found.cause


def test_a_gradient_that_grew_too_big():
    def make(x):
        for _ in range(60):
            x = x * 10
        return x.sum()

    found = watched(make, [1.0])
    assert found.kind == "overflow"
    assert "beyond what float32 holds" in found.cause


def test_a_number_of_batches_is_no_argmax():
    norm = nn.BatchNorm1d(3)
    assert why(norm.num_batches_tracked).kind == "integer"


def test_a_parameter_that_is_nan_is_traced_to_who_wrote_it():
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.fill_(torch.nan)
    loss = layer(torch.ones(1, 2)).sum() ** 2
    loss.backward()
    assert "Find what wrote it: an optimizer step" in why(layer.weight, loss).remedy


def test_a_parameter_that_a_step_made_nan_is_not_what_the_forward_pass_had():
    layer = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(0.0)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    loss = layer(torch.ones(1, 1)).sqrt().mul(0.0).sum()
    loss.backward()
    optimizer.step()
    assert layer.weight.isnan().all()
    found = why(layer.weight, loss)
    assert found.kind != "bad-value", str(found)
    assert "Sqrt" in found.cause


AVERAGING = {
    "mse": (F.mse_loss, "MseLoss (loss) divides it by 24"),
    "l1": (F.l1_loss, "Mean (loss) divides it by 24"),
    "smooth l1": (F.smooth_l1_loss, "SmoothL1Loss (loss) divides it by 24"),
    "huber": (F.huber_loss, "HuberLoss (loss) divides it by 24"),
    "bce": (lambda p, t: F.binary_cross_entropy(p.sigmoid(), t), "BinaryCrossEntropy (loss) divides it by 24"),
    "logits": (
        F.binary_cross_entropy_with_logits,
        "BinaryCrossEntropyWithLogits (loss) divides it by 24",
    ),
    "kl": (F.kl_div, "Mean (loss) divides it by 24"),
    "batchmean": (lambda p, t: F.kl_div(p, t, reduction="batchmean"), "Div (loss) divides it by"),
    "cross entropy": (lambda p, t: F.cross_entropy(p, t.argmax(1)), "NllLoss (loss) divides it by"),
    "by hand": (lambda p, t: (p - t).pow(2).sum() / len(t), "Div (loss) divides it by"),
}


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("name", AVERAGING)
@pytest.mark.filterwarnings("ignore:reduction")
def test_a_loss_that_averages_inside_divides_the_sum_again(name, watched):
    make, words = AVERAGING[name]
    layer = nn.Linear(2, 3)
    loss = make(layer(torch.rand(8, 2)), torch.rand(8, 3))
    watch = GradWidget(loss) if watched else None
    loss.backward()
    found = why(layer.bias, loss)
    assert found.kind == "broadcast"
    assert "8 times" in found.cause
    assert words in found.cause
    assert "need not be bigger" in found.cause
    assert "use `.mean()`" not in found.remedy
    del watch


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_a_loss_that_sums_divides_nothing(reduction):
    layer = nn.Linear(2, 3)
    loss = F.mse_loss(layer(torch.rand(8, 2)), torch.rand(8, 3), reduction=reduction).sum()
    loss.backward()
    assert "divides" not in why(layer.bias, loss).cause
    assert "use `.mean()`" in why(layer.bias, loss).remedy


def test_a_mean_over_another_dimension_divides_by_its_own_number():
    layer = nn.Linear(2, 3)
    loss = layer(torch.rand(8, 2)).mean(1).sum()
    loss.backward()
    assert "divides it by 3." in why(layer.bias, loss).cause
    assert "need not be bigger" not in why(layer.bias, loss).cause


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1)])
def test_one_element_is_told_with_its_sign(shape):
    x = torch.ones(shape, requires_grad=True)
    loss = (x * -3).sum()
    loss.backward()
    assert "-3" in str(why(x, loss))
    assert "‖" not in str(why(x, loss))


def test_a_gradient_without_create_graph_is_named():
    def program():
        x = leaf()
        loss = (x**2).sum()
        (g,) = torch.autograd.grad(loss, x)
        penalty = (g**2).sum()
        assert "create_graph=True" in why(g).cause
        penalty.backward()

    found = raised_by(program)
    assert "(g,) = torch.autograd.grad(loss, x)" in found.cause
    assert "Pass `create_graph=True`" in found.remedy


def test_a_penalty_without_create_graph_is_named_for_its_inputs():
    x = leaf()
    loss = (x**2).sum()
    (g,) = torch.autograd.grad(loss, x)
    penalty = (g.norm() - 1) ** 2
    for found in (why(x, penalty), why(penalty), why(g)):
        assert "create_graph=True" in found.cause, str(found)
        assert "`(g,) = torch.autograd.grad(loss, x)`" in found.cause
        assert "create_graph=True" in found.remedy


def test_a_penalty_beside_a_loss_is_named_too():
    x, w = leaf(), leaf()
    (g,) = torch.autograd.grad((x**2).sum(), x)
    loss = w.sum() + g.norm()
    found = why(x, loss)
    assert found.kind == "not-reachable"
    assert "By the source text loss comes from `(g,) = torch" in found.cause
    assert "create_graph=True" in found.remedy


def test_a_call_over_several_lines_in_a_function_is_found():
    def slope_of(inputs):
        return torch.autograd.grad(
            (inputs**2).sum(),
            inputs,
        )[0]

    x = leaf()
    penalty = slope_of(x).norm()
    assert "comes from `return torch.autograd.grad( (inputs**2).sum(), inputs, )[0]`" in why(x, penalty).cause


def test_of_several_calls_none_is_quoted():
    x = leaf()
    (g,) = torch.autograd.grad((x**2).sum(), x)
    (h,) = torch.autograd.grad((x**3).sum(), x)
    penalty = (g + h).norm()
    found = why(x, penalty)
    assert "one of the 2 calls of `autograd.grad`" in found.cause
    assert "grad((x**" not in found.cause


def test_a_call_that_did_not_lead_there_is_not_quoted():
    x = leaf()
    (g,) = torch.autograd.grad((x**2).sum(), x)
    other, _ = torch.autograd.grad((x**3).sum(), [x, x])
    penalty = g.norm()
    assert "grad((x**2)" in why(x, penalty).cause
    assert "grad((x**3)" not in why(x, penalty).cause
    y = torch.ones(3)
    assert "create_graph" not in why(y).remedy
    del other


def test_a_name_that_was_given_again_comes_from_its_last_line():
    x = leaf()
    g = torch.autograd.grad((x**2).sum(), x)[0]
    g = torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]
    penalty = g.norm()
    other = leaf()
    assert "create_graph" not in str(why(other, penalty))
    g = torch.autograd.grad((x**4).sum(), x)[0]
    total = 0.0
    total = total + g.sum()
    total += 1
    assert "grad((x**4)" in why(x, total).cause


def test_a_last_bias_has_no_part_in_a_gradient():
    layer, x = nn.Linear(2, 1), torch.rand(3, 2, requires_grad=True)
    out = layer(x)
    slopes = torch.autograd.grad(out.sum(), x, create_graph=True)[0]
    penalty = (slopes.norm(dim=1) - 1).pow(2).mean()
    penalty.backward()
    assert layer.bias.grad is None
    assert "a last bias" in why(layer.bias, penalty).cause
    assert "slopes = torch.autograd.grad" in why(layer.bias, penalty).cause
    assert "last bias" not in why(layer.bias, out.detach().requires_grad_()).cause


def test_a_gradient_is_named_when_asked_with_an_output_too():
    w = leaf()
    g = torch.autograd.grad((w**2).sum(), w)[0]
    outer = ((w - 0.1 * g) ** 3).sum()
    assert "grad((w**2)" in why(g, outer).cause


def test_a_call_with_create_graph_is_not_blamed():
    x = leaf()
    (g,) = torch.autograd.grad((x**2).sum(), x, create_graph=True)
    penalty = g.detach().norm()
    assert "Pass `create_graph" not in why(x, penalty).remedy


def test_create_graph_is_not_named_where_no_gradient_was_taken():
    def program():
        loss = torch.ones(3).sum()
        loss.backward()

    assert "Pass `create_graph=True`" not in raised_by(program).remedy


def test_a_second_autograd_grad_has_written_nothing():
    def program():
        x = leaf()
        loss = (x**2).sum()
        torch.autograd.grad(loss, x)
        torch.autograd.grad(loss, x)

    found = raised_by(program)
    assert found.kind == "second-backward"
    assert ".grad written" not in str(found)
    assert "backward()" not in str(found)
    assert "retain_graph=True" in found.remedy


def test_a_grad_of_an_expression_names_its_input():
    def program():
        x, y = leaf(), leaf()
        out = x * 2
        torch.autograd.grad(out.sum(), y)

    found = raised_by(program)
    assert found.kind == "unused-input"
    assert "asked for y " in found.cause
    assert "gw.why(x, loss)" not in found.remedy


def test_a_grad_of_many_elements_speaks_of_grad_outputs():
    def program():
        x = leaf()
        out = x * 2
        torch.autograd.grad(out, x)

    found = raised_by(program)
    assert found.kind == "not-scalar"
    assert "grad_outputs=torch.ones_like(out)" in found.remedy
    assert "backward" not in str(found)


class Bigger(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        return torch.ones(4, 3)


@pytest.mark.parametrize("watched", [True, False])
def test_a_function_whose_gradient_torch_may_have_summed(watched):
    x = leaf()
    loss = Bigger.apply(x)
    widget = GradWidget(loss) if watched else None
    loss.backward()
    assert x.grad.tolist() == [4.0, 4.0, 4.0]
    assert "Bigger" in str(why(x, loss))
    assert "summed it to the shape of x" in str(why(x, loss))
    del widget


def test_one_name_is_not_two():
    def program():
        loss = torch.ones(3).sum()
        loss.backward()

    assert "loss and loss" not in str(raised_by(program))


# --- all of it --------------------------------------------------------------------------------------------------------


def test_there_is_a_situation_for_each_leaf():
    tested = {param.values[1] for param in (*SITUATIONS, *ERRORS_SEEN)}
    tree = {
        leaf.kind
        for part in (ITSELF, UNTRACKED, STRUCTURE, MISSING, PRESENT)
        for leaf in part
        if isinstance(leaf, Leaf)
    }
    assert tree | {one.kind for one in (*ZERO, *BAD, *ERRORS)} <= tested


def test_a_diagnosis_is_a_value():
    x = leaf()
    h = x * 2
    found = why(h)
    assert repr(found) == f"Diagnosis(not-leaf: {found.cause})"
    assert str(found).splitlines() == [
        found.cause,
        f"Remedy: {found.remedy}",
        "Evidence: h.grad_fn is <MulBackward0>; h.is_leaf is False.",
    ]
    assert found == why(h)
    assert hash(found) == hash(why(h))
    with pytest.raises(AttributeError):
        found.kind = "other"


def test_html_is_escaped():
    found = Diagnosis("kind", "<b> & `x < y`", "`</div>`", ("<i>",))
    html = found._repr_html_()
    assert "&lt;b&gt; &amp; <code>x &lt; y</code>" in html
    assert "<i>" not in html
    assert html.count("<div") == html.count("</div>")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to explain"),
        (("x",), "not str"),
        ((nn.Linear(1, 1),), "not a module"),
        ((3.0,), "not float"),
        ((None,), "not NoneType"),
        ((ValueError,), "class of an error"),
        ((torch.ones(1), "loss"), "str"),
        ((torch.ones(1), 3), "int"),
    ],
)
def test_bad_input_gets_one_error(arguments, words):
    with pytest.raises(GradWidgetError, match=words):
        why(*arguments)


def test_an_unknown_keyword_is_an_error():
    with pytest.raises(TypeError, match="loss"):
        why(leaf(), loss=leaf().sum())


def test_it_keeps_nothing_alive():
    x = leaf()
    h = x * 2
    loss = (h.detach() * leaf()).exp().sum()
    found = [why(x, loss), why(h), why(x), why(h.detach())]
    references = [weakref.ref(t) for t in (x, h, loss)]
    try:
        loss.backward()
        loss.backward()
    except RuntimeError as caught:
        found.append(why(caught))
    del x, h, loss
    gc.collect()
    assert [r() for r in references] == [None] * 3
    assert len(found) == 5


def test_it_changes_nothing():
    x = leaf()
    h = x * 2
    h.register_hook(lambda g: g * 3)
    loss = h.exp().sum()
    before = (x._version, h._version, len(h._backward_hooks))
    for outputs in ((), (loss,)):
        why(x, *outputs)
        why(h, *outputs)
    assert (x._version, h._version, len(h._backward_hooks)) == before
    loss.backward()
    assert torch.equal(x.grad, 6 * (2 * torch.tensor([1.0, 2.0, 3.0])).exp())


def test_it_runs_no_code_of_the_user():
    runs = []

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            runs.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Hostile:
        def __getattr__(self, name):
            runs.append(name)
            raise RuntimeError(name)

        @property
        def __class__(self):
            runs.append("__class__")
            return torch.Tensor

        def __eq__(self, other):
            runs.append("==")
            raise RuntimeError

        __hash__ = None

    def block(t):
        runs.append("forward")
        return t.sin().exp().sum()

    class Lazy(nn.Module):
        @property
        def weight(self):
            runs.append("weight")
            raise RuntimeError

    hostile, lazy, lazier = Hostile(), Lazy(), nn.LazyLinear(3)
    x = leaf()
    loud = x.as_subclass(Loud)
    y = checkpoint(block, x, use_reentrant=False)
    total = loud.sum() + 1
    runs.clear()
    for subject in (x, y, loud, total):
        why(subject)
        why(subject, y)
    why(lazier.weight)
    assert runs == []
    assert (hostile is not None, lazy is not None) == (True, True)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors", "ignore:torch.quantize")
def test_odd_tensors_have_a_diagnosis():
    x = leaf([[1.0, 0.0], [0.0, 2.0]])
    odd = [
        torch.ones(2, 2, device="meta", requires_grad=True) * 2,
        x.to_sparse(),
        torch.ones(2, dtype=torch.complex64, requires_grad=True),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True),
        torch.ones(0, requires_grad=True),
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        nn.UninitializedParameter(),
    ]
    for tensor in odd:
        assert why(tensor).cause
        assert why(tensor, x.sum()).cause


def test_a_crowded_scope_is_looked_at_in_time():
    import time

    crowd = [leaf() * i for i in range(3_000)]
    x = leaf()
    loss = x.exp().sum()
    start = time.perf_counter()
    assert why(x, loss).kind == "not-run"
    assert crowd
    assert time.perf_counter() - start < 5


def test_a_long_chain_can_be_asked_for():
    x = leaf(1.0)
    h = x
    for _ in range(5_000):
        h = h * 1.0001
    assert why(x, h).kind == "not-run"
    h.backward()
    assert why(x, h).kind == "present"


def test_the_panel_and_the_view_say_the_same():
    from gradwidget._details import detail

    x = leaf([-1.0, 4.0])
    root = x.sqrt()
    loss = torch.where(x > 0, root, x).sum()
    w = GradWidget(loss)
    loss.backward()
    view = w["x"].why
    assert view.kind == "nan-sqrt"
    assert view == f"{view.cause} {view.remedy}"
    shown = detail(w._inspection, w["x"].key)["why"]
    assert shown == {"kind": view.kind, "cause": view.cause, "remedy": view.remedy, "evidence": list(view.evidence)}


def test_nothing_to_explain_is_an_empty_text():
    x = leaf()
    loss = (x * 2).sum()
    w = GradWidget(loss)
    loss.backward()
    found = w["x"].why
    assert (found, found.kind, found.diagnosis) == ("", "", None)


def test_a_parametrized_weight_is_pointed_to():
    spec = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2, bias=False))
    w = GradWidget(spec(torch.ones(1, 2)).sum())
    with pytest.raises(KeyError, match=r"spec\.parametrizations\.weight\.original"):
        w["spec.weight"]


def test_a_detached_input_that_has_no_name_is_known_to_the_widget_after_backward():
    G, D = nn.Linear(2, 2), nn.Linear(2, 1)
    fake = G(torch.ones(4, 2))
    loss = F.softplus(D(fake.detach())).mean()
    w = GradWidget(loss)
    loss.backward()
    found = why(G.weight, loss)
    assert found.kind == "detached-upstream", str(found)
    assert "fake" in found.cause
    assert len(w)


# --- %why -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    current = InteractiveShell.instance()
    current.run_cell("%load_ext gradwidget")
    yield current
    current.run_cell("%unload_ext gradwidget")
    current.reset()
    InteractiveShell.clear_instance()


def test_the_magic_explains_the_last_error(shell, capsys):
    shell.run_cell(
        "import torch\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\nz = y.sum()\ny += 1", store_history=True
    )
    shell.run_cell("z.backward()", store_history=True)
    found = shell.run_cell("%why").result
    assert found.kind == "inplace-modified"
    assert "cell 2, line 1: `z.backward()`" in str(found)
    assert "cell 1, line 5: `y += 1`" in str(found)
    assert "Remedy" in capsys.readouterr().out


def test_the_magic_explains_a_gradient(shell, capsys):
    shell.run_cell("import torch\nx = torch.ones(3, requires_grad=True)\nh = x * 2\nloss = h.exp().sum()")
    assert shell.run_cell("%why h").result.kind == "not-leaf"
    assert "has not run yet on loss" in shell.run_cell("%why x loss").result.cause
    assert shell.run_cell("%why x, loss").result.kind == "not-run"
    shell.run_cell("%why nope")
    assert "There is no 'nope'" in capsys.readouterr().err + capsys.readouterr().out


def test_the_magic_reads_no_parametrized_weight(shell):
    shell.run_cell("import torch\nspec = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(2, 2))")
    shell.run_cell("u = spec.parametrizations.weight[0]._u\nbefore = u._version")
    assert shell.run_cell("%why spec.weight").result.kind == "parametrized"
    assert shell.user_ns["u"]._version == shell.user_ns["before"]
