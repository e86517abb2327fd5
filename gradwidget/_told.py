"""What the passes and the user's hooks tell about one node."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass

import torch

from gradwidget._attributes import asked
from gradwidget._history import History
from gradwidget._inspect import LOOKED_AT, Inspection
from gradwidget._ipython import place_of
from gradwidget._passes import BackwardPass, Gradient, Place, Reduced, norms, opened, version_of
from gradwidget._summary import readable, unobserved
from gradwidget._userhooks import (
    HookEffect,
    UserHook,
    after_accumulation,
    chain,
    change_between,
    of_node,
    of_tensor,
)
from gradwidget._walk import Node


@dataclass(frozen=True, slots=True)
class HookCapture:
    """What the hook on one node saw in one pass.

    `gradients` has one entry for each output of the node: a tensor, a `Summary`, or None where none arrived.
    `step` counts from 1 and is out of `steps`; 0 for what `autograd.grad()` returned without running the node.
    `effects` tells what the user's own hooks did in that pass: arrived, after each hook, left.
    """

    number: int
    label: str
    step: int
    steps: int
    gradients: tuple[Gradient, ...]
    effects: tuple[HookEffect, ...] = ()

    @property
    def gradient(self) -> Gradient:
        """What arrived at the first output."""
        return self.gradients[0] if self.gradients else None

    def __repr__(self) -> str:
        return f"HookCapture(pass {self.number}, step {self.step} of {self.steps}: {self.gradient!r})"


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A user's `torch.autograd.Function`: its class, where that is written, and what it asks for.

    `materialize`: missing incoming gradients are made into zeros. `needs`: arguments of forward, and whether a
    gradient is asked for.
    """

    name: str
    where: str
    materialize: bool
    needs: tuple[tuple[str, bool], ...]


@unobserved()
def captures(inspection: Inspection, key: int, output: int = 0) -> tuple[HookCapture, ...]:
    """What the hook on a node has seen, one entry a pass."""
    found = []
    for one in inspection.passes:
        if one.reached(key):
            step = one.steps.get(key, -1) + 1
            effects = _effects(one, key, output)
            found.append(HookCapture(one.number, one.label, step, len(one), one.at(key), effects))
    return tuple(found)


def _effects(one: BackwardPass, key: int, output: int) -> tuple[HookEffect, ...]:
    ladder = one.ladders.get((key, output), [])
    names = one.ladder_names.get((key, output), [])
    step = one.steps.get(key)
    received = one.received.get(step) if step is not None else None
    if not ladder and not received:
        return ()
    points: list[tuple[str, Gradient]] = []
    for i, item in enumerate(ladder):
        points.append((f"after {names[i]}" if i else "arrived", opened(item)))
    arrived = one.at(key)
    if received and output < len(received):
        points.append(("before the node's pre-hooks", arrived[output]))
        points.append(("left", opened(received[output])))
    else:
        points.append(("left", arrived[output] if output < len(arrived) else None))
    return chain(points)


def hooked(one: BackwardPass) -> dict[int, str]:
    """Nodes whose gradient hooks of the user's were seen to change, and how: "×100", "set to zero", "changed"."""
    places = {*one.ladders, *((one.order[step], i) for step, row in one.received.items() for i in range(len(row)))}
    found: dict[int, str] = {}
    for key, output in sorted(places):
        effects = _effects(one, key, output)
        change = change_between(effects[0].gradient, effects[-1].gradient) if effects else ""
        if change not in ("", "unchanged"):
            found[key] = "changed" if found.get(key, change) != change else change
    return found


def user_hooks(inspection: Inspection, key: int, nodes: list[Node] | None = None) -> list[UserHook]:
    """The user's own hooks on a node and its tensors, in running order. `nodes`: the graph's, if at hand."""
    outputs = range(max(1, len(inspection.columns.forms_of(key))))
    found = [hook for output in outputs for hook in _tensor_hooks(inspection, (key, output))]
    nodes = nodes or inspection.nodes()
    before, after = ([], []) if nodes is None else of_node(nodes[key])
    tensor = inspection.tensor((key, 0))
    accumulated = after_accumulation(tensor) if inspection.kind_of(key) == "leaf" and tensor is not None else []
    return found + before + accumulated + after


def _tensor_hooks(inspection: Inspection, place: Place) -> list[UserHook]:
    tensor = inspection.tensor(place)
    return [] if tensor is None else of_tensor(tensor)


def hooks_note(inspection: Inspection, key: int) -> str:
    """What the user's hooks on a node do that can't be told; "" where there is nothing to add."""
    hooks = user_hooks(inspection, key)
    last = inspection.last_pass_with(key)
    seen = last is not None and any(place[0] == key for place in last.ladders)
    if any(h.kind == "tensor hook" for h in hooks) and last is not None and not seen:
        return "What each hook did in this pass was not observed: it began here, or the graph is too large."
    before = sum(h.kind == "node pre-hook" for h in hooks)
    if before and last is not None and key in last.steps and last.steps[key] not in last.received:
        return "What the node's pre-hooks did was not observed: they are older than the widget, or not run yet."
    if before > 1:
        return "Of several node pre-hooks only the joint effect of those that are newer than the widget is observed."
    if any(h.kind in ("node hook", "module hook", "post-accumulate hook") for h in hooks):
        return "Hooks that run after the node act on what it handed on, or on .grad: see there."
    return ""


def accumulated(inspection: Inspection, key: int) -> str:
    """What a leaf's `.grad` holds, as a sentence; "" where the captured passes do not tell."""
    tensor = inspection.tensor((key, 0))
    grad = None if tensor is None else grad_of(tensor)
    passes = [p for p in inspection.passes if key in p.steps]
    if grad is None or not passes:
        return ""
    since = next((i for i in range(len(passes) - 1, -1, -1) if key in passes[i].fresh), None)
    if since is None:
        return ".grad held a gradient before the first pass that the widget has seen."
    parts = [part for p in passes[since:] if isinstance(part := p.at(key)[0], torch.Tensor)]
    if len(parts) < len(passes) - since:
        return _accumulated_by_version(passes[since:], key, tensor)
    with unobserved():
        plain = [one for one in (readable(t)[0] for t in (*parts, grad)) if one is not None]
        if len(plain) <= len(parts) or any(one.shape != plain[-1].shape for one in plain):
            return ""
        *parts, now = plain
        if torch.allclose(functools.reduce(torch.add, parts), now, equal_nan=True):
            if len(parts) == 1:
                return ""
            return (
                f"Accumulated over {len(parts)} passes ({', '.join(str(p.number) for p in passes[since:])}): "
                "zero_grad() was not called in between."
            )
        if torch.allclose(parts[-1], now, equal_nan=True):
            return ""
    if key in inspection.foreign:
        return ".grad is not the sum of these passes: a backward() through another graph has added to it."
    if any(p.mixed for p in passes):  # which of them came first is not known
        return ""
    return ".grad is not the sum of what the passes brought: something has changed it since."


def _not_zeroed(passes: list[BackwardPass]) -> str:
    numbers = ", ".join(str(one.number) for one in passes)
    return f"Accumulated over {len(passes)} passes ({numbers}): zero_grad() was not called in between."


def _accumulated_by_version(passes: list[BackwardPass], key: int, tensor: torch.Tensor | None) -> str:
    """Without the numbers: `.grad` is still the first pass's, and has been added to once for each that followed."""
    first = passes[0].items(key)[0]
    grad = None if tensor is None else tensor.grad
    if len(passes) < 2 or not isinstance(first, Reduced) or first.twin is None or grad is None:
        return ""
    same = first.twin() is grad and version_of(grad) == first.version + len(passes) - 1
    return _not_zeroed(passes) if same else ""


@unobserved()
def history_of(inspection: Inspection, key: int) -> tuple[int, list[float | None]] | None:
    """Number of the first iteration kept and the norms of the gradient since then; None without a loop."""
    if not len(inspection.history):
        return None
    start, lengths = inspection.history.of(_token(inspection, key))
    return start, [*lengths, _norm_now(inspection, key)]


def end_iteration(inspection: Inspection) -> History:
    """Add the norms of the last pass to the history, and hand that on to the next iteration."""
    last = next(iter(reversed(inspection.passes)), None)
    if last is not None:
        last.settle()
        returned = [key for key, output in last.returned if output == 0]
        kept = [key for key in [*last.order[:LOOKED_AT], *returned] if last.items(key)]
        tokens = {_token(inspection, key): i for i, key in enumerate(kept)}
        inspection.history.add(tokens, norms([last.items(key)[0] for key in kept]))
    return inspection.history


def _token(inspection: Inspection, key: int) -> str:
    return inspection.name_of((key, 0)) or f"{key} {inspection.columns.ops[inspection.columns.op[key]].name}"


def _norm_now(inspection: Inspection, key: int) -> float | None:
    last = inspection.last_pass_with(key)
    items = () if last is None else last.items(key)
    return norms(items[:1])[0] if items else None


def function(inspection: Inspection, key: int) -> FunctionInfo | None:
    """What is known of a user's `autograd.Function`; None for other nodes, and when the graph is gone."""
    nodes = inspection.nodes() if inspection.kind_of(key) == "function" else None
    return None if nodes is None else _function_info(nodes[key])


@unobserved()
def grad_of(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """`.grad`, without torch's warning for tensors that have none."""
    if tensor is None:
        return None
    try:
        grad = asked(tensor, "grad") if asked(tensor, "is_leaf") or asked(tensor, "retains_grad") else None
    except RuntimeError:  # a stale view
        return None
    return None if grad is None else grad.detach()


def _function_info(node: Node) -> FunctionInfo:
    cls = getattr(node, "_forward_cls", None)
    name = getattr(cls, "__qualname__", type(node).__name__).rpartition("<locals>.")[2]
    code = getattr(getattr(cls, "backward", None), "__code__", None)
    where = "" if code is None else place_of(code.co_filename, code.co_firstlineno)
    asked = tuple(getattr(node, "needs_input_grad", None) or ())
    try:
        arguments = list(inspect.signature(cls.forward).parameters.values())  # type: ignore[union-attr]
    except (TypeError, ValueError, AttributeError):
        arguments = []
    if arguments and getattr(cls, "setup_context", None) is torch.autograd.Function.setup_context:
        arguments = arguments[1:]  # forward(ctx, ...)
    names = [_argument(arguments, i) for i in range(len(asked))]
    needs = tuple(zip(names, map(bool, asked), strict=True))
    # Torch does not let it be read; who calls it means to turn it off.
    codes = [getattr(getattr(cls, part, None), "__code__", None) for part in ("forward", "setup_context")]
    return FunctionInfo(
        name, where, not any("set_materialize_grads" in c.co_names for c in codes if c is not None), needs
    )


def _argument(parameters: list[inspect.Parameter], i: int) -> str:
    """Name of an argument of forward: "x", "tensors[1]" of `*tensors`."""
    last = len(parameters) - 1
    if parameters and i >= last and parameters[last].kind is inspect.Parameter.VAR_POSITIONAL:
        return f"{parameters[last].name}[{i - last}]"
    return parameters[i].name if i <= last else f"argument {i}"
