"""Saved variables: every state, read without running anybody's code, judged by what plain torch reads."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint
from unit.judge import same, torch_walk

from gradwidget import GradWidget


def find(w, op):
    return next(w[key] for key, node in w.graph.nodes(data=True) if node["op"] == op)


def states(view):
    return {name: saved.state for name, saved in view.saved.items()}


def test_value():
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    d = a * b
    saved = GradWidget(d)["d"].saved
    assert {n: (s.state, float(s)) for n, s in saved.items()} == {"self": ("value", 2.0), "other": ("value", 3.0)}
    assert (saved["self"].same_as, saved["other"].same_as) == ("a", "b")


def test_values_equal_what_torch_reads():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.LogSoftmax(-1))
    out = net(torch.rand(5, 3)).exp().var()
    w = GradWidget(out)
    compared = 0
    for key, node in enumerate(torch_walk(out)[0]):
        for name, saved in w[key].saved.items():
            truth = getattr(node, f"_saved_{name}", None)
            if isinstance(truth, torch.Tensor):
                assert saved.state == "value"
                assert same(saved.value, truth)
                compared += 1
    assert compared >= 7


def test_a_saved_value_is_a_copy():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    w = GradWidget(y)
    assert w["y"].saved["result"].value.data_ptr() != y.grad_fn._saved_result.data_ptr()


def test_a_saved_output_is_recognised():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    assert GradWidget(y.sum())["y"].saved["result"].same_as == "y"


def test_a_saved_transposed_weight_is_a_view_of_the_weight():
    weight = torch.ones(2, 3, requires_grad=True)
    x = torch.ones(1, 3, requires_grad=True)
    w = GradWidget((x @ weight.t()).sum())
    assert find(w, "MmBackward0").saved["mat2"].same_as == "view of weight"


def test_none():
    x = torch.ones(2, requires_grad=True)
    out = x * torch.ones(2)
    assert states(GradWidget(out)["out"]) == {"self": "none", "other": "value"}


def test_scalar():
    x = torch.ones(2, requires_grad=True)
    out = x**3
    saved = GradWidget(out)["out"].saved
    assert saved["exponent"].state == "scalar"
    assert saved["exponent"].value == 3


def test_negative_integers_are_signed():
    x = torch.ones(2, 3, requires_grad=True)
    out = x.sum(dim=-1)
    saved = GradWidget(out)["out"].saved
    assert saved["dim"].value == (-1,)
    assert GradWidget(x.softmax(-1))[0].saved["dim"].value == -1


def test_to_the_end():
    x = torch.ones(5, requires_grad=True)
    out = x[2:]
    saved = GradWidget(out)["out"].saved
    assert (saved["end"].value, saved["end"].note) == (2**63 - 1, "To the end.")
    assert saved["start"].value == 2


def test_bool_and_sizes():
    x = torch.ones(2, 3, requires_grad=True)
    saved = GradWidget(x.sum(0, keepdim=True))[0].saved
    assert saved["keepdim"].value is True
    assert saved["self_sym_sizes"].value == (2, 3)


def test_a_list_of_saved_tensors():
    x = torch.ones(3, 3, requires_grad=True)
    i, j = torch.tensor([0, 1]), torch.tensor([1, 2])
    out = x[i, j]
    saved = GradWidget(out)["out"].saved
    assert [saved[f"indices[{k}]"].value.tolist() for k in (0, 1)] == [[0, 1], [1, 2]]
    out.sum().backward()


def test_a_list_of_saved_tensors_after_backward():
    x = torch.ones(3, 3, requires_grad=True)
    out = x[torch.tensor([0, 1]), torch.tensor([1, 2])].sum()
    w = GradWidget(out)
    view = find(w, "IndexBackward0")
    before = [view.saved[f"indices[{k}]"].value for k in (0, 1)]
    out.backward()
    after = view.saved
    assert [after[f"indices[{k}]"].state for k in (0, 1)] == ["freed", "freed"]
    assert all(same(after[f"indices[{k}]"].value, before[k]) for k in (0, 1))


def test_operations_that_save_nothing_are_not_freed():
    x = torch.ones(2, requires_grad=True)
    out = (x + 1).neg()
    w = GradWidget(out)
    out.sum().backward()
    assert states(w["out"]) == {}
    assert set(states(find(w, "AddBackward0")).values()) <= {"scalar"}


def test_a_leaf_saves_nothing():
    x = torch.ones(2, requires_grad=True)
    assert dict(GradWidget(x.exp())["x"].saved) == {}


def test_freed_shows_what_torch_held_before():
    x = torch.rand(3, requires_grad=True)
    y = x.exp()
    out = (y * x).sum()
    w = GradWidget(out)
    truth = {
        (key, name): getattr(node, f"_saved_{name}").detach().clone()
        for key, node in enumerate(torch_walk(out)[0])
        for name in ("self", "other", "result")
        if isinstance(getattr(node, f"_saved_{name}", None), torch.Tensor)
    }
    out.backward()
    assert len(truth) == 3
    for (key, name), expected in truth.items():
        saved = w[key].saved[name]
        assert (saved.state, "as last seen" in saved.note) == ("freed", True)
        assert same(saved.value, expected)


def test_scalars_stay_after_backward():
    x = torch.ones(2, requires_grad=True)
    y = x**3
    w = GradWidget(y.sum())
    y.sum().backward()
    assert states(w["y"]) == {"self": "freed", "exponent": "scalar"}


def test_freed_before_the_widget_was_made():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    saved = GradWidget(y)["y"].saved["result"]
    assert (saved.state, saved.value) == ("freed", None)


def test_retain_graph_frees_nothing():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    w = GradWidget(y)
    y.sum().backward(retain_graph=True)
    assert states(w["y"]) == {"result": "value"}


def test_modified_names_both_versions():
    x = torch.ones(2, requires_grad=True)
    h = x * 1
    y = h.sin()
    h.add_(1)
    h.add_(1)
    saved = GradWidget(y)["y"].saved["self"]
    assert saved.state == "modified"
    assert "saved at version 0, now at version 2" in saved.note
    with pytest.raises(RuntimeError, match=r"is at version 2; expected version 0"):
        y.sum().backward()


def test_modified_after_the_widget_was_made_shows_what_was_seen():
    x = torch.ones(2, requires_grad=True)
    h = x * 1
    y = h.sin()
    w = GradWidget(y)
    h.add_(1)
    saved = w["y"].saved["self"]
    assert saved.state == "modified"
    assert saved.value.tolist() == [1.0, 1.0]
    assert "as last seen" in saved.note


class Counted:
    """A pair of saved-tensor hooks that counts its unpackings."""

    def __init__(self):
        self.unpacked = 0

    def pack(self, tensor):
        return tensor

    def unpack(self, tensor):
        self.unpacked += 1
        return tensor


def look_at_everything(w):
    w.graph
    for key in range(len(w)):
        view = w[key]
        view.saved, view.value, view.gradient, view.hooks, view.why, repr(view)
    w.to_text(), w.to_json(), w.to_dot(), w.trace(), w.passes
    w._update_page()


def test_packed_by_a_users_hook():
    counted = Counted()
    x = torch.ones(2, requires_grad=True)
    with saved_tensors_hooks(counted.pack, counted.unpack):
        y = x.exp().sin()
    w = GradWidget(y)
    look_at_everything(w)
    assert counted.unpacked == 0
    saved = w["y"].saved["self"]
    assert saved.state == "packed"
    assert "saved-tensor hook (Counted.unpack)" in saved.note
    y.sum().backward()
    after = counted.unpacked
    look_at_everything(w)
    assert counted.unpacked == after == 2


def test_packed_by_save_on_cpu():
    x = torch.ones(2, requires_grad=True)
    with save_on_cpu():
        y = x.exp()
    saved = GradWidget(y)["y"].saved["result"]
    assert (saved.state, "save_on_cpu" in saved.note) == ("packed", True)


def test_packed_by_checkpoint_runs_no_forward():
    runs = []

    def block(t):
        runs.append(1)
        return (t.sin() * t.exp()).sum()

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False)
    w = GradWidget(y)
    look_at_everything(w)
    assert len(runs) == 1
    saved = find(w, "MulBackward0").saved["self"]
    assert (saved.state, "checkpoint" in saved.note) == ("packed", True)
    y.backward()
    look_at_everything(w)
    assert len(runs) == 2


def test_a_list_of_saved_tensors_packed():
    counted = Counted()
    x = torch.ones(3, requires_grad=True)
    with saved_tensors_hooks(counted.pack, counted.unpack):
        y = x[torch.tensor([0, 1])]
    w = GradWidget(y)
    look_at_everything(w)
    assert set(states(w["y"]).values()) >= {"packed"}
    assert counted.unpacked == 0


class Keeper(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, extra):
        ctx.save_for_backward(x, None, x * 2)
        ctx.number = -3
        ctx.text = "mode"
        ctx.extra = extra() if callable(extra) else extra  # torch asks every argument for its class
        return x * 3

    @staticmethod
    def backward(ctx, g):
        ctx.saved_tensors
        return g * 3, None


def test_saved_tensors_of_a_function():
    x = torch.ones(2, requires_grad=True)
    out = Keeper.apply(x, None)
    saved = GradWidget(out)["out"].saved
    assert [saved[f"saved_tensors[{i}]"].state for i in range(3)] == ["value", "none", "value"]
    assert saved["saved_tensors[0]"].same_as == "x"
    assert saved["saved_tensors[2]"].value.tolist() == [2.0, 2.0]


def test_attributes_of_ctx():
    x = torch.ones(2, requires_grad=True)
    out = Keeper.apply(x, torch.zeros(1))
    saved = GradWidget(out)["out"].saved
    assert (saved["ctx.number"].value, saved["ctx.text"].value) == (-3, "mode")
    assert saved["ctx.extra"].value.tolist() == [0.0]


def test_attributes_of_ctx_outlive_backward():
    x = torch.ones(2, requires_grad=True)
    out = Keeper.apply(x, None)
    w = GradWidget(out)
    out.sum().backward()
    saved = w["out"].saved
    assert saved["ctx.number"].state == "scalar"
    assert [saved[f"saved_tensors[{i}]"].state for i in (0, 2)] == ["freed", "freed"]
    assert saved["saved_tensors[2]"].value.tolist() == [2.0, 2.0]


def raising(*_):
    raise AssertionError("user code was run")


class Hostile:
    __class__ = property(raising)
    __eq__ = __bool__ = __len__ = __iter__ = __repr__ = __str__ = raising
    __hash__ = None


ATTRIBUTES = {
    "array": lambda: np.arange(3),
    "hostile": Hostile,
    "list of hostile": lambda: [Hostile()],
    "dict": lambda: {"k": 1},
    "object": object,
    "list of tensors": lambda: [torch.ones(2)],
    "dtype": lambda: torch.float32,
    "nan": lambda: float("nan"),
    "huge": lambda: 10**40,
}


@pytest.mark.parametrize("make", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_any_attribute_of_ctx(make):
    x = torch.ones(2, requires_grad=True)
    out = Keeper.apply(x, make)
    w = GradWidget(out)
    assert w["out"].saved["ctx.extra"].state == "scalar"
    look_at_everything(w)


def test_a_function_whose_tensors_are_packed():
    counted = Counted()
    x = torch.ones(2, requires_grad=True)
    with saved_tensors_hooks(counted.pack, counted.unpack):
        out = Keeper.apply(x, None)
    w = GradWidget(out)
    look_at_everything(w)
    assert w["out"].saved["saved_tensors"].state == "packed"
    assert counted.unpacked == 0


def test_nothing_is_kept_for_keep_summary():
    x = torch.rand(1000, requires_grad=True)
    y = x.exp()
    saved = weakref.ref(y.grad_fn._saved_result)
    w = GradWidget(y, keep="summary")
    assert w["y"].saved["result"].state == "value"
    del x, y
    gc.collect()
    assert saved() is None
    assert len(w) == 2


def test_when_the_graph_is_gone_the_last_seen_values_stay():
    x = torch.rand(3, requires_grad=True)
    y = x.exp()
    truth = y.detach().clone()
    w = GradWidget(y)
    w.close()
    saved = w["y"].saved["result"]
    assert "gone" in saved.note
    assert same(saved.value, truth)


def test_repr_is_short():
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    d = a * b
    assert repr(GradWidget(d)["d"].saved["other"]) == "Saved(other: value, tensor(3.), same_as='b')"
