"""See what PyTorch's autograd does: `GradWidget(loss)` in a notebook cell."""

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
from gradwidget._ipython import load_ipython_extension
from gradwidget._passes import BackwardPass
from gradwidget._saved import Saved
from gradwidget._script import Snapshots, capture, open  # noqa: A004  # gw.open(), beside gw.capture()
from gradwidget._snapshot import Snapshot, from_json
from gradwidget._summary import Summary
from gradwidget._told import HookCapture
from gradwidget._view import NodeView
from gradwidget._why import why
from gradwidget._widget import GradWidget

__all__ = [
    "BackwardPass",
    "Diagnosis",
    "GradWidget",
    "GradWidgetError",
    "GraphGoneError",
    "HookCapture",
    "NoGraphError",
    "NodeView",
    "OptionError",
    "OutputTypeError",
    "Saved",
    "Snapshot",
    "Snapshots",
    "Summary",
    "UnknownNodeError",
    "backward_graph",
    "capture",
    "from_json",
    "load_ipython_extension",
    "make_dot",
    "open",
    "why",
]

__version__ = "0.1.0"
