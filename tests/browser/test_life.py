"""What a notebook goes through: cells cleared and run again, several figures, reload, restart, reopening."""

from __future__ import annotations

import nbformat
from browser.lab import Select
from playwright.sync_api import expect

SETUP = """\
import torch, gradwidget as gw
a = torch.tensor(1.1, requires_grad=True)
b = torch.tensor(1.2, requires_grad=True)
d = a * b"""
SHOW = "w = gw.GradWidget(d)\nw"
BACKWARD = "d.backward()"
# ipywidgets itself says so on the console for each change of a trait
CANT_SEND = "Could not send widget sync message"


def assert_not_blank(lab):
    """Where the figure was, there is something to read."""
    output = lab.page.locator(".jp-OutputArea-output").first
    expect(output).to_be_visible()
    expect(output).not_to_have_text("")
    box = output.bounding_box()
    assert box
    assert box["height"] > 15


def test_clear_and_run_again(lab):
    lab.open([SETUP, SHOW])
    lab.run_all()
    lab.widget().select("a")
    lab.command("notebook:clear-all-cell-outputs")
    expect(lab.widgets()).to_have_count(0)
    for _ in range(2):
        lab.run_cell(1)
        expect(lab.widgets()).to_have_count(1)
    figure = lab.widget()
    figure.select("b")
    assert lab.python("w[w.selected].name") == "b"
    lab.execute(BACKWARD)
    figure.has_passes(1)
    expect(figure.gradient("a")).to_contain_text("1.2")


def test_two_widgets_do_not_disturb_each_other(lab):
    second = "x = torch.tensor(3.0, requires_grad=True)\ny = x * x\nv = gw.GradWidget(y)\nv"
    lab.open([SETUP, SHOW, second])
    lab.run_all()
    expect(lab.widgets()).to_have_count(2)
    first, other = lab.widget(0), lab.widget(1)
    first.select("a")
    other.select("x")
    first.shows("a")
    assert lab.python("[w[w.selected].name, v[v.selected].name]") == ["a", "x"]
    lab.execute("y.backward()")
    other.has_passes(1)
    first.has_passes(0)
    expect(other.gradient("x")).to_contain_text("6")


def test_two_views_of_one_widget(lab):
    lab.open([SETUP, SHOW, "w"])
    lab.run_all()
    expect(lab.widgets()).to_have_count(2)
    first, other = lab.widget(0), lab.widget(1)
    first.select("a")
    other.shows("a")
    other.select("b")
    first.shows("b")
    lab.execute(BACKWARD)
    for view in (first, other):
        view.has_passes(1)
        expect(view.gradient("a")).to_contain_text("1.2")
    # one view goes, the other stays alive
    lab.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[2].model.clearExecution()")
    expect(lab.widgets()).to_have_count(1)
    lab.widget().select("a")
    assert lab.python("w[w.selected].name") == "a"


def test_reload_with_the_kernel_alive(lab):
    lab.open([SETUP, SHOW, BACKWARD])
    lab.run_all()
    lab.widget().select("a")
    lab.save()
    lab.reload()
    figure = lab.widget()
    figure.has_passes(1)
    expect(figure.gradient("a")).to_contain_text("1.2")
    figure.shows("a")
    figure.select("b")
    assert lab.python("w[w.selected].name") == "b"


def test_kernel_restart(lab):
    lab.open([SETUP, SHOW, BACKWARD])
    lab.run_all()
    lab.widget().has_passes(1)
    lab.restart_kernel()
    assert_not_blank(lab)
    # the notebook works as before
    lab.run_all()
    figure = lab.widget()
    figure.has_passes(1)
    figure.select("a")
    assert lab.python("w[w.selected].name") == "a"


def saved_notebook(lab, *, state):
    """Run and save a notebook, with or without widget state, and end its kernel."""
    lab.open([SETUP, SHOW, BACKWARD])
    toggle = "@jupyter-widgets/jupyterlab-manager:saveWidgetState"
    if state:
        lab.command(toggle)
    lab.run_all()
    lab.widget().has_passes(1)
    lab.save()
    if state:
        lab.command(toggle)
    notebook = nbformat.read(lab.path, 4)
    assert ("widgets" in notebook.metadata) == state
    lab.server.shut_kernels()
    return notebook


def assert_clicks_are_answered(figure):
    figure.has_passes(1)
    expect(figure.root.locator(Select.NODE)).to_have_count(3)
    for name, value, gradient in (("a", "1.1", "1.2"), ("b", "1.2", "1.1"), ("d", "1.32", "1")):
        panel = figure.select(name)
        expect(panel).to_contain_text(value)
        expect(panel).to_contain_text(gradient)


def test_kernel_shut_down(lab):
    """What is on the page stays and answers from what was sent along."""
    lab.open([SETUP, SHOW, BACKWARD])
    lab.run_all()
    lab.widget().has_passes(1)
    lab.complaints.expected.append(CANT_SEND)
    lab.shut_kernel()
    assert lab.server.kernels() == []
    assert_clicks_are_answered(lab.widget())


def test_reopened_with_saved_state(lab):
    """The kernel is a fresh one that knows nothing of the figure."""
    lab.reopen(saved_notebook(lab, state=True), kernel=True)
    assert_clicks_are_answered(lab.widget())


def test_reopened_with_saved_state_but_no_kernel(lab):
    """ipywidgets restores nothing where there is no session (seen with 8.1): its own words stand there."""
    lab.complaints.expected.append("Cannot read properties of null \\(reading 'kernel'\\)")
    lab.reopen(saved_notebook(lab, state=True), kernel=False)
    assert lab.server.kernels() == []
    assert_not_blank(lab)


def test_reopened_without_saved_state(lab):
    """The default of JupyterLab. ipywidgets itself says that it has no model to show."""
    lab.complaints.expected.append("model not found")
    lab.reopen(saved_notebook(lab, state=False), kernel=True)
    assert_not_blank(lab)
