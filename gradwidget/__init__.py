"""See what PyTorch's autograd does: `GradWidget(loss)` in a notebook cell."""

from gradwidget._cells import CellRecord
from gradwidget._changes import Change
from gradwidget._diagnosis import Diagnosis
from gradwidget._dot import make_dot
from gradwidget._errors import (
    GradWidgetError,
    GraphGoneError,
    NoGraphError,
    OptionError,
    OutputTypeError,
    UnknownNodeError,
)
from gradwidget._inspect import backward_graph
from gradwidget._ipython import load_ipython_extension, unload_ipython_extension
from gradwidget._module_state import ModuleState, StateRow, module_state
from gradwidget._objects import TensorObject
from gradwidget._passes import BackwardPass
from gradwidget._quiz import Quiz, QuizAnswer
from gradwidget._record import record
from gradwidget._references import Memory, ReferenceRow, References, references
from gradwidget._relations import Relation
from gradwidget._saved import Saved
from gradwidget._script import Snapshots, capture, open  # noqa: A004  # gw.open(), beside gw.capture()
from gradwidget._snapshot import Snapshot, from_json
from gradwidget._summary import Summary
from gradwidget._told import HookCapture
from gradwidget._trace import Trace, TraceRow
from gradwidget._view import NodeView
from gradwidget._why import why
from gradwidget._widget import GradWidget

__all__ = [
    "BackwardPass",
    "CellRecord",
    "Change",
    "Diagnosis",
    "GradWidget",
    "GradWidgetError",
    "GraphGoneError",
    "HookCapture",
    "Memory",
    "ModuleState",
    "NoGraphError",
    "NodeView",
    "OptionError",
    "OutputTypeError",
    "Quiz",
    "QuizAnswer",
    "ReferenceRow",
    "References",
    "Relation",
    "Saved",
    "Snapshot",
    "Snapshots",
    "StateRow",
    "Summary",
    "TensorObject",
    "Trace",
    "TraceRow",
    "UnknownNodeError",
    "backward_graph",
    "capture",
    "from_json",
    "load_ipython_extension",
    "make_dot",
    "module_state",
    "open",
    "record",
    "references",
    "unload_ipython_extension",
    "why",
]

__version__ = "0.1.0"
