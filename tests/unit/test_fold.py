"""Groups: by the module that made a node, and by what repeats itself."""

from __future__ import annotations

import time
from collections import Counter

import pytest
import torch
from torch import nn
from unit.models import gpt, lstm, resnet

from gradwidget import GradWidget, GradWidgetError, OptionError, UnknownNodeError, backward_graph
from gradwidget._inspect import Inspection
from gradwidget._made import ModuleCall


def fold_of(loss, names=None):
    return Inspection((loss,), names=names, watch=False).fold


def by_id(fold):
    return {group.id: group for group in fold.groups}


def assert_acyclic(columns, fold, collapsed):
    """The picture in which these are collapsed has no cycle."""
    holder = fold.holders(collapsed)
    box = [k if m < 0 or holder[m] < 0 else -1 - holder[m] for k, m in enumerate(fold.member)]
    following = {b: set() for b in box}
    for source, target in zip(columns.source, columns.target, strict=True):
        if box[source] != box[target]:
            following[box[source]].add(box[target])
    waiting = Counter(b for targets in following.values() for b in targets)
    ready = [b for b in following if not waiting[b]]
    for b in ready:
        for other in following[b]:
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    assert len(ready) == len(following)


def true_modules(model, run):
    """Which module was running when each forward operation was made: by sequence number."""
    found = {}
    counter = torch._C._autograd._get_sequence_nr if hasattr(torch._C._autograd, "_get_sequence_nr") else None
    counter = counter or torch.autograd._get_sequence_nr
    stack = [("", counter())]

    def close():
        path, start = stack[-1]
        for number in range(start, counter()):
            found.setdefault(number, path)

    handles = []
    for path, module in model.named_modules():

        def before(_m, _a, path=path):
            close()
            stack[-1] = (stack[-1][0], counter())
            stack.append((path, counter()))

        def after(_m, _a, _o):
            close()
            stack.pop()
            stack[-1] = (stack[-1][0], counter())

        handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]
    loss = run()
    close()
    for handle in handles:
        handle.remove()
    return found, loss


def test_a_transformer_folds_by_module():
    model, loss = gpt()
    groups = by_id(fold_of(loss, model))
    assert {f"h.{i}" for i in range(12)} <= groups.keys()
    stack = groups["h"]
    assert (stack.kind, stack.times, stack.type, stack.title) == ("stack", 12, "Block", "h.0 … h.11")
    assert len({(groups[f"h.{i}"].nodes, groups[f"h.{i}"].parameters) for i in range(12)}) == 1
    assert groups["h.3"].parameters == sum(p.numel() for p in model.h[3].parameters())
    assert groups["h.3.attn"].type == "Attention"
    assert stack.parameters == sum(p.numel() for p in model.h.parameters())


def test_derived_modules_are_those_that_ran_or_one_around_them():
    model, _ = gpt()
    ids = torch.randint(20, (2, 6))
    truth, loss = true_modules(model, lambda: model(ids).sum())
    graph = backward_graph(loss, names=model)
    wrong = right = 0
    for _, node in graph.nodes(data=True):
        if node["sequence"] < 0:
            continue
        true, found = truth[node["sequence"]], node["module"]
        right += true == found
        wrong += not (found in (true, "") or true.startswith(f"{found}."))
    assert wrong <= 4
    assert right > 0.6 * (right + wrong)
    inside = Counter(d["module"].split(".")[1] for _, d in graph.nodes(data=True) if d["module"].startswith("h."))
    assert len(set(inside.values())) == 1  # every block has the same


def test_the_end_of_a_residual_block_belongs_to_it():
    model, loss = resnet()
    groups = by_id(fold_of(loss, model))
    assert groups["layer1"].times == 3
    assert groups["layer2"].times == 4
    assert len({groups[f"layer1.{i}"].nodes for i in range(3)} | {groups[f"layer2.{i}"].nodes for i in range(4)}) == 1
    graph = backward_graph(loss, names=model)
    relu = [d["module"] for _, d in graph.nodes(data=True) if d["label"] == "Relu"]
    assert Counter(relu)["layer2.3"] == 2


def test_modules_are_found_in_the_calling_scope():
    model, loss = gpt(4)
    w = GradWidget(loss)
    assert "model.h" in w.collapsed
    w.collapsed = ["h.0", "model.h.1"]
    assert w.collapsed == ["model.h.0", "model.h.1"]
    assert model is not None


def test_a_tied_weight_makes_no_cycle_and_belongs_to_nobody_inside():
    model, loss = gpt(3, tied=True)
    found = Inspection((loss,), names=model, watch=False)
    key = found.find("wte.weight")[0]
    assert found.fold.member[key] == -1
    for collapsed in ([], ["h"], found.fold.first, [g.id for g in found.fold.groups]):
        assert_acyclic(found.columns, found.fold, collapsed)


def test_a_module_called_twice_is_two_calls():
    fc = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    loss = fc(fc(torch.randn(2, 4))).sum()
    groups = by_id(fold_of(loss, {"fc": fc, "other": nn.Linear(1, 1)}))
    calls = [g for g in groups.values() if g.path == "fc.0"]
    assert [g.call for g in calls] == [1, 2]
    with GradWidget(loss, names={"fc": fc}) as w:
        w.collapsed = ["fc.0"]
        assert w.collapsed == ["fc.0 (call 1)", "fc.0 (call 2)"]


class Twice(nn.Module):
    """Two cells, in turns."""

    def __init__(self, out=True):
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
        self.out = nn.Linear(4, 1) if out else nn.Identity()

    def forward(self, x, steps=6):
        for _ in range(steps):
            x = self.two(self.one(x).tanh()).tanh()
        return self.out(x)


def sequential():
    inner = [nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(2)]
    return nn.Sequential(*inner, nn.Tanh(), nn.Linear(4, 1))


def calls_of(fold, path):
    return [(g.call, g.parent) for g in fold.groups if g.path == path and g.kind == "module"]


def test_a_sequential_is_a_box_around_its_members():
    model = sequential()
    loss = model(torch.randn(2, 4)).sum()
    fold = fold_of(loss, model)
    box = by_id(fold)["Sequential"]
    assert (box.kind, box.title, box.type, box.parent) == ("module", "Sequential", "Sequential", -1)
    assert box.parameters == sum(p.numel() for p in model.parameters())
    assert [by_id(fold)[name].parent for name in ("0", "1", "3")] == [0, 0, 0]
    assert fold.boxes(["Sequential"]) == 2  # and the sum outside
    named = by_id(fold_of(loss, {"m": model}))
    assert (named["m"].nodes, named["m.0"].title) == (box.nodes, "0")
    with GradWidget(loss) as w:  # by the name in scope
        w.collapsed = ["model"]
        assert len(w._inspection.fold.visible(w.collapsed)) == 2


@pytest.mark.parametrize("make", [sequential, Twice, lambda: gpt(3)[0]], ids=["sequential", "loop", "gpt"])
@pytest.mark.parametrize("name", ["", "m"])
def test_a_whole_model_called_twice_is_two_boxes(make, name):
    model = make()
    inputs = torch.randint(20, (2, 2, 6)) if hasattr(model, "wte") else torch.randn(2, 2, 4)
    loss = sum(model(x).sum() for x in inputs)
    found = Inspection((loss,), names={name: model} if name else model, watch=False)
    assert calls_of(found.fold, name) == [(1, -1), (2, -1)]
    outside = [k for k, m in enumerate(found.fold.member) if m < 0 and found.kind_of(k) != "leaf"]
    assert len(outside) <= 4  # the sums
    assert_acyclic(found.columns, found.fold, [g.id for g in found.fold.groups])


def test_a_sequential_fed_by_itself_is_two_boxes():
    model = sequential()
    model[-1] = nn.Linear(4, 4)
    assert calls_of(fold_of(model(model(torch.randn(2, 4))).sum(), model), "") == [(1, -1), (2, -1)]


@pytest.mark.parametrize("out", [True, False])
def test_what_repeats_inside_of_a_model_is_no_call_of_it(out):
    model = Twice(out)
    fold = fold_of(model(torch.randn(2, 4)).sum(), model)
    assert calls_of(fold, "") == []
    assert by_id(fold)["one, two, Tanh × 6"].kind == "repeat"


def test_a_long_sequential_opens_with_its_members_in_view():
    model = nn.Sequential(*(layer for i in range(25) for layer in (nn.Linear(4 + i % 2, 5 - i % 2), nn.Tanh())))
    fold = fold_of(model(torch.randn(2, 4)).sum(), model)
    assert "Sequential" not in fold.first
    assert 20 < fold.boxes(fold.first) <= 150


def test_recorded_modules_are_believed():
    model, loss = resnet()
    found = Inspection((loss,), names=model, watch=False)
    order = [k for k in range(len(found)) if found.kind_of(k) != "leaf"]
    found.made.modules = {k: (ModuleCall("all", "Everything", 1), ModuleCall("all.one", "One", 1)) for k in order[:9]}
    found.made.modules |= dict.fromkeys(order[9:], ())
    groups = by_id(found.fold)
    assert groups["all.one"].nodes >= 9
    assert not any(g.path == "layer1" for g in found.fold.groups)
    assert_acyclic(found.columns, found.fold, [g.id for g in found.fold.groups])


@pytest.mark.parametrize("named", [True, False])
def test_an_unrolled_cell_is_one_row(named):
    cell, loss = lstm(1_000)
    fold = fold_of(loss, {"cell": cell} if named else None)
    row = next(g for g in fold.groups if g.times)
    assert row.times == 1_000
    assert row.parent == -1
    assert fold.boxes(fold.first) <= 6
    assert row.parameters == sum(p.numel() for p in cell.parameters())
    inside = Counter(g.parent for g in fold.groups)
    assert max(inside.values()) <= 50
    members = [g.nodes for g in fold.groups if g.kind in ("module", "step")]
    assert len(members) == 1_000
    assert len(set(members[1:-1])) == 1
    if named:  # a transposed weight belongs to the call that uses it
        assert members[1] == members[0]


def test_twenty_thousand_adds_are_one_row():
    h = torch.ones((), requires_grad=True)
    for _ in range(20_000):
        h = h + 1
    found = Inspection((h,), watch=False)
    start = time.perf_counter()
    fold = found.fold
    assert time.perf_counter() - start < 5
    assert [g.id for g in fold.groups if g.parent < 0] == ["Add × 20000"]
    children = Counter(fold.member)
    assert max(children.values()) <= 51  # and the leaf
    assert_acyclic(found.columns, fold, fold.first)


def test_an_optimiser_loop_folds():
    w = torch.randn(3, requires_grad=True)
    x, state = torch.randn(3), torch.zeros(3)
    p = w
    for _ in range(30):
        g = p * x - 1
        state = state * 0.9 + g
        p = p - 0.1 * state
    fold = fold_of(p.sum())
    row = max(fold.groups, key=lambda g: g.times)
    assert row.times in (29, 30)


def test_many_leaves_of_one_operation_fold():
    leaves = [torch.ones(2, requires_grad=True) for _ in range(3_000)]
    fold = fold_of(torch.stack(leaves).sum())
    assert fold.boxes(fold.first) <= 10
    assert fold.groups[0].parameters == 6_000


def test_an_irregular_graph_is_divided_into_parts():
    torch.manual_seed(1)
    pool = [torch.rand(2, requires_grad=True) for _ in range(4)]
    operations = [torch.add, torch.mul, torch.sub, torch.maximum, torch.atan2]
    for _ in range(1_500):
        i, j, k = torch.randint(0, 20, (3,)).tolist()
        pool.append(operations[k % 5](pool[-1 - i % len(pool)], pool[-1 - j % len(pool)]))
    found = Inspection((pool[-1],), watch=False)
    fold = found.fold
    assert fold.boxes(fold.first) <= 150
    for collapsed in (fold.first, [g.id for g in fold.groups if g.parent >= 0]):
        assert_acyclic(found.columns, fold, collapsed)


def test_small_graphs_open_as_they_are():
    a, b = (torch.ones((), requires_grad=True) for _ in "ab")
    w = GradWidget(a * b)
    assert w.collapsed == []
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    w = GradWidget(model(torch.ones(1, 2)).sum(), names=model)
    assert w.collapsed == []
    w.collapsed = ["0"]
    assert w.collapsed == ["0"]


def test_the_same_program_gives_the_same_groups():
    first, second = (fold_of(loss, model) for model, loss in (gpt(5), gpt(5)))
    assert first.groups == second.groups
    assert first.member == second.member


@pytest.mark.parametrize("make", [gpt, resnet, lstm])
def test_large_models_open_with_some_dozens_of_boxes(make):
    model, loss = make()
    fold = fold_of(loss, {"cell": model} if make is lstm else model)
    assert 1 <= fold.boxes(fold.first) <= 150


def test_what_is_collapsed_can_be_set():
    model, loss = gpt()
    w = GradWidget(loss, names=model)
    assert "h" in w.collapsed
    w.collapsed = [name for name in w.collapsed if name != "h"]
    assert "h" not in w.collapsed
    w.collapsed = ("lm_head", "h.0.attn")
    assert w.collapsed == ["h.0.attn", "lm_head"]  # in the order of the forward pass
    w.collapsed = []
    assert w.collapsed == []


@pytest.mark.parametrize("wrong", [["nope"], ["h.99"], [3], "h", 5, None])
def test_unknown_groups_are_refused_and_nothing_changes(wrong):
    model, loss = gpt(2)
    w = GradWidget(loss, names=model)
    before = w.collapsed
    with pytest.raises(GradWidgetError) as caught:
        w.collapsed = wrong
    assert isinstance(caught.value, (UnknownNodeError, OptionError))
    assert w.collapsed == before


def test_a_near_name_is_proposed():
    model, loss = gpt(2)
    w = GradWidget(loss, names=model)
    with pytest.raises(UnknownNodeError, match=r"Did you mean 'h\.0\.attn'"):
        w.collapsed = ["h.0.atn"]


def test_more_boxes_than_can_be_drawn_are_refused():
    _, loss = lstm(400)
    w = GradWidget(loss)
    with pytest.raises(OptionError, match=r"boxes would have to be drawn; 3,000 can be"):
        w.collapsed = []


def test_refresh_keeps_the_folding():
    model, loss = gpt(4)
    w = GradWidget(loss, names=model)
    w.collapsed = ["h.1", "lm_head"]
    w.refresh(model(torch.randint(20, (2, 6))).sum(), names=model)
    w.refresh(model(torch.randint(20, (2, 6))).sum(), names=model)
    assert w.collapsed == ["h.1", "lm_head"]


def test_modules_stand_on_the_graph_and_in_the_view():
    model, loss = gpt(2)
    graph = backward_graph(loss, names=model)
    w = GradWidget(loss, names=model)
    key = w["h.0.attn.c_attn.weight"].key
    assert graph.nodes[key]["module"] == w[key].module == "h.0.attn.c_attn"
    addmm = next(k for k, _ in graph.in_edges(key) if graph.nodes[k]["module"])
    assert graph.nodes[addmm]["module"] == "h.0.attn.c_attn"


def test_plain_functions_have_no_module():
    x = torch.ones(3, requires_grad=True)
    graph = backward_graph((x.sin() * x).sum())
    assert {d["module"] for _, d in graph.nodes(data=True)} == {""}


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell], ids=lambda k: k.__name__)
def test_one_layer_called_in_a_loop_is_named_by_its_class(kind):
    cell = kind(4, 4)
    h = c = torch.zeros(1, 4)
    for _ in range(12):
        if kind is nn.LSTMCell:
            h, c = cell(torch.ones(1, 4), (h, c))
        else:
            h = cell(torch.ones(1, 4), h)
    w = GradWidget(h.sum(), names=cell)
    assert list(w.collapsed) == [f"{kind.__name__} × 12"]
    w.collapsed = []
    assert not list(w.collapsed)
