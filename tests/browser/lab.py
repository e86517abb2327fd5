"""A real JupyterLab and a page in it, as the browser tests use them.

`Server` is a JupyterLab on loopback with folders of its own; `Lab` is one browser page in it. Nothing
here waits for a time: each wait is for a state, and fails with what was there instead.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Locator, Page, expect

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SERVER_SECONDS = 180  # a loaded two-core machine took up to 23
STATE_MS = 120_000  # the first import of torch in a kernel included

LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"


class Select:
    """The page's contract with its tests: every selector, in one place."""

    READY = '.gw-root[data-gw-ready="1"]'
    PANEL = "[data-gw-panel]"
    NODE = "[data-gw-key]"
    PASSES = "data-gw-passes"
    PANEL_KEY = "data-gw-panel-key"

    @staticmethod
    def node(name: str) -> str:
        return f'[data-gw-name="{name}"]'

    @staticmethod
    def value(key: int) -> str:
        return f'[data-gw-value="{key}"]'

    @staticmethod
    def gradient(key: int) -> str:
        return f'[data-gw-gradient="{key}"]'


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """`jupyter lab` as a subprocess; `home` holds its settings, `root` the notebooks it serves."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.settings = folder / "settings"
        self.log = folder / "jupyter.log"
        self.url = f"http://127.0.0.1:{free_port()}"
        places = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        for name in ("root", *places.values()):
            (folder / name).mkdir(parents=True)
        # The news extension asks a server outside whether there is news.
        page_config = folder / "config" / "labconfig" / "page_config.json"
        page_config.parent.mkdir()
        page_config.write_text(
            json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}})
        )
        self.environment = os.environ | {name: str(folder / sub) for name, sub in places.items()}
        self.environment["JUPYTER_PREFER_ENV_PATH"] = "1"
        command = [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            f"--ServerApp.root_dir={self.root}",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={urlsplit(self.url).port}",
            "--ServerApp.port_retries=0",
            "--ServerApp.disable_check_xsrf=True",
            "--IdentityProvider.token=",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.root,
            )

    def wait(self) -> None:
        """Return when it answers; raise with the end of its log if it ends or never does."""
        deadline = time.monotonic() + SERVER_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(f"{self.url}/api/status", timeout=5).close()
                return
            time.sleep(0.1)  # between two questions, not instead of one
        raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")

    def forget_settings(self) -> None:
        """Back to JupyterLab's defaults: a theme chosen in one test must not meet the next."""
        for path in self.settings.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def kernels(self) -> list[str]:
        with urllib.request.urlopen(f"{self.url}/api/kernels", timeout=30) as answer:
            return [kernel["id"] for kernel in json.load(answer)]

    def trust(self, notebook: Path) -> None:
        """Sign a notebook that was edited outside of JupyterLab, which else shows only its text."""
        command = [sys.executable, "-m", "jupyter", "trust", str(notebook)]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

    def shut_kernels(self) -> None:
        """End every kernel, so that one test does not slow down the next."""
        for kernel in self.kernels():
            request = urllib.request.Request(f"{self.url}/api/kernels/{kernel}", method="DELETE")
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(request, timeout=60).close()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Complaints:
    """What a page must not do: console errors, uncaught exceptions, requests beyond loopback."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # patterns that a test announces

    def watch(self, page: Page) -> None:
        page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        page.on("pageerror", lambda e: self.errors.append(f"uncaught: {e}"))
        page.on("request", lambda r: self.request(r.url))

    def request(self, url: str) -> None:
        parts = urlsplit(url)
        local = parts.hostname in {"127.0.0.1", "localhost"}
        if parts.scheme in {"http", "https", "ws", "wss"} and not local:
            self.foreign.append(url)

    def check(self) -> None:
        errors = [e for e in self.errors if not any(re.search(p, e) for p in self.expected)]
        assert not errors, "console errors:\n" + "\n".join(errors)
        assert not self.foreign, "requests beyond loopback:\n" + "\n".join(self.foreign)


# JavaScript, to be run in the page. The notebook in front:
NOTEBOOK = "window.jupyterapp.shell.currentWidget"
MAYBE_NOTEBOOK = "window.jupyterapp?.shell?.currentWidget"  # while the page is still loading
SESSION_READY = f"""() => {{
  const session = {MAYBE_NOTEBOOK}?.context?.sessionContext;
  const kernel = session?.session?.kernel;
  return Boolean(session?.isReady && kernel?.connectionStatus === "connected" && kernel.status === "idle");
}}"""
RUN_PYTHON = f"""async ([code, expression]) => {{
  const kernel = {NOTEBOOK}.context.sessionContext.session.kernel;
  const future = kernel.requestExecute({{
    code, store_history: false, stop_on_error: false,
    user_expressions: expression ? {{ value: expression }} : {{}},
  }});
  return (await future.done).content;
}}"""
CELL_ERRORS = f"""() => {NOTEBOOK}.content.widgets.flatMap((cell) =>
  cell.model.type === "code"
    ? cell.model.toJSON().outputs.filter((o) => o.output_type === "error").map((o) => `${{o.ename}}: ${{o.evalue}}`)
    : [])"""

WIDGET_CELL = f"""() => {NOTEBOOK}.content.widgets.findIndex((cell) =>
  cell.model.type === "code" && cell.model.toJSON().outputs.some(
    (o) => o.data && "application/vnd.jupyter.widget-view+json" in o.data))"""


class Lab:
    """One page of JupyterLab with one notebook in front."""

    def __init__(self, page: Page, server: Server, complaints: Complaints) -> None:
        self.page = page
        self.server = server
        self.complaints = complaints
        self.path: Path | None = None
        page.set_default_timeout(STATE_MS)

    # notebooks

    def open(self, notebook: Path | list[str]) -> None:
        """Open a copy of a notebook file, or a new notebook with these cells."""
        folder = self.server.root / uuid.uuid4().hex
        folder.mkdir()
        if isinstance(notebook, Path):
            self.path = Path(shutil.copy(notebook, folder))
        else:
            self.path = folder / "new.ipynb"
            metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
            cells = [new_code_cell(source) for source in notebook]
            nbformat.write(new_notebook(cells=cells, metadata=metadata), self.path)
        self.goto()

    @property
    def name(self) -> str:
        """The notebook's path as JupyterLab has it."""
        assert self.path is not None
        return self.path.relative_to(self.server.root).as_posix()

    def goto(self) -> None:
        """Load the page of the notebook, in a fresh workspace, and wait for its kernel."""
        self.page.goto(f"{self.server.url}/lab/tree/{self.name}?reset")
        self.wait_for_notebook()
        self.wait_for_kernel()

    def reload(self) -> None:
        self.page.reload()
        self.wait_for_notebook()
        self.wait_for_kernel()

    def wait_for_notebook(self) -> None:
        self.page.wait_for_function(f"() => Boolean({MAYBE_NOTEBOOK}?.content?.model?.cells?.length)")

    def wait_for_kernel(self) -> None:
        self.page.wait_for_function(SESSION_READY)

    def command(self, name: str, **arguments: Any) -> None:
        self.page.evaluate(
            "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }",
            [name, arguments],
        )

    def run_all(self) -> None:
        """Run every cell; an error in one fails the test with its text."""
        self.command("notebook:run-all-cells")
        self.wait_for_kernel()
        errors = self.page.evaluate(CELL_ERRORS)
        assert not errors, errors

    def run_cell(self, index: int) -> None:
        self.page.evaluate(f"(i) => {{ {NOTEBOOK}.content.activeCellIndex = i; }}", index)
        self.command("notebook:run-cell")
        self.wait_for_kernel()

    def show_cell(self, index: int) -> None:
        """Scroll to a cell: what is far away is not in the document at all."""
        self.page.evaluate(f"async (i) => {{ await {NOTEBOOK}.content.scrollToItem(i, 'start'); }}", index)

    def show_widget(self) -> None:
        """Scroll to the first cell that shows a widget, if it is not in view already."""
        index = self.page.evaluate(WIDGET_CELL)
        assert index >= 0, "no cell has a widget in its output"
        self.show_cell(index)

    def reopen(self, notebook: nbformat.NotebookNode, *, kernel: bool) -> None:
        """Open an executed notebook with a fresh kernel, or by "Open With > Notebook (no kernel)"."""
        assert self.path is not None
        self.path = self.path.with_name("reopened.ipynb")
        nbformat.write(notebook, self.path)
        self.server.trust(self.path)
        if kernel:
            self.goto()
            return
        self.page.goto(f"{self.server.url}/lab?reset")
        self.page.wait_for_function("() => Boolean(window.jupyterapp?.commands.hasCommand('docmanager:open'))")
        self.command(
            "docmanager:open",
            path=self.name,
            factory="Notebook",
            kernelPreference={"shouldStart": False, "shouldReuse": False},
        )
        self.wait_for_notebook()

    def save(self) -> None:
        self.command("docmanager:save")

    def restart_kernel(self) -> None:
        self.page.evaluate(f"async () => {{ await {NOTEBOOK}.context.sessionContext.restartKernel(); }}")
        self.wait_for_kernel()

    def shut_kernel(self) -> None:
        self.page.evaluate(f"async () => {{ await {NOTEBOOK}.context.sessionContext.shutdown(); }}")

    # Python in the notebook's kernel

    def python(self, expression: str) -> Any:
        """The value of an expression in the kernel, as JSON can say it."""
        wrapped = f"__import__('json').dumps({expression})"
        reply = self.page.evaluate(RUN_PYTHON, ["", wrapped])
        value = reply["user_expressions"]["value"]
        assert value["status"] == "ok", value
        return json.loads(ast.literal_eval(value["data"]["text/plain"]))

    def execute(self, code: str) -> None:
        """Run statements in the kernel."""
        reply = self.page.evaluate(RUN_PYTHON, [code, None])
        assert reply["status"] == "ok", reply

    # the look

    def theme(self, name: str) -> None:
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_function("(name) => document.body.dataset.jpThemeName === name", arg=name)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

    def widgets(self) -> Locator:
        return self.page.locator(Select.READY)

    def widget(self, nth: int = 0) -> Figure:
        root = self.widgets().nth(nth)
        expect(root).to_be_visible()
        return Figure(root)

    def shot(self, name: str) -> None:
        """Keep a picture of the page in the folder that GW_SHOTS names, if it does."""
        if folder := os.environ.get("GW_SHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png")


@dataclass
class Figure:
    """One view of one widget on the page."""

    root: Locator

    def node(self, name: str) -> Locator:
        """Its box, or the first of them: a leaf with several consumers may be drawn beside each."""
        return self.root.locator(Select.node(name)).first

    def key(self, name: str) -> int:
        return int(self.node(name).get_attribute("data-gw-key") or -1)

    def value(self, name: str) -> Locator:
        return self.root.locator(Select.value(self.key(name))).first

    def gradient(self, name: str) -> Locator:
        return self.root.locator(Select.gradient(self.key(name))).first

    @property
    def panel(self) -> Locator:
        return self.root.locator(Select.PANEL)

    def select(self, name: str) -> Locator:
        """Click a node and return the panel once it shows that node."""
        self.node(name).click()
        return self.shows(name)

    def shows(self, name: str) -> Locator:
        expect(self.root.locator(f'[{Select.PANEL_KEY}="{self.key(name)}"]').first).to_be_visible()
        return self.panel

    def background(self) -> str:
        return str(self.root.evaluate("(root) => getComputedStyle(root).backgroundColor"))

    def has_passes(self, count: int) -> None:
        expect(self.root).to_have_attribute(Select.PASSES, str(count))
