"""Why is this gradient None, zero, NaN or too big; what does this error of autograd mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from gradwidget import _inspect
from gradwidget._diagnosis import Diagnosis
from gradwidget._errors import NoGraphError, OptionError, OutputTypeError
from gradwidget._inspect import Inspection
from gradwidget._names import calling_frame
from gradwidget._outputs import Output, edge_of, is_tensor, resolve
from gradwidget._passes import Place
from gradwidget._summary import unobserved
from gradwidget._walk import Node
from gradwidget._why_errors import explain
from gradwidget._why_facts import Facts
from gradwidget._why_scope import Scope, tracked
from gradwidget._why_tree import decide

ROOTS = 300
"""Tensors of the calling scope whose graphs are looked through, at most: the newest."""
WIDGETS = 16
"""Widgets that are asked whether they know a tensor: the newest."""

_NOTHING: Any = object()


def why(subject: Any = _NOTHING, *outputs: Any, **unknown: Any) -> Diagnosis:  # noqa: D417
    """Why the gradient of a tensor is None, zero, NaN, infinite or bigger than expected; or what an error means.

    Reads only what is there: runs no backward pass, no hook, no code of yours, and keeps nothing alive. Widgets that
    watch the graph are asked for what their passes have captured.

    Args:
        subject: a tensor, or an exception that was raised.
        *outputs: what `backward()` was, or will be, called on. Without it, graphs of the tensors in the calling scope.

    Returns:
        A `Diagnosis`: `.kind`, `.cause`, `.remedy`, `.evidence`.

    Raises:
        OutputTypeError: neither a tensor nor an exception; or outputs without any tensor.
        OptionError: a keyword, or nothing was given.
    """
    if unknown:
        raise OptionError(f"why() has no keyword {next(iter(unknown))!r}.", "Give tensors only: why(x, loss).")
    if subject is _NOTHING:
        raise OptionError("why() was given nothing to explain.", "Give a tensor, why(x) or why(x, loss), or an error.")
    frame = calling_frame()
    if issubclass(type(subject), BaseException):  # isinstance() would ask the object
        return explain(subject, Scope.of_frame(frame), about)
    if not is_tensor(subject):
        raise _wrong(subject)
    return about(subject, outputs, Scope.of_frame(frame))


def _wrong(subject: Any) -> OutputTypeError:
    kind = type(subject)
    if issubclass(kind, torch.nn.Module):
        return OutputTypeError(
            f"why() explains tensors and errors, not a module ({kind.__qualname__}).",
            "Give one of its parameters: why(model.weight, loss).",
        )
    if issubclass(kind, type) and issubclass(subject, BaseException):
        return OutputTypeError(
            "why() was given the class of an error.", "Give the error itself: `except ... as error`."
        )
    return OutputTypeError(
        f"why() explains tensors and errors, not {kind.__qualname__}.", "Give a tensor: why(x), or why(x, loss)."
    )


def about(subject: torch.Tensor, outputs: tuple[Any, ...], scope: Scope, name: str = "") -> Diagnosis:
    """The diagnosis for a tensor, with the names of a scope."""
    no_graph = ""
    roots: tuple[Output, ...] = ()
    if outputs:
        try:
            roots = resolve(outputs).roots
        except NoGraphError as error:
            no_graph = error.cause.removeprefix("The output ")
            no_graph = no_graph.replace("needs no gradient, so no graph leads to it.", "it needs no gradient.")
            no_graph = no_graph if no_graph.startswith("it ") else f"it {no_graph}"
    seen, spot = _seen(subject, roots)
    here, place, outs = _map(subject, roots, scope)
    if no_graph:
        outs = ()
    try:
        facts = Facts(
            subject,
            name=name or _plainest(subject, scope),
            scope=scope,
            here=here,
            place=place,
            outs=outs,
            output=next((o for o in outputs if is_tensor(o)), None),
            no_graph=no_graph,
            seen=seen,
            spot=spot,
        )
        with unobserved(), facts:
            found = decide(facts)
        return replace(found, evidence=(*found.evidence, *scope.limit_fact))
    finally:
        if here is not None:
            here.let_go()


def _plainest(subject: torch.Tensor, scope: Scope) -> str:
    """A name without brackets, if the scope or a widget has one."""
    names = [name for name, tensor in scope.tensors if tensor is subject]
    names += [one.known_as(subject) for one in list(_inspect.alive.values())[: -WIDGETS - 1 : -1]]
    known = list(filter(None, names))
    return next((name for name in known if "[" not in name), next(iter(known), ""))


def _seen(subject: torch.Tensor, roots: tuple[Output, ...]) -> tuple[Inspection | None, Place | None]:
    """The newest graph under watch that has the tensor, and these outputs; one that has seen it in a pass first."""
    found: list[tuple[Inspection, Place]] = []
    for one in list(_inspect.alive.values())[: -WIDGETS - 1 : -1]:
        place = one.find_tensor(subject)
        if place is not None and all(r.tensor is None or one.find_tensor(r.tensor) is not None for r in roots):
            found.append((one, place))
    return next(
        (pair for pair in found if pair[0].last_pass_with(pair[1][0]) is not None),
        next(iter(found), (None, None)),
    )


@unobserved()
def _map(
    subject: torch.Tensor, roots: tuple[Output, ...], scope: Scope
) -> tuple[Inspection | None, Place | None, tuple[Place, ...] | None]:
    """One graph of the outputs, the tensor and all tensors in scope: graph, the tensor's place, the outputs' places."""
    starts: list[Any] = []
    known: dict[tuple[Node, int], None] = {}
    for root in roots:
        known[root.node, root.number] = None
        starts.append(
            root.tensor if root.tensor is not None else torch.autograd.graph.GradientEdge(root.node, root.number)
        )
    newest: list[tuple[int, torch.Tensor, Node]] = []
    for tensor in [subject, *(t for _, t in scope.tensors if tracked(t))]:
        try:
            node, number = edge_of(tensor)
        except NoGraphError:
            continue
        if (node, number) not in known:
            known[node, number] = None
            if tensor is subject:
                starts.append(tensor)
            elif tensor.grad_fn is not None:
                newest.append((node._sequence_nr(), tensor, node))
    newest.sort(key=lambda one: -one[0])
    starts += [tensor for _, tensor, _ in newest[:ROOTS]]
    if not starts:
        return None, None, None
    here = Inspection(tuple(starts), names=dict(scope.tensors), watch=False, keep="all", look=False)
    place = _used_place(here, subject)
    outs = here.columns.outputs[: len(roots)]
    return here, place, tuple(outs) if roots else None


def _used_place(here: Inspection, subject: torch.Tensor) -> Place | None:
    """Where it stands; a leaf whose dtype or device was changed (`model.half()`) has an older node beside the new."""
    found = here.find_tensor(subject)
    if found is None or here.edges.consumers[found[0]] or here.kind_of(found[0]) != "leaf":
        return found
    leaves = (key for key in range(len(here.columns.op)) if here.kind_of(key) == "leaf")
    return next(((k, 0) for k in leaves if here.tensor((k, 0)) is subject and here.edges.consumers[k]), found)


def in_panel(inspection: Inspection, key: int, output: int, memo: dict[Any, Any] | None = None) -> Diagnosis | None:
    """The diagnosis for one tensor of a graph that is shown, None where there is nothing to explain."""
    place = (key, output)
    tensor = inspection.tensor(place)
    facts = Facts(
        tensor,
        name=inspection.name_of(place) or ("" if tensor is not None else inspection.label_of(key)),
        here=inspection,
        place=place,
        seen=inspection,
        spot=place,
        memo=memo,
    )
    with unobserved(), facts:
        if tensor is None and (facts.gradient is None or not facts.numbers.kind):
            return None
        found = decide(facts)
    return None if found.kind == "present" else found
