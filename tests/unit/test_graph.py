"""The networkx graph: plain data that keeps nothing alive."""

from __future__ import annotations

import gc
import json
import pickle
import weakref

import networkx as nx
import torch
from torch import nn

from gradwidget import GradWidget, backward_graph

PLAIN = (int, str, type(None), bool, float)


def program():
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.LSTM(2, 2))
    x = torch.rand(4, 3)
    out, _ = model(x)
    parts = out.unbind()
    return model, parts[0].sum() * parts[2].sum()


def flat(value):
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from flat(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from flat((key, item))
    else:
        yield value


def everything(graph):
    yield from flat(graph.graph)
    yield from flat(dict(graph.nodes(data=True)))
    for source, target, attributes in graph.edges(data=True):
        yield from flat((source, target, attributes))


def test_is_a_multidigraph_with_integer_keys():
    _, out = program()
    graph = backward_graph(out)
    assert type(graph) is nx.MultiDiGraph
    assert list(graph) == list(range(graph.number_of_nodes()))


def test_attributes_are_those_of_the_design():
    _, out = program()
    graph = backward_graph(out)
    promised = [
        "op",
        "label",
        "kind",
        "name",
        "names",
        "shapes",
        "dtypes",
        "devices",
        "saved",
        "module",
        "source",
        "sequence",
        "cut",
    ]
    for _, node in graph.nodes(data=True):
        assert set(promised) <= set(node)
    for _, _, edge in graph.edges(data=True):
        assert set(edge) == {"input", "output"}
    assert graph.graph["torch"] == torch.__version__


def test_holds_plain_data_only():
    _, out = program()
    assert {type(v) for v in everything(backward_graph(out))} <= set(PLAIN)


def test_survives_pickling():
    _, out = program()
    graph = backward_graph(out)
    again = pickle.loads(pickle.dumps(graph))
    assert nx.utils.graphs_equal(graph, again)
    assert graph.graph == again.graph


def test_survives_strict_node_link_json():
    _, out = program()
    graph = backward_graph(out)
    data = json.loads(json.dumps(nx.node_link_data(graph, edges="edges"), allow_nan=False))
    again = nx.node_link_graph(data, edges="edges")
    assert sorted(again.edges(data="input")) == sorted(graph.edges(data="input"))
    assert [again.nodes[k]["op"] for k in graph] == [graph.nodes[k]["op"] for k in graph]


def test_keeps_nothing_alive():
    x = torch.rand(3, requires_grad=True)
    h = x.exp()
    out = h.sum()
    alive = [weakref.ref(t) for t in (x, h, out, out.grad_fn.next_functions[0][0]._saved_result)]
    graph = backward_graph(out)
    del x, h, out
    gc.collect()
    assert [r() for r in alive] == [None] * 4
    assert graph.number_of_nodes() == 3


def test_is_the_same_from_the_widget():
    held = program()
    out = held[1]
    assert nx.utils.graphs_equal(GradWidget(out, watch=False).graph, backward_graph(out))


def test_edges_point_from_the_output_to_the_leaves():
    a = torch.ones((), requires_grad=True)
    out = a.exp()
    graph = backward_graph(out)
    assert [graph.nodes[k]["name"] for k in nx.topological_sort(graph)] == ["out", "a"]


def test_sets_no_hook():
    from unit.judge import hooks_on

    out = torch.ones((), requires_grad=True).exp()
    backward_graph(out)
    assert hooks_on(out.grad_fn) == 0


def test_the_widgets_graph_can_be_changed_without_harm():
    out = torch.ones((), requires_grad=True).exp()
    w = GradWidget(out)
    w.graph.clear()
    assert w.graph.number_of_nodes() == 2
