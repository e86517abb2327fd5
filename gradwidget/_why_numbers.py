"""Why a gradient that is there is zero, NaN, infinite, or bigger than expected."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import torch

from gradwidget import _saved, _told
from gradwidget._bad import Bad, first_bad
from gradwidget._inspect import Inspection
from gradwidget._passes import BackwardPass, Gradient, norms, opened, summary_of, version_of
from gradwidget._summary import Summary, format_number, readable, unobserved
from gradwidget._why_dtypes import beneath, beyond, fitted
from gradwidget._why_means import DIVIDING, divisor_of
from gradwidget._why_scope import COMPARED

if TYPE_CHECKING:
    from gradwidget._why_facts import Facts

_SHARES = 6  # of one leaf, told one by one
_HOOKED = 200  # nodes whose hooks are looked at


class Classic(NamedTuple):
    """A classic cause: at which operations, what holds of the values there, and the words."""

    kind: str
    ops: tuple[str, ...]
    holds: Callable[[Values], bool]
    cause: str
    remedy: str
    partly: str = ""  # the words where it holds for some elements only


class Finding(NamedTuple):
    """What was found of a gradient's numbers."""

    kind: str
    cause: str
    remedy: str
    evidence: tuple[str, ...]


class Values(dict[str, torch.Tensor]):
    """What one node has saved or taken in, by name: "self", "result", "other", "in0"; plain, under `unobserved()`."""

    def any(self, test: Callable[[torch.Tensor], torch.Tensor], *names: str) -> bool:
        return any(bool(test(self[n]).any()) for n in names if n in self)

    def all(self, test: Callable[[torch.Tensor], torch.Tensor], *names: str) -> bool:
        known = [self[n] for n in names if n in self]
        return bool(known) and all(bool(test(t).all()) for t in known)


def _zero(t: torch.Tensor) -> torch.Tensor:
    return t == 0


def _outside(v: Values) -> bool:
    x = v.get("self", v.get("in0"))
    if x is None:
        return False
    if "min_val" in v and "max_val" in v:  # at a bound of Hardtanh the derivative is 0 too
        return bool(((x <= v["min_val"]) | (x >= v["max_val"])).all())
    low, high = v.get("min"), v.get("max")
    if low is None and high is None:
        return False
    out = torch.zeros_like(x, dtype=torch.bool)
    if low is not None:
        out |= x < low
    if high is not None:
        out |= x > high
    return bool(out.all())


def _power(v: Values) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
    """Base, exponent, and the derivative by the base, None where they are not known."""
    base, exponent = v.get("self", v.get("in0")), v.get("exponent", v.get("in1"))
    if base is None or exponent is None:
        return None
    base = base if base.is_floating_point() else base.double()
    exponent = exponent.to(base.device, base.dtype)
    slope = torch.where(exponent == 0, 0.0, exponent * base ** (exponent - 1))  # torch takes 0 for x**0
    return base, exponent, slope


def _bad_power(v: Values) -> bool:
    """Whether the derivative of a power is not finite where its base is 0 or negative."""
    known = _power(v)
    if known is None:
        return not _innocent_power(v) and v.any(lambda t: t <= 0, "self", "in0")
    base, _, slope = known
    at_zero = (base == 0) & ~slope.isfinite()
    return bool((at_zero | ((base < 0) & (slope.isnan() | ("by_exponent" in v)))).any())


def _big_power(v: Values) -> bool:
    """Whether a power or its derivative is infinite though its base is neither 0 nor infinite."""
    known = _power(v)
    if known is None:
        return v.any(lambda t: t.isinf(), "result") or v.any(lambda t: t.abs() > 1, "self", "in0")
    base, exponent, slope = known
    big = slope.isinf() | (base**exponent).isinf()
    return bool((big & (base != 0) & base.isfinite()).any())


def _whole_power(v: Values) -> bool:
    exponent = v.get("exponent", v.get("in1"))
    return exponent is not None and bool((exponent == exponent.round()).all())


def _innocent_power(v: Values) -> bool:
    """Whether the exponent alone tells that the derivative is finite at each finite base."""
    return _whole_power(v) and "by_exponent" not in v and v.all(lambda t: t >= 0, "exponent", "in1")


def _one_class(label: str) -> Callable[[Values], bool]:
    """Whether all results are those of a softmax over one class: over more they would not add up to 1."""
    number = 1.0 if label == "Softmax" else 0.0
    return lambda v: v.all(lambda t: t == number, "result")


def _never(_: Values) -> bool:
    return False


def _always(_: Values) -> bool:
    return True


ZERO: tuple[Classic, ...] = (
    Classic(
        "dead-relu",
        ("Relu", "Threshold"),
        lambda v: v.all(lambda t: t <= 0, "result", "self"),
        "{at} had no positive input (a dead ReLU): its derivative is 0 there, so nothing passes.",
        "Look at what enters it: a smaller learning rate, a better initialization of the layer before, or "
        "`leaky_relu`.",
        "Where a gradient arrived at {at}, its input is not positive: the derivative of a ReLU is 0 there.",
    ),
    Classic(
        "saturated",
        (
            "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "LogSigmoid", "Hardsigmoid", "Hardswish", "Erf",
            "Softplus", "Gelu", "Silu", "Elu", "Mish",
        ),
        lambda v: v.all(lambda t: (t.abs() >= 1 - 1e-6) | (t.abs() <= 1e-6), "result")
        or v.all(lambda t: t.abs() > 15, "in0"),
        "{at} is saturated: its input is so far from 0 that its derivative is 0 in this precision.",
        "Scale or normalize what enters it, or use a loss that takes logits, as `F.binary_cross_entropy_with_logits`.",
        "Where a gradient arrived, {at} is saturated, or its derivative is too small for this precision.",
    ),
    Classic(
        "masked",
        ("Where", "MaskedFill", "MaskedScatter", "MaskedSelect", "Tril", "Triu", "NativeDropout", "Dropout"),
        _never,
        "{at} took none of these elements: what a mask leaves out gets the gradient 0.",
        "Check the mask: print `mask.sum()`.",
    ),
    Classic(
        "clamped",
        ("Clamp", "ClampMin", "ClampMax", "Hardtanh", "Maximum", "Minimum"),
        _outside,
        "{at} cut these values off: outside of its bounds the derivative is 0.",
        "Widen the bounds, or clamp only what is shown, not what is trained.",
        "Where a gradient arrived, {at} cut the value off: outside of its bounds the derivative is 0.",
    ),
    Classic(
        "step-function",
        ("Round", "Floor", "Ceil", "Trunc", "Sign", "Heaviside", "Sgn", "FloorDivide"),
        _always,
        "{at} is a step function: its derivative is 0 everywhere.",
        "Use a smooth function, or pass the gradient straight through: `x + (x.round() - x).detach()`.",
    ),
    Classic(
        "overwritten",
        ("Fill", "Zero", "IndexPut", "Copy", "CopySlices"),
        _never,
        "{at} overwrote these elements: what was there before gets the gradient 0.",
        "Compute with the values before they are overwritten, or write to a copy.",
    ),
    Classic(
        "times-zero",
        ("Mul", "Mm", "Addmm", "Bmm", "Baddbmm", "Mv", "Dot", "Convolution", "Prod", "Div"),
        lambda v: any(v.all(_zero, name) for name in ("other", "mat1", "mat2", "self")),
        "{at} multiplied by 0: the derivative is the other factor.",
        "Check the other factor: a weight of the loss, a mask, or a layer initialized with zeros.",
        "Where a gradient arrived at {at}, the other factor is 0, or the products add up to 0.",
    ),
    Classic(
        "padding-index",
        ("Embedding",),
        lambda v: "indices" in v and v.all(lambda t: t == v["padding_idx"], "indices"),
        "{at} looked up its `padding_idx` only, and that row gets no gradient.",
        "Look up other rows too, or make the embedding without `padding_idx`.",
        "At {at} only other rows than these are looked up, or the row of its `padding_idx`, which gets no gradient.",
    ),
    Classic(
        "not-selected",
        (
            "Select", "Slice", "Index", "IndexSelect", "Gather", "Split", "SplitWithSizes", "Unbind", "Max", "Min",
            "Amax", "Amin", "Stack", "Cat", "Topk", "Sort", "MaxPool2DWithIndices",
            "Median", "Diagonal", "Narrow",
        ),
        _never,
        "At {at} only other elements than these are used: what is not selected gets the gradient 0.",
        "Check the index; the gradient of what was selected is in the other elements.",
    ),
    Classic(
        "norm-of-zeros",
        ("LinalgVectorNorm", "Norm", "Std", "StdMean", "Cdist"),
        lambda v: v.all(_zero, "result"),
        "{at} is a norm (or deviation) of zeros: it has no derivative there, and torch takes 0.",
        "Start from other values, or use the square, which is smooth.",
    ),
    Classic(
        "flat-point",
        ("Pow", "Abs", "Cos", "Sin", "MseLoss", "SmoothL1Loss", "HuberLoss", "L1Loss"),
        _never,
        "{at} is flat at this value: its derivative is 0 there (an extremum, as of x**2 at 0).",
        "Nothing is wrong if the loss is at its minimum; else start from another value.",
    ),
)  # fmt: skip
"""Where a gradient turns into zero. `holds` tells without a captured pass; with one, the node is known."""

_SATURATED = next(one for one in ZERO if one.kind == "saturated")

BAD: tuple[Classic, ...] = (
    Classic(
        "nan-softmax",
        ("Softmax", "LogSoftmax", "SafeSoftmax"),
        lambda v: v.any(lambda t: t.isnan(), "result") and not v.any(lambda t: t.isnan(), "in0"),
        "{at} has a row that is all -inf (everything is masked) or holds infinity: its result is NaN.",
        "Leave one element of each row unmasked, or mask with a big negative number: "
        "`x.masked_fill(mask, torch.finfo(x.dtype).min)`.",
    ),
    Classic(
        "nan-empty",
        ("NllLoss", "NllLoss2D", "Mean", "MseLoss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropyWithLogits"),
        lambda v: (
            v.all(_zero, "total_weight")
            or v.all(_zero, "self_sym_numel")
            or any(not v[n].numel() for n in ("self", "in0") if n in v)
        ),
        "{at} is a mean of nothing: the batch is empty, or all targets are `ignore_index`, and 0 / 0 is NaN.",
        "Skip such a batch, or sum and divide by at least 1: `loss_sum / max(count, 1)`.",
    ),
    Classic(
        "nan-sqrt",
        ("Sqrt",),
        lambda v: v.any(lambda t: (t <= 0) | t.isnan(), "result", "in0"),
        "The derivative of {at} at 0 is infinite, and below 0 it is NaN.",
        "Keep its input away from 0: `(x + 1e-12).sqrt()`, or `x.clamp(min=1e-12).sqrt()`.",
    ),
    Classic(
        "nan-sqrt",
        ("Rsqrt",),
        lambda v: v.any(lambda t: t.isinf() | t.isnan(), "result") or v.any(lambda t: t <= 0, "in0"),
        "{at} at 0 is infinite, and so is its derivative; below 0 it is NaN.",
        "Keep its input away from 0: `(x + 1e-10).rsqrt()`, or `x.clamp(min=1e-10).rsqrt()`.",
    ),
    Classic(
        "nan-std",
        ("Std", "StdMean", "Var", "VarMean"),
        lambda v: (
            v.any(lambda t: t.isnan(), "result") or any(1 in v[n].shape or not v[n].dim() for n in v if n != "result")
        ),
        "{at} is of a single number: the unbiased deviation divides by n - 1, which is 0.",
        "Use `correction=0`, or more than one number.",
    ),
    Classic(
        "nan-log",
        ("Log", "Log2", "Log10", "Log1P", "Logit", "Xlogy", "LogSigmoid", "BinaryCrossEntropy"),
        lambda v: v.any(lambda t: t <= 0, "self", "in0"),
        "{at} has an input of 0 or less: the derivative 1/x is infinite at 0, and the logarithm is NaN below.",
        "Use `x.clamp(min=1e-12).log()`, or a function made for it: `F.log_softmax`, `F.logsigmoid`, `torch.xlogy`.",
    ),
    Classic(
        "nan-division",
        ("Div", "Reciprocal", "TrueDivide"),
        lambda v: v.any(_zero, "other", "in1") or v.any(lambda t: t.isinf(), "result"),
        "{at} divides by 0: the derivative is infinite, and NaN where the numerator is 0 too.",
        "Add a small number to the denominator, or guard it before: `torch.where(d == 0, 1, d)`.",
    ),
    Classic(
        "nan-pow",
        ("Pow", "PowBackward"),
        lambda v: _bad_power(v) and not _whole_power(v),
        "{at} has a base of 0 or less with an exponent whose derivative is infinite (or NaN) there.",
        "Keep the base positive: `x.clamp(min=1e-12) ** p`, with a bigger minimum for a negative p.",
    ),
    Classic(
        "nan-pow",
        ("Pow", "PowBackward"),
        lambda v: _bad_power(v) and _whole_power(v),
        "{at} has a base of 0 with a negative exponent (its derivative is infinite there), or a negative base whose "
        "logarithm the gradient of the exponent takes.",
        "Guard the base before: `torch.where(x == 0, 1.0, x) ** p`; for a gradient of the exponent keep it positive.",
    ),
    Classic(
        "nan-edge",
        ("Acos", "Asin", "Atanh", "Acosh", "Erfinv", "Atan2"),
        lambda v: v.any(lambda t: t.abs() >= 1, "self", "in0"),
        "{at} is at the edge of its domain, where its derivative is infinite.",
        "Clamp its input a little inside: `x.clamp(-1 + 1e-6, 1 - 1e-6)`.",
    ),
    Classic(
        "overflow",
        ("Exp", "Expm1", "Exp2", "Cosh", "Sinh", "Prod", "Cumprod", "Tan"),
        lambda v: v.any(lambda t: t.isinf(), "result"),
        "{at} has grown beyond what its dtype holds.",
        "Subtract the maximum first, or use `torch.logsumexp`, `F.log_softmax` or a wider dtype.",
    ),
    Classic(
        "overflow",
        ("Pow",),
        _big_power,
        "{at} (or its derivative) has grown beyond what its dtype holds.",
        "Make its base smaller (`x / x.abs().max()`), or compute in a wider dtype: `.float()` for float16, `.double()` "
        "for float32.",
    ),
    Classic(
        "nan-degenerate",
        ("LinalgEigh", "LinalgSvd", "LinalgEig", "LinalgQr", "LinalgInvEx", "LinalgCholeskyEx", "LinalgDet"),
        _never,
        "{at} has equal or zero eigenvalues (singular values), where its derivative does not exist.",
        "Add a little noise or a multiple of the identity, or use the values only, not the vectors.",
    ),
    Classic(
        "nan-times-infinity",
        ("Mul", "Mm", "Addmm", "Bmm", "Mv", "Dot"),
        lambda v: v.any(lambda t: ~t.isfinite(), "self", "other", "mat1", "mat2", "in0", "in1"),
        "{at} multiplies by a factor that is NaN or infinite: 0 times infinity is NaN.",
        "Find where that factor was made; guard the input of that operation, not its output.",
    ),
)
"""Where finite gradients turn into NaN or infinity."""

_MASKS = frozenset({"Where", "MaskedFill", "MaskedSelect", "Index", "Clamp", "ClampMin", "Maximum", "Minimum"})
_BROADCASTING = frozenset(
    {
        "Add", "Sub", "Rsub", "Mul", "Div", "Pow", "Where", "Addmm", "Expand", "Maximum", "Minimum", "Addcmul",
        "Addcdiv", "Lerp", "Baddbmm", "Atan2", "Fmod", "Remainder", "Xlogy",
    }
)  # fmt: skip


_WEIGHT = {"Addmm": 2, "Mm": 1}  # the input that is a layer's weight, transposed
_FACTORS = frozenset({"Mul", "Mm", "Addmm", "Bmm", "Mv", "Dot"})
_HARMLESS = frozenset({"nan-times-infinity", "nan-empty", "nan-softmax"})  # as a rule
_MODULE_HOOK = "BackwardHookFunction"
_IN_ITSELF = frozenset({"nan-degenerate", "nan-softmax", "nan-empty", "nan-std"})
_ELEMENTWISE = frozenset({"Mul", "Div", "Pow"})
_TOLD = frozenset({"self", "result", "other", "mat1", "mat2", "in0", "in1"})


class Numbers:
    """Findings on the numbers of one gradient."""

    def __init__(self, facts: Facts) -> None:
        self.f = facts

    @cached_property
    def kind(self) -> str:
        return kind_of_numbers(self.f.gradient)

    # --- zero ----------------------------------------------------------------------------------------------------

    @cached_property
    def zero(self) -> Finding | None:
        """Why the gradient is zero, None if it is not."""
        if self.kind != "zero":
            return None
        f = self.f
        fact = (f"{f.name}.grad is all zeros" if f.grad is not None else f"the gradient of {f.name} is all zeros",)
        if f.grad is not None and f.is_leaf and f.last is not None and kind_of_numbers(f.captured) == "":
            after = self._zeroed_after(fact)
            if after is not None:
                return after
        if f.seen is not None and f.spot is not None and f.last is not None:
            found = self._zero_in_pass(f.seen, f.spot[0], f.last, fact)
            if found is not None:
                return found
        found = self._zero_by_values(fact)
        if found is not None:
            return found
        if f.grad is not None and f.is_leaf and f.watched and f.last is None:
            return Finding(
                "zeroed",
                f"{f.name}.grad was filled with zeros and no pass has come here since: `zero_grad(set_to_none=False)`.",
                "Run `backward()`; today's `zero_grad()` sets `.grad` to None.",
                fact,
            )
        return Finding(
            "zero",
            f"The gradient of {f.name} is 0, and what is left does not tell whether a factor of 0, a dead or masked "
            f"operation made it so{self._candidates(ZERO)}, or `zero_grad(set_to_none=False)`{self._or_underflow()}.",
            "Watch the next pass to see where it turns into 0: `w = gw.GradWidget(loss)` before `backward()`, "
            f"then `gw.why({f.name})`.",
            fact,
        )

    def _or_underflow(self) -> str:
        """That numbers may have been too small, where the dtype is narrow."""
        narrow = self.f.dtype in ("float16", "float8_e5m2", "float8_e4m3fn")
        return f", or the numbers were too small ({beneath(self.f.dtype)})" if narrow else ""

    def _zeroed_after(self, fact: tuple[str, ...]) -> Finding | None:
        """`.grad` is zero though the last pass brought something else."""
        f = self.f
        if f.seen is None or f.spot is None or _length(f.captured) in (None, 0.0):
            return None
        label = f"pass {f.last.number} ({f.last.label})" if f.last is not None else ""
        brought = f"{label} brought {_brief((f.captured,))}"
        if f.last is not None and f.last.kind != "backward":
            return Finding(
                "zeroed",
                f"{f.name}.grad is 0, but the last pass was no `backward()`: {label} writes no `.grad`, so these zeros "
                "are older.",
                "Call `backward()`, or use what `autograd.grad()` returned.",
                (brought, *fact),
            )
        parts = [one for one in f.passes if f.spot[0] in one.steps and one.kind == "backward"]
        if len(parts) > 1 and self._brought(f.seen, f.spot[0]):
            return Finding(
                "cancels",
                f"The shares of {f.name} cancel: passes {' and '.join(str(one.number) for one in parts)} brought "
                "gradients whose sum is 0.",
                "Call `optimizer.zero_grad()` before each `backward()`, unless the sum is meant.",
                (*(f"pass {one.number} added {_brief(one.at(f.spot[0]))}" for one in parts[-_SHARES:]), *fact),
            )
        hook = self._after_accumulation()
        return Finding(
            "zeroed",
            f"{f.name}.grad was set to 0 after the pass, which had brought another gradient: "
            + (f"by the hook that runs after it was written ({hook}), or " if hook else "")
            + "`zero_grad(set_to_none=False)`, `zero_()`, or a clipping to 0.",
            "Read `.grad` before `zero_grad()`; `w[name].gradient` is what arrived.",
            (brought, *fact),
        )

    def _zero_in_pass(self, seen: Inspection, key: int, one: BackwardPass, fact: tuple[str, ...]) -> Finding | None:
        """Go up from the node, as long as what arrived there was zero too."""
        lengths = self._lengths(one)
        hook = next((h for h in self._hook_changes(seen, {key}, one) if h[2] == "set to zero"), None)
        if hook is not None:
            return self._hooked(hook, fact)
        waiting, visited = [key], {key}
        origins: list[int] = []
        cancelled: list[int] = []
        while waiting:
            key = waiting.pop(0)
            for edge in seen.edges.consumers[key]:
                above = seen.columns.source[edge]
                if above not in one.steps:
                    continue
                if any(length not in (None, 0.0) for length in lengths[one.steps[above]]):
                    if above not in origins:
                        origins.append(above)
                    if self._handed_length(one, above, seen.columns.input[edge]):
                        cancelled.append(above)
                    continue
                if above in visited:
                    continue
                visited.add(above)
                hook = next((h for h in self._hook_changes(seen, {above}, one) if h[2] == "set to zero"), None)
                if hook is not None:
                    return self._hooked(hook, fact)
                waiting.append(above)
        if not origins:
            if one.order and lengths[0] and lengths[0][0] == 0.0:
                return Finding(
                    "zero-start", "The pass began with a gradient of 0.", "Check `backward(gradient=...)`.", fact
                )
            return None
        if cancelled:
            names = " and ".join(_at(seen, k) for k in dict.fromkeys(cancelled))
            return Finding(
                "cancels",
                f"The shares of {self.f.name} cancel: {names} hand on gradients whose sum is 0.",
                "Nothing is wrong if that is meant, as in a softmax or a difference of the same tensor.",
                fact,
            )
        handed = [f"{seen.label_of(k)} received {_brief(one.at(k))} and handed on 0" for k in sorted(origins)[:3]]
        return self._named_zero(seen, min(origins), (*fact, *handed), one)

    def _handed_length(self, one: BackwardPass, key: int, slot: int) -> float | None:
        row = one.handed_on(one.steps[key])
        return norms(row[slot : slot + 1])[0] if slot < len(row) else None

    def _named_zero(self, seen: Inspection, key: int, evidence: tuple[str, ...], one: BackwardPass | None) -> Finding:
        op = seen.columns.ops[seen.columns.op[key]]
        at = _at(seen, key)
        if op.label == _MODULE_HOOK:
            return self._module_hook(at, "set the gradient to zero", evidence)
        if op.kind == "function":
            arrived = () if one is None else one.at(key)
            missing = [i for i, g in enumerate(arrived) if g is None]
            info = _told.function(seen, key)
            if missing and len(arrived) > 1 and (info is None or info.materialize):
                return self._unused_output(seen, key, missing[0], evidence)
            return Finding(
                "function-zero",
                f"The custom Function {at} has returned zeros from its `backward`.",
                "Check its `backward` with `torch.autograd.gradcheck`.",
                evidence,
            )
        if op.label in ("Softmax", "LogSoftmax") and _safely(_one_class(op.label), self._values(here=seen, key=key)):
            return Finding(
                "zero-derivative",
                f"{at} is over a single class: its result is {'1' if op.label == 'Softmax' else '0'} whatever goes in, "
                "so its derivative is 0.",
                "Give it one number for each class, at least two; for a single logit use "
                "`F.binary_cross_entropy_with_logits`. Or check `dim`.",
                evidence,
            )
        if op.label in ("Softmax", "LogSoftmax") and not _safely(_SATURATED.holds, self._values(here=seen, key=key)):
            return Finding(
                "zero-derivative",
                f"{at} handed on 0: the outputs of a softmax add up to 1, so what counts all of a row alike has the "
                "derivative 0; or its derivative is 0 at this value.",
                "Nothing is wrong if that is meant; let the loss depend on single outputs, not on their sum.",
                evidence,
            )
        values = self._values(here=seen, key=key)
        if self._too_small(op.label, values, one):
            return self._underflow(seen, key, evidence)
        for one_classic in ZERO:
            if op.label in one_classic.ops:
                tested = one_classic.holds not in (_never, _always) and bool(_TOLD & values.keys())
                partly = tested and one is not None and not _safely(one_classic.holds, values)
                words = (partly and one_classic.partly) or one_classic.cause
                if one_classic.kind == "times-zero":
                    evidence += self._zero_factors(seen, key)
                return Finding(one_classic.kind, words.format(at=at), one_classic.remedy, evidence)
        return Finding(
            "zero-derivative",
            f"{at} handed on 0: its derivative is 0 at this value.",
            "Look at its inputs in the panel of the node.",
            evidence,
        )

    def _module_hook(self, at: str, did: str, evidence: tuple[str, ...]) -> Finding:
        return Finding(
            "hook",
            f"A backward hook of a module {did}: {at} stands for it in the graph.",
            "Call `handle.remove()` on what `register_full_backward_hook()` returned, or return None from the hook to "
            "change nothing.",
            evidence,
        )

    @unobserved()
    def _too_small(self, label: str, values: Values, one: BackwardPass | None) -> bool:
        """Whether a product of numbers that are not 0 was taken as 0: the dtype can't hold it."""
        factors = [n for n in ("self", "other") if n in values]
        if one is None or label not in _ELEMENTWISE or not factors:
            return False
        return not values.any(lambda t: (t == 0) | ~t.isfinite(), *factors) and not values.all(_zero, "exponent")

    @unobserved()
    def _zero_factors(self, here: Inspection, key: int) -> tuple[str, ...]:
        """Named inputs of a product that are all zeros, as facts."""
        columns, found = here.columns, []
        for edge in here.edges.inputs[key]:
            place = (columns.target[edge], columns.output[edge])
            into = here.edges.inputs[place[0]]
            if columns.ops[columns.op[place[0]]].label in ("T", "Transpose") and into:
                place = (columns.target[into[0]], columns.output[into[0]])
            name = here.name_of(place)
            if name and kind_of_numbers(here.known_value(place)) == "zero":
                found.append(f"{name} is all zeros")
        return tuple(found[:2])

    def _underflow(self, here: Inspection, key: int, evidence: tuple[str, ...]) -> Finding:
        dtype = _dtype(here, key)
        return Finding(
            "underflow",
            f"{_at(here, key)} handed on 0 although none of its factors is 0: the product is too small "
            f"({beneath(dtype)}).",
            "Take a wider dtype from the leaf on: float32 with `torch.autocast` and a `torch.amp.GradScaler` instead "
            "of float16, float64 instead of float32.",
            evidence,
        )

    def _unused_output(self, here: Inspection, key: int, output: int, evidence: tuple[str, ...]) -> Finding:
        at = _at(here, key)
        return Finding(
            "unused-output",
            f"Output {output} of {at} was not used, so no gradient came back for it: torch made up zeros, and the "
            "custom Function handed them on. This is not a derivative of 0.",
            "Call `ctx.set_materialize_grads(False)` in `forward` and return None where None arrives.",
            (*evidence, f"nothing arrives at output {output} of {here.label_of(key)}"),
        )

    @unobserved()
    def _zero_by_values(self, fact: tuple[str, ...]) -> Finding | None:
        """Without a pass: a node on every path whose derivative is zero, by what it has saved or takes in."""
        here = self.f.here
        if here is None:
            return None
        for key in self.f.between[::-1]:
            label = here.columns.ops[here.columns.op[key]].label
            for one in ZERO:
                if label in one.ops and self._unavoidable(here, key) and _safely(one.holds, self._values(here, key)):
                    found = self._named_zero(here, key, fact, None)
                    return found._replace(evidence=(*found.evidence, *self._on_the_way(here, key)))
        for key in self.f.between:
            if here.kind_of(key) != "function":
                continue
            used = {here.columns.output[e] for e in here.edges.consumers[key]} | {o for k, o in self.f.outs if k == key}
            unused = sorted(set(range(len(here.columns.forms_of(key)))) - used)
            info = _told.function(here, key)
            if unused and (info is None or info.materialize):
                return self._unused_output(here, key, unused[0], fact)
        masks = [k for k in self.f.between if here.columns.ops[here.columns.op[k]].label in ("Where", "MaskedFill")]
        if len(masks) == 1 and len(self.f.uses) == 1:
            return self._named_zero(here, masks[0], fact, None)
        return None

    def _on_the_way(self, here: Inspection, key: int) -> tuple[str, ...]:
        label = here.label_of(key)
        return () if label == self.f.outputs else (f"{label} lies on the way to {self.f.outputs}",)

    def _unavoidable(self, here: Inspection, key: int) -> bool:
        """Whether all paths from the outputs to the tensor go through a node."""
        f = self.f
        ends = {place[0] for place in f.outs}
        waiting = [k for k in {here.columns.source[e] for e in f.uses} if k != key]
        found = set(waiting)
        while waiting:
            at = waiting.pop()
            if at in ends:
                return False
            for edge in here.edges.consumers[at]:
                above = here.columns.source[edge]
                if above != key and above not in found and above in f.in_outputs:
                    found.add(above)
                    waiting.append(above)
        return True

    def _values(self, here: Inspection, key: int) -> Values:
        """What a node has saved, and its inputs as far as a name holds them."""
        found = Values()
        nodes = self.f.nodes if here is self.f.here else (here.nodes() or [])
        readings = _saved.read(nodes[key]) if key < len(nodes) else []
        for reading in readings:
            value = reading.tensor if reading.tensor is not None else reading.scalar
            if isinstance(value, (int, float)):
                value = torch.tensor(float(value))
            if isinstance(value, torch.Tensor):
                found[reading.name] = value
        if here is self.f.seen:
            for name, saved in here.saved(key).items():
                if isinstance(saved.value, torch.Tensor):
                    found.setdefault(name, saved.value)
        for edge in here.edges.inputs[key]:
            value = here.known_value((here.columns.target[edge], here.columns.output[edge]))
            if value is not None:
                found[f"in{here.columns.input[edge]}"] = value
        slot = _WEIGHT.get(here.columns.ops[here.columns.op[key]].label)
        if slot is not None and "mat2" not in found:
            weight = _behind_transpose(here, key, slot)
            if weight is not None:
                found["mat2"] = weight
        value = here.known_value((key, 0))
        if value is not None:
            found.setdefault("result", value)
        if here.columns.ops[here.columns.op[key]].label == "Pow" and (
            any(one.name == "self" and one.tensor is None and one.scalar is not None for one in readings)  # 2**x
            or any(here.columns.input[e] == 1 for e in here.edges.inputs[key])
        ):
            found["by_exponent"] = torch.ones(())
        plain = {name: readable(value)[0] for name, value in found.items()}
        return Values({name: value for name, value in plain.items() if value is not None and not value.is_complex()})

    def _lengths(self, one: BackwardPass) -> list[list[float | None]]:
        known = self.f.memo.get(id(one))
        if known is None:
            rows = [one.row(step) for step in range(len(one))]
            flat = iter(norms(item for row in rows for item in row))
            known = self.f.memo[id(one)] = [[next(flat) for _ in row] for row in rows]
        found: list[list[float | None]] = known
        return found

    # --- NaN and infinity ----------------------------------------------------------------------------------------

    @cached_property
    def bad(self) -> Finding | None:
        """Where NaN or infinity began, None if all is finite."""
        if self.kind not in ("NaN", "infinity"):
            return None
        f = self.f
        what = f"{f.name}.grad" if f.grad is not None else f"the gradient of {f.name}"
        fact = (f"{what} has {self.kind}",)
        forward = self._bad_forward(fact)
        if forward is not None:
            return forward
        if f.seen is not None and f.last is not None:
            known = f.memo.get(("bad", id(f.last)))
            if known is None:
                known = f.memo["bad", id(f.last)] = (first_bad(f.seen, f.last),)
            bad: Bad | None = known[0]
            if bad is not None:
                return self._named_bad(f.seen, bad.key, bad.kind, (*fact, bad.text.rstrip(".")), bad)
        found = self._bad_by_values(fact)
        if found is not None:
            return found
        return Finding(
            "nan",
            f"The gradient of {f.name} has {self.kind}; what is left does not tell which operation made it"
            f"{self._candidates(BAD)}.",
            f"{self._likely()}Watch the next pass: `w = gw.GradWidget({f.outputs if f.asked else 'loss'})` before "
            f"`backward()`, then `gw.why({f.name})`.",
            fact,
        )

    def _bad_forward(self, fact: tuple[str, ...]) -> Finding | None:
        """The forward pass itself has bad numbers: in a leaf, or in its output."""
        here, keys = self.f.here, self.f.in_outputs
        if here is None:
            return None
        heads = {place for place in self.f.outs if not here.edges.consumers[place[0]] or self.f.asked}
        leaves = {(key, 0) for key in keys if here.kind_of(key) == "leaf"}
        if self._finite_outputs:
            leaves = set()  # what is not finite there now was written after the forward pass
        for place in (*sorted(leaves), *sorted(heads & {(k, o) for k in self.f.between for _, o in heads})):
            tensor = here.known_value(place)
            kind = kind_of_numbers(tensor)
            if kind == "NaN" or (kind and kind != "zero" and place in leaves):
                name = here.name_of(place) or here.label_of(place[0])
                if place not in leaves:
                    found = self._bad_by_values((*fact, f"{name} has {kind}", *self._bad_in_scope()), forward=True)
                    if found is not None:
                        return found
                stepped = place in leaves and issubclass(type(tensor), torch.nn.Parameter)
                cause = "a leaf holds it before any operation" if place in leaves else "it is in the output"
                cause += " (if no optimizer step has written it since)" if stepped else ""
                made = "" if place in leaves else self._candidates(BAD)
                return Finding(
                    "bad-value",
                    f"The forward pass has {kind} already ({name}): {cause}{made}.",
                    self._find_source(name, leaf=place in leaves),
                    (*fact, f"{name} has {kind}", *self._bad_in_scope()),
                )
        return None

    @cached_property
    @unobserved()
    def _finite_outputs(self) -> bool:
        """Whether all outputs are known to be finite: then nothing that went into them was NaN."""
        here = self.f.here
        if here is None:
            return False
        values = [here.known_value(p) for p in self.f.outs if self.f.asked or not here.edges.consumers[p[0]]]
        return bool(values) and all(v is not None and kind_of_numbers(v) in ("", "zero") for v in values)

    def _find_source(self, name: str, *, leaf: bool) -> str:
        """The remedy for a value of the forward pass that is not finite."""
        if leaf:
            return (
                "Find what wrote it: an optimizer step with a NaN or too big a learning rate, the initialization, a "
                f"checkpoint or the data; `torch.isfinite({name}).all()` after each step tells which."
            )
        return f"{self._likely()}Check what went into it: `torch.isfinite({name}).all()`, then the same for its inputs."

    @cached_property
    @unobserved()
    def bad_output(self) -> Finding | None:
        """An output on the way is not finite, although the gradient is: it can't be trusted."""
        f, here = self.f, self.f.here
        if here is None or self.kind not in ("", "zero"):
            return None
        ends = [p for p in f.outs if f.asked or (p[0] in f.between and not here.edges.consumers[p[0]])]
        for place in ends:
            kind = kind_of_numbers(here.known_value(place))
            if kind not in ("NaN", "infinity") or not f.reached:
                continue
            name = here.name_of(place) or here.label_of(place[0])
            limit = beyond(_dtype(here, place[0])) if kind == "infinity" else ""
            found = None if limit else self._bad_by_values((), forward=True)
            why = "" if limit else f": {found.cause}" if found is not None else f"{self._candidates(BAD)}."
            return Finding(
                "bad-value",
                f"The forward pass has {kind} already ({name}){why or '.'}{limit} The gradient of {f.name} is finite, "
                "but the value that it belongs to is not.",
                "Compute that in float32: `.float()` before the operation that grows, and a `torch.amp.GradScaler` for "
                "the gradients."
                if limit
                else found.remedy
                if found is not None
                else f"{self._likely()}Check what went into it: `torch.isfinite({name}).all()`, then the same for its "
                "inputs.",
                (
                    f"{name} has {kind}",
                    *((f"{f.name}.grad is {f.brief}",) if f.grad is not None else ()),
                    *self._bad_in_scope(),
                ),
            )
        return None

    def _named_bad(
        self,
        here: Inspection,
        key: int,
        kind: str,
        evidence: tuple[str, ...],
        bad: Bad | None = None,
        *,
        forward: bool = False,
    ) -> Finding:
        at = _at(here, key)
        label = here.columns.ops[here.columns.op[key]].label
        if bad is not None and ("hook" in bad.text or "began with" in bad.text):
            return Finding("nan-given", bad.text, "Check that hook, or the gradient that was given.", evidence)
        if label == _MODULE_HOOK:
            return self._module_hook(at, f"made {kind} of the gradient", evidence)
        if here.kind_of(key) == "function":
            return Finding(
                "nan-function",
                f"The custom Function {at} has returned {kind} from its `backward`.",
                "Check its `backward` with `torch.autograd.gradcheck`.",
                evidence,
            )
        above = _above(here, key)
        masks = [k for k in sorted(above) if here.columns.ops[here.columns.op[k]].label in _MASKS]
        for one in self._classics(here, key):
            if label in one.ops:
                cause, remedy, classic = one.cause.format(at=at), one.remedy, one.kind
                norm = _norm_before(here, key)
                if norm and one.kind in ("nan-sqrt", "nan-division", "nan-pow"):
                    classic = "nan-norm"
                    cause = f"{norm} is a norm of zeros, and the derivative of {at} is infinite there."
                    remedy = "Add a small number under the root: `(x.pow(2).sum() + 1e-12).sqrt()`."
                if masks and kind == "NaN" and not forward:
                    mask = _at(here, masks[0])
                    cause += f" {mask} left those elements out: the gradient 0 came back to them, and 0 * inf is NaN."
                    remedy = (
                        "Guard the input, not the output: `safe = torch.where(ok, x, 1.0)`, then "
                        "`torch.where(ok, f(safe), other)`."
                    )
                elif kind == "NaN" and not forward and "0 times infinity" not in cause and classic not in _IN_ITSELF:
                    cause += " A gradient of 0 times infinity is NaN."
                return Finding(classic, cause, fitted(remedy, _dtype(here, key)), evidence)
        if kind == "infinity" and label in _FACTORS | {"Div", "Sum", "Add"} and not self._any_bad(here, key):
            return Finding(
                "overflow",
                f"{at} made infinity of finite numbers: the gradient has grown beyond what {_dtype(here, key)} holds.",
                "Keep the factors near 1 (initialization, normalization, fewer steps), or compute in a wider dtype; "
                "clipping comes too late for it.",
                evidence,
            )
        return Finding(
            "nan-operation",
            f"{at} made {kind} of a finite gradient: its derivative is not finite at this value, or too big for the "
            "dtype.",
            "Look at its inputs and saved variables in the panel of the node.",
            evidence,
        )

    @unobserved()
    def _any_bad(self, here: Inspection, key: int) -> bool:
        values = self._values(here, key)
        return values.any(lambda t: ~t.isfinite(), *values)

    @unobserved()
    def _classics(self, here: Inspection, key: int) -> list[Classic]:
        """The causes that fit an operation and its values; all that fit the operation where no value is known."""
        label = here.columns.ops[here.columns.op[key]].label
        fitting = [one for one in BAD if label in one.ops]
        values = self._values(here, key)
        known = _TOLD & values.keys()
        if label == "Pow" and not known and _safely(_innocent_power, values):
            fitting = [one for one in fitting if one.kind != "nan-pow"]
        return [one for one in fitting if not known or one.holds is _never or _safely(one.holds, values)]

    @unobserved()
    def _bad_by_values(self, fact: tuple[str, ...], *, forward: bool = False) -> Finding | None:
        """A node on the way with a value at which its derivative is not finite; or its value itself (`forward`)."""
        f = self.f
        here, keys = f.here, f.between
        if f.seen is not None and f.spot is not None:  # it has seen what was saved before that was freed
            here, keys = f.seen, sorted(_above(f.seen, f.spot[0]))
        if here is None:
            return None
        for key in keys[::-1] if forward else keys:  # what went wrong first is nearest the leaves
            label = here.columns.ops[here.columns.op[key]].label
            values = self._values(here, key)
            if forward and "result" in values and not values.any(lambda t: ~t.isfinite(), "result"):
                continue
            for one in BAD:
                if one.kind == "nan-times-infinity" and self._finite_outputs:
                    continue  # a factor that is NaN now was not so in the forward pass
                if label in one.ops and _safely(one.holds, values):
                    found = self._named_bad(here, key, self.kind, fact, forward=forward)
                    return found._replace(evidence=(*fact, f"{here.label_of(key)} has such a value"))
        return None

    @unobserved()
    def _bad_in_scope(self) -> tuple[str, ...]:
        """Constants in scope that are not finite: the data, as a rule."""
        plain = [(n, t) for n, t in self.f.scope.tensors if "[" not in n and not t.requires_grad][:_HOOKED]
        told = ((n, kind_of_numbers(t)) for n, t in plain if t.numel() <= COMPARED and t.is_floating_point())
        return tuple(f"{name} has {kind} too" for name, kind in told if kind in ("NaN", "infinity"))[:2]

    @unobserved()
    def _innocent(self, here: Inspection, key: int) -> bool:
        """Whether an operation is a power with a whole exponent: its derivative is finite everywhere."""
        if here.columns.ops[here.columns.op[key]].label != "Pow":
            return False
        return _safely(_innocent_power, self._values(here, key))

    def _likely(self) -> str:
        """The remedy for the one operation on the way that could have made it; "" if there are several."""
        here = self.f.here
        if here is None:
            return ""
        labels = {k: here.columns.ops[here.columns.op[k]].label for k in self.f.between}
        found = [
            (k, one)
            for k, label in labels.items()
            for one in BAD
            if label in one.ops and one.kind not in _HARMLESS and not self._innocent(here, k)
        ]
        if len({k for k, _ in found}) == 1 and found[0][1].kind == "nan-pow":
            found = found[1:2] if _safely(_whole_power, self._values(here, found[0][0])) else found[:1]
        if len(found) != 1 or self._bad_in_scope():
            return ""
        key, one = found[0]
        return f"{fitted(one.remedy, _dtype(here, key))} "

    def _candidates(self, classics: tuple[Classic, ...]) -> str:
        """Operations on the way that could have done it, as a remark."""
        here = self.f.here
        if here is None:
            return ""
        sure = {op for one in classics for op in one.ops} - (_FACTORS if classics is BAD else set())
        found = [
            _at(here, k)
            for k in self.f.between
            if here.columns.ops[here.columns.op[k]].label in sure and not (classics is BAD and self._innocent(here, k))
        ][:3]
        return f" ({' or '.join(found)} could have)" if found else ""

    # --- bigger than expected, or changed ------------------------------------------------------------------------

    @cached_property
    def hooked(self) -> Finding | None:
        """A user's hook has changed the gradient on its way here."""
        f = self.f
        if f.seen is None or f.spot is None or f.last is None:
            return None
        fact = (f"the gradient of {f.name} is {_brief((f.gradient,))}",)
        above = _above(f.seen, f.spot[0]) | {f.spot[0]}
        changes = self._hook_changes(f.seen, above, f.last)
        return self._hooked(changes[-1], fact, changes) if changes else None

    @cached_property
    def hook_possible(self) -> Finding | None:
        """Nobody watched, but a user's hook stands on the way."""
        f = self.f
        here = f.here
        if here is None or f.last is not None or f.place is None or (f.watched and not f.passes):
            return None
        for key in [*f.between[:_HOOKED], f.place[0]]:
            hooks = [
                h
                for h in _told.user_hooks(here, key, f.nodes)
                if h.kind in ("tensor hook", "node pre-hook", "node hook")
            ]
            if hooks:
                one, name = hooks[-1], here.label_of(key)
                where = f", {one.where}" if one.where else ""
                return Finding(
                    "hook-possible",
                    f"A hook on {name} ({one.name}{where}) stands on the way of the gradient of {f.name}, and may have "
                    "changed it; nobody watched the pass.",
                    "Make `w = gw.GradWidget(loss)` before `backward()`: it shows what each hook does.",
                    (f"{len(hooks)} hook{'s' * (len(hooks) > 1)} on {name}",),
                )
        return None

    @cached_property
    def module_hooks(self) -> str:
        """That the backward hook of a module stands on the way, as a fact."""
        here = self.f.here
        if here is None or not any(here.columns.ops[here.columns.op[k]].label == _MODULE_HOOK for k in self.f.between):
            return ""
        return "a backward hook of a module stands on the way, which may change it"

    def _hook_changes(self, seen: Inspection, keys: set[int], one: BackwardPass) -> list[tuple[str, str, str, int]]:
        """(hook, name of its tensor, change, node) of each hook that has changed something."""
        found = []
        for key, output in one.ladders:
            if key not in keys:
                continue
            capture = next((c for c in _told.captures(seen, key, output) if c.number == one.number), None)
            for effect in () if capture is None else capture.effects:
                if effect.change not in ("", "unchanged") and effect.what.startswith("after "):
                    name = seen.name_of((key, output)) or seen.label_of(key)
                    found.append((effect.what.removeprefix("after "), name, effect.change, key))
        return found

    def _hooked(
        self,
        hook: tuple[str, str, str, int],
        fact: tuple[str, ...],
        all_changes: list[tuple[str, str, str, int]] | None = None,
    ) -> Finding:
        who, name, change, key = hook
        did = (
            "set it to zero"
            if change == "set to zero"
            else "changed it"
            if change == "changed"
            else f"multiplied it by {change[1:]}"
        )
        where = next((h.where for h in _told.user_hooks(self.f.seen, key) if h.name == who), "") if self.f.seen else ""
        more = tuple(f"{w} on {n}: {c}" for w, n, c, _ in (all_changes or [hook]))
        return Finding(
            "hook",
            f"A hook on {name} ({who}{f', {where}' if where else ''}) changed the gradient on its way: it {did}.",
            "Keep the handle that `register_hook()` returns and call `handle.remove()`, or correct the hook.",
            (*more, *fact),
        )

    @cached_property
    def accumulated(self) -> Finding | None:
        """Several passes have added to `.grad`."""
        f = self.f
        if not f.is_leaf or f.grad is None:
            return None
        if f.seen is None or f.spot is None or f.last is None:
            return self._accumulated_unwatched()
        text = _told.accumulated(f.seen, f.spot[0])
        if text.startswith("Accumulated"):
            passes = [one for one in f.passes if f.spot[0] in one.steps]
            parts = tuple(f"pass {one.number} added {_brief(one.at(f.spot[0]))}" for one in passes[-_SHARES:])
            return Finding(
                "accumulated",
                f"{f.name}.grad is a sum over several passes: `backward()` adds to `.grad`, and it was not cleared.",
                "Call `optimizer.zero_grad()` before each `backward()`, unless the sum is meant.",
                (text.rstrip("."), *parts),
            )
        if "backward() through another graph" in text:
            return Finding(
                "accumulated",
                f"{f.name}.grad is bigger than this graph's share: `backward()` through another graph has added to it.",
                "Call `optimizer.zero_grad()` before each `backward()`, unless the sum is meant.",
                (text.rstrip("."),),
            )
        if text.startswith(".grad held"):
            return self._held_before()
        if "something has changed it" in text:
            after = self._after_accumulation()
            if after:
                return Finding(
                    "changed-since",
                    f"{f.name}.grad is not what the passes brought: the hook that runs after it was written "
                    f"({after}) may have changed it, or it was changed since.",
                    "Call `handle.remove()` on the hook's handle, or correct it; `w[name].gradient` is what arrived.",
                    (text.rstrip("."), f"a post-accumulate hook on {f.name}: {after}"),
                )
            return Finding(
                "changed-since",
                f"{f.name}.grad is not what the passes brought: it was changed since, as by `clip_grad_norm_`, a "
                "division by the number of steps, or a hook.",
                "Compare with the captured gradient: `w[name].gradient`.",
                (text.rstrip("."),),
            )
        return None

    def _after_accumulation(self) -> str:
        """The user's hooks that run after `.grad` was written: "double, cell 3, line 2"."""
        f = self.f
        if f.seen is None or f.spot is None:
            return ""
        hooks = [h for h in _told.user_hooks(f.seen, f.spot[0]) if h.kind == "post-accumulate hook"]
        return " and ".join(", ".join(filter(None, (h.name, h.where))) for h in hooks[:3])

    def _held_before(self) -> Finding | None:
        """`.grad` was not None before the first pass that was seen: whether there was something in it."""
        f = self.f
        assert f.seen is not None
        assert f.spot is not None
        brought = self._brought(f.seen, f.spot[0])
        if not isinstance(brought, bool) or brought:
            return None
        return Finding(
            "accumulated",
            f"{f.name}.grad is not what the watched pass brought: it held a gradient before, of passes that nobody "
            "watched, and `backward()` adds to it (or it was changed since).",
            "Call `optimizer.zero_grad()` before each `backward()`, unless the sum is meant.",
            (
                f"{f.name}.grad was not None before the first pass that the widget has seen",
                f"{f.last_label} brought {_brief((f.captured,))}",
            ),
        )

    @unobserved()
    def _brought(self, seen: Inspection, key: int) -> bool | None:
        """Whether `.grad` is the sum of what the watched passes brought; None where that can't be told."""
        parts = [one.at(key)[0] for one in seen.passes if key in one.steps and one.kind == "backward"]
        grad = self.f.grad
        if grad is None or not parts:
            return None
        if all(isinstance(part, torch.Tensor) for part in parts):
            plain = [readable(part)[0] for part in (*parts, grad) if isinstance(part, torch.Tensor)]
            known = [one for one in plain if one is not None]
            if len(known) == len(parts) + 1 and all(one.shape == known[-1].shape for one in known):
                *parts_known, now = known
                return bool(torch.allclose(torch.stack(parts_known).sum(0), now, rtol=1e-3, equal_nan=True))
        if len(parts) > 1:
            return None
        first, now_norm = _length(parts[0]), _length(grad)
        if first is None or now_norm is None:
            return None
        return math.isclose(first, now_norm, rel_tol=1e-3)

    def _accumulated_unwatched(self) -> Finding | None:
        """Nobody watched: several graphs that lead here have been freed, or `.grad` was written to again."""
        f = self.f
        ran = f.heads_freed
        if len(ran) > 1 and not self._written_once():
            names = " and ".join(ran[:3])
            unless = "it was cleared between them"
            if self.f.grad is not None and version_of(self.f.grad) < len(f.all_uses()):
                unless += ", or one of them failed before it came here"
            return Finding(
                "accumulated",
                f"{f.name}.grad is a sum: passes from {names} have run, and `backward()` adds to `.grad` "
                f"(unless {unless}).",
                "Call `optimizer.zero_grad()` before each `backward()`, unless the sum is meant.",
                (f"the graphs of {names} lead to {f.name}, and what they had saved is freed",),
            )
        version = -1 if f.grad is None else version_of(f.grad)
        if version < max(2, len(f.uses)):  # each use beyond the first writes to it too, within one pass
            return None
        return Finding(
            "accumulated",
            f"{f.name}.grad was written to several times: probably several `backward()` calls add up there. "
            "(`zero_()`, `clip_grad_norm_` and the uses of one tensor within one pass write to it too; what is left "
            "does not tell which.)",
            "Call `optimizer.zero_grad()` before each `backward()`; a `gw.GradWidget` made before tells each share.",
            (f"{f.name}.grad._version is {version}",),
        )

    @unobserved()
    def _written_once(self) -> bool:
        """Whether `.grad` is as one pass has left it: a second one adds to it in place, which counts."""
        grad = None if self.f.tensor is None else self.f.tensor.grad
        return grad is not None and version_of(grad) == 0 and grad.layout is torch.strided and not grad.requires_grad

    @cached_property
    def several(self) -> Finding | None:
        """The tensor is used several times: the shares add up."""
        f = self.f
        here, place = (f.seen, f.spot) if f.last is not None else (f.here, f.place)
        if here is None or place is None:
            return None
        edges = [
            e
            for e in here.edges.consumers[place[0]]
            if here.columns.output[e] == place[1]
            and (here is not f.here or f.last is not None or here.columns.source[e] in f.in_outputs)
        ]
        if f.last is not None:
            edges = [e for e in edges if here.columns.source[e] in f.last.steps]
        elif not f.asked and len(edges) > 1:  # which of the outputs ran is not known: the uses of one count
            edges = max(([e for e in edges if here.columns.source[e] in keys] for keys in f.behind_heads), key=len)
        if len(edges) < 2:
            return None
        shares = self._shares(here, edges)
        names = here.names.get(place, [])
        tied = len({n.rpartition(".")[0] for n in names if "." in n}) > 1
        what = (
            f"is one tensor under {len(names)} names ({' and '.join(names[:3])}{', ...' * (len(names) > 3)})"
            if tied
            else f"is used {'twice' if len(edges) == 2 else f'{len(edges)} times'}"
        )
        total = (f"their sum is {_brief((f.captured,))}",) if f.captured is not None and shares else ()
        return Finding(
            "tied" if tied else "several-uses",
            f"{f.name} {what}: its gradient is the sum over all uses.",
            "Nothing is wrong if they are meant to be tied; else give each its own: `nn.Parameter(w.detach().clone())`."
            if tied
            else "That is the chain rule, and nothing to mend; use `.detach()` for a use that should not train it.",
            (*(shares or (f"{len(edges)} operations use it: {', '.join(_users(here, edges))}",)), *total),
        )

    def _shares(self, here: Inspection, edges: list[int]) -> tuple[str, ...]:
        """What each consumer handed on, where the last pass knows."""
        one = self.f.last
        if one is None:
            return ()
        found = []
        for edge in edges[: _SHARES + 1]:
            key = here.columns.source[edge]
            handed = one.handed_on(one.steps[key])
            slot = here.columns.input[edge]
            if slot >= len(handed) or handed[slot] is None:
                return ()
            found.append(f"{here.label_of(key)} handed on {_brief((opened(handed[slot]),))}")
        if len(edges) > _SHARES:
            found[_SHARES:] = [f"and {len(edges) - _SHARES} more"]
        return tuple(found)

    @cached_property
    def pairs(self) -> Finding | None:
        """On the way a column (n, 1) met a row (n,), which makes (n, n): a classic slip."""
        f = self.f
        if f.here is None or not f.asked:
            return None
        columns = f.here.columns
        for key in f.between:
            made = next((form.shape for form in columns.forms_of(key)), None)
            edges = f.here.edges.inputs[key]
            if columns.ops[columns.op[key]].label not in _BROADCASTING or made is None or len(edges) != 1:
                continue
            edge = edges[0]
            forms = columns.forms_of(columns.target[edge])
            taken = forms[columns.output[edge]].shape if columns.output[edge] < len(forms) else None
            if len(made) < 2 or made[-1] != made[-2] or made[-1] < 2 or taken not in (made[:-1], (*made[:-1], 1)):
                continue
            return Finding(
                "pairs",
                f"{_at(f.here, key)} made {made} of {taken}. If the other shape was ({made[-1]},), every element met "
                f"every other, and the gradient of {f.name} is that of a loss over all pairs.",
                "If pairs are not meant, give both the same shape: `prediction.squeeze(-1)` or `target.unsqueeze(-1)`.",
                (f"{_shape(taken)} became {_shape(made)} at {f.here.label_of(key)}",),
            )
        return None

    @cached_property
    def broadcast(self) -> Finding | None:
        """The tensor was broadcast: its gradient is summed over the repeats."""
        f = self.f
        here, place = (f.seen, f.spot) if f.seen is not None else (f.here, f.place)
        if here is None or place is None:
            return None
        forms = here.columns.forms_of(place[0])
        mine = forms[place[1]].shape if place[1] < len(forms) else None
        if mine is None:
            return None
        if f.last is not None and here is f.seen:
            within = {key for key in range(len(here.columns.op)) if key in f.last.steps}
        else:
            within = f.in_outputs if here is f.here else set(range(len(here.columns.op)))
        for edge in here.edges.consumers[place[0]]:
            key = here.columns.source[edge]
            op = here.columns.ops[here.columns.op[key]]
            bigger = next((form.shape for form in here.columns.forms_of(key)), None)
            if op.label not in _BROADCASTING or bigger is None or bigger == mine or not _expands(mine, bigger):
                continue
            if key not in within:
                continue
            times = math.prod(bigger) // max(1, math.prod(mine))
            divided = self._divided(here, (_above(here, key) | {key}) & within, times)
            return Finding(
                "broadcast",
                f"{f.name} of shape {mine} was broadcast to {bigger} in {_at(here, key)}: each element was used "
                f"{times} times, and its gradient is the sum over them.{divided}",
                "Nothing is wrong if that is meant."
                if divided
                else "Nothing is wrong if that is meant; for a mean, use `.mean()` in the loss or divide.",
                (f"{_shape(bigger)} summed to {_shape(mine)} at {here.label_of(key)}",),
            )
        return None

    @unobserved()
    def _divided(self, here: Inspection, keys: set[int], times: int) -> str:
        """That a mean, or a loss that averages inside, divides the sum again, as a sentence; "" if none does."""
        dividing = [key for key in sorted(keys) if here.columns.ops[here.columns.op[key]].label in DIVIDING]
        found = [(key, divisor_of(here, key, self._values(here, key))) for key in dividing[-_HOOKED:]]
        known = [(key, one) for key, one in found if one is not None and one.number != 1]
        if not known:
            return ""
        nearest = max(key for key, _ in known)  # others divide too if it is behind them, not beside them
        known = [(key, one) for key, one in known if key == nearest or key in _above(here, nearest)][-3:]
        told = " and ".join(f"{_at(here, key)} by {one.text}" for key, one in known)
        total = math.prod(one.number or 1 for _, one in known)
        unsure = any(one.number is None for _, one in known)
        return f" {told[0].upper()}{told[1:].replace(' by ', ' divides it by ', 1)}" + (
            ": it need not be bigger." if unsure or total >= times else "."
        )
        return None


@unobserved()
def kind_of_numbers(gradient: Gradient) -> str:
    """Whether it is "zero", or has "NaN" or "infinity"; "" for all others."""
    if gradient is None:
        return ""
    if not isinstance(gradient, torch.Tensor):
        length = None if gradient.stats is None else gradient.stats.norm
        if length is None:
            return ""
        return "NaN" if math.isnan(length) else "zero" if length == 0 else ""
    plain, _ = readable(gradient)
    if plain is None or not plain.numel():
        return ""
    if bool(plain.isnan().any()):
        return "NaN"
    if bool(plain.isinf().any()):
        return "infinity"
    return "" if bool(plain.any()) else "zero"


def _behind_transpose(here: Inspection, key: int, slot: int) -> torch.Tensor | None:
    """The value of the weight that enters a product, as it is now."""
    for edge in here.edges.inputs[key]:
        if here.columns.input[edge] != slot:
            continue
        before = here.columns.target[edge]
        into = here.edges.inputs[before]
        if here.columns.ops[here.columns.op[before]].label in ("T", "Transpose") and into:
            return here.known_value((here.columns.target[into[0]], here.columns.output[into[0]]))
    return None


def _above(here: Inspection, key: int) -> set[int]:
    """Nodes through which gradient comes to a node."""
    found: set[int] = set()
    waiting = [key]
    while waiting:
        for edge in here.edges.consumers[waiting.pop()]:
            above = here.columns.source[edge]
            if above not in found:
                found.add(above)
                waiting.append(above)
    return found


def _norm_before(here: Inspection, key: int) -> str:
    """The norm that a node takes in: a call of norm(), or the sum of squares under a root; "" if there is none."""
    columns = here.columns

    def label(node: int) -> str:
        return columns.ops[columns.op[node]].label

    for edge in here.edges.inputs[key]:
        before = columns.target[edge]
        if label(before) in ("LinalgVectorNorm", "Norm"):
            return _at(here, before)
        squares = [columns.target[e] for e in here.edges.inputs[before]]
        if label(key) in ("Sqrt", "Pow") and label(before) == "Sum" and {label(k) for k in squares} & {"Pow", "Mul"}:
            return _at(here, key)
    return ""


def _dtype(here: Inspection, key: int) -> str:
    """Of what a node has made: "float32", "" unknown."""
    return next((form.dtype for form in here.columns.forms_of(key)), "")


def _at(here: Inspection, key: int) -> str:
    """A node in a sentence: "Relu (h), cell 3, line 2,"."""
    label = here.columns.ops[here.columns.op[key]].label
    name = next(iter(here.names_of(key)), "")
    source = here.sources.get(key, "")
    inside = ", ".join(filter(None, (name, source)))
    return f"{label} ({inside})" if inside else f"{label} (node {key})"


def _users(here: Inspection, edges: list[int]) -> list[str]:
    users = [here.label_of(here.columns.source[e]) for e in edges]
    counted = [
        f"{user} ({users.count(user)} times)" if users.count(user) > 1 else user for user in dict.fromkeys(users)
    ]
    return [*counted[:_SHARES], *(["..."] if len(counted) > _SHARES else [])]


def _expands(small: tuple[int, ...], big: tuple[int, ...]) -> bool:
    if len(small) > len(big) or math.prod(big) <= math.prod(small):
        return False
    return all(a in (1, b) for a, b in zip(small[::-1], big[::-1], strict=False))


def _shape(shape: tuple[int, ...]) -> str:
    return f"({','.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _brief(row: tuple[Gradient, ...]) -> str:
    """One gradient in a few characters."""
    texts = [number_or_length(summary) for g in row if (summary := summary_of(g)) is not None]
    return ", ".join(filter(None, texts)) or "none"


def number_or_length(summary: Summary) -> str:
    """A summary's text, in which one element of any shape is its number: a norm has no sign."""
    corner = summary.corner
    if summary.numel == 1 and corner is not None and corner.whole and len(corner.data) == 1:
        return summary.small_text or format_number(corner.data[0])
    return summary.text


def _length(gradient: Gradient) -> float | None:
    """Its 2-norm, None if that is not known."""
    if isinstance(gradient, torch.Tensor):
        return norms((gradient,))[0]
    return None if gradient is None or gradient.stats is None else gradient.stats.norm


def _safely(holds: Callable[[Values], bool], values: Values) -> bool:
    try:
        return holds(values)
    except Exception:
        return False
