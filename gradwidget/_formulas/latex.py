"""MathML trees -> LaTeX, for the trace that is copied into a paper."""

from __future__ import annotations

import re
from typing import Any

from gradwidget._formulas.typeset import Maths

_SIGNS = {
    "·": r"\cdot ", "−": "-", "≤": r"\le ", "≥": r"\ge ", "∂": r"\partial ", "σ": r"\sigma ", "Φ": r"\Phi ",
    "φ": r"\varphi ", "π": r"\pi ", "…": r"\ldots ", "x̂": r"\hat{x}", "@": r"\,", "{": r"\{",
}  # fmt: skip
_KNOWN = frozenset(["exp", "ln", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "max", "min", "det"])
_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "#$%&_{}"},
}  # fmt: skip


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return re.sub(r"[\\~^#$%&_{}]", lambda m: _SPECIAL[m[0]], text)


def latex(maths: Maths) -> str:
    r"""The same as LaTeX, to stand between dollars; `\begin{cases}` needs amsmath."""
    tag, *parts = maths
    if tag == "mrow":
        return _row(parts)
    if tag in ("mi", "mn", "mo"):
        return _leaf(str(parts[0]))
    if tag == "mtext":
        return rf"\text{{{escaped(str(parts[0]))}}}"
    inner = [latex(part) for part in parts]
    if tag == "mfrac":
        return rf"\frac{{{inner[0]}}}{{{inner[1]}}}"
    if tag == "msup":
        return f"{{{inner[0]}}}^{{{inner[1]}}}"
    if tag == "msub":
        return f"{{{inner[0]}}}_{{{inner[1]}}}"
    if tag == "msqrt":
        return rf"\sqrt{{{inner[0]}}}"
    if tag == "mover":
        return (r"\dot" if parts[1][1] == "˙" else r"\bar") + f"{{{inner[0]}}}"
    if tag == "mtable":
        return r"\begin{matrix}" + r" \\ ".join(inner) + r"\end{matrix}"
    if tag == "mtr":
        return " & ".join(inner)
    return "".join(inner)  # mtd


def _row(parts: list[Any]) -> str:
    if len(parts) > 1 and parts[0] == ["mo", "{"] and parts[1][0] == "mtable":
        lines = [" & ".join(latex(cell) for cell in line[1:]) for line in parts[1][1:]]
        return r"\begin{cases}" + r" \\ ".join(lines) + r"\end{cases}" + "".join(map(latex, parts[2:]))
    return "".join(map(latex, parts))


def _leaf(text: str) -> str:
    if text in _SIGNS:
        return _SIGNS[text]
    if text in _KNOWN:
        return rf"\{text}"
    text = text.replace("−", "-")
    if len(text) == 1 or text.lstrip("-").replace(".", "").replace(",", "").isdigit() or not text:
        return escaped(text)
    return rf"\mathrm{{{escaped(text)}}}"
