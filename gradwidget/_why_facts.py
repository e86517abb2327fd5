"""What is known of one tensor and its gradient: the questions that the tree of `_why_tree` asks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from gradwidget import _saved, _told
from gradwidget._attributes import asked, called
from gradwidget._inspect import Inspection, alive
from gradwidget._outputs import in_transform, is_no_grad_view
from gradwidget._passes import BackwardPass, Gradient, Place, summary_of, version_of
from gradwidget._source_text import BY_TEXT, from_gradient, rebound, remedy_for, without_history
from gradwidget._summary import form_of, readable, unobserved
from gradwidget._walk import Node
from gradwidget._why_numbers import Numbers, number_or_length
from gradwidget._why_scope import Cut, Owner, Scope, cut_between, holds_number, same_values, shares_memory, tracked

LOOKED_AT = 2_000
"""Nodes whose saved variables are looked at, at most."""
_WIDGETS = 16  # the newest, that are asked
_NAMED = 60  # tensors on each side of a search for a cut
_COPIES = frozenset({"ToCopyBackward0", "CopyBackwards", "ToBackward0", "CloneBackward0"})
_ORIGINAL = re.compile(r"(.*)\.parametrizations\.(\w+)\.original\d*$")
_OLD_NORM = re.compile(r"(.*)\.(\w+)_(?:g|v|orig)$")


class Facts:
    """Everything that the tree asks about one tensor. Nothing is kept beyond one question.

    `tensor` is None for a node whose tensor is gone. `here` is the graph in which it is looked for; `outs` are the
    outputs asked for in it, None if nobody asked. `seen` is a graph that is watched and has the tensor at `spot`.
    """

    def __init__(
        self,
        tensor: torch.Tensor | None,
        *,
        name: str = "",
        scope: Scope | None = None,
        here: Inspection | None = None,
        place: Place | None = None,
        outs: tuple[Place, ...] | None = None,
        output: torch.Tensor | None = None,
        no_graph: str = "",
        seen: Inspection | None = None,
        spot: Place | None = None,
        memo: dict[Any, Any] | None = None,
    ) -> None:
        self.tensor = tensor
        self.scope = scope or Scope()
        self.here = here
        self.place = place
        self.asked = outs is not None or bool(no_graph)
        self.no_graph = no_graph
        self.output = output
        self.seen = seen
        self.spot = spot
        self.memo = {} if memo is None else memo
        self._name = name
        self._outs = outs

    def __enter__(self) -> None:
        """For one question."""

    def __exit__(self, *_: object) -> None:
        """Facts and what was found out of them know each other: they would hold the graph until a collection."""
        self.__dict__.clear()

    # --- the tensor itself ---------------------------------------------------------------------------------------

    @cached_property
    def name(self) -> str:
        return self._name or self.scope.name_of(self.tensor) or self._name_in_graph() or "the tensor"

    def _name_in_graph(self) -> str:
        for inspection, place in ((self.seen, self.spot), (self.here, self.place)):
            if inspection is not None and place is not None and inspection.name_of(place):
                return inspection.name_of(place)
        return ""

    @property
    def subject(self) -> str:
        """The name at the beginning of a sentence."""
        return self.name[0].upper() + self.name[1:] if self.name == "the tensor" else self.name

    @cached_property
    def form(self) -> str:
        return "" if self.tensor is None else form_of(self.tensor).text

    @cached_property
    def dtype(self) -> str:
        return "" if self.tensor is None else str(asked(self.tensor, "dtype")).removeprefix("torch.")

    def _read(self, of: Callable[[torch.Tensor], Any], default: Any) -> Any:
        if self.tensor is None:
            return default
        with unobserved():
            try:
                return of(self.tensor)
            except Exception:
                return default

    @cached_property
    def discrete(self) -> bool:
        return bool(self._read(lambda t: not (called(t, "is_floating_point") or called(t, "is_complex")), False))

    @cached_property
    def off(self) -> str:
        """That gradients are switched off where the question is asked, as a clause; "" if they are on."""
        if self.scope.mode == "inference":
            return "`torch.inference_mode()` is in force right now"
        if self.scope.mode == "off":
            return "gradients are switched off right now (`torch.no_grad()` or `torch.set_grad_enabled(False)`)"
        return ""

    @cached_property
    def off_fact(self) -> str:
        inference = self.scope.mode == "inference"
        return f"torch.is_{'inference_mode' if inference else 'grad'}_enabled() is {inference}"

    @cached_property
    def lazy(self) -> bool:
        """A parameter or buffer of a lazy module that no forward pass has given a shape."""
        return issubclass(type(self.tensor), UninitializedTensorMixin)

    @cached_property
    def class_name(self) -> str:
        return type(self.tensor).__name__

    @cached_property
    @unobserved()
    def unreadable(self) -> str:
        """Why the numbers of a gradient can't be read, as a sentence."""
        grad = self.grad
        if grad is None:
            return "it is gone."
        note = readable(grad)[1]
        empty = form_of(grad).shape is not None and not grad.numel()
        return "it has no elements." if empty else note[:1].lower() + note[1:] or "torch refuses."

    @cached_property
    def inference(self) -> bool:
        return bool(self._read(lambda t: called(t, "is_inference"), False))

    @cached_property
    def requires_grad(self) -> bool:
        return bool(self._read(lambda t: asked(t, "requires_grad"), self.place is not None))

    @cached_property
    def stale(self) -> str:
        """What torch says when the history of a stale view is read; "" where that can be read."""
        if self.tensor is None:
            return ""
        with torch._C.DisableTorchFunction():
            try:
                asked(self.tensor, "grad_fn")
            except RuntimeError as error:
                return (str(error).splitlines() or [""])[0][:160]
        return ""

    @cached_property
    def node(self) -> Node | None:
        return self._read(lambda t: asked(t, "grad_fn"), None)

    @cached_property
    def no_grad_view(self) -> bool:
        return bool(self._read(is_no_grad_view, False))

    @cached_property
    def transformed(self) -> bool:
        return bool(self._read(in_transform, False))

    @cached_property
    def output_transformed(self) -> bool:
        return self.output is not None and not self.transformed and in_transform(self.output)

    @cached_property
    def base(self) -> str:
        """Name of the tensor that this one is a view of."""
        base = self._read(lambda t: t._base, None)
        return (self.scope.name_of(base) if base is not None else "") or "another tensor"

    @cached_property
    def is_leaf(self) -> bool:
        if self.tensor is None:
            return self.here is not None and self.place is not None and self.here.kind_of(self.place[0]) == "leaf"
        return self.node is None and not self.stale

    @cached_property
    def parameter(self) -> bool:
        return issubclass(type(self.tensor), torch.nn.Parameter)

    @cached_property
    def retains(self) -> bool:
        return bool(self._read(lambda t: asked(t, "retains_grad"), False))

    @cached_property
    def version(self) -> int:
        return int(self._read(lambda t: t._version, -1))

    @cached_property
    def op(self) -> str:
        """The forward operation that made it: "Mul"."""
        if self.node is None:
            return ""
        return re.sub(r"Backward\d*$", "", self.node.name().rpartition("::")[2])

    @cached_property
    def made_by(self) -> str:
        return f"{self.name}.grad_fn is <{self.node.name().rpartition('::')[2]}>" if self.node is not None else ""

    @cached_property
    def owner(self) -> Owner | None:
        return self.scope.owner_of(self.tensor)

    @cached_property
    def module(self) -> str:
        return self.owner.module if self.owner is not None else self.name.rpartition(".")[0] or "the module"

    @cached_property
    def key(self) -> str:
        return self.owner.key if self.owner is not None else self.name.rpartition(".")[2]

    @cached_property
    def frozen_beside(self) -> str:
        """How many parameters of the same top module are frozen too, as a fact."""
        top = self.name.partition(".")[0]
        near = [t for n, t in self.scope.tensors if n.startswith(f"{top}.") and issubclass(type(t), torch.nn.Parameter)]
        frozen = sum(not t.requires_grad for t in near)
        return f"{frozen} of {len(near)} parameters of {top} are frozen" if near else ""

    @cached_property
    def taken_from(self) -> Cut | None:
        """For a tensor without history: the tracked one whose memory, or values, it has."""
        if self.tensor is None:
            return None
        sources = [(n, t) for n, t in self.scope.tensors if t is not self.tensor and tracked(t)]
        found = cut_between(sources[: _NAMED * 10], [(self.name, self.tensor, -1)], equal=not self.parameter)
        return next(found, None)

    @cached_property
    def counters(self) -> str:
        """Version counters of a detached tensor and its source, where they tell detach() from .data."""
        cut = self.taken_from
        if cut is None or self.tensor is None:
            return ""
        source = next((t for n, t in self.scope.tensors if n == cut.source), None)
        if source is None:
            return ""
        mine, other = self.version, int(source._version)
        if mine == other:
            return "version counters are equal: detach() and .data can't be told apart"
        return f"version counters differ ({mine} and {other}): made with .data"

    # --- the graph around it -------------------------------------------------------------------------------------

    @cached_property
    def outs(self) -> tuple[Place, ...]:
        """The outputs: those asked for, else all of the graph but the tensor itself."""
        if self._outs is not None:
            return self._outs
        return () if self.here is None else tuple(place for place in self.here.columns.outputs if place != self.place)

    @cached_property
    def outputs(self) -> str:
        """What the outputs are called in a sentence."""
        if not self.asked:
            return self._heads()
        if self.here is None or not self.outs:
            return self.scope.name_of(self.output) or "the output"
        names = [self.here.name_of(place) or self.here.label_of(place[0]) for place in self.outs[:3]]
        return " and ".join(names)

    def _heads(self) -> str:
        """The outputs that depend on it, where nobody named one."""
        if self.here is None:
            return "any output"
        columns, between = self.here.columns, set(self.between)
        heads = [p for p in columns.outputs if p[0] in between and not self.here.edges.consumers[p[0]]]
        names = list(filter(None, (self.here.name_of(place) for place in heads)))
        return " and ".join(names[:2]) or "any output"

    @cached_property
    def heads(self) -> str:
        """The outputs of all graphs in scope, those with names."""
        if self.here is None:
            return ""
        heads = [p for p in self.here.columns.outputs if not self.here.edges.consumers[p[0]] and p != self.place]
        return " and ".join(list(filter(None, map(self.here.name_of, heads)))[:3])

    @cached_property
    def in_outputs(self) -> set[int]:
        """Nodes that lie behind the outputs."""
        if self.here is None:
            return set()
        keys = frozenset(place[0] for place in self.outs)
        known = self.memo.get(("behind", keys))
        if known is None:
            known = self.memo["behind", keys] = _closure(self.here, set(keys), forward=False)
        found: set[int] = known
        return found

    @cached_property
    def uses(self) -> list[int]:
        """Edges that hand gradient to the tensor, of those behind the outputs."""
        if self.here is None or self.place is None:
            return []
        columns = self.here.columns
        return [
            e
            for e in self.here.edges.consumers[self.place[0]]
            if columns.source[e] in self.in_outputs and columns.output[e] == self.place[1]
        ]

    @cached_property
    def reached(self) -> bool:
        """Whether the outputs depend on the tensor, as far as autograd knows."""
        return self.place is not None and (bool(self.uses) or self.place in self.outs)

    @cached_property
    def sibling(self) -> bool:
        """The outputs use the node that made it, but another output of that node."""
        return (
            not self.reached and self.place is not None and self.node is not None and self.place[0] in self.in_outputs
        )

    @cached_property
    def compiled_note(self) -> str:
        if "Compiled" not in self.op:
            return ""
        return " In a compiled region the values in between do not exist in the graph (`torch.compiler.disable`)."

    @cached_property
    def between(self) -> list[int]:
        """Nodes on the paths from the outputs to the tensor, nearest the outputs first."""
        if self.here is None or self.place is None:
            return []
        users = {self.here.columns.source[e] for e in self.uses}
        return sorted(_closure(self.here, users, forward=True) & self.in_outputs)

    @cached_property
    def nodes(self) -> list[Node]:
        found = None if self.here is None else self.here.nodes()
        return found or []

    @cached_property
    def freed(self) -> bool:
        """A pass through these outputs has freed what they had saved."""
        return any("freed" in self._states(key) for key in self._near())

    @cached_property
    def whole(self) -> bool:
        """What the outputs have saved is still there."""
        return any({"value", "modified"} & self._states(key) for key in self._near())

    def _states(self, key: int) -> set[str]:
        known = self.memo.get(("states", key))
        if known is None:
            known = self.memo["states", key] = {reading.state for reading in _saved.read(self.nodes[key])}
        found: set[str] = known
        return found

    def _near(self) -> list[int]:
        return [key for key in (self.between or sorted(self.in_outputs))[:LOOKED_AT] if key < len(self.nodes)]

    @cached_property
    def behind_heads(self) -> list[set[int]]:
        """Nodes behind each output in scope, an empty set if there is none."""
        if self.here is None:
            return [set()]
        heads = [p[0] for p in self.here.columns.outputs if not self.here.edges.consumers[p[0]]][:_NAMED]
        return [_closure(self.here, {key}, forward=False) for key in dict.fromkeys(heads)] or [set()]

    @cached_property
    def heads_freed(self) -> list[str]:
        """Outputs in scope that depend on the tensor, and whose own part of the graph a pass has freed."""
        here, place = self.here, self.place
        if here is None or place is None:
            return []
        heads = [p for p in here.columns.outputs if not here.edges.consumers[p[0]]][:_NAMED]
        behind = {p: _closure(here, {p[0]}, forward=False) for p in heads}
        found = []
        for head in heads:
            others = set().union(*(keys for p, keys in behind.items() if p[0] != head[0]))
            mine = sorted(behind[head] - others)[:LOOKED_AT]
            if place[0] in behind[head] and any("freed" in self._states(k) for k in mine if k < len(self.nodes)):
                found.append(here.name_of(head) or here.label_of(head[0]))
        return found[::-1]  # the newest come first

    @cached_property
    def unwatched(self) -> str:
        """What is left of the passes that nobody watched, as a remark: one leaves the counter of `.grad` at 0."""
        if self.last is not None:
            return ""
        grad = self.grad
        written = version_of(grad) if grad is not None and form_of(grad).shape is not None else 0
        if self.is_leaf and written > 0 and len(self.uses) < 2:
            return (
                f" (Nobody watched, but {self.name}.grad was changed in place after the first pass had made it: a "
                "second pass has added to it, or `clip_grad_norm_` or a division has changed it. Its _version is "
                f"{written}.)"
            )
        return " (Nobody watched: whether several passes add up in it is not known.)"

    @cached_property
    def leaves(self) -> list[tuple[str, torch.Tensor]]:
        """The leaves behind the outputs, by name ("" if none)."""
        if self.here is None:
            return []
        keys = [key for key in sorted(self.in_outputs) if self.here.kind_of(key) == "leaf"]
        pairs = [(self.here.name_of((key, 0)), self.here.tensor((key, 0))) for key in keys]
        return [(name, tensor) for name, tensor in pairs if tensor is not None]

    @cached_property
    def _mates(self) -> list[tuple[str, torch.Tensor]]:
        """The other leaves behind those outputs that depend on the tensor: other graphs tell nothing of a pass here."""
        if self.here is None:
            return []
        keys = _closure(self.here, set(self.between), forward=False)
        pairs = [(self.here.name_of((k, 0)), self.here.tensor((k, 0))) for k in keys if self.here.kind_of(k) == "leaf"]
        found = [(n or "an unnamed leaf", t) for n, t in pairs if t is not None and t is not self.tensor]
        return sorted(found, key=lambda pair: pair[0])

    @cached_property
    def others(self) -> list[str]:
        """Names of those that have a gradient."""
        return [name for name, tensor in self._mates if _told.grad_of(tensor) is not None]

    @cached_property
    def without(self) -> list[str]:
        """Names of those that have none either."""
        return [name for name, tensor in self._mates if _told.grad_of(tensor) is None]

    @cached_property
    def with_others(self) -> str:
        """How many were cleared together, as a remark."""
        count = len(self.without)
        return f" (with {count} other{'s' * (count != 1)})" if count else ""

    @cached_property
    def without_fact(self) -> str:
        names = [f"{name}.grad" for name in self.without[:3]]
        more = ", ..." * (len(self.without) > 3)
        return f"{', '.join(names)}{more} {'is' if len(self.without) == 1 else 'are'} None too" if names else ""

    @cached_property
    def behind(self) -> list[tuple[str, Place]]:
        """Leaves that the tensor itself was computed from."""
        if self.here is None or self.place is None:
            return []
        keys = _closure(self.here, {self.place[0]}, forward=False)
        return [(self.here.name_of((k, 0)), (k, 0)) for k in sorted(keys) if self.here.kind_of(k) == "leaf"]

    @cached_property
    def parametrized(self) -> str:
        """The parameters that a parametrized weight is computed from, "" if it is none."""
        names = [name for name, _ in self.behind]
        if self.is_leaf or self.here is None or self.tensor is None or not names or not all(names):
            return ""
        for pattern in (_ORIGINAL, _OLD_NORM):
            found = [pattern.match(name) for name in names]
            heads = {m.groups() for m in found if m is not None}
            if len(heads) == 1 and all(found):
                shapes = [self.here.columns.forms_of(place[0])[0].shape for _, place in self.behind]
                if form_of(self.tensor).shape in shapes:
                    return " and ".join(sorted(names))
        return ""

    @cached_property
    def parametrized_name(self) -> str:
        name = self.behind[0][0]
        found = _ORIGINAL.match(name) or _OLD_NORM.match(name)
        return f"{found[1]}.{found[2]}" if found else self.name

    @cached_property
    def copied_leaf(self) -> str:
        """The leaf of which a non-leaf is a moved or cast copy; "" if it is none."""
        if self.node is None or self.here is None or self.place is None:
            return ""
        if self.node.name().rpartition("::")[2] not in _COPIES:
            return ""
        edges = self.here.edges.inputs[self.place[0]]
        targets = [self.here.columns.target[e] for e in edges]
        if len(targets) != 1 or self.here.kind_of(targets[0]) != "leaf":
            return ""
        return self.here.name_of((targets[0], 0)) or "a leaf that no name holds"

    @cached_property
    def copied_leaf_fact(self) -> str:
        return self.copied_leaf if self.copied_leaf.startswith("a leaf") else f"the leaf {self.copied_leaf}"

    @cached_property
    def dead_end(self) -> bool:
        """Whether all that was computed from it last are no single numbers: `backward()` was not called on them."""
        if self.here is None or not self.whole or self.freed:
            return False
        ends = [p for p in self.here.columns.outputs if p[0] in set(self.between) and p in self.outs]
        ends = [p for p in ends if not self.here.edges.consumers[p[0]]]
        forms = [self.here.columns.forms_of(p[0])[p[1]].shape for p in ends]
        return bool(ends) and all(shape is not None and math.prod(shape) != 1 for shape in forms)

    @cached_property
    def lost_leaf(self) -> bool:
        """A non-leaf whose own leaf no name holds: it was made as `torch.randn(3, requires_grad=True) * 0.1`."""
        return (
            self.node is not None
            and len(self.behind) == 1
            and not self.behind[0][0]
            and bool(self.scope.tensors)
            and not any(n != self.name for n in self._upstream_names())
        )

    def _upstream_names(self) -> list[str]:
        if self.here is None or self.place is None:
            return []
        keys = _closure(self.here, {self.place[0]}, forward=False) - {self.place[0]}
        return [name for key in keys for name in self.here.names_of(key)]

    # --- where the trail ends ------------------------------------------------------------------------------------

    @cached_property
    def leads_to(self) -> list[tuple[str, torch.Tensor]]:
        """Named tensors that were computed from this one, itself first."""
        if self.here is None or self.place is None or self.tensor is None:
            return [] if self.tensor is None else [(self.name, self.tensor)]
        keys = _closure(self.here, {self.here.columns.source[e] for e in self.all_uses()}, forward=True)
        found = [(self.name, self.tensor)]
        for place, names in self.here.names.items():
            tensor = self.here.tensor(place)
            if place[0] in keys and tensor is not None:
                found.append((names[0], tensor))
        return found

    def all_uses(self) -> list[int]:
        if self.here is None or self.place is None:
            return []
        return [e for e in self.here.edges.consumers[self.place[0]] if self.here.columns.output[e] == self.place[1]]

    @cached_property
    def ends(self) -> list[str]:
        """Of these, the last ones: nothing that has a name was computed from them."""
        if self.here is None:
            return []
        found = []
        for name, tensor in self.leads_to[1:]:
            place = self.here.find_tensor(tensor)
            if place is not None and not self.here.edges.consumers[place[0]]:
                found.append(name)
        return found

    @cached_property
    def entering(self) -> list[tuple[str, torch.Tensor, int]]:
        """Tensors without history that the outputs' graph has saved, and the nodes they enter."""
        return self._constants(sorted(self.in_outputs))

    def _constants(self, keys: list[int]) -> list[tuple[str, torch.Tensor, int]]:
        found = []
        for key in keys[:LOOKED_AT]:
            if key >= len(self.nodes):
                break
            for reading in _saved.read(self.nodes[key]):
                tensor = reading.tensor
                if tensor is not None and not tracked(tensor) and reading.name != "result":
                    found.append((self.scope.name_of(tensor), tensor, key))
        return found

    @cached_property
    def cut(self) -> Cut | None:
        """Where between the tensor and the outputs the graph was cut, or could have been."""
        sources = self.leads_to[:_NAMED]
        output = [] if self.output is None or tracked(self.output) else [(self.outputs, self.output, -1)]
        plain = [(n, t, -1) for n, t in self.scope.tensors if not tracked(t) and t is not self.output]
        kept = self.scope.buffers()
        loose = [one for one in plain if id(one[1]) not in kept]
        own = [] if self.here is None else [self.here.tensor(place) for _, place in self.behind]
        own += [tensor for _, tensor in sources]
        leaves = [(n, t, -1) for n, t in self.leaves if not any(t is one for one in own)]
        for ends, equal, enters in (
            (self.entering, False, True),
            (leaves, False, True),
            (output, False, True),
            (plain, False, False),
            (self.entering, True, True),
            (output, True, True),
            (loose, True, False),
        ):
            if not enters and not self.open_to_more:
                continue
            found = next(cut_between(sources, ends[:_NAMED], equal=equal), None)
            if found is not None:
                return found._replace(enters=enters)
            if ends is self.entering and not equal and (seen := self._seen_cut(sources)) is not None:
                return seen
        return None

    @cached_property
    @unobserved()
    def marked_late(self) -> bool:
        """The outputs have saved this very tensor, but lead to no node of it: it needed no gradient yet."""
        if self.reached or self.tensor is None or not self.is_leaf or self.parameter:
            return False
        for key in sorted(self.in_outputs)[:LOOKED_AT]:
            for reading in _saved.read(self.nodes[key]) if key < len(self.nodes) else ():
                one = reading.tensor
                if (
                    one is not None
                    and tracked(one)
                    and asked(one, "grad_fn") is None
                    and shares_memory(one, self.tensor)
                ):
                    return form_of(one).shape == form_of(self.tensor).shape and one.data_ptr() == self.tensor.data_ptr()
        return False

    @cached_property
    def open_to_more(self) -> bool:
        """Whether something without a history, of which nothing is known, enters the outputs' graph."""
        if self.no_graph or self.here is None:
            return True
        older = [tensor for _, tensor, _ in self._constants(self._used_on_the_way())]
        for key in sorted(self.in_outputs)[:LOOKED_AT]:
            if key >= len(self.nodes):
                break
            gaps = sum(before is None for before, _ in self.nodes[key].next_functions)
            mine = [tensor for _, tensor, at in self.entering if at == key]
            known = [t for t in mine if any(shares_memory(t, one) for one in older)]
            if len(known) < len(mine) or len(known) < gaps or "freed" in self._states(key):
                return True
        return False

    def _used_on_the_way(self) -> list[int]:
        """Nodes that lead from the tensor to what was computed from it."""
        if self.here is None:
            return []
        return sorted(_closure(self.here, {self.here.columns.source[e] for e in self.all_uses()}, forward=True))

    @cached_property
    def cut_says(self) -> str:
        """The cut as a sentence after "is not behind": a fact, or a possibility."""
        cut = self.cut
        assert cut is not None
        if cut.enters:
            at = self.cut_at
            return f"the graph is cut on the way. {'A' if at.startswith('a tensor ') else at[:1]}{at[1:]}."
        return (
            f"it was not used there, or the graph is cut on the way. One possibility: {self.cut_at} (whether "
            f"{self.outputs} was computed from that is not recorded)."
        )

    def _seen_cut(self, sources: list[tuple[str, torch.Tensor]]) -> Cut | None:
        """What a widget of the output saw before backward() freed it."""
        for one in list(alive.values())[: -_WIDGETS - 1 : -1]:
            if self.output is None or one.find_tensor(self.output) is None:
                continue
            for key, name in one.detached():
                tensor = one.called(name)
                if any(tensor is source for _, source in sources):
                    return Cut("detached", "", name, f"detach() or .data, where it enters {one.label_of(key)}", -1)
        return None

    @cached_property
    def cut_at(self) -> str:
        """The cut as a clause: "d, made from h by detach() or .data"."""
        cut = self.cut
        assert cut is not None
        what = cut.name or "a tensor without a name"
        where = ""
        if self.here is not None and cut.key >= 0:
            source = self.here.sources.get(cut.key, "")
            where = f", which enters {self.here.label_of(cut.key)}{f' ({source})' if source else ''}"
        if cut.kind in ("copied", "rounded"):
            return f"{what}{where} holds {self._numbers_of(cut)}, so it could have been made from it"
        late = cut.source == self.name and self.is_leaf and not self.parameter
        if cut.kind == "viewed":
            before = f" (or before {self.name} required a gradient)" if late else ""
            return f"{what} is a view of {cut.source} made under `no_grad`{before}{where}"
        or_late = f" (or {self.name} was used before `requires_grad_()` was called on it)" if late else ""
        return f"{what} was made from {cut.source} by {cut.how}{where}{or_late}"

    def _numbers_of(self, cut: Cut) -> str:
        return f"the numbers of {cut.source}" if cut.kind == "copied" else f"what {cut.how} gives of {cut.source}"

    @cached_property
    def guess_fact(self) -> str:
        """Whole numbers that could have been made from what leads on from the tensor, as a fact."""
        return self.cut_fact if self.cut is not None and self.cut.kind == "rounded" else ""

    @cached_property
    def cut_fact(self) -> str:
        cut = self.cut
        assert cut is not None
        what = cut.name or "the saved tensor"
        if cut.kind in ("copied", "rounded"):
            return f"{what} holds {self._numbers_of(cut)}; that may be a coincidence"
        told = {
            "detached": f"{what} shares memory with {cut.source} and has no history",
            "viewed": f"{what} is a view of {cut.source} and has no history",
            "numpy": f"{what} shares memory with {cut.source} but not its storage: it went through numpy",
        }
        return told[cut.kind]

    @cached_property
    def replaced(self) -> str:
        """A leaf behind the outputs that no name holds, of the shape of this parameter; "" if there is none."""
        if self.tensor is None or not self.is_leaf or not self.scope.tensors:
            return ""
        shape = form_of(self.tensor).shape
        if self.parameter and any(not n and form_of(t).shape == shape and _is_parameter(t) for n, t in self.leaves):
            return "a leaf of the same shape that no name holds any more"
        owner = self.owner
        if owner is None and self.parameter:
            named = [n for n, t in self.leaves if form_of(t).shape == shape and "." in n]
            if named:
                return f"{named[0]}, which is another tensor"
        return ""

    @cached_property
    def copy_used(self) -> str:
        """A leaf behind the outputs with the same values: a copy was used instead."""
        own = [] if self.here is None else [self.here.tensor(place) for _, place in self.behind]
        for name, tensor in self.leaves:
            if self.tensor is not None and not any(tensor is one for one in own):
                cast = any(asked(self.tensor, what) != asked(tensor, what) for what in ("dtype", "device"))
                if shares_memory(self.tensor, tensor) or same_values(self.tensor, tensor, surely=cast):
                    return name or "an unnamed leaf"
        return ""

    @cached_property
    def output_is_leaf(self) -> bool:
        """The output itself is a leaf: it has no history at all."""
        return self.output is not None and self.no_graph == "" and self._is_new_leaf(self.output)

    @cached_property
    def wrapped_again(self) -> tuple[str, str]:
        """A leaf behind the outputs that holds numbers computed from the tensor, and the name of these; else ""."""
        computed = [(n, t) for n, t in self.leads_to[1:_NAMED] if t is not self.output]
        for name, one in self.leaves:
            if self.tensor is None or one is self.tensor or any(one is t for _, t in computed):
                continue
            for source, tensor in computed:
                if shares_memory(one, tensor) or same_values(one, tensor) or holds_number(one, tensor):
                    return name or "an unnamed leaf", source
        return "", ""

    @unobserved()
    def _is_new_leaf(self, tensor: torch.Tensor) -> bool:
        try:
            return (
                bool(asked(tensor, "requires_grad")) and asked(tensor, "grad_fn") is None and tensor is not self.tensor
            )
        except RuntimeError:
            return False

    @cached_property
    def elsewhere(self) -> str:
        """Where the graph is cut between a tensor that has a gradient and the outputs, if that is sure: a sentence."""
        sure = self.cut is not None and self.cut.enters and self.cut.kind in ("detached", "viewed", "numpy")
        return f" For {self.outputs}, {self.cut_says}" if sure else ""

    @cached_property
    def unused_by_pass(self) -> bool:
        """Whether no operation that the last pass ran uses the tensor."""
        if self.seen is None or self.spot is None or self.last is None:
            return False
        columns = self.seen.columns
        edges = [e for e in self.seen.edges.consumers[self.spot[0]] if columns.output[e] == self.spot[1]]
        return not any(columns.source[e] in self.last.steps for e in edges)

    @cached_property
    def earlier(self) -> str:
        """The operation whose result the outputs depend on, and of which this tensor is a later version; "" if none.

        No name holds that result any more: the tensor was changed in place, or its name was given to another one.
        """
        if self.here is None or self.place is None or self.reached or self.is_leaf:
            return ""
        for edge in self.here.edges.inputs[self.place[0]]:
            before = self.here.columns.target[edge]
            place = (before, self.here.columns.output[edge])
            if before in self.in_outputs and self.here.kind_of(before) != "leaf" and not self.here.name_of(place):
                return self.here.label_of(before)
        return ""

    @cached_property
    def swapped(self) -> bool:
        """Whether the tensor was computed from what was given as the output."""
        if self.here is None or self.place is None or self.reached or not self.outs:
            return False
        return {key for key, _ in self.outs} <= _closure(self.here, {self.place[0]}, forward=False) - {self.place[0]}

    @cached_property
    def grad_without_graph(self) -> str:
        """That the output comes from an `autograd.grad` without a graph: a sentence, or ""."""
        return without_history(self.scope.spot, self.scope.name_of(self.output))

    @cached_property
    def by_gradient(self) -> str:
        """That the outputs are computed from a gradient, on which less depends; a sentence to go on with."""
        call = from_gradient(self.scope.spot, self.scope.name_of(self.output))
        if not call:
            return ""
        return (
            f" By the source text {self.outputs} comes from a gradient ({call}): what is only added (a last bias), or "
            "enters the function linearly, has no part in that."
        )

    @cached_property
    def own_without_graph(self) -> str:
        """The same of the tensor itself, where it has no history."""
        found = without_history(self.scope.spot, self.scope.name_of(self.tensor))
        return found if found.startswith(BY_TEXT) else ""

    @cached_property
    def rebound(self) -> bool:
        """Whether the source text gives its name to something that is computed from what had the name before."""
        return rebound(self.scope.spot, self.scope.name_of(self.tensor))

    @cached_property
    def own_remedy(self) -> str:
        return remedy_for(self.own_without_graph)

    @cached_property
    def graph_remedy(self) -> str:
        return remedy_for(self.grad_without_graph)

    @cached_property
    def surely_without_graph(self) -> bool:
        return self.grad_without_graph.startswith(BY_TEXT)

    # --- what the passes tell ------------------------------------------------------------------------------------

    @cached_property
    def grad(self) -> torch.Tensor | None:
        return _told.grad_of(self.tensor)

    @cached_property
    def passes(self) -> list[BackwardPass]:
        return [] if self.seen is None else self.seen.passes

    @cached_property
    def watched(self) -> bool:
        return self.seen is not None and self.spot is not None and (self.seen.watching or bool(self.passes))

    @cached_property
    def last(self) -> BackwardPass | None:
        """The newest pass that reached it."""
        return None if self.seen is None or self.spot is None else self.seen.last_pass_with(self.spot[0])

    @cached_property
    def captured(self) -> Gradient:
        if self.last is None or self.spot is None:
            return None
        row = self.last.at(self.spot[0])
        return row[self.spot[1]] if self.spot[1] < len(row) else None

    @cached_property
    def came_none(self) -> bool:
        return self.last is not None and self.captured is None

    @cached_property
    def gradient(self) -> Gradient:
        """What is to be explained: `.grad`, or what a pass brought to a tensor that has none of its own."""
        if self.grad is not None:
            return self.grad
        return None if self.is_leaf and self.tensor is not None else self.captured

    @cached_property
    def handed_none_by(self) -> str:
        """Functions on the way, if no path goes around them all: they may have returned None."""
        here = self.here
        if here is None or self.place is None:
            return ""
        found = {key for key in self.between if here.kind_of(key) == "function"}
        ends = {place[0] for place in self.outs if self.asked or not here.edges.consumers[place[0]]}
        waiting = [key for key in {here.columns.source[e] for e in self.uses} if key not in found]
        around = set(waiting)
        while waiting and found:
            at = waiting.pop()
            if at in ends:
                return ""
            for edge in here.edges.consumers[at]:
                above = here.columns.source[edge]
                if above in self.in_outputs and above not in found and above not in around:
                    around.add(above)
                    waiting.append(above)
        return " or ".join([here.label_of(key) for key in sorted(found, reverse=True)][:3])

    @cached_property
    def or_function(self) -> str:
        """That a custom Function on the way may have returned None, as a part of a list."""
        return f", or the custom Function {self.handed_none_by} has returned None" if self.handed_none_by else ""

    @cached_property
    def failed(self) -> BackwardPass | None:
        """The last pass, if it failed before it came here."""
        last = self.passes[-1] if self.passes else None
        return last if last is not None and last.state == "failed" else None

    @cached_property
    def written(self) -> str:
        """What a failed pass has written before it failed."""
        if self.failed is None or self.seen is None:
            return ""
        leaves = [self.seen.label_of(k) for k in self.failed.order if self.seen.kind_of(k) == "leaf"]
        names = ", ".join(f"{n}.grad" for n in leaves[:5])
        return f"{names} had been written before it failed" if names else "it failed before any .grad was written"

    @cached_property
    def last_label(self) -> str:
        return f"pass {self.passes[-1].number} ({self.passes[-1].label})" if self.passes else ""

    # --- facts in words ------------------------------------------------------------------------------------------

    @cached_property
    def op_text(self) -> str:
        op = self.op
        if not op and self.here is not None and self.place is not None:
            op = self.here.columns.ops[self.here.columns.op[self.place[0]]].label
        source = ""
        if self.here is not None and self.place is not None:
            source = self.here.sources.get(self.place[0], "")
        return f"{op}, {source}" if source else op

    @cached_property
    def shown(self) -> str:
        if self.seen is None:
            return ""
        return f" Its gradient {'is shown' if self.last is not None else 'will be shown'} here."

    @cached_property
    def or_look(self) -> str:
        return ", or look at it in a `gw.GradWidget`" if self.seen is None else ""

    @cached_property
    def brief(self) -> str:
        """The gradient in a few characters."""
        gradient = self.gradient if self.gradient is not None else self.captured
        summary = summary_of(gradient)
        return "none" if summary is None else number_or_length(summary)

    @cached_property
    def none_source(self) -> int | None:
        """The node that handed on None on the way here although a gradient had come to it, if one alone did."""
        here, last = self.seen, self.last
        if here is None or last is None or self.spot is None:
            return None
        waiting, found, visited = [self.spot[0]], set(), {self.spot[0]}
        while waiting:
            for edge in here.edges.consumers[waiting.pop()]:
                above = here.columns.source[edge]
                if above not in last.steps or above in visited:
                    continue
                visited.add(above)
                if any(one is not None for one in last.at(above)):
                    found.add(above)
                else:
                    waiting.append(above)
        return found.pop() if len(found) == 1 else None

    @cached_property
    def none_skipped(self) -> bool:
        """Whether the Function that handed on None gets None for outputs that were not used, and did here."""
        key = self.none_source
        if key is None or self.seen is None or self.last is None:
            return False
        info = _told.function(self.seen, key)
        return info is not None and not info.materialize and any(one is None for one in self.last.at(key))

    @cached_property
    def none_from(self) -> str:
        """Who handed on None, as a clause."""
        key = self.none_source
        if key is None or self.seen is None:
            return "operations on the way have handed on None (a custom Function, as a rule)"
        label = self.seen.label_of(key)
        if self.seen.kind_of(key) != "function":
            return f"{label} handed on None"
        said = f"the `backward` of the custom Function {label} has returned None"
        if self.none_skipped:
            said += (
                ", as nothing came back for one of its outputs (with `set_materialize_grads(False)` that arrives as "
                "None, not as zeros)"
            )
        return said

    @cached_property
    def none_remedy(self) -> str:
        if self.none_skipped:
            return "Return a gradient from `backward` for the outputs that were used, or use the other one in the loss."
        return "Return a gradient for it from `backward`."

    @cached_property
    def failed_fact(self) -> str:
        return f"pass {self.failed.number}: {self.failed.note.rstrip('.')}" if self.failed is not None else ""

    @cached_property
    def ran_fact(self) -> str:
        last = self.passes[-1]
        return f"{self.last_label} ran {len(last)} node{'s' * (len(last) != 1)}, not this one"

    @cached_property
    def others_fact(self) -> str:
        return f"{', '.join(f'{n}.grad' for n in self.others[:3])} {'is' if len(self.others) == 1 else 'are'} there"

    @cached_property
    def leaves_fact(self) -> str:
        names = [name or "an unnamed leaf" for name, _ in self.leaves[:5]]
        return f"the leaves behind {self.outputs} are {', '.join(names)}" if names else ""

    @cached_property
    def trail_fact(self) -> str:
        """The last named tensor with a history that was computed from it."""
        return f"the trail from {self.name} ends at {self.last_ends}" if len(self.leads_to) > 1 else ""

    @cached_property
    def equal_fact(self) -> str:
        """A tracked tensor that holds the same numbers: this may be a copy of it."""
        if self.tensor is None:
            return ""
        near = (n for n, t in self.scope.tensors if tracked(t) and same_values(self.tensor, t, surely=True))
        name = next(near, "")
        return f"it holds the same numbers as {name}, perhaps as a copy" if name else ""

    @cached_property
    def constants_fact(self) -> str:
        """Named tensors that enter the outputs' graph without a history."""
        names = list(dict.fromkeys(name for name, _, _ in self.entering if name))[:3]
        return f"{' and '.join(names)} enter{'s' * (len(names) == 1)} it without a history" if names else ""

    @cached_property
    def aliases(self) -> tuple[str, ...]:
        """Whether several names are this one tensor."""
        mine = (name for name, tensor in self.scope.tensors if tensor is self.tensor and "[" not in name)
        names = list(dict.fromkeys(mine))
        return (f"{' and '.join(names[:3])} are one tensor",) if len(names) > 1 else ()

    @cached_property
    def summed_fact(self) -> str:
        """That a custom Function's gradient may have been summed: torch does that before anyone can see it."""
        here = self.here
        if here is None or not self.is_leaf:
            return ""
        keys = {here.columns.source[e] for e in self.uses or self.all_uses()}
        columns = here.columns
        labels = [columns.ops[columns.op[k]].label for k in sorted(keys) if here.kind_of(k) == "function"]
        if not labels:
            return ""
        return (
            f"{labels[0]} is a custom Function: if its `backward` returned a bigger, broadcast shape, torch has summed "
            f"it to the shape of {self.name} without a word"
        )

    @cached_property
    def saved_fact(self) -> str:
        return "what was saved for backward is still there" if self.whole else ""

    @cached_property
    def last_line(self) -> str:
        """The line that computed the last of what leads on from the tensor, as recorded: ", made in cell 3, line 2"."""
        names = self.ends or [self.leads_to[-1][0]]
        tensor = next((t for n, t in self.leads_to[1:] if n == names[0]), None)
        place = None if self.here is None or tensor is None else self.here.find_tensor(tensor)
        source = "" if self.here is None or place is None else self.here.sources.get(place[0], "")
        return f", made in {source}" if source else ""

    @cached_property
    def seek(self) -> str:
        """How the place of a cut can be found."""
        if self.last_line:
            return f"Look at what comes after {self.last_ends}{self.last_line}."
        return f"Run the forward pass inside `with gw.record():`: then the line that made {self.last_ends} is told."

    @cached_property
    def last_ends(self) -> str:
        return " and ".join(self.ends[:3]) or self.leads_to[-1][0]

    @cached_property
    def outputs_code(self) -> str:
        plain = self.outputs if " and " not in self.outputs and self.outputs.replace(".", "").isidentifier() else ""
        return plain or "loss"

    def also(self, kind: str) -> tuple[str, ...]:
        """What else is unusual about a gradient that is there."""
        found = []
        if (
            kind not in ("accumulated", "changed-since", "zero", "zeroed", "cancels")
            and self.numbers.accumulated is not None
        ):
            found.append(self.numbers.accumulated.evidence[0])
        if kind in ("hook", "accumulated", "changed-since") and self.is_leaf:
            for other in (self.numbers.several, self.numbers.broadcast):
                found.extend(() if other is None else other.evidence[:2])
        elif kind in ("tied", "several-uses") and self.numbers.broadcast is not None:
            found.extend(self.numbers.broadcast.evidence)
        if kind in ("nan", "zero") and self.numbers.module_hooks:
            found.append(self.numbers.module_hooks)
        if (
            kind in ("tied", "several-uses", "broadcast", "pairs", "nan", "zero")
            and self.numbers.hook_possible is not None
        ):
            found.extend(f"{fact}, which may change it" for fact in self.numbers.hook_possible.evidence)
        return tuple(found)

    @cached_property
    def numbers(self) -> Numbers:
        return Numbers(self)


def _is_parameter(tensor: torch.Tensor) -> bool:
    return issubclass(type(tensor), torch.nn.Parameter)


def _closure(inspection: Inspection, start: set[int], *, forward: bool) -> set[int]:
    """Nodes that are reached from some: towards the outputs (`forward`), or towards the leaves."""
    columns, edges = inspection.columns, inspection.edges
    rows, ends = (edges.consumers, columns.source) if forward else (edges.inputs, columns.target)
    found = set(start)
    waiting = list(start)
    while waiting:
        for edge in rows[waiting.pop()]:
            key = ends[edge]
            if key not in found:
                found.add(key)
                waiting.append(key)
    return found
