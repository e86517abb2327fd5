"""Tensors of classes with code of their own: none of it runs, and nothing that it would raise comes out."""

from __future__ import annotations

import pytest
import torch

import gradwidget as gw

calls: list[str] = []


def raising(name):
    def read(self):
        calls.append(name)
        raise RuntimeError

    return property(read)


Properties = type(
    "Properties",
    (torch.Tensor,),
    {name: raising(name) for name in ("grad_fn", "dtype", "requires_grad", "is_leaf", "shape", "_base", "_version")},
)


class Asked(torch.Tensor):
    def __getattribute__(self, name):
        calls.append(name)
        raise RuntimeError


@pytest.mark.parametrize("kind", [Properties, Asked])
def test_only_torch_is_asked(kind):
    x = torch.ones(2, requires_grad=True)
    bystander = x.detach().as_subclass(kind)
    y = x * 2
    out = y.sum()
    calls.clear()
    w = gw.GradWidget(out)
    out.backward()
    assert w["x"].gradient.tolist() == [2.0, 2.0]
    assert "not a leaf" in str(gw.why(y, out)).lower() or gw.why(y, out).cause
    assert gw.references() is not None
    assert calls == []
    assert type(bystander) is kind


@pytest.mark.parametrize("kind", [Properties, Asked])
def test_why_of_such_a_tensor(kind):
    x = torch.ones(2, requires_grad=True).as_subclass(kind)
    calls.clear()
    found = gw.why(x)
    assert found.cause
    assert found.remedy
    assert calls == []
