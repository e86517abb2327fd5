"""Relations among three tensors and more, and of tensors whose class would have its say."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import gradwidget as gw
from gradwidget import _memory, _names, _outputs, _summary

CALLS: list[str] = []


def _raising(name):
    def read(self):
        CALLS.append(name)
        raise RuntimeError  # without a message

    return property(read)


def _with(*names):
    return type("Hostile", (torch.Tensor,), {name: _raising(name) for name in names})


class Asking(torch.Tensor):
    def __getattribute__(self, name):
        CALLS.append(name)
        raise RuntimeError(name)


EVERYTHING = [n for n in dir(torch.Tensor) if not n.startswith("__") or n in ("__class__", "__dict__", "__len__")]
HOSTILE = {
    "grad_fn": _with("grad_fn"),
    "dtype": _with("dtype"),
    "requires_grad": _with("requires_grad"),
    "everything": _with(*EVERYTHING),
    "__getattribute__": Asking,
}


def _made(cls):
    """A leaf, a result, a view made under no_grad and an untracked tensor."""
    with torch._C.DisableTorchFunctionSubclass():
        leaf = torch.Tensor._make_subclass(cls, torch.ones(3), True)
        result = torch.Tensor.as_subclass(torch.ones(3, requires_grad=True) * 2, cls)
        with torch.no_grad():
            view = torch.Tensor.__getitem__(leaf, slice(2))  # of a plain class, its base is not
        plain = torch.Tensor.as_subclass(torch.zeros(2), cls)
    CALLS.clear()
    return {"leaf": leaf, "result": result, "view": view, "plain": plain}


@pytest.mark.parametrize("cls", HOSTILE.values(), ids=HOSTILE)
def test_what_a_subclass_says_of_itself_is_not_asked(cls):
    found = gw.references(**_made(cls))
    assert {name: found[name].status for name in found.names} == {
        "leaf": "leaf",
        "result": "result",
        "view": "no_grad view",
        "plain": "untracked",
    }
    assert found.relation("leaf", "view").kind == "no_grad view"
    assert not CALLS


@pytest.mark.parametrize("cls", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_tensor_in_scope_is_not_asked(cls):
    hostile = _made(cls)["result"]
    found = gw.references()
    assert found["hostile"].grad_fn == "AliasBackward0"
    assert hostile is not None
    assert not CALLS


@pytest.mark.parametrize("cls", HOSTILE.values(), ids=HOSTILE)
def test_edges_and_memory_of_hostile_tensors(cls):
    made = _made(cls)
    with _summary.unobserved():
        assert _outputs.edge_of(made["leaf"])[0].name() == "torch::autograd::AccumulateGrad"
        assert _outputs.edge_of(made["result"])[0].name() == "AliasBackward0"
        assert _outputs.is_no_grad_view(made["view"])
        with pytest.raises(gw.NoGraphError, match="needs no gradient"):
            _outputs.edge_of(made["plain"])
    assert _memory.extent_of(made["plain"]).shape == (2,)
    assert _summary.summarize(made["plain"]).text == "[0, 0]"
    assert [name for name, _ in _names.tensors_of(list(made.items()))] == list(made)
    assert not CALLS


@pytest.mark.parametrize("cls", HOSTILE.values(), ids=HOSTILE)
def test_a_module_with_hostile_tensors(cls):
    made = _made(cls)
    m = nn.Linear(2, 1)
    m.__dict__["told"], m.__dict__["listed"] = made["result"], [made["plain"]]
    found = gw.module_state(m)
    assert found.tried
    assert (found["told"].requires_grad, found["listed[0]"].dtype) == (True, "float32")
    assert "keeps the whole graph" in found["told"].remedy
    assert not CALLS


def test_lazy_parameters_still_have_no_shape():
    layer = nn.LazyLinear(2)
    assert _summary.form_of(layer.weight).shape is None
    assert _memory.extent_of(layer.weight) is None
    assert gw.module_state(layer)["weight"].kind == "lazy parameter"


# --- three tensors ---------------------------------------------------------------------------------------------------


def _leaf():
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], requires_grad=True)


def test_a_view_with_history_is_no_detached_twin_of_a_twin():
    x = _leaf()
    d, e = x.detach(), x[0]
    found = gw.references(x=x, d=d, e=e)
    one = found.relation("d", "e")
    assert (one.kind, one.shares_storage) == ("siblings", True)
    assert one.sentence.startswith(
        "e and d share memory through x: e is a view of x (gradients pass), d is x.detach(), and no gradient passes"
    )
    assert found.origin("e").kind == "view"
    assert found.origin("d").kind == "detached"
    alone = gw.references(d=d, e=e).relation("d", "e")
    assert alone.kind == "siblings"
    assert "detach" not in alone.sentence.split(";")[0]


def test_a_view_and_data():
    x = _leaf()
    one = gw.references(x=x, d=x.data, e=x[0]).relation("d", "e")
    assert "d is x.data" in one.gradients
    assert not one.shares_version_counter


def test_the_detached_twin_of_a_view_stays_one():
    x = _leaf()
    e = x[0]
    found = gw.references(x=x, e=e, d=e.detach())
    assert found.relation("e", "d").sentence.startswith("d is e.detach()")


def test_two_views_under_no_grad_are_siblings():
    x = _leaf()
    with torch.no_grad():
        v, t = x[:2], x.T
        w = v[0]
    assert v._base is x
    assert t._base is x
    found = gw.references(x=x, v=v, t=t, w=w)
    assert found.relation("v", "t").kind == "siblings"
    assert found.relation("x", "v").part == "x[:2]"
    assert found.relation("v", "w").part == "v[0]"


@pytest.mark.parametrize("order", ["p d dc", "d p dc", "dc d p"])
def test_a_deepcopy_is_of_the_parameter_and_not_of_its_twin(order):
    p = nn.Parameter(torch.tensor([1.0, 2.0]))
    made = {"p": p, "d": p.detach(), "dc": copy.deepcopy(p)}
    found = gw.references(**{name: made[name] for name in order.split()})
    assert found.relation("p", "dc").kind == "deepcopy"
    assert found.relation("d", "dc").kind == "separate"
    if not order.startswith("dc"):
        assert (found.origin("dc").kind, found.origin("dc").source) == ("deepcopy", "p")


@pytest.mark.parametrize("order", ["p s q", "s p q"])
def test_a_parameter_is_made_on_the_parameter_and_not_on_a_view_of_it(order):
    p = nn.Parameter(torch.tensor([1.0, 2.0]))
    made = {"p": p, "s": p.as_subclass(torch.Tensor), "q": nn.Parameter(p)}
    found = gw.references(**{name: made[name] for name in order.split()})
    assert (found.origin("q").kind, found.origin("q").source) == ("parameter", "p")
    one = found.relation("s", "q")
    assert one.kind == "siblings"
    assert "q is a parameter made on p" in one.gradients


def test_what_else_is_in_scope_is_not_compared_by_value():
    made = _made(HOSTILE["everything"])
    with torch._C.DisableTorchFunctionSubclass():
        twin = torch.Tensor.detach(made["leaf"])
    CALLS.clear()
    assert gw.references(leaf=made["leaf"], twin=twin, copy=torch.ones(3, requires_grad=True)).relations
    assert not CALLS


# --- stale views -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [_leaf, lambda: _leaf() * 2], ids=["of a leaf", "of a result"])
def test_a_stale_view_says_what_raises(base):
    b = base()
    with torch.no_grad():
        v = b[:2]
        b.mul_(2)
    for name in ("grad_fn", "is_leaf"):
        with pytest.raises(RuntimeError):
            getattr(v, name)
    with pytest.raises(RuntimeError):
        v * 2
    with pytest.raises(RuntimeError):
        v.add_(1)
    with torch.no_grad():
        v.add_(1)
    assert torch.equal(v.detach(), b.detach()[:2])
    found = gw.references(b=b, v=v)
    one = found.relation("b", "v")
    assert (one.kind, one.part, found["v"].is_leaf) == ("no_grad view", "b[:2]", None)
    assert "history invalid: its base was changed in place" in one.sentence
    assert "reading v.grad_fn and v.is_leaf raises" in one.sentence
    assert "is_leaf=True" not in found.to_text()
    assert "history invalid" in gw.references(v=v).rows[0].sentence


def test_a_stale_view_and_a_detached_twin():
    b = _leaf()
    with torch.no_grad():
        v = b[:2]
        b.mul_(2)
    assert gw.references(d=b.detach(), v=v).relation("d", "v").kind == "siblings"


# --- what a module left behind ---------------------------------------------------------------------------------------


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("b", torch.ones(1))
        self.listed = [torch.ones(2), torch.arange(2), self.b]
        self.keyed = {"k": torch.ones(2)}
        self.plain = torch.ones(2)
        self.second = self.b
        self.hidden = [nn.Parameter(torch.ones(2))]


LEFT = ["listed[0]", "listed[2]", "keyed['k']", "plain", "second", "hidden[0]"]


def test_what_was_left_behind_by_a_cast_is_told_as_stale():
    m = Holder()
    before = gw.module_state(m)
    assert not any(row.stale or "stale copy" in row.remedy for row in before.rows)
    m.to(torch.float64)
    assert {str(t.dtype) for t in (m.listed[0], m.keyed["k"], m.plain, m.second, m.hidden[0])} == {"torch.float32"}
    found = gw.module_state(m)
    assert [row.name for row in found.rows if row.stale] == sorted(LEFT, key=[r.name for r in found.rows].index)
    for name in LEFT:
        assert "a stale copy, still float32 while what .to() moves is float64 (it did not move)" in found[name].remedy
    assert not found["listed[1]"].stale  # .to(dtype) casts no integers
    assert "read listed[2] instead" not in found["second"].remedy  # which is as stale


def test_what_was_left_behind_by_a_move_is_told_as_stale():
    found = gw.module_state(Holder().to("meta"))
    assert "still on cpu while what .to() moves is on meta" in found["listed[1]"].remedy
    assert not found["linear.weight"].stale


def test_the_remedy_of_a_plain_tensor_works():
    m = Holder()
    with pytest.raises(KeyError):
        m.register_buffer("plain", torch.ones(2))
    assert gw.module_state(m)["plain"].remedy.startswith("self.register_buffer('plain', ...) instead of self.plain = ")
