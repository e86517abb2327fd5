"""The evaluation trace: the survey's example (arXiv:1502.05767, Tables 2 and 3) row by row, and forward mode."""

from __future__ import annotations

import ast
import csv
import io

import pytest
import torch
from torch import nn

from gradwidget import GradWidget, OptionError, UnknownNodeError


@pytest.fixture
def survey():
    x1 = torch.tensor(2.0, requires_grad=True)
    x2 = torch.tensor(5.0, requires_grad=True)
    y = torch.log(x1) + x1 * x2 - torch.sin(x2)
    w = GradWidget(y)
    y.backward()
    return w


def test_forward_primal_and_reverse_adjoint_as_in_table_3(survey):
    rows = [(r.symbol, r.primal, r.value, r.gradient) for r in survey.trace()]
    assert rows == [
        ("v₋₁", "x1", "2", "5.5"),
        ("v₀", "x2", "5", "1.716"),
        ("v₁", "ln(v₋₁)", "0.693", "1"),
        ("v₂", "v₋₁ · v₀", "10", "1"),
        ("v₃", "sin(v₀)", "-0.959", "-1"),
        ("v₄", "v₁ + v₂", "10.693", "1"),
        ("v₅", "v₄ - v₃", "11.652", "1"),
    ]


def test_statements_of_the_reverse_pass_as_in_table_3(survey):
    assert [[a.line.text for a in row.adjoints] for row in survey.trace()] == [
        ["v̄₋₁ = x̄1 = 5.5"],
        ["v̄₀ = x̄2 = 1.716"],
        ["v̄₋₁ = v̄₋₁ + v̄₁ · (1 / v₋₁) = 5.5"],
        ["v̄₋₁ = v̄₂ · v₀ = 5", "v̄₀ = v̄₀ + v̄₂ · v₋₁ = 1.716"],
        ["v̄₀ = v̄₃ · cos(v₀) = -0.284"],
        ["v̄₁ = v̄₄ · 1 = 1", "v̄₂ = v̄₄ · 1 = 1"],
        ["v̄₄ = v̄₅ · 1 = 1", "v̄₃ = v̄₅ · (-1) = -1"],
    ]
    (last,) = survey.trace().outputs
    assert (last.symbol, last.primal, last.value, last.adjoint) == ("y", "v₅", "11.652", "v̄₅ = ȳ = 1")


def test_forward_tangent_as_in_table_2(survey):
    found = survey.trace(tangent="x1")
    assert [row.tangent for row in found] == ["1", "0", "0.5", "5", "0", "5.5", "5.5"]
    assert [row.pieces["tangent"].text for row in found][2:] == [
        "v̇₁ = v̇₋₁ · (1 / v₋₁) = 0.5",
        "v̇₂ = v̇₋₁ · v₀ + v̇₀ · v₋₁ = 5",
        "v̇₃ = v̇₀ · cos(v₀) = 0",
        "v̇₄ = v̇₁ + v̇₂ = 5.5",
        "v̇₅ = v̇₄ - v̇₃ = 5.5",
    ]
    assert survey.trace(tangent="x2")[-1].tangent == "1.716"


def test_the_order_does_not_hang_on_how_it_was_written():
    x1 = torch.tensor(2.0, requires_grad=True)
    x2 = torch.tensor(5.0, requires_grad=True)
    v1 = torch.log(x1)
    v2 = x1 * x2
    v3 = torch.sin(x2)
    y = (v1 + v2) - v3
    assert [r.symbol + " " + r.op for r in GradWidget(y).trace()] == [
        "v₋₁ leaf", "v₀ leaf", "v₁ Log", "v₂ Mul", "v₃ Sin", "v₄ Add", "v₅ Sub",
    ]  # fmt: skip


def test_before_a_pass_there_are_no_adjoints():
    x = torch.tensor(2.0, requires_grad=True)
    rows = GradWidget(x.exp()).trace()
    assert [r.gradient for r in rows] == ["", ""]
    assert rows[1].adjoint == "v̄₀ = v̄₁ · exp(v₀)"


def test_prints_as_markdown_latex_csv_html(survey):
    found = survey.trace()
    assert isinstance(found, list)
    assert "| v₃ = sin(v₀) = sin(5) = -0.959 | v̄₀ = v̄₃ · cos(v₀) = -0.284 |" in found.to_markdown().splitlines()
    latex = found.to_latex()
    assert latex.startswith("\\begin{tabular}{ll}")
    assert "${v}_{1}=\\ln({v}_{-1})=\\ln(2)=0.693$" in latex
    assert latex.isascii()
    rows = list(csv.DictReader(io.StringIO(survey.trace(tangent="x1").to_csv())))
    assert [(row["step"], row["value"], row["tangent"], row["gradient"]) for row in rows][-1] == (
        "v₅", "11.652072", "5.5", "1.0",
    )  # fmt: skip
    assert found._repr_html_().count("<tr>") == 9
    assert repr(found).splitlines()[0].split() == ["forward", "primal", "reverse", "adjoint"]
    assert repr(found[2]) == "TraceRow(v₁ = ln(v₋₁), 0.693, gradient 1)"


def test_csv_reads_back_as_the_same_numbers():
    x = torch.tensor([1 / 3, 1e-9], dtype=torch.float64, requires_grad=True)
    y = (x * x).sum()
    with GradWidget(y) as w:
        y.backward()
        rows = {row["name"]: row for row in csv.DictReader(io.StringIO(w.trace().to_csv()))}
    assert ast.literal_eval(rows["x"]["value"]) == x.tolist()
    assert ast.literal_eval(rows["x"]["gradient"]) == x.grad.tolist()
    assert float(rows["y"]["value"]) == y.item()
    assert w["x"].value is not None
    assert w.trace()[0].value == "[0.333, 1e-09]"  # the table stays short


def test_hostile_names_are_text_everywhere():
    evil = "</td><script>|_$&\\"
    x = torch.tensor(2.0, requires_grad=True)
    with GradWidget(x.exp(), names={evil: x}) as w:
        found = w.trace()
    assert "<script>" not in found._repr_html_()
    assert "\\<script\\>\\|" in found.to_markdown()
    assert "\\_\\$\\&\\textbackslash{}" in found.to_latex()


def jvp(f, inputs, directions):
    return torch.func.jvp(f, inputs, directions)[1]


PROGRAMS = {
    "scalars": lambda a, b: (a * b).sin() / (1 + a.exp()) - b**3,
    "softmax": lambda a, b: (a.softmax(0) * b.log_softmax(0)).sum(),
    "broadcast": lambda a, b: (a.unsqueeze(1) - b.unsqueeze(0)).abs().mean(),
    "matrix": lambda a, b: (torch.outer(a, b) @ a).relu().norm(),
    "views": lambda a, b: torch.cat([a[1:], b.flip(0)]).view(1, -1).cumsum(1).max(),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # torch.func's own import
@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_are_those_of_torch_func_jvp(name):
    torch.manual_seed(1)
    a, b = (torch.rand(3, dtype=torch.float64).requires_grad_() for _ in "ab")
    va, vb = torch.rand(3, dtype=torch.float64), torch.rand(3, dtype=torch.float64)
    out = PROGRAMS[name](a, b).sum()
    with GradWidget(out) as w:
        rows = w.trace(tangent={"a": va, "b": vb})
        expected = jvp(lambda a, b: PROGRAMS[name](a, b).sum(), (a.detach(), b.detach()), (va, vb))
        assert float(rows[-1].tangent) == pytest.approx(float(expected), abs=1e-3)
        assert (a.grad, b.grad, w.passes) == (None, None, [])


def test_tangents_of_what_has_no_formula_are_unknown():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("never run by a look")

    x = torch.tensor(2.0, requires_grad=True)
    assert [row.tangent for row in GradWidget(Double.apply(x).exp()).trace(tangent="x")] == ["1", "", ""]


def test_directions_that_are_none(survey):
    with pytest.raises(OptionError, match="not an input of the graph"):
        survey.trace(tangent="y")
    with pytest.raises(UnknownNodeError, match="x3"):
        survey.trace(tangent="x3")
    with pytest.raises(OptionError, match="shape"):
        survey.trace(tangent={"x1": torch.ones(2)})
    with pytest.raises(OptionError, match="no direction"):
        survey.trace(tangent=3)


def test_a_layer_in_the_trace():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    loss = net(torch.ones(1, 2)).pow(2).mean()
    with GradWidget(loss) as w:
        loss.backward()
        found = w.trace()
    assert len(found) == len(w)
    by_name = {row.name: row for row in found}
    assert by_name["net.2.bias"].gradient == f"[{net[2].bias.grad.item():.3f}]"


def test_a_long_chain_has_rows_without_expressions():
    h = torch.ones((), requires_grad=True)
    for _ in range(3_000):
        h = h + 0.001
    with GradWidget(h) as w:
        found = w.trace()
    assert len(found) == 3_001
    assert found[-1].op == "Add"
    assert repr(found).splitlines()[-1].endswith("more steps")
