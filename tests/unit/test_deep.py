"""Deep graphs are walked, shown, dropped and freed, and the process survives: each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HEAD = """
import gc, gzip, json, sys, threading, warnings, weakref
warnings.simplefilter("error")
import torch
import gradwidget as gw
from gradwidget import _deep

def chain(length):
    x = torch.ones(8, requires_grad=True)
    h = x
    for _ in range(length):
        h = h.sin()
    return x, h

def saved(node):
    return weakref.ref(node._saved_self)

def freed(*references):
    gc.collect()
    assert [r() for r in references] == [None] * len(references), references
    assert _deep.drain() == 0
"""


def run(program):
    """Run in a fresh process; it must say that it came to its end."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program + "\nprint('survived')"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.split() == ["survived"]


def test_widget_on_a_chain_of_100_000():
    run("""
x, h = chain(100_000)
w = gw.GradWidget(h)
assert len(w) == 100_001
shown = json.loads(gzip.decompress(w._graph))
assert shown["nodes"] == 100_001 and len(shown["source"]) == 100_000
inner = saved(h.grad_fn.next_functions[0][0])
w.close()
del x, h, w
freed(inner)
""")


def test_widget_that_is_not_closed():
    run("""
x, h = chain(20_000)
w = gw.GradWidget(h, keep="summary")
inner = saved(h.grad_fn.next_functions[0][0])
del x, h
freed(inner)
assert len(w) == 20_001
""")


def test_backward_graph_of_a_chain_of_100_000():
    run("""
x, h = chain(100_000)
graph = gw.backward_graph(h)
assert graph.number_of_nodes() == 100_001
inner = saved(h.grad_fn.next_functions[0][0])
del x, h
freed(inner)
""")


def test_backward_through_a_watched_chain():
    run("""
x, h = chain(100_000)
w = gw.GradWidget(h)
h.sum().backward()
assert len(w.passes) == 1 and len(w.passes[0]) == 100_001
assert torch.equal(w["x"].gradient, x.grad)
w.close()
del x, h, w
gc.collect()
assert _deep.drain() == 0
""")


def test_the_same_graph_walked_twice():
    run("""
x, h = chain(30_000)
first = gw.backward_graph(h)
w = gw.GradWidget(h)
assert first.number_of_nodes() == len(w) == gw.backward_graph(h).number_of_nodes()
inner = saved(h.grad_fn)
w.close()
del x, h, w
freed(inner)
""")


def test_a_graph_that_grows_between_two_walks():
    run("""
x, h = chain(20_000)
gw.backward_graph(h)
for _ in range(20_000):
    h = h.cos()
gw.backward_graph(h)
inner = saved(h.grad_fn)
del x, h
freed(inner)
""")


def test_two_heads_on_one_trunk_dropped_one_after_the_other():
    run("""
x, trunk = chain(20_000)
one, two = trunk.exp(), trunk.cos()
gw.backward_graph(one)
gw.backward_graph(two)
inner = saved(trunk.grad_fn)
del x, trunk, one
gc.collect()
assert inner() is not None
two.sum().backward(retain_graph=True)
del two
freed(inner)
""")


def test_what_the_user_still_holds_stays_intact():
    run("""
x, h = chain(20_000)
middle = h.grad_fn
for _ in range(10_000):
    middle = middle.next_functions[0][0]
held = middle
gw.backward_graph(h)
inner = saved(held)
above = saved(h.grad_fn)
want, = torch.autograd.grad(h.sum(), x, retain_graph=True)
del h, middle
gc.collect()
_deep.drain()
assert above() is None and inner() is not None
depth = 0
node = held
while node.next_functions:
    node = node.next_functions[0][0]
    depth += 1
assert depth == 10_000
del node, held
freed(inner)
""")


def test_an_lstm_of_1_000_steps_in_a_thread_with_a_small_stack():
    run("""
import torch.nn as nn
references = []

def work():
    cell = nn.LSTMCell(2, 3)
    x = torch.ones(1, 2)
    h = c = torch.zeros(1, 3)
    for _ in range(1_000):
        h, c = cell(x, (h, c))
    loss = h.sum()
    node = loss.grad_fn.next_functions[0][0]
    references.append(weakref.ref(node._saved_other))
    del node
    w = gw.GradWidget(loss)
    assert len(w) > 10_000
    gw.backward_graph(loss)
    loss.backward()
    assert torch.equal(w[1].gradient, torch.ones(1, 3))
    w.close()
    del h, c, loss, w
    gc.collect()
    _deep.drain()
    references.append("done")

threading.stack_size(512 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert references[1] == "done"
freed(references[0])
""")


def test_the_end_of_the_process_with_a_deep_graph_alive():
    run("""
x, h = chain(100_000)
w = gw.GradWidget(h)
kept = gw.backward_graph(h)
""")


def test_deep_graphs_of_many_iterations_do_not_pile_up():
    run("""
before = None
for _ in range(5):
    x, h = chain(5_000)
    gw.backward_graph(h)
    if before is not None:
        gc.collect()
        assert before() is None
    before = saved(h.grad_fn)
del x, h
freed(before)
""")


@pytest.mark.parametrize("depth", [3, 900])
def test_shallow_graphs_are_not_held(depth):
    import torch

    from gradwidget import _deep, backward_graph

    h = torch.ones((), requires_grad=True)
    for _ in range(depth):
        h = h.sin()
    before = _deep.drain()
    backward_graph(h)
    assert _deep.drain() == before
