"""Fixtures of the browser tests: one JupyterLab and one Chromium a run, one page a test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="the browser tests need playwright: pip install -e '.[test]'")

from browser.lab import CHROMIUM_FLAGS, CHROMIUM_NAMES, Complaints, Lab, Server, find_chromium
from playwright.sync_api import expect, sync_playwright

HERE = Path(__file__).parent
NO_CHROMIUM = f"no Chromium on PATH (looked for {', '.join(CHROMIUM_NAMES)}): install one to run the browser tests"


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium():
    if path := find_chromium():
        return path
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(NO_CHROMIUM)
    return pytest.skip(NO_CHROMIUM)


@pytest.fixture(scope="session")
def server(chromium, tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("jupyter"))
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def browser(chromium):
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def lab(browser, server):
    """A page of JupyterLab. At the end: no console error, no request beyond this machine."""
    server.forget_settings()
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page)
    yield Lab(page, server, complaints)
    complaints.check()
    context.close()
    server.shut_kernels()
