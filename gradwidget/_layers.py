"""Boxes in layers with wires between them, for pictures that are drawn without a browser.

After Sugiyama, Tagawa and Toda (1981): layers by the longest way to the end, dummies where a wire crosses a layer,
order by barycentres, then places as near to the neighbours as the order allows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

SWEEPS = 8
GAP = 26.0
"""Between two boxes of a layer."""
THIN = 10.0
"""Between a wire that passes and what is beside it."""


class Placed(NamedTuple):
    """Where boxes and wires are.

    `centres`: across the flow, of each box. `layers`: of each box, 0 at the end. `ways`: of each wire, (layer, place
    across the flow) where it passes the layers between, from its start on.
    """

    centres: list[float]
    layers: list[int]
    ways: list[list[tuple[int, float]]]


def place(sizes: Sequence[float], wires: Sequence[tuple[int, int]]) -> Placed:
    """Put boxes in layers.

    Args:
        sizes: of each box across the flow.
        wires: (start, end) of each, without a cycle. The same pair may come again.
    """
    layers = _layers(len(sizes), wires)
    size, layer = [*sizes], [*layers]
    chains: list[list[int]] = []
    known: dict[tuple[int, int], list[int]] = {}
    for start, end in wires:
        if (start, end) not in known:
            between = range(layers[start] - 1, layers[end], -1)
            known[start, end] = list(range(len(size), len(size) + len(between)))
            size.extend(0.0 for _ in between)
            layer.extend(between)
        chains.append(known[start, end])
    up: list[list[int]] = [[] for _ in size]
    down: list[list[int]] = [[] for _ in size]
    for (start, end), chain in zip(wires, chains, strict=True):
        way = [start, *chain, end]
        for a, b in itertools.pairwise(way):
            down[a].append(b)
            up[b].append(a)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for item, row in enumerate(layer):
        rows[row].append(item)
    _order(rows, up, down)
    centres = _centres(rows, size, len(sizes), up, down)
    ways = [[(layer[item], centres[item]) for item in chain] for chain in chains]
    return Placed(centres[: len(sizes)], layers, ways)


def _layers(count: int, wires: Sequence[tuple[int, int]]) -> list[int]:
    readers: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for start, end in set(wires):
        readers[end].append(start)
        waiting[start] += 1
    layers = [0] * count
    ready = [box for box in range(count) if not waiting[box]]
    while ready:
        box = ready.pop()
        for start in readers[box]:
            layers[start] = max(layers[start], layers[box] + 1)
            waiting[start] -= 1
            if not waiting[start]:
                ready.append(start)
    return layers


def _order(rows: list[list[int]], up: list[list[int]], down: list[list[int]]) -> None:
    """Sort each row by where the neighbours stand, back and forth."""
    place = {item: float(i) for row in rows for i, item in enumerate(row)}
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        for row in rows if forth else reversed(rows):
            beside = down if forth else up
            means = {item: _mean([place[n] for n in beside[item]], place[item]) for item in row}
            row.sort(key=lambda item: (means[item], place[item]))
            place.update((item, float(i)) for i, item in enumerate(row))


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _centres(
    rows: list[list[int]], size: list[float], boxes: int, up: list[list[int]], down: list[list[int]]
) -> list[float]:
    centres = [0.0] * len(size)
    for sweep in range(SWEEPS + 1):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            beside = [*(down[i] + up[i] for i in row)] if sweep else [down[i] for i in row]
            wanted = [_mean([centres[n] for n in near], centres[i]) for i, near in zip(row, beside, strict=True)]
            apart = [
                (size[a] + size[b]) / 2 + (GAP if a < boxes and b < boxes else THIN) for a, b in itertools.pairwise(row)
            ]
            for item, centre in zip(row, _spread(wanted, apart), strict=True):
                centres[item] = centre
    return centres


def _spread(wanted: list[float], apart: list[float]) -> list[float]:
    """Places in this order, at least so far apart, as near to the wanted ones as that allows (least squares)."""
    offsets = [0.0]
    for gap in apart:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, int]] = []  # mean of what is wanted, less the offset; how many
    for want, offset in zip(wanted, offsets, strict=False):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, many = blocks.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]
