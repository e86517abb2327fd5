"""Stretches of the same tokens that follow each other: where a sequence repeats itself, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_SHORT = 64
"""Periods up to which each one is tried; longer ones must show themselves by the distances of equal stretches."""
_GRAM = 8
_CANDIDATES = 12

Numbers = npt.NDArray[np.int64]


class Repeat(NamedTuple):
    """`times` stretches of `period` tokens each, from `start` on; up to `slack` tokens later they fit as well."""

    start: int
    period: int
    times: int
    slack: int


def repeats(tokens: Sequence[int], weights: Sequence[int], *, times: int, least: int) -> list[Repeat]:
    """Repeated stretches of `tokens` that do not overlap, in order.

    `weights` are the nodes behind each token. What repeats itself less than `times`, or holds fewer nodes than
    `least`, does not count.
    """
    row: Numbers = np.asarray(tokens, dtype=np.int64)
    weight = np.concatenate([[0], np.cumsum(np.asarray(weights, dtype=np.int64))])
    found: list[Repeat] = []
    free = [(0, len(row))]
    while free:
        start, end = free.pop()
        best = _best(row[start:end], weight[start : end + 1], times, least)
        if best is None:
            continue
        at = start + best.start
        found.append(best._replace(start=at))
        after = at + best.period * best.times + best.slack
        free += [(start, at), (after, end)]
    return sorted(found)


def _best(row: Numbers, weight: Numbers, times: int, least: int) -> Repeat | None:
    """The one that covers most nodes; among those that cover about the same, the shortest stretch."""
    best: Repeat | None = None
    most = 0
    for period in _periods(row, times):
        equal = np.flatnonzero(
            np.diff(np.concatenate([[False], row[period:] == row[:-period], [False]]).astype(np.int8))
        )
        starts, ends = equal[::2], equal[1::2]
        long = ends - starts >= (times - 1) * period
        if not long.any():
            continue
        starts, ends = starts[long], ends[long] + period
        covered = weight[ends] - weight[starts]
        at = int(covered.argmax())
        cover = int(covered[at])
        if cover >= least and cover > most * 1.1:
            length = int(ends[at] - starts[at])
            best = Repeat(int(starts[at]), period, length // period, length % period)
            most = cover
    return best


def _periods(row: Numbers, times: int) -> list[int]:
    longest = len(row) // times
    found = list(range(1, min(_SHORT, longest) + 1))
    if longest > _SHORT:
        found += [p for p in _distances(row) if _SHORT < p <= longest]
    return found


def _distances(row: Numbers) -> list[int]:
    """How far apart equal stretches of a few tokens stand, the most frequent ones, the shortest first."""
    count = len(row) - _GRAM + 1
    with np.errstate(over="ignore"):
        grams: Any = np.zeros(count, dtype=np.uint64)
        for i in range(_GRAM):
            grams = grams * np.uint64(0x9E3779B97F4A7C15) + row[i : i + count].astype(np.uint64) + np.uint64(1)
    order = np.argsort(grams, kind="stable")
    same = grams[order[1:]] == grams[order[:-1]]
    distances, counts = np.unique((order[1:] - order[:-1])[same], return_counts=True)
    often = np.argsort(-counts, kind="stable")[:_CANDIDATES]
    return sorted(int(d) for d in distances[often])
