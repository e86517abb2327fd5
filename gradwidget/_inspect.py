"""The graph behind one widget: what is known of it, what can still be read, and what was captured."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import weakref
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from types import FrameType
from typing import Any

import networkx as nx
import torch

from gradwidget import _graph, _made, _names, _saved, _second
from gradwidget._attributes import asked, called
from gradwidget._capture import KEEP, Recorder
from gradwidget._cells import Strip
from gradwidget._errors import GradWidgetError, GraphGoneError, OptionError, UnknownNodeError, near
from gradwidget._fold import Fold, fold
from gradwidget._history import History
from gradwidget._ipython import place_of
from gradwidget._made import ModuleCall
from gradwidget._modules import Class, Known
from gradwidget._outputs import Output, edge_of, resolve
from gradwidget._passes import BackwardPass, Gradient, Place, opened
from gradwidget._saved import Saved
from gradwidget._source_text import Spot, gradients
from gradwidget._summary import copy_of, format_number, unobserved
from gradwidget._walk import Edges, Node, is_leaf, walk

HOLD = 64 << 20
"""Bytes of graphs that all widgets together keep alive."""
LOOKED_AT = 1_000
"""Nodes up to which saved variables are looked at right after the walk, so that they outlive `backward()`."""
COPY = 1 << 18
"""Elements up to which a tensor's value is copied."""
COPIES = 1 << 22
"""Elements that one widget copies in all."""

_births = itertools.count()


alive: weakref.WeakValueDictionary[int, Inspection] = weakref.WeakValueDictionary()
"""What watches, oldest first."""


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
        self.worked_out: dict[str, Any] = {}  # what other rooms have found out about it, once for all
        self.history = history or History()
        self.judged: dict[int, object] = {}  # by number of a pass, where numbers first went bad in it
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
        self.classes: dict[str, Class] = {}
        given = _names.given(names, self.classes)
        self._given = frozenset(self.classes) if "" in self.classes else frozenset()
        self._take_names(given)
        self._take_names(_names.in_scope(frame, self.classes)[: max(0, _names.LIMIT - len(given))])
        found = _second.find(
            self.columns, nodes, [root.tensor for root in resolved.roots], lambda: self._gradients_by_text(frame)
        )
        self.second, self.unsure = found.made, found.unsure
        self.notes += (found.note,) * bool(found.note)
        self.made = self._find_made(names, frame)
        self.sources = _sources(nodes) | {key: place.text for key, place in self.made.places.items()}
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
        self._walked: dict[Node, int] = {}
        self._leaves = {}
        if watch:
            self._watch(nodes)
        self.cells = Strip({key: self._tensors[key, 0] for key in self._leaf_keys()}, weakref.ref(self))

    def _leaf_keys(self) -> list[int]:
        leaves = {op for op, one in enumerate(self.columns.ops) if one.kind == "leaf"}
        return [key for key, op in enumerate(self.columns.op) if op in leaves]

    def __len__(self) -> int:
        return len(self.columns)

    @functools.cached_property
    def edges(self) -> Edges:
        """Edges by node."""
        return Edges(self.columns)

    @functools.cached_property
    def fold(self) -> Fold:
        """The tree of groups."""
        known = Known(self.names, self.classes, self.modules, self.second, self._given)
        return fold(self.columns, lambda: self.edges, known)

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
                size = called(tensor, "numel")
                version = asked(tensor, "_version")
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
                if not asked(tensor, "requires_grad"):
                    return None
                key = self._leaves.get(id(tensor))
                if key is not None:
                    return (key, 0)
                node = asked(tensor, "grad_fn")
            except RuntimeError:  # a stale view: reading its history raises
                return None
            if node is None:
                return None
            found = self._index.get(node)
            return None if found is None else (found, asked(tensor, "output_nr"))

    def named(self) -> list[tuple[str, torch.Tensor]]:
        """(name, tensor) of what was in scope and is still alive; in a notebook, as its variables stand now."""
        before = [(name, ref()) for ref, names in self._named.values() for name in names]
        alive = [(name, tensor) for name, tensor in before if tensor is not None]
        now = _names.in_notebook()
        if now is None:
            return alive
        known = {name for name, _ in now}
        return [*now, *((name, tensor) for name, tensor in alive if name not in known)]

    def keys_of_tensors(self) -> dict[int, int]:
        """Identity -> node, of the user's tensors that are still alive."""
        alive = ((place[0], ref()) for place, ref in self._tensors.items())
        return {id(tensor): key for key, tensor in alive if tensor is not None}

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
        owner, _, attribute = name.rpartition(".")
        originals = [n for n in self.places if n.startswith(f"{owner}.parametrizations.{attribute}.original")]
        originals += [n for n in self.places if n in {f"{name}_g", f"{name}_v", f"{name}_orig"}]
        if originals:
            return UnknownNodeError(
                f"{name!r} is computed from other parameters at each access (a parametrization): it is no leaf here.",
                f"Its gradient lives on {' and '.join(map(repr, originals))}.",
            )
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
            base = asked(tensor, "_base")
        if base is not None:
            reference, names = self._named.get(id(base), (None, []))
            if reference is not None and reference() is base:
                return f"view of {names[0]}"
        with torch._C.DisableTorchFunction():
            if asked(tensor, "requires_grad"):
                return ""
            source = self._memory.get(_memory_of(tensor), "")
        return f"detached {source}" if source else ""

    @functools.cached_property
    @unobserved()
    def _memory(self) -> dict[int, str]:
        """Names of tensors with a gradient, also of those outside of this graph, by the memory that they lie in."""
        found: dict[int, str] = {}
        for reference, names in self._named.values():
            tensor = reference()
            if tensor is not None and asked(tensor, "requires_grad"):
                found.setdefault(_memory_of(tensor), names[0])
        found.pop(0, None)
        return found

    def _cuts(self) -> None:
        """Name the constants that enter, where a saved variable tells which tensor one is."""
        for key, saved in self._saved.items():
            cut = self.edges.cuts[key]
            scalars = [s.value for s in saved.values() if s.name in _ARGUMENTS and _is_number(s)]
            constants = [
                s.same_as
                for s in saved.values()
                if s.name in _ARGUMENTS and (s.same_as in self.constants or s.same_as.startswith("detached "))
            ]
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

    def value_or_summary(self, place: Place) -> Gradient:
        """The same; where the tensor is gone, the `Summary` that was recorded of it."""
        tensor = self.value(place)
        if tensor is not None:
            return tensor
        recorded = self.made.reduced.get(place)
        return None if recorded is None else opened(recorded)

    @unobserved()
    def known_value(self, place: Place) -> torch.Tensor | None:
        """The same, without a look at what the graph has saved."""
        tensor = self._values.get(place)
        if tensor is None:
            tensor = self.tensor(place)
        return self.made.whole.get(place) if tensor is None else tensor

    @unobserved()
    def small_values(self) -> list[tuple[Place, torch.Tensor]]:
        """The values that fit on a wire."""
        values = self.made.whole | self._values
        return [(place, value) for place, value in values.items() if value.numel() <= 4 and value.dim() <= 1]

    def tensor(self, place: Place) -> torch.Tensor | None:
        """The user's own tensor, if it is still alive."""
        reference = self._tensors.get(place)
        return None if reference is None else reference()

    def detached(self) -> list[tuple[int, str]]:
        """(node, name): where what was detached from a named tensor enters, as seen before the first pass."""
        pairs = [(key, one.same_as) for key, saved in self._saved.items() for one in saved.values()]
        return [(key, what.removeprefix("detached ")) for key, what in pairs if what.startswith("detached ")]

    def called(self, name: str) -> torch.Tensor | None:
        """The tensor that had a name in scope, if it is still alive."""
        return next((reference() for reference, names in self._named.values() if name in names), None)

    def known_as(self, tensor: torch.Tensor) -> str:
        """First name of any tensor that was in scope, be it of the graph or not; "" if it has none."""
        reference, names = self._named.get(id(tensor), (None, []))
        return names[0] if reference is not None and reference() is tensor else ""

    @unobserved()
    def find_tensor(self, tensor: torch.Tensor) -> Place | None:
        """Where a tensor stands in this graph, None if it is not of it."""
        known = next((place for place, reference in self._tensors.items() if reference() is tensor), None)
        try:
            node = asked(tensor, "grad_fn")
        except RuntimeError:  # a stale view
            return None
        if node is None:
            return known
        nodes = self.nodes()
        if nodes is None:
            return known
        if known is not None and nodes[known[0]] is node:
            return known
        found = next((key for key, one in enumerate(nodes) if one is node), None)
        return None if found is None else (found, asked(tensor, "output_nr"))

    def _search(self, place: Place, nodes: list[Node]) -> torch.Tensor | None:
        """A tensor among what its own node and its consumers have saved."""
        consumers = [
            self.columns.source[e] for e in self.edges.consumers[place[0]] if self.columns.output[e] == place[1]
        ]
        for key in [place[0], *consumers[:50]]:
            for reading in _saved.read(nodes[key]):
                tensor = reading.tensor
                if (
                    tensor is not None
                    and asked(tensor, "grad_fn") is nodes[place[0]]
                    and asked(tensor, "output_nr") == place[1]
                ):
                    return tensor
        return None

    def value_note(self, place: Place) -> str:
        """Why the value is unknown, or that it is no longer what the forward pass saw; "" otherwise."""
        tensor = self.tensor(place)
        before = self._versions.get(place)
        if tensor is not None and before is not None:
            with torch._C.DisableTorchFunction():
                try:
                    now = asked(tensor, "_version")
                except Exception:
                    now = before
            if now != before:
                changed = f"changed in place since (version {before}, now {now})"
                return (
                    f"As the widget first saw it; {changed}." if place in self._values else f"As it is now; {changed}."
                )
        if place in self._values or self.value(place) is not None:
            return ""
        if place in self.made.reduced:
            return ""
        return "Autograd did not keep this value, and no variable in scope holds it."

    def saved(self, key: int) -> dict[str, Saved]:
        """The saved variables of a node as they stand now; what was freed, as last seen."""
        return {name: saved for name, (saved, _) in self.saved_with_tensors(key).items()}

    def seen_saved(self, key: int) -> dict[str, Saved]:
        """The saved variables of a node as they were when the widget looked; read now if it did not."""
        if not self.columns.ops[self.columns.op[key]].saved:
            return {}
        return self._saved.get(key) or self.saved(key)

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
        self._index = self._walked or {node: k for k, node in enumerate(nodes)}
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

    @contextlib.contextmanager
    def walked_once(self) -> Iterator[None]:
        """Many nodes are read in a row: the graph is walked once for all of them."""
        held, nodes = self._nodes, self.nodes()
        self._nodes = nodes
        self._walked = {node: key for key, node in enumerate(nodes or ())}
        try:
            yield
        finally:
            self._walked = {}
            if held is None:
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

    def _gradients_by_text(self, frame: FrameType | None) -> tuple[list[int], bool]:
        """Outputs to which the source text gives what `autograd.grad` has returned; whether others come from such."""
        names = [self.name_of(place) for place in self.columns.outputs]
        given, come = gradients(Spot.of(frame), [name for name in names if name.isidentifier()])
        return [i for i, name in enumerate(names) if name in given], bool(come)

    def _find_made(self, names: object, frame: FrameType | None) -> _made.Made:
        given = _names.modules_given(names)
        return _made.find(
            self.columns,
            [*given, *_names.modules_in_scope(frame)],
            given=bool(given) and not given[0][0],
            second=self.second,
        )

    def module_of(self, key: int) -> str:
        """Path of the module that made a node, as recorded, else as the parameters tell; "" unknown."""
        return self._modules_of_nodes.get(key, "")

    @functools.cached_property
    def _modules_of_nodes(self) -> dict[int, str]:
        recorded = {key: self.made.module(key) for key in self.made.modules}
        paths = {call.path for calls in self.made.modules.values() for call in calls}
        found = dict(recorded)
        for key, path in self.fold.modules.items():
            below = path.partition(".")[2]  # recorded paths leave out the variable of the only root
            found.setdefault(key, below if below in paths and path not in paths else path)
        return found

    @property
    def modules(self) -> dict[int, tuple[ModuleCall, ...]]:
        """Module calls in which a node was made, outermost first; only of nodes made under `record()`."""
        return self.made.modules

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The graph as plain data."""
        return _graph.build(
            self.columns,
            self.names,
            _graph.Told(self.sources, self._modules_of_nodes, self.second, self.unsure),
            str(torch.__version__),
        )

    # --- passes --------------------------------------------------------------------------------------------------

    def _watch(self, nodes: list[Node], before: Recorder | None = None) -> None:
        alive[next(_births)] = self
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
    def foreign(self) -> frozenset[int]:
        """Leaves to whose `.grad` passes through other graphs have added."""
        return frozenset() if self._recorder is None else frozenset(self._recorder.foreign)

    @property
    def dropped(self) -> int:
        """Older passes that were let go of."""
        return 0 if self._recorder is None else self._recorder.dropped

    def last_pass_with(self, key: int) -> BackwardPass | None:
        """The newest pass in which a gradient came to a node."""
        return next((p for p in reversed(self.passes) if p.reached(key)), None)

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

    def kind_of(self, key: int) -> str:
        """The node's kind: "operation", "leaf", ..."""
        return self.columns.ops[self.columns.op[key]].kind

    def close(self) -> None:
        """Remove every hook and let go of the user's graph. What was captured stays readable."""
        if self._recorder is not None:
            self._recorder.close()
        self.let_go()
        self.cells.close()
        self.closed = True
        _held.discard(self)


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


def _memory_of(tensor: torch.Tensor) -> int:
    """Where a tensor's storage lies; 0 where it has none."""
    try:
        return int(called(tensor, "untyped_storage").data_ptr())
    except Exception:
        return 0


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
      `source`, `sequence` (-1 for leaves), `order` (2 for what a pass with create_graph=True has made,
      None where that can't be told: nobody watched that pass)
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
