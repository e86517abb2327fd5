"""The widget: traits and messages. What is known of torch's graph is in `_inspect`."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anywidget
import networkx as nx
import traitlets
from comm import DummyComm

from gradwidget import _details, _dot, _export, _static, _stored, _svg, _wire
from gradwidget._cells import CellRecord
from gradwidget._errors import GradWidgetError, OptionError, near
from gradwidget._files import write_whole
from gradwidget._folding import checked, refolded
from gradwidget._history import History
from gradwidget._html_page import html_page
from gradwidget._inspect import Inspection
from gradwidget._ipython import after_cell
from gradwidget._names import calling_frame
from gradwidget._passes import BackwardPass
from gradwidget._probe import probe
from gradwidget._quiz import TOLERANCE, Quiz, start
from gradwidget._told import end_iteration
from gradwidget._trace import Trace, trace
from gradwidget._view import NodeView

_BUNDLE = Path(__file__).parent / "static" / "widget.js"
_DIRECTIONS = ("right", "down")
_PAUSE = 0.25  # seconds between two updates of the page while a cell runs


class _Folding(traitlets.Any):
    allow_none = False  # None is refused like any other value, in words of ours


class GradWidget(anywidget.AnyWidget):
    """Shows the autograd graph behind tensors, live, in a notebook.

    Args:
        *outputs: tensors, `GradientEdge`s or nodes, or nested lists, tuples, dicts and dataclasses of them.
        names: a module, or a mapping name -> tensor or module. Names in the calling scope are found without it.
        watch: capture backward passes from now on.
        keep: how much of each captured gradient is kept. "auto": whole up to 64 MB, then only its norm; "all": whole,
            and the graph is kept alive; "summary": only norms, and the graph is never kept alive.
        height: of the figure, in pixels.
        direction: "right" or "down", the direction of the forward pass.

    Raises:
        OutputTypeError: nothing among the outputs is a tensor, an edge or a node.
        NoGraphError: no output has a graph.
        OptionError: an unknown keyword, or a value that a keyword can't have.
    """

    # As text: for a path anywidget would keep every widget alive, to tell it when the file changes.
    _esm = _BUNDLE if os.environ.get("ANYWIDGET_HMR") == "1" else _BUNDLE.read_text("utf-8")

    _graph = traitlets.Bytes().tag(sync=True)
    _live = traitlets.Bytes().tag(sync=True)
    _details = traitlets.Bytes().tag(sync=True)
    _references = traitlets.Bytes().tag(sync=True)
    _trace = traitlets.Bytes().tag(sync=True)
    _quiz: Any = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    _answers: Any = traitlets.Dict().tag(sync=True)
    selected = traitlets.Union([traitlets.Int(), traitlets.Unicode()], allow_none=True, default_value=None).tag(
        sync=True
    )
    step = traitlets.Int(allow_none=True, default_value=None).tag(sync=True)
    collapsed = _Folding(()).tag(sync=True)
    """Ids of the groups that are drawn as one box: a module's path, or as `collapsed` told them at first."""
    height = traitlets.Int(480).tag(sync=True)
    direction = traitlets.Enum(_DIRECTIONS, "right").tag(sync=True)

    def __new__(cls, *_: Any, **__: Any) -> GradWidget:  # noqa: PYI034
        made: GradWidget = super().__new__(cls)
        return made

    def __init__(
        self,
        *outputs: Any,
        names: object = None,
        watch: bool = True,
        keep: str = "auto",
        height: int = 480,
        direction: str = "right",
        **unknown: Any,
    ) -> None:
        _refuse(unknown)
        if direction not in _DIRECTIONS:
            raise OptionError(f"direction={direction!r} is unknown.", "Use 'right' or 'down'.")
        _refuse_height(height)
        self._keep = keep
        self._watch = watch
        self._redraw = False
        self._seen = 0  # passes that the page knows of
        self._sent = 0.0
        self._stale = False
        self._inspection = self._inspect(outputs, names)
        self._shown = _wire.shown(self._inspection, self._inspection.fold.first)
        super().__init__(
            _graph=_wire.pack(_wire.graph_payload(self._inspection)),
            _live=_wire.pack(_wire.live_payload(self._inspection, self._shown)),
            _details=_wire.pack(_details.details_payload(self._inspection, _details.AT_ONCE)),
            _references=_wire.pack(_wire.references_payload(self._inspection, _wire.NAMED)),
            collapsed=list(self._inspection.fold.first),
            _trace=self._traced(_details.AT_ONCE),
            height=height,
            direction=direction,
        )
        self.on_msg(answer)
        self._follow_cells()
        self._stale = len(self._inspection) > _details.AT_ONCE and after_cell(self)

    def _inspect(self, outputs: tuple[Any, ...], names: object, history: History | None = None) -> Inspection:
        return Inspection(
            outputs,
            names=names,
            frame=calling_frame(),
            watch=self._watch,
            keep=self._keep,
            history=history,
            changed=_weakly(self),
        )

    def _follow_cells(self) -> None:
        self._inspection.cells.tell = _weakly(self, cells=True)

    @property
    def cells(self) -> list[CellRecord]:
        """How the leaves' values and gradients stood after each cell that changed them.

        Only of cells that ran after `%load_ext gradwidget`; the first entry is the cell that made this widget.
        """
        return self._inspection.cells.records

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """A `networkx.MultiDiGraph` of plain data; edges point the way the gradient flows."""
        return self._inspection.graph

    @property
    def passes(self) -> list[BackwardPass]:
        """The backward passes that were captured, oldest first."""
        return self._inspection.passes

    def __getitem__(self, key: int | str) -> NodeView:
        """One node, by its number or by any name of its tensors.

        Raises:
            UnknownNodeError: no node has that number or name.
        """
        return NodeView(self._inspection, *self._inspection.find(key))

    def __len__(self) -> int:
        return len(self._inspection)

    def __bool__(self) -> bool:
        return True

    def probe(self) -> BackwardPass:
        """Run a backward pass that leaves every `.grad` untouched and the graph usable, and capture it.

        Outputs that are no scalars are seeded with ones. The user's own hooks run, as in any backward pass.

        Raises:
            GraphGoneError: the graph was dropped, or freed by a `backward()`.
        """
        return probe(self._inspection)

    def refresh(self, *outputs: Any, names: object = None) -> None:
        """Show the graph of new outputs in the same figure: the next iteration of a loop.

        Raises:
            OutputTypeError, NoGraphError: as for a new widget; the figure then stays as it was.
        """
        if self._inspection.closed:
            raise GradWidgetError("The widget is closed.", "Make a new GradWidget.")
        fresh = self._inspect(outputs, names, end_iteration(self._inspection))
        folding = refolded(self._inspection.fold, fresh.fold, self.collapsed)
        self._inspection.close()
        self._inspection = fresh
        self._follow_cells()
        self.collapsed = folding
        self._redraw = True
        self._answers = {}  # to questions about another graph
        if self.selected is not None and not self._exists(self.selected):
            self.selected = None
        self._stale = True
        # In a cell, the backward pass that follows brings the new graph along.
        if not after_cell(self):
            self._update_page()

    def _exists(self, key: int | str) -> bool:
        try:
            self._inspection.find(key)
        except GradWidgetError:
            return False
        return True

    def to_text(self) -> str:
        """A short table, a row a node. The same graph gives the same text."""
        return _export.to_text(self._inspection)

    def to_json(self) -> str:
        """The graph with its passes as strict JSON in networkx' node-link form; `from_json` reads it back.

        Tensors of up to 1,024 elements are in it whole, of larger ones statistics.
        """
        from gradwidget import __version__  # noqa: PLC0415  # the front door is above this room

        return _stored.to_json(self._inspection, __version__)

    def to_dot(self) -> str:
        """The graph in graphviz' DOT language, with names, values and gradients."""
        return _dot.to_dot(self._inspection)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The figure as one HTML page that needs no kernel and no internet, as it is now.

        It answers clicks, unfolds, searches and replays as here, follows the reader's light or dark theme, and loads
        nothing. Details come along up to 20 MB before compression; what is left out is told on the page.

        Args:
            path: of the file, which is written whole or not at all. Without it the page's text is returned.

        Raises:
            OptionError: `path` is no path.
            GradWidgetError: the file can't be written; what was there before still is.
        """
        selected = None if self.selected is None else self._inspection.find(self.selected)[0]
        shown = {"step": self.step, "height": self.height, "direction": self.direction}
        asked = {"quiz": self._quiz, "answers": self._answers}
        page = html_page(self._inspection, {"selected": selected, **shown, **asked}, list(self.collapsed))
        if path is None:
            return page
        write_whole(path, page.encode("utf-8"))
        return None

    def to_svg(self, path: str | os.PathLike[str] | None = None, *, theme: str = "light") -> str | None:
        """The picture as SVG, with what is folded as it is now, drawn without a browser and without graphviz.

        Values and the gradients of the last pass are on the wires where they fit. The button on the page saves what
        the page shows, at any step and in its own layout, also as PNG.

        Args:
            path: of the file, which is written whole or not at all. Without it the SVG's text is returned.
            theme: "light" or "dark".

        Raises:
            OptionError: `path` is no path, `theme` is unknown, or more than 1,500 boxes are open.
            GradWidgetError: the file can't be written; what was there before still is.
        """
        if theme not in ("light", "dark"):
            raise OptionError(f"theme={theme!r} is unknown.", f"Use 'light' or 'dark'.{near(theme, ('light', 'dark'))}")
        boxes = self._inspection.fold.boxes(self.collapsed)
        if boxes > _svg.LIMIT:
            raise OptionError(
                f"The picture has {boxes:,} boxes, more than the {_svg.LIMIT:,} that are drawn in one file.",
                "Fold some groups first: w.collapsed takes their names.",
            )
        dark, down = theme == "dark", self.direction == "down"
        text = _svg.svg(self._inspection, self.collapsed, down=down, dark=dark)
        if path is None:
            return text
        write_whole(path, text.encode("utf-8"))
        return None

    def trace(self, *, tangent: str | Mapping[str, Any] | None = None) -> Trace:
        """The evaluation trace as in arXiv:1502.05767, Tables 2 and 3: a list of `TraceRow`, inputs first.

        It prints as a table; `.to_markdown()`, `.to_latex()` and `.to_csv()` give it for elsewhere. Values that nobody
        has kept are calculated again, in graphs up to 300 nodes.

        Args:
            tangent: adds the forward mode: how each value changes with this input (a name; all its elements by 1), or
                with several (a mapping name -> direction, a number or a tensor of the input's shape).

        Raises:
            OptionError: `tangent` names no input, or gives a direction of another shape.
            UnknownNodeError: `tangent` names no tensor of the graph.
        """
        return trace(self._inspection, tangent)

    def quiz(self, *keys: int | str, tolerance: float = TOLERANCE) -> Quiz:
        """Hide the gradients on the page until the student has typed them. Also a switch above the figure.

        Joins the quiz that is running, if no nodes are given. Asked for are gradients of up to four numbers.

        Args:
            *keys: names or numbers of the nodes to ask for; all but the outputs if none are given.
            tolerance: part of the right value by which an answer may be off. Two decimals are always enough.

        Raises:
            UnknownNodeError: no node has that number or name.
            OptionError: `tolerance` is not between 0 and 1.
        """
        return start(self, keys, tolerance)

    def close(self) -> None:
        """Remove every hook, let go of the graph, take the figure off the page. What was captured stays readable."""
        if hasattr(self, "_inspection"):  # ipywidgets closes a widget whose construction failed
            self._inspection.close()
        super().close()

    def __enter__(self) -> GradWidget:  # noqa: PYI034  # typing.Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        """Remove every hook and let go of the graph; the figure stays."""
        self._inspection.close()
        self._update_page()

    def cell_ended(self) -> None:
        """Bring the page up to date. Called after each cell that ran a backward pass."""
        if self._stale:
            self._update_page()

    def _changed(self, complete: bool) -> None:
        """A pass has begun or ended. Runs inside of the user's `backward()`, perhaps in a thread of the engine."""
        self._stale = True
        told = after_cell(self)
        if not complete or threading.current_thread() is not threading.main_thread():
            return
        if told:
            if time.monotonic() - self._sent > _PAUSE:
                self._update_page(brief=True)
        elif not isinstance(self.comm, DummyComm):
            try:
                asyncio.get_running_loop().call_soon(self.cell_ended)
            except RuntimeError:
                self._update_page()

    def _update_page(self, brief: bool = False) -> None:
        """Send what passes have brought; with `brief`, without the details that are sent along."""
        self._sent = time.monotonic()
        self._stale = brief
        with self.hold_sync():
            if self._redraw:
                self._graph = _wire.pack(_wire.graph_payload(self._inspection))
                self._redraw = False
            seen = len(self._inspection.passes) + self._inspection.dropped
            if seen != self._seen:
                self.step = None  # the player belongs to the pass that was on view
                self._seen = seen
            self._live = _wire.pack(_wire.live_payload(self._inspection, self._shown))
            if not brief:
                self._details = _wire.pack(_details.details_payload(self._inspection, _details.DETAILED))
                self._references = _wire.pack(_wire.references_payload(self._inspection, _wire.NAMED))
                self._trace = self._traced(_details.TRACED)

    def _traced(self, most: int) -> bytes:
        """The trace of a small graph; of others it is made when the page asks."""
        return _wire.pack(_details.trace_payload(self._inspection)) if len(self._inspection) <= most else b""

    @traitlets.validate("selected")
    def _valid_selection(self, proposal: dict[str, Any]) -> int | str | None:
        value: int | str | None = proposal["value"]
        if value is not None:
            self._inspection.find(value)
        return value

    @traitlets.validate("collapsed")
    def _valid_folding(self, proposal: dict[str, Any]) -> list[str]:
        return checked(self._inspection.fold, proposal["value"])

    @traitlets.observe("collapsed")
    def _folded(self, _: object) -> None:
        self._shown = _wire.shown(self._inspection, self.collapsed)
        if len(self._inspection) > _wire.DRAWN and self._inspection.passes:
            self._live = _wire.pack(_wire.live_payload(self._inspection, self._shown))

    @traitlets.validate("step")
    def _valid_step(self, proposal: dict[str, Any]) -> int | None:
        step: int | None = proposal["value"]
        most = max((len(one) for one in self._inspection.passes), default=0)
        if step is not None and not 0 <= step <= most:
            cause = f"step={step!r} is no step of a pass." if most else "No backward pass has been seen yet."
            raise OptionError(
                cause, f"Use 0 to {most}, or None for the whole pass." if most else "Call backward() first."
            )
        return step

    @traitlets.validate("height")
    def _valid_height(self, proposal: dict[str, Any]) -> int:
        return _refuse_height(proposal["value"])

    def _reply_to(self, content: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"result": self._result_of(content.get("method"), content.get("params") or {})}
        except GradWidgetError as error:
            return {"error": {"cause": error.cause, "remedy": error.remedy}}
        except Exception as error:
            cause = f"This could not be done ({type(error).__name__}: {str(error)[:200]})."
            return {"error": {"cause": cause, "remedy": "Run the cell again; if it stays so, please report it."}}

    def _result_of(self, method: object, params: dict[str, Any]) -> Any:
        if method == "details":
            return _details.detail(self._inspection, self._inspection.find(params["key"])[0])
        if method == "unpack":
            key, _ = self._inspection.find(params["key"])
            self._inspection.unpack(key, params["name"])
            return _details.detail(self._inspection, key)
        if method == "references":
            return _wire.references_payload(self._inspection)
        if method == "trace":
            return _details.trace_payload(self._inspection)
        if method == "probe":
            self.probe()
            self._update_page()
            return None
        raise GradWidgetError(f"The page asked for {method!r}, which is unknown.", "Reload the page.")

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The live figure; beside it a table for viewers that run no scripts."""
        return _static.with_html(super()._repr_mimebundle_(**kwargs), _static.of_inspection(self._inspection))

    def __repr__(self) -> str:
        if not hasattr(self, "_inspection"):
            return "GradWidget()"
        nodes, edges = len(self._inspection), len(self._inspection.columns.source)
        return f"GradWidget({nodes} node{'s' * (nodes != 1)}, {edges} edge{'s' * (edges != 1)})"


# What torch.compiler.disable() would say, which imports the whole compiler: it can't trace a widget's making.
for _making in (GradWidget.__new__, GradWidget.__init__):
    vars(_making)["_torchdynamo_disable"] = True


def answer(widget: GradWidget, content: Any, _buffers: Any) -> None:
    """Answer every call of the page, with a result or with an error."""
    if isinstance(content, dict) and content.get("kind") == "call":
        widget.send({"kind": "reply", "id": content.get("id"), **widget._reply_to(content)})


def _weakly(widget: GradWidget, *, cells: bool = False) -> Any:
    reference = weakref.ref(widget)

    def changed(complete: bool = True) -> None:
        me = reference()
        if me is not None and cells:
            me._update_page()
        elif me is not None:
            me._changed(complete)

    return changed


def _refuse_height(height: object) -> int:
    if type(height) is not int or not 120 <= height <= 10_000:
        raise OptionError(f"height={height!r} is not a height.", "Give a whole number of pixels from 120 to 10000.")
    return height


def _refuse(unknown: dict[str, Any]) -> None:
    if unknown:
        known = [n for n, p in inspect.signature(GradWidget.__init__).parameters.items() if p.kind is p.KEYWORD_ONLY]
        name = next(iter(unknown))
        raise OptionError(
            f"GradWidget() has no keyword {name!r}.{near(name, known)}", f"Keywords are {', '.join(known)}."
        )
