"""What `record()` tells of a forward pass, against what torch itself says; and that nobody notices it."""

from __future__ import annotations

import gc
import importlib
import re
import sys
import threading
import warnings
import weakref
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from unit.judge import same

import gradwidget as gw
from gradwidget import _record
from gradwidget._made import ModuleCall


def state():
    hooks = torch.nn.modules.module
    return (
        torch._C._len_torch_function_stack(),
        dict(hooks._global_forward_pre_hooks),
        dict(hooks._global_forward_hooks),
        dict(hooks._global_forward_hooks_always_called),
        torch.compile,
    )


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = state()
    yield
    assert state() == before


@contextmanager
def anomaly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(True):
            yield


def inspected(w):
    return {key: w[key] for key in range(len(w))}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        y = self.linear(x)
        y = torch.relu(y)
        return self.norm(x + y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.shared = self.layers[0]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        x = self.shared(x) * 2
        return x.sum()


def test_lines_are_those_of_anomaly_mode():
    net, x = Net(), torch.randn(3, 4)
    with anomaly():
        loss = net(x)
        expected = gw.backward_graph(loss)
        with gw.record():
            loss = net(x)
    found = gw.backward_graph(loss)
    assert expected.nodes.keys() == found.nodes.keys()
    for key, node in expected.nodes.items():
        if node["kind"] != "leaf":
            assert node["source"].startswith("test_record.py:")
            # The sum is on the line of the model, which both see.
            assert found.nodes[key]["source"] == node["source"], node


def test_without_a_record_nothing_is_known():
    loss = Net()(torch.randn(3, 4))
    graph = gw.backward_graph(loss)
    assert {node["source"] for _, node in graph.nodes(data=True)} == {""}
    assert {node["module"] for _, node in graph.nodes(data=True)} == {""}


def true_calls(net, x):
    """(path, call) of the innermost module by sequence number, as hooks on the modules themselves see it."""
    sequence = torch.autograd._get_sequence_nr
    names = {id(module): name for name, module in reversed(list(net.named_modules()))}
    counts, stack, spans, handles = {}, [], [], []
    paths = {id(module): name for name, module in net.named_modules()}

    def begin(module, _):
        counts[id(module)] = counts.get(id(module), 0) + 1
        stack.append((paths[id(module)], counts[id(module)], sequence()))

    def end(module, _, __):
        path, call, start = stack.pop()
        spans.append((start, sequence(), path, call, len(stack)))

    for module in net.modules():
        handles += [module.register_forward_pre_hook(begin), module.register_forward_hook(end)]
    loss = net(x)
    for handle in handles:
        handle.remove()
    assert names
    return loss, spans


def test_modules_are_the_calls_that_made_the_nodes():
    net, x = Net(), torch.randn(3, 4)
    with gw.record():
        loss, spans = true_calls(net, x)
    w = gw.GradWidget(loss, names=net)
    modules = w._inspection.modules
    checked = set()
    for key in range(len(w)):
        sequence = w.graph.nodes[key]["sequence"]
        if sequence < 0:
            assert key not in modules
            continue
        around = sorted(((depth, path, call) for a, b, path, call, depth in spans if a <= sequence < b))
        assert [(c.path, c.call) for c in modules[key]] == [(path, call) for _, path, call in around]
        checked.add(modules[key][-1])
    assert ModuleCall("layers.0", "Block", 2) in checked
    assert ModuleCall("layers.0.linear", "Linear", 1) in checked
    assert ModuleCall("layers.0.linear", "Linear", 2) in checked
    paths = {w[key].module for key in range(len(w))}
    assert {"layers.0.norm", "layers.1.linear", "net"} <= paths
    assert {node["module"] for _, node in w.graph.nodes(data=True)} == paths


def test_module_paths_of_what_is_in_scope():
    net = Net()
    criterion = nn.MSELoss()
    x = torch.randn(3, 4)
    with gw.record():
        y = net.layers[1](x)
        loss = criterion(y, x)
    w = gw.GradWidget(loss)
    assert {w[key].module for key in range(len(w))} == {"layers.1", "layers.1.linear", "layers.1.norm", "criterion"}


def test_two_networks_are_told_apart_by_their_names():
    generator, critic = (nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in range(2))
    with gw.record():
        loss = critic(generator(torch.randn(3, 2))).sum()
    w = gw.GradWidget(loss)
    assert {w[key].module for key in range(len(w))} == {"", "generator.0", "generator.1", "critic.0", "critic.1"}


def test_a_module_that_is_gone_keeps_its_path():
    def run():
        return nn.Sequential(nn.Linear(2, 2), nn.Tanh())(torch.randn(3, 2)).sum()

    with gw.record():
        loss = run()
    w = gw.GradWidget(loss)
    calls = {c for chain in w._inspection.modules.values() for c in chain}
    assert calls == {ModuleCall("", "Sequential", 1), ModuleCall("0", "Linear", 1), ModuleCall("1", "Tanh", 1)}


def test_calls_of_two_recordings_are_two_calls():
    net = nn.Linear(2, 2)
    x = torch.randn(3, 2)
    with gw.record():
        y = net(x)
    with gw.record():
        z = net(y)
    w = gw.GradWidget(z, names=net)
    calls = [c for chain in w._inspection.modules.values() for c in chain]
    assert {c.call for c in calls} == {1, 2}


def test_values_that_autograd_did_not_save():
    x = torch.randn(5, requires_grad=True)

    def run():
        y = x + 1
        kept.append(y.detach().clone())
        y = y - 2
        kept.append(y.detach().clone())
        return y.sum()

    kept = []
    loss = run()
    assert gw.GradWidget(loss)[1].value is None
    kept = []
    with gw.record():
        loss = run()
    w = gw.GradWidget(loss)
    assert same(w[2].value, kept[0])
    assert same(w[1].value, kept[1])
    w[1].value.zero_()
    assert same(w[1].value, kept[1])


def test_values_of_several_outputs():
    x = torch.randn(6, requires_grad=True)
    with gw.record():
        parts = (x * 1).split(2)
        kept = [p.detach().clone() for p in parts]
        total = parts[0] + parts[1] + parts[2]
    del parts
    w = gw.GradWidget(total)
    split = next(n for n in inspected(w).values() if n.op == "SplitBackward0")
    assert all(same(a, b) for a, b in zip(split.value, kept, strict=True))


def test_of_bigger_values_a_summary():
    x = torch.randn(100, 100, requires_grad=True)
    with gw.record():
        y = x + 1
        length = y.detach().norm()
        alive = weakref.ref(y)
        y = y.sum()
    w = gw.GradWidget(y)
    assert alive() is None, "the recording keeps a tensor alive"
    summary = w[1].value
    assert isinstance(summary, gw.Summary)
    assert summary.stats.norm == pytest.approx(float(length), rel=1e-5)
    assert "norm" in summary.note
    assert "value" in repr(w[1])


def test_values_in_place():
    x = torch.randn(3, requires_grad=True)
    with gw.record():
        y = x + 1
        first = y.detach().clone()
        y += 1
        y[0] = 5.0
        z = y.sum()
        del y
    w = gw.GradWidget(z)
    for node in inspected(w).values():
        if node.value is not None and node.kind != "leaf":
            assert node.shape == tuple(node.value.shape)
    plus = next(n for n in reversed(list(inspected(w).values())) if n.op == "AddBackward0")
    assert same(plus.value, first)


def program(seed):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    x = torch.randn(6, 4)
    y = net(x)
    y = y * torch.rand_like(y)
    loss = y.std() + checkpoint(lambda z: torch.sin(z).sum(), y, use_reentrant=False)
    loss.backward()
    versions = [p._version for p in net.parameters()] + [x._version]
    return [loss.detach(), *(p.grad for p in net.parameters()), *net.buffers(), torch.rand(3)], versions


def test_nothing_changes():
    plain, versions = program(3)
    with gw.record():
        recorded, again = program(3)
    assert versions == again
    assert all(torch.equal(a, b) for a, b in zip(plain, recorded, strict=True))


def test_warnings_are_the_same():
    def warned():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = nn.functional.softmax(torch.randn(2, 2, requires_grad=True) * 1)
            y.grad  # of a tensor that is no leaf
            nn.functional.mse_loss(y, torch.zeros(2, 1))
        return [(str(one.message), one.category) for one in caught]

    plain = warned()
    with gw.record():
        recorded = warned()
    assert plain
    assert recorded == plain


def test_nothing_is_kept_alive():
    net = nn.Linear(200, 200)
    x = torch.randn(50, 200, requires_grad=True)
    with gw.record():
        y = net(x)
        z = y.relu()
        alive = [weakref.ref(t) for t in (x, y, z, net, net.weight)]
        del y
        loss = z.sum()
        del z
    loss.backward()
    del loss, net, x
    gc.collect()
    assert [r() for r in alive] == [None] * 5


class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        return g * 3


class Silent(torch.autograd.Function):
    """Runs no operation of torch in its forward."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


def line_of(text):
    lines = Path(__file__).read_text("utf-8").splitlines()
    return f"test_record.py:{next(i for i, line in enumerate(lines, 1) if line.strip() == text)}"


def test_a_function_has_the_line_of_apply():
    x = torch.randn(3, requires_grad=True)
    with gw.record():
        y = x + 1
        y = Triple.apply(y)  # mine
        y = y + 1
    w = gw.GradWidget(y)
    assert w[1].kind == "function"
    assert w[1].source == line_of("y = Triple.apply(y)  # mine")


def test_functions_one_after_another():
    x = torch.randn(3, requires_grad=True)
    with gw.record():
        y = Triple.apply(x)  # first
        y = Triple.apply(y)  # second
        y = Silent.apply(y)  # third
    w = gw.GradWidget(y)
    sources = [w[key].source for key in range(3)]
    lines = ("y = Silent.apply(y)  # third", "y = Triple.apply(y)  # second", "y = Triple.apply(x)  # first")
    assert sources == [line_of(line) for line in lines]


def test_exceptions_end_what_they_should():
    class Fails(nn.Module):
        def forward(self, x):
            y = x * 2
            raise ValueError(y)

    net, fails = nn.Linear(2, 2), Fails()
    x = torch.randn(1, 2, requires_grad=True)
    results = []

    def run():
        with pytest.raises(ValueError):
            fails(x)
        with pytest.raises(RuntimeError, match="shapes"):
            net(torch.randn(3, 3))
        results.append(net(x) + 1)
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"), gw.record():
        run()
    w = gw.GradWidget(results[0], names=net)
    assert [w[key].module for key in range(2)] == ["", "net"], "the addition was made outside of any module"


def test_inside_one_another():
    x = torch.randn(3, requires_grad=True)
    with gw.record():
        with gw.record():
            y = x * 2
        assert _record.recording()
        z = y * 3
    assert not _record.recording()
    w = gw.GradWidget(z)
    assert all(w[key].source for key in range(2))


def test_a_generator_that_is_left_behind():
    x = torch.randn(3, requires_grad=True)

    def steps():
        with gw.record():
            yield x * 2

    running = steps()
    y = next(running)
    with torch.device("cpu"):  # a mode above ours
        running.close()
        assert torch._C._len_torch_function_stack() == 1
    assert gw.GradWidget(y)[0].source


def test_threads_count_on_their_own():
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    found = {}

    def work(i):
        found[i] = net(torch.full((2, 3), float(i))).sum()
        found[f"left {i}"] = torch._C._len_torch_function_stack()

    x = torch.randn(3, requires_grad=True)
    with gw.record():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        y = x * 2  # here
        for thread in threads:
            thread.join()
    assert [found[f"left {i}"] for i in range(3)] == [0, 0, 0]
    for i in range(3):
        w = gw.GradWidget(found[i], names=net)
        assert w["0.weight"].module == "0"  # its owner
        assert w[1].module == "1"
        assert w[1].op == "ReluBackward0"
        assert w[1].source == line_of("found[i] = net(torch.full((2, 3), float(i))).sum()")
    assert gw.GradWidget(y)[0].source == line_of("y = x * 2  # here")


def test_recomputation_is_not_recorded():
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    x = torch.randn(2, 3, requires_grad=True)
    for reentrant in (False, True):
        with gw.record():
            y = checkpoint(net, x * 1, use_reentrant=reentrant)
            log = _record._log_here()
            before = len(log.calls)
            y.sum().backward()
            assert len(log.calls) == before
    w = gw.GradWidget(y)
    assert w[0].kind == "checkpoint"
    assert w[0].source.startswith("test_record.py:")


def test_transforms():
    x = torch.randn(3)

    def f(v):
        return (v.sin() * v).sum()

    plain = torch.func.grad(f)(x), torch.vmap(f)(x[None]), torch.func.jacrev(f)(x)
    with gw.record():
        recorded = torch.func.grad(f)(x), torch.vmap(f)(x[None]), torch.func.jacrev(f)(x)
    assert all(torch.equal(a, b) for a, b in zip(plain, recorded, strict=True))


def test_subclasses_and_modes_of_the_user():
    calls = []

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})

    def run():
        x = torch.ones(3).as_subclass(Mine).requires_grad_()
        calls.clear()
        y = (x * 2).sum()
        return y, list(calls)

    y, plain = run()
    with gw.record():
        y, recorded = run()
    assert recorded == plain, "code of the subclass has run for us"
    assert all(n.source for n in inspected(gw.GradWidget(y)).values() if n.kind != "leaf")


def test_no_grad_leaves_nothing():
    net = nn.Linear(3, 3)
    with gw.record(), torch.no_grad():
        before = len(_record._log_here().calls)
        for _ in range(5):
            net(torch.randn(2, 3))
        assert len(_record._log_here().calls) == before


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # dynamo's own
def test_compiled_regions_stay_compiled():
    counted = []

    def backend(graph, inputs):
        counted.append(len(graph.graph.nodes))
        return graph.forward

    def f(x):
        y = x * 2
        return y.sin().sum()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            return torch.relu(self.linear(x)).sum()

    x = torch.randn(2, 3, requires_grad=True)
    net = Net()
    dynamo = importlib.import_module("torch._dynamo.eval_frame")
    compiled, module = torch.compile(f, backend=backend), torch.compile(net, backend=backend)
    with gw.record():
        y = compiled(x * 1)  # a function
        z = module(x * 1)  # a module
        total = y + z
    assert len(counted) == 2, "one graph each: neither in pieces, nor eager"
    assert same(total.detach(), (f(x) + net(x)).detach())
    w = gw.GradWidget(total)
    inside = w._inspection.made.compiled
    assert {w[key].source for key in inside} == {
        line_of("y = compiled(x * 1)  # a function"),
        line_of("z = module(x * 1)  # a module"),
    }
    assert "enter_exit_hooks" not in vars(dynamo._TorchDynamoContext)


def test_the_first_to_compile_is_seen_too():
    code = """
import torch, gradwidget as gw
original = torch.compile
count = []
def backend(graph, inputs):
    count.append(1)
    return graph.forward
x = torch.randn(3, requires_grad=True)
with gw.record():
    f = torch.compile(lambda v: v.sin().sum(), backend=backend)
    y = f(x)
assert count == [1], count
assert torch.compile is original
assert len(gw.GradWidget(y)._inspection.made.compiled) == 2
"""
    import subprocess

    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_a_long_chain_can_be_freed():
    code = """
import torch, gradwidget as gw
x = torch.ones((), requires_grad=True)
with gw.record():
    y = x
    for _ in range(100_000):
        y = y + 1
del y
print("freed")
"""
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "freed"


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(_record, "EVENTS", 40)
    monkeypatch.setattr(_record, "VALUES", 30)
    net, x = nn.Linear(1, 1), torch.ones(1, 1)
    with gw.record():
        for _ in range(100):
            y = net(x)
            z = (y * 2).sum()
        log = _record._log_here()
        assert len(log.begin) <= 40
        assert len(log.values) <= 30
        assert len(log.calls) <= 41
    w = gw.GradWidget(z, names=net)
    assert w[1].source
    assert any(w[key].module == "net" for key in range(len(w)))


def test_its_repr_is_short():
    recording = gw.record()
    assert repr(recording) == "record(off)"
    with recording:
        assert repr(recording) == "record(on)"


def test_a_graph_stays_plain_data():
    import pickle

    with gw.record():
        loss = Net()(torch.randn(3, 4))
    graph = gw.backward_graph(loss)
    assert pickle.loads(pickle.dumps(graph)).nodes == graph.nodes
    assert re.fullmatch(r"test_record\.py:\d+", graph.nodes[0]["source"])


@pytest.mark.parametrize("order", ["inside", "after"])
def test_widgets_made_inside_and_after(order):
    x = torch.randn(3, requires_grad=True)
    with gw.record():
        y = (x * 2).sum()
        w = gw.GradWidget(y) if order == "inside" else None
    w = w or gw.GradWidget(y)
    assert all(w[key].source for key in range(2))
