"""Measures gradwidget against the bare walk, the plain pass and torchviz: ratios in one run, medians.

    python tests/benchmarks/run.py [--only WORD] [--json FILE]

Reported, never asserted: machines are noisy.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
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


def structure(name: str, build: Callable[[], torch.Tensor]) -> list[dict[str, Any]]:
    loss = build()
    nodes = bare_walk(loss.grad_fn)
    base = seconds(lambda: bare_walk(loss.grad_fn))

    def payload() -> bytes:
        return _wire.pack(_wire.graph_payload(Inspection((loss,), watch=False, look=False)))

    steps: dict[str, Callable[[], Any]] = {
        "columns (walk)": lambda: walk([(loss.grad_fn, 0)]),
        "columns and page payload": payload,
        "backward_graph": lambda: gw.backward_graph(loss),
        "GradWidget": lambda: gw.GradWidget(loss).close(),
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
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
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
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "bundle_bytes": size, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
