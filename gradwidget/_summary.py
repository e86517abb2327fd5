"""Tensor -> frozen Summary, made where the tensor lives. Nothing of torch is in the result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from gradwidget._attributes import asked, called, is_lazy
from gradwidget._walk import Form

Number: TypeAlias = "bool | int | float | complex"

BINS = 24
SIDE = 32
"""Rows and columns of the corner that is shown of a matrix."""
_PRECISE = 1 << 20  # elements up to which statistics are made in float64
_MANY = 1 << 12  # elements from which a norm is taken by dot products
_DENSE = 1 << 16  # elements up to which a sparse tensor is made dense


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of one tensor; all but `norm` and the counts are of its finite elements.

    `norm` is the 2-norm, `std` the unbiased standard deviation (`Tensor.std()`, NaN for one element).
    """

    norm: float
    mean: float
    std: float
    min: float
    max: float
    nan: int
    inf: int
    zero: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of the finite elements in equal bins from `low` to `high`."""

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Corner:
    """The first values of a tensor, row by row. Of higher ranks, of the first matrix of the last two dimensions."""

    rows: int
    columns: int
    data: tuple[Number, ...]
    whole: bool
    index: str  # "[0, 0, :, :]"


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of a tensor without the tensor."""

    form: Form
    numel: int
    stats: Stats | None
    histogram: Histogram | None
    corner: Corner | None
    note: str

    @property
    def text(self) -> str:
        """Short: `"1.3"`, `"[1, 2, 3]"`, or the norm of what is bigger."""
        return self.small_text or ("" if self.stats is None else f"‖·‖ {format_number(self.stats.norm)}")

    @property
    def small_text(self) -> str:
        """`text` of up to four elements; empty if there are more."""
        corner = self.corner
        if corner is None or not corner.whole or self.numel > 4 or len(self.form.shape or ()) > 1:
            return ""
        parts = [format_number(x) for x in corner.data]
        return f"[{', '.join(parts)}]" if self.form.shape else parts[0]

    @property
    def exact(self) -> str:
        """Full precision of up to 64 elements; empty if there are more."""
        if self.corner is None or not self.corner.whole or self.numel > 64:
            return ""
        return repr(_nested(self.corner, self.form.shape or ()))

    def __repr__(self) -> str:
        return f"Summary({self.form.text}{': ' + self.text if self.text else ''})"


def format_number(x: Number) -> str:
    """Four significant digits; whole numbers of integer type in full."""
    if isinstance(x, (bool, int)):
        return str(x)
    if isinstance(x, complex):
        return f"{format_number(x.real)}{'' if math.copysign(1, x.imag) < 0 else '+'}{format_number(x.imag)}j"
    return f"{x:.4g}"


def form_of(tensor: torch.Tensor) -> Form:
    """Shape, dtype and device of any tensor. Runs no code of a subclass."""
    with torch._C.DisableTorchFunction():
        try:
            shape = None if is_lazy(tensor) else tuple(int(n) for n in asked(tensor, "shape"))
        except Exception:  # nested tensors, symbolic sizes
            shape = None
        return Form(shape, str(asked(tensor, "dtype")).removeprefix("torch."), str(asked(tensor, "device")))


@contextmanager
def unobserved() -> Iterator[None]:
    """No gradients, no code of tensor subclasses, none of the user's modes: nobody sees our own operations."""
    # In this order: no_grad() calls a torch function itself.
    with torch._C.DisableTorchFunction(), torch.no_grad():
        if not torch._C._len_torch_dispatch_stack():
            yield
        else:
            with _disable_current_modes():
                yield


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether a tensor belongs to a function transform: it means nothing outside of that."""
    transforms: Any = torch._C._functorch
    return bool(transforms.is_functorch_wrapped_tensor(tensor) or transforms.is_legacy_batchedtensor(tensor))


def readable(tensor: torch.Tensor) -> tuple[torch.Tensor | None, str]:
    """The tensor's values as a plain dense tensor where it lives, or None; and a note about what was done.

    To be called under `unobserved()`.
    """
    if is_wrapped(tensor):
        return None, "A tensor inside a function transform (vmap, grad, ...) has no values to read."
    kind = type(tensor)
    if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return None, f"The values of a {kind.__name__} are not read, because that would run its code."
    if asked(tensor, "is_meta"):
        return None, "A meta tensor has a shape, but no values."
    if asked(tensor, "is_nested"):
        return None, "The values of a nested tensor are not shown."
    plain: torch.Tensor = called(tensor, "detach")
    if plain.layout is not torch.strided:
        return _dense(plain)
    if plain.is_quantized:
        return plain.dequantize(), "Quantized: dequantized values."
    return plain.resolve_conj().resolve_neg(), ""


def _dense(tensor: torch.Tensor) -> tuple[torch.Tensor | None, str]:
    layout = str(tensor.layout).removeprefix("torch.")
    if tensor.numel() <= _DENSE:
        return tensor.to_dense(), f"Layout {layout}, shown dense."
    if tensor.layout is torch.sparse_coo:
        return tensor.coalesce().values(), f"Layout {layout}: only the stored values."
    return None, f"The values of a tensor with layout {layout} are not shown."


def copy_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """A plain copy of a tensor's values, without history; None where they can't be read."""
    with unobserved():
        plain, _ = readable(tensor)
        return None if plain is None else plain.clone()


def summarize(tensor: torch.Tensor, side: int = SIDE) -> Summary:
    """Summary of any tensor. Where its values can't be read, the note says why.

    Of a matrix that is bigger, `side` rows and columns are shown; of a vector, four times as many elements.
    """
    form = form_of(tensor)
    try:
        with unobserved():
            numel = 0 if form.shape is None else math.prod(form.shape)
            plain, note = readable(tensor)
            if plain is None:
                return Summary(form, numel, None, None, None, note)
            corner = _corner(plain, side)
            if plain.is_complex():
                note = "Complex: statistics of the magnitude."
            stats, histogram = _statistics(plain)
            return Summary(form, numel, stats, histogram, corner, note)
    except Exception as error:
        return Summary(
            form, 0, None, None, None, f"Its values can't be read ({type(error).__name__}: {_first(error)})."
        )


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:160]


def norm(plain: torch.Tensor) -> torch.Tensor:
    """2-norm of a plain tensor, as a scalar tensor where it lives: nothing is read back."""
    if not (plain.is_floating_point() or plain.is_complex()) or plain.dtype.itemsize < 2:
        plain = plain.to(torch.float32)
    if plain.device.type != "cpu":
        return _vector_norm(plain, None)
    if plain.numel() > _MANY and plain.dtype in (torch.float32, torch.float64):
        length = _quick_norm(plain)
        if length is not None:
            return length
    wide = torch.complex128 if plain.is_complex() else torch.float64
    return _vector_norm(plain, wide if plain.numel() <= _PRECISE else None)


def _vector_norm(plain: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    result: torch.Tensor = torch.linalg.vector_norm(plain, dtype=dtype)
    return result


def _quick_norm(plain: torch.Tensor) -> torch.Tensor | None:
    """The same by dot products, None where squares leave float32.

    Torch's own norm takes three to ten times as long, and is off by 0.3 % for 40 million elements of float32.
    """
    order = sorted(range(plain.dim()), key=plain.stride, reverse=True)
    dense = plain.permute(order)
    if not dense.is_contiguous():
        return None
    flat = dense.view(-1)
    parts = (flat[start : start + _PRECISE] for start in range(0, flat.numel(), _PRECISE))
    squares = [float(part.dot(part)) for part in parts]
    total = math.fsum(squares) if all(map(math.isfinite, squares)) else math.inf
    return torch.tensor(math.sqrt(total), dtype=torch.float64) if 1e-24 < total < 1e36 else None


def _statistics(plain: torch.Tensor) -> tuple[Stats | None, Histogram | None]:
    """In float64, on the CPU: what is bigger than `_PRECISE` is reduced where it lives instead."""
    if not plain.numel():
        return None, None
    if plain.is_complex():
        plain = plain.abs()
    if plain.numel() > _PRECISE:
        return _statistics_in_place(plain)
    numbers = plain.to("cpu", torch.float64).numpy().reshape(-1)
    finite = np.isfinite(numbers)
    kept = numbers if finite.all() else numbers[finite]
    with np.errstate(all="ignore"):
        length = float(np.sqrt(np.dot(numbers, numbers)))
    nans, zeros = int(np.isnan(numbers).sum()), int(numbers.size - np.count_nonzero(numbers))
    infinite = int(numbers.size - kept.size - nans)
    if not kept.size:
        nan = float("nan")
        return Stats(length, nan, nan, nan, nan, nans, infinite, zeros), None
    low, high = float(kept.min()), float(kept.max())
    with np.errstate(all="ignore"):
        std = float(kept.std(ddof=1)) if kept.size > 1 else float("nan")
        stats = Stats(length, float(kept.mean()), std, low, high, nans, infinite, zeros)
    if kept.size == 1 or not math.isfinite(high - low):
        return stats, None
    if low == high:
        return stats, Histogram(low, high, (kept.size,))
    return stats, Histogram(low, high, tuple(np.histogram(kept, BINS, (low, high))[0].tolist()))


def _statistics_in_place(plain: torch.Tensor) -> tuple[Stats, Histogram | None]:
    real = plain.flatten()
    if real.dtype not in (torch.float32, torch.float64):
        real = real.to(torch.float32)
    counts = torch.stack([torch.isnan(real).sum(), torch.isinf(real).sum(), (real == 0).sum()]).tolist()
    kept = real if not (counts[0] or counts[1]) else real[torch.isfinite(real)]
    if not kept.numel():
        nan = float("nan")
        return Stats(float(norm(real)), nan, nan, nan, nan, *counts), None
    low, high = torch.aminmax(kept)
    row = torch.stack([torch.linalg.vector_norm(real), kept.mean(), kept.std(), low, high]).tolist()
    # A histogram on other devices is not deterministic, and copying the tensor would be slow.
    spread = kept.device.type == "cpu" and math.isfinite(row[4] - row[3]) and row[4] > row[3]
    counted = tuple(int(c) for c in torch.histc(kept, BINS, row[3], row[4]).tolist()) if spread else None
    return Stats(*row, *counts), None if counted is None else Histogram(row[3], row[4], counted)


def _corner(plain: torch.Tensor, side: int) -> Corner | None:
    if not plain.numel():
        return None
    index = ""
    if plain.dim() > 2:
        index = f"[{'0, ' * (plain.dim() - 2)}:, :]"
        matrix = plain[(0,) * (plain.dim() - 2)]
    else:
        matrix = plain.reshape(1, -1) if plain.dim() < 2 else plain
    most = (1, 4 * side) if plain.dim() < 2 else (side, side)
    part = matrix[: most[0], : most[1]]
    whole = part.numel() == plain.numel()
    return Corner(part.shape[0], part.shape[1], tuple(_numbers(part)), whole, index)


def _numbers(part: torch.Tensor) -> list[Any]:
    """Python numbers; floats of 32 bits and less by the shortest decimal that names them."""
    plain: Any = part.flatten()
    if not part.dtype.is_floating_point or part.dtype is torch.float64:
        found: list[Any] = plain.tolist()
        return found
    return [float(str(x)) for x in plain.to(torch.float32).cpu().numpy()]


def _nested(corner: Corner, shape: tuple[int, ...]) -> Any:
    """The corner's data as `Tensor.tolist()` has it; for whole tensors only."""
    data: list[Any] = list(corner.data)
    if not shape:
        return data[0]
    for size in reversed(shape[1:]):
        data = [data[i : i + size] for i in range(0, len(data), size)]
    return data
