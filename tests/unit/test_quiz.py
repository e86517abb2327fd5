"""Predict mode from Python: what is asked, what the page has written down, and how it is graded."""

from __future__ import annotations

import pytest
import torch

from gradwidget import GradWidget, OptionError, Quiz, UnknownNodeError
from gradwidget._quiz import is_right


@pytest.fixture
def w():
    a, b, c = (torch.tensor(x, requires_grad=True) for x in (1.1, 1.2, 1.3))
    d = a * b
    e = d * c
    w = GradWidget(e)
    e.backward()
    return w


def typed(w, key, *tries, right=True, **more):
    """What the page writes."""
    w._answers = w._answers | {
        str(w[key].key): {"tries": tries, "right": right, "hinted": False, "shown": False} | more
    }


def test_asks_for_all_but_the_output(w):
    quiz = w.quiz()
    assert isinstance(quiz, Quiz)
    assert [w[key].name for key in quiz.questions] == ["d", "c", "a", "b"]
    assert quiz.score == (0, 4)
    assert quiz.running
    assert repr(quiz) == "Quiz(0 of 4 right)"


def test_answers_are_graded_here_whatever_the_page_says(w):
    quiz = w.quiz()
    typed(w, "a", "1.5", "1.56", hinted=True)
    typed(w, "b", "7", right=True)
    typed(w, "d", shown=True, right=False)
    found = {one.name: one for one in quiz.answers}
    assert (found["a"].right, found["a"].given, found["a"].tries, found["a"].hinted) == (
        True, "1.56", ("1.5", "1.56"), True,
    )  # fmt: skip
    assert (found["b"].right, found["d"].right, found["d"].shown) == (False, False, True)
    assert quiz.score == (1, 4)


def test_a_running_quiz_is_joined_and_a_new_one_forgets(w):
    w._quiz = {"keys": None, "tolerance": 0.01}  # the switch on the page
    typed(w, "a", "1.56")
    quiz = w.quiz()
    assert quiz.score == (1, 4)
    quiz.restart()
    assert quiz.answers == ()
    assert w.quiz("a", "d").questions == (w["a"].key, w["d"].key)
    assert w.quiz().score == (0, 2)
    quiz.stop()
    assert not quiz.running
    assert w._quiz is None


def test_before_a_pass_nothing_is_asked():
    x = torch.tensor(2.0, requires_grad=True)
    y = x.exp()
    w = GradWidget(y)
    quiz = w.quiz()
    assert (quiz.questions, quiz.score, quiz.answers) == ((), (0, 0), ())
    y.backward()
    assert [w[key].name for key in quiz.questions] == ["x"]


def test_the_next_iteration_asks_anew(w):
    quiz = w.quiz()
    typed(w, "a", "1.56")
    a = torch.tensor(3.0, requires_grad=True)
    out = a * a
    w.refresh(out)
    out.backward()
    assert quiz.answers == ()
    assert [w[key].name for key in quiz.questions] == ["a"]


def test_only_gradients_of_a_few_numbers_are_asked_for():
    x = torch.rand(3, requires_grad=True)
    big = torch.rand(30, 30, requires_grad=True)
    out = x.sum() + big.sum()
    w = GradWidget(out)
    out.backward()
    assert {w[key].name for key in w.quiz().questions} == {"x", ""}


def test_bad_input(w):
    with pytest.raises(UnknownNodeError, match="zz"):
        w.quiz("zz")
    with pytest.raises(OptionError, match="tolerance"):
        w.quiz(tolerance=2)


@pytest.mark.parametrize(
    ("given", "true", "right"),
    [
        ("1.56", [1.56], True),
        ("1.565", [1.56], True),
        ("1.6", [1.56], False),
        (" -0.28 ", [-0.2837], True),
        ("0", [0.0], True),
        ("0", [0.004], False),
        ("0.00401", [0.004], True),
        ("[1, 2]", [1.0, 2.0], True),
        ("1 2", [1.0, 2.0], True),
        ("1,2", [1.0, 2.0], True),
        ("0,8467", [0.8467], True),
        ("0,5; 1,25", [0.5, 1.25], True),
        ("0,8467", [0.0, 1.0], False),
        ("1", [1.0, 2.0], False),
        ("e", [1.0], False),
        ("", [], False),
        ("nan", [1.0], False),
    ],
)
def test_what_counts_as_right(given, true, right):
    assert is_right(given, true, 0.01) is right


def test_a_quiz_with_nothing_to_ask_says_why():
    x = torch.rand(50, requires_grad=True)
    y = (x * 2).sum()
    w = GradWidget(y)
    quiz = w.quiz()
    assert quiz.note == "There are no gradients to ask for yet. Call backward(), or w.probe()."
    y.backward()
    assert quiz.questions == ()
    assert quiz.note == "No gradient here is short enough to be typed. Use tensors of up to four numbers."
    assert repr(quiz) == f"Quiz(nothing to ask: {quiz.note})"


def test_a_quiz_with_questions_has_no_note(w):
    assert w.quiz().note == ""
