"""Operations that divide a gradient again: means, losses that average, divisions by a number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch

from gradwidget._inspect import Inspection

_BY_ELEMENTS = frozenset(
    {
        "MseLoss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy", "BinaryCrossEntropyWithLogits", "SoftMarginLoss",
        "KlDiv", "L1Loss",
    }
)  # fmt: skip
_BY_TARGETS = frozenset(
    {"NllLoss", "NllLoss2D", "NllLossNd", "CrossEntropyLoss", "MultiMarginLoss", "MultilabelMarginLoss"}
)
DIVIDING = _BY_ELEMENTS | _BY_TARGETS | {"Mean", "Div"}
_MEAN = 1.0  # of a loss's saved `reduction`: 0 is none, 2 is sum


class Divisor(NamedTuple):
    """What a node divides by: how many, or None where that is not known, and of what."""

    number: float | None
    what: str

    @property
    def text(self) -> str:
        return self.what if self.number is None else f"{self.number:g}"


def divisor_of(here: Inspection, key: int, saved: Mapping[str, torch.Tensor]) -> Divisor | None:
    """By what a node divides the gradient of its input, None if it does not; `saved` are its values by name."""
    label = here.columns.ops[here.columns.op[key]].label
    if label == "Mean":
        return Divisor(_ratio(here, key, saved), "the number of elements")
    if label == "Div":
        other = saved.get("other")
        if other is None:
            constant = all(here.columns.input[edge] == 0 for edge in here.edges.inputs[key])
            return Divisor(None, "a constant") if constant else None
        number = abs(float(other)) if other.numel() == 1 else 0
        return Divisor(number, "") if 1 < number < math.inf else None
    if label not in _BY_ELEMENTS | _BY_TARGETS or float(saved.get("reduction", torch.tensor(_MEAN))) != _MEAN:
        return None
    shape = _input_shape(here, key)
    if label in _BY_ELEMENTS:
        return Divisor(None if shape is None else math.prod(shape), "the number of elements")
    total = saved.get("total_weight")
    if total is not None and total.numel() == 1:
        return Divisor(float(total), "")
    if label.startswith("NllLoss") or shape is None:
        return Divisor(None, "the number of targets (or their weight)")
    return Divisor(math.prod(shape[:1]) if len(shape) > 1 else 1, "the number of targets")


def _ratio(here: Inspection, key: int, saved: Mapping[str, torch.Tensor]) -> float | None:
    """Elements that a mean takes in for each that it gives."""
    made = next((form.shape for form in here.columns.forms_of(key)), None)
    if made is None:
        return None
    count = saved.get("self_sym_numel")
    shape = _input_shape(here, key)
    taken = float(count) if count is not None else None if shape is None else math.prod(shape)
    return None if taken is None else taken / max(1, math.prod(made))


def _input_shape(here: Inspection, key: int) -> tuple[int, ...] | None:
    edge = next(iter(here.edges.inputs[key]), None)
    if edge is None:
        return None
    forms = here.columns.forms_of(here.columns.target[edge])
    output = here.columns.output[edge]
    return forms[output].shape if output < len(forms) else None
