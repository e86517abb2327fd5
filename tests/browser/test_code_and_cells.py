"""Code and cells in a real JupyterLab: a line lights its nodes, a node its line; the strip leads back and forth."""

from __future__ import annotations

import pytest
from browser.lab import DARK
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = [
    "import torch, gradwidget as gw\n%load_ext gradwidget",
    (
        "a = torch.tensor(2.0, requires_grad=True)\nb = torch.tensor(3.0, requires_grad=True)\n"
        "opt = torch.optim.SGD([a, b], lr=0.5)"
    ),
    "d = a * b  # <b>the product</b>\ne = d.exp() + d\nw = gw.GradWidget(e)\nw",
    "e.backward()",
    "opt.step()",
    "opt.zero_grad()",
]


def line(figure, number):
    return figure.root.locator(f'[data-gw-line="cell 3:{number}"]')


def lights(figure):
    return figure.root.locator(".gw-lights rect")


def test_a_line_lights_its_nodes_and_a_node_its_line(lab):
    lab.page.set_viewport_size({"width": 1600, "height": 1000})
    lab.open(CELLS[:3])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    line(figure, 2).hover()
    expect(lights(figure)).to_have_count(2)
    figure.node("d").hover()
    expect(lights(figure)).to_have_count(0)
    expect(line(figure, 1)).to_have_attribute("data-gw-line-lit", "1")
    expect(line(figure, 2)).to_have_attribute("data-gw-line-lit", "0")
    expect(line(figure, 1)).to_contain_text("d = a * b  # <b>the product</b>")
    line(figure, 1).click()
    expect(figure.shows("d")).to_contain_text("cell 3, line 1")
    assert lab.python("w.selected") == "d"
    lab.shot("code-light")
    lab.theme(DARK)
    lab.shot("code-dark")
    figure.root.locator(".gw-code-toggle").click()
    expect(line(figure, 1)).to_have_count(0)


def test_the_strip_leads_back_and_forth(lab):
    lab.page.set_viewport_size({"width": 1600, "height": 1000})
    lab.open(CELLS)
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    strip = figure.root.locator("[data-gw-cell]")
    expect(strip).to_have_text(["cell 3: built", "cell 4: backward", "cell 5: step", "cell 6: zero_grad"])
    stepped = 2 - 0.5 * lab.python("float(w['a'].gradient)")
    expect(figure.value("a")).to_contain_text(f"{stepped:.4g}")
    expect(figure.gradient("a")).to_contain_text("none")
    strip.nth(1).click()
    expect(figure.value("a")).to_contain_text("2")
    expect(figure.gradient("a")).to_contain_text(f"{lab.python('w.cells[1].gradients[w[chr(97)].key].item()'):.4g}")
    strip.nth(0).click()
    expect(figure.gradient("a")).to_have_count(0)
    expect(figure.root.locator("[data-gw-player]")).to_have_count(0)
    figure.select("a")
    expect(figure.panel.locator("[data-gw-cell-facts]")).to_contain_text("none")
    lab.shot("cells-light")
    strip.nth(3).click()
    expect(figure.gradient("a")).to_contain_text("none")
    expect(figure.panel.locator("[data-gw-cell-facts]")).to_have_count(0)
    assert lab.python("[r.what for r in w.cells]") == [["built"], ["backward"], ["step"], ["zero_grad"]]
