"""References -> what is drawn of them: three columns with places and texts, for the page and for static HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradwidget._objects import TensorObject
from gradwidget._references import References, memory_note
from gradwidget._references_words import about, middled, said, title, verdict_of

Json = dict[str, Any]

DRAWN = 60
"""Objects that are drawn, at most."""
SAID = 24
NAMES = 5
_SHORT = 28  # characters of a name that are shown; the rest is taken out of its middle
_WIDE = 20  # characters of a value that are shown
_TOP, _NAME, _NAME_GAP, _CARD, _TALL, _GAP, _BETWEEN = 8, 30, 8, 56, 72, 12, 14


Nodes = Callable[[str], "int | None"]


def drawn(found: References, node_of: Nodes = lambda _: None) -> Json:
    """`ReferencesPayload` of `frontend/src/wire.ts`: places in pixels from the top.

    Args:
        found: what was found.
        node_of: for the id of an object, its node in the graph beside it, or None.
    """
    shown = _chosen(found, node_of)
    memory_of = found._memory_of
    order: list[TensorObject] = []
    memories = [m for m in found.memory if any(key in shown for key in m.objects)]
    for memory in memories:
        order += [shown[key] for key in memory.objects if key in shown]
    order += [one for key, one in shown.items() if key not in memory_of]
    first = {key: i for i, key in enumerate(shown)}
    rank = {m.id: min(first[key] for key in m.objects if key in first) for m in memories}
    order.sort(key=lambda one: (rank.get(memory_of.get(one.id, ""), first[one.id]), first[one.id]))

    names: list[Json] = []
    objects: list[Json] = []
    boxes: list[Json] = []
    places: dict[str, int] = {}
    top = _TOP
    last = None
    before = 1
    sizes = {m.id: sum(key in shown for key in m.objects) for m in memories}
    for one in order:
        memory_id = memory_of.get(one.id)
        group = sizes.get(memory_id or "", 1)
        top += _BETWEEN if last is not None and memory_id != last and (group > 1 or before > 1) else 0
        before = group
        last = memory_id or one.id
        own = one.names if len(one.names) <= NAMES else one.names[: NAMES - 1]
        labels = [*own, *([f"and {len(one.names) - len(own)} more"] if len(own) < len(one.names) else [])]
        column = len(labels) * (_NAME + _NAME_GAP) - _NAME_GAP
        what, note = title(one, found._origins.get(one.id), _SHORT - 4), _note(one)
        size = _TALL if len(what) > 24 and len(note) > 24 else _CARD
        height = max(size, column)
        start = top + (height - column) // 2
        for i, label in enumerate(labels):
            middle = start + i * (_NAME + _NAME_GAP)
            names.append(
                {
                    "text": label,
                    "short": middled(label, _SHORT),
                    "top": middle,
                    "height": _NAME,
                    "object": len(objects),
                    "more": i >= len(own),
                    "end": top + height / 2 + (i - (len(labels) - 1) / 2) * 9,
                }
            )
        card = top + (height - size) // 2
        verdict, tone = verdict_of(one)
        objects.append(
            {
                "id": one.id,
                "top": card,
                "height": size,
                "tall": size == _TALL,
                "title": what,
                "note": note,
                "verdict": verdict,
                "tone": tone,
                "leaf": one.status == "leaf",
                "dashed": tone != "good",
                "names": list(one.names[:NAMES]),
                "about": about(one),
                "node": node_of(one.id),
                "memory": -1,
                "end": 0,
            }
        )
        places[one.id] = len(objects) - 1
        top += height + _GAP
    for memory in sorted(memories, key=lambda m: rank[m.id]):
        mine = [places[key] for key in memory.objects if key in places]
        middle = sum(objects[i]["top"] + objects[i]["height"] / 2 for i in mine) / len(mine)
        for place, i in enumerate(mine):
            objects[i]["memory"] = len(boxes)
            objects[i]["end"] = round(middle) + (place - (len(mine) - 1) / 2) * min(10, 36 / len(mine))
        boxes.append(
            {
                "top": round(middle) - _CARD // 2 + 4,
                "height": _CARD - 8,
                "text": _brief(memory.value) or "…",
                "note": memory_note(memory),
                "shared": memory.shared,
                "objects": mine,
            }
        )
    for one in order:
        hidden = found.hidden(one.id)
        if hidden:
            drawn_one = objects[places[one.id]]
            drawn_one["memory"], drawn_one["end"] = len(boxes), drawn_one["top"] + drawn_one["height"] / 2
            boxes.append(
                {
                    "top": drawn_one["top"] + drawn_one["height"] // 2 - _CARD // 2 + 4,
                    "height": _CARD - 8,
                    "text": "?",
                    "note": hidden,
                    "shared": False,
                    "objects": [places[one.id]],
                }
            )
    rest = len(found.objects) - len(shown)
    return {
        "v": 1,
        "height": top - _GAP + _TOP if objects else 0,
        "names_width": 24 + 8 * max((len(name["short"]) for name in names), default=0),
        "names": names,
        "objects": objects,
        "memory": boxes,
        "sentences": list(_sentences(found, places)),
        "left_out": f"{rest:,} more tensors that share nothing are not drawn." if rest else "",
    }


def _chosen(found: References, node_of: Nodes) -> dict[str, TensorObject]:
    """Objects worth drawing, in their order: what shares something first, then variables, then what has a node."""
    objects = found.objects
    if len(objects) <= DRAWN:
        return {one.id: one for one in objects}
    ids = {name: one.id for one in objects for name in one.names}
    related = {ids[name] for r in found._origins.values() for name in (r.source, r.derived)}

    def rank(one: TensorObject) -> int:
        if one.id in related or len(one.names) > 1:
            return 0
        return 1 if one.name.isidentifier() else 2 if node_of(one.id) is not None else 3

    kept = {one.id for one in sorted(objects, key=rank)[:DRAWN]}
    return {one.id: one for one in objects if one.id in kept}


def _brief(value: str) -> str:
    """Few numbers, as many as are seen whole."""
    while len(value) > _WIDE and ", " in value:
        value = f"{value.removesuffix(', …]').removesuffix(']').rpartition(', ')[0]}, …]"
    return value


def _note(one: TensorObject) -> str:
    version = "" if one.version is None else f"version {one.version} · "
    if one.status in ("no_grad view", "early view"):
        return f"says requires_grad=True, has no grad_fn · {version}{one.form}"
    if one.status == "result":
        size = "" if one.history is None else f" ({one.history:,} node{'s' * (one.history != 1)})"
        return f"{one.grad_fn}{size} · {version}{one.form}"
    grad = ".grad is set · " if one.has_grad else ""
    kind = "" if one.type in ("Tensor", "Parameter", "ndarray") else f"{one.type} · "
    return f"{kind}{grad}{version}{one.form}"


def _sentences(found: References, places: dict[str, int]) -> Iterator[Json]:
    count = 0
    for keys, parts in said(found._seen, found._origins):
        drawn_here = [places[key] for key in keys if key in places]
        if drawn_here and count < SAID:
            count += 1
            yield {"parts": [[text, is_name] for text, is_name in parts], "objects": drawn_here}
