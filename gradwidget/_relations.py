"""What two tensors are to each other, and what that means for gradients and for edits in place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from string import Formatter
from typing import NamedTuple

from gradwidget._memory import LAZY, Extent, contains, is_dense, overlap, part_of, same_bytes, same_storage
from gradwidget._objects import Seen

Parts = tuple[tuple[str, bool], ...]
"""A sentence in pieces; True marks a name."""

COPIES = frozenset({"copy", "tracked copy", "moved", "rewrapped", "deepcopy"})
SHARED = frozenset(
    {"alias", "tied", "view", "no_grad view", "siblings", "subclass", "detached", "data", "external", "parameter"}
)


@dataclass(frozen=True, slots=True)
class Relation:
    """What `derived` is to `source`.

    `kind` is one of alias, tied, view, no_grad view, siblings, subclass, detached, data, external, parameter, copy,
    tracked copy, moved, rewrapped, deepcopy, inference, gradient, computed, separate, unknown. `maybe` lists what else
    leaves the same state. `shares_storage` and `shares_version_counter` are None where it can't be told; `part` says
    which part of the source it is.
    """

    kind: str
    source: str
    derived: str
    what: str
    gradients: str
    edits: str
    part: str
    maybe: tuple[str, ...]
    same_object: bool
    shares_storage: bool | None
    shares_version_counter: bool | None
    has_history: bool
    parts: Parts

    @property
    def sentence(self) -> str:
        """One sentence on what it is, what gradients do, and what edits do; and what it can't be told from."""
        return "".join(text for text, _ in self.parts)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"Relation({self.derived} -> {self.source}: {self.kind})"


class Told(NamedTuple):
    """Three clauses on a kind of relation; {d} is the derived tensor, {s} its source, {p} which part of it."""

    what: str
    gradients: str
    edits: str


_EDIT_BOTH = "an in-place edit of {d} changes {s} too"
TOLD: dict[str, Told] = {
    "alias": Told(
        "{d} is {s}, one tensor under two names",
        "an assignment (or a .to(), .float(), .contiguous() with nothing to do) makes no new tensor, and no_grad "
        "affects only tensors made inside it, so that {g}",
        "an in-place edit through one name is seen through the other",
    ),
    "tied": Told(
        "{d} and {s} are one tied parameter under two names",
        "its gradient is the sum over all uses and an optimizer moves it once",
        "an in-place edit of one is an edit of the other, while assigning a new parameter to one of them unties them",
    ),
    "optimized": Told(
        "{d} is {s}, one tensor under two names",
        "the optimizer moves {s} in place by {s}.grad",
        "an assignment to {s} makes another tensor, which this optimizer does not move",
    ),
    "view": Told("{d} is a view of {s}{p}", "gradients pass through it to {s}", "{e}"),
    "plain view": Told("{d} is a view of {s}{p}", "neither has a history, so no gradient passes", "{e}"),
    "no_grad view": Told(
        "{d} is a view of {s} made under no_grad{p}",
        "it says requires_grad=True and is_leaf=True, but has no grad_fn, so no gradient ever arrives at it or passes "
        "to {s}",
        "{e}",
    ),
    "stale view": Told(
        "{d} is a view of {s} made under no_grad{p}, its history invalid",
        "its base was changed in place, so that reading {d}.grad_fn and {d}.is_leaf raises, as does every operation on "
        "{d} outside of no_grad",
        "{e}",
    ),
    "early view": Told(
        "{d} is a view of {s}{p}, taken before {s} asked for gradients",
        "it says requires_grad=True because {s} does, but has no grad_fn, so no gradient ever arrives at it or passes "
        "to {s}",
        "{e}",
    ),
    "cut view": Told("{d} is a view of {s}{p}", "its history does not lead to {s}, so no gradient passes", "{e}"),
    "leaf view": Told(
        "{d} is a view of {s}{p} and a leaf of its own",
        "gradients arrive at {d} and stop there, and none reaches {s}",
        "{e}",
    ),
    "siblings": Told("{d} and {s} are views of one tensor", "{g}", "{e}"),
    "parts": Told("{d} and {s} are parts of one memory", "{g}", "{e}"),
    "through": Told("{d} and {s} share memory through {b}", "{t}, and no gradient passes between them", "{e}"),
    "inference view": Told(
        "{d} is a view of {s}{p}, both made under inference_mode",
        "neither has a history, so no gradient passes",
        "an in-place edit of {d} changes {s} too, raises outside of inference_mode, and no version counter tells it",
    ),
    "gradient": Told(
        "{d} is {s}.grad",
        "backward() adds to it and an optimizer reads it",
        "an in-place edit of {d} changes what {s} learns, while zero_grad() lets {s} go of it and leaves {d} as it is",
    ),
    "retained": Told(
        "{d} is {s}.grad, which retain_grad() keeps",
        "it is what arrived at {s} in backward()",
        "an in-place edit of {d} changes {s}.grad and nothing else",
    ),
    "subclass": Told("{d} is {s} as another class on the same memory (as_subclass)", "{g}", "{e}"),
    "detached": Told(
        "{d} is {s}.detach(){p}, the same memory without the history",
        "no gradient passes from {d} to {s}",
        "an in-place edit of {d} changes {s} too, which backward() notices by the version counter that they share",
    ),
    "data": Told(
        "{d} is {s}.data{p}, the same memory with a version counter of its own",
        "no gradient passes from {d} to {s}",
        "an in-place edit of {d} changes {s} behind autograd's back, so that backward() may give wrong gradients "
        "without an error",
    ),
    "external": Told(
        "{d} stands on the memory of {s}{p} through numpy(), DLPack or frombuffer()",
        "no gradient passes from {d} to {s}",
        "an in-place edit of {d} changes {s} without a new version, so backward() can't notice it",
    ),
    "array": Told(
        "{d} is a numpy array on the memory of {s}{p}",
        "numpy knows nothing of gradients",
        "writing into {d} changes {s} without a new version, so backward() can't notice it",
    ),
    "arrays": Told(
        "{d} and {s} are numpy arrays on one memory{p}",
        "numpy knows nothing of gradients",
        "what is written into {d} is seen in {s}",
    ),
    "parameter": Told(
        "{d} is a parameter made on the memory of {s}{p}, a leaf of its own",
        "gradients arrive at {d} and stop there, and none reaches {s}",
        "{e}",
    ),
    "wrapped": Told(
        "{d} is a leaf of its own on the memory of {s}{p}, as Variable({s}, requires_grad=True) and "
        "{s}.detach().requires_grad_() make one",
        "gradients arrive at {d} and stop there, and none reaches {s}",
        "{e}",
    ),
    "copy": Told(
        "{d} is a new tensor with the numbers of {s} and without history",
        "{d}.backward() raises, and where {d} is used it is a constant, so that no gradient passes to {s}",
        "in-place edits of {d} do not touch {s}",
    ),
    "plain copy": Told(
        "{d} is a new tensor with the numbers of {s}",
        "neither has a history, so no gradient passes",
        "in-place edits of {d} do not touch {s}",
    ),
    "tracked copy": Told(
        "{d} is a copy of {s} with history ({o})",
        "gradients pass through it to {s}",
        "in-place edits of {d} do not touch {s}",
    ),
    "moved": Told(
        "{d} is {s} moved or cast ({f}), a new tensor with history",
        "gradients pass back to {s}, while {d}.grad stays None because {d} is no leaf",
        "in-place edits of {d} do not touch {s}",
    ),
    "plain move": Told(
        "{d} is {s} moved or cast ({f}), a new tensor without history",
        "no gradient passes from {d} to {s}",
        "in-place edits of {d} do not touch {s}",
    ),
    "rewrapped": Told(
        "{d} is a new leaf with the numbers of {s}",
        "{g}",
        "in-place edits of {d} do not touch {s}",
    ),
    "deepcopy": Told(
        "{d} is a deepcopy of {s}, a leaf of its own with the same numbers",
        "each collects its own gradient and an optimizer of one does not move the other",
        "in-place edits of {d} do not touch {s}",
    ),
    "plain deepcopy": Told(
        "{d} is a deepcopy of {s}, the same numbers in memory of its own",
        "neither gets gradients",
        "in-place edits of {d} do not touch {s}",
    ),
    "inference": Told(
        "{d} was made under inference_mode{q}",
        "it has no history and can't be saved for backward(), so no gradient passes to {s}",
        "in-place edits of {d} do not touch {s}",
    ),
    "computed": Told(
        "{d} is computed from {s} ({o})",
        "gradients pass from {d} to {s}",
        "in-place edits of {d} do not touch {s}",
    ),
    "same numbers": Told(
        "{d} and {s} are separate tensors with the same numbers",
        "no gradient passes between them",
        "in-place edits of one do not touch the other",
    ),
    "far": Told(
        "{d} and {s} are separate tensors",
        "{g}",
        "in-place edits of one do not touch the other",
    ),
    "unknown": Told(
        "{d} and {s} are two tensors{n}, and whether they share memory can't be told ({u})",
        "{g}",
        "{e}",
    ),
    "separate": Told(
        "{d} and {s} are separate tensors",
        "no gradient passes between them",
        "in-place edits of one do not touch the other",
    ),
}

_MAYBE = {
    "copy": (
        "a copy made under no_grad",
        "torch.tensor({s})",
        "{s}.detach().clone()",
        "a tensor that simply has the same numbers",
    ),
    "plain copy": ("a clone()", "torch.tensor({s})", "a deepcopy", "a tensor that simply has the same numbers"),
    "plain move": ("a cast or a move under no_grad", "one after detach()", "a tensor that simply has the same numbers"),
    "rewrapped": (
        "torch.tensor(..., requires_grad=True)",
        "detach().clone().requires_grad_()",
        "a leaf that simply has the same numbers",
    ),
    "no_grad view": ("no_grad", "inference_mode"),
    "data": (".data", "set_()"),
    "deepcopy": ("a deepcopy", "load_state_dict()", "a new parameter with the same numbers"),
}
_TOLD_FAR = "whether gradients pass between them can't be told, because a history was too long to follow to its end"
_ONE = {
    "leaf": "{d}.backward() is {s}.backward() and fills {s}.grad",
    "result": "{d}.backward() is {s}.backward() and fills the same leaves",
    "no_grad view": "no gradient ever arrives at it under either name",
    "early view": "no gradient ever arrives at it under either name",
    "stale view": "its grad_fn can't be read under either name",
}
"""What backward() does with one tensor under two names, by its status."""


class Others:
    """What else was seen together with two objects: what both may come from."""

    def __init__(self, seen: Iterable[Seen] = ()) -> None:
        self._by_identity: dict[int, Seen] = {}
        self._leaves: set[Extent] = set()
        for one in seen:
            self._by_identity[one.facts.identity] = one
            if one.facts.extent is not None and one.object.status in ("leaf", "frozen"):
                self._leaves.add(one.facts.extent)

    def between(self, x: Seen, y: Seen) -> Seen | None:
        """What one of two on one memory is a view of, where the other comes from that too and not from the view."""
        for view, other in ((x, y), (y, x)):
            base = self._by_identity.get(view.facts.base)
            if base is None or base is other or other.facts.base == view.facts.base:
                continue
            whole, part, its = base.facts.extent, view.facts.extent, other.facts.extent
            if whole is None or part is None or its is None or not same_storage(whole, its):
                continue
            # A twin of the view alone may be made of the view.
            if (_form(its) == _form(whole) or not contains(part, its)) and not other.object.grad_fn:
                return base
        return None

    def is_twin(self, one: Seen) -> bool:
        """Whether an untracked object is one of a leaf, on the same memory and of the same form."""
        return one.object.status == "untracked" and one.facts.extent in self._leaves


_ALONE = Others()


def _form(extent: Extent) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    return extent.first, extent.shape, extent.strides


def relate(first: Seen, second: Seen, names: tuple[str, str] | None = None, others: Others = _ALONE) -> Relation:
    """The relation of two objects that were seen together; `names` are what they are called in it."""
    a, b = names or (first.object.name, second.object.name)
    if first.facts.identity == second.facts.identity:
        optimized = ".param_groups[" in a or ".param_groups[" in b
        tied = first.facts.parameter and "." in a and "." in b and not optimized
        kind = "tied" if tied else "alias"
        if optimized and ".param_groups[" in a:
            a, b = b, a
        both = ".param_groups[" in a
        return _told(kind, "optimized" if optimized and not both else kind, first, second, (a, b))
    kind, told, turned = _kind(first, second)
    if turned:
        first, second, a, b = second, first, b, a
    base = others.between(first, second) if kind in _TWINS else None
    if base is not None:
        told_apart = tuple(_from_base(base, one, name) for one, name in ((second, b), (first, a)))
        if all(told_apart):
            return _told("siblings", "through", first, second, (a, b), base=base.object.name, apart=told_apart)
    if told in _COPIED and (others.is_twin(first) or others.is_twin(second)):
        # What was copied is rather the leaf.
        kind, told = "separate", "same numbers"
    return _told(kind, told, first, second, (a, b))


_TWINS = frozenset({"siblings", "detached", "data", "parameter", "rewrapped", "subclass", "view"})
_COPIED = frozenset({"copy", "plain copy", "plain move", "rewrapped"})
_FROM_BASE = {
    "view": "{n} is a view of {b} (gradients pass)",
    "plain view": "{n} is a view of {b}",
    "cut view": "{n} is a view of {b} whose history does not lead there",
    "leaf view": "{n} is a view of {b} and a leaf of its own",
    "early view": "{n} is a view of {b} without a history",
    "no_grad view": "{n} is a view of {b} made under no_grad",
    "stale view": "{n} is a view of {b} whose history is invalid",
    "subclass": "{n} is {b} as another class",
    "detached": "{n} is {b}.detach()",
    "data": "{n} is {b}.data",
    "parameter": "{n} is a parameter made on {b}",
    "wrapped": "{n} is a leaf made on {b}",
}


def _from_base(base: Seen, one: Seen, name: str) -> str:
    """What one object is to what two come from, as a clause; "" where it comes from there in no way that is told."""
    _, key, turned = _kind(base, one)
    return "" if turned else _FROM_BASE.get(key, "").format(n=name, b=base.object.name)


def _kind(x: Seen, y: Seen) -> tuple[str, str, bool]:
    """(kind, key of TOLD, whether y is the source)."""
    fx, fy = x.facts, y.facts
    ex, ey = fx.extent, fy.extent
    if fx.identity == fy.grad or fy.identity == fx.grad:
        turned = fx.identity == fy.grad
        return "gradient", "gradient" if (y if turned else x).object.status == "leaf" else "retained", turned
    if fy.base == fx.identity:
        return *_view(x, y), False
    if fx.base == fy.identity:
        return *_view(y, x), True
    if ex is not None and ey is not None and same_bytes(ex, ey):
        if fx.base and fx.base == fy.base:
            return _cousins(x, y, ex, ey)
        return _sharing(x, y, ex, ey)
    if fx.identity in fy.direct or fy.identity in fx.direct:
        turned = fy.identity in fx.direct
        return *(_made_by(y, x) if turned else _made_by(x, y)), turned
    if fx.identity in fy.reaches or fy.identity in fx.reaches:
        return "computed", "computed", fy.identity in fx.reaches
    if (x.object.status == "inference") != (y.object.status == "inference"):
        return "inference", "inference", x.object.status == "inference"
    if (ex is None or ey is None) and LAZY not in (fx.hidden, fy.hidden):
        return "unknown", "unknown", False
    if _same_numbers(x, y):
        return _copied(x, y)
    return "separate", "far" if _far(x, y) else "separate", False


def _far(x: Seen, y: Seen) -> bool:
    """Whether one may be computed from the other beyond where its history was followed."""
    return any(d.object.grad_fn and d.object.history is None and s.object.requires_grad for s, d in ((x, y), (y, x)))


def _view(s: Seen, d: Seen) -> tuple[str, str]:
    if d.object.status in ("no_grad view", "stale view"):
        return "no_grad view", d.object.status
    if d.facts.kind is not s.facts.kind and d.object.shape == s.object.shape:
        return "subclass", "subclass"
    if d.object.status == "early view":
        return "view", "early view"
    if d.object.status == "leaf":
        return "view", "leaf view"
    if d.object.grad_fn and d.object.history is not None and s.facts.identity not in d.facts.reaches:
        return "view", "cut view"
    return "view", "view" if d.object.grad_fn else "plain view"


def _cousins(x: Seen, y: Seen, ex: Extent, ey: Extent) -> tuple[str, str, bool]:
    """Two views of one tensor.

    Torch calls a view of a view one of the first tensor: the history, or that one lies inside the other, tells which
    was made of which.
    """
    if x.facts.identity in y.facts.direct or y.facts.identity in x.facts.direct:
        turned = y.facts.identity in x.facts.direct
        return *(_view(y, x) if turned else _view(x, y)), turned
    inside = [not d.object.grad_fn and _is_part(ed, es) for d, es, ed in ((y, ex, ey), (x, ey, ex))]
    if inside[0] and not (inside[1] and y.object.status == "result"):
        return *_view(x, y), False
    return (*_view(y, x), True) if inside[1] else ("siblings", "siblings", False)


def _is_part(inner: Extent, outer: Extent) -> bool:
    """Whether an index or a change of form makes one of the other; else they are two views of what both come from."""
    if _form(inner) == _form(outer):
        return True
    return contains(outer, inner) and (is_dense(outer) or part_of(inner, outer, "_").startswith(("_", "all of _")))


_RANK = {"result": 0, "leaf": 1, "no_grad view": 2, "early view": 2, "stale view": 2}


def _sharing(x: Seen, y: Seen, ex: Extent, ey: Extent) -> tuple[str, str, bool]:
    """Two objects on one memory, neither of them a view of the other."""
    inside = (contains(ey, ex), contains(ex, ey))
    if not any(inside):
        return "siblings", "parts", False
    if not same_storage(ex, ey):
        arrays = [one.object.status == "array" for one in (x, y)]
        array = any(arrays)
        if all(arrays):
            return "external", "arrays", inside[0] and not inside[1]
        turned = x.object.status == "array" or (y.object.status != "array" and _rank(y) < _rank(x))
        if not array and not all(inside):
            turned = inside[0]
        return "external", "array" if array else "external", turned
    if x.object.status == y.object.status == "inference":
        return "view", "inference view", inside[0] and not inside[1]
    # A leaf over untracked memory may be a parameter made of it; the order of the names decides.
    made_leaf = y.object.status in ("leaf", "frozen") and (x.object.status != "leaf" or y.facts.parameter)
    turned = not made_leaf and _rank(y) < _rank(x) if all(inside) else inside[0]
    s, d = (y, x) if turned else (x, y)
    if d.facts.parameter:
        return "parameter", "parameter", turned
    if d.object.status == "leaf":
        return "rewrapped", "wrapped", turned
    if d.object.status in ("no_grad view", "early view", "stale view"):
        return "siblings", "parts", turned
    if d.object.grad_fn:  # what has a history is nobody's detach()
        if s.facts.identity in d.facts.reaches:
            return "view", "view", turned
        return "siblings", "parts", turned
    counted = _shares_counter(s, d)
    return ("data", "data", turned) if counted is False else ("detached", "detached", turned)


def _rank(seen: Seen) -> int:
    return _RANK.get(seen.object.status, 3)


def _shares_counter(a: Seen, b: Seen) -> bool | None:
    if a.facts.counter and b.facts.counter:
        return a.facts.counter == b.facts.counter
    va, vb = a.object.version, b.object.version
    return False if va is not None and vb is not None and va != vb else None


def _made_by(s: Seen, d: Seen) -> tuple[str, str]:
    """By one operation."""
    if d.facts.label in ("ToCopy", "To", "Copy"):
        return "moved", "moved"
    if d.facts.label == "Clone" or (_same_numbers(s, d) and d.object.shape == s.object.shape):
        return "tracked copy", "tracked copy"
    return "computed", "computed"


def _same_numbers(x: Seen, y: Seen) -> bool:
    dx, dy = x.facts.digests, y.facts.digests
    if not dx or not dy or x.object.shape != y.object.shape:
        return False
    if dx[0] == dy[0]:
        return True
    if len(dx) == len(dy) == 1:
        return False
    rounded = {"float32": 1, "float16": 2, "bfloat16": 3}
    to_x, to_y = rounded.get(x.object.dtype, 0), rounded.get(y.object.dtype, 0)
    return bool((to_x and dy[to_x] == dx[0]) or (to_y and dx[to_y] == dy[0]))


def _copied(x: Seen, y: Seen) -> tuple[str, str, bool]:
    """Two objects with the same numbers in memories of their own."""
    ox, oy = x.object, y.object
    if oy.status == "result" and _rank(x) != 3:
        return "separate", "far" if _far(x, y) else "same numbers", False
    turned = _rank(x) == 3 and oy.status == "result"
    s, d = (oy, ox) if turned else (ox, oy)
    both_parameters = x.facts.parameter and y.facts.parameter
    own_grads = x.facts.grad != y.facts.grad
    same_grads = bool(x.facts.grad_digest) and x.facts.grad_digest == y.facts.grad_digest and own_grads
    if both_parameters and s.status != "result" and x.facts.constant and not _same_tail(s.name, d.name):
        return "separate", "same numbers", False  # fresh biases and the like
    if (both_parameters or same_grads or _same_tail(s.name, d.name)) and s.status != "result" and s.type == d.type:
        tracked = "leaf" in (s.status, d.status)
        return "deepcopy", "deepcopy" if tracked else "plain deepcopy", turned
    if d.status == "leaf":
        return "rewrapped", "rewrapped", turned
    if (s.dtype, s.device) != (d.dtype, d.device):
        return "moved", "plain move", turned
    return "copy", "copy" if s.requires_grad else "plain copy", turned


def _same_tail(a: str, b: str) -> bool:
    """Whether two module paths differ only in the module: "model.0.weight" and "twin.0.weight"."""
    _, dot, tail = a.partition(".")
    return bool(dot) and tail == b.partition(".")[2]


def _told(
    kind: str, key: str, s: Seen, d: Seen, called: tuple[str, str], *, base: str = "", apart: tuple[str, ...] = ()
) -> Relation:
    source, derived = called
    es, ed = s.facts.extent, d.facts.extent
    shares = kind in SHARED or (es is not None and ed is not None and same_bytes(es, ed))
    told_shares = None if kind == "unknown" or (shares and kind not in ("alias", "tied") and _coded(s, d)) else shares
    part = ""
    if shares and es is not None and ed is not None and kind not in ("alias", "tied", "siblings"):
        part = part_of(ed, es, source)
    words = {
        "d": derived,
        "s": source,
        "p": f" ({part})" if part else "",
        "q": f" with the numbers of {source}" if _same_numbers(s, d) else "",
        "o": d.facts.label if s.facts.identity in d.facts.direct else "through several operations",
        "f": _from_to(s, d),
        "n": " with the same numbers" if _same_numbers(s, d) else "",
        "u": _unreadable(s, d),
        "b": base,
        "t": ", ".join(apart),
    }
    told = [clause.replace("{e}", _edits(kind, s, d)).replace("{g}", _gradients(kind, s, d)) for clause in TOLD[key]]
    parts = _pieces(f"{told[0]}: {told[1]}; {told[2]}.", words)
    maybe = _maybe(kind, key, s, d)
    if len(maybe) > 1:
        causes = f"{', '.join(maybe[:-1])} and {maybe[-1]}"
        parts.append(
            (f" {causes[0].upper() if causes.startswith('a ') else causes[0]}{causes[1:]} leave the same state.", False)
        )
    clauses = ["".join(text for text, _ in _pieces(clause, words)) for clause in told]
    asked = shares or kind == "unknown"
    counter = True if kind in ("alias", "tied") else _shares_counter(s, d) if asked else False
    return Relation(
        kind,
        source,
        derived,
        what=clauses[0],
        gradients=clauses[1],
        edits=clauses[2],
        part=part,
        maybe=maybe,
        same_object=s.facts.identity == d.facts.identity,
        shares_storage=told_shares,
        shares_version_counter=counter,
        has_history=bool(d.object.grad_fn),
        parts=tuple(parts),
    )


def _maybe(kind: str, key: str, s: Seen, d: Seen) -> tuple[str, ...]:
    found = tuple(one.replace("{s}", s.object.name) for one in _MAYBE.get(key, ()))
    if key == "rewrapped" and s.object.status in ("leaf", "frozen"):
        return (*found, "a deepcopy")
    if key == "deepcopy" and d.facts.grad != s.facts.grad and d.facts.grad_digest == s.facts.grad_digest != "":
        return ()
    if key == "wrapped" and s.object.status == "untracked" and _shares_counter(s, d):
        return (f"a leaf made of {s.object.name}", f"{s.object.name} = {d.object.name}.detach()")
    if kind == "detached":
        if _shares_counter(s, d) is None:
            return (f"{s.object.name}.detach()", f"{s.object.name}.data")
        leaf = s.object.status == "leaf"
        return (f"{d.object.name} = {s.object.name}.detach()", f"a leaf made of {d.object.name}") if leaf else ()
    return found


def _gradients(kind: str, s: Seen, d: Seen) -> str:
    if kind == "alias":
        return _ONE.get(d.object.status, "both are as untracked as each other")
    if kind in ("unknown", "separate"):
        return _TOLD_FAR if _far(s, d) else "no gradient passes between them"
    if kind == "siblings":
        cousins = d.facts.base and d.facts.base == s.facts.base
        both = d.object.grad_fn and s.object.grad_fn
        return "each passes its own gradient to that tensor" if both and cousins else "no gradient passes between them"
    if kind == "rewrapped" and s.object.status == "result":
        return "gradients arrive at {d} and stop there, so that nothing before {s} learns from it"
    if d.object.status == "leaf":
        return "gradients arrive at {d} and stop there, and none reaches {s}"
    return "gradients pass through it to {s}" if d.object.grad_fn else "no gradient passes from {d} to {s}"


def _edits(kind: str, s: Seen, d: Seen) -> str:
    es, ed = s.facts.extent, d.facts.extent
    if kind == "unknown":
        if _shares_counter(s, d):
            return (
                "they share a version counter, as detach() and views do, so that backward() takes an in-place edit "
                "of one for an edit of both, and it may change both"
            )
        return "an in-place edit of one may change the other"
    if code := _coded(s, d):
        return (
            "an in-place edit of {d} counts as one of {s} for backward(), and whether it changes the numbers of {s} "
            f"is up to the code of {code}, which is not run"
        )
    if d.object.status == "stale view" and kind == "no_grad view":
        return "an in-place edit of {d} raises too and changes {s} under no_grad, while one of {s} changes {d}"
    if kind == "no_grad view":
        return f"{_EDIT_BOTH} and raises outside of no_grad, while one of {{s}} changes {{d}}"
    if kind == "siblings":
        refused = _refused(d, "{d}") or _refused(s, "{s}")
        if es is None or ed is None or overlap(es, ed):
            seen = "what is written into one in place is seen in the other where they overlap"
            return f"{seen}, and writing raises outside of no_grad because {refused}" if refused else seen
        if refused:
            return f"an in-place edit of one does not touch the other, and raises outside of no_grad because {refused}"
        counted = _shares_counter(s, d)
        version = ", but backward() takes it for an edit of both, by the version counter that they share"
        return f"an in-place edit of one does not touch the other, because they do not overlap{version * bool(counted)}"
    if ed is not None and any(n > 1 and stride == 0 for n, stride in zip(ed.shape, ed.strides, strict=True)):
        return (
            "most in-place edits of {d} raise, because several of its elements are one in memory, and those that do "
            "not (fill_()) change {s} too"
        )
    on_leaf = s.object.status == "leaf" and d.object.requires_grad and d.object.status != "leaf" and not d.facts.made
    refused = "{s} is a leaf" if on_leaf else _refused(d, "{d}")
    if refused:
        return f"{_EDIT_BOTH}, and raises outside of no_grad because {refused}"
    if d.object.grad_fn:
        return "an in-place edit of {d} changes {s} too and is recorded for both"
    return _EDIT_BOTH


def _refused(one: Seen, name: str) -> str:
    """Why autograd refuses edits in place of it, as a clause; "" where it does not."""
    if one.object.status == "leaf":
        return f"{name} is a leaf"
    if one.object.grad_fn and one.facts.made:
        made = f"the operation that made {name} makes several views at once"
        return made if one.facts.made == "several" else f"a custom Function made {name}"
    return f"{name} is a view of a leaf" if one.facts.of_leaf and one.object.requires_grad else ""


def _coded(s: Seen, d: Seen) -> str:
    """The class whose code decides what an operation on one of the two does; "" where torch does."""
    return next((one.object.type for one in (d, s) if one.facts.coded), "")


def _unreadable(s: Seen, d: Seen) -> str:
    """Why the memory of one can't be read, or of both."""
    return " and ".join(dict.fromkeys(one.facts.hidden for one in (d, s) if one.facts.hidden))


def _from_to(s: Seen, d: Seen) -> str:
    dtype = f"{s.object.dtype} to {d.object.dtype}" if s.object.dtype != d.object.dtype else ""
    device = f"{s.object.device} to {d.object.device}" if s.object.device != d.object.device else ""
    return ", ".join(filter(None, (dtype, device))) or "a new tensor of the same form"


def _pieces(template: str, words: dict[str, str]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    for text, hole, _, _ in Formatter().parse(template):
        if text:
            found.append((text, False))
        if hole:
            found.append((words[hole], hole in ("d", "s", "b")))
    return found
