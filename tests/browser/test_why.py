"""Diagnoses: in the panel of a node, and under a cell with `%why`."""

from __future__ import annotations

from browser.lab import DARK
from playwright.sync_api import expect

WHERE = """\
import torch
import gradwidget as gw
%load_ext gradwidget
x = torch.tensor([-4.0, 9.0], requires_grad=True)
root = x.sqrt()
y = torch.where(x > 0, root, x)
loss = y.sum()
w = gw.GradWidget(loss)
w"""
WHY = "[data-gw-why]"


def test_the_panel_says_cause_remedy_and_evidence(lab):
    lab.open([WHERE, "loss.backward()"])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    figure.has_passes(1)
    figure.select("x")
    why = figure.root.locator(WHY)
    expect(why).to_have_attribute("data-gw-why", "nan-sqrt")
    expect(why.locator(".gw-why-cause")).to_contain_text("Sqrt (root, cell 1, line 5)")
    expect(why.locator(".gw-why-remedy code").first).to_contain_text("torch.where(ok, x, 1.0)")
    expect(why.get_by_role("listitem").first).to_contain_text("x.grad has NaN")
    assert lab.python("w['x'].why.kind") == "nan-sqrt"
    why.scroll_into_view_if_needed()
    why.get_by_role("listitem").last.scroll_into_view_if_needed()
    lab.shot("why-light")
    lab.theme(DARK)
    lab.shot("why-dark")


def test_the_magic_explains_a_failed_cell(lab):
    lab.open([WHERE, "root += 1", "root.sum().backward()", "%why", "%why x loss"])
    for cell in range(5):
        lab.run_cell(cell)
    outputs = lab.page.locator(".jp-OutputArea-output")
    told = outputs.filter(has_text="was changed in place after")
    expect(told).to_contain_text("root = root + 1")
    expect(told).to_contain_text("cell 3, line 1")
    expect(told).to_contain_text("cell 2, line 1")
    told.scroll_into_view_if_needed()
    lab.shot("why-magic")
