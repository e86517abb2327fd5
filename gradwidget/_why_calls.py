"""Source text of the call that raised: what `backward()` was called on, or what `autograd.grad` was asked."""

from __future__ import annotations

import ast
import linecache
from typing import NamedTuple

_LONGEST = 5_000
"""Lines of a file that is read, at most."""
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
    lines = linecache.getlines(file)
    if not 0 < len(lines) <= _LONGEST:
        return None
    text = "".join(lines)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
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


def statement(file: str, line: int) -> ast.stmt | None:
    """The innermost simple statement on a line, None if it can't be read."""
    lines = linecache.getlines(file)
    if not 0 < len(lines) <= _LONGEST:
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and one.lineno <= line <= _end(one)]
    return found[-1] if found else None


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
