"""What all tests share: a torch that gives the same numbers in every run."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Examples are judged by what they show, not by how long a loaded machine took. CI repeats the same ones.
settings.register_profile(
    "gradwidget",
    deadline=None,
    derandomize=os.environ.get("CI", "").lower() in {"1", "true"},
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("gradwidget")


@pytest.fixture(autouse=True)
def seed(request):
    """The same random numbers for each test, whatever ran before it."""
    if "nbval" in type(request.node).__module__:
        return
    import torch

    torch.manual_seed(0)
