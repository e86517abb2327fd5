"""Widgets live until they are closed: no test leaves one to the next."""

from __future__ import annotations

import ipywidgets
import pytest


@pytest.fixture(autouse=True)
def close_widgets():
    yield
    ipywidgets.Widget.close_all()
