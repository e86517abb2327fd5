"""Local derivatives as data: for each operation what it hands on to each of its inputs, as expressions.

`table` holds them, `language` reads them, `typeset` prints them as text and as MathML, `evaluate` calculates them:
what a reader sees and what the tests check against autograd is one and the same expression.
"""

from gradwidget._formulas.evaluate import evaluate
from gradwidget._formulas.language import Formula, parse, settle
from gradwidget._formulas.table import BY_OP, formula_of
from gradwidget._formulas.typeset import Maths, Piece, Typesetter

__all__ = ["BY_OP", "Formula", "Maths", "Piece", "Typesetter", "evaluate", "formula_of", "parse", "settle"]
