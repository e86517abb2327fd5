"""Random programs with random hooks of the user's: nothing that they see or leave behind is changed by a widget."""

from __future__ import annotations

import gc
import weakref

import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from property.hooked import Hooked, hooks
from property.programs import programs, run
from property.test_random_programs import EVERYTHING
from unit.judge import same, torch_walk
from unit.looking import look

from gradwidget import GradWidget

MANY = {
    "before": [
        ("tensor", "scale", 0),
        ("tensor", "remove itself", 3),
        ("retain_grad", "", 3),
        ("pre-hook", "scale", 2),
        ("tensor", "register another", 1),
        ("post-accumulate", "double", 0),
    ],
    "after": [
        ("tensor", "in place", 0),
        ("pre-hook", "log", 2),
        ("node hook", "scale", 4),
        ("tensor", "raise once", 6),
        ("tensor", "clone", 1),
    ],
}
keeps = st.sampled_from(["auto", "all", "summary"])


def outcome(program, specified, *, watched, keep="auto", close_early=False):
    """Facts after three passes, the last one after the widget was closed."""
    hooked = Hooked(program)
    assume(hooked.output is not None)
    hooked.hold(torch_walk(hooked.output)[0])
    torch.manual_seed(7)
    hooked.register(specified["before"])
    w = GradWidget(hooked.output, keep=keep) if watched else None
    hooked.register(specified["after"])
    states = []
    hooked.backward(retain_graph=True)
    if w is not None:
        if close_early:
            w.close()
        else:
            look(w)
    states.append((hooked.facts(), hooked.dictionaries() if w is None or close_early else None))
    hooked.backward(retain_graph=True)
    if w is not None:
        look(w)
        w.close()
    states.append((hooked.facts(), hooked.dictionaries()))
    hooked.backward()
    states.append((hooked.facts(), hooked.dictionaries()))
    return states


@given(programs, hooks, keeps, st.booleans())
@example(EVERYTHING, MANY, "auto", False)
@example(EVERYTHING, MANY, "summary", True)
@settings(max_examples=60)
def test_hooks_see_and_leave_the_same(program, specified, keep, close_early):
    plain = outcome(program, specified, watched=False)
    watched = outcome(program, specified, watched=True, keep=keep, close_early=close_early)
    for (facts, dictionaries), (found, those) in zip(plain, watched, strict=True):
        for what in facts:
            assert found[what] == facts[what], what
        if those is not None:
            assert those == dictionaries


@given(programs, hooks)
@example(EVERYTHING, MANY)
@settings(max_examples=50)
def test_what_each_node_hands_on_is_what_a_hook_sees(program, specified):
    hooked = Hooked(program)
    assume(hooked.output is not None)
    nodes = torch_walk(hooked.output)[0]
    hooked.hold(nodes)
    hooked.register(
        [s for s in [*specified["before"], *specified["after"]] if s[0] == "tensor" and s[1] != "raise once"]
    )
    truth = {}
    for key, node in enumerate(nodes):
        if not hasattr(node, "variable"):
            node.register_hook(
                lambda given, _, k=key: truth.update({k: [None if g is None else g.clone() for g in given]})
            )
    with GradWidget(hooked.output) as w:
        hooked.output.backward()
        one = w.passes[0]
        for key, given_on in truth.items():
            handed = one.handed_on(one.steps[key])
            for slot, (following, _) in enumerate(nodes[key].next_functions):
                if following is not None:
                    assert same(handed[slot] if slot < len(handed) else None, given_on[slot]), (key, slot)


@given(programs)
@example(EVERYTHING)
@settings(max_examples=40)
def test_the_order_is_that_of_the_engine(program):
    _, _, output = run(program)
    assume(output is not None)
    nodes = torch_walk(output)[0]
    truth = []
    nodes[0].register_prehook(lambda _: truth.extend(torch._C._current_graph_task_execution_order()))
    with torch.autograd.set_multithreading_enabled(False), GradWidget(output) as w:
        output.backward()
    number = {node: key for key, node in enumerate(nodes)}
    assert w.passes[0].order == [number[node] for node in truth]


@given(programs, st.lists(st.integers(0, 99), min_size=1, max_size=3))
@example(EVERYTHING, [0, 5, 9])
@settings(max_examples=50)
def test_returned_gradients_are_those_that_the_user_got(program, picks):
    leaves, pool, output = run(program)
    assume(output is not None)
    nodes = torch_walk(output)[0]
    index = {node: key for key, node in enumerate(nodes)}
    tracked = [t for t in pool if t.requires_grad and t.grad_fn in index]
    tracked += [n.variable for n in nodes if hasattr(n, "variable")]
    wanted = list({id(t): t for t in (tracked[i % len(tracked)] for i in picks)}.values())
    wanted = [t for t in wanted if t is not output]
    assume(wanted)
    with GradWidget(output) as w:
        found = torch.autograd.grad(output, wanted, allow_unused=True)
        assert [p.state for p in w.passes] == ["complete"]
        for tensor, gradient in zip(wanted, found, strict=True):
            key = next(k for k, n in enumerate(nodes) if getattr(n, "variable", None) is tensor or n is tensor.grad_fn)
            arrived = w.passes[0].at(key)
            shown = arrived[tensor.output_nr] if tensor.output_nr < len(arrived) else None
            assert same(shown, gradient)
    assert all(leaf.grad is None for leaf in leaves)


@given(programs, hooks, keeps)
@example(EVERYTHING, MANY, "auto")
@settings(max_examples=15)
def test_nothing_is_alive_after_close(program, specified, keep):
    def alive(watched):
        hooked = Hooked(program)
        assume(hooked.output is not None)
        hooked.hold(torch_walk(hooked.output)[0])
        w = GradWidget(hooked.output, keep=keep) if watched else None
        hooked.register([s for s in specified["before"] if s[1] != "raise once"])
        hooked.backward()
        if w is not None:
            look(w)
            w.close()
            assert len(w.passes) == 1
        references = [weakref.ref(t) for t in hooked.pool]
        vars(hooked).clear()
        del hooked
        gc.collect()
        return [r() is not None for r in references]

    assert alive(watched=True) == alive(watched=False)
