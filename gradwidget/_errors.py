"""Errors of ours: one sentence of cause, one of remedy.

GradWidgetError
├── OutputTypeError      (TypeError)   what was given is no output of a graph
├── NoGraphError         (ValueError)  a tensor without a graph behind it
├── UnknownNodeError     (KeyError)    no node has that number or name
├── OptionError          (TypeError)   an unknown keyword, or a value it can't have
└── GraphGoneError       (RuntimeError) the graph has been freed since
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GradWidgetError(Exception):
    """Base of every error that gradwidget raises.

    ``cause`` and ``remedy`` are one sentence each; ``str()`` joins them.
    """

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}"


class OutputTypeError(GradWidgetError, TypeError):
    """What was given can't be the output of an autograd graph."""


class NoGraphError(GradWidgetError, ValueError):
    """The given tensors have no autograd graph."""


class UnknownNodeError(GradWidgetError, KeyError):
    """No node of the graph has that number or name."""


class OptionError(GradWidgetError, TypeError):
    """A keyword that does not exist, or a value that it can't have."""


class GraphGoneError(GradWidgetError, RuntimeError):
    """The graph was dropped, so that nothing more can be read from it."""


def near(word: str, known: Iterable[str]) -> str:
    """`" Did you mean 'x'?"`, or an empty string if nothing is near."""
    close = difflib.get_close_matches(word, list(known), n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
