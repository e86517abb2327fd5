"""`%why` in a notebook: names instead of expressions, so that no property of a module is run."""

from __future__ import annotations

import re
import sys
from typing import Any

import torch

from gradwidget._diagnosis import Diagnosis
from gradwidget._errors import GradWidgetError, OutputTypeError, near
from gradwidget._outputs import is_tensor
from gradwidget._why import about
from gradwidget._why_errors import explain
from gradwidget._why_scope import Scope

_PLAIN = re.compile(r"[^\W\d]\w*(?:\.\w+|\[[^\[\]]*\])*$")


def load(ipython: Any) -> None:
    """`%why`: explain the error of the last cell; `%why x`, `%why x loss`: explain a gradient."""

    def why(line: str) -> Any:
        try:
            return why_line(line, ipython)
        except GradWidgetError as error:
            usage: Any = sys.modules["IPython"].core.error.UsageError  # shown as one line, without a traceback
            raise usage(f"%why: {error}") from None

    why.__doc__ = why_line.__doc__
    ipython.register_magic_function(why, "line", "why")


def unload(ipython: Any) -> None:
    """Take `%why` away again."""
    ipython.magics_manager.magics["line"].pop("why", None)


def why_line(line: str, ipython: Any) -> Diagnosis | None:
    """Explain the error of the last failed cell, or a gradient.

    `%why` alone: what the last error means. `%why x`: why the gradient of x is None, zero, NaN or too big.
    `%why x loss`: the same, of what loss.backward() brings to x.
    """
    names = [name for name in re.split(r"[\s,]+", line.strip()) if name]
    scope = Scope.of_space(ipython.user_ns)
    if not names:
        error = getattr(sys, "last_value", None)
        if not isinstance(error, BaseException):
            print("%why: no cell has failed. Use `%why x` or `%why x loss` for a gradient.")  # noqa: T201
            return None
        return explain(error, scope, about)
    found = _parametrized(names[0], scope)
    if found is not None:
        return found
    subject, *outputs = (_tensor(name, scope, ipython) for name in names)
    return about(subject, tuple(outputs), scope, names[0])


def _parametrized(name: str, scope: Scope) -> Diagnosis | None:
    """A weight that is computed at each access: it is not read, because that would run its parametrization."""
    owner, _, key = name.rpartition(".")
    known = [n for n, _ in scope.tensors]
    originals = [n for n in known if n.startswith(f"{owner}.parametrizations.{key}.original")]
    if not originals or name in known:
        return None
    return Diagnosis(
        "parametrized",
        f"{name} is computed from other parameters at each access (a parametrization), so it is no leaf: its gradient "
        f"lives on {' and '.join(originals)}.",
        f"Read `.grad` of {' and '.join(originals)}.",
        (f"{owner} has a parametrization of {key}",),
    )


def _tensor(name: str, scope: Scope, ipython: Any) -> torch.Tensor:
    """The tensor of a name, as it stands in the scope; else the value of what was written."""
    tensor = next((t for n, t in scope.tensors if n == name), None)
    if tensor is not None:
        return tensor
    if not _PLAIN.match(name):
        raise OutputTypeError(f"%why takes names, not {name!r}.", "Write `%why x` or `%why x loss`.")
    try:
        value = ipython.ev(name)
    except Exception as error:
        raise GradWidgetError(
            f"There is no {name!r} ({type(error).__name__}).{near(name, [n for n, _ in scope.tensors])}",
            "Write `%why x` or `%why x loss`, with names of this notebook.",
        ) from None
    if not is_tensor(value):
        raise OutputTypeError(f"{name} is no tensor but {type(value).__qualname__}.", "Give the name of a tensor.")
    found: torch.Tensor = value
    return found
