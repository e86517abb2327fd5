"""The picture as SVG, drawn without a browser and without graphviz."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from html import escape
from typing import NamedTuple

from gradwidget._inspect import Inspection
from gradwidget._layers import Placed, place
from gradwidget._passes import texts

LIMIT = 1_500
"""Boxes that a picture may have."""
_CUT = 28
"""Characters of a name or of a title."""
_HEIGHT = 48.0
_MARGIN = 18.0

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2328",
    "mute": "#5f6670",
    "card": "#ffffff",
    "edge": "#d2d3d4",
    "wire": "#9aa4b2",
    "value": "#1a7f37",
    "gradient": "#c4320a",
    "leaf": "#2f6fdd",
    "operation": "#8c959f",
    "function": "#7c4dcc",
    "checkpoint": "#c98a00",
    "compiled": "#0f8a80",
    "hook": "#c2418a",
}
DARK = {
    "paper": "#111418",
    "ink": "#e6edf3",
    "mute": "#a2a8af",
    "card": "#1e2125",
    "edge": "#3c4044",
    "wire": "#66717e",
    "value": "#56d364",
    "gradient": "#ff9b72",
    "leaf": "#6ea8ff",
    "operation": "#768390",
    "function": "#b392f0",
    "checkpoint": "#e3b341",
    "compiled": "#4fd1c5",
    "hook": "#f48fbf",
}

_SANS = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
_MONO = "ui-monospace, 'DejaVu Sans Mono', monospace"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Box(NamedTuple):
    kind: str
    title: str
    name: str
    subtitle: str
    times: str
    width: float
    value: str
    gradient: str


def svg(inspection: Inspection, collapsed: Collection[str], *, down: bool, dark: bool) -> str:
    """An SVG of what is drawn where these groups are collapsed: values and the last pass's gradients on the wires."""
    holder = inspection.fold.holders(collapsed)
    of = [key if m < 0 or holder[m] < 0 else -1 - holder[m] for key, m in enumerate(inspection.fold.member)]
    number = {box: i for i, box in enumerate(dict.fromkeys(of))}
    values, gradients = _values(inspection), _gradients(inspection)
    boxes = [_box(inspection, box, values, gradients) for box in number]
    columns = inspection.columns
    pairs = zip(columns.target, columns.source, strict=True)
    wires = list(dict.fromkeys((number[of[a]], number[of[b]]) for a, b in pairs if of[a] != of[b]))
    ends = list(dict.fromkeys((number[of[key]], inspection.name_of((key, o))) for key, o in columns.outputs))
    placed = place([box.width if down else _HEIGHT for box in boxes], wires)
    return _Drawing(_Picture(boxes, wires, ends), placed, down=down, colours=DARK if dark else LIGHT).text()


def _values(inspection: Inspection) -> dict[int, str]:
    found = [(key, tensor) for (key, output), tensor in inspection.small_values() if output == 0]
    return dict(zip((key for key, _ in found), texts([tensor for _, tensor in found]), strict=True))


def _gradients(inspection: Inspection) -> dict[int, str]:
    one = next(iter(reversed(inspection.passes)), None)
    if one is None:
        return {}
    keys = [*one.steps, *(key for key, output in one.returned if output == 0)]
    items = [(key, row[0]) for key in dict.fromkeys(keys) if (row := one.items(key))]
    return dict(zip((key for key, _ in items), texts([item for _, item in items]), strict=True))


def _box(inspection: Inspection, box: int, values: Mapping[int, str], gradients: Mapping[int, str]) -> _Box:
    if box < 0:
        group = inspection.fold.groups[-1 - box]
        times = f"× {group.times}" if group.times else ""
        subtitle = f"{group.nodes:,} nodes"
        title, name = group.title, group.type
        kind, value, gradient = "group", "", ""
    else:
        op = inspection.columns.ops[inspection.columns.op[box]]
        names = " = ".join(inspection.names_of(box)[:3])
        kind, times = op.kind, ""
        title, name = (names or f"leaf {box}", "") if kind == "leaf" else (op.label, names)
        forms = list(dict.fromkeys(form.text for form in inspection.columns.forms_of(box)))
        word = {"leaf": "leaf", "function": "Function"}.get(kind, "")
        subtitle = " · ".join(filter(None, (word, forms[0] if len(forms) == 1 else "")))
        value, gradient = values.get(box, ""), gradients.get(box, "")
    title, name = _cut(title), _cut(name)
    first = _bold(title) + (7.6 * _wide(name) + 8 if name else 0) + (8 * _wide(times) + 14 if times else 0)
    width = max(72.0, first + 26, 6.6 * _wide(subtitle) + 26)
    return _Box(kind, title, name, subtitle, times, width, value, gradient)


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"


def _bold(text: str) -> float:
    """How long a title may be: nobody measures letters here, so rather too long."""
    return sum(5.0 if char in "ijlftIr.,:()[] '…" else 12.5 if char in "mwMW@%" else 9.4 * _wide(char) for char in text)


def _wide(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


class _Picture(NamedTuple):
    boxes: list[_Box]
    wires: list[tuple[int, int]]  # (start, end)
    ends: list[tuple[int, str]]  # boxes that are outputs, with their names


class _Drawing:
    """Boxes where they were placed, the flow to the right or down."""

    def __init__(self, picture: _Picture, placed: Placed, *, down: bool, colours: Mapping[str, str]) -> None:
        boxes, wires, ends = picture
        self._boxes, self._wires, self._ends, self._placed = boxes, wires, ends, placed
        self._down, self._colours = down, colours
        count = max(placed.layers, default=0) + 1
        thick = [0.0] * count  # along the flow
        room = [0.0] * count  # behind it, for the numbers on the wires
        for box, layer in zip(boxes, placed.layers, strict=True):
            thick[layer] = max(thick[layer], _HEIGHT if down else box.width)
            room[layer] = max(room[layer], 46 + self._straight(box))
        self._along = [0.0] * count  # where each layer begins
        self._thick = thick
        at = _MARGIN
        for layer in reversed(range(count)):
            self._along[layer] = at
            at += thick[layer] + room[layer]
        self._length = at + max((7.5 * _wide(_cut(name)) for _, name in ends), default=0.0) * (not down)
        sizes = [box.width if down else _HEIGHT for box in boxes]
        ways = [across for way in placed.ways for _, across in way]
        low = min([c - s / 2 for c, s in zip(placed.centres, sizes, strict=True)] + ways)
        high = max([c + s / 2 for c, s in zip(placed.centres, sizes, strict=True)] + ways)
        self._shift = _MARGIN - low
        self._breadth = high - low + 2 * _MARGIN
        self._readers: dict[int, list[int]] = {}
        for i, (_, end) in enumerate(wires):
            self._readers.setdefault(end, []).append(i)

    def text(self) -> str:
        c = self._colours
        width, height = (self._breadth, self._length) if self._down else (self._length, self._breadth)
        width, height = width + (80 if self._down else 0), height + (24 if self._down else 0)
        size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{_SANS}">',
            f'<rect width="100%" height="100%" fill="{c["paper"]}"/>',
            f'<g fill="none" stroke="{c["wire"]}" stroke-width="1.5">',
            *(self._wire(i) for i in range(len(self._wires))),
            *(self._end(box)[0] for box, _ in self._ends),
            "</g>",
            f'<g fill="{c["wire"]}">',
            *(self._head(i) for i in range(len(self._wires))),
            *(self._end(box)[1] for box, _ in self._ends),
            "</g>",
            *(self._card(i) for i in range(len(self._boxes))),
            *(self._numbers(i) for i in range(len(self._boxes))),
            *(self._name(box, name) for box, name in self._ends),
            "</svg>",
        ]
        return "\n".join(line for line in lines if line) + "\n"

    def _point(self, along: float, across: float) -> tuple[float, float]:
        return (across, along) if self._down else (along, across)

    def _straight(self, box: _Box) -> float:
        """How far a wire runs straight on, beside its numbers."""
        if not box.value and not box.gradient:
            return 4.0
        return 36.0 if self._down else 10 + 7.4 * max(_wide(box.value), _wide(box.gradient) + 2)

    def _begin(self, box: int) -> float:
        return self._along[self._placed.layers[box]]

    def _far_end(self, box: int) -> float:
        return self._begin(box) + (_HEIGHT if self._down else self._boxes[box].width)

    def _centre(self, box: int) -> float:
        return self._placed.centres[box] + self._shift

    def _port(self, wire: int) -> float:
        """Where a wire comes in: side by side with the others, in the order in which they come."""
        end = self._wires[wire][1]
        wires = sorted(self._readers[end], key=lambda i: (self._before(i), i))
        size = self._boxes[end].width if self._down else _HEIGHT
        step = min(16.0, (size - 14) / max(1, len(wires)))
        return self._centre(end) + step * (wires.index(wire) - (len(wires) - 1) / 2)

    def _before(self, wire: int) -> float:
        way = self._placed.ways[wire]
        return way[-1][1] if way else self._placed.centres[self._wires[wire][0]]

    def _wire(self, wire: int) -> str:
        start, end = self._wires[wire]
        at = (self._far_end(start), self._centre(start))
        path = f"M{_xy(self._point(*at))}"
        at = (at[0] + self._straight(self._boxes[start]), at[1])
        path += f"L{_xy(self._point(*at))}"
        stops = [
            (self._along[layer], self._along[layer] + self._thick[layer], across + self._shift)
            for layer, across in self._placed.ways[wire]
        ]
        for begin, finish, across in [*stops, (self._begin(end) - 8, 0.0, self._port(wire))]:
            path += self._curve(at, (begin, across))
            at = (begin, across)
            if finish:
                path += f"L{_xy(self._point(finish, across))}"
                at = (finish, across)
        return f'<path d="{path}"/>'

    def _curve(self, a: tuple[float, float], b: tuple[float, float]) -> str:
        middle = (a[0] + b[0]) / 2
        return " ".join(("C" + _xy(self._point(middle, a[1])), _xy(self._point(middle, b[1])), _xy(self._point(*b))))

    def _head(self, wire: int) -> str:
        return self._arrow(self._begin(self._wires[wire][1]), self._port(wire))

    def _arrow(self, along: float, across: float) -> str:
        corners = [(along - 9, across - 4.5), (along, across), (along - 9, across + 4.5)]
        return f'<path d="M{" L".join(_xy(self._point(*corner)) for corner in corners)}Z"/>'

    def _end(self, box: int) -> tuple[str, str]:
        along, across = self._far_end(box), self._centre(box)
        tip = along + self._straight(self._boxes[box]) + 34
        line = f"M{_xy(self._point(along, across))}L{_xy(self._point(tip - 8, across))}"
        return f'<path d="{line}"/>', self._arrow(tip, across)

    def _name(self, box: int, name: str) -> str:
        along = self._far_end(box) + self._straight(self._boxes[box]) + (50 if self._down else 40)
        x, y = self._point(along, self._centre(box))
        anchor = ' text-anchor="middle"' if self._down else ""
        return self._text((x, y + (0 if self._down else 4)), _cut(name), "mute", 12, f'font-family="{_MONO}"{anchor}')

    def _card(self, i: int) -> str:
        one, c = self._boxes[i], self._colours
        x, y = self._point(self._begin(i), self._centre(i))
        x, y = (x - one.width / 2, y) if self._down else (x, y - _HEIGHT / 2)
        bar = c.get(one.kind, c["operation"])
        about = escape(_clean(" ".join(filter(None, (one.title, one.name, one.subtitle)))))
        stack = (
            f'<rect x="6" y="-5" width="{one.width - 12:.1f}" height="20" rx="7" fill="{c["card"]}" '
            f'stroke="{c["edge"]}"/>'
        )
        parts = [
            f'<g transform="translate({x:.1f} {y:.1f})"><title>{about}</title>',
            stack if one.times else "",
            f'<rect width="{one.width:.1f}" height="{_HEIGHT:.0f}" rx="7" fill="{c["card"]}" stroke="{c["edge"]}"/>',
            f'<path d="M5 .5H7A6.5 6.5 0 0 0 .5 7V{_HEIGHT - 7}A6.5 6.5 0 0 0 7 {_HEIGHT - 0.5}H5Z" fill="{bar}"/>',
            f'<rect x="0.5" y="7" width="4.5" height="{_HEIGHT - 14}" fill="{bar}"/>',
        ]
        mono = f'font-family="{_MONO}"'
        leaf = one.kind == "leaf"
        parts.append(self._text((15, 20), one.title, "ink", 14, f'font-weight="600"{" " + mono if leaf else ""}'))
        if one.name:
            parts.append(self._text((15 + _bold(one.title) + 8, 20), one.name, "ink", 12.5, mono))
        if one.times:
            at = one.width - 9
            parts.append(self._text((at, 20), one.times, "mute", 12, f'font-weight="600" text-anchor="end" {mono}'))
        parts.append(self._text((15, 38), one.subtitle, "mute", 11.5))
        return "".join([*parts, "</g>"])

    def _numbers(self, i: int) -> str:
        one = self._boxes[i]
        along, across = self._far_end(i), self._centre(i)
        x, y = self._point(along, across)
        first, second = ((x + 8, y + 15), (x + 8, y + 31)) if self._down else ((x + 8, y - 7), (x + 8, y + 17))
        style = f'font-family="{_MONO}" font-weight="600"'
        value = self._text(first, one.value, "value", 12, style) if one.value else ""
        gradient = self._text(second, f"◂ {one.gradient}", "gradient", 12, style) if one.gradient else ""
        return value + gradient

    def _text(self, at: tuple[float, float], text: str, colour: str, size: float, more: str = "") -> str:
        if not text:
            return ""
        place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" fill="{self._colours[colour]}" font-size="{size}"'
        return f'<text {place} {more} unicode-bidi="isolate">{escape(_clean(text))}</text>'


def _xy(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _clean(text: str) -> str:
    """Without what XML can't hold."""
    return _NO_XML.sub("\ufffd", text)
