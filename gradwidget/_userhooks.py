"""The user's own hooks: which there are, and what each did to a gradient. Ours are never among them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gradwidget._attributes import asked
from gradwidget._ipython import place_of
from gradwidget._passes import Gradient
from gradwidget._summary import format_number, readable, unobserved
from gradwidget._walk import Node

OURS = "gradwidget"
"""First element of the keys under which our observers stand among a tensor's hooks while a pass runs."""


@dataclass(frozen=True, slots=True)
class UserHook:
    """A hook that the user has registered.

    `kind` is one of "tensor hook", "node pre-hook", "node hook", "post-accumulate hook", "module hook", "retain_grad";
    `where` is "train.py:41" or "cell 3, line 2", "" if unknown.
    """

    kind: str
    name: str
    where: str

    def __repr__(self) -> str:
        return f"UserHook({self.kind}: {self.name}{f' ({self.where})' if self.where else ''})"


@dataclass(frozen=True, slots=True)
class HookEffect:
    """What a gradient was at one point: `what` is "arrived", "after NAME" or "left".

    `change` compares with the point before: "", "unchanged", "×100", "changed". `gradient` is None where none was,
    or where it could not be observed; then `note` says so.
    """

    what: str
    change: str
    gradient: Gradient
    note: str = ""


def of_tensor(tensor: torch.Tensor) -> list[UserHook]:
    """Hooks on a tensor, in the order in which they run before its node."""
    with torch._C.DisableTorchFunction():
        hooks = [
            _described("tensor hook", hook)
            for key, hook in list((asked(tensor, "_backward_hooks") or {}).items())
            if not ours(key)
        ]
        try:
            retains = asked(tensor, "retains_grad")
        except RuntimeError:  # a stale view
            retains = False
    return [*hooks, UserHook("retain_grad", "retain_grad()", "")] if retains else hooks


def after_accumulation(tensor: torch.Tensor) -> list[UserHook]:
    """Hooks that run after a leaf's `.grad` was written."""
    with torch._C.DisableTorchFunction():
        return [
            _described("post-accumulate hook", hook)
            for hook in list((asked(tensor, "_post_accumulate_grad_hooks") or {}).values())
        ]


def of_node(node: Node) -> tuple[list[UserHook], list[UserHook]]:
    """Hooks that run before, and after, a node. Those of full module backward hooks are told by their own names."""
    before = [_described("node pre-hook", hook) for hook in _registered(node.register_prehook) if not _is_ours(hook)]
    after = [found for hook in _registered(node.register_hook) if not _is_ours(hook) for found in _node_hook(hook)]
    return before, after


def name_of(hook: Any) -> str:
    """What a hook is called."""
    return _described("", hook).name


def ours(key: Any, owner: int | None = None) -> bool:
    """Whether a key among a tensor's hooks is one of our observers (of the recorder with the id `owner`)."""
    return type(key) is tuple and len(key) == 3 and key[0] == OURS and owner in (None, key[1])


def _of_recorder(hook: Any) -> Any:
    """The recorder's own hook: a hook of `_lane` wraps one. None of the user's."""
    if type(hook) is types.FunctionType and hook.__module__ == "gradwidget._lane":
        hook = hook.__dict__.get("__wrapped__")
    ours = type(hook) is functools.partial and getattr(hook.func, "__module__", "") == "gradwidget._capture"
    return hook if ours else None


def _is_ours(hook: Any) -> bool:
    return _of_recorder(hook) is not None


def after(hooks: Mapping[Any, Any], recorder: object) -> bool:
    """Whether a hook of the user's stands behind the one of this recorder among a node's pre-hooks."""
    found = list(hooks.values())
    own = [_of_recorder(hook) for hook in found]
    mine = [i for i, hook in enumerate(own) if hook is not None and hook.args[0]() is recorder]
    return bool(mine) and not all(_is_ours(hook) for hook in found[mine[0] :])


def _registered(register: Callable[[Any], Any]) -> list[Any]:
    """What stands in a node's dictionary of hooks: only a handle knows it, so one is made and removed again."""
    handle = register(_nothing)
    hooks = handle.hooks_dict_ref()
    found = [hook for hook in (hooks or {}).values() if hook is not _nothing]
    handle.remove()
    return found


def _nothing(*_: Any) -> None:
    return None


def _node_hook(hook: Any) -> Iterable[UserHook]:
    inner = _module_hooks(hook)
    if inner is None:
        return [_described("node hook", hook)]
    return [_described("module hook", one) for one in inner]


def _module_hooks(hook: Any) -> list[Any] | None:
    """The user's functions behind the hook that torch registers for a module's full backward hooks."""
    if type(hook) is not types.FunctionType or hook.__module__ != "torch.utils.hooks":
        return None
    for name, cell in zip(hook.__code__.co_freevars, hook.__closure__ or (), strict=True):
        if name == "self":
            wanted = "user_hooks" if "_set_user_hook" in hook.__qualname__ else "user_pre_hooks"
            return list(getattr(cell.cell_contents, wanted, ()))
    return []


def _described(kind: str, hook: Any) -> UserHook:
    while type(hook) is functools.partial:
        hook = hook.func
    function = hook.__func__ if type(hook) is types.MethodType else hook
    if type(function) is types.FunctionType:
        code = function.__code__
        return UserHook(
            kind, function.__qualname__.rpartition("<locals>.")[2], place_of(code.co_filename, code.co_firstlineno)
        )
    if type(function) in (types.BuiltinFunctionType, types.BuiltinMethodType):
        return UserHook(kind, function.__qualname__.rpartition("<locals>.")[2], "")
    return UserHook(kind, type(function).__qualname__.rpartition("<locals>.")[2], "")


def chain(points: list[tuple[str, Gradient]]) -> tuple[HookEffect, ...]:
    """The effects, each compared with the point before."""
    effects: list[HookEffect] = []
    for i, (what, gradient) in enumerate(points):
        change = "" if i == 0 else change_between(points[i - 1][1], gradient)
        effects.append(HookEffect(what, change, gradient))
    return tuple(effects)


@unobserved()
def change_between(before: Gradient, after: Gradient) -> str:
    """Of two gradients: "unchanged", "×100", "set to zero", "changed"; "" where they can't be compared."""
    if not (isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor)):
        return ""
    before, after = readable(before)[0], readable(after)[0]
    if before is None or after is None:
        return ""
    if before.shape != after.shape:
        return "changed"
    same = (before == after) | (before.isnan() & after.isnan())
    if bool(same.all()):
        return "unchanged"
    if not bool(after.any()):
        return "set to zero"
    where = before != 0
    ratios: torch.Tensor = after[where].double() / before[where] if not before.is_complex() else before.new_empty(0)
    if ratios.numel() and not bool(after[~where].any()):
        low, high = float(ratios.min()), float(ratios.max())
        eps = max(torch.finfo(after.dtype).eps, 2e-6) if after.is_floating_point() else 0.0
        factor = format_number(float(f"{float(ratios.median()):.{2 if eps > 2e-3 else 3 if eps > 1e-5 else 4}g}"))
        if abs(high - low) <= 5 * eps * abs(high) and factor != "1":
            return f"×{factor}"
    return "changed"
