"""The picture drawn without a browser: boxes apart, wires between them, what stands on them, and files."""

from __future__ import annotations

import itertools
import random
import xml.etree.ElementTree as ET

import pytest
import torch
from unit.models import gpt

from gradwidget import GradWidget, GradWidgetError
from gradwidget._layers import place

SVG = "{http://www.w3.org/2000/svg}"


def drawn(widget, **options):
    return ET.fromstring(widget.to_svg(**options).encode())


def texts(svg):
    return [text.text for text in svg.iter(f"{SVG}text")]


def toy():
    a, b, c = (torch.tensor(x, requires_grad=True) for x in (1.1, 1.2, 1.3))
    d = a * b
    e = d * c
    return e, GradWidget(e)


def test_names_values_and_gradients():
    e, w = toy()
    before = texts(drawn(w))
    assert {"a", "b", "c", "d", "e", "Mul", "1.1", "1.32", "1.716"} <= set(before)
    assert not any(text.startswith("◂") for text in before)
    e.backward()
    assert {"◂ 1.56", "◂ 1.43", "◂ 1.32", "◂ 1.3", "◂ 1"} <= set(texts(drawn(w)))


@pytest.mark.parametrize("direction", ["right", "down"])
def test_boxes_keep_apart_and_in_the_picture(direction):
    net, loss = gpt()
    w = GradWidget(loss, names=net, direction=direction)
    for collapsed in (w.collapsed, []):
        w.collapsed = collapsed
        svg = drawn(w)
        width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
        boxes = []
        for group in svg.iter(f"{SVG}g"):
            if "transform" in group.attrib:
                x, y = map(float, group.attrib["transform"][10:-1].split())
                card = group.findall(f"{SVG}rect")[-2]
                boxes.append((x, y, x + float(card.attrib["width"]), y + float(card.attrib["height"])))
        assert len(boxes) == w._inspection.fold.boxes(w.collapsed)
        assert all(x >= 0 and y >= 0 and right <= width and bottom <= height for x, y, right, bottom in boxes)
        boxes.sort()
        for i, one in enumerate(boxes):
            for other in itertools.takewhile(lambda box, end=one[2]: box[0] < end, boxes[i + 1 :]):
                assert one[3] <= other[1] or other[3] <= one[1]


def test_layers_follow_the_wires():
    choose = random.Random(3)
    for _ in range(50):
        count = choose.randint(1, 30)
        wires = [(choose.randrange(i + 1, count), i) for i in range(count - 1) for _ in range(choose.randint(0, 3))]
        sizes = [choose.uniform(10, 90) for _ in range(count)]
        placed = place(sizes, wires)
        assert placed == place(sizes, wires)
        for (start, end), way in zip(wires, placed.ways, strict=True):
            between = list(range(placed.layers[start] - 1, placed.layers[end], -1))
            assert [layer for layer, _ in way] == between
        for layer in set(placed.layers):
            row = sorted(i for i in range(count) if placed.layers[i] == layer)
            row.sort(key=placed.centres.__getitem__)
            for a, b in itertools.pairwise(row):
                assert placed.centres[b] - placed.centres[a] >= (sizes[a] + sizes[b]) / 2


def test_hostile_names_stay_text():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    name = '</text><script>alert("1")</script>\ud800\x07'
    svg = drawn(GradWidget(y.sum(), names={name: x, "\u202egnp.exe": y}))
    assert not list(svg.iter(f"{SVG}script"))
    assert any("<script>" in title.text for title in svg.iter(f"{SVG}title"))


def test_files_and_bad_input(tmp_path):
    _, w = toy()
    assert w.to_svg(tmp_path / "graph.svg", theme="dark") is None
    text = (tmp_path / "graph.svg").read_text(encoding="utf-8")
    assert text == w.to_svg(theme="dark") != w.to_svg()
    with pytest.raises(GradWidgetError, match="'drak'") as caught:
        w.to_svg(theme="drak")
    assert "'dark'" in str(caught.value)
    with pytest.raises(GradWidgetError):
        w.to_svg(tmp_path / "missing" / "graph.svg")


def test_too_many_boxes_are_refused():
    out = torch.ones(1, requires_grad=True)
    for i in range(2_000):
        out = out.sin() if i % 3 else out * out
    w = GradWidget(out, names={})
    assert drawn(w) is not None
    w.collapsed = []
    with pytest.raises(GradWidgetError, match="boxes"):
        w.to_svg()
