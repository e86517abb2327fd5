"""How the nodes of one graph were made: recorded operations and module calls, found again by sequence number."""

from __future__ import annotations

import linecache
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from gradwidget import _record
from gradwidget._passes import Reduced
from gradwidget._record import Call, Kept, Log, Place
from gradwidget._walk import Columns, Form

Spot = tuple[int, int]
"""(node, output number)"""


class ModuleCall(NamedTuple):
    """One call of a module. `path` is below the root module, "" for that itself."""

    path: str
    type: str
    call: int


@dataclass(slots=True)
class Made:
    """What is known of how nodes were made, by node number; empty where nothing was recorded."""

    places: dict[int, Place] = field(default_factory=dict)
    modules: dict[int, tuple[ModuleCall, ...]] = field(default_factory=dict)  # outermost first
    roots: dict[int, str] = field(default_factory=dict)  # variable or type of the outermost module
    whole: dict[Spot, torch.Tensor] = field(default_factory=dict)
    reduced: dict[Spot, Reduced] = field(default_factory=dict)
    compiled: frozenset[int] = frozenset()

    def module(self, key: int) -> str:
        """Path of the innermost module; of the root, its variable or type."""
        calls = self.modules.get(key)
        return "" if not calls else calls[-1].path or self.roots[key]


def find(columns: Columns, modules: Sequence[tuple[str, Any]], *, given: bool, second: Collection[int]) -> Made:
    """Look the nodes of a graph up in what was recorded.

    Args:
        columns: the graph.
        modules: (name, module), of the scope or as given.
        given: the first of these is the root that the user has named, whose own name is no part of any path.
        second: nodes that backward passes have made.
    """
    made = Made()
    logs = [log for log in _record.logs() if log.begin or log.at]
    if not logs:
        return made
    elsewhere = {key for key in second if any(f.device != "cpu" for f in columns.forms_of(key))}
    found: dict[int, tuple[Log, int]] = {}  # node -> its innermost module call
    compiled = set()
    for key, sequence in enumerate(columns.sequence):
        if sequence < 0 or key in elsewhere:
            continue
        chosen = _choose(columns, key, sequence, logs)
        if chosen is None:
            continue
        log, event = chosen
        if event >= 0 and log.place[event] >= 0:
            made.places[key] = log.places[log.place[event]]
        if any(a <= sequence < b for a, b in log.compiled):
            compiled.add(key)
        call = _innermost(log, sequence)
        if call >= 0:
            found[key] = (log, call)
        _values(made, columns, key, log.values.get(sequence))
    made.compiled = frozenset(compiled)
    _name(made, found, modules, given=given)
    return made


def _choose(columns: Columns, key: int, sequence: int, logs: Sequence[Log]) -> tuple[Log, int] | None:
    """The log that a node belongs to, and the operation in it, -1 none. Threads count on their own."""
    candidates = []
    for log in logs:
        event = bisect_right(log.begin, sequence) - 1
        if event >= 0 and log.end[event] <= sequence:
            event = -1
        if event >= 0 or _innermost(log, sequence) >= 0:
            candidates.append((log, event))
    if len(candidates) > 1:
        candidates = [c for c in candidates if _fits(columns, key, c[0].values.get(sequence))]
    if not candidates:
        return None
    (first, event), *others = candidates
    same = all(_told(first, event, sequence) == _told(log, e, sequence) for log, e in others)
    return (first, event) if same else None


def _told(log: Log, event: int, sequence: int) -> tuple[Any, ...]:
    call = log.calls.get(_innermost(log, sequence))
    place = log.places[log.place[event]] if event >= 0 and log.place[event] >= 0 else None
    return place, None if call is None else (call.path, call.type)


def _innermost(log: Log, sequence: int) -> int:
    boundary = bisect_right(log.at, sequence) - 1
    return log.call[boundary] if boundary >= 0 else -1


def _fits(columns: Columns, key: int, values: Mapping[int, Kept] | None) -> bool:
    forms = columns.forms_of(key)
    return not values or all(output < len(forms) and _same(forms[output], kept) for output, kept in values.items())


def _same(form: Form, kept: Kept) -> bool:
    return form.shape == tuple(kept.shape) and form.dtype == str(kept.dtype).removeprefix("torch.")


_NORM = "Recorded in the forward pass, which kept its norm only; autograd did not save the value."
_FORM = "Recorded in the forward pass, which kept no numbers of a tensor like this."


def _values(made: Made, columns: Columns, key: int, values: Mapping[int, Kept] | None) -> None:
    if not values or not _fits(columns, key, values):
        return
    for output, kept in values.items():
        if kept.whole is not None:
            made.whole[key, output] = kept.whole
        else:
            form = columns.forms_of(key)[output]
            made.reduced[key, output] = Reduced(form, kept.norm, _FORM if kept.norm is None else _NORM)


# --- module paths ------------------------------------------------------------------------------------------------


def _name(made: Made, found: Mapping[int, tuple[Log, int]], modules: Sequence[tuple[str, Any]], *, given: bool) -> None:
    if not found:
        return
    roots = _Roots(modules, given=given)
    chains: dict[tuple[int, int], list[Call]] = {}
    for log, call in sorted(set(found.values()), key=lambda pair: (id(pair[0]), pair[1])):
        chain = []
        at = call
        while at >= 0 and at in log.calls:
            chain.append(log.calls[at])
            at = log.calls[at].parent
        chains[id(log), call] = chain[::-1]
        roots.add(chain[-1])
    numbers = _Numbers()
    told = {}
    for name, chain in chains.items():
        told[name] = tuple(numbers.of(roots.path(call), call) for call in chain)
    for key, (log, call) in found.items():
        chain = chains[id(log), call]
        if chain:
            made.modules[key] = told[id(log), call]
            made.roots[key] = roots.name(chain[0])


class _Numbers:
    """Numbers of calls. Those of several recordings are told apart: a number that is taken moves on."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, int], Call] = {}
        self._of: dict[int, ModuleCall] = {}

    def of(self, path: str, call: Call) -> ModuleCall:
        known = self._of.get(id(call))
        if known is None:
            number = call.number
            while self._taken.setdefault((path, number), call) is not call:
                number += 1
            known = self._of[id(call)] = ModuleCall(path, call.type, number)
        return known


class _Roots:
    """From which module the paths start: the one given, or one of the scope that holds all of what was called."""

    def __init__(self, modules: Sequence[tuple[str, Any]], *, given: bool) -> None:
        self._below = [
            (name, module, {id(one): path for path, one in _record.submodules(module)}) for name, module in modules
        ]
        self._below.sort(key=lambda entry: not (given and entry[1] is modules[0][1]) and -len(entry[2]))
        self._given = modules[0][1] if given else None
        self._root_of: dict[int, tuple[str, Any, str]] = {}  # outermost module -> root's name, root, path from there

    def add(self, call: Call) -> None:
        module = call.root()
        known = id(call.root)
        if known in self._root_of:
            return
        for name, root, below in self._below:
            if module is not None and id(module) in below:
                self._root_of[known] = (name, root, below[id(module)])
                return
        self._root_of[known] = ("", module, "")

    def _main(self) -> Any:
        """The root whose own name is left out: the given one, or the only one that holds something."""
        if self._given is not None:
            return self._given
        roots = {id(root): root for _, root, _ in self._root_of.values() if root is not None}
        holding = [root for root in roots.values() if _holds(root)]
        return holding[0] if len(holding) == 1 else next(iter(roots.values())) if len(roots) == 1 else None

    def path(self, call: Call) -> str:
        name, root, start = self._root_of[id(call.root)]
        main = self._main()
        first = "" if root is main else name or self._type(call)
        return ".".join(filter(None, (first, start, call.path)))

    def name(self, outermost: Call) -> str:
        name, root, _ = self._root_of[id(outermost.root)]
        return name or next((n for n, one, _ in self._below if one is root and n), "") or outermost.type

    def _type(self, call: Call) -> str:
        root = call.root()
        return call.type if root is None else type(root).__name__


def _holds(module: Any) -> bool:
    inside = object.__getattribute__(module, "__dict__")
    return bool(inside.get("_modules") or inside.get("_parameters"))


# --- code --------------------------------------------------------------------------------------------------------


def code_of(place: Place) -> str:
    """The text of a source line, "" where it can't be had."""
    return linecache.getline(place.filename, place.line).strip()[:_LONG]


@dataclass(frozen=True, slots=True)
class Code:
    """The lines of one cell or file that made nodes, and some around them. `title`: "cell 3", "model.py"."""

    title: str
    lines: list[tuple[int, str]]  # (line number, text)


_LONG = 300  # characters of a line
_WHOLE = 60  # lines up to which a file is shown whole
_AROUND = 2  # lines around the others
_CODE = 64_000  # characters in all


def code(made: Made) -> tuple[list[Code], dict[Place, tuple[int, int]]]:
    """The code that made nodes, as far as it can be had; and where each place stands in it, as (index, line)."""
    wanted: dict[tuple[str, str], dict[int, Place]] = {}
    for place in made.places.values():
        wanted.setdefault((place.filename, _title(place)), {})[place.line] = place
    files: list[Code] = []
    found: dict[Place, tuple[int, int]] = {}
    room = _CODE
    for (filename, title), places in sorted(wanted.items(), key=lambda item: _order(item[0][1])):
        lines = [(n, text[:_LONG]) for n, text in _lines(filename, places)]
        room -= sum(len(text) for _, text in lines)
        if lines and room >= 0:
            known = {n for n, _ in lines}
            found |= {place: (len(files), n) for n, place in places.items() if n in known}
            files.append(Code(title, lines))
    return files, found


def _title(place: Place) -> str:
    return place.text.removesuffix(f", line {place.line}").removesuffix(f":{place.line}")


def _order(title: str) -> tuple[bool, int, str]:
    number = "".join(c for c in title if c.isdigit())
    cell = title.startswith("cell ")
    return not cell, int(number) if cell and number else 0, title


def _lines(filename: str, wanted: Collection[int]) -> list[tuple[int, str]]:
    lines = linecache.getlines(filename)
    shown = {n for line in wanted for n in range(line - _AROUND, line + _AROUND + 1)}
    whole = len(lines) <= _WHOLE
    return [(n, text.rstrip("\n")) for n, text in enumerate(lines, 1) if whole or n in shown]
