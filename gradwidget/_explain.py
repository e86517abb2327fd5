"""One node of a graph -> its formula, with the names and numbers of this graph put in."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gradwidget._formulas import Formula, Piece, Typesetter, evaluate, formula_of, parse, settle
from gradwidget._formulas.evaluate import Like, Missing
from gradwidget._formulas.language import Expression, names, product, shapes
from gradwidget._formulas.typeset import derivative, identifier, joined, negative, number, operator, plus, row
from gradwidget._inspect import Inspection
from gradwidget._order import order_of, symbol_of
from gradwidget._passes import Item, Place
from gradwidget._saved import Saved
from gradwidget._summary import format_number, readable, unobserved

MOST_TERMS = 6
"""Contributions that are written out; of a leaf with more consumers it is said how many."""
_SEVERAL = 2
_TINY, _SMALL = 4, 9
_CALCULATED = 4096
"""Elements up to which a formula is calculated with this node's numbers."""

_KEPT = 64
"""Of values that were calculated again, those up to this many elements are kept."""
_SMALL_GRAPH = 300
"""Nodes up to which they are calculated."""
_LONG = 90
"""Characters beyond which numbers are not put into an expression."""

Symbols = Callable[[Place], Piece]
Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Part:
    """What a node hands on to one input.

    `local` is its local derivative, `chain` the right side in symbols, `numbers` the same with numbers put in, where
    these are few enough; `result` what comes out. Each may be missing.
    """

    slot: int
    place: Place
    name: Piece
    local: Piece | None = None
    chain: Piece | None = None
    numbers: Piece | None = None
    result: Piece | None = None
    alone: bool = True  # the input gets its gradient from here only
    note: str = ""

    @property
    def gradient(self) -> Piece:
        """`dL/da`."""
        return derivative(identifier("L"), self.name)

    @property
    def line(self) -> Piece | None:
        """`dL/da = dL/dd · b = 1.3 · 1.2 = 1.56`; with `+=` where it is one contribution of several."""
        if self.chain is None:
            return None
        found = joined("=" if self.alone else "+=", self.gradient, self.chain)
        for more in (self.numbers, self.result):
            if more is not None and more.text != self.chain.text:
                found = joined("=", found, more)
        return found


@dataclass(frozen=True, slots=True)
class Explanation:
    """The formula of one node.

    Attributes:
        state: "formula", "sentence" (told in words), "own" (a Function of the user's), "leaf", or "unknown".
        forward: `d = a · b = 1.1 · 1.2 = 1.32`, where the formula tells it.
        parts: what it hands on, one entry for each input that asks for a gradient.
        arrival: how its own gradient comes together, term by term: `dL/dx = dL/du · a + dL/dv · b = 2 + 3 = 5`.
        note: a sentence, or "".
        hint: `dL/dd = dL/de · c`: the rule for its own gradient, without numbers.
    """

    state: str
    forward: Piece | None = None
    parts: tuple[Part, ...] = ()
    arrival: Piece | None = None
    note: str = ""
    hint: Piece | None = None

    @property
    def text(self) -> str:
        """All of it as lines of plain text."""
        lines = [self.arrival.text] if self.arrival is not None else []
        lines += [part.line.text for part in self.parts if part.line is not None]
        return "\n".join(lines or ([self.note] if self.note else []))


@unobserved()
def explain(inspection: Inspection, key: int, saved: Mapping[str, Saved] | None = None) -> Explanation:
    """The formula of a node, with names and numbers."""
    return Node(inspection, key, saved).explained()


class Node:
    """One node with its formula, what that reads, and how it is written. To be used under `unobserved()`."""

    def __init__(
        self,
        inspection: Inspection,
        key: int,
        saved: Mapping[str, Saved] | None = None,
        *,
        symbols: Symbols | None = None,
        digits: Format = format_number,
        adjoint: Symbols | None = None,
    ) -> None:
        self._inspection = inspection
        self.key = key
        # Neither may refer to the node itself: a cycle would hold the graph until the garbage collector comes by.
        write = symbols or functools.partial(named, inspection)
        self._symbols = write
        self._adjoint = adjoint or (lambda place: derivative(identifier("L"), write(place)))
        self._digits = digits
        self._columns = inspection.columns
        self._op = self._columns.ops[self._columns.op[key]]
        self._saved = inspection.seen_saved(key) if saved is None else saved
        self._given = _given(self._saved)
        self.formula: Formula | None = None
        if self._op.kind == "operation":
            self.formula = formula_of(self._op.name, self._given)
        self._inputs = {
            self._columns.input[e]: (self._columns.target[e], self._columns.output[e])
            for e in inspection.edges.inputs[key]
        }
        self._slots: dict[str, int] = {}
        if self.formula is not None and "*" not in self.formula.inputs:
            self._slots = {name: slot for slot, name in enumerate(self.formula.inputs)}
        self._scalars = {
            n: v
            for n, v in self._given.items()
            if v is not ... and not isinstance(v, torch.Tensor) and not (v is None and n in self._slots)
        }
        if self._scalars.get("weight", 1) is None or (self.formula is not None and self._absent("weight")):
            self._scalars["weight"] = 1  # a layer or a loss without weights
        for name, slot in self._slots.items():
            constant = self._constant(name, slot)
            if constant is not None:
                self._scalars[name] = constant

    def _absent(self, name: str) -> bool:
        return name in self._slots and self._slots[name] not in self._inputs and self._given.get(name, 0) is None

    # --- what a name means -------------------------------------------------------------------------------------------

    def _constant(self, name: str, slot: int) -> float | None:
        """A Python number among the arguments, which torch has wrapped into a tensor."""
        value = self._given.get(name)
        if slot in self._inputs or not isinstance(value, torch.Tensor) or value.dim() or self._saved[name].same_as:
            return None
        item: Any = value.item()
        return item if isinstance(item, (int, float)) else None

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Shape of what a name stands for."""
        if name in ("result", "g"):
            forms = self._columns.forms_of(self.key)
            return forms[0].shape if forms else None
        place = self._place(name)
        if place is not None:
            forms = self._columns.forms_of(place[0])
            return forms[place[1]].shape if place[1] < len(forms) else None
        value = self._given.get(name)
        return tuple(value.shape) if isinstance(value, torch.Tensor) else None

    def _place(self, name: str) -> Place | None:
        return self._inputs.get(self._slots[name]) if name in self._slots else None

    def value(self, name: str) -> Any:
        """What a name stands for, as a number or a tensor.

        Raises:
            Missing: it is not known.
        """
        if name in self._scalars:
            return self._scalars[name]
        if name == "g":
            return self._arrived(0)
        if name == "gs":
            return [self._arrived(output) for output in range(len(self._columns.forms_of(self.key)))]
        found = self._given.get(name)
        if not isinstance(found, (torch.Tensor, tuple)):
            place = (self.key, 0) if name == "result" else self._place(name)
            found = None if place is None else value_at(self._inspection, place)
        if isinstance(found, torch.Tensor):
            found = readable(found)[0]
        if found is None:
            raise Missing(name)
        return found

    def _arrived(self, output: int) -> torch.Tensor:
        last = self._inspection.last_pass_with(self.key)
        row = () if last is None else last.items(self.key)
        item = row[output] if output < len(row) else None
        found = _plain(item)
        if found is None:
            raise Missing("g")
        return found

    def calculate(self, expression: Expression, slot: int = -1, **given: Any) -> torch.Tensor | None:
        """The value of an expression, None where a number that it reads is not known."""
        try:
            wanted = names(expression)
            values: dict[str, Any] = {name: Like(torch.Size(self.shape(name) or ())) for name in shapes(expression)}
            values |= {name: given[name] if name in given else self.value(name) for name in wanted - {"slot"}}
            if "slot" in wanted:
                values["slot"] = self._position(slot)
            found = evaluate(expression, values)
        except Exception:  # a number that is missing, or a case that the formula does not tell
            return None
        return found if isinstance(found, torch.Tensor) else torch.tensor(found)

    def _position(self, slot: int) -> Any:
        """Which part of the result an input became."""
        if self._op.label == "Stack":
            return slot
        dim = self._scalars["dim"]
        starts = 0
        for before in range(slot + 1):
            place = self._inputs.get(before)
            shape = None if place is None else self._columns.forms_of(place[0])[place[1]].shape
            if shape is None:
                raise Missing("slot")
            if before == slot:
                return (starts, shape[dim])
            starts += shape[dim]
        raise Missing("slot")

    # --- how it is written -------------------------------------------------------------------------------------------

    def symbol(self, name: str) -> Piece:
        """A name in the formula as it is written."""
        if name == "g":
            return self._adjoint((self.key, 0))
        if name == "gs":
            return self._list(
                [self._adjoint((self.key, output)) for output in range(len(self._columns.forms_of(self.key)))]
            )
        if name == "result":
            return self._symbols((self.key, 0))
        place = self._place(name)
        if place is not None:
            return self._symbols(place)
        return self._argument(name)

    @staticmethod
    def _list(parts: list[Piece]) -> Piece:
        shown = parts if len(parts) <= _TINY else [*parts[:2], identifier("…"), parts[-1]]
        maths: list[Any] = []
        for part in shown:
            maths += [operator(","), part.maths] if maths else [part.maths]
        return Piece(", ".join(p.text for p in shown), row(*maths))

    def _argument(self, name: str) -> Piece:
        if name == "slot":
            return Piece("", row())
        if name in self._scalars:
            value = self._scalars[name]
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                shown = number(str(value) if isinstance(value, int) else format_number(value))
                return joined("=", identifier(name), shown) if name not in self._slots else shown
            if value in (None, False, (), True):
                return Piece("", row())
            return joined("=", identifier(name), identifier(_setting(value)))
        saved = self._saved.get(name)
        if saved is not None and saved.same_as:
            return identifier(saved.same_as.removeprefix("view of "))
        slot = self._slots.get(name)
        label = "" if slot is None else self._inspection.cut_label(self.key, slot)
        if self._op.name.startswith("Native"):
            return identifier({"result1": "mean", "result2": "1/std"}.get(name, name))
        return identifier(label or ("constant" if name in ("self", "other") else name))

    def figures(self, name: str) -> Piece:
        """A name's numbers.

        Raises:
            Missing: they are not known, or too many to be written.
        """
        if name in ("slot", "indices", "gs") or (name in self._scalars and name not in self._slots):
            return self._argument(name)
        value = self.value(name)
        found = shown(value, self._digits)
        if found is None:
            raise Missing(name)
        return found

    def _with_numbers(self, expression: Expression) -> Piece | None:
        """The expression with numbers; with `g` as a symbol before there is a pass."""

        def symbol(name: str) -> Piece:
            try:
                return self.figures(name)
            except Missing:
                if name != "g" or self._inspection.last_pass_with(self.key) is not None:
                    raise
                return self.symbol("g")

        if "gs" in names(expression):
            return None
        try:
            found = Typesetter(symbol)(expression)
        except Missing:
            return None
        return found if len(found.text) <= _LONG else None

    # --- the explanation ---------------------------------------------------------------------------------------------

    def settled(self, text: str) -> Expression:
        """An expression of the table with this node's numbers; `g * local` keeps its form."""
        expression = parse(text)
        local = product(expression)
        if local is None:
            return settle(expression, self._scalars, self.shape)
        return ast.BinOp(ast.Name("g"), ast.Mult(), settle(local, self._scalars, self.shape))

    def handed(self, slot: int) -> Expression | None:
        """What is handed on to an input, as an expression; None where there is no formula."""
        formula = self.formula
        index = -1 if formula is None else formula.slot(slot)
        if formula is None or index < 0 or index >= len(formula.backward) or not formula.backward[index]:
            return None
        expression = self.settled(formula.backward[index])
        name = formula.inputs[index]
        wide, narrow = self.shape("result"), self.shape(name) if name in self._slots else None
        if formula.pointwise and wide is not None and narrow is not None and wide != narrow:
            return ast.Call(ast.Name("fold"), [expression, ast.Name(name)], [])
        return expression

    def part(self, slot: int) -> Part:
        """What goes to one input."""
        place = self._inputs[slot]
        name = self._symbols(place)
        alone = len(self._inspection.edges.consumers[place[0]]) == 1 or self._only_consumer(place)
        expression = self.handed(slot)
        seen = self._handed_on(slot)
        result = None if seen is None else shown(seen, self._digits)
        if expression is None:
            return Part(slot, place, name, result=result, alone=alone)
        write = Typesetter(self.symbol)
        inner = _folded(expression) or expression
        derived = product(inner)
        local = None
        if derived is not None:
            mine = self._symbols((self.key, 0))
            local = joined("=", derivative(mine, name, "∂"), write(derived))
        note = "Summed over the dimensions in which it was broadcast." if _folded(expression) else ""
        numbers = self._with_numbers(expression)
        calculated = self._calculated(expression, slot)
        if calculated is not None and seen is not None and not _agree(calculated, seen):
            was = f" Captured: {result.text}." if result is not None else ""
            note = f"Not what was captured: a hook or an edit in place has changed it.{was}"
            result = shown(calculated, self._digits)
        elif result is None and calculated is not None:
            result = shown(calculated, self._digits)
        return Part(slot, place, name, local, write(expression), numbers, result, alone, note)

    def _calculated(self, expression: Expression, slot: int) -> torch.Tensor | None:
        for name in names(expression) & {"self", "other", "g", "result", "input", "mat1", "mat2", "weight", "target"}:
            shape = self.shape(name)
            if shape is None or torch.Size(shape).numel() > _CALCULATED:
                return None
        found = self.calculate(expression, slot)
        forms = self._columns.forms_of(self._inputs[slot][0])
        shape = forms[self._inputs[slot][1]].shape if self._inputs[slot][1] < len(forms) else None
        if found is None or shape is None or found.shape == shape:
            return found
        try:
            return found.expand(shape)
        except RuntimeError:
            return None

    def amount(self, slot: int) -> torch.Tensor | None:
        """What is handed on to an input: as it was seen, else by the formula."""
        seen = self._handed_on(slot)
        expression = None if seen is not None else self.handed(slot)
        return seen if expression is None else self._calculated(expression, slot)

    def tangent(self, dotted: Symbols) -> Piece | None:
        """How a change of the inputs changes the result: `v̇₁ · v₀ + v̇₀ · v₁`; None where it is more than a sum."""
        terms = []
        for slot, place in sorted(self._inputs.items()):
            expression = self.handed(slot)
            local = None if expression is None else product(_folded(expression) or expression)
            if local is None or self.formula is None or not self.formula.pointwise:
                return None
            moving = dotted(place)
            write = Typesetter(functools.partial(self._moving, moving))
            factor = ast.literal_eval(local) if isinstance(local, ast.Constant) else None
            term = write(settle(ast.BinOp(ast.Name("g"), ast.Mult(), local), {}, self.shape))
            terms.append(negative(moving) if factor == -1 else term)
        return plus(terms) if terms else None

    def _moving(self, moving: Piece, name: str) -> Piece:
        return moving if name == "g" else self.symbol(name)

    def _only_consumer(self, place: Place) -> bool:
        edges = self._inspection.edges.consumers[place[0]]
        return sum(self._columns.output[e] == place[1] for e in edges) == 1

    def _handed_on(self, slot: int) -> torch.Tensor | None:
        """What was seen to be handed on, in the last pass that came here."""
        last = self._inspection.last_pass_with(self.key)
        step = None if last is None else last.steps.get(self.key)
        if last is None or step is None:
            return None
        items = last.handed_on(step)
        found = _plain(items[slot]) if slot < len(items) else None
        if found is None:
            target, output = self._inputs[slot]
            if self._only_consumer((target, output)):
                arrived = last.items(target)
                found = _plain(arrived[output]) if output < len(arrived) else None
        return found

    def forward(self) -> Piece | None:
        """`d = a · b = 1.1 · 1.2 = 1.32`."""
        if self.formula is None or not self.formula.forward:
            return None
        left, right, numbers, result = self.forward_parts()
        found = joined("=", left, right)
        for more in (numbers, result):
            if more is not None and more.text != right.text:
                found = joined("=", found, more)
        return found

    def forward_parts(self) -> tuple[Piece, Piece, Piece | None, Piece | None]:
        """The result's name, the expression, the same with numbers, and the value."""
        assert self.formula is not None
        expression = self.settled(self.formula.forward)
        known = value_at(self._inspection, (self.key, 0))
        value = None if known is None else readable(known)[0]
        return (
            self._symbols((self.key, 0)),
            Typesetter(self.symbol)(expression),
            self._with_numbers(expression),
            None if value is None else shown(value, self._digits),
        )

    def explained(self) -> Explanation:
        """All of it."""
        hint, arrival, changed = self._arrival()
        if self._op.kind == "leaf":
            return Explanation("leaf", arrival=arrival, note=changed, hint=hint)
        if len(self._inspection.edges.consumers[self.key]) < _SEVERAL:
            arrival = None
        if self._op.kind == "function":
            note = f"{self._op.label}.backward is code of yours: what it hands on is shown, a formula is not known."
            return Explanation("own", None, self._parts(), arrival, note, hint)
        if self.formula is None:
            return Explanation("unknown", None, self._parts(), arrival, _unknown(self._op.name, self._op.kind), hint)
        state = "formula" if any(self.formula.backward) else "sentence"
        return Explanation(state, self.forward(), self._parts(), arrival, self.formula.note, hint)

    def _parts(self) -> tuple[Part, ...]:
        return tuple(self.part(slot) for slot in sorted(self._inputs)[:MOST_TERMS])

    def _arrival(self) -> tuple[Piece | None, Piece | None, str]:
        """How this node's own gradient comes together from its consumers: in symbols, with numbers, and a note."""
        edges = [e for e in self._inspection.edges.consumers[self.key] if self._columns.output[e] == 0]
        if not edges or len(edges) > MOST_TERMS:
            return None, None, ""
        nodes = {
            source: Node(self._inspection, source, symbols=self._symbols, digits=self._digits)
            for source in {self._columns.source[e] for e in edges}
        }
        places = [(nodes[self._columns.source[e]], self._columns.input[e]) for e in edges]
        parts = [node.part(slot) for node, slot in places]
        chains = [part.chain for part in parts if part.chain is not None]
        if len(chains) < len(parts):
            return None, None, ""
        hint = joined("=", derivative(identifier("L"), self._symbols((self.key, 0))), plus(chains))
        found = hint
        results = [part.result for part in parts if part.result is not None]
        if len(parts) == 1:
            if parts[0].numbers is not None and parts[0].numbers.text != chains[0].text:
                found = joined("=", found, parts[0].numbers)
        elif len(results) == len(parts):
            found = joined("=", found, plus(results))
        total = None
        for node, slot in places:
            amount = node.amount(slot)
            if amount is None:
                return hint, found, ""
            total = amount if total is None else total + amount
        if total is None:
            return hint, found, ""
        end = shown(total, self._digits)
        if end is not None:
            found = joined("=", found, end)
        try:
            changed = not _agree(total, self._arrived(0))
        except Missing:
            changed = False
        return hint, found, "What comes in is changed by a hook before it gets here." if changed else ""


def value_at(inspection: Inspection, place: Place) -> torch.Tensor | None:
    """A forward value; one that nobody has kept is calculated again from those that were, in small graphs."""
    known = inspection.known_value(place)
    if known is None and len(inspection) <= _SMALL_GRAPH:
        found: dict[Place, torch.Tensor] | None = inspection.worked_out.get("values")
        if found is None:
            found = inspection.worked_out["values"] = {}
            _calculate_again(inspection, found)
        known = found.get(place)
    return known


def _calculate_again(inspection: Inspection, found: dict[Place, torch.Tensor]) -> None:
    for key in order_of(inspection).keys:
        forms = inspection.columns.forms_of(key)
        if len(forms) != 1 or inspection.kind_of(key) != "operation" or inspection.known_value((key, 0)) is not None:
            continue
        if forms[0].shape is None or torch.Size(forms[0].shape).numel() > _CALCULATED:
            continue
        node = Node(inspection, key)
        if node.formula is not None and node.formula.forward:
            value = node.calculate(node.settled(node.formula.forward))
            if value is not None and value.shape == forms[0].shape:
                found[key, 0] = value.to(getattr(torch, forms[0].dtype))
    for place in [place for place, value in found.items() if value.numel() > _KEPT]:
        del found[place]


def named(inspection: Inspection, place: Place) -> Piece:
    """A tensor by its name, else by its number in the order of the trace."""
    name = inspection.name_of(place)
    return identifier(name) if name else symbol_of(inspection, place)


def _given(saved: Mapping[str, Saved]) -> dict[str, Any]:
    """Saved variables by name: scalars, tensors (`...` where their values are not at hand), None; parts as tuples."""
    found: dict[str, Any] = {}
    parts: dict[str, list[Any]] = {}
    for name, one in saved.items():
        value = one.value if one.value is not None or one.state in ("none", "scalar") else ...
        base, bracket, _ = name.partition("[")
        if bracket:
            parts.setdefault(base, []).append(value)
        else:
            found[name] = _WITHOUT.get(name) if value is None else value
    for base, values in parts.items():
        found[base] = ... if any(v is ... for v in values) else tuple(values)
    return found


_WITHOUT: dict[str, Any] = {"correction": 1, "p": 2, "ord": 2}
"""What torch calculates with where such an argument is None."""


def _plain(item: Item) -> torch.Tensor | None:
    return readable(item)[0] if isinstance(item, torch.Tensor) else None


def _agree(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape:
        return False
    narrow = torch.finfo(b.dtype).bits < 32 if b.dtype.is_floating_point else False
    return torch.allclose(
        a.to(b.device, torch.complex128 if b.is_complex() else torch.float64),
        b.to(torch.complex128 if b.is_complex() else torch.float64),
        rtol=3e-2 if narrow else 1e-3,
        atol=1e-2 if narrow else 1e-6,
        equal_nan=True,
    )


def _folded(expression: Expression) -> Expression | None:
    """What is summed over the dimensions in which an input was broadcast."""
    match expression:
        case ast.Call(func=ast.Name(id="fold"), args=[inner, *_]):
            return inner
    return None


def _setting(value: Any) -> str:
    if isinstance(value, tuple):
        return str(value[0]) if len(value) == 1 else f"({', '.join(map(str, value[:6]))})"
    return str(value)


def _unknown(op: str, kind: str) -> str:
    if kind == "compiled":
        return "A compiled region has no formula of its own: run it in eager mode to see its operations."
    if kind == "checkpoint":
        return "A checkpointed region has no formula of its own: its operations run again in backward()."
    return (
        f"No formula is stored for {op}. Search PyTorch's tools/autograd/derivatives.yaml for "
        f"{_spelled(op.partition('Backward')[0])!r} to see its own."
    )


def _spelled(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def shown(value: Any, digits: Format = format_number) -> Piece | None:
    """A number, a short list or a small matrix; None for what is too big."""
    if not isinstance(value, torch.Tensor):
        return number(_number(value, digits)) if isinstance(value, (bool, int, float)) else None
    plain = readable(value)[0]
    if plain is None or plain.is_meta or plain.is_complex() or not plain.numel():
        return None
    if plain.dim() == 0:
        return number(_number(plain.item(), digits))
    if plain.dim() == 1 and plain.numel() <= _TINY:
        return _vector(plain.tolist(), digits)
    if plain.dim() == 2 and plain.numel() <= _SMALL:
        return _matrix(plain.tolist(), digits)
    return None


def _number(value: Any, digits: Format) -> str:
    return str(int(value)) if isinstance(value, (bool, int)) else digits(value)


def _vector(values: list[Any], digits: Format) -> Piece:
    shown = [number(_number(v, digits)) for v in values]
    maths: list[Any] = []
    for one in shown:
        maths += [operator(","), one.maths] if maths else [one.maths]
    return Piece(f"[{', '.join(s.text for s in shown)}]", row(operator("["), *maths, operator("]")))


def _matrix(values: list[list[Any]], digits: Format) -> Piece:
    rows = [[number(_number(v, digits)) for v in line] for line in values]
    text = ", ".join(f"[{', '.join(one.text for one in line)}]" for line in rows)
    table = ["mtable", *(["mtr", *(["mtd", one.maths] for one in line)] for line in rows)]
    return Piece(f"[{text}]", row(operator("["), table, operator("]")))
