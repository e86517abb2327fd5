"""Which arriving gradients may be kept as they are, without torch noticing that somebody holds them.

Torch adds to a gradient in place, or makes it a leaf's `.grad`, only if nobody else holds it; and that shows in
`.grad._version`. So one may be held only if it is surely never handed on to a sum, to a leaf, or to code that may
edit it. Source: `can_accumulate_inplace` and `AccumulateGrad::accumulateGrad` of torch's engine.
"""

from __future__ import annotations

from collections import Counter

from gradwidget._walk import Columns

FRESH = frozenset({
    "Bmm", "Cos", "Div", "Exp", "Gelu", "Log", "LogSoftmax", "Mm", "Mul", "Neg", "Pow", "Relu", "Sigmoid", "Silu",
    "Sin", "Softmax", "Split", "Sqrt", "Tanh", "UnsafeSplit",
})  # fmt: skip
"""Operations whose backward hands on new memory only, another piece to each input, and keeps nothing."""

SAME = frozenset({
    "Add", "Expand", "Mean", "Permute", "Squeeze", "Sub", "Sum", "T", "Transpose", "Unsqueeze", "UnsafeView", "View",
})  # fmt: skip
"""Operations that may hand on what they received, or a view of it, and neither edit nor keep it."""


def holdable(columns: Columns, small: list[bool], *, alone: bool) -> list[bool]:
    """For each node, whether what arrives there may be held while a pass without `inputs=` runs.

    Args:
        columns: the graph.
        small: for each node whether its gradient is small; a small view would hold all of a large one.
        alone: only what no other node sees, so that hooks of the user's elsewhere can't edit it.
    """
    labels = [columns.ops[op].label if columns.ops[op].kind == "operation" else "" for op in columns.op]
    passing = [label in SAME for label in labels]
    found = [(passes or label in FRESH) and fits for passes, label, fits in zip(passing, labels, small, strict=True)]
    leading = Counter(zip(columns.target, columns.output, strict=True))
    for key, _ in columns.outputs:
        found[key] = False  # the seed may be the user's
    linked: dict[int, list[int]] = {}
    for source, target, output in zip(columns.source, columns.target, columns.output, strict=True):
        if passing[source]:
            found[source] &= leading[target, output] == 1 and not alone
            linked.setdefault(source, []).append(target)
            linked.setdefault(target, []).append(source)
    waiting = [key for key in linked if not found[key]]
    while waiting:
        for key in linked[waiting.pop()]:
            if found[key]:
                found[key] = False
                waiting.append(key)
    return found
