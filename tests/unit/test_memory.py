"""What widgets keep alive, and for how long."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from gradwidget import GradWidget, GraphGoneError, _inspect


def program(size=3):
    """(tensors that the user holds, weak references to everything of the graph)."""
    x = torch.rand(size, requires_grad=True)
    h = x.exp()
    out = h.sum()
    inner = h.grad_fn._saved_result
    return {"x": x, "h": h, "out": out}, [weakref.ref(t) for t in (x, h, out, inner)]


def alive(references):
    gc.collect()
    return [r() is not None for r in references]


def shown(**options):
    """A widget on a program whose own names are gone."""
    held, references = program(options.pop("size", 3))
    return GradWidget(held["out"], **options), references


def test_a_temporary_output_is_held():
    w = GradWidget(torch.ones(2, requires_grad=True).exp().sum())
    gc.collect()
    assert w.probe().state == "complete"


def test_after_close_nothing_is_alive():
    w, references = shown()
    assert alive(references)[0]
    w.close()
    assert alive(references) == [False] * 4
    assert len(w) == 3


@pytest.mark.parametrize("keep", ["auto", "all", "summary"])
def test_after_close_and_a_pass_nothing_is_alive(keep):
    held, references = program()
    w = GradWidget(held["out"], keep=keep)
    held["out"].backward()
    references.append(weakref.ref(held["x"].grad))
    del held
    w.close()
    assert alive(references) == [False] * 5
    assert len(w.passes) == 1


def test_after_with_nothing_is_alive():
    held, references = program()
    with GradWidget(held["out"]) as w:
        held["out"].backward()
    del held
    assert alive(references) == [False] * 4
    assert w[0].gradient.item() == 1.0


def test_summary_holds_nothing():
    w, references = shown(keep="summary")
    assert alive(references) == [False] * 4
    assert w[0].kind == "operation"


def test_a_big_graph_is_not_held(monkeypatch):
    monkeypatch.setattr(_inspect, "HOLD", 1_000)
    w, references = shown(size=1_000)
    assert alive(references) == [False] * 4
    with pytest.raises(GraphGoneError, match=r"gone.*forward pass again"):
        w.probe()


def test_a_big_graph_is_read_while_the_user_holds_it(monkeypatch):
    monkeypatch.setattr(_inspect, "HOLD", 1_000)
    held, _ = program(1_000)
    w = GradWidget(held["out"], names=held)
    assert w["h"].saved["result"].state == "value"
    assert w.probe().state == "complete"


def test_keep_all_holds_a_big_graph(monkeypatch):
    monkeypatch.setattr(_inspect, "HOLD", 1_000)
    w, references = shown(size=1_000, keep="all")
    assert alive(references)[0]
    assert w.probe().state == "complete"


def test_recreated_widgets_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(_inspect, "HOLD", 3 * 2 * 4_000)
    made = [shown(size=1_000) for _ in range(10)]
    held = [alive(references)[0] for _, references in made]
    assert held[-1]
    assert held == sorted(held)
    assert 1 <= sum(held) <= 3


def test_the_newest_widget_holds_its_graph_even_alone_over_the_budget(monkeypatch):
    monkeypatch.setattr(_inspect, "HOLD", 9_000)
    first, one = shown(size=1_000)
    second, two = shown(size=1_000)
    assert (alive(one)[0], alive(two)[0]) == (False, True)
    assert first.graph.number_of_nodes() == second.graph.number_of_nodes()


def test_what_was_shown_stays_when_the_graph_was_let_go(monkeypatch):
    monkeypatch.setattr(_inspect, "HOLD", 100)
    held, _ = program(20)
    expected = held["h"].detach().clone()
    w = GradWidget(held["out"], names=held)
    held.clear()
    gc.collect()
    assert torch.equal(w["h"].value, expected)
    assert torch.equal(w["h"].saved["result"].value, expected)


def test_a_widget_that_was_closed_frees_its_share_of_the_budget(monkeypatch):
    monkeypatch.setattr(_inspect, "HOLD", 2 * 9_000)
    first, one = shown(size=1_000)
    second, _ = shown(size=1_000)
    second.close()
    third, three = shown(size=1_000)
    assert (alive(one)[0], alive(three)[0]) == (True, True)
    assert len(first) == len(third)


def test_refresh_lets_go_of_the_graph_before():
    held, references = program()
    w = GradWidget(held["out"])
    held.clear()
    again, _ = program()
    w.refresh(again["out"])
    assert alive(references) == [False] * 4


def test_a_training_loop_with_one_widget_does_not_grow():
    weight = torch.ones(1_000, requires_grad=True)
    references = []
    w = None
    for _ in range(6):
        loss = (weight * torch.rand(1_000)).exp().sum()
        references.append(weakref.ref(loss))
        if w is None:
            w = GradWidget(loss)
        else:
            w.refresh(loss)
        loss.backward()
    del loss
    assert sum(alive(references)) <= 1


def test_the_widget_itself_goes_once_closed():
    w, _ = shown()
    reference = weakref.ref(w)
    w.close()
    del w
    gc.collect()
    assert reference() is None


def test_dropping_a_recorder_removes_its_hooks():
    from unit.judge import hooks_on

    held, _ = program()
    w = GradWidget(held["out"])
    del w._inspection
    gc.collect()
    assert hooks_on(held["out"].grad_fn) == 0


def test_the_graph_can_be_freed_while_the_widget_lives():
    held, references = program()
    w = GradWidget(held["out"], keep="summary")
    held["out"].backward()
    held.clear()
    assert alive(references) == [False] * 4
    assert w[1].gradient.stats.norm == pytest.approx(3**0.5)


def test_a_view_of_a_node_keeps_no_tensor_alive():
    held, references = program()
    w = GradWidget(held["out"], keep="summary")
    view = w[1]
    held.clear()
    assert alive(references) == [False] * 4
    assert view.op == "ExpBackward0"


def test_caller_in_a_function_is_not_kept():
    """Reading a function's locals leaves a copy of them on its frame (before Python 3.13)."""
    x = torch.rand(3, requires_grad=True)
    out = x.exp().sum()
    reference = weakref.ref(x)
    w = GradWidget(out)
    w.close()
    del x, out
    assert alive([reference]) == [False]
