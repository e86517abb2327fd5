"""MathML trees -> LaTeX, for the trace that is copied into a paper."""

from __future__ import annotations

import re
from typing import Any

from gradwidget._formulas.typeset import Maths

_SIGNS = {
    "·": r"\cdot ", "−": "-", "≤": r"\le ", "≥": r"\ge ", "∂": r"\partial ", "σ": r"\sigma ", "Φ": r"\Phi ",
    "φ": r"\varphi ", "π": r"\pi ", "…": r"\ldots ", "x̂": r"\hat{x}", "@": r"\,", "{": r"\{",
    "log₂": r"\log_{2}", "log₁₀": r"\log_{10}", "inf": r"\infty ", "-inf": r"-\infty ", "|": r"\vert ",
    "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\varepsilon ", "η": r"\eta ",
    "θ": r"\theta ", "λ": r"\lambda ", "μ": r"\mu ", "ω": r"\omega ", "τ": r"\tau ", "ρ": r"\rho ",
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
        wide = parts[0][0] != "mi" or len(str(parts[0][1])) > 1
        return (r"\dot" if parts[1][1] == "˙" else r"\overline" if wide else r"\bar") + f"{{{inner[0]}}}"
    if tag == "mtable":
        return r"\begin{matrix}" + r" \\ ".join(inner) + r"\end{matrix}"
    if tag == "mtr":
        return " & ".join(inner)
    return "".join(inner)  # mtd


def _row(parts: list[Any]) -> str:
    if len(parts) > 1 and parts[0] == ["mo", "{"] and parts[1][0] == "mtable":
        lines = [" & ".join(latex(cell) for cell in line[1:]) for line in parts[1][1:]]
        return r"\begin{cases}" + r" \\ ".join(lines) + r"\end{cases}" + "".join(map(latex, parts[2:]))
    return "".join(_grouped(parts))


def _grouped(parts: list[Any]) -> list[str]:
    """A matrix among others: rows are flat, so its brackets stand beside it."""
    found: list[str] = []
    at = 0
    while at < len(parts):
        three = parts[at : at + 3]
        if len(three) == 3 and three[0] == ["mo", "["] and three[1][0] == "mtable" and three[2] == ["mo", "]"]:
            found.append(latex(three[1]).replace("{matrix}", "{bmatrix}"))
            at += 3
        else:
            found.append(latex(parts[at]))
            at += 1
    return found


def _leaf(text: str) -> str:
    if text in _SIGNS:
        return _SIGNS[text]
    if text in _KNOWN:
        return rf"\{text}"
    text = text.replace("−", "-")
    power = _POWER.fullmatch(text)
    if power is not None:
        digits, exponent = power[1], int(power[2])
        if digits in ("1", "-1"):
            return f"{digits[:-1]}10^{{{exponent}}}"
        return rf"{digits}\cdot 10^{{{exponent}}}"
    if text in _SIGNS:  # with the minus sign of ASCII
        return _SIGNS[text]
    if not text or _NUMBER.fullmatch(text) or (len(text) == 1 and text.isascii() and text not in _SPECIAL):
        return text
    if _WORD.fullmatch(text):
        return rf"\mathrm{{{escaped(text)}}}"
    return rf"\text{{{escaped(text)}}}"


_NUMBER = re.compile(r"-?[\d.,]+", re.ASCII)
_POWER = re.compile(r"(-?[\d.]+)e([+-]?\d+)", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9_]+")  # else text mode: blanks and signs stay as they are
