"""Expressions -> text and MathML, both at once. MathML is a tree of lists: the page makes elements of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from gradwidget._formulas.language import SETTINGS, SHAPE_AT, Expression

Maths: TypeAlias = "list[Any]"
"""`[tag, child, ...]`; a child is such a list, or the text of an element without children."""

_COMPARISON, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(6)
_MINUS, _TIMES = "−", "·"


class Piece(NamedTuple):
    """A typeset expression: how strongly it holds together as text and as mathematics decides on parentheses."""

    text: str
    maths: Maths
    level: int = _ATOM
    drawn: int = _ATOM

    def at_least(self, level: int) -> Piece:
        """In parentheses where it would come apart."""
        text = self.text if self.level >= level else f"({self.text})"
        maths = self.maths if self.drawn >= level else row(operator("("), self.maths, operator(")"))
        return Piece(text, maths)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"text": self.text, "maths": self.maths}


def row(*parts: Maths) -> Maths:
    """Side by side. A minus sign in front stays in a row of its own: else it is set as one between two."""
    flat: list[Any] = []
    for part in parts:
        flat += part[1:] if part[0] == "mrow" and part[1:2] != [["mo", _MINUS]] else [part]
    return ["mrow", *flat]


def operator(sign: str) -> Maths:
    """`mo`."""
    return ["mo", sign]


def words(text: str) -> Maths:
    """Upright text."""
    return ["mtext", text]


def number(text: str) -> Piece:
    """A number as it was formatted; a negative one is in parentheses after an operator."""
    shown = text.replace("-", _MINUS)
    if text.startswith("-"):
        return Piece(text, ["mn", shown], _SIGN, _SIGN)
    return Piece(text, ["mn", shown])


def identifier(name: str) -> Piece:
    """A variable's name, clipped where it is too long to be read."""
    shown = name if len(name) <= _LONGEST else f"{name[:14]}…{name[-9:]}"
    return Piece(shown, ["mi", shown])


_LONGEST = 24


def joined(sign: str, left: Piece, right: Piece, level: int = _COMPARISON) -> Piece:
    """`left sign right`, as `a = b`."""
    return Piece(f"{left.text} {sign} {right.text}", row(left.maths, operator(sign), right.maths), level, level)


def negative(piece: Piece) -> Piece:
    """`-x`."""
    inner = piece.at_least(_PRODUCT)
    return Piece(f"-{inner.text}", ["mrow", operator(_MINUS), *row(inner.maths)[1:]], _SIGN, _SIGN)


def plus(terms: Sequence[Piece]) -> Piece:
    """A sum of several; a negative number in it stays one, a negative term is taken off."""
    found = terms[0]
    for term in terms[1:]:
        found = _taken(found, _negated(term)) if _is_negative(term) else _added(found, term)
    return found


def times(left: Piece, right: Piece) -> Piece:
    """A product; a negative number on the right is in parentheses."""
    a, b = left.at_least(_PRODUCT), right.at_least(_POWER)
    return Piece(f"{a.text} {_TIMES} {b.text}", row(a.maths, operator(_TIMES), b.maths), _PRODUCT, _PRODUCT)


def quotient(above: Piece, below: Piece) -> Piece:
    """A fraction."""
    a, b = above.at_least(_PRODUCT), below.at_least(_POWER)
    return Piece(f"{a.text} / {b.text}", ["mfrac", above.maths, below.maths], _PRODUCT, _ATOM)


def derivative(of: Piece, by: Piece, sign: str = "d") -> Piece:
    """`dL/da`, `∂d/∂a`."""
    above, below = (row(["mi", sign], p.maths) for p in (of, by))
    return Piece(f"{sign}{of.text}/{sign}{by.text}", ["mfrac", above, below])


class Typesetter:
    """Prints expressions, with `symbol` telling how a name is written."""

    def __init__(self, symbol: Callable[[str], Piece]) -> None:
        self._symbol = symbol

    def __call__(self, node: Expression) -> Piece:
        """An expression, typeset."""
        match node:
            case ast.Constant(value=(int() | float()) as value):
                return number(_digits(value))
            case ast.Name(id="pi"):
                return Piece("π", ["mi", "π"])
            case ast.Name(id=name):
                return self._symbol(name)
            case ast.UnaryOp(operand=operand):
                return negative(self(operand))
            case ast.BinOp():
                return self._binary(node)
            case ast.BoolOp(values=parts):
                shown = [self(part).at_least(_COMPARISON) for part in parts]
                maths = [m for s in shown for m in (words(" and "), s.maths)][1:]
                return Piece(" and ".join(s.text for s in shown), row(*maths), _COMPARISON, _COMPARISON)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                found = self(left)
                for op, right in zip(ops, rights, strict=True):
                    found = joined(_SIGNS[type(op)], found, self(right))
                return found
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args)
        raise TypeError(ast.dump(node))

    def _binary(self, node: ast.BinOp) -> Piece:
        left, right = self(node.left), self(node.right)
        match node.op:
            case ast.Add():
                return plus([left, right])
            case ast.Sub():
                return _taken(left, right)
            case ast.Mult():
                return times(left, right)
            case ast.Div():
                return quotient(left, right)
            case ast.Pow():
                base = left.at_least(_ATOM)
                digits = right.text if right.text.isdigit() else ""
                text = base.text + (digits.translate(_RAISED) if digits else f"^{right.at_least(_ATOM).text}")
                return Piece(text, ["msup", base.maths, right.maths], _POWER, _POWER)
            case _:
                a, b = left.at_least(_PRODUCT), right.at_least(_POWER)
                return Piece(f"{a.text} @ {b.text}", row(a.maths, operator("@"), b.maths), _PRODUCT, _PRODUCT)

    def _call(self, name: str, args: list[Expression]) -> Piece:
        if name in _SILENT:
            return self(args[0])
        if name in _SHAPES:
            return getattr(self, f"_{name.lower()}")([self(arg) for arg in args])  # type: ignore[no-any-return]
        told = [arg for i, arg in enumerate(args) if i != SHAPE_AT.get(name)]
        shown = [self._argument(name, arg) for arg in told]
        kept = [piece for piece in shown if piece is not None]
        spelled = _SPELLED.get(name, name)
        inner: list[Maths] = []
        for piece in kept:
            inner += [operator(","), piece.maths] if inner else [piece.maths]
        head = ["mi", spelled]
        maths = row(head, operator("("), *inner, operator(")"))
        return Piece(f"{spelled}({', '.join(p.text for p in kept)})", maths)

    def _argument(self, name: str, arg: Expression) -> Piece | None:
        piece = self(arg)
        if not piece.text or (isinstance(arg, ast.Constant) and isinstance(arg.value, bool)):
            return None
        if name in SETTINGS and isinstance(arg, ast.Constant):
            return Piece(f"dim={arg.value!r}", row(["mi", "dim"], operator("="), ["mn", repr(arg.value)]))
        return piece

    @staticmethod
    def _t(args: list[Piece]) -> Piece:
        base = args[0].at_least(_ATOM)
        return Piece(f"{base.text}ᵀ", ["msup", base.maths, ["mi", "T"]], _POWER, _POWER)

    @staticmethod
    def _inv(args: list[Piece]) -> Piece:
        base = args[0].at_least(_ATOM)
        return Piece(f"{base.text}⁻¹", ["msup", base.maths, row(operator(_MINUS), ["mn", "1"])], _POWER, _POWER)

    @staticmethod
    def _eye(_: list[Piece]) -> Piece:
        return Piece("I", ["mi", "I"])

    @staticmethod
    def _xhat(_: list[Piece]) -> Piece:
        return Piece("x̂", ["mi", "x̂"])

    @staticmethod
    def _exp(args: list[Piece]) -> Piece:
        return Piece(f"exp({args[0].text})", ["msup", ["mi", "e"], args[0].maths], _ATOM, _POWER)

    @staticmethod
    def _sqrt(args: list[Piece]) -> Piece:
        simple = args[0].level == _ATOM and args[0].text.isalnum()
        return Piece(f"√{args[0].text}" if simple else f"√({args[0].text})", ["msqrt", args[0].maths])

    @staticmethod
    def _abs(args: list[Piece]) -> Piece:
        return Piece(f"|{args[0].text}|", row(operator("|"), args[0].maths, operator("|")))

    @staticmethod
    def _where(args: list[Piece]) -> Piece:
        test, yes, no = args
        if test.text in ("0", "1"):  # a condition's value: the branch that it takes
            return yes if test.text == "1" else no
        rows = [
            ["mtr", ["mtd", yes.maths], ["mtd", row(words("if "), test.maths)]],
            ["mtr", ["mtd", no.maths], ["mtd", words("otherwise")]],
        ]
        text = f"({yes.text} if {test.text} else {no.text})"
        return Piece(text, row(operator("{"), ["mtable", *rows]), _ATOM, _PRODUCT)


def _added(left: Piece, right: Piece) -> Piece:
    a, b = left.at_least(_SUM), _after(right)
    return Piece(f"{a.text} + {b.text}", row(a.maths, operator("+"), b.maths), _SUM, _SUM)


def _taken(left: Piece, right: Piece) -> Piece:
    a, b = left.at_least(_SUM), _after(right)
    return Piece(f"{a.text} - {b.text}", row(a.maths, operator(_MINUS), b.maths), _SUM, _SUM)


def _after(piece: Piece) -> Piece:
    """Fit to stand after + or -."""
    return piece.at_least(_ATOM if piece.level == _SIGN else _PRODUCT)


def _is_negative(piece: Piece) -> bool:
    """Whether it is `-x`, but no number: -1 in a sum is written (-1)."""
    return piece.level == _SIGN and piece.text.startswith("-") and piece.maths[0] != "mn"


def _negated(piece: Piece) -> Piece:
    return Piece(piece.text[1:], ["mrow", *piece.maths[2:]], _PRODUCT, _PRODUCT)


def _digits(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SIGNS = {ast.Lt: "<", ast.Gt: ">", ast.LtE: "≤", ast.GtE: "≥", ast.Eq: "="}
_SILENT = frozenset({"spread", "by", "rows"})
"""What only fits shapes together is not written."""
_SHAPES = frozenset({"T", "inv", "exp", "sqrt", "abs", "where", "eye", "xhat"})
_SPELLED = {
    "sigmoid": "σ",
    "Phi": "Φ",
    "phi": "φ",
    "revcumsum": "sum from here on",
    "put": "put at indices",
    "place": "put in place",
    "window": "put in place",
    "scatter": "put in place",
    "rowscatter": "put in place",
    "maskscatter": "put in place",
    "flatscatter": "put in place",
    "fold": "sum over copies",
    "unrepeat": "sum over copies",
    "lookup": "sum by row",
    "reach": "put at target",
    "undiagonal": "put on the diagonal",
    "unpad": "cut off",
    "unroll": "roll back",
    "unpermute": "permute back",
    "part": "part of",
    "rowmean": "row mean",
    "chanmean": "channel mean",
    "chansum": "channel sum",
    "join": "cat",
    "log2": "log₂",
    "log10": "log₁₀",
    "swap": "transpose",
    "atan2": "atan2",
}
