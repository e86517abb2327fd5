"""The package as a user gets it: built, opened, installed and used, without Node and without the network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USE = """\
import pathlib, shutil, torch, gradwidget
assert shutil.which("node") is None
assert pathlib.Path(gradwidget.__file__).is_relative_to(pathlib.Path({prefix!r})), gradwidget.__file__
a = torch.tensor(2.0, requires_grad=True)
b = a * a
w = gradwidget.GradWidget(b)
b.backward()
print(w, w["a"].gradient.item(), len(str(w._esm)) > 1000)
"""


def run(*command, **options):
    done = subprocess.run(
        list(map(str, command)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def without_node(tmp_path_factory):
    """An environment in which no program but Python can be found."""
    empty = tmp_path_factory.mktemp("empty")
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"PATH": str(empty)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, without_node):
    """Built from a copy, as from a clean clone: without what a developer's tree has lying about."""
    source = tmp_path_factory.mktemp("clone")
    rubbish = shutil.ignore_patterns("node_modules", "__pycache__")
    shutil.copytree(ROOT / "gradwidget", source / "gradwidget", ignore=rubbish)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, source)
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index")
    run(*build, "-w", folder, source, env=without_node)
    (path,) = folder.glob("gradwidget-*.whl")
    return path


def test_contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"gradwidget/__init__.py", "gradwidget/py.typed"} <= names
    assert "gradwidget/static/widget.js" in names
    assert not [name for name in names if "frontend" in name or "node_modules" in name]
    assert not [name for name in names if name.endswith((".ts", ".tsx", "package.json"))]
    tops = {name.split("/")[0] for name in names}
    assert tops == {"gradwidget", wheel.name.split("-py3")[0] + ".dist-info"}


def test_every_module_is_in(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.endswith(".py")}
    package = ROOT / "gradwidget"
    there = {
        path.relative_to(ROOT).as_posix()
        for path in package.rglob("*.py")
        if "frontend" not in path.relative_to(package).parts
    }
    assert packed == there


@pytest.mark.slow
def test_install_and_use(wheel, tmp_path, without_node):
    """In a venv of its own that borrows the dependencies, but not our editable install, from this one."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python = next(scripts.glob("python*"))
    install = ("-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    run(sys.executable, *install, env=without_node)
    # Lines of a .pth file found through a .pth file are not read: what is installed editable stays out.
    (site,) = home.rglob("site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    use = USE.format(prefix=str(home))
    output = run(python, "-W", "error", "-c", use, cwd=tmp_path, env=without_node)
    assert output.strip() == "GradWidget(2 nodes, 2 edges) 4.0 True"
