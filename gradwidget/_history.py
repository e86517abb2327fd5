"""The norms of gradients over the iterations of a loop."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Sequence

KEPT = 200
"""Iterations that are kept."""


class History:
    """One row of norms for each iteration, by node; what has another structure is found again by its name."""

    def __init__(self) -> None:
        self._rows: deque[tuple[int, dict[str, int], array[float]]] = deque(maxlen=KEPT)
        self._count = 0

    def add(self, tokens: dict[str, int], norms: Sequence[float | None]) -> None:
        """Add an iteration: names of its nodes with their places in `norms`; NaN is kept apart from None."""
        if self._rows and self._rows[-1][1] == tokens:
            tokens = self._rows[-1][1]  # the same loop body each time: one dictionary for all
        self._count += 1
        self._rows.append((self._count, tokens, array("d", (_NONE if n is None else n for n in norms))))

    def of(self, token: str) -> tuple[int, list[float | None]]:
        """Number of the first iteration kept, and the norms at one node since then."""
        if not self._rows:
            return 0, []
        found = [None if token not in tokens else row[tokens[token]] for _, tokens, row in self._rows]
        return self._rows[0][0], [None if n is None or n == _NONE else n for n in found]

    def __len__(self) -> int:
        return len(self._rows)


_NONE = -math.inf  # no norm is negative
