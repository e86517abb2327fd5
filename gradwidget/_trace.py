"""The evaluation trace: forward primal, forward tangent and reverse adjoint, as in arXiv:1502.05767, Tables 2 and 3."""

from __future__ import annotations

import csv
import html
import io
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from gradwidget._explain import Node, shown, value_at
from gradwidget._formulas.latex import escaped, latex
from gradwidget._formulas.typeset import Maths, Piece, identifier, joined, row
from gradwidget._inspect import Inspection
from gradwidget._order import order_of, symbol_of
from gradwidget._passes import Place, summary_of
from gradwidget._summary import format_number, readable, summarize, unobserved
from gradwidget._tangent import tangents

SPELLED = 1_000
"""Nodes up to which rows have expressions; beyond it only names and numbers."""


@dataclass(frozen=True, slots=True)
class Adjoint:
    """One statement of the reverse pass: `v̄₀ = v̄₀ + v̄₂ · v₋₁ = 1.716`, of which `value` is the last part."""

    key: int
    line: Piece
    value: str

    def __repr__(self) -> str:
        return f"Adjoint({self.line.text})"


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One step. All but `key` are short texts, "" where unknown.

    Attributes:
        key: the node's number.
        name: of the variable.
        op: the forward operation: "Mul", "leaf".
        inputs: names or operations.
        value: what the step calculated, rounded.
        gradient: its adjoint at the end of the last pass.
        symbol: "v₁"; inputs are v₀, v₋₁, ...
        primal: "ln(v₋₁)"; with the name of an input: "x1".
        numbers: "ln(2)".
        adjoints: what the step adds to its inputs' adjoints in the reverse pass, in the order of that pass.
        tangent: change of the value with the chosen input.
        exact: "value", "tangent" and "gradient" in full precision, of up to 64 elements.
    """

    key: int
    name: str
    op: str
    inputs: tuple[str, ...]
    value: str
    gradient: str
    symbol: str = ""
    primal: str = ""
    numbers: str = ""
    adjoints: tuple[Adjoint, ...] = ()
    tangent: str = ""
    pieces: Mapping[str, Piece] = field(default_factory=dict, repr=False, compare=False)
    exact: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def adjoint(self) -> str:
        """The statements of the reverse pass, one a line."""
        return "\n".join(one.line.text for one in self.adjoints)

    def __repr__(self) -> str:
        parts = [f"{self.symbol} = {self.primal or self.op}"]
        parts += [self.value] if self.value else []
        parts += [f"tangent {self.tangent}"] if self.tangent else []
        parts += [f"gradient {self.gradient}"] if self.gradient else []
        return f"TraceRow({', '.join(parts)})"


class Trace(list[TraceRow]):
    """A list of `TraceRow`, inputs first. Prints as a table, also as Markdown, LaTeX and CSV.

    `outputs` are the closing lines `y = v₅` with `v̄₅ = ȳ = 1`; `tangent` names the input of the tangent column.
    """

    def __init__(self, rows: Iterable[TraceRow], outputs: Iterable[TraceRow] = (), tangent: str = "") -> None:
        super().__init__(rows)
        self.outputs = tuple(outputs)
        self.tangent = tangent

    def _cells(self) -> list[tuple[list[Piece], list[Piece], list[Piece]]]:
        """Per line of the table: primal statement, tangent statement, adjoint statements."""
        found = []
        for one in (*self, *self.outputs):
            tangent = one.pieces.get("tangent")
            found.append(
                (
                    [one.pieces["statement"]] if "statement" in one.pieces else [identifier(one.symbol)],
                    [tangent] if tangent is not None else [],
                    [adjoint.line for adjoint in one.adjoints],
                )
            )
        return found

    @property
    def heads(self) -> list[str]:
        """Titles of the columns."""
        tangent = [f"forward tangent, d/d{self.tangent}"] if self.tangent else []
        return ["forward primal", *tangent, "reverse adjoint"]

    def _texts(self) -> list[list[list[str]]]:
        rows = []
        for primal, tangent, adjoints in self._cells():
            columns = [primal, tangent, adjoints] if self.tangent else [primal, adjoints]
            rows.append([[piece.text for piece in cell] for cell in columns])
        return rows

    def to_markdown(self) -> str:
        """A table in GitHub's Markdown."""
        heads = self.heads
        lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(' --- ' for _ in heads)}|"]
        rows = (["<br>".join(map(_for_markdown, cell)) for cell in cells] for cells in self._texts())
        lines += [f"| {' | '.join(cells)} |" for cells in rows]
        return "\n".join(lines) + "\n"

    def to_latex(self) -> str:
        """A `tabular`, to be set with amsmath."""
        heads = self.heads
        lines = [rf"\begin{{tabular}}{{{'l' * len(heads)}}}", r"\hline"]
        lines.append(" & ".join(escaped(head) for head in heads) + r" \\")
        lines.append(r"\hline")
        for primal, tangent, adjoints in self._cells():
            columns = [primal, tangent, adjoints] if self.tangent else [primal, adjoints]
            for i in range(max(1, *map(len, columns))):
                cells = [f"${latex(cell[i].maths)}$" if i < len(cell) else "" for cell in columns]
                lines.append(" & ".join(cells) + r" \\")
        return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])

    def to_csv(self) -> str:
        """Comma-separated, a line a step: numbers in columns of their own and in full precision.

        Of more than 64 elements the norm is given, rounded.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        tangent = ["tangent"] if self.tangent else []
        writer.writerow(["step", "name", "operation", "primal", "value", *tangent, "adjoint", "gradient"])
        for one in self:
            writer.writerow(
                [
                    one.symbol,
                    one.name,
                    one.op,
                    one.primal,
                    one.exact.get("value") or one.value,
                    *([one.exact.get("tangent") or one.tangent] if self.tangent else []),
                    "; ".join(adjoint.line.text for adjoint in one.adjoints),
                    one.exact.get("gradient") or one.gradient,
                ]
            )
        return text.getvalue()

    def __repr__(self) -> str:
        rows = [[[head] for head in self.heads], *self._texts()]
        widths = [max(_width(line) for row in rows for line in row[i] or [""]) for i in range(len(self.heads))]
        lines = []
        for cells in rows[:_MOST_LINES]:
            for i in range(max(1, *map(len, cells))):
                parts = [cell[i] if i < len(cell) else "" for cell in cells]
                padded = (part + " " * (w - _width(part)) for part, w in zip(parts, widths, strict=True))
                lines.append("  ".join(padded).rstrip())
        if len(rows) > _MOST_LINES:
            lines.append(f"... and {len(rows) - _MOST_LINES} more steps")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = "".join(f"<th style='text-align:left'>{html.escape(head)}</th>" for head in self.heads)
        body = []
        for primal, tangent, adjoints in self._cells()[:_MOST_LINES]:
            columns = [primal, tangent, adjoints] if self.tangent else [primal, adjoints]
            cells = ["<br>".join(f"<math>{_as_html(p.maths)}</math>" for p in cell) for cell in columns]
            body.append("<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>")
        more = len(self) + len(self.outputs) - _MOST_LINES
        note = f"<p>... and {more} more steps</p>" if more > 0 else ""
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>{note}"


_MOST_LINES = 200


@unobserved()
def trace(inspection: Inspection, tangent: str | Mapping[str, Any] | None = None) -> Trace:
    """One row a node: inputs first, then what needs no more than what stands before it.

    Raises:
        OptionError: `tangent` names no input, or gives a direction of another shape.
        UnknownNodeError: `tangent` names no tensor of the graph.
    """
    directions = None if tangent is None else tangents(inspection, tangent)
    spelled = len(inspection) <= SPELLED
    order = order_of(inspection)
    statements = _reverse(inspection) if spelled else {}
    rows = [_row(inspection, key, statements.get(key, ()), directions, spelled=spelled) for key in order.keys]
    name = "" if tangent is None else tangent if isinstance(tangent, str) else ", ".join(map(str, tangent))
    return Trace(rows, _outputs(inspection, directions), name)


def _row(
    inspection: Inspection,
    key: int,
    adjoints: tuple[Adjoint, ...],
    directions: Mapping[Place, torch.Tensor | None] | None,
    *,
    spelled: bool,
) -> TraceRow:
    columns, edges = inspection.columns, inspection.edges
    place = (key, 0)
    value = value_at(inspection, place)
    plain = None if value is None else readable(value)[0]
    last = inspection.last_pass_with(key)
    arrived = last.at(key) if last is not None else ()
    symbol = symbol_of(inspection, place)
    leaf = inspection.kind_of(key) == "leaf"
    names = inspection.names_of(key)
    pieces: dict[str, Piece] = {"symbol": symbol}
    numbers = None
    if leaf:
        primal = identifier(names[0] if names else columns.forms_of(key)[0].text if columns.forms_of(key) else "input")
    else:
        primal, numbers = (
            _primal(inspection, key) if spelled else (identifier(columns.ops[columns.op[key]].label), None)
        )
    result = None if plain is None else shown(plain, rounded)
    statement = joined("=", symbol, primal)
    for more in (numbers, result):
        if more is not None and more.text != primal.text:
            statement = joined("=", statement, more)
    pieces["statement"] = statement
    moved = None if directions is None else directions.get(place)
    if directions is not None:
        pieces["tangent"] = _moved(inspection, key, moved) if spelled else _dotted(symbol)
    adjoint = adjoints
    if leaf and arrived:
        adjoint = (_seed(inspection, place, identifier(names[0]) if names else None, key),)
    return TraceRow(
        key,
        next(iter(names), ""),
        columns.ops[columns.op[key]].label,
        tuple(inspection.label_of(columns.target[edge]) for edge in edges.inputs[key]),
        _text(plain),
        _text(arrived[0] if arrived else None),
        symbol.text,
        primal.text,
        "" if numbers is None else numbers.text,
        adjoint,
        _text(moved),
        pieces,
        {
            column: _exact(number)
            for column, number in (("value", plain), ("gradient", arrived[0] if arrived else None), ("tangent", moved))
        },
    )


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        piece = shown(value, rounded)
        return piece.text if piece is not None else summarize(value).text
    found = summary_of(value)
    return "" if found is None else found.text


def _exact(value: Any) -> str:
    found = summary_of(value)
    return "" if found is None else found.exact


def rounded(x: float) -> str:
    """Three decimals, as the survey has them; four digits of what would vanish so, or is huge."""
    if x == 0 or 0.1 <= abs(x) < 1e6:
        text = f"{x:.3f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return format_number(x)


def _primal(inspection: Inspection, key: int) -> tuple[Piece, Piece | None]:
    node = _node(inspection, key)
    if node.formula is not None and node.formula.forward:
        _, expression, numbers, _ = node.forward_parts()
        return expression, numbers
    columns = inspection.columns
    places = [(columns.target[e], columns.output[e]) for e in inspection.edges.inputs[key][:6]]
    inner: list[Maths] = []
    for place in places:
        inner += [["mo", ","]] if inner else []
        inner.append(symbol_of(inspection, place).maths)
    label = columns.ops[columns.op[key]].label
    text = f"{label}({', '.join(symbol_of(inspection, place).text for place in places)})"
    return Piece(text, row(["mi", label], ["mo", "("], *inner, ["mo", ")"])), None


def _node(inspection: Inspection, key: int) -> Node:
    return Node(
        inspection,
        key,
        symbols=lambda place: symbol_of(inspection, place),
        digits=rounded,
        adjoint=lambda place: barred(symbol_of(inspection, place)),
    )


def barred(symbol: Piece) -> Piece:
    """`v̄₁`."""
    return Piece(_marked(symbol.text, "\u0304"), _over(symbol, "¯"))


def _dotted(symbol: Piece) -> Piece:
    return Piece(_marked(symbol.text, "\u0307"), _over(symbol, "˙"))


def _marked(text: str, sign: str) -> str:
    return unicodedata.normalize("NFC", f"{text[0]}{sign}{text[1:]}")


def _over(symbol: Piece, sign: str) -> Maths:
    maths = symbol.maths[1] if symbol.maths[0] == "mrow" and len(symbol.maths) == 2 else symbol.maths
    if maths[0] == "msub":
        return row(["msub", ["mover", maths[1], ["mo", sign]], maths[2]])
    return row(["mover", maths, ["mo", sign]])


def _reverse(inspection: Inspection) -> dict[int, tuple[Adjoint, ...]]:
    """The statements of the reverse pass by the node that they come from; sums grow as that pass goes on."""
    found: dict[int, tuple[Adjoint, ...]] = {}
    sums: dict[Place, torch.Tensor | None] = {}
    for key in reversed(order_of(inspection).keys):
        if inspection.kind_of(key) == "leaf":
            continue
        node = _node(inspection, key)
        lines = []
        for edge in inspection.edges.inputs[key]:
            place = (inspection.columns.target[edge], inspection.columns.output[edge])
            slot = inspection.columns.input[edge]
            mine = barred(symbol_of(inspection, place))
            part = node.part(slot)
            amount = node.amount(slot)
            right = part.chain if part.chain is not None else identifier("?")
            if place in sums:
                before = sums[place]
                amount = None if before is None or amount is None else before + amount
                right = joined("+", mine, right)
            sums[place] = amount
            result = None if amount is None else shown(amount, rounded)
            line = joined("=", mine, right)
            if result is not None:
                line = joined("=", line, result)
            lines.append(Adjoint(place[0], line, "" if result is None else result.text))
        found[key] = tuple(lines)
    return found


def _seed(inspection: Inspection, place: Place, name: Piece | None, key: int) -> Adjoint:
    """`v̄₅ = ȳ = 1`."""
    last = inspection.last_pass_with(place[0])
    arrived = last.at(place[0]) if last is not None else ()
    gradient = arrived[place[1]] if place[1] < len(arrived) else None
    line = barred(symbol_of(inspection, place))
    if name is not None:
        line = joined("=", line, barred(name))
    text = _text(gradient)
    result = shown(gradient, rounded) if isinstance(gradient, torch.Tensor) else None
    return Adjoint(key, line if result is None else joined("=", line, result), text)


def _moved(inspection: Inspection, key: int, tangent: torch.Tensor | None) -> Piece:
    """`v̇₁ = v̇₋₁ · (1 / v₋₁) = 0.5`."""
    symbol = symbol_of(inspection, (key, 0))
    names = inspection.names_of(key)
    line = _dotted(symbol)
    if inspection.kind_of(key) == "leaf":
        line = joined("=", line, _dotted(identifier(names[0]))) if names else line
    else:
        terms = _node(inspection, key).tangent(lambda place: _dotted(symbol_of(inspection, place)))
        line = line if terms is None else joined("=", line, terms)
    result = None if tangent is None else shown(tangent, rounded)
    return line if result is None else joined("=", line, result)


def _outputs(inspection: Inspection, directions: Mapping[Place, torch.Tensor | None] | None) -> list[TraceRow]:
    """The closing lines: `y = v₅ = 11.652`, `v̄₅ = ȳ = 1`."""
    found = []
    for place in inspection.columns.outputs:
        if inspection.kind_of(place[0]) == "leaf":
            continue
        name = inspection.name_of(place)
        symbol = symbol_of(inspection, place)
        value = value_at(inspection, place)
        plain = None if value is None else readable(value)[0]
        result = None if plain is None else shown(plain, rounded)
        statement = joined("=", identifier(name or "y"), symbol)
        pieces = {"symbol": symbol, "statement": statement if result is None else joined("=", statement, result)}
        moved = None if directions is None else directions.get(place)
        if directions is not None:
            line = joined("=", _dotted(identifier(name or "y")), _dotted(symbol))
            end = None if moved is None else shown(moved, rounded)
            pieces["tangent"] = line if end is None else joined("=", line, end)
        seed = _seed(inspection, place, identifier(name or "y"), place[0])
        adjoints = (seed,) if seed.value else ()
        found.append(
            TraceRow(
                place[0],
                name,
                "output",
                (),
                _text(plain),
                seed.value,
                name or "y",
                symbol.text,
                "",
                adjoints,
                _text(moved),
                pieces,
            )
        )
    return found


def _width(text: str) -> int:
    """Columns on a screen: a bar or a dot over a letter takes none."""
    return sum(not unicodedata.combining(sign) for sign in text)


def _for_markdown(text: str) -> str:
    for sign in "\\`*_|<>[]":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")


def _as_html(maths: Maths) -> str:
    tag, *parts = maths
    inner = "".join(html.escape(part) if isinstance(part, str) else _as_html(part) for part in parts)
    return f"<{tag}>{inner}</{tag}>"
