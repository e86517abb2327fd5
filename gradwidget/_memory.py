"""Where a tensor's numbers live: storage, extent, version counter, and which part of another tensor a view is."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gradwidget._attributes import asked, called, is_lazy
from gradwidget._summary import is_wrapped, unobserved

COUNTED = 1 << 14
"""Elements up to which two tensors are compared address by address."""
LAZY = "a lazy parameter gets its memory in the first forward pass"


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a tensor lies, as plain numbers; they mean something only while the tensor is alive."""

    storage: int  # identity of the storage object; 0: not one of torch's
    device: str
    start: int  # first byte of the storage; 0 where there are no bytes (meta tensors, empty ones)
    nbytes: int
    first: int  # byte of the tensor's first element, counted from `start`
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    dtype: str
    lazily: str = ""  # what torch does to the numbers when they are read: "conjugated", "negated"

    @property
    def numel(self) -> int:
        n = 1
        for size in self.shape:
            n *= size
        return n

    @property
    def span(self) -> tuple[int, int]:
        """First and last byte, by address, that the tensor itself can touch."""
        low = self.start + self.first
        steps = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True) if size > 1]
        below, above = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
        return (low + below, low + above + self.itemsize - 1) if self.numel else (low, low - 1)


def extent_of(tensor: torch.Tensor) -> Extent | None:
    """None where a tensor has no strided memory that can be read without running its code (sparse, fake, vmapped)."""
    with unobserved():
        try:
            if is_wrapped(tensor) or type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
                return None
            if is_lazy(tensor) or asked(tensor, "layout") is not torch.strided or asked(tensor, "is_nested"):
                return None
            storage = called(tensor, "untyped_storage")
            size = called(tensor, "element_size")
            return Extent(
                int(storage._cdata),
                str(asked(tensor, "device")),
                0 if asked(tensor, "is_meta") else int(storage.data_ptr()),
                int(storage.nbytes()),
                int(called(tensor, "storage_offset")) * size,
                size,
                tuple(int(n) for n in asked(tensor, "shape")),
                tuple(int(n) * size for n in called(tensor, "stride")),
                str(asked(tensor, "dtype")).removeprefix("torch."),
                ", ".join(["conjugated"] * called(tensor, "is_conj") + ["negated"] * called(tensor, "is_neg")),
            )
        except Exception:  # symbolic sizes, backends without storage
            return None


def hidden(tensor: torch.Tensor) -> str:
    """Why a tensor without an extent has none that can be read, as a clause."""
    with torch._C.DisableTorchFunction():
        kind = type(tensor)
        if is_wrapped(tensor):
            return "a tensor inside a function transform (vmap, grad, ...) has no address"
        if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            return f"reading where a {kind.__name__} keeps its numbers would run its code"
        if is_lazy(tensor):
            return LAZY
        if asked(tensor, "is_nested"):
            return "a nested tensor holds several"
        if (layout := asked(tensor, "layout")) is not torch.strided:
            word = str(layout).removeprefix("torch.").strip("_").removesuffix("_coo").replace("_", " ")
            return f"a tensor of the layout {word} has no single address"
        return "its memory can't be read"


def extent_of_array(array: Any) -> Extent:
    """Of a plain numpy array."""
    interface = array.__array_interface__
    start = int(interface["data"][0])
    shape, strides = (tuple(map(int, of)) for of in (array.shape, array.strides))
    extent = Extent(0, "cpu", start, 0, 0, int(array.itemsize), shape, strides, str(array.dtype))
    low, high = extent.span
    return dataclasses.replace(extent, start=low, nbytes=high - low + 1, first=start - low)


def same_storage(a: Extent, b: Extent) -> bool:
    """Whether two tensors stand on one storage object."""
    return a.storage != 0 and a.storage == b.storage


def same_bytes(a: Extent, b: Extent) -> bool:
    """Whether two storages cover the same bytes, be they one object or two (numpy, DLPack)."""
    if same_storage(a, b):
        return True
    if not (a.start and b.start and a.nbytes > 0 and b.nbytes > 0 and a.device == b.device):
        return False  # all empty tensors have the same address
    return a.start < b.start + b.nbytes and b.start < a.start + a.nbytes


def overlap(a: Extent, b: Extent) -> bool:
    """Whether two tensors on one memory reach the same bytes; where that is too hard to tell, as their ends say."""
    if not (a.numel and b.numel and a.span[0] <= b.span[1] and b.span[0] <= a.span[1]):
        return False
    low = min(a.span[0], b.span[0]) - 4096  # no pointer may be null; none is followed
    try:
        return bool(np.shares_memory(_placed(a, low), _placed(b, low), max_work=100_000))  # type: ignore[arg-type]
    except Exception:  # too hard
        return True


def contains(outer: Extent, inner: Extent) -> bool:
    """Whether all bytes of one tensor are bytes of another, as far as that can be told."""
    if not inner.numel or not outer.numel:
        return True
    if inner.span[0] < outer.span[0] or outer.span[1] < inner.span[1]:
        return False
    if is_dense(_turned(outer)):
        return True
    if outer.itemsize == inner.itemsize and max(outer.numel, inner.numel) <= COUNTED:
        return bool(np.isin(_addresses(inner), _addresses(outer)).all())
    return part_of(inner, outer, "_").startswith("_")


def _placed(extent: Extent, low: int) -> Any:
    """An array with the same addresses, counted from `low`. Its numbers are never read."""

    class Interface:
        __array_interface__ = {  # noqa: RUF012  # numpy's own protocol
            "version": 3,
            "data": (extent.start + extent.first - low, True),
            "shape": extent.shape,
            "strides": extent.strides,
            "typestr": f"|V{extent.itemsize}",
        }

    return np.asarray(Interface())


def _addresses(extent: Extent) -> Any:
    found = np.array([extent.start + extent.first])
    for size, stride in zip(extent.shape, extent.strides, strict=True):
        found = (found[:, None] + np.arange(size) * stride).reshape(-1)
    return found


def part_of(view: Extent, base: Extent, name: str) -> str:
    """Which part of `base` a view is: "x[:2]", "x.T", "all of x, as 2×3"; "" where it is all of it as it is."""
    lazily = [word for word in view.lazily.split(", ") if word not in base.lazily]
    if lazily and view.dtype == base.dtype:
        place = part_of(dataclasses.replace(view, lazily=base.lazily), base, name)
        return f"{place or name}, {lazily[0]}"
    if view.dtype != base.dtype:
        return _half(view, base, name) or f"the bytes of {name}, read as {view.dtype}"
    if view != base and any(stride < 0 for stride in (*view.strides, *base.strides)):
        return _reversed(view, base, name)
    offset = view.start + view.first - base.start - base.first
    if offset == 0 and view.shape == base.shape and view.strides == base.strides:
        return ""
    if view.numel == 0:
        return f"no element of {name}"
    stretched = [i for i, (n, s) in enumerate(zip(view.shape, view.strides, strict=True)) if n > 1 and s == 0]
    if stretched:
        return f"{name} expanded to {_times(view.shape)}"
    index = _index(view, base, offset)
    if index is not None:
        return f"{name}[{index}]"
    if view.numel == base.numel and offset == 0:
        pairs = list(zip(base.shape, base.strides, strict=True))
        if len(view.shape) == len(base.shape) and sorted(zip(view.shape, view.strides, strict=True)) == sorted(pairs):
            return f"{name}.T" if len(pairs) == 2 else f"{name} with its dimensions permuted"
        return f"all of {name}, as {_times(view.shape)}"
    turned = _turned(view)
    index = _index(turned, base, offset) if turned.strides != view.strides else None
    if index is not None:
        return f"{name}[{index}].T" if len(view.shape) == 2 else f"{name}[{index}] with its dimensions permuted"
    if view.numel > base.numel:
        return f"overlapping windows of {name}" if contains(base, view) else f"{name} and what lies around it"
    first = offset // base.itemsize
    if offset >= 0 and not offset % base.itemsize and is_dense(view) and is_dense(base):
        return f"elements {first:,} to {first + view.numel - 1:,} of {name}"
    return f"{view.numel:,} of the {base.numel:,} elements of {name}" if offset >= 0 else f"elements around {name}"


def _half(view: Extent, base: Extent, name: str) -> str:
    """Of what is complex: its real or imaginary parts, or both as pairs."""
    if not base.dtype.startswith("complex") or view.itemsize * 2 != base.itemsize:
        return ""
    offset = view.start + view.first - base.start - base.first
    if (view.shape, view.strides) == ((*base.shape, 2), (*base.strides, view.itemsize)) and not offset:
        return f"view_as_real({name})"
    if (view.shape, view.strides) != (base.shape, base.strides) or offset not in (0, view.itemsize):
        return ""
    return f"{name}.{'imag' if offset else 'real'}"


def _reversed(view: Extent, base: Extent, name: str) -> str:
    """Where one of the two runs backwards through memory (numpy's [::-1])."""
    back = [any(stride < 0 for stride in one.strides) for one in (view, base)]
    place = part_of(_unreversed(view), _unreversed(base), name)
    if back == [True, False] or (back == [False, True] and not place):
        return f"{place or name}, reversed"
    return f"{view.numel:,} of the {base.numel:,} elements of {name}"


def _unreversed(view: Extent) -> Extent:
    """The same elements from the front."""
    steps = zip(view.shape, view.strides, strict=True)
    first = view.first + sum((size - 1) * stride for size, stride in steps if stride < 0)
    return dataclasses.replace(view, first=first, strides=tuple(map(abs, view.strides)))


def _times(shape: tuple[int, ...]) -> str:
    if len(shape) < 2:
        return f"a vector of {shape[0]}" if shape else "a scalar"
    return "×".join(map(str, shape))


def _turned(view: Extent) -> Extent:
    """The same with its dimensions in the order of memory."""
    order = sorted(range(len(view.shape)), key=lambda d: -view.strides[d])
    shape, strides = (tuple(of[d] for d in order) for of in (view.shape, view.strides))
    return dataclasses.replace(view, shape=shape, strides=strides)


def is_dense(extent: Extent) -> bool:
    """Whether the elements lie row by row without a gap."""
    step = extent.itemsize
    for size, stride in reversed(list(zip(extent.shape, extent.strides, strict=True))):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def _index(view: Extent, base: Extent, offset: int) -> str | None:
    """The index expression that makes the view, where basic indexing of the base does."""
    if offset < 0:
        return None
    order = sorted(range(len(base.shape)), key=lambda d: -base.strides[d])
    found: dict[int, int] = {}
    for d in order:
        stride = base.strides[d]
        found[d] = 0 if stride == 0 else min(offset // stride, max(0, base.shape[d] - 1))
        offset -= found[d] * stride
    if offset:
        return None
    starts = [found[d] for d in range(len(base.shape))]
    parts: list[str] = []
    mine = list(zip(view.shape, view.strides, strict=True))
    for d, (size, stride) in enumerate(zip(base.shape, base.strides, strict=True)):
        left = len(base.shape) - d
        if mine and _fits(mine[0], size, stride, starts[d]):
            n, s = mine.pop(0)
            step = s // stride if n > 1 and stride else 1
            parts.append(_slice(starts[d], n, step, size))
        elif len(mine) < left:
            parts.append(str(starts[d]))
        else:
            return None
    if mine:
        return None
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts)


def _fits(dimension: tuple[int, int], size: int, stride: int, start: int) -> bool:
    n, s = dimension
    if n == 1:
        return s == stride
    return stride > 0 and s % stride == 0 and s > 0 and start + (n - 1) * (s // stride) < size


def _slice(start: int, n: int, step: int, size: int) -> str:
    stop = start + (n - 1) * step + 1
    if step == 1:
        return f"{start or ''}:{stop if stop < size else ''}"
    return f"{start or ''}:{'' if stop + step > size else stop}:{step}"


# --- version counters ------------------------------------------------------------------------------------------------


def counter_of(tensor: torch.Tensor) -> int:
    """Identity of a tensor's version counter; 0 where it can't be told.

    Torch gives the counter's number but not its identity, and an edit that would show it is not ours to make. So its
    address is read from the tensor's own record, at a place that is looked up once on tensors of our own.
    """
    place = _counter_place()
    return _word(tensor, place) if place else 0


@functools.cache
def _counter_place() -> int:
    """Of the one word that `detach()` and views share with a tensor and `.data` and copies do not; 0: not found."""
    try:
        with unobserved(), torch.inference_mode(mode=False):
            own = [torch.zeros(3), torch.ones(2, 2)]
            shared = [(t, other) for t in own for other in (t.detach(), t[:1], t.view(-1))]
            apart = [(t, other) for t in own for other in (t.data, t.clone())] + [(own[0], own[1])]
            places = [
                place
                for place in range(16, 96, 8)
                if all(_word(a, place) == _word(b, place) != 0 for a, b in shared)
                and all(_word(a, place) != _word(b, place) for a, b in apart)
            ]
    except Exception:
        return 0
    return places[0] if len(places) == 1 else 0


def _word(tensor: torch.Tensor, place: int) -> int:
    cdata: int = asked(tensor, "_cdata")
    return ctypes.c_uint64.from_address(cdata + place).value
