"""Names, tensor objects and memory in JupyterLab: the tab, the jump to the node, and the static pictures."""

from __future__ import annotations

from browser.lab import DARK
from playwright.sync_api import expect

SETUP = """\
import torch, torch.nn as nn, gradwidget as gw
a = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    b = a
    c = a + 0
    v = a[:1]
e = a * c
loss = e.sum()"""
SHOW = "w = gw.GradWidget(loss)\nw"
STATIC = "gw.references(a=a, b=b, c=c, v=v)"
STATE = "gw.module_state(nn.ModuleDict({'one': nn.Linear(1, 1)}))"


def test_the_tab(lab):
    lab.open([SETUP, SHOW])
    lab.run_all()
    figure = lab.widget()
    tab = figure.root.get_by_role("tab", name="references")
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    a = figure.root.locator('[data-gw-ref="a"]')
    expect(a).to_contain_text("gradients arrive here")
    expect(figure.root.locator('[data-gw-ref="v"]')).to_contain_text("none will arrive")
    expect(figure.root.locator(".gw-refs-sentences")).to_contain_text("b.backward() is a.backward() and fills a.grad")
    # pointer and focus light up what belongs together
    a.hover()
    expect(figure.root.locator('[data-gw-ref-name="b"]')).to_have_class("gw-refs-name  gw-refs-lit")
    expect(figure.root.locator("[data-gw-ref-said]")).to_contain_text("b is a")
    a.focus()
    lab.page.keyboard.press("ArrowDown")
    expect(figure.root.locator('[data-gw-ref="v"]')).to_be_focused()
    lab.shot("references-light")
    lab.theme(DARK)
    lab.shot("references-dark")
    # names are those of now: the kernel is asked again
    lab.execute("renamed = c")
    lab.page.keyboard.press("Escape")
    expect(figure.node("e")).to_be_visible()
    tab.click()
    expect(figure.root.locator('[data-gw-ref-name="renamed"]')).to_be_visible()
    # a key shows the node in the graph
    figure.root.locator('[data-gw-ref="e"]').focus()
    lab.page.keyboard.press("Enter")
    figure.shows("e")
    assert lab.python("w[w.selected].name") == "e"
    # so does a click
    tab.click()
    figure.root.locator('[data-gw-ref="loss"]').click()
    figure.shows("loss")
    assert lab.python("w[w.selected].name") == "loss"


def test_it_answers_without_a_kernel(lab):
    lab.open([SETUP, SHOW])
    lab.run_all()
    figure = lab.widget()
    figure.select("e")
    lab.complaints.expected.append("Could not send widget sync message")
    lab.shut_kernel()
    figure.root.get_by_role("tab", name="references").click()
    figure.root.locator('[data-gw-ref="loss"]').click()
    figure.shows("loss")


def test_static_pictures_have_hover_and_keyboard_and_follow_the_theme(lab):
    lab.open([SETUP, STATIC, STATE])
    lab.run_all()
    picture = lab.page.locator(".gw-static .gw-refs")
    expect(picture).to_be_visible()
    expect(lab.page.locator(".gw-refs-plain")).not_to_be_visible()
    name = picture.locator(".gw-refs-name").nth(1)
    expect(name).to_have_css("box-shadow", "none")
    one = picture.locator(".gw-refs-object").first
    one.hover()
    expect(name).not_to_have_css("box-shadow", "none")
    lab.page.mouse.move(0, 0)
    expect(name).to_have_css("box-shadow", "none")
    one.focus()
    lab.page.keyboard.press("Tab")
    expect(picture.locator(".gw-refs-object").nth(1)).to_be_focused()
    expect(picture.locator(".gw-refs-name").nth(2)).not_to_have_css("box-shadow", "none")
    frame = lab.page.locator(".gw-static").first
    light = frame.evaluate("element => getComputedStyle(element).backgroundColor")
    lab.theme(DARK)
    expect(frame).not_to_have_css("background-color", light)
    expect(lab.page.locator("table.gw-state")).to_contain_text("one.weight")


LONG = """\
import functools
torch.manual_seed(0)
weight = torch.randn(2, 3, requires_grad=True)
names = {f"t{i}": torch.randn(3) for i in range(18)}
names["model.layers.11.attention.self.query.weight"] = weight
names["the_name_of_a_tensor_that_is_really_sixty_characters_long_yes"] = weight[0]
names["größe_テンソル_טנזור"] = weight.detach()
names["x" * 60] = weight.data
names["result"] = (weight * 2).sum()
names["copied"] = weight.detach().clone()
names["sparse"] = torch.eye(3).to_sparse()
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_output_projection_layer = nn.Linear(4, 4)
        self.partly = functools.partial(nn.Linear(1, 2))
        self.experts = [[nn.Linear(1, 1)]]
    scale = torch.ones(2)"""
CLIPPED = """root => [...root.querySelectorAll(
  ".gw-refs-name, .gw-refs-what, .gw-refs-value, .gw-refs-note, .gw-refs-verdict, .gw-state-scroll, .gw-state td"
)].filter(one => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline"
  || one.classList.contains("gw-refs-what") && one.scrollHeight > one.clientHeight + 1).map(one => one.textContent)"""


def test_long_names_and_a_nested_module_fit(lab):
    lab.open(
        [
            SETUP,
            LONG,
            "gw.references(**names)",
            "gw.module_state(nn.Sequential(Block(), Block()))",
            "w = gw.GradWidget(names['result'], names=names)\nw",
        ]
    )
    lab.run_all()
    figure = lab.widget()
    frames = lab.page.locator(".gw-static")
    expect(frames).to_have_count(2)
    for frame in frames.all():
        frame.scroll_into_view_if_needed()
        assert frame.evaluate(CLIPPED) == []
    pill = frames.first.locator(".gw-refs-name", has_text="self.query.weight")
    expect(pill).to_have_text("model.lay….self.query.weight")
    expect(pill).to_have_attribute("title", "model.layers.11.attention.self.query.weight")
    expect(frames.first.locator(".gw-refs-memory", has_text="can't be told")).to_be_visible()
    table = frames.last.locator("table.gw-state")
    expect(table).to_contain_text("self.add_module('partly_func', self.partly.func)")
    figure.root.get_by_role("tab", name="references").click()
    whole = "model.layers.11.attention.self.query.weight"
    expect(figure.root.locator(f'[data-gw-ref-name="{whole}"]')).to_have_text("model.lay….self.query.weight")
    assert figure.root.locator(".gw-references").evaluate(CLIPPED) == []
    lab.page.set_viewport_size({"width": 1000, "height": 1000})  # about 550 px for an output
    for note in frames.first.locator(".gw-refs-memory .gw-refs-note").all():
        assert note.evaluate("one => one.scrollWidth <= one.clientWidth + 1"), note.text_content()
    boxes = frames.first.locator(".gw-refs-memory").evaluate_all(
        "all => all.filter(one => one.scrollHeight > one.clientHeight + 1).map(one => one.textContent)"
    )
    assert boxes == []
