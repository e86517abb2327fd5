"""Live figures win over the stored table, and a snapshot shows itself like the widget it was made from."""

from __future__ import annotations

import nbformat
from browser.lab import Select
from playwright.sync_api import expect

SETUP = """\
import torch, gradwidget as gw
a = torch.tensor(1.1, requires_grad=True)
b = torch.tensor(1.2, requires_grad=True)
d = a * b
w = gw.GradWidget(d)
w"""
CAPTURE = """\
with gw.capture(a * b, path="run/step"):
    (a * b).backward()
with gw.capture(d, path="run/step"):
    d.backward()
text = w.to_json()
w.close(); del w"""


def test_snapshot_in_a_notebook(lab):
    lab.open([SETUP, CAPTURE, "snapshot = gw.from_json(text)\nsnapshot", 'gw.open("run/step")'])
    lab.run_all()
    expect(lab.widgets()).to_have_count(2)  # the closed one has left
    for index in range(2):
        figure = lab.widget(index)
        figure.has_passes(1)
        expect(figure.root.locator(Select.NODE)).to_have_count(3)
        panel = figure.select("a")
        expect(panel).to_contain_text("1.1")
        expect(panel).to_contain_text("1.2")
        expect(figure.root).to_contain_text("nothing here is live")
    assert lab.python("snapshot['d'].gradient.item()") == 1


def test_live_figure_wins_over_the_table(lab):
    lab.open([SETUP, "d.backward()"])
    lab.run_all()
    lab.widget().has_passes(1)
    expect(lab.page.locator(".jp-OutputArea-output table")).to_have_count(0)
    lab.save()
    data = nbformat.read(lab.path, 4).cells[0].outputs[0].data
    assert data["text/plain"] == "GradWidget(3 nodes, 2 edges)"
    assert data["text/html"].startswith("<table")
