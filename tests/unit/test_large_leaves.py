"""Leaves whose gradient is read from `.grad` instead of being held."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gradwidget import GradWidget, Summary, _capture, _told


def loop(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    w, norms = None, []
    for _ in range(steps):
        loss = model(torch.ones(1, 200)).pow(2).sum()
        if w is None:
            w = GradWidget(loss, names={"model": model})
        else:
            w.refresh(loss, names={"model": model})
        loss.backward()
        norms.append(model.weight.grad.norm().item())
        optimizer.step()
        optimizer.zero_grad()
    return w, norms


def test_norms_outlive_zero_grad():
    torch.manual_seed(0)
    model = nn.Linear(200, 200)
    w, norms = loop(model, 5)
    assert model.weight.numel() * 4 > _capture.SMALL
    _, history = _told.history_of(w._inspection, w["model.weight"].key)
    assert history == pytest.approx(norms, rel=1e-4)  # ours is made in float64
    assert w["model.weight"].gradient.stats.norm == pytest.approx(norms[-1], rel=1e-4)


def test_beyond_the_budget_the_note_says_what_to_do(monkeypatch):
    monkeypatch.setattr(_capture, "READ", 0)
    w, _ = loop(nn.Linear(200, 200), 2)
    summary = w["model.weight"].gradient
    assert summary.stats is None
    assert "keep='summary'" in summary.note


def test_accumulation_is_told_by_versions():
    p = torch.randn(300, 300, requires_grad=True)
    loss = (p * p).sum()
    w = GradWidget(loss)
    loss.backward(retain_graph=True)
    assert _told.accumulated(w._inspection, w["p"].key) == ""
    loss.backward()
    assert _told.accumulated(w._inspection, w["p"].key).startswith("Accumulated over 2 passes (1, 2)")


def test_a_norm_outlives_the_gradient_that_the_user_clears_and_clips():
    torch.manual_seed(0)
    kept, clipped = (torch.rand(300, 300, requires_grad=True) for _ in range(2))
    loss = (kept.sin() * clipped.cos()).sum()
    w = GradWidget(loss)
    loss.backward()
    expected = [float(t.grad.norm()) for t in (kept, clipped)]
    kept.grad = None
    torch.nn.utils.clip_grad_norm_([clipped], 1e-3)
    found = [w[name].gradient for name in ("kept", "clipped")]
    assert [float(g.stats.norm) for g in found] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("edit", ["data", "numpy"])
def test_an_edit_of_grad_that_no_version_counts(edit):
    x = torch.ones(300, 300, requires_grad=True)
    out = ((x * 2) * 3).sum()
    w = GradWidget(out)
    out.backward()
    if edit == "data":
        x.grad.data.zero_()
    else:
        x.grad.numpy()[:] = 7
    found = w["x"].gradient
    assert isinstance(found, Summary)
    assert found.stats.norm == pytest.approx(6 * 300)
    assert ".grad has changed since" in found.note
