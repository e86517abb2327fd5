"""Passes captured in scripts: files whole or not at all, one for each rank, looked at later."""

from __future__ import annotations

import gc
import gzip
import math
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch

import gradwidget as gw
from gradwidget import GradWidgetError, _script


def chain():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    return x, y


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_block(tmp_path):
    x, y = chain()
    with gw.capture(y, path=tmp_path / "run" / "step") as shot:
        y.backward()
        assert files(tmp_path) == []
    assert files(tmp_path) == ["run/step.json.gz"]
    assert shot.path == tmp_path / "run" / "step.json.gz"
    assert shot.written
    snapshot = gw.open(tmp_path / "run" / "step")
    assert snapshot["x"].gradient.tolist() == x.grad.tolist() == [2, 4]
    assert snapshot["y"].value.item() == 5
    assert (snapshot.rank, snapshot.world) == (None, None)


def test_plain_call(tmp_path):
    x, y = chain()
    gw.capture(y, path=tmp_path / "step")
    gc.collect()
    y.backward()
    assert gw.open(tmp_path / "step.json.gz")["x"].gradient.tolist() == x.grad.tolist()


def test_plain_call_that_is_held_is_brought_up_to_date(tmp_path):
    _, y = chain()
    shot = gw.capture(y, path=tmp_path / "step")
    for count in (1, 2):
        y.backward(retain_graph=True)
        assert len(gw.open(shot.path).passes) == count
    shot.close()
    y.backward()
    assert len(gw.open(shot.path).passes) == 2


def test_leaves_nothing_behind(tmp_path):
    x, y = chain()
    plain = (torch.autograd.grad(y, x, retain_graph=True)[0]).clone()
    with gw.capture(y, path=tmp_path / "step", keep="all") as shot:
        y.backward()
    assert torch.equal(x.grad, plain)
    gone = weakref.ref(y), weakref.ref(shot._inspection)
    del y, shot
    gc.collect()
    assert [one() for one in gone] == [None, None]
    assert not _script._waiting


def test_many_plain_captures_do_not_pile_up(tmp_path):
    for i in range(5):
        _, y = chain()
        gw.capture(y, path=tmp_path / f"step{i}")
        y.backward()
    gc.collect()
    assert not list(_script._alive)
    assert len(gw.open(tmp_path)) == 5


def test_error_in_the_block(tmp_path):
    """The user's own error is raised, and the file tells what there was."""
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError), gw.capture(y.sum(), path=tmp_path / "step"):
        y.sum().backward()
    assert gw.open(tmp_path / "step")["x"].gradient is None


def test_a_file_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    _, y = chain()
    with pytest.raises(GradWidgetError, match="can't be written"), gw.capture(y, path=tmp_path / "file" / "step"):
        pass
    with pytest.raises(KeyError), gw.capture(y, path=tmp_path / "file" / "step"):
        raise KeyError
    shot = gw.capture(y, path=tmp_path / "file" / "step")
    y.backward()  # never raises because of us
    shot.close()
    assert capsys.readouterr().err.count("was not written") == 2


def test_whole_or_not_at_all(tmp_path, monkeypatch):
    _, y = chain()
    shot = gw.capture(y, path=tmp_path / "step.json")
    shot.write()
    before = (tmp_path / "step.json").read_bytes()
    monkeypatch.setattr(_script.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(GradWidgetError, match="No space left"):
        shot.write()
    shot.close()
    assert files(tmp_path) == ["step.json"]
    assert (tmp_path / "step.json").read_bytes() == before
    assert before.startswith(b'{"gradwidget"')


@pytest.mark.parametrize(
    ("path", "rank", "written"),
    [
        ("step", None, "step.json.gz"),
        ("step", 3, "step.rank3.json.gz"),
        ("step.json", 0, "step.rank0.json"),
        ("step.json.gz", 1, "step.rank1.json.gz"),
        ("step.1", None, "step.1.json.gz"),
        ("deep/", 0, "deep/capture.rank0.json.gz"),
    ],
)
def test_paths(path, rank, written, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if rank is not None:
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "4")
    _, y = chain()
    with gw.capture(y, path=path):
        pass
    assert files(tmp_path) == [written]
    found = gw.open(path)
    one = found if rank is None else found[0]
    assert one.rank == rank
    assert one.world == (None if rank is None else 4)
    assert gw.open(written).rank == rank


@pytest.mark.parametrize("path", [None, 3, "", "a\0b", b"bytes"], ids=repr)
def test_bad_paths(path):
    _, y = chain()
    with pytest.raises(gw.OptionError, match="is no path"):
        gw.capture(y, path=path)
    assert not _script._waiting


def test_bad_input(tmp_path):
    with pytest.raises(gw.NoGraphError):
        gw.capture(torch.ones(2), path=tmp_path / "x")
    with pytest.raises(TypeError, match="path"):
        gw.capture(torch.ones(2))
    assert files(tmp_path) == []


def test_what_cannot_be_opened(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b'{"version": 1}' * 1000)[:-20])
    (tmp_path / "text.json").write_text("no JSON")
    (tmp_path / "bytes.json.gz").write_bytes(b"\x1f\x8b" + b"\0" * 50)
    wrong = [None, 3, [], [3], "", "nowhere", "no*where", *("empty", "cut.json.gz", "text.json", "bytes.json.gz")]
    for path in wrong:
        with pytest.raises(GradWidgetError) as caught:
            gw.open(tmp_path / path if isinstance(path, str) and path else path)
        assert caught.value.remedy


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(_script, "LARGEST", 1 << 20)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * (2 << 20)))
    with pytest.raises(GradWidgetError, match="more than 1 MB"):
        gw.open(tmp_path / "bomb.json.gz")


RANKS = """
import sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
import gradwidget as gw
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
ddp = DistributedDataParallel(model)
x = torch.ones(4, 3) * (dist.get_rank() + 1)
scale = ddp(x).pow(2)
if dist.get_rank() == 1:
    scale = scale - scale.detach()  # zero: its root has no slope, and 0 x infinity is NaN
loss = (scale.sqrt() * (1 - dist.get_rank())).sum()
with gw.capture(loss, path=sys.argv[1], names=model):
    loss.backward()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """The files of a real run of two processes."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "train.py").write_text(RANKS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(gw.__file__).parents[1])}
    done = subprocess.run(
        [*command, str(folder / "train.py"), str(folder / "run" / "step")],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "run"


def test_torchrun(ranks):
    assert files(ranks) == ["step.rank0.json.gz", "step.rank1.json.gz"]
    for paths in (ranks / "step", ranks, str(ranks / "*.gz"), sorted(ranks.iterdir()), ranks.glob("*")):
        found = gw.open(paths)
        assert [one.rank for one in found] == [0, 1]
    assert repr(found) == "Snapshots(rank 0, rank 1)"
    assert [one.world for one in found] == [2, 2]
    assert gw.open(ranks / "step.rank1.json.gz").rank == 1
    assert found[1]["loss"].value.item() == 0
    assert torch.isnan(found[1]["0.weight"].gradient).any()


def test_which_rank_has_the_first_nan(ranks):
    found = gw.open(ranks)
    first = found.first_bad
    assert first.rank == 1
    assert first.bad.kind == "NaN"
    sizes = {row.node: row.norms for row in found.rows}
    assert set(sizes) >= {"loss", "0.weight", "2.bias"}
    for name in ("0.weight", "0.bias", "2.weight", "2.bias"):
        of_first, of_second = sizes[name]
        assert of_first == pytest.approx(found[0][name].gradient.norm().item())
        assert math.isnan(of_second)
    text = found.to_text()
    assert text.splitlines()[0].split() == ["node", "rank", "0", "rank", "1"]
    assert text.splitlines()[-1].startswith("rank 1, step 3: First NaN: Sqrt handed it on")
    page = found._repr_html_()
    assert "<table" in page
    assert "rank 1, step 3: First NaN" in page
    assert page.count("<tr>") == len(found.rows) + 1


def test_files_without_ranks(tmp_path):
    for name in ("b", "a"):
        x, y = chain()
        with gw.capture(y, path=tmp_path / f"<i>{name}", names={"x": x}):
            y.backward()
    found = gw.open(tmp_path)
    assert found.labels == ("<i>a.json.gz", "<i>b.json.gz")
    assert found.first_bad is None
    assert found.to_text().splitlines()[-1] == "All gradients are finite."
    assert "<i>" not in found._repr_html_()
    assert found[-1]["x"].gradient.tolist() == [2, 4]


def test_at_the_end_of_the_program(tmp_path):
    """No notebook is there, and a file is written even if no pass came."""
    code = f"""
import sys, torch, gradwidget as gw
x = torch.ones(2, requires_grad=True)
y = x.exp().sum()
gw.capture(y, path={str(tmp_path / "end")!r})
print(bool("IPython" in sys.modules and sys.modules["IPython"].get_ipython()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")
    assert gw.open(tmp_path / "end")["y"].value.item() == pytest.approx(5.43656, abs=1e-4)
