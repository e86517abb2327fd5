"""What happened in backward(): the player, its steps from both sides, hooks, bad numbers, probe, loops."""

from __future__ import annotations

import re

from browser.lab import DARK
from browser.test_notebook_01 import EXAMPLE
from playwright.sync_api import expect

PLAYER = "[data-gw-player]"
STEP_LINE = "[data-gw-step-line]"
AT_WORK = "[data-gw-at-work]"


def at_step(figure, step):
    expect(figure.root.locator(PLAYER)).to_have_attribute("data-gw-step", str(step))


def button(figure, name):
    return figure.root.get_by_role("button", name=name, exact=False).first


def test_the_player_steps_through_the_pass(lab):
    lab.open([EXAMPLE, "e.backward()"])
    lab.run_cell(0)
    figure = lab.widget()
    expect(figure.root.locator(PLAYER)).to_have_count(0)
    lab.run_cell(1)
    figure.has_passes(1)
    expect(figure.root.locator(PLAYER)).to_have_attribute("data-gw-steps", "5")

    button(figure, "To the start").click()
    at_step(figure, 0)
    for name in "abcd":
        expect(figure.gradient(name)).to_have_count(0)
    order = lab.python("[w[k].name for k in w.passes[0].order]")
    for step, name in enumerate(order, start=1):
        button(figure, "Step forward").click()
        at_step(figure, step)
        expect(figure.root.locator(AT_WORK).first).to_have_attribute("data-gw-name", name)
        for later in order[step:]:
            expect(figure.gradient(later)).to_have_count(0)
        for earlier in order[:step]:
            expect(figure.gradient(earlier)).to_be_visible()
    assert lab.python("w.step") == 5

    # the line has numbers: what d received, and what it handed on
    lab.execute("w.step = w.passes[0].order.index(w['d'].key) + 1")
    line = figure.root.locator(STEP_LINE)
    for text in ("1.3", "1.56", "1.43"):
        expect(line).to_contain_text(text)
    lab.shot("step-d")
    lab.execute("w.step = None")
    for name in "abcd":
        expect(figure.gradient(name)).to_be_visible()


def test_keys_step_and_the_play_button_plays(lab):
    lab.open([EXAMPLE, "e.backward()"])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    figure.has_passes(1)
    figure.select("d")
    lab.page.keyboard.press("[")
    at_step(figure, 4)
    lab.page.keyboard.press("[")
    at_step(figure, 3)
    lab.page.keyboard.press("]")
    at_step(figure, 4)
    button(figure, "To the start").click()
    button(figure, "Play").click()
    at_step(figure, 5)
    assert lab.python("w.step") == 5


def test_a_new_pass_ends_the_replay_of_the_one_before(lab):
    lab.open([EXAMPLE, "e.backward(retain_graph=True)", "w.step = 2", "e.backward()"])
    for cell in range(3):
        lab.run_cell(cell)
    figure = lab.widget()
    at_step(figure, 2)
    lab.run_cell(3)
    figure.has_passes(2)
    expect(figure.gradient("d")).to_be_visible()
    assert lab.python("w.step") is None
    expect(figure.select("a")).to_contain_text("Accumulated over 2 passes")


def test_hooks_are_told_with_what_they_did(lab):
    cells = [
        "import torch, gradwidget as gw",
        "def scale(g):\n    return g * 100",
        (
            "x = torch.tensor(3., requires_grad=True)\nh = x * 4\nout = h * 2\n"
            "h.register_hook(lambda g: None)\nh.register_hook(scale)\nw = gw.GradWidget(out)\nw"
        ),
        "out.backward()",
    ]
    lab.open(cells)
    lab.run_all()
    lab.show_widget()
    panel = lab.widget().select("h")
    expect(panel).to_contain_text("scale")
    expect(panel).to_contain_text("cell 2, line 1")
    for text in ("unchanged", "×100", "200"):
        expect(panel).to_contain_text(text)
    box = lab.widget().root.locator('[data-gw-name="h"]')
    expect(box.locator(".gw-tag")).to_have_text("hook ×100")
    tag, card = (box.locator(part).bounding_box() for part in (".gw-tag", ".gw-card"))
    assert card["x"] <= tag["x"]
    assert tag["x"] + tag["width"] <= card["x"] + card["width"]
    lab.shot("hook-on-the-picture")
    assert lab.python("[e.change for e in w['h'].hooks[0].effects]") == ["", "unchanged", "×100", "unchanged"]
    assert lab.python("len(h._backward_hooks)") == 2


def test_the_first_nan_is_found_and_jumped_to(lab):
    lab.open(
        [
            (
                "import torch, gradwidget as gw\nx = torch.tensor([-4., 9.], requires_grad=True)\ninp = x * 1\n"
                "root = inp.sqrt()\ny = torch.where(x > 0, root, x)\nloss = y.sum()\nw = gw.GradWidget(loss)\nw"
            ),
            "loss.backward()",
        ]
    )
    lab.theme(DARK)
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    expect(figure.root.locator('[data-gw-bad="banner"]')).to_contain_text("First NaN: Sqrt (root)")
    figure.root.locator("[data-gw-bad-jump]").click()
    figure.shows("root")
    assert lab.python("w[w.selected].op") == "SqrtBackward0"
    lab.shot("first-nan")


def test_colour_by_size_of_the_gradient(lab):
    lab.open([EXAMPLE, "e.backward()"])
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    figure.has_passes(1)
    expect(figure.root.locator("[data-gw-heat]")).to_have_count(0)
    figure.root.locator("[data-gw-colour]").get_by_text("|grad|").click()
    expect(figure.node("d")).to_have_attribute("data-gw-heat", re.compile("[0-6]"))
    expect(figure.root.locator("[data-gw-scale]")).to_be_visible()
    lab.shot("colour-grad")


def test_probe_from_the_page_leaves_grad_alone(lab):
    lab.open([EXAMPLE])
    lab.run_all()
    figure = lab.widget()
    figure.root.locator("[data-gw-probe]").first.click()
    figure.has_passes(1)
    expect(figure.gradient("a")).to_contain_text("1.56")
    assert lab.python("[a.grad, w.passes[0].kind]") == [None, "probe"]
    lab.execute("e.backward()")  # the graph is still usable
    assert lab.python("round(a.grad.item(), 4)") == 1.56


def test_unpacking_asks_first(lab):
    lab.open(
        [
            (
                "import torch, gradwidget as gw\nfrom torch.utils.checkpoint import checkpoint\nruns = []\n"
                "def block(t):\n    runs.append(1)\n    return t.sin() * t.exp()\n"
                "x = torch.tensor([.3, .7], requires_grad=True)\ny = checkpoint(block, x, use_reentrant=False)\n"
                "loss = y.sum()\nw = gw.GradWidget(loss)\nw.selected = 'y'\nw"
            )
        ]
    )
    lab.run_all()
    figure = lab.widget()
    panel = figure.shows("y")
    expect(panel).to_contain_text("packed")
    assert lab.python("len(runs)") == 1
    figure.root.locator("[data-gw-unpack]").first.click()
    assert lab.python("len(runs)") == 1  # asked, not run
    figure.root.locator("[data-gw-yes]").first.click()
    expect(panel).to_contain_text("0.2955")  # sin(0.3)
    assert lab.python("len(runs)") == 2


def test_a_training_loop_is_live(lab):
    loop = (
        "import time\nfor i in range(30):\n    loss = ((x * m) ** 2).sum()\n    w.refresh(loss)\n    m.grad = None\n"
        "    loss.backward()\n    with torch.no_grad():\n        m -= 0.01 * m.grad\n    time.sleep(0.2)\ndone = True"
    )
    lab.open(
        [
            (
                "import torch, gradwidget as gw\nx = torch.arange(3.)\nm = torch.ones(3, requires_grad=True)\n"
                "loss = ((x * m) ** 2).sum()\nw = gw.GradWidget(loss)\nw"
            ),
            loop,
        ]
    )
    lab.run_cell(0)
    figure = lab.widget()
    figure.has_passes(0)
    lab.page.evaluate(
        "() => { const nb = window.jupyterapp.shell.currentWidget;"
        " nb.content.activeCellIndex = 1; window.jupyterapp.commands.execute('notebook:run-cell'); }"
    )
    figure.has_passes(1)  # while the cell runs
    expect(figure.gradient("m")).to_be_visible()
    lab.wait_for_kernel()
    assert lab.python("done") is True
    panel = figure.select("m")
    expect(panel.locator("[data-gw-history]")).to_be_visible()
    assert lab.python("len(w._inspection.history)") == 29
    lab.shot("loop")
