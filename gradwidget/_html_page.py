"""The figure as one HTML file: the page's own scripts, and all that they could ask a kernel for."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradwidget import _details, _wire
from gradwidget._export import to_text
from gradwidget._inspect import Inspection
from gradwidget._static_html import text
from gradwidget._summary import SIDE
from gradwidget._wire import Json

DETAIL_BYTES = 20_000_000
"""Of details, before they are compressed."""
_CORNERS = 60
"""Nodes up to which tensors are shown as large as when a kernel is asked."""
_ROWS = 200_000
"""Gradients up to which those of folded nodes are there too."""
_NAMED = 2_000

_BUNDLE = Path(__file__).parent / "static" / "widget.js"
_EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*\Z")
_OPEN = re.compile(r"([\w$]+) as openPage\b")

_STYLE = """
html { color-scheme: light dark; }
body { margin: 10px; background: #fff; color: #1a1a1a; font: 14px/1.4 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #e8e8e8; } }
@media print { body { background: #fff; } }
""".strip()

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="gradwidget">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="gradwidget"></main>
<noscript><p>This page draws its figure with a script, which is not allowed here. The graph as text:</p>
<pre>{plain}</pre></noscript>
{parts}
<script type="module">{script}</script>
</body>
</html>
"""


def html_page(inspection: Inspection, state: Mapping[str, Any], collapsed: list[str]) -> str:
    """One page that needs no kernel and no internet. The same graph and state give the same text.

    Args:
        inspection: of the graph.
        state: what the page shows at first: `selected`, `step`, `height`, `direction`, `quiz`, `answers`.
        collapsed: ids of the groups that are drawn as one box.
    """
    graph = _wire.graph_payload(inspection)
    with inspection.walked_once():
        live, told = _live(inspection, collapsed)
        details, left_out = _all_details(inspection, state["selected"])
    graph["notes"] += [*told, *left_out]
    named = _wire.references_payload(inspection, _NAMED)
    parts = {
        "graph": graph,
        "live": live,
        "details": details,
        "references": named,
        "trace": _details.trace_payload(inspection),
        "state": {**state, "collapsed": collapsed},
    }
    script = _script()
    return _PAGE.format(
        policy=_policy(script),
        title=text(_short(f"{_wire.title(inspection)} – gradwidget")),
        style=_STYLE,
        plain=text(to_text(inspection)),
        parts="\n".join(_part(name, payload) for name, payload in parts.items()),
        script=script,
    )


def _part(name: str, payload: Json) -> str:
    # Base64 has no character that HTML reads as anything but text.
    packed = base64.b64encode(_wire.pack(payload)).decode("ascii")
    return f'<script type="text/plain" id="gradwidget-{name}">{packed}</script>'


def _script() -> str:
    """The bundle, which opens the page instead of exporting how to."""
    bundle = _BUNDLE.read_text("utf-8")
    exports = _EXPORTS.search(bundle)
    opens = _OPEN.search(exports[1]) if exports else None
    if exports is None or opens is None:
        raise RuntimeError("static/widget.js does not export openPage: build the front end anew.")
    script = f"{bundle[: exports.start()]}{opens[1]}();"
    return re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)


def _policy(script: str) -> str:
    """Only this script runs, and nothing is ever loaded."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    rules = {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest}'",
        "worker-src": "blob:",  # the layout of large graphs
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",  # pictures of the figure
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _short(title: str) -> str:
    return title if len(title) <= 200 else f"{title[:199]}…"


def _live(inspection: Inspection, collapsed: list[str]) -> tuple[Json, list[str]]:
    size = len(inspection)
    whole = size * min(len(inspection.passes), _wire.SENT_PASSES) <= _ROWS
    live = _wire.live_payload(inspection, range(size) if whole else _wire.shown(inspection, collapsed))
    live["probe"] = {"possible": False, "note": "This page has no kernel."}
    live["watching"] = False
    live["status"] = ""
    return live, [] if whole else ["Gradients inside of groups that were folded are not in this page."]


def _all_details(inspection: Inspection, selected: int | None) -> tuple[Json, list[str]]:
    """Details of all nodes by key, the selected one first and then from the outputs on, within the byte budget."""
    size = len(inspection)
    summaries = _details.Summaries(SIDE if size <= _CORNERS else _details.SENT_SIDE)
    found: Json = {}
    room = DETAIL_BYTES
    for key in dict.fromkeys([*([] if selected is None else [selected]), *range(size)]):
        one = _details.detail(inspection, key, summaries)
        for saved in one["saved"]:
            saved["unpack"] = False
        room -= len(json.dumps(one, ensure_ascii=False).encode("utf-8", "replace"))
        if room < 0:
            most = f"{DETAIL_BYTES / 1_000_000:g} MB"
            told = (
                f"This page answers clicks on {len(found):,} of the {size:,} nodes, those nearest the outputs: {most}"
            )
            return found, [f"{told} of details is the most that it holds."]
        found[str(key)] = one
    return found, []
