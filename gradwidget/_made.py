"""What made a node: the contract between who records it and who shows it."""

from __future__ import annotations

from typing import NamedTuple


class ModuleCall(NamedTuple):
    """One call of a module: its path ("h.0.attn"), its class ("Attention"), and which call of it, counted from 1."""

    path: str
    type: str
    call: int
