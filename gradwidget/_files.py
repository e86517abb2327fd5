"""Writing files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from gradwidget._errors import GradWidgetError, OptionError


def write_whole(path: object, content: bytes) -> None:
    """Write a file beside its place and move it there, so that nobody ever sees a part of it.

    Raises:
        OptionError: `path` is no path.
        GradWidgetError: the file can't be written; what was there before still is.
    """
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise OptionError(f"path={path!r} is no path.", "Give a text or a pathlib.Path, such as 'graph.html'.")
    name = os.fspath(path)
    try:
        # A link stays one: what it points to is written.
        place = Path(name).expanduser().resolve()
        if not name or place.is_dir():
            raise _refusal(name, "it is a folder" if name else "it is empty")
        if place.exists() and not place.is_file():
            raise _refusal(name, "it is no regular file")
        _replace(place, content)
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, GradWidgetError):
            raise
        raise _refusal(name, getattr(error, "strerror", None) or str(error)) from None


def _refusal(name: str, why: str) -> GradWidgetError:
    return GradWidgetError(f"{name!r} can't be written: {why}.", "Give the name of a file in a folder that exists.")


def _replace(place: Path, content: bytes) -> None:
    beside = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
