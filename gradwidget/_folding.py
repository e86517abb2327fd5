"""Which groups are collapsed: what may be asked for, and what stays from one iteration to the next."""

from __future__ import annotations

from collections.abc import Sequence

from gradwidget._errors import OptionError, UnknownNodeError, near
from gradwidget._fold import DRAWN, Fold


def checked(fold: Fold, asked: object) -> list[str]:
    """The ids of the groups that were asked for by id or by module path, in the order of the tree.

    Raises:
        OptionError: not a list of names, or more boxes than can be drawn would be left open.
        UnknownNodeError: there is no such group.
    """
    if isinstance(asked, str) or not isinstance(asked, (list, tuple, set, frozenset)):
        raise OptionError(
            f"collapsed={asked!r} is no list of groups.", "Give a list of their names, such as w.collapsed[:1]."
        )
    wanted: set[str] = set()
    for name in asked:
        found = fold.find(name) if isinstance(name, str) else []
        if not found:
            raise _unknown(fold, name)
        wanted.update(found)
    boxes = fold.boxes(wanted)
    if boxes > DRAWN:
        raise OptionError(
            f"With that, {boxes:,} boxes would have to be drawn; {DRAWN:,} can be.", "Leave more groups collapsed."
        )
    return [group.id for group in fold.groups if group.id in wanted]


def _unknown(fold: Fold, name: object) -> UnknownNodeError:
    known = [group.id for group in fold.groups]
    if not known:
        return UnknownNodeError(f"There is no group {name!r}.", "This graph has no groups.")
    hint = near(name, [*known, *(g.path for g in fold.groups if g.path)]) if isinstance(name, str) else ""
    return UnknownNodeError(
        f"There is no group {name!r}.{hint}", f"Groups are {', '.join(map(repr, known[:8]))}{', …' * (len(known) > 8)}."
    )


def refolded(before: Fold, after: Fold, collapsed: Sequence[str]) -> list[str]:
    """The same groups collapsed as before; what is new, as a new picture would have it."""
    known = {group.id for group in before.groups}
    exists = {group.id for group in after.groups}
    kept = [name for name in collapsed if name in exists]
    kept += [name for name in after.first if name not in known]
    return kept if after.boxes(kept) <= DRAWN else list(after.first)
