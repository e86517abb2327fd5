"""The picture of references() as static HTML: hover and keyboard by style alone, readable as text without style."""

from __future__ import annotations

from gradwidget._references import References
from gradwidget._references_drawn import Json, drawn
from gradwidget._static_html import page, text


def html(found: References) -> str:
    """Static HTML of the three columns and the sentences. Nothing in it is a script, every text is escaped."""
    data = drawn(found)
    if not data["objects"]:
        return page('<p class="gw-refs-rest">No tensors in scope.</p>')
    columns = [
        _column("names", data["height"], _names(data)),
        _column("", data["height"], _wires(data, [(_middle(n), n["end"], n["object"]) for n in data["names"]])),
        _column("tensor objects", data["height"], "".join(map(_object, range(len(data["objects"])), data["objects"]))),
        _column(
            "",
            data["height"],
            _wires(data, [(_middle(o), o["end"], i) for i, o in enumerate(data["objects"]) if o["memory"] >= 0]),
        ),
        _column("memory", data["height"], _memory(data)),
    ]
    heads = "".join(f"<span>{word}</span>" for word in ("names", "", "tensor objects", "", "memory"))
    rest = f'<p class="gw-refs-rest">{text(data["left_out"])}</p>' if data["left_out"] else ""
    body = (
        # Where the style has been taken out (an untrusted notebook), the table is seen and the picture is not.
        f'<div class="gw-refs-plain">{_table(data)}</div>'
        f'<div class="gw-refs" style="display:none;--gw-refs-names:{data["names_width"]}px" '
        'role="group" aria-label="Names, tensor objects and memory">'
        f'<div class="gw-refs-heads" aria-hidden="true">{heads}</div>'
        f'<div class="gw-refs-columns">{"".join(columns)}</div>{_sentences(data)}{rest}</div>'
    )
    return page(body, _rules(data))


def _table(data: Json) -> str:
    rows = []
    for one in data["objects"]:
        memory = data["memory"][one["memory"]] if one["memory"] >= 0 else {"text": "", "note": ""}
        cells = [" = ".join(one["names"]), one["title"], one["verdict"], f"{memory['text']} ({memory['note']})"]
        rows.append(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in cells)}</tr>")
    heads = "".join(f"<th>{head}</th>" for head in ("name", "tensor object", "gradients", "memory"))
    sentences = "".join(f"<li>{text(''.join(part for part, _ in one['parts']))}</li>" for one in data["sentences"])
    return f"<table><tr>{heads}</tr>{''.join(rows)}</table><ul>{sentences}</ul>"


def _column(label: str, height: int, inside: str) -> str:
    role = f'role="list" aria-label="{label}"' if label else 'aria-hidden="true"'
    return f'<div class="gw-refs-column" {role} style="height:{height}px">{inside}</div>'


def _place(box: Json) -> str:
    return f'style="top:{box["top"]}px;height:{box["height"]}px"'


def _names(data: Json) -> str:
    found = []
    for name in data["names"]:
        more = " gw-refs-more" if name["more"] else ""
        whole, shown = text(name["text"]), text(name["short"])
        classes = f"gw-refs-name{more} gw-o{name['object']}"
        found.append(f'<div class="{classes}" role="listitem" {_place(name)} title="{whole}">{shown}</div>')
    return "".join(found)


def _object(i: int, one: Json) -> str:
    looks = ["gw-refs-object", *(f"gw-refs-{look}" for look in ("leaf", "dashed", "tall") if one[look])]
    classes = " ".join(looks)
    label = f"{' = '.join(one['names'])}: {one['title']}, {one['note']}: {one['verdict']}"
    return (
        f'<div class="{classes} gw-o{i}" role="listitem" tabindex="0" {_place(one)} aria-label="{text(label)}" '
        f'title="{text(one["about"])} {text(one["note"])}"><span class="gw-refs-what">'
        f'<span class="gw-refs-title">{text(one["title"])}</span> '
        f'<span class="gw-refs-note">{text(one["note"])}</span></span> '
        f'<span class="gw-refs-verdict gw-refs-{one["tone"]}">{text(one["verdict"])}</span></div>'
    )


def _memory(data: Json) -> str:
    found = []
    for box in data["memory"]:
        classes = " ".join(
            ["gw-refs-memory", *(f"gw-o{i}" for i in box["objects"]), *["gw-refs-shared"] * box["shared"]]
        )
        found.append(
            f'<div class="{classes}" role="listitem" {_place(box)}>'
            f'<span class="gw-refs-value">{text(box["text"])}</span> '
            f'<span class="gw-refs-note">{text(box["note"])}</span></div>'
        )
    return "".join(found)


def _middle(box: Json) -> float:
    return float(box["top"] + box["height"] / 2)


def _wires(data: Json, wires: list[tuple[float, float, int]]) -> str:
    paths = "".join(
        f'<path class="gw-refs-wire gw-o{i}" d="M0 {a:g}C55 {a:g} 40 {b:g} 93 {b:g}"/>' for a, b, i in wires
    )
    heads = "".join(f'<i class="gw-refs-head gw-o{i}" style="top:{b:g}px"></i>' for _, b, i in wires)
    return (
        f'<svg class="gw-refs-wires" viewBox="0 0 100 {data["height"]}" preserveAspectRatio="none">{paths}</svg>{heads}'
    )


def _sentences(data: Json) -> str:
    if not data["sentences"]:
        return ""
    items = "".join(
        f'<li class="gw-refs-said {" ".join(f"gw-o{i}" for i in one["objects"])}">'
        + "".join(f"<b>{text(part)}</b>" if is_name else text(part) for part, is_name in one["parts"])
        + "</li>"
        for one in data["sentences"]
    )
    return f'<ul class="gw-refs-sentences">{items}</ul>'


def _rules(data: Json) -> str:
    """What lights up with an object: its names, wires, memory and sentences, on hover and on focus."""
    wires, heads, frames, said = [], [], [], []
    for i in range(len(data["objects"])):
        on = f"$:has(.gw-refs-column .gw-o{i}:is(:hover,:focus-visible))"
        wires.append(f"{on} .gw-refs-wire.gw-o{i}")
        heads.append(f"{on} .gw-refs-head.gw-o{i}")
        frames.append(f"{on} .gw-o{i}:is(.gw-refs-name,.gw-refs-object)")
        said.append(f"{on} .gw-refs-said.gw-o{i}")
    return (
        f"{','.join(wires)}{{stroke:var(--gw-brand);stroke-width:2.4}}"
        f"{','.join(heads)}{{border-left-color:var(--gw-brand)}}"
        f"{','.join(frames)}{{box-shadow:0 0 0 1.5px var(--gw-brand)}}"
        f"{','.join(said)}{{border-left-color:var(--gw-brand);background:var(--gw-chip)}}"
    )
