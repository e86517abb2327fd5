"""The decision tree of `why`, as data: the first leaf that holds is the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from gradwidget._diagnosis import Diagnosis, worded
from gradwidget._why_facts import Facts
from gradwidget._why_numbers import Finding


class Leaf(NamedTuple):
    """One answer: when it holds, and its words, in which `{f.name}` stands for a fact."""

    kind: str
    when: Callable[[Facts], bool]
    cause: str
    remedy: str
    evidence: tuple[str, ...] = ()

    def diagnosis(self, f: Facts) -> Diagnosis:
        facts = (text.format(f=f) for text in self.evidence)
        return Diagnosis(self.kind, self.cause.format(f=f), self.remedy.format(f=f), tuple(filter(None, facts)))


class Found(NamedTuple):
    """Answers about the numbers of a gradient: their words are in `_why_numbers`."""

    find: Callable[[Facts], Finding | None]


_LOOK = "Make `w = gw.GradWidget({f.outputs})` before the next `backward()`, then `gw.why({f.name})` knows which."
_REWRAPPED = (
    "Build the loss from the tensors themselves: `torch.stack(losses).sum()` instead of "
    "`torch.tensor([l.item() ...], requires_grad=True)`."
)
_ON = (
    "Leave the `no_grad` or `inference_mode` block, or call `torch.set_grad_enabled(True)`, and run the forward pass "
    "again."
)
_NONE = "{f.name}.grad is None"
_FLAG = "{f.name}.requires_grad is False"

ITSELF: tuple[Leaf, ...] = (
    Leaf(
        "swapped",
        lambda f: f.asked and f.swapped,
        "{f.name} was computed from {f.outputs}, not the other way round: the gradient goes from {f.name} to "
        "{f.outputs}.",
        "Ask `gw.why({f.outputs}, {f.name})`: the tensor first, then what `backward()` is called on.",
        ("{f.outputs} is behind {f.name}",),
    ),
    Leaf(
        "uninitialized",
        lambda f: f.lazy,
        "{f.name} has no shape and no numbers yet: it belongs to a lazy module, which makes them in its first forward "
        "pass. Nothing was computed from it.",
        "Run one batch through the module, then `backward()`; after that it is an ordinary parameter.",
        ("{f.name} is an {f.class_name}",),
    ),
    Leaf(
        "transform",
        lambda f: f.transformed,
        "{f.name} lives inside a transform of `torch.func` (`grad`, `vmap`, `jvp`): what is recorded for it is not in "
        "the ordinary graph, has no `.grad`, and ends with the transform.",
        "Look at what the transform returns, or compute outside of it with `requires_grad_()` and `backward()`.",
        ("{f.name} is a wrapper of torch.func",),
    ),
    Leaf(
        "transform",
        lambda f: f.output_transformed,
        "{f.outputs} lives inside a transform of `torch.func` (`grad`, `vmap`, `jvp`): what it was computed from is "
        "not in the ordinary graph, so it brings no `.grad` to {f.name}.",
        "Give {f.name} to the transformed function as an argument, and ask for its gradient there: "
        "`torch.func.grad(f, argnums=...)`.",
        ("{f.outputs} is a wrapper of torch.func",),
    ),
    Leaf(
        "rounded",
        lambda f: f.discrete and f.owner is None and f.taken_from is not None and f.taken_from.kind == "rounded",
        "{f.name} holds {f.dtype}: whole numbers jump, so they have no derivative, and the graph ends there. It could "
        "have been made from {f.taken_from.source} by {f.taken_from.how}: the numbers agree.",
        "Use a smooth stand-in, such as `softmax` for `argmax` and `sigmoid` for a comparison, or a loss that takes "
        "the index as its target (`F.cross_entropy`).",
        ("{f.name}.dtype is {f.dtype}", "{f.name} equals {f.taken_from.how} of {f.taken_from.source}"),
    ),
    Leaf(
        "integer",
        lambda f: f.discrete,
        "{f.name} holds {f.dtype}: only floating point and complex tensors have gradients. argmax, comparisons, "
        "indices and casts to integers end the graph.",
        "Use `{f.name}.float()` before the computation if the numbers are data, or a smooth stand-in for what made "
        "them (`softmax` for `argmax`).",
        ("{f.name}.dtype is {f.dtype}",),
    ),
    Leaf(
        "inference",
        lambda f: f.inference,
        "{f.name} was made under `torch.inference_mode()`: such tensors never take part in autograd.",
        "Make it outside of `inference_mode()`, or use a copy: `{f.name}.clone()`.",
        ("{f.name}.is_inference() is True",),
    ),
    Leaf(
        "stale-view",
        lambda f: bool(f.stale),
        "{f.name} is a view of {f.base} that was made under `no_grad`, and its base was changed in place since: its "
        "history is no longer valid, so that even reading `{f.name}.grad_fn` raises.",
        "Make the view outside of `no_grad`, or use `{f.base}[...].clone()`.",
        ("reading {f.name}.grad_fn raises: {f.stale}", "{f.name}._version is {f.version}"),
    ),
)

UNTRACKED: tuple[Leaf, ...] = (
    Leaf(
        "frozen",
        lambda f: not f.requires_grad and f.parameter,
        "{f.name} is a parameter with requires_grad=False: {f.module} is frozen here, so no gradient is made for it.",
        "Call `{f.name}.requires_grad_()`, or `{f.module}.requires_grad_()` for the whole module, before the forward "
        "pass.",
        (_FLAG, "{f.frozen_beside}"),
    ),
    Leaf(
        "buffer",
        lambda f: not f.requires_grad and f.owner is not None and f.owner.kind == "buffer",
        "{f.name} is a buffer of {f.module} (requires_grad is False): buffers are moved and saved with the module, "
        "but not trained.",
        "Make it a parameter if it should learn: `self.{f.key} = nn.Parameter(...)`.",
        (_FLAG, "{f.key} stands in {f.module}._buffers"),
    ),
    Leaf(
        "no-grad-view",
        lambda f: not f.requires_grad and _cut_is(f, "viewed"),
        "{f.name} is a view of {f.taken_from.source} (or of the same tensor as that) made under `no_grad`, or before "
        "that required a gradient: it has no history, and no gradient ever passes from it.",
        "Make the view outside of `no_grad`, and after `requires_grad_()`.",
        (_FLAG, "{f.name}.grad_fn is None", "{f.name} is a view of {f.base}"),
    ),
    Leaf(
        "data",
        lambda f: not f.requires_grad and _cut_is(f, "detached") and "differ" in f.counters,
        "{f.name} shares memory with {f.taken_from.source} but has no history: it was made with `.data`, and autograd "
        "does not even see edits through it.",
        "Use {f.taken_from.source} itself where the gradient should pass; use `.detach()`, never `.data`, elsewhere.",
        (_FLAG, "{f.name}.grad_fn is None", "same storage as {f.taken_from.source}", "{f.counters}"),
    ),
    Leaf(
        "detached",
        lambda f: not f.requires_grad and _cut_is(f, "detached"),
        "{f.name} shares memory with {f.taken_from.source} but has no history: it was made with `detach()` (or "
        "`.data`, or as a view under `no_grad`), or {f.taken_from.source} was made from it and marked later.",
        "Use {f.taken_from.source} itself where the gradient should pass.",
        (_FLAG, "{f.name}.grad_fn is None", "same storage as {f.taken_from.source}", "{f.counters}"),
    ),
    Leaf(
        "numpy",
        lambda f: not f.requires_grad and _cut_is(f, "numpy"),
        "{f.name} lies in the memory of {f.taken_from.source} but came back from numpy: arrays know nothing of "
        "autograd.",
        "Do this step with torch functions instead of numpy.",
        (_FLAG, "same address as {f.taken_from.source}, another storage"),
    ),
    Leaf(
        "attribute",
        lambda f: not f.requires_grad and f.owner is not None and f.owner.kind == "attribute",
        "{f.name} is a plain tensor attribute of {f.module}, a constant with requires_grad False: `.parameters()` does "
        "not find it, and `.to()` does not move it.",
        "Make it a parameter if it should learn: `self.{f.key} = nn.Parameter(...)`; else `register_buffer`.",
        (_FLAG, "{f.key} is neither in {f.module}._parameters nor in _buffers"),
    ),
    Leaf(
        "copied",
        lambda f: not f.requires_grad and _cut_is(f, "copied"),
        "{f.name} has the values of {f.taken_from.source} but no history: probably it was copied or computed under "
        "`no_grad`, or went through `torch.tensor()`, `.item()`, `.tolist()` or numpy.",
        "Use {f.taken_from.source} itself, or `{f.taken_from.source}.clone()` outside of `no_grad`.",
        (_FLAG, "{f.name}.grad_fn is None", "equal to {f.taken_from.source}, in memory of its own"),
    ),
    Leaf(
        "rounded",
        lambda f: not f.requires_grad and _cut_is(f, "rounded"),
        "{f.name} has no history. Its numbers are those of {f.taken_from.how} of {f.taken_from.source}, so it could "
        "have been made by that: whole numbers jump, so they have no derivative. Or it is a constant, or was computed "
        "under `no_grad`.",
        "Use a smooth stand-in (`softmax` for `argmax`, `sigmoid` for a comparison).",
        (_FLAG, "equal to {f.taken_from.how} of {f.taken_from.source}"),
    ),
    Leaf(
        "untracked",
        lambda f: not f.requires_grad and bool(f.off),
        "{f.name} needs no gradient, and {f.off}: what is computed so has no history.",
        _ON,
        (_FLAG, "{f.name}.grad_fn is None", "{f.off_fact}"),
    ),
    Leaf(
        "untracked",
        lambda f: not f.requires_grad and bool(f.own_without_graph),
        "{f.name} needs no gradient. {f.own_without_graph}",
        "{f.own_remedy}",
        (_FLAG, "{f.name}.grad_fn is None"),
    ),
    Leaf(
        "untracked",
        lambda f: not f.requires_grad and f.rebound,
        "{f.name} needs no gradient. By the source text the name {f.name} was given to a new tensor, computed from "
        "what had the name before; under `no_grad` such a tensor has no history and is not the leaf that was trained.",
        "Change the leaf in place: `with torch.no_grad(): {f.name} -= lr * {f.name}.grad`; or mark the new tensor: "
        "`{f.name}.requires_grad_()`.",
        (_FLAG, "{f.name}.grad_fn is None", "{f.equal_fact}"),
    ),
    Leaf(
        "untracked",
        lambda f: not f.requires_grad,
        "{f.name} needs no gradient: it is a constant (requires_grad was never set), or it was computed under "
        "`no_grad` "
        "or from detached tensors, or is a gradient that was taken without `create_graph=True`; a tensor does not keep "
        "which. If it was a leaf before, its name was given to a new tensor (as by `w = w - lr * w.grad`).",
        "Set `{f.name}.requires_grad_()` before the forward pass if it should be a leaf, and update leaves in place: "
        "`with torch.no_grad(): w -= lr * w.grad`; a value in between is to be computed outside of `no_grad`.",
        (_FLAG, "{f.name}.grad_fn is None", "{f.equal_fact}"),
    ),
    Leaf(
        "no-grad-view",
        lambda f: f.no_grad_view,
        "{f.name} is a view of {f.base} made under `no_grad` (or before {f.base} required a gradient): it says "
        "requires_grad=True and is_leaf=True, but it has no history, and no gradient ever arrives.",
        "Make the view outside of `no_grad`, and after `requires_grad_()`.",
        ("{f.name}.requires_grad is True", "{f.name}.grad_fn is None", "{f.name}._base is {f.base}"),
    ),
)

STRUCTURE: tuple[Leaf, ...] = (
    Leaf(
        "parametrized",
        lambda f: bool(f.parametrized),
        "{f.parametrized_name} is computed from other parameters at each access (a parametrization), so it is no leaf: "
        "its gradient lives on {f.parametrized}.",
        "Read `.grad` of {f.parametrized}.",
        ("{f.made_by}", "the leaves behind it are {f.parametrized}"),
    ),
    Leaf(
        "sibling-output",
        lambda f: f.asked and f.sibling,
        "{f.name} and {f.outputs} come from one node ({f.op}), but {f.outputs} does not depend on {f.name}: they are "
        "sibling outputs.{f.compiled_note}",
        "Compute the loss from {f.name}.",
        ("{f.made_by}", "{f.outputs} uses another output of it"),
    ),
    Leaf(
        "marked-late",
        lambda f: f.asked and f.marked_late,
        "{f.outputs} was computed with {f.name} before it required a gradient: `requires_grad_()` was called on it "
        "after the forward pass.",
        "Call `{f.name}.requires_grad_()` first, and run the forward pass again.",
        ("{f.outputs} has saved {f.name} as a constant", "{f.name} is not behind {f.outputs}"),
    ),
    Leaf(
        "rewrapped",
        lambda f: f.asked and not f.reached and f.output_is_leaf,
        "{f.outputs} does not lead to {f.name}: it is itself a new leaf, without a history. If its numbers were "
        "computed, they were copied out of a graph (`torch.tensor(...)`, `.item()`, numpy, `no_grad` or `detach()`) "
        "and wrapped again, so `backward()` runs without an error and trains nothing.",
        _REWRAPPED,
        ("{f.outputs}.grad_fn is None", "{f.outputs}.is_leaf is True"),
    ),
    Leaf(
        "rewrapped",
        lambda f: f.asked and not f.reached and bool(f.wrapped_again[0]),
        "{f.outputs} does not lead to {f.name}: its graph begins at {f.wrapped_again[0]}, a leaf that holds the "
        "numbers of {f.wrapped_again[1]}. These were copied out of the first graph (`torch.tensor(...)`, `.item()`, "
        "numpy, `no_grad` or `detach().requires_grad_()`) and wrapped again, so `backward()` runs without an error and "
        "trains nothing before it.",
        _REWRAPPED,
        ("{f.leaves_fact}", "{f.name} is not among them", "{f.wrapped_again[0]} holds {f.wrapped_again[1]}"),
    ),
    Leaf(
        "changed-after",
        lambda f: f.asked and not f.reached and bool(f.earlier),
        "{f.outputs} depends on an earlier {f.name}: {f.name} was changed in place, or its name given to another "
        "tensor, after {f.outputs} was computed. What it is now was made by {f.op} of that.",
        "Change it before {f.outputs} is computed, or give what comes after another name.",
        ("{f.made_by}", "its input, {f.earlier}, is behind {f.outputs}", "{f.name}._version is {f.version}"),
    ),
    Leaf(
        "detached-upstream",
        lambda f: f.asked and not f.reached and _trail_is(f, "detached"),
        "{f.outputs} does not depend on {f.name} for autograd: {f.cut_says}",
        "Use {f.cut.source} there, without `detach()` or `.data`, if the gradient should pass.",
        ("{f.cut_fact}", "{f.name} is not behind {f.outputs}"),
    ),
    Leaf(
        "no-grad-view",
        lambda f: f.asked and not f.reached and _trail_is(f, "viewed"),
        "{f.outputs} does not depend on {f.name} for autograd: {f.cut_says} No gradient ever passes from "
        "{f.cut.name} to {f.cut.source}.",
        "Make the view outside of `no_grad`, and after `requires_grad_()`.",
        ("{f.cut_fact}", "{f.name} is not behind {f.outputs}"),
    ),
    Leaf(
        "numpy-upstream",
        lambda f: f.asked and not f.reached and _trail_is(f, "numpy"),
        "{f.outputs} does not depend on {f.name} for autograd: {f.cut_says} Values that go through numpy lose their "
        "history.",
        "Do this step with torch functions instead of numpy.",
        ("{f.cut_fact}",),
    ),
    Leaf(
        "copy-used",
        lambda f: f.asked and not f.reached and bool(f.copy_used),
        "{f.outputs} was computed with {f.copy_used}, a copy with the same values, not with {f.name} itself: the "
        "gradient "
        "goes to the copy.",
        "Compute with {f.name} itself; move or cast first and then make the leaf: `x = x.to(device).requires_grad_()`.",
        ("{f.copy_used} holds the values of {f.name}", "{f.name} is not behind {f.outputs}"),
    ),
    Leaf(
        "copied-upstream",
        lambda f: f.asked and not f.reached and _trail_is(f, "copied"),
        "{f.outputs} does not depend on {f.name} for autograd. One possibility: only values are handed on (`no_grad`, "
        "`torch.tensor()`, `.item()` or numpy): {f.cut_at}.",
        "Use {f.cut.source} itself there, outside of `no_grad`.",
        ("{f.cut_fact}",),
    ),
    Leaf(
        "no-graph",
        lambda f: bool(f.no_graph) and bool(f.off),
        "{f.outputs} has no graph, so no gradient can reach {f.name}: {f.no_graph} And {f.off}: what is computed so "
        "has no history.",
        _ON,
        ("{f.outputs}.grad_fn is None", "{f.off_fact}"),
    ),
    Leaf(
        "no-graph",
        lambda f: bool(f.no_graph) and bool(f.grad_without_graph),
        "{f.outputs} has no graph, so no gradient can reach {f.name}: {f.no_graph} {f.grad_without_graph}",
        "{f.graph_remedy}",
        ("{f.outputs}.grad_fn is None", "{f.trail_fact}"),
    ),
    Leaf(
        "no-graph",
        lambda f: bool(f.no_graph),
        "{f.outputs} has no graph, so no gradient can reach {f.name}: {f.no_graph}",
        "Compute {f.outputs} from tensors with requires_grad=True, outside of `no_grad`, without `.item()`, numpy, "
        "`detach()` or `sample()` (take `rsample()`) on the way.",
        ("{f.outputs}.grad_fn is None", "{f.trail_fact}"),
    ),
    Leaf(
        "not-reachable",
        lambda f: f.asked and not f.reached and bool(f.off),
        "As far as autograd recorded, {f.outputs} was not computed from {f.name}; and {f.off}: what is computed so is "
        "not recorded.",
        _ON,
        ("{f.name} is not behind {f.outputs}", "{f.off_fact}", "{f.leaves_fact}"),
    ),
    Leaf(
        "not-reachable",
        lambda f: f.asked and not f.reached and f.surely_without_graph,
        "As far as autograd recorded, {f.outputs} was not computed from {f.name}. {f.grad_without_graph}",
        "{f.graph_remedy}",
        ("{f.name} is not behind {f.outputs}", "{f.constants_fact}"),
    ),
    Leaf(
        "replaced",
        lambda f: f.asked and not f.reached and bool(f.replaced),
        "{f.outputs} was not computed with {f.name}, but it leads to {f.replaced}. If that stood in its place, the "
        "name was given to another tensor after the forward pass, or the parameter was replaced.",
        "Change parameters in place: `with torch.no_grad(): p.copy_(new)`; after a replacement make a new "
        "optimizer and "
        "run the forward pass again.",
        ("{f.name} is not behind {f.outputs}",),
    ),
    Leaf(
        "unused-branch",
        lambda f: f.asked and not f.reached and len(f.leads_to) > 1,
        "{f.name} leads to {f.last_ends}, but {f.outputs} does not depend on that: it is an unused branch, or "
        "the graph "
        "was cut after it (`detach()`, `no_grad`, `.item()`); which of the two the state does not tell.{f.by_gradient}",
        "Use it in {f.outputs}, or remove the cut. {f.seek}",
        (
            "{f.name} is not behind {f.outputs}",
            "{f.last_ends} is the last that was computed from it{f.last_line}",
            "{f.guess_fact}",
        ),
    ),
    Leaf(
        "rounded-upstream",
        lambda f: f.asked and not f.reached and _trail_is(f, "rounded"),
        "{f.outputs} does not depend on {f.name} for autograd. One possibility: only whole numbers are handed on, "
        "which have no derivative: {f.cut_at}.",
        "Use a smooth stand-in (`softmax` for `argmax`, `sigmoid` for a comparison), or pass the gradient straight "
        "through: `x + (x.round() - x).detach()`.",
        ("{f.cut_fact}", "{f.name} is not behind {f.outputs}"),
    ),
    Leaf(
        "not-reachable",
        lambda f: f.asked and not f.reached,
        "As far as autograd recorded, {f.outputs} was not computed from {f.name}: it is not reachable in the graph. "
        "Either it was not used, or it was used where nothing is recorded: before `requires_grad_()` was called on "
        "it, or before a cut (`detach()`, `no_grad`, `.item()`, numpy, `argmax`).",
        "Use {f.name} in the computation of {f.outputs}, call `requires_grad_()` before the forward pass, and ask "
        "`gw.why(h, {f.outputs_code})` for the values in between: the first that has a gradient comes after the cut.",
        ("{f.name} is not behind {f.outputs}", "{f.leaves_fact}", "{f.constants_fact}"),
    ),
)

MISSING: tuple[Leaf, ...] = (
    Leaf(
        "moved-copy",
        lambda f: bool(f.copied_leaf) and not f.retains,
        "{f.name} is a moved or cast copy of {f.copied_leaf} (`.to()`, `.cuda()`, `.double()`, `.clone()`), so "
        "it is no "
        "leaf: the gradient goes to the original.",
        "Make the leaf after the move: `x = x.to(device).requires_grad_()`; or call `{f.name}.retain_grad()` before "
        "`backward()`.",
        ("{f.made_by}", "its input is {f.copied_leaf_fact}"),
    ),
    Leaf(
        "leaf-lost",
        lambda f: not f.is_leaf and not f.retains and f.lost_leaf,
        "{f.name} is not a leaf: {f.op} made it from a leaf that no name holds (as `w = torch.randn(3, "
        "requires_grad=True) * 0.1`, or `w = w - lr * w.grad`), and the gradient goes there.",
        "Compute first and then mark it: `w = (0.1 * torch.randn(3)).requires_grad_()`; update in place: `with "
        "torch.no_grad(): w -= lr * w.grad`.",
        ("{f.made_by}", "the leaf behind it has no name"),
    ),
    Leaf(
        "arrived-none",
        lambda f: f.came_none and not f.is_leaf and f.unused_by_pass,
        "No gradient arrived at {f.name} in the last pass: no operation that ran uses it, so the output does not "
        "depend on it.",
        "Use {f.name} in the loss.",
        ("{f.last_label} brought None to {f.name}", "{f.made_by}"),
    ),
    Leaf(
        "arrived-none",
        lambda f: f.came_none and not f.is_leaf,
        "No gradient arrived at {f.name} in the last pass: {f.none_from}.",
        "{f.none_remedy}",
        ("{f.last_label} brought None to {f.name}",),
    ),
    Leaf(
        "retained-late",
        lambda f: not f.is_leaf and f.retains and (f.freed or f.last is not None),
        "{f.name}.retain_grad() was called after `backward()` had run, or `.grad` was cleared since: it only takes "
        "effect in the passes that follow.",
        "Call `{f.name}.retain_grad()` right after {f.name} is computed.",
        ("{f.name}.retains_grad is True", _NONE),
    ),
    Leaf(
        "retained-not-run",
        lambda f: not f.is_leaf and f.retains,
        "{f.name}.grad is None because no `backward()` has run yet since `{f.name}.retain_grad()`.",
        "Call `backward()`.",
        ("{f.name}.retains_grad is True", "{f.saved_fact}"),
    ),
    Leaf(
        "not-leaf",
        lambda f: not f.is_leaf,
        "{f.name}.grad is None in torch: {f.name} is not a leaf (it was computed by {f.op_text}), and torch keeps "
        "gradients of leaves only.{f.shown}",
        "Call `{f.name}.retain_grad()` before `backward()` to get it from torch{f.or_look}.",
        ("{f.made_by}", "{f.name}.is_leaf is False"),
    ),
    Leaf(
        "function-none",
        lambda f: f.came_none,
        "{f.name}.grad is None: the last pass came here with None: {f.none_from}.",
        "{f.none_remedy}",
        ("{f.name} was reached, and what arrived is None", _NONE),
    ),
    Leaf(
        "returned",
        lambda f: f.last is not None and f.last.kind == "grad",
        "{f.name}.grad is None: the last pass was `autograd.grad()`, which returns gradients and writes no `.grad`.",
        "Use what `autograd.grad()` returned, or call `backward()`.",
        ("pass {f.last.number} ({f.last.label}) returned it",),
    ),
    Leaf(
        "probed",
        lambda f: f.last is not None and f.last.kind == "probe",
        "{f.name}.grad is None: only a probe has run, which leaves every `.grad` untouched.",
        "Call `backward()`.",
        ("pass {f.last.number} is a probe",),
    ),
    Leaf(
        "cleared",
        lambda f: f.last is not None,
        "{f.name}.grad is None although a gradient was captured: it was cleared since (`zero_grad()` sets `.grad` to "
        "None, its default `set_to_none=True`).",
        "Read `.grad` before `zero_grad()`.",
        ("pass {f.last.number} ({f.last.label}) brought {f.brief}", _NONE),
    ),
    Leaf(
        "failed-pass",
        lambda f: f.failed is not None,
        "{f.name}.grad is None: the last pass failed before it came here; {f.written}.",
        "Mend the error and run the forward pass and `backward()` again.",
        ("{f.failed_fact}",),
    ),
    Leaf(
        "left-out",
        lambda f: bool(f.passes),
        "{f.name}.grad is None: no backward pass has reached this leaf. {f.last_label} ran, but left it out "
        "(`inputs=`, "
        "`autograd.grad()`, or another output).",
        "Call `backward()` without `inputs=`, or name it there.",
        ("{f.ran_fact}",),
    ),
    Leaf(
        "not-run",
        lambda f: f.watched,
        "{f.name}.grad is None: no backward() has been seen yet.",
        "Call `backward()`.",
        ("the widget watches, and has seen no pass",),
    ),
    Leaf(
        "function-none",
        lambda f: f.reached and f.freed and bool(f.others) and bool(f.handed_none_by),
        "{f.name}.grad is None although `backward()` has run and other leaves have gradients: the custom Function "
        "{f.handed_none_by} on the way has returned None for it, or `inputs=` left it out, or it was cleared "
        "since{f.with_others}, for example by `zero_grad()` of an optimizer that holds it.",
        "Return a gradient for it from `backward` of the Function. " + _LOOK,
        (
            "{f.others_fact}",
            "{f.without_fact}",
            "{f.handed_none_by} stands on each way to {f.name}",
            "what was saved has been freed",
        ),
    ),
    Leaf(
        "cleared",
        lambda f: f.reached and f.freed and bool(f.others) and bool(f.without),
        "{f.name}.grad is None although `backward()` has run and other leaves have gradients: it was cleared "
        "since{f.with_others}, for example by `zero_grad()` of an optimizer that holds it, or `inputs=` left it out; "
        "the state does not tell which.",
        "Read `.grad` before `zero_grad()`; or call `backward()` without `inputs=`. " + _LOOK,
        ("{f.others_fact}", "{f.without_fact}", "what was saved has been freed"),
    ),
    Leaf(
        "left-out",
        lambda f: f.reached and f.freed and bool(f.others),
        "{f.name}.grad is None although `backward()` has run and other leaves have gradients: `inputs=` left it "
        "out, or it was cleared since, for example by `zero_grad()` of an optimizer that holds it alone; the state "
        "does not tell which.",
        "Call `backward()` without `inputs=`. " + _LOOK,
        ("{f.others_fact}", "what was saved has been freed"),
    ),
    Leaf(
        "cleared",
        lambda f: f.reached and f.freed,
        "{f.name}.grad is None although a pass has run through this graph: it was cleared since (`zero_grad()` sets "
        "`.grad` to None, its default `set_to_none=True`), or the pass was `autograd.grad()`, which writes no "
        "`.grad`{f.or_function}; the state does not tell which.",
        "Read `.grad` before `zero_grad()`. " + _LOOK,
        ("what was saved has been freed, so a pass has run", "no leaf of this graph has a gradient"),
    ),
    Leaf(
        "dead-end",
        lambda f: f.reached and not f.asked and f.dead_end,
        "{f.name}.grad is None: no `backward()` has come from {f.outputs}, the last that was computed from {f.name} "
        "with a history. {f.outputs} is no single number, so a loss was not computed from it, or the graph is cut "
        "after it (`detach()`, `no_grad`, `.item()`, numpy).",
        "Use {f.outputs} in the loss, or remove the cut; ask with the loss: `gw.why({f.name}, loss)`.",
        ("{f.name} is behind {f.outputs}", "no tensor in scope was computed from {f.outputs}"),
    ),
    Leaf(
        "not-run",
        lambda f: f.reached and f.whole,
        "{f.name}.grad is None because `backward()` has not run yet on {f.outputs} (or it ran with "
        "retain_graph=True and "
        "`.grad` was cleared since).",
        "Call `{f.outputs_code}.backward()`.",
        ("{f.name} is behind {f.outputs}", "what was saved for backward is still there"),
    ),
    Leaf(
        "not-run",
        lambda f: f.reached,
        "{f.name}.grad is None: `backward()` has not run yet on {f.outputs}, or `.grad` was cleared "
        "since{f.or_function}. These operations save nothing, so the state does not tell which.",
        "Call `{f.outputs_code}.backward()`. " + _LOOK,
        ("{f.name} is behind {f.outputs}",),
    ),
    Leaf(
        "unreachable",
        lambda f: f.freed and bool(f.heads),
        "{f.name}.grad is None: `backward()` has run, but what was computed here ({f.heads}) does not lead to "
        "{f.name}. Either it was not used, or a cut lies between (`detach()`, `no_grad`, `.item()`, `.data`, numpy).",
        "Ask with the loss: `gw.why({f.name}, loss)`, and so for the values in between.",
        ("{f.name} is not behind {f.heads}", _NONE),
    ),
    Leaf(
        "unused",
        lambda f: bool(f.off),
        "{f.name}.grad is None: no tensor in scope was computed from {f.name} with a history; and {f.off}: what is "
        "computed so has none.",
        _ON,
        ("{f.name}.requires_grad is True", _NONE, "{f.off_fact}"),
    ),
    Leaf(
        "unused",
        lambda _: True,
        "{f.name}.grad is None: no tensor in scope was computed from {f.name}. Either it was not used, or `backward()` "
        "has not run, or the graph is gone and `.grad` was cleared.",
        "Ask with the loss: `gw.why({f.name}, loss)`.",
        ("{f.name}.requires_grad is True", _NONE),
    ),
)

PRESENT: tuple[Leaf | Found, ...] = (
    Found(lambda f: f.numbers.bad),
    Found(lambda f: f.numbers.bad_output),
    Found(lambda f: f.numbers.zero),
    Leaf(
        "from-elsewhere",
        lambda f: f.asked and not f.reached and f.grad is not None,
        "{f.name} has a gradient, but not from {f.outputs}, which does not depend on it: another pass has written it."
        "{f.elsewhere}",
        "Ask with the loss that you mean: `gw.why({f.name}, loss)`.",
        ("{f.name} is not behind {f.outputs}",),
    ),
    Leaf(
        "failed-pass",
        lambda f: f.grad is not None and f.is_leaf and f.failed is not None and f.last is f.failed,
        "{f.name}.grad was written by {f.last_label}, which failed after that: this step's gradients are incomplete.",
        "Mend the error, call `zero_grad()`, and run the forward pass and `backward()` again.",
        ("{f.failed_fact}", "{f.written}"),
    ),
    Found(lambda f: f.numbers.hooked),
    Found(lambda f: f.numbers.accumulated),
    Found(lambda f: f.numbers.pairs),
    Found(lambda f: f.numbers.several if f.is_leaf else None),
    Found(lambda f: f.numbers.broadcast if f.is_leaf else None),
    Found(lambda f: f.numbers.hook_possible),
    Leaf(
        "unreadable",
        lambda f: f.grad is not None and not f.brief,
        "{f.name} has a gradient, but its numbers can't be read: {f.unreadable}",
        "",
        ("{f.name}.grad is not None",),
    ),
    Leaf(
        "present",
        lambda f: f.grad is not None,
        "{f.name} has a gradient, and nothing about it is unusual: finite, not zero, from one use.{f.unwatched}",
        "",
        ("{f.name}.grad is {f.brief}", "{f.summed_fact}"),
    ),
)

TREE: tuple[Leaf | Found, ...] = (*ITSELF, *PRESENT, *UNTRACKED, *STRUCTURE, *MISSING)
"""Asked from the first to the last."""


def decide(f: Facts) -> Diagnosis:
    """The first answer that holds."""
    if f.gradient is None:
        tree: tuple[Leaf | Found, ...] = (*ITSELF, *UNTRACKED, *STRUCTURE, *MISSING)
    else:
        tree = TREE
    for leaf in tree:
        answer = _ask(leaf, f)
        if answer is not None:
            return worded(answer)
    return Diagnosis("unknown", f"Nothing is known of the gradient of {f.name}.", "", ())


def _ask(leaf: Leaf | Found, f: Facts) -> Diagnosis | None:
    """The answer of one leaf, None if it does not hold, or if this tensor does not tell."""
    try:
        if isinstance(leaf, Leaf):
            answer = leaf.diagnosis(f) if leaf.when(f) else None
            return answer and replace(answer, evidence=(*answer.evidence, *f.aliases))
        found = leaf.find(f)
        if found is None:
            return None
        return Diagnosis(found.kind, found.cause, found.remedy, (*found.evidence, *f.also(found.kind)))
    except Exception:  # sparse, nested and wrapped tensors refuse many questions
        return None


def _cut_is(f: Facts, kind: str) -> bool:
    return f.taken_from is not None and f.taken_from.kind == kind


def _trail_is(f: Facts, kind: str) -> bool:
    return f.cut is not None and f.cut.kind == kind
