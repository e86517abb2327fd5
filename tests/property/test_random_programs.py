"""Random programs: the graph, the values and every gradient are those of plain torch, and nothing else changes."""

from __future__ import annotations

import networkx as nx
import torch
from hypothesis import assume, example, given, settings
from property.programs import programs, run
from unit.judge import assert_captured, assert_same_graph, hooks_on, same, torch_walk, true_gradients

from gradwidget import GradWidget, backward_graph, from_json

EVERYTHING = {
    "leaves": 2,
    "steps": [
        ("one", "square", 0),
        ("two", "matmul", 0, 1),
        ("several", "split", 0),
        ("in place", "view add", 0, 1),
        ("cut", "no_grad", 2),
        ("function", "Lazy", 1, 3),
        ("several", "unbind", 0),
        ("two", "cat and narrow", 0, 4),
        ("one", "layer norm", 0),
        ("function", "Twice", 0, 2),
    ],
    "ends": [0, 3, 1],
}


def made(program):
    leaves, pool, output = run(program)
    assume(output is not None)
    return leaves, pool, output


@given(programs)
@example(EVERYTHING)
@settings(max_examples=150)
def test_the_graph_is_that_of_torch(program):
    _, _, output = made(program)
    assert_same_graph(backward_graph(output), output)


@given(programs)
@example(EVERYTHING)
@settings(max_examples=60)
def test_the_graph_of_several_outputs_is_that_of_torch(program):
    _, pool, output = made(program)
    outputs = [output, *(t for t in pool[-4:] if t.requires_grad)]
    assert_same_graph(backward_graph(outputs), *outputs)


@given(programs)
@example(EVERYTHING)
@settings(max_examples=40)
def test_what_is_stored_is_read_back(program):
    _, _, output = made(program)
    with GradWidget(output) as w:
        output.backward()
        snapshot = from_json(w.to_json())
        assert nx.utils.graphs_equal(snapshot.graph, w.graph)
        for ours, theirs in zip(snapshot.passes, w.passes, strict=True):
            assert list(ours.order) == theirs.order
            for key, row in theirs.captures.items():
                pairs = zip(ours.at(key), row, strict=True)
                assert all(mine is other is None or same(mine, other) for mine, other in pairs)
        for key in range(len(w)):
            assert str(snapshot[key].saved) == str(w[key].saved)


@given(programs)
@example(EVERYTHING)
@settings(max_examples=150)
def test_every_captured_gradient_is_that_of_torch(program):
    _, _, output = made(program)
    truth = true_gradients(output)
    with GradWidget(output) as w:
        output.backward()
        assert [p.state for p in w.passes] == ["complete"]
        assert_captured(w, truth)


@given(programs)
@example(EVERYTHING)
@settings(max_examples=60)
def test_a_probe_captures_the_same_and_leaves_grad_alone(program):
    leaves, _, output = made(program)
    truth = true_gradients(output)
    with GradWidget(output) as w:
        w.probe()
        assert_captured(w, truth)
    assert all(leaf.grad is None for leaf in leaves)
    output.backward()


@given(programs)
@example(EVERYTHING)
@settings(max_examples=100)
def test_known_values_are_those_of_the_forward_pass(program):
    _, pool, output = made(program)
    index = {node: key for key, node in enumerate(torch_walk(output)[0])}
    with GradWidget(output, names={f"t{i}": t for i, t in enumerate(pool)}) as w:
        before = w.graph
        for i, tensor in enumerate(pool):
            if not tensor.requires_grad or tensor.grad_fn not in index:
                continue
            view = w[f"t{i}"]
            assert view.key == index[tensor.grad_fn]
            assert same(view.value, tensor.detach())
        output.backward()
        for i, tensor in enumerate(pool):
            if tensor.requires_grad and tensor.grad_fn in index:
                assert same(w[f"t{i}"].value, tensor.detach())
        assert before.number_of_nodes() == len(w)


@given(programs)
@example(EVERYTHING)
@settings(max_examples=100)
def test_values_found_without_names_are_those_of_the_forward_pass(program):
    """A value is right or unknown, never another tensor's."""
    _, pool, output = made(program)
    nodes = torch_walk(output)[0]
    truth = {(t.grad_fn, t.output_nr): t for t in pool if t.requires_grad and t.grad_fn is not None}

    def call(out):
        return GradWidget(out)

    with call(output) as w:
        for key, node in enumerate(nodes):
            for number in range(len(node._input_metadata)):
                value = w._inspection.value((key, number))
                if value is not None and (node, number) in truth:
                    assert same(value, truth[node, number].detach())


@given(programs)
@example(EVERYTHING)
@settings(max_examples=100)
def test_watching_changes_nothing(program):
    def outcome(watched):
        leaves, pool, output = made(program)
        w = GradWidget(output) if watched else None
        state = torch.get_rng_state()
        output.backward(retain_graph=True)
        output.backward()
        if w is not None:
            for key in range(len(w)):
                view = w[key]
                view.saved, view.value, view.gradient, view.why, repr(view)
            w._update_page()
            w.close()
        facts = [(t._version, t.requires_grad, t.is_leaf, t.retains_grad) for t in pool]
        return leaves, pool, facts, torch.equal(torch.get_rng_state(), state)

    plain, watched = outcome(False), outcome(True)
    assert plain[2:] == watched[2:]
    for a, b in zip(plain[0], watched[0], strict=True):
        assert same(a.grad, b.grad)
        assert a.grad is None or a.grad.stride() == b.grad.stride()
    assert all(same(a.detach(), b.detach()) for a, b in zip(plain[1], watched[1], strict=True))


@given(programs)
@example(EVERYTHING)
@settings(max_examples=60)
def test_no_hook_is_left(program):
    _, _, output = made(program)
    nodes = torch_walk(output)[0]
    with GradWidget(output):
        assert [hooks_on(n) for n in nodes] == [1] * len(nodes)
    assert [hooks_on(n) for n in nodes] == [0] * len(nodes)


@given(programs)
@example(EVERYTHING)
@settings(max_examples=60)
def test_saved_variables_are_those_that_torch_reads(program):
    _, _, output = made(program)
    nodes = torch_walk(output)[0]
    with GradWidget(output) as w:
        for key, node in enumerate(nodes):
            saved = w[key].saved
            for name, one in saved.items():
                truth = getattr(node, f"_saved_{name}", None)
                if isinstance(truth, torch.Tensor):
                    assert (one.state, same(one.value, truth.detach())) == ("value", True)
                elif one.state == "none":
                    assert truth is None
        before = [{n: s.value for n, s in w[key].saved.items() if s.state == "value"} for key in range(len(w))]
        output.backward()
        for key, values in enumerate(before):
            after = w[key].saved
            for name, value in values.items():
                assert same(after[name].value, value)
