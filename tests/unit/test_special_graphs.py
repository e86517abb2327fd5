"""Graphs of an unusual kind: captured, or a clear word about it; never an error in the user's code."""

from __future__ import annotations

import dataclasses
import functools
import gc
import weakref

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from unit.judge import assert_captured, same, torch_walk, true_gradients
from unit.looking import call, detail, leaf, look

from gradwidget import GradWidget, GradWidgetError, Summary, _capture
from gradwidget._probe import probe_note


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


def complex64():
    x = leaf(3, dtype=torch.complex64)
    h = x * 2
    h.register_hook(lambda g: g * 2)
    return x, (h * h.conj()).abs().sum()


def half():
    x = leaf(3, dtype=torch.float16)
    return x, (x * 3).exp().sum()


def bfloat16():
    x = leaf(3, dtype=torch.bfloat16)
    return x, (x * 3).exp().sum()


def float64():
    x = leaf(3, dtype=torch.float64)
    return x, (x * 3).exp().sum()


def meta():
    x = leaf(3, device="meta")
    h = x.exp()
    h.register_hook(lambda g: g * 2)
    return x, (h * x).sum()


def large_meta():
    x = leaf(300, 300, device="meta")
    return x, (x.exp() @ x).sum()


def embedding():
    table = nn.Embedding(5, 2, sparse=True)
    table.weight.register_hook(lambda g: g * 2)
    return table.weight, table(torch.tensor([1, 1, 3])).sum()


def sparse_leaf():
    x = torch.eye(3).to_sparse().requires_grad_()
    return x, torch.sparse.mm(x, leaf(3, 3)).sum()


def jagged():
    x = torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(4, 3)], layout=torch.jagged, requires_grad=True)
    return x, (x * 2).sin().values().sum()


def subclass():
    x = torch.rand(3).as_subclass(Tagged).requires_grad_()
    h = x * 2
    h.register_hook(lambda g: g * 3)
    return x, h.exp().sum()


def checkpointed():
    x = leaf(3)
    return x, checkpoint(lambda t: t.sin() * t.exp(), x, use_reentrant=False).sum()


def reentrant():
    x = leaf(3)
    return x, checkpoint(lambda t: t.sin() * t.exp(), x, use_reentrant=True).sum()


def transformed_before():
    x = leaf(3)
    return x, torch.func.grad(lambda t: (t**3).sum())(x).sum()


def vmapped_before():
    x = leaf(3, 2)
    return x, torch.vmap(lambda t: t.sin().sum())(x).sum()


def quantised():
    x = leaf(4)
    return x, torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255).sum()


def to_device_and_back():
    x = leaf(3)
    return x, x.to(torch.float64).to(torch.float32, copy=True).exp().sum()


KINDS = [
    complex64,
    half,
    bfloat16,
    float64,
    meta,
    large_meta,
    embedding,
    sparse_leaf,
    jagged,
    subclass,
    checkpointed,
    reentrant,
    transformed_before,
    vmapped_before,
    quantised,
    to_device_and_back,
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)


def plain(tensor):
    return tensor.as_subclass(torch.Tensor) if type(tensor) is Tagged else tensor


def equal(a, b):
    if a is None or b is None or a.is_meta:
        return (a is None) == (b is None)
    if a.is_nested:
        return equal(a.values(), b.values())
    return same(plain(a), plain(b))


@each_kind
@pytest.mark.parametrize("keep", ["auto", "all", "summary"])
def test_backward_is_as_without_the_widget(kind, keep):
    torch.manual_seed(1)
    x, out = kind()
    out.backward()
    expected = x.grad
    torch.manual_seed(1)
    x, out = kind()
    w = GradWidget(out, keep=keep)
    look(w)
    out.backward()
    assert equal(x.grad, expected)
    assert [p.state for p in w.passes if not p.inside] == ["complete"]
    look(w)
    found = w._inspection.last_pass_with(next(k for k in range(len(w)) if w[k].kind == "leaf")).captures
    assert found
    w.close()
    look(w)


@each_kind
def test_the_leafs_gradient_is_that_of_torch(kind):
    x, out = kind()
    w = GradWidget(out, names={"x": x})
    out.backward()
    found = w["x"].gradient
    assert equal(found, x.grad) if isinstance(found, torch.Tensor) else found.note


@each_kind
def test_a_probe(kind):
    x, out = kind()
    w = GradWidget(out, names={"x": x})
    if kind is reentrant:  # torch: checkpoint of that kind can't be run by autograd.grad()
        with pytest.raises(GradWidgetError):
            w.probe()
    else:
        assert w.probe().state == "complete"
        look(w)
    assert x.grad is None
    out.backward()
    assert x.grad is not None


@each_kind
def test_large_leaves(kind, monkeypatch):
    monkeypatch.setattr(_capture, "SMALL", 0)
    torch.manual_seed(1)
    x, out = kind()
    out.backward()
    expected = x.grad
    torch.manual_seed(1)
    x, out = kind()
    w = GradWidget(out, names={"x": x})
    out.backward()
    assert equal(x.grad, expected)
    found = w["x"].gradient
    assert equal(found, expected) if isinstance(found, torch.Tensor) else found.note
    look(w)


@each_kind
def test_nothing_stays_alive(kind):
    def program():
        x, out = kind()
        w = GradWidget(out)
        out.backward()
        look(w)
        w.close()
        return [weakref.ref(t) for t in (x, out)]

    references = program()
    gc.collect()
    assert [r() for r in references] == [None, None]


# --- function transforms --------------------------------------------------------------------------------------------


def trying(out):
    """A widget, where one can be made: what it says otherwise is an error of ours."""
    try:
        look(GradWidget(out))
    except GradWidgetError as error:
        return error.cause
    return ""


def test_inside_grad():
    said = []

    def f(t):
        out = (t * 2).exp().sum()
        said.append(trying(out))
        return out

    x = torch.rand(3)
    assert torch.allclose(torch.func.grad(f)(x), 2 * (2 * x).exp())
    assert said == [""]


def test_inside_vmap():
    said = []

    def f(t):
        out = (torch.ones(3, requires_grad=True) * t).sum()
        said.append(trying(out))
        return out

    x = torch.rand(4, 3)
    assert torch.allclose(torch.vmap(f)(x), x.sum(1))
    assert len(said) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.jit, in torch's own jvp
def test_inside_jvp():
    said = []

    def f(t):
        out = (t * 2).sin().sum()
        said.append(trying(out))
        return out

    x = torch.rand(3)
    value, tangent = torch.func.jvp(f, (x,), (torch.ones(3),))
    assert torch.allclose(value, (2 * x).sin().sum())
    assert torch.allclose(tangent, (2 * (2 * x).cos()).sum())
    assert len(said) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_hessian_before():
    x = leaf(3)
    out = torch.func.hessian(lambda t: (t**3).sum())(x).sum()
    truth = true_gradients(out)
    w = GradWidget(out)
    out.backward()
    assert_captured(w, truth)
    assert torch.allclose(x.grad, torch.full((3,), 6.0))


def test_a_transform_around_does_not_disturb_a_watched_graph():
    x = leaf(3)
    h = x.exp()
    out = h.sum()
    w = GradWidget(out)
    jacobian = torch.autograd.functional.jacobian(lambda t: t * 2, x)
    assert torch.equal(jacobian, 2 * torch.eye(3))
    torch.func.grad(lambda t: (t * h.detach()).sum())(torch.ones(3))
    assert w.passes == []
    out.backward()
    assert same(w["x"].gradient, x.grad)


# --- torch.compile and DDP ------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # torch's own, in torch.compile
def test_a_compiled_region_in_between():
    compiled = torch.compile(lambda t: t.sin() * t, backend="aot_eager")
    x = leaf(3)
    h = x.exp()
    out = compiled(h).sum()
    (expected,) = torch.autograd.grad((h.sin() * h).sum(), x, retain_graph=True)
    w = GradWidget(out)
    panels = look(w)
    assert "compiled region" in " ".join(p["subtitle"] for p in panels)
    out.backward()
    assert torch.allclose(w["x"].gradient, expected)
    assert same(w["x"].gradient, x.grad)
    look(w)


@pytest.mark.filterwarnings("ignore")
def test_a_widget_made_inside_of_a_compiled_function(capfd):
    made = []

    def f(t):
        out = (t * 2).sum()
        made.append(GradWidget(out))
        return out

    x = torch.ones(2, requires_grad=True)
    out = torch.compile(f, backend="eager")(x)
    assert out.item() == 4.0
    out.backward()
    (w,) = made
    assert x.grad.tolist() == [2.0, 2.0]
    assert same(w[2].gradient, x.grad)
    look(w)
    w.close()
    del w, made[:]
    gc.collect()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore")  # torch's own, in torch.distributed
def test_ddp_in_one_process(tmp_path):
    from torch import distributed

    if not distributed.is_available() or not distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    torch.manual_seed(2)
    plain_net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.rand(5, 3)
    plain_net(x).sum().backward()
    expected = [p.grad for p in plain_net.parameters()]
    plain_net.zero_grad()
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        net = nn.parallel.DistributedDataParallel(plain_net)
        for _ in range(3):
            net.zero_grad()
            out = net(x).sum()
            w = GradWidget(out, names=plain_net)
            out.backward()
            assert [p.state for p in w.passes] == ["complete"]
            assert len(w.passes[0]) == len(w)
            for (name, parameter), truth in zip(plain_net.named_parameters(), expected, strict=True):
                assert torch.allclose(parameter.grad, truth)
                assert torch.allclose(w[name].gradient, truth)
            look(w)
    finally:
        distributed.destroy_process_group()


# --- containers -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Result:
    logits: torch.Tensor
    loss: object
    extra: object = None


def test_nested_containers():
    x = leaf(3)
    result = {"a": [Result(x.exp(), x.sum(), (x.sin(), None, 3))], "b": torch.ones(2)}
    w = GradWidget(result)
    assert len(w.graph.graph["outputs"]) == 3
    assert "left out" in w._inspection.notes[0]
    inner = result["a"][0]
    torch.autograd.backward(
        [inner.logits, inner.loss, inner.extra[0]], [torch.ones(3), torch.tensor(1.0), torch.ones(3)]
    )
    assert len(w.passes) == 1
    assert same(w["x"].gradient, x.grad)
    look(w)


# --- probe ----------------------------------------------------------------------------------------------------------


def test_a_probe_leaves_every_grad_alone_and_the_graph_usable():
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.Linear(4, 1))
    x = leaf(5, 3)
    h = net(x)
    h.retain_grad()
    loss = h.pow(2).mean()
    net[0].weight.grad = torch.ones(4, 3)
    kept = net[0].weight.grad
    versions = [p._version for p in net.parameters()] + [b._version for b in net.buffers()]
    state = torch.get_rng_state()
    w = GradWidget(loss, names=net)
    one = w.probe()
    assert (one.label, one.kind, one.state) == ("probe", "probe", "complete")
    assert call(w, "probe")["result"] is None
    assert [p.number for p in w.passes] == [1, 2]
    assert net[0].weight.grad is kept
    assert (kept.unique().tolist(), kept._version) == ([1.0], 0)
    assert [p.grad for p in list(net.parameters())[1:]] == [None] * 5
    assert (h.grad, x.grad) == (None, None)
    assert [p._version for p in net.parameters()] + [b._version for b in net.buffers()] == versions
    assert torch.equal(torch.get_rng_state(), state)
    expected = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)
    for (name, _), truth in zip(net.named_parameters(), expected, strict=True):
        assert same(w[name].gradient, truth)
    loss.backward()
    assert same(net[0].weight.grad, expected[0] + 1)


def test_a_probe_of_parameters_that_were_frozen_since():
    net = nn.Linear(2, 1)
    loss = net(torch.ones(2)).sum()
    net.weight.requires_grad_(False)
    w = GradWidget(loss)
    w.probe()
    assert w["net.bias"].gradient.tolist() == [1.0]
    assert net.weight.grad is None


def test_what_a_probe_would_run():
    x = leaf(2)
    h = x.exp()
    loss = h.sum()
    w = GradWidget(loss)
    note = functools.partial(probe_note, w._inspection)
    assert note() == ""
    x.register_post_accumulate_grad_hook(lambda _: None)
    h.retain_grad()
    assert note() == ""
    log = []
    h.register_hook(lambda g: log.append(1))
    assert note().startswith("1 hook of yours would run: ")
    h.grad_fn.register_prehook(lambda g: log.append(2))
    h.grad_fn.register_hook(lambda *_: log.append(3))
    assert note().startswith("3 hooks of yours would run: ")
    assert log == []
    w.probe()
    assert log == [1, 2, 3]


def test_a_probe_inside_inference_mode():
    x = leaf(2)
    loss = x.exp().sum()
    w = GradWidget(loss)
    with torch.inference_mode():
        w.probe()
    assert same(w["x"].gradient, x.detach().exp())


def test_a_freed_graph_can_not_be_probed_and_the_page_says_so():
    loss = leaf(2).exp().sum()
    w = GradWidget(loss)
    loss.backward()
    assert "freed" in call(w, "probe")["error"]["cause"] + call(w, "probe")["error"]["remedy"]
    assert w.passes[0].state == "complete"


def test_details_of_a_summary_say_why():
    x = leaf(100)
    loss = x.exp().sum()
    w = GradWidget(loss, keep="summary")
    loss.backward()
    assert isinstance(w["x"].gradient, (torch.Tensor, Summary))
    assert detail(w, "x")["captures"][0]["gradients"][0] is not None
    assert len(torch_walk(loss)[0]) == 3
