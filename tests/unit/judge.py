"""Plain torch as the judge: a second walk, the true gradients, and what a neutral observer leaves alone."""

from __future__ import annotations

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge

LEAF = "AccumulateGrad"


def short(node):
    return node.name().rpartition("::")[2]


def torch_walk(*roots):
    """(nodes, edges, cuts): breadth-first, slot by slot. Edges are (source, target, slot, output number)."""
    nodes, edges, cuts = [], [], []
    for root in roots:
        node = get_gradient_edge(root).node if isinstance(root, torch.Tensor) else root
        if node not in nodes:
            nodes.append(node)
    number = {node: i for i, node in enumerate(nodes)}
    for i, node in enumerate(nodes):
        for slot, (following, output) in enumerate(node.next_functions):
            if following is None:
                cuts.append((i, slot))
                continue
            if following not in number:
                number[following] = len(nodes)
                nodes.append(following)
            edges.append((i, number[following], slot, output))
    return nodes, edges, cuts


def graph_edges(graph):
    """Edges of a networkx graph in the form of `torch_walk`, sorted."""
    return sorted((s, t, e["input"], e["output"]) for s, t, e in graph.edges(data=True))


def graph_cuts(graph):
    return sorted((key, slot) for key, node in graph.nodes(data=True) for slot in node["cut"])


def assert_same_graph(graph, *roots):
    """Numbers, operations, edges and cut slots are those of the torch graph."""
    nodes, edges, cuts = torch_walk(*roots)
    assert [graph.nodes[i]["op"] for i in range(len(nodes))] == [short(n) for n in nodes]
    assert graph.number_of_nodes() == len(nodes)
    assert graph_edges(graph) == sorted(edges)
    assert graph_cuts(graph) == sorted(cuts)


def same(a, b):
    """Bit for bit: dtype, shape, layout, values; NaN equals NaN, and 0 does not equal -0."""
    if a is None or b is None:
        return a is b
    if a.dtype != b.dtype or a.shape != b.shape or a.layout != b.layout:
        return False
    if a.layout is not torch.strided:
        a, b = a.to_dense(), b.to_dense()
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
    a, b = a.detach(), b.detach()
    if not a.is_floating_point():
        return torch.equal(a, b)
    signs = torch.signbit(a) == torch.signbit(b)
    return bool((((a == b) & signs) | (a.isnan() & b.isnan())).all())


def true_gradient(output, node, number, seed=None):
    """d output / d (output `number` of `node`), by autograd itself; the graph stays usable."""
    (found,) = torch.autograd.grad(output, GradientEdge(node, number), seed, retain_graph=True, allow_unused=True)
    return found


def true_gradients(output, seed=None):
    """(node number, output number) -> gradient, for the whole graph."""
    nodes, _, _ = torch_walk(output)
    return {
        (key, number): true_gradient(output, node, number, seed)
        for key, node in enumerate(nodes)
        for number in range(len(node._input_metadata))
    }


def hooks_on(node):
    """How many Python pre-hooks stand on a node."""
    handle = node.register_prehook(lambda *_: None)
    hooks = handle.hooks_dict_ref()
    handle.remove()
    return len(hooks)


def assert_captured(widget, truth):
    """The widget's last pass holds exactly these gradients."""
    one = widget.passes[-1]
    for (key, number), expected in truth.items():
        arrived = one.at(key)
        found = arrived[number] if number < len(arrived) else None
        assert same(found, expected), (key, number, found, expected)
