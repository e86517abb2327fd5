"""What a module holds: what moves with `.to()`, what `state_dict()` saves, what learns. Tried out on a copy."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch

from gradwidget._attributes import asked, is_lazy
from gradwidget._errors import OutputTypeError
from gradwidget._module_holdings import LIMIT, LOOKS, Holding, Search, inside, is_scripted, modules
from gradwidget._outputs import is_tensor
from gradwidget._summary import form_of, unobserved
from gradwidget._walk import Form

_CONTAINERS = ("dict", "list", "tuple", "set", "deque")
_EXTRA = "_extra_state"  # how the key of what get_extra_state() returned ends
_HOOKS = tuple(name for name in torch.nn.Module().__dict__ if name.endswith(("hooks", "hooks_with_kwargs", "_called")))


@dataclass(frozen=True, slots=True)
class StateRow:
    """One tensor or layer that a module holds.

    `kind` is one of parameter, lazy parameter, buffer, non-persistent buffer, plain tensor; tensor (or parameter, or
    layer) in a plain list, tuple, dict, set, deque, function or object (by its class), in the class ..., in an
    unregistered attribute; "... of a layer in ..." for what such a layer holds;
    computed. `moves` is whether `.to()` takes it along, `saved` whether `state_dict()` has it, `in_parameters` whether
    `.parameters()` finds it; `trained` is that and `requires_grad`. `same_as` is an earlier name of the same tensor, ""
    for none. `shape` is None where there is none (layers, lazy parameters). `stale` is whether a tensor that does not
    move has a dtype or a device of no registered one, as what `.to()` left behind has.
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
    stale: bool = False

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
        nothing = "no tensors that can be told" if any(map(_is_untold, self.notes)) else "holds no tensors"
        return ", ".join(counts) if tensors else nothing

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


def _is_untold(note: str) -> bool:
    return note.endswith("can't be told.")


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
        search = Search(module)
        held = search.found()
        tried = _try(module, held)
        rows = list(_rows(held, tried))
        return ModuleState(type(module).__name__, rows, tried.problem, _notes(module, tried, cut=search.cut))


# --- trying it out ---------------------------------------------------------------------------------------------------


class _Tried(NamedTuple):
    """Why no copy could be moved, or ""; and by name what moved, what is saved, and what `.parameters()` finds."""

    problem: str
    moved: dict[str, bool]
    saved: set[str]
    found: set[str]
    further: tuple[str, ...] = ()  # keys of state_dict() that are no row's


def _try(module: Any, held: list[Holding]) -> _Tried:
    everything = _everything(module, held)
    if any(map(is_scripted, everything)):
        return _by_kind("a scripted module keeps its tensors in C++", held)
    generator = torch.get_rng_state()
    try:
        twin = _twin(module, held, everything)
        mine = {one.name: one.value for one in Search(twin, module).found() if one.value is not None}
        if list(mine) != [one.name for one in held if one.value is not None]:
            return _by_kind("the copy holds other things", held)
        names: dict[int, list[str]] = {id(value): [] for value in mine.values()}
        for name, value in mine.items():
            names[id(value)].append(name)
        found = {name for p in twin.parameters() for name in names.get(id(p), ())}
        saved: set[str] = set()
        further = []
        for key, value in twin.state_dict(keep_vars=True).items():
            if key.endswith(_EXTRA):  # from get_extra_state()
                items = [value] if is_tensor(value) else Search(twin).within(value)
                saved.update(name for item in items for name in names.get(id(item), ())[:1])
                continue
            here = names.get(id(value), ())
            saved.update([key] if key in here else here[:1])
            further += [key] * (not here)
        parameters = {id(p) for p in twin.parameters()}
        before = {name for name, value in mine.items() if _is_meta(value)}
        twin.to("meta")
        after = {one.name: one.value for one in Search(twin, module).found()}
        moved = {n: n not in before and _is_meta(after.get(n)) for n, v in mine.items() if is_tensor(v)}
        # To real devices .to() moves a parameter's data and keeps the object, to meta it makes a new one: whoever else
        # holds the parameter goes with it.
        if not torch.__future__.get_overwrite_module_params_on_conversion():
            for name, value in mine.items():
                if id(value) in parameters:
                    moved[name] = any(moved[other] for other in names[id(value)])
    except Exception as error:
        return _by_kind(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}", held)
    finally:
        torch.set_rng_state(generator)
    return _Tried("", moved, saved, found, tuple(further))


def _is_meta(value: Any) -> bool:
    return is_tensor(value) and bool(asked(value, "is_meta"))


def _everything(module: Any, held: list[Holding]) -> list[Any]:
    """The module, what it registers, and the hidden layers."""
    return modules([module, *(one.value for one in held if one.value is not None and not is_tensor(one.value))])


def _twin(module: Any, held: list[Holding], everything: list[Any]) -> Any:
    """A deepcopy with stand-ins for all tensors, so that it takes no memory, and without hooks."""
    memo: dict[int, Any] = {}
    for one in held:
        if is_tensor(one.value):
            memo.setdefault(id(one.value), _stand_in(one.value))
    for current in everything:
        own = inside(current)
        for name in _HOOKS:
            if name in own:
                memo[id(own[name])] = type(own[name])()
    return copy.deepcopy(module, memo)


def _stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same shape and type on the CPU that takes the memory of one element."""
    tracked = bool(asked(tensor, "requires_grad"))
    if is_lazy(tensor):
        kind: Any = type(tensor)
        lazy: torch.Tensor = kind(requires_grad=tracked) if issubclass(kind, torch.nn.Parameter) else kind()
        return lazy
    form = form_of(tensor)
    dtype = torch.uint8 if asked(tensor, "is_quantized") else asked(tensor, "dtype")
    plain = torch.zeros((), dtype=dtype, device="cpu").expand(form.shape or ())
    asks = tracked and (dtype.is_floating_point or dtype.is_complex)
    if issubclass(type(tensor), torch.nn.Parameter):
        return torch.nn.Parameter(plain, requires_grad=asks)
    return plain.requires_grad_(asks)


def _by_kind(problem: str, held: list[Holding]) -> _Tried:
    """The same, as the registries have it."""
    moved = {one.name: one.kind.endswith(("parameter", "buffer")) for one in held}
    saved = {
        one.name for one in held if one.kind.endswith(("parameter", "buffer")) and "non-persistent" not in one.kind
    }
    return _Tried(problem, moved, saved, {one.name for one in held if one.kind.endswith("parameter")})


# --- rows ------------------------------------------------------------------------------------------------------------


def _rows(held: list[Holding], tried: _Tried) -> Iterator[StateRow]:
    _, moved, saved, found, _ = tried
    first: dict[int, str] = {}
    registered: set[str] = set()
    dtypes: list[str] = []
    devices: list[str] = []
    for one in held:
        if one.kind.endswith(("parameter", "buffer")) and is_tensor(one.value):
            registered.add(one.name)
            form = form_of(one.value)
            devices.append(form.device)
            dtypes += [form.dtype] * _is_cast(one.value)
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
            tracked = bool(asked(value, "requires_grad"))
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
            behind = "" if row.moves or row.kind.startswith("computed") else _behind(one.value, row, dtypes, devices)
            remedy = _remedy(one, row, second=row.same_as in registered)
            yield replace(row, remedy=": ".join(filter(None, (behind, remedy))), stale=bool(behind))
        else:
            # A computed weight goes where its parametrization goes.
            computed = value is None
            row = StateRow(one.name, one.kind, None, "", "", "", computed, False, False, False, False, "", "")
            yield replace(row, remedy=_remedy(one, row, second=False))


def _is_cast(tensor: torch.Tensor) -> bool:
    """Whether `.to(dtype)` of a module casts such a tensor."""
    dtype = asked(tensor, "dtype")
    return bool(dtype.is_floating_point or dtype.is_complex)


def _behind(tensor: torch.Tensor, row: StateRow, dtypes: list[str], devices: list[str]) -> str:
    """How a tensor that does not move differs from all that do, as a clause; "" where it does not."""
    still, moved = [], []
    if dtypes and row.dtype not in dtypes and _is_cast(tensor):
        still.append(row.dtype)
        moved.append(" and ".join(dict.fromkeys(dtypes)))
    if devices and row.device not in devices:
        still.append(f"on {row.device}")
        moved.append(f"on {' and '.join(dict.fromkeys(devices))}")
    if not still:
        return ""
    return f"a stale copy, still {' '.join(still)} while what .to() moves is {' '.join(moved)} (it did not move)"


def _remedy(one: Holding, row: StateRow, *, second: bool) -> str:
    """What helps. `second` is whether it is a second reference to what is registered."""
    attribute, kind = one.attribute, row.kind
    if kind.startswith("computed"):
        return f"computed by {one.via} in each forward pass: train and save what it is computed from"
    if " of a layer in " in kind:
        return ""
    if kind.startswith("lazy"):
        return "gets its shape in the first forward pass: run one before you count or share it"
    if " in the class " in kind:
        how = f"self.register_buffer({attribute!r}, ...)" if kind.startswith("tensor") else f"self.{attribute} = ..."
        return f"one for all objects of the class: take it out of the class body, and {how} in __init__"
    if kind == "layer in a plain function":
        variable = one.name.rpartition(".")[2]
        return f"self.add_module({variable!r}, {variable}), and read self.{variable} in the function"
    if kind.startswith("layer in"):
        return f"{_registered(one)}: then its parameters are found, moved and saved"
    if " in a plain " in kind and second:
        if kind.startswith("parameter"):
            return ""
        return f"a second reference that goes stale when .to() replaces the buffer: read {row.same_as} instead"
    if kind.startswith(("parameter in", "tensor in")) and kind.rpartition(" ")[2] not in _CONTAINERS:
        return _owned(one)
    if kind.startswith("parameter in"):
        what = "ParameterDict" if "dict" in kind else "ParameterList"
        return f"self.{attribute} = nn.{what}(...)"
    if kind.startswith("tensor in"):
        what = "ParameterDict" if "dict" in kind else "ParameterList"
        return f"self.register_buffer(...) for each constant, nn.{what} for what learns"
    if kind == "plain tensor":
        if second:
            return f"a second reference that goes stale when .to() replaces the buffer: read {row.same_as} instead"
        if row.moves and not row.saved:
            return f"self.register_buffer({attribute!r}, ...) instead of self.{attribute} = ..., to save it too"
        if row.requires_grad and _has_history(one.value):
            return (
                "keeps the whole graph that made it alive: store its .detach() instead, as a buffer to move and save it"
            )
        if row.requires_grad:
            return f"self.{attribute} = nn.Parameter(...): then it is moved, saved, and found by .parameters()"
        return (
            f"self.register_buffer({attribute!r}, ...) instead of self.{attribute} = ..., or nn.Parameter(...) if it "
            "shall learn"
        )
    return ""


def _registered(one: Holding) -> str:
    """How to register a hidden layer."""
    what = one.kind.rpartition(" ")[2]
    if one.kind.endswith("an unregistered attribute"):
        return f"self.{one.attribute} = ..., an ordinary assignment"
    path = one.name.removeprefix(f"{one.owner}." if one.owner else "")
    if what in _CONTAINERS:
        keys = ", with strings as keys" * (what == "dict" and not path.startswith(f"{one.attribute}['"))
        inner = ", with a ModuleList or ModuleDict for each one inside" * (path.count("][") > 0)
        return f"self.{one.attribute} = nn.{'ModuleDict' if what == 'dict' else 'ModuleList'}(...){keys}{inner}"
    return f"self.add_module({_as_name(path)!r}, self.{path})"


def _owned(one: Holding) -> str:
    """How the module gets a tensor of its own for one that lies in an object or a function."""
    path = one.name.removeprefix(f"{one.owner}." if one.owner else "")
    name, source = _as_name(path), f"self.{path}"
    if one.kind.endswith("a plain function"):
        name = source = one.name.rpartition(".")[2]
    if one.kind.startswith("parameter"):
        return f"self.register_parameter({name!r}, {source}): then it is moved, saved, and found by .parameters()"
    return f"self.register_buffer({name!r}, {source}), or nn.Parameter(...) if it shall learn, and read self.{name}"


def _as_name(path: str) -> str:
    return "_".join(word.strip("_") for word in re.findall(r"[A-Za-z0-9_]+", path))


def _has_history(tensor: torch.Tensor) -> bool:
    try:
        return asked(tensor, "grad_fn") is not None
    except RuntimeError:  # a stale view
        return True


def _notes(module: Any, tried: _Tried, *, cut: bool) -> tuple[str, ...]:
    notes = []
    everything = modules([module])
    if any(inside(m).get("_state_dict_hooks") or inside(m).get("_state_dict_pre_hooks") for m in everything):
        notes.append("Its state_dict hooks were not run; they may add or drop entries.")
    if any(type(m).get_extra_state is not torch.nn.Module.get_extra_state for m in everything):
        notes.append("What get_extra_state() returns is saved as well; copies of tensors that it makes are not told.")
    if any(map(is_scripted, everything)):
        notes.append("What a scripted or frozen module keeps as a constant or an attribute can't be told.")
    if tried.further:
        shown = ", ".join(tried.further[:3]) + ", ..." * (len(tried.further) > 3)
        entries = "entry" if len(tried.further) == 1 else "entries"
        notes.append(
            f"state_dict() has {len(tried.further):,} more {entries} ({shown}) made by the code of a module: whether "
            "what that is made of moves can't be told."
        )
    if cut:
        notes.append(
            f"Not all was looked at: {LIMIT:,} entries at most, and {LOOKS:,} things in the lists, dicts and objects "
            "of an attribute."
        )
    return tuple(notes)
