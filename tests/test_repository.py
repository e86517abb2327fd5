"""What the files outside the package promise: the two commands, the constraints, the top level."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
TOP = {"notebooks", "gradwidget", "tests", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def commands():
    """The lines of README that set up everything."""
    return re.findall(r"^python3 -m venv .*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)


def tracked():
    try:
        done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git clone")
    return [name for name in done.stdout.split("\0") if name]


def test_two_commands():
    notebook, test = commands()
    assert "notebooks/01_trace_backward.ipynb" in notebook
    for command in (notebook, test):
        assert "-c .ci/constraints.txt" in command


def test_ci_calls_the_test_command_of_the_readme():
    _, test = commands()
    assert test in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_constraints_pin_each_dependency():
    lines = (ROOT / ".ci" / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert all(str(pin.specifier).startswith("==") and not pin.url for pin in pins)
    names = {pin.name.lower().replace("_", "-") for pin in pins}
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    needed = set(re.findall(r'^\s+"([a-z]+)>=[\d.]+"', project, re.MULTILINE))
    assert {"torch", "anywidget", "ipywidgets", "networkx", "numpy", "pytest"} <= needed
    assert needed <= names


def test_top_level():
    tops = {name.split("/")[0] for name in tracked()}
    assert {top for top in tops if not top.startswith(".")} <= TOP


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_small_and_clean(path):
    """Stored outputs are short text: no pictures, no widget state, no address that changes."""
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    assert notebook.metadata.kernelspec.name == "python3"
    assert path.stat().st_size < 60_000
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type in {"stream", "execute_result", "display_data"}
            assert set(output.get("data", ())) <= {"text/plain", "text/html"}
            assert " at 0x" not in str(output)
