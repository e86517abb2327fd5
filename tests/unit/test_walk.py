"""Numbers, edges, slots and kinds of the walked graph, against a walk by plain torch."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple

import pytest
import torch
from torch import nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.utils.checkpoint import checkpoint
from unit.judge import assert_same_graph, torch_walk

from gradwidget import backward_graph


def leaf(*shape):
    return torch.rand(shape, requires_grad=True)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, y):
        ctx.factor = factor
        return x * factor + y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None, g


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + 3 * h


def abc():
    a, b, c = leaf(), leaf(), leaf()
    return a * b * c


def shared():
    x = leaf(3)
    h = x.exp()
    return (h * h + h.sum() * x).sum()


def with_constants():
    x = leaf(3)
    return torch.where(x > 0.5, x * torch.ones(3), torch.zeros(3)).sum()


def stacked():
    x, y = leaf(2), leaf(2)
    return torch.cat([x, torch.zeros(2), y, x]).prod()


def in_place_on_view():
    x = leaf(4)
    h = x * 1
    h[1:3].mul_(2)
    h.view(2, 2)[0].add_(1)
    return (h.view(2, 2).t() * 2).sum()


def split():
    a, b, c = leaf(6).split([1, 2, 3])
    return c.sum() + a.sum() * b.sum()


def unbind():
    rows = leaf(3, 2).unbind()
    return rows[2].sum() * rows[0].sum()


def topk():
    return leaf(5).topk(2).values.prod()


def lstm():
    net = nn.LSTM(2, 3, num_layers=2)
    seq, (h, c) = net(torch.ones(4, 1, 2))
    return seq.sum() + c.sum() * h.sum()


def layer_norm():
    return nn.LayerNorm(4)(leaf(2, 4)).pow(2).sum()


def svd():
    _, s, v = torch.linalg.svd(leaf(3, 3))
    return s.sum() + v.sum()


def custom():
    return Double.apply(leaf(2), 3.0, leaf(2)).sum()


def custom_pair():
    x, y = Pair.apply(leaf(2))
    return (y * y).sum() + x.sum()


def embedding():
    return nn.Embedding(5, 2)(torch.tensor([1, 1, 3])).sum()


def transformer():
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)(leaf(3, 1, 8)).sum()


def conv():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2))(leaf(1, 1, 6, 6)).sum()


PROGRAMS = [
    abc,
    shared,
    with_constants,
    stacked,
    in_place_on_view,
    split,
    unbind,
    topk,
    lstm,
    layer_norm,
    svd,
    custom,
    custom_pair,
    embedding,
    transformer,
    conv,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_numbers_edges_and_cuts_are_those_of_torch(program):
    out = program()
    assert_same_graph(backward_graph(out), out)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_shapes_and_dtypes_are_those_torch_says(program):
    out = program()
    graph = backward_graph(out)
    for key, node in enumerate(torch_walk(out)[0]):
        forms = node._input_metadata
        assert graph.nodes[key]["shapes"] == tuple(tuple(m.shape) for m in forms)
        assert graph.nodes[key]["dtypes"] == tuple(str(m.dtype).removeprefix("torch.") for m in forms)
        assert graph.nodes[key]["devices"] == tuple(str(m.device) for m in forms)


def test_a_square_has_two_parallel_edges():
    x = leaf()
    graph = backward_graph(x * x)
    assert [e["input"] for e in graph.get_edge_data(0, 1).values()] == [0, 1]


def test_edges_carry_the_output_number():
    graph = backward_graph(unbind())
    unbind_key = next(k for k, n in graph.nodes(data=True) if n["op"] == "UnbindBackward0")
    assert sorted(e["output"] for _, _, e in graph.in_edges(unbind_key, data=True)) == [0, 2]


def test_inputs_without_gradient_are_cut_slots():
    x = leaf(2)
    graph = backward_graph(torch.addcmul(torch.zeros(2), torch.ones(2), x))
    assert graph.nodes[0]["cut"] == (0, 1)
    assert [e["input"] for _, _, e in graph.edges(data=True)] == [2]


def test_an_integer_argument_of_a_function_has_no_slot_of_its_own():
    x, y = leaf(2), leaf(2)
    out = Double.apply(x, 3.0, y)
    assert_same_graph(backward_graph(out), out)


def test_several_outputs_share_the_trunk():
    x = leaf()
    trunk = x.exp()
    one, two = trunk * 2, trunk + 1
    graph = backward_graph(one, two)
    assert_same_graph(graph, one, two)
    assert graph.graph["outputs"] == [(0, 0, "one"), (1, 0, "two")]


def test_the_same_output_twice_is_one_node():
    out = leaf().exp()
    assert backward_graph(out, out).graph["outputs"] == [(0, 0, "out")]


def test_one_output_inside_of_another():
    x = leaf()
    h = x.exp()
    out = h.sin()
    graph = backward_graph(out, h)
    assert graph.graph["outputs"] == [(0, 0, "out"), (1, 0, "h")]
    assert graph.number_of_nodes() == 3


def test_gradient_edge_as_output():
    parts = leaf(4).split(2)
    graph = backward_graph(get_gradient_edge(parts[1]))
    assert [place[:2] for place in graph.graph["outputs"]] == [(0, 1)]
    assert graph.number_of_nodes() == 2


def test_edge_into_the_middle_as_output():
    x = leaf()
    out = x.exp().sin()
    graph = backward_graph(GradientEdge(out.grad_fn.next_functions[0][0], 0))
    assert [graph.nodes[k]["op"] for k in graph] == ["ExpBackward0", "AccumulateGrad"]


def test_node_as_output():
    out = leaf().exp()
    assert_same_graph(backward_graph(out.grad_fn), out)


def test_leaf_as_output():
    x = leaf(2)
    graph = backward_graph(x)
    assert graph.number_of_nodes() == 1
    assert graph.nodes[0]["kind"] == "leaf"
    assert graph.nodes[0]["name"] == "x"
    assert graph.nodes[0]["shapes"] == ((2,),)


@dataclasses.dataclass
class Result:
    loss: object
    extra: object = None


class ModelOutput(OrderedDict):
    """As Hugging Face's: a dataclass that is an ordered dictionary."""

    def __init__(self, **fields):
        super().__init__((k, v) for k, v in fields.items() if v is not None)
        self.__dict__.update(fields)


Named = namedtuple("Named", "first second")

CONTAINERS = {
    "list": lambda a, b: [a, b],
    "tuple in dict": lambda a, b: {"x": (a, "text"), "y": [b, None]},
    "deep": lambda a, b: [[[[a]], {"k": {"l": b}}]],
    "dataclass": lambda a, b: Result(a, [b]),
    "nested dataclass": lambda a, b: Result(Result(a), b),
    "model output": lambda a, b: ModelOutput(loss=a, logits=b, hidden=None),
    "namedtuple": Named,
    "mixed": lambda a, b: [get_gradient_edge(a), b.grad_fn],
}


@pytest.mark.parametrize("pack", CONTAINERS.values(), ids=CONTAINERS)
def test_nested_containers(pack):
    x = leaf()
    a, b = x.sin(), x.cos()
    assert_same_graph(backward_graph(pack(a, b)), a, b)


def test_a_container_that_holds_itself():
    out = leaf().exp()
    box = [out]
    box.append(box)
    assert_same_graph(backward_graph(box), out)


def test_outputs_without_a_graph_are_left_out():
    out = leaf().exp()
    assert_same_graph(backward_graph(torch.ones(2), out, torch.tensor(1)), out)


def kinds(out):
    return {node["op"]: node["kind"] for _, node in backward_graph(out).nodes(data=True)}


def test_kind_of_a_users_function():
    assert kinds(custom())["DoubleBackward"] == "function"


def test_kinds_of_operation_and_leaf():
    assert kinds(leaf().exp()) == {"ExpBackward0": "operation", "AccumulateGrad": "leaf"}


def test_kind_of_a_reentrant_checkpoint():
    out = checkpoint(torch.sin, leaf(2), use_reentrant=True).sum()
    assert kinds(out)["CheckpointFunctionBackward"] == "checkpoint"


def test_a_checkpoint_that_is_not_reentrant_keeps_its_operations():
    out = checkpoint(lambda x: x.sin().exp(), leaf(2), use_reentrant=False).sum()
    assert {"SinBackward0", "ExpBackward0"} <= set(kinds(out))
    assert_same_graph(backward_graph(out), out)


def test_kind_of_a_module_backward_hook():
    net = nn.Linear(2, 1)
    net.register_full_backward_hook(lambda *_: None)
    assert kinds(net(leaf(2)).sum())["BackwardHookFunctionBackward"] == "hook"


@pytest.mark.filterwarnings("ignore")  # torch's own, in torch.compile
def test_kind_of_a_compiled_region():
    compiled = torch.compile(lambda x: (x.sin() * x).sum(), backend="aot_eager")
    out = compiled(leaf(2))
    assert kinds(out) == {"CompiledFunctionBackward": "compiled", "AccumulateGrad": "leaf"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_functions_of_torch_jit_keep_their_own_names():
    @torch.jit.script
    def norm(x, eps: float):
        y = torch.sigmoid(x) * x
        return torch.layer_norm(y, [4]) + eps

    x = leaf(4)
    for _ in range(3):
        out = norm(x, 0.1)
    assert_same_graph(backward_graph(out), out)


def test_in_place_on_a_view_makes_copy_slices():
    graph = backward_graph(in_place_on_view())
    assert "CopySlices" in {n["op"] for _, n in graph.nodes(data=True)}
    assert "CopySlices" in {n["label"] for _, n in graph.nodes(data=True)}


def test_labels_are_forward_operations():
    a, b = leaf(2, 2), leaf(2, 2)
    graph = backward_graph((a @ b).sum())
    assert [n["label"] for _, n in graph.nodes(data=True)] == ["Sum", "Mm", "leaf", "leaf"]


def test_names_of_saved_variables_are_listed_without_reading_them():
    def refuse(_):
        raise AssertionError("unpacked")

    a, b = leaf(), leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, refuse):
        out = a * b
    graph = backward_graph(out)
    assert graph.nodes[0]["saved"] == ("other", "self")


def test_the_same_program_gives_the_same_numbers():
    def plain(graph):
        return [{k: v for k, v in n.items() if k != "sequence"} for _, n in graph.nodes(data=True)]

    first, second = backward_graph(shared()), backward_graph(shared())
    assert plain(first) == plain(second)
    assert sorted(first.edges(data="input")) == sorted(second.edges(data="input"))


def test_sequence_numbers_are_in_creation_order():
    x = leaf()
    graph = backward_graph(x.exp().sin().cos())
    numbers = [n["sequence"] for _, n in graph.nodes(data=True)]
    assert numbers[:3] == sorted(numbers[:3], reverse=True)
    assert numbers[3] == -1


def test_five_thousand_diamonds():
    x = leaf()
    h = x
    for _ in range(5_000):
        h = h * 0.5 + h * 0.5
    graph = backward_graph(h)
    assert graph.number_of_nodes() == 15_001
    assert graph.number_of_edges() == 20_000
    assert sum(len(n["cut"]) for _, n in graph.nodes(data=True)) == 10_000


def test_a_nested_tensor_has_no_shape():
    x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True)
    graph = backward_graph(x * 2)
    assert graph.nodes[0]["shapes"] == (None,)


test_a_nested_tensor_has_no_shape = pytest.mark.filterwarnings("ignore::UserWarning")(test_a_nested_tensor_has_no_shape)


def test_a_meta_tensor_is_walked():
    x = torch.ones(3, device="meta", requires_grad=True)
    out = (x * 2).sum()
    graph = backward_graph(out)
    assert_same_graph(graph, out)
    assert graph.nodes[0]["devices"] == ("meta",)


def test_walking_burns_no_sequence_number():
    out = shared()
    before = torch.autograd._get_sequence_nr()
    backward_graph(out)
    assert torch.autograd._get_sequence_nr() == before


def test_walking_leaves_the_collector_as_it_was():
    import gc

    gc.disable()
    try:
        backward_graph(abc())
        assert not gc.isenabled()
    finally:
        gc.enable()
    backward_graph(abc())
    assert gc.isenabled()
