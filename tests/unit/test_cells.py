"""Cells in a real IPython shell: what is recorded of them, and how values and gradients stood after each."""

from __future__ import annotations

import gc
import linecache
import weakref

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from gradwidget import CellRecord, _cells, _ipython, _record

BEGIN = "import torch, gradwidget as gw\n%load_ext gradwidget\na = torch.tensor(1.0, requires_grad=True)"


@pytest.fixture
def shell(monkeypatch):
    """A shell of IPython, not of this process: what it is asked for is told by `_ipython.shell` only."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    monkeypatch.setattr(_ipython, "shell", lambda: shell)

    def run(*cells, fails=False):
        for cell in cells:
            result = shell.run_cell(cell, store_history=True)
            assert fails or result.success, result.error_in_exec or result.error_before_exec
        return shell.user_ns

    shell.run = run
    linecache_before = dict(linecache.cache)
    yield shell
    shell.run("%unload_ext gradwidget")
    assert not _record._extension.shell
    InteractiveShell.clear_instance()
    linecache.cache.clear()
    linecache.cache.update(linecache_before)


def test_each_cell_is_recorded_until_the_extension_is_unloaded(shell):
    space = shell.run(BEGIN, "b = a * 2\nc = b + 1", "%unload_ext gradwidget", "d = c * 2", "w = gw.GradWidget(d)")
    w = space["w"]
    assert [w[key].source for key in range(3)] == ["", "cell 2, line 2", "cell 2, line 1"]
    assert torch._C._len_torch_function_stack() == 0
    assert not torch.nn.modules.module._global_forward_hooks


def test_what_is_left_of_the_loading_cell_is_recorded_too(shell):
    space = shell.run(BEGIN + "\nb = a * 2\nw = gw.GradWidget(b)")
    assert space["w"]["b"].source == "cell 1, line 4"


def test_a_cell_that_is_run_again_keeps_its_own_number(shell):
    again = "b = a * 2"
    space = shell.run(BEGIN, again, "first = b", again, "w = gw.GradWidget(first + b)")
    w = space["w"]
    assert w["first"].source == "cell 2, line 1"
    assert w["b"].source == "cell 4, line 1"


def test_a_function_of_another_cell(shell):
    space = shell.run(BEGIN, "def f(x):\n    return x * 2", "b = f(a)\nw = gw.GradWidget(b)")
    w = space["w"]
    assert w["b"].source == "cell 2, line 2"
    assert w._inspection.made.places[0].cell == 3


def test_a_cell_that_raises_stops_being_recorded(shell):
    shell.run(BEGIN)
    shell.run("b = a * 2\nraise ValueError", fails=True)
    assert not _record.recording()
    assert torch._C._len_torch_function_stack() == 0


def test_load_twice_unload_twice(shell):
    shell.run(BEGIN, "%reload_ext gradwidget", "%unload_ext gradwidget", "%unload_ext gradwidget")
    assert not _record.recording()


LESSON = [
    BEGIN + "\nb = torch.tensor([1.0, 2.0], requires_grad=True)\nopt = torch.optim.SGD([a, b], 0.5)",
    "e = (a * b).sum() * 3\nw = gw.GradWidget(e)",
    "e.backward()",
    "print('nothing')",
    "opt.step()",
    "opt.zero_grad()",
]


def test_cells_that_changed_something(shell):
    w = shell.run(*LESSON)["w"]
    assert [(r.cell, r.what) for r in w.cells] == [
        (2, ("built",)),
        (3, ("backward",)),
        (5, ("step",)),
        (6, ("zero_grad",)),
    ]
    built, backward, step, zeroed = w.cells
    a, b = w["a"].key, w["b"].key
    assert repr(built) == "CellRecord(cell 2: built)"
    assert isinstance(built, CellRecord)
    assert built.values[a] == 1
    assert built.gradients[a] is None
    assert backward.gradients[a] == 9
    assert torch.equal(backward.gradients[b], torch.tensor([3.0, 3.0]))
    assert (built.passes, backward.passes) == (0, 1)
    assert backward.values[a] == 1
    assert step.values[a] == -3.5
    assert step.gradients[a] == 9
    assert zeroed.gradients[a] is None
    assert zeroed.values[a] == -3.5


def test_a_loop_in_one_cell(shell):
    loop = "for _ in range(3):\n    e.backward(retain_graph=True)\nopt.step()"
    w = shell.run(*LESSON[:2], loop)["w"]
    assert w.cells[-1].what == ("backward ×3", "step")


def test_built_and_run_in_one_cell(shell):
    w = shell.run(LESSON[0], LESSON[1] + "\ne.backward()")["w"]
    assert [r.what for r in w.cells] == [("built", "backward")]


def test_zeroing_in_place_clipping_and_edits(shell):
    w = shell.run(
        *LESSON[:3],
        "torch.nn.utils.clip_grad_norm_([a, b], 1.0)",
        "b.grad[0] = 7.0",
        "a.data.fill_(9.0)",
        "opt.zero_grad(set_to_none=False)",
    )["w"]
    assert [r.what for r in w.cells[2:]] == [("clip",), ("gradients changed",), ("step",), ("zero_grad",)]
    assert w.cells[4].values[w["a"].key] == 9
    assert w.cells[5].gradients[w["a"].key] == 0


def test_bigger_tensors_leave_their_norm(shell):
    w = shell.run(
        BEGIN + "\nv = torch.ones(10, 10, requires_grad=True)", "e = v.sum()\nw = gw.GradWidget(e)", "e.backward()"
    )["w"]
    record = w.cells[-1]
    assert record.gradients[w["v"].key].stats.norm == 10
    assert record.values[w["v"].key].stats.norm == 10


def test_beyond_the_budget_nothing_is_read(shell, monkeypatch):
    monkeypatch.setattr(_cells, "READ", 100)
    w = shell.run(
        BEGIN + "\nv = torch.ones(10, 10, requires_grad=True)", "e = v.sum()\nw = gw.GradWidget(e)", "e.backward()"
    )["w"]
    assert [r.what for r in w.cells] == [("built",), ("backward",)]
    assert w.cells[-1].gradients[w["v"].key] is None


def test_the_next_iteration_begins_anew(shell):
    w = shell.run(*LESSON[:3], "e = (a * b).sum()\nw.refresh(e)", "e.backward()")["w"]
    assert [(r.cell, r.what) for r in w.cells] == [(4, ("built",)), (5, ("backward",))]


def test_a_widget_from_before_the_extension(shell):
    w = shell.run(
        "import torch, gradwidget as gw\na = torch.tensor(1.0, requires_grad=True)\ne = a * 2\nw = gw.GradWidget(e)",
        "%load_ext gradwidget",
        "e.backward()",
    )["w"]
    assert [(r.cell, r.what) for r in w.cells] == [(1, ("built",)), (3, ("backward",))]


def test_without_the_extension_there_are_no_cells(shell):
    w = shell.run(
        "import torch, gradwidget as gw\na = torch.tensor(1.0, requires_grad=True)\nw = gw.GradWidget(a * 2)"
    )["w"]
    assert w.cells == []


def test_the_page_is_told(shell):
    space = shell.run(*LESSON[:3])
    before = space["w"]._live
    shell.run("opt.step()")
    assert space["w"]._live != before


def test_nothing_is_kept_alive(shell):
    space = shell.run(BEGIN + "\nv = torch.ones(100, 100, requires_grad=True)", "e = v.sum()\nw = gw.GradWidget(e)")
    shell.run("e.backward()")
    alive = [weakref.ref(space["v"]), weakref.ref(space["v"].grad)]
    w = space["w"]
    w._inspection.let_go()
    shell.run("del v, e", "pass")
    gc.collect()
    assert [r() for r in alive] == [None, None]
    assert len(w.cells) == 2
    shell.run("w.close()")
    assert len(w.cells) == 2
