"""What a module holds: what moves with `.to()`, what `state_dict()` saves, what learns. Tried out on a copy."""

from __future__ import annotations

import collections
import contextlib
import copy
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from gradwidget._errors import OutputTypeError
from gradwidget._outputs import is_tensor
from gradwidget._summary import form_of, unobserved
from gradwidget._walk import Form

LIMIT = 10_000
"""Entries that are looked at, at most."""
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
_EXTRA = "_extra_state"  # how the key of what get_extra_state() returned ends
_DEEP = 4  # levels of lists and dicts inside each other
_OWN = frozenset({*torch.nn.Module().__dict__, "_is_hf_initialized"})
_HOOKS = tuple(name for name in torch.nn.Module().__dict__ if name.endswith(("hooks", "hooks_with_kwargs", "_called")))
_HOOKED_NORMS = ("torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm")


@dataclass(frozen=True, slots=True)
class StateRow:
    """One tensor or layer that a module holds.

    `kind` is one of parameter, lazy parameter, buffer, non-persistent buffer, plain tensor, tensor (or parameter, or
    layer) in a plain list, tuple, dict, set, deque or object (by its class), "... of a layer in a plain list",
    computed. `moves` is whether `.to()` takes it along, `saved` whether `state_dict()` has it, `in_parameters` whether
    `.parameters()` finds it; `trained` is that and `requires_grad`. `same_as` is an earlier name of the same tensor, ""
    for none. `shape` is None where
    there is none (layers, lazy parameters).
    """

    name: str
    kind: str
    shape: tuple[int, ...] | None
    dtype: str
    device: str
    form: str
    moves: bool
    saved: bool
    requires_grad: bool
    in_parameters: bool
    trained: bool
    same_as: str
    remedy: str

    @property
    def in_state_dict(self) -> bool:
        """The same as `saved`."""
        return self.saved

    def __repr__(self) -> str:
        words = [w for w, is_so in (("moves", self.moves), ("saved", self.saved), ("trained", self.trained)) if is_so]
        return f"StateRow({self.name}: {self.kind}, {self.form}; {', '.join(words) or 'not moved, saved or trained'})"


class ModuleState:
    """What `module_state()` found: `.rows`, and whether a copy was really moved (`.tried`). Plain data."""

    def __init__(self, title: str, rows: list[StateRow], problem: str, notes: tuple[str, ...]) -> None:
        self.title = title
        self.rows = rows
        self.problem = problem
        self.notes = notes

    @property
    def tried(self) -> bool:
        """Whether a copy was moved to the meta device; else the columns are read from the module's registries."""
        return not self.problem

    def __getitem__(self, name: str) -> StateRow:
        """The row of a name.

        Raises:
            KeyError: nothing has that name.
        """
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def __len__(self) -> int:
        return len(self.rows)

    def __bool__(self) -> bool:
        return True

    @property
    def headline(self) -> str:
        """How many entries there are and how many are left behind, in one line."""
        tensors = [row for row in self.rows if row.form]
        stays = sum(not row.moves for row in tensors)
        counts = [f"{len(tensors):,} tensor{'s' * (len(tensors) != 1)}"]
        counts.append(f"{stays:,} of them left behind by .to()" if stays else "all move with .to()")
        unsaved = sum(not row.saved for row in tensors)
        counts.append(f"{unsaved:,} not in state_dict()" if unsaved else "all in state_dict()")
        counts.append(f"{sum(row.trained and not row.same_as for row in tensors):,} trained")
        return ", ".join(counts) if tensors else "holds no tensors"

    @property
    def footnotes(self) -> tuple[str, ...]:
        """How it was found out, and what else there is to know."""
        how = (
            "Found by moving a copy of the module to the meta device."
            if self.tried
            else f"No copy could be moved ({self.problem}): this is read from the module's registries, not tried out."
        )
        return (how, *self.notes)

    def to_text(self) -> str:
        """A table for a terminal. The same module gives the same text."""
        head = ("name", "kind", "form", "moves", "saved", "trained", "remedy")
        shown = self.rows if len(self.rows) <= 200 else sorted(self.rows, key=lambda row: not row.remedy)[:200]
        cells = [head, *(_cells(row) for row in shown)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
        lines = [f"{self.title}: {self.headline}"]
        lines += ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        if len(shown) < len(self.rows):
            lines.append(f"... and {len(self.rows) - len(shown):,} more")
        return "\n".join([*lines, *self.footnotes])

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from gradwidget._module_html import html  # noqa: PLC0415  # drawn from what this room knows

        return html(self)


def _cells(row: StateRow) -> tuple[str, ...]:
    flags = ("yes" if is_so else "no" for is_so in (row.moves, row.saved, row.trained))
    return (row.name, kind_of(row), row.form, *flags, row.remedy)


def kind_of(row: StateRow) -> str:
    """The kind, with the first name of a shared tensor."""
    return f"{row.kind}, the same as {row.same_as}" if row.same_as else row.kind


def module_state(module: Any) -> ModuleState:
    """Parameters, buffers and plain tensors of a module: what moves with `.to()`, what is saved, what learns.

    Tried out on a copy whose tensors take no memory: the module itself is not touched, no hook of it runs, no random
    number is drawn. A module that can't be copied is read from its registries instead, and the table says so.

    Raises:
        OutputTypeError: it is no `torch.nn.Module`.
    """
    if not issubclass(type(module), torch.nn.Module):
        kind = type(module)
        if kind is type and issubclass(module, torch.nn.Module):
            raise OutputTypeError(
                f"{module.__name__} is a class.", f"Give a module made of it: {module.__name__}(...)."
            )
        raise OutputTypeError(f"A {kind.__name__} was given, which is no module.", "Give a torch.nn.Module.")
    with unobserved():
        held = list(_bounded(_holdings(module)))
        problem, moved, saved, found = _try(module, held)
        notes = _notes(module, len(held))
        return ModuleState(type(module).__name__, list(_rows(held, moved, saved, found)), problem, notes)


# --- what a module holds ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Holding:
    """One entry. `value` is a tensor, a module (in a plain container), or None (computed by a parametrization)."""

    name: str
    kind: str
    value: Any
    owner: str  # the registered module's own path
    attribute: str
    via: str = ""  # what computes it


def _inside(module: Any) -> dict[str, Any]:
    found: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return found


def _bounded(holdings: Iterator[_Holding]) -> Iterator[_Holding]:
    for _, holding in zip(range(LIMIT), holdings, strict=False):
        yield holding


def _holdings(module: Any, outside: tuple[int, ...] = ()) -> Iterator[_Holding]:
    """Every tensor of a module and its children, by path, in the order of `state_dict()`. Runs no code of theirs."""
    stack: list[tuple[str, Any, tuple[int, ...]]] = [("", module, outside)]
    while stack:
        path, current, above = stack.pop()
        if id(current) in above:
            continue
        inner = (*above, id(current))
        yield from _own(path, current, inner)
        children = _table(current, "_modules")
        dot = f"{path}." if path else ""
        stack.extend((f"{dot}{key}", child, inner) for key, child in reversed(children) if child is not None)


def _table(module: Any, name: str) -> list[tuple[str, Any]]:
    found = _inside(module).get(name)
    return [(str(key), value) for key, value in list(found.items())] if found is not None else []


def _own(path: str, module: Any, above: tuple[int, ...]) -> Iterator[_Holding]:
    """What one module holds itself; `above` are the modules that hold it, and itself."""
    dot = f"{path}." if path else ""
    inside = _inside(module)
    registered: set[int] = set()
    for key, value in _table(module, "_parameters"):
        if is_tensor(value):
            registered.add(id(value))
            lazy = torch.nn.parameter.is_lazy(value)
            yield _Holding(f"{dot}{key}", f"{'lazy ' * lazy}parameter", value, path, key)
    unsaved = inside.get("_non_persistent_buffers_set") or ()
    for key, value in _table(module, "_buffers"):
        if is_tensor(value):
            registered.add(id(value))
            kind = "non-persistent buffer" if key in unsaved else "buffer"
            yield _Holding(f"{dot}{key}", kind, value, path, key)
    for key in _parametrized(inside):
        yield _Holding(f"{dot}{key}", "computed", None, path, key, f"parametrizations.{key}")
    hooked = _hooked(inside)
    for key, value in list(inside.items()):
        if key in _OWN or type(key) is not str:
            continue
        if is_tensor(value):
            kind = "computed" if key in hooked else "plain tensor"
            yield _Holding(f"{dot}{key}", kind, value, path, key, hooked.get(key, ""))
            continue
        for name, item, container in _contained(f"{dot}{key}", value, "", _DEEP):
            # LSTM._flat_weights and the like: a layer's own second list of what is registered.
            if key.startswith("_") and id(item) in registered:
                continue
            if is_tensor(item):
                what = "parameter" if issubclass(type(item), torch.nn.Parameter) else "tensor"
                yield _Holding(name, f"{what} in {container}", item, path, key)
            else:
                yield _Holding(name, f"layer in {container}", item, path, key)
                for one in _holdings(item, above):
                    kind = one.kind if " of a layer in " in one.kind else f"{one.kind} of a layer in {container}"
                    yield _Holding(f"{name}.{one.name}", kind, one.value, path, key, one.via)


def _contained(name: str, value: Any, container: str, levels: int) -> Iterator[tuple[str, Any, str]]:
    """(path, tensor or module, what it lies in) of plain containers and objects. Runs no code of their classes."""
    if levels == 0:
        return
    kind = next((k for k in _CONTAINERS if issubclass(type(value), k)), None)
    if kind is None:
        here = container or f"a plain {type(value).__name__}"
        for key, item in _attributes(value):
            if is_tensor(item):
                yield f"{name}.{key}", item, here
        return
    here = container or f"a plain {'set' if kind is frozenset else kind.__name__}"
    if kind is dict:
        items = [(f"{name}[{k!r}]", v) for k, v in list(dict.items(value))[:LIMIT] if type(k) in (str, int)]
    else:
        base: Any = kind
        items = [(f"{name}[{i}]", v) for i, v in zip(range(LIMIT), base.__iter__(value), strict=False)]
    for path, item in items:
        if is_tensor(item) or issubclass(type(item), torch.nn.Module):
            yield path, item, here
        else:
            yield from _contained(path, item, here, levels - 1)


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """What an object of a Python class holds itself: its `__dict__` and its slots."""
    kind = type(value)
    if issubclass(kind, (type, types.ModuleType)) or any("__dict__" in vars(k) and _odd(k) for k in kind.__mro__):
        return []
    try:
        inside = object.__getattribute__(value, "__dict__")
    except AttributeError:
        inside = {}
    found = [(k, v) for k, v in list(inside.items())[:LIMIT] if type(k) is str] if type(inside) is dict else []
    for base in kind.__mro__:
        for key, slot in list(vars(base).items()):
            if type(slot) is types.MemberDescriptorType and key != "__dict__" and base.__module__ != "builtins":
                with contextlib.suppress(AttributeError):
                    found.append((key, slot.__get__(value)))
    return found


def _odd(kind: type) -> bool:
    """Whether `__dict__` is code of the class."""
    return type(vars(kind)["__dict__"]) not in (types.GetSetDescriptorType, types.MemberDescriptorType)


def _parametrized(inside: dict[str, Any]) -> list[str]:
    table = (inside.get("_modules") or {}).get("parametrizations")
    if table is None or type(table) is not torch.nn.ModuleDict:
        return []
    return list(_inside(table).get("_modules") or {})


def _hooked(inside: dict[str, Any]) -> dict[str, str]:
    """Attributes that a forward pre-hook of torch's older weight_norm or spectral_norm makes anew."""
    found = {}
    for hook in list((inside.get("_forward_pre_hooks") or {}).values()):
        kind = type(hook)
        if kind.__module__ in _HOOKED_NORMS:
            found[str(vars(hook).get("name"))] = kind.__module__.rpartition(".")[2]
    return found


# --- trying it out ---------------------------------------------------------------------------------------------------


def _try(module: Any, held: list[_Holding]) -> tuple[str, dict[str, bool], set[str], set[str]]:
    """Why no copy could be moved, or ""; what moved, what is saved and what `.parameters()` finds, by name."""
    generator = torch.get_rng_state()
    try:
        twin = _twin(module, held)
        mine = {one.name: one.value for one in _bounded(_holdings(twin)) if one.value is not None}
        if list(mine) != [one.name for one in held if one.value is not None]:
            return "the copy holds other things", *_by_kind(held)
        names: dict[int, list[str]] = {id(value): [] for value in mine.values()}
        for name, value in mine.items():
            names[id(value)].append(name)
        found = {name for p in twin.parameters() for name in names.get(id(p), ())}
        saved: set[str] = set()
        for key, value in twin.state_dict(keep_vars=True).items():
            if key.endswith(_EXTRA):  # from get_extra_state()
                inside = [value] if is_tensor(value) else [item for _, item, _ in _contained(key, value, "", _DEEP)]
                saved.update(name for item in inside for name in names.get(id(item), ())[:1])
                continue
            here = names.get(id(value), ())
            saved.update([key] if key in here else here[:1])
        parameters = {id(p) for p in twin.parameters()}
        twin.to("meta")
        after = {one.name: one.value for one in _bounded(_holdings(twin)) if one.value is not None}
        moved = {n: str(getattr(after.get(n), "device", "")) == "meta" for n, v in mine.items() if is_tensor(v)}
        # To real devices .to() moves a parameter's data and keeps the object, to meta it makes a new one: whoever else
        # holds the parameter goes with it.
        if not torch.__future__.get_overwrite_module_params_on_conversion():
            for name, value in mine.items():
                if id(value) in parameters:
                    moved[name] = any(moved[other] for other in names[id(value)])
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}", *_by_kind(held)
    finally:
        torch.set_rng_state(generator)
    return "", moved, saved, found


def _twin(module: Any, held: list[_Holding]) -> Any:
    """A deepcopy with stand-ins for all tensors, so that it takes no memory, and without hooks."""
    memo: dict[int, Any] = {}
    for one in held:
        if is_tensor(one.value):
            memo.setdefault(id(one.value), _stand_in(one.value))
    for current in _modules(module, held):
        inside = _inside(current)
        for name in _HOOKS:
            if name in inside:
                memo[id(inside[name])] = type(inside[name])()
    return copy.deepcopy(module, memo)


def _modules(module: Any, held: list[_Holding]) -> list[Any]:
    stack = [module, *(one.value for one in held if one.value is not None and not is_tensor(one.value))]
    seen: dict[int, Any] = {}
    while stack:
        current = stack.pop()
        if id(current) not in seen:
            seen[id(current)] = current
            stack += [child for _, child in _table(current, "_modules") if child is not None]
    return list(seen.values())


def _stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same shape and type on the CPU that takes the memory of one element."""
    if torch.nn.parameter.is_lazy(tensor):
        kind: Any = type(tensor)
        lazy: torch.Tensor = (
            kind(requires_grad=tensor.requires_grad) if issubclass(kind, torch.nn.Parameter) else kind()
        )
        return lazy
    form = form_of(tensor)
    dtype = tensor.dtype if not tensor.is_quantized else torch.uint8
    plain = torch.zeros((), dtype=dtype, device="cpu").expand(form.shape or ())
    asks = tensor.requires_grad and (dtype.is_floating_point or dtype.is_complex)
    if issubclass(type(tensor), torch.nn.Parameter):
        return torch.nn.Parameter(plain, requires_grad=asks)
    return plain.requires_grad_(asks)


def _by_kind(held: list[_Holding]) -> tuple[dict[str, bool], set[str], set[str]]:
    """The same, as the registries have it."""
    moved = {one.name: one.kind.endswith(("parameter", "buffer")) for one in held}
    saved = {
        one.name for one in held if one.kind.endswith(("parameter", "buffer")) and "non-persistent" not in one.kind
    }
    return moved, saved, {one.name for one in held if one.kind.endswith("parameter")}


# --- rows ------------------------------------------------------------------------------------------------------------


def _rows(held: list[_Holding], moved: dict[str, bool], saved: set[str], found: set[str]) -> Iterator[StateRow]:
    first: dict[int, str] = {}
    for one in held:
        if one.value is not None and one.name in moved and one.kind.endswith(("parameter", "buffer")):
            first.setdefault(id(one.value), one.name)
    for one in held:
        value = one.value
        if is_tensor(value):
            first.setdefault(id(value), one.name)
            lazy = "lazy" in one.kind
            form = form_of(value)
            shown = Form(None, form.dtype, form.device) if lazy else form
            tracked = bool(value.requires_grad)
            row = StateRow(
                one.name,
                one.kind,
                shown.shape,
                form.dtype,
                form.device,
                shown.text,
                moved.get(one.name, False),
                one.name in saved,
                tracked,
                one.name in found,
                tracked and one.name in found,
                "" if first[id(value)] == one.name else first[id(value)],
                "",
            )
            yield replace(row, remedy=_remedy(one, row))
        else:
            # A computed weight goes where its parametrization goes.
            computed = value is None
            row = StateRow(one.name, one.kind, None, "", "", "", computed, False, False, False, False, "", "")
            yield replace(row, remedy=_remedy(one, row))


def _remedy(one: _Holding, row: StateRow) -> str:
    attribute, kind = one.attribute, row.kind
    if kind.startswith("computed"):
        return f"computed by {one.via} in each forward pass: train and save what it is computed from"
    if " of a layer in " in kind:
        return ""
    if kind.startswith("lazy"):
        return "gets its shape in the first forward pass: run one before you count or share it"
    if kind.startswith("layer in"):
        what = "ModuleDict" if "dict" in kind else "ModuleList"
        return f"self.{attribute} = nn.{what}(...): then its parameters are found, moved and saved"
    if " in a plain " in kind and row.same_as:
        if kind.startswith("parameter"):
            return ""
        return f"a second reference that goes stale when .to() replaces the buffer: read {row.same_as} instead"
    if kind.startswith("parameter in"):
        what = "ParameterDict" if "dict" in kind else "ParameterList"
        return f"self.{attribute} = nn.{what}(...)"
    if kind.startswith("tensor in"):
        what = "ParameterDict" if "dict" in kind else "ParameterList"
        return f"self.register_buffer(...) for each constant, nn.{what} for what learns"
    if kind == "plain tensor":
        if row.same_as:
            return f"a second reference that goes stale when .to() replaces the buffer: read {row.same_as} instead"
        if row.moves and not row.saved:
            return f"self.register_buffer({attribute!r}, ...), to save it too"
        if row.requires_grad and _has_history(one.value):
            return (
                "keeps the whole graph that made it alive: store its .detach() instead, as a buffer to move and save it"
            )
        if row.requires_grad:
            return f"self.{attribute} = nn.Parameter(...): then it is moved, saved, and found by .parameters()"
        return f"self.register_buffer({attribute!r}, ...), or nn.Parameter(...) if it shall learn"
    return ""


def _has_history(tensor: torch.Tensor) -> bool:
    try:
        return tensor.grad_fn is not None
    except RuntimeError:  # a stale view
        return True


def _notes(module: Any, count: int) -> tuple[str, ...]:
    notes = []
    modules = _modules(module, [])
    if any(_inside(m).get("_state_dict_hooks") or _inside(m).get("_state_dict_pre_hooks") for m in modules):
        notes.append("Its state_dict hooks were not run; they may add or drop entries.")
    if any(type(m).get_extra_state is not torch.nn.Module.get_extra_state for m in modules):
        notes.append("What get_extra_state() returns is saved as well; copies of tensors that it makes are not told.")
    if count >= LIMIT:
        notes.append(f"Only the first {LIMIT:,} entries were looked at.")
    return tuple(notes)
