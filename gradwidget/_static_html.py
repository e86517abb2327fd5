"""Pieces of static HTML: style, escaped text. It needs no script and follows the theme of where it stands."""

from __future__ import annotations

import functools
import hashlib
import re
from html import escape
from pathlib import Path

_STYLE = Path(__file__).parent / "static" / "static.css"
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def text(value: object) -> str:
    """A text of the user's: escaped, with what turns or hides its surroundings shown as Python writes it."""
    return escape(_HIDDEN.sub(lambda m: f"\\u{ord(m[0]):04x}", str(value).encode("utf-8", "replace").decode()))


@functools.cache
def style() -> str:
    """The style that all static HTML of ours shares."""
    return _STYLE.read_text("utf-8").strip()


def page(body: str, rules: str = "") -> str:
    """`body` with its style, in a frame of ours. The same content gives the same text."""
    mark = "gw-" + hashlib.blake2b(f"{body}{rules}".encode("utf-8", "replace"), digest_size=6).hexdigest()
    return f'<style>{style()}{rules.replace("$", "." + mark)}</style><div class="gw-static {mark}">{body}</div>'
