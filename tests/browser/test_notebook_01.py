"""Notebook 01 as a student meets it: run it, click, read the numbers, in both themes."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser.lab import DARK, LIGHT
from playwright.sync_api import expect

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_trace_backward.ipynb"
VALUES = {"a": "1.1", "b": "1.2", "c": "1.3", "d": "1.32"}
GRADIENTS = {"a": "1.56", "b": "1.43", "c": "1.32", "d": "1.3"}

EXAMPLE = """\
import torch, gradwidget as gw
a = torch.tensor(1.1, requires_grad=True)
b = torch.tensor(1.2, requires_grad=True)
c = torch.tensor(1.3, requires_grad=True)
d = a * b
e = d * c
w = gw.GradWidget(e)
w"""


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_notebook_01(lab, theme):
    lab.open(NOTEBOOK)
    lab.theme(theme)
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    figure.has_passes(1)

    # on the wires
    for name, value in VALUES.items():
        expect(figure.value(name)).to_contain_text(value)
    for name, gradient in GRADIENTS.items():
        expect(figure.gradient(name)).to_contain_text(gradient)

    # the last cell selected d from Python; clicks move the selection, and Python knows
    figure.shows("d")
    for name in "abcd":
        panel = figure.select(name)
        expect(panel).to_contain_text(VALUES[name])
        expect(panel).to_contain_text(GRADIENTS[name])
        assert lab.python("w[w.selected].name") == name

    # saved variables of d: both factors
    panel = figure.select("d")
    for text in ("self", "1.1", "other", "1.2"):
        expect(panel).to_contain_text(text)
    lab.shot(f"click-d-{theme.split()[-1].lower()}")

    # and the other way round
    lab.execute('w.selected = "a"')
    expect(figure.shows("a")).to_contain_text("1.56")


def test_gradients_fill_in_the_figure_that_is_on_screen(lab):
    lab.open([EXAMPLE, "e.backward()"])
    lab.run_cell(0)
    figure = lab.widget()
    figure.has_passes(0)
    expect(figure.value("d")).to_contain_text("1.32")
    expect(figure.gradient("d")).to_have_count(0)
    figure.select("d")

    lab.run_cell(1)
    figure.has_passes(1)
    for name, gradient in GRADIENTS.items():
        expect(figure.gradient(name)).to_contain_text(gradient)
    expect(figure.shows("d")).to_contain_text("1.3")
