"""A forward pass as it is made: which line, which module call and which value belong to a sequence number.

A function mode sees each operation of the thread, global module hooks see where modules begin and end. No node of
autograd's graph is touched: a wrapper once made is owned by its node, and freeing a deep chain of these kills the
process (torch >= 2.13). So everything is kept by sequence number, which counts the nodes that a thread makes.
Nothing that goes wrong here reaches the user's forward pass.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import math
import sys
import threading
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import torch
from torch.nn.modules import module as torch_modules
from torch.overrides import TorchFunctionMode

from gradwidget._ipython import place_of as line_name
from gradwidget._ipython import running_cell
from gradwidget._second import note_pass
from gradwidget._summary import copy_of, norm, readable

SMALL = 64
"""Elements up to which a value is kept whole; of bigger ones, the norm."""
HUGE = 1 << 24
"""Elements from which not even the norm is taken."""
VALUES = 50_000
"""Values that are kept of one thread; the newest stay."""
EVENTS = 300_000
"""Operations that are kept of one thread; the newest stay."""

THREADS = 100
"""Threads of which something is kept."""

_TORCH = str(Path(torch.__file__).parent) + "/"
_HERE = str(Path(__file__).parent) + "/"

_sequence: Callable[[], int] = vars(torch.autograd)["_get_sequence_nr"]
_task_id: Callable[[], int] = torch._C._current_graph_task_id
_PASSES = (torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward)
_functorch: Any = torch._C._functorch
_C: Any = torch._C


class Place(NamedTuple):
    """A source line as it was called while it ran."""

    filename: str
    line: int
    text: str  # "cell 3, line 2", "model.py:41"
    cell: int  # number of the cell that was running, 0 outside of a notebook


class Kept(NamedTuple):
    """What is kept of the value of one output."""

    shape: torch.Size
    dtype: torch.dtype
    device: torch.device
    whole: torch.Tensor | None
    norm: torch.Tensor | None


class Call(NamedTuple):
    """One call of a module."""

    module: weakref.ref[Any]
    root: weakref.ref[Any]  # the outermost module that was running
    path: str  # below that one, "" for itself
    type: str
    number: int  # of that module's calls in the recording, from 1
    parent: int  # number of the call in which it happened, -1 none


class Log:
    """What one thread has made while it was recorded, in the order of sequence numbers."""

    def __init__(self) -> None:
        self.begin = array("q")  # per operation: first sequence number,
        self.end = array("q")  # the one after its last,
        self.place = array("i")  # index into `places`, -1 unknown
        self.at = array("q")  # per boundary of a module: from this sequence number on
        self.call = array("i")  # this call is the innermost, -1 none
        self.calls: dict[int, Call] = {}
        self.places: list[Place] = []
        self.values: dict[int, dict[int, Kept]] = {}  # sequence number -> output -> value
        self.compiled: list[tuple[int, int]] = []
        self.last = _sequence()
        self.depth = 0
        self.aside = 0  # compiled regions that are running
        self.mode: _Mode | None = None
        self.stack: list[tuple[int, int]] = []  # call, and the sequence number at which it began
        self._next = itertools.count()
        self._interned: dict[tuple[str, int], int] = {}
        self._paths: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._counts: dict[int, tuple[weakref.ref[Any], Iterator[int]]] = {}
        self._cell: int | None = None  # before a cell is run, its number is not known

    # --- begin and end -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """From here on: line numbers of cells as they are called now, calls counted from 1."""
        self._cell = None
        self._interned, self._paths, self._counts = {}, {}, {}
        self.enter()

    def enter(self) -> None:
        self.last = _sequence()
        self._bound(-1)
        self.stack = []
        if self.mode is not None:  # a recording that was ended in another thread
            _pull(self.mode)
        self.mode = _Mode(self)
        _C._push_on_torch_function_stack(self.mode)

    def leave(self) -> None:
        mode, self.mode = self.mode, None
        self.stack = []
        if mode is not None:
            mode.active = False
            _pull(mode)
        if _sequence() >= self.last:
            self._bound(-1)

    # --- operations ----------------------------------------------------------------------------------------------

    def note(self, func: Any, before: int, after: int, result: Any, frame: FrameType | None) -> None:
        """An operation has made the nodes from `before` to `after`."""
        last, self.last = self.last, after
        if _task_id() != -1:  # a recomputation, or a hook of the user's
            return
        if before > last:
            self._note_gap(last, before, frame)
        before = max(before, last)
        if after > before:
            self._add(before, after, self.place_of(frame))
            if func in _PASSES:
                note_pass(before, after)
            if func is not torch.autograd.grad:  # what that returns need not come from its last node
                self._keep(after - 1, result)

    def note_compiled(self, before: int, after: int, place: int) -> None:
        """A compiled region has made these."""
        self.last = after
        if after > before:
            self._add(before, after, place)
            self.compiled.append((before, after))

    def _add(self, before: int, after: int, place: int) -> None:
        if self.place and self.place[-1] == place and self.end[-1] == before:
            self.end[-1] = after
            return
        if len(self.place) >= EVENTS:
            self._forget()
        self.begin.append(before)
        self.end.append(after)
        self.place.append(place)

    def _note_gap(self, last: int, before: int, frame: FrameType | None) -> None:
        """Nodes that no operation has made: of `Function.apply`, if this is the first operation in its forward."""
        places = []
        while frame is not None:
            code = frame.f_code
            if code.co_name == "apply" and code.co_filename == _FUNCTION_FILE:
                places.append(self.place_of(frame.f_back))
            frame = frame.f_back
        for i in range(min(len(places), before - last) - 1, -1, -1):  # the innermost is the youngest
            self._add(before - 1 - i, before - i, places[i])

    def place_of(self, frame: FrameType | None) -> int:
        """The innermost line outside of torch."""
        while frame is not None and _is_torch(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return -1
        key = (frame.f_code.co_filename, frame.f_lineno)
        found = self._interned.get(key)
        if found is None:
            if self._cell is None:
                self._cell = running_cell()
            found = self._interned[key] = len(self.places)
            self.places.append(Place(*key, line_name(*key), self._cell))
        return found

    def _keep(self, sequence: int, result: Any) -> None:
        """Remember the values of what an operation gave: they belong to the last node that it made."""
        if (
            _C._len_torch_dispatch_stack()
            or _C._get_tracing_state() is not None
            or _functorch.peek_interpreter_stack() is not None
        ):
            return
        if issubclass(type(result), torch.Tensor):
            tensors: Iterable[Any] = (result,)
        elif issubclass(type(result), tuple):
            tensors = tuple.__iter__(result)
        elif issubclass(type(result), list):
            tensors = list.__iter__(result)
        else:
            return
        found: dict[int, Kept] = {}
        was_enabled = torch.is_grad_enabled()
        with _C.DisableTorchFunction():
            _C._set_grad_enabled(False)
            try:
                for tensor in tensors:
                    if issubclass(type(tensor), torch.Tensor) and tensor.requires_grad:
                        output = tensor.output_nr
                        if output in found:  # of several nodes, then, and which is whose can't be told
                            return
                        found[output] = _kept(tensor)
            finally:
                _C._set_grad_enabled(was_enabled)
        if found:
            if len(self.values) >= VALUES:
                for old in list(itertools.islice(self.values, VALUES // 10)):
                    del self.values[old]
            self.values[sequence] = found

    # --- modules -------------------------------------------------------------------------------------------------

    def module_begins(self, module: Any) -> None:
        above = self.calls[self.stack[-1][0]] if self.stack else None
        reference = weakref.ref(module)
        root = module if above is None else above.root()
        counter = self._counts.get(id(module))
        if counter is None or counter[0]() is not module:
            counter = self._counts[id(module)] = (reference, itertools.count(1))
        call = next(self._next)
        self.calls[call] = Call(
            reference,
            reference if above is None else above.root,
            "" if root is module or root is None else self._path(module, root),
            type(module).__name__,
            next(counter[1]),
            self.stack[-1][0] if self.stack else -1,
        )
        self.stack.append((call, _sequence()))
        self._bound(call)

    def module_ends(self, module: Any) -> None:
        for i in range(len(self.stack) - 1, -1, -1):
            call, since = self.stack[i]
            if self.calls[call].module() is module:
                break
        else:
            return
        ended = self.stack[i:]
        del self.stack[i:]
        self._bound(self.stack[-1][0] if self.stack else -1)
        if since == _sequence():  # it has made no node
            for call, _ in ended:
                del self.calls[call]

    def _bound(self, call: int) -> None:
        now = _sequence()
        if self.at and self.at[-1] == now:
            self.call[-1] = call
        else:
            self.at.append(now)
            self.call.append(call)

    def _path(self, module: Any, root: Any) -> str:
        known = self._paths.get(id(module))
        if known is None or known[0]() is not module:
            self._paths |= {id(one): (weakref.ref(one), path) for path, one in submodules(root)}
            known = self._paths.get(id(module))
        return known[1] if known is not None and known[0]() is module else type(module).__name__

    def _forget(self) -> None:
        """Drop the older half."""
        first = self.begin[len(self.begin) // 2]
        half = bisect_left(self.begin, first)
        del self.begin[:half], self.end[:half], self.place[:half]
        before = max(0, bisect_right(self.at, first) - 1)
        del self.at[:before], self.call[:before]
        oldest = min((call for call in self.call if call >= 0), default=-1)
        needed = {call for call, _ in self.stack}
        above = self.calls[oldest].parent if oldest in self.calls else -1
        while above >= 0:
            needed.add(above)
            above = self.calls[above].parent
        self.calls = {n: call for n, call in self.calls.items() if n >= oldest or n in needed}
        self.values = {sequence: value for sequence, value in self.values.items() if sequence >= first}


_FUNCTION_FILE = torch.autograd.function.__file__

_inside_torch: dict[str, bool] = {}


def _is_torch(filename: str) -> bool:
    known = _inside_torch.get(filename)
    if known is None:
        known = _inside_torch[filename] = filename.startswith((_TORCH, _HERE, "<frozen"))
    return known


def submodules(root: Any) -> list[tuple[str, Any]]:
    """(path, module) of a module and all below it, each once. Reads `__dict__` only: the rest may be user code."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()
    stack = [("", root)]
    while stack:
        path, current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        found.append((path, current))
        children = object.__getattribute__(current, "__dict__").get("_modules") or {}
        stack.extend(
            (f"{path}.{name}" if path else name, child)
            for name, child in reversed(children.items())
            if issubclass(type(child), torch.nn.Module)
        )
    return found


def _kept(tensor: torch.Tensor) -> Kept:
    """To be called without gradients and torch functions."""
    shape, device = tensor.shape, tensor.device
    size = math.prod(shape)
    whole = length = None
    if size <= HUGE and not (device.type == "cuda" and torch.cuda.is_current_stream_capturing()):
        if type(tensor) is torch.Tensor and tensor.layout is torch.strided and not tensor.is_meta:
            plain: torch.Tensor | None = tensor
        else:
            plain, _ = readable(tensor)
        if plain is not None:
            if size <= SMALL:
                whole = copy_of(plain) if plain.is_conj() or plain.is_neg() else plain.clone()
            else:
                exact = plain.dtype in (torch.float32, torch.float64)
                length = torch.linalg.vector_norm(plain) if exact else norm(plain)
    return Kept(shape, tensor.dtype, device, whole, length)


class _Mode(TorchFunctionMode):
    """Sees each operation of one thread. Changes nothing."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log
        self.active = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = _sequence()
        result = func(*args, **kwargs) if kwargs else func(*args)
        if self.active:
            after = _sequence()
            if after != before or before != self.log.last:
                with contextlib.suppress(Exception):
                    self.log.note(func, before, after, result, sys._getframe(1))
        return result


def _pull(mode: TorchFunctionMode) -> None:
    """Take a mode off this thread's stack, wherever it stands there."""
    above = []
    for _ in range(_C._len_torch_function_stack()):
        top = _C._pop_torch_function_stack()
        if top is mode:
            break
        above.append(top)
    for one in reversed(above):
        _C._push_on_torch_function_stack(one)


# --- what is on while anybody records ----------------------------------------------------------------------------

_local = threading.local()
_lock = threading.RLock()
_logs: list[Log] = []


def logs() -> list[Log]:
    """What was recorded, one log a thread."""
    return _logs


def recording() -> bool:
    """Whether this thread is being recorded."""
    return _log_here() is not None


def _log_here() -> Log | None:
    log: Log | None = getattr(_local, "log", None)
    return log if log is not None and log.depth else None


def _own_log() -> Log:
    log: Log | None = getattr(_local, "log", None)
    if log is None:
        log = _local.log = Log()
        with _lock:
            _logs[:] = [one for one in _logs if one.depth or one.begin][-THREADS:]
            _logs.append(log)
    return log


def _module_begins(module: Any, _: Any) -> None:
    with contextlib.suppress(Exception):
        if _task_id() != -1:
            return
        log = _own_log()
        if not log.depth:  # a thread that was started inside: recorded while a module runs in it
            log.start()
            log.depth = 1
            _local.guest = True
        log.module_begins(module)


def _module_ends(module: Any, _: Any, __: Any) -> None:
    with contextlib.suppress(Exception):
        log = _log_here()
        if log is None or _task_id() != -1:
            return
        log.module_ends(module)
        if not log.stack and getattr(_local, "guest", False):
            log.depth = 0
            _local.guest = False
            log.leave()


class _Hooks:
    """Global module hooks: in place while anybody records, and no compiled region is running."""

    def __init__(self) -> None:
        self._open = 0
        self._aside = 0
        self._handles: list[Any] = []

    def open(self, by: int) -> None:
        """One recording more, or one less."""
        with _lock:
            first, self._open = not self._open, self._open + by
            if first:
                _compilers.watch()
            elif not self._open:
                _compilers.leave()
            self._settle()

    def aside(self, by: int) -> None:
        """One compiled region more, or one less."""
        with _lock:
            self._aside += by
            self._settle()

    def _settle(self) -> None:
        wanted = self._open > 0 and not self._aside
        if wanted and not self._handles:
            self._handles = [
                torch_modules.register_module_forward_pre_hook(_module_begins),
                torch_modules.register_module_forward_hook(_module_ends, always_call=True),
            ]
        while self._handles and not wanted:
            self._handles.pop().remove()


_hooks = _Hooks()


def _step_aside() -> Callable[[], None]:
    """A compiled region begins: a hook or a mode of ours would keep it from being compiled. Returns what ends that."""
    log = _log_here()
    _hooks.aside(1)
    if log is None:
        return functools.partial(_hooks.aside, -1)
    log.aside += 1
    if log.aside > 1 or log.mode is None:
        return functools.partial(_come_back, log, 0, -1)
    place = -1
    with contextlib.suppress(Exception):
        place = log.place_of(sys._getframe(1))
    _pull(log.mode)
    return functools.partial(_come_back, log, _sequence(), place)


def _come_back(log: Log, before: int, place: int) -> None:
    _hooks.aside(-1)
    log.aside -= 1
    if not log.aside and log.mode is not None:
        log.note_compiled(before, _sequence(), place)
        _C._push_on_torch_function_stack(log.mode)


class _Compilers:
    """Tells when a compiled region begins, by the list of hooks that dynamo itself keeps for that."""

    def __init__(self) -> None:
        self._context: Any = None
        self._compile: Any = None
        self._module: Any = None
        self._call: Any = None

    def watch(self) -> None:
        frames = sys.modules.get("torch._dynamo.eval_frame")
        if frames is None:
            self._compile = torch.compile
            torch.compile = self._import_first
            return
        context = getattr(frames, "_TorchDynamoContext", None)
        if context is not None and "enter_exit_hooks" not in vars(context):
            context.enter_exit_hooks = property(_enter_hooks, _set_enter_hooks)
            self._context = context
        module = getattr(frames, "OptimizedModule", None)
        if module is not None and "__call__" in vars(module):  # it would warn of our hooks
            self._module, self._call = module, module.__call__
            module.__call__ = functools.partialmethod(_call_compiled, module.__call__)

    def leave(self) -> None:
        if self._compile is not None:
            torch.compile, self._compile = self._compile, None
        if self._context is not None:
            del self._context.enter_exit_hooks
            self._context = None
        if self._module is not None:
            self._module.__call__ = self._call
            self._module = self._call = None

    def _import_first(self, *args: Any, **kwargs: Any) -> Any:
        """`torch.compile` where nothing has been compiled yet."""
        original = self._compile or torch.compile
        with _lock:
            if self._compile is not None:
                torch.compile, self._compile = self._compile, None
                importlib.import_module("torch._dynamo")  # takes seconds, so not before somebody compiles
                self.watch()
        return original(*args, **kwargs)


def _call_compiled(module: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
    _module_begins(module, None)
    come_back = _step_aside()
    try:
        return call(module, *args, **kwargs)
    finally:
        come_back()
        _module_ends(module, None, None)


def _enter_hooks(context: Any) -> list[Any]:
    own: list[Any] = context.__dict__["enter_exit_hooks"]
    return own if sys._getframe(1).f_code.co_name == "__init__" else [*own, _step_aside]


def _set_enter_hooks(context: Any, hooks: list[Any]) -> None:
    context.__dict__["enter_exit_hooks"] = hooks


_compilers = _Compilers()


class Recording:
    """What `record()` gives: remembers how nodes are made while it is open."""

    def __init__(self) -> None:
        self._log: Log | None = None

    def __enter__(self) -> Recording:  # noqa: PYI034  # typing.Self needs Python 3.11
        if self._log is not None:
            return self
        log = self._log = _own_log()
        _hooks.open(1)
        if not log.depth:
            log.start()
        log.depth += 1
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        log, self._log = self._log, None
        if log is None:
            return
        log.depth -= 1
        if not log.depth:
            log.leave()
        _hooks.open(-1)

    def __repr__(self) -> str:
        return f"record({'on' if self._log is not None else 'off'})"


def record() -> Recording:
    """Remember of each node made inside which line, which module call and which value it belongs to.

    A context manager. A widget or `backward_graph` made inside or afterwards shows them: `.source`, `.module`, and
    the values that autograd itself did not save. `%load_ext gradwidget` does the same for every cell of a notebook.

    Values of up to 64 elements are kept whole, of bigger ones the norm; no tensor of yours is kept alive. Nothing is
    recorded while `backward()` runs, nor inside of regions compiled by `torch.compile`, which run compiled. Slower
    than without by some 5 to 30 microseconds an operation. While it is open, warnings that torch gives from Python
    may name a line of torch in place of yours.
    """
    return Recording()


# --- %load_ext gradwidget ----------------------------------------------------------------------------------------


class _Extension:
    """Records every cell of one IPython shell."""

    def __init__(self) -> None:
        self.shell: Any = None
        self._running = 0  # cells: one may run another
        self._recording: Recording | None = None

    def load(self, shell: Any) -> None:
        if self.shell is None:
            self.shell = shell
            shell.events.register("pre_run_cell", self._begin)
            shell.events.register("post_run_cell", self._end)
            self._begin()  # what is left of this cell

    def unload(self, shell: Any) -> None:
        if self.shell is shell:
            self.shell = None
            shell.events.unregister("pre_run_cell", self._begin)
            shell.events.unregister("post_run_cell", self._end)
            self._running = 0
            self._stop()

    def _begin(self, *_: object) -> None:
        self._stop()
        self._running += 1
        self._recording = Recording()
        self._recording.__enter__()

    def _end(self, *_: object) -> None:
        self._stop()
        self._running = max(0, self._running - 1)
        if self._running:
            self._running -= 1
            self._begin()

    def _stop(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.__exit__(None, None, None)


_extension = _Extension()
load, unload = _extension.load, _extension.unload


def extension_on() -> bool:
    """Whether `%load_ext gradwidget` is in force."""
    return _extension.shell is not None
