"""JSON of `_stored` -> a graph to look at without torch's graph behind it. What is read is checked, and never run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import networkx as nx
import torch

from gradwidget import _stored
from gradwidget._bad import Bad
from gradwidget._diagnosis import Diagnosis
from gradwidget._errors import GradWidgetError, UnknownNodeError, near
from gradwidget._passes import Gradient, Place, own, summary_of
from gradwidget._saved import STATES, Saved
from gradwidget._summary import Corner, Histogram, Stats, Summary
from gradwidget._told import FunctionInfo, HookCapture
from gradwidget._userhooks import UserHook
from gradwidget._view import Why
from gradwidget._walk import Form
from gradwidget._wire import VERSION as WIRE
from gradwidget._wire import Json

if TYPE_CHECKING:
    from gradwidget._widget import GradWidget

Found: TypeAlias = "tuple[int, int | None]"
"""Node number, and output number if a name of one output was given."""

_DEEPEST = 24  # levels of lists and objects; ours have about ten
_DIGITS = 20
_REMEDY = "Write it again with to_json() or capture()."
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    )
}


@dataclass(frozen=True, slots=True, repr=False)
class StoredPass:
    """A backward pass that was stored. Attributes as those of `BackwardPass`; `bad` is where numbers first went bad."""

    number: int
    label: str
    kind: str
    state: str
    inside: int
    note: str
    order: tuple[int, ...]
    arrived: tuple[tuple[Gradient, ...], ...]
    returned: dict[Place, Gradient]
    bad: Bad | None
    steps: dict[int, int]  # node -> step
    resolve: Callable[[int | str], Found]

    @property
    def captures(self) -> dict[int, tuple[Gradient, ...]]:
        """Node number -> what arrived there, one entry for each output of the node, in execution order."""
        return {key: self.at(key) for key in self.order}

    def at(self, key: int) -> tuple[Gradient, ...]:
        """What arrived at each output of a node, or was returned for it; empty if nothing was."""
        step = self.steps.get(key)
        if step is not None:
            return self.arrived[step]
        outputs = [output for node, output in self.returned if node == key]
        return tuple(self.returned.get((key, output)) for output in range(max(outputs, default=-1) + 1))

    def gradient(self, key: int | str) -> Any:
        """What arrived at a node (its number, or a name); as `BackwardPass.gradient`.

        Raises:
            UnknownNodeError: no node has that number or name.
        """
        number, output = self.resolve(key)
        found = tuple(map(own, self.at(number)))
        if output is None:
            return found[0] if len(found) == 1 else found or None
        return found[output] if output < len(found) else None

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        return f"StoredPass({self.number}: {self.label}, {len(self.order)} nodes, {self.state})"


class Snapshot:
    """A graph and its passes as they were stored; shows itself in a notebook like the widget it was made from.

    Attributes:
        graph: the `networkx.MultiDiGraph` of plain data, equal to the one that was stored.
        passes: the backward passes, oldest first.
        rank, world: of the process that wrote it and of how many; None outside of a distributed job.
        version: of the format; `gradwidget`: of the package that wrote it.
    """

    def __init__(self, data: Json) -> None:
        read = _Reader(data, self.find)
        self.version: int = read.version
        self.gradwidget: str = read.gradwidget
        self.rank: int | None = read.rank
        self.world: int | None = read.world
        self._graph = read.graph
        self.passes: list[StoredPass] = read.passes
        self._tensors = read.tensors
        self._values = read.values
        self._saved = read.saved
        self._formulas = read.formulas
        self._names = read.names
        self._places = {name: place for place, names in reversed(read.names.items()) for name in reversed(names)}
        self.page = read.page

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """A `networkx.MultiDiGraph` of plain data, as the widget's; a copy."""
        return self._graph.copy()

    def find(self, key: int | str) -> Found:
        """Node number, and output number if a name was given.

        Raises:
            UnknownNodeError: no node has that number or name.
        """
        if isinstance(key, str):
            place = self._places.get(key)
            if place is None:
                known = ", ".join(list(self._places)[:8])
                raise UnknownNodeError(
                    f"No tensor of this snapshot is called {key!r}.{near(key, self._places)}",
                    f"Known names: {known}." if known else "Use a node's number.",
                )
            return place
        if type(key) is not int or not 0 <= key < len(self):
            raise UnknownNodeError(f"There is no node {key!r}.", f"Use a number from 0 to {len(self) - 1}, or a name.")
        return key, None

    def __getitem__(self, key: int | str) -> SnapshotNode:
        """One node, by its number or by any name of its tensors.

        Raises:
            UnknownNodeError: no node has that number or name.
        """
        return SnapshotNode(self, *self.find(key))

    def __len__(self) -> int:
        return len(self._graph)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[SnapshotNode]:
        return (self[key] for key in range(len(self)))

    @property
    def bad(self) -> Bad | None:
        """Where numbers first went bad, in the first pass in which they did."""
        return next((one.bad for one in self.passes if one.bad is not None), None)

    def to_text(self) -> str:
        """A short table, a row a node. The same snapshot gives the same text."""
        rows = [("", "node", "name", "form", "value", "gradient")]
        for node in (self[key] for key in range(min(len(self), 60))):
            form = node._form
            value, gradient = _text(node._value_of(0)), _text(node._gradient_of(0))
            rows.append((str(node.key), node.label, node.name, "?" if form is None else form.text, value, gradient))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [f"Snapshot: {len(self)} nodes, {self._graph.number_of_edges()} edges"]
        lines += [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        return "\n".join([*lines, *([f"... and {len(self) - 60} more nodes"] if len(self) > 60 else [])])

    def widget(self) -> GradWidget:
        """A widget that shows the snapshot. Clicks are answered from what was stored.

        Raises:
            GradWidgetError: its picture was stored for a page of another version.
        """
        from gradwidget._reopened import SnapshotWidget  # noqa: PLC0415  # it imports this room

        return SnapshotWidget(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        try:
            bundle: Any = self.widget()._repr_mimebundle_(**kwargs)
        except GradWidgetError as error:
            return {"text/plain": f"{self!r}\n{error}"}
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return data | {"text/plain": repr(self)}, metadata

    def __repr__(self) -> str:
        nodes, edges, passes = len(self), self._graph.number_of_edges(), len(self.passes)
        parts = [f"{nodes} node{'s' * (nodes != 1)}", f"{edges} edge{'s' * (edges != 1)}"]
        parts += [f"{passes} pass{'es' * (passes != 1)}"] if passes else []
        parts += [f"rank {self.rank} of {self.world}"] if self.rank is not None else []
        return f"Snapshot({', '.join(parts)})"


class SnapshotNode:
    """One node of a snapshot; attributes as those of `NodeView`, as they were when it was stored."""

    __slots__ = ("_output", "_snapshot", "key")

    def __init__(self, snapshot: Snapshot, key: int, output: int | None) -> None:
        self._snapshot = snapshot
        self._output = output
        self.key = key

    @property
    def _attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = self._snapshot._graph.nodes[self.key]
        return found

    @property
    def _panel(self) -> Json:
        panel = self._snapshot.page["details"].get(str(self.key))
        return panel if isinstance(panel, dict) else {}

    @property
    def _count(self) -> int:
        return len(self._attributes["shapes"])

    @property
    def _form(self) -> Form | None:
        found, output = self._attributes, self._output or 0
        columns = (found["shapes"], found["dtypes"], found["devices"])
        return Form(*(column[output] for column in columns)) if output < min(map(len, columns)) else None

    @property
    def op(self) -> str:
        """Torch's name of the backward function."""
        return str(self._attributes["op"])

    @property
    def label(self) -> str:
        """The forward operation."""
        return str(self._attributes["label"])

    @property
    def kind(self) -> str:
        """One of "operation", "leaf", "function", "checkpoint", "compiled", "hook"."""
        return str(self._attributes["kind"])

    @property
    def name(self) -> str:
        """First name of the tensor, "" if it has none."""
        return next(iter(self.names), "")

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the tensor."""
        if self._output is None:
            return tuple(self._attributes["names"])
        return self._snapshot._names.get((self.key, self._output), ())

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the tensor that the node produced; None where it can't be said."""
        return None if self._form is None else self._form.shape

    @property
    def dtype(self) -> str:
        """Of the tensor: "float32"."""
        return "" if self._form is None else self._form.dtype

    @property
    def device(self) -> str:
        """Where the tensor lived."""
        return "" if self._form is None else self._form.device

    @property
    def value(self) -> Any:
        """Forward value: a tensor if it was small, else a `Summary`; None unknown; a tuple for several outputs."""
        return self._each(self._value_of)

    @property
    def gradient(self) -> Any:
        """Gradient of the last pass that reached the node: a tensor, a `Summary`, or None; a tuple as `value`."""
        return self._each(self._gradient_of)

    @property
    def gradients(self) -> tuple[Any, ...]:
        """Like `gradient`, one entry for each pass that reached the node, oldest first."""
        rows = [row for row in (one.at(self.key) for one in self._snapshot.passes) if row]
        return tuple(
            self._each(lambda output, row=row: own(row[output]) if output < len(row) else None) for row in rows
        )

    @property
    def saved(self) -> MappingProxyType[str, Saved]:
        """Saved variables by name."""
        found = self._snapshot._saved.get(self.key, ())
        copies = (Saved(s.name, s.state, own(s.value), s.same_as, s.note) for s in found)
        return MappingProxyType({one.name: one for one in copies})

    @property
    def hooks(self) -> tuple[HookCapture, ...]:
        """What was captured at the node, one entry for each pass that reached it."""
        return tuple(
            HookCapture(one.number, one.label, one.steps.get(self.key, -1) + 1, len(one), one.at(self.key))
            for one in self._snapshot.passes
            if one.at(self.key)
        )

    @property
    def user_hooks(self) -> tuple[UserHook, ...]:
        """The user's own hooks."""
        found = _dicts(self._panel.get("hooks"))
        return tuple(UserHook(*(str(hook.get(k, "")) for k in ("kind", "name", "where"))) for hook in found)

    @property
    def function(self) -> FunctionInfo | None:
        """What is known of a user's `autograd.Function`; None for other nodes."""
        found = self._panel.get("function")
        if not isinstance(found, dict):
            return None
        needs = [pair for pair in found.get("needs") or () if isinstance(pair, list) and len(pair) == 2]
        return FunctionInfo(
            str(found.get("name", "")),
            str(found.get("where", "")),
            bool(found.get("materialize")),
            tuple((str(name), bool(asked)) for name, asked in needs),
        )

    @property
    def formula(self) -> str:
        """The local derivative; "" where none is known."""
        return self._snapshot._formulas.get(self.key, "")

    @property
    def module(self) -> str:
        """Path of the module that made the node; "" unknown."""
        return str(self._attributes.get("module", ""))

    @property
    def source(self) -> str:
        """Source line that made the node; "" unknown."""
        return str(self._attributes.get("source", ""))

    @property
    def why(self) -> Why:
        """Why the gradient is as it was: text with `.kind`, `.cause`, `.remedy`, `.evidence`; "" if nothing is odd."""
        found = self._panel.get("why")
        if not isinstance(found, dict):
            return Why(None)
        kind, cause, remedy = (str(found.get(k, "")) for k in ("kind", "cause", "remedy"))
        return Why(Diagnosis(kind, cause, remedy, tuple(map(str, found.get("evidence") or ()))))

    def _value_of(self, output: int) -> Any:
        return own(self._snapshot._values.get((self.key, output)))

    def _gradient_of(self, output: int) -> Any:
        rows = (one.at(self.key) for one in reversed(self._snapshot.passes))
        row = next(filter(None, rows), ())
        return own(row[output]) if output < len(row) else None

    def _each(self, of: Any) -> Any:
        if self._output is not None:
            return of(self._output)
        return of(0) if self._count <= 1 else tuple(of(output) for output in range(self._count))

    def __repr__(self) -> str:
        form = self._form
        parts = [form.text if form is not None else "?"]
        if self._output is not None or self._count <= 1:
            value, gradient = _text(self.value), _text(self.gradient)
            parts += [f"value {value}"] if value else []
            parts += [f"gradient {gradient}"] if gradient else []
        head = " ".join(filter(None, (self.label, self.name)))
        return f"SnapshotNode({self.key}: {head}, {', '.join(parts)})"


def _text(gradient: Any) -> str:
    summary = summary_of(gradient)
    return "" if summary is None else summary.text


def _dicts(value: Any) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def from_json(text: str | bytes) -> Snapshot:
    """Read back what `to_json()` or `capture()` has written.

    Raises:
        GradWidgetError: it is none of ours, it is broken, or a newer version has written it.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise GradWidgetError(f"JSON is text, not {type(text).__name__}.", "Give what to_json() returned.")
    try:
        data = json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_refuse)
    except RecursionError:
        _refuse("nested too deeply")
    except (ValueError, MemoryError) as error:
        _refuse(f"no JSON: {str(error)[:120]}")
    try:
        return Snapshot(data)
    except GradWidgetError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
        _refuse(f"{type(error).__name__}: {str(error)[:120]}")


def _refuse(reason: str) -> NoReturn:
    raise GradWidgetError(f"This is no snapshot of gradwidget, or a broken one ({reason}).", _REMEDY)


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        _refuse(f"a whole number of {len(text):,} digits")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _refuse("a number out of range")
    return value


class _Reader:
    """Checks each part and builds what a `Snapshot` holds."""

    def __init__(self, data: Any, resolve: Callable[[int | str], Found]) -> None:
        self._resolve = resolve
        if not isinstance(data, dict) or "version" not in data or "gradwidget" not in data:
            _refuse("it does not say its version")
        self.version = _natural(data["version"], "version")
        self.gradwidget = _str(data["gradwidget"], "gradwidget")
        if self.version > _stored.VERSION:
            raise GradWidgetError(
                f"This snapshot has format {self.version}, written by gradwidget {self.gradwidget[:40]}; "
                f"this gradwidget reads up to {_stored.VERSION}.",
                "Open it with a newer gradwidget.",
            )
        _bounded_depth(data)
        self.rank = None if data.get("rank") is None else _natural(data["rank"], "rank")
        self.world = None if data.get("world") is None else _natural(data["world"], "world")
        self.graph = _graph(data)
        self._size = len(self.graph)
        self.tensors = [_tensor(entry) for entry in _list(data["tensors"], "tensors")]
        self.values = {
            self._place(key, output): self._at(index)
            for key, output, index in _rows(data["values"], 3, "values")
            if index is not None
        }
        self.saved = {
            self._key(key): tuple(self._variable(one) for one in _list(variables, "saved"))
            for key, variables in _rows(data["saved"], 2, "saved")
        }
        self.formulas = {self._key(key): _str(text, "formula") for key, text in _rows(data["formulas"], 2, "formulas")}
        self.passes = [self._pass(_dict(one, "pass")) for one in _list(data["passes"], "passes")]
        self.page = self._page(_dict(data["page"], "page"))
        self.names: dict[Place, tuple[str, ...]] = {
            self._place(key, output): tuple(_str(name, "name") for name in _list(names, "names"))
            for key, output, names in _rows(self.page["graph"]["names"], 3, "names")
        }

    def _key(self, key: Any) -> int:
        if type(key) is not int or not 0 <= key < self._size:
            _refuse(f"there is no node {str(key)[:40]}")
        return key

    def _place(self, key: Any, output: Any) -> Place:
        return self._key(key), _natural(output, "output")

    def _at(self, index: Any) -> Gradient:
        if index is None:
            return None
        if type(index) is not int or not 0 <= index < len(self.tensors):
            _refuse(f"there is no tensor {str(index)[:40]}")
        return self.tensors[index]

    def _variable(self, data: Any) -> Saved:
        one = _dict(data, "saved variable")
        words = [_str(one[k], k) for k in ("name", "state", "same_as", "note")]
        if words[1] not in STATES:
            _refuse("a saved variable in no known state")
        value = one["value"]
        whole = self._at(value["tensor"]) if isinstance(value, dict) and "tensor" in value else _plain(value)
        return Saved(words[0], words[1], whole, words[2], words[3])

    def _pass(self, data: Json) -> StoredPass:
        order = tuple(self._key(key) for key in _list(data["order"], "order"))
        arrived = tuple(tuple(self._at(i) for i in _list(row, "arrived")) for row in _list(data["arrived"], "arrived"))
        if len(arrived) != len(order):
            _refuse("a pass with steps missing")
        returned = {
            self._place(key, output): self._at(index) for key, output, index in _rows(data["returned"], 3, "returned")
        }
        if any(output > 10_000 for _, output in returned):
            _refuse("an output out of range")
        label, kind, state, note = (_str(data[k], k) for k in ("label", "kind", "state", "note"))
        bad = None if data["bad"] is None else self._bad(_dict(data["bad"], "bad"))
        steps = {key: step for step, key in enumerate(order)}
        numbers = _natural(data["number"], "number"), _natural(data["inside"], "inside")
        return StoredPass(
            numbers[0], label, kind, state, numbers[1], note, order, arrived, returned, bad, steps, self._resolve
        )

    def _bad(self, data: Json) -> Bad:
        kind, text = _str(data["kind"], "kind"), _str(data["text"], "text")
        return Bad(self._key(data["key"]), _natural(data["step"], "step"), kind, text)

    def _page(self, page: Json) -> Json:
        """The page's own payloads; the page draws their text as text, whatever it says."""
        graph, live = _dict(page["graph"], "page"), _dict(page["live"], "page")
        for part in (graph, live):
            _natural(part["v"], "version")
        if graph["v"] == WIRE:
            self._check_picture(graph)
            for one in _list(live["passes"], "passes"):
                for key in [*_list(one["order"], "order"), *_list(one["key"], "key")]:
                    self._key(key)
        details = _dict(page["details"], "details")
        for key, one in details.items():
            if not key.isascii() or not key.isdigit() or _dict(one, "panel").get("key") != self._key(int(key)):
                _refuse("a panel of no node")
        return {"graph": graph, "live": live, "details": details}

    def _check_picture(self, graph: Json) -> None:
        tables = {name: len(_list(graph[name], name)) for name in ("ops", "labels", "kinds", "forms")}
        if graph["nodes"] != self._size or len(set(list(tables.values())[:3])) != 1:
            _refuse("its picture is of another graph")
        limits = {"op": (0, tables["ops"]), "form": (-1, tables["forms"]), "source": (0, self._size)}
        limits |= {"target": (0, self._size), "input": (0, 2**31), "output": (0, 2**31)}
        for name, (low, high) in limits.items():
            column = _list(graph[name], name)
            if any(type(x) is not int or not low <= x < high for x in column):
                _refuse(f"a number out of range in {name}")
        if len(graph["op"]) != self._size or len(graph["form"]) != self._size:
            _refuse("its picture lacks nodes")
        if len({len(graph[name]) for name in ("source", "target", "input", "output")}) != 1:
            _refuse("its picture lacks edges")
        for name in ("ops", "labels", "kinds"):
            for word in graph[name]:
                _str(word, name)
        columns = {name: _list(column, name) for name, column in _dict(graph["groups"], "groups").items()}
        if len({len(column) for column in columns.values()}) != 1:
            _refuse("its groups are incomplete")
        boxes = len(columns["id"])
        for name in ("id", "kind", "title", "type", "path"):
            for word in columns[name]:
                _str(word, name)
        if any(type(parent) is not int or not -1 <= parent < i for i, parent in enumerate(columns["parent"])):
            _refuse("a group inside of none")
        member = _list(graph["member"], "member")
        if len(member) != (self._size if boxes else 0):
            _refuse("its groups lack nodes")
        if any(type(box) is not int or not -1 <= box < boxes for box in member):
            _refuse("a node of no group")
        for name in _list(graph["collapsed"], "collapsed"):
            _str(name, "collapsed")


def _graph(data: Json) -> nx.MultiDiGraph[int]:
    """The graph as `_graph.build` made it: sequences that hang on nodes are tuples."""
    if data.get("directed") is not True or data.get("multigraph") is not True:
        _refuse("it is no directed multigraph")
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    nodes = [_dict(node, "node") for node in _list(data["nodes"], "nodes")]
    for key, node in enumerate(nodes):
        if type(node.get("id")) is not int or node["id"] != key:
            _refuse("its nodes are not numbered")
        attributes = {k: _frozen(v) for k, v in node.items() if k != "id" and k not in _stored.EXTRAS}
        for name in ("op", "label", "kind", "name", "module", "source"):
            _str(attributes[name], name)
        for name in ("names", "shapes", "dtypes", "devices", "saved", "cut"):
            if not isinstance(attributes[name], tuple):
                _refuse(f"{name} is no list")
        for shape in attributes["shapes"]:
            if shape is not None:
                _shape(shape)
        for name in ("names", "dtypes", "devices", "saved"):
            for word in attributes[name]:
                _str(word, name)
        for slot in attributes["cut"]:
            _natural(slot, "cut")
        graph.add_nodes_from([(key, attributes)])
    for edge in (_dict(edge, "edge") for edge in _list(data["edges"], "edges")):
        ends = [edge["source"], edge["target"], edge.get("key", 0)]
        if any(type(x) is not int or x < 0 for x in ends) or max(ends[:2]) >= len(nodes):
            _refuse("an edge leads nowhere")
        attributes = {k: _frozen(v) for k, v in edge.items() if k not in ("source", "target", "key")}
        graph.add_edges_from([(*ends, attributes)])
    for name, value in _dict(data["graph"], "graph").items():
        graph.graph[name] = [_frozen(one) for one in value] if isinstance(value, list) else value
    return graph


def _tensor(data: Any) -> Gradient:
    entry = _dict(data, "tensor")
    shape = None if entry["shape"] is None else _shape(entry["shape"])
    form = Form(shape, _str(entry["dtype"], "dtype"), _str(entry["device"], "device"))
    if "data" in entry:
        numbers = _list(entry["data"], "data")
        if shape is None or math.prod(shape) != len(numbers):
            _refuse("a tensor whose numbers do not fill its shape")
        dtype = _DTYPES.get(form.dtype, torch.float32)
        return torch.tensor([_element(x, dtype) for x in numbers], dtype=dtype, device="cpu").reshape(shape)
    stats, histogram, corner = entry["stats"], entry["histogram"], entry["corner"]
    return Summary(
        form,
        _natural(entry["numel"], "numel"),
        None if stats is None else _stats(_dict(stats, "stats")),
        None if histogram is None else _histogram(*_list(histogram, "histogram")),
        None if corner is None else _corner(*_list(corner, "corner")),
        _str(entry["note"], "note"),
    )


def _stats(data: Json) -> Stats:
    norm, mean, std, low, high = (_real(data[k]) for k in ("norm", "mean", "std", "min", "max"))
    nan, inf, zero = (_natural(data[k], k) for k in ("nan", "inf", "zero"))
    return Stats(norm, mean, std, low, high, nan, inf, zero)


def _histogram(low: Any, high: Any, counts: Any) -> Histogram:
    return Histogram(_real(low), _real(high), tuple(_natural(n, "count") for n in _list(counts, "counts")))


def _corner(rows: Any, columns: Any, data: Any, whole: Any, index: Any) -> Corner:
    numbers = tuple(_plain(x) for x in _list(data, "corner"))
    if _natural(rows, "rows") * _natural(columns, "columns") != len(numbers):
        _refuse("a corner with numbers missing")
    if not all(isinstance(x, (bool, int, float, complex)) for x in numbers):
        _refuse("a corner of no numbers")
    return Corner(rows, columns, numbers, whole is True, _str(index, "index"))


def _element(x: Any, dtype: torch.dtype) -> Any:
    if dtype.is_complex:
        if not isinstance(x, list) or len(x) != 2:
            _refuse("a complex number without its two parts")
        return complex(_real(x[0]), _real(x[1]))
    if dtype.is_floating_point:
        return _real(x)
    if type(x) is str and len(x) <= _DIGITS:
        return int(x)
    return x if type(x) is int else _refuse("no whole number")


def _real(x: Any) -> float:
    if type(x) is int or type(x) is float or x in ("nan", "inf", "-inf"):
        return float(x)
    if type(x) is str and len(x) <= _DIGITS and x.lstrip("-").isdecimal():
        return float(x)
    return _refuse("no number")


def _plain(value: Any) -> Any:
    """The other way round of `_stored.plain`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return tuple(_plain(one) for one in value)
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inner),) = value.items()
        if kind == "int" and type(inner) is str and len(inner) <= 400:
            return int(inner)
        if kind == "float":
            return _real(inner)
        if kind == "complex" and isinstance(inner, list) and len(inner) == 2:
            return complex(*(_plain(x) for x in inner))
    return _refuse("a value of no known kind")


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


def _bounded_depth(data: Any) -> None:
    level = [data]
    for _ in range(_DEEPEST):
        level = [
            inner
            for value in level
            for inner in (value.values() if type(value) is dict else value)
            if type(inner) in (dict, list)
        ]
        if not level:
            return
    _refuse("nested too deeply")


def _shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple)) or len(value) > 64:
        _refuse("no shape")
    return tuple(_natural(n, "shape") for n in value)


def _rows(value: Any, width: int, what: str) -> list[list[Any]]:
    rows = _list(value, what)
    if any(type(row) is not list or len(row) != width for row in rows):
        _refuse(f"rows of {what} that are incomplete")
    return rows


def _list(value: Any, what: str) -> list[Any]:
    return value if type(value) is list else _refuse(f"{what} is no list")


def _dict(value: Any, what: str) -> Json:
    return value if type(value) is dict else _refuse(f"{what} is no object")


def _str(value: Any, what: str) -> str:
    return value if type(value) is str else _refuse(f"{what} is no text")


def _natural(value: Any, what: str) -> int:
    return value if type(value) is int and value >= 0 else _refuse(f"{what} is no whole number")
