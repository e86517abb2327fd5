"""What is said of tensor objects: titles, verdicts, sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradwidget._memory import LAZY
from gradwidget._objects import Seen, TensorObject
from gradwidget._relations import Parts, Relation, relate

_ABOUT = {
    "leaf": "{n} is a leaf: backward() adds to {n}.grad.",
    "result": "{n} is the result of {op}: gradients pass through it, and {n}.grad stays None without retain_grad().",
    "no_grad view": "{n} is a view made under no_grad: it says requires_grad=True, but no gradient ever arrives.",
    "early view": "{n} is a view taken before its base asked for gradients: it says requires_grad=True because its "
    "base does, but no gradient ever arrives.",
    "stale view": "{n} is a view made under no_grad, its history invalid: its base was changed in place, so that "
    "reading {n}.grad_fn and {n}.is_leaf raises.",
    "inference": "{n} was made under inference_mode: it has no history, and autograd refuses to save it.",
    "integer": "{n} is of {dtype}, which can't have gradients.",
    "frozen": "{n} is a parameter with requires_grad=False: backward() leaves it alone.",
    "untracked": "{n} has no history and asks for no gradient: a constant, or made under no_grad, or detached.",
    "array": "{n} is a numpy array: autograd does not see what is done to it.",
}


_RETAINED = "{n} is the result of {op}: gradients pass through it, and retain_grad() keeps them as {n}.grad."


def about(one: TensorObject) -> str:
    """One sentence on an object by itself."""
    if one.retains_grad:
        return _RETAINED.format(n=one.name, op=one.grad_fn)
    return _ABOUT[one.status].format(n=one.name, op=one.grad_fn, dtype=one.dtype)


_VERDICTS = {
    "leaf": ("gradients arrive here", "good"),
    "result": ("gradients pass through", "good"),
    "no_grad view": ("none will arrive", "warn"),
    "early view": ("none will arrive", "warn"),
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
    "early view": "view, taken before its base asked for gradients",
    "stale view": "stale view, made under no_grad",
    "inference": "made under inference_mode",
    "frozen": "parameter, frozen",
    "array": "numpy array",
    "integer": "tensor of integers",
    "untracked": "tensor without history",
}


def title(one: TensorObject, relation: Relation | None, most: int = 0) -> str:
    """What an object is, in few words: "view a[:2]". `relation` is that to what it comes from.

    With `most` the middle of a longer name of that is left out.
    """
    plain = f"result of {label(one)}" if one.status == "result" else _TITLES[one.status]
    if relation is None or relation.kind == "siblings":
        return "parameter, requires grad" if one.type == "Parameter" and one.status == "leaf" else plain
    source, part = relation.source, relation.part
    made = "stale, made under no_grad" if one.status == "stale view" else "made under no_grad"
    # "a[:2]" says all, "all of a, as 2×2" is for the sentence below.
    of = part if part.startswith(f"{source}[") or part == f"{source}.T" else ""
    if most:
        of = of and f"{middled(source, most)}{of.removeprefix(source)}"
        source = middled(source, most)
    return {
        "view": f"view {of or f'of {source}'}",
        "no_grad view": f"{of or f'view of {source}'}, {made}",
        "subclass": f"{source} as {one.type}",
        "detached": f"{of or source}, detached",
        "data": f"{source}.data{of.removeprefix(source)}",
        "parameter": f"parameter made on {of or source}",
        "external": f"{'array' if one.status == 'array' else 'tensor'} on {of or source}",
        "gradient": f"{source}.grad",
        "moved": f"{source} moved or cast",
        "tracked copy": f"copy of {source}, with history",
        "copy": f"copy of {source}, without history",
        "rewrapped": f"new leaf on {of or source}"
        if relation.shares_storage
        else f"new leaf with the numbers of {source}",
        "deepcopy": f"deepcopy of {source}",
    }.get(relation.kind, plain)


def middled(name: str, most: int) -> str:
    """A long name without its middle: its start and its end tell the most."""
    return name if len(name) <= most else f"{name[: most // 3]}…{name[-(most - most // 3 - 1) :]}"


def label(one: TensorObject) -> str:
    return one.grad_fn.removeprefix("torch::autograd::").rstrip("0123456789").removesuffix("Backward") or one.grad_fn


def said(seen: list[Seen], origins: Mapping[str, Relation]) -> Iterator[tuple[tuple[str, ...], Parts]]:
    """(ids of the objects it is about, the sentence in pieces) of what is worth saying."""
    for one in seen:
        first, *others = one.object.names
        for other in others[:3]:
            yield (one.object.id,), relate(one, one, (first, other)).parts
        relation = origins.get(one.object.id)
        if relation is not None:
            yield (one.object.id,), relation.parts
        elif not others and (one.object.status in _TELLING or len(seen) <= 3):
            yield (one.object.id,), _named(about(one.object), one.object.name)
    if len(seen) > 1:
        yield from _untold(seen, origins)


def _untold(seen: list[Seen], origins: Mapping[str, Relation]) -> Iterator[tuple[tuple[str, ...], Parts]]:
    """Of tensors whose memory can't be read."""
    reasons: dict[str, list[TensorObject]] = {}
    counters: dict[int, list[Seen]] = {}
    for one in seen:
        if one.facts.hidden and one.facts.hidden != LAZY:
            reasons.setdefault(one.facts.hidden, []).append(one.object)
            if one.facts.counter and one.object.id not in origins:
                counters.setdefault(one.facts.counter, []).append(one)
    for group in counters.values():
        if len(group) > 1:
            names, ids = _listed([one.object for one in group])
            which = "both" if len(group) == 2 else "all"
            yield ids, (*names, (f" share one version counter, as detach() and views do: {_COUNTED} {which}.", False))
    for reason, objects in reasons.items():
        names, ids = _listed(objects)
        verb = "stands" if len(objects) == 1 else "stand"
        end = f" {verb} on can't be told, nor what else shares it: {reason}."
        yield ids, (("What memory ", False), *names, (end, False))


def _listed(objects: list[TensorObject]) -> tuple[Parts, tuple[str, ...]]:
    """Names in pieces, "x", ", ", "y", " and ", "z", and whose they are."""
    shown = objects if len(objects) <= _LISTED else objects[: _LISTED - 1]
    rest = len(objects) - len(shown)
    parts: list[tuple[str, bool]] = []
    for i, one in enumerate(shown):
        last = i == len(shown) - 1 and not rest
        parts += [(" and " if last else ", ", False)] * (i > 0) + [(one.name, True)]
    parts += [(f" and {rest:,} others", False)] * bool(rest)
    return tuple(parts), tuple(one.id for one in objects)


_LISTED = 5
_COUNTED = "backward() takes an in-place edit of one for an edit of"

_TELLING = ("no_grad view", "early view", "stale view", "inference")


def _named(sentence: str, name: str) -> Parts:
    """A sentence that begins with a name."""
    return ((name, True), (sentence.removeprefix(name), False)) if sentence.startswith(name) else ((sentence, False),)
