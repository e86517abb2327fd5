"""Names for tensors: from the calling scope, from modules, from what the user gives."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import torch

from gradwidget._errors import OptionError
from gradwidget._ipython import shell
from gradwidget._modules import Class
from gradwidget._outputs import is_tensor

LIMIT = 10_000
"""How many names are looked at, at most."""

_MODULE_TABLES = ("_parameters", "_buffers")
_SNAPSHOT = 3  # references to a frame's own dict of locals: the frame's, our variable, the call's argument
_HISTORY = frozenset({"In", "Out", "_ih", "_oh", "_dh"})  # IPython's own, in its namespace only


def given(names: object, classes: dict[str, Class]) -> list[tuple[str, torch.Tensor]]:
    """(name, tensor) of what was given as `names=`: a module, or a mapping name -> tensor, module or container.

    Fills `classes` with what modules stand behind these names, by path.

    Raises:
        OptionError: `names` is something else.
    """
    if names is None:
        return []
    if _is_module(names):
        return list(_bounded(_in_module("", names, set(), classes)))
    if isinstance(names, Mapping):
        return list(_bounded(_in_mapping([(str(k), v) for k, v in names.items()], classes)))
    raise OptionError(
        f"names= must be a module or a mapping of names to tensors or modules, not {type(names).__name__}.",
        "Give names=model, or names={'x': x}.",
    )


def in_scope(frame: FrameType | None, classes: dict[str, Class]) -> list[tuple[str, torch.Tensor]]:
    """(name, tensor) of the locals and globals of `frame`, and of the notebook's namespace. Fills `classes` too."""
    return list(_bounded(_in_mapping(variables(frame), classes)))


def tensors_of(items: list[tuple[str, Any]]) -> list[tuple[str, torch.Tensor]]:
    """(name, tensor) of variables: tensors, then those in modules, then those one level down in containers."""
    return list(_bounded(_in_mapping(items, {})))


def in_notebook() -> list[tuple[str, torch.Tensor]] | None:
    """(name, tensor) of the notebook's namespace as it is now; None outside of IPython."""
    notebook = _notebook_space()
    if notebook is None:
        return None
    return tensors_of(variables_of(notebook))


def modules_among(items: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """(path, module) of variables that are modules, with all modules inside. Reads `__dict__` only."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()
    stack = [(name, value) for name, value in items if _is_module(value)]
    for name, value in items:
        if issubclass(type(value), (list, tuple, dict)):
            stack += [(path, item) for path, item in _entries(name, value) if _is_module(item)][:LIMIT]
    stack.reverse()
    while stack and len(found) < LIMIT:
        path, module = stack.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        found.append((path, module))
        children = object.__getattribute__(module, "__dict__").get("_modules") or {}
        stack.extend((f"{path}.{key}", child) for key, child in reversed(children.items()) if _is_module(child))
    return found


def variables(frame: FrameType | None) -> list[tuple[str, Any]]:
    """(name, value) of the locals and globals of `frame`, and of the notebook's namespace.

    Where they are very many, the newest of each come first, so that a limit drops the oldest globals.
    """
    if frame is None:
        return []
    spaces = [_local_variables(frame), _readable(frame.f_globals)]
    notebook = _notebook_space()
    if notebook is not None and notebook is not frame.f_globals:  # called from a helper module
        spaces.append(_readable(notebook))
    items = _newest_first(spaces)
    return items if notebook is None else [item for item in items if item[0] not in _HISTORY]


def _newest_first(spaces: list[list[tuple[str, Any]]]) -> list[tuple[str, Any]]:
    many = sum(map(len, spaces)) > LIMIT
    return [item for space in spaces for item in (reversed(space) if many else space)]


def variables_of(space: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """(name, value) of a namespace, such as the notebook's."""
    return [item for item in _newest_first([_readable(space)]) if item[0] not in _HISTORY]


def modules_given(names: object) -> list[tuple[str, Any]]:
    """(name, module) of what was given as `names=`; "" is the name of a module that was given by itself."""
    if _is_module(names):
        return [("", names)]
    return [(str(k), v) for k, v in names.items() if _is_module(v)] if isinstance(names, Mapping) else []


def modules_in_scope(frame: FrameType | None) -> list[tuple[str, Any]]:
    """(name, module) of the locals and globals of `frame`, and of the notebook's namespace."""
    if frame is None:
        return []
    items = _local_variables(frame) + _readable(frame.f_globals) + _readable(_notebook_space() or {})
    return [(name, value) for name, value in items if _is_module(value)]


def _local_variables(frame: FrameType) -> list[tuple[str, Any]]:
    space = frame.f_locals
    if space is frame.f_globals:
        return []
    items = _readable(space)
    # Before Python 3.13 a function's frame keeps this dict, and with it every local, until the function returns.
    # What `locals()` gave the user is the same dict: then somebody else holds it.
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and type(space) is dict and sys.getrefcount(space) <= _SNAPSHOT:
        space.clear()
    return items


def _notebook_space() -> Mapping[str, Any] | None:
    current = shell()
    return None if current is None else current.user_ns


def calling_frame() -> FrameType | None:
    """The innermost frame outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        frame = frame.f_back
    return frame


def _readable(space: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The variables of a namespace, copied: it may change meanwhile."""
    for _ in range(3):
        try:
            items = list(space.items())
            break
        except RuntimeError:  # another thread added a name
            continue
    else:
        return []
    return [(name, value) for name, value in items if _is_variable(name)]


def _is_variable(name: object) -> bool:
    """Not a dunder, none of IPython's `_`, `_1`, `__`, and nothing that a tool has put among a frame's locals."""
    if type(name) is not str or not name.isidentifier() or name.startswith("__"):
        return False
    bare = name.strip("_")
    return bool(bare) and not bare.isdigit()


def _bounded(pairs: Iterator[tuple[str, torch.Tensor] | None]) -> Iterator[tuple[str, torch.Tensor]]:
    """At most `LIMIT` tensors, and so many things that are none."""
    found = others = 0
    for pair in pairs:
        if found >= LIMIT or others >= LIMIT:
            return
        if pair is None:
            others += 1
        else:
            found += 1
            yield pair


def limited(items: list[tuple[str, Any]]) -> bool:
    """Whether `tensors_of` leaves some of these out."""
    found = others = 0
    for pair in _in_mapping(items, {}):
        if found >= LIMIT or others >= LIMIT:
            return True
        found, others = (found, others + 1) if pair is None else (found + 1, others)
    return any(_entry_count(value) > LIMIT for _, value in items)


def _entry_count(value: Any) -> int:
    kind = next((one for one in (dict, list, tuple) if issubclass(type(value), one)), None)
    return 0 if kind is None else int(kind.__len__(value))


def _in_mapping(items: list[tuple[str, Any]], classes: dict[str, Class]) -> Iterator[tuple[str, torch.Tensor] | None]:
    """Tensors first, then what stands in modules, then one level into containers: the shortest names win."""
    modules: list[tuple[str, Any]] = []
    containers: list[tuple[str, Any]] = []
    for name, value in items:
        if is_tensor(value):
            yield name, value
        elif _is_module(value):
            modules.append((name, value))
        elif issubclass(type(value), (list, tuple, dict)):
            containers.append((name, value))
    seen: set[int] = set()
    for name, value in modules:
        yield from _in_module(name, value, seen, classes)
    for name, value in containers:
        for path, item in _entries(name, value):
            if is_tensor(item):
                yield path, item
                continue
            yield None
            if _is_module(item):
                yield from _in_module(path, item, seen, classes)


def _entries(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    # The base class's own methods: a subclass's would be user code.
    if issubclass(type(value), dict):
        for key, item in list(dict.items(value))[:LIMIT]:
            if type(key) in (str, int):
                yield f"{name}[{key!r}]", item
    else:
        base: Any = list if issubclass(type(value), list) else tuple
        for i, item in zip(range(LIMIT), base.__iter__(value), strict=False):
            yield f"{name}[{i}]", item


def _is_module(value: object) -> bool:
    return issubclass(type(value), torch.nn.Module)


def _in_module(
    name: str, module: Any, seen: set[int], classes: dict[str, Class]
) -> Iterator[tuple[str, torch.Tensor] | None]:
    """Parameters, buffers and plain tensor attributes. Reads `__dict__` only: properties are user code."""
    stack = [(name, module)]
    while stack:
        prefix, current = stack.pop()
        yield None
        if id(current) in seen:
            continue
        seen.add(id(current))
        cls = type(current)
        classes.setdefault(prefix, Class(cls.__name__, cls.__module__.startswith("torch.nn.")))
        inside = object.__getattribute__(current, "__dict__")
        dot = f"{prefix}." if prefix else ""
        for table in _MODULE_TABLES:
            for key, value in list((inside.get(table) or {}).items()):
                if is_tensor(value):
                    yield f"{dot}{key}", value
        for key, value in list(inside.items()):
            if is_tensor(value):
                yield f"{dot}{key}", value
            elif type(value) in (list, tuple, dict) and not key.startswith("_"):
                yield from (pair if is_tensor(pair[1]) else None for pair in _entries(f"{dot}{key}", value))
        stack.extend(
            (f"{dot}{key}", child)
            for key, child in reversed((inside.get("_modules") or {}).items())
            if _is_module(child)  # torch takes a weakref.proxy of a module for one
        )
