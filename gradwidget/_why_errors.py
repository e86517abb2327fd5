"""What an error of autograd means: a list of patterns, each with cause and remedy, and who is meant."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import torch

from gradwidget import _inspect, _saved, _told
from gradwidget._diagnosis import Diagnosis, worded
from gradwidget._errors import GradWidgetError
from gradwidget._inspect import Inspection
from gradwidget._ipython import place_of
from gradwidget._passes import version_of
from gradwidget._source_text import (
    BY_TEXT,
    CONSTANT,
    CREATE_GRAPH,
    Spot,
    files_of,
    lines_of,
    remedy_for,
    without_history,
)
from gradwidget._summary import form_of, unobserved
from gradwidget._why_calls import Loop, PassCall, loop_around, pass_call, statement
from gradwidget._why_scope import Scope, tracked

About = Callable[[torch.Tensor, tuple[Any, ...], Scope, str], Diagnosis]

_INPLACE = re.compile(
    r"\[torch\.(?:cuda\.)?(?P<type>\w*)Tensor \[(?P<shape>[\d, ]*)\]\](?:, which is output \d+ of (?P<op>[\w:]+),)?"
    r" is at version (?P<now>\d+); expected version (?P<saved>\d+)"
)
_TARGET = re.compile(
    r"([A-Za-z_][\w.\[\]'\"]*?)\.backward\s*\(|autograd\.(?:backward|grad)\s*\(\s*\[?([A-Za-z_][\w.]*)"
)
_HEAD = re.compile(r"([A-Za-z_][\w.]*?)(?:\.\w+\([^()]*\))+\.backward\s*\(")
_GRAD = re.compile(r"grad\(\s*([A-Za-z_][\w.]*)\s*,\s*[\[(]?([\w., ]*)")
_EDITED = re.compile(
    r"([A-Za-z_][\w.]*)(?:\[[^\]]*\])*\s*(?:[-+*/@]|\*\*|//|)=(?!=)|([A-Za-z_][\w.]*)(?:\[[^\]]*\])*\.[a-z]\w*_\("
    r"|([A-Za-z_][\w.]*)(?:\[[^\]]*\])+\s*=(?!=)"
)
_NAME = re.compile(r"[A-Za-z_][\w.\[\]'\"]*")
_WHO = re.compile(r"([A-Za-z_][\w.]*)\.(?:numpy|requires_grad_|requires_grad|retain_grad|register_hook)\b")
_LIBRARIES = (
    "/torch/",
    "/gradwidget/_",
    "/IPython/",
    "/ipykernel/",
    "/_pytest/",
    "/pluggy/",
    "/importlib/",
    "/copy.py",
)
_VIEWS = frozenset(
    (
        "Alias",
        "AsStrided",
        "Diagonal",
        "Expand",
        "Permute",
        "Reshape",
        "ReshapeAlias",
        "Select",
        "Slice",
        "Split",
        "SplitWithSizes",
        "Squeeze",
        "T",
        "Transpose",
        "Unbind",
        "Unfold",
        "UnsafeView",
        "Unsqueeze",
        "View",
    )
)
"""Operations that give views: what torch tells after an edit of the tensor that was viewed."""
_STEPS = 50  # of the history of an edited tensor that is looked through
_NODES = 20_000
_SHORT = 60  # of code in a remedy
_WIDEST = 160  # of a line that is quoted
_OF_GRAD = re.compile(r"(?:autograd\.|(?<![\w.]))grad\s*\(")


class Scene:
    """Where an error was raised: the user's innermost frame, its names, and the line."""

    def __init__(self, error: BaseException, scope: Scope) -> None:
        self.text = str(error)
        self._frame, self._line, self._column = _user_frame(error)
        self.scope = Scope.of_frame(self._frame) if self._frame is not None else scope
        if self._frame is not None:
            self.scope.tensors += scope.tensors
            self.scope.modules += scope.modules
            self.scope.spot = Spot.of(self._frame, self._line)
        self.match: re.Match[str] | None = None
        self.through: list[str] = []  # names in a freed graph that may be older than the loss
        self.before: list[str] = []  # those computed before the loop, by the text

    @cached_property
    def place(self) -> str:
        """Where it was raised: "cell 3, line 2"; "" unknown."""
        return "" if self._frame is None else place_of(self._frame.f_code.co_filename, self._line)

    @cached_property
    def code(self) -> str:
        """The source line."""
        if self._frame is None:
            return ""
        return linecache.getline(self._frame.f_code.co_filename, self._line).strip()

    def group(self, name: str) -> str:
        return (self.match.groupdict().get(name) or "") if self.match is not None else ""

    @cached_property
    def call(self) -> PassCall | None:
        """The call that ran the pass, read from the source."""
        if self._frame is None:
            return None
        index = re.search(r"element (\d+) of tensors", self.text)
        return pass_call(self._frame.f_code.co_filename, self._line, self._column, int(index[1]) if index else 0)

    @cached_property
    def target(self) -> str:
        """The expression on which backward() was called, or which `autograd.grad` was given; "" unknown."""
        if self.call is not None:
            return self.call.subject
        found = _TARGET.search(self.code)
        return "" if found is None else (found[1] or found[2] or "").removeprefix("(")

    @cached_property
    def loss(self) -> str:
        """The output in a sentence."""
        if not self.target:
            return (self.scope.name_of(self.head) if self.head is not None else "") or "the output"
        return self.target if _NAME.fullmatch(self.target) else f"`{self.target}`"

    @cached_property
    def output(self) -> str:
        """The output in code, as an argument."""
        return self.target or self.operand

    @cached_property
    def operand(self) -> str:
        """The output in code, before a dot."""
        named = (self.call.operand if self.call is not None else "") or self.target
        return named or (self.scope.name_of(self.head) if self.head is not None else "") or "loss"

    def tensor(self, name: str) -> torch.Tensor | None:
        return next((t for n, t in self.scope.tensors if n == name), None)

    @cached_property
    def target_tensor(self) -> torch.Tensor | None:
        return self.tensor(self.target)

    @cached_property
    def head(self) -> torch.Tensor | None:
        """The target, or `y` of `y.sum().backward()`."""
        if self.call is not None:
            return self.tensor(self.target) if self.target_tensor is not None else self.tensor(self.call.head)
        found = _HEAD.search(self.code)
        return self.target_tensor if self.target_tensor is not None or found is None else self.tensor(found[1])

    @cached_property
    def name_of_head(self) -> str:
        if self.call is not None and self.target_tensor is None:
            return self.call.head
        return self.target or self.scope.name_of(self.head)

    @cached_property
    def rootless(self) -> str:
        """What has no graph: the name under the methods, if that has none already."""
        return self.name_of_head if self.head is not None and not tracked(self.head) else self.loss

    @cached_property
    def inputs(self) -> str:
        """What `autograd.grad` was asked for, in code."""
        inputs = self.call.inputs if self.call is not None else ()
        return inputs[0] if len(inputs) == 1 and inputs[0] else "inputs" if not inputs else f"[{', '.join(inputs)}]"

    @cached_property
    def asked_of_grad(self) -> tuple[torch.Tensor, torch.Tensor, str] | None:
        """Output, input and the input's name, where the line is `grad(loss, w)` with names that are known."""
        found = _GRAD.search(self.code)
        if self.call is not None:
            first, inputs = self.call.subject, list(self.call.inputs)
        elif found is not None:
            first, inputs = found[1], [name.strip() for name in found[2].split(",")]
        else:
            return None
        index = re.search(r"at index (\d+)", self.text)
        at = int(index[1]) if index else 0
        name = inputs[at] if at < len(inputs) else ""
        output, wanted = self.tensor(first), self.tensor(name)
        return None if output is None or wanted is None else (output, wanted, name)

    @cached_property
    def wanted(self) -> str:
        """The name of the one input of a `grad(...)` line with any output, "" unknown."""
        if self.call is not None:
            name = self.call.inputs[0] if len(self.call.inputs) == 1 else ""
            return name if self.tensor(name) is not None else ""
        found = re.search(r"grad\(.*,\s*[\[(]?([A-Za-z_]\w*)[\])]?\s*\)", self.code)
        return found[1] if found is not None and self.tensor(found[1]) is not None else ""

    @cached_property
    def edited(self) -> str:
        """The name that the raising line changes in place, "" unknown."""
        names = [found[1] or found[2] or found[3] for found in _EDITED.finditer(self.code)]
        return next((name for name in names if self.tensor(name) is not None), next(iter(names), ""))

    @cached_property
    @unobserved()
    def inferred(self) -> str:
        """The name on the raising line of a tensor made under `inference_mode`."""
        named = [(n, t) for n, t in self.scope.tensors if re.search(rf"(?<![\w.]){re.escape(n)}\b", self.code)]
        return next((name for name, tensor in named if tensor.is_inference()), "A tensor")

    @cached_property
    def leaf(self) -> str:
        return self.edited or "a leaf"

    @cached_property
    def leaf_remedy(self) -> str:
        """How the edit of the raising line is made, by its text."""
        node = None
        if self._frame is not None:
            node = statement(self._frame.f_code.co_filename, self._line, self._column)
        call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
        method = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
        adds = isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub))
        if adds or method in ("add_", "sub_"):
            return (
                f"Do updates inside `with torch.no_grad(): {self.leaf} -= lr * {self.leaf}.grad`, else use the "
                "out-of-place form."
            )
        edit = ast.unparse(node) if isinstance(node, (ast.Expr, ast.AugAssign)) else ""
        code = edit if 0 < len(edit) <= _SHORT else "..."
        plain = method.rstrip("_")
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and hasattr(torch.Tensor, plain):
            call.func.attr = plain
            other = f"use the out-of-place form: `y = {ast.unparse(call)}`"
        elif isinstance(node, ast.AugAssign):
            other = "use the out-of-place form"
        else:
            other = f"do it on a copy: `y = {self.edited or 'x'}.clone()`"
        return (
            f"Do it inside of `no_grad` if it only sets values: `with torch.no_grad(): {code}`; if it belongs to the "
            f"computation, {other}."
        )

    @cached_property
    def view(self) -> str:
        return self.edited or "a view"

    @cached_property
    def view_of_leaf(self) -> str:
        tensor = self.tensor(self.edited)
        if _is_leaf(tensor):
            return f"A part of {self.edited} is a view of a leaf that requires a gradient, of {self.edited} itself"
        return f"{self.view} is a view of a leaf that requires a gradient"

    @cached_property
    def without_grad(self) -> str:
        """The name before `.grad` on the raising line, where that gradient is None."""
        names = re.findall(r"([A-Za-z_][\w.]*?)\.grad\b", self.code)
        return next((n for n in names if (t := self.tensor(n)) is not None and _told.grad_of(t) is None), "")

    @cached_property
    def who(self) -> str:
        found = _WHO.search(self.code)
        return "the tensor" if found is None else found[1]

    @cached_property
    @unobserved()
    def stale(self) -> tuple[str, str]:
        """The view made under `no_grad` that torch refuses, and what it is a view of; "" unknown."""
        own = self.tensor(self.edited) if "is being modified" in self.text else None
        on_line = [(n, t) for n, t in self.scope.tensors if re.search(rf"(?<![\w.]){re.escape(n)}(?!\w)", self.code)]
        for name, tensor in [*on_line, *self.scope.tensors]:
            base = tensor._base
            if base is not None and (tensor is own if own is not None else _refused(tensor)):
                return name, self.scope.name_of(base)
        return (self.edited if own is not None else ""), ""

    @cached_property
    def stale_view(self) -> str:
        """What was changed, in a sentence."""
        view, base = self.stale
        other = base or ("the tensor that it is a view of" if view else "that other one")
        changed = "it is" if "is being modified" in self.text else f"{other} (or another view of it) was"
        return f"{view or 'A tensor'} was made under `no_grad` as a view of {base or 'another'}, and {changed} changed"

    @cached_property
    def stale_edits(self) -> list[str]:
        _, base = self.stale
        return self.edits_of([base]) if base and "is being modified" not in self.text else []

    @cached_property
    def stale_remedy(self) -> str:
        view, base = self.stale
        return f"Make {view or 'the view'} outside of `no_grad`, or change {base or 'its base'} inside of it"

    @cached_property
    def form(self) -> str:
        return "" if self.target_tensor is None else form_of(self.target_tensor).text

    @cached_property
    def shape(self) -> str:
        if self.target_tensor is None:
            return ""
        return f" (its shape is {tuple(form_of(self.target_tensor).shape or ())})"

    @cached_property
    def by_grad(self) -> bool:
        """Whether the line calls `autograd.grad`, which writes no `.grad`."""
        if self.call is not None:
            return self.call.by_grad
        return bool(_OF_GRAD.search(self.code)) and ".backward(" not in self.code

    @cached_property
    def no_create_graph(self) -> str:
        """The call that asked `autograd.grad` for a gradient without a history, as a sentence."""
        spot = Spot.of(self._frame, self._line)
        if self.call is None or self.target_tensor is not None:
            return without_history(spot, self.target)
        told = [without_history(spot, name) for name in self.call.names]
        return next((one for one in told if one.startswith(BY_TEXT)), without_history(spot, self.call.head))

    # --- in-place edits ------------------------------------------------------------------------------------------

    @cached_property
    def op(self) -> str:
        """The operation whose output was changed, "" for a leaf."""
        return _op_of(self.group("op"))

    @cached_property
    def size(self) -> tuple[int, ...]:
        """The shape that the error tells."""
        return tuple(int(n) for n in re.findall(r"\d+", self.group("shape")))

    @cached_property
    @unobserved()
    def modified(self) -> list[str]:
        """Names of tensors at the version that the error tells that can be what it tells of: the surest kind."""
        now = int(self.group("now") or -1)
        edits = max(1, min(now - int(self.group("saved") or 0), _STEPS))
        ranked: dict[int, dict[str, None]] = {}
        for name, tensor in self.scope.tensors:
            form = form_of(tensor).shape
            if form is None or version_of(tensor) != now:
                continue
            rank = self._rank(tensor, tuple(form), edits)
            if rank:
                ranked.setdefault(rank, {})[name] = None
        return list(ranked[min(ranked)]) if ranked else []

    def _rank(self, tensor: torch.Tensor, form: tuple[Any, ...], edits: int) -> int:
        """How well a tensor fits what was changed: 0 not at all, 1 the best."""
        made = _history(tensor, edits)
        if not self.op:  # nothing computed it
            return 1 if form == self.size and not made else 0
        if form == self.size and self.op in made:
            return 1
        if self.op not in _VIEWS:
            return 0
        if made[:1] == ["CopySlices"] and _is_part(self.size, form):
            return 2
        if made or (not tracked(tensor) and tensor._base is None):
            return 0
        if form in (self.size, self.size[::-1]):  # a weight is saved transposed
            return 3
        return 4 if _is_part(self.size, form) else 0

    @cached_property
    @unobserved()
    def buffer(self) -> str:
        """The tensor that was filled part by part, while parts of it were saved; "" if it was another edit."""
        name = self.modified[0] if self.modified and self.op in _VIEWS else ""
        tensor = self.tensor(name)
        return name if tensor is not None and _history(tensor, 0) == ["CopySlices"] else ""

    @cached_property
    def victim(self) -> str:
        """The tensor that was changed, in words."""
        if self.modified:
            return " or ".join(self.modified[:3])
        shape = self.group("shape")
        if self.op in _VIEWS:
            return f"a view (a row, a slice, a transpose) of shape ({shape})"
        return f"a tensor of shape ({shape})" if self.match is not None and self.match.groupdict() else "a tensor"

    @cached_property
    def layers(self) -> tuple[list[str], bool]:
        """Layers in scope that work in place, or those that follow what the error tells of; whether it is those."""
        found: dict[str, str] = {}
        after: dict[str, str] = {}
        for path, module in self.scope.modules:
            inside = object.__getattribute__(module, "__dict__")
            if inside.get("inplace") is True:
                found.setdefault(path, f"{path} is {type(module).__name__}(inplace=True)")
            before = ""
            if issubclass(type(module), torch.nn.Sequential):
                for key, child in (inside.get("_modules") or {}).items():
                    here = object.__getattribute__(child, "__dict__") if child is not None else {}
                    if here.get("inplace") is True and before.lower() == self.op.lower():
                        name = f"{path}.{key}"
                        after.setdefault(name, f"{name} is {type(child).__name__}(inplace=True)")
                    before = type(child).__name__
        return list((after or found).values()), bool(after)

    @cached_property
    def code_name(self) -> str:
        return self.modified[0] if self.modified else "x"

    @cached_property
    def output_of(self) -> str:
        """Which operation had made it; an in-place layer after that is the usual culprit."""
        if not self.op:
            return ""
        inplace = not self.modified and self.op not in _VIEWS
        return f"it was the output of {self.op}{': look for `inplace=True` in the layers after it' if inplace else ''}"

    @cached_property
    def saved_by(self) -> str:
        """The operations that had saved it."""
        here = self._graph()
        if here is None:
            return ""
        found = []
        for key, node in enumerate((here.nodes() or [])[:_NODES]):
            for reading in _saved.read(node):
                if reading.state == "modified":
                    source = here.sources.get(key, "")
                    found.append(f"{here.label_of(key)} saved it as {reading.name}{f' ({source})' if source else ''}")
        here.let_go()
        return "; ".join(found[:3])

    @cached_property
    def edits(self) -> list[str]:
        """Source lines that look as if they changed it in place."""
        return self.edits_of([*self.modified[:3], *self.viewed])

    @cached_property
    @unobserved()
    def viewed(self) -> list[str]:
        """What the first tensor that was changed is a view of, if that has a name."""
        tensor = self.tensor(self.modified[0]) if self.modified else None
        base = self.scope.name_of(tensor._base) if tensor is not None and tensor._base is not None else ""
        return [base] if base else []

    @cached_property
    def view_of(self) -> str:
        return f"{self.modified[0]} is a view of {self.viewed[0]}" if self.viewed else ""

    def edits_of(self, names: list[str]) -> list[str]:
        """Source lines that look as if they changed one of some names in place."""
        found = []
        for name in names:
            last = re.escape(name.rpartition(".")[2] if "." in name else name)
            pattern = re.compile(
                rf"(?<![\w]){last}(?:\[[^\]]*\])*\s*(?:[-+*/@]|\*\*|//)=(?!=)|(?<![\w]){last}(?:\[[^\]]*\])+\s*=(?!=)"
                rf"|(?<![\w]){last}(?:\[[^\]]*\])*(?:\.data)?\.[a-z]\w*_\("
            )
            steps = issubclass(type(self.tensor(name)), torch.nn.Parameter)
            for place, line in self._lines():
                if pattern.search(line) or (steps and re.search(r"\.step\(\)", line)):
                    found.append(f"{place}: `{line.strip()}`")
        return list(dict.fromkeys(found))[-3:]

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The other lines of the frame and the cells."""
        if self._frame is None:
            return
        code = self._frame.f_code
        for file in files_of(code):
            first, last = lines_of(code) if file == code.co_filename else (1, 1 << 30)
            for number, line in enumerate(linecache.getlines(file), 1):
                if first <= number <= last and (file, number) != (code.co_filename, self._line):
                    yield place_of(file, number), line

    # --- the graph -----------------------------------------------------------------------------------------------

    def _graph(self) -> Inspection | None:
        """The graph of what the names in scope lead to, the output first."""
        starts: dict[int, torch.Tensor] = {}
        first = [self.head] if self.head is not None else []
        for tensor in [*first, *(t for _, t in self.scope.tensors)]:
            with unobserved():
                if tracked(tensor) and tensor.grad_fn is not None:
                    starts.setdefault(id(tensor), tensor)
        if not starts:
            return None
        return Inspection(
            tuple(list(starts.values())[:300]),
            names=dict(self.scope.tensors),
            watch=False,
            keep="all",
            look=False,
        )

    @cached_property
    def freed(self) -> str:
        """Which part of the graph was freed, and by what, as far as names tell."""
        here = self._graph()
        target = self.head
        if here is None:
            return ""
        used = [target] if target is not None else [self.tensor(n) for n in (self.call.names if self.call else ())]
        starts = [place for one in used if one is not None and (place := here.find_tensor(one)) is not None]
        nodes = here.nodes() or []
        below = set().union(*(_below(here, key) for key, _ in starts))
        states = {k: {r.state for r in _saved.read(nodes[k])} for k in sorted(below)[:_NODES]}
        gone = {k for k, state in states.items() if "freed" in state}
        kept = {k for k, state in states.items() if "value" in state}
        roots = []
        for place in here.columns.outputs:
            name = here.name_of(place)
            if place not in starts and name and not here.edges.consumers[place[0]] and _below(here, place[0]) & gone:
                roots.append(name)
        through: dict[int, str] = {}
        for name, tensor in self.scope.tensors:
            found = None if tensor is self.target_tensor else here.find_tensor(tensor)
            if found is not None and found[0] in below and _below(here, found[0]) & gone:
                through.setdefault(id(tensor), name)
        here.let_go()
        if not gone:
            return ""
        older, self.before = self._by_loop(list(dict.fromkeys(through.values())))
        if self.before:
            self.through = older
            names = " and ".join(self.before[:3])
            was, its = ("was", "its") if len(self.before) == 1 else ("were", "their")
            return (
                f"{names} {was} computed before the loop, and each iteration goes through {its} part of the graph "
                f"again, which the first pass has freed."
            )
        if target is None:
            return ""
        parts = [here.names_of(k)[0] for k in sorted(gone) if here.names_of(k)]
        named = f" ({', '.join(parts[:3])})" if parts else ""
        if roots:
            return (
                f"The part{named} that {self.loss} shares with {' and '.join(roots[:3])} was freed by that one's pass."
            )
        if kept:
            self.through = older if self.loop is not None else []
            return (
                f"Only a part{named} is freed: it belongs to an earlier iteration, as a hidden state that is "
                f"carried over "
                "without `detach()`."
            )
        self.through = older
        told = f"All of it is freed: either backward() ran on {self.loss} before, or it builds on an earlier iteration"
        if self.through:
            return (
                f"{told} by way of {' or '.join(self.through[:3])}: computed before the loop, or a hidden state that "
                "is carried over without `detach()`."
            )
        return f"{told}, as by a hidden state that is carried over without `detach()`."

    def _by_loop(self, names: list[str]) -> tuple[list[str], list[str]]:
        """Of tensors in a freed graph those that can be older than this iteration, and those that are by the text."""
        loop = self.loop
        if loop is None:
            return names, []
        roots = {name: re.split(r"[.\[]", name)[0] for name in names}
        before = [n for n in names if "." not in n and roots[n] not in loop.given]
        older = [n for n in names if n in before or "." in n or roots[n] in loop.carried]
        return older, before

    @cached_property
    def loop(self) -> Loop | None:
        return None if self._frame is None else loop_around(self._frame.f_code.co_filename, self._line)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """What the failed pass has written, where a widget has watched it."""
        if self.by_grad:
            return ()
        for one in list(_inspect.alive.values())[::-1]:
            last = one.passes[-1] if one.passes else None
            target = self.target_tensor
            if last is None or last.state != "failed" or (target is not None and one.find_tensor(target) is None):
                continue
            leaves = [k for k in last.order if one.kind_of(k) == "leaf" and last.reached(k)]
            names = [f"{one.label_of(k)}.grad" for k in leaves if _told.grad_of(one.tensor((k, 0))) is not None]
            if names:
                return (f"before it failed it had written {', '.join(names[:5])}",)
            return ("it failed before any .grad was written",)
        return ("leaves that were reached before it failed have their .grad written already",)

    @cached_property
    def frozen(self) -> str:
        """Whether every parameter in scope is frozen, as a sentence."""
        all_of = [t for _, t in self.scope.tensors if issubclass(type(t), torch.nn.Parameter)]
        if all_of and not any(t.requires_grad for t in all_of):
            return f" All {len(all_of)} parameters in scope are frozen (requires_grad=False)."
        return ""


class ErrorLeaf(NamedTuple):
    """One kind of error: a pattern of torch's message, and its words, in which `{s.loss}` stands for a fact."""

    kind: str
    pattern: str
    cause: str
    remedy: str
    evidence: tuple[str, ...] = ()
    more: Callable[[Scene], tuple[str, ...]] | None = None


ERRORS: tuple[ErrorLeaf, ...] = (
    ErrorLeaf(
        "inplace-modified",
        r"modified by an inplace operation",
        "{s.victim} was changed in place after an operation had saved it for backward: its value is at version "
        "{now}, and "
        "version {saved} was saved.",
        "Use the out-of-place form (`{s.code_name} = {s.code_name} + 1` instead of `+=`), or save a copy: "
        "`{s.code_name}.clone()` before the change.",
        ("version {now}, saved at {saved}", "{s.output_of}", "{s.view_of}", "{s.saved_by}"),
        lambda s: (*(f"changed in {edit}" for edit in s.edits), *s.written),
    ),
    ErrorLeaf(
        "no-grad-view-modified",
        r"view was created in no_grad mode",
        "{s.stale_view} in place with gradients on: autograd does not know whether the change is to be differentiated.",
        "{s.stale_remedy}: `with torch.no_grad(): ...`.",
        (),
        lambda s: tuple(f"changed in {edit}" for edit in s.stale_edits),
    ),
    ErrorLeaf(
        "inference-view",
        r"view was created in inference mode",
        "{s.view} is a view made under `inference_mode`, and it or its base was changed in place with gradients on.",
        "Make the view outside of `inference_mode`.",
    ),
    ErrorLeaf(
        "function-view-modified",
        r"(?P<which>Output \d+ of \w+) is a view and .*created inside a custom Function",
        "{which} is a view that a custom Function has returned (or an input returned as it is), and {s.view} is "
        "changed in "
        "place: that would bypass the Function's `backward`.",
        "Clone it first: `{s.view} = {s.view}.clone()`, or return a copy from `forward`.",
    ),
    ErrorLeaf(
        "multi-view-modified",
        r"(?P<which>Output \d+ of \w+) is a view and (?:is being|its base)",
        "{which} is one of several views of one tensor (`unbind`, `split`, `chunk`, or iterating over a tensor), and "
        "{s.view} is changed in place: autograd does not allow that.",
        "Use the out-of-place form, or index instead: `t[0]` is a view that may be changed.",
    ),
    ErrorLeaf(
        "leaf-view-inplace",
        r"a view of a leaf Variable that requires grad is being used in an in-place operation",
        "{s.view_of_leaf}, and it is changed in place: the leaf's first value would be lost.",
        "Do it inside `with torch.no_grad():` if it is an update or an initialization, else on a copy: `x = "
        "x.clone()`.",
    ),
    ErrorLeaf(
        "leaf-inplace",
        r"a leaf Variable that requires grad (?:is being used in an in-place operation|has been moved)",
        "{s.leaf} is a leaf that requires a gradient, and it is changed in place: backward would not know its "
        "first value.",
        "{s.leaf_remedy}",
    ),
    ErrorLeaf(
        "second-backward",
        r"backward through the graph a second time|after they have already been freed|have already been freed",
        "The graph behind {s.loss} was freed by an earlier pass: `backward()` frees what it has used. {s.freed}",
        "Add the losses and call `backward()` once: `(loss1 + loss2).backward()`; or `retain_graph=True` in the first "
        "call; in a loop, `h = h.detach()` between iterations.",
        ("what was saved for backward has been freed",),
        lambda s: s.written,
    ),
    ErrorLeaf(
        "no-graph",
        r"does not require grad and does not have a grad_fn",
        "{s.rootless} has no graph.{s.frozen}",
        "Compute {s.rootless} from tensors with requires_grad=True, outside of `no_grad`, without `.item()`, "
        "`detach()`, numpy "
        "or `argmax` on the way.",
        ("{s.rootless}.grad_fn is None",),
    ),
    ErrorLeaf(
        "complex-output",
        r"only for real scalar outputs but got torch\.(?P<got>\w+)",
        "`backward()` without an argument wants one real number, and {s.loss} is complex ({got}).",
        "Make it real first: `{s.operand}.abs()` or `{s.operand}.real`.",
    ),
    ErrorLeaf(
        "not-scalar",
        r"grad can be implicitly created only for (?:scalar|real scalar) outputs",
        "`backward()` without an argument wants one real number, and {s.loss} has more elements{s.shape}.",
        "Reduce it first: `{s.operand}.sum().backward()` or `.mean()`; or say how its elements count: "
        "`{s.operand}.backward(torch.ones_like({s.output}))`.",
        ("{s.form}",),
    ),
    ErrorLeaf(
        "seed-shape",
        r"Mismatch in shape: grad_output",
        "The gradient given to `backward()` has another shape than {s.loss}{s.shape}.",
        "Give one of the same shape: `torch.ones_like({s.output})`.",
    ),
    ErrorLeaf(
        "unused-input",
        r"appears? to not have been used in the graph",
        "`autograd.grad()` was asked for a tensor on which the output does not depend: it was not used, or the "
        "graph is cut "
        "on the way.",
        "Ask `gw.why(x, loss)` where the graph is cut; or pass `allow_unused=True`, which returns None for it.",
    ),
    ErrorLeaf(
        "untracked-input",
        r"differentiated Tensors does not require grad",
        "`autograd.grad()` was asked for a tensor with requires_grad=False.",
        "Set `x.requires_grad_()` before the forward pass; `gw.why(x)` tells what made it.",
    ),
    ErrorLeaf(
        "uninitialized",
        r"uninitialized (?:parameter|buffer)|UninitializedParameter",
        "A lazy module has no shapes and no numbers before its first forward pass, and they were asked for.",
        "Run one batch through the module first: `model(x)`; after that its parameters are ordinary ones.",
    ),
    ErrorLeaf(
        "inference-saved",
        r"Inference tensors cannot be saved for backward",
        "A tensor made under `inference_mode` takes part in a computation that needs gradients.",
        "Make it outside of `inference_mode` (use `no_grad` there), or use a copy: `x = x.clone()`.",
    ),
    ErrorLeaf(
        "inference-edit",
        r"(?:Inplace update to|requires_grad=True on) inference tensor|inference tensor outside InferenceMode",
        "{s.inferred} was made under `inference_mode`, and is changed or marked outside of it.",
        "Use a copy: `x = x.clone()`, or `no_grad` instead of `inference_mode`.",
    ),
    ErrorLeaf(
        "anomaly-nan",
        r"Function '(?P<op>\w+)' returned nan values in its (?P<slot>\d+)th output",
        "{op} is the first node of this pass whose gradient is NaN: what it received was finite.",
        "Guard its input: the derivative of sqrt, norm, log or a division at 0 is infinite, and 0 * inf is NaN. "
        "`gw.why(x, loss)` names the classic cause.",
        ("anomaly mode stopped at {op}, input {slot}",),
    ),
    ErrorLeaf(
        "gradient-shape",
        r"Function (?P<op>\w+) returned an invalid gradient at index (?P<slot>\d+) - (?P<rest>.*)",
        "{op} has returned a gradient that does not fit its input {slot}: {rest}.",
        "A custom Function must return gradients of the shape, dtype and device of its inputs; check its `backward`.",
    ),
    ErrorLeaf(
        "gradient-count",
        r"function (?P<op>\w+) returned an incorrect number of gradients \((?P<rest>[^)]*)\)",
        "The `backward` of {op} has returned another number of gradients than `forward` has inputs ({rest}).",
        "Return one value for each argument of `forward`, None where no gradient is needed.",
    ),
    ErrorLeaf(
        "grad-assigned",
        r"assign(?:ed)? a? ?grad",
        "A gradient of another shape, dtype or device was assigned to `.grad`.",
        "Give one that fits: `x.grad = g.to(x.dtype).reshape(x.shape)`.",
    ),
    ErrorLeaf(
        "device-mismatch",
        r"Expected all tensors to be on the same device|expected device|is on (?:cpu|cuda)",
        "Tensors on different devices met: a part of the module or the data was not moved.",
        "Move all of it: `model.to(device)` and `x.to(device)`; plain tensor attributes do not move, "
        "`register_buffer` them.",
    ),
    ErrorLeaf(
        "dtype-mismatch",
        r"Found dtype|expected scalar type|to have the same dtype|must have the same dtype|expected dtype",
        "Tensors of different dtypes met, in the forward pass or between a gradient and its tensor.",
        "Cast one of them before: `x.to(y.dtype)`; a float64 array from numpy is the usual source.",
    ),
    ErrorLeaf(
        "target-dtype",
        r"expected target dtype to be (?P<want>\w[\w ]*), but got (?P<got>\w+)|can't be cast to the desired output type"
        r"|expected scalar type Long but found",
        "The loss was given a target of another dtype than it takes.",
        "Class numbers are int64: `target.long()`; targets of `mse_loss` and `binary_cross_entropy` are floating "
        "point: `target.float()`.",
    ),
    ErrorLeaf(
        "shape-mismatch",
        r"shapes cannot be multiplied|must match the size of tensor|size mismatch|different to the input size",
        "Two shapes do not fit: {s.text}",
        "Print both `.shape` before this line; `view`, `squeeze`, `unsqueeze` or a layer of the right size mend it.",
    ),
    ErrorLeaf(
        "no-parameters",
        r"optimizer got an empty parameter list",
        "The optimizer was given no parameters: `.parameters()` finds only `nn.Parameter`s and modules that are "
        "attributes, not plain tensors and not layers in a list or dict.",
        "Use `nn.Parameter`, `nn.ModuleList` or `nn.ModuleDict`; a generator from `.parameters()` is used up after one "
        "pass: give it again.",
    ),
    ErrorLeaf(
        "optimizer-nontensor",
        r"optimizer can only optimize Tensors",
        "The optimizer was given something that is no tensor.",
        "Give tensors that are leaves with requires_grad=True: `[w, b]` or `model.parameters()`.",
    ),
    ErrorLeaf(
        "loss-no-tensor",
        r"'(?P<type>[\w.]+)' object has no attribute 'backward'",
        "`backward()` was called on a {type}, not on a tensor: a number from `.item()`, `float()` or numpy, or a "
        "container, has no graph.",
        "Add up the tensors themselves and call `.item()` only for printing; of a tuple or dict take the loss out.",
    ),
    ErrorLeaf(
        "grad-is-none",
        r"'NoneType' object has no attribute|unsupported operand type\(s\) for .*'NoneType'|NoneType.*not Tensor",
        "Something is None where a tensor was wanted.",
        "Call `backward()` before `.grad` is read; `gw.why(x)` tells why it is None.",
    ),
    ErrorLeaf(
        "no-backward",
        r"must implement either the backward or vjp method",
        "A custom Function has no `backward`.",
        "Write `@staticmethod def backward(ctx, grad)` in it: it returns one gradient for each argument of `forward`.",
    ),
    ErrorLeaf(
        "legacy-function",
        r"Legacy autograd function|Methods on autograd functions are all static",
        "A custom Function is written in the old way: its `forward` is no static method, or it is called as an object.",
        "Make `forward(ctx, ...)` and `backward(ctx, grad)` static methods, and call `MyFunction.apply(x)`.",
    ),
    ErrorLeaf(
        "data-dtype",
        r"data set to a tensor that requires gradients must be floating point",
        "Whole numbers were assigned to `.data` of a tensor that requires a gradient.",
        "Assign floating point numbers: `value.float()`; better, `with torch.no_grad(): w.copy_(value)`.",
    ),
    ErrorLeaf(
        "numpy-of-tracked",
        r"Can't call numpy\(\) on Tensor that requires grad",
        "{s.who} requires a gradient, and numpy would take its values out of the graph.",
        "Use `{s.who}.detach().numpy()` to look at it; to let the gradient pass, stay with torch functions.",
    ),
    ErrorLeaf(
        "integer-grad",
        r"[oO]nly Tensors of floating point",
        "{s.who} holds whole numbers or bools: only floating point and complex tensors have gradients.",
        "Make it floating point: `torch.tensor([1.0, 2.0], requires_grad=True)`, or `.float()`.",
    ),
    ErrorLeaf(
        "flag-of-nonleaf",
        r"only change requires_grad flags of leaf variables",
        "{s.who} was computed, so its requires_grad can't be turned off.",
        "Use `{s.who}.detach()`, which is a leaf without history.",
    ),
    ErrorLeaf(
        "optimizer-nonleaf",
        r"can't optimize a non-leaf Tensor",
        "An optimizer was given a computed tensor: it changes leaves only.",
        "Make the leaf last: `w = (0.1 * torch.randn(3)).requires_grad_()`, or give the tensors that it was computed "
        "from.",
    ),
    ErrorLeaf(
        "deepcopy",
        r"support the deepcopy protocol",
        "A tensor with a history was copied by `deepcopy`: only leaves can be. A module then holds a computed "
        "tensor as an "
        "attribute.",
        "Store `x.detach()` on the module, or use `x.clone()`.",
    ),
    ErrorLeaf(
        "hook-refused",
        r"retain_grad on Tensor that has requires_grad=False|register a hook on a tensor that doesn't require",
        "{s.who} needs no gradient, so none will come that could be kept or seen by a hook.",
        "Set requires_grad before the forward pass; `gw.why({s.who})` tells what made it.",
    ),
    ErrorLeaf(
        "no-derivative",
        r"derivative for '?(?P<op>[\w:]+)'? is not implemented|(?P<op2>aten::\w+).*not implemented",
        "The operation {op} has no derivative in torch.",
        "Use another operation, or write a `torch.autograd.Function` with a `backward`.",
    ),
    ErrorLeaf(
        "one-memory",
        r"more than one element of the written-to tensor refers to a single memory location",
        "{s.view} was expanded: several of its elements are one place in memory, so it can't be changed in place.",
        "Make a copy first: `x = x.clone()`.",
    ),
    ErrorLeaf(
        "ddp-unused",
        r"Expected to have finished reduction in the prior iteration",
        "Some parameters of the distributed module got no gradient in the last pass: an unused branch.",
        "Use them in the loss, or pass `find_unused_parameters=True`.",
    ),
)
"""Asked from the first to the last; the first whose pattern is in the message."""


def explain(error: BaseException, scope: Scope, about: About) -> Diagnosis:
    """The diagnosis of an error, or of the one that caused it."""
    for one in _chain(error):
        if isinstance(one, GradWidgetError):
            return Diagnosis("gradwidget-error", one.cause, one.remedy, (type(one).__name__,))
        text = str(one)
        for leaf in ERRORS:
            match = re.search(leaf.pattern, text)
            if match is not None:
                scene = Scene(one, scope)
                try:
                    return _told_of(leaf, match, scene, about)
                finally:
                    scene._frame = None
    first = (str(error).splitlines() or [""])[0][:200]
    return Diagnosis(
        "unknown-error",
        f"{type(error).__name__}{f': {first}' if first else ''}: no error of autograd that is known here.",
        "Read the last line of the traceback that is in your own code.",
        _where(Scene(error, scope)),
    )


def _told_of(leaf: ErrorLeaf, match: re.Match[str], scene: Scene, about: About) -> Diagnosis:
    scene.match = _INPLACE.search(scene.text) if leaf.kind == "inplace-modified" else match
    groups = {k: v or "" for k, v in (scene.match or match).groupdict().items()}
    groups = {"now": "?", "saved": "?", "op": groups.get("op2", ""), **{k: v for k, v in groups.items() if v}}

    def fill(text: str) -> str:
        return text.format(s=scene, **groups).strip()

    evidence = [fill(text) for text in leaf.evidence]
    evidence += leaf.more(scene) if leaf.more is not None else ()
    cause, remedy = fill(leaf.cause), fill(leaf.remedy)
    if leaf.kind == "inplace-modified":
        cause, remedy = _of_edit(scene, cause, remedy)
    if leaf.kind in ("unused-input", "untracked-input") and (asked := scene.asked_of_grad) is not None:
        inner = about(asked[1], (asked[0],), scene.scope, asked[2])
        cause, remedy = f"{cause} {inner.cause}", inner.remedy
        evidence += inner.evidence
    if leaf.kind == "grad-is-none" and (name := scene.without_grad):
        inner = about(scene.tensor(name), (), scene.scope, name)  # type: ignore[arg-type]
        cause, remedy = f"{name}.grad is None where this line wants a tensor. {inner.cause}", inner.remedy
        evidence += inner.evidence
    if leaf.kind == "no-graph" and scene.head is not None and not tracked(scene.head):
        inner = about(scene.head, (), scene.scope, scene.name_of_head)
        cause = f"{cause} {inner.cause}"
        if inner.kind != "untracked" or inner.remedy in (CREATE_GRAPH, CONSTANT) or scene.scope.mode:
            remedy = inner.remedy
        evidence += [fact for fact in inner.evidence if fact not in evidence]
    if leaf.kind == "no-graph" and scene.no_create_graph and remedy not in (CREATE_GRAPH, CONSTANT):
        cause += "" if scene.no_create_graph in cause else f" {scene.no_create_graph}"
        remedy += f" {remedy_for(scene.no_create_graph)}"
    if leaf.kind == "second-backward" and scene.through:
        remedy = _of_older(scene, remedy)
    if leaf.kind == "second-backward" and scene.by_grad:
        cause = cause.replace("`backward()` frees what it has used", "a pass frees what it has used")
        cause = cause.replace("either backward() ran", "either a pass ran")
        again = "Pass `retain_graph=True` to the first call, or ask for all inputs in one `autograd.grad` call."
        remedy = remedy.partition(" Else ")[0] + f" {again}" if scene.loop is not None and scene.through else again
    if leaf.kind == "not-scalar" and scene.by_grad:
        cause = cause.replace("`backward()` without an argument", "`autograd.grad()` without `grad_outputs`")
        remedy = (
            f"Reduce it first: `torch.autograd.grad({scene.operand}.sum(), {scene.inputs})`; or say how its elements "
            f"count: `grad_outputs=torch.ones_like({scene.output})`."
        )
    if leaf.kind == "unused-input" and scene.asked_of_grad is None and (name := scene.wanted):
        remedy = f"Look at how {name} should enter the output; or pass `allow_unused=True`, which returns None for it."
        cause = cause.replace("a tensor", name, 1)
    return worded(Diagnosis(leaf.kind, cause, remedy, tuple(filter(None, [*_where(scene), *evidence]))))


def _of_older(scene: Scene, remedy: str) -> str:
    """The remedy where something in scope may be older than the iteration that failed."""
    first = (scene.before or scene.through)[0]
    every = " and ".join(scene.before[:3]) or first
    if scene.loop is None:
        return f"{remedy[:-1]}; if {first} was computed before a loop, compute it inside of it."
    moved = f"if it was computed before the loop, compute {every} inside of it"
    cut = f"if {first} is a hidden state that is carried on, cut it: `{first} = {first}.detach()` between iterations"
    one, other = (f"Compute {every} inside of the loop", cut) if scene.before else (f"{cut[0].upper()}{cut[1:]}", moved)
    return (
        f"{one}; {other}. Else call `backward()` once, on the sum of the losses, or pass `retain_graph=True` in the "
        "first call."
    )


_PARTS = "Collect the parts in a list and join them at the end, `torch.stack(parts)`; or read a copy: "


def _of_edit(scene: Scene, cause: str, remedy: str) -> tuple[str, str]:
    """Cause and remedy of an edit in place, by what was edited."""
    if any(_is_leaf(scene.tensor(name)) for name in [*scene.modified, *scene.viewed]):
        if scene.edits and not any(".step()" in edit for edit in scene.edits):
            return cause, remedy
        return cause, (
            "Run all `backward()` calls before `optimizer.step()` (the usual cause), or run the forward pass "
            "again after it."
        )
    if scene.buffer:
        cause = cause.replace("had saved it for", "had saved a part of it for", 1)
        return cause, f"{_PARTS}`{scene.buffer}[i].clone()`."
    if scene.modified or not scene.op:
        return cause, remedy
    if scene.op in _VIEWS:
        return (
            cause,
            f"{_PARTS}`x[i].clone()`. If an optimizer stepped between forward and backward, let it step after.",
        )
    layers, after = scene.layers
    cause = cause.replace(" was changed in place", f", the output of {scene.op}, was changed in place", 1)
    if after:
        cause += f" What comes after it does that: {'; '.join(layers[:3])}."
    else:
        also = f" In place works here: {'; '.join(layers[:3])}." if layers else ""
        cause += f" What came after it did that: a layer with `inplace=True`, `+=` or `x[i] = ...`.{also}"
    where = f"in {layers[0].split(' ')[0]}" if after else f"in the layer after {scene.op}"
    return cause, (
        f"Set `inplace=False` {where}; in code of your own use the out-of-place form, `x = x + 1` instead of `+=`."
    )


def _op_of(name: str) -> str:
    return re.sub(r"Backward\d*$", "", name.rpartition("::")[2])


def _history(tensor: torch.Tensor, edits: int) -> list[str]:
    """The operation that gave a tensor, and those before its last edits in place; [] of a leaf."""
    try:
        node = tensor.grad_fn if tracked(tensor) else None
    except RuntimeError:  # a stale view
        return []
    found: list[str] = []
    while node is not None and len(found) <= edits:
        found.append(_op_of(node.name()))
        node = node.next_functions[0][0] if node.next_functions else None
    return found


def _refused(tensor: torch.Tensor) -> bool:
    """Whether torch refuses to tell a view's history: it was made under `no_grad` and its base was changed."""
    try:
        _ = tensor.grad_fn
    except RuntimeError:
        return True
    return False


def _is_part(part: tuple[int, ...], whole: tuple[Any, ...]) -> bool:
    """Whether indexing and slicing can give one shape from another."""
    sizes = iter(whole)
    return part != whole and all(any(size >= one for size in sizes) for one in part)


@unobserved()
def _is_leaf(tensor: torch.Tensor | None) -> bool:
    return tensor is not None and tracked(tensor) and tensor.grad_fn is None


def _where(scene: Scene) -> tuple[str, ...]:
    if not scene.place:
        return ()
    code = scene.code if len(scene.code) <= _WIDEST else f"{scene.code[:_WIDEST]}..."
    return (f"raised in {scene.place}: `{code}`" if code else f"raised in {scene.place}",)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _user_frame(error: BaseException) -> tuple[FrameType | None, int, int]:
    """The innermost frame of the traceback that is the user's, the line there, and the column, -1 unknown."""
    found: TracebackType | None = None
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename.replace("\\", "/")
        if not any(part in file for part in _LIBRARIES):
            found = step
        step = step.tb_next
    if found is None:
        return None, 0, -1
    column = None
    if sys.version_info >= (3, 11):
        positions = islice(found.tb_frame.f_code.co_positions(), found.tb_lasti // 2, None)
        column = next(positions, (None, None, None, None))[2]
    return found.tb_frame, found.tb_lineno, -1 if column is None else column


def _below(here: Inspection, key: int) -> set[int]:
    found = {key}
    waiting = [key]
    while waiting:
        for edge in here.edges.inputs[waiting.pop()]:
            target = here.columns.target[edge]
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found
