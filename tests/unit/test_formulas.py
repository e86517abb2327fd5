"""Each formula is evaluated on random inputs and compared with what torch's own node hands on."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from gradwidget import GradWidget
from gradwidget._explain import Node
from gradwidget._formulas import BY_OP


def r(*shape, low=-2.0, high=2.0, grad=True):
    return (torch.rand(shape, dtype=torch.float64) * (high - low) + low).requires_grad_(grad)


def pos(*shape, grad=True):
    return r(*shape, low=0.3, high=2.5, grad=grad)


def unit(*shape, grad=True):
    return r(*shape, low=-0.9, high=0.9, grad=grad)


def prob(*shape, grad=True):
    return r(*shape, low=0.1, high=0.9, grad=grad)


T = torch.tensor
MASK = T([True, False, True])
CASES = {
    # arithmetic and powers
    "add": lambda: r(3) + r(3),
    "add with alpha": lambda: torch.add(r(3), r(3), alpha=2.5),
    "add a number": lambda: r(3) + 1.5,
    "add, broadcast": lambda: r(2, 3) + r(3),
    "sub": lambda: r(3) - r(3),
    "sub with alpha": lambda: torch.sub(r(3), r(3), alpha=-3),
    "sub, broadcast": lambda: r(3) - r(2, 1),
    "number minus": lambda: 2.0 - r(3),
    "mul": lambda: r(3) * r(3),
    "mul, broadcast": lambda: r(2, 1, 3) * r(4, 1),
    "mul a number": lambda: r(3) * 2.5,
    "mul a constant": lambda: r(3) * r(3, grad=False),
    "div": lambda: r(3) / pos(3),
    "div by a number": lambda: r(3) / 4,
    "div, broadcast": lambda: r(3) / pos(2, 1),
    "number over": lambda: 2 / pos(3),
    "neg": lambda: -r(3),
    "reciprocal": lambda: pos(3).reciprocal(),
    "square": lambda: r(3) ** 2,
    "pow 3.5": lambda: pos(3) ** 3.5,
    "pow -1": lambda: pos(3) ** -1,
    "pow of tensors": lambda: pos(3) ** r(3),
    "pow of tensors, broadcast": lambda: pos(3) ** r(2, 1),
    "number to the": lambda: 2.0 ** r(3),
    "sqrt": lambda: pos(3).sqrt(),
    "rsqrt": lambda: pos(3).rsqrt(),
    "abs": lambda: r(3).abs(),
    "fmod": lambda: r(3).fmod(0.7),
    "remainder": lambda: r(3).remainder(0.7),
    "sign": lambda: r(3).sign(),
    "round": lambda: r(3).round(),
    "floor": lambda: r(3).floor(),
    "ceil": lambda: r(3).ceil(),
    "trunc": lambda: r(3).trunc(),
    "frac": lambda: r(3).frac(),
    "deg2rad": lambda: r(3).deg2rad(),
    "rad2deg": lambda: r(3).rad2deg(),
    "sgn": lambda: r(3).sgn(),
    "logaddexp2": lambda: torch.logaddexp2(r(3), r(3)),
    "xlog1py": lambda: torch.special.xlog1py(pos(3), pos(3)),
    "entr": lambda: torch.special.entr(pos(3)),
    "addcmul": lambda: torch.addcmul(r(3), r(3), r(3), value=0.5),
    "addcdiv": lambda: torch.addcdiv(r(3), r(3), pos(3), value=0.5),
    "lerp": lambda: torch.lerp(r(3), r(3), 0.3),
    "lerp of tensors": lambda: torch.lerp(r(3), r(3), r(3)),
    "hypot": lambda: torch.hypot(pos(3), pos(3)),
    # exponentials and logarithms
    "exp": lambda: r(3).exp(),
    "exp2": lambda: r(3).exp2(),
    "expm1": lambda: r(3).expm1(),
    "log": lambda: pos(3).log(),
    "log2": lambda: pos(3).log2(),
    "log10": lambda: pos(3).log10(),
    "log1p": lambda: pos(3).log1p(),
    "xlogy": lambda: torch.xlogy(pos(3), pos(3)),
    "logaddexp": lambda: torch.logaddexp(r(3), r(3)),
    "logit": lambda: prob(3).logit(),
    # trigonometric and hyperbolic
    "sin": lambda: r(3).sin(),
    "cos": lambda: r(3).cos(),
    "tan": lambda: unit(3).tan(),
    "asin": lambda: unit(3).asin(),
    "acos": lambda: unit(3).acos(),
    "atan": lambda: r(3).atan(),
    "sinh": lambda: r(3).sinh(),
    "cosh": lambda: r(3).cosh(),
    "tanh": lambda: r(3).tanh(),
    "asinh": lambda: r(3).asinh(),
    "acosh": lambda: r(3, low=1.2, high=3).acosh(),
    "atanh": lambda: unit(3).atanh(),
    "atan2": lambda: torch.atan2(pos(3), r(3)),
    # special functions
    "erf": lambda: r(3).erf(),
    "erfc": lambda: r(3).erfc(),
    "erfinv": lambda: unit(3).erfinv(),
    "lgamma": lambda: pos(3).lgamma(),
    "digamma": lambda: pos(3).digamma(),
    # activations
    "relu": lambda: F.relu(r(5)),
    "leaky relu": lambda: F.leaky_relu(r(5), 0.1),
    "sigmoid": lambda: r(3).sigmoid(),
    "log sigmoid": lambda: F.logsigmoid(r(3)),
    "softplus": lambda: F.softplus(r(5), beta=2, threshold=3),
    "silu": lambda: F.silu(r(3)),
    "mish": lambda: F.mish(r(3)),
    "gelu": lambda: F.gelu(r(3)),
    "gelu tanh": lambda: F.gelu(r(3), approximate="tanh"),
    "elu": lambda: F.elu(r(5), alpha=0.7),
    "selu": lambda: F.selu(r(5)),
    "celu": lambda: F.celu(r(5), alpha=0.7),
    "hardtanh": lambda: F.hardtanh(r(5), -0.5, 0.7),
    "relu6": lambda: F.relu6(r(5, low=-8, high=8)),
    "hardsigmoid": lambda: F.hardsigmoid(r(5, low=-5, high=5)),
    "hardswish": lambda: F.hardswish(r(9, low=-5, high=5)),
    "prelu": lambda: F.prelu(r(5), r(1)),
    "threshold": lambda: F.threshold(r(5), 0.1, 20),
    "hardshrink": lambda: F.hardshrink(r(5), 0.5),
    "softshrink": lambda: F.softshrink(r(5), 0.5),
    "glu": lambda: F.glu(r(3, 4), 1),
    # choices
    "clamp": lambda: r(5).clamp(-1, 1),
    "clamp min": lambda: r(5).clamp(min=0.2),
    "clamp max": lambda: r(5).clamp(max=0.2),
    "clamp_min": lambda: torch.clamp_min(r(5), 0.2),
    "clamp_max": lambda: torch.clamp_max(r(5), 0.2),
    "maximum": lambda: torch.maximum(r(5), r(5)),
    "maximum of equals": lambda: torch.maximum(T([1.0, 2.0], requires_grad=True), T([1.0, 3.0], requires_grad=True)),
    "minimum": lambda: torch.minimum(r(5), r(5)),
    "fmax": lambda: torch.fmax(r(5), r(5)),
    "fmin": lambda: torch.fmin(r(5), r(5)),
    "where": lambda: torch.where(MASK, r(3), r(3)),
    "where, broadcast": lambda: torch.where(MASK, r(2, 3), r(1)),
    "masked fill": lambda: r(3).masked_fill(MASK, 7),
    "masked fill with a tensor": lambda: r(3).masked_fill(MASK, r()),
    "dropout": lambda: torch.native_dropout(r(50), 0.3, True)[0],
    "nan to num": lambda: r(3).nan_to_num(),
    # reductions
    "sum": lambda: r(2, 3).sum(),
    "sum dim": lambda: r(2, 3, 4).sum((0, -1)),
    "sum keepdim": lambda: r(2, 3).sum(1, keepdim=True),
    "nansum": lambda: r(2, 3).nansum(1),
    "mean": lambda: r(2, 3).mean(),
    "mean dim": lambda: r(2, 3).mean(0),
    "mean keepdim": lambda: r(2, 3, 4).mean((0, 2), keepdim=True),
    "var": lambda: r(2, 5).var(1),
    "var of all": lambda: r(2, 5).var(correction=0),
    "std": lambda: r(2, 5).std(0, correction=0),
    "std keepdim": lambda: r(2, 5).std(1, keepdim=True),
    "prod": lambda: pos(4).prod(),
    "prod dim": lambda: pos(2, 3).prod(1),
    "cumsum": lambda: r(2, 4).cumsum(1),
    "cumprod": lambda: pos(2, 4).cumprod(1),
    "max": lambda: r(2, 3).max(),
    "max of equals": lambda: T([1.0, 3.0, 3.0], dtype=torch.float64, requires_grad=True).max(),
    "max dim": lambda: r(2, 3).max(1)[0],
    "max keepdim": lambda: r(2, 3).max(0, keepdim=True)[0],
    "amax": lambda: r(2, 3).amax(1),
    "amax of all": lambda: r(2, 3).amax(),
    "min": lambda: r(2, 3).min(),
    "min dim": lambda: r(2, 3).min(1)[0],
    "amin": lambda: r(2, 3).amin((0, 1), keepdim=True),
    "median": lambda: r(2, 3).median(1)[0],
    "kthvalue": lambda: r(2, 5).kthvalue(2, 1)[0],
    "sort": lambda: r(2, 3).sort(1)[0],
    "stable sort": lambda: r(2, 3).sort(dim=1, stable=True, descending=True)[0],
    "topk": lambda: r(2, 5).topk(2, 1)[0],
    "norm": lambda: torch.linalg.vector_norm(r(2, 3)),
    "norm 1 dim": lambda: torch.linalg.vector_norm(r(2, 3), 1, 1),
    "norm 3 keepdim": lambda: torch.linalg.vector_norm(r(2, 3), 3, 1, keepdim=True),
    "tensor norm": lambda: r(2, 3).norm(),
    "tensor norm dim": lambda: torch.ops.aten.norm(r(2, 3), 2.0, [1]),
    "logsumexp": lambda: r(2, 3).logsumexp(1),
    # matrices
    "mm": lambda: r(2, 3) @ r(3, 4),
    "bmm": lambda: torch.bmm(r(2, 2, 3), r(2, 3, 4)),
    "mv": lambda: r(2, 3) @ r(3),
    "dot": lambda: r(3) @ r(3),
    "addmm": lambda: torch.addmm(r(2, 4), r(2, 3), r(3, 4), beta=0.5, alpha=2),
    "linear": lambda: F.linear(r(2, 3), r(4, 3), r(4)),
    "addmv": lambda: torch.addmv(r(2), r(2, 3), r(3), beta=0.5, alpha=2),
    "baddbmm": lambda: torch.baddbmm(r(2, 1, 4), r(2, 2, 3), r(2, 3, 4), beta=0.5, alpha=2),
    "addr": lambda: torch.addr(r(2, 3), r(2), r(3), beta=0.5, alpha=2),
    "inv": lambda: torch.linalg.inv((torch.rand(3, 3).double() + 3 * torch.eye(3)).requires_grad_()),
    "det": lambda: torch.linalg.det(r(3, 3)),
    "trace": lambda: r(3, 3).trace(),
    # softmax and losses
    "softmax": lambda: r(2, 3).softmax(1),
    "safe softmax": lambda: torch._safe_softmax(r(2, 3), 1),
    "log softmax": lambda: r(2, 3).log_softmax(0),
    **{
        f"{name} {reduction}": lambda loss=loss, reduction=reduction, a=a, b=b, both=both, o=options: loss(
            a(4, 2), b(4, 2, grad=both), reduction=reduction, **o
        )
        for name, loss, a, b, both, options in (
            ("mse", F.mse_loss, r, r, True, {}),
            ("smooth l1", F.smooth_l1_loss, r, r, True, {"beta": 0.7}),
            ("huber", F.huber_loss, r, r, True, {"delta": 0.7}),
            ("bce", F.binary_cross_entropy, prob, prob, True, {}),
            ("bce with weight", F.binary_cross_entropy, prob, prob, True, {"weight": torch.rand(2).double()}),
            ("bce with logits", F.binary_cross_entropy_with_logits, r, prob, True, {}),
            (
                "bce with logits and weights",
                F.binary_cross_entropy_with_logits,
                r,
                prob,
                False,
                {"weight": torch.rand(2).double(), "pos_weight": torch.rand(2).double()},
            ),
            ("soft margin", F.soft_margin_loss, r, r, False, {}),
        )
        for reduction in ("none", "mean", "sum")
    },
    **{
        f"nll {reduction}{' weight' if weight is not None else ''}": lambda reduction=reduction, weight=weight: (
            F.nll_loss(r(4, 3), T([0, 2, 1, -100]), weight, reduction=reduction)
        )
        for reduction in ("none", "mean", "sum")
        for weight in (None, T([0.5, 1.0, 2.0], dtype=torch.float64))
    },
    # views, copies, indexing
    "view": lambda: r(2, 3).view(3, 2),
    "reshape": lambda: r(2, 3).reshape(6),
    "flatten batch matmul": lambda: torch.ops.aten._unsafe_view(r(2, 3), [6]),
    "squeeze": lambda: r(2, 1).squeeze(),
    "squeeze dim": lambda: r(2, 1).squeeze(1),
    "unsqueeze": lambda: r(2).unsqueeze(0),
    "t": lambda: r(2, 3).t(),
    "transpose": lambda: r(2, 3, 4).transpose(0, 2),
    "permute": lambda: r(2, 3, 4).permute(2, 0, 1),
    "clone": lambda: r(2).clone(),
    "to": lambda: r(2).to(torch.float32),
    "alias": lambda: torch.ops.aten.alias(r(2)),
    "expand": lambda: r(3, 1).expand(2, 3, 4),
    "repeat": lambda: r(3, 2).repeat(2, 1, 3),
    "select": lambda: r(2, 3)[1],
    "select last": lambda: r(2, 3)[:, 0],
    "slice": lambda: torch.ops.aten.slice(r(2, 6), 1, 1, 5, 2),
    "slice to the end": lambda: r(6)[2:],
    "index": lambda: r(4, 3)[T([0, 0, 2])],
    "index second": lambda: r(4, 3)[:, T([0, 0, 2])],
    "index two": lambda: r(4, 3)[T([0, 1]), T([2, 2])],
    "index by mask": lambda: r(3)[MASK],
    "gather": lambda: r(2, 3).gather(1, T([[0, 0], [2, 1]])),
    "index select": lambda: r(3, 2).index_select(0, T([0, 2, 2])),
    "masked select": lambda: r(3).masked_select(MASK),
    "take": lambda: r(2, 3).take(T([0, 5, 5])),
    "diagonal": lambda: r(3, 3).diagonal(1),
    "tril": lambda: r(3, 3).tril(-1),
    "triu": lambda: r(3, 3).triu(1),
    "flip": lambda: r(2, 3).flip(1),
    "roll": lambda: r(2, 3).roll(1, 1),
    "roll all": lambda: r(2, 3).roll(2),
    "cat": lambda: torch.cat([r(2, 3), r(1, 3)]),
    "cat dim": lambda: torch.cat([r(2, 3), r(2, 1), r(2, 2)], 1),
    "stack": lambda: torch.stack([r(3), r(3)], 1),
    "unbind": lambda: r(2, 3).unbind(1),
    "split": lambda: r(5, 2).split(2),
    "split sizes": lambda: r(5, 2).split([1, 4]),
    "unsafe split": lambda: torch.unsafe_split(r(4), 2),
    "pad": lambda: F.pad(r(2, 3), (1, 2, 0, 1)),
    "scatter": lambda: r(2, 3).scatter(1, T([[0], [2]]), r(2, 1)),
    "scatter add": lambda: r(2, 3).scatter_add(1, T([[0, 0], [2, 1]]), r(2, 2)),
    "embedding": lambda: F.embedding(T([[0, 2], [2, 1]]), r(3, 4)),
    "embedding padding": lambda: F.embedding(T([0, 2, 2, 1]), r(3, 4), padding_idx=2),
    # layers
    "layer norm": lambda: F.layer_norm(r(2, 3, 4), (4,), r(4), r(4)),
    "layer norm of two": lambda: F.layer_norm(r(2, 3, 4), (3, 4), r(3, 4), r(3, 4)),
    "layer norm plain": lambda: F.layer_norm(r(2, 5), (5,)),
    "batch norm": lambda: F.batch_norm(r(4, 3), None, None, r(3), r(3), training=True),
    "batch norm 2d": lambda: F.batch_norm(
        r(2, 3, 2, 2), torch.zeros(3).double(), torch.ones(3).double(), r(3), r(3), training=True
    ),
    "batch norm eval": lambda: F.batch_norm(r(4, 3), torch.rand(3).double(), torch.rand(3).double() + 1, r(3), r(3)),
    "batch norm plain": lambda: F.batch_norm(r(4, 3), None, None, training=True),
}
# Told in words, or never made on a CPU.
NOT_CALCULATED = {
    "Linear", "NativeGroupNorm", "Convolution", "MaxPool2DWithIndices", "AvgPool2D", "AdaptiveAvgPool2D",
    "MkldnnAdaptiveAvgPool2D", "ScaledDotProductFlashAttentionForCpu", "ScaledDotProductFlashAttention",
    "ScaledDotProductEfficientAttention", "ReshapeAlias", "Norm0", "MaxPool3DWithIndices", "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D", "AvgPool3D", "AdaptiveAvgPool3D", "PixelShuffle", "PixelUnshuffle", "Rot90", "Unfold",
    "Im2Col", "Col2Im", "ReflectionPad1D", "ReflectionPad2D", "ReplicationPad1D", "ReplicationPad2D",
    "UpsampleNearest2D", "UpsampleBilinear2D", "DiagEmbed", "IndexAdd", "IndexCopy", "IndexPut", "SelectScatter",
    "SliceScatter", "IndexFill", "NllLoss2D", "EmbeddingBag",
}  # fmt: skip


# What autograd does not keep all of: the result is not told.
FORWARD_NOT_TOLD = {
    "fmod", "remainder", "threshold", "masked fill", "dropout", "nan to num", "nansum", "max dim", "max keepdim",
    "min dim", "median", "kthvalue", "sort", "stable sort", "topk", "nll none", "nll none weight", "nll mean",
    "nll mean weight", "nll sum", "nll sum weight", "expand", "index select", "masked select", "take", "cat",
    "cat dim", "stack", "unbind", "split", "split sizes", "unsafe split", "scatter", "scatter add", "layer norm",
    "layer norm of two", "layer norm plain", "batch norm", "batch norm 2d", "batch norm eval", "batch norm plain",
    "add a number", "number minus",
}  # fmt: skip


def made(case):
    torch.manual_seed(0)
    result = CASES[case]()
    return result if isinstance(result, tuple) else (result,)


def node_of(outputs):
    """The node that made them, with random gradients as they would arrive."""
    w = GradWidget(*outputs, watch=False)
    node = Node(w._inspection, w._inspection.columns.outputs[0][0])
    arriving = [torch.rand(o.shape, dtype=o.dtype) for o in outputs]
    return node, arriving


@pytest.mark.parametrize("case", CASES)
def test_formula_against_autograd(case):
    outputs = made(case)
    node, arriving = node_of(outputs)
    assert node.formula is not None, outputs[0].grad_fn
    grad_fn = outputs[0].grad_fn
    needed = len(grad_fn._input_metadata) - len(arriving)
    expected = grad_fn(*arriving, *[None] * needed)
    expected = expected if isinstance(expected, tuple) else (expected,)
    compared = 0
    for slot, (following, number) in enumerate(grad_fn.next_functions):
        if following is None:
            continue
        expression = node.handed(slot)
        assert expression is not None, slot
        found = node.calculate(expression, slot, g=arriving[0], gs=arriving)
        assert found is not None, slot
        inner = following._input_metadata[number].shape  # the engine sums what was broadcast
        torch.testing.assert_close(
            found.expand(inner).to(expected[slot].dtype), expected[slot].sum_to_size(inner), check_stride=False
        )
        assert node.part(slot).chain.text
        compared += 1
    assert compared


@pytest.mark.parametrize("case", [case for case in CASES if case not in FORWARD_NOT_TOLD])
def test_forward_expression_is_what_torch_calculates(case):
    outputs = made(case)
    node, _ = node_of(outputs)
    found = node.calculate(node.settled(node.formula.forward))
    assert found is not None
    torch.testing.assert_close(found.to(outputs[0].dtype), outputs[0].detach(), check_stride=False)


def covered():
    found = set()
    for case in CASES:
        node, _ = node_of(made(case))
        found.add(node.formula.op)
    return found


def test_each_formula_is_tested_and_there_are_eighty():
    assert set(BY_OP) - covered() == NOT_CALCULATED
    assert len(set(BY_OP) - NOT_CALCULATED) >= 80
