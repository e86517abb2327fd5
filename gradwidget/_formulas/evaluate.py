"""Expressions -> numbers, calculated by torch. To be called under `unobserved()`."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from gradwidget._formulas.language import Expression, dims_of

Tensor = torch.Tensor


class Like(NamedTuple):
    """Stands for a tensor of which only the shape is wanted."""

    shape: torch.Size

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


class Missing(Exception):  # noqa: N818  # not an error: the number is not known
    """A name has no value here."""


def evaluate(expression: Expression, values: Mapping[str, Any]) -> Any:
    """A tensor or a number.

    Raises:
        Missing: a value is not known.
    """
    match expression:
        case ast.Constant(value=value):
            return value
        case ast.Name(id="pi"):
            return math.pi
        case ast.Name(id=name):
            if name not in values:
                raise Missing(name)
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluate(operand, values)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](evaluate(left, values), evaluate(right, values))
        case ast.BoolOp(values=parts):
            found = [evaluate(part, values) for part in parts]
            return _both(found)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            chain = [evaluate(one, values) for one in (left, *rights)]
            return _both([_COMPARE[type(op)](a, b) for op, a, b in zip(ops, chain, chain[1:], strict=False)])
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(evaluate(arg, values) for arg in args))
    raise TypeError(ast.dump(expression))


def _both(parts: list[Any]) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found & part
    return found


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.MatMult: lambda a, b: a @ b,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.Gt: lambda a, b: a > b,
    ast.LtE: lambda a, b: a <= b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
}


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.float64)


def _unary(function: Callable[[Tensor], Tensor]) -> Callable[[Any], Any]:
    return lambda x: function(x) if isinstance(x, torch.Tensor) else function(_tensor(x)).item()


def _where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, bool):
        return a if condition else b
    if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
        a = torch.tensor(float(a), dtype=torch.float64 if condition.dtype is torch.float64 else torch.float32)
    return torch.where(condition.bool(), a, b)


def _largest(a: Any, *b: Any) -> Tensor:
    if not b:
        return _tensor(a).max()
    if not isinstance(b[0], torch.Tensor):
        return _tensor(a).clamp(min=b[0]) if len(b) == 1 else a.amax(b[0] or None, b[1])
    return torch.maximum(a, b[0])


def _smallest(a: Any, *b: Any) -> Tensor:
    if not b:
        return _tensor(a).min()
    if not isinstance(b[0], torch.Tensor):
        return _tensor(a).clamp(max=b[0]) if len(b) == 1 else a.amin(b[0] or None, b[1])
    return torch.minimum(a, b[0])


def _spread(g: Tensor, dim: Any = None, keepdim: Any = True) -> Tensor:
    """Fit to broadcast against the tensor that was reduced: its rank is not needed for a full reduction."""
    if keepdim or dim is None or dim == ():
        return g
    for d in sorted(dim if isinstance(dim, (tuple, list)) else (dim,)):
        g = g.unsqueeze(d)
    return g


def _reduced(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def run(x: Any, dim: Any = None, keepdim: Any = False) -> Tensor:
        x = _tensor(x)
        return function(x, dims_of(dim, x.dim()), bool(keepdim)) if x.dim() else x

    return run


def _count(x: Tensor, dim: Any = None, keepdim: Any = False) -> Tensor:
    return x.sum() if dim is None else x.sum(dims_of(dim, x.dim()), bool(keepdim))


def _norm(x: Tensor, p: float, dim: Any = None, keepdim: Any = False) -> Tensor:
    result: Tensor = torch.linalg.vector_norm(x, p, dims_of(dim, x.dim()), bool(keepdim))
    return result


def _prod(x: Tensor, dim: Any = None, keepdim: Any = False) -> Tensor:
    return x.prod() if dim is None else x.prod(dim, bool(keepdim))


def fold(g: Tensor, like: Tensor) -> Tensor:
    """Sum over the dimensions in which a tensor of that shape was broadcast."""
    return g.sum_to_size(like.shape) if g.shape != like.shape else g


def _put(g: Tensor, indices: Tensor, dim: int, keepdim: Any, like: Tensor) -> Tensor:
    if not keepdim and like.dim():
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return torch.zeros(like.shape, dtype=g.dtype, device=g.device).scatter_add(dim, indices, g)


def _zeros(g: Tensor, like: Tensor) -> Tensor:
    return torch.zeros(like.shape, dtype=g.dtype, device=g.device)


def _place(g: Tensor, like: Tensor, dim: int, index: int) -> Tensor:
    out = _zeros(g, like)
    out.select(dim, index).copy_(g)
    return out


def _slice(x: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    index: list[Any] = [slice(None)] * x.dim()
    index[dim] = slice(start or 0, end, step)
    return x[tuple(index)]


def _window(g: Tensor, like: Tensor, dim: int, *cut: Any) -> Tensor:
    out = _zeros(g, like)
    _slice(out, dim, *cut).copy_(g)
    return out


def _indices(indices: Any) -> tuple[Any, ...]:
    parts = indices if isinstance(indices, (tuple, list)) else (indices,)
    return tuple(slice(None) if i is None else i for i in parts)


def _scatter(g: Tensor, like: Tensor, indices: Any) -> Tensor:
    where = torch.arange(math.prod(like.shape), device=g.device).reshape(like.shape)[_indices(indices)]
    return _zeros(g, like).reshape(-1).index_add(0, where.reshape(-1), g.reshape(-1)).reshape(like.shape)


def _undiagonal(g: Tensor, like: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    out = _zeros(g, like)
    torch.diagonal(out, offset, dim1, dim2).copy_(g)
    return out


def _unpad(g: Tensor, like: Tensor, pad: Any) -> Tensor:
    for i in range(len(pad) // 2):
        dim = g.dim() - 1 - i
        g = g.narrow(dim, pad[2 * i], like.shape[dim])
    return g


def _unrepeat(g: Tensor, repeats: Any, like: Tensor) -> Tensor:
    extra = len(repeats) - like.dim()
    shape = [*repeats[:extra]]
    for count, size in zip(repeats[extra:], like.shape, strict=True):
        shape += [count, size]
    return g.reshape(shape).sum([*range(extra), *range(extra, len(shape), 2)])


def _unpermute(g: Tensor, dims: Any) -> Tensor:
    inverse = [0] * len(dims)
    for i, d in enumerate(dims):
        inverse[d % len(dims)] = i
    return g.permute(inverse)


def _unroll(g: Tensor, shifts: Any, dims: Any) -> Tensor:
    return torch.roll(g, [-s for s in shifts], dims or ())


def _part(g: Tensor, at: tuple[int, int], dim: int) -> Tensor:
    return g.narrow(dim, *at)


def _lookup(g: Tensor, like: Tensor, indices: Tensor, padding: int) -> Tensor:
    rows = g.reshape(-1, g.shape[-1])
    if padding >= 0:
        rows = rows * (indices.reshape(-1, 1) != padding)
    return _zeros(g, like).index_add(0, indices.reshape(-1), rows)


def _reach(g: Tensor, target: Tensor, weight: Tensor | int, ignore: int, like: Tensor) -> Tensor:
    one = (
        torch.ones(target.shape, dtype=g.dtype, device=g.device)
        if not isinstance(weight, torch.Tensor)
        else weight[target.clamp(min=0)].to(g.dtype)
    )
    one = torch.where(target == ignore, 0, one) * g
    return _zeros(g, like).scatter(1, target.clamp(min=0).unsqueeze(1), one.unsqueeze(1))


def _rowmean(x: Tensor, like: Tensor, shape: Any) -> Tensor:
    return x.mean(tuple(range(like.dim() - len(shape), like.dim())), True)


def _others(x: Tensor) -> list[int]:
    return [d for d in range(x.dim()) if d != 1]


def _half(x: Tensor, which: int, dim: int) -> Tensor:
    return x.chunk(2, dim)[which]


def _trigamma(x: Tensor) -> Tensor:
    return torch.polygamma(1, x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _unary(getattr(torch, name))
        for name in [
            "exp",
            "log2",
            "log10",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "sqrt",
            "erf",
            "erfinv",
            "lgamma",
            "digamma",
            "sigmoid",
            "abs",
            "sign",
            "round",
            "floor",
            "ceil",
            "trunc",
            "frac",
        ]
    },
    "ln": _unary(torch.log),
    "atan2": torch.atan2,
    "trigamma": _unary(_trigamma),
    "Phi": _unary(torch.special.ndtr),
    "phi": _unary(lambda x: torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)),
    "isfinite": torch.isfinite,
    "isnan": torch.isnan,
    "where": _where,
    "max": _largest,
    "min": _smallest,
    "sum": _reduced(lambda x, d, k: x.sum(d, k)),
    "mean": _reduced(lambda x, d, k: x.mean(d, k)),
    "var": lambda x, dim, correction, keepdim: x.var(dims_of(dim, x.dim()), correction=correction, keepdim=keepdim),
    "std": lambda x, dim, correction, keepdim: x.std(dims_of(dim, x.dim()), correction=correction, keepdim=keepdim),
    "prod": _prod,
    "norm": _norm,
    "count": _count,
    "spread": _spread,
    "fold": fold,
    "cumsum": torch.cumsum,
    "cumprod": torch.cumprod,
    "revcumsum": lambda g, dim: g.flip(dim).cumsum(dim).flip(dim) if g.dim() else g,
    "put": _put,
    "gather": lambda g, dim, index: g.gather(dim, index),
    "clear": lambda g, index, dim: g.scatter(dim, index, 0),
    "T": lambda x: x.mT if x.dim() > 1 else x,
    "outer": torch.outer,
    "dot": torch.dot,
    "rows": lambda x: x.reshape(-1, x.shape[-1]),
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "trace": torch.trace,
    "eye": lambda x: torch.eye(*x.shape),
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
    "reach": _reach,
    "reshape": lambda x, like: x.reshape(like.shape),
    "swap": torch.transpose,
    "permute": torch.permute,
    "unpermute": _unpermute,
    "repeat": lambda x, repeats: x.repeat(*repeats),
    "unrepeat": _unrepeat,
    "select": lambda x, dim, index: x.select(dim, index),
    "place": _place,
    "slice": _slice,
    "window": _window,
    "index": lambda x, indices: x[_indices(indices)],
    "scatter": _scatter,
    "rowscatter": lambda g, like, dim, index: _zeros(g, like).index_add(dim, index, g),
    "maskscatter": lambda g, mask, like: _zeros(g, like).masked_scatter(mask, g),
    "flatscatter": lambda g, like, index: _zeros(g, like).put(index, g, accumulate=True),
    "diagonal": torch.diagonal,
    "undiagonal": _undiagonal,
    "tril": torch.tril,
    "triu": torch.triu,
    "flip": torch.flip,
    "roll": lambda x, shifts, dims: torch.roll(x, shifts, dims or ()),
    "unroll": _unroll,
    "part": _part,
    "stack": lambda parts, dim: torch.stack(list(parts), dim),
    "cat": lambda parts, dim: torch.cat(list(parts), dim),
    "join": lambda a, b, dim: torch.cat([a, b], dim),
    "half": _half,
    "pad": torch.constant_pad_nd,
    "unpad": _unpad,
    "lookup": _lookup,
    "xhat": lambda x, mean, rstd: (x - mean) * rstd,
    "rowmean": _rowmean,
    "by": lambda x, like: x if not isinstance(x, torch.Tensor) else x.reshape(-1, *[1] * (like.dim() - 2)),
    "chanmean": lambda x: x.mean(_others(x), True),
    "chansum": lambda x: x.sum(_others(x)),
}
