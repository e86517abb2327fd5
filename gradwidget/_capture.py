"""Hooks. One pre-hook on each node sees the gradient that arrives there, in the engine's own order.

During a pass nothing is computed that would wait for a device: gradients are kept by reference under a byte budget,
beyond it only their norm is taken. Nothing that goes wrong here reaches the user's `backward()`.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradwidget._passes import BackwardPass, Item, Pending, Reduced, reduced, version_of
from gradwidget._summary import form_of, unobserved
from gradwidget._walk import Columns, Form, Node, is_leaf

DURING = 256 << 20
"""Bytes of gradients that are kept by reference while passes run."""
AFTER = 64 << 20
"""Bytes of gradients that stay whole afterwards, the newest pass first."""
LARGE_LEAF = 1 << 20
"""Bytes from which a leaf's gradient is read from `.grad`: holding it would make torch copy it."""
PASSES = 200
"""Passes that are kept."""

KEEP = ("auto", "all", "summary")

_task_id: Callable[[], int] = torch._C._current_graph_task_id


class Recorder:
    """Watches the nodes of one graph. The hooks hold it weakly; `close()` or its end removes them."""

    def __init__(
        self,
        nodes: Sequence[Node],
        columns: Columns,
        *,
        passes: list[BackwardPass],
        keep: str = "auto",
        label: Callable[[int], str],
        resolve: Callable[[int | str], tuple[int, int | None]],
        changed: Callable[[BackwardPass], None],
    ) -> None:
        self.passes = passes
        self.dropped = 0
        self._keep = keep
        self._label = functools.cache(label)
        self._resolve = resolve
        self._changed = changed
        self._running: dict[int, BackwardPass] = {}
        self._used = 0
        self._fitted = True
        self._sizes = columns.nbytes()
        self._large_leaves: dict[int, weakref.ref[torch.Tensor]] = {}
        if keep != "all":
            for key, node in enumerate(nodes):
                if self._sizes[key] >= LARGE_LEAF and is_leaf(node):
                    self._large_leaves[key] = weakref.ref(node.variable)
        me = weakref.ref(self)
        self._handles = [node.register_prehook(functools.partial(_arrived, me, key)) for key, node in enumerate(nodes)]
        self._finalizer = weakref.finalize(self, _remove, self._handles)
        self._finalizer.atexit = False

    @property
    def watching(self) -> bool:
        """Whether the hooks are in place."""
        return self._finalizer.alive

    def close(self) -> None:
        """Remove every hook. What was captured stays."""
        self._finalizer()

    def sweep(self) -> None:
        """Outside of any pass: what never ended has failed. Then let go of what need not stay whole."""
        if self._running and _task_id() == -1:
            # The engine's own threads are unknown to Python; a thread of the user's may be amid its pass.
            others = {t.ident for t in threading.enumerate() if not isinstance(t, threading._DummyThread)}
            others.discard(threading.get_ident())
            for task in [task for task, one in self._running.items() if one.thread not in others]:
                one = self._running.pop(task)
                one.state = "failed"
                one.note = "backward() raised before it had finished; what came after is missing."
        self._fit()

    def _fit(self) -> None:
        """Reduce kept gradients to what may stay after a pass."""
        if self._keep == "all" or self._fitted:
            return
        self._fitted = not self._running
        left = AFTER if self._keep == "auto" else 0
        for one in reversed(self.passes):
            if one.state != "running":
                left -= one.keep_only(max(left, 0))
        self._used = 0

    def take(self, key: int, gradients: tuple[torch.Tensor | None, ...]) -> None:
        """Keep what arrived at a node."""
        task = _task_id()
        one = self._running.get(task)
        if one is None:
            one = self._begin(task, key)
        if one.create_graph:
            one.add(key, self._copied(gradients))
        elif key in self._large_leaves:
            one.add(key, self._from_leaf(key, gradients))
        elif self._used + self._sizes[key] > DURING and self._keep != "all":
            one.add(key, tuple(None if g is None else reduced(g) for g in gradients))
        else:
            self._used += self._sizes[key]
            # A tuple's length and a tensor's version are the two cheapest things to ask here: this runs for each node.
            if len(gradients) == 1 and type(gradients[0]) is torch.Tensor:
                versions: int | tuple[int, ...] = gradients[0]._version
            else:
                versions = tuple(-1 if g is None else version_of(g) for g in gradients)
            one.order.append(key)
            one.arrived.append(gradients)
            one.versions.append(versions)

    def failed(self, key: int, error: Exception) -> None:
        """Note that what arrived at a node could not be kept."""
        one = self._running.get(_task_id())
        if one is not None:
            note = f"Could not be captured ({type(error).__name__}: {str(error)[:160]})."
            one.add(key, (Reduced(Form(None, "", ""), None, note),))

    def finish(self, task: int) -> None:
        """The engine is done with a pass."""
        one = self._running.pop(task, None)
        if one is None:
            return
        if self._large_leaves:
            for step, row in enumerate(one.arrived):
                if row and isinstance(row[0], Pending):
                    one.arrived[step] = (self._read_leaf(one.order[step], row[0]),)
        one.state = "complete"
        self._changed(one)

    def open_pass(self, label: str = "", state: str = "complete") -> BackwardPass:
        """Add an empty pass."""
        number = self.passes[-1].number + 1 if self.passes else 1
        one = BackwardPass(number, label, state, resolve=self._resolve, thread=threading.get_ident())
        self.passes.append(one)
        if len(self.passes) > PASSES:
            self.dropped += len(self.passes) - PASSES
            del self.passes[:-PASSES]
        return one

    def _begin(self, task: int, key: int) -> BackwardPass:
        one = self.open_pass(self._label(key), "running")
        one.create_graph = torch.is_grad_enabled()
        engine: Any = torch.autograd.Variable._execution_engine
        engine.queue_callback(functools.partial(_finished, weakref.ref(self), task))
        self._running[task] = one
        self._fitted = False
        if self._used > DURING // 2:
            self._fit()
        self._changed(one)
        return one

    def _copied(self, gradients: tuple[torch.Tensor | None, ...]) -> tuple[Item, ...]:
        # Under create_graph the gradient's own graph leads back to our hook: kept by reference it would never go.
        with unobserved():
            return tuple(None if g is None else g.detach().clone() for g in gradients)

    def _from_leaf(self, key: int, gradients: tuple[torch.Tensor | None, ...]) -> tuple[Item, ...]:
        gradient = gradients[0]
        if gradient is None:
            return (None,)
        variable = self._large_leaves[key]()
        with torch._C.DisableTorchFunction():
            exact = variable is not None and variable.grad is None and not variable._post_accumulate_grad_hooks
        return (Pending(form_of(gradient)) if exact else reduced(gradient),)

    @unobserved()
    def _read_leaf(self, key: int, pending: Pending) -> Item:
        variable = self._large_leaves[key]()
        grad = None if variable is None else variable.grad
        if grad is None:
            return Reduced(pending.form, None, "It did not reach .grad.")
        twin = Reduced(form_of(grad), None, ".grad has changed since; keep='all' keeps gradients whole.")
        twin = twin._replace(twin=weakref.ref(grad), version=version_of(grad))
        # A norm of every parameter is a second read of all gradients: only where nothing else would be left.
        return twin._replace(norm=_norm(grad)) if self._keep == "summary" else twin


def _norm(grad: torch.Tensor) -> torch.Tensor | None:
    return reduced(grad).norm


def _arrived(recorder: weakref.ref[Recorder], key: int, gradients: tuple[torch.Tensor | None, ...]) -> None:
    me = recorder()
    if me is None:
        return
    try:
        with torch._C.DisableTorchFunction():
            me.take(key, gradients)
    except Exception as error:
        me.failed(key, error)


def _finished(recorder: weakref.ref[Recorder], task: int) -> None:
    me = recorder()
    if me is None:
        return
    try:
        me.finish(task)
    except Exception:  # an error of ours must not become the user's
        return


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
    handles.clear()
