"""Where numbers first went bad, judged by torch's anomaly mode and by hand."""

from __future__ import annotations

import json
import re

import pytest
import torch
from unit.judge import torch_walk
from unit.looking import leaf, look

from gradwidget import GradWidget, _wire
from gradwidget._bad import first_bad


def tensor(*numbers, **options):
    return torch.tensor(numbers, requires_grad=True, **options)


class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g / 0 * 0


def found(out, *seed, **options):
    """(widget, first bad number) after a pass."""
    w = GradWidget(out, **options)
    out.backward(*seed)
    return w, first_bad(w._inspection, w.passes[-1])


def sqrt_of_zero():
    return tensor(0.0, 4.0).sqrt().sum(), "SqrtBackward0", "infinity"


def log_of_zero():
    return (tensor(0.0, 1.0) * 2).log().sum(), "LogBackward0", "infinity"


def division_by_zero():
    return (1 / (tensor(0.0, 2.0) * 1)).sum(), "ReciprocalBackward0", "infinity"


def where_hides_nothing():
    x = tensor(0.0, 4.0)
    return torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum(), "SqrtBackward0", "NaN"


def norm_of_zero():
    x = tensor(0.0, 0.0) * 1
    return (x * x).sum().sqrt() * 0, "SqrtBackward0", "NaN"


def overflow_in_half():
    return (tensor(1.0, dtype=torch.float16) * 3000 * 3000).sum(), "MulBackward0", "infinity"


def a_function():
    return Half.apply(tensor(1.0) * 2).sum(), "HalfBackward", "NaN"


def power():
    return (tensor(0.0) ** 0.5).sum(), "PowBackward0", "infinity"


CASES = [
    sqrt_of_zero,
    log_of_zero,
    division_by_zero,
    where_hides_nothing,
    norm_of_zero,
    overflow_in_half,
    a_function,
    power,
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)


@each_case
def test_the_node_that_made_it(case):
    out, op, kind = case()
    w, bad = found(out)
    assert (w[bad.key].op, bad.kind) == (op, kind)
    assert bad.text.startswith(f"First {kind}: ")
    assert bad.text.endswith(" handed it on; what it received was finite.")
    assert w.passes[0].order[bad.step] == bad.key
    look(w)


@pytest.mark.parametrize("keep", ["all", "summary"])
@each_case
def test_with_another_keep(case, keep):
    out, op, kind = case()
    w, bad = found(out, keep=keep)
    assert (w[bad.key].op, bad.kind) == (op, kind)


@pytest.mark.parametrize("case", [where_hides_nothing, norm_of_zero, a_function], ids=lambda c: c.__name__)
def test_agrees_with_anomaly_mode(case):
    out, _, _ = case()
    _, bad = found(out)
    with (
        pytest.warns(UserWarning, match="Anomaly Detection|Error detected"),
        torch.autograd.set_detect_anomaly(True),
        pytest.raises(RuntimeError, match="returned nan") as caught,
    ):
        case()[0].backward()
    guilty = re.match(r"Function '(\w+)'", str(caught.value))[1]
    out, op, _ = case()
    assert guilty == op
    assert bad.key == next(k for k, node in enumerate(torch_walk(out)[0]) if node.name().endswith(guilty))


def test_the_sentence_names_the_tensor():
    h = tensor(0.0).sqrt()
    out = h.sum()
    _, bad = found(out, names={"h": h})
    assert bad.text == "First infinity: Sqrt (h) handed it on; what it received was finite."


def test_the_sentence_names_the_line_where_anomaly_mode_knows_it():
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        out = tensor(0.0).sqrt().sum()
    _, bad = found(out)
    assert re.fullmatch(r"First infinity: Sqrt, test_bad.py:\d+, handed it on; what it received was finite.", bad.text)


def test_a_bad_seed():
    _, bad = found(tensor(1.0, 2.0) * 2, torch.tensor([1.0, float("nan")]))
    assert (bad.step, bad.kind, bad.text) == (0, "NaN", "The pass began with NaN.")


def test_a_bad_seed_of_a_later_output():
    x = tensor(1.0, 2.0)
    b = x.sin()
    a = b.exp()
    w = GradWidget(a, b)
    torch.autograd.backward([a, b], [torch.ones(2), torch.tensor([1.0, float("nan")])])
    bad = first_bad(w._inspection, w.passes[0])
    assert (bad.key, bad.kind) == (w["b"].key, "NaN")
    assert "given to backward()" in bad.text
    assert "Exp" not in bad.text


def test_a_hook_of_the_user_made_it():
    x = tensor(1.0, 2.0)
    h = x.exp()
    h.register_hook(lambda g: g * float("nan"))
    out = h.sin().sum()
    w, bad = found(out, names={"h": h})
    assert (bad.key, bad.text) == (w["h"].key, "First NaN: a hook on h made it; what arrived there was finite.")


def test_the_sum_of_two_finite_contributions():
    h = tensor(1.0, dtype=torch.float16) * 1
    out = (h * 60000).sum() + (h * 60000).sum()
    w, bad = found(out, names={"h": h})
    assert (bad.key, bad.kind) == (w["h"].key, "infinity")
    assert "their sum" in bad.text


def test_negative_infinity_and_complex():
    _, bad = found((-tensor(0.0).sqrt()).sum())
    assert bad.kind == "infinity"
    z = tensor(0.0 + 0j)
    w, bad = found((z * 1).log().abs().sum(), torch.tensor(1.0))
    assert w[bad.key].op in {"LogBackward0", "AbsBackward0"}


def test_finite_numbers_are_not_bad():
    w, bad = found((tensor(1.0, 2.0).exp() * 3).sum())
    assert bad is None
    assert _wire.pass_payload(w._inspection, w.passes[0])["bad"] is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_an_infinite_norm_of_finite_numbers_is_not_bad(dtype):
    big = torch.finfo(dtype).max / 4
    x = leaf(1000, dtype=dtype)
    w, bad = found((x * 1) @ torch.full((1000,), big, dtype=dtype), names={"x": x})
    assert w["x"].gradient[0].item() == pytest.approx(big)
    assert bad is None


@pytest.mark.parametrize("nodes", [990, 1_100])
def test_in_a_graph_beyond_those_that_are_followed(nodes):
    x = tensor(0.0)
    root = (x * 1).sqrt()
    out = root
    for _ in range(nodes):
        out = out + 1
    w, bad = found(out.sum())
    assert (w[bad.key].op, bad.kind) == ("SqrtBackward0", "infinity")


def test_several_possible_makers_are_not_guessed_at(monkeypatch):
    from gradwidget import _capture

    monkeypatch.setattr(_capture, "FOLLOWED", 1)
    x = tensor(0.0)
    h = x * 1
    w, bad = found(h.sqrt() + h.sin(), names={"h": h})
    assert bad.key == w["h"].key
    assert bad.text == "First infinity: it arrived at h, handed on by one of its 2 consumers."


def test_it_is_on_the_wire_as_strict_json():
    out, _, _ = where_hides_nothing()
    w, bad = found(out)
    payload = _wire.pass_payload(w._inspection, w.passes[0])
    assert payload["bad"] == {"key": bad.key, "step": bad.step, "kind": "NaN", "text": bad.text}
    json.dumps(payload, allow_nan=False)
    assert "nan" in payload["handed_norm"]


def test_a_sparse_gradient_that_went_bad():
    table = torch.nn.Embedding(5, 2, sparse=True)
    w, bad = found((table(torch.tensor([1, 1])) * float("inf")).sum())
    assert (w[bad.key].op, bad.kind) == ("MulBackward0", "infinity")
