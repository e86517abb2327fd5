"""Relations among three tensors and more, and of tensors whose class would have its say."""

from __future__ import annotations

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
