"""Large models in JupyterLab: folded at first, unfolded and folded from both sides, searched, looked at in part."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

TESTS = Path(__file__).parent.parent
MODEL = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import torch
from gradwidget import GradWidget
from unit.models import gpt, lstm
model, loss = gpt()
w = GradWidget(loss, names=model, height=600, direction="down")
w
"""
CHAIN = """
import torch
from gradwidget import GradWidget
h = torch.ones((), requires_grad=True)
for _ in range(100_000):
    h = h + 0.001
w = GradWidget(h)
w
"""


def boxes(figure, count):
    expect(figure.root).to_have_attribute("data-gw-boxes", str(count))


def group(figure, name):
    return figure.root.locator(f'[data-gw-group][data-gw-name="{name}"]')


def fit(figure):
    figure.root.get_by_role("button", name="Fit").click()


def has_collapsed(lab, name, yes):
    for _ in range(50):
        if (name in lab.python("w.collapsed")) == yes:
            return
        lab.page.wait_for_timeout(100)
    raise AssertionError(f"{name} is {'not ' * yes}collapsed in Python")


def test_a_large_model_opens_folded_and_unfolds(lab):
    lab.open([MODEL])
    lab.run_cell(0)
    figure = lab.widget()
    first = lab.python("len(w._inspection.fold.visible(w.collapsed))")
    assert first <= 150
    boxes(figure, first)
    fit(figure)
    stack = group(figure, "h.0 … h.11")
    expect(stack).to_contain_text("× 12")
    expect(stack).to_contain_text("Block")

    stack.dblclick()
    boxes(figure, first + 11)
    has_collapsed(lab, "h", False)
    assert set(lab.python("w.collapsed")) >= {f"h.{i}" for i in range(12)}

    # by keyboard: into the first block and out of it again
    block = group(figure, "h.0")
    block.focus()
    lab.page.keyboard.press("Enter")
    has_collapsed(lab, "h.0", False)
    expect(group(figure, "h.0")).to_have_count(0)
    inner = group(figure, "ln_1").first
    inner.focus()
    lab.page.keyboard.press("Backspace")
    has_collapsed(lab, "h.0", True)
    boxes(figure, first + 11)

    # from Python
    lab.execute("w.collapsed = ['h', 'lm_head']")
    expect(group(figure, "h.0 … h.11")).to_have_count(1)
    boxes(figure, lab.python("len(w._inspection.fold.visible(w.collapsed))"))


def test_the_panel_tells_of_a_group_and_gradients_colour_it(lab):
    lab.open([MODEL, "loss.backward()"])
    lab.run_cell(0)
    figure = lab.widget()
    lab.run_cell(1)
    figure.has_passes(1)
    fit(figure)
    group(figure, "h.0 … h.11").click()
    panel = figure.root.locator("[data-gw-panel-group]")
    expect(panel).to_have_attribute("data-gw-panel-group", "h")
    norm = lab.python("f'{torch.cat([p.grad.flatten() for p in model.h.parameters()]).norm().item():.4g}'")
    expect(panel).to_contain_text(norm)
    figure.root.locator("[data-gw-colour]").get_by_text("|grad|").click()
    expect(group(figure, "h.0 … h.11")).to_have_attribute("data-gw-heat", re.compile(r"\d"))
    # the node at work lights the group that holds it
    key = lab.python("w['h.5.mlp.c_fc.weight'].key")
    lab.execute(f"w.step = w.passes[0].order.index({key}) + 1")
    expect(group(figure, "h.0 … h.11")).to_have_attribute("data-gw-at-work", "")


def test_the_search_finds_counts_and_unfolds(lab):
    lab.open([MODEL])
    lab.run_cell(0)
    figure = lab.widget()
    fit(figure)
    group(figure, "h.0 … h.11").click()
    lab.page.keyboard.press("/")
    lab.page.keyboard.type("h.7.mlp.c_fc.bias")
    expect(figure.root.locator("[data-gw-hits]")).to_have_attribute("data-gw-hits", "1")
    expect(group(figure, "h.0 … h.11")).to_have_attribute("data-gw-found", "1")
    lab.page.keyboard.press("Enter")
    expect(figure.root.locator('[data-gw-name="h.7.mlp.c_fc.bias"]')).to_be_visible()
    for _ in range(50):
        if lab.python("w.selected") == "h.7.mlp.c_fc.bias":
            break
        lab.page.wait_for_timeout(100)
    assert lab.python("w.selected") == "h.7.mlp.c_fc.bias"
    assert not {"h", "h.7", "h.7.mlp"} & set(lab.python("w.collapsed"))
    assert "h.6" in lab.python("w.collapsed")


def test_a_part_is_looked_at_alone(lab):
    lab.open([MODEL])
    lab.run_cell(0)
    figure = lab.widget()
    fit(figure)
    whole = int(figure.root.get_attribute("data-gw-boxes"))
    group(figure, "h.0 … h.11").click()
    figure.root.locator('[data-gw-focus="ancestors"]').click()
    crumbs = figure.root.locator("[data-gw-crumbs]")
    expect(crumbs).to_contain_text("up to")
    assert int(figure.root.get_attribute("data-gw-boxes")) < whole
    expect(group(figure, "ln_f")).to_have_count(0)
    crumbs.get_by_role("button", name="whole graph", exact=True).click()
    boxes(figure, whole)


def test_a_hundred_thousand_nodes_open_as_one_row(lab):
    lab.open([CHAIN])
    lab.run_cell(0)
    figure = lab.widget()
    row = group(figure, "Add")
    expect(row).to_contain_text("× 100000")
    longest = lab.page.evaluate(
        """() => new Promise((done) => {
            let last = performance.now(), longest = 0, count = 0;
            const tick = (now) => {
                longest = Math.max(longest, now - last);
                last = now;
                if (++count < 60) requestAnimationFrame(tick); else done(longest);
            };
            requestAnimationFrame(tick);
        })"""
    )
    assert longest < 1000
    row.dblclick()
    boxes(figure, 10)
    lab.execute(
        "try:\n    w.collapsed = []\nexcept Exception as error:\n    refused = str(error)\nelse:\n    refused = ''"
    )
    assert "100,001 boxes would have to be drawn" in lab.python("refused")
    assert len(lab.python("w.collapsed")) == 10
