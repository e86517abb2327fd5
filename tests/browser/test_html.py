"""What `to_html` writes, opened from disk with the network off."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from browser.lab import Complaints, Figure, Select
from playwright.sync_api import expect
from unit.models import gpt

import gradwidget as gw


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a widget's page in Chromium, from disk and offline. At the end: no console error, no request."""
    contexts = []
    complaints = Complaints()

    def show(widget, name="graph.html", **options):
        path = tmp_path / name
        widget.to_html(path)
        widget.close()
        context = browser.new_context(viewport={"width": 1300, "height": 900}, **options)
        contexts.append(context)
        context.set_offline(True)
        context.route(lambda url: not url.startswith(("file:", "blob:", "data:")), lambda route: route.abort())
        page = context.new_page()
        complaints.watch(page)
        page.goto(path.as_uri())
        root = page.locator(Select.READY)
        expect(root).to_be_visible()
        return page, Figure(root)

    yield show
    complaints.check()
    for context in contexts:
        context.close()


def lesson():
    with gw.record():
        a = torch.tensor(1.1, requires_grad=True)
        b = torch.tensor(1.2, requires_grad=True)
        c = torch.tensor(1.3, requires_grad=True)
        d = a * b
        e = d * c
    w = gw.GradWidget(e)
    e.backward()
    return w


def model():
    torch.manual_seed(0)
    net, loss = gpt()
    w = gw.GradWidget(loss, names=net, direction="down")
    loss.backward()
    return w


def test_it_answers_from_disk_without_a_network(opened):
    page, figure = opened(lesson())
    figure.has_passes(1)
    panel = figure.select("d")
    expect(panel).to_contain_text("1.32")
    expect(panel.locator('[aria-label^="dL/da"]')).to_have_attribute(
        "aria-label", "dL/da = dL/dd · b = 1.3 · 1.2 = 1.56"
    )
    expect(panel).to_contain_text("Freed by backward()")
    # step by step
    page.keyboard.press("[")
    expect(figure.root.locator("[data-gw-step]").first).to_be_visible()
    # the trace beside it
    figure.root.locator("[data-gw-tab-of=trace]").click()
    expect(figure.root.locator("[data-gw-side=trace]")).to_contain_text("1.716")
    # the references
    figure.root.locator("[data-gw-tab=references]").click()
    expect(figure.root.locator(".gw-references")).to_contain_text("a")
    figure.root.locator("[data-gw-tab=graph]").click()
    # the code that made it
    expect(figure.root).to_contain_text("d = a * b")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def group(figure, name):
    return figure.root.locator(f'[data-gw-group][data-gw-name="{name}"]').first


def test_a_large_model_unfolds_and_is_searched(opened):
    page, figure = opened(model())
    figure.root.get_by_role("button", name="Fit").click()
    first = int(figure.root.get_attribute("data-gw-boxes"))
    assert first <= 150
    group(figure, "h.0 … h.11").dblclick()
    expect(figure.root).to_have_attribute("data-gw-boxes", str(first + 11))
    group(figure, "h.0").focus()
    page.keyboard.press("Enter")
    expect(group(figure, "h.0")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("h.7.mlp.c_fc.bias")
    expect(figure.root.locator("[data-gw-hits]")).to_have_attribute("data-gw-hits", "1")
    page.keyboard.press("Enter")
    # folded away when the page was written, and here with its gradient all the same
    panel = figure.shows("h.7.mlp.c_fc.bias")
    expect(panel).to_contain_text("gradient")
    expect(panel).not_to_contain_text("not saved with this page")
    expect(figure.gradient("h.7.mlp.c_fc.bias")).to_have_count(0)


def test_nothing_hostile_runs(opened):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    evil = '</script><img src=x onerror="window.pwned=1"><!--<script>window.pwned=1</script>\u202e\ud800'
    y = x * 2
    long = (y * y).sum()
    w = gw.GradWidget(long, names={evil: x, "'\"" + "A" * 10_000: y, "`${window.pwned=1}`": long})
    long.backward()
    page, figure = opened(w)
    figure.root.locator(Select.NODE).first.click()
    expect(figure.panel).to_be_visible()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_readers_theme(opened, scheme):
    page, figure = opened(lesson(), color_scheme=scheme)
    expect(figure.root).to_have_attribute("data-gw-theme", scheme)
    red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red + green + blue > 600) == (scheme == "light")


def test_without_scripts_the_graph_is_told_as_text(opened, browser, tmp_path):
    path = tmp_path / "plain.html"
    lesson().to_html(path)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator("noscript pre")).to_contain_text("e = Mul: 5 nodes, 4 edges")
    context.close()


def test_a_folded_page_is_searched_looked_at_in_part_and_mapped(opened):
    w = model()
    keys = [k for k, d in w.graph.nodes(data=True) if d["label"] == "Gelu"]
    weight = w["h.5.mlp.c_fc.weight"].key
    reach = len(nx.ancestors(w.graph, weight)) + 1
    page, figure = opened(w)
    root = figure.root
    whole = int(root.get_attribute("data-gw-boxes"))
    assert whole < 30
    root.get_by_role("button", name="Fit").click()

    # hits inside of what is folded are counted on it
    page.keyboard.press("/")
    root.locator("[data-gw-search]").fill("gelu")
    expect(root.locator("[data-gw-hits]")).to_have_attribute("data-gw-hits", str(len(keys)))
    stack = root.locator('[data-gw-group][data-gw-name="h.0 … h.11"]')
    expect(stack).to_have_attribute("data-gw-found", str(len(keys)))

    # Enter unfolds the way to the one that is meant
    root.locator("[data-gw-search]").fill("h.5.mlp.c_fc.weight")
    page.keyboard.press("Enter")
    leaf = root.locator(f'[data-gw-key="{weight}"]').first
    expect(leaf).to_be_in_viewport()
    expect(root.locator("[data-gw-panel-key]")).to_have_attribute("data-gw-panel-key", str(weight))

    # a part of the graph, and back by keyboard
    opened_boxes = root.get_attribute("data-gw-boxes")
    expect(root.locator('[data-gw-focus="ancestors"]')).to_have_count(0)
    root.locator('[data-gw-focus="descendants"]').press("Enter")
    crumbs = root.locator("[data-gw-crumbs]")
    expect(crumbs).to_contain_text(f"{reach} nodes")
    expect(leaf).to_be_in_viewport()
    crumbs.get_by_role("button", name="whole graph", exact=True).press("Enter")
    expect(root).to_have_attribute("data-gw-boxes", opened_boxes)

    # the map leads from end to end
    root.locator('[data-gw-group][data-gw-name="h.4"]').press("Enter")
    chart = root.locator("[data-gw-map]")
    expect(chart).to_be_visible()
    for share, name in ((0.02, "wte"), (0.98, "loss")):
        box = chart.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * share)
        expect(root.locator(f'[data-gw-name="{name}"]').first).to_be_in_viewport()
