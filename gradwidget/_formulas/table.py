"""The formulas. `tests/unit/test_formulas.py` evaluates each of them against autograd."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gradwidget._formulas.language import Formula

_ALL: list[Formula] = []


def _each(op: str, inputs: str, forward: str, *local: str, note: str = "", **when: Any) -> None:
    """Element by element: the local derivative for each input."""
    backward = tuple(f"g * ({one})" if one else "" for one in local)
    _ALL.append(Formula(op, tuple(inputs.split()), forward, backward, when, pointwise=True, note=note))


def _whole(op: str, inputs: str, forward: str, *backward: str, note: str = "", **when: Any) -> None:
    """Any other: what is handed on to each input."""
    _ALL.append(Formula(op, tuple(inputs.split()), forward, backward, when, note=note))


def _sentence(op: str, inputs: str, forward: str, note: str) -> None:
    """Told in words."""
    _ALL.append(Formula(op, tuple(inputs.split()), forward, tuple("" for _ in inputs.split()), note=note))


# --- arithmetic and powers ------------------------------------------------------------------------------------------
_each("Add", "self other", "self + alpha * other", "1", "alpha")
_each("Sub", "self other", "self - alpha * other", "1", "-alpha")
_each("Rsub", "self other", "other - alpha * self", "-alpha", "1")
_each("Mul", "self other", "self * other", "other", "self")
_each("Div", "self other", "self / other", "1 / other", "-self / other**2")
_each("Neg", "self", "-self", "-1")
_each("Reciprocal", "self", "1 / self", "-1 / self**2")
_each("Pow0", "self", "self**exponent", "exponent * self**(exponent - 1)")
_each("Pow1", "self exponent", "self**exponent", "exponent * self**(exponent - 1)", "self**exponent * ln(self)")
_each("Pow2", "exponent", "self**exponent", "self**exponent * ln(self)")
_each("Sqrt", "self", "sqrt(self)", "1 / (2 * sqrt(self))")
_each("Rsqrt", "self", "1 / sqrt(self)", "-1 / (2 * self * sqrt(self))")
_each("Abs", "self", "abs(self)", "sign(self)")
_each("Fmod0", "self", "", "1", note="The remainder of a division by a number: a shifted copy, piece by piece.")
_each("Remainder0", "self", "", "1", note="The remainder of a division by a number: a shifted copy, piece by piece.")
for _op in ("Sign", "Round", "Floor", "Ceil", "Trunc"):
    _each(_op, "self", f"{_op.lower()}(self)", "0", note="Constant between its jumps: nothing comes through.")
_each("Frac", "self", "frac(self)", "1")
_each("Deg2Rad", "self", "self * pi / 180", "pi / 180")
_each("Rad2Deg", "self", "self * 180 / pi", "180 / pi")
_each("Sgn", "self", "sign(self)", "0", note="Constant between its jumps: nothing comes through.")
_each("Addcmul", "self tensor1 tensor2", "self + value * tensor1 * tensor2", "1", "value * tensor2", "value * tensor1")
_each(
    "Addcdiv",
    "self tensor1 tensor2",
    "self + value * tensor1 / tensor2",
    "1",
    "value / tensor2",
    "-value * tensor1 / tensor2**2",
)
_each("Lerp0", "self end", "(1 - weight) * self + weight * end", "1 - weight", "weight")
_each("Lerp1", "self end weight", "(1 - weight) * self + weight * end", "1 - weight", "weight", "end - self")
_each("Hypot", "self other", "sqrt(self**2 + other**2)", "self / result", "other / result")

# --- exponentials and logarithms ------------------------------------------------------------------------------------
_each("Exp", "self", "exp(self)", "exp(self)")
_each("Exp2", "self", "2**self", "2**self * ln(2)")
_each("Expm1", "self", "exp(self) - 1", "exp(self)")
_each("Log", "self", "ln(self)", "1 / self")
_each("Log2", "self", "log2(self)", "1 / (self * ln(2))")
_each("Log10", "self", "log10(self)", "1 / (self * ln(10))")
_each("Log1P", "self", "ln(1 + self)", "1 / (1 + self)")
_each("Xlogy0", "self other", "self * ln(other)", "ln(other)", "self / other")
_each("Logaddexp", "self other", "ln(exp(self) + exp(other))", "sigmoid(self - other)", "sigmoid(other - self)")
_each(
    "Logaddexp2",
    "self other",
    "log2(2**self + 2**other)",
    "2**self / (2**self + 2**other)",
    "2**other / (2**self + 2**other)",
)
_each("SpecialXlog1Py0", "self other", "self * ln(1 + other)", "ln(1 + other)", "self / (1 + other)")
_each("SpecialEntr", "self", "-self * ln(self)", "-ln(self) - 1")
_each("Logit", "self", "ln(self / (1 - self))", "1 / (self * (1 - self))")

# --- trigonometric and hyperbolic -----------------------------------------------------------------------------------
_each("Sin", "self", "sin(self)", "cos(self)")
_each("Cos", "self", "cos(self)", "-sin(self)")
_each("Tan", "self", "tan(self)", "1 + tan(self)**2")
_each("Asin", "self", "asin(self)", "1 / sqrt(1 - self**2)")
_each("Acos", "self", "acos(self)", "-1 / sqrt(1 - self**2)")
_each("Atan", "self", "atan(self)", "1 / (1 + self**2)")
_each("Sinh", "self", "sinh(self)", "cosh(self)")
_each("Cosh", "self", "cosh(self)", "sinh(self)")
_each("Tanh", "self", "tanh(self)", "1 - tanh(self)**2")
_each("Asinh0", "self", "asinh(self)", "1 / sqrt(self**2 + 1)")
_each("Acosh0", "self", "acosh(self)", "1 / sqrt(self**2 - 1)")
_each("Atanh0", "self", "atanh(self)", "1 / (1 - self**2)")
_each("Atan2", "self other", "atan2(self, other)", "other / (self**2 + other**2)", "-self / (self**2 + other**2)")

# --- special functions ----------------------------------------------------------------------------------------------
_each("Erf", "self", "erf(self)", "2 / sqrt(pi) * exp(-(self**2))")
_each("Erfc", "self", "1 - erf(self)", "-2 / sqrt(pi) * exp(-(self**2))")
_each("Erfinv", "self", "erfinv(self)", "sqrt(pi) / 2 * exp(erfinv(self)**2)")
_each("Lgamma", "self", "lgamma(self)", "digamma(self)")
_each("Digamma", "self", "digamma(self)", "trigamma(self)")

# --- activations ----------------------------------------------------------------------------------------------------
_each("Relu", "self", "max(self, 0)", "where(self > 0, 1, 0)")
_each("LeakyRelu0", "self", "where(self > 0, self, negative_slope * self)", "where(self > 0, 1, negative_slope)")
_each("Sigmoid", "self", "sigmoid(self)", "sigmoid(self) * (1 - sigmoid(self))")
_each("LogSigmoid", "self", "ln(sigmoid(self))", "1 - sigmoid(self)")
_each(
    "Softplus",
    "self",
    "where(beta * self > threshold, self, ln(1 + exp(beta * self)) / beta)",
    "where(beta * self > threshold, 1, sigmoid(beta * self))",
)
_each("Silu", "self", "self * sigmoid(self)", "sigmoid(self) * (1 + self * (1 - sigmoid(self)))")
_each(
    "Mish",
    "self",
    "self * tanh(ln(1 + exp(self)))",
    "tanh(ln(1 + exp(self))) + self * sigmoid(self) * (1 - tanh(ln(1 + exp(self)))**2)",
)
_each(
    "Gelu",
    "self",
    "self * Phi(self)",
    "Phi(self) + self * phi(self)",
    approximate="none",
    note="Φ is the normal distribution, φ its density.",
)
_INNER = "sqrt(2 / pi) * (self + 0.044715 * self**3)"
_each(
    "Gelu",
    "self",
    f"self * (1 + tanh({_INNER})) / 2",
    f"(1 + tanh({_INNER})) / 2 + self * (1 - tanh({_INNER})**2) / 2 * sqrt(2 / pi) * (1 + 3 * 0.044715 * self**2)",
    approximate="tanh",
)
_each(
    "Elu0",
    "self",
    "where(self > 0, scale * self, scale * alpha * (exp(input_scale * self) - 1))",
    "where(self > 0, scale, scale * alpha * input_scale * exp(input_scale * self))",
)
_each(
    "Celu0",
    "self",
    "where(self > 0, self, alpha * (exp(self / alpha) - 1))",
    "where(self > 0, 1, exp(self / alpha))",
)
_each("Hardtanh", "self", "min(max(self, min_val), max_val)", "where(min_val < self < max_val, 1, 0)")
_each("Hardsigmoid", "self", "min(max(self / 6 + 1 / 2, 0), 1)", "where(-3 < self < 3, 1 / 6, 0)")
_each(
    "Hardswish",
    "self",
    "self * min(max(self / 6 + 1 / 2, 0), 1)",
    "where(-3 < self < 3, self / 3 + 1 / 2, where(self >= 3, 1, 0))",
)
_each(
    "PreluKernel",
    "self weight",
    "where(self > 0, self, weight * self)",
    "where(self > 0, 1, weight)",
    "where(self > 0, 0, self)",
)
_each("Threshold0", "self", "", "where(self > threshold, 1, 0)")
_each("Hardshrink", "self", "where(abs(self) > lambd, self, 0)", "where(abs(self) > lambd, 1, 0)")
_each("Softshrink", "self", "where(abs(self) > lambd, self - lambd * sign(self), 0)", "where(abs(self) > lambd, 1, 0)")
_whole(
    "Glu",
    "self",
    "half(self, 0, dim) * sigmoid(half(self, 1, dim))",
    "join(g * sigmoid(half(self, 1, dim)),"
    " g * half(self, 0, dim) * sigmoid(half(self, 1, dim)) * (1 - sigmoid(half(self, 1, dim))), dim)",
)

# --- choices --------------------------------------------------------------------------------------------------------
_each("Clamp1", "self", "max(self, min)", "where(self >= min, 1, 0)", max=None)
_each("Clamp1", "self", "min(self, max)", "where(self <= max, 1, 0)", min=None)
_each("Clamp1", "self", "min(max(self, min), max)", "where(min <= self <= max, 1, 0)")
_each("ClampMin0", "self", "max(self, min)", "where(self >= min, 1, 0)")
_each("ClampMax0", "self", "min(self, max)", "where(self <= max, 1, 0)")
_each(
    "Maximum",
    "self other",
    "max(self, other)",
    "where(self > other, 1, where(self == other, 1 / 2, 0))",
    "where(other > self, 1, where(self == other, 1 / 2, 0))",
)
_each(
    "Minimum",
    "self other",
    "min(self, other)",
    "where(self < other, 1, where(self == other, 1 / 2, 0))",
    "where(other < self, 1, where(self == other, 1 / 2, 0))",
)
_each("Fmax", "self other", "max(self, other)", "where(self >= other, 1, 0)", "where(self >= other, 0, 1)")
_each("Fmin", "self other", "min(self, other)", "where(self <= other, 1, 0)", "where(self <= other, 0, 1)")
_each("Where", "self other", "where(condition, self, other)", "where(condition, 1, 0)", "where(condition, 0, 1)")
_each("MaskedFill0", "self", "", "where(mask, 0, 1)", note="Nothing goes to the elements that were filled.")
_whole("MaskedFill1", "self value", "where(mask, value, self)", "g * where(mask, 0, 1)", "sum(g * where(mask, 1, 0))")
_each("NativeDropout", "self", "", "where(result1, 1 / (1 - p), 0)", note="The same mask as in the forward pass.")
_each("NanToNum", "self", "", "where(isfinite(self), 1, 0)")

# --- sums and other reductions --------------------------------------------------------------------------------------
_same = "Each of the elements that were summed gets the same."
_whole("Sum0", "self", "sum(self)", "spread(g)", note=_same)
_whole("Sum1", "self", "sum(self, dim, keepdim)", "spread(g, dim, keepdim)", note=_same)
_whole("Nansum", "self", "", "spread(g, dim, keepdim) * where(isnan(self), 0, 1)")
_same = "Each of the elements that were averaged gets the same."
_whole("Mean0", "self", "mean(self)", "spread(g) / size(self)", note=_same)
_whole("Mean1", "self", "mean(self, dim, keepdim)", "spread(g, dim, keepdim) / size(self, dim)", note=_same)
_whole(
    "Var",
    "self",
    "var(self, dim, correction, keepdim)",
    "spread(g, dim, keepdim) * 2 * (self - mean(self, dim, True)) / (size(self, dim) - correction)",
)
_whole(
    "Std",
    "self",
    "std(self, dim, correction, keepdim)",
    "spread(g, dim, keepdim) * (self - mean(self, dim, True))"
    " / ((size(self, dim) - correction) * spread(result, dim, keepdim))",
)
_whole("Prod0", "self", "prod(self)", "spread(g) * spread(result) / self", note="Where no element is 0.")
_whole(
    "Prod1",
    "self",
    "prod(self, dim, keepdim)",
    "spread(g, dim, keepdim) * spread(result, dim, keepdim) / self",
    note="Where no element is 0.",
)
_whole("Cumsum", "self", "cumsum(self, dim)", "revcumsum(g, dim)", note="Each element counts in all the sums after it.")
_whole(
    "Cumprod",
    "self",
    "cumprod(self, dim)",
    "revcumsum(g * result, dim) / self",
    note="Where no element is 0.",
)
_ties = "The largest takes it all; equal ones share it."
for _op, _name in (("Max", "max"), ("Min", "min")):
    _whole(
        f"{_op}1",
        "self",
        f"{_name}(self)",
        "spread(g) * where(self == spread(result), 1, 0) / count(self == spread(result))",
        note=_ties.replace("largest", "largest" if _op == "Max" else "smallest"),
    )
    _whole(
        f"{_op}0",
        "self",
        "",
        "put(g, indices, dim, keepdim, self)",
        note="The gradient goes to the element that was picked, 0 to the others.",
    )
    _whole(
        f"A{_name}",
        "self",
        f"{_name}(self, dim, keepdim)",
        "spread(g, dim, keepdim) * where(self == spread(result, dim, keepdim), 1, 0)"
        " / spread(count(self == spread(result, dim, keepdim), dim, keepdim), dim, keepdim)",
        note=_ties.replace("largest", "largest" if _op == "Max" else "smallest"),
    )
for _op in ("Median1", "Kthvalue"):
    _whole(
        _op, "self", "", "put(g, indices, dim, keepdim, self)", note="The gradient goes to the element that was picked."
    )
for _op in ("Sort0", "Sort1", "Topk"):
    _whole(
        _op,
        "self",
        "",
        "put(g, indices, dim, True, self)",
        note="Each gradient goes back to where its element came from.",
    )
for _op in ("Norm0", "Norm1", "LinalgVectorNorm"):
    _p = "ord" if _op == "LinalgVectorNorm" else "p"
    _two: dict[str, Any] = {_p: 2}
    _one: dict[str, Any] = {_p: 1}
    _with = "" if _op == "Norm0" else ", dim, keepdim"
    _result = f"spread(result{_with})"
    _whole(_op, "self", f"norm(self, {_p}{_with})", f"spread(g{_with}) * self / {_result}", **_two)
    _whole(_op, "self", f"norm(self, {_p}{_with})", f"spread(g{_with}) * sign(self)", **_one)
    _whole(
        _op,
        "self",
        f"norm(self, {_p}{_with})",
        f"spread(g{_with}) * self * abs(self)**({_p} - 2) / {_result}**({_p} - 1)",
    )
_whole(
    "Logsumexp",
    "self",
    "ln(sum(exp(self), dim, keepdim))",
    "spread(g, dim, keepdim) * exp(self - spread(result, dim, keepdim))",
    note="exp(x − result) is the softmax.",
)

# --- matrices -------------------------------------------------------------------------------------------------------
_whole("Mm", "self mat2", "self @ mat2", "g @ T(mat2)", "T(self) @ g")
_whole("Bmm", "self mat2", "self @ mat2", "g @ T(mat2)", "T(self) @ g", note="For each matrix of the batch.")
_whole("Mv", "self vec", "self @ vec", "outer(g, vec)", "T(self) @ g")
_whole("Dot", "self tensor", "dot(self, tensor)", "g * tensor", "g * self")
_whole(
    "Addmm",
    "self mat1 mat2",
    "beta * self + alpha * (mat1 @ mat2)",
    "beta * fold(g, self)",
    "alpha * (g @ T(mat2))",
    "alpha * (T(mat1) @ g)",
)
_whole(
    "Addmv",
    "self mat vec",
    "beta * self + alpha * (mat @ vec)",
    "beta * fold(g, self)",
    "alpha * outer(g, vec)",
    "alpha * (T(mat) @ g)",
)
_whole(
    "Baddbmm",
    "self batch1 batch2",
    "beta * self + alpha * (batch1 @ batch2)",
    "beta * fold(g, self)",
    "alpha * (g @ T(batch2))",
    "alpha * (T(batch1) @ g)",
    note="For each matrix of the batch.",
)
_whole(
    "Addr",
    "self vec1 vec2",
    "beta * self + alpha * outer(vec1, vec2)",
    "beta * fold(g, self)",
    "alpha * (g @ vec2)",
    "alpha * (T(g) @ vec1)",
)
_whole(
    "Linear",
    "input weight bias",
    "input @ T(weight) + bias",
    "g @ weight",
    "T(rows(g)) @ rows(input)",
    "sum(rows(g), 0)",
)
_whole("LinalgInvEx", "A", "inv(A)", "-(T(result) @ g @ T(result))")
_whole("LinalgDet", "A", "det(A)", "g * result * T(inv(A))")
_whole("Trace", "self", "trace(self)", "g * eye(self)")

# --- softmax and losses ---------------------------------------------------------------------------------------------
for _op in ("Softmax", "SafeSoftmax"):
    _whole(_op, "self", "softmax(self, dim)", "result * (g - sum(g * result, dim, True))")
_whole("LogSoftmax", "self", "log_softmax(self, dim)", "g - exp(result) * sum(g, dim, True)")


def _loss(op: str, inputs: str, each: str, *local: str, **when: Any) -> None:
    """A loss with a reduction: the same local derivative, divided by the count for the mean."""
    _each(op, inputs, each, *local, reduction=0, **when)
    mean = (f"spread(g) * ({one}) / size(self)" for one in local)
    _whole(op, inputs, f"mean({each})", *mean, reduction=1, **when)
    _whole(op, inputs, f"sum({each})", *(f"spread(g) * ({one})" for one in local), reduction=2, **when)


_loss("MseLoss", "self target", "(self - target)**2", "2 * (self - target)", "-2 * (self - target)")
_loss(
    "SmoothL1Loss",
    "self target",
    "where(abs(self - target) < beta, (self - target)**2 / (2 * beta), abs(self - target) - beta / 2)",
    "where(abs(self - target) < beta, (self - target) / beta, sign(self - target))",
    "-where(abs(self - target) < beta, (self - target) / beta, sign(self - target))",
)
_loss(
    "HuberLoss",
    "self target",
    "where(abs(self - target) < delta, (self - target)**2 / 2, delta * (abs(self - target) - delta / 2))",
    "where(abs(self - target) < delta, self - target, delta * sign(self - target))",
    "-where(abs(self - target) < delta, self - target, delta * sign(self - target))",
)
_loss(
    "SoftMarginLoss",
    "self target",
    "ln(1 + exp(-target * self))",
    "-target * sigmoid(-target * self)",
)
_loss(
    "BinaryCrossEntropy",
    "self target",
    "-weight * (target * ln(self) + (1 - target) * ln(1 - self))",
    "weight * (self - target) / (self * (1 - self))",
    "weight * ln((1 - self) / self)",
)
_loss(
    "BinaryCrossEntropyWithLogits",
    "self target",
    "weight * (ln(1 + exp(self)) - target * self)",
    "weight * (sigmoid(self) - target)",
    "-weight * self",
    pos_weight=None,
)
_loss(
    "BinaryCrossEntropyWithLogits",
    "self target",
    "-weight * (pos_weight * target * ln(sigmoid(self)) + (1 - target) * ln(sigmoid(-self)))",
    "weight * ((1 - target) * sigmoid(self) - pos_weight * target * sigmoid(-self))",
)
_nll = "The log-probability of the right class gets −1 share of it, all others 0."
_whole("NllLoss", "self", "", "-reach(g, target, weight, ignore_index, self)", reduction=0, note=_nll)
_whole(
    "NllLoss",
    "self",
    "",
    "-reach(g, target, weight, ignore_index, self) / total_weight",
    reduction=1,
    note=_nll,
)
_whole("NllLoss", "self", "", "-reach(g, target, weight, ignore_index, self)", reduction=2, note=_nll)

# --- views, copies, indexing ----------------------------------------------------------------------------------------
for _op in ("View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze"):
    _whole(_op, "self", "reshape(self, result)", "reshape(g, self)", note="Only the shape changes.")
for _op in ("Clone", "Alias", "ToCopy"):
    _each(_op, "self", "self", "1")
_whole("T", "self", "T(self)", "T(g)")
_whole("Transpose", "self", "swap(self, dim0, dim1)", "swap(g, dim0, dim1)")
_whole("Permute", "self", "permute(self, dims)", "unpermute(g, dims)")
_whole("Expand", "self", "", "fold(g, self)", note="Summed over the copies.")
_whole("Repeat", "self", "repeat(self, repeats)", "unrepeat(g, repeats, self)", note="Summed over the copies.")
_zero = "All elements that were not taken get 0."
_whole("Select", "self", "select(self, dim, index)", "place(g, self, dim, index)", note=_zero)
_whole("Slice", "self", "slice(self, dim, start, end, step)", "window(g, self, dim, start, end, step)", note=_zero)
_whole("Index", "self", "index(self, indices)", "scatter(g, self, indices)", note=_zero)
_whole("Gather", "self", "gather(self, dim, index)", "put(g, index, dim, True, self)", note=_zero)
_whole("IndexSelect", "self", "", "rowscatter(g, self, dim, index)", note=_zero)
_whole("MaskedSelect", "self", "", "maskscatter(g, mask, self)", note=_zero)
_whole("Take", "self", "", "flatscatter(g, self, index)", note=_zero)
_whole("Diagonal", "self", "diagonal(self, offset, dim1, dim2)", "undiagonal(g, self, offset, dim1, dim2)", note=_zero)
_whole("Tril", "self", "tril(self, diagonal)", "tril(g, diagonal)")
_whole("Triu", "self", "triu(self, diagonal)", "triu(g, diagonal)")
_whole("Flip", "self", "flip(self, dims)", "flip(g, dims)")
_whole("Roll", "self", "roll(self, shifts, dims)", "unroll(g, shifts, dims)")
_whole("Cat", "tensors *", "", "part(g, slot, dim)", note="Each input gets its own part back.")
_whole("Stack", "tensors *", "", "select(g, dim, slot)", note="Each input gets its own part back.")
_whole("Unbind", "self", "", "stack(gs, dim)", note="The gradients of the parts, put together again.")
for _op in ("Split", "SplitWithSizes", "UnsafeSplit"):
    _whole(_op, "self", "", "cat(gs, dim)", note="The gradients of the parts, put together again.")
_whole("ConstantPadNd", "self", "pad(self, pad)", "unpad(g, self, pad)", note="What was padded is cut off again.")
_whole("Scatter0", "self src", "", "clear(g, index, dim)", "gather(g, dim, index)")
_whole("ScatterAdd", "self src", "", "g * 1", "gather(g, dim, index)")
_whole(
    "Embedding",
    "weight",
    "index(weight, indices)",
    "lookup(g, weight, indices, padding_idx)",
    note="Each row gets the sum over the places where it was looked up, all other rows 0.",
)

# --- layers ---------------------------------------------------------------------------------------------------------
_xhat = "x̂ is the normalised input."
_whole(
    "NativeLayerNorm",
    "input weight bias",
    "",
    "result2 * (weight * g - rowmean(weight * g, input, normalized_shape)"
    " - xhat(input, result1, result2) * rowmean(weight * g * xhat(input, result1, result2), input, normalized_shape))",
    "fold(g * xhat(input, result1, result2), weight)",
    "fold(g, bias)",
    note=_xhat + " result1 and result2 are the mean and 1/std of each row.",
)
_hat = "xhat(input, by(result1, input), by(result2, input))"
_whole(
    "NativeBatchNorm",
    "input weight bias",
    "",
    f"by(weight, input) * by(result2, input) * (g - chanmean(g) - {_hat} * chanmean(g * {_hat}))",
    f"chansum(g * {_hat})",
    "chansum(g)",
    training=True,
    note=_xhat + " Means are over all but the channels; result1 and result2 are the batch's mean and 1/std.",
)
_whole(
    "NativeBatchNorm",
    "input weight bias",
    "",
    "g * by(weight, input) / sqrt(by(running_var, input) + eps)",
    "chansum(g * (input - by(running_mean, input)) / sqrt(by(running_var, input) + eps))",
    "chansum(g)",
    training=False,
    note="In eval mode the running statistics are constants.",
)
_sentence(
    "NativeGroupNorm",
    "input weight bias",
    "",
    "As for layer norm, with the mean and the standard deviation of each group of channels.",
)
_sentence(
    "Convolution",
    "input weight bias",
    "",
    "The input gets the incoming gradient convolved with the flipped kernel (a transposed convolution), the kernel its "
    "correlation with the input, the bias its sum over batch and positions.",
)
for _op in ("MaxPool2DWithIndices", "MaxPool3DWithIndices", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D"):
    _sentence(_op, "self", "", "Each window's gradient goes to its largest element, 0 to the others.")
for _op in ("AvgPool2D", "AvgPool3D", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "MkldnnAdaptiveAvgPool2D"):
    _sentence(_op, "self", "", "Each window's gradient is shared evenly by the elements that it averaged.")
for _op in ("PixelShuffle", "PixelUnshuffle", "Rot90"):
    _sentence(_op, "self", "", "Elements only change places: each gradient goes back to where its element came from.")
for _op in ("Unfold", "Im2Col"):
    _sentence(_op, "self", "", "Each element gets the sum over the windows that it stands in.")
_sentence("Col2Im", "self", "", "Each element of a window gets the gradient of the place that it was added to.")
for _op in ("ReflectionPad1D", "ReflectionPad2D", "ReplicationPad1D", "ReplicationPad2D"):
    _sentence(_op, "self", "", "Each element gets the sum over its copies in the padding and itself.")
_sentence("UpsampleNearest2D", "self", "", "Each element gets the sum over its copies.")
_sentence(
    "UpsampleBilinear2D", "self", "", "Each element gets the sum over the results, weighted as in the forward pass."
)
_sentence("DiagEmbed", "self", "", "Each element gets what arrives at its place on the diagonal.")
_sentence(
    "IndexAdd", "self source", "", "The input gets all that arrives, the source what arrives at its rows, times alpha."
)
_over = "What was written gets what arrives at its places, the input gets the rest, and 0 where it was overwritten."
for _op, _source in (("IndexCopy", "source"), ("SelectScatter", "src"), ("SliceScatter", "src")):
    _sentence(_op, f"self {_source}", "", _over)
_sentence("IndexPut", "self values", "", f"{_over[:-1]}; with accumulate=True it gets everything.")
_sentence("IndexFill", "self", "", "Nothing goes to the elements that were filled.")
_sentence("NllLoss2D", "self", "", _nll)
_sentence(
    "EmbeddingBag", "weight", "", "Each row gets the sum over the bags that it was looked up for, with their weights."
)
for _op in ("FlashAttentionForCpu", "FlashAttention", "EfficientAttention"):
    _sentence(
        f"ScaledDotProduct{_op}",
        "query key value",
        "",
        "With P = softmax(QKᵀ/√d): the value gets PᵀG, query and key get their share through the softmax.",
    )


def _index() -> Mapping[str, tuple[Formula, ...]]:
    found: dict[str, tuple[Formula, ...]] = {}
    for one in _ALL:
        found[one.op] = (*found.get(one.op, ()), one)
    return MappingProxyType(found)


BY_OP: Mapping[str, tuple[Formula, ...]] = _index()
"""Variants by operation, the most special first."""


def formula_of(op: str, saved: Mapping[str, Any]) -> Formula | None:
    """The formula of a node ("MulBackward0") that has saved this; None if there is none."""
    name, found, number = op.rpartition("Backward")
    if not found:
        return None
    for key in (f"{name}{number}", name):
        for one in BY_OP.get(key, ()):
            if all(k in saved and _is(saved[k], v) for k, v in one.when.items()):
                return one
    return None


def _is(saved: object, wanted: object) -> bool:
    return saved is None if wanted is None else isinstance(saved, (bool, int, float, str)) and saved == wanted
