"""What became of a name between two looks: rebinding against editing in place."""

from __future__ import annotations

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
        return _same_object(
            name,
            before,
            after,
            rewritten=old.facts.digests[:1] != new.facts.digests[:1],
            flags=_flags(before, after, grad=old.facts.grad_digest != new.facts.grad_digest),
            read=bool(old.facts.digests and new.facts.digests),
        )
    return Change(name, "rebound", _rebound(name, before, after))


def _same_object(
    name: str, before: TensorObject, after: TensorObject, *, rewritten: bool, flags: str, read: bool
) -> Change:
    if before.version != after.version:
        leaf = "it is still a leaf and gradients still arrive" if after.status == "leaf" else ""
        graph = f"its grad_fn is {after.grad_fn} now" if after.grad_fn != before.grad_fn else ""
        end = "; ".join(filter(None, (leaf, graph))) or "every name of it sees the new numbers"
        versions = f"version {before.version}, now {after.version}"
        return Change(name, "edited", f"{name} is the same tensor, edited in place ({versions}): {end}.")
    if rewritten and read:
        return Change(
            name,
            "rewritten",
            f"{name} is the same tensor with other numbers and no new version: it was written through .data or "
            "numpy(), which backward() can't notice.",
        )
    if flags:
        return Change(name, "flagged", f"{name} is the same tensor with the same numbers, but {flags}.")
    if not read:
        return Change(name, "same", f"{name} is the same tensor with no new version; its numbers were not compared.")
    return Change(name, "same", f"{name} is the same tensor, unchanged.")


def _flags(before: TensorObject, after: TensorObject, *, grad: bool) -> str:
    """What else than its numbers has changed."""
    found = []
    if (before.shape, before.dtype, before.device) != (after.shape, after.dtype, after.device):
        found.append(f"it is {after.form} now, no longer {before.form}")
    if before.requires_grad != after.requires_grad:
        found.append(f"requires_grad was {before.requires_grad} and is {after.requires_grad} now")
    if before.grad_fn != after.grad_fn:
        found.append(f"its grad_fn was {before.grad_fn or None} and is {after.grad_fn or None} now")
    if before.has_grad != after.has_grad:
        found.append(
            f".grad was {'set' if before.has_grad else 'None'} and is {'set' if after.has_grad else 'None'} now"
        )
    elif grad:
        found.append(".grad has other numbers")
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
    return f"{name} is another tensor now."
