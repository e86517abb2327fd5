"""See what PyTorch's autograd does: `GradWidget(loss)` in a notebook cell."""

from gradwidget._cells import CellRecord
from gradwidget._diagnosis import Diagnosis
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
from gradwidget._passes import BackwardPass
from gradwidget._record import record
from gradwidget._saved import Saved
from gradwidget._summary import Summary
from gradwidget._told import HookCapture
from gradwidget._view import NodeView
from gradwidget._why import why
from gradwidget._widget import GradWidget

__all__ = [
    "BackwardPass",
    "CellRecord",
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
    "Summary",
    "UnknownNodeError",
    "backward_graph",
    "load_ipython_extension",
    "record",
    "unload_ipython_extension",
    "why",
]

__version__ = "0.1.0"
