"""Names -> tensor objects -> memory: who is whose alias, view, detached twin or copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch

from gradwidget import _names
from gradwidget._errors import OptionError, OutputTypeError, UnknownNodeError, near
from gradwidget._memory import same_bytes
from gradwidget._objects import Seen, TensorObject, look
from gradwidget._outputs import is_tensor
from gradwidget._relations import Relation, relate

CROWD = 8
"""Of many objects on one memory, or with the same numbers, so many are related to all others of these."""


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


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a name between two looks: same, edited, rewritten, rebound, new or gone."""

    name: str
    kind: str
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
        self._pairs = _pairs(seen, self.memory)
        self._origins = _origins(seen, self._pairs)

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
        return relate(a, b, (first, second))

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Every relation but "separate": of further names to the first, and of objects to each other."""
        found = []
        for one in self._seen:
            first, *others = one.object.names
            found += [relate(one, one, (first, other)) for other in others]
        for i, j in self._pairs:
            relation = relate(self._seen[i], self._seen[j])
            if relation.kind not in ("separate", "inference"):
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
        for one in self.objects:
            fields = {name: getattr(one, name) for name in TensorObject.__slots__ if name != "id"}
            graph.add_node(one.id, kind="object", label=one.name, sentence=about(one), **fields)
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
        return tuple(_change(name, before._by_name.get(name), self._by_name.get(name)) for name in names)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is worth saying, a sentence each."""
        return tuple("".join(text for text, _ in parts) for _, parts in said(self))

    def to_text(self) -> str:
        """Three columns and the sentences, for a terminal. The same program gives the same text."""
        if not self._seen:
            return "No tensors in scope."
        rows = [("name", "", "tensor object", "gradients", "", "memory")]
        for one in self._seen:
            o = one.object
            what, verdict = title(self, o), verdict_of(o)[0]
            rows += [
                (
                    name,
                    "->",
                    f"{o.id}  {what} · {o.form}" if i == 0 else o.id,
                    verdict if i == 0 else "",
                    "->" if i == 0 and o.id in self._memory_of else "",
                    self._memory_of.get(o.id, "") if i == 0 else "",
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
        pairs = [*_names.tensors_of(items), *_optimized(items)]
        return of_scope(pairs, [(n, v) for n, v in items if type(v) is np.ndarray])
    for name, value in tensors.items():
        if not _is_looked_at(value):
            kind = type(value).__name__
            raise OutputTypeError(
                f"{name} is a {kind}, which is no tensor and holds none.",
                "Give tensors, numpy arrays, modules, optimizers, or lists, tuples and dicts of tensors.",
            )
    items = list(tensors.items())
    pairs = [*_names.tensors_of(items), *_optimized(items)]
    order = {name: i for i, name in enumerate(tensors)}
    arrays = [(n, v) for n, v in items if type(v) is np.ndarray]
    pairs = sorted([*pairs, *arrays], key=lambda pair: order.get(_head(pair[0]), len(order)))
    return References(look(pairs), max(0, len(pairs) - _names.LIMIT))


def of_scope(pairs: list[tuple[str, Any]], arrays: list[tuple[str, Any]]) -> References:
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
    return References(found)


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
        group = by_storage.get(extent.storage) if extent.storage else None
        if group is None:
            group = []
            groups.append(group)
            if extent.storage:
                by_storage[extent.storage] = group
            if extent.start and extent.nbytes:
                addressed.append((extent.start, group))
        group.append(one)
    addressed.sort(key=lambda pair: pair[0])
    for i, (_, group) in enumerate(addressed):
        extent = group[0].facts.extent if group else None
        for _, other in addressed[i + 1 :]:
            further = other[0].facts.extent if other else None
            if extent is None or further is None or further.start >= extent.start + extent.nbytes:
                break
            if other is not group and same_bytes(extent, further):
                group += other
                other.clear()
    index = {one.object.id: i for i, one in enumerate(seen)}
    merged = sorted((sorted(g, key=lambda one: index[one.object.id]) for g in groups if g), key=lambda g: index[g[0].object.id])
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
        first = group[:CROWD]
        found.update((i, j) for n, i in enumerate(first) for j in group[n + 1 :] if i < j)

    for memory in memories:
        meet([by_id[key] for key in memory.objects])
    same: dict[tuple[str, Any], dict[int, None]] = {}
    for i, one in enumerate(seen):
        for identity in (one.facts.base, *one.facts.direct, *one.facts.reaches):
            j = by_identity.get(identity, i)
            if j != i:
                found.add((min(i, j), max(i, j)))
        for digest in one.facts.digests:
            same.setdefault((digest, one.object.shape), {})[i] = None
    for group in same.values():
        meet(list(group))
    return sorted(found)


_WORTH = (
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
)


def _origins(seen: list[Seen], pairs: list[tuple[int, int]]) -> dict[str, Relation]:
    """For each object the relation that says best what it comes from: the nearest kind, then the earliest source."""
    found: dict[str, tuple[tuple[bool, int, int], Relation]] = {}
    index = {one.object.name: i for i, one in enumerate(seen)}
    for i, j in pairs:
        relation = relate(seen[i], seen[j])
        if relation.kind not in _WORTH:
            continue
        d, s = index[relation.derived], index[relation.source]
        apart = not relation.shares_storage and not relation.has_history and seen[d].object.dtype != seen[s].object.dtype
        worth = (apart, _WORTH.index(relation.kind) + (not relation.shares_storage) * len(_WORTH), s)
        key = seen[d].object.id
        if key not in found or worth < found[key][0]:
            found[key] = (worth, relation)
    return {key: relation for key, (_, relation) in found.items()}


def _attributes(relation: Relation) -> dict[str, Any]:
    names = ("kind", "part", "maybe", "same_object", "shares_storage", "shares_version_counter", "has_history")
    return {name: getattr(relation, name) for name in names} | {"sentence": relation.sentence}


# --- in words --------------------------------------------------------------------------------------------------------

_ABOUT = {
    "leaf": "{n} is a leaf: backward() adds to {n}.grad.",
    "result": "{n} is the result of {op}: gradients pass through it, and {n}.grad stays None without retain_grad().",
    "no_grad view": "{n} is a view made under no_grad: it says requires_grad=True, but no gradient ever arrives.",
    "stale view": "{n} is a view made under no_grad whose base was edited since: reading its grad_fn raises.",
    "inference": "{n} was made under inference_mode: it has no history, and autograd refuses to save it.",
    "integer": "{n} is of {dtype}, which can't have gradients.",
    "frozen": "{n} is a parameter with requires_grad=False: backward() leaves it alone.",
    "untracked": "{n} has no history and asks for no gradient: a constant, or made under no_grad, or detached.",
    "array": "{n} is a numpy array: autograd does not see what is done to it.",
}


def about(one: TensorObject) -> str:
    """One sentence on an object by itself."""
    return _ABOUT[one.status].format(n=one.name, op=one.grad_fn, dtype=one.dtype)


_VERDICTS = {
    "leaf": ("gradients arrive here", "good"),
    "result": ("gradients pass through", "good"),
    "no_grad view": ("none will arrive", "warn"),
    "stale view": ("can't be used any more", "warn"),
    "inference": ("untracked", "warn"),
    "integer": ("can't have gradients", "mute"),
    "frozen": ("frozen", "mute"),
    "untracked": ("untracked", "warn"),
    "array": ("not seen by torch", "mute"),
}


def verdict_of(one: TensorObject) -> tuple[str, str]:
    """What becomes of gradients there, in few words, and its tone: good, warn or mute."""
    return _VERDICTS[one.status]


_TITLES = {
    "leaf": "leaf, requires grad",
    "no_grad view": "view, made under no_grad",
    "stale view": "stale view, made under no_grad",
    "inference": "made under inference_mode",
    "frozen": "parameter, frozen",
    "array": "numpy array",
    "integer": "tensor of integers",
    "untracked": "tensor without history",
}


def title(found: References, one: TensorObject) -> str:
    """What an object is, in few words: "view of a: a[:2]"."""
    relation = found._origins.get(one.id)
    plain = f"result of {_label(one)}" if one.status == "result" else _TITLES[one.status]
    if relation is None:
        return "parameter, requires grad" if one.type == "Parameter" and one.status == "leaf" else plain
    source, part = relation.source, relation.part
    # "a[:2]" says all, "all of a, as 2×2" is for the sentence below.
    of = part if part.startswith(f"{source}[") or part == f"{source}.T" else ""
    return {
        "view": f"view {of or f'of {source}'}",
        "no_grad view": f"{of or f'view of {source}'}, made under no_grad",
        "subclass": f"{source} as {one.type}",
        "detached": f"{of or source}, detached",
        "data": f"{source}.data{of.removeprefix(source)}",
        "parameter": f"parameter made on {of or source}",
        "external": f"{'array' if one.status == 'array' else 'tensor'} on {of or source}",
        "moved": f"{source} moved or cast",
        "tracked copy": f"copy of {source}, with history",
        "copy": f"copy of {source}, without history",
        "rewrapped": f"new leaf on {of or source}" if relation.shares_storage else f"new leaf with the numbers of {source}",
        "deepcopy": f"deepcopy of {source}",
    }.get(relation.kind, plain)


def _label(one: TensorObject) -> str:
    return one.grad_fn.removeprefix("torch::autograd::").rstrip("0123456789").removesuffix("Backward") or one.grad_fn


def memory_note(memory: Memory) -> str:
    """ "4 bytes, 2 objects"."""
    size = f"{memory.nbytes:,} byte{'s' * (memory.nbytes != 1)}" if memory.nbytes else "no bytes"
    device = "" if memory.device == "cpu" else f" on {memory.device}"
    return f"{size}{device}, {len(memory.objects)} objects" if memory.shared else f"{size}{device}, its own"


def said(found: References) -> Iterator[tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]]:
    """(ids of the objects it is about, the sentence in pieces) of what is worth saying."""
    for one in found._seen:
        first, *others = one.object.names
        for other in others[:3]:
            yield (one.object.id,), relate(one, one, (first, other)).parts
        relation = found._origins.get(one.object.id)
        if relation is not None:
            yield (one.object.id,), relation.parts
        elif one.object.status in ("no_grad view", "stale view", "inference") or len(found._seen) <= 3:
            if not others:
                yield (one.object.id,), _named(about(one.object), one.object.name)


def _named(sentence: str, name: str) -> tuple[tuple[str, bool], ...]:
    """A sentence that begins with a name."""
    return ((name, True), (sentence.removeprefix(name), False)) if sentence.startswith(name) else ((sentence, False),)


# --- between two looks -----------------------------------------------------------------------------------------------


def _change(name: str, old: Seen | None, new: Seen | None) -> Change:
    if old is None:
        return Change(name, "new", f"{name} is new.")
    if new is None:
        return Change(name, "gone", f"{name} is gone, or no tensor any more.")
    before, after = old.object, new.object
    if old.tensor is not None and old.tensor is new.tensor:
        return _same_object(name, before, after, rewritten=old.facts.digests != new.facts.digests)
    return Change(name, "rebound", _rebound(name, before, after))


def _same_object(name: str, before: TensorObject, after: TensorObject, *, rewritten: bool) -> Change:
    if before.version != after.version:
        leaf = "it is still a leaf and gradients still arrive" if after.status == "leaf" else ""
        graph = f"its grad_fn is {after.grad_fn} now" if after.grad_fn != before.grad_fn else ""
        end = "; ".join(filter(None, (leaf, graph))) or "every name of it sees the new numbers"
        versions = f"version {before.version}, now {after.version}"
        return Change(name, "edited", f"{name} is the same tensor, edited in place ({versions}): {end}.")
    if rewritten:
        return Change(
            name,
            "rewritten",
            f"{name} is the same tensor with other numbers and no new version: it was written through .data or "
            "numpy(), which backward() can't notice.",
        )
    return Change(name, "same", f"{name} is the same tensor, unchanged.")


def _rebound(name: str, before: TensorObject, after: TensorObject) -> str:
    start = f"{name} is another tensor now: an assignment ({name} = ...) makes a new one, while "
    if before.status == "leaf" and after.status != "leaf":
        end = (
            f"{name} -= ... or {name}.sub_(...) under no_grad edits the leaf. "
            f"The leaf of before is lost to this name, and with it {name}.grad"
        )
        how = f"the result of {_label(after)}" if after.status == "result" else "a tensor without history"
        return f"{start}{end}; {name} is {how}."
    if before.status == after.status == "leaf":
        return f"{name} is another leaf now: whoever holds the old one, such as an optimizer, does not move this one."
    if after.status == "result" and before.status == "result":
        if after.history is None and before.history is not None:
            grown = f"from {before.history} to more nodes than are counted"
        elif before.history is not None and after.history is not None and after.history > before.history:
            grown = f"from {before.history} to {after.history} nodes"
        else:
            return f"{name} is another tensor now, with a history of its own."
        return (
            f"{name} is another tensor now, and its history has grown {grown}: in a loop, backward() walks through all "
            f"iterations before, or raises; {name} = {name}.detach() cuts it."
        )
    if before.status == "result":
        return f"{name} is another tensor now, without the history that the one before had."
    return f"{name} is another tensor now."
