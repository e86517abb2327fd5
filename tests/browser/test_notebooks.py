"""Every notebook in JupyterLab: it runs, its figures are there, and both themes are followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser.lab import DARK, LIGHT
from playwright.sync_api import expect

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_and_follows_the_theme(lab, path):
    lab.open(path)
    lab.run_all()
    lab.show_widget()
    figure = lab.widget()
    figure.has_passes(1)
    lab.shot(f"{path.stem}-light")
    light = figure.background()
    lab.theme(DARK)
    expect(figure.root).not_to_have_css("background-color", light)
    lab.shot(f"{path.stem}-dark")
    lab.theme(LIGHT)
    expect(figure.root).to_have_css("background-color", light)
