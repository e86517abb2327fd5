"""What a module holds: its registered tensors, and those that hide in containers, objects, functions and classes."""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from gradwidget._attributes import is_lazy
from gradwidget._outputs import is_tensor

LIMIT = 10_000
"""Entries that are looked at, at most."""
LOOKS = 20_000
"""Things in containers and objects that are looked at for one attribute, at most."""
_LOOKS_IN_ALL = 10 * LOOKS
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
_DEEP = 4  # levels of containers and objects inside each other
_NESTED = 16  # hidden layers inside hidden layers
_OWN = frozenset({*torch.nn.Module().__dict__, "_is_hf_initialized"})
_MAKERS = {
    "torch.nn.utils.weight_norm": "name",
    "torch.nn.utils.spectral_norm": "name",
    "torch.nn.utils.prune": "_tensor_name",
}
"""Where forward pre-hooks that make a weight anew are from, and where they keep its name."""
_TORCHS_OWN = ("torch.fx", "torch.jit", "torch._")  # not looked into
_LISTS = frozenset(f"a plain {kind.__name__}" for kind in _CONTAINERS)
_ATOMS = frozenset({str, int, float, bool, bytes, complex, type(None), torch.dtype, torch.device, torch.Size})


@dataclass(frozen=True, slots=True)
class Holding:
    """One entry. `value` is a tensor, a module (in a plain container), or None (computed by a parametrization)."""

    name: str
    kind: str
    value: Any
    owner: str  # the registered module's own path
    attribute: str
    via: str = ""  # what computes it


def inside(module: Any) -> dict[str, Any]:
    """The attributes that an object holds itself."""
    found: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return found


def table(module: Any, name: str) -> list[tuple[str, Any]]:
    """One of a module's registries."""
    own = inside(module)
    found = inside(own.get("_actual_script_module", module)).get(name)  # of a traced module
    return [(str(key), value) for key, value in list(found.items())] if found is not None else []


def modules(roots: list[Any]) -> list[Any]:
    """These and all that are registered below them, each once."""
    stack = list(roots)
    seen: dict[int, Any] = {}
    while stack:
        current = stack.pop()
        if id(current) not in seen:
            seen[id(current)] = current
            stack += [child for _, child in table(current, "_modules") if _is_module(child)]
    return list(seen.values())


class Search:
    """Finds what a module holds. Runs no code of its classes or objects."""

    def __init__(self, module: Any, *known: Any) -> None:
        """`known` are further modules whose own things are no find, such as the one that this is a copy of."""
        self._module = module
        self._registered: set[int] = set()
        self._parameters: set[int] = set()
        self._looks = LOOKS
        self._looks_in_all = _LOOKS_IN_ALL
        self._depth = 0
        self.cut = False  # whether there is more than was looked at
        self._register([module, *known])

    def found(self) -> list[Holding]:
        """Every tensor of the module and its children, by path, in the order of `state_dict()`."""
        found = list(itertools.islice(self._of(self._module), LIMIT + 1))
        self.cut = self.cut or len(found) > LIMIT
        return found[:LIMIT]

    def within(self, value: Any) -> list[Any]:
        """The tensors and modules in a container or an object."""
        return [item for _, item, _ in self._contained("", value, "", _DEEP, set())]

    def _register(self, roots: list[Any]) -> None:
        for module in modules(roots):
            self._registered.add(id(module))
            self._parameters.update(id(value) for _, value in table(module, "_parameters"))

    def _of(self, module: Any) -> Iterator[Holding]:
        stack: list[tuple[str, Any, tuple[int, ...]]] = [("", module, ())]
        while stack:
            path, current, above = stack.pop()
            if id(current) in above:
                continue
            inner = (*above, id(current))
            yield from self._own(path, current)
            children = table(current, "_modules")
            dot = f"{path}." if path else ""
            stack.extend((f"{dot}{key}", child, inner) for key, child in reversed(children) if _is_module(child))

    def _own(self, path: str, module: Any) -> Iterator[Holding]:
        """What one module holds itself."""
        dot = f"{path}." if path else ""
        own = inside(module)
        registered: set[int] = set()
        for key, value in table(module, "_parameters"):
            if is_tensor(value):
                registered.add(id(value))
                lazy = is_lazy(value)
                yield Holding(f"{dot}{key}", f"{'lazy ' * lazy}parameter", value, path, key)
        # Scripting forgets which buffers are not to be saved.
        unsaved = () if is_scripted(module) else own.get("_non_persistent_buffers_set") or ()
        for key, value in table(module, "_buffers"):
            if is_tensor(value):
                registered.add(id(value))
                kind = "non-persistent buffer" if key in unsaved else "buffer"
                yield Holding(f"{dot}{key}", kind, value, path, key)
        if is_scripted(module):
            return
        for key in _parametrized(module):
            yield Holding(f"{dot}{key}", "computed", None, path, key, f"parametrizations.{key}")
        hooked = _hooked(own)
        for key, value in list(own.items()):
            if key in _OWN or type(key) is not str:
                continue
            if is_tensor(value):
                kind = "computed" if key in hooked else "plain tensor"
                yield Holding(f"{dot}{key}", kind, value, path, key, hooked.get(key, ""))
            else:
                yield from self._plain(Holding(f"{dot}{key}", "", value, path, key), "", registered)
        names = {*own, *(key for registry in _REGISTRIES for key, _ in table(module, registry))}
        for base in type(module).__mro__:
            if base.__module__.partition(".")[0] in ("torch", "builtins"):
                continue
            for key, value in list(vars(base).items()):
                if key not in names and not key.startswith("__") and not _is_code(value):
                    at = Holding(f"{dot}{key}", "", value, path, key)
                    yield from self._plain(at, f"the class {base.__name__}", registered)
                names.add(key)

    def _plain(self, at: Holding, container: str, registered: set[int]) -> Iterator[Holding]:
        """What an attribute holds that is in no registry."""
        name, value, path, key = at.name, at.value, at.owner, at.attribute
        if is_tensor(value) or _is_module(value):
            items: Iterator[tuple[str, Any, str]] = iter([(name, value, container or "an unregistered attribute")])
        else:
            self._looks = LOOKS
            items = self._contained(name, value, container, _DEEP, set())
        for found, item, where in items:
            # LSTM._flat_weights and the like: a layer's own second list of what is registered.
            if key.startswith("_") and id(item) in registered:
                continue
            if not is_tensor(item):
                yield from self._hidden(Holding(found, f"layer in {where}", item, path, key), where)
            elif id(item) not in self._parameters or where in _LISTS:
                what = "parameter" if issubclass(type(item), torch.nn.Parameter) else "tensor"
                yield Holding(found, f"{what} in {where}", item, path, key)

    def _hidden(self, layer: Holding, where: str) -> Iterator[Holding]:
        """A layer that is in no registry, and what it holds; once."""
        if id(layer.value) in self._registered:
            return
        if self._depth >= _NESTED:
            self.cut = True
            return
        self._register([layer.value])
        yield layer
        self._depth += 1
        for one in self._of(layer.value):
            kind = one.kind if " of a layer in " in one.kind else f"{one.kind} of a layer in {where}"
            yield Holding(f"{layer.name}.{one.name}", kind, one.value, layer.owner, layer.attribute, one.via)
        self._depth -= 1

    def _contained(
        self, name: str, value: Any, container: str, levels: int, seen: set[int]
    ) -> Iterator[tuple[str, Any, str]]:
        """(path, tensor or module, what it lies in) of plain containers, objects and functions."""
        if type(value) in _ATOMS or id(value) in seen or min(self._looks, self._looks_in_all) < 0:
            return
        items = _items(name, value)
        self._looks -= len(items)
        self._looks_in_all -= len(items)
        self.cut = self.cut or min(self._looks, self._looks_in_all) < 0
        seen.add(id(value))
        here = container or f"a plain {_called(value)}"
        for path, item in items:
            if is_tensor(item) or _is_module(item):
                yield path, item, here
            elif levels > 1:
                yield from self._contained(path, item, here, levels - 1, seen)


_REGISTRIES = ("_parameters", "_buffers", "_modules")


def is_scripted(module: Any) -> bool:
    """Whether a module keeps its tensors in C++ (torch.jit)."""
    return issubclass(type(module), torch.jit.ScriptModule)


def _is_module(value: Any) -> bool:
    return issubclass(type(value), torch.nn.Module)


def _is_code(value: Any) -> bool:
    """What a class body is made of, and holds no tensor of its own."""
    return type(value) in (types.FunctionType, property, classmethod, staticmethod, types.MemberDescriptorType, type)


# --- containers, objects, functions ----------------------------------------------------------------------------------


def _kind(value: Any) -> Any:
    return next((kind for kind in _CONTAINERS if issubclass(type(value), kind)), None)


def _called(value: Any) -> str:
    kind = _kind(value)
    return "set" if kind is frozenset else str((kind or type(value)).__name__)


def _items(name: str, value: Any) -> list[tuple[str, Any]]:
    """(path, thing) of what a container, object or function of Python holds itself."""
    kind = _kind(value)
    if kind is dict:
        pairs = list(enumerate(itertools.islice(dict.items(value), LIMIT)))
        found = [(f"{name}[{_key(key, i)}]", item) for i, (key, item) in pairs]
        return found + [(f"{name}.keys()[{i}]", key) for i, (key, _) in pairs if is_tensor(key) or _is_module(key)]
    if kind is not None:
        return [(f"{name}[{i}]", item) for i, item in enumerate(itertools.islice(kind.__iter__(value), LIMIT))]
    if issubclass(type(value), functools.partial):
        parts = (functools.partial.func, functools.partial.args, functools.partial.keywords)
        func, args, keywords = (part.__get__(value) for part in parts)
        return [
            (f"{name}.func", func),
            (f"{name}.args", args),
            (f"{name}.keywords", keywords),
            *_attributes(name, value),
        ]
    if type(value) is types.MethodType:
        return [(f"{name}.__self__", value.__self__)]
    if type(value) is types.FunctionType:
        return [*_enclosed(name, value), (f"{name}.__defaults__", value.__defaults__)]
    return _attributes(name, value)


def _key(key: Any, place: int) -> str:
    atoms = key if type(key) is tuple else (key,)
    return repr(key)[:60] if all(type(atom) in _ATOMS for atom in atoms) else f"<{type(key).__name__} {place}>"


def _enclosed(name: str, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables that a function has kept of where it was made."""
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):  # empty as yet
            yield f"{name}.{variable}", cell.cell_contents


def _attributes(name: str, value: Any) -> list[tuple[str, Any]]:
    """What an object of a Python class holds itself: its `__dict__` and its slots."""
    kind = type(value)
    unseen = (type, types.ModuleType, torch.optim.Optimizer)
    if issubclass(kind, unseen) or kind.__module__.startswith(_TORCHS_OWN):
        return []
    if any("__dict__" in vars(base) and _odd(base) for base in kind.__mro__):
        return []
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    found = []
    if type(own) is dict:
        found = [(f"{name}.{key}", item) for key, item in itertools.islice(own.items(), LIMIT) if type(key) is str]
    for base in kind.__mro__:
        for key, slot in list(vars(base).items()):
            if type(slot) is types.MemberDescriptorType and key != "__dict__" and base.__module__ != "builtins":
                with contextlib.suppress(AttributeError):
                    found.append((f"{name}.{key}", slot.__get__(value)))
    return found


def _odd(kind: type) -> bool:
    """Whether `__dict__` is code of the class."""
    return type(vars(kind)["__dict__"]) not in (types.GetSetDescriptorType, types.MemberDescriptorType)


# --- what is computed ------------------------------------------------------------------------------------------------


def _parametrized(module: Any) -> list[str]:
    registry = dict(table(module, "_modules")).get("parametrizations")
    return [key for key, _ in table(registry, "_modules")] if type(registry) is torch.nn.ModuleDict else []


def _hooked(own: dict[str, Any]) -> dict[str, str]:
    """Attributes that a forward pre-hook of torch's prune, older weight_norm or spectral_norm makes anew."""
    found = {}
    for hook in list((own.get("_forward_pre_hooks") or {}).values()):
        maker = type(hook).__module__
        if maker in _MAKERS:
            found[str(vars(hook).get(_MAKERS[maker]))] = maker.rpartition(".")[2]
    return found
