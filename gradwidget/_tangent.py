"""Forward mode over a graph: how much each value changes with one input. Only formulas of ours run, no user code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from gradwidget._errors import OptionError
from gradwidget._explain import Node, value_at
from gradwidget._inspect import Inspection
from gradwidget._order import order_of
from gradwidget._passes import Place
from gradwidget._summary import readable, unobserved

Tangents = dict[Place, "torch.Tensor | None"]


@unobserved()
def tangents(inspection: Inspection, direction: str | Mapping[str, Any]) -> Tangents:
    """The tangent of each value: 1 at the named input (or what a mapping gives), 0 at the others, then forward.

    None where a formula or a number that it needs is not known.

    Raises:
        OptionError: a name that is no leaf, or a direction of another shape.
    """
    seeds = _seeds(inspection, direction)
    found: Tangents = {}
    for key in order_of(inspection).keys:
        forms = inspection.columns.forms_of(key)
        if inspection.kind_of(key) == "leaf":
            value = value_at(inspection, (key, 0))
            plain = None if value is None else readable(value)[0]
            seed = seeds.get(key)
            found[key, 0] = seed if seed is not None else None if plain is None else torch.zeros_like(plain)
            continue
        for output in range(len(forms)):
            found[key, output] = _through(inspection, key, found) if len(forms) == 1 else None
    return found


def _through(inspection: Inspection, key: int, found: Tangents) -> torch.Tensor | None:
    """The sum over the inputs of (local derivative of the value by the input) times (tangent of the input)."""
    node = Node(inspection, key)
    shape = node.shape("result")
    total = None
    for edge in inspection.edges.inputs[key]:
        tangent = found.get((inspection.columns.target[edge], inspection.columns.output[edge]))
        expression = node.handed(inspection.columns.input[edge])
        if tangent is None or expression is None or shape is None:
            return None
        # What is handed on is linear in g: its derivative by g, turned round, carries tangents forward.
        with torch.enable_grad():
            g = torch.zeros(shape, dtype=tangent.dtype, device=tangent.device, requires_grad=True)
            handed = node.calculate(expression, inspection.columns.input[edge], g=g)
            if handed is None:
                return None
            if not handed.requires_grad:
                part = torch.zeros_like(g.detach())
            else:
                expanded = handed.expand(tangent.shape)
                (part,) = torch.autograd.grad(expanded, g, tangent.to(handed.dtype))
        total = part if total is None else total + part
    return None if total is None else total.detach()


def _seeds(inspection: Inspection, direction: str | Mapping[str, Any]) -> dict[int, torch.Tensor]:
    asked: Any = {direction: 1.0} if isinstance(direction, str) else direction
    if not isinstance(asked, Mapping) or not asked:
        raise OptionError(
            f"tangent={direction!r} is no direction.", "Give the name of an input, or a mapping name -> tensor."
        )
    found = {}
    for name, given in asked.items():
        key, _ = inspection.find(name)
        if inspection.kind_of(key) != "leaf":
            leaves = [n for n, place in inspection.places.items() if inspection.kind_of(place[0]) == "leaf"]
            raise OptionError(f"{name!r} is not an input of the graph.", f"Use one of {', '.join(leaves[:8])}.")
        value = value_at(inspection, (key, 0))
        plain = None if value is None else readable(value)[0]
        if plain is None:
            raise OptionError(f"The value of {name!r} is not known.", "Keep a reference to the tensor.")
        seed = torch.as_tensor(given, dtype=plain.dtype, device=plain.device).detach()
        if seed.dim() and seed.shape != plain.shape:
            raise OptionError(
                f"The direction for {name!r} has shape {tuple(seed.shape)}.", f"Give one of {tuple(plain.shape)}."
            )
        found[key] = seed.expand(plain.shape).clone()
    return found
