"""Names -> tensor objects, as plain data: what each says of itself, where it lives, what its history reaches."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gradwidget._attributes import asked, called, marks
from gradwidget._memory import Extent, counter_of, extent_of, extent_of_array, hidden
from gradwidget._summary import form_of, is_wrapped, readable, unobserved
from gradwidget._walk import Form, Node, describe_op, is_leaf

NEAR = 1_000
"""Nodes up to which the history of one tensor is followed: deep wrapped graphs are dangerous to free."""
FAR = 20_000
"""Nodes in all."""
COMPARED = 1 << 16
"""Elements up to which a tensor's numbers are compared with others'; of bigger ones, that many samples."""
COMPARED_IN_ALL = 1 << 22
BRIEFLY = 1 << 18
"""The same for a brief look, which waits for no device."""

_FLOATS = ("float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class TensorObject:
    """One tensor (or numpy array) and all names it has. Plain data: it keeps nothing alive.

    `version` is None where torch keeps none; `grad_fn` is "" for leaves and untracked tensors; `is_leaf` is None where
    reading it raises. `history` is how many nodes backward() would pass below it, None where that was not followed.
    """

    id: str
    names: tuple[str, ...]
    type: str
    status: str  # leaf, result, no_grad view, early view, stale view, inference, integer, frozen, untracked, array
    shape: tuple[int, ...] | None
    dtype: str
    device: str
    form: str
    requires_grad: bool
    is_leaf: bool | None
    grad_fn: str
    version: int | None
    has_grad: bool
    retains_grad: bool
    history: int | None
    value: str

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]

    def __repr__(self) -> str:
        return f"TensorObject({' = '.join(self.names[:3])}: {self.status}, {self.form})"


@dataclass(frozen=True, slots=True)
class Facts:
    """What relations are found from. The identities are numbers that were unique while all tensors were held."""

    identity: int
    base: int  # identity of what it is a view of; 0: no view
    of_leaf: bool  # whether that is a leaf that asks for gradients
    kind: type
    parameter: bool
    extent: Extent | None
    hidden: str  # why there is no extent
    coded: bool  # its class decides what operations do (__torch_dispatch__)
    counter: int  # 0: not known
    label: str  # "Mul"
    direct: frozenset[int]  # identities that one operation leads to
    reaches: frozenset[int]
    digests: tuple[str, ...]  # of the numbers: as they are, then perhaps as float32, float16, bfloat16; () unknown
    read: int  # how many of the numbers these are of
    constant: bool  # several numbers, and all alike
    grad: int  # identity of its .grad; 0: none
    grad_digest: str
    made: str  # how a view was made, where that matters for edits: "several" views at once, in a custom "function"


@dataclass(frozen=True, slots=True)
class Seen:
    """One object: what is public, what relations are made of, and a weak reference to it.

    None to what `module.to()` swaps in place: torch refuses to swap what has weak references.
    """

    object: TensorObject
    facts: Facts
    reference: weakref.ref[Any] | None

    @property
    def tensor(self) -> Any:
        """The tensor itself, if it is still alive."""
        return None if self.reference is None else self.reference()


@unobserved()
def look(pairs: Iterable[tuple[str, Any]], *, brief: bool = False) -> list[Seen]:
    """One `Seen` for each object among (name, tensor or array), in the order of their first names.

    A brief look follows histories for one step only, and compares only numbers that are on the CPU.
    """
    named: dict[int, tuple[Any, list[str]]] = {}
    for name, value in pairs:
        _, names = named.setdefault(id(value), (value, []))
        if name not in names:
            names.append(name)
    histories = _histories([value for value, _ in named.values()], 1 if brief else NEAR)
    tensors = [value for value, _ in named.values() if type(value) is not np.ndarray]
    held = [_read(value, "_base", default=None) for value in tensors]
    held += [_read(value, "grad", default=None) for value in tensors if _has_grad(value)]
    budget = BRIEFLY if brief else COMPARED_IN_ALL
    dtypes = {asked(value, "dtype") for value, _ in named.values() if type(value) is not np.ndarray}
    rounded = sum(dtype.is_floating_point for dtype in dtypes) > 1
    found = []
    for number, (identity, (value, names)) in enumerate(named.items()):
        if type(value) is np.ndarray:
            found.append(_array(number, value, tuple(names)))
            continue
        history = histories.get(identity, _NONE)
        seen, spent = _tensor(number, value, tuple(names), history, budget, brief=brief, rounded=rounded)
        budget -= spent
        found.append(seen)
    del held  # held until here, so that their identities are unique
    return found


# --- one object ------------------------------------------------------------------------------------------------------


def _tensor(
    number: int,
    tensor: torch.Tensor,
    names: tuple[str, ...],
    history: _History,
    budget: int,
    *,
    brief: bool,
    rounded: bool,
) -> tuple[Seen, int]:
    form = form_of(tensor)
    kind = type(tensor)
    leaf = history.error == "" and bool(_read(tensor, "is_leaf", default=True))
    tracked = bool(_read(tensor, "requires_grad", default=False))
    base = _read(tensor, "_base", default=None)
    inference = called(tensor, "is_inference")
    retains = not leaf and bool(_read(tensor, "retains_grad", default=False))
    grad = _read(tensor, "grad", default=None) if leaf or retains else None
    parameter = issubclass(kind, torch.nn.Parameter) or marks(tensor).get("_is_param") is True
    status = _status(form, history, inference=inference, tracked=tracked, parameter=parameter)
    if status == "leaf" and base is not None:
        status = _view_without_history(tensor, base)
    room = 0 if brief and form.device != "cpu" else budget
    digests, value, spent, constant = _numbers(tensor, form, room, rounded=rounded)
    one = TensorObject(
        f"t{number}",
        names,
        kind.__name__,
        status,
        form.shape,
        form.dtype,
        form.device,
        form.text,
        tracked,
        None if history.error else leaf,
        history.grad_fn,
        None if inference else _read(tensor, "_version", default=None),
        grad is not None,
        retains,
        history.nodes,
        value,
    )
    extent = extent_of(tensor)
    facts = Facts(
        id(tensor),
        0 if base is None else id(base),
        base is not None and all(bool(_read(base, name, default=False)) for name in ("is_leaf", "requires_grad")),
        kind,
        parameter,
        extent,
        hidden(tensor) if extent is None else "",
        kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__,
        counter_of(tensor),
        history.label,
        history.direct,
        history.reaches,
        digests,
        spent,
        constant,
        0 if grad is None else id(grad),
        "" if grad is None or brief else next(iter(_numbers(grad, form_of(grad), budget, rounded=False)[0]), ""),
        "" if base is None else _made(tensor),
    )
    swapped = facts.coded or (parameter and torch.__future__.get_swap_module_params_on_conversion())
    return Seen(one, facts, None if swapped else weakref.ref(tensor)), spent


def _array(number: int, array: Any, names: tuple[str, ...]) -> Seen:
    shape = tuple(int(n) for n in array.shape)
    form = Form(shape, str(array.dtype), "cpu")
    one = TensorObject(
        f"t{number}",
        names,
        "ndarray",
        "array",
        shape,
        form.dtype,
        "cpu",
        form.text,
        requires_grad=False,
        is_leaf=None,
        grad_fn="",
        version=None,
        has_grad=False,
        retains_grad=False,
        history=None,
        value="",
    )
    nothing: frozenset[int] = frozenset()
    return Seen(
        one,
        Facts(
            id(array),
            0,
            kind=type(array),
            of_leaf=False,
            parameter=False,
            extent=extent_of_array(array),
            hidden="",
            coded=False,
            counter=0,
            label="",
            direct=nothing,
            reaches=nothing,
            digests=(),
            read=0,
            constant=False,
            grad=0,
            grad_digest="",
            made="",
        ),
        weakref.ref(array),
    )


def _read(tensor: torch.Tensor, name: str, *, default: Any) -> Any:
    try:
        return asked(tensor, name)
    except Exception:
        return default


def _has_grad(tensor: torch.Tensor) -> bool:
    """Whether `.grad` can be read without a warning."""
    return bool(_read(tensor, "is_leaf", default=False) or _read(tensor, "retains_grad", default=False))


def _view_without_history(tensor: torch.Tensor, base: torch.Tensor) -> str:
    """Whether a view that requires grad does so by itself, as a leaf, or only because its base does."""
    if not _read(base, "requires_grad", default=False):
        return "leaf"
    wrapper = type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    if wrapper or is_wrapped(tensor):
        return "no_grad view"
    try:
        with torch.enable_grad():
            node = asked(called(tensor, "view_as", tensor), "grad_fn")
        if node is not None and node.next_functions[0][0] is not None:
            return "leaf"
        made = torch._C._autograd._get_creation_meta(tensor)
    except Exception:
        return "no_grad view"
    return "early view" if made == torch._C._autograd.CreationMeta.DEFAULT else "no_grad view"


def _made(view: torch.Tensor) -> str:
    """How a view was made, as far as that decides what edits in place do."""
    try:
        meta = torch._C._autograd.CreationMeta
        kinds = {meta.MULTI_OUTPUT_NODE: "several", meta.IN_CUSTOM_FUNCTION: "function"}
        return kinds.get(torch._C._autograd._get_creation_meta(view), "")
    except Exception:
        return ""


def _status(form: Form, history: _History, *, inference: bool, tracked: bool, parameter: bool) -> str:
    if inference:
        return "inference"
    if history.error:
        return "stale view"
    if history.grad_fn:
        return "result"
    if tracked:
        return "leaf"
    if not form.dtype.startswith(("float", "bfloat", "complex")):
        return "integer"
    return "frozen" if parameter else "untracked"


def _numbers(tensor: torch.Tensor, form: Form, budget: int, *, rounded: bool) -> tuple[tuple[str, ...], str, int, bool]:
    """Digests of a tensor's numbers, a short text of few of them, how many were read, and whether all are alike.

    With `rounded` also as what casts to each of `_FLOATS` would leave of them.
    """
    try:
        plain, _ = readable(tensor)
        if plain is None or not budget or plain.layout is not torch.strided or not plain.numel():
            return (), "", 0, False
        if plain.is_complex():
            plain = torch.view_as_real(plain)
        if plain.numel() > COMPARED:
            if not plain.is_contiguous():
                return (), "", 0, False
            plain = plain.view(-1)[:: -(-plain.numel() // COMPARED)]
        if plain.numel() > budget:
            return (), "", 0, False
        plain = plain.cpu()
        exact = plain.to(torch.float64)
        wanted = [exact, *(exact.to(getattr(torch, name)).to(torch.float64) for name in _FLOATS if rounded)]
        # Negative zero equals zero.
        digests = tuple(hashlib.blake2b((one + 0).numpy().tobytes(), digest_size=12).hexdigest() for one in wanted)
        alike = exact.numel() > 1 and bool((exact == exact.reshape(-1)[0]).all())
        return digests, _short(plain, form), plain.numel(), alike
    except Exception:
        return (), "", 0, False


def _short(plain: torch.Tensor, form: Form) -> str:
    if form.shape is None or len(form.shape) > 1 or plain.numel() > 4 or form.dtype.startswith("complex"):
        return ""
    texts = [str(x) if not isinstance(x, float) else f"{x:.4g}" for x in plain.reshape(-1).tolist()]
    return f"[{', '.join(texts)}]" if form.shape else texts[0]


# --- history ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _History:
    grad_fn: str = ""
    label: str = ""
    direct: frozenset[int] = frozenset()
    reaches: frozenset[int] = frozenset()
    nodes: int | None = None
    error: str = ""


_NONE = _History()


def _histories(values: list[Any], near: int) -> dict[int, _History]:
    """By identity. All nodes are held until the end: their wrappers may be made anew at old addresses."""
    ends: dict[int, Node] = {}
    owners: dict[tuple[Node, int], int] = {}
    found: dict[int, _History] = {}
    for value in values:
        if type(value) is np.ndarray:
            continue
        try:
            node = asked(value, "grad_fn")
            if node is None:
                continue
            ends[id(value)] = node
            owners[node, int(asked(value, "output_nr"))] = id(value)
        except Exception as error:  # a stale view
            found[id(value)] = _History(error=str(error)[:120] or type(error).__name__)
    known = {id(value) for value in values}
    left = FAR
    for identity, node in ends.items():
        direct, reaches, count = _follow(node, owners, known, min(near, left))
        whole = count < min(near, left)
        left -= count
        op = describe_op(node)
        found[identity] = _History(op.name, op.label, direct, reaches, count if whole else None)
    return found


def _follow(
    start: Node, owners: dict[tuple[Node, int], int], known: set[int], most: int
) -> tuple[frozenset[int], frozenset[int], int]:
    direct: set[int] = set()
    reaches: set[int] = set()
    seen = {start}
    stack = [start]
    while stack:
        node = stack.pop()
        try:
            edges = node.next_functions
        except RuntimeError:  # before torch 2.13, of a Function whose output is gone
            continue
        for target, output in edges:
            if target is None:
                continue
            owner = id(target.variable) if is_leaf(target) else owners.get((target, output), 0)
            if owner in known:
                reaches.add(owner)
                if node is start:
                    direct.add(owner)
            if target not in seen and len(seen) < max(1, most):
                seen.add(target)
                stack.append(target)
    return frozenset(direct), frozenset(reaches), len(seen)
