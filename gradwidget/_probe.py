"""A backward pass that changes nothing."""

from __future__ import annotations

import gc
from typing import Any

import torch

from gradwidget._errors import GradWidgetError, GraphGoneError
from gradwidget._inspect import LOOKED_AT, Inspection
from gradwidget._passes import BackwardPass
from gradwidget._told import user_hooks
from gradwidget._walk import Node, is_leaf


def probe_note(inspection: Inspection) -> str:
    """What a probe would run of the user's, as a sentence; "" nothing."""
    nodes = inspection.nodes()
    if nodes is None or len(nodes) > LOOKED_AT:
        return ""
    hooks = [
        hook
        for key in range(len(nodes))
        for hook in user_hooks(inspection, key, nodes)
        if hook.kind not in ("post-accumulate hook", "retain_grad")
    ]
    if not hooks:
        return ""
    names = ", ".join(f"{h.name} ({h.where})" if h.where else h.name for h in hooks[:5])
    verb = "hook of yours would run" if len(hooks) == 1 else "hooks of yours would run"
    return f"{len(hooks)} {verb}: {names}{', ...' * (len(hooks) > 5)}."


def probe(inspection: Inspection) -> BackwardPass:
    """Run a backward pass that leaves every `.grad` untouched and the graph usable, and capture it.

    Raises:
        GraphGoneError: the graph was dropped, or a `backward()` has freed it.
        GradWidgetError: the pass raised; its error is the cause.
    """
    nodes = inspection.nodes()
    if nodes is None:
        raise GraphGoneError("The graph is gone.", "Run the forward pass again and make a new GradWidget.")
    once = not inspection.watching
    if once:
        inspection._watch(nodes, inspection._recorder)
    recorder = inspection._recorder
    assert recorder is not None
    leaves = [(key, node) for key, node in enumerate(nodes) if is_leaf(node)]
    retained = _retained()
    before = recorder.passes[-1].number if recorder.passes else 0
    try:
        gradients = torch.autograd.grad(
            _probe_roots(inspection, nodes),
            [torch.autograd.graph.GradientEdge(node, 0) for _, node in leaves],
            _seeds(inspection),
            retain_graph=True,
            allow_unused=True,
        )
    except Exception as error:
        recorder.sweep()
        raise _refusal(error) from error
    finally:
        if once:
            recorder.close()
        for tensor, grad in retained:
            tensor.grad = grad
    # The first of the new ones: hooks may have started others inside of it.
    one = next((one for one in recorder.passes if one.number > before), None) or recorder.open_pass()
    one.returned.clear()
    for (key, _), gradient in zip(leaves, gradients, strict=True):
        one.add(key, (gradient,))
    one.label = one.kind = "probe"
    inspection._changed(True)
    return one


def _refusal(error: Exception) -> GradWidgetError:
    text = (str(error).splitlines() or [""])[0][:160]
    if "second time" in text:
        remedy = "Probe before backward(), or call backward(retain_graph=True)."
        return GraphGoneError("A backward() has freed the graph, so the probe can't run through it.", remedy)
    cause = f"The probe was stopped by an error, as backward() would be ({type(error).__name__}: {text})."
    return GradWidgetError(cause, "Mend that first; no .grad was touched.")


def _probe_roots(inspection: Inspection, nodes: list[Node]) -> Any:
    edge = torch.autograd.graph.GradientEdge
    if "GradientEdge" in str(torch.autograd.grad.__annotations__.get("outputs")):
        return [edge(nodes[key], number) for key, number in inspection.columns.outputs]
    # torch < 2.8 wants tensors; one edited in place since has another graph now, which nodes() has noticed.
    found = [root.tensor for root in inspection._roots or ()] or [
        None if r is None else r() for r in inspection._weak_roots
    ]
    if any(t is None for t in found):
        raise GraphGoneError("The output's tensor is gone.", "Keep a reference to the output, or use a newer torch.")
    return found


def _seeds(inspection: Inspection) -> list[torch.Tensor]:
    seeds = []
    for key, number in inspection.columns.outputs:
        form = inspection.columns.forms_of(key)[number]
        seeds.append(torch.ones(form.shape or (), dtype=getattr(torch, form.dtype), device=form.device))
    return seeds


def _retained() -> list[tuple[torch.Tensor, torch.Tensor | None]]:
    """Tensors that are no leaves and keep their gradient all the same, with what they hold now."""
    found = []
    with torch._C.DisableTorchFunction():
        for thing in gc.get_objects():
            if issubclass(type(thing), torch.Tensor):
                try:
                    if thing.retains_grad:
                        found.append((thing, thing.grad))
                except RuntimeError:  # a stale view
                    continue
    return found
