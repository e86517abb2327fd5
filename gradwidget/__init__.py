"""See what PyTorch's autograd does: `GradWidget(loss)` in a notebook cell."""

from gradwidget._errors import (
    GradWidgetError,
    GraphGoneError,
    NoGraphError,
    OptionError,
    OutputTypeError,
    UnknownNodeError,
)
from gradwidget._inspect import backward_graph
from gradwidget._passes import BackwardPass
from gradwidget._quiz import Quiz, QuizAnswer
from gradwidget._saved import Saved
from gradwidget._summary import Summary
from gradwidget._told import HookCapture
from gradwidget._trace import Trace, TraceRow
from gradwidget._view import NodeView
from gradwidget._widget import GradWidget

__all__ = [
    "BackwardPass",
    "GradWidget",
    "GradWidgetError",
    "GraphGoneError",
    "HookCapture",
    "NoGraphError",
    "NodeView",
    "OptionError",
    "OutputTypeError",
    "Quiz",
    "QuizAnswer",
    "Saved",
    "Summary",
    "Trace",
    "TraceRow",
    "UnknownNodeError",
    "backward_graph",
]

__version__ = "0.1.0"
