"""What became of a name between two looks: rebinding against editing in place."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gradwidget._objects import Seen, TensorObject
from gradwidget._references_words import label


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a name between two looks: same, flagged, edited, rewritten, rebound, new or gone."""

    name: str
    kind: str
    sentence: str


def change(name: str, old: Seen | None, new: Seen | None) -> Change:
    """Of one name; None where a look found nothing under it."""
    if old is None:
        return Change(name, "new", f"{name} is new.")
    if new is None:
        return Change(name, "gone", f"{name} is gone, or no tensor any more.")
    before, after = old.object, new.object
    if old.tensor is not None and old.tensor is new.tensor:
        return _same_object(name, old, new)
    if old.reference is None and old.facts.identity == new.facts.identity:
        return Change(
            name,
            "same",
            f"Whether {name} is the same tensor as before can't be told: nothing of ours refers to it, so that .to() "
            "can swap it.",
        )
    return Change(name, "rebound", _rebound(name, before, after))


def _same_object(name: str, old: Seen, new: Seen) -> Change:
    before, after = old.object, new.object
    read = bool(old.facts.digests and new.facts.digests)
    rewritten = read and old.facts.digests[0] != new.facts.digests[0]
    if before.version != after.version:
        versions = f"version {before.version}, now {after.version}"
        if read and not rewritten and old.facts.read == _numel(new):
            return Change(
                name,
                "edited",
                f"{name} is the same tensor with the same numbers, but counts as edited ({versions}): a view or a "
                "detach() that shares its version counter was, or an edit wrote what was there.",
            )
        leaf = "it is still a leaf and gradients still arrive" if after.status == "leaf" else ""
        graph = f"its grad_fn is {after.grad_fn} now{_grown(before, after)}" if after.grad_fn != before.grad_fn else ""
        end = "; ".join(filter(None, (leaf, graph))) or "every name of it sees the new numbers"
        return Change(name, "edited", f"{name} is the same tensor, edited in place ({versions}): {end}.")
    if rewritten:
        return Change(name, "rewritten", _rewritten(name, old, new))
    flags = _flags(old, new)
    if flags:
        return Change(name, "flagged", f"{name} is the same tensor with the same numbers, but {flags}.")
    if after.status == "array":
        return Change(name, "same", f"{name} is the same array; its numbers were not compared.")
    if not read:
        return Change(name, "same", f"{name} is the same tensor with no new version; its numbers were not compared.")
    if new.facts.read < _numel(new):
        samples = f"{new.facts.read:,} of its {_numel(new):,} numbers were compared"
        return Change(name, "same", f"{name} is the same tensor with no new version; {samples}, and none has changed.")
    return Change(name, "same", f"{name} is the same tensor, unchanged.")


def _numel(seen: Seen) -> int:
    halves = 2 if seen.object.dtype.startswith("complex") else 1
    return math.prod(seen.object.shape or ()) * halves


def _moved(old: Seen, new: Seen) -> bool:
    """Whether it stands on other memory."""
    a, b = old.facts.extent, new.facts.extent
    return a is not None and b is not None and (a.storage, a.start) != (b.storage, b.start)


def _rewritten(name: str, old: Seen, new: Seen) -> str:
    if new.object.status == "inference":
        return f"{name} is the same tensor with other numbers; made under inference_mode, it keeps no version."
    if _moved(old, new):
        return (
            f"{name} is the same tensor on other memory and with no new version: {name}.data = ... does that, which "
            "backward() can't notice; what stood on its memory does not share it any more."
        )
    return (
        f"{name} is the same tensor with other numbers and no new version: it was written through .data or "
        "numpy(), which backward() can't notice."
    )


_SUMMED = ": in a loop it grows with each iteration; where only the number counts, add up .item() or .detach()"


def _grown(before: TensorObject, after: TensorObject) -> str:
    """How its history has grown, if it has."""
    if after.history is None:
        return ", with a history of more nodes than are counted" if before.history is not None else ""
    if after.history <= (before.history or 0):
        return ""
    return f", with a history of {after.history} node{'s' * (after.history != 1)}"


def _flags(old: Seen, new: Seen) -> str:
    """What else than its numbers has changed."""
    before, after = old.object, new.object
    found = []
    if (before.shape, before.dtype, before.device) != (after.shape, after.dtype, after.device):
        found.append(f"it is {after.form} now, no longer {before.form}")
    elif _moved(old, new):
        found.append("it stands on other memory now")
    if before.requires_grad != after.requires_grad:
        found.append(f"requires_grad was {before.requires_grad} and is {after.requires_grad} now")
    if before.grad_fn != after.grad_fn:
        found.append(f"its grad_fn was {before.grad_fn or None} and is {after.grad_fn or None} now")
    if before.has_grad != after.has_grad:
        found.append(
            f".grad was {'set' if before.has_grad else 'None'} and is {'set' if after.has_grad else 'None'} now"
        )
    elif old.facts.grad_digest != new.facts.grad_digest:
        found.append(".grad has other numbers")
    if before.retains_grad != after.retains_grad:
        found.append("retain_grad() keeps its gradient from now on")
    return " and ".join(found)


def _rebound(name: str, before: TensorObject, after: TensorObject) -> str:
    start = f"{name} is another tensor now: an assignment ({name} = ...) makes a new one, while "
    if before.status == "leaf" and after.status != "leaf":
        end = (
            f"{name} -= ... or {name}.sub_(...) under no_grad edits the leaf. "
            f"The leaf of before is lost to this name, and with it {name}.grad"
        )
        how = f"the result of {label(after)}" if after.status == "result" else "a tensor without history"
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
    if after.status == "result":
        alone = "" if after.shape is None or math.prod(after.shape) != 1 else _SUMMED
        return f"{name} is another tensor now{_grown(before, after)}{alone}."
    what = "array" if after.status == before.status == "array" else "tensor"
    form = "" if after.form == before.form else f", {after.form}, no longer {before.form}"
    return f"{name} is another {what} now{form}."
