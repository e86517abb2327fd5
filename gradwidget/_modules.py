"""Which module made which node: told exactly where the forward pass was recorded, else by the parameters it used."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gradwidget._made import ModuleCall
from gradwidget._walk import Columns, Edges


class Class(NamedTuple):
    """Class of a module, and whether it is one of torch's own."""

    name: str
    own: bool


class Call(NamedTuple):
    """One call of a module, inside of the call `parent`, an index; -1: of none."""

    parent: int
    path: str
    type: str
    call: int


class Known(NamedTuple):
    """What tells about the modules of a graph."""

    names: Mapping[tuple[int, int], Sequence[str]]  # (node, output) -> names
    classes: Mapping[str, Class]  # by path
    exact: Mapping[int, Sequence[ModuleCall]]  # by node, as recorded, outermost call first
    second: Collection[int]  # nodes made by a backward pass: no module's
    given: Collection[str] = ()  # paths of the modules inside of one that was given by itself, whose own path is ""


class Calls:
    """All calls that made nodes, each once; calls are told apart by what they are inside of."""

    def __init__(self) -> None:
        self.rows: list[Call] = []
        self.chains: list[tuple[int, ...]] = []  # each call with those around it, outermost first
        self._index: dict[Call, int] = {}

    def add(self, call: Call) -> int:
        found = self._index.get(call)
        if found is None:
            found = self._index[call] = len(self.rows)
            self.rows.append(call)
            self.chains.append((*self.chain(call.parent), found))
        return found

    def chain(self, call: int) -> tuple[int, ...]:
        return () if call < 0 else self.chains[call]

    def common(self, one: int, other: int) -> int:
        """The innermost call around both, or -1."""
        found = -1
        for a, b in zip(self.chain(one), self.chain(other), strict=False):
            if a != b:
                break
            found = a
        return found


_CONTAINERS = frozenset({"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
"""Modules that are never called."""
_COMPOSITE = frozenset({"RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell", "MultiheadAttention"})
"""Torch's own modules without modules inside that do more than one operation."""
PREPARING = frozenset(
    (
        *(
            "T",
            "Transpose",
            "Permute",
            "ToCopy",
            "View",
            "UnsafeView",
            "ReshapeAlias",
            "Expand",
            "Unsqueeze",
            "Squeeze",
        ),
        *("Clone", "Alias", "Slice", "Select", "Split", "SplitWithSizes", "UnsafeSplit", "Unbind", "Chunk"),
    )
)
"""What is done to a parameter before it is used."""
_NEAR = 8  # operations from a parameter's preparation to its use
_ENTRY = re.compile(r"(.*?)(?:\.\d+|\[\d+\])", re.DOTALL)
_NUMBER = re.compile(r"\d+")


def family(path: str) -> str:
    """What the paths of repeated modules have in common: "h.#.attn"."""
    return _NUMBER.sub("#", path)


def member_of(path: str) -> str | None:
    """Path of the list that a module is an entry of: "h" of "h.3"; None for others."""
    found = _ENTRY.fullmatch(path)
    return found[1] if found else None


def owner_of(name: str, classes: Mapping[str, Class]) -> str | None:
    """Path of the module that a parameter's name belongs to: "fc" for "fc.weight"; None for other tensors."""
    path = name
    while path:
        path = path.rpartition(".")[0]
        if path in classes:
            return path
    return None


def find_calls(
    columns: Columns, edges: Edges, order: Sequence[int], owners: Mapping[int, Sequence[str]], known: Known
) -> tuple[Calls, list[int]]:
    """All calls, and for each operation of `order` (the forward pass) the innermost one that made it, or -1.

    `owners` has the paths of the modules that a leaf belongs to, by its key.
    """
    exact = known.exact
    calls = Calls()
    made = [-1] * len(order)
    if owners and len(exact) < len(order):
        _Derivation(columns, edges, order, owners, known).into(calls, made)
    for position, key in enumerate(order):
        stack = exact.get(key)
        if stack is not None:
            parent = -1
            for one in stack:
                parent = calls.add(Call(parent, one.path, one.type, one.call))
            made[position] = parent
    return calls, made


class _Derivation:
    """Operations that use a parameter belong to its module; what lies between two of them to the module around both."""

    def __init__(
        self,
        columns: Columns,
        edges: Edges,
        order: Sequence[int],
        owners: Mapping[int, Sequence[str]],
        known: Known,
    ) -> None:
        self._columns, self._edges, self._order = columns, edges, order
        self._owners, self._classes, self._second = owners, known.classes, frozenset(known.second)
        self._calls = Calls()
        self._parents = {path.rpartition(".")[0] for path in known.classes if path}
        self._paths: dict[str, tuple[str, ...]] = {}
        self._root = self._only_root()
        self._given = frozenset(known.given)
        self._base: str | None = None
        self._entered: frozenset[int] = frozenset()
        # A module given by itself, without others inside: `names=nn.LSTMCell(...)`.
        self._alone = all(paths[0] == "" for paths in owners.values())

    def into(self, calls: Calls, made: list[int]) -> None:
        """Write the calls into `calls`, and into `made` which one made which operation."""
        self._calls = calls
        uses, prepared = self._uses()
        self._find_base(uses, prepared)
        anchors = self._anchors(uses, prepared)
        self._between(anchors, made)
        for position, call in anchors:
            made[position] = call
        place = {key: position for position, key in enumerate(self._order)}
        for position in sorted(prepared, reverse=True):
            readers = [place[self._columns.source[e]] for e in self._edges.consumers[self._order[position]]]
            first = min(readers, default=-1)
            if first > position and first - position < _NEAR:
                around = {-1, *self._calls.chain(made[first])}
                for between in range(first - 1, position - 1, -1):  # what is done to the other operand meanwhile
                    if between not in prepared and made[between] not in around:
                        break
                    made[between] = made[first]

    def _only_root(self) -> str:
        """A module that holds all others says nothing: "" if there is no such module."""
        roots = {path.partition(".")[0] for paths in self._owners.values() for path in paths if path}
        root = next(iter(roots)) if len(roots) == 1 else ""
        return root if root in self._classes and root in self._parents else ""

    def _find_base(self, uses: Mapping[int, Sequence[int]], prepared: set[int]) -> None:
        """The module around all others gets boxes of its own where they say something.

        That is where it is a `Sequential`, which is known by its members only, and where it was called several times:
        each time with all that it has. Calls of others whose results go into the next one can't be told from a loop
        inside of one call.
        """
        base = "" if self._given else self._root
        if base not in self._classes or not (base or self._given):
            return
        inside = {leaf for leaf, paths in self._owners.items() if any(self._in_base(path, base) for path in paths[:1])}
        entered: set[int] = set()
        seen: set[int] = set()
        for position in sorted(uses):
            leaves = inside.intersection(uses[position])
            if position in prepared or self._order[position] in self._second or not leaves:
                continue
            if seen == inside:
                entered.add(position)
                seen = set()
            seen |= leaves
        sequential = self._classes[base] == Class("Sequential", True)
        if seen == inside and (sequential or not self._flows(uses.keys() - prepared, entered)):
            self._entered = frozenset(entered)
        if self._entered or sequential:
            self._base = base

    def _flows(self, uses: Collection[int], entered: Collection[int]) -> bool:
        """Whether something made before one of these positions goes into what uses parameters after it."""
        place = {key: position for position, key in enumerate(self._order)}
        latest: list[int] = []  # by position, the last stretch whose parameters are behind it
        stretch = 0
        for position, key in enumerate(self._order):
            stretch += position in entered
            made_of = [place.get(self._columns.target[edge], -1) for edge in self._edges.inputs[key]]
            behind = max((latest[p] for p in made_of if 0 <= p < position), default=-1)
            if position in uses and 0 <= behind < stretch:
                return True
            latest.append(stretch if position in uses else behind)
        return False

    def _in_base(self, path: str, base: str) -> bool:
        return path in self._given if base == "" else path == base or path.startswith(f"{base}.")

    def _path(self, path: str) -> tuple[str, ...]:
        """The modules around a module, outermost first, itself the last."""
        if not path:
            return ("",) if self._alone or self._base == "" else ()
        found = self._paths.get(path)
        if found is None:
            parts = path.split(".")
            prefixes = (".".join(parts[: i + 1]) for i in range(len(parts)))
            found = self._paths[path] = tuple(
                p
                for p in prefixes
                if p in self._classes
                and self._classes[p].name not in _CONTAINERS
                and (p != self._root or p == self._base)
            )
            if self._base == "" and path in self._given:
                found = self._paths[path] = ("", *found)
        return found

    def _uses(self) -> tuple[dict[int, list[int]], set[int]]:
        """By position the leaves that an operation uses, and which operations only prepare one for its use."""
        columns, edges = self._columns, self._edges
        place = {key: position for position, key in enumerate(self._order)}
        uses: dict[int, list[int]] = {}
        for leaf in self._owners:
            for edge in edges.consumers[leaf]:
                uses.setdefault(place[columns.source[edge]], []).append(leaf)
        prepared: set[int] = set()
        waiting = sorted(uses)
        for position in waiting:  # grows
            key = self._order[position]
            if position in prepared or key in self._second:
                continue
            label = columns.ops[columns.op[key]].label
            if label in PREPARING and len(edges.inputs[key]) == 1 and not edges.cuts[key] and edges.consumers[key]:
                prepared.add(position)
                for edge in edges.consumers[key]:
                    reader = place[columns.source[edge]]
                    found = uses.setdefault(reader, [])
                    found += [leaf for leaf in uses[position] if leaf not in found]
                    waiting.append(reader)
        return uses, prepared

    def _anchors(self, uses: Mapping[int, list[int]], prepared: Collection[int]) -> list[tuple[int, int]]:
        """(position, call) of the operations that use parameters."""
        found: list[tuple[int, int]] = []
        current: list[tuple[str, int]] = []  # open modules with their calls
        state: dict[str, _Use] = {}
        for position in sorted(uses):
            if position in prepared or self._order[position] in self._second:
                continue
            leaves = uses[position]
            path = self._owner(leaves, position)
            chain = self._path(path)
            if not chain:
                current = []
                continue
            common = 0
            while common < min(len(chain), len(current)) and current[common][0] == chain[common]:
                common += 1
            again = 0 if self._enters(chain, position) else self._again(chain, common, leaves, state)
            del current[again:]
            for level in range(again, len(chain)):
                module = chain[level]
                use = state.setdefault(module, _Use())
                entered = module != self._base or position in self._entered
                if use.number == 0 or (entered and not use.leaves.isdisjoint(leaves)):
                    use.begin()
                call = Call(current[-1][1] if current else -1, module, self._classes[module].name, use.number)
                current.append((module, self._calls.add(call)))
            for level, module in enumerate(chain):
                state[module].take(leaves, chain[level + 1] if level + 1 < len(chain) else "")
            found.append((position, current[-1][1]))
        return found

    def _enters(self, chain: Sequence[str], position: int) -> bool:
        return chain[0] == self._base and position in self._entered

    def _again(self, chain: Sequence[str], common: int, leaves: Sequence[int], state: Mapping[str, _Use]) -> int:
        """The outermost level at which a new call begins: a module is entered anew where it began before."""
        for level in range(1 if chain[0] == self._base else 0, common):
            use = state[chain[level]]
            if use.leaves.isdisjoint(leaves):
                continue
            if level + 1 == len(chain):
                simple = self._classes[chain[level]].own
                if use.first_leaf in leaves or (simple and not self._composite(chain[level])):
                    return level
            elif chain[level + 1] == use.first_child and level + 1 >= common:
                return level
        return common

    def _owner(self, leaves: Sequence[int], position: int) -> str:
        """The module that an operation on these leaves belongs to; a tied one to that which does such operations."""
        label = self._columns.ops[self._columns.op[self._order[position]]].label
        chosen: list[str] = []
        for leaf in leaves:
            paths = self._owners[leaf]
            embeds = label.startswith("Embedding")
            fitting = [p for p in paths if self._classes[p].name.startswith("Embedding") == embeds]
            chosen.append((fitting or list(paths))[0])
        path = chosen[0]
        for other in chosen[1:]:
            while path and other != path and not other.startswith(f"{path}."):
                path = path.rpartition(".")[0]
        return path

    def _composite(self, path: str) -> bool:
        """Whether a module does more than the one operation with its parameters."""
        kind = self._classes[path]
        return path in self._parents or not kind.own or kind.name in _COMPOSITE

    def _between(self, anchors: Sequence[tuple[int, int]], made: list[int]) -> None:
        """What lies between two anchors belongs to the call around both.

        What each of a row of alike modules is followed by belongs to that module: the sum and the relu at the end of
        a residual block.
        """
        rows, calls = self._calls.rows, self._calls
        op = self._columns.op
        tails: dict[tuple[str, str], list[int]] = {}
        gaps: list[tuple[int, int, int, int]] = []
        for (i, f), (j, g) in itertools.pairwise(anchors):
            around = calls.common(f, g)
            gaps.append((i + 1, j, f, around))
            depth = len(calls.chain(around))
            ahead, after = calls.chain(f)[depth:], calls.chain(g)[depth:]
            if ahead and after and self._alike(ahead[0], after[0]):
                ops = [op[key] for key in self._order[i + 1 : j]]
                for x, y in zip(ahead, after, strict=False):
                    if not self._alike(x, y):
                        break
                    if self._composite(rows[x].path):
                        kin = (family(rows[x].path), rows[x].type)
                        tails[kin] = _common_prefix(tails[kin], ops) if kin in tails else ops
        if anchors:
            gaps.append((anchors[-1][0] + 1, len(made), anchors[-1][1], -1))
        for start, end, before, around in gaps:
            at = start
            chain = calls.chain(before)
            for call in reversed(chain[len(calls.chain(around)) :]):
                tail = tails.get((family(rows[call].path), rows[call].type), ())
                while at < end and at - start < len(tail) and op[self._order[at]] == tail[at - start]:
                    made[at] = call
                    at += 1
            for position in range(at, end):
                made[position] = -1 if self._order[position] in self._second else around

    def _alike(self, one: int, other: int) -> bool:
        a, b = self._calls.rows[one], self._calls.rows[other]
        return one != other and a.type == b.type and family(a.path) == family(b.path)


class _Use:
    """What is known of a module's latest call."""

    __slots__ = ("first_child", "first_leaf", "leaves", "number")

    def __init__(self) -> None:
        self.number = 0
        self.leaves: set[int] = set()
        self.first_leaf = -1
        self.first_child = ""

    def begin(self) -> None:
        self.number += 1
        self.leaves = set()
        self.first_leaf, self.first_child = -1, ""

    def take(self, leaves: Sequence[int], child: str) -> None:
        if not self.leaves:
            self.first_leaf, self.first_child = leaves[0], child
        self.leaves.update(leaves)


def _common_prefix(one: list[int], other: list[int]) -> list[int]:
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return one[:i]
    return one[: len(other)]
