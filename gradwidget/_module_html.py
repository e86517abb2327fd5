"""The table of module_state() as static HTML: readable without scripts, and as a plain table without style."""

from __future__ import annotations

import re

from gradwidget._module_state import ModuleState, StateRow, kind_of
from gradwidget._static_html import page, text

SHOWN = 300
_CODE = re.compile(
    r"(self\.[\w.]+(?: = nn\.\w+\(\.\.\.\)|\([^)]*\))?|nn\.\w+(?:\(\.\.\.\))?|\.(?:to|parameters)\(\)|state_dict\(\))"
)
_HEADS = ("name", "kind", "shape, dtype, device", "moves with .to()", "in state_dict()", "trained")


def html(state: ModuleState) -> str:
    """Static HTML. What needs a remedy comes along first where there is too much to show."""
    rows = state.rows if len(state.rows) <= SHOWN else sorted(state.rows, key=lambda row: not row.remedy)[:SHOWN]
    heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    rest = len(state.rows) - len(rows)
    notes = [*state.footnotes, *([f"{rest:,} more rows are not shown."] if rest else [])]
    return page(
        f'<div class="gw-state-head"><strong>{text(state.title)}</strong><span class="gw-mute">{text(state.headline)}'
        f'</span></div><div class="gw-state-scroll"><table class="gw-state"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(map(_row, rows))}</tbody></table></div>"
        f'<p class="gw-state-foot{"" if state.tried else " gw-no"}">{text(" ".join(notes))}</p>'
    )


def _row(row: StateRow) -> str:
    plain = bool(row.remedy) and not row.kind.startswith(("computed", "lazy"))
    look = "gw-state-learns" if row.trained else "gw-state-plain" if plain else ""
    look += " gw-state-long" if len(row.name) > 34 else ""
    alarm = plain and bool(row.form)
    cells = [
        f'<th scope="row" class="gw-state-name {look}">{text(row.name)}</th>',
        f'<td class="gw-state-kind">{text(kind_of(row))}{_remedy(row.remedy)}</td>',
        f"<td>{text(row.form) or '–'}</td>",
        _flag(row.moves, alarm=alarm, row=row),
        _flag(row.saved, alarm=alarm, row=row),
        _trained(row),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _flag(is_so: bool, *, alarm: bool, row: StateRow) -> str:
    if not row.form:
        return '<td class="gw-mute">–</td>'
    if is_so:
        return '<td class="gw-yes">✓ yes</td>'
    return f'<td class="{"gw-no" if alarm else "gw-mute"}">✗ no</td>'


def _trained(row: StateRow) -> str:
    if not row.form:
        return '<td class="gw-mute">–</td>'
    if row.trained:
        return '<td class="gw-yes">✓ yes</td>'
    why = "not in .parameters()" if row.requires_grad else "frozen" if row.in_parameters else ""
    look = "gw-no" if row.requires_grad and not row.in_parameters else "gw-mute"
    reason = f'<span class="gw-state-why">{why}</span>' if why else ""
    return f'<td class="{look}">✗ no{reason}</td>'


def _remedy(remedy: str) -> str:
    if not remedy:
        return ""
    parts = (f"<code>{text(part)}</code>" if i % 2 else text(part) for i, part in enumerate(_CODE.split(remedy)))
    return f'<span class="gw-state-remedy">→ {"".join(parts)}</span>'
