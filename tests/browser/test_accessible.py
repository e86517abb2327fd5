"""axe-core on the standalone page, and the keyboard."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from browser.test_html import group, lesson, model, opened
from playwright.sync_api import expect

__all__ = ["opened"]

AXE = Path(__file__).parents[2] / "gradwidget" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
# Its rule on names reads pieces of text that stand beside each other as one word: NAMES is that rule by the piece.
RUN = """async () => (await axe.run(document, {
  resultTypes: ["violations"], rules: { "label-content-name-mismatch": { enabled: false } } })).violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .map(({ id, nodes }) => [id, nodes.slice(0, 5).map(({ target, any, all, none }) =>
    [String(target).slice(-80), [...any, ...all, ...none][0]?.message])])"""
# A box's second line and its count say in short what its name says in words.
NAMES = """(root) => [...root.querySelectorAll("button[aria-label], [role=button][aria-label]")].flatMap((one) => {
  const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const { parentElement, nodeValue } = walker.currentNode;
    const muted = parentElement.closest("title, .gw-sub, .gw-times-text");
    if (!muted && parentElement.checkVisibility()) texts.push(nodeValue);
  }
  const name = one.getAttribute("aria-label").toLowerCase();
  return texts
    .map((text) => text.trim().replace(/…$/, "").toLowerCase())
    .filter((text) => /[a-z0-9]/.test(text) && !name.includes(text))
    .map((text) => `${text} is not in: ${name.slice(0, 120)}`);
})"""
STOPS = """(root) => [...root.querySelectorAll("button, input, select, a[href], summary, [tabindex], [role=button]")]
  .filter((one) => one.checkVisibility() && !one.closest("[inert]") && !one.disabled)
  .filter((one) => one.tabIndex < 0)
  .filter((one) => !one.closest("[role=tablist], svg.gw-surface, [data-gw-ref-column]"))
  .map((one) => one.outerHTML.slice(0, 120))"""

FOCUSED = """(root) => root.getRootNode().activeElement?.closest("[data-gw-key], [data-gw-group]")"""


@pytest.fixture(scope="session")
def axe():
    if AXE.exists():
        return AXE.read_text("utf-8")
    told = "axe-core is not installed: npm ci in gradwidget/frontend"
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(told)
    return pytest.skip(told)


def violations(page):
    names = page.locator(".gw-root").evaluate(NAMES)
    return page.evaluate(RUN) + ([["names", names]] if names else [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [lesson, model], ids=["lesson", "model"])
def test_axe_finds_nothing_serious(opened, axe, make, scheme):
    page, figure = opened(make(), color_scheme=scheme, reduced_motion="reduce")
    page.evaluate(axe)
    found = {"first": violations(page)}
    if make is lesson:
        figure.select("d")
        found["node"] = violations(page)
        figure.root.locator("[data-gw-colour=grad]").click()
        page.keyboard.press("[")
        figure.root.locator("[data-gw-tab-of=trace]").click()
        expect(figure.root.locator("[data-gw-trace-key]").first).to_be_visible()
        found["trace"] = violations(page)
        figure.root.locator("[data-gw-tab=references]").click()
        expect(figure.root.locator("[data-gw-ref]").first).to_be_visible()
        found["references"] = violations(page)
        figure.root.locator("[data-gw-tab=graph]").click()
        figure.root.locator("[data-gw-quiz-switch]").click()
        found["quiz"] = violations(page)
    else:
        group(figure, "h.0 … h.11").click()
        found["group"] = violations(page)
    told = [f"{where}: {rule}: {node}" for where, rules in found.items() for rule, nodes in rules for node in nodes]
    assert not told, "\n".join(told)


def test_every_control_is_reached_by_keyboard(opened):
    _, figure = opened(lesson())
    figure.select("d")
    assert figure.root.evaluate(STOPS) == []


def test_the_focus_stays_when_a_box_unfolds(opened):
    page, figure = opened(model())
    boxes = figure.root.get_attribute("data-gw-boxes")
    group(figure, "h.0 … h.11").focus()
    page.keyboard.press("Enter")
    expect(figure.root).not_to_have_attribute("data-gw-boxes", boxes)
    expect(group(figure, "h.0")).to_be_visible()
    page.wait_for_function(FOCUSED, arg=figure.root.element_handle())
    page.keyboard.press("Backspace")
    expect(figure.root).to_have_attribute("data-gw-boxes", boxes)
    expect(group(figure, "h.0 … h.11")).to_be_focused()
