"""Errors of autograd whose explanation named the wrong tensor, or a remedy that does not help."""

from __future__ import annotations

import sys

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


def test_a_row_of_a_weight_that_was_stepped_is_told_with_the_weight():
    def program():
        table = nn.Embedding(5, 3)
        row = table.weight[0]
        optimizer = torch.optim.SGD(table.parameters(), 0.1)
        loss = (row * row).sum()
        loss.backward(retain_graph=True)
        optimizer.step()
        loss.backward()

    found = raised_by(program)
    assert "row is a view of table.weight" in str(found)
    assert "`optimizer.step()`" in str(found)
    assert "before `optimizer.step()`" in found.remedy


def test_an_edit_of_what_a_row_is_taken_from_is_found():
    def program():
        y = leaf([[1.0, 2.0], [3.0, 4.0]]) * 2
        row = y[0]
        loss = (row * row).sum()
        y[1] = 1
        loss.backward()

    found = raised_by(program)
    assert found.cause.startswith("row was changed in place")
    assert "`y[1] = 1`" in str(found)


# --- what a pass was asked of -----------------------------------------------------------------------------------------


def by_an_expression():
    x = leaf()
    torch.autograd.grad(x**2, x)


def by_a_call():
    x, D = leaf(), nn.Linear(3, 2)
    torch.autograd.grad(D(x), x)


def by_keywords():
    x = leaf()
    out = x * 2
    torch.autograd.grad(outputs=out, inputs=x)


def by_a_list():
    x, w = leaf(), leaf()
    torch.autograd.grad([x * w], [x, w])


def by_many_lines():
    x = leaf()
    # fmt: off
    torch.autograd.grad(
        x.exp(),
        x,
    )
    # fmt: on


@pytest.mark.parametrize(
    ("program", "code", "seed"),
    [
        (by_an_expression, "torch.autograd.grad((x**2).sum(), x)", "torch.ones_like(x**2)"),
        (by_a_call, "torch.autograd.grad(D(x).sum(), x)", "torch.ones_like(D(x))"),
        (by_keywords, "torch.autograd.grad(out.sum(), x)", "torch.ones_like(out)"),
        (by_a_list, "torch.autograd.grad((x * w).sum(), [x, w])", "torch.ones_like(x * w)"),
        (by_many_lines, "torch.autograd.grad(x.exp().sum(), x)", "torch.ones_like(x.exp())"),
    ],
)
def test_a_grad_of_many_elements_names_the_output(program, code, seed):
    found = raised_by(program)
    assert found.kind == "not-scalar"
    assert f"`{code}`" in found.remedy
    assert f"`grad_outputs={seed}`" in found.remedy
    assert "x has more elements" not in found.cause


def test_a_backward_of_an_expression_names_it():
    def program():
        x = leaf()
        (x * 2).abs().backward()

    found = raised_by(program)
    assert "`(x * 2).abs()` has more elements" in found.cause
    assert "`(x * 2).abs().sum().backward()`" in found.remedy
    assert "the output" not in str(found)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a traceback tells lines only")
def test_of_two_calls_on_a_line_the_one_that_raised_is_named():
    def program():
        x = leaf()
        a, b = x * 2, x.sum()
        a.backward(), b.backward()

    assert "a has more elements" in raised_by(program).cause


def test_a_sum_of_a_gradient_without_a_history_is_told_of_the_gradient():
    def program():
        x = leaf()
        loss = (x**2).sum()
        (g,) = torch.autograd.grad(loss, x)
        torch.autograd.grad(g.sum(), x)

    found = raised_by(program)
    assert found.cause.startswith("g has no graph")
    assert "g.sum has" not in str(found)
    assert "create_graph=True" in found.remedy


def test_of_several_outputs_the_one_without_a_graph_is_named():
    def program():
        x, w = leaf(), torch.ones(3)
        y = x * 2
        torch.autograd.grad([y.sum(), w.sum()], [x])

    found = raised_by(program)
    assert found.cause.startswith("w has no graph")
    assert "By the source text" not in found.cause  # it comes from no gradient


def test_what_has_no_graph_is_the_whole_expression_where_its_name_has_one():
    def program():
        x = leaf()
        y = x * 2
        y.detach().sum().backward()

    assert "`y.detach().sum()` has no graph" in raised_by(program).cause


def test_an_input_given_by_keyword_is_named():
    def program():
        x, w = leaf(), leaf()
        out = x * 2
        torch.autograd.grad(outputs=out.sum(), inputs=w)

    assert "asked for w " in raised_by(program).cause


# --- a graph that was freed -------------------------------------------------------------------------------------------


def test_what_was_computed_before_the_loop_is_named():
    def program():
        E = leaf()
        feats = torch.tanh(E)
        for _ in range(2):
            loss = feats.pow(2).mean()
            loss.backward()

    found = raised_by(program)
    assert "feats was computed before the loop" in found.cause
    assert found.remedy.startswith("Compute feats inside of the loop")
    assert "`feats = feats.detach()`" in found.remedy


def test_what_is_computed_anew_in_each_iteration_is_not_blamed():
    def program():
        E, w = leaf(), leaf()
        feats = torch.tanh(E)
        for _ in range(2):
            out = (feats * w).exp()
            loss = out.mean()
            loss.backward()

    found = raised_by(program)
    assert "feats was computed before the loop" in found.cause
    assert "out " not in found.cause


def test_a_state_carried_through_the_loop_is_named():
    def program():
        w = leaf()
        h = torch.zeros(3)
        for _ in range(2):
            h = torch.tanh(h * w + 1)
            loss = h.pow(2).mean()
            loss.backward()

    found = raised_by(program)
    assert "by way of h" in found.cause
    assert found.remedy.startswith("If h is a hidden state that is carried on, cut it: `h = h.detach()`")
    assert "compute h inside" in found.remedy


def test_of_a_grad_in_a_loop_too():
    def program():
        E = leaf()
        feats = torch.tanh(E)
        for _ in range(2):
            torch.autograd.grad(feats.pow(2).mean(), E)

    found = raised_by(program)
    assert "feats was computed before the loop" in found.cause
    assert "Compute feats inside of the loop" in found.remedy
    assert "backward()" not in str(found)


def test_a_loss_without_a_name_in_a_loop():
    def program():
        E, target = leaf(), torch.zeros(3)
        scaled = E * E
        feats = torch.tanh(scaled)
        for _ in range(2):
            nn.functional.mse_loss(feats, target).backward()

    found = raised_by(program)
    assert "`nn.functional.mse_loss(feats, target)`" in found.cause
    assert "scaled and feats were computed before the loop" in found.cause
    assert "Compute scaled and feats inside of the loop" in found.remedy


def test_a_step_between_that_runs_twice_without_a_loop():
    def program():
        y = leaf().exp()
        loss = y.pow(2).mean()
        loss.backward()
        loss.backward()

    found = raised_by(program)
    assert "ran on loss before" in found.cause
    assert "y" in found.cause
    assert "retain_graph=True" in found.remedy


# --- views and leaves -------------------------------------------------------------------------------------------------


def test_a_no_grad_view_whose_base_was_changed_is_named_with_its_base():
    def program():
        table, w = torch.zeros(3, 3), leaf()
        with torch.no_grad():
            row = table[0]
        table[1] = w * 2
        (row * w).sum().backward()

    found = raised_by(program)
    assert found.kind == "no-grad-view-modified"
    assert found.cause.startswith("row was made under `no_grad` as a view of table, and table (or another view of it)")
    assert "`table[1] = w * 2`" in str(found)
    assert "Make row outside of `no_grad`" in found.remedy
    assert "a view is a view" not in str(found)


def test_a_no_grad_view_that_was_changed_is_named_with_its_base():
    def program():
        table = leaf() * 2
        with torch.no_grad():
            part = table[:2]
        part.mul_(2)

    assert raised_by(program).cause.startswith("part was made under `no_grad` as a view of table, and it is changed")


def test_a_no_grad_view_without_a_name():
    def program():
        table, w = torch.zeros(3, 3), leaf()
        with torch.no_grad():
            rows = (row for row in [table[0]])
        table[1] = w * 2
        (next(rows) * w).sum().backward()

    assert raised_by(program).cause.startswith("A tensor was made under `no_grad` as a view of another")


def test_an_edit_of_a_leaf_that_is_no_update_is_not_told_as_one():
    def program():
        img = leaf()
        img.clamp_(0, 1)

    found = raised_by(program)
    assert found.kind == "leaf-inplace"
    assert "lr" not in found.remedy
    assert "`with torch.no_grad(): img.clamp_(0, 1)`" in found.remedy
    assert "`y = img.clamp(0, 1)`" in found.remedy


def test_an_edit_without_an_out_of_place_form_is_told_to_be_made_on_a_copy():
    def program():
        w = leaf()
        w.normal_()

    found = raised_by(program)
    assert "`with torch.no_grad(): w.normal_()`" in found.remedy
    assert "lr" not in found.remedy
    assert "`y = w.clone()`" in found.remedy


def test_an_update_of_a_leaf_is_still_told_as_one():
    def program():
        w = leaf()
        w -= 0.1

    assert "w -= lr * w.grad" in raised_by(program).remedy
