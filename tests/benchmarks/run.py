"""Measures gradwidget against the bare walk, the plain pass and torchviz: ratios in one run, medians.

    python tests/benchmarks/run.py [--only WORD] [--json FILE] [--markdown FILE]

GPT-2 and ResNet-50 are measured where `transformers` is installed, other tools (torchviz, torchview, torchlens,
torchvista) where they are. Reported, never asserted: machines are noisy.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import io
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphs
import torch

import gradwidget as gw
from gradwidget import _wire
from gradwidget._deep import drain
from gradwidget._inspect import Inspection
from gradwidget._walk import walk

ROUNDS = 7


def seconds(run: Callable[[], Any], before: Callable[[], Any] = lambda: None, rounds: int = ROUNDS) -> float:
    """Median wall time of `run`, each after `before`, whose result it is given if it takes one."""
    times = []
    for _ in range(rounds):
        given = before()
        gc.collect()
        start = time.perf_counter()
        kept = run() if given is None else run(given)  # type: ignore[call-arg]
        times.append(time.perf_counter() - start)
        del kept, given
    return statistics.median(times)


def bare_walk(root: Any) -> int:
    seen = {root}
    stack = [root]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                stack.append(node)
    return len(seen)


def structure(name: str, build: Callable[[], torch.Tensor], names: Any = None) -> list[dict[str, Any]]:
    loss = build()
    nodes = bare_walk(loss.grad_fn)
    base = seconds(lambda: bare_walk(loss.grad_fn))

    def payload() -> bytes:
        return _wire.pack(_wire.graph_payload(Inspection((loss,), names=names, watch=False, look=False)))

    steps: dict[str, Callable[[], Any]] = {
        "columns (walk)": lambda: walk([(loss.grad_fn, 0)]),
        "columns and page payload": payload,
        "backward_graph": lambda: gw.backward_graph(loss, names=names),
        "GradWidget": lambda: gw.GradWidget(loss, names=names).close(),
    }
    rows = [_row(name, nodes, "bare walk", base, 1.0)]
    for step, run in steps.items():
        took = seconds(run, rounds=3 if nodes > 50_000 else ROUNDS)
        rows.append(_row(name, nodes, step, took, took / base))
    try:
        from torchviz import make_dot
    except ImportError:
        make_dot = None
    if make_dot is not None and nodes < 2_000:
        took = seconds(lambda: make_dot(loss))
        rows.append(_row(name, nodes, "torchviz.make_dot", took, took / base))
    return rows


def watching(name: str, build: Callable[[], torch.Tensor], rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """A backward pass with a hook on every node against the same without, in turns."""
    plain, watched = [], []
    nodes = 0
    for _ in range(rounds):
        for times, watch in ((plain, False), (watched, True)):
            loss = build()
            inspection = Inspection((loss,), watch=watch, look=False)
            nodes = len(inspection)
            gc.collect()
            start = time.perf_counter()
            loss.backward()
            times.append(time.perf_counter() - start)
            inspection.close()
            for key, _ in enumerate(inspection.columns.op):
                if inspection.columns.ops[inspection.columns.op[key]].kind == "leaf":
                    leaf = inspection.tensor((key, 0))
                    if leaf is not None:
                        leaf.grad = None
            del loss, inspection
            drain()
    base, with_hooks = statistics.median(plain), statistics.median(watched)
    extra = _row(name, nodes, "backward, watched", with_hooks, with_hooks / base)
    extra["us_per_node_extra"] = (with_hooks - base) / nodes * 1e6
    return [_row(name, nodes, "backward, plain", base, 1.0), extra]


def recording(name: str, build: Callable[[], torch.Tensor], rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """A forward pass inside of `record()` against the same without, in turns."""
    plain, recorded = [], []
    nodes = 0
    for _ in range(rounds):
        for times, inside in ((plain, False), (recorded, True)):
            gc.collect()
            with gw.record() if inside else contextlib.nullcontext():
                start = time.perf_counter()
                loss = build()
                times.append(time.perf_counter() - start)
            nodes = nodes or bare_walk(loss.grad_fn)
            del loss
            drain()
    base, with_record = statistics.median(plain), statistics.median(recorded)
    extra = _row(name, nodes, "forward, recorded", with_record, with_record / base)
    extra["us_per_node_extra"] = (with_record - base) / nodes * 1e6
    return [_row(name, nodes, "forward, plain", base, 1.0), extra]


def _row(graph: str, nodes: int, step: str, took: float, ratio: float) -> dict[str, Any]:
    return {
        "graph": graph,
        "nodes": nodes,
        "step": step,
        "ms": took * 1e3,
        "us_per_node": took / nodes * 1e6,
        "ratio": ratio,
    }


def peers(name: str, nodes: int, base: float, model: torch.nn.Module, inputs: Any) -> list[dict[str, Any]]:
    """What other tools take for their picture of the same model, forward pass included; those that are installed."""
    rows = []
    for tool, draw in PEERS.items():
        if importlib.util.find_spec(tool) is not None:
            quiet = io.StringIO()
            try:
                with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                    took = seconds(lambda draw=draw: draw(model, inputs), rounds=1)
            except Exception as error:
                print(f"{tool} could not draw {name}: {type(error).__name__}: {str(error)[:200]}")
                continue
            rows.append(_row(name, nodes, f"{tool}, forward pass included", took, took / base))
    return rows


def _torchview(model: torch.nn.Module, inputs: Any) -> Any:
    return importlib.import_module("torchview").draw_graph(model, input_data=inputs)


def _torchlens(model: torch.nn.Module, inputs: Any) -> Any:
    return importlib.import_module("torchlens").log_forward_pass(model, inputs)


def _torchvista(model: torch.nn.Module, inputs: Any) -> Any:
    return importlib.import_module("torchvista").trace_model(model, inputs)


PEERS: dict[str, Callable[[torch.nn.Module, Any], Any]] = {
    "torchview": _torchview,
    "torchlens": _torchlens,
    "torchvista": _torchvista,
}


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| graph | nodes | step | ms | us/node | ratio |", "|---|---|---|---|---|---|"]
    for row in rows:
        extra = f" (+{row['us_per_node_extra']:.1f} us/node)" if "us_per_node_extra" in row else ""
        start = f"| {row['graph']} | {row['nodes']:,} | {row['step']}"
        lines.append(f"{start} | {row['ms']:.2f} | {row['us_per_node']:.2f} | {row['ratio']:.2f}{extra} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, load in {"GPT-2": graphs.gpt2, "ResNet-50": graphs.resnet50}.items():
        if options.only in name and importlib.util.find_spec("transformers") is not None:
            build, model, inputs = load()
            found = structure(name, build, model)
            rows += found + watching(name, build) + recording(name, build)
            rows += peers(name, found[0]["nodes"], found[0]["ms"] / 1e3, model, inputs)
            del build, model, inputs
    for name, make in {
        "toy": graphs.toy,
        "MLP": graphs.mlp,
        "GPT-2 size": graphs.transformer,
        "LSTM x 1,000": graphs.lstm,
        "chain": graphs.chain,
    }.items():
        if options.only in name:
            build = make()
            rows += structure(name, build)
            if name != "chain":
                rounds = 31 if name in ("toy", "MLP") else ROUNDS
                rows += watching(name, build, rounds) + recording(name, build, rounds)
    bundle = Path(gw.__file__).parent / "static" / "widget.js"
    size = bundle.stat().st_size if bundle.exists() else 0
    software = f"Python {platform.python_version()}, torch {torch.__version__}"
    machine = f"{platform.machine()}, {software}, {torch.get_num_threads()} threads"
    print(f"{machine}; bundle {size / 1e3:.0f} kB\n\n{table(rows)}")
    if options.markdown:
        options.markdown.write_text(f"{machine}; bundle {size / 1e3:.0f} kB\n\n{table(rows)}\n")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "bundle_bytes": size, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
