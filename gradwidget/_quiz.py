"""Predict mode: gradients are hidden on the page until the student has typed them; what was typed is read here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradwidget._errors import OptionError
from gradwidget._inspect import Inspection
from gradwidget._passes import texts
from gradwidget._summary import readable, unobserved

if TYPE_CHECKING:
    from gradwidget._widget import GradWidget


class Score(NamedTuple):
    """How many questions were answered right, of how many."""

    right: int
    of: int

    def __repr__(self) -> str:
        return f"{self.right} of {self.of}"


@dataclass(frozen=True, slots=True)
class QuizAnswer:
    """The answer to one question.

    Attributes:
        key: the node's number.
        name: of its tensor, or its operation.
        given: what was typed last, "" if the answer was looked up without a try.
        right: whether it is right.
        tries: everything that was typed, oldest first.
        hinted: whether the formula was looked at before.
        shown: whether the student gave up and had it shown.
    """

    key: int
    name: str
    given: str
    right: bool
    tries: tuple[str, ...]
    hinted: bool
    shown: bool


class Quiz:
    """A running quiz: read its `answers` and `score` at any time; `stop()` shows all gradients again."""

    def __init__(self, widget: GradWidget) -> None:
        self._widget = widget

    @property
    def questions(self) -> tuple[int, ...]:
        """Numbers of the nodes whose gradients are asked for; empty before there is a backward pass."""
        quiz = self._widget._quiz or {}
        return _questions(self._widget._inspection, quiz.get("keys"))

    @property
    def answers(self) -> tuple[QuizAnswer, ...]:
        """What was answered so far, in the order of the questions."""
        inspection = self._widget._inspection
        tolerance = float((self._widget._quiz or {}).get("tolerance", TOLERANCE))
        found = []
        for key in self.questions:
            one = self._widget._answers.get(str(key))
            if isinstance(one, dict):
                tries = tuple(str(text) for text in one.get("tries", ()))
                given = tries[-1] if tries else ""
                right = is_right(given, _true(inspection, key), tolerance)
                name = inspection.label_of(key)
                found.append(
                    QuizAnswer(key, name, given, right, tries, bool(one.get("hinted")), bool(one.get("shown")))
                )
        return tuple(found)

    @property
    def score(self) -> Score:
        """Questions answered right before they were shown, of all."""
        right = sum(one.right and not one.shown for one in self.answers)
        return Score(right, len(self.questions))

    @property
    def note(self) -> str:
        """Why there is nothing to ask and what to do about it; "" where there is something."""
        if self.questions:
            return ""
        inspection = self._widget._inspection
        if not any(inspection.last_pass_with(key) for key in range(len(inspection))):
            return "There are no gradients to ask for yet. Call backward(), or w.probe()."
        return f"{NOTHING} Use tensors of up to four numbers."

    @property
    def running(self) -> bool:
        """Whether gradients are hidden now."""
        return self._widget._quiz is not None

    def restart(self) -> None:
        """Forget all answers."""
        self._widget._answers = {}

    def stop(self) -> None:
        """Show all gradients again; the answers stay readable until the next quiz."""
        self._widget._quiz = None

    def __repr__(self) -> str:
        if self.running and self.note:
            return f"Quiz(nothing to ask: {self.note})"
        return f"Quiz({self.score!r} right{'' if self.running else ', ended'})"


TOLERANCE = 0.01
NOTHING = "No gradient here is short enough to be typed."


def start(widget: GradWidget, keys: tuple[int | str, ...], tolerance: float) -> Quiz:
    """Hide the gradients, or join the quiz that was started on the page.

    Raises:
        UnknownNodeError: no node has that number or name.
        OptionError: a tolerance that is none.
    """
    if type(tolerance) not in (int, float) or not 0 <= tolerance < 1:
        raise OptionError(f"tolerance={tolerance!r} is no tolerance.", "Give a part of the right value, such as 0.01.")
    wanted = [widget._inspection.find(key)[0] for key in keys] or None
    if keys or widget._quiz is None:
        with widget.hold_sync():
            widget._answers = {}
            widget._quiz = {"keys": wanted, "tolerance": float(tolerance)}
    return Quiz(widget)


@unobserved()
def _questions(inspection: Inspection, keys: list[int] | None) -> tuple[int, ...]:
    seeds = {place[0] for place in inspection.columns.outputs}
    found = []
    for key in range(len(inspection)) if keys is None else keys:
        last = inspection.last_pass_with(key)
        items = () if last is None else last.items(key)
        single = len(items) == 1 and texts(items)[0] not in ("", "none")
        if single and (keys is not None or key not in seeds):
            found.append(key)
    return tuple(found)


@unobserved()
def _true(inspection: Inspection, key: int) -> list[float]:
    last = inspection.last_pass_with(key)
    item = None if last is None else last.items(key)[0]
    plain = readable(item)[0] if isinstance(item, torch.Tensor) else None
    values: list[Any] = [] if plain is None else plain.reshape(-1).tolist()
    return [float(value) for value in values]


def is_right(given: str, true: list[float], tolerance: float) -> bool:
    """Whether typed numbers are those: within a part of each, or as rounded to two decimals. As on the page.

    "0,5" is half as well as two numbers: how many are asked for tells which.
    """
    return any(
        len(numbers) == len(true) > 0 and all(_near(a, b, tolerance) for a, b in zip(numbers, true, strict=True))
        for numbers in (_numbers(given), _numbers(re.sub(r"(?<=\d),(?=\d)", ".", given)))
    )


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in re.split(r"[\s,;]+", text.strip(" []()")) if part]
    except ValueError:
        return []


def _near(given: float, true: float, tolerance: float) -> bool:
    room = max(tolerance * abs(true), 0.005001 if abs(true) >= _ROUNDED else 0, 1e-9)
    return abs(given - true) <= room


_ROUNDED = 0.1  # from here on, two decimals are enough
