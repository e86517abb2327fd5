"""What only IPython knows: when a cell has ended. The only room that imports it."""

from __future__ import annotations

import contextlib
import importlib
import sys
import weakref
from collections.abc import Callable
from typing import Any

from gradwidget import _deep

_waiting: weakref.WeakSet[Any] = weakref.WeakSet()
_registered: weakref.WeakSet[Any] = weakref.WeakSet()


def shell() -> Any:
    """IPython's shell, None outside of it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def place_of(filename: str, line: int) -> str:
    """A source line as people say it: "cell 3, line 2", "train.py:41"."""
    current = shell()
    name = getattr(getattr(current, "compile", None), "format_code_name", None)
    found = name(filename) if name is not None else None
    if found is not None:
        number = "".join(c for c in found[1] if c.isdigit())
        return f"cell {number}, line {line}" if number else f"{found[1]}, line {line}"
    return f"{filename.rpartition('/')[2]}:{line}"


def cell_files() -> list[str]:
    """File names under which the source of the notebook's cells is known, oldest first."""
    known = getattr(getattr(shell(), "compile", None), "_filename_map", None)
    return list(known) if type(known) is dict else []


def running_cell() -> int:
    """Number of the cell that is running, 0 outside of IPython."""
    # Some versions of IPython count on before the cell has run, some after it.
    history = getattr(getattr(shell(), "history_manager", None), "input_hist_raw", None)
    return max(0, len(history) - 1) if isinstance(history, list) else 0


def after_cell(owner: Any) -> bool:
    """Call `owner.cell_ended()` once the running cell has ended. False where nobody tells when that is."""
    current = shell()
    if current is None or not hasattr(current, "events"):
        return False
    if current not in _registered:
        _registered.add(current)
        current.events.register("post_run_cell", _cell_ended)
    _waiting.add(owner)
    return True


def _cell_ended(*_: object) -> None:
    owners: list[Callable[[], None]] = [owner.cell_ended for owner in list(_waiting)]
    for ended in owners:
        with contextlib.suppress(Exception):  # a broken widget must not spoil the user's cell
            ended()
    _deep.drain()


_EXTENSIONS = ("_record", "_cells", "_magic")
"""Rooms with a `load(shell)` and an `unload(shell)`."""


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext gradwidget`: record every cell from now on, and add the magic `%why`."""
    for room in _EXTENSIONS:
        importlib.import_module(f"gradwidget.{room}").load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext gradwidget`: stop that."""
    for room in _EXTENSIONS:
        importlib.import_module(f"gradwidget.{room}").unload(ipython)
