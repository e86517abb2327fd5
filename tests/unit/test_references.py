"""Names, tensor objects and memory: each relation against what plain torch says and does."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import time
import weakref

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd import Variable

import gradwidget as gw
from gradwidget import _memory, _names


class Sub(torch.Tensor):
    pass


class Loud(torch.Tensor):
    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Loud.calls += 1
        return super().__torch_function__(func, types, args, kwargs or {})


def result():
    return torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True) * 2


def leaf():
    return torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)


def no_grad(make):
    def made(a):
        with torch.no_grad():
            return make(a)

    return made


def inference(make):
    def made(a):
        with torch.inference_mode():
            return make(a)

    return made


# what makes it, the kind, and: same object, same memory, history, same version counter
ALIAS, SHARED, APART = (True, True), (False, True), (False, False)
RELATIONS = {
    "assignment": (lambda a: a, "alias", (*ALIAS, True, True)),
    "assignment under no_grad": (no_grad(lambda a: a), "alias", (*ALIAS, True, True)),
    "float() with nothing to do": (lambda a: a.float(), "alias", (*ALIAS, True, True)),
    "to() with nothing to do": (lambda a: a.to(torch.float32), "alias", (*ALIAS, True, True)),
    "contiguous() with nothing to do": (lambda a: a.contiguous(), "alias", (*ALIAS, True, True)),
    "slice": (lambda a: a[:2], "view", (*SHARED, True, True)),
    "view": (lambda a: a.view(2, 2), "view", (*SHARED, True, True)),
    "expand": (lambda a: a[:1].expand(3), "view", (*SHARED, True, True)),
    "slice under no_grad": (no_grad(lambda a: a[:2]), "no_grad view", (*SHARED, False, True)),
    "slice under inference_mode": (inference(lambda a: a[:2]), "no_grad view", (*SHARED, False, True)),
    "detach": (lambda a: a.detach(), "detached", (*SHARED, False, True)),
    "detached slice": (lambda a: a.detach()[1:], "detached", (*SHARED, False, True)),
    "data": (lambda a: a.data, "data", (*SHARED, False, False)),
    "numpy": (lambda a: torch.from_numpy(a.detach().numpy()), "external", (*SHARED, False, False)),
    "dlpack": (lambda a: torch.from_dlpack(a.detach()), "external", (*SHARED, False, False)),
    "array": (lambda a: a.detach().numpy(), "external", (*SHARED, False, None)),
    "as_subclass": (lambda a: a.as_subclass(Sub), "subclass", (*SHARED, True, True)),
    "Parameter": (nn.Parameter, "parameter", (*SHARED, False, True)),
    "Variable that asks for a gradient": (
        lambda a: Variable(a, requires_grad=True),
        "rewrapped",
        (*SHARED, False, True),
    ),
    "clone": (lambda a: a.clone(), "tracked copy", (*APART, True, False)),
    "plus zero": (lambda a: a + 0, "tracked copy", (*APART, True, False)),
    "clone under no_grad": (no_grad(lambda a: a.clone()), "copy", (*APART, False, False)),
    "plus zero under no_grad": (no_grad(lambda a: a + 0), "copy", (*APART, False, False)),
    "detach().clone()": (lambda a: a.detach().clone(), "copy", (*APART, False, False)),
    "torch.tensor": (lambda a: torch.tensor(a.tolist()), "copy", (*APART, False, False)),
    "torch.tensor that asks for a gradient": (
        lambda a: torch.tensor(a.tolist(), requires_grad=True),
        "rewrapped",
        (*APART, False, False),
    ),
    "inference_mode": (inference(lambda a: a * 1), "inference", (*APART, False, False)),
    "double()": (lambda a: a.double(), "moved", (*APART, True, False)),
    "half() of detached": (lambda a: a.detach().half(), "moved", (*APART, False, False)),
    "operation": (lambda a: a**2, "computed", (*APART, True, False)),
    "several operations": (lambda a: (a**2 + 1).sum(), "computed", (*APART, True, False)),
    "other numbers under no_grad": (no_grad(lambda a: a * 5), "separate", (*APART, False, False)),
}


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("source", [leaf, result])
def test_relation(name, source):
    make, kind, (same, shares, history, counter) = RELATIONS[name]
    a = source()
    q = make(a)
    relation = gw.references(a=a, q=q).relation("a", "q")
    assert relation.kind == kind
    assert (relation.source, relation.derived) == ("a", "q")
    assert relation.same_object is (q is a) is same
    assert relation.shares_storage is shares
    assert relation.shares_version_counter is counter
    assert relation.has_history is (history if not same else a.grad_fn is not None)
    assert relation.sentence.startswith("q ")
    assert re.search(r"\ba\b", relation.sentence)


@pytest.mark.parametrize("name", RELATIONS)
def test_the_order_in_the_question_does_not_matter(name):
    a = result()
    found = gw.references(a=a, q=RELATIONS[name][0](a))
    assert found.relation("q", "a") == found.relation("a", "q")


@pytest.mark.parametrize("name", [n for n, (_, _, facts) in RELATIONS.items() if facts[1] and "array" not in n])
def test_the_version_counter_is_told_as_edits_show_it(name):
    a = result()
    q = RELATIONS[name][0](a)
    told = gw.references(a=a, q=q).relation("a", "q").shares_version_counter
    versions = (a._version, q._version)
    a.detach().mul_(1)
    assert told is (q._version != versions[1])
    assert a._version == versions[0] + 1


def test_finding_out_touches_no_version_and_no_gradient():
    a = result()
    others = [make(a) for make, _, _ in RELATIONS.values()]
    before = [(t._version, t.requires_grad) for t in others if isinstance(t, torch.Tensor) and not t.is_inference()]
    found = gw.references(a=a, others=others)
    assert len(found.relations) > len(others)
    after = [(t._version, t.requires_grad) for t in others if isinstance(t, torch.Tensor) and not t.is_inference()]
    assert before == after
    a.sum().backward()


def test_without_the_counter_the_numbers_of_the_versions_decide(monkeypatch):
    monkeypatch.setattr(_memory, "_counter_place", lambda: 0)
    a = leaf()
    d = a.data
    unsure = gw.references(a=a, d=d).relation("a", "d")
    assert (unsure.kind, unsure.shares_version_counter) == ("detached", None)
    assert set(unsure.maybe) == {"a.detach()", "a.data"}
    d.add_(1)
    assert gw.references(a=a, d=d).relation("a", "d").kind == "data"


def test_the_place_of_the_counter_is_found_here():
    assert _memory._counter_place() > 0


PARTS = {
    "x[0]": "x[0]",
    "x[:, 1]": "x[:, 1]",
    "x[1, 2]": "x[1, 2]",
    "x[1, 2, 3]": "x[1, 2, 3]",
    "x[..., ::2]": "x[:, :, ::2]",
    "x[:, 1:, 1:3]": "x[:, 1:, 1:3]",
    "x[0:1]": "x[:1]",
    "x[1:, 0, ::3]": "x[1:, 0, ::3]",
    "x[0].T": "x[0].T",
    "x.view(-1)": "all of x, as a vector of 24",
    "x.reshape(6, 4)": "all of x, as 6×4",
    "x[None]": "all of x, as 1×2×3×4",
    "x.transpose(0, 2)": "x with its dimensions permuted",
    "x[0, 0].expand(5, 4)": "x expanded to 5×4",
    "x.diagonal()": "8 of the 24 elements of x",
    "x.flatten()[3:9]": "elements 3 to 8 of x",
    "x.unfold(2, 2, 1)": "overlapping windows of x",
    "x[:, :0]": "no element of x",
}


@pytest.mark.parametrize("expression", PARTS)
def test_which_part_a_view_is(expression):
    x = torch.arange(24.0).reshape(2, 3, 4)
    v = eval(expression, {"x": x})
    part = gw.references(x=x, v=v).relation("x", "v").part
    assert part == PARTS[expression]
    if part.startswith("x[") and part.endswith("]"):
        named = eval(part, {"x": x})
        assert (named.data_ptr(), named.shape, named.stride()) == (v.data_ptr(), v.shape, v.stride())


def test_a_transposed_matrix_is_called_so():
    x = torch.ones(2, 3)
    assert gw.references(x=x, t=x.T).relation("x", "t").part == "x.T"


def test_two_views_of_one_tensor():
    a = result()
    low, high, all_of_it = a[:2], a[2:], a.view(4)
    found = gw.references(low=low, high=high, all_of_it=all_of_it)
    apart = found.relation("low", "high")
    assert apart.kind == "siblings"
    assert "do not overlap" in apart.edits
    assert "where they overlap" in found.relation("low", "all_of_it").edits


def test_a_view_of_a_view_is_one_of_the_nearest():
    x = torch.arange(6.0).reshape(2, 3)  # a view itself
    row = x[1]
    told = gw.references(x=x, row=row).relation("x", "row")
    assert (told.kind, told.source, told.part) == ("view", "x", "x[1]")
    y = result().view(2, 2)
    with torch.no_grad():
        v = y[0]
    assert gw.references(y=y, v=v).relation("y", "v").kind == "no_grad view"
    row = y[0]
    told = gw.references(row=row, y=y).relation("row", "y")
    assert (told.kind, told.source, told.part) == ("view", "y", "y[0]")


def test_what_an_edit_of_a_view_does():
    a, r = leaf(), result()
    found = gw.references(a=a, v=a[:2], r=r, w=r[:2], e=r[:1].expand(3), s=r.split(2)[0])
    for name, word in (("v", "raises"), ("e", "most in-place edits of e raise"), ("s", "raises")):
        assert word in found.relation("a" if name == "v" else "r", name).edits
    assert "recorded" in found.relation("r", "w").edits
    with pytest.raises(RuntimeError, match="leaf"):
        a[:2].add_(1)
    with pytest.raises(RuntimeError, match="single memory location"):
        r[:1].expand(3).add_(1)
    with pytest.raises(RuntimeError, match="multiple views"):
        r.split(2)[0].add_(1)
    r[:2].add_(1)


def test_the_view_that_says_it_asks_for_a_gradient():
    x = leaf()
    with torch.no_grad():
        v = x[:2]
    assert (v.requires_grad, v.is_leaf) == (True, True)
    one = gw.references(x=x, v=v)["v"]
    assert (one.status, one.requires_grad, one.is_leaf, one.grad_fn) == ("no_grad view", True, True, "")
    relation = gw.references(x=x, v=v).relation("x", "v")
    assert "no gradient ever arrives" in relation.gradients
    assert relation.maybe == ("no_grad", "inference_mode")
    assert gw.references(v=v)["v"].status == "no_grad view"  # its base has no name here


def test_a_stale_view_whose_history_can_not_be_read():
    x = result()
    with torch.no_grad():
        v = x[:2]
    x.add_(1)
    with pytest.raises(RuntimeError):
        v.grad_fn
    found = gw.references(x=x, v=v)
    assert (found["v"].status, found["v"].is_leaf) == ("stale view", None)
    assert found.relation("x", "v").kind == "no_grad view"
    assert found._repr_html_()


def test_the_two_snippets():
    a = torch.tensor(1.0, requires_grad=True)
    with torch.no_grad():
        b = a
    assert "b.backward() is a.backward() and fills a.grad" in gw.references(a=a, b=b).relation("a", "b").sentence
    b.backward()
    assert a.grad == 1
    with torch.no_grad():
        b = a + 0
    told = gw.references(a=a, b=b).relation("a", "b")
    assert "b.backward() raises" in told.sentence
    assert any("no_grad" in cause for cause in told.maybe)
    with pytest.raises(RuntimeError):
        b.backward()


def asked_later():
    base = torch.ones(4)
    view = base[:2]
    base.requires_grad_()
    return base, view


def pair(a, make):
    return a, make(a)


VIEWS = {  # what makes them, the kind, and: the status of the first and of the second
    "a reshaped leaf and its row": (
        lambda: pair(torch.arange(6.0).reshape(2, 3).requires_grad_(), lambda a: a[1]),
        ("view", "leaf", "result"),
    ),
    "a transposed leaf and its row": (
        lambda: pair(torch.ones(3, 3).T.requires_grad_(), lambda a: a[1]),
        ("view", "leaf", "result"),
    ),
    "a view that is a leaf": (
        lambda: pair(torch.ones(4), lambda d: d[:2].requires_grad_()),
        ("view", "untracked", "leaf"),
    ),
    "a subclass that is a leaf": (
        lambda: pair(torch.ones(4), lambda d: d.as_subclass(Sub).requires_grad_()),
        ("subclass", "untracked", "leaf"),
    ),
    "a no_grad view that asks by itself": (
        lambda: pair(leaf(), lambda a: no_grad(lambda a: a[:2])(a).requires_grad_()),
        ("view", "leaf", "leaf"),
    ),
    "a view whose base asked later": (asked_later, ("view", "leaf", "early view")),
    "no_grad view of a leaf": (
        lambda: pair(leaf(), no_grad(lambda a: a[:2])),
        ("no_grad view", "leaf", "no_grad view"),
    ),
    "no_grad view of a result": (
        lambda: pair(result(), no_grad(lambda a: a[:2])),
        ("no_grad view", "result", "no_grad view"),
    ),
    "no_grad view of a leaf that is a view": (
        lambda: pair(torch.ones(4).view(2, 2).requires_grad_(), no_grad(lambda a: a[0])),
        ("view", "leaf", "untracked"),
    ),
    "view of a result": (lambda: pair(result(), lambda a: a[:2]), ("view", "result", "result")),
    "a parameter on part of it": (
        lambda: pair(torch.ones(4), lambda a: nn.Parameter(a[:2])),
        ("parameter", "untracked", "leaf"),
    ),
    "a leaf on its memory": (
        lambda: pair(leaf(), lambda a: a.detach().requires_grad_()),
        ("rewrapped", "leaf", "leaf"),
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_said_of_a_view_is_what_edits_and_backward_do(name):
    make, (kind, *statuses) = VIEWS[name]
    a, b = make()
    found = gw.references(a=a, b=b)
    told = found.relation("a", "b")
    assert (told.kind, [found["a"].status, found["b"].status]) == (kind, statuses)
    before = a.detach().clone()
    try:
        b.mul_(3)
        raised = False
    except RuntimeError:
        raised = True
    assert ("raises" in told.edits) is raised
    assert torch.equal(before, a.detach()) is raised
    a, b = make()
    with torch.no_grad():
        b.mul_(3)
    assert not torch.equal(before, a.detach())
    a, b = make()
    if b.requires_grad:
        (b * 2).sum().backward()
    assert ("gradients arrive at b" in told.gradients) is (b.is_leaf and b.grad is not None)
    if a.is_leaf and a.requires_grad:
        assert ("gradients pass" in told.gradients) is (a.grad is not None)


PIECES = {
    "halves": (lambda w: (w.detach()[:2], w.detach()[2:]), "siblings"),
    "every other": (lambda w: (w.detach()[::2], w.detach()[1::2]), "siblings"),
    "every other, of data": (lambda w: (w.data[::2], w.data[1::2]), "siblings"),
    "overlapping": (lambda w: (w.detach()[:3], w.detach()[1:]), "siblings"),
    "between the ends of the other": (lambda w: pair(w.detach(), lambda d: (d[::2], d[1:2]))[1], "siblings"),
    "partly in the other": (lambda w: pair(w.detach(), lambda d: (d[::2], d[1:3]))[1], "siblings"),
    "columns": (lambda w: pair(w.detach().view(2, 2), lambda d: (d[:, 0], d[:, 1]))[1], "siblings"),
    "the smaller first": (lambda w: (w.detach()[:2], w.detach()), "detached"),
    "the larger first": (lambda w: (w.detach(), w.detach()[:2]), "detached"),
    "every other of every": (lambda w: (w.detach()[::2], w.detach()[:1]), "detached"),
    "array": (lambda w: (torch.from_numpy(w.detach().numpy())[:2], w.detach().numpy()[2:]), "siblings"),
    "array that runs backwards": (lambda w: (w.detach(), w.detach().numpy()[::-1]), "external"),
}


@pytest.mark.parametrize("name", PIECES)
def test_parts_of_one_memory(name):
    make, kind = PIECES[name]
    w = leaf()
    a, b = make(w)
    told = gw.references(a=a, b=b).relation("a", "b")
    assert told.kind == kind
    assert told.shares_storage
    before = torch.as_tensor(a).clone()
    version = getattr(a, "_version", None)
    b[:] = 9
    changed = not torch.equal(before, torch.as_tensor(a).clone())
    assert ("does not touch" not in told.edits) is changed
    if "version counter" in told.edits:
        assert a._version > version
    if kind == "detached":
        assert told.source == ("a" if a.numel() > b.numel() else "b")


def test_far_apart_in_a_large_memory():
    w = torch.empty(4_000_000)
    m = w.view(2000, 2000)
    left, right, mid = m.detach()[:, :1000], m.detach()[:, 1000:], m.detach()[::2, 500:1500]
    found = gw.references(left=left, right=right, mid=mid)
    assert "does not touch" in found.relation("left", "right").edits
    assert "where they overlap" in found.relation("left", "mid").edits


def test_tensors_with_the_same_numbers():
    cases = {
        "two results": (result(), result(), "separate"),
        "a leaf and a result of another": (leaf(), leaf() * 1, "separate"),
        "a result and a leaf": (leaf() * 1, leaf(), "rewrapped"),
        "a view that is a leaf, and a leaf": (
            torch.arange(4.0).view(2, 2).requires_grad_(),
            torch.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True),
            "rewrapped",
        ),
    }
    for a, b, kind in cases.values():
        told = gw.references(a=a, b=b).relation("a", "b")
        assert told.kind == kind
        assert "raises" not in told.gradients
        assert "constant" not in told.sentence
        b.sum().backward()
        assert not (a.is_leaf and a.grad is not None)
        if kind == "rewrapped":
            assert "a leaf that simply has the same numbers" in told.maybe
            assert b.grad is not None


def test_one_tensor_under_two_names_is_told_by_what_backward_does():
    h = result()
    assert "fills the same leaves" in gw.references(h=h, g=h).relation("h", "g").sentence
    a = torch.arange(6.0).reshape(2, 3).requires_grad_()
    assert "fills a.grad" in gw.references(a=a, b=a).relation("a", "b").sentence
    p = leaf()
    with torch.no_grad():
        v, n = a.T, p[:2]
    assert "untracked" in gw.references(v=v, u=v).relation("v", "u").sentence
    assert "no gradient ever arrives" in gw.references(n=n, m=n).relation("n", "m").sentence


def test_a_history_too_long_to_follow_is_not_called_separate_in_gradients():
    x = torch.ones((), requires_grad=True)
    h = x * 2
    for _ in range(1100):
        h = h + 1
    told = gw.references(x=x, h=h).relation("x", "h")
    assert told.kind == "separate"
    assert "can't be told" in told.gradients


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        one = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        one.inner = inner
        return one

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        out = func(*(a.inner if isinstance(a, cls) else a for a in args), **(kwargs or {}))
        return cls(out) if isinstance(out, torch.Tensor) else out


def test_what_has_no_address_is_not_called_separate():
    x = Wrapper(torch.ones(3))
    d = x.detach()
    told = gw.references(x=x, d=d).relation("x", "d")
    assert told.kind == "unknown"
    assert "can't be told" in told.sentence
    assert "may change" in told.edits
    d.mul_(3)
    assert x.inner[0] == 3
    assert told.shares_storage is None
    assert (told.shares_version_counter, x._version) == (True, 1)
    data = gw.references(x=x, data=x.data).relation("x", "data")
    assert (data.shares_storage, data.shares_version_counter) == (None, False)


def sparse_twin():
    one = torch.eye(2).to_sparse()
    return one, one.detach()


def fake_twin():
    with torch._subclasses.FakeTensorMode():
        one = torch.ones(3)
        return one, one.detach()


def nested_twin(layout):
    def made():
        one = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)
        return one, one.detach()

    return made


def wrapped_twin():
    one = Wrapper(torch.ones(3))
    return one, one.detach()


HIDDEN = {
    "wrapper": (wrapped_twin, "would run its code"),
    "sparse": (sparse_twin, "layout sparse"),
    "fake": (fake_twin, "FakeTensor"),
    "nested": (nested_twin(torch.strided), "nested"),
    "jagged": (nested_twin(torch.jagged), "NestedTensor"),
}


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype")
@pytest.mark.parametrize("name", HIDDEN)
def test_memory_that_can_not_be_read_is_told_as_such(name):
    make, reason = HIDDEN[name]
    x, d = make()
    found = gw.references(x=x, d=d, other=torch.ones(7))
    told = found.relation("x", "d")
    assert (told.kind, told.shares_storage, told.shares_version_counter) == ("unknown", None, True)
    assert reason in told.sentence
    assert found.relation("d", "other").shares_version_counter is False
    text = found.to_text()
    assert "What memory x and d stand on can't be told, nor what else shares it" in text
    assert "x and d share one version counter" in text
    assert [line.split()[-1] for line in text.splitlines()[1:4]] == ["told", "told", "m0"]
    assert "separate" not in text
    with torch.no_grad():
        before = x._version
        d.mul_(3)
    assert x._version == before + 1


def test_inside_a_function_transform_nothing_is_called_separate():
    seen = []

    def inner(t):
        seen.append(gw.references(t=t, d=t.detach(), outside=outside))
        return (t * t).sum()

    outside = torch.ones(3)
    torch.func.grad(inner)(outside)
    (found,) = seen
    assert [found.relation("t", name).kind for name in ("d", "outside")] == ["unknown", "unknown"]
    assert "inside a function transform" in found.to_text()


def test_what_a_view_of_a_wrapper_edits_is_up_to_its_class():
    class Copying(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            out = func(*(a.inner if isinstance(a, cls) else a for a in args), **(kwargs or {}))
            return cls(out.clone()) if isinstance(out, torch.Tensor) else out

    calls = []
    x = Copying(torch.ones(4))
    v = x.view(2, 2)
    before = len(calls)
    told = gw.references(x=x, v=v).relation("x", "v")
    assert len(calls) == before
    assert (told.kind, told.shares_storage) == ("view", None)
    assert "up to the code of Copying" in told.edits
    v.inner.mul_(5)
    assert x.inner[0] == 1


def test_two_lazy_parameters_are_separate_and_have_no_memory_yet():
    layer = nn.LazyLinear(2)
    found = gw.references(layer=layer)
    assert found.relation("layer.weight", "layer.bias").kind == "separate"
    assert found.to_text().count("none yet") == 2


def test_tied_weights_and_a_deepcopy():
    model = nn.ModuleDict({"emb": nn.Embedding(3, 2), "out": nn.Linear(2, 3, bias=False)})
    model["out"].weight = model["emb"].weight
    twin = copy.deepcopy(model)
    found = gw.references(model=model, twin=twin)
    tied = found.relation("model.emb.weight", "model.out.weight")
    assert (tied.kind, tied.same_object) == ("tied", True)
    assert "sum over all uses" in tied.sentence
    assert found["model.emb.weight"].names == ("model.emb.weight", "model.out.weight")
    copied = found.relation("model.emb.weight", "twin.emb.weight")
    assert (copied.kind, copied.shares_storage) == ("deepcopy", False)


def test_a_deepcopy_of_a_plain_leaf_can_not_be_told_from_a_new_leaf_but_for_its_grad():
    p = leaf()
    assert "a deepcopy" in gw.references(p=p, q=copy.deepcopy(p)).relation("p", "q").maybe
    p.sum().backward()
    told = gw.references(p=p, q=copy.deepcopy(p)).relation("p", "q")
    assert (told.kind, told.maybe) == ("deepcopy", ())


def test_a_parameter_against_the_tensor_it_was_made_of():
    t = torch.ones(3)
    p = nn.Parameter(t)
    told = gw.references(t=t, p=p).relation("t", "p")
    assert (told.kind, told.source, told.derived) == ("parameter", "t", "p")
    d = p.detach()
    told = gw.references(p=p, d=d).relation("p", "d")
    assert (told.kind, told.source, told.derived) == ("detached", "p", "d")


def test_memory_is_shared_where_bytes_are():
    a = leaf()
    n = a.detach().numpy()
    e1, e2 = torch.empty(0), torch.empty(0)
    m1, m2 = torch.empty(3, device="meta"), torch.empty(3, device="meta")
    found = gw.references(a=a, n=n, e1=e1, e2=e2, m1=m1, m2=m2, m3=m1[:2])
    groups = {memory.objects for memory in found.memory}
    ids = {name: found[name].id for name in found.names}
    assert (ids["a"], ids["n"]) in groups
    assert (ids["e1"],) in groups
    assert (ids["e2"],) in groups
    assert (ids["m1"], ids["m3"]) in groups
    assert found.relation("m1", "m2").kind == "separate"


# --- scope, containers, errors


def test_the_calling_scope():
    a = leaf()
    b = a
    n = a.detach().numpy()
    other = np.ones(3)
    found = gw.references()
    assert {"a", "b", "n"} <= set(found.names)
    assert found["a"] == found["b"]
    assert "other" not in found
    assert (b is a, n.shape, other.shape) == (True, (4,), (3,))


def test_modules_containers_and_optimizers():
    model = nn.Linear(2, 2)
    w = leaf()
    opt = torch.optim.SGD([w], 0.1)
    found = gw.references(model=model, xs=[w, {"k": 1}], d={"a": w}, opt=opt)
    assert {"model.weight", "xs[0]", "d['a']", "opt.param_groups[0]['params'][0]"} <= set(found.names)
    with torch.no_grad():
        w = w - 1
    found = gw.references(w=w, opt=opt)
    assert found["w"].status == "untracked"
    assert found["opt.param_groups[0]['params'][0]"].status == "leaf"


@pytest.mark.parametrize("value", [1.5, None, "text", object(), nn.Linear])
def test_what_holds_no_tensor_is_refused(value):
    with pytest.raises(gw.OutputTypeError, match=r"x is a .*Give tensors"):
        gw.references(x=value)


def test_an_unknown_name():
    with pytest.raises(gw.UnknownNodeError, match="Did you mean 'alpha'"):
        gw.references(alpha=leaf()).relation("alpha", "alhpa")


def test_nothing_in_scope():
    found = gw.references(xs=[])
    assert (len(found), found.rows, found.memory, found.sentences) == (0, [], (), ())
    assert "No tensors" in repr(found)
    assert "No tensors" in found._repr_html_()


# --- rebinding against in-place


def test_rebinding_loses_the_leaf_and_in_place_keeps_it():
    w = leaf()
    before = gw.references(w=w)
    with torch.no_grad():
        w -= 0.1
        w.sub_(0.1)
    (change,) = gw.references(w=w).since(before)
    assert change.kind == "edited"
    assert "version 0, now 2" in change.sentence
    assert "still a leaf" in change.sentence
    with torch.no_grad():
        w = w - 0.1
    assert not w.requires_grad
    (change,) = gw.references(w=w).since(before)
    assert change.kind == "rebound"
    assert "w -= ..." in change.sentence
    assert "lost" in change.sentence


def test_plus_equals_on_a_leaf_raises_and_changes_nothing():
    w = leaf()
    before = gw.references(w=w)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        w += 1
    assert [change.kind for change in gw.references(w=w).since(before)] == ["same"]


def test_a_loop_without_detach_is_told_by_its_history():
    def step(h, *, cut):
        h = h.detach() if cut else h
        return torch.tanh(h * weight)

    weight = leaf()
    for cut in (False, True):
        h = step(torch.zeros(4), cut=cut)
        h = step(h, cut=cut)
        before = gw.references(h=h)
        h = step(h, cut=cut)
        (change,) = gw.references(h=h).since(before)
        assert change.kind == "rebound"
        assert ("has grown" in change.sentence) is not cut
        assert ("h.detach()" in change.sentence) is not cut


def test_a_write_behind_autograds_back_is_seen():
    w = leaf()
    before = gw.references(w=w)
    w.data.add_(1)
    (change,) = gw.references(w=w).since(before)
    assert change.kind == "rewritten"


def test_a_flag_that_was_set_is_told():
    w = torch.ones(3)
    first = gw.references(w=w)
    w.requires_grad_()
    (change,) = gw.references(w=w).since(first)
    assert change.kind == "flagged"
    assert "requires_grad was False and is True now" in change.sentence
    second = gw.references(w=w)
    w.sum().backward()
    third = gw.references(w=w)
    assert ".grad was None and is set now" in third.since(second)[0].sentence
    w.sum().backward()
    assert ".grad has other numbers" in gw.references(w=w).since(third)[0].sentence
    r = result()
    before = gw.references(r=r)
    r.detach_()
    assert "grad_fn was MulBackward0 and is None" in gw.references(r=r).since(before)[0].sentence


def test_numbers_that_were_not_read_are_not_called_unchanged():
    m = torch.ones(3, device="meta")
    (change,) = gw.references(m=m).since(gw.references(m=m))
    assert "not compared" in change.sentence


def test_new_and_gone_names():
    before = gw.references(a=leaf())
    kinds = {change.name: change.kind for change in gw.references(b=leaf()).since(before)}
    assert kinds == {"a": "gone", "b": "new"}


# --- what is given back


def test_the_graph_is_plain_data():
    a = leaf()
    found = gw.references(a=a, b=a, d=a.detach(), c=a.clone())
    graph = pickle.loads(pickle.dumps(found.graph))
    assert isinstance(graph, nx.MultiDiGraph)
    kinds = nx.get_node_attributes(graph, "kind")
    assert sorted(kinds.values()) == ["memory"] * 2 + ["name"] * 4 + ["object"] * 3
    edges = {(u, v): d["kind"] for u, v, d in graph.edges(data=True)}
    assert edges["name:a", "t0"] == edges["name:b", "t0"] == "names"
    assert edges["name:b", "name:a"] == "alias"
    assert edges["t1", "t0"] == "detached"
    assert edges["t2", "t0"] == "tracked copy"
    assert edges["t0", "m0"] == edges["t1", "m0"] == "stands on"
    told = next(d for _, _, d in graph.edges(data=True) if d["kind"] == "detached")
    assert told["shares_version_counter"] is True
    assert told["sentence"] == found.relation("a", "d").sentence


def test_rows_have_one_name_each():
    a = leaf()
    rows = gw.references(a=a, b=a, v=a[:2]).rows
    assert [(r.name, r.object, r.memory, r.relation) for r in rows] == [
        ("a", "t0", "m0", ""),
        ("b", "t0", "m0", "alias"),
        ("v", "t1", "m0", "view"),
    ]
    assert all(row.sentence for row in rows)


def test_the_text_is_deterministic_and_without_addresses():
    def text():
        a = leaf()
        with torch.no_grad():
            return repr(gw.references(a=a, b=a, c=a + 0, v=a[:2]))

    assert text() == text()
    assert " at 0x" not in text()
    assert text().splitlines()[:5] == [
        "name      tensor object                           gradients                  memory",
        "a     ->  t0  leaf, requires grad · 4 f32         gradients arrive here  ->  m0",
        "b     ->  t0",
        "c     ->  t1  copy of a, without history · 4 f32  untracked              ->  m1",
        "v     ->  t2  a[:2], made under no_grad · 2 f32   none will arrive       ->  m0",
    ]


def test_static_html_has_no_script_and_escapes_names():
    evil = "</style><script>alert(1)</script>"
    html = gw.references(**{evil: leaf()})._repr_html_()
    assert "<script" not in html
    assert "&lt;/style&gt;&lt;script&gt;" in html
    assert html.count("<style>") == html.count("</style>") == 1
    assert 'tabindex="0"' in html
    assert ":focus-visible" in html


def test_a_great_many_objects_are_drawn_in_part_and_the_related_ones_first():
    many = {f"t{i}": torch.full((2,), float(i)) for i in range(300)}
    a = leaf()
    html = gw.references(**many, a=a, v=a[:2])._repr_html_()
    assert "242 more tensors" in html
    assert ">a[:2]" in html or "view a[:2]" in html


# --- it keeps nothing alive, and runs nothing


def test_no_reference_keeps_a_tensor_alive():
    a = result()
    d, v, n = a.detach(), a[:2], a.detach().numpy()
    model = nn.Linear(2, 2)
    found = gw.references(a=a, d=d, v=v, n=n, model=model)
    kept = (found.graph, found.rows, found.relations, found._repr_html_(), repr(found), found.relation("a", "v"))
    gone = [weakref.ref(x) for x in (a, d, v, n, model.weight)]
    del a, d, v, n, model
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)
    assert found.relation("a", "v") == kept[-1]
    assert found.since(found)[0].kind == "rebound"


def test_a_call_without_arguments_keeps_no_local_alive():
    class Marked:
        pass

    marked = Marked()
    gone = weakref.ref(marked)
    found = gw.references()
    del marked
    gc.collect()
    assert gone() is None
    assert "marked" not in found


class Evil:
    def __getattribute__(self, name):
        raise AssertionError(f"user code was run: {name}")


class Proxy:
    @property
    def __class__(self):
        raise AssertionError("user code was run")


class EvilDict(dict):
    def items(self):
        raise AssertionError("user code was run")

    __iter__ = __len__ = __getitem__ = items


class EvilModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    @property
    def trap(self):
        raise AssertionError("user code was run")


def loudly(self, name):
    raise AssertionError(f"user code was run: {name}")


@pytest.mark.filterwarnings("ignore:.*(quantized|nested)")
def test_hostile_objects_in_scope():
    evil, proxy, table, module, lazy = Evil(), Proxy(), EvilDict(a=leaf()), EvilModule(), nn.LazyLinear(2)
    EvilModule.__getattr__ = loudly
    Loud.calls = 0
    loud = leaf().as_subclass(Loud)
    Loud.calls = 0
    sparse = torch.eye(2).to_sparse()
    quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    jagged = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    conj, meta, whole = torch.ones(2, dtype=torch.complex64).conj(), torch.ones(2, device="meta"), torch.arange(3)
    found = gw.references()
    names = ("table['a']", "module.w", "lazy.weight", "loud", "sparse", "quantized", "nested", "jagged", "conj", "meta")
    assert set(names) <= set(found.names)
    assert Loud.calls == 0
    assert found["whole"].status == "integer"
    for shown in (repr(found), found._repr_html_(), found.graph, found.relations):
        assert len(shown) > 0
    assert Loud.calls == 0
    assert evil is not None
    assert proxy is not None
    assert (len(dict.keys(table)), nested.dim(), jagged.dim(), conj.dim(), meta.dim(), whole.dim()) == (
        1,
        2,
        2,
        1,
        1,
        1,
    )
    assert (sparse.dim(), quantized.dim(), loud.dim(), module is None, lazy is None) == (2, 1, 1, False, False)


def test_fake_and_vmapped_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(3, requires_grad=True)
        assert gw.references(fake=fake, d=fake.detach())["fake"].status == "leaf"
    seen = []

    def look(t):
        seen.append(repr(gw.references(t=t, twice=t * 2)))
        return t

    torch.vmap(look)(torch.ones(3))
    torch.func.grad(lambda t: look(t).sum())(torch.ones(3))
    assert len(seen) == 2


def test_an_active_dispatch_mode_sees_nothing():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Watch.calls += 1
            return func(*args, **(kwargs or {}))

    a = leaf()
    with Watch():
        gw.references(a=a)
    assert Watch.calls == 0


def test_at_most_so_many_names_are_looked_at(monkeypatch):
    monkeypatch.setattr(_names, "LIMIT", 50)
    many = {f"t{i}": torch.ones(1) for i in range(80)}
    assert len(gw.references(**many)) == 50


def test_a_deep_history_is_followed_only_so_far():
    h = torch.ones((), requires_grad=True)
    for _ in range(5000):
        h = h + 1
    one = gw.references(h=h)["h"]
    assert one.history is None
    assert one.status == "result"


# --- further situations, each against what an edit or a backward pass does ------------------------------------------


def test_the_name_of_a_gradient():
    a, b = leaf(), leaf()
    a.sum().backward()
    b.grad = a.grad
    g, y = a.grad, a * 2
    y.retain_grad()
    y.sum().backward()
    found = gw.references(a=a, b=b, g=g, y=y, yg=y.grad)
    told = found.relation("a", "g")
    assert (told.kind, told.source, told.derived, told.shares_storage) == ("gradient", "a", "g", False)
    assert found.relation("b", "g").kind == "gradient"
    assert "deepcopy" not in found.relation("a", "b").kind  # one gradient in two places says nothing of copies
    assert "retain_grad() keeps" in found.relation("y", "yg").sentence
    assert "retain_grad() keeps them as y.grad" in found.graph.nodes[found["y"].id]["sentence"]
    before = g.clone()
    a.sum().backward()
    assert torch.equal(g, before + 1)  # backward() adds to it
    a.grad = None
    assert torch.equal(g, before + 1)


def test_what_an_optimizer_holds_is_no_tied_parameter():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    told = gw.references(model=model, optimizer=optimizer).relation(
        "model.weight", "optimizer.param_groups[0]['params'][0]"
    )
    assert (told.kind, told.same_object) == ("alias", True)
    assert "the optimizer moves model.weight" in told.sentence


def raises(edit):
    try:
        edit()
    except RuntimeError:
        return True
    return False


SPLITS = {"split": lambda r: r.split(2), "unbind": lambda r: r.unbind(), "chunk": lambda r: r.chunk(2)}


@pytest.mark.parametrize("make", SPLITS.values(), ids=SPLITS)
def test_edits_of_what_one_operation_splits(make):
    r = result()
    x, y = make(r)[:2]
    found = gw.references(r=r, x=x, y=y)
    assert (
        "raises outside of no_grad because the operation that made x makes several views"
        in found.relation("r", "x").edits
    )
    assert "raises outside of no_grad" in found.relation("x", "y").edits
    assert raises(lambda: x.mul_(2))
    with torch.no_grad():
        x.mul_(2)
    assert r[0] == 4
    untracked = r.detach()
    x = make(untracked)[0]
    assert "raises" not in gw.references(r=untracked, x=x).relation("r", "x").edits
    x.mul_(2)
    assert untracked[0] == 8


def test_edits_of_an_expanded_tensor():
    base = torch.ones(1)
    e = base.expand(3)
    assert "those that do not (fill_()) change base too" in gw.references(base=base, e=e).relation("base", "e").edits
    assert raises(lambda: e.mul_(2))
    e.fill_(5)
    assert base == 5


class AsItIs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g


def test_edits_of_what_a_custom_function_returned_as_it_is():
    r = result()
    x = AsItIs.apply(r)
    assert (
        "raises outside of no_grad because a custom Function made x" in gw.references(r=r, x=x).relation("r", "x").edits
    )
    assert raises(lambda: x.mul_(2))


COMPLEX = {
    "z.real": lambda z: z.real,
    "z.imag": lambda z: z.imag,
    "view_as_real(z)": torch.view_as_real,
    "z, conjugated": lambda z: z.conj(),
    "z[1:], conjugated": lambda z: z[1:].conj(),
}


@pytest.mark.parametrize("part", COMPLEX)
def test_parts_of_complex_tensors(part):
    z = torch.tensor([1 + 2j, 3 + 4j])
    v = COMPLEX[part](z)
    told = gw.references(z=z, v=v).relation("z", "v")
    assert (told.kind, told.part) == ("view", part)
    before = z.clone()
    v.mul_(2)
    assert not torch.equal(z, before)


def test_bytes_read_as_another_type():
    a = torch.ones(2)
    told = gw.references(a=a, b=a.view(torch.int32)).relation("a", "b")
    assert told.part == "the bytes of a, read as int32"
    store = bytearray(16)
    t, u = torch.frombuffer(store, dtype=torch.float32), torch.frombuffer(store, dtype=torch.int32)
    told = gw.references(t=t, u=u).relation("t", "u")
    assert told.kind == "external"
    assert "frombuffer()" in told.what
    u.fill_(1)
    assert t[0] != 0
    assert t._version == 0


def test_arrays_among_each_other():
    n = np.arange(4.0)
    t = torch.from_numpy(n)
    found = gw.references(t=t, n=n, part=n[1:3], back=n[::-1], other=n.copy())
    assert found.relation("n", "part").sentence.startswith("part and n are numpy arrays on one memory (n[1:3])")
    assert found.relation("part", "n") == found.relation("n", "part")
    assert found.relation("t", "back").part == "t, reversed"
    assert found.relation("n", "back").part == "n, reversed"
    assert "version" not in found.relation("n", "part").edits
    assert found.relation("n", "other").kind == "separate"


def test_fresh_parameters_of_one_model_are_no_copies_of_each_other():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3), nn.LayerNorm(3))
    found = gw.references(model=model)
    assert not any(relation.kind == "deepcopy" for relation in found.relations)
    assert found.relation("model.0.weight", "model.1.weight").kind == "separate"
    assert (
        gw.references(model=model, twin=copy.deepcopy(model)).relation("model.0.bias", "twin.0.bias").kind == "deepcopy"
    )


def test_a_part_of_what_was_made_under_inference_mode():
    with torch.inference_mode():
        c = torch.arange(4.0)
        e = c[1:]
        told = gw.references(e=e, c=c).relation("e", "c")
        assert (told.kind, told.source, told.derived, told.part) == ("view", "c", "e", "c[1:]")
        assert "both made under inference_mode" in told.what
        e.mul_(2)
        assert c[1] == 2


def test_parts_of_a_tensor_without_a_name_are_told():
    whole = torch.arange(8.0)
    first, last = whole[:4].detach(), whole[4:].detach()
    del whole
    (text,) = [s for s in gw.references(first=first, last=last).sentences if "parts of one memory" in s]
    assert "do not overlap" in text
    version = first._version
    last.mul_(2)
    assert first._version == version + 1  # as the sentence says
    assert "by the version counter that they share" in text


def test_a_new_leaf_on_a_leaf_stops_gradients_on_a_result_it_says_what_is_cut_off():
    a, r = leaf(), result()
    told = gw.references(a=a, b=torch.tensor(a.tolist(), requires_grad=True)).relation("a", "b")
    assert told.gradients == "gradients arrive at b and stop there, and none reaches a"
    told = gw.references(r=r, b=torch.tensor(r.tolist(), requires_grad=True)).relation("r", "b")
    assert told.gradients.endswith("so that nothing before r learns from it")


# --- between two looks ----------------------------------------------------------------------------------------------


def changed(tensors, act):
    """What became of each name while `act` did something to the names."""
    before = gw.references(**tensors)
    act(tensors)
    return {change.name: change for change in gw.references(**tensors).since(before)}


def test_an_edit_elsewhere_on_the_memory_is_told_from_one_here():
    w = torch.ones(4)
    found = changed({"w": w, "v": w[:2], "u": w[2:]}, lambda e: e["v"].mul_(3))
    assert [found[name].kind for name in "wvu"] == ["edited"] * 3
    assert "every name of it sees the new numbers" in found["w"].sentence
    assert "with the same numbers, but counts as edited (version 0, now 1)" in found["u"].sentence


def test_other_memory_under_one_tensor():
    w = leaf()
    d = w.detach()

    def swap(e):
        e["w"].data = torch.zeros(4)

    found = changed({"w": w, "d": d}, swap)
    assert found["w"].kind == "rewritten"
    assert "on other memory" in found["w"].sentence
    assert found["d"].kind == "same"
    w.data.mul_(0)
    assert d[0] == 1
    told = changed({"s": torch.ones(2)}, lambda e: e["s"].share_memory_())["s"]
    assert "it stands on other memory now" in told.sentence


def test_of_a_big_tensor_only_samples_are_called_unchanged():
    def write(e):
        e["w"].data[5] = 1

    told = changed({"w": torch.zeros(1 << 20)}, write)["w"]
    assert "65,536 of its 1,048,576 numbers were compared" in told.sentence
    assert "unchanged" not in told.sentence


def test_a_sum_of_losses_that_keeps_every_graph():
    w = leaf()

    def add(e):
        for _ in range(3):
            e["total"] = e["total"] + w.sum()

    def add_numbers(e):
        for _ in range(3):
            e["total"] += w.sum().item()

    told = changed({"total": torch.zeros(())}, add)["total"]
    assert re.search(r"with a history of \d+ nodes: in a loop it grows", told.sentence)
    assert "history" not in changed({"total": torch.zeros(())}, add_numbers)["total"].sentence

    def add_in_place(e):
        e["total"] += w.sum()

    assert "with a history of" in changed({"total": torch.zeros(())}, add_in_place)["total"].sentence


def test_changes_that_are_no_edits():
    assert "retain_grad() keeps" in changed({"y": leaf() * 2}, lambda e: e["y"].retain_grad())["y"].sentence
    told = changed({"n": np.ones(2)}, lambda e: None)["n"]
    assert told.sentence == "n is the same array; its numbers were not compared."
    told = changed({"t": torch.ones(2)}, lambda e: e.update(t=torch.ones(2, dtype=torch.int64)))["t"]
    assert "2 i64, no longer 2 f32" in told.sentence
    with torch.inference_mode():
        told = changed({"c": torch.ones(2)}, lambda e: e["c"].mul_(2))["c"]
    assert "keeps no version" in told.sentence


# --- much, and hostile ----------------------------------------------------------------------------------------------


def test_a_proxy_of_a_module_is_no_module():
    model = nn.Sequential(nn.Linear(1, 1))
    proxy = weakref.proxy(model[0])
    model.part = proxy  # torch registers it as a child
    assert model._modules["part"] is proxy
    assert gw.references(model=model).names == ("model.0.weight", "model.0.bias")
    assert [row.name for row in gw.module_state(model).rows] == ["0.weight", "0.bias"]


def test_thousands_of_equal_tensors_and_views():
    base = torch.zeros(3000)
    start = time.perf_counter()
    found = gw.references(base=base, views=list(base), equal=[torch.ones(1) for _ in range(3000)])
    assert time.perf_counter() - start < 20
    assert len(found) == 6001
    assert found.relation("base", "views[2999]").part == "base[2999]"
    assert found.origin("equal[2999]").source == "equal[0]"


LOUD = []


class Loudest(torch.Tensor):
    @property
    def grad(self):
        LOUD.append("grad")
        raise RuntimeError

    @property
    def _cdata(self):
        LOUD.append("_cdata")
        raise RuntimeError

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        LOUD.append("function")
        return super().__torch_function__(func, types, args, kwargs or {})


def test_what_a_class_has_under_torchs_names_is_not_run():
    one = torch.ones(3).as_subclass(Loudest)
    other = torch.Tensor.detach(one)
    LOUD.clear()
    told = gw.references(one=one, other=other).relation("one", "other")
    assert (told.kind, told.shares_version_counter) == ("detached", True)
    assert LOUD == []


def test_edits_and_gradients_of_views_far_from_their_leaf():
    x = torch.ones(2, 4)
    early = x[0]
    x.requires_grad_()
    late = early.view(2, 2)  # of a view that says requires_grad=True, but has no history
    told = gw.references(x=x, late=late).relation("x", "late")
    assert told.gradients == "its history does not lead to x, so no gradient passes"
    assert torch.autograd.grad(late.sum(), x, allow_unused=True) == (None,)
    wide = torch.ones(3, requires_grad=True).expand(2, 3)
    row = wide[0]
    told = gw.references(wide=wide, row=row).relation("wide", "row")
    assert told.edits.endswith("raises outside of no_grad because row is a view of a leaf")
    assert raises(lambda: row.mul_(2))
    z = torch.tensor([1 + 2j], requires_grad=True)
    told = gw.references(z=z, real=z.real, pairs=torch.view_as_real(z)).relation("real", "pairs")
    assert "writing raises outside of no_grad" in told.edits
    assert raises(lambda: z.real.mul_(2))


def test_a_view_under_no_grad_is_no_detach_of_another_detach():
    a = leaf()
    with torch.no_grad():
        row = a[:2]
    told = gw.references(row=row, d=a.detach()).relation("row", "d")
    assert (told.kind, told.shares_storage) == ("siblings", True)


class Swapped(Wrapper):
    """A parameter that `module.to()` swaps for another."""

    @staticmethod
    def __new__(cls, inner):
        one = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        one.inner = inner
        return one

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Swapped(inner["inner"])


def test_to_can_still_swap_what_was_looked_at():
    layer = nn.Linear(2, 2)
    layer.weight = nn.Parameter(Swapped(torch.ones(2, 2)))
    before = gw.references(layer=layer)
    layer.to(torch.float64)
    assert layer.weight.dtype is torch.float64
    told = {change.name: change for change in gw.references(layer=layer).since(before)}
    assert "can't be told" in told["layer.weight"].sentence
    assert told["layer.bias"].kind == "flagged"
    plain = nn.Linear(2, 2)
    try:
        torch.__future__.set_swap_module_params_on_conversion(True)
        before = gw.references(plain=plain)
        plain.to(torch.float64)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert plain.weight.dtype is torch.float64
