"""Hooks. One pre-hook on each node sees the gradient that arrives there, in the engine's own order.

During a pass nothing is computed that would wait for a device: gradients are kept by reference under a byte budget,
beyond it only their norm is taken. A leaf's gradient is not held at all, as torch would then copy it instead of making
it the leaf's `.grad`. Nothing that goes wrong here reaches the user's `backward()`.
"""

from __future__ import annotations

import functools
import math
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from gradwidget import _userhooks
from gradwidget._engine import running_call
from gradwidget._holdable import holdable, passing, turned
from gradwidget._lane import COPY, DROP, HOLD, PART, Lane, arriving, arriving_together, leaving
from gradwidget._passes import BackwardPass, Handed, Item, Pending, Place, Reduced, Same, reduced, version_of
from gradwidget._second import note_pass
from gradwidget._summary import form_of, is_wrapped, unobserved
from gradwidget._walk import Columns, Form, Node, describe_op, is_leaf

DURING = 64 << 20
"""Bytes of gradients that are kept by reference while passes run: memory that torch can't use again meanwhile."""
AFTER = 64 << 20
"""Bytes of gradients that stay whole afterwards, of all recorders together: the newest ones stay."""
WHOLE = 16 << 20
"""Bytes up to which a gradient is copied that can't be held: torch would notice."""
READ = 128 << 20
"""Bytes of leaves' gradients whose norms are taken in each pass, for `.grad` may be gone when somebody looks."""
HUGE = 4 << 20
"""Bytes from which a contribution to a sum is not even reduced to its norm."""
SMALL = 1 << 16
"""Bytes up to which a gradient is copied where holding it would change what torch does."""
PASSES = 200
"""Passes that are kept."""
_NOTHING: list[Handed] = []
_TURNED = "It is the leaf's gradient, seen another way: see there."

FOLLOWED = 1_000
"""Nodes up to which it is also noted what each hands on, and what each hook of the user's does."""

KEEP = ("auto", "all", "summary")

_QUIET = (type(None), torch.Tensor, torch.nn.Parameter)
"""Leaves whose `.grad` runs nobody's code."""

_task_id: Callable[[], int] = torch._C._current_graph_task_id

_next_sequence: Callable[[], int] = vars(torch.autograd)["_get_sequence_nr"]

_recorders: list[weakref.ref[Recorder]] = []  # oldest first: ipywidgets keeps the widget of every cell that was run


class _Slot(NamedTuple):
    """Where an input of a node leads to."""

    place: Place
    leaf: bool
    single: bool  # nothing else leads there
    size: int  # in bytes


class Recorder:
    """Watches the nodes of one graph. The hooks hold it weakly; `close()` or its end removes them."""

    def __init__(
        self,
        nodes: Sequence[Node],
        columns: Columns,
        *,
        passes: list[BackwardPass],
        tensors: Mapping[Place, weakref.ref[torch.Tensor]],
        keep: str = "auto",
        label: Callable[[int], str],
        name: Callable[[Place], str],
        resolve: Callable[[int | str], tuple[int, int | None]],
        changed: Callable[[BackwardPass], None],
    ) -> None:
        self.passes = passes
        self.dropped = 0
        self.foreign: set[int] = set()  # leaves to whose .grad passes through other graphs have added
        self._keep = keep
        self._tensors = tensors
        self._label = functools.cache(label)
        self._name = name
        self._resolve = resolve
        self._changed = changed
        self._running: dict[int, BackwardPass] = {}
        self._lane = Lane(math.inf if keep == "all" else DURING)
        self._kept = 0
        self._fitted = True
        self._sizes = columns.nbytes()
        self._holdable = holdable(columns, self._sizes, SMALL, alone=len(nodes) <= FOLLOWED)
        self._passing = passing(columns)
        self._turned = turned(columns, self._sizes, SMALL) if keep != "all" else {}
        self._leaves = {key: weakref.ref(node.variable) for key, node in enumerate(nodes) if is_leaf(node)}
        # A leaf's node is the same in all graphs that use the leaf.
        self._outputs = frozenset(columns.outputs)
        self._shared = self._leaves.keys() - {key for key, _ in columns.outputs}
        self._roots = sorted({key for key, _ in columns.outputs})
        self._observed: list[Any] = []  # the users' dictionaries of tensor hooks in which we stand while passes run
        self._functions = {key for key, op in enumerate(columns.op) if columns.ops[op].kind != "operation"}
        self._prehooks: dict[int, Callable[[], Any]] = {}
        self._feeders: dict[int, list[int]] = {}
        self._slots: list[tuple[_Slot | None, ...]] = []
        self._only: dict[Place, tuple[int, int]] = {}  # places to which but one slot leads: node and slot
        # Other devices run hooks in threads of their own, which must not meet a dictionary that is being rearranged.
        self._observes = len(nodes) <= FOLLOWED and all(form.device == "cpu" for form in columns.forms)
        if len(nodes) <= FOLLOWED:
            self._slots = _slots(columns, self._leaves)
            for source, target, slot, output in zip(
                columns.source, columns.target, columns.input, columns.output, strict=True
            ):
                self._feeders.setdefault(target, []).append(source)
                found = self._slots[source][slot]
                if found is not None and found.single:
                    self._only[target, output] = (source, slot)
        self._handles = [node.register_prehook(self._prehook(key, columns)) for key, node in enumerate(nodes)]
        self._prehooks.update((key, handle.hooks_dict_ref) for key, handle in enumerate(self._handles))
        if len(nodes) <= FOLLOWED:
            self._handles += [
                node.register_hook(self._posthook(key)) for key, node in enumerate(nodes) if key not in self._leaves
            ]
        self._finalizer = weakref.finalize(self, _remove, self._handles, self._observed, id(self))
        self._finalizer.atexit = False
        _recorders[:] = [reference for reference in _recorders if reference() is not None]
        _recorders.append(weakref.ref(self))

    def _prehook(self, key: int, columns: Columns) -> Callable[[Any], None]:
        usual = functools.partial(_arrived, weakref.ref(self), key)
        leaf = self._leaves.get(key)
        variable = None if leaf is None else leaf()
        large = self._sizes[key] > SMALL
        if type(variable) not in _QUIET or (large and (leaf is not None or key in columns.multi)):
            return usual
        hold = self._holdable[key]
        if key in columns.multi:
            only = [self._only.get((key, output)) for output in range(len(columns.multi[key]))]
            return arriving_together(
                self._lane, key, self._sizes[key], hold=hold, only=only, prehooks=self._prehooks, otherwise=usual
            )
        if large and (key in self._turned or not (hold or self._may_copy(key))):
            return usual
        return arriving(
            self._lane,
            key,
            self._sizes[key] if leaf is None else 0,
            hold=hold,
            leaf=leaf,
            only=self._only.get((key, 0)),
            prehooks=self._prehooks,
            otherwise=usual,
        )

    def _posthook(self, key: int) -> Callable[[Any, Any], None]:
        usual = functools.partial(_left, weakref.ref(self), key)
        slots = self._slots[key]
        if key in self._functions or not all(s is None or s.single or s.size <= SMALL for s in slots):
            return usual
        plan = [DROP if s is None else HOLD if s.single else COPY for s in slots]
        return leaving(self._lane, key, plan, prehooks=self._prehooks, otherwise=usual)

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
                self._fail(task)
        self._fit()

    def _switch(self) -> None:
        """The one pass that runs may be written to directly, if it is plain and known to be of this graph."""
        self._lane.shut()
        if len(self._running) == 1:
            ((task, one),) = self._running.items()
            if one.plain and one.number:
                self._lane.open(task, one)

    def _fail(self, task: int) -> None:
        one = self._running.pop(task)
        self._switch()
        self._note_foreign(one)
        one.state = "failed"
        last = self._name((one.order[-1], 0)) or self._label(one.order[-1])
        one.note = f"backward() raised; {last} was the last node that it came to, and what came after is missing."
        self._let_go(one)
        self._read_leaves(one)
        self._read_turned(one)
        self._stop_observing()

    def _fit(self) -> None:
        """Reduce kept gradients to what may stay after a pass."""
        if self._keep == "all" or self._fitted:
            return
        self._fitted = not self._running
        self._kept = self._keep_only(AFTER if self._keep == "auto" else 0)
        self._lane.used = 0
        others = [
            other for other in (reference() for reference in _recorders) if other is not None and other is not self
        ]
        for other in others:
            if self._kept + sum(one._kept for one in others) <= AFTER:
                break
            if other._keep != "all":
                other._kept = other._keep_only(0)

    def _keep_only(self, budget: int) -> int:
        kept = 0
        for one in reversed(self.passes):
            if one.state != "running":
                kept += one.keep_only(max(budget - kept, 0))
        return kept

    def take(self, key: int, gradients: tuple[torch.Tensor | None, ...]) -> None:
        """Keep what arrived at a node, where that is none of the usual cases of `_lane`."""
        one = self._running.get(_task_id())
        if one is None:
            one = self._begin(_task_id(), key, gradients)
        if not one.number and key not in self._shared:
            self._adopt(one, key)
        self._take(one, key, gradients)
        if one.handed:
            for output, gradient in enumerate(gradients):
                self._recognize(one, (key, output), gradient)

    def _take(self, one: BackwardPass, key: int, gradients: tuple[torch.Tensor | None, ...]) -> None:
        if one.wrapped:
            one.add(key, tuple(None if g is None else reduced(g) for g in gradients))
        elif one.create_graph:
            self._note_fresh(one, key)
            one.add(key, self._copied(gradients))
        elif key in self._leaves:
            one.add(key, *self._at_leaf(one, key, gradients))
        elif key in self._turned and gradients[0] is not None:
            one.add(key, (Reduced(form_of(gradients[0]), None, _TURNED),))
        else:
            one.add(key, *self._whole_or_norm(one, key, gradients))

    def _whole_or_norm(
        self, one: BackwardPass, key: int, gradients: tuple[torch.Tensor | None, ...]
    ) -> tuple[tuple[Item, ...], tuple[int, ...]]:
        size = self._sizes[key]
        fits = self._lane.used + PART * size <= self._lane.budget
        hold = self._holdable[key] and one.whole and len(self._prehooks[key]() or "?") == 1
        if not fits or not (hold or self._may_copy(key)):
            return tuple(None if g is None else reduced(g) for g in gradients), ()
        self._lane.used += size
        if size <= SMALL:
            return tuple(None if g is None else _detached(g, size) for g in gradients), ()
        if not hold:
            return self._copied(gradients), ()
        return gradients, tuple(-1 if g is None else version_of(g) for g in gradients)

    def _may_copy(self, key: int) -> bool:
        return self._sizes[key] <= WHOLE or self._keep == "all"

    def _recognize(self, one: BackwardPass, place: Place, gradient: torch.Tensor | None) -> None:
        """What arrives is what was handed on, unless a hook of the user's came in between."""
        only = self._only.get(place)
        step = None if only is None else one.steps.get(only[0])
        if only is None or step is None:
            return
        row = one.handed.get(step, _NOTHING)
        if only[1] < len(row):
            item = row[only[1]]
            if item is gradient:
                row[only[1]] = Same(place)
            elif isinstance(item, torch.Tensor):
                row[only[1]] = _detached(item, form_of(item).nbytes)

    def leave(self, key: int, handed: tuple[torch.Tensor | None, ...], received: tuple[Any, ...]) -> None:
        """Note what a node hands on, and what it received where hooks of the user's came in between."""
        one = self._running.get(_task_id())
        step = None if one is None else one.steps.get(key)
        if one is None or step is None or one.wrapped:
            return
        with torch._C.DisableTorchFunction():
            one.handed[step] = self._note_handed(one, key, handed, received)
        hooks = self._prehooks[key]()
        if hooks is not None and len(hooks) > 1 and _userhooks.after(hooks, self):
            one.received[step] = tuple(None if g is None else _detached(g, form_of(g).nbytes) for g in received)

    def _note_handed(
        self, one: BackwardPass, key: int, handed: tuple[torch.Tensor | None, ...], received: tuple[Any, ...]
    ) -> list[Handed]:
        if key in self._functions:
            handed = _asked_for(handed)
        # Handed on as it came (x + y), it is what arrived.
        came = received if self._passing[key] and len(self._prehooks[key]() or "?") == 1 else ()
        return [
            None if gradient is None or slot is None else self._handed(one, slot, gradient, _place(key, came, gradient))
            for gradient, slot in zip(handed, self._slots[key], strict=False)
        ]

    def _handed(self, one: BackwardPass, slot: _Slot, gradient: torch.Tensor, same: Same | None) -> Handed:
        if slot.size > SMALL and same is not None:
            return same
        # Held until it arrives. A part of a sum can't be: torch would not add to it in place, and that counts as a
        # version of `.grad` in the end.
        if slot.single and one.plain:
            return gradient
        if slot.size > HUGE and (slot.leaf or not slot.single):
            return Reduced(form_of(gradient), None, "A part of a sum, too big to be looked at in each pass.")
        return _detached(gradient, slot.size)

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
        self._switch()
        if not one.number:
            self._note_foreign(one)
            self._stop_observing()
            return
        self._read_leaves(one)
        if not one.whole:
            self._note_returned(one)
        self._read_turned(one)
        self._entitle(one)
        if one.create_graph:
            note_pass(one.second_from, _next_sequence())
        one.state = "complete"
        self._stop_observing()
        self._changed(one)

    def _read_leaves(self, one: BackwardPass) -> None:
        for step in one.pending:
            item = one.arrived[step][0]
            if isinstance(item, Pending):
                one.arrived[step] = (self._read_leaf(one, one.order[step], item),)
        one.pending.clear()

    def _read_turned(self, one: BackwardPass) -> None:
        """What is a leaf's gradient seen another way has its norm."""
        for key, leaf in self._turned.items():
            item = next(iter(one.items(key)), None) if key in one.steps else None
            whole = next(iter(one.items(leaf)), None)
            if isinstance(item, Reduced) and item.note == _TURNED and isinstance(whole, (Reduced, torch.Tensor)):
                length = whole.norm if isinstance(whole, Reduced) else reduced(whole).norm
                one.arrived[one.steps[key]] = (item._replace(norm=length),)

    def _entitle(self, one: BackwardPass) -> None:
        """Say what the pass was, as soon as all that it came to is known."""
        if one.accumulates is None:
            one.accumulates = not one.returned or any(key in self._leaves for key in one.order)
        if one.accumulates and len(self._roots) == 1 and not one.asked:
            return  # entitled by the node that it began with
        roots = [key for key in self._roots if key in one.steps] if len(self._roots) > 1 else []
        # Outputs to which nothing else has handed the gradient that they ran with.
        roots = [k for k in roots if not any(source in one.steps for source in self._feeders.get(k, ()))]
        start = ", ".join(map(self._label, roots or one.order[:1]))
        names = one.asked or tuple(self._name(place) or self._label(place[0]) for place in one.returned)
        into = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
        if not one.accumulates:
            one.kind, one.label = "grad", f"grad of {start} w.r.t. {into}"
        elif len(roots) > 1 or one.asked:
            one.label = f"backward from {start}{f', only into {into}' if one.asked else ''}"

    def _note_foreign(self, one: BackwardPass) -> None:
        if not one.number:
            self.foreign.update(one.order)

    def _note_returned(self, one: BackwardPass) -> None:
        """What went to nodes that did not run, the user got."""
        for place, parts in self._let_go(one).items():
            if place in one.ladders:
                one.returned[place] = one.ladders[place][-1]
            elif place in self._outputs:
                note = "Whether a gradient was given for this output as well can't be observed."
                one.returned[place] = Reduced(Form(None, "", ""), None, note)
            else:
                one.returned[place] = self._own(_sum(parts))

    def _let_go(self, one: BackwardPass) -> dict[Place, list[Any]]:
        """Hold nothing as it is that was handed to nodes that did not run. Returns it, by where it was to go."""
        found: dict[Place, list[Any]] = {}
        for step, row in one.handed.items():
            for i, (slot, item) in enumerate(zip(self._slots[one.order[step]], row, strict=False)):
                if slot is not None and item is not None and slot.place[0] not in one.steps:
                    found.setdefault(slot.place, []).append(item)
                    row[i] = self._own(item)
        return found

    def _own(self, item: Any) -> Any:
        """What the user gets is his to edit: kept as a copy."""
        if not isinstance(item, torch.Tensor):
            return item
        return self._copied((item,))[0] if self._keep == "all" else _detached(item, form_of(item).nbytes)

    def open_pass(self, label: str = "", state: str = "complete") -> BackwardPass:
        """Add an empty pass."""
        one = BackwardPass(0, label, state=state, resolve=self._resolve, thread=threading.get_ident())
        self._list(one)
        return one

    def _list(self, one: BackwardPass) -> None:
        one.number = self.passes[-1].number + 1 if self.passes else 1
        self.passes.append(one)
        if len(self.passes) > PASSES:
            self.dropped += len(self.passes) - PASSES
            del self.passes[:-PASSES]

    def _adopt(self, one: BackwardPass, key: int) -> None:
        """A pass is one of this graph once it meets something that only this graph has."""
        one.label = f"backward from {self._label(key)}"
        self._list(one)
        self._switch()
        self._changed(one)

    def _begin(self, task: int, key: int, gradients: tuple[Any, ...]) -> BackwardPass:
        one = BackwardPass(0, state="running", resolve=self._resolve, thread=threading.get_ident())
        one.wrapped = any(g is not None and is_wrapped(g) for g in gradients)
        one.note = "Its gradients belong to a function transform or a batch, and can't be read." * one.wrapped
        one.create_graph = torch.is_grad_enabled()
        modes = torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack()
        one.plain = not (one.wrapped or one.create_graph or modes)
        one.second_from = _next_sequence()
        call = running_call()
        one.depth, one.accumulates, one.whole = call.depth, call.accumulates, call.inputs == ()
        if call.inputs:
            one.asked = tuple(map(self._name_of_input, call.inputs[:4]))
        self._place_among_running(one)
        engine: Any = torch.autograd.Variable._execution_engine
        engine.queue_callback(functools.partial(_finished, weakref.ref(self), task))
        if self._running:
            for other in self._running.values():
                other.mixed = one.mixed = True
            self._lane.shut()
        self._running[task] = one
        self._fitted = False
        if self._lane.used > DURING // 2:
            self._fit()
        if self._observes and key not in self._shared:
            self._observe()
        return one

    def _name_of_input(self, asked: Any) -> str:
        """What the user calls something that a gradient was asked for."""
        if isinstance(asked, torch.Tensor):
            place = next((place for place, tensor in self._tensors.items() if tensor() is asked), None)
            place = place or next(((key, 0) for key, leaf in self._leaves.items() if leaf() is asked), None)
            if place is not None:
                return self._name(place) or self._label(place[0])
        node = asked.node if isinstance(asked, torch.autograd.graph.GradientEdge) else None
        return "a tensor" if node is None else describe_op(node).label

    def _place_among_running(self, one: BackwardPass) -> None:
        """Passes of the same thread that are still open have either started this one, or failed."""
        if not one.depth:
            return
        for task, other in list(self._running.items()):
            if other.thread == one.thread and other.depth >= one.depth:
                self._fail(task)
            elif other.thread == one.thread:
                one.inside = other.number

    def _observe(self) -> None:
        """Stand between the user's hooks on each tensor, to see what each of them does."""
        for place, reference in list(self._tensors.items()):
            tensor = reference()
            hooks: Any = None if tensor is None else tensor._backward_hooks
            if not hooks or any(_userhooks.ours(key, id(self)) for key in hooks):
                continue
            items = list(hooks.items())
            hooks.clear()
            note = functools.partial(functools.partial, _passed, weakref.ref(self), place)
            hooks[_userhooks.OURS, id(self), 0] = note("")
            for i, (key, hook) in enumerate(items):
                hooks[key] = hook
                if not _userhooks.ours(key):  # another widget's observer
                    hooks[_userhooks.OURS, id(self), i + 1] = note(_userhooks.name_of(hook))
            self._observed.append(hooks)

    def _stop_observing(self) -> None:
        if not self._running:
            _stop(self._observed, id(self))

    def passed(self, place: Place, name: str, gradient: torch.Tensor) -> None:
        """Note a gradient on its way through the user's tensor hooks."""
        one = self._running.get(_task_id())
        if one is not None:
            one.ladders.setdefault(place, []).append(_detached(gradient, form_of(gradient).nbytes))
            one.ladder_names.setdefault(place, []).append(name)

    def _copied(self, gradients: tuple[torch.Tensor | None, ...]) -> tuple[Item, ...]:
        # Under create_graph the gradient's own graph leads back to our hook: kept by reference it would never go.
        with unobserved():
            return tuple(None if g is None else g.detach().clone() for g in gradients)

    def _at_leaf(
        self, one: BackwardPass, key: int, gradients: tuple[Any, ...]
    ) -> tuple[tuple[Item, ...], tuple[int, ...]]:
        gradient = gradients[0]
        variable = self._leaves[key]()
        none_before = self._note_fresh(one, key)
        if gradient is None:
            return (None,), ()
        if self._sizes[key] <= SMALL:
            return (_detached(gradient, self._sizes[key]),), ()
        if self._keep == "all":
            return self._copied(gradients), ()
        if variable is not None and not none_before:  # it will be added to .grad, not become it
            self._lane.used += self._sizes[key]
            held = self._lane.used <= DURING
            return ((gradient,), (version_of(gradient),)) if held else ((reduced(gradient),), ())
        if variable is None or variable._post_accumulate_grad_hooks or gradient.layout is not torch.strided:
            return (reduced(gradient),), ()
        one.pending.append(len(one))
        # Not at the end of the pass: a hook may have cleared `.grad` by then, or another pass added to it.
        one.read += self._sizes[key]
        length = reduced(gradient).norm if one.read <= READ or self._keep == "summary" else None
        return (Pending(form_of(gradient), gradient.data_ptr(), version_of(gradient), length),), ()

    def _note_fresh(self, one: BackwardPass, key: int) -> bool:
        variable = self._leaves[key]() if key in self._leaves else None
        fresh = variable is not None and variable.grad is None
        if fresh:
            one.fresh.add(key)
        return fresh

    @unobserved()
    def _read_leaf(self, one: BackwardPass, key: int, pending: Pending) -> Item:
        variable = self._leaves[key]()
        grad = None if variable is None else variable.grad
        if grad is None:
            return Reduced(pending.form, pending.norm, "It did not reach .grad.")
        # Taken over as it was, or copied because of its strides; anything else has been added by another pass since.
        version = version_of(grad)
        exact = version == pending.version if grad.data_ptr() == pending.memory else version <= 1
        others = one.mixed and any(p is not one and p.mixed and key in p.steps for p in self.passes)
        if not exact or others or (one.mixed and key in self.foreign):
            note = "Another backward pass has added to .grad meanwhile; keep='all' keeps both."
            return Reduced(pending.form, pending.norm, note)
        note = ".grad has changed since; keep='all' keeps gradients whole, keep='summary' their norms."
        return Reduced(form_of(grad), pending.norm, note, weakref.ref(grad), version)


def _detached(gradient: torch.Tensor, size: int) -> torch.Tensor | Reduced:
    """A copy if that is small, else the norm: something that holds nothing of torch's. `size` is in bytes."""
    if size > SMALL:
        return reduced(gradient)
    if type(gradient) is torch.Tensor and not torch._C._len_torch_dispatch_stack():  # by far the most
        return gradient.detach().clone() if gradient.requires_grad else gradient.clone()
    with unobserved():
        return gradient.detach().clone()


def _place(key: int, came: tuple[Any, ...], gradient: torch.Tensor) -> Same | None:
    return next((Same((key, output)) for output, item in enumerate(came) if item is gradient), None)


def _asked_for(handed: tuple[torch.Tensor | None, ...]) -> tuple[torch.Tensor | None, ...]:
    """A Python Function may hand on what nobody asked for, and the engine drops it."""
    node: Any = torch._C._current_autograd_node()
    if node is None:
        return handed
    pairs = zip(handed, node.next_functions, strict=False)
    return tuple(None if following is None or not _is_asked(following) else g for g, (following, _) in pairs)


def _is_asked(node: Node) -> bool:
    try:
        return bool(torch._C._will_engine_execute_node(node))
    except RuntimeError:  # a leaf whose gradient autograd.grad() returns
        return True


@unobserved()
def _sum(parts: list[Any]) -> Item:
    """The contributions to one tensor, added up as the engine adds them."""
    if len(parts) == 1:
        return parts[0]  # type: ignore[no-any-return]
    if not all(isinstance(part, torch.Tensor) for part in parts):
        form = next((part.form for part in parts if isinstance(part, Reduced)), Form(None, "", ""))
        return Reduced(form, None, "The sum of several contributions, each too big to be kept.")
    total: torch.Tensor = functools.reduce(torch.add, parts)
    return total


def _slots(columns: Columns, leaves: Mapping[int, Any]) -> list[tuple[_Slot | None, ...]]:
    leading: dict[Place, int] = {}
    for place in zip(columns.target, columns.output, strict=True):
        leading[place] = leading.get(place, 0) + 1
    for place in columns.outputs:  # the seed comes in there as well
        leading[place] = leading.get(place, 0) + 1
    sizes = [form.nbytes for form in columns.forms]
    found: list[dict[int, _Slot]] = [{} for _ in range(len(columns))]
    for source, target, slot, output in zip(columns.source, columns.target, columns.input, columns.output, strict=True):
        forms = columns.multi.get(target, (columns.form[target],))
        size = sizes[forms[output]] if output < len(forms) and forms[output] >= 0 else 0
        found[source][slot] = _Slot((target, output), target in leaves, leading[target, output] == 1, size)
    return [tuple(slots.get(i) for i in range(max(slots, default=-1) + 1)) for slots in found]


def _arrived(recorder: weakref.ref[Recorder], key: int, gradients: tuple[torch.Tensor | None, ...]) -> None:
    me = recorder()
    if me is None:
        return
    try:
        with torch._C.DisableTorchFunction():
            me.take(key, gradients)
    except Exception as error:
        me.failed(key, error)


def _left(recorder: weakref.ref[Recorder], key: int, handed: tuple[Any, ...], received: tuple[Any, ...]) -> None:
    me = recorder()
    if me is None:
        return
    try:
        me.leave(key, handed, received)
    except Exception:  # what it handed on stays unknown
        return


def _passed(recorder: weakref.ref[Recorder], place: Place, name: str, gradient: torch.Tensor) -> None:
    me = recorder()
    if me is None:
        return
    try:
        with torch._C.DisableTorchFunction():
            me.passed(place, name, gradient)
    except Exception:  # what this hook did stays unknown
        return


def _finished(recorder: weakref.ref[Recorder], task: int) -> None:
    me = recorder()
    if me is None:
        return
    try:
        with torch._C.DisableTorchFunction():
            me.finish(task)
    except Exception:  # an error of ours must not become the user's
        return


def _remove(handles: list[Any], observed: list[Any], owner: int) -> None:
    for handle in handles:
        handle.remove()
    handles.clear()
    _stop(observed, owner)


def _stop(observed: list[Any], owner: int) -> None:
    for hooks in observed:
        for key in [key for key in hooks if _userhooks.ours(key, owner)]:
            del hooks[key]
    observed.clear()
