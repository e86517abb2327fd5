"""Source text of the call that raised: what `backward()` was called on, or what `autograd.grad` was asked."""

from __future__ import annotations

import ast
import linecache
from typing import NamedTuple

from gradwidget._source_text import FUNCTIONS, tree_of

_WIDEST = 80  # of an expression that is named
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


class PassCall(NamedTuple):
    """A call that runs a backward pass, as its text has it.

    Attributes:
        by_grad: whether it is `autograd.grad`.
        subject: the output, a whole expression: "loss", "(x**2)[0]", "D(x)".
        operand: the same as it stands before a dot: "(x ** 2)".
        head: the name under the methods that are called on it, "y" of `y.abs().sum()`; "" if there is none.
        names: all names in it.
        inputs: what `autograd.grad` differentiates by.
    """

    by_grad: bool
    subject: str
    operand: str
    head: str
    names: tuple[str, ...]
    inputs: tuple[str, ...]


def pass_call(file: str, line: int, column: int, index: int) -> PassCall | None:
    """The call on a line, None if there is none or it can't be read.

    Args:
        file: of the source.
        line: where it was raised.
        column: where the call begins, -1 unknown.
        index: which output is meant, where there are several.
    """
    tree = tree_of(file)
    if tree is None:
        return None
    text = "".join(linecache.getlines(file))
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and one.lineno <= line <= _end(one)]
    passes = [(one, *asked) for one in calls if (asked := _asked(one)) is not None]
    exact = [one for one in passes if (one[0].lineno, one[0].col_offset) == (line, column)]
    if not passes:
        return None
    _, by_grad, output, inputs = (exact or passes)[-1]
    several = _parts(output)
    chosen = several[index] if index < len(several) else output
    subject = _text(text, chosen)
    return PassCall(
        by_grad,
        subject,
        subject if isinstance(chosen, _ATOMS) or not subject else f"({subject})",
        _head(text, chosen),
        tuple(dict.fromkeys(one.id for one in ast.walk(chosen) if isinstance(one, ast.Name))),
        tuple(_text(text, one) for one in _parts(inputs)) if inputs is not None else (),
    )


def statement(file: str, line: int, column: int) -> ast.stmt | None:
    """The innermost statement at a place, None if it can't be read."""
    tree = tree_of(file)
    found = (
        [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and one.lineno <= line <= _end(one)] if tree else []
    )
    before = [one for one in found if one.lineno < line or column < 0 or one.col_offset <= column]
    return before[-1] if before else None


class Loop(NamedTuple):
    """A loop: its first line, and the names that it gives, with those that it may fill by a method."""

    line: int
    given: frozenset[str]
    carried: frozenset[str]  # of them those that are computed from themselves


def loop_around(file: str, line: int) -> Loop | None:
    """The innermost loop around a line in the same function, None if there is none."""
    tree = tree_of(file)
    if tree is None:
        return None
    spans = [
        one for one in ast.walk(tree) if isinstance(one, (*_LOOPS, *FUNCTIONS)) and one.lineno <= line <= _end(one)
    ]
    last = spans[-1] if spans else None
    if last is None or not isinstance(last, _LOOPS):
        return None
    given = {one.id for one in ast.walk(last) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    carried = set()
    for one in ast.walk(last):
        if isinstance(one, (ast.Subscript, ast.Attribute)) and isinstance(one.ctx, ast.Store):
            given.add(_root(one))
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            given.add(_root(one.value.func))
        elif isinstance(one, ast.AugAssign):
            carried.add(_root(one.target))
        elif isinstance(one, ast.Assign):
            used = {name.id for name in ast.walk(one.value) if isinstance(name, ast.Name)}
            carried |= used & {n.id for target in one.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return Loop(last.lineno, frozenset(given), frozenset(carried))


_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _end(node: ast.expr | ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _asked(call: ast.Call) -> tuple[bool, ast.expr, ast.expr | None] | None:
    """Whether it is `autograd.grad`, the output and the inputs of a call that runs a pass; None for other calls."""
    path = ast.unparse(call.func)
    given = {one.arg: one.value for one in call.keywords}
    args = call.args
    if path == "grad" or path.endswith("autograd.grad"):
        output = args[0] if args else given.get("outputs")
        inputs = args[1] if len(args) > 1 else given.get("inputs")
        return None if output is None or inputs is None else (True, output, inputs)
    if path.endswith("autograd.backward"):
        output = args[0] if args else given.get("tensors")
        return None if output is None else (False, output, None)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
        return False, call.func.value, None
    return None


def _parts(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]


def _text(text: str, node: ast.expr) -> str:
    """An expression as it is written; "" if it is too long to be a name for something."""
    found = " ".join((ast.get_source_segment(text, node) or ast.unparse(node)).split())
    return found if len(found) <= _WIDEST else ""


def _head(text: str, node: ast.expr) -> str:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return _text(text, node) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else ""
