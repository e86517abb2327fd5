"""What a notebook stores for viewers that run no scripts: short text, and a table that is text only."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from torch import nn

from gradwidget import GradWidget

WIDGET = "application/vnd.jupyter.widget-view+json"


class Table(HTMLParser):
    """Cells and other text of a page; every tag must be one of these, with a style at most."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag in {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "bdi"}, tag
        assert {name for name, _ in attributes} <= {"style"}
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data

    @property
    def rows(self):
        return [self.cells[i : i + 7] for i in range(0, len(self.cells), 7)]


def bundle(widget):
    data, _ = widget._repr_mimebundle_()
    return data


def test_executed_notebook():
    setup = "import torch, gradwidget as gw\na = torch.tensor(1.1, requires_grad=True)\nb = a * a\nb.backward"
    notebook = new_notebook(cells=[new_code_cell(setup), new_code_cell("w = gw.GradWidget(b)\nb.backward()\nw")])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    nbformat.validate(notebook)
    data = notebook.cells[1].outputs[0].data
    assert set(data) == {"text/plain", "text/html", WIDGET}
    assert data["text/plain"] == "GradWidget(2 nodes, 2 edges)"
    assert Table(data["text/html"]).rows == [
        ["", "operation", "name", "shape", "value", "gradient", "inputs"],
        ["0", "Mul", "b", "scalar f32", "1.21", "1", "a, a"],
        ["1", "leaf", "a", "scalar f32", "1.1", "2.2", ""],
    ]


def test_the_same_each_time_and_without_colours_of_its_own():
    def make():
        x = torch.ones(3, requires_grad=True)
        w = GradWidget(x.exp().sum())
        return bundle(w)["text/html"]

    one = make()
    assert one == make()
    assert not re.search(r"#[0-9a-f]{3,6}|rgb|background", one)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "\"&'", "\u202eright", "\ud800", "\x00", "x" * 10_000], ids=ascii
)
def test_hostile_names(name):
    x = torch.ones((), requires_grad=True)
    page = bundle(GradWidget(x.exp(), names={name: x}))["text/html"]
    page.encode("utf-8")
    table = Table(page)
    assert len(table.rows) == 3
    assert len(page) < 5_000


def test_large_graphs_show_the_first_rows():
    h = torch.ones((), requires_grad=True)
    for _ in range(2_000):
        h = h * 1.001
    data = bundle(GradWidget(h, names={"<&>" * 2_000: h}))
    assert len(data["text/html"]) < 30_000
    assert "The first 60 of 2,001 nodes" in data["text/html"]
    assert len(data["text/plain"]) < 110


def test_big_values_are_not_summarised():
    model = nn.Linear(512, 512)
    w = GradWidget(model(torch.ones(1, 512)).sum())
    row = next(row for row in Table(bundle(w)["text/html"]).rows if row[2] == "model.weight")
    assert row[3:6] == ["512×512 f32", "", ""]


def test_closed():
    x = torch.ones((), requires_grad=True)
    w = GradWidget(x.exp())
    with w:
        pass
    assert "leaf" in bundle(w)["text/html"]
