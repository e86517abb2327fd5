"""Columns -> a tree of groups: module calls, rows of alike ones, repeated stretches. Plain data.

Every group is an interval of the forward pass together with the leaves that only it uses: nothing leaves a group and
comes back, so that a picture with any of them folded has no cycle.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gradwidget._modules import PREPARING, Calls, Known, family, find_calls, member_of, owner_of
from gradwidget._repeats import Repeat, repeats
from gradwidget._walk import Columns, Edges

FLAT = 60
"""Nodes up to which a graph opens as it is."""
DRAWN = 3_000
"""Boxes that the page draws at most."""
OPENED = 40
"""Boxes up to which modules are opened at first."""
_MEMBERS = 50
"""Most members that a row shows at once; longer ones are divided into tens, hundreds, ..."""
_LOOSE = 100
"""More children than this are divided into parts."""
_PART = 40
_ALIKE = 3  # modules that follow each other, to make a row
_TIMES = 4  # repetitions of a stretch, to be one
_LEAST = 16  # nodes in it
_LEAVES = 24  # leaves of one operation

Numbers: TypeAlias = npt.NDArray[np.int64]


class Group(NamedTuple):
    """One group. `parent` is an index, -1 for none; parents come before what is in them.

    kind: "module" (a call of one), "stack" (modules of one kind that follow each other), "repeat" (a stretch of
    operations that repeats itself), "step" (one of those stretches), "part" (a part of what is too long).
    """

    id: str
    parent: int
    kind: str
    title: str
    type: str  # class of the module or of the stacked modules, "" otherwise
    path: str  # of a module, "" otherwise
    call: int  # which call of the module, 0 where there was one only
    times: int  # members of a stack or repeat, 0 otherwise
    nodes: int  # in it, at any depth
    parameters: int  # elements of the leaves that it uses


@dataclass(frozen=True, slots=True)
class Fold:
    """The tree over one graph."""

    groups: tuple[Group, ...]
    member: list[int]  # by node, the innermost group, -1 for none
    modules: Mapping[int, str]  # by node, the path of the module that made it, where that is known
    first: tuple[str, ...]  # ids of the groups that are collapsed at first

    def boxes(self, collapsed: Collection[str]) -> int:
        """How many boxes a picture has in which these groups are collapsed: what is collapsed, and loose nodes."""
        return len(self.visible(collapsed))

    def visible(self, collapsed: Collection[str]) -> dict[int, None]:
        """What is drawn: a node's key, or -1 - the index of a collapsed group."""
        holder = self.holders(collapsed)
        return dict.fromkeys(key if m < 0 or holder[m] < 0 else -1 - holder[m] for key, m in enumerate(self.member))

    def holders(self, collapsed: Collection[str]) -> list[int]:
        """For each group the outermost collapsed one around it or itself; -1 where all are open."""
        closed = frozenset(collapsed)
        holder: list[int] = []
        for i, group in enumerate(self.groups):
            above = holder[group.parent] if group.parent >= 0 else -1
            holder.append(above if above >= 0 else i if group.id in closed else -1)
        return holder

    def find(self, name: str) -> list[str]:
        """Ids of the groups of that id or module path; a path may lack its beginning."""
        plain = name.replace(" x ", " × ").replace("...", "…")
        by_id = [g.id for g in self.groups if g.id in (name, plain)]
        found = by_id or [g.id for g in self.groups if g.path == name]
        if found:
            return found
        ending = [g for g in self.groups if g.path.endswith(f".{name}")]
        return [g.id for g in ending] if len({g.path for g in ending}) == 1 else []


def fold(columns: Columns, edges: Callable[[], Edges], known: Known) -> Fold:
    """Group the nodes of a graph. `edges` is asked for only where modules are known."""
    classes = known.classes
    owners: dict[int, list[str]] = {}
    if classes:
        for (key, _), found in known.names.items():
            if columns.ops[columns.op[key]].kind == "leaf":
                paths = [path for path in (owner_of(name, classes) for name in found) if path is not None]
                if paths:
                    owners[key] = paths
    order, place = forward_order(columns)
    if owners or known.exact:
        calls, made = find_calls(columns, edges(), order, owners, known)
    else:
        calls, made = Calls(), [-1] * len(order)
    modules = {key: calls.rows[call].path for key, call in zip(order, made, strict=True) if call >= 0}
    modules |= {key: paths[0] for key, paths in owners.items() if paths[0]}
    if len(columns) < 3:
        return Fold((), [-1] * len(columns), modules, ())
    tree = _Tree(columns, order, place, calls)
    tree.grow(made)
    tree.shorten()
    return tree.finish(modules)


def forward_order(columns: Columns) -> tuple[list[int], Numbers]:
    """Keys of the operations in the order of the forward pass, and for each node its place there (-1: a leaf)."""
    size = len(columns)
    leaf_ops = np.asarray([op.kind == "leaf" for op in columns.ops], dtype=bool)
    ops = np.asarray(columns.op, dtype=np.int64)
    keys = np.flatnonzero(~leaf_ops[ops]) if size else np.zeros(0, dtype=np.int64)
    sequence = np.asarray(columns.sequence, dtype=np.int64)
    order = keys[::-1][np.argsort(sequence[keys[::-1]], kind="stable")]
    place = np.full(size, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    source, target = np.asarray(columns.source, dtype=np.int64), np.asarray(columns.target, dtype=np.int64)
    inner = place[target] >= 0 if len(target) else np.zeros(0, dtype=bool)
    if not np.all(place[target[inner]] < place[source[inner]]):  # made by several threads
        order = _sorted(columns, order, place)
        place[order] = np.arange(len(order))
    return [int(key) for key in order], place


def _sorted(columns: Columns, order: Numbers, place: Numbers) -> Numbers:
    """Producers first, as near to the given order as that allows."""
    waiting = {int(key): 0 for key in order}
    readers: dict[int, list[int]] = {}
    for reader, producer in zip(columns.source, columns.target, strict=True):
        if place[producer] >= 0:
            readers.setdefault(producer, []).append(reader)
            waiting[reader] += 1
    ready = [(int(place[key]), key) for key, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    found: list[int] = []
    while ready:
        _, key = heapq.heappop(ready)
        found.append(key)
        for reader in readers.get(key, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heapq.heappush(ready, (int(place[reader]), reader))
    return np.asarray(found + sorted(waiting.keys() - set(found)), dtype=np.int64)


class _Tree:
    """The tree while it grows. A child is a place in the forward pass, or -1 - the index of a box; box 0 holds all."""

    def __init__(self, columns: Columns, order: Sequence[int], place: Numbers, calls: Calls) -> None:
        self._columns, self._order, self._place, self._calls = columns, order, place, calls
        self.children: list[list[int]] = [[]]
        self.kind = ["root"]
        self.call = [-1]
        self.times = [0]
        self.label: list[tuple[int, int]] = [(0, 0)]  # of a part: its first and its last member, from 1
        self.start = [0]  # first place in the forward pass
        self.size = [len(order)]  # operations in it
        self._tokens: dict[Any, int] = {}
        self._known: dict[tuple[int, ...], list[Repeat]] = {}
        self._width: Numbers | None = None
        source, target = np.asarray(columns.source, dtype=np.int64), np.asarray(columns.target, dtype=np.int64)
        leaves = place[target] < 0 if len(target) else np.zeros(0, dtype=bool)
        self._inner = (place[source[~leaves]], place[target[~leaves]])
        self._leaf_edges = (source[leaves], target[leaves])

    def add(
        self, kind: str, children: list[int], call: int = -1, times: int = 0, label: tuple[int, int] = (0, 0)
    ) -> int:
        """A new box, as a child."""
        self.children.append(children)
        self.kind.append(kind)
        self.call.append(call)
        self.times.append(times)
        self.label.append(label)
        self.start.append(self._start_of(children[0]) if children else 0)
        self.size.append(sum(map(self._size_of, children)))
        return -len(self.children)

    def _start_of(self, child: int) -> int:
        return child if child >= 0 else self.start[-1 - child]

    def _size_of(self, child: int) -> int:
        return 1 if child >= 0 else self.size[-1 - child]

    def grow(self, made: Sequence[int]) -> None:
        """A box for each call, as an interval of the forward pass: a call that goes on later gets a second box."""
        alone = self._alone(made)
        chains = self._calls.chains
        open_: list[tuple[int, int]] = []  # (call, box)
        for position, innermost in enumerate(made):
            call = self._calls.rows[innermost].parent if innermost in alone else innermost
            chain = chains[call] if call >= 0 else ()
            common = 0
            while common < min(len(open_), len(chain)) and open_[common][0] == chain[common]:
                common += 1
            del open_[common:]
            for one in chain[common:]:
                parent = open_[-1][1] if open_ else 0
                child = self.add("module", [], one)
                self.start[-1] = position
                self.children[parent].append(child)
                open_.append((one, -1 - child))
            self.children[open_[-1][1] if open_ else 0].append(position)
            for _, box in open_:
                self.size[box] += 1

    def _alone(self, made: Sequence[int]) -> set[int]:
        """Calls that made one operation and have no parameters: a box around one box says nothing."""
        count: dict[int, int] = {}
        for call in made:
            for one in self._calls.chain(call):
                count[one] = count.get(one, 0) + 1
        fed = set(self._place[self._leaf_edges[0]].tolist())
        return {call for position, call in enumerate(made) if call >= 0 and count[call] == 1 and position not in fed}

    def shorten(self) -> None:
        """Fold what repeats itself, then what is still too long, in all boxes, also in new ones."""
        box = 0
        while box < len(self.children):
            if self.kind[box] in ("root", "module", "step"):
                self._fold_repeats(box)
                self._divide(box)
            box += 1

    def _fold_repeats(self, box: int) -> None:
        children = self.children[box]
        if len(children) < _ALIKE:
            return
        tokens = tuple(map(self._token, children))
        found = self._known.get(tokens)
        if found is None:
            found = self._known[tokens] = self._find(tokens, children)
        new: list[int] = []
        at = 0
        for one in found:
            start = one.start + self._shift(children, one)
            times = one.times if one.start + one.slack >= start else one.times - 1
            new += children[at:start]
            at = start + one.period * times
            new.append(self._row(children[start:at], one.period, times))
        new += children[at:]
        if len(new) == 1 and new[0] < 0 and self.kind[box] == "module":  # a row that is all of a module
            self.times[box] = self.times[-1 - new[0]]
            new = self.children[-1 - new[0]]
        self.children[box] = new

    def _find(self, tokens: tuple[int, ...], children: list[int]) -> list[Repeat]:
        weights = [self._size_of(child) for child in children]
        modules = [t for t, c in zip(tokens, children, strict=True) if c < 0]
        if len(modules) == len(tokens):
            return repeats(tokens, weights, times=_ALIKE, least=_ALIKE)
        found = repeats(tokens, weights, times=_TIMES, least=_LEAST)
        if found or not modules:
            return found
        return [r for r in repeats(tokens, weights, times=_ALIKE, least=_ALIKE) if children[r.start] < 0]

    def _token(self, child: int) -> int:
        if child >= 0:
            return self._columns.op[self._order[child]]
        box = -1 - child
        row = self._calls.rows[self.call[box]] if self.call[box] >= 0 else None
        if row is None:
            key: tuple[Any, ...] = (self.kind[box], self.times[box], self.size[box])
        else:
            key = (row.path if member_of(row.path) is None else family(row.path), row.type)
        return self._tokens.setdefault(key, -1 - len(self._tokens))

    def _shift(self, children: list[int], one: Repeat) -> int:
        """Where in a repeated stretch to begin: where the fewest values are on their way."""
        if one.period == 1:
            return 0
        width = self._widths()
        shifts = range(one.period if one.times > _TIMES else one.slack + 1)
        best, least = 0, math.inf
        for shift in shifts:
            times = one.times if shift <= one.slack else one.times - 1
            starts = [self._start_of(children[one.start + shift + i * one.period]) for i in range(min(times, 64))]
            mean = float(width[starts].mean())
            if mean < least - 1e-9:
                best, least = shift, mean
        return best

    def _widths(self) -> Numbers:
        """For each place how many values are made before it and read at it or later."""
        if self._width is None:
            reader, producer = self._inner
            last = np.full(len(self._order) + 1, -1, dtype=np.int64)
            np.maximum.at(last, producer, reader)
            made = np.flatnonzero(last >= 0)
            change = np.zeros(len(self._order) + 2, dtype=np.int64)
            np.add.at(change, made + 1, 1)
            np.add.at(change, last[made] + 1, -1)
            self._width = np.cumsum(change)
        return self._width

    def _row(self, children: list[int], period: int, times: int) -> int:
        if period == 1:
            stack = children[0] < 0 and self.kind[-1 - children[0]] == "module"
            return self.add("stack" if stack else "repeat", self._chunks(children), times=times)
        steps = [self.add("step", children[i * period : (i + 1) * period], label=(i + 1, i + 1)) for i in range(times)]
        return self.add("repeat", self._chunks(steps), times=times)

    def _chunks(self, members: list[int], base: int = 1) -> list[int]:
        """Members in tens, hundreds, ... so that no more than 50 stand side by side."""
        if len(members) <= _MEMBERS:
            return members
        size = 10
        while len(members) > size * _MEMBERS:
            size *= 10
        found = []
        for start in range(0, len(members), size):
            inside = members[start : start + size]
            label = (base + start, base + start + len(inside) - 1)
            found.append(
                self.add("part", self._chunks(inside, base + start), label=label) if len(inside) > 1 else inside[0]
            )
        return found

    def _divide(self, box: int) -> None:
        """Cut too many children where the fewest values are on their way."""
        children = self.children[box]
        first = 1
        while len(children) > _LOOSE:
            width = self._widths()
            parts: list[int] = []
            at = 0
            while at < len(children):
                low, high = at + _PART // 2, min(at + _PART, len(children))
                if len(children) - at <= _PART:
                    end = len(children)
                else:
                    end = min(range(low, high + 1), key=lambda i: (width[self._start_of(children[i])], -i))
                inside = children[at:end]
                parts.append(
                    self.add("part", inside, label=(first + at, first + end - 1)) if end - at > 1 else inside[0]
                )
                at = end
            children = parts
        self.children[box] = children

    # --- as plain data -------------------------------------------------------------------------------------------

    def finish(self, modules: Mapping[int, str]) -> Fold:
        """The tree as it is told to others."""
        self._drop_single()
        boxes, parent = self._preorder()
        index = {box: i for i, box in enumerate(boxes)}
        member = [-1] * len(self._columns)
        for box in boxes:
            for child in self.children[box]:
                if child >= 0:
                    member[self._order[child]] = index[box]
        for child in self.children[0]:
            if child >= 0:
                member[self._order[child]] = -1
        parents = [index.get(p, -1) for p in parent]
        leaves = self._place_leaves(member, parents)
        nodes = [0] * len(boxes)
        for m in member:
            if m >= 0:
                nodes[m] += 1
        for i in range(len(boxes) - 1, -1, -1):
            if parents[i] >= 0:
                nodes[parents[i]] += nodes[i]
        groups = self._told(boxes, parents, nodes, self._parameters(member, parents))
        groups += self._leaf_rows(member, groups, leaves)
        return Fold(tuple(groups), member, modules, first_collapsed(groups, member))

    def _drop_single(self) -> None:
        """A box around one operation and no leaf of its own says nothing."""
        boxes, _ = self._preorder()
        single = {box for box in boxes if self.kind[box] == "module" and self.size[box] == 1}
        if not single:
            return
        readers: dict[int, set[int]] = {}
        for reader, leaf in zip(*(side.tolist() for side in self._leaf_edges), strict=True):
            readers.setdefault(leaf, set()).add(int(self._place[reader]))
        own = {next(iter(places)) for places in readers.values() if len(places) == 1}
        for box in [0, *boxes]:
            self.children[box] = [
                self.children[-1 - c][0]
                if c < 0 and -1 - c in single and self.children[-1 - c][0] not in own and self.children[-1 - c][0] >= 0
                else c
                for c in self.children[box]
            ]

    def _preorder(self) -> tuple[list[int], list[int]]:
        boxes: list[int] = []
        parents: list[int] = []
        stack = [(-1 - child, 0) for child in reversed(self.children[0]) if child < 0]
        while stack:
            box, parent = stack.pop()
            boxes.append(box)
            parents.append(parent)
            stack += [(-1 - child, box) for child in reversed(self.children[box]) if child < 0]
        return boxes, parents

    def _place_leaves(self, member: list[int], parents: Sequence[int]) -> dict[int, list[int]]:
        """A leaf belongs to the innermost group around all that use it. Gives the leaves by their first reader."""
        depth: list[int] = []
        for parent in parents:
            depth.append(0 if parent < 0 else depth[parent] + 1)
        ends = {key for key, _ in self._columns.outputs}
        around: dict[int, int] = {}
        first: dict[int, int] = {}
        for reader, leaf in zip(*(side.tolist() for side in self._leaf_edges), strict=True):
            if leaf not in around:
                around[leaf], first[leaf] = member[reader], reader
                continue
            a, b = around[leaf], member[reader]
            while a != b:
                if b < 0 or (a >= 0 and depth[a] >= depth[b]):
                    a = parents[a]
                else:
                    b = parents[b]
            around[leaf] = a
        by_reader: dict[int, list[int]] = {}
        for leaf, group in around.items():
            if leaf in ends:
                continue
            member[leaf] = group
            by_reader.setdefault(first[leaf], []).append(leaf)
        return by_reader

    def _parameters(self, member: Sequence[int], parents: Sequence[int]) -> list[int]:
        """Elements of the leaves that each group uses, each leaf once."""
        found = [0] * len(parents)
        seen = [-1] * len(parents)
        elements = [math.prod(form.shape) if form.shape is not None else 0 for form in self._columns.forms]
        readers, leaves = self._leaf_edges
        by_leaf = np.argsort(leaves, kind="stable")
        for reader, leaf in zip(readers[by_leaf].tolist(), leaves[by_leaf].tolist(), strict=True):
            form = self._columns.form[leaf]
            group = member[reader]
            while group >= 0 and seen[group] != leaf:
                seen[group] = leaf
                found[group] += elements[form] if form >= 0 else 0
                group = parents[group]
        return found

    def _told(
        self, boxes: Sequence[int], parents: Sequence[int], nodes: Sequence[int], parameters: Sequence[int]
    ) -> list[Group]:
        several = self._several()
        paths = {row.path for row in self._calls.rows}
        taken: dict[str, int] = {}
        groups: list[Group] = []
        around: list[str] = []  # path of the innermost module around each group, itself included
        for i, box in enumerate(boxes):
            call = self._calls.rows[self.call[box]] if self.call[box] >= 0 else None
            above = groups[parents[i]] if parents[i] >= 0 else None
            title, kind = self._title(box, above)
            name, path = title, "" if call is None else call.path
            if call is not None:
                name = f"{path or title} (call {call.call})" if path in several else path or title
            elif self.kind[box] == "part" and above is not None:
                name = f"{above.id} [{title}]" if above.kind != "part" else f"{above.id.rpartition(' [')[0]} [{title}]"
            elif self.kind[box] == "step" and above is not None:
                name = f"{above.id.rpartition(' [')[0] if above.kind == 'part' else above.id} [{self.label[box][0]}]"
            elif self.kind[box] == "stack":
                first, last = (self._calls.rows[self.call[one]].path for one in self._ends(box))
                path = (member_of(first) or "") if first != last else ""
                path = "" if path in paths else path
                name = path or (f"{first} … {last}" if first != last else f"{first or title} × {self.times[box]}")
            elif self.kind[box] == "repeat":
                name = f"{title} × {self.times[box]}"
            taken[name] = taken.get(name, 0) + 1
            if taken[name] > 1:
                name = f"{name} #{taken[name]}"
            groups.append(
                Group(
                    name,
                    parents[i],
                    self.kind[box],
                    title,
                    kind,
                    path,
                    call.call if call is not None and call.path in several else 0,
                    self.times[box],
                    nodes[i],
                    parameters[i],
                )
            )
            around.append(path if call is not None else around[parents[i]] if parents[i] >= 0 else "")
            if around[parents[i]] if parents[i] >= 0 else "":
                prefix = f"{around[parents[i]]}."
                if self.kind[box] in ("module", "stack"):
                    groups[-1] = groups[-1]._replace(title=title.replace(prefix, ""))
        return groups

    def _several(self) -> set[str]:
        """Paths of modules that were called more than once."""
        return {row.path for row in self._calls.rows if row.call > 1}

    def _title(self, box: int, above: Group | None) -> tuple[str, str]:
        """What a box is called, and its class."""
        if self.call[box] >= 0:
            row = self._calls.rows[self.call[box]]
            return row.path or row.type, row.type
        low, high = self.label[box]
        if self.kind[box] == "step":
            return f"step {low}", ""
        if self.kind[box] == "part":
            word = "" if above is not None and (above.times or above.kind == "part") else "part "
            return f"{word}{low:,} – {high:,}", ""
        first, last = self._ends(box)
        if self.kind[box] == "stack":
            a, b = self._calls.rows[self.call[first]], self._calls.rows[self.call[last]]
            return ((a.path or a.type) if a.path == b.path else f"{a.path} … {b.path}"), a.type
        words = list(dict.fromkeys(self._words(first)))
        words = [word for word in words if word not in PREPARING] or words
        return ", ".join(words[:3]) + (", …" if len(words) > 3 else ""), ""

    def _ends(self, box: int) -> tuple[int, int]:
        """The first and the last member of a row; of single operations the row itself."""
        first = last = box
        while self.kind[first] in ("part", "stack", "repeat") and self.children[first][0] < 0:
            first = -1 - self.children[first][0]
        while self.kind[last] in ("part", "stack", "repeat") and self.children[last][-1] < 0:
            last = -1 - self.children[last][-1]
        return first, last

    def _words(self, box: int) -> Iterator[str]:
        """What a stretch is made of: its modules first."""
        inside = self.children[box]
        rows = [self._calls.rows[self.call[-1 - c]] for c in inside if c < 0 and self.call[-1 - c] >= 0]
        yield from (row.path or row.type for row in rows)
        yield from (self._columns.ops[self._columns.op[self._order[c]]].label for c in inside if c >= 0)

    def _leaf_rows(
        self, member: list[int], groups: Sequence[Group], by_reader: Mapping[int, Sequence[int]]
    ) -> list[Group]:
        """Many leaves of one operation, and many that several operations share, as groups of their own."""
        loose: dict[int, list[int]] = {}
        rows: list[tuple[str, list[int]]] = []
        for reader, leaves in by_reader.items():
            here: dict[int, list[int]] = {}
            for leaf in leaves:
                here.setdefault(member[leaf], []).append(leaf)
            for group, some in here.items():
                if len(some) > _LEAVES:
                    rows.append((f"leaves of {self._columns.ops[self._columns.op[reader]].label}", some))
                else:
                    loose.setdefault(group, []).extend(some)
        rows += [("leaves", some) for some in loose.values() if len(some) > _LOOSE]
        taken = dict.fromkeys((group.id for group in groups), 1)
        added = _Leaves(self._columns, member, len(groups))
        for title, leaves in rows:
            name = f"{title} × {len(leaves)}"
            taken[name] = taken.get(name, 0) + 1
            added.add(name if taken[name] == 1 else f"{name} #{taken[name]}", title, leaves)
        return added.groups


class _Leaves:
    """Groups of leaves, in tens, hundreds, ... where there are many."""

    def __init__(self, columns: Columns, member: list[int], base: int) -> None:
        elements = [math.prod(form.shape) if form.shape is not None else 0 for form in columns.forms]
        self._size = [0 if form < 0 else elements[form] for form in columns.form]
        self._member, self._base = member, base
        self.groups: list[Group] = []

    def add(self, name: str, title: str, leaves: Sequence[int]) -> None:
        waiting = [(self._member[leaves[0]], name, title, leaves, 0)]
        while waiting:
            parent, own, words, some, first = waiting.pop()
            index = self._base + len(self.groups)
            outer = own == name
            total = sum(self._size[leaf] for leaf in some)
            self.groups.append(
                Group(
                    own,
                    parent,
                    "repeat" if outer else "part",
                    words,
                    "",
                    "",
                    0,
                    len(some) if outer else 0,
                    len(some),
                    total,
                )
            )
            if len(some) <= _MEMBERS:
                for leaf in some:
                    self._member[leaf] = index
                continue
            size = 10
            while len(some) > size * _MEMBERS:
                size *= 10
            for start in reversed(range(0, len(some), size)):
                inside = some[start : start + size]
                label = f"{first + start + 1:,} – {first + start + len(inside):,}"
                waiting.append((index, f"{name} [{label}]", label, inside, first + start))


def first_collapsed(groups: Sequence[Group], member: Sequence[int]) -> tuple[str, ...]:
    """What is collapsed at first: nothing of a small graph; of others all but the modules there is room for."""
    if len(member) <= FLAT or not groups:
        return ()
    inside: list[list[int]] = [[] for _ in groups]
    loose = [0] * len(groups)
    top: list[int] = []
    for i, group in enumerate(groups):
        (inside[group.parent] if group.parent >= 0 else top).append(i)
    for m in member:
        if m >= 0:
            loose[m] += 1
    boxes = sum(m < 0 for m in member) + len(top)
    closed = dict.fromkeys(top)
    level = top
    while level:
        following: list[int] = []
        for i in sorted(level, key=lambda i: (-groups[i].nodes, i)):
            more = loose[i] + len(inside[i]) - 1
            simple = groups[i].kind == "module" and groups[i].nodes <= 4
            # Closed, a module around nearly everything would be all there is to see.
            room = 2 * OPENED if 2 * groups[i].nodes > len(member) else OPENED
            if groups[i].kind != "module" or simple or groups[i].times or boxes + more > room:
                continue
            boxes += more
            closed.pop(i)
            closed.update(dict.fromkeys(inside[i]))
            following += inside[i]
        level = following
    return tuple(groups[i].id for i in sorted(closed) if groups[i].nodes > 1)
