"""Errors of autograd whose explanation named the wrong tensor, or a remedy that does not help."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gradwidget import why


def leaf(value=(1.0, 2.0, 3.0)):
    return torch.tensor(value, requires_grad=True)


def raised_by(program):
    with pytest.raises(RuntimeError) as caught:
        program()
    found = why(caught.value)
    caught.value.__traceback__ = None
    return found


# --- in-place edits ---------------------------------------------------------------------------------------------------


def test_a_layer_in_place_is_named_and_not_a_weight_of_the_same_shape():
    def program():
        net = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.ReLU(inplace=True), nn.Linear(4, 1))
        with torch.no_grad():
            net[3].weight.add_(0)
        net(torch.randn(1, 3)).sum().backward()

    found = raised_by(program)
    assert "net.3.weight" not in str(found)
    assert "output of Sigmoid" in found.cause
    assert "net.2 is ReLU(inplace=True)" in found.cause
    assert "`inplace=False` in net.2" in found.remedy
    assert "optimizer" not in found.remedy


def test_an_edit_of_a_result_is_not_told_of_a_leaf_of_the_same_shape():
    def program():
        x, w = leaf(), leaf()
        with torch.no_grad():
            w.mul_(2)
        s = torch.sigmoid(x * w)
        s += 1
        s.sum().backward()

    found = raised_by(program)
    assert found.cause.startswith("s was changed in place")
    assert "`s += 1`" in str(found)
    assert "`s = s + 1`" in found.remedy


def test_a_result_that_has_no_name_is_told_by_its_operation():
    def program():
        w = leaf()
        with torch.no_grad():
            w.mul_(2)
        torch.exp(w * 2).add_(1).sum().backward()

    found = raised_by(program)
    assert "w was" not in found.cause
    assert "the output of Exp" in found.cause
    assert "`x = x + 1` instead of `+=`" in found.remedy


def test_a_saved_leaf_is_not_told_of_a_computed_tensor():
    def program():
        x, w = leaf(), leaf()
        y = x * 2
        y += 1
        loss = (x * w).sum()
        with torch.no_grad():
            w.add_(1)
        loss.backward()

    found = raised_by(program)
    assert found.cause.startswith("w was changed in place")
    assert "optimizer" not in found.remedy  # the line that did it was found


def test_a_weight_seen_through_its_transpose_is_still_named():
    def program():
        x, w = torch.ones(3, 4, requires_grad=True), torch.randn(2, 4, requires_grad=True)
        w.grad = torch.ones(2, 4)
        loss = (x @ w.t()).sum()
        torch.optim.SGD([w], 0.1).step()
        loss.backward()

    found = raised_by(program)
    assert found.cause.startswith("w was changed in place")
    assert "before `optimizer.step()`" in found.remedy


def test_a_buffer_that_is_filled_row_by_row_is_named():
    def program():
        w = torch.randn(4, 4, requires_grad=True)
        h = torch.zeros(6, 4)
        for i in range(5):
            h[i + 1] = torch.tanh(w @ h[i])
        h[-1].sum().backward()

    found = raised_by(program)
    assert found.cause.startswith("h was changed in place after an operation had saved a part of it")
    assert "`h[i + 1] = torch.tanh(w @ h[i])`" in str(found)
    assert "torch.stack" in found.remedy
    assert "`h[i].clone()`" in found.remedy


def test_a_buffer_that_is_filled_along_its_second_dimension_is_named():
    def program():
        cell = nn.Linear(4, 4)
        out = torch.zeros(2, 6, 4)
        for t in range(5):
            out[:, t + 1] = torch.tanh(cell(out[:, t]))
        out.sum().backward()

    found = raised_by(program)
    assert found.cause.startswith("out was changed in place")
    assert "torch.stack" in found.remedy


def test_a_buffer_out_of_reach_is_told_as_a_view():
    def run(w):
        h = torch.zeros(6, 4)
        for i in range(5):
            h[i + 1] = torch.tanh(w @ h[i])
        return h[-1].sum()

    def program():
        run(torch.randn(4, 4, requires_grad=True)).backward()

    found = raised_by(program)
    assert "a view (a row, a slice, a transpose) of shape (4)" in found.cause
    assert "torch.stack" in found.remedy
