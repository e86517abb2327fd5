"""What `why` answers: cause, remedy and evidence. Strings only: it keeps nothing alive."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, replace
from typing import Any

_CODE = re.compile(r"`([^`]+)`")
_PATH = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+|\[\w+\])+")
_NAMELESS = re.compile(r"\bthe tensor\.(?=\w)")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a gradient is as it is, or why an error was raised.

    Attributes:
        kind: a short name of the situation that stays the same ("not-leaf", "detached", "nan-sqrt").
        cause: one or two sentences.
        remedy: one sentence, with code between backticks.
        evidence: the facts it rests on, such as "w.grad_fn is None".
    """

    kind: str
    cause: str
    remedy: str
    evidence: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.cause]
        if self.remedy:
            lines.append(f"Remedy: {self.remedy}")
        if self.evidence:
            lines.append(f"Evidence: {'; '.join(self.evidence)}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Diagnosis({self.kind}: {self.cause})"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        facts = "".join(f"<li>{_marked(fact)}</li>" for fact in self.evidence)
        return (
            '<div style="border-left:3px solid var(--jp-brand-color1,#1976d2);padding:2px 12px;max-width:60em;'
            'line-height:1.5">'
            f'<div style="font-weight:600">{_marked(self.cause)}</div>'
            + (f"<div>{_marked(self.remedy)}</div>" if self.remedy else "")
            + (f'<ul style="margin:4px 0 0;opacity:.75">{facts}</ul>' if facts else "")
            + "</div>"
        )


def worded(found: Diagnosis) -> Diagnosis:
    """The same with code that can be run ("net[0].weight" for "net.0.weight"), and sentences that begin as such."""
    cause = _NAMELESS.sub("the tensor's .", found.cause)
    return replace(
        found,
        cause=cause[:1].upper() + cause[1:] if cause.startswith("the ") else cause,
        remedy=_readable(found.remedy),
        evidence=tuple(_NAMELESS.sub("the tensor's .", fact) for fact in found.evidence),
    )


def _readable(text: str) -> str:
    parts = text.split("`")  # every other one is code
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = _PATH.sub(
                lambda m: re.sub(r"\.(\d+)(?=[.\[]|$)", r"[\1]", m[0]), part.replace("the tensor", "x")
            )
        else:
            parts[i] = _NAMELESS.sub("the tensor's .", part)
    return "`".join(parts)


def _marked(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", html.escape(text))
