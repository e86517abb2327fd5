"""Which arriving gradients may be kept as they are, without torch noticing that somebody holds them.

Torch adds to a gradient in place, or makes it a leaf's `.grad`, only if nobody else holds it; and that shows in
`.grad._version`. So one may be held only if it is surely never handed on to a sum, to a leaf, or to code that may
edit it. Source: `can_accumulate_inplace` and `AccumulateGrad::accumulateGrad` of torch's engine.
"""

from __future__ import annotations

from collections import Counter

from gradwidget._walk import Columns

FRESH = frozenset({
    "Bmm", "Convolution", "Cos", "Div", "Embedding", "Exp", "Gelu", "Log", "LogSoftmax", "MaxPool2DWithIndices", "Mm",
    "Mul", "NativeBatchNorm", "NativeLayerNorm", "Neg", "NllLoss", "Pow", "Relu", "Sigmoid", "Silu", "Sin", "Softmax",
    "Split", "Sqrt", "Tanh", "UnsafeSplit",
})  # fmt: skip
"""Operations whose backward hands on new memory only, another piece to each input, and keeps nothing."""

VIEWS = frozenset({"Expand", "Permute", "Squeeze", "T", "Transpose", "Unsqueeze", "UnsafeView", "View"})
"""Operations that may hand on a view of what they received."""

SUMS = frozenset({"Add", "Addmm", "Sub"})
"""Operations that hand on what they received, or a sum over it to what was broadcast."""

SAME = VIEWS | SUMS | {"Mean", "Sum"}
"""Operations that may hand on what they received, or a view of it, and neither edit nor keep it."""


def _labels(columns: Columns) -> list[str]:
    return [columns.ops[op].label if columns.ops[op].kind == "operation" else "" for op in columns.op]


def passing(columns: Columns) -> list[bool]:
    """For each node, whether what it hands on may be what it received."""
    return [label in SAME for label in _labels(columns)]


def holdable(columns: Columns, sizes: list[int], small: int, *, alone: bool) -> list[bool]:
    """For each node, whether what arrives there may be held while a pass without `inputs=` runs.

    Args:
        columns: the graph.
        sizes: for each node the bytes of its gradient.
        small: bytes up to which one is small; a small view would hold all of a large one.
        alone: only what no other node sees, so that hooks of the user's elsewhere can't edit it.
    """
    labels = _labels(columns)
    found = [label in SAME or label in FRESH for label in labels]
    leading = Counter(zip(columns.target, columns.output, strict=True))
    for key, _ in columns.outputs:
        found[key] = False  # the seed may be the user's
    linked: dict[int, list[int]] = {}
    for source, target, output in zip(columns.source, columns.target, columns.output, strict=True):
        label = labels[source]
        if label not in SAME or (label in SUMS and columns.form[source] != columns.form[target]):
            continue
        found[source] &= (
            leading[target, output] == 1 and not alone and (sizes[source] <= small) == (sizes[target] <= small)
        )
        linked.setdefault(source, []).append(target)
        linked.setdefault(target, []).append(source)
    waiting = [key for key in linked if not found[key]]
    while waiting:
        for key in linked[waiting.pop()]:
            if found[key]:
                found[key] = False
                waiting.append(key)
    return found


def turned(columns: Columns, sizes: list[int], small: int) -> dict[int, int]:
    """Nodes whose large gradient becomes the `.grad` of a leaf, seen another way (`W.t()`): node -> leaf."""
    labels = _labels(columns)
    leading = Counter(columns.target)
    return {
        source: target
        for source, target in zip(columns.source, columns.target, strict=True)
        if labels[source] in VIEWS - {"Expand"}
        and sizes[source] > small
        and leading[target] == 1
        and columns.ops[columns.op[target]].kind == "leaf"
    }
