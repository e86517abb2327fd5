"""The user's own hooks: which there are, what each did, and that ours are never among them."""

from __future__ import annotations

import functools
import math

import pytest
import torch
from torch import nn
from unit.judge import same
from unit.looking import detail, effects, leaf, look

from gradwidget import GradWidget, _told, _wire
from gradwidget._capture import FOLLOWED
from gradwidget._userhooks import change_between, of_node, of_tensor


def program(*hooks):
    x = leaf(3)
    h = x.exp()
    for hook in hooks:
        h.register_hook(hook)
    return x, h, h.sin().sum()


def watched(*hooks):
    """The widget after a pass through `program`; its tensors are held by the widget."""
    x, h, out = program(*hooks)
    w = GradWidget(out)
    out.backward()
    w.held = (x, h, out)
    return w


def scale(g):
    return g * 100


def nothing(g):
    return None


def zero(g):
    return g * 0


def after(given, received):
    return None


class Callable:
    def __call__(self, g):
        return None

    def method(self, g):
        return None

    @classmethod
    def of_class(cls, g):
        return None

    @staticmethod
    def static(g):
        return None


# --- effects ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hook", "change"),
    [
        (nothing, "unchanged"),
        (lambda g: g, "unchanged"),
        (lambda g: g.clone(), "unchanged"),
        (scale, "×100"),
        (lambda g: g * -0.5, "×-0.5"),
        (lambda g: g.mul_(3), "×3"),
        (zero, "set to zero"),
        (torch.neg, "×-1"),
        (lambda g: g + 1, "changed"),
        (lambda g: g * torch.tensor([1.0, 2.0, 3.0]), "changed"),
        (lambda g: g * float("nan"), "changed"),
        (lambda g: g * float("inf"), "changed"),
        (lambda g: g * 1.000001, "changed"),
    ],
    ids=range(13),
)
def test_the_effect_of_one_hook(hook, change):
    w = watched(hook)
    steps = w["h"].hooks[0].effects
    assert [e.what for e in steps] == ["arrived", f"after {w['h'].user_hooks[0].name}", "left"]
    assert [e.change for e in steps] == ["", change, "unchanged"]
    assert same(steps[0].gradient, w["h"].value.cos())
    assert same(steps[1].gradient, steps[2].gradient)
    assert same(steps[2].gradient, w["h"].gradient)
    look(w)


def test_several_hooks_in_their_order():
    w = watched(nothing, scale, torch.neg, zero)
    assert effects(w, "h") == [
        ("arrived", ""),
        ("after nothing", "unchanged"),
        ("after scale", "×100"),
        ("after _VariableFunctionsClass.neg", "×-1"),
        ("after zero", "set to zero"),
        ("left", "unchanged"),
    ]
    assert [s["what"] for s in detail(w, "h")["hook_steps"]] == [what for what, _ in effects(w, "h")]


def test_a_hook_on_a_leaf():
    x = leaf(3)
    x.register_hook(scale)
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    assert effects(w, "x") == [("arrived", ""), ("after scale", "×100"), ("left", "unchanged")]
    assert same(w["x"].gradient, x.grad)


def test_a_hook_on_one_of_several_outputs():
    parts = leaf(6).split(2)
    parts[1].register_hook(scale)
    out = (parts[0] * parts[1]).sum()
    w = GradWidget(out)
    out.backward()
    assert effects(w, "parts[1]") == [("arrived", ""), ("after scale", "×100"), ("left", "unchanged")]
    assert effects(w, "parts[0]") == []


def test_after_fan_in_a_hook_sees_the_sum():
    x = leaf(3)
    h = x.exp()
    h.register_hook(scale)
    out = (h * 2 + h * 3).sum()
    w = GradWidget(out)
    out.backward()
    assert w["h"].hooks[0].effects[0].gradient.tolist() == [5.0] * 3
    assert w["h"].gradient.tolist() == [500.0] * 3


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.complex64], ids=str)
def test_a_factor_is_found_in_each_dtype(dtype):
    x = leaf(5, dtype=dtype)
    h = x.exp()
    h.register_hook(lambda g: g * 0.3)
    out = (h * h).abs().sum()
    w = GradWidget(out)
    out.backward()
    change = w["h"].hooks[0].effects[1].change
    assert change == ("changed" if dtype.is_complex else "×0.3")


def test_the_effect_on_a_sparse_gradient():
    table = nn.Embedding(5, 2, sparse=True)
    table.weight.register_hook(lambda g: g * 2)
    out = table(torch.tensor([1, 1])).sum()
    w = GradWidget(out)
    out.backward()
    assert [e.change for e in w["table.weight"].hooks[0].effects] == ["", "×2", "unchanged"]
    look(w)


def test_change_between_what_can_not_be_compared():
    t = torch.ones(3)
    assert change_between(None, t) == change_between(t, None) == ""
    assert change_between(t, torch.ones(2)) == "changed"
    assert change_between(t.to("meta"), t.to("meta")) == ""
    assert change_between(torch.ones(0), torch.ones(0)) == "unchanged"
    assert change_between(torch.zeros(2), torch.zeros(2)) == "unchanged"
    assert change_between(torch.zeros(2), torch.ones(2)) == "changed"
    nan = torch.tensor([math.nan, 1.0])
    assert change_between(nan, nan.clone()) == "unchanged"
    assert change_between(nan, torch.tensor([math.nan, 2.0])) == "changed"


def test_a_large_gradient_is_not_copied_for_each_hook(monkeypatch):
    from gradwidget import Summary, _capture

    monkeypatch.setattr(_capture, "SMALL", 0)
    w = watched(scale)
    steps = w["h"].hooks[0].effects
    assert isinstance(steps[0].gradient, Summary)
    assert steps[1].gradient.stats.norm == pytest.approx(100 * steps[0].gradient.stats.norm, rel=1e-6)
    assert steps[1].change == ""


# --- changes between and during passes ------------------------------------------------------------------------------


def test_names_are_those_of_the_pass():
    x, h, out = program()
    first = h.register_hook(scale)
    w = GradWidget(out)
    out.backward(retain_graph=True)
    first.remove()
    h.register_hook(zero)
    out.backward()
    assert effects(w, "h", 0)[1] == ("after scale", "×100")
    assert effects(w, "h", 1)[1] == ("after zero", "set to zero")
    assert [u.name for u in w["h"].user_hooks] == ["zero"]
    assert x.grad is not None


def test_without_hooks_there_are_no_effects():
    x, h, out = program()
    handle = h.register_hook(scale)
    w = GradWidget(out)
    handle.remove()
    out.backward()
    assert effects(w, "h") == []
    assert w["h"].user_hooks == ()
    assert x.grad is not None


def test_a_hook_that_removes_itself():
    x, h, out = program()
    log = []

    def once(g):
        log.append(g)
        handle.remove()
        return g * 2

    handle = h.register_hook(once)
    h.register_hook(scale)
    w = GradWidget(out)
    out.backward(retain_graph=True)
    out.backward()
    assert len(log) == 1
    assert effects(w, "h", 0)[1:3] == [
        (f"after {once.__qualname__.rpartition('<locals>.')[2]}", "×2"),
        ("after scale", "×100"),
    ]
    assert effects(w, "h", 1)[1:] == [("after scale", "×100"), ("left", "unchanged")]
    assert list(h._backward_hooks.values()) == [scale]
    assert x.grad is not None


def test_a_hook_that_registers_another():
    x, h, out = program()

    def more(g):
        if len(h._backward_hooks) < 6:
            h.register_hook(scale)

    h.register_hook(more)
    w = GradWidget(out)
    out.backward(retain_graph=True)
    out.backward()
    assert [e[0] for e in effects(w, "h", 0)] == ["arrived", "after more", "left"]
    assert effects(w, "h", 1)[:3] == [("arrived", ""), ("after more", "unchanged"), ("after scale", "×100")]
    assert [k for k in h._backward_hooks if not isinstance(k, int)] == []
    assert next(iter(h._backward_hooks.values())) is more
    assert x.grad is not None


def test_a_hook_registered_while_the_pass_runs_is_not_guessed_at():
    x = leaf(3)
    h = x.exp()
    k = h.sin()
    k.register_hook(lambda g: None if h._backward_hooks else h.register_hook(scale) and None)
    out = k.sum()
    w = GradWidget(out)
    out.backward()
    assert effects(w, "h") == []
    assert "not observed" in detail(w, "h")["hooks_note"]
    assert same(w["h"].gradient, 100 * w["k"].value.new_ones(3) * h.detach().cos())


def test_hooks_where_the_pass_begins_are_said_not_to_be_observed():
    x = leaf()
    out = x.exp()
    out.register_hook(scale)
    w = GradWidget(out)
    out.backward()
    assert effects(w, "out") == []
    assert "not observed: it began here" in detail(w, "out")["hooks_note"]
    assert w["out"].gradient.item() == 100.0


def test_a_graph_that_is_too_large_says_so():
    x = leaf(2)
    h = x.exp()
    h.register_hook(scale)
    out = h
    for _ in range(FOLLOWED):
        out = out + 1
    w = GradWidget(out.sum())
    w._inspection._roots[0].tensor.backward()
    assert "too large" in detail(w, "h")["hooks_note"]
    assert same(w["h"].gradient, torch.full((2,), 100.0))


# --- node hooks -----------------------------------------------------------------------------------------------------


def tenfold(gradients):
    return (gradients[0] * 10,)


def test_a_node_prehook_newer_than_the_widget():
    x, h, out = program()
    w = GradWidget(out)
    h.grad_fn.register_prehook(tenfold)
    out.backward()
    assert effects(w, "h") == [("before the node's pre-hooks", ""), ("left", "×10")]
    assert torch.allclose(x.grad, 10 * h.detach().cos() * h.detach())
    look(w)


def test_a_node_prehook_older_than_the_widget_is_said_not_to_be_observed():
    x, h, out = program()
    h.grad_fn.register_prehook(tenfold)
    w = GradWidget(out)
    out.backward()
    assert effects(w, "h") == []
    assert "not observed" in detail(w, "h")["hooks_note"]
    assert torch.allclose(w["h"].gradient, 10 * h.detach().cos())
    assert x.grad is not None


def test_of_several_node_prehooks_only_the_joint_effect():
    x, h, out = program(scale)
    w = GradWidget(out)
    h.grad_fn.register_prehook(tenfold)
    h.grad_fn.register_prehook(tenfold)
    out.backward()
    assert effects(w, "h") == [
        ("arrived", ""),
        ("after scale", "×100"),
        ("before the node's pre-hooks", "unchanged"),
        ("left", "×100"),
    ]
    assert "joint effect" in detail(w, "h")["hooks_note"]
    assert x.grad is not None


def test_another_widget_is_no_hook_of_the_user():
    x, h, out = program()
    assert h.requires_grad
    first, second = GradWidget(out), GradWidget(out)
    out.backward()
    for w in (first, second):
        assert effects(w, "h") == []
        assert w["h"].user_hooks == ()
        assert detail(w, "h")["hooks_note"] == ""
    assert x.grad is not None


def test_effects_with_another_widget_on_the_graph():
    x, h, out = program(scale)
    first, second = GradWidget(out), GradWidget(out)
    out.backward()
    found = [effects(w, "h") for w in (first, second)]
    assert [("arrived", ""), ("after scale", "×100"), ("left", "unchanged")] in found
    assert len(h._backward_hooks) == 1
    assert x.grad is not None


# --- names and places -----------------------------------------------------------------------------------------------


def line(function):
    return f"test_userhooks.py:{function.__code__.co_firstlineno}"


def test_names_and_places():
    one = Callable()
    unnamed = lambda g: None
    hooks = {
        "nothing": (nothing, line(nothing)),
        "test_names_and_places": (unnamed, line(unnamed)),
        "Callable.method": (one.method, line(Callable.method)),
        "Callable": (one, ""),
        "Callable.of_class": (one.of_class, line(Callable.of_class.__func__)),
        "Callable.static": (one.static, line(Callable.static)),
        "list.append": ([].append, ""),
    }
    _, h, _ = program(*(hook for hook, _ in hooks.values()), functools.partial(functools.partial(scale)))
    found = of_tensor(h)
    assert [u.name for u in found] == [n if n != "test_names_and_places" else "<lambda>" for n in hooks] + ["scale"]
    assert [u.where for u in found] == [where for _, where in hooks.values()] + [line(scale)]
    assert {u.kind for u in found} == {"tensor hook"}
    assert repr(found[0]) == f"UserHook(tensor hook: nothing ({line(nothing)}))"
    assert repr(found[-2]) == "UserHook(tensor hook: list.append)"


def test_all_kinds_are_listed_in_running_order():
    x, h, out = program(nothing)
    h.retain_grad()
    w = GradWidget(out)
    h.grad_fn.register_prehook(tenfold)
    h.grad_fn.register_hook(after)
    h.register_hook(scale)
    x.register_post_accumulate_grad_hook(nothing)
    x.register_hook(scale)
    assert [(u.kind, u.name) for u in w["h"].user_hooks] == [
        ("tensor hook", "nothing"),
        ("tensor hook", "scale"),
        ("retain_grad", "retain_grad()"),
        ("node pre-hook", "tenfold"),
        ("node hook", "after"),
    ]
    assert [(u.kind, u.name) for u in w["x"].user_hooks] == [
        ("tensor hook", "scale"),
        ("post-accumulate hook", "nothing"),
    ]
    assert [k["kind"] for k in detail(w, "x")["hooks"]] == ["tensor hook", "post-accumulate hook"]


def test_post_accumulate_hooks_are_said_to_act_on_grad():
    x = leaf(2)
    x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", t.grad * 2))
    out = x.exp().sum()
    w = GradWidget(out)
    out.backward()
    assert "see there" in detail(w, "x")["hooks_note"]
    assert same(x.grad, 2 * w["x"].gradient)


def test_hooks_of_modules():
    def full(module, given, received):
        return None

    def before(module, received):
        return (received[0] * 100,)

    net = nn.Linear(2, 2)
    net.register_full_backward_hook(full)
    net.register_full_backward_pre_hook(before)
    out = net(leaf(3, 2)).sum()
    w = GradWidget(out)
    out.backward()
    panels = look(w)
    listed = [(panel["op"], h["kind"], h["name"]) for panel in panels for h in panel["hooks"]]
    assert listed == [
        ("BackwardHookFunctionBackward", "module hook", "before"),
        ("BackwardHookFunctionBackward", "module hook", "full"),
    ]
    assert w["net.bias"].gradient.tolist() == [300.0, 300.0]


@pytest.mark.parametrize("when", ["before", "during", "after", "closed"])
def test_ours_are_never_listed(when):
    x, h, out = program(scale)
    h.grad_fn.register_hook(after)
    seen = []
    w = GradWidget(out)
    nodes = w._inspection.nodes()

    def listed():
        return [u.name for t in (x, h, out) for u in of_tensor(t)] + [
            u.name for node in nodes for part in of_node(node) for u in part
        ]

    if when == "during":
        x.register_hook(lambda _: seen.append(listed()))
    if when != "before":
        out.backward()
    if when == "closed":
        w.close()
    found = seen[0] if when == "during" else listed()
    assert [name for name in found if "lambda" not in name] == ["scale", "after"]


# --- neutrality -----------------------------------------------------------------------------------------------------


def state_of(tensors):
    return [list((t._backward_hooks or {}).items()) for t in tensors]


@pytest.mark.parametrize(
    "end", ["pass", "failed and looked at", "failed and closed", "closed", "dropped", "failed and next"]
)
def test_dictionaries_of_hooks_are_as_they_were(end):
    import gc

    x, h, out = program(nothing, scale)
    x.register_hook(zero)
    other = x.cos().sum()
    tensors = (x, h, out)
    before, same_object = state_of(tensors), h._backward_hooks
    w = GradWidget(out, other)
    if "failed" in end:
        bad = h.grad_fn.register_prehook(lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            out.backward()
        bad.remove()
    else:
        out.backward()
    if "looked" in end:
        w.passes
    elif "next" in end:
        other.backward()
    elif "closed" in end:
        w.close()
    elif end == "dropped":
        w.close()
        del w
        gc.collect()
    assert state_of(tensors) == before
    assert h._backward_hooks is same_object


def test_a_failed_pass_alone_leaves_hooks_that_still_work():
    """Nothing tells us of a failure: our observers stay until the widget is looked at, or another pass begins."""
    x, h, out = program(nothing)
    w = GradWidget(out)
    bad = h.grad_fn.register_prehook(lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        out.backward()
    bad.remove()
    log = []
    h.register_hook(lambda g: log.append(1))
    (h * 2).sum().backward()
    assert log == [1]
    assert [k for k in h._backward_hooks if not isinstance(k, int)] == []
    assert [p.state for p in w.passes] == ["failed", "complete"]
    assert x.grad is not None


@pytest.mark.parametrize("length", [3, 1_500], ids=["followed", "large"])
def test_hooks_of_ours_are_never_listed(length):
    x = torch.rand(2, requires_grad=True)
    h = x
    for _ in range(length):
        h = h.sin()
    out = h.sum()
    w = GradWidget(out)
    out.backward(retain_graph=True)
    assert all(not w[key].user_hooks for key in list(w.graph)[:5])
    h.grad_fn.register_prehook(lambda gradients: None)
    h.grad_fn.register_hook(lambda *_: None)
    out.backward()
    assert [hook.kind for hook in w["h"].user_hooks] == ["node pre-hook", "node hook"]


def test_nodes_whose_gradient_a_hook_has_changed():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    scaled, zeroed, looked, edited = x * 2, y * 3, x * 4, y * 5
    scaled.register_hook(lambda g: g * 50)
    scaled.register_hook(lambda g: g * 2)
    zeroed.register_hook(torch.zeros_like)
    looked.register_hook(lambda g: None)
    out = (scaled + zeroed + looked + edited).sum()
    w = GradWidget(out)
    edited.grad_fn.register_prehook(lambda gradients: (gradients[0] * 7,))
    out.backward()
    names = {w[name].key: name for name in ("scaled", "zeroed", "looked", "edited")}
    found = {names[key]: change for key, change in _told.hooked(w.passes[0]).items()}
    assert found == {"scaled": "×100", "zeroed": "set to zero", "edited": "×7"}
    told = _wire.pass_payload(w._inspection, w.passes[0])
    assert dict(zip(told["hooked_key"], told["hooked_change"], strict=True)) == _told.hooked(w.passes[0])
    assert x.grad.tolist() == [204.0, 204.0]
