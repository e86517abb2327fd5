"""The expressions of the table: a small part of Python's own syntax, read by `ast` and never run as code."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Expression: TypeAlias = ast.expr
Sizes: TypeAlias = "Callable[[str], tuple[int, ...] | None]"

SETTINGS = frozenset(
    [
        "spread",
        "sum",
        "mean",
        "swap",
        "permute",
        "select",
        "slice",
        "cumsum",
        "revcumsum",
        "put",
        "place",
        "take",
        "flip",
        "roll",
        "window",
        "diagonal",
        "tril",
        "triu",
        "lookup",
        "index",
        "pad",
        "repeat",
        "stack",
        "cat",
        "part",
        "parts",
        "unbind",
        "normalize",
        "reach",
        "rows",
        "scatter",
        "softmax",
        "log_softmax",
        "logsumexp",
        "var",
        "std",
        "prod",
        "norm",
        "cumprod",
        "layernorm",
        "batchnorm",
        "groupnorm",
    ]
)
"""Functions whose plain arguments are settings: written `dim=1`, not as bare numbers."""


@dataclass(frozen=True, slots=True)
class Formula:
    """What one operation calculates, and what its node hands on to each input.

    Attributes:
        op: torch's name without number: "Mul"; with it where overloads differ: "Pow1".
        inputs: names of the slots; a last "*" stands for any number of them.
        forward: the result, in the names of inputs and saved variables; "" where a sentence has to do.
        backward: what goes to each slot, in `g`, the gradient that arrives; "" where only the sentence tells.
        when: scalars that the node must have saved for this variant.
        pointwise: each `backward` is `g * (local derivative)`, element by element; broadcast inputs are summed.
        note: one sentence that belongs to it, or "".
    """

    op: str
    inputs: tuple[str, ...]
    forward: str
    backward: tuple[str, ...]
    when: Mapping[str, Any] = field(default_factory=dict)
    pointwise: bool = False
    note: str = ""

    def slot(self, number: int) -> int:
        """Index into `inputs` and `backward` of an input; -1 where there is none."""
        if self.inputs and self.inputs[-1] == "*":
            return 0
        return number if number < len(self.inputs) else -1


@functools.cache
def parse(text: str) -> Expression:
    """The expression behind a text of the table."""
    return ast.parse(text, mode="eval").body


SHAPE_AT = {
    "fold": 1,
    "put": 4,
    "place": 1,
    "window": 1,
    "scatter": 1,
    "rowscatter": 1,
    "maskscatter": 2,
    "flatscatter": 1,
    "unrepeat": 2,
    "lookup": 1,
    "reach": 4,
    "undiagonal": 1,
    "unpad": 1,
    "rowmean": 1,
    "reshape": 1,
    "by": 1,
    "eye": 0,
}
"""Which argument of a function is there only for its shape: its numbers are not read, and it is not written."""


def names(expression: Expression) -> set[str]:
    """All names whose numbers an expression reads."""
    match expression:
        case ast.Name(id="pi"):
            return set()
        case ast.Name(id=name):
            return {name}
        case ast.Call(func=ast.Name(id=function), args=args):
            shape = SHAPE_AT.get(function)
            parts: list[ast.AST] = [arg for i, arg in enumerate(args) if i != shape]
        case _:
            parts = list(ast.iter_child_nodes(expression))
    return {name for part in parts if isinstance(part, ast.expr) for name in names(part)}


def shapes(expression: Expression) -> set[str]:
    """All names of which it wants the shape only."""
    found = set()
    for node in ast.walk(expression):
        match node:
            case ast.Call(func=ast.Name(id=function), args=args) if function in SHAPE_AT:
                like = args[SHAPE_AT[function]]
                found |= {like.id} if isinstance(like, ast.Name) else set()
    return found


def settle(expression: Expression, scalars: Mapping[str, Any], sizes: Sizes) -> Expression:
    """The same with numbers of this node put in: saved scalars and element counts; `x * 1` and the like made short."""
    settled: Expression = _Settle(scalars, sizes).visit(expression)
    return settled


class _Settle(ast.NodeTransformer):
    def __init__(self, scalars: Mapping[str, Any], sizes: Sizes) -> None:
        self._scalars = scalars
        self._sizes = sizes

    def visit_Name(self, node: ast.Name) -> Expression:
        value = self._scalars.get(node.id)
        return _constant(value) if isinstance(value, (bool, int, float)) else node

    def visit_Call(self, node: ast.Call) -> Expression:
        assert isinstance(node.func, ast.Name)
        if node.func.id == "size":
            return self._size(node)
        keep = node.func.id in SETTINGS
        args = [a if keep and isinstance(a, ast.Name) else self.visit(a) for a in node.args]
        if node.func.id == "where" and isinstance(args[0], ast.Constant):
            return args[1] if args[0].value else args[2]
        return ast.Call(node.func, args, [])

    def _size(self, node: ast.Call) -> Expression:
        name = node.args[0]
        assert isinstance(name, ast.Name)
        shape = self._sizes(name.id)
        if shape is None:
            return node
        if len(node.args) == 1:
            return _constant(math.prod(shape))
        dim = node.args[1]
        wanted = self._scalars.get(dim.id) if isinstance(dim, ast.Name) else ast.literal_eval(dim)
        return _constant(math.prod(shape[d] for d in dims_of(wanted, len(shape))))

    # Made anew, never changed in place: expressions of the table are shared by all nodes.
    def visit_Compare(self, node: ast.Compare) -> Expression:
        return ast.Compare(self.visit(node.left), node.ops, [self.visit(one) for one in node.comparators])

    def visit_BoolOp(self, node: ast.BoolOp) -> Expression:
        return ast.BoolOp(node.op, [self.visit(one) for one in node.values])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Expression:
        operand = self.visit(node.operand)
        number = _number(operand)
        if isinstance(node.op, ast.USub) and number is not None:
            return _constant(-number)
        return ast.UnaryOp(node.op, operand)

    def visit_BinOp(self, node: ast.BinOp) -> Expression:
        left, right = self.visit(node.left), self.visit(node.right)
        a, b = _number(left), _number(right)
        if a is not None and b is not None:
            folded = _folded(node.op, a, b)
            if folded is not None:
                return _constant(folded)
        return _shorter(node.op, left, right, a, b) or ast.BinOp(left, node.op, right)


def _folded(op: ast.operator, a: float, b: float) -> float | None:
    if isinstance(op, ast.Add):
        return a + b
    if isinstance(op, ast.Sub):
        return a - b
    if isinstance(op, ast.Mult):
        return a * b
    if isinstance(op, ast.Pow) and float(b).is_integer() and 0 <= b < 10 and abs(a) < 100:
        return float(a**b)
    return None


def _shorter(
    op: ast.operator, left: Expression, right: Expression, a: float | None, b: float | None
) -> Expression | None:
    if isinstance(op, ast.Mult):
        if 0 in (a, b):
            return _constant(0)
        return right if a == 1 else left if b == 1 else None
    if isinstance(op, (ast.Div, ast.Pow)) and b == 1:
        return left
    if isinstance(op, ast.Pow) and b == 0:
        return _constant(1)
    if isinstance(op, (ast.Add, ast.Sub)) and b == 0:
        return left
    if isinstance(op, ast.Add) and a == 0:
        return right
    return None


def _constant(value: float) -> Expression:
    if not isinstance(value, int) and value.is_integer() and abs(value) < 1e6:
        return ast.Constant(int(value))
    return ast.Constant(value)


def _number(node: Expression) -> float | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else None


def dims_of(dim: Any, rank: int) -> list[int]:
    """Dimensions that a saved `dim` means: none or () are all of them."""
    if dim is None or dim == ():
        return list(range(rank))
    one = dim if isinstance(dim, (tuple, list)) else (dim,)
    return sorted({d % rank if rank else 0 for d in one}) if rank else []


def product(expression: Expression) -> Expression | None:
    """The local derivative of `g * local`; None for expressions of another form."""
    match expression:
        case ast.BinOp(left=ast.Name(id="g"), op=ast.Mult(), right=right):
            return right
    return None
