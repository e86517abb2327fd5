"""Names of tensors: all that are there, none that costs the user's code a call."""

# ruff: noqa: PLC2401 - names in any script are the thing under test

from __future__ import annotations

import types

import pytest
import torch
from torch import nn

from gradwidget import GradWidget, OptionError, UnknownNodeError, _names, backward_graph

global_leaf = torch.ones((), requires_grad=True)


def names_in(graph):
    return {name for _, node in graph.nodes(data=True) for name in node["names"]}


def test_locals():
    a = torch.ones((), requires_grad=True)
    b = a.exp()
    assert names_in(backward_graph(b)) == {"a", "b"}


def test_globals():
    out = global_leaf.exp()
    assert names_in(backward_graph(out)) == {"global_leaf", "out"}


def test_locals_of_a_callers_caller_are_not_looked_at():
    hidden = torch.ones((), requires_grad=True)

    def inner(out):
        return backward_graph(out)

    assert names_in(inner(hidden.exp())) == {"out"}


def test_a_closed_over_variable_is_a_local():
    x = torch.ones((), requires_grad=True)

    def inner():
        out = x.exp()
        return backward_graph(out)

    assert names_in(inner()) == {"x", "out"}


def test_class_body():
    class Scope:
        x = torch.ones((), requires_grad=True)
        names = names_in(backward_graph(x * 2))

    assert Scope.names == {"x"}


def test_all_aliases_are_kept_in_order():
    first = torch.ones((), requires_grad=True)
    second = first
    w = GradWidget(first.exp())
    assert w["second"].names == ("first", "second")
    assert w["second"].key == w["first"].key
    assert second is first


def test_parameters_of_a_module_in_scope():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    out = model(torch.ones(2)).sum()
    assert {"model.0.weight", "model.0.bias", "model.1.weight", "model.1.bias", "out"} <= names_in(backward_graph(out))


def test_buffers_and_plain_tensors_of_a_module():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = torch.ones((), requires_grad=True)
            self.register_buffer("buffer", torch.ones((), requires_grad=True))
            self.extra = [torch.ones((), requires_grad=True)]

    layer = Layer()
    out = layer.plain * layer.buffer * layer.extra[0]
    assert {"layer.plain", "layer.buffer", "layer.extra[0]"} <= names_in(backward_graph(out))


def test_tied_weights_have_both_names():
    lm = nn.ModuleDict({"emb": nn.Embedding(3, 2), "out": nn.Linear(2, 3, bias=False)})
    lm["out"].weight = lm["emb"].weight
    w = GradWidget(lm["out"](lm["emb"](torch.tensor([1]))).sum())
    assert w["lm.emb.weight"].names == ("lm.emb.weight", "lm.out.weight")


def test_containers_one_level():
    u = [torch.ones((), requires_grad=True), (torch.ones((), requires_grad=True),)]
    d = {"k": torch.ones((), requires_grad=True), 3: torch.ones((), requires_grad=True), (1,): torch.ones(())}
    t = (torch.ones((), requires_grad=True), "text")
    out = u[0] * u[1][0] * d["k"] * d[3] * t[0]
    assert names_in(backward_graph(out)) == {"out", "u[0]", "d['k']", "d[3]", "t[0]"}


def test_modules_in_containers():
    layers = [nn.Linear(1, 1, bias=False)]
    nets = {"g": nn.Linear(1, 1, bias=False)}
    out = nets["g"](layers[0](torch.ones(1)))
    assert {"layers[0].weight", "nets['g'].weight"} <= names_in(backward_graph(out))


def test_the_shortest_name_comes_first():
    stack = [torch.ones((), requires_grad=True)]
    x = stack[0]
    assert GradWidget(x.exp())["stack[0]"].names == ("x", "stack[0]")


@pytest.mark.parametrize("asked", ["u[0]", "u.0", "d['k']", 'd["k"]', "d.k", "d[3]", "d.3", "m.0.weight"])
def test_lookup_with_brackets_or_dots(asked):
    u = [torch.ones((), requires_grad=True)]
    d = {"k": torch.ones((), requires_grad=True), 3: torch.ones((), requires_grad=True)}
    m = nn.Sequential(nn.Linear(1, 1))
    w = GradWidget((u[0] * d["k"] * d[3] * m(torch.ones(1))).sum())
    assert w[asked].kind == "leaf"


def test_names_of_single_outputs_of_a_node():
    x = torch.ones(4, requires_grad=True)
    low, high = x.split(2)
    w = GradWidget(low.sum() + high.sum())
    assert w["low"].key == w["high"].key
    assert (w["low"].names, w["high"].names) == (("low",), ("high",))
    assert w[w["low"].key].names == ("low", "high")


def test_mapping_given():
    def hidden():
        return torch.ones((), requires_grad=True)

    def call(first):
        return GradWidget(first.exp(), names={"x y": first, "module": nn.Linear(1, 1), "no tensor": 3})

    assert call(hidden())["x y"].names == ("x y", "first")


def test_module_given():
    def call(make):
        return names_in(backward_graph(make()(torch.ones(1)), names=keep[0]))

    def make():
        keep.append(nn.Sequential(nn.Linear(1, 1)))
        return keep[0]

    keep = []
    out = make()(torch.ones(1))
    found = backward_graph(out, names=keep[0])
    assert {"0.weight", "0.bias"} <= names_in(found)


@pytest.mark.parametrize("names", [3, "x", ["x"], torch.ones(1), object()])
def test_names_must_be_a_module_or_a_mapping(names):
    out = torch.ones((), requires_grad=True).exp()
    with pytest.raises(OptionError, match=r"names= must be .*Give names="):
        GradWidget(out, names=names)


HOSTILE = [
    "网络",
    "טבלה",
    "🔥",
    "α",
    "a b",
    "",
    "</script><img src=x onerror=alert(1)>",
    "a\nb",
    "\"'`\\",
    "%s{}$",
    "x" * 300,
    "\u202e",
    "\x00",
    "lone \ud800",
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_any_name_is_kept_as_it_is(name):
    x = torch.ones((), requires_grad=True)
    w = GradWidget(x.exp(), names={name: x})
    assert w["x"].names == (name, "x")
    assert w[name].key == w["x"].key
    for text in (w.to_text(), w.to_dot(), w.to_json()):
        assert text


def test_unicode_names_in_scope():
    α = torch.ones((), requires_grad=True)
    网络 = nn.Module()
    网络.add_module("层 一", nn.Linear(1, 1))
    损失 = (网络.get_submodule("层 一")(torch.ones(1)) * α).sum()
    assert {"α", "损失", "网络.层 一.weight"} <= names_in(backward_graph(损失))


def test_names_that_belong_to_ipython_or_python_are_no_names():
    space = {"_": global_leaf, "__": global_leaf, "_1": global_leaf, "__x__": global_leaf, "_own": global_leaf}
    exec("from gradwidget import backward_graph\ng = backward_graph(_own.exp())", space)
    assert names_in(space["g"]) == {"_own"}


def raising(*_):
    raise AssertionError("user code was run")


class Everything:
    """Raises whenever it is asked for anything."""

    __class__ = property(raising)
    __getattribute__ = raising
    __len__ = __iter__ = __eq__ = __bool__ = __repr__ = raising
    __hash__ = None


class Boxes(list):
    __iter__ = __len__ = __getitem__ = raising


class Tables(dict):
    __iter__ = items = keys = __len__ = __getitem__ = raising


class Properties(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 1)

    weight = property(raising)

    def __getattr__(self, name):
        if name == "inner":
            return self.__dict__["_modules"]["inner"]
        raise AssertionError(f"{name} was read")


def test_objects_that_raise_are_never_touched():
    x = torch.ones((), requires_grad=True)
    proxy = Everything()
    kinds = [proxy, Everything]
    table = {"k": proxy}
    out = x.exp()
    assert {"x", "out"} <= names_in(backward_graph(out))
    assert len(kinds) + len(table) == 3


def test_methods_of_container_subclasses_are_never_called():
    x = torch.ones((), requires_grad=True)
    boxes, tables = Boxes([x]), Tables(k=x)
    found = names_in(backward_graph(x.exp()))
    assert found == {"x", "boxes[0]", "tables['k']"}
    assert type(boxes) is not type(tables)


def test_properties_of_a_module_are_never_read():
    module = Properties()
    out = list.__getitem__([*module.inner.parameters()], 0).sum()
    assert "module.inner.weight" in names_in(backward_graph(out))


def test_a_parametrized_weight_is_not_recomputed():
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2, bias=False))
    out = layer(torch.ones(2)).sum()
    buffer = layer.parametrizations.weight[0]._u
    before = buffer._version
    assert "layer.parametrizations.weight.original" in names_in(backward_graph(out))
    assert buffer._version == before


def test_a_lazy_module_in_scope():
    lazy = nn.LazyLinear(2)
    out = torch.ones((), requires_grad=True).exp()
    assert names_in(backward_graph(out)) == {"out"}
    assert lazy.has_uninitialized_params()


test_a_lazy_module_in_scope = pytest.mark.filterwarnings("ignore::UserWarning")(test_a_lazy_module_in_scope)


def test_a_stale_view_in_scope():
    base = torch.ones(3, requires_grad=True) * 2
    with torch.no_grad():
        bad = base[:2]
    out = base.sum()
    base.mul_(2)
    assert names_in(backward_graph(out)) == {"out"}
    assert bad.shape == (2,)


def test_a_module_that_holds_itself():
    module = nn.Linear(1, 1)
    module.__dict__["_modules"]["me"] = module
    out = module.weight.sum()
    assert "module.weight" in names_in(backward_graph(out))


def test_python_modules_are_not_searched():
    helper = types.ModuleType("helper")
    helper.inside = torch.ones((), requires_grad=True)
    found = names_in(backward_graph(helper.inside.exp()))
    assert found == set()


def test_at_most_the_limit_of_names(monkeypatch):
    monkeypatch.setattr(_names, "LIMIT", 50)
    many = {f"x{i}": torch.ones((), requires_grad=True) for i in range(200)}

    def call(names):
        return len(names_in(backward_graph(many["x0"] * many["x199"], names=names)))

    out = sum(many.values())
    assert len(names_in(backward_graph(out, names=many)) - {"out"}) == 50
    assert call(many) == 1


def test_ten_thousand_is_the_limit():
    assert _names.LIMIT == 10_000


def test_a_huge_list_in_scope_is_read_up_to_the_limit():
    numbers = [0] * 300_000
    x = torch.ones((), requires_grad=True)
    later = {"late": x}
    found = names_in(backward_graph(x.exp()))
    assert "x" in found
    assert len(numbers) + len(later) == 300_001


def test_scope_that_changes_meanwhile():
    """A namespace that grows while it is read (another thread) is read again."""

    class Growing(dict):
        turns = 0

        def items(self):
            Growing.turns += 1
            if Growing.turns < 3:
                raise RuntimeError("dictionary changed size during iteration")
            return super().items()

    assert _names._readable(Growing(a=1)) == [("a", 1)]


def test_a_name_of_a_tensor_outside_of_the_graph():
    x = torch.ones((), requires_grad=True)
    constant = torch.ones(())
    w = GradWidget(x * constant)
    with pytest.raises(UnknownNodeError, match=r"'constant' has no node"):
        w["constant"]


def test_a_name_dies_with_its_tensor():
    x = torch.ones((), requires_grad=True)
    h = x.exp()
    w = GradWidget(h.sin())
    del h
    assert w["h"].op == "ExpBackward0"
    assert w["h"].value is not None


def test_locals_already_asked_for_stay_as_they_are():
    x = torch.ones((), requires_grad=True)
    space = locals()
    backward_graph(x.exp())
    assert space["x"] is x


def test_the_newest_names_are_found_among_very_many():
    space = {f"v{i}": i for i in range(12_000)} | {f"t{i}": torch.ones(()) for i in range(40)}
    exec(
        "import gradwidget as gw\nimport torch\nx = torch.ones((), requires_grad=True)\nfound = gw.references()", space
    )
    assert {"x", "t0", "t39"} <= set(space["found"].names)


def test_beyond_the_limit_locals_and_the_newest_stay_and_the_rest_is_told(monkeypatch):
    monkeypatch.setattr(_names, "LIMIT", 50)
    space = {f"t{i}": torch.ones(()) for i in range(80)}
    code = "import gradwidget as gw\ndef f():\n    x = t0 + 1\n    return gw.references()\nfound = f()"
    exec(code, space)
    found = space["found"]
    assert {"x", "t79"} <= set(found.names)
    assert len(found) == 50
    assert found.left_out == 31
    assert "31 more names" in found.to_text()
