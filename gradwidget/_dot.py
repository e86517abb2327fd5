"""Graphs in graphviz' DOT language: our own drawing, and torchviz's `make_dot` without its crashes."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from gradwidget import _names, _saved
from gradwidget._errors import NoGraphError, OptionError
from gradwidget._inspect import Inspection
from gradwidget._outputs import is_tensor, tensors_among_outputs
from gradwidget._passes import summary_of
from gradwidget._summary import Summary, form_of, summarize, unobserved
from gradwidget._walk import Node, is_function, is_leaf, walk

NUMBERED = 3_000
"""Nodes up to which values and gradients are written into the drawing."""
LONGEST = 300
"""Characters of one name: graphviz itself gives up at some thousand."""

_GRAPHVIZ_ID = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*|-?(\.[0-9]+|[0-9]+(\.[0-9]*)?)")
_KEYWORDS = frozenset({"node", "edge", "graph", "digraph", "subgraph", "strict"})
_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_FILLS = {
    "leaf": "lightblue",
    "function": "thistle",
    "checkpoint": "moccasin",
    "compiled": "paleturquoise",
    "hook": "gray90",
}
_NODE_ATTRIBUTES = "align=left fontname=monospace fontsize=10 height=0.2 ranksep=0.1 shape=box style=filled"


class Dot:
    """A drawing in DOT: what `make_dot` returns where the package `graphviz` is not installed.

    Attributes:
        source: the whole text.
        body: its lines between the braces.
    """

    def __init__(self, body: list[str], head: list[str]) -> None:
        self.body = body
        self._head = head

    @property
    def source(self) -> str:
        """The whole text."""
        return "".join(["digraph {\n", *self._head, *self.body, "}\n"])

    def save(self, filename: str | os.PathLike[str] = "Digraph.gv", directory: str | os.PathLike[str] = "") -> str:
        """Write the text to a file; returns its path."""
        path = Path(directory, filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.source, "utf-8")
        return str(path)

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"Dot({len(self.body)} lines)"


@unobserved()
def make_dot(
    var: Any,
    params: Any = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> Any:
    """The graph as torchviz draws it: the same arguments, nodes, labels, edges and colours.

    Unlike torchviz's, it draws graphs of any depth, what has been freed or packed (and says so; no saved-tensor hook is
    run), and takes nested lists, tuples and dicts of tensors. Colours: light blue for leaves, orange for saved tensors,
    green for outputs, dark green for the base of an output that is a view.

    Args:
        var: tensor, or nested containers of tensors.
        params: mapping of names to tensors, such as `dict(model.named_parameters())`, or a module.
        show_attrs: write what else the nodes have saved into them.
        show_saved: draw saved tensors; those of a user's `autograd.Function` are always drawn.
        max_attr_chars: longest text of one attribute.

    Returns:
        A `graphviz.Digraph` if the package is installed, else a `Dot`; both have `.source` and `.save(path)`, and need
        no graphviz program for it.

    Raises:
        OutputTypeError: nothing in `var` is a tensor.
        NoGraphError: no tensor in `var` needs a gradient.
        OptionError: `params` is no mapping of names to tensors and no module.
    """
    if type(max_attr_chars) is not int:
        raise OptionError(f"max_attr_chars={max_attr_chars!r} is no number of characters.", "Give a whole number.")
    drawing = _Drawing(_named(params), show_attrs=show_attrs, show_saved=show_saved, most=max(max_attr_chars, 3))
    drawing.draw(tensors_among_outputs(var))
    return drawing.finished()


def _named(params: Any) -> dict[int, tuple[str, torch.Tensor]]:
    if params is None:
        return {}
    if isinstance(params, Mapping):
        bad = next((name for name, value in params.items() if not is_tensor(value)), None)
        if bad is not None:
            raise OptionError(
                f"params[{bad!r}] is a {type(params[bad]).__name__}, no tensor.",
                "Give names and tensors, such as dict(model.named_parameters()).",
            )
        return {id(value): (str(name), value) for name, value in params.items()}
    if not isinstance(params, torch.nn.Module):
        raise OptionError(
            f"params must be a mapping of names to tensors, or a module, not {type(params).__name__}.",
            "Give dict(model.named_parameters()).",
        )
    return {id(value): (name, value) for name, value in reversed(_names.given(params, {}))}


class _Drawing:
    def __init__(
        self, named: Mapping[int, tuple[str, torch.Tensor]], *, show_attrs: bool, show_saved: bool, most: int
    ) -> None:
        self._named = named
        self._show_attrs = show_attrs
        self._show_saved = show_saved
        self._most = most
        self._lines: list[str] = []
        self._kept: dict[int, tuple[str, torch.Tensor]] = {}  # id -> its node; alive, so that no id comes twice

    def draw(self, outputs: list[torch.Tensor]) -> None:
        tensors: list[tuple[torch.Tensor, torch.Tensor | None, str]] = []  # (tensor, what is its view, colour)
        for output in outputs:
            if not any(known is output for known, _, _ in tensors):
                tensors.append((output, None, "darkolivegreen1"))
                base = output._base
                if base is not None and not any(known is base for known, _, _ in tensors):
                    tensors.append((base, output, "darkolivegreen3"))
                elif base is not None:
                    self._edge(self._key(base), self._key(output), " [style=dotted]")
        functions = [_function(tensor) for tensor, _, _ in tensors]
        if not any(tensor.requires_grad for tensor in outputs):
            cause = "The output needs" if len(outputs) == 1 else "The outputs need"
            raise NoGraphError(
                f"{cause} no gradient, so there is no graph to draw.",
                "Compute it from tensors with requires_grad=True.",
            )
        nodes, columns = walk([(fn, 0) for fn in functions if fn is not None])
        index = dict(zip(nodes, range(len(nodes)), strict=True))
        following: list[list[int]] = [[] for _ in nodes]
        for source, target in zip(columns.source, columns.target, strict=True):
            following[source].append(target)
            self._edge(str(target), str(source))
        seen: set[int] = set()
        for (tensor, view, colour), fn in zip(tensors, functions, strict=True):
            self._tensor(tensor, colour)
            if fn is not None:
                for key, entering in _depth_first(index[fn], following, seen):
                    self._function(key, nodes[key], columns.ops[columns.op[key]].name, entering=entering)
                self._edge(str(index[fn]), self._key(tensor))
            if view is not None:
                self._edge(self._key(tensor), self._key(view), " [style=dotted]")

    def _function(self, key: int, node: Node, name: str, *, entering: bool) -> None:
        own = is_function(node)
        readings = []
        if (self._show_saved and entering) or self._show_attrs or (own and not entering):
            readings = sorted(_saved.read(node), key=lambda reading: reading.name.partition("[")[0])
        if not entering:
            for reading in readings:
                if own and reading.name.startswith("saved_tensors"):
                    self._saved_tensor(key, reading, own)
            return
        if self._show_saved and not own:
            for reading in readings:
                self._saved_tensor(key, reading, own)
        if is_leaf(node):
            self._tensor(node.variable, "lightblue")
            self._edge(self._key(node.variable), str(key))
        label = self._with_attributes(name, node, readings) if self._show_attrs else name
        self._lines.append(f"\t{key} [label={quoted(label)}]\n")

    def _saved_tensor(self, key: int, reading: _saved.Reading, own: bool) -> None:
        if reading.state in ("none", "scalar"):
            return
        name = "" if own else reading.name
        if reading.tensor is None:
            place = f"{key}.{reading.name}"
            label = quoted(f"{name}\n ({reading.state})")
            self._lines.append(f"\t{quoted(place)} [label={label} fillcolor=orange]\n")
        else:
            place = self._key(reading.tensor)
            self._tensor(reading.tensor, "orange", name)
        ends = (place, str(key)) if own else (str(key), place)
        self._edge(*ends, " [dir=none]")

    def _with_attributes(self, name: str, node: Node, readings: list[_saved.Reading]) -> str:
        found: dict[str, str] = {}
        for reading in readings:
            attribute, _, item = reading.name.partition("[")
            if is_function(node):
                continue
            if reading.state == "scalar":
                found[attribute] = str(reading.scalar)
            elif reading.state == "none":
                found.setdefault(attribute, "None")
            elif reading.state == "value":
                found[attribute] = "[saved tensors]" if item else "[saved tensor]"
            else:
                found[attribute] = f"[{reading.state}]"
        if not found:
            return name
        left = max(map(len, found))
        right = min(max(map(len, found.values())), self._most)
        rule = "-" * max(left + right + 2, len(name))
        cut = (text if len(text) <= right else f"{text[: right - 3]}..." for text in found.values())
        rows = [f"{attribute:<{left}}: {text:>{right}}" for attribute, text in zip(found, cut, strict=True)]
        return "\n".join([name, rule, *rows])

    def _key(self, tensor: torch.Tensor) -> str:
        return self._kept.setdefault(id(tensor), (f"t{len(self._kept)}", tensor))[0]

    def _tensor(self, tensor: torch.Tensor, colour: str, name: str = "") -> None:
        known, _ = self._named.get(id(tensor), ("", None))
        shape = form_of(tensor).shape
        size = "(?)" if shape is None else f"({', '.join(map(str, shape))})"
        label = f"{clean(name or known)}\n {size}"
        self._lines.append(f"\t{self._key(tensor)} [label={quoted(label)} fillcolor={colour}]\n")

    def _edge(self, tail: str, head: str, attributes: str = "") -> None:
        self._lines.append(f"\t{quoted(tail)} -> {quoted(head)}{attributes}\n")

    def finished(self) -> Any:
        size = max(12, len(self._lines) * 0.15)
        extent = f"{size},{size}"
        try:
            package: Any = importlib.import_module("graphviz")
        except ImportError:
            return Dot(self._lines, [f'\tgraph [size="{extent}"]\n', f"\tnode [{_NODE_ATTRIBUTES}]\n"])
        digraph = package.Digraph(
            node_attr=dict(one.split("=") for one in _NODE_ATTRIBUTES.split()), graph_attr={"size": extent}
        )
        digraph.body.extend(self._lines)
        return digraph


def _depth_first(root: int, following: list[list[int]], seen: set[int]) -> Iterator[tuple[int, bool]]:
    """(node, True) on entering it, (node, False) on leaving: of what is said twice of a tensor, the last word holds."""
    stack = [(root, True)]
    while stack:
        key, entering = stack.pop()
        if not entering:
            yield key, False
        elif key not in seen:
            seen.add(key)
            yield key, True
            stack.append((key, False))
            stack.extend((target, True) for target in reversed(following[key]))


def _function(tensor: torch.Tensor) -> Node | None:
    try:
        return tensor.grad_fn
    except RuntimeError as error:
        text = str(error).splitlines()[0][:120]
        raise NoGraphError(
            f"The output is a view whose history is no longer valid (torch says: {text}).",
            "Make the view outside of no_grad.",
        ) from None


def to_dot(inspection: Inspection) -> str:
    """The graph in DOT, drawn in the direction of the forward pass, with names, values and gradients."""
    columns = inspection.columns
    named = {key for key, _ in inspection.names} if len(columns) > NUMBERED else range(len(columns))
    numbered = len(columns) <= NUMBERED
    lines = [
        "digraph {",
        "  rankdir=LR",
        '  node [shape=box, style="filled,rounded", fillcolor="#f4f4f6", fontname=Helvetica, fontsize=11]',
        "  edge [arrowsize=0.7]",
    ]
    for key in range(len(columns)):
        op = columns.ops[columns.op[key]]
        forms = columns.forms_of(key)
        names = inspection.names_of(key)[:1] if key in named else ()
        parts = [" ".join(filter(None, (op.label, *map(clean, names)))), forms[0].text if forms else ""]
        if numbered:
            value, gradient = numbers(inspection, key)
            parts += [f"value {value.text}"] if value is not None and value.text else []
            parts += [f"gradient {gradient.text}"] if gradient is not None and gradient.text else []
        fill = f", fillcolor={_FILLS[op.kind]}" if op.kind in _FILLS else ""
        lines.append(f"  {key} [label={_escaped(filter(None, parts))}{fill}]")
    for key, slot in zip(columns.cut_node[:NUMBERED], columns.cut_input, strict=False):
        label = inspection.cut_label(key, slot)
        if label:
            lines.append(f'  "{key}.{slot}" [label={_escaped([clean(label)])}, style="dashed,rounded"]')
            lines.append(f'  "{key}.{slot}" -> {key} [style=dashed]')
    for source, target in zip(columns.source, columns.target, strict=True):
        lines.append(f"  {target} -> {source}")
    return "\n".join([*lines, "}", ""])


def numbers(inspection: Inspection, key: int) -> tuple[Summary | None, Summary | None]:
    """What is known of a node's value and gradient."""
    value = inspection.known_value((key, 0))
    last = inspection.last_pass_with(key)
    arrived = last.at(key) if last is not None else ()
    return (None if value is None else summarize(value)), (summary_of(arrived[0]) if arrived else None)


def quoted(text: str) -> str:
    """A word of DOT that stands for this text: as it is where that is allowed, else quoted. Never HTML."""
    if _GRAPHVIZ_ID.fullmatch(text) and text.lower() not in _KEYWORDS:
        return text
    escaped = _UNSAFE.sub("\ufffd", text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escaped(lines: Iterable[str]) -> str:
    parts = [_UNSAFE.sub("\ufffd", line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(parts) + '"'


def clean(text: str) -> str:
    """A name on one line, cut where it is too long."""
    line = " ".join(text.splitlines()) if len(text.splitlines()) > 1 or text.endswith("\n") else text
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line):,} characters)"
