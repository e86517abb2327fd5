"""Packed saved variables, read on demand: the user's hook runs once, and only then."""

from __future__ import annotations

import pytest
import torch
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint
from unit.judge import same
from unit.looking import call, detail, leaf, look

from gradwidget import GradWidget, GraphGoneError, UnknownNodeError


def counted(program, unpack=lambda t: t * 1):
    """(what the program made under hooks, calls of the unpack hook)."""
    calls = []

    def count(t):
        calls.append(1)
        return unpack(t)

    with saved_tensors_hooks(lambda t: t.clone(), count):
        return program(), calls


def exp():
    x = leaf(3)
    h = x.exp()
    return x, h, h.sum()


def test_looking_runs_no_hook():
    (_, h, out), calls = counted(exp)
    assert h.requires_grad
    w = GradWidget(out)
    look(w)
    assert calls == []
    assert w["h"].saved["result"].state == "packed"


def test_unpack_runs_the_hook_exactly_once():
    (_, h, out), calls = counted(exp)
    w = GradWidget(out)
    found = w["h"].unpack("result")
    assert calls == [1]
    assert (found.name, found.state, found.note) == ("result", "value", "Unpacked on request.")
    assert same(found.value, h.detach())


def test_what_was_unpacked_stays_on_view_without_running_it_again():
    (_, h, out), calls = counted(exp)
    w = GradWidget(out)
    w["h"].unpack("result")
    look(w)
    assert same(w["h"].saved["result"].value, h.detach())
    assert calls == [1]
    out.backward()
    assert len(calls) == 2  # backward's own
    assert w["h"].saved["result"].state == "freed"
    assert same(w["h"].saved["result"].value, h.detach())


def test_the_page_gets_the_value():
    (_, h, out), calls = counted(exp)
    w = GradWidget(out)
    assert [s["unpack"] for s in detail(w, "h")["saved"]] == [True]
    (found,) = call(w, "unpack", key=w["h"].key, name="result")["result"]["saved"]
    assert (found["state"], found["unpack"], calls) == ("value", False, [1])
    assert found["tensor"]["values"]["data"] == pytest.approx(h.tolist())


def test_an_error_of_the_users_hook_is_answered():
    (_, h, out), calls = counted(exp, lambda t: 1 / 0)
    assert h.requires_grad
    w = GradWidget(out)
    found = w["h"].unpack("result")
    assert calls == [1]
    assert found.state == "unknown"
    assert "ZeroDivisionError: division by zero" in found.note
    (sent,) = call(w, "unpack", key=w["h"].key, name="result")["result"]["saved"]
    assert "ZeroDivisionError" in sent["note"]


def test_a_hook_that_returns_nonsense_is_answered():
    (_, h, out), _ = counted(exp, lambda t: "nonsense")
    assert h.requires_grad
    w = GradWidget(out)
    assert w["h"].unpack("result").state == "unknown"


@pytest.mark.parametrize(
    ("params", "cause"),
    [
        ({"key": "h", "name": "no"}, "no variable 'no'"),
        ({"key": 99, "name": "result"}, "no node 99"),
        ({"key": "h"}, "could not be done"),
        ({}, "could not be done"),
    ],
    ids=["name", "node", "nameless", "empty"],
)
def test_wrong_requests_are_answered(params, cause):
    (_, h, out), calls = counted(exp)
    assert h.requires_grad
    w = GradWidget(out)
    assert cause in call(w, "unpack", **params)["error"]["cause"]
    assert calls == []


def test_wrong_names_from_python():
    (x, h, out), calls = counted(exp)
    w = GradWidget(out)
    with pytest.raises(UnknownNodeError, match=r"saves no variable 'resolt'.*result"):
        w["h"].unpack("resolt")
    with pytest.raises(UnknownNodeError, match="It saves nothing"):
        w["x"].unpack("self")
    w.close()
    with pytest.raises(GraphGoneError):
        w["h"].unpack("result")
    assert calls == []
    assert x.requires_grad
    assert h.requires_grad


def test_save_on_cpu():
    with save_on_cpu():
        x, h, out = exp()
    w = GradWidget(out)
    assert "save_on_cpu" in w["h"].saved["result"].note
    assert same(w["h"].unpack("result").value, h.detach())
    out.backward()
    assert same(x.grad, h.detach())


def test_a_checkpoint_runs_the_forward_pass_again_once():
    runs = []

    def block(t):
        runs.append(1)
        return t.sin() * t.exp()

    x = leaf(3)
    out = checkpoint(block, x, use_reentrant=False).sum()
    (expected,) = torch.autograd.grad(block(x).sum(), x)
    runs.clear()
    w = GradWidget(out)
    look(w)
    assert runs == []
    node = next(k for k in range(len(w)) if w[k].op == "SinBackward0")
    assert "checkpoint" in w[node].saved["self"].note
    state = torch.get_rng_state()
    assert same(w[node].unpack("self").value, x.detach())
    assert runs == [1]
    assert torch.equal(torch.get_rng_state(), state)
    out.backward()
    assert same(x.grad, expected)


def test_saved_tensors_of_a_function():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    x, y = leaf(2), leaf(2)
    out, calls = counted(lambda: Product.apply(x, y).sum())
    w = GradWidget(out)
    node = next(k for k in range(len(w)) if w[k].kind == "function")
    assert {s.state for s in w[node].saved.values()} == {"packed"}
    w[node].unpack("saved_tensors")
    assert len(calls) == 2  # one for each saved tensor
    saved = w[node].saved
    assert same(saved["saved_tensors[0]"].value, x.detach())
    assert same(saved["saved_tensors[1]"].value, y.detach())
    assert len(calls) == 2
    look(w)


def test_what_is_not_packed_is_read_all_the_same():
    _, h, out = exp()
    w = GradWidget(out)
    assert same(w["h"].unpack("result").value, h.detach())


def test_nothing_is_kept_alive_by_unpacking():
    import gc
    import weakref

    (x, h, out), _ = counted(exp)
    w = GradWidget(out)
    w["h"].unpack("result")
    references = [weakref.ref(t) for t in (x, h, out)]
    w.close()
    del x, h, out
    gc.collect()
    assert [r() for r in references] == [None] * 3
    assert len(w) == 3
