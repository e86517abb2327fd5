"""torch's nodes -> plain columns. The only room that knows the structure of autograd's graph."""

from __future__ import annotations

import gc
import itertools
import math
import operator
import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch

from gradwidget import _deep

Node: TypeAlias = Any
"""`torch.autograd.graph.Node`; torch's own classes do not inherit from it."""

AccumulateGrad: Any = vars(torch._C._functions)["AccumulateGrad"]

_LEAF_SEQUENCE = 2**64 - 1
_SUFFIX = re.compile(r"(Backward\d*|Backwards)$")


class Form(NamedTuple):
    """Shape, dtype and device of one output of a node. `shape` is None where it can't be said."""

    shape: tuple[int, ...] | None
    dtype: str
    device: str

    @property
    def nbytes(self) -> int:
        """Bytes of its values, 0 where the shape can't be said."""
        bits = re.search(r"\d+", self.dtype)
        return 0 if self.shape is None else math.prod(self.shape) * (int(bits[0]) // 8 if bits else 1)

    @property
    def text(self) -> str:
        """`"4×3 f32"`, `"scalar f32 cuda:0"`."""
        shape = "?" if self.shape is None else "×".join(map(str, self.shape)) or "scalar"
        device = "" if self.device == "cpu" else f" {self.device}"
        return f"{shape} {short_dtype(self.dtype)}{device}"


class Op(NamedTuple):
    """What nodes of one type have in common."""

    name: str  # "MulBackward0"
    label: str  # "Mul"
    kind: str
    saved: tuple[str, ...]  # names of its saved variables


@dataclass(slots=True)
class Columns:
    """A graph as columns of integers and interned tables: no tensor, no torch object.

    Nodes are numbered breadth-first from the outputs, slot by slot.
    """

    ops: list[Op] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    op: list[int] = field(default_factory=list)  # per node, index into ops
    form: list[int] = field(default_factory=list)  # per node, of output 0, index into forms; -1 unknown
    multi: dict[int, tuple[int, ...]] = field(default_factory=dict)  # nodes with several outputs: all their forms
    sequence: array[int] = field(default_factory=lambda: array("q"))  # -1 for leaves
    source: list[int] = field(default_factory=list)  # per edge
    target: list[int] = field(default_factory=list)
    input: list[int] = field(default_factory=list)
    output: list[int] = field(default_factory=list)
    cut_node: list[int] = field(default_factory=list)  # per input that needs no gradient
    cut_input: list[int] = field(default_factory=list)
    outputs: list[tuple[int, int]] = field(default_factory=list)  # (node, output number)

    def __len__(self) -> int:
        return len(self.op)

    def nbytes(self) -> list[int]:
        """Bytes of what each node produced."""
        of_form = [form.nbytes for form in self.forms]
        found = [0 if index < 0 else of_form[index] for index in self.form]
        for key, forms in self.multi.items():
            found[key] = sum(of_form[index] for index in forms)
        return found

    def forms_of(self, key: int) -> tuple[Form, ...]:
        """One form for each output of the node."""
        if key in self.multi:
            return tuple(self.forms[i] for i in self.multi[key])
        index = self.form[key]
        return () if index < 0 else (self.forms[index],)


def short_dtype(dtype: str) -> str:
    """`"f32"` for `"float32"`."""
    match = re.fullmatch(r"(float|int|uint|complex|bfloat)(\d+)(.*)", dtype)
    if not match:
        return dtype
    return {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}[match[1]] + match[2] + match[3]


def is_node(value: object) -> bool:
    """Whether `value` is a node of autograd's graph."""
    return isinstance(value, torch.autograd.graph.Node)


def is_leaf(node: Node) -> bool:
    """Whether the node is an `AccumulateGrad`, whose tensor is `node.variable`."""
    return type(node) is AccumulateGrad


def is_function(node: Node) -> bool:
    """Whether the node belongs to a Python `torch.autograd.Function`."""
    return isinstance(node, torch.autograd.function.BackwardCFunction)


def walk(roots: Sequence[tuple[Node, int]]) -> tuple[list[Node], Columns]:
    """Visit all nodes behind `roots`, a list of (node, output number).

    Returns the nodes in the order of their numbers, and the columns. Reads no saved variable and runs no user code.
    Whoever keeps a node keeps every activation below it: drop the list when done.
    """
    _deep.drain()
    with collector_paused():
        nodes, columns = _visit(roots)
        _describe(nodes, columns)
        if len(nodes) > _deep.LEVELS:
            order, depth, heads = topological(columns)
            if depth > _deep.LEVELS:
                _deep.hold([nodes[i] for i in order], heads)
    return nodes, columns


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection inside: one that starts amid 100,000 new objects that all stay costs more than the walk."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _visit(roots: Sequence[tuple[Node, int]]) -> tuple[list[Node], Columns]:
    columns = Columns()
    nodes: list[Node] = []
    index: dict[Node, int] = {}
    for node, output in roots:
        if node not in index:
            index[node] = len(nodes)
            nodes.append(node)
        columns.outputs.append((index[node], output))
    source, target, slot, output_of = columns.source, columns.target, columns.input, columns.output
    for i, node in enumerate(nodes):  # grows while it is walked
        for s, (following, output) in enumerate(node.next_functions):
            if following is None:
                columns.cut_node.append(i)
                columns.cut_input.append(s)
            else:
                j = index.get(following)
                if j is None:
                    j = index[following] = len(nodes)
                    nodes.append(following)
                source.append(i)
                target.append(j)
                slot.append(s)
                output_of.append(output)
    return nodes, columns


def topological(columns: Columns) -> tuple[list[int], int, int]:
    """Node numbers, each before the nodes that it leads to; the longest path's length; how many have none above."""
    size = len(columns)
    source, target, sequence = columns.source, columns.target, columns.sequence
    heads = size - len(set(target))
    numbers = sequence.__getitem__
    if all(map(operator.gt, map(numbers, source), map(numbers, target))):  # made one after the other, leaves are -1
        order = sorted(range(size), key=numbers, reverse=True)
    else:
        order = _sorted(columns)
    start = [0] * (size + 1)  # a node's edges stand together
    for i in source:
        start[i + 1] += 1
    start = list(itertools.accumulate(start))
    depth = [0] * size
    for i in order:
        below = depth[i] + 1
        for j in target[start[i] : start[i + 1]]:
            depth[j] = max(depth[j], below)
    return order, max(depth, default=0), heads


def _sorted(columns: Columns) -> list[int]:
    waiting = [0] * len(columns)
    following: list[list[int]] = [[] for _ in waiting]
    for i, j in zip(columns.source, columns.target, strict=True):
        following[i].append(j)
        waiting[j] += 1
    order = [i for i, count in enumerate(waiting) if not count]
    for i in order:
        for j in following[i]:
            waiting[j] -= 1
            if not waiting[j]:
                order.append(j)
    return order


def _describe(nodes: list[Node], columns: Columns) -> None:
    ops: dict[Any, int] = {}
    forms: dict[Any, int] = {}
    known: dict[Any, int] = {}  # forms of one output on `device`
    device: Any = None
    op_of, form_of, sequence_of = columns.op.append, columns.form.append, columns.sequence.append
    for i, node in enumerate(nodes):
        kind = type(node)
        op = ops.get(kind)
        if op is None:
            op = _intern_op(node, kind, ops, columns)
        op_of(op)
        sequence = node._sequence_nr()
        sequence_of(-1 if sequence == _LEAF_SEQUENCE else sequence)
        described = node._input_metadata
        if len(described) == 1:
            # By far the most: each attribute costs as much as the visit of a node. Most graphs live on one device.
            (one,) = described
            if one.device != device:
                device, known = one.device, {}
            try:
                key = (one.dtype, *one.shape)
                form = known.get(key)
            except Exception:  # see _form
                key, form = None, None
            if form is None:
                form = _form(one, forms, columns)
                if key is not None:
                    known[key] = form
            form_of(form)
        else:
            found = tuple(_form(m, forms, columns) for m in described)
            form_of(found[0] if found else -1)
            if found:
                columns.multi[i] = found


def _intern_op(node: Node, kind: type, ops: dict[Any, int], columns: Columns) -> int:
    op = describe_op(node)
    index = ops.get(op)
    if index is None:
        index = ops[op] = len(columns.ops)
        columns.ops.append(op)
    if kind.__name__ != "CppFunction":  # one type for all functions of torch.jit
        ops[kind] = index
    return index


def _form(metadata: Any, forms: dict[Any, int], columns: Columns) -> int:
    key: tuple[tuple[int, ...] | None, Any, Any]
    try:
        key = (tuple(metadata.shape), metadata.dtype, metadata.device)
        index = forms.get(key)
    except Exception:  # strided nested tensors have no shape, symbolic sizes no hash
        key = (_plain_shape(metadata), metadata.dtype, metadata.device)
        index = forms.get(key)
    if index is None:
        index = forms[key] = len(columns.forms)
        columns.forms.append(Form(_plain_shape(metadata), str(key[1]).removeprefix("torch."), str(key[2])))
    return index


def _plain_shape(metadata: Any) -> tuple[int, ...] | None:
    try:
        return tuple(int(n) for n in metadata.shape)
    except Exception:
        return None


def describe_op(node: Node) -> Op:
    """Name, label and kind of a node's operation, and the names of what it saves."""
    name = node.name().rpartition("::")[2]
    if is_leaf(node):
        return Op(name, "leaf", "leaf", ())
    label = _SUFFIX.sub("", name) or name
    if is_function(node):
        return Op(name, label, _FUNCTION_KINDS.get(name, "function"), ("saved_tensors",))
    saved = tuple(sorted(a.removeprefix("_saved_") for a in dir(type(node)) if a.startswith("_saved_")))
    return Op(name, label, "operation", saved)


_FUNCTION_KINDS = {
    "CompiledFunctionBackward": "compiled",
    "CheckpointFunctionBackward": "checkpoint",
    "BackwardHookFunctionBackward": "hook",
}


class Edges:
    """Edges by node: for each node the indices of its edges in the columns."""

    def __init__(self, columns: Columns) -> None:
        self.inputs: list[list[int]] = [[] for _ in range(len(columns))]  # in slot order
        self.consumers: list[list[int]] = [[] for _ in range(len(columns))]
        self.cuts: list[list[int]] = [[] for _ in range(len(columns))]  # slots
        for edge, (source, target) in enumerate(zip(columns.source, columns.target, strict=True)):
            self.inputs[source].append(edge)
            self.consumers[target].append(edge)
        for key, slot in zip(columns.cut_node, columns.cut_input, strict=True):
            self.cuts[key].append(slot)
