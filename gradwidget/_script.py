"""A pass captured in a script, a file for each rank; and the files of a run side by side in a notebook."""

from __future__ import annotations

import atexit
import contextlib
import functools
import glob
import gzip
import itertools
import math
import os
import re
import sys
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

import torch

from gradwidget import _static, _stored
from gradwidget._bad import Bad
from gradwidget._errors import GradWidgetError, OptionError
from gradwidget._files import write_whole
from gradwidget._inspect import Inspection
from gradwidget._names import calling_frame
from gradwidget._passes import Gradient, norms
from gradwidget._snapshot import Snapshot, from_json
from gradwidget._summary import Summary, format_number

SUFFIXES = (".json", ".json.gz")
LARGEST = 1 << 29
"""Bytes of JSON that are read from one file."""
_ROWS = 200
_RANK = re.compile(r"\.rank(\d+)\.json(\.gz)?$")

_births = itertools.count()
_alive: weakref.WeakValueDictionary[int, capture] = weakref.WeakValueDictionary()
_waiting: dict[int, capture] = {}
"""Captures that have not written their file yet: they stay, whether or not somebody holds them."""


class capture:  # noqa: N801  # it is used as a function and as a context manager
    """Capture the backward passes through a graph into a file: in a script, without a notebook.

        with gw.capture(loss, path="run/step"):
            loss.backward()

    The file is written when the block ends, also when it ends with an error, which is then raised as ever. Without a
    `with`, it is written after the first backward pass through the graph (after each one, while somebody holds what
    `capture` returned), and at the latest when the program ends. Under `torchrun` each rank writes its own:
    `run/step.rank0.json.gz`; else it is `run/step.json.gz`. A file is written whole or not at all.

    Args:
        *outputs: as for `GradWidget`.
        path: of the file. Ends it with ".json", it is not compressed; folders that are missing are made.
        names: a module, or a mapping name -> tensor or module. Names in the calling scope are found without it.
        keep: how much of each gradient is kept until the file is written: "auto", "all" or "summary". The file holds
            tensors of up to 1,024 elements whole, statistics of the others.

    Attributes:
        path: of the file, rank and suffix included.
        written: whether it has been written.

    Raises:
        OutputTypeError, NoGraphError, OptionError: as for `GradWidget`.
    """

    def __init__(self, *outputs: Any, path: str | os.PathLike[str], names: object = None, keep: str = "auto") -> None:
        self.rank, self.world = _rank()
        self.path = _path_of(path, self.rank)
        self.written = False
        self.problem = ""
        self._block = False
        self._birth = next(_births)
        changed = functools.partial(_pass_changed, self._birth)
        self._inspection = Inspection(outputs, names=names, frame=calling_frame(), keep=keep, changed=changed)
        _alive[self._birth] = _waiting[self._birth] = self

    def write(self) -> Path:
        """Write the file now, with what was seen so far. Returns its path.

        Raises:
            GradWidgetError: the file can't be written.
        """
        from gradwidget import __version__  # noqa: PLC0415  # the front door is above this room

        text = _stored.to_json(self._inspection, __version__, self.rank, self.world)
        _write(self.path, text.encode("utf-8"))
        self.written = True
        _waiting.pop(self._birth, None)
        return self.path

    def close(self) -> None:
        """Stop watching and let go of the graph."""
        _waiting.pop(self._birth, None)
        self._inspection.close()

    def _passed(self) -> None:
        """A pass has ended. Runs inside of the user's `backward()`: what goes wrong is told at the end."""
        if not self._block:
            try:
                self.write()
            except Exception as error:
                self._complain(error)

    def _complain(self, error: Exception) -> None:
        text = str(error) if isinstance(error, GradWidgetError) else f"{type(error).__name__}: {str(error)[:200]}"
        if text != self.problem:
            self.problem = text
            sys.stderr.write(f"gradwidget: {self.path} was not written. {text}\n")

    def __enter__(self) -> capture:  # noqa: PYI034  # typing.Self needs Python 3.11
        self._block = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Write the file and stop watching."""
        try:
            self.write()
        except Exception as problem:
            if error is None:
                raise
            self._complain(problem)  # the user's own error comes first
        finally:
            self.close()

    def __repr__(self) -> str:
        return f"capture({self.path.name!r}, {len(self._inspection.passes)} passes)"


def _pass_changed(owner: int, complete: bool) -> None:
    one = _alive.get(owner)
    if complete and one is not None:
        one._passed()


def _at_exit() -> None:
    for one in list(_waiting.values()):
        try:
            one.write()
        except Exception as error:
            one._complain(error)
        with contextlib.suppress(Exception):
            one.close()


atexit.register(_at_exit)


def _rank() -> tuple[int | None, int | None]:
    """Rank and number of processes, as torch.distributed or else torchrun's environment says."""
    distributed: Any = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size())
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if rank.isdecimal():
        return int(rank), int(world) if world.isdecimal() else None
    return None, None


def _path_of(path: str | os.PathLike[str], rank: int | None) -> Path:
    whole: Any = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(whole, str) or not whole or "\0" in whole:
        raise OptionError(f"path={whole!r} is no path.", 'Give a file, such as path="run/step".')
    if whole.endswith(("/", os.sep)) or Path(whole).is_dir():
        whole = str(Path(whole, "capture"))
    suffix = next((s for s in reversed(SUFFIXES) if whole.endswith(s)), "")
    stem = whole[: len(whole) - len(suffix)]
    middle = "" if rank is None else f".rank{rank}"
    return Path(f"{stem}{middle}{suffix or SUFFIXES[1]}")


def _write(path: Path, content: bytes) -> None:
    if path.suffix == ".gz":
        content = gzip.compress(content, compresslevel=6, mtime=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GradWidgetError(f"{path} can't be written ({error.strerror}).", "Give another path.") from None
    write_whole(path, content)


def open(paths: Any) -> Snapshot | Snapshots:  # noqa: A001  # gw.open(), beside gw.capture()
    """Open what `capture()` has written.

    Args:
        paths: a file, with or without its suffix; a folder; a pattern with `*`; or several of these.

    Returns:
        The `Snapshot` of one file. For several, for a pattern, a folder or a list: `Snapshots`, by rank.

    Raises:
        GradWidgetError: there is no such file, or it is broken.
    """
    files, several = _files(paths)
    found = [_read(file) for file in files]
    if len(found) == 1 and not several:
        return found[0]
    order = sorted(range(len(found)), key=lambda i: (math.inf if (r := found[i].rank) is None else r, i))
    return Snapshots([found[i] for i in order], [files[i] for i in order])


def _files(paths: Any) -> tuple[list[Path], bool]:
    if isinstance(paths, (str, os.PathLike)):
        whole = os.fspath(paths)
        found, several = _files_of(whole if isinstance(whole, str) else os.fsdecode(whole))
        if not found:
            raise GradWidgetError(
                f"No snapshot is found at {str(whole)[:200]!r}.",
                'Give a file that capture() has written, or "run/*.json.gz".',
            )
        return found, several
    if not isinstance(paths, Iterable):
        raise GradWidgetError(f"{type(paths).__name__} is no path.", "Give a file, a pattern or a list of files.")
    files: dict[Path, None] = {}
    for one in paths:
        if not isinstance(one, (str, os.PathLike)):
            raise GradWidgetError(f"{type(one).__name__} is no path.", "Give files.")
        files |= dict.fromkeys(_files(one)[0])
    if not files:
        raise GradWidgetError("The list of paths is empty.", "Give a file that capture() has written.")
    return list(files), True


def _files_of(whole: str) -> tuple[list[Path], bool]:
    path = Path(whole)
    if path.is_file():
        return [path], False
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.name.endswith(SUFFIXES) and not p.name.startswith(".")), True
    suffix = next((s for s in reversed(SUFFIXES) if whole.endswith(s)), "")
    stem = whole[: len(whole) - len(suffix)]
    exact = [Path(stem + s) for s in SUFFIXES if Path(stem + s).is_file()]
    if exact:
        return exact[:1], False
    ranks = [p for s in SUFFIXES for p in glob.glob(f"{glob.escape(stem)}.rank*{s}") if _RANK.search(p)]  # noqa: PTH207
    if ranks:
        return [Path(p) for p in sorted(ranks, key=_rank_in)], True
    return sorted(Path(p) for p in glob.glob(whole, recursive=True) if Path(p).is_file()), True  # noqa: PTH207


def _rank_in(path: str) -> int:
    found = _RANK.search(path)
    return int(found[1]) if found else -1


def _read(path: Path) -> Snapshot:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            source: Any = gzip.GzipFile(fileobj=file) if packed else file
            content = source.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise GradWidgetError(f"{path} can't be read ({str(error)[:120]}).", "Capture it again.") from None
    if len(content) > LARGEST:
        raise GradWidgetError(f"{path} holds more than {LARGEST >> 20} MB.", "capture() writes smaller files.")
    try:
        return from_json(content)
    except GradWidgetError as error:
        raise GradWidgetError(f"{path}: {error.cause}", error.remedy) from None


Called: TypeAlias = "tuple[str, str, int]"
"""Operation, name, and which one of these."""


class RankRow(NamedTuple):
    """One node: its name or operation, and the 2-norm of its gradient on each rank; None where none arrived."""

    node: str
    norms: tuple[float | None, ...]


class FirstBad(NamedTuple):
    """Where numbers first went bad: the rank (its index, if the files tell no rank), and what happened there."""

    rank: int
    bad: Bad


class Snapshots(Sequence[Snapshot]):
    """Snapshots side by side, such as those of the ranks of a run: `[i]`, `len()`, and what tells them apart.

    Attributes:
        paths: of their files.
        labels: "rank 0", or the file's name.
    """

    def __init__(self, snapshots: Sequence[Snapshot], paths: Sequence[Path] = ()) -> None:
        self._snapshots = tuple(snapshots)
        self.paths = tuple(paths)
        ranks = [one.rank for one in self._snapshots]
        told = None not in ranks and len(set(ranks)) == len(ranks)
        names = [path.name for path in self.paths] or [str(i) for i in range(len(ranks))]
        self.labels = tuple(f"rank {r}" if told else n for r, n in zip(ranks, names, strict=True))

    def __getitem__(self, index: Any) -> Any:
        return self._snapshots[index]

    def __len__(self) -> int:
        return len(self._snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self._snapshots)

    @property
    def rows(self) -> list[RankRow]:
        """Gradient sizes, node by node: leaves and named nodes are matched by name, others by operation, in order."""
        tokens = [_tokens(one) for one in self._snapshots]
        sizes = [_sizes(one) for one in self._snapshots]
        found: dict[Called, str] = {}
        for one, of in zip(self._snapshots, tokens, strict=True):
            for token, key in of.items():
                found.setdefault(token, one[key].name or f"{one[key].label} (node {key})")
        pairs = list(zip(tokens, sizes, strict=True))
        return [
            RankRow(name, tuple(size.get(of[token]) if token in of else None for of, size in pairs))
            for token, name in found.items()
        ]

    @property
    def first_bad(self) -> FirstBad | None:
        """The rank on which NaN or infinity came up earliest in its pass, None if all is finite.

        Ranks do not share a clock: of two with bad numbers it is the one with fewer steps before them.
        """
        found = [(one.bad.step, i) for i, one in enumerate(self._snapshots) if one.bad is not None]
        if not found:
            return None
        index = min(found)[1]
        one = self._snapshots[index]
        assert one.bad is not None
        return FirstBad(index if one.rank is None else one.rank, one.bad)

    def to_text(self) -> str:
        """The table of gradient sizes, and a sentence on the first NaN or infinity."""
        rows = [("node", *self.labels), *((row.node, *map(_size, row.norms)) for row in self._shown())]
        cells = [[_static.cut(" ".join(cell.split())) for cell in row] for row in rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        return "\n".join([*lines, *filter(None, (self._more(), self._verdict()))])

    def _shown(self) -> list[RankRow]:
        """What differs between ranks is what one looks for: bad rows first if there are too many."""
        rows = self.rows
        if len(rows) <= _ROWS:
            return rows
        bad = {i for i, row in enumerate(rows) if not all(n is None or math.isfinite(n) for n in row.norms)}
        kept = sorted([*sorted(bad), *(i for i in range(len(rows)) if i not in bad)][:_ROWS])
        return [rows[i] for i in kept]

    def _more(self) -> str:
        more = len(self.rows) - _ROWS
        return f"... and {more:,} more nodes" if more > 0 else ""

    def _verdict(self) -> str:
        first = self.first_bad
        if first is None:
            return "All gradients are finite."
        index = next(i for i, one in enumerate(self._snapshots) if one.bad is first.bad)
        return f"{self.labels[index]}, step {first.bad.step + 1}: {first.bad.text}"

    def _repr_html_(self) -> str:
        rows = [(row.node, *map(_size, row.norms)) for row in self._shown()]
        note = " ".join(filter(None, (self._verdict(), self._more())))
        return _static.table("Gradient sizes (2-norms)", ("node", *self.labels), rows, note)

    def __repr__(self) -> str:
        return f"Snapshots({', '.join(self.labels)})"


def _tokens(snapshot: Snapshot) -> dict[Called, int]:
    """What a node is called on every rank, whatever its number is there."""
    found: dict[Called, int] = {}
    counts: dict[Called, int] = {}
    for key, one in snapshot._graph.nodes(data=True):
        base = (one["op"], one["name"], 0)
        counts[base] = counts.get(base, -1) + 1
        found[one["op"], one["name"], counts[base]] = key
    return found


def _sizes(snapshot: Snapshot) -> dict[int, float]:
    found: dict[int, Gradient] = {}
    for one in snapshot.passes:
        found |= {key: row[0] for key, row in one.captures.items() if row}
    tensors = {key: g for key, g in found.items() if isinstance(g, torch.Tensor)}
    sizes = dict(zip(tensors, norms(tensors.values()), strict=True))
    for key, gradient in found.items():
        if isinstance(gradient, Summary) and gradient.stats is not None:
            sizes[key] = gradient.stats.norm
    return {key: size for key, size in sizes.items() if size is not None}


def _size(length: float | None) -> str:
    return "" if length is None else format_number(length)
