"""Names -> tensor objects -> memory: who is whose alias, view, detached twin or copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch

from gradwidget import _names
from gradwidget._changes import Change, change
from gradwidget._errors import OutputTypeError, UnknownNodeError, near
from gradwidget._memory import LAZY, same_bytes
from gradwidget._objects import Seen, TensorObject, look
from gradwidget._outputs import is_tensor
from gradwidget._references_words import about, said, title, verdict_of
from gradwidget._relations import Others, Relation, relate

CROWD = 8
"""Of many objects on one memory, or with the same numbers, so many are related to all others of these."""
CROWDED = 500
"""Beyond so many, only the first is."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One stretch of memory and the objects on it. `nbytes` is of its storage; 0 where there is none (meta)."""

    id: str
    device: str
    nbytes: int
    objects: tuple[str, ...]
    value: str

    @property
    def shared(self) -> bool:
        """Whether several objects stand on it."""
        return len(self.objects) > 1

    def __repr__(self) -> str:
        return f"Memory({self.id}: {self.nbytes} bytes, {len(self.objects)} object{'s' * (len(self.objects) != 1)})"


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One name, as a row of the table."""

    name: str
    object: str
    status: str
    form: str
    requires_grad: bool
    is_leaf: bool | None
    grad_fn: str
    version: int | None
    memory: str
    relation: str  # kind of the relation to an earlier object or name, "" for none
    sentence: str


class References:
    """What `references()` found. Plain data and weak references: it keeps no tensor alive."""

    def __init__(self, seen: list[Seen], left_out: int = 0) -> None:
        self._seen = seen
        self._by_name = {name: one for one in seen for name in one.object.names}
        self.left_out = left_out
        self.objects: tuple[TensorObject, ...] = tuple(one.object for one in seen)
        self.memory: tuple[Memory, ...] = tuple(_memories(seen))
        self._memory_of = {key: memory.id for memory in self.memory for key in memory.objects}
        self._hidden = {one.object.id: one.facts.hidden for one in seen}
        self._pairs = _pairs(seen, self.memory)
        self._others = Others(seen)
        self._origins = _origins(seen, self._pairs, self._others)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they were found."""
        return tuple(self._by_name)

    def __getitem__(self, name: str) -> TensorObject:
        """The object that has a name.

        Raises:
            UnknownNodeError: nothing has that name.
        """
        return self._find(name).object

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __len__(self) -> int:
        return len(self._by_name)

    def __bool__(self) -> bool:
        return True

    def relation(self, first: str, second: str) -> Relation:
        """What two names are to each other: `.kind`, `.sentence`, and the facts behind it. The order does not matter.

        Raises:
            UnknownNodeError: one of them is no known name.
        """
        a, b = self._find(first), self._find(second)
        order = list(self._by_name)
        if order.index(first) > order.index(second):
            first, second, a, b = second, first, b, a
        return relate(a, b, (first, second), self._others)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Every relation but "separate" and "unknown": of further names to the first, and of objects to each other."""
        found = []
        for one in self._seen:
            first, *others = one.object.names
            found += [relate(one, one, (first, other)) for other in others]
        for i, j in self._pairs:
            relation = relate(self._seen[i], self._seen[j], others=self._others)
            if relation.kind not in ("separate", "unknown", "inference"):
                found.append(relation)
        return tuple(found)

    def origin(self, name: str) -> Relation | None:
        """What the object of a name comes from, as far as that is among the others."""
        return self._origins.get(self._find(name).object.id)

    @property
    def rows(self) -> list[ReferenceRow]:
        """A row a name."""
        found = []
        for name, one in self._by_name.items():
            relation = self.origin(name)
            if name != one.object.name:
                relation = relate(one, one, (one.object.name, name))
            o = one.object
            found.append(
                ReferenceRow(
                    name,
                    o.id,
                    o.status,
                    o.form,
                    o.requires_grad,
                    o.is_leaf,
                    o.grad_fn,
                    o.version,
                    self._memory_of.get(o.id, ""),
                    "" if relation is None else relation.kind,
                    about(o) if relation is None else relation.sentence,
                )
            )
        return found

    @property
    def graph(self) -> nx.MultiDiGraph[str]:
        """A `networkx.MultiDiGraph` of plain data. Keys: "name:a", "t0", "m0".

        - nodes: `kind` is "name", "object" or "memory"; names have `label`, objects the fields of `TensorObject` and
          `sentence`, memory has `nbytes`, `device` and `shared`
        - edges: `kind` is "names" (name -> object), "stands on" (object -> memory), or that of a relation (derived ->
          source object) with `sentence`, `part`, `same_object`, `shares_storage`, `shares_version_counter`,
          `has_history` and `maybe`
        """
        graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        for each in self.objects:
            fields = {name: getattr(each, name) for name in TensorObject.__slots__ if name != "id"}
            graph.add_node(each.id, kind="object", label=each.name, sentence=about(each), **fields)
        for memory in self.memory:
            graph.add_node(
                memory.id,
                kind="memory",
                label=memory.value,
                nbytes=memory.nbytes,
                device=memory.device,
                shared=memory.shared,
            )
            for key in memory.objects:
                graph.add_edge(key, memory.id, kind="stands on")
        for name, one in self._by_name.items():
            graph.add_node(f"name:{name}", kind="name", label=name)
            graph.add_edge(f"name:{name}", one.object.id, kind="names")
        keys = {name: one.object.id for name, one in self._by_name.items()}
        for relation in self.relations:
            same = relation.same_object
            ends = (relation.derived, relation.source)
            source, target = (f"name:{ends[0]}", f"name:{ends[1]}") if same else (keys[ends[0]], keys[ends[1]])
            graph.add_edge(source, target, **_attributes(relation))
        return graph

    def since(self, before: References) -> tuple[Change, ...]:
        """What became of each name since an earlier `references()`: rebound to another tensor, or edited in place."""
        names = dict.fromkeys([*before._by_name, *self._by_name])
        return tuple(change(name, before._by_name.get(name), self._by_name.get(name)) for name in names)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is worth saying, a sentence each."""
        return tuple("".join(text for text, _ in parts) for _, parts in said(self._seen, self._origins))

    def hidden(self, key: str) -> str:
        """Why the memory of an object is not among `.memory`, in few words; "" where it is."""
        reason = self._hidden.get(key, "")
        return "none yet" if reason == LAZY else reason and "can't be told"

    def to_text(self) -> str:
        """Three columns and the sentences, for a terminal. The same program gives the same text."""
        if not self._seen:
            return "No tensors in scope."
        rows = [("name", "", "tensor object", "gradients", "", "memory")]
        for one in self._seen:
            o = one.object
            where = self._memory_of.get(o.id) or self.hidden(o.id)
            what, verdict = title(o, self._origins.get(o.id)), verdict_of(o)[0]
            rows += [
                (
                    name,
                    "->",
                    f"{o.id}  {what} · {o.form}" if i == 0 else o.id,
                    verdict if i == 0 else "",
                    "->" if i == 0 and where else "",
                    where if i == 0 else "",
                )
                for i, name in enumerate(o.names)
            ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines += ["", *(f"{m.id}: {memory_note(m)}" for m in self.memory if m.shared)]
        lines += ["", *self.sentences]
        if self.left_out:
            lines.append(f"... and {self.left_out:,} more names, which were not looked at")
        return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from gradwidget._references_html import html  # noqa: PLC0415  # drawn from what this room knows

        return html(self)

    def _find(self, name: str) -> Seen:
        found = self._by_name.get(name)
        if found is None:
            known = ", ".join(list(self._by_name)[:8])
            raise UnknownNodeError(
                f"No tensor here is called {name!r}.{near(str(name), self._by_name)}",
                f"Known names: {known}." if known else "Give tensors: references(a=a, b=b).",
            )
        return found


def references(**tensors: Any) -> References:
    """Names -> tensor objects -> memory: who is whose alias, view, detached twin or copy.

    Without arguments, of the tensors of the calling scope, and of numpy arrays that stand on their memory. No code of
    theirs is run, and none is kept alive.

    Args:
        **tensors: tensors, numpy arrays, modules, optimizers, or lists, tuples and dicts of tensors.

    Raises:
        OutputTypeError: something else was given.
    """
    if not tensors:
        items = _names.variables(_names.calling_frame())
        found: list[tuple[str, Any]] = [*_names.tensors_of(items), *_optimized(items)]
        return of_scope(found, [(n, v) for n, v in items if type(v) is np.ndarray], _left_out(items))
    for name, value in tensors.items():
        if not _is_looked_at(value):
            kind = type(value).__name__
            raise OutputTypeError(
                f"{name} is a {kind}, which is no tensor and holds none.",
                "Give tensors, numpy arrays, modules, optimizers, or lists, tuples and dicts of tensors.",
            )
    items = list(tensors.items())
    pairs: list[tuple[str, Any]] = [*_names.tensors_of(items), *_optimized(items)]
    order = {name: i for i, name in enumerate(tensors)}
    arrays = [(n, v) for n, v in items if type(v) is np.ndarray]
    last = len(order)
    pairs = sorted([*pairs, *arrays], key=lambda pair: order.get(pair[0], order.get(_head(pair[0]), last)))
    return References(look(pairs), _left_out(items))


def of_scope(pairs: list[tuple[str, Any]], arrays: list[tuple[str, Any]], left_out: int = 0) -> References:
    """Of (name, tensor) pairs, and of those among the arrays that stand on memory of one of the tensors."""
    found = look(pairs)
    if arrays:
        extents = [one.facts.extent for one in found]
        mine = [
            (name, array)
            for (name, array), one in zip(arrays, look(arrays), strict=False)
            if one.facts.extent and any(e is not None and same_bytes(e, one.facts.extent) for e in extents)
        ]
        if mine:
            found = look([*pairs, *mine])
    return References(found, left_out)


def _left_out(items: list[tuple[str, Any]]) -> int:
    """How many tensors among the variables themselves are beyond the limit."""
    return max(0, sum(is_tensor(value) for _, value in items) - _names.LIMIT)


def _head(name: str) -> str:
    return name.partition(".")[0].partition("[")[0]


def _is_looked_at(value: Any) -> bool:
    kind = type(value)
    kinds = (torch.nn.Module, torch.optim.Optimizer, list, tuple, dict)
    return is_tensor(value) or kind is np.ndarray or issubclass(kind, kinds)


def _optimized(items: list[tuple[str, Any]]) -> Iterator[tuple[str, torch.Tensor]]:
    """Names for what optimizers hold; only of tensors that are not a module's, which have better ones."""
    for name, value in items:
        if not issubclass(type(value), torch.optim.Optimizer):
            continue
        groups = object.__getattribute__(value, "__dict__").get("param_groups")
        if type(groups) is not list:
            continue
        for g, group in enumerate(groups[: _names.LIMIT]):
            held = group.get("params") if type(group) is dict else None
            if type(held) is list and len(held) <= 10:
                yield from ((f"{name}.param_groups[{g}]['params'][{i}]", p) for i, p in enumerate(held) if is_tensor(p))


# --- what is found among the objects ---------------------------------------------------------------------------------


def _memories(seen: list[Seen]) -> Iterator[Memory]:
    """Stretches of memory, in the order of their first objects."""
    groups: list[list[Seen]] = []
    by_storage: dict[int, list[Seen]] = {}
    addressed: list[tuple[int, list[Seen]]] = []
    for one in seen:
        extent = one.facts.extent
        if extent is None:
            continue
        known = by_storage.get(extent.storage) if extent.storage else None
        if known is not None:
            known.append(one)
            continue
        fresh = [one]
        groups.append(fresh)
        if extent.storage:
            by_storage[extent.storage] = fresh
        if extent.start and extent.nbytes:
            addressed.append((extent.start, fresh))
    addressed.sort(key=lambda pair: pair[0])
    for i, (_, group) in enumerate(addressed):
        extent = group[0].facts.extent if group else None
        for _, other in addressed[i + 1 :]:
            further = other[0].facts.extent if other else None
            if extent is None or further is None or further.start >= extent.start + extent.nbytes:
                break
            if other is not group and same_bytes(extent, further):
                group.extend(other)
                other.clear()
    index = {one.object.id: i for i, one in enumerate(seen)}
    merged = sorted(
        (sorted(g, key=lambda one: index[one.object.id]) for g in groups if g), key=lambda g: index[g[0].object.id]
    )
    for number, group in enumerate(merged):
        extents = [one.facts.extent for one in group if one.facts.extent is not None]
        whole = max(extents, key=lambda e: e.nbytes)
        largest = max(group, key=lambda one: one.facts.extent.numel if one.facts.extent else 0)
        yield Memory(
            f"m{number}",
            whole.device,
            whole.nbytes if whole.start else 0,
            tuple(one.object.id for one in group),
            largest.object.value,
        )


def _pairs(seen: list[Seen], memories: Iterable[Memory]) -> list[tuple[int, int]]:
    """Pairs of objects worth relating: on one memory, one computed from the other, or with the same numbers."""
    by_identity = {one.facts.identity: i for i, one in enumerate(seen)}
    by_id = {one.object.id: i for i, one in enumerate(seen)}
    found: set[tuple[int, int]] = set()

    def meet(group: list[int]) -> None:
        first = group[: CROWD if len(group) <= CROWDED else 1]
        found.update((i, j) for n, i in enumerate(first) for j in group[n + 1 :] if i < j)

    for memory in memories:
        meet([by_id[key] for key in memory.objects])
    same: dict[tuple[str, Any], dict[int, None]] = {}
    for i, one in enumerate(seen):
        for identity in (one.facts.base, one.facts.grad, *one.facts.direct, *one.facts.reaches):
            j = by_identity.get(identity, i)
            if j != i:
                found.add((min(i, j), max(i, j)))
        for digest in one.facts.digests:
            same.setdefault((digest, one.object.shape), {})[i] = None
    for group in same.values():
        meet(list(group))
    return sorted(found)


_WORTH = (
    "gradient",
    "view",
    "no_grad view",
    "subclass",
    "parameter",
    "rewrapped",
    "detached",
    "data",
    "external",
    "moved",
    "tracked copy",
    "copy",
    "deepcopy",
    "siblings",
)


def _origins(seen: list[Seen], pairs: list[tuple[int, int]], others: Others) -> dict[str, Relation]:
    """For each object the relation that says best what it comes from: the nearest kind, then the earliest source."""
    found: dict[str, tuple[tuple[bool, int, int], Relation]] = {}
    index = {one.object.name: i for i, one in enumerate(seen)}
    for i, j in pairs:
        relation = relate(seen[i], seen[j], others=others)
        if relation.kind not in _WORTH:
            continue
        d, s = index[relation.derived], index[relation.source]
        apart = (
            not relation.shares_storage and not relation.has_history and seen[d].object.dtype != seen[s].object.dtype
        )
        worth = (apart, _WORTH.index(relation.kind) + (not relation.shares_storage) * len(_WORTH), s)
        key = seen[d].object.id
        if key not in found or worth < found[key][0]:
            found[key] = (worth, relation)
    return {key: relation for key, (_, relation) in found.items()}


def _attributes(relation: Relation) -> dict[str, Any]:
    names = ("kind", "part", "maybe", "same_object", "shares_storage", "shares_version_counter", "has_history")
    return {name: getattr(relation, name) for name in names} | {"sentence": relation.sentence}


def memory_note(memory: Memory) -> str:
    """How big it is, and how many share it: `4 bytes, 2 objects`."""
    size = f"{memory.nbytes:,} byte{'s' * (memory.nbytes != 1)}" if memory.nbytes else "no bytes"
    device = "" if memory.device == "cpu" else f" on {memory.device}"
    return f"{size}{device}, {len(memory.objects)} objects" if memory.shared else f"{size}{device}, its own"
