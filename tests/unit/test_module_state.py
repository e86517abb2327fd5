"""The table of a module's state, against what torch does to it."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import gc
import re
import threading
import time
import types
import weakref

import pytest
import torch
import torch.nn.utils.prune
from torch import nn

import gradwidget as gw


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(0.5))
        self.a = torch.tensor(0.1)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(2))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.shift = torch.zeros(2)
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("cache", torch.zeros(2), persistent=False)
        self.register_buffer("nothing", None)
        self.stats = [self.mean]
        self.scales = [nn.Parameter(torch.ones(3)), self.gain]
        self.table = {"k": (torch.ones(1),), 3: "text"}
        self.layers = [nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 1))]
        self.by_name = {"head": nn.Linear(2, 1)}
        self.learns = torch.ones(2, requires_grad=True)
        self.kept = torch.ones(2, requires_grad=True) * 2


# kind, moves, saved, trained
EXPECT = {
    "gain": ("parameter", True, True, True),
    "frozen": ("parameter", True, True, False),
    "shift": ("plain tensor", False, False, False),
    "mean": ("buffer", True, True, False),
    "cache": ("non-persistent buffer", True, False, False),
    "stats[0]": ("tensor in a plain list", False, False, False),
    "scales[0]": ("parameter in a plain list", False, False, False),
    "scales[1]": ("parameter in a plain list", True, False, True),
    "table['k'][0]": ("tensor in a plain dict", False, False, False),
    "layers[0]": ("layer in a plain list", False, False, False),
    "layers[0].weight": ("parameter of a layer in a plain list", False, False, False),
    "layers[1].0.bias": ("parameter of a layer in a plain list", False, False, False),
    "by_name['head']": ("layer in a plain dict", False, False, False),
    "learns": ("plain tensor", False, False, False),
    "kept": ("plain tensor", False, False, False),
}
REMEDIES = {
    "shift": "register_buffer('shift'",
    "stats[0]": "read mean instead",
    "scales[0]": "nn.ParameterList",
    "table['k'][0]": "register_buffer",
    "layers[0]": "nn.ModuleList",
    "by_name['head']": "nn.ModuleDict",
    "learns": "self.learns = nn.Parameter",
    "kept": "detach()",
    "gain": "",
    "mean": "",
}


def at(module, path):
    """The tensor of a path, as the table writes it."""
    return eval("module." + path.replace("[1].0.", "[1][0]."), {"module": module})


def test_the_layer_of_the_story():
    state = gw.module_state(Layer())
    assert [(r.name, r.kind, r.moves, r.saved, r.trained) for r in state.rows] == [
        ("w", "parameter", True, True, True),
        ("a", "plain tensor", False, False, False),
    ]
    assert "self.register_buffer('a', ...)" in state["a"].remedy
    assert state.tried

    layer = Layer()
    value = layer.a
    del layer.a
    layer.register_buffer("a", value)
    row = gw.module_state(layer)["a"]
    assert (row.kind, row.moves, row.saved, row.trained, row.remedy) == ("buffer", True, True, False, "")


@pytest.mark.parametrize("name", EXPECT)
def test_rows(name):
    row = gw.module_state(Norm())[name]
    assert (row.kind, row.moves, row.saved, row.trained) == EXPECT[name]
    if name in REMEDIES:
        assert (REMEDIES[name] in row.remedy) if REMEDIES[name] else row.remedy == ""


def test_the_table_agrees_with_torch():
    module = Norm()
    rows = [row for row in gw.module_state(module).rows if row.form]
    found = {id(p) for p in module.parameters()}
    saved = set(module.state_dict())
    for row in rows:
        tensor = at(module, row.name)
        assert row.shape == tuple(tensor.shape)
        assert row.dtype == str(tensor.dtype).removeprefix("torch.")
        assert row.in_parameters is (id(tensor) in found)
        assert row.trained is (row.in_parameters and tensor.requires_grad)
        assert row.saved is (row.name in saved)
    module.to(torch.float64)  # as to a GPU: parameters keep their objects
    assert {row.name for row in rows if row.moves} == {
        row.name for row in rows if at(module, row.name).dtype is torch.float64
    }


def test_nothing_happens_to_the_module():
    class Hooked(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.rand(2))
            self.drop = nn.Dropout()

    module = Hooked()
    calls = []
    module.register_forward_hook(lambda *_: calls.append("forward"))
    module._register_state_dict_hook(lambda *_: calls.append("state_dict"))
    module.register_state_dict_pre_hook(lambda *_: calls.append("pre"))
    before, w, version = torch.get_rng_state(), module.w, module.w._version
    state = gw.module_state(module)
    assert calls == []
    assert torch.equal(torch.get_rng_state(), before)
    assert module.w is w
    assert (w._version, w.device.type) == (version, "cpu")
    assert any("hooks were not run" in note for note in state.footnotes)
    module.state_dict()
    assert calls == ["pre", "state_dict"]


def test_parametrized_and_normed_weights_are_computed():
    module = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2))
    u = module.parametrizations.weight[0]._u.clone()
    state = gw.module_state(module)
    assert torch.equal(module.parametrizations.weight[0]._u, u)
    assert state["weight"].kind == "computed"
    assert "parametrizations.weight" in state["weight"].remedy
    assert state["parametrizations.weight.original"].trained
    assert state["parametrizations.weight.0._u"].kind == "buffer"


@pytest.mark.filterwarnings("ignore:.*weight_norm")
def test_weight_norm_of_old():
    assert gw.module_state(nn.utils.weight_norm(nn.Linear(2, 2)))["weight"].kind == "computed"


def test_pruned_weights_are_computed():
    module = torch.nn.utils.prune.l1_unstructured(nn.Linear(2, 2), "weight", 0.5)
    state = gw.module_state(module)
    assert state["weight"].kind == "computed"
    assert "computed by prune" in state["weight"].remedy
    assert {row.name for row in state.rows if row.saved} == set(module.state_dict())


def test_lazy_shared_and_torch_containers():
    shared = nn.Linear(2, 2)
    module = nn.ModuleDict(
        {
            "lazy": nn.LazyLinear(3),
            "one": shared,
            "two": shared,
            "list": nn.ModuleList([nn.Linear(1, 1)]),
            "dict": nn.ParameterDict({"x": torch.ones(2)}),
            "lstm": nn.LSTM(2, 2),
        }
    )
    module["tied"] = nn.Linear(2, 2, bias=False)
    module["tied"].weight = shared.weight
    state = gw.module_state(module)
    assert state.tried
    assert (state["lazy.weight"].kind, state["lazy.weight"].shape) == ("lazy parameter", None)
    assert state["two.weight"].same_as == state["tied.weight"].same_as == "one.weight"
    assert {row.name for row in state.rows} == set(module.state_dict())
    assert all(row.moves and row.saved and row.trained for row in state.rows)


def test_a_module_that_moves_its_plain_tensors_itself():
    class Mover(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.ones(2)

        def _apply(self, fn, recurse=True):
            self.a = fn(self.a)
            return super()._apply(fn, recurse)

    row = gw.module_state(Mover())["a"]
    assert (row.moves, row.saved) == (True, False)
    assert "to save it too" in row.remedy


def test_a_module_that_can_not_be_copied_says_so():
    module = Norm()
    module.lock = threading.Lock()
    with pytest.raises((TypeError, RuntimeError)):
        copy.deepcopy(module)
    state = gw.module_state(module)
    assert not state.tried
    assert "No copy could be moved (TypeError" in state.footnotes[0]
    assert "not tried out" in repr(state)
    assert "not tried out" in state._repr_html_()
    for name in ("gain", "mean", "cache", "shift", "layers[0].weight"):
        assert (state[name].kind, state[name].moves, state[name].saved, state[name].trained) == EXPECT[name]


def test_it_takes_no_memory_and_keeps_nothing_alive():
    class Big(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(()).expand(1 << 20, 1 << 20), requires_grad=False)

    module = Big()
    state = gw.module_state(module)
    assert state["w"].moves
    gone = weakref.ref(module.w)
    del module
    gc.collect()
    assert gone() is None
    assert len(state) == 1


def test_a_module_inside_itself():
    module = nn.Linear(1, 1)
    module.me = [module]
    module.plain = {"deep": [[[[[[torch.ones(1)]]]]]]}
    state = gw.module_state(module)
    assert state["weight"].trained


@pytest.mark.parametrize("value", [torch.ones(1), None, "text", nn.Linear])
def test_what_is_no_module_is_refused(value):
    with pytest.raises(gw.OutputTypeError, match="Give a"):
        gw.module_state(value)


def test_text_and_html():
    text = repr(gw.module_state(Layer()))
    assert text == repr(gw.module_state(Layer()))
    lines = text.splitlines()
    assert lines[0] == "Layer: 2 tensors, 1 of them left behind by .to(), 1 not in state_dict(), 1 trained"
    assert lines[2].split() == ["w", "parameter", "scalar", "f32", "yes", "yes", "yes"]
    html = gw.module_state(nn.ModuleDict({"<b>": nn.Linear(1, 1)}))._repr_html_()
    assert "<script" not in html
    assert "&lt;b&gt;.weight" in html
    assert html.count("<tr>") == 3


@dataclasses.dataclass
class Settings:
    scale: torch.Tensor
    label: str = "s"


class Slotted:
    __slots__ = ("kept", "unset")


class Hostile:
    def __init__(self):
        self.inner = torch.ones(2)

    def __getattribute__(self, name):
        if name.startswith("__") and name not in {"__dict__", "__iter__"}:
            return object.__getattribute__(self, name)
        raise RuntimeError("ran the user's code")


class Odd:
    @property
    def __dict__(self):
        raise RuntimeError("ran the user's code")


def test_tensors_in_objects_are_listed_and_do_not_move():
    m = nn.Linear(2, 2)
    m.settings = Settings(torch.ones(2))
    m.space = types.SimpleNamespace(a=torch.zeros(3), of=[torch.ones(1)])
    m.queue = collections.deque([torch.ones(1), 5])
    m.slotted = Slotted()
    m.slotted.kept = torch.ones(4)
    state = gw.module_state(m)
    assert state.tried
    found = {row.name: (row.kind, row.moves, row.saved) for row in state.rows[2:]}
    assert found == {
        "settings.scale": ("tensor in a plain Settings", False, False),
        "space.a": ("tensor in a plain SimpleNamespace", False, False),
        "space.of[0]": ("tensor in a plain SimpleNamespace", False, False),
        "queue[0]": ("tensor in a plain deque", False, False),
        "slotted.kept": ("tensor in a plain Slotted", False, False),
    }
    assert set(m.state_dict()) == {"weight", "bias"}
    m.to("meta")
    assert {m.settings.scale.device.type, m.space.a.device.type, m.queue[0].device.type} == {"cpu"}


def test_objects_are_looked_into_without_running_their_code():
    m = nn.Linear(2, 2)
    m.hostile, m.odd, m.kind, m.package = Hostile(), Odd(), Settings, types
    assert "hostile.inner" in {row.name for row in gw.module_state(m).rows}


class WithExtraState(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.ones(2), torch.ones(3)

    def get_extra_state(self):
        return {"a": self.a, "n": 3}

    def set_extra_state(self, state):
        self.a = state["a"]


@pytest.mark.parametrize("nested", [False, True])
def test_what_extra_state_holds_is_saved(nested):
    m = nn.Sequential(WithExtraState()) if nested else WithExtraState()
    state = gw.module_state(m)
    assert {row.name[-1]: row.saved for row in state.rows} == {"a": True, "b": False}
    assert "get_extra_state()" in state.to_text()


class Holder:
    def __init__(self):
        self.layer = nn.Linear(2, 3)
        self.deep = {"x": [nn.Linear(1, 1, bias=False)]}


@dataclasses.dataclass(slots=True)
class Record:
    layer: nn.Module
    label: str = ""


Pair = collections.namedtuple("Pair", "layer label")


class Hiding(nn.Module):
    def __init__(self):
        super().__init__()
        self.open = nn.Linear(1, 2)
        self.holder = Holder()
        self.record = Record(nn.Linear(1, 3))
        self.space = types.SimpleNamespace(layer=nn.Linear(1, 4))
        self.pair = Pair(nn.Linear(1, 5), "p")
        self.nested = [[nn.Linear(1, 6)], [nn.Linear(1, 7)]]
        self.numbered = {3: nn.Linear(1, 8), (1, 2): nn.Linear(1, 9)}
        self.bound = nn.Linear(1, 10).forward
        self.partly = functools.partial(nn.Linear(1, 11))
        self.weighted = functools.partial(nn.functional.linear, weight=torch.ones(2, 2, requires_grad=True))
        self.users = collections.UserList([nn.Linear(1, 12)])
        object.__setattr__(self, "by_the_way", nn.Linear(1, 13))
        enclosed = nn.Linear(1, 14)
        self.function = lambda x: enclosed(x) + 1
        # No finds: registered things under further names.
        self.again = types.SimpleNamespace(layer=self.open, weight=self.open.weight, root=[self])
        self.listed = [self.open, self]
        self.closed_over = lambda x: self.open(x) + 1
        self.optimizer = torch.optim.SGD(self.open.parameters(), 0.1)


HIDDEN = {
    "holder.layer": "layer in a plain Holder",
    "holder.deep['x'][0]": "layer in a plain Holder",
    "record.layer": "layer in a plain Record",
    "space.layer": "layer in a plain SimpleNamespace",
    "pair[0]": "layer in a plain tuple",
    "nested[0][0]": "layer in a plain list",
    "nested[1][0]": "layer in a plain list",
    "numbered[3]": "layer in a plain dict",
    "numbered[(1, 2)]": "layer in a plain dict",
    "bound.__self__": "layer in a plain method",
    "partly.func": "layer in a plain partial",
    "users.data[0]": "layer in a plain UserList",
    "by_the_way": "layer in an unregistered attribute",
    "function.enclosed": "layer in a plain function",
}


def reach(module, path):
    cells = module.function.__closure__
    enclosed = types.SimpleNamespace(enclosed=cells[0].cell_contents)
    return eval(f"module.{path}", {"module": module}) if "function" not in path else eval(path, {"function": enclosed})


CONTAINERS = {"pair[0]", "nested[0][0]", "nested[1][0]", "numbered[3]", "numbered[(1, 2)]"}


def test_hidden_layers_are_listed_and_neither_move_nor_learn_nor_are_saved():
    module = Hiding()
    state = gw.module_state(module)
    assert state.tried
    rows = {row.name: row for row in state.rows}
    assert {name: row.kind for name, row in rows.items() if row.kind.startswith("layer")} == HIDDEN
    assert rows["weighted.keywords['weight']"].kind == "tensor in a plain partial"
    inner = [row for row in state.rows if " of a layer in " in row.kind]
    assert {row.name for row in inner} == {
        f"{name}.{key}" for name in HIDDEN for key, _ in reach(module, name).named_parameters()
    }
    parameters, saved = {id(p) for p in module.parameters()}, module.state_dict(keep_vars=True)
    module.to(torch.float64)
    for row in [*inner, rows["open.weight"], rows["weighted.keywords['weight']"]]:
        tensor = reach(module, row.name)
        assert row.moves is (tensor.dtype is torch.float64), row.name
        assert row.trained is (id(tensor) in parameters)
        assert row.saved is any(tensor is value for value in saved.values())


@pytest.mark.parametrize("name", [name for name in HIDDEN if name not in CONTAINERS])
def test_the_remedy_registers_a_hidden_layer(name):
    module = Hiding()
    remedy = gw.module_state(module)[name].remedy
    line = re.match(r"self\.(add_module\(.*?\)(?=[:,])|\w+ = \.\.\.)", remedy)[0]
    line = line.replace("...", "self.by_the_way")
    exec(line, {"self": module, "enclosed": reach(module, "function.enclosed")})
    layer = reach(module, name)
    assert any(layer is one for one in module.modules())
    assert name not in {row.name for row in gw.module_state(module).rows}


def test_remedies_for_containers_of_layers():
    state = gw.module_state(Hiding())
    assert "nn.ModuleList(...):" in state["pair[0]"].remedy
    assert "for each one inside" in state["nested[0][0]"].remedy
    assert "with strings as keys" in state["numbered[3]"].remedy


class Stamped(nn.Module):
    scale = torch.ones(3)
    layer = nn.Linear(1, 2)
    many = (torch.ones(1),)
    weight = None

    def __init__(self):
        super().__init__()
        self.own = nn.Linear(1, 1)


def test_what_a_class_holds_is_told():
    module = nn.Sequential(Stamped())
    state = gw.module_state(module)
    assert state.tried
    kinds = {row.name: row.kind for row in state.rows}
    assert kinds["0.scale"] == kinds["0.many[0]"] == "tensor in the class Stamped"
    assert kinds["0.layer"] == "layer in the class Stamped"
    assert kinds["0.layer.bias"] == "parameter of a layer in the class Stamped"
    assert "take it out of the class body" in state["0.scale"].remedy
    module.to(torch.float64)
    assert (Stamped.scale.dtype, module[0].layer.weight.dtype) == (torch.float32, torch.float32)
    assert not any(row.moves or row.saved or row.trained for row in state.rows if "own" not in row.name)
    with torch.device("meta"):
        state = gw.module_state(Hiding())
    assert not state["function.enclosed.weight"].moves


def test_what_is_registered_is_not_called_hidden():
    shared = nn.Linear(1, 1)
    module = nn.Sequential(shared)
    module.all = [shared]
    module.by_name = {"first": shared}
    assert [row.name for row in gw.module_state(module).rows] == ["0.weight", "0.bias"]


class Scripted(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
        self.register_buffer("b", torch.ones(1))
        self.register_buffer("n", torch.ones(1), persistent=False)

    def forward(self, x):
        return self.l(x) + self.b


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@pytest.mark.parametrize("how", ["script", "trace", "inside"])
def test_scripted_modules_are_read_from_their_registries(how):
    module = torch.jit.trace(Scripted(), torch.ones(1, 2)) if how == "trace" else torch.jit.script(Scripted())
    if how == "inside":
        module = nn.Sequential(module)
    state = gw.module_state(module)
    assert not state.tried
    assert "a scripted module keeps its tensors in C++" in state.footnotes[0]
    assert {row.name for row in state.rows if row.saved} == set(module.state_dict())
    assert {row.name for row in state.rows if row.trained} == {name for name, _ in module.named_parameters()}
    module.to("meta")
    held = dict([*module.named_parameters(), *module.named_buffers()])
    assert {row.name: row.moves for row in state.rows} == {name: one.is_meta for name, one in held.items()}


@pytest.mark.filterwarnings("ignore")
def test_entries_that_code_of_a_module_saves_can_not_be_told():
    module = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(2, 2)), {nn.Linear}, dtype=torch.qint8)
    state = gw.module_state(module)
    assert any("can't be told" in note and "0.scale" in note for note in state.footnotes)
    assert str(len(module.state_dict())) in state.footnotes[-1]
    assert state.headline == "no tensors that can be told"


def test_the_search_is_bounded():
    module = nn.Linear(1, 1)
    module.replay = [[0.5] * 1000 for _ in range(2000)]
    current = module
    for _ in range(100):
        current.next = [nn.Identity()]
        current = current.next[0]
    start = time.perf_counter()
    state = gw.module_state(module)
    assert time.perf_counter() - start < 20
    assert any("Not all was looked at" in note for note in state.footnotes)
    assert state["next[0]"].kind == "layer in a plain list"


def test_remedies_for_tensors_in_objects_and_functions():
    module = nn.Linear(1, 1)
    module.noise = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    module.settings = Settings(nn.Parameter(torch.ones(2)))
    shift = torch.ones(1)
    module.function = lambda x: x + shift
    state = gw.module_state(module)
    for row in state.rows[2:]:
        line = re.match(r"self\.register_\w+\([^)]*\)", row.remedy)[0]
        exec(line, {"self": module, "shift": shift})
    after = gw.module_state(module)
    for name in ("noise_loc", "noise_scale", "settings_scale", "shift"):
        assert (after[name].moves, after[name].saved) == (True, True)
    assert after["settings_scale"].trained
