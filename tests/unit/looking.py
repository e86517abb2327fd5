"""Look at all that a widget can show: nothing may raise, nor be left out with a problem."""

from __future__ import annotations

import torch

from gradwidget._probe import probe_note


def leaf(*shape, **options):
    return torch.rand(shape, requires_grad=True, **options)


def call(widget, method, **params):
    """What the page gets as an answer."""
    return widget._reply_to({"method": method, "params": params})


def detail(widget, key):
    """The panel of a node, which must be whole."""
    found = call(widget, "details", key=key)["result"]
    assert found["problem"] == ""
    return found


def look(widget):
    """Everything there is to see, from Python and from the page; the panels by node."""
    for key in range(len(widget)):
        view = widget[key]
        view.saved, view.value, view.gradient, view.gradients, view.grad, view.why, view.function, repr(view)
        view.hooks, view.user_hooks
    widget._update_page()
    probe_note(widget._inspection)
    widget.to_json(), widget.to_text(), widget.trace()
    return [detail(widget, key) for key in range(len(widget))]


def effects(widget, key, number=-1):
    """(what, change) of what the user's hooks did in a pass."""
    return [(e.what, e.change) for e in widget[key].hooks[number].effects]
