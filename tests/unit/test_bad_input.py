"""Bad input gives one error of ours, that is also one of Python's, with a cause and a remedy."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import gradwidget as gw
from gradwidget import GradWidget, GradWidgetError, backward_graph


def no_grad_view():
    base = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        return base[:2]


def stale_view():
    base = torch.ones(3, requires_grad=True) * 2
    with torch.no_grad():
        view = base[:2]
    base.mul_(2)
    return view


def inference_tensor():
    with torch.inference_mode():
        return torch.ones(2)


def fake_constant():
    with FakeTensorMode():
        return torch.ones(3)


BAD = {
    "nothing": (lambda: (), TypeError, "No output was given"),
    "a float": (lambda: (1.5,), TypeError, "A float was given"),
    "an int": (lambda: (3,), TypeError, "A int was given|An int was given"),
    "None": (lambda: (None,), TypeError, "NoneType was given"),
    "a text": (lambda: ("loss",), TypeError, "str was given"),
    "an empty list": (lambda: ([],), TypeError, "list holds no tensor"),
    "a list without tensors": (lambda: ([1, "x", {}],), TypeError, "list holds no tensor"),
    "an empty dict": (lambda: ({},), TypeError, "dict holds no tensor"),
    "no gradient needed": (lambda: (torch.ones(2),), ValueError, "needs no gradient"),
    "integers": (lambda: (torch.tensor([1, 2]),), ValueError, "int64, which can't have gradients"),
    "booleans": (lambda: (torch.tensor([True]),), ValueError, "bool, which can't have gradients"),
    "an array": (lambda: (np.ones(2),), TypeError, "numpy array"),
    "a number of numpy": (lambda: (np.float64(2),), TypeError, "float64 was given"),
    "a module": (lambda: (nn.Linear(1, 1),), TypeError, r"A module \(Linear\)"),
    "a class": (lambda: (torch.Tensor,), TypeError, "was given"),
    "a generator": (lambda: ((t for t in ()),), TypeError, "generator was given"),
    "an inference tensor": (lambda: (inference_tensor(),), ValueError, "inference_mode"),
    "a view made under no_grad": (lambda: (no_grad_view(),), ValueError, "view made under no_grad"),
    "a stale view": (lambda: (stale_view(),), ValueError, "history is no longer valid"),
    "a meta tensor without gradient": (lambda: (torch.ones(2, device="meta"),), ValueError, "needs no gradient"),
    "a fake tensor without gradient": (lambda: (fake_constant(),), ValueError, "needs no gradient"),
    "detached": (lambda: (torch.ones(2, requires_grad=True).exp().detach(),), ValueError, "needs no gradient"),
    "several without gradient": (
        lambda: (torch.ones(2), torch.ones(3)),
        ValueError,
        "None of the 2 outputs has a graph",
    ),
}
each_bad = pytest.mark.parametrize(("make", "base", "cause"), BAD.values(), ids=BAD)
ONE_SENTENCE = re.compile(r"^[A-Z].*[.)]$", re.DOTALL)


@each_bad
@pytest.mark.parametrize("call", [GradWidget, backward_graph], ids=lambda c: c.__name__)
def test_bad_output(make, base, cause, call):
    with pytest.raises(GradWidgetError, match=cause) as caught:
        call(*make())
    error = caught.value
    assert isinstance(error, base)
    assert ONE_SENTENCE.match(error.cause)
    assert ONE_SENTENCE.match(error.remedy)
    assert str(error) == f"{error.cause} {error.remedy}"


@each_bad
def test_bad_output_warns_of_nothing(make, base, cause):
    values = make()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(base):
            GradWidget(*values)
    assert [str(w.message) for w in said] == []


def test_an_int_is_named_in_good_english():
    with pytest.raises(GradWidgetError, match=r"^An int was given"):
        GradWidget(3)


def test_a_failed_refresh_leaves_the_figure():
    x = torch.ones((), requires_grad=True)
    w = GradWidget(x.exp())
    before = w._graph
    with pytest.raises(gw.NoGraphError):
        w.refresh(torch.ones(2))
    assert w._graph == before
    assert w.probe().state == "complete"


@pytest.mark.parametrize(
    ("keyword", "near"),
    [("higth", "height"), ("keeps", "keep"), ("name", "names"), ("watching", "watch"), ("dirction", "direction")],
)
def test_an_unknown_keyword_names_the_near_one(keyword, near):
    out = torch.ones((), requires_grad=True).exp()
    with pytest.raises(TypeError, match=f"no keyword '{keyword}'.*Did you mean '{near}'") as caught:
        GradWidget(out, **{keyword: 1})
    assert isinstance(caught.value, gw.OptionError)


def test_an_unknown_keyword_lists_those_there_are():
    with pytest.raises(gw.OptionError, match="names, watch, keep, height, direction"):
        GradWidget(torch.ones(1), zzzz=1)


OPTIONS = [
    ("keep", "everything"),
    ("keep", None),
    ("keep", 3),
    ("keep", []),
    ("height", "tall"),
    ("height", -3),
    ("height", 0),
    ("height", 1.5),
    ("height", True),
    ("height", 10**9),
    ("direction", "left"),
    ("direction", None),
    ("direction", 1),
    ("direction", []),
    ("names", 3),
]


@pytest.mark.parametrize(("keyword", "value"), OPTIONS, ids=str)
def test_a_bad_option(keyword, value):
    out = torch.ones((), requires_grad=True).exp()
    with pytest.raises(gw.OptionError) as caught:
        GradWidget(out, **{keyword: value})
    assert keyword in caught.value.cause
    assert ONE_SENTENCE.match(caught.value.remedy)


@pytest.mark.parametrize("value", [10, -1, 10**9, "tall", None, 1.5], ids=str)
def test_a_bad_height_set_later(value):
    import traitlets

    w = GradWidget(torch.ones((), requires_grad=True).exp())
    with pytest.raises((traitlets.TraitError, gw.OptionError)):
        w.height = value
    assert w.height == 480


@pytest.mark.parametrize(
    "key", [-1, 2, 10**20, True, False, None, 1.0, "", "zz", (0,), [0], torch.tensor(0), b"x"], ids=str
)
def test_an_unknown_node(key):
    x = torch.ones((), requires_grad=True)
    w = GradWidget(x.exp())
    with pytest.raises(gw.UnknownNodeError) as caught:
        w[key]
    assert isinstance(caught.value, KeyError)
    assert str(caught.value) == f"{caught.value.cause} {caught.value.remedy}"


def test_an_unknown_name_names_the_near_ones():
    weight = torch.ones((), requires_grad=True)
    out = weight.exp()
    with pytest.raises(gw.UnknownNodeError, match=r"'wieght'.*Did you mean 'weight'.*Known names: weight"):
        GradWidget(out)["wieght"]


@pytest.mark.parametrize("key", ["zz", -1, 99])
def test_an_unknown_node_of_a_pass(key):
    x = torch.ones((), requires_grad=True)
    out = x.exp()
    w = GradWidget(out)
    out.backward()
    with pytest.raises(gw.UnknownNodeError):
        w.passes[0].gradient(key)


def test_numbers_of_numpy_are_numbers():
    w = GradWidget(torch.ones((), requires_grad=True).exp())
    assert w[np.int64(1)].kind == "leaf"


def test_a_freed_graph_is_shown_and_says_so():
    import gzip
    import json

    x = torch.ones(2, requires_grad=True)
    h = x.exp()
    out = h.sum()
    out.backward()
    w = GradWidget(out)
    assert json.loads(gzip.decompress(w._live))["freed"] is True
    assert w["h"].saved["result"].state == "freed"
    assert w["x"].gradient.tolist() == pytest.approx(h.tolist())


def test_a_meta_graph_is_shown():
    x = torch.ones(2, device="meta", requires_grad=True)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    assert w["x"].shape == (2,)
    assert repr(w["x"]) == "NodeView(2: leaf x, 2 f32 meta)"
    w._update_page()


def test_a_fake_graph_is_shown():
    with FakeTensorMode():
        x = torch.ones(2, requires_grad=True)
        out = x.exp().sum()
        w = GradWidget(out)
        out.backward()
        assert w["x"].shape == (2,)
        w._update_page()
    assert len(w.passes) == 1


def test_left_out_outputs_are_noted():
    import gzip
    import json

    out = torch.ones((), requires_grad=True).exp()
    w = GradWidget(out, torch.ones(2), torch.tensor(1))
    notes = json.loads(gzip.decompress(w._graph))["notes"]
    assert [n.partition(" needs")[0].partition(" is a tensor")[0] for n in notes] == ["Output 2", "Output 3"]
    assert all(n.endswith("It is left out.") for n in notes)


def test_errors_form_one_tree():
    for name in gw.__all__:
        member = getattr(gw, name)
        if isinstance(member, type) and issubclass(member, Exception):
            assert issubclass(member, GradWidgetError)


def test_public_names():
    assert sorted(gw.__all__) == gw.__all__
    assert {"GradWidget", "backward_graph", "GradWidgetError", "NodeView", "BackwardPass"} <= set(gw.__all__)
    assert all(hasattr(gw, name) for name in gw.__all__)


@pytest.mark.parametrize(
    "error", [gw.OutputTypeError, gw.NoGraphError, gw.UnknownNodeError, gw.OptionError, gw.GraphGoneError]
)
def test_errors_survive_pickling(error):
    import pickle

    again = pickle.loads(pickle.dumps(error("Cause.", "Remedy.")))
    assert (type(again), str(again)) == (error, "Cause. Remedy.")
