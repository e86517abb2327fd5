"""The graph behind one widget: what is known of it, what can still be read, and what was captured."""

from __future__ import annotations

import functools
import gc
import inspect
import re
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from types import FrameType
from typing import Any

import networkx as nx
import torch

from gradwidget import _graph, _names, _saved
from gradwidget._capture import KEEP, Recorder, made_by_passes
from gradwidget._errors import GradWidgetError, GraphGoneError, OptionError, UnknownNodeError, near
from gradwidget._history import History
from gradwidget._ipython import place_of
from gradwidget._outputs import Output, edge_of, resolve
from gradwidget._passes import BackwardPass, Gradient, Place, norms, opened
from gradwidget._saved import Saved
from gradwidget._summary import copy_of, format_number, readable, unobserved
from gradwidget._userhooks import HookEffect, UserHook, after_accumulation, chain, of_node, of_tensor
from gradwidget._walk import Edges, Node, is_leaf, walk

HOLD = 64 << 20
"""Bytes of graphs that all widgets together keep alive."""
LOOKED_AT = 1_000
"""Nodes up to which saved variables are looked at right after the walk, so that they outlive `backward()`."""
COPY = 1 << 18
"""Elements up to which a tensor's value is copied."""
COPIES = 1 << 22
"""Elements that one widget copies in all."""


@dataclass(frozen=True, slots=True)
class HookCapture:
    """What the hook on one node saw in one pass.

    `gradients` has one entry for each output of the node: a tensor, a `Summary`, or None where none arrived.
    `step` counts from 1 and is out of `steps`; 0 for what `autograd.grad()` returned without running the node.
    `effects` tells what the user's own hooks did in that pass: arrived, after each hook, left.
    """

    number: int
    label: str
    step: int
    steps: int
    gradients: tuple[Gradient, ...]
    effects: tuple[HookEffect, ...] = ()

    @property
    def gradient(self) -> Gradient:
        """What arrived at the first output."""
        return self.gradients[0] if self.gradients else None

    def __repr__(self) -> str:
        return f"HookCapture(pass {self.number}, step {self.step} of {self.steps}: {self.gradient!r})"


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A user's `torch.autograd.Function`: its class, where that is written, and what it asks for.

    `materialize`: missing incoming gradients are made into zeros. `needs`: arguments of forward, and whether a
    gradient is asked for.
    """

    name: str
    where: str
    materialize: bool
    needs: tuple[tuple[str, bool], ...]


class Inspection:
    """One walked graph. Holds the user's graph only while it is small (see `HOLD`), tensors of it only weakly."""

    @unobserved()
    def __init__(
        self,
        outputs: tuple[Any, ...],
        *,
        names: object = None,
        frame: FrameType | None = None,
        watch: bool = True,
        keep: str = "auto",
        look: bool = True,
        history: History | None = None,
        changed: Callable[[bool], None] = lambda _: None,
    ) -> None:
        if keep not in KEEP:
            raise OptionError(
                f"keep={keep!r} is unknown.", f"Use one of {', '.join(map(repr, KEEP))}.{near(str(keep), KEEP)}"
            )
        resolved = resolve(outputs)
        self.keep = keep
        self.notes: tuple[str, ...] = resolved.notes
        self.names: dict[Place, list[str]] = {}
        self.places: dict[str, Place] = {}
        self.constants: dict[str, None] = {}
        self.closed = False
        self.history = history or History()
        self._limit = 0 if not look else COPY if keep != "summary" else 64
        self._changed = changed
        self._tensors: dict[Place, weakref.ref[torch.Tensor]] = {}
        self._named: dict[int, tuple[weakref.ref[torch.Tensor], list[str]]] = {}
        self._values: dict[Place, torch.Tensor] = {}
        self._versions: dict[Place, int] = {}
        self._saved: dict[int, dict[str, Saved]] = {}
        self._unpacked: dict[int, dict[str, None]] = {}
        self._copied = 0
        self._cut_labels: dict[Place, str] = {}

        nodes, self.columns = walk([(root.node, root.number) for root in resolved.roots])
        self._index: dict[Node, int] = {node: key for key, node in enumerate(nodes)}
        self._leaves: dict[int, int] = {id(node.variable): key for key, node in enumerate(nodes) if is_leaf(node)}
        for key, node in enumerate(nodes):
            if is_leaf(node):
                self._know((key, 0), node.variable)
        for root, place in zip(resolved.roots, self.columns.outputs, strict=True):
            if root.tensor is not None:
                self._know(place, root.tensor)
        self._take_names(_names.given(names))
        self._take_names(_names.in_scope(frame))
        self.sources = _sources(nodes)
        self.second = made_by_passes(self.columns)
        if look and len(nodes) <= LOOKED_AT and keep != "summary":
            for key, node in enumerate(nodes):
                self._look_at(key, node)
        self._cuts()
        self._recorder: Recorder | None = None
        self._roots: tuple[Output, ...] | None = None
        self._weak_roots = [None if r.tensor is None else weakref.ref(r.tensor) for r in resolved.roots]
        self._nodes: list[Node] | None = None
        self._hold(resolved.roots, nodes)
        self._index = {}
        self._leaves = {}
        if watch:
            self._watch(nodes)

    def __len__(self) -> int:
        return len(self.columns)

    @functools.cached_property
    def edges(self) -> Edges:
        """Edges by node."""
        return Edges(self.columns)

    # --- names ---------------------------------------------------------------------------------------------------

    def _know(self, place: Place, tensor: torch.Tensor) -> None:
        """Remember the tensor at a place, weakly, and its value if that is small."""
        if place in self._tensors:
            return
        self._tensors[place] = weakref.ref(tensor)
        self._copy(place, tensor)

    def _copy(self, place: Place, tensor: torch.Tensor) -> None:
        if place in self._values:
            return
        with torch._C.DisableTorchFunction():
            try:
                size = tensor.numel()
                version = tensor._version
            except Exception:
                return
        if size <= self._limit and self._copied + size <= COPIES:
            copy = copy_of(tensor)
            if copy is not None:
                self._values[place] = copy
                self._copied += size
        self._versions[place] = version

    def _take_names(self, pairs: Iterable[tuple[str, torch.Tensor]]) -> None:
        for name, tensor in pairs:
            _, known = self._named.setdefault(id(tensor), (weakref.ref(tensor), []))
            if name not in known:
                known.append(name)
            place = self._place_of(tensor)
            if place is None:
                self.constants.setdefault(name)
            elif name not in self.places:
                self.names.setdefault(place, []).append(name)
                self.places[name] = place
                self._know(place, tensor)

    def _place_of(self, tensor: torch.Tensor) -> Place | None:
        """Where a tensor stands in this graph. Only while the walk's index is at hand."""
        with torch._C.DisableTorchFunction():
            try:
                if not tensor.requires_grad:
                    return None
                key = self._leaves.get(id(tensor))
                if key is not None:
                    return (key, 0)
                node = tensor.grad_fn
            except RuntimeError:  # a stale view: reading its history raises
                return None
            if node is None:
                return None
            found = self._index.get(node)
            return None if found is None else (found, tensor.output_nr)

    def name_of(self, place: Place) -> str:
        """First name of a tensor of the graph, or ""."""
        return next(iter(self.names.get(place, ())), "")

    def names_of(self, key: int) -> tuple[str, ...]:
        """All names of the tensors that a node produced."""
        found: dict[str, None] = {}
        for output in range(len(self.columns.forms_of(key)) or 1):
            found.update(dict.fromkeys(self.names.get((key, output), ())))
        return tuple(found)

    def label_of(self, key: int) -> str:
        """How a node is called in a sentence: its name, or its operation and number."""
        names = self.names_of(key)
        return names[0] if names else f"{self.columns.ops[self.columns.op[key]].label} (node {key})"

    def find(self, key: int | str) -> tuple[int, int | None]:
        """Node number, and output number if a name of one output was given.

        Raises:
            UnknownNodeError: no node has that number or name.
        """
        if isinstance(key, str):
            place = self.places.get(key) or self._loose().get(_loosely(key))
            if place is None:
                raise self._unknown(key)
            return place
        if type(key) is bool or not isinstance(key, Integral) or not 0 <= key < len(self):
            raise UnknownNodeError(f"There is no node {key!r}.", f"Use a number from 0 to {len(self) - 1}, or a name.")
        return int(key), None

    def _loose(self) -> dict[str, Place]:
        return {_loosely(name): place for name, place in reversed(self.places.items())}

    def _unknown(self, name: str) -> UnknownNodeError:
        if name in self.constants:
            return UnknownNodeError(
                f"The tensor {name!r} has no node here: it needs no gradient, or the output does not depend on it.",
                "Look at a tensor that the output was computed from, with requires_grad=True.",
            )
        known = ", ".join(list(self.places)[:8])
        return UnknownNodeError(
            f"No tensor of this graph is called {name!r}.{near(name, self.places)}",
            f"Known names: {known}." if known else "Give names with names={'x': x}, or use a node's number.",
        )

    # --- what the forward pass left ------------------------------------------------------------------------------

    def _look_at(self, key: int, node: Node) -> None:
        last: dict[str, Saved] = {}
        for reading in _saved.read(node):
            same_as = ""
            if reading.tensor is not None:
                same_as = self._identify(reading.tensor)
                place = self._place_of(reading.tensor)
                if place is not None:
                    self._know(place, reading.tensor)
                    if place in self._values:
                        last[reading.name] = Saved(
                            reading.name, reading.state, self._values[place], same_as, reading.note
                        )
                        continue
            room = max(0, min(COPY, COPIES - self._copied))
            saved = _saved.settled(reading, same_as, None, room)
            if isinstance(saved.value, torch.Tensor):
                self._copied += saved.value.numel()
            last[reading.name] = saved
        if last:
            self._saved[key] = last

    def _identify(self, tensor: torch.Tensor) -> str:
        """Name of a tensor: its own, that of its place, or of what it is a view of."""
        reference, names = self._named.get(id(tensor), (None, []))
        if reference is not None and reference() is tensor:
            return names[0]
        place = self._place_of(tensor)
        if place is not None and self.name_of(place):
            return self.name_of(place)
        with torch._C.DisableTorchFunction():
            base = tensor._base
        if base is not None:
            reference, names = self._named.get(id(base), (None, []))
            if reference is not None and reference() is base:
                return f"view of {names[0]}"
        return ""

    def _cuts(self) -> None:
        """Name the constants that enter, where a saved variable tells which tensor one is."""
        for key, saved in self._saved.items():
            cut = self.edges.cuts[key]
            scalars = [s.value for s in saved.values() if s.name in _ARGUMENTS and _is_number(s)]
            constants = [s.same_as for s in saved.values() if s.same_as in self.constants and s.name in _ARGUMENTS]
            constants += [format_number(value.item()) for value in scalars]
            if len(cut) == 1 and len(constants) == 1:
                self._cut_labels[key, cut[0]] = constants[0]

    def cut_label(self, key: int, slot: int) -> str:
        """Name of the constant that enters at an input, or ""."""
        return self._cut_labels.get((key, slot), "")

    @unobserved()
    def value(self, place: Place) -> torch.Tensor | None:
        """Forward value of one tensor of the graph: as it was when the widget looked, else as it is now."""
        tensor = self.known_value(place)
        if tensor is None:
            nodes = self.nodes()
            tensor = None if nodes is None else self._search(place, nodes)
        return None if tensor is None else tensor.detach()

    @unobserved()
    def known_value(self, place: Place) -> torch.Tensor | None:
        """The same, without a look at what the graph has saved."""
        tensor = self._values.get(place)
        return self.tensor(place) if tensor is None else tensor

    @unobserved()
    def small_values(self) -> list[tuple[Place, torch.Tensor]]:
        """The values that fit on a wire."""
        return [(place, value) for place, value in self._values.items() if value.numel() <= 4 and value.dim() <= 1]

    def tensor(self, place: Place) -> torch.Tensor | None:
        """The user's own tensor, if it is still alive."""
        reference = self._tensors.get(place)
        return None if reference is None else reference()

    def _search(self, place: Place, nodes: list[Node]) -> torch.Tensor | None:
        """A tensor among what its own node and its consumers have saved."""
        consumers = [
            self.columns.source[e] for e in self.edges.consumers[place[0]] if self.columns.output[e] == place[1]
        ]
        for key in [place[0], *consumers[:50]]:
            for reading in _saved.read(nodes[key]):
                tensor = reading.tensor
                if tensor is not None and tensor.grad_fn is nodes[place[0]] and tensor.output_nr == place[1]:
                    return tensor
        return None

    def value_note(self, place: Place) -> str:
        """Why the value is unknown, or that it is no longer what the forward pass saw; "" otherwise."""
        tensor = self.tensor(place)
        before = self._versions.get(place)
        if tensor is not None and before is not None:
            with torch._C.DisableTorchFunction():
                try:
                    now = tensor._version
                except Exception:
                    now = before
            if now != before:
                changed = f"changed in place since (version {before}, now {now})"
                return (
                    f"As the widget first saw it; {changed}." if place in self._values else f"As it is now; {changed}."
                )
        if place in self._values or self.value(place) is not None:
            return ""
        return "Autograd did not keep this value, and no variable in scope holds it."

    def saved(self, key: int) -> dict[str, Saved]:
        """The saved variables of a node as they stand now; what was freed, as last seen."""
        return {name: saved for name, (saved, _) in self.saved_with_tensors(key).items()}

    @unobserved()
    def saved_with_tensors(self, key: int) -> dict[str, tuple[Saved, torch.Tensor | None]]:
        """The same, with the graph's own tensor where there is one: for a summary, not to be kept."""
        last = self._saved.get(key, {})
        nodes = self.nodes()
        if nodes is None:
            note = "The graph is gone. As last seen."
            return {
                n: (
                    Saved(
                        n, "freed" if s.value is not None and s.state == "value" else s.state, s.value, s.same_as, note
                    ),
                    s.value if isinstance(s.value, torch.Tensor) else None,
                )
                for n, s in last.items()
            }
        self._index = {node: k for k, node in enumerate(nodes)}
        try:
            found: dict[str, tuple[Saved, torch.Tensor | None]] = {}
            for reading in _saved.read(nodes[key]):
                mine = (reading.name, f"{reading.name}[")
                opened_now = [n for n in self._unpacked.get(key, ()) if n == mine[0] or n.startswith(mine[1])]
                if reading.state == "packed" and opened_now:
                    values = [(n, last[n]) for n in opened_now if n in last]
                    found |= {n: (s, s.value if isinstance(s.value, torch.Tensor) else None) for n, s in values}
                    continue
                parts = [n for n in last if n.startswith(f"{reading.name}[")] if reading.state == "freed" else []
                for name in parts or [reading.name]:
                    before = last.get(name)
                    if reading.state == "freed" and before is not None and before.state == "none":
                        found[name] = (before, None)
                        continue
                    same_as = before.same_as if before is not None else ""
                    if reading.tensor is not None and not same_as:
                        same_as = self._identify(reading.tensor)
                    one = _saved.Reading(name, reading.state, reading.tensor, reading.scalar, reading.note)
                    saved = _saved.settled(one, same_as, before, COPY)
                    tensor = reading.tensor if reading.tensor is not None else saved.value
                    found[name] = (saved, tensor if isinstance(tensor, torch.Tensor) else None)
            if any(s.state != "freed" for s, _ in found.values()):
                self._saved[key] = {n: s for n, (s, _) in found.items() if s.state != "freed"} | {
                    n: s for n, s in last.items() if n in found and found[n][0].state == "freed"
                }
            return found
        finally:
            self._index = {}

    # --- the graph's life ----------------------------------------------------------------------------------------

    def _hold(self, roots: tuple[Output, ...], nodes: list[Node]) -> None:
        if self.keep == "summary":
            return
        size = sum(self.columns.nbytes())
        if self.keep == "all" or size <= HOLD:
            self._roots = roots
            self._nodes = nodes
            if self.keep == "auto":
                _held.add(self, size)

    def let_go(self) -> None:
        """Keep the user's graph alive no longer."""
        self._roots = None
        self._nodes = None

    def nodes(self) -> list[Node] | None:
        """The graph's nodes by number, or None if it is gone."""
        if self.closed:
            return None
        if self._nodes is not None:
            return self._nodes
        tensors = [None if r is None else r() for r in self._weak_roots]
        if any(t is None for t in tensors):
            return None
        try:
            nodes, columns = walk([edge_of(t) for t in tensors if t is not None])
        except GradWidgetError:
            return None
        same = (
            columns.sequence == self.columns.sequence
            and columns.op == self.columns.op
            and columns.ops == self.columns.ops
        )
        return nodes if same else None  # an in-place edit has given the output another graph

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The graph as plain data."""
        return _graph.build(self.columns, self.names, self.sources, self.second, str(torch.__version__))

    # --- passes --------------------------------------------------------------------------------------------------

    def _watch(self, nodes: list[Node], before: Recorder | None = None) -> None:
        self._recorder = Recorder(
            nodes,
            self.columns,
            passes=[] if before is None else before.passes,
            tensors=self._tensors,
            name=functools.partial(_name_of, weakref.ref(self)),
            keep=self.keep,
            label=functools.partial(_label_of, weakref.ref(self)),
            resolve=functools.partial(_find, weakref.ref(self)),
            changed=functools.partial(_pass_changed, weakref.ref(self)),
        )

    @property
    def watching(self) -> bool:
        """Whether the next backward pass will be captured."""
        return self._recorder is not None and self._recorder.watching

    @property
    def passes(self) -> list[BackwardPass]:
        """All passes seen so far, oldest first."""
        if self._recorder is None:
            return []
        self._recorder.sweep()
        return list(self._recorder.passes)

    @property
    def dropped(self) -> int:
        """Older passes that were let go of."""
        return 0 if self._recorder is None else self._recorder.dropped

    def last_pass_with(self, key: int) -> BackwardPass | None:
        """The newest pass in which a gradient came to a node."""
        return next((p for p in reversed(self.passes) if p.reached(key)), None)

    @unobserved()
    def captures(self, key: int, output: int = 0) -> tuple[HookCapture, ...]:
        """What the hook on a node has seen, one entry a pass."""
        found = []
        for one in self.passes:
            if one.reached(key):
                step = one.steps.get(key, -1) + 1
                effects = self._effects(one, key, output)
                found.append(HookCapture(one.number, one.label, step, len(one), one.at(key), effects))
        return tuple(found)

    def _effects(self, one: BackwardPass, key: int, output: int) -> tuple[HookEffect, ...]:
        ladder = one.ladders.get((key, output), [])
        names = one.ladder_names.get((key, output), [])
        step = one.steps.get(key)
        received = one.received.get(step) if step is not None else None
        if not ladder and not received:
            return ()
        points: list[tuple[str, Gradient]] = []
        for i, item in enumerate(ladder):
            points.append((f"after {names[i]}" if i else "arrived", opened(item)))
        arrived = one.at(key)
        if received and output < len(received):
            points.append(("before the node's pre-hooks", arrived[output]))
            points.append(("left", opened(received[output])))
        else:
            points.append(("left", arrived[output] if output < len(arrived) else None))
        return chain(points)

    def _tensor_hooks(self, place: Place) -> list[UserHook]:
        tensor = self.tensor(place)
        return [] if tensor is None else of_tensor(tensor)

    def user_hooks(self, key: int) -> list[UserHook]:
        """The user's own hooks on a node and its tensors, in the order in which they run."""
        outputs = range(max(1, len(self.columns.forms_of(key))))
        found = [hook for output in outputs for hook in self._tensor_hooks((key, output))]
        nodes = self.nodes()
        before, after = ([], []) if nodes is None else of_node(nodes[key])
        tensor = self.tensor((key, 0))
        accumulated = after_accumulation(tensor) if self.kind_of(key) == "leaf" and tensor is not None else []
        return found + before + accumulated + after

    def hooks_note(self, key: int) -> str:
        """What the user's hooks on a node do that can't be told; "" where there is nothing to add."""
        hooks = self.user_hooks(key)
        last = self.last_pass_with(key)
        seen = last is not None and any(place[0] == key for place in last.ladders)
        if any(h.kind == "tensor hook" for h in hooks) and last is not None and not seen:
            return "What each hook did in this pass was not observed: it began here, or the graph is too large."
        before = sum(h.kind == "node pre-hook" for h in hooks)
        if before and last is not None and key in last.steps and last.steps[key] not in last.received:
            return "What the node's pre-hooks did was not observed: they are older than the widget, or not run yet."
        if before > 1:
            return (
                "Of several node pre-hooks only the joint effect of those that are newer than the widget is observed."
            )
        if any(h.kind in ("node hook", "module hook", "post-accumulate hook") for h in hooks):
            return "Hooks that run after the node act on what it handed on, or on .grad: see there."
        return ""

    def accumulated(self, key: int) -> str:
        """What a leaf's `.grad` holds, as a sentence; "" where the captured passes do not tell."""
        tensor = self.tensor((key, 0))
        grad = None if tensor is None else grad_of(tensor)
        passes = [p for p in self.passes if key in p.steps]
        if grad is None or not passes:
            return ""
        since = next((i for i in range(len(passes) - 1, -1, -1) if key in passes[i].fresh), None)
        if since is None:
            return ".grad held a gradient before the first pass that the widget has seen."
        parts = [part for p in passes[since:] if isinstance(part := p.at(key)[0], torch.Tensor)]
        if len(parts) < len(passes) - since:
            return ""
        with unobserved():
            plain = [one for one in (readable(t)[0] for t in (*parts, grad)) if one is not None]
            if len(plain) <= len(parts) or any(one.shape != plain[-1].shape for one in plain):
                return ""
            *parts, now = plain
            if torch.allclose(functools.reduce(torch.add, parts), now, equal_nan=True):
                if len(parts) == 1:
                    return ""
                return (
                    f"Accumulated over {len(parts)} passes ({', '.join(str(p.number) for p in passes[since:])}): "
                    "zero_grad() was not called in between."
                )
            if torch.allclose(parts[-1], now, equal_nan=True):
                return ""
        if self._recorder is not None and key in self._recorder.foreign:
            return ".grad is not the sum of these passes: a backward() through another graph has added to it."
        if any(p.mixed for p in passes):  # which of them came first is not known
            return ""
        return ".grad is not the sum of what the passes brought: something has changed it since."

    @unobserved()
    def history_of(self, key: int) -> tuple[int, list[float | None]] | None:
        """Number of the first iteration kept and the norms of the gradient since then; None without a loop."""
        if not len(self.history):
            return None
        start, lengths = self.history.of(self._token(key))
        return start, [*lengths, self._norm_now(key)]

    def _token(self, key: int) -> str:
        return self.name_of((key, 0)) or f"{key} {self.columns.ops[self.columns.op[key]].name}"

    def _norm_now(self, key: int) -> float | None:
        last = self.last_pass_with(key)
        step = None if last is None else last.steps.get(key)
        return None if last is None or step is None else norms([last.row(step)[0]])[0]

    def end_iteration(self) -> History:
        """Add the norms of the last pass to the history, and hand that on to the next iteration."""
        last = next(iter(reversed(self.passes)), None)
        if last is not None:
            last.settle()
            kept = [key for key in last.order[:LOOKED_AT] if last.row(last.steps[key])]
            tokens = {self._token(key): i for i, key in enumerate(kept)}
            self.history.add(tokens, norms([last.row(last.steps[key])[0] for key in kept]))
        return self.history

    @unobserved()
    def unpack(self, key: int, name: str) -> Saved:
        """Read a packed saved variable: this runs the hook that packed it, or the forward pass of a checkpoint again.

        Raises:
            GraphGoneError: the graph was dropped.
            UnknownNodeError: the node has no saved variable of that name.
        """
        nodes = self.nodes()
        if nodes is None:
            raise GraphGoneError("The graph is gone.", "Run the forward pass again and make a new GradWidget.")
        known = {reading.name for reading in _saved.read(nodes[key])}
        if name not in known:
            raise UnknownNodeError(
                f"The node saves no variable {name!r}.{near(name, known)}",
                f"It saves {', '.join(sorted(known)) or 'nothing'}.",
            )
        found = [_saved.settled(reading, "", None, COPIES) for reading in _saved.unpack(nodes[key], name)]
        self._saved.setdefault(key, {}).update({saved.name: saved for saved in found})
        self._unpacked.setdefault(key, {}).update(dict.fromkeys(saved.name for saved in found))
        return found[0]

    def function(self, key: int) -> FunctionInfo | None:
        """What is known of a user's `autograd.Function`; None for other nodes, and when the graph is gone."""
        nodes = self.nodes() if self.kind_of(key) == "function" else None
        return None if nodes is None else _function_info(nodes[key])

    def kind_of(self, key: int) -> str:
        """The node's kind: "operation", "leaf", ..."""
        return self.columns.ops[self.columns.op[key]].kind

    def probe_note(self) -> str:
        """What a probe would run of the user's, as a sentence; "" nothing."""
        nodes = self.nodes()
        if nodes is None or len(nodes) > LOOKED_AT:
            return ""
        hooks = [
            hook
            for key in range(len(nodes))
            for hook in self.user_hooks(key)
            if hook.kind not in ("post-accumulate hook", "retain_grad")
        ]
        if not hooks:
            return ""
        names = ", ".join(f"{h.name} ({h.where})" if h.where else h.name for h in hooks[:5])
        verb = "hook of yours would run" if len(hooks) == 1 else "hooks of yours would run"
        return f"{len(hooks)} {verb}: {names}{', ...' * (len(hooks) > 5)}."

    def probe(self) -> BackwardPass:
        """Run a backward pass that leaves every `.grad` untouched and the graph usable, and capture it.

        Raises:
            GraphGoneError: the graph was dropped, or a `backward()` has freed it.
        """
        nodes = self.nodes()
        if nodes is None:
            raise GraphGoneError("The graph is gone.", "Run the forward pass again and make a new GradWidget.")
        once = not self.watching
        if once:
            self._watch(nodes, self._recorder)
        recorder = self._recorder
        assert recorder is not None
        leaves = [(key, node) for key, node in enumerate(nodes) if is_leaf(node)]
        retained = _retained()
        before = len(recorder.passes)
        try:
            gradients = torch.autograd.grad(
                self._probe_roots(nodes),
                [torch.autograd.graph.GradientEdge(node, 0) for _, node in leaves],
                self._seeds(),
                retain_graph=True,
                allow_unused=True,
            )
        except RuntimeError as error:
            recorder.sweep()
            raise GraphGoneError(
                f"The probe could not run through the graph (torch says: {str(error).splitlines()[0][:120]}).",
                "A backward() has probably freed it: probe before that, or call backward(retain_graph=True).",
            ) from error
        finally:
            if once:
                recorder.close()
            for tensor, grad in retained:
                tensor.grad = grad
        one = recorder.passes[-1] if len(recorder.passes) > before else recorder.open_pass()
        one.returned.clear()
        for (key, _), gradient in zip(leaves, gradients, strict=True):
            one.add(key, (gradient,))
        one.label = one.kind = "probe"
        self._changed(True)
        return one

    def _probe_roots(self, nodes: list[Node]) -> Any:
        edge = torch.autograd.graph.GradientEdge
        if "GradientEdge" in str(torch.autograd.grad.__annotations__.get("outputs")):
            return [edge(nodes[key], number) for key, number in self.columns.outputs]
        # torch < 2.8 wants tensors; one edited in place since has another graph now, which nodes() has noticed.
        found = [root.tensor for root in self._roots or ()] or [None if r is None else r() for r in self._weak_roots]
        if any(t is None for t in found):
            raise GraphGoneError(
                "The output's tensor is gone.", "Keep a reference to the output, or use a newer torch."
            )
        return found

    def _seeds(self) -> list[torch.Tensor]:
        seeds = []
        for key, number in self.columns.outputs:
            form = self.columns.forms_of(key)[number]
            seeds.append(torch.ones(form.shape or (), dtype=getattr(torch, form.dtype), device=form.device))
        return seeds

    def close(self) -> None:
        """Remove every hook and let go of the user's graph. What was captured stays readable."""
        if self._recorder is not None:
            self._recorder.close()
        self.let_go()
        self.closed = True
        _held.discard(self)


def _retained() -> list[tuple[torch.Tensor, torch.Tensor | None]]:
    """Tensors that are no leaves and keep their gradient all the same, with what they hold now."""
    found = []
    with torch._C.DisableTorchFunction():
        for thing in gc.get_objects():
            if issubclass(type(thing), torch.Tensor):
                try:
                    if thing.retains_grad:
                        found.append((thing, thing.grad))
                except RuntimeError:  # a stale view
                    continue
    return found


class _Held:
    """Which widgets keep their graphs alive: the newest, up to `HOLD` bytes in all."""

    def __init__(self) -> None:
        self._sizes: weakref.WeakKeyDictionary[Inspection, int] = weakref.WeakKeyDictionary()
        self._order: list[weakref.ref[Inspection]] = []

    def add(self, inspection: Inspection, size: int) -> None:
        self._order = [r for r in self._order if r() is not None]
        self._order.append(weakref.ref(inspection))
        self._sizes[inspection] = size
        while len(self._order) > 1 and sum(self._sizes.values()) > HOLD:
            oldest = self._order.pop(0)()
            if oldest is not None:
                oldest.let_go()
                self._sizes.pop(oldest, None)

    def discard(self, inspection: Inspection) -> None:
        self._sizes.pop(inspection, None)
        self._order = [r for r in self._order if r() not in (None, inspection)]


_held = _Held()

# Saved variables that stand for an argument that could have had a gradient; a mask or an index could not.
_ARGUMENTS = frozenset({"self", "other", "mat1", "mat2", "input", "tensor1", "tensor2", "weight", "exponent", "vec"})

_INDEX = re.compile(r"\[(?:'([^']*)'|\"([^\"]*)\"|(\d+))\]")


def _is_number(saved: Saved) -> bool:
    """Whether a saved variable is a Python number that was an argument (torch wraps it into a tensor)."""
    value = saved.value
    return isinstance(value, torch.Tensor) and value.dim() == 0 and value.device.type == "cpu" and not saved.same_as


def _loosely(name: str) -> str:
    """`u[0]` and `d['k']` may also be asked for as `u.0` and `d.k`."""
    return _INDEX.sub(lambda m: "." + next(g for g in m.groups() if g is not None), name)


def _label_of(inspection: weakref.ref[Inspection], key: int) -> str:
    me = inspection()
    if me is None:
        return ""
    outputs = [place for place in me.columns.outputs if place[0] == key]
    name = me.name_of(outputs[0]) if outputs else ""
    return name or me.label_of(key)


def _name_of(inspection: weakref.ref[Inspection], place: Place) -> str:
    me = inspection()
    return "" if me is None else me.name_of(place)


def _find(inspection: weakref.ref[Inspection], key: int | str) -> tuple[int, int | None]:
    me = inspection()
    if me is None:
        raise GraphGoneError("The widget of this pass is gone.", "Keep a reference to the widget.")
    return me.find(key)


def _pass_changed(inspection: weakref.ref[Inspection], one: BackwardPass) -> None:
    me = inspection()
    if me is not None:
        me._changed(one.state != "running")


@unobserved()
def grad_of(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """`.grad`, without torch's warning for tensors that have none."""
    if tensor is None:
        return None
    try:
        grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    except RuntimeError:  # a stale view
        return None
    return None if grad is None else grad.detach()


def _function_info(node: Node) -> FunctionInfo:
    cls = getattr(node, "_forward_cls", None)
    name = getattr(cls, "__qualname__", type(node).__name__).rpartition("<locals>.")[2]
    code = getattr(getattr(cls, "backward", None), "__code__", None)
    where = "" if code is None else place_of(code.co_filename, code.co_firstlineno)
    asked = tuple(getattr(node, "needs_input_grad", None) or ())
    try:
        arguments = list(inspect.signature(cls.forward).parameters.values())  # type: ignore[union-attr]
    except (TypeError, ValueError, AttributeError):
        arguments = []
    if arguments and getattr(cls, "setup_context", None) is torch.autograd.Function.setup_context:
        arguments = arguments[1:]  # forward(ctx, ...)
    names = [_argument(arguments, i) for i in range(len(asked))]
    needs = tuple(zip(names, map(bool, asked), strict=True))
    # Torch does not let it be read; who calls it means to turn it off.
    codes = [getattr(getattr(cls, part, None), "__code__", None) for part in ("forward", "setup_context")]
    return FunctionInfo(
        name, where, not any("set_materialize_grads" in c.co_names for c in codes if c is not None), needs
    )


def _argument(parameters: list[inspect.Parameter], i: int) -> str:
    """Name of an argument of forward: "x", "tensors[1]" of `*tensors`."""
    last = len(parameters) - 1
    if parameters and i >= last and parameters[last].kind is inspect.Parameter.VAR_POSITIONAL:
        return f"{parameters[last].name}[{i - last}]"
    return parameters[i].name if i <= last else f"argument {i}"


def _sources(nodes: list[Node]) -> dict[int, str]:
    """Source lines, where anomaly mode has left a traceback on the nodes."""
    if not any("traceback_" in node.metadata for node in nodes[:3]):
        return {}
    found = {}
    for key, node in enumerate(nodes):
        line = _user_line(node.metadata.get("traceback_") or [])
        if line:
            found[key] = line
    return found


def _user_line(traceback: list[str]) -> str:
    for frame in reversed(traceback):
        match = re.match(r'\s*File "([^"]+)", line (\d+)', frame)
        if match and "/torch/" not in match[1]:
            return place_of(match[1], int(match[2]))
    return ""


def backward_graph(*outputs: Any, names: object = None) -> nx.MultiDiGraph[int]:
    """The autograd graph behind tensors as a `networkx.MultiDiGraph` of plain data. Sets no hook, keeps nothing alive.

    Nodes are numbered breadth-first from the outputs, slot by slot; edges point the way the gradient flows.

    - node: `op` ("MulBackward0"), `label` ("Mul"), `kind`, `name`, `names`, `shapes`, `dtypes` and `devices` (one for
      each output of the node), `saved` (names of saved variables), `cut` (inputs that need no gradient), `module`,
      `source`, `sequence` (-1 for leaves), `order` (2 for what a watched pass with create_graph=True has made)
    - edge: `input` (slot in `next_functions`), `output` (which output of the target)
    - graph: `outputs` (list of (node, output number, name)), `torch` (version)

    Args:
        *outputs: tensors, `GradientEdge`s or nodes, or nested containers of them.
        names: a module, or a mapping name -> tensor or module; names in the calling scope are found without it.

    Raises:
        OutputTypeError: nothing among the outputs is a tensor, an edge or a node.
        NoGraphError: no output has a graph.
    """
    found = Inspection(outputs, names=names, frame=_names.calling_frame(), watch=False, keep="summary", look=False)
    return found.graph
