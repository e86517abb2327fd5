"""One node as the user sees it from Python."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import torch

from gradwidget._diagnosis import Diagnosis
from gradwidget._explain import explain
from gradwidget._inspect import Inspection
from gradwidget._passes import own, summary_of
from gradwidget._saved import Saved
from gradwidget._told import FunctionInfo, HookCapture, captures, function, grad_of, history_of, user_hooks
from gradwidget._userhooks import UserHook
from gradwidget._walk import Form, Op
from gradwidget._why import in_panel


class Why(str):
    """A diagnosis as text, "" where there is nothing to explain. `diagnosis` is None then."""

    __slots__ = ("diagnosis",)
    diagnosis: Diagnosis | None

    def __new__(cls, diagnosis: Diagnosis | None) -> Why:  # noqa: PYI034  # typing.Self needs Python 3.11
        made = super().__new__(cls, "" if diagnosis is None else f"{diagnosis.cause} {diagnosis.remedy}".strip())
        made.diagnosis = diagnosis
        return made

    @property
    def kind(self) -> str:
        """Short name of the situation."""
        return "" if self.diagnosis is None else self.diagnosis.kind

    @property
    def cause(self) -> str:
        """One or two sentences."""
        return "" if self.diagnosis is None else self.diagnosis.cause

    @property
    def remedy(self) -> str:
        """One sentence, with code between backticks."""
        return "" if self.diagnosis is None else self.diagnosis.remedy

    @property
    def evidence(self) -> tuple[str, ...]:
        """The facts it rests on."""
        return () if self.diagnosis is None else self.diagnosis.evidence


class NodeView:
    """One node of a graph; or one output of it, when it was looked up by that tensor's name.

    Everything is read when it is asked for, so that a view made before `backward()` shows the gradient after it.
    """

    __slots__ = ("_inspection", "_output", "key")

    def __init__(self, inspection: Inspection, key: int, output: int | None = None) -> None:
        self._inspection = inspection
        self._output = output
        self.key = key

    @property
    def _op(self) -> Op:
        columns = self._inspection.columns
        return columns.ops[columns.op[self.key]]

    @property
    def _forms(self) -> tuple[Form, ...]:
        return self._inspection.columns.forms_of(self.key)

    @property
    def _form(self) -> Form | None:
        forms = self._forms
        output = self._output or 0
        return forms[output] if output < len(forms) else None

    @property
    def op(self) -> str:
        """Torch's name of the backward function: "MulBackward0"."""
        return self._op.name

    @property
    def label(self) -> str:
        """The forward operation: "Mul"."""
        return self._op.label

    @property
    def kind(self) -> str:
        """One of "operation", "leaf", "function", "checkpoint", "compiled", "hook"."""
        return self._op.kind

    @property
    def name(self) -> str:
        """First name of the tensor, "" if it has none."""
        return next(iter(self.names), "")

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the tensor (of all the node's tensors, if it was looked up by number)."""
        if self._output is None:
            return self._inspection.names_of(self.key)
        return tuple(self._inspection.names.get((self.key, self._output), ()))

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the tensor that the node produced; None where it can't be said."""
        return None if self._form is None else self._form.shape

    @property
    def dtype(self) -> str:
        """Of the tensor: "float32"."""
        return "" if self._form is None else self._form.dtype

    @property
    def device(self) -> str:
        """Where the tensor lives: "cpu", "cuda:0"."""
        return "" if self._form is None else self._form.device

    @property
    def value(self) -> Any:
        """Forward value: a tensor of `shape`, None where it is unknown; a tuple of these for several outputs.

        A `Summary` where the tensor is gone and `record()` has kept only that.
        """
        return self._each(lambda output: own(self._inspection.value_or_summary((self.key, output))))

    @property
    def gradient(self) -> Any:
        """Gradient of the output with respect to the tensor, from the last pass that reached it.

        A tensor of `shape`, a `Summary` where only that was kept, None where none was captured (for a leaf, then,
        what its `.grad` holds); a tuple of these for several outputs. For a leaf it is what the pass added to `.grad`.
        """
        one = self._inspection.last_pass_with(self.key)
        if one is not None:
            found = one.at(self.key)
            return self._each(lambda output: own(found[output]) if output < len(found) else None)
        return self.grad if self.kind == "leaf" else self._each(lambda _: None)

    @property
    def gradients(self) -> tuple[Any, ...]:
        """Like `gradient`, one entry for each pass that reached the node, oldest first."""
        return tuple(
            self._each(lambda output, c=capture: own(c.gradients[output]) if output < len(c.gradients) else None)
            for capture in self.hooks
        )

    @property
    def grad(self) -> torch.Tensor | None:
        """What torch's own `.grad` holds now; None for tensors that are gone or never retain one."""
        tensor = self._inspection.tensor((self.key, self._output or 0))
        grad = own(grad_of(tensor))
        return grad if isinstance(grad, torch.Tensor) else None

    @property
    def history(self) -> list[float | None]:
        """2-norms of the gradient over the iterations that `w.refresh(loss)` went on to, newest last.

        At most the last 200 and the one now; None for an iteration without a gradient there. Empty before `refresh()`.
        """
        found = history_of(self._inspection, self.key)
        return [] if found is None else list(found[1])

    @property
    def saved(self) -> MappingProxyType[str, Saved]:
        """Saved variables by name, as they stand now."""
        return MappingProxyType(self._inspection.saved(self.key))

    @property
    def hooks(self) -> tuple[HookCapture, ...]:
        """What our hook on this node captured, one entry for each pass that reached it."""
        return captures(self._inspection, self.key, self._output or 0)

    @property
    def user_hooks(self) -> tuple[UserHook, ...]:
        """The user's own hooks on the tensor and the node, in the order in which they run."""
        return tuple(user_hooks(self._inspection, self.key))

    @property
    def function(self) -> FunctionInfo | None:
        """What is known of a user's `autograd.Function`; None for other nodes."""
        return function(self._inspection, self.key)

    def unpack(self, name: str) -> Saved:
        """Read a packed saved variable. This runs the hook that packed it, or a checkpoint's forward pass again.

        Raises:
            GraphGoneError: the graph was dropped.
            UnknownNodeError: the node has no saved variable of that name.
        """
        return self._inspection.unpack(self.key, name)

    @property
    def formula(self) -> str:
        """The chain rule at this node, a line for each input: "dL/da = dL/dd · b = 1.3 · 1.2 = 1.56".

        L is what backward() started from. Names are those of your variables, or v₁, v₂, ... as in `w.trace()`; numbers
        are put in where they are few. Of a leaf: how its gradient comes together from the operations that use it. "+="
        is one contribution of several. A sentence where no formula is known.
        """
        return explain(self._inspection, self.key).text

    @property
    def module(self) -> str:
        """Path of the module that made the node, below the root module; "" unknown.

        Exact under `record()` (there, for what the root module has made itself: the root's variable, or its type),
        else as the parameters tell that it uses or stands between.
        """
        return self._inspection.module_of(self.key)

    @property
    def source(self) -> str:
        """Source line that made the node ("model.py:41"); "" unknown.

        Known under `record()`, and under torch's anomaly mode.
        """
        return self._inspection.sources.get(self.key, "")

    @property
    def why(self) -> Why:
        """Why the gradient is as it is: text with `.kind`, `.cause`, `.remedy`, `.evidence`; "" if nothing is odd."""
        outputs = [self._output] if self._output is not None else range(max(1, len(self._forms)))
        memo: dict[Any, Any] = {}
        told = (in_panel(self._inspection, self.key, output, memo) for output in outputs)
        return Why(next(filter(None, told), None))

    def _each(self, of: Any) -> Any:
        if self._output is not None:
            return of(self._output)
        count = len(self._forms)
        return of(0) if count <= 1 else tuple(of(output) for output in range(count))

    def __repr__(self) -> str:
        form = self._form
        parts = [form.text if form is not None else "?"]
        if self._output is not None or len(self._forms) <= 1:
            value, gradient = summary_of(self.value), summary_of(self.gradient)
            if value is not None and value.text:
                parts.append(f"value {value.text}")
            if gradient is not None and gradient.text:
                parts.append(f"gradient {gradient.text}")
        head = " ".join(filter(None, (self.label, self.name)))
        return f"NodeView({self.key}: {head}, {', '.join(parts)})"
