"""`w[key].formula`: the chain rule with names and numbers of the graph."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F

from gradwidget import GradWidget
from gradwidget._explain import explain, shown
from gradwidget._formulas.latex import latex
from gradwidget._formulas.typeset import identifier, joined, number
from gradwidget._trace import barred


def scalar(x):
    return torch.tensor(x, requires_grad=True)


@pytest.fixture
def abc():
    a, b, c = scalar(1.1), scalar(1.2), scalar(1.3)
    d = a * b
    e = d * c
    return GradWidget(e), e


def test_before_a_pass_the_gradient_stays_a_symbol(abc):
    w, _ = abc
    assert w["d"].formula == "dL/da = dL/dd · b = dL/dd · 1.2\ndL/db = dL/dd · a = dL/dd · 1.1"


def test_after_a_pass_its_numbers_are_in(abc):
    w, e = abc
    e.backward()
    assert w["d"].formula == "dL/da = dL/dd · b = 1.3 · 1.2 = 1.56\ndL/db = dL/dd · a = 1.3 · 1.1 = 1.43"
    assert w["a"].formula == "dL/da = dL/dd · b = 1.3 · 1.2 = 1.56"
    found = explain(w._inspection, w["d"].key)
    assert found.forward.text == "d = a · b = 1.1 · 1.2 = 1.32"
    assert found.parts[0].local.text == "∂d/∂a = b"


def test_a_second_pass_has_its_own_numbers(abc):
    w, e = abc
    e.backward(retain_graph=True)
    e.backward(torch.tensor(2.0))
    assert w["d"].formula.splitlines()[0] == "dL/da = dL/dd · b = 2.6 · 1.2 = 3.12"


def test_several_consumers_add_up_term_by_term():
    x = scalar(2.0)
    y = scalar(5.0)
    u = x * y
    v = x.exp()
    out = u + v
    w = GradWidget(out)
    out.backward()
    assert w["x"].formula == "dL/dx = dL/du · y + dL/dv · exp(x) = 5 + 7.389 = 12.39"
    assert w["u"].formula.splitlines()[0] == "dL/dx += dL/du · y = 1 · 5 = 5"


def test_an_input_that_enters_twice():
    x = scalar(3.0)
    y = x * x
    w = GradWidget(y)
    y.backward()
    assert w["x"].formula == "dL/dx = dL/dy · x + dL/dy · x = 3 + 3 = 6"


def test_actual_numbers_of_saved_scalars():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = x**3
    w = GradWidget(y.sum())
    assert w["y"].formula == "dL/dx = dL/dy · (3 · x²) = dL/dy · (3 · [1, -2]²)"
    z = torch.sub(x, y, alpha=2.5).clamp(-1, 4).sum()
    texts = [w.formula for w in map(GradWidget(z).__getitem__, range(3))]
    assert texts[1].startswith("dL/dv₂ = dL/dv₃ · (1 if -1 ≤ v₂ ≤ 4 else 0)")
    assert "dL/dy = dL/dv₂ · (-2.5)" in texts[2]


def test_constants_by_name_or_number():
    x = scalar(2.0)
    k = torch.tensor(4.0)
    out = x * k + (x * 7)
    w = GradWidget(out)
    out.backward()
    assert w["x"].formula == "dL/dx = dL/dv₁ · k + dL/dv₂ · 7 = 4 + 7 = 11"


def test_broadcasting_is_a_sum():
    b = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([[3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    y = x * b
    out = y.sum()
    w = GradWidget(out)
    out.backward()
    part = explain(w._inspection, w["y"].key).parts[1]
    assert part.note == "Summed over the dimensions in which it was broadcast."
    assert part.line.text.startswith("dL/db = sum over copies(dL/dy · x) = ")
    assert part.line.text.endswith("= [8, 10]")


def test_what_a_hook_has_changed_is_not_explained_away():
    x = scalar(2.0)
    y = (x * 3).exp()
    y.grad_fn.register_hook(lambda into, out: (into[0] * 100,))
    w = GradWidget(y)
    y.backward()
    part = explain(w._inspection, w["y"].key).parts[0]
    assert part.line.text.endswith("= 1 · exp(6) = 403.4")
    assert part.note == "Not what was captured: a hook or an edit in place has changed it. Captured: 4.034e+04."


def test_a_hook_on_the_leaf_is_told():
    x = scalar(2.0)
    x.register_hook(lambda g: g * 100)
    y = x * 3
    w = GradWidget(y)
    y.backward()
    found = explain(w._inspection, w["x"].key)
    assert found.arrival.text == "dL/dx = dL/dy · 3 = 1 · 3 = 3"
    assert found.note == "What comes in is changed by a hook before it gets here."


def test_words_where_there_is_no_formula():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = torch.rand(1, 1, 4, 4, requires_grad=True)
    twice = Twice.apply(x)
    conv = F.conv2d(twice, torch.rand(1, 1, 2, 2, requires_grad=True))
    out = torch.fft.fft(conv.flatten()).abs().sum()
    w = GradWidget(out)
    assert "code of yours" in w["twice"].formula
    assert "flipped kernel" in w["conv"].formula
    unknown = next(w[k] for k in range(len(w)) if w[k].op.startswith("FftR2C"))
    assert "No formula is stored for FftR2CBackward0" in unknown.formula
    assert "'fft_r2_c'" in unknown.formula or "fft" in unknown.formula


def test_known_after_backward_has_freed_the_graph_and_when_it_is_gone():
    x = scalar(2.0)
    y = x.sin().exp()
    w = GradWidget(y)
    y.backward()
    before = [w[k].formula for k in range(len(w))]
    w.close()
    del y
    assert [w[k].formula for k in range(len(w))] == before
    assert "cos(2)" in before[1]


def test_large_tensors_have_no_numbers():
    x = torch.rand(50, 50, requires_grad=True)
    y = x.sigmoid()
    out = y.mean()
    w = GradWidget(out)
    out.backward()
    assert w["y"].formula == "dL/dx = dL/dy · (σ(x) · (1 - σ(x)))"
    assert w["out"].formula == "dL/dy = dL/dout / 2500 = 1 / 2500"


def test_looking_leaves_no_cycle_that_holds_the_graph():
    gc.collect()
    gc.disable()
    try:
        x = torch.rand(3, requires_grad=True)
        y = x.sin().sum()
        w = GradWidget(y)
        y.backward()
        for k in range(len(w)):
            w[k].formula
        w.trace(tangent="x"), w._update_page()
        before = weakref.ref(w._inspection)
        w.refresh(x.cos().sum())
        assert before() is None
    finally:
        gc.enable()


def test_looking_changes_nothing():
    x = torch.rand(3, requires_grad=True)
    y = (x.sin() * x).sum()
    w = GradWidget(y)
    for k in range(len(w)):
        w[k].formula
    assert x.grad is None
    assert w.passes == []
    y.backward()
    assert torch.equal(x.grad, (x.cos() * x + x.sin()).detach())


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: x.var(), "dL/dx = dL/dz · 2 · (x - mean(x)) / 5"),
        (lambda x: x.std(), "dL/dx = dL/dz · (x - mean(x)) / (5 · z)"),
        (lambda x: x.var(dim=1, keepdim=True), "dL/dx = dL/dz · 2 · (x - mean(x, dim = 1)) / 2"),
        (lambda x: x.var(correction=0), "dL/dx = dL/dz · 2 · (x - mean(x)) / 6"),
        (lambda x: x.norm(), "dL/dx = dL/dz · x / z"),
        (lambda x: x.clamp(min=0), "dL/dx = dL/dz · (1 if x ≥ 0 else 0)"),
        (lambda x: x.clamp(max=0), "dL/dx = dL/dz · (1 if x ≤ 0 else 0)"),
        (lambda x: x.amax(), "dL/dx = dL/dz · (1 if x = z else 0) / count(x = z)"),
    ],
)
def test_arguments_that_are_none_leave_no_hole(make, expected):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    z = make(x)
    w = GradWidget(z)
    assert w["z"].formula.splitlines()[0].startswith(expected)
    assert "-)" not in latex(explain(w._inspection, w["z"].key).parts[0].line.maths)


@pytest.mark.parametrize(
    ("maths", "expected"),
    [
        (number("1e-07").maths, "10^{-7}"),
        (number("-3.25e+08").maths, r"-3.25\cdot 10^{8}"),
        (number("-inf").maths, r"-\infty "),
        (number("0.5").maths, "0.5"),
        (identifier("0.weight").maths, r"\text{0.weight}"),
        (identifier("a_b").maths, r"\mathrm{a\_b}"),
        (identifier("größe").maths, r"\text{größe}"),
        (identifier("~").maths, r"\text{\textasciitilde{}}"),
        (identifier("β").maths, r"\beta "),
        (barred(identifier("x")).maths, r"\bar{x}"),
        (barred(identifier("x1")).maths, r"\overline{\mathrm{x1}}"),
    ],
)
def test_numbers_and_names_in_latex(maths, expected):
    assert latex(maths) == expected


def test_a_matrix_in_latex_has_its_brackets():
    matrix = shown(torch.tensor([[1.0, 2.0], [3.0, 1e-7]]))
    bracketed = r"\begin{bmatrix}1 & 2 \\ 3 & 10^{-7}\end{bmatrix}"
    assert latex(matrix.maths) == bracketed
    assert latex(joined("=", identifier("A"), matrix).maths) == f"A={bracketed}"


@pytest.mark.parametrize("taken", [True, False])
def test_a_condition_with_its_value_is_the_branch_it_takes(taken):
    a, b = scalar(2.0), scalar(3.0)
    y = torch.where(torch.tensor(taken), a, b)
    out = y * 5.0
    w = GradWidget(out)
    out.backward()
    assert "if 1" not in w["y"].formula
    assert "if 0" not in w["y"].formula
    first, second = w["y"].formula.splitlines()
    assert first.endswith(f"= {a.grad or 0:g}")
    assert second.endswith(f"= {b.grad or 0:g}")
