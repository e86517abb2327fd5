"""Lets go of deep graphs without recursion.

Since torch 2.13 a `Node` whose Python wrapper exists is freed through that wrapper, one stack frame per level:
dropping a graph some ten thousand levels deep kills the process, though nobody did more than look at it.
Here such graphs are held until nobody else does, and are then released from the output down, one node at a time.
"""

from __future__ import annotations

import atexit
import functools
import gc
import sys
from typing import Any

import torch

LEVELS = 1_000
"""Depth from which a graph is held here; a 512 KiB stack overflows at about 2,000."""


class _Batch:
    """Nodes of one walk, each before the nodes that it leads to; None where released."""

    def __init__(self, nodes: list[Any], heads: int) -> None:
        self.nodes = nodes
        self.heads = heads  # how many of the first nodes have nothing above them; 0: not known any more


_batches: list[_Batch] = []
_known: set[Any] = set()


def _owners(batch: list[Any], i: int) -> int:
    return sys.getrefcount(batch[i])


@functools.cache
def _alone() -> int:
    """Reference count of a held node that nobody else owns, measured; -1 where torch frees deep graphs itself."""
    with torch.enable_grad(), torch.inference_mode(False), torch._C.DisableTorchFunction():
        tensor = torch.zeros((), requires_grad=True, device="cpu") * 1
    batch: list[Any] = [tensor.grad_fn]
    held = {batch[0]}
    shared = _owners(batch, 0)
    del tensor
    unowned = _owners(batch, 0)
    del held
    return unowned if unowned < shared else -1


def hold(nodes: list[Any], heads: int) -> None:
    """Hold the nodes of a deep graph, each before the nodes that it leads to, the first `heads` with none above."""
    if _alone() < 0:
        return
    fresh = [node for node in nodes if node not in _known]
    if fresh:
        _known.update(fresh)
        _batches.append(_Batch(fresh, heads if len(fresh) == len(nodes) else 0))
        if _on_collection not in gc.callbacks:
            gc.callbacks.append(_on_collection)


def drain() -> int:
    """Release what nobody else owns. Returns the number of nodes still held."""
    if not _batches:
        return 0
    alone = _alone()
    # A walk takes everything below its outputs, so what a later batch adds lies above the earlier ones.
    for batch in reversed(_batches):
        nodes, heads = batch.nodes, batch.heads
        if heads and all(_owners(nodes, i) != alone for i in range(heads)):
            continue  # what is below an owned node is owned by it
        for i in range(len(nodes)):
            if _owners(nodes, i) == alone:
                _known.discard(nodes[i])
                nodes[i] = None
        batch.nodes = [node for node in nodes if node is not None]
        if len(batch.nodes) < len(nodes):
            batch.heads = 0
    _batches[:] = [batch for batch in _batches if batch.nodes]
    if not _batches and _on_collection in gc.callbacks:
        gc.callbacks.remove(_on_collection)
    return sum(len(batch.nodes) for batch in _batches)


def _on_collection(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2:
        drain()


atexit.register(drain)
