"""Source text around a question: what calls of `autograd.grad` have given names to."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from gradwidget._ipython import cell_files, place_of

CREATE_GRAPH = "Pass `create_graph=True` to `autograd.grad` if its result is differentiated again."
CONSTANT = "Nothing is wrong with it: its own derivative is 0. Leave it out of what is differentiated again."
BY_TEXT = "By the source text"
_LONGEST = 5_000
"""Lines of a file that is looked through, at most."""
_FILES = 200
"""Cells that are looked through: the newest."""
_WIDEST = 120  # of a line that is quoted
_CREATE_GRAPH = 4  # its place among the arguments of autograd.grad


class Spot(NamedTuple):
    """A line of code, without the frame that is there; no code for a question of a notebook as a whole."""

    code: CodeType | None
    line: int

    @classmethod
    def of(cls, frame: FrameType | None, line: int = 0) -> Spot | None:
        return None if frame is None else cls(frame.f_code, line or frame.f_lineno)


class GradCall(NamedTuple):
    """A call of `autograd.grad` without `create_graph=True`: where it stands, and its statement."""

    place: str
    text: str


def files_of(code: CodeType | None) -> list[str]:
    """The file of some code, then all cells of the notebook."""
    own = [] if code is None else [code.co_filename]
    return list(dict.fromkeys([*own, *cell_files()[-_FILES:]]))


def tree_of(file: str) -> ast.Module | None:
    """What a file or a cell says, parsed; None where it is too long, or can't be read."""
    lines = linecache.getlines(file)
    if not 0 < len(lines) <= _LONGEST:
        return None
    try:
        return ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def lines_of(code: CodeType) -> tuple[int, int]:
    """First and last line of some code; of a module's, all of the file."""
    if code.co_name == "<module>":
        return 1, 1 << 30
    lines = [line for _, _, line in code.co_lines() if line is not None]
    return code.co_firstlineno, max(lines, default=code.co_firstlineno)


def gradients(spot: Spot | None, names: list[str]) -> tuple[set[str], set[str]]:
    """Of these names, which an `autograd.grad` with a graph has given, and which come from such a one otherwise."""
    files = [] if spot is None else files_of(spot.code)
    if not names or not any("create_graph" in line for file in files for line in linecache.getlines(file)):
        return set(), set()
    statements = _all_statements(spot)
    last = {
        name: max((one for one in statements if name in one.given), key=lambda s: s.order, default=None)
        for name in names
    }
    given = {name for name, one in last.items() if one is not None and one.linear and not one.adds}
    return given, {
        name for name in names if name not in given and any(one.linear for one in _leading(name, statements))
    }


def from_gradient(spot: Spot | None, name: str) -> str:
    """The call of `autograd.grad` with a graph from which a name comes, by the source text; "" if there is none."""
    calls = [call for one in _leading(name, _all_statements(spot)) for call in one.linear] if name else []
    return f"`{calls[0].text}` ({calls[0].place})" if calls else ""


def _all_statements(spot: Spot | None) -> list[_Statement]:
    if spot is None:
        return []
    files = files_of(spot.code)
    if spot.code is not None:
        files = [*files[1:], files[0]]  # what is asked now was run last
    return [one for number, file in enumerate(files) for one in _statements(file, spot, number)]


def without_history(spot: Spot | None, name: str) -> str:
    """That `name` may come from an `autograd.grad` without a graph, as a sentence; "" if there is no such call."""
    statements = _all_statements(spot)
    leading = _leading(name, statements)
    told = list(dict.fromkeys(call for one in leading for call in one.calls))
    sure = bool(told)
    if not told and not any(name in one.given for one in statements):
        told = list(dict.fromkeys(call for one in statements if one.own for call in one.calls))
    linear = list(dict.fromkeys(call for one in leading[:1] if name in one.given for call in one.linear))
    if not told and len(linear) == 1:
        return (
            f"{BY_TEXT} {name} comes from `{linear[0].text}` ({linear[0].place}): even with `create_graph=True` a "
            "gradient that depends on no tensor is a constant, as that of a linear function."
        )
    if not told:
        return ""
    lost = "without `create_graph=True` what `autograd.grad` returns has no history."
    begin = f"{BY_TEXT} {name} comes from" if sure else f"If {name or 'this'} comes from"
    if len(told) == 1:
        return f"{begin} `{told[0].text}` ({told[0].place}): {lost}"
    places = " or ".join(call.place for call in told[:3])
    return f"{begin} one of the {len(told)} calls of `autograd.grad` ({places}): {lost}"


def rebound(spot: Spot | None, name: str) -> bool:
    """Whether the last statement that gave a name computes it from the name itself: `w = w - lr * w.grad`."""
    own = [one for one in _all_statements(spot) if one.own and name and name in one.given]
    last = max(own, key=lambda one: one.order, default=None)
    return last is not None and not last.adds and name in last.used


def remedy_for(told: str) -> str:
    """The remedy for what `without_history` has told."""
    return CONSTANT if told.endswith("as that of a linear function.") else CREATE_GRAPH


class _Statement(NamedTuple):
    """Names that it gives, names that it uses, and calls of `autograd.grad` without a graph in it."""

    given: frozenset[str]
    used: frozenset[str]
    calls: tuple[GradCall, ...]
    linear: tuple[GradCall, ...] = ()  # those with a graph
    order: tuple[int, int, int] = (0, 0, 0)
    adds: bool = False  # to what the names held before
    own: bool = True  # of the scope itself, not a function in it


def _statements(file: str, spot: Spot, number: int) -> Iterator[_Statement]:
    """The statements of the scope of the line, up to it, and every function as one."""
    tree = tree_of(file)
    if tree is None:
        return
    code = spot.code if spot.code is not None and spot.code.co_filename == file else None
    first = 0 if code is None else lines_of(code)[0]
    own = None
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            if code is not None and code.co_name == node.name and first in (node.lineno, _decorated(node)):
                own = node
            else:
                yield _Statement(frozenset({node.name}), _names(node) - _local(node), _calls(file, node), own=False)
    for node in _shallow(own if own is not None else tree):
        if code is not None and node.lineno > spot.line:
            continue
        value = node.iter if isinstance(node, ast.For) else node.value
        if value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        given = frozenset(n for one in targets if one is not None for n in _names(one))
        call = value if isinstance(node, ast.Expr) and isinstance(value, ast.Call) else None
        if call is not None and isinstance(call.func, ast.Attribute) and _makes_graph(call) is None:
            given = _names(call.func.value)  # parts.append(...)
        adds = isinstance(node, (ast.AugAssign, ast.Expr)) or any(
            isinstance(one, (ast.Subscript, ast.Attribute)) for one in targets
        )
        order = (number, node.lineno, node.col_offset)
        with_graph = _calls(file, value, graph=True)
        yield _Statement(given, _names(value), _calls(file, value), with_graph, order, adds)


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_GIVING = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.Return, ast.Expr)


def _shallow(tree: ast.AST) -> Iterator[Any]:
    """Statements with a value, not those of functions inside."""
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(node, FUNCTIONS):
            continue
        if isinstance(node, _GIVING):
            yield node
        waiting += ast.iter_child_nodes(node)


def _decorated(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _local(node: ast.AST) -> frozenset[str]:
    stored = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return frozenset(stored | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)})


def _names(node: ast.AST) -> frozenset[str]:
    """Names in some code, and those of the methods that it calls."""
    plain = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    called = (one.func for one in ast.walk(node) if isinstance(one, ast.Call))
    return frozenset(plain | {one.attr for one in called if isinstance(one, ast.Attribute)})


def _calls(file: str, node: ast.AST, *, graph: bool = False) -> tuple[GradCall, ...]:
    return tuple(
        GradCall(place_of(file, one.lineno), _text(file, one))
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and _makes_graph(one) is graph
    )


def _text(file: str, call: ast.Call) -> str:
    lines = linecache.getlines(file)[call.lineno - 1 : call.end_lineno]
    text = " ".join(line.strip() for line in lines)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..."


def _makes_graph(node: ast.Call) -> bool | None:
    """Whether a call of `autograd.grad` asks for a graph; None for other calls, and where that is not to be read."""
    path = ast.unparse(node.func)
    plain = path == "grad" or path.endswith("autograd.grad")
    if not plain or len(node.args) + len(node.keywords) < 2 or any(k.arg is None for k in node.keywords):
        return None
    asked = next((k.value for k in node.keywords if k.arg == "create_graph"), None)
    if asked is None and len(node.args) > _CREATE_GRAPH:
        asked = node.args[_CREATE_GRAPH]
    if asked is None:
        return False
    return bool(asked.value) if isinstance(asked, ast.Constant) else None


def _leading(name: str, statements: list[_Statement]) -> list[_Statement]:
    """The statements from which a name has its value, as the text has it: the last that gave it, and theirs."""
    end = (1 << 30, 0, 0)
    waiting, seen, found = [(name, end)], {(name, end)}, []
    while waiting:
        wanted, before = waiting.pop()
        givers = [one for one in statements if wanted in one.given]
        earlier = sorted((one for one in givers if one.own and one.order < before), key=lambda one: one.order)[::-1]
        upto = next((i + 1 for i, one in enumerate(earlier) if not one.adds), len(earlier))
        chosen = earlier[:upto] or [one for one in givers if one.own]  # none before it: it was given in a loop
        for one in [*chosen, *(one for one in givers if not one.own)]:
            found.append(one)
            for used in one.used:
                step = (used, one.order if one.own else end)
                if step not in seen:
                    seen.add(step)
                    waiting.append(step)
    return found
