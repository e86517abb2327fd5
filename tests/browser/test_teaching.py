"""Formulas, the trace beside the graph, and predict mode, in JupyterLab."""

from __future__ import annotations

from browser.lab import DARK
from browser.test_notebook_01 import EXAMPLE
from playwright.sync_api import expect

SURVEY = """
import torch, gradwidget as gw
x1 = torch.tensor(2.0, requires_grad=True)
x2 = torch.tensor(5.0, requires_grad=True)
y = torch.log(x1) + x1 * x2 - torch.sin(x2)
w = gw.GradWidget(y)
w
"""


def open_tab(figure, name):
    figure.root.locator(f"[data-gw-tab-of={name}]").click()
    expect(figure.root.locator(f"[data-gw-side={name}]")).to_be_visible()


def maths(locator):
    """What a screen reader says of each piece of mathematics."""
    return [one.get_attribute("aria-label") for one in locator.locator(".gw-maths").all()]


def test_the_panel_typesets_the_chain_rule_with_the_numbers_in(lab):
    lab.open([EXAMPLE, "e.backward()"])
    lab.run_cell(0)
    figure = lab.widget()
    panel = figure.select("d")
    line = panel.locator('[aria-label^="dL/da"]')
    expect(line).to_have_attribute("aria-label", "dL/da = dL/dd · b = dL/dd · 1.2")
    lab.run_cell(1)
    expect(line).to_have_attribute("aria-label", "dL/da = dL/dd · b = 1.3 · 1.2 = 1.56")
    fraction = panel.locator("[data-gw-formula] mfrac").first
    expect(fraction).to_be_visible()
    above, below = (fraction.locator("> *").nth(i).bounding_box() for i in (0, 1))
    assert above["y"] + above["height"] <= below["y"] + 1  # typeset: one above the other
    box, inside = panel.bounding_box(), line.bounding_box()
    assert inside["x"] + inside["width"] <= box["x"] + box["width"]
    lab.shot("formula-light")
    lab.theme(DARK)
    lab.shot("formula-dark")
    assert lab.python("w['d'].formula").splitlines()[0] == "dL/da = dL/dd · b = 1.3 · 1.2 = 1.56"
    lab.execute("w.selected = 'a'")
    expect(panel.locator("[data-gw-formula-arrival] .gw-maths")).to_be_visible()
    # the player's line calculates too
    lab.execute("w.step = w.passes[0].order.index(w['d'].key) + 1")
    expect(figure.root.locator("[data-gw-step-line]")).to_contain_text("1.3 · 1.2 = 1.56 to a")


def test_the_trace_lights_up_with_graph_and_player(lab):
    lab.open([SURVEY, "y.backward()"])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    figure.has_passes(1)
    open_tab(figure, "trace")
    table = figure.root.locator("[data-gw-trace]")
    rows = table.locator(".gw-trace-row")
    expect(rows).to_have_count(8)
    found = maths(table)
    assert "v₅ = v₄ - v₃ = 10.693 - (-0.959) = 11.652" in found
    assert {"v̄₋₁ = x̄1 = 5.5", "v̄₀ = x̄2 = 1.716"} <= set(found)
    lab.shot("trace-light")

    figure.root.get_by_role("button", name="Fit").click()
    rows.nth(0).hover()
    expect(figure.root.locator(".gw-lit-node")).to_have_attribute("data-gw-name", "x1")
    figure.node("x2").hover()
    expect(table.locator(".gw-lit-row")).to_have_attribute("data-gw-trace-key", str(figure.key("x2")))

    rows.nth(1).click()
    expect(figure.root.locator(".gw-node.gw-selected").first).to_have_attribute("data-gw-name", "x2")
    assert lab.python("w.selected") == "x2"
    lab.execute("w.selected = 'x1'")
    expect(table.locator(".gw-chosen")).to_have_attribute("data-gw-trace-key", str(figure.key("x1")))

    lab.execute("w.step = 1")
    expect(table.locator(".gw-now").first).to_have_attribute("data-gw-trace-key", str(figure.key("y")))
    expect(table.locator("tbody [data-gw-adjoint] .gw-maths")).to_have_count(2)
    rows.nth(3).focus()
    lab.page.keyboard.press("]")
    expect(table.locator("tbody [data-gw-adjoint] .gw-maths")).not_to_have_count(2)
    assert lab.python("w.step") == 2
    lab.theme(DARK)
    lab.shot("trace-dark")

    lab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    figure.root.locator("[data-gw-copy=Markdown]").click()
    expect(figure.root.locator("[data-gw-copy=Markdown]")).to_have_text("copied")
    assert lab.page.evaluate("navigator.clipboard.readText()") == lab.python("w.trace().to_markdown()")


def test_the_trace_of_a_large_graph_comes_when_asked_for(lab):
    code = SURVEY.replace("w = gw", "for _ in range(120): y = y * 1.01\nw = gw")
    lab.open([code, "y.backward()"])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    assert lab.python("len(w._trace)") == 0
    open_tab(figure, "trace")
    expect(figure.root.locator(".gw-trace-row")).to_have_count(128)


def test_the_trace_answers_without_a_kernel(lab):
    lab.open([SURVEY, "y.backward()"])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    figure.has_passes(1)
    lab.shut_kernel()
    expect(figure.root.locator("[data-gw-silence]")).to_be_visible()
    open_tab(figure, "trace")
    expect(figure.root.locator(".gw-trace-row")).to_have_count(8)


def test_predict_with_nothing_to_ask_says_why(lab):
    code = "x = torch.rand(50, requires_grad=True)\ny = (x * 2).sum()\nw = gw.GradWidget(y)\nw"
    code = f"import torch, gradwidget as gw\n{code}"
    lab.open([code, "y.backward()", "quiz = w.quiz()"])
    lab.run_all()
    lab.show_widget()
    strip = lab.widget().root.locator("[data-gw-quiz]")
    expect(strip).to_contain_text("No gradient here is short enough to be typed.")


def test_predict_hint_right_and_the_teacher_reads_along(lab):
    lab.open([EXAMPLE, "e.backward()", "quiz = w.quiz()"])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    strip = figure.root.locator("[data-gw-quiz]")
    expect(strip).to_have_attribute("data-gw-score", "0/4")
    expect(figure.gradient("a")).to_contain_text("?")
    figure.node("a").click()
    card = figure.root.locator("[data-gw-quiz-card]")
    field = card.get_by_role("textbox")
    field.fill("1.3")
    field.press("Enter")
    expect(card).to_have_attribute("data-gw-quiz-state", "wrong")
    card.locator("[data-gw-quiz-hint]").click()
    expect(card.locator(".gw-maths")).to_have_attribute("aria-label", "dL/da = dL/dd · b")
    lab.shot("quiz-light")
    field.fill("1.56")
    card.get_by_role("button", name="check").click()
    expect(card).to_have_attribute("data-gw-quiz-state", "right")
    expect(strip).to_have_attribute("data-gw-score", "1/4")
    expect(figure.gradient("a")).to_contain_text("1.56")
    expect(figure.gradient("b")).to_contain_text("?")
    assert lab.python("[quiz.score, [[a.name, a.tries, a.right, a.hinted] for a in quiz.answers]]") == [
        [1, 4],
        [["a", ["1.3", "1.56"], True, True]],
    ]
    lab.theme(DARK)
    lab.shot("quiz-dark")
    figure.root.locator("[data-gw-quiz-end]").click()
    expect(figure.gradient("b")).to_contain_text("1.43")
    assert lab.python("quiz.running") is False
    figure.root.locator("[data-gw-quiz-switch]").click()
    expect(figure.gradient("b")).to_contain_text("?")
    assert lab.python("w.quiz().score") == [0, 4]


def test_larger_type_for_the_back_row(lab):
    lab.open([EXAMPLE, "e.backward()"])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    panel = figure.select("d")
    before = panel.locator("h3").bounding_box()["height"]
    figure.root.locator("[data-gw-large]").click()
    expect(figure.root).to_have_class("gw-root gw-large")
    assert panel.locator("h3").bounding_box()["height"] > 1.3 * before
    lab.shot("large")
