"""Run every check of this repository: the second command of README.md, and what CI runs.

Uses the Python it is started with, where ``gradwidget[test]`` is installed. Arguments are handed to
pytest (``.ci/test.py -k names``). Every step is run even if one before it failed; the exit status
is that of the first failure. What a machine lacks (Node, Chromium) is skipped with a reason, or is
a failure where ``CI=true``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "gradwidget" / "frontend"
STATIC = ROOT / "gradwidget" / "static"
OLDEST_NODE = 20  # what the test runner of the front end asks for
CI = os.environ.get("CI", "").lower() in {"1", "true"}


class Report:
    """Runs the steps one after another, and remembers how each ended and how long it took."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, str]] = []
        self.status = 0

    def add(self, name: str, seconds: float, outcome: str, status: int = 0) -> None:
        """Remember a step; the first status that is not zero is the one we exit with."""
        self.rows.append((name, seconds, outcome))
        self.status = self.status or status

    def run(self, name: str, *command: str, cwd: Path = ROOT) -> bool:
        """Run a command with its output going straight through; tell whether it succeeded."""
        print(f"\n== {name}", flush=True)
        start = time.perf_counter()
        status = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, check=False).returncode
        outcome = f"failed with status {status}" if status else "ok"
        self.add(name, time.perf_counter() - start, outcome, status)
        return status == 0

    def missing(self, name: str, reason: str) -> None:
        """A step that can't run here: skipped on a person's machine, a failure in CI."""
        print(f"\n== {name}\n{reason}", flush=True)
        self.add(name, 0.0, f"{'failed' if CI else 'skipped'}: {reason}", status=int(CI))

    def show(self) -> None:
        """Print one line a step."""
        print("\n== steps", flush=True)
        for name, seconds, outcome in self.rows:
            print(f"{seconds:7.1f} s  {name:<16} {outcome}", flush=True)


def bundle() -> dict[str, bytes]:
    """The built files, to compare before and after a build."""
    return {
        path.relative_to(STATIC).as_posix(): path.read_bytes() for path in sorted(STATIC.rglob("*")) if path.is_file()
    }


def why_no_node() -> str:
    """Why the front end can't be checked here; empty if it can."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not (node and npm):
        return f"Node.js {OLDEST_NODE} or newer with npm is not installed"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < OLDEST_NODE:
        return f"Node.js {version.strip()} is older than {OLDEST_NODE}"
    return ""


def check_frontend(report: Report) -> None:
    """Types, lint, unit tests, and that the committed bundle is what the sources build."""
    if reason := why_no_node():
        report.missing("front end", reason)
        return
    npm = shutil.which("npm") or "npm"
    if not report.run("npm ci", npm, "ci", "--ignore-scripts", "--no-audit", cwd=FRONTEND):
        return
    report.run("npm run check", npm, "run", "check", cwd=FRONTEND)
    report.run("npm test", npm, "test", cwd=FRONTEND)
    committed = bundle()
    if report.run("npm run build", npm, "run", "build", cwd=FRONTEND):
        stale = sorted(name for name in committed.keys() | bundle().keys() if committed.get(name) != bundle().get(name))
        if stale:
            message = f"{', '.join(stale)} in gradwidget/static was stale: commit the new build"
            print(message, flush=True)
            report.add("fresh bundle", 0.0, f"failed: {message}", status=1)
        else:
            report.add("fresh bundle", 0.0, "ok")


def main(arguments: list[str]) -> int:
    """Run all steps and return the exit status."""
    report = Report()
    python = sys.executable
    report.run("ruff check", python, "-m", "ruff", "check", ".")
    report.run("ruff format", python, "-m", "ruff", "format", "--check", ".")
    report.run("mypy", python, "-m", "mypy")
    check_frontend(report)
    report.run("pytest", python, "-m", "pytest", "--durations=15", *arguments)
    report.show()
    return report.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
