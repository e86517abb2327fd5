"""Summaries of every kind of tensor: numbers are those of plain torch, and nobody's code is run."""

from __future__ import annotations

import dataclasses
import math
import pickle

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from gradwidget import GradWidget, Summary
from gradwidget._summary import copy_of, format_number, norm, summarize

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.uint8]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (2, 3, 4), (1, 1, 1, 7)], ids=str)
def test_statistics_are_those_of_torch(dtype, shape):
    tensor = (torch.rand(shape) * 20 - 5).to(dtype) if dtype is not torch.uint8 else (torch.rand(shape) * 20).to(dtype)
    stats = summarize(tensor).stats
    wide = tensor.double()
    assert stats.norm == pytest.approx(wide.norm().item())
    assert stats.mean == pytest.approx(wide.mean().item())
    assert (stats.min, stats.max) == (wide.min().item(), wide.max().item())
    if tensor.numel() > 1:
        assert stats.std == pytest.approx(wide.std().item())
    else:
        assert math.isnan(stats.std)
    assert (stats.nan, stats.inf, stats.zero) == (0, 0, int((wide == 0).sum()))


def test_statistics_of_a_big_tensor():
    tensor = torch.randn(1_100_000)
    stats = summarize(tensor).stats
    assert stats.mean == pytest.approx(tensor.double().mean().item(), abs=1e-6)
    assert stats.std == pytest.approx(tensor.double().std().item(), rel=1e-5)
    assert stats.norm == pytest.approx(tensor.double().norm().item(), rel=1e-4)


def test_numbers_that_are_not_finite_are_counted_and_left_out():
    tensor = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 2.0, 4.0])
    stats = summarize(tensor).stats
    assert (stats.nan, stats.inf, stats.zero) == (1, 2, 1)
    assert (stats.mean, stats.std, stats.min, stats.max) == (2.0, 2.0, 0.0, 4.0)
    assert math.isnan(stats.norm)


def test_nothing_but_nan():
    stats = summarize(torch.full((3,), float("nan"))).stats
    assert stats.nan == 3
    assert math.isnan(stats.mean)
    assert summarize(torch.full((3,), float("nan"))).histogram is None


def test_histogram_counts_are_those_of_torch():
    tensor = torch.randn(1_000, dtype=torch.float64)
    histogram = summarize(tensor).histogram
    assert (histogram.low, histogram.high) == (tensor.min().item(), tensor.max().item())
    assert list(histogram.counts) == torch.histc(tensor, 24).int().tolist()


def test_histogram_leaves_out_what_is_not_finite():
    tensor = torch.tensor([0.0, 1.0, float("inf"), float("nan")])
    assert sum(summarize(tensor).histogram.counts) == 2


def test_histogram_of_equal_numbers():
    assert summarize(torch.ones(5)).histogram.counts == (5,)


def test_values_of_a_matrix():
    corner = summarize(torch.arange(6).reshape(2, 3)).corner
    assert (corner.rows, corner.columns, corner.data, corner.whole, corner.index) == (
        2,
        3,
        (0, 1, 2, 3, 4, 5),
        True,
        "",
    )


def test_values_of_a_big_matrix_are_a_corner():
    tensor = torch.arange(40 * 50).reshape(40, 50)
    corner = summarize(tensor).corner
    assert (corner.rows, corner.columns, corner.whole) == (32, 32, False)
    assert list(corner.data) == tensor[:32, :32].flatten().tolist()


def test_values_of_higher_ranks_are_the_first_matrix():
    tensor = torch.arange(24).reshape(2, 3, 2, 2)
    corner = summarize(tensor).corner
    assert (corner.index, corner.whole) == ("[0, 0, :, :]", False)
    assert corner.data == (0, 1, 2, 3)


def test_values_of_a_vector():
    corner = summarize(torch.arange(200)).corner
    assert (corner.rows, corner.columns, corner.whole) == (1, 128, False)


def test_exact_is_what_tolist_says():
    for tensor in (
        torch.rand(2, 3, dtype=torch.float64),
        torch.rand(()).double(),
        torch.arange(4),
        torch.rand(1, 1, 2, 2).double(),
    ):
        assert summarize(tensor).exact == repr(tensor.tolist())


def test_single_precision_is_shown_by_its_shortest_decimal():
    assert summarize(torch.tensor(1.1)).exact == "1.1"


def test_texts():
    assert summarize(torch.tensor(1.716)).text == "1.716"
    assert summarize(torch.tensor([1.0, 2.5])).text == "[1, 2.5]"
    assert summarize(torch.ones(3, 3)).text == "‖·‖ 3"
    assert summarize(torch.tensor(7)).text == "7"
    assert summarize(torch.tensor(True)).text == "True"
    assert summarize(torch.tensor(float("nan"))).text == "nan"
    assert summarize(torch.tensor(1 + 2j)).text == "1+2j"


def test_numbers_are_formatted_for_people():
    assert [format_number(x) for x in (1.23456, 1e-7, 1e30, 2**60, -0.0, complex(1, -2))] == [
        "1.235",
        "1e-07",
        "1e+30",
        str(2**60),
        "-0",
        "1-2j",
    ]


def sparse_coo():
    return torch.eye(3).to_sparse()


def uncoalesced():
    return torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))


def sparse_csr():
    return torch.eye(3).to_sparse_csr()


def sparse_csc():
    return torch.eye(3).to_sparse_csc()


def sparse_bsr():
    return torch.eye(4).to_sparse_bsr((2, 2))


def conj():
    return torch.tensor([1 + 2j, 3 - 1j]).conj()


def neg_bit():
    return torch.tensor([1 + 2j, 3 - 1j]).conj().imag


def boolean():
    return torch.tensor([True, False, True])


def beyond_doubles():
    return torch.tensor([2**53 + 1, -(2**62), 7])


def float8():
    return torch.tensor([0.5, 1.0]).to(torch.float8_e4m3fn)


def float8_e5m2():
    return torch.tensor([0.5, 1.0]).to(torch.float8_e5m2)


def bfloat16():
    return torch.tensor([0.5, 1.0], dtype=torch.bfloat16)


def unsigned():
    return torch.tensor([1, 2**15], dtype=torch.uint16)


def meta():
    return torch.ones(3, device="meta")


def fake():
    with FakeTensorMode():
        return torch.ones(3)


def nested():
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


def jagged():
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)


def uninitialized():
    return nn.LazyLinear(3).weight


def empty():
    return torch.ones(0, 3)


def zero_dim():
    return torch.tensor(3.0)


def quantized():
    return torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.5, 0, torch.quint8)


def expanded():
    return torch.ones(1).expand(1_000_000)


def huge_expanded():
    return torch.ones(1).expand(10**6, 10**6)[:2, :2]


def inference():
    with torch.inference_mode():
        return torch.ones(2)


def complex32():
    return torch.tensor([1 + 2j]).to(torch.complex32)


def requires_grad():
    return torch.ones(2, requires_grad=True) * 2


def as_strided():
    return torch.arange(10.0).as_strided((3, 3), (1, 2))


ODD = [
    sparse_coo,
    uncoalesced,
    sparse_csr,
    sparse_csc,
    sparse_bsr,
    conj,
    neg_bit,
    boolean,
    beyond_doubles,
    float8,
    float8_e5m2,
    bfloat16,
    unsigned,
    meta,
    fake,
    nested,
    jagged,
    uninitialized,
    empty,
    zero_dim,
    quantized,
    expanded,
    huge_expanded,
    inference,
    complex32,
    requires_grad,
    as_strided,
]
each_odd = pytest.mark.parametrize("make", ODD, ids=lambda f: f.__name__)
quiet = pytest.mark.filterwarnings("ignore")  # torch's own, while an odd tensor is made


@quiet
@each_odd
def test_odd_tensors_have_a_summary_without_torch_in_it(make):
    summary = summarize(make())
    assert isinstance(summary, Summary)
    assert isinstance(repr(summary), str)
    assert summary.text is not None
    plain = pickle.dumps(dataclasses.astuple(summary))
    assert b"torch" not in plain.replace(b"torch.", b"")


@quiet
@each_odd
def test_odd_tensors_say_why_there_are_no_values(make):
    summary = summarize(make())
    assert summary.corner is not None or summary.note or summary.numel == 0


@quiet
@each_odd
def test_a_summary_says_nothing_aloud(make, recwarn):
    tensor = make()
    recwarn.clear()
    summarize(tensor)
    assert [str(w.message) for w in recwarn] == []


@quiet
@each_odd
def test_a_summary_changes_nothing(make):
    tensor = make()
    before = torch.get_rng_state()

    def version():
        try:
            return tensor._version
        except Exception:
            return None

    first = version()
    summarize(tensor)
    assert version() == first
    assert torch.equal(torch.get_rng_state(), before)


VALUES = {
    sparse_coo: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
    uncoalesced: [0.0, 3.0, 0.0, 0.0],
    sparse_csr: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
    conj: [1 - 2j, 3 + 1j],
    neg_bit: [-2.0, 1.0],
    boolean: [True, False, True],
    beyond_doubles: [2**53 + 1, -(2**62), 7],
    float8: [0.5, 1.0],
    float8_e5m2: [0.5, 1.0],
    bfloat16: [0.5, 1.0],
    unsigned: [1, 2**15],
    quantized: [0.5, 1.0],
    inference: [1.0, 1.0],
    complex32: [1 + 2j],
    as_strided: [0.0, 2.0, 4.0, 1.0, 3.0, 5.0, 2.0, 4.0, 6.0],
}


@quiet
@pytest.mark.parametrize("make", VALUES, ids=lambda f: f.__name__)
def test_values_of_odd_tensors(make):
    assert list(summarize(make()).corner.data) == VALUES[make]


@quiet
@pytest.mark.parametrize("make", [meta, fake, nested, jagged, uninitialized], ids=lambda f: f.__name__)
def test_tensors_without_values(make):
    summary = summarize(make())
    assert (summary.stats, summary.corner) == (None, None)
    assert copy_of(make()) is None or make is uninitialized


def test_the_magnitude_of_complex_numbers():
    stats = summarize(torch.tensor([3 + 4j, 0j])).stats
    assert (stats.min, stats.max, stats.norm, stats.zero) == (0.0, 5.0, 5.0, 1)


def test_a_hundred_million_elements_are_not_copied():
    tensor = torch.zeros(1).expand(100_000_000)
    summary = summarize(tensor[:2_000_000])
    assert summary.numel == 2_000_000
    assert summary.stats.zero == 2_000_000
    assert summary.corner.columns == 128


class CountingFunction(torch.Tensor):
    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        CountingFunction.calls += 1
        return super().__torch_function__(func, types, args, kwargs or {})


class CountingDispatch(torch.Tensor):
    calls = 0

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        CountingDispatch.calls += 1
        return func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))

    def __repr__(self):
        raise AssertionError


def test_no_code_of_a_subclass_with_torch_function():
    tensor = torch.ones(3).as_subclass(CountingFunction)
    CountingFunction.calls = 0
    summary = summarize(tensor)
    assert type(copy_of(tensor)) is torch.Tensor
    assert CountingFunction.calls == 0
    assert summary.stats.mean == 1.0


def test_no_code_of_a_subclass_with_torch_dispatch():
    tensor = CountingDispatch(torch.ones(3))
    CountingDispatch.calls = 0
    summary = summarize(tensor)
    assert copy_of(tensor) is None
    assert CountingDispatch.calls == 0
    assert (summary.form.shape, summary.corner) == ((3,), None)
    assert "CountingDispatch" in summary.note


class FunctionMode(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class DispatchMode(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@quiet
@pytest.mark.parametrize("mode", [FunctionMode, DispatchMode])
@pytest.mark.parametrize("make", [zero_dim, conj, sparse_coo, quantized, requires_grad, meta], ids=lambda f: f.__name__)
def test_no_code_of_a_users_mode_for_a_summary(mode, make):
    tensor = make()
    with mode() as active:
        summarize(tensor)
        copy_of(tensor)
    assert active.seen == []


def look_at_everything(w):
    for key in range(len(w)):
        view = w[key]
        view.saved, view.value, view.gradient, view.gradients, view.grad, view.hooks, view.why, repr(view)
    w.graph, w.to_text(), w.to_json(), w.to_dot(), w.trace(), repr(w), repr(w.passes)
    w._update_page()


@pytest.mark.parametrize("mode", [FunctionMode, DispatchMode])
def test_no_code_of_a_users_mode_for_a_widget(mode):
    x = torch.rand(3, requires_grad=True)
    h = x.exp()
    out = h.sum()
    with mode() as active:
        w = GradWidget(out)
        look_at_everything(w)
    assert active.seen == []


@pytest.mark.parametrize("mode", [FunctionMode, DispatchMode])
def test_no_code_of_a_users_mode_after_a_pass(mode):
    x = torch.rand(3, requires_grad=True)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    with mode() as active:
        look_at_everything(w)
    assert active.seen == []


def test_a_users_mode_sees_the_same_backward_pass():
    def seen(watched):
        x = torch.rand(3, requires_grad=True)
        out = (x.exp() * x).sum()
        w = GradWidget(out) if watched else None
        with FunctionMode() as active:
            torch.autograd.backward(out, inputs=[x])
        assert w is None or len(w.passes) == 1
        return active.seen

    without = seen(False)
    assert seen(True) == without


@pytest.mark.parametrize("mode", [FunctionMode, DispatchMode])
def test_a_leaf_as_output_under_a_users_mode(mode):
    x = torch.rand(3, requires_grad=True)
    with mode() as active:
        GradWidget(x)
    assert active.seen == []


def test_under_a_default_device():
    x = torch.rand(3, requires_grad=True)
    out = x.exp().sum()
    with torch.device("meta"):
        w = GradWidget(out)
        w.probe()
        look_at_everything(w)
    assert w["x"].gradient.device.type == "cpu"


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e30])
@pytest.mark.parametrize(
    "arranged",
    [
        lambda t: t,
        lambda t: t.t(),
        lambda t: t[::2, 1:],
        lambda t: t.view(2, 8, 25, 300).contiguous(memory_format=torch.channels_last),
        lambda t: t[:1].expand(400, 300),
    ],
    ids=["contiguous", "transposed", "strided", "channels last", "expanded"],
)
def test_the_norm_of_many_elements(scale, arranged):
    torch.manual_seed(0)
    numbers = arranged(torch.randn(400, 300) * scale)
    expected = float(torch.linalg.vector_norm(numbers.double()))
    assert float(norm(numbers)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_the_norm_of_many_elements_with_a_bad_one(bad):
    numbers = torch.ones(10_000)
    numbers[77] = bad
    assert str(float(norm(numbers))) == str(float(torch.linalg.vector_norm(numbers)))


def test_the_norm_of_forty_million_elements_is_right_to_four_digits():
    numbers = torch.full((40_000_000,), 0.1)
    assert float(norm(numbers)) == pytest.approx(0.1 * 40_000_000**0.5, rel=1e-5)
