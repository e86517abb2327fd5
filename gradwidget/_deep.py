"""Lets go of deep graphs without recursion.

Since torch 2.13 a `Node` whose Python wrapper exists is freed through that wrapper, one stack frame per level:
dropping a graph some ten thousand levels deep kills the process, though nobody did more than look at it.
Here such graphs are held until nobody else does, and are then released from the output down, one node at a time.
"""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Any

import torch

LEVELS = 1_000
"""Depth from which a graph is held here; a 512 KiB stack overflows at about 2,000."""

_batches: list[list[Any]] = []  # of nodes, each before the nodes that it leads to; None where released
_known: set[Any] = set()
_alone: int | None = None  # reference count of a held node that nobody else owns; -1: torch frees iteratively


def _owners(batch: list[Any], i: int) -> int:
    return sys.getrefcount(batch[i])


def _calibrate() -> int:
    """Measure what an unowned node's reference count is, or that this torch doesn't share ownership."""
    with torch.enable_grad(), torch.inference_mode(False), torch._C.DisableTorchFunction():
        tensor = torch.zeros((), requires_grad=True, device="cpu") * 1
    batch: list[Any] = [tensor.grad_fn]
    held = {batch[0]}
    shared = _owners(batch, 0)
    del tensor
    alone = _owners(batch, 0)
    del held
    return alone if alone < shared else -1


def hold(nodes: list[Any]) -> None:
    """Hold the nodes of a deep graph, given each before the nodes that it leads to."""
    global _alone
    if _alone is None:
        _alone = _calibrate()
    if _alone < 0:
        return
    fresh = [node for node in nodes if node not in _known]
    if fresh:
        _known.update(fresh)
        _batches.append(fresh)
        if _on_collection not in gc.callbacks:
            gc.callbacks.append(_on_collection)


def drain() -> int:
    """Release what nobody else owns. Returns the number of nodes still held."""
    if not _batches:
        return 0
    # A walk takes everything below its outputs, so what a later batch adds lies above the earlier ones.
    for batch in reversed(_batches):
        for i in range(len(batch)):
            if _owners(batch, i) == _alone:
                _known.discard(batch[i])
                batch[i] = None
    _batches[:] = [left for left in ([n for n in batch if n is not None] for batch in _batches) if left]
    if not _batches and _on_collection in gc.callbacks:
        gc.callbacks.remove(_on_collection)
    return sum(map(len, _batches))


def _on_collection(phase: str, _info: dict[str, int]) -> None:
    if phase == "stop":
        drain()


atexit.register(drain)
