"""What a running backward pass was asked for, read from the Python frame that started it."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

_STARTER = "_engine_run_backward"  # of torch.autograd.graph: (outputs, seeds, retain_graph, create_graph, inputs, ...)


class Call(NamedTuple):
    """The innermost call of the engine in this thread."""

    depth: int  # how many backward passes this thread is in; 0 in the engine's own threads
    inputs: tuple[Any, ...] | None  # what gradients were asked for: () everything, None unknown
    accumulates: bool | None  # backward() adds to .grad, autograd.grad() does not; None unknown


def running_call() -> Call:
    """Who called the engine."""
    depth = 0
    inputs: tuple[Any, ...] | None = None
    accumulates: bool | None = None
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == _STARTER:
            if not depth:
                inputs, accumulates = _asked(frame.f_locals)
            depth += 1
        frame = frame.f_back  # type: ignore[assignment]
    return Call(depth, inputs, accumulates)


def _asked(given: dict[str, Any]) -> tuple[tuple[Any, ...] | None, bool | None]:
    arguments, keywords = given.get("args"), given.get("kwargs")
    if type(arguments) is not tuple or len(arguments) < 4 or type(keywords) is not dict:
        return None, None
    inputs, accumulates = arguments[3], keywords.get("accumulate_grad")
    return (
        tuple(inputs) if isinstance(inputs, (tuple, list)) else None,
        accumulates if type(accumulates) is bool else None,
    )
