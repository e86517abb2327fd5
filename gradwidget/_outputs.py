"""What a user calls an output -> roots for the walk."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gradwidget._attributes import asked, called
from gradwidget._errors import NoGraphError, OutputTypeError
from gradwidget._walk import Node, is_node

_MAKE_ONE = "Give the tensor that you call backward() on, such as a loss."


@dataclass(frozen=True, slots=True)
class Output:
    """One root of a graph. `tensor` is None where a `Node` or `GradientEdge` was given."""

    node: Node
    number: int
    tensor: torch.Tensor | None
    path: str  # where in the arguments it stood: "", "[1]", "['logits']"


@dataclass(frozen=True, slots=True)
class Outputs:
    """The roots, and a sentence for each tensor that was left out."""

    roots: tuple[Output, ...]
    notes: tuple[str, ...]


def resolve(values: tuple[Any, ...]) -> Outputs:
    """Find the roots in tensors, `GradientEdge`s, nodes and nested containers of them.

    Raises:
        OutputTypeError: nothing in `values` is a tensor, an edge or a node.
        NoGraphError: no tensor in `values` has a graph.
    """
    if not values:
        raise OutputTypeError("No output was given.", _MAKE_ONE)
    roots: list[Output] = []
    refused: list[str] = []
    found_any = False
    for path, value in _flatten(values):
        found_any = True
        try:
            root = _root(value, path)
            if (root.node, root.number) not in [(known.node, known.number) for known in roots]:
                roots.append(root)
        except NoGraphError as error:
            refused.append(f"{path or 'The output'} {error.cause}")
            reason = error
    if not found_any:
        raise _wrong_type(values)
    if not roots:
        subject = "The output" if len(refused) == 1 else f"None of the {len(refused)} outputs has a graph: the last one"
        raise NoGraphError(f"{subject} {reason.cause}", reason.remedy)
    return Outputs(tuple(roots), tuple(f"{note} It is left out." for note in refused))


def tensors_among_outputs(values: Any) -> list[torch.Tensor]:
    """The tensors in one value or in nested containers of them.

    Raises:
        OutputTypeError: nothing in `values` is a tensor.
    """
    found = [value for _, value in _flatten((values,)) if is_tensor(value)]
    if not found:
        raise _wrong_type((values,))
    return found


def is_tensor(value: object) -> bool:
    """Whether `value` is a tensor, without asking it (a proxy may lie about `__class__`)."""
    return issubclass(type(value), torch.Tensor)


def _flatten(values: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """(path, output) of everything that can be an output, in order, each container once."""
    several = len(values) > 1
    stack = [(f"Output {i + 1}" if several else "", value) for i, value in enumerate(values)][::-1]
    seen: set[int] = set()
    while stack:
        path, value = stack.pop()
        if is_tensor(value) or isinstance(value, torch.autograd.graph.GradientEdge) or is_node(value):
            yield path, value
            continue
        if id(value) in seen:
            continue
        seen.add(id(value))
        stack.extend(reversed(list(_children(path, value))))


def _children(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield f"{path}[{key!r}]", item
    elif isinstance(value, (list, tuple, set, frozenset)):
        for i, item in enumerate(value):
            yield f"{path}[{i}]", item
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield f"{path}.{field.name}", getattr(value, field.name, None)


def _root(value: Any, path: str) -> Output:
    if is_tensor(value):
        node, number = edge_of(value)
        return Output(node, number, value, path)
    if isinstance(value, torch.autograd.graph.GradientEdge):
        if value.node is None:
            raise NoGraphError(
                "is an edge that leads to no node.", "Make it with get_gradient_edge() of a tracked tensor."
            )
        return Output(value.node, value.output_nr, None, path)
    return Output(value, 0, None, path)


def edge_of(tensor: torch.Tensor) -> tuple[Node, int]:
    """Node and output number behind a tensor.

    Raises:
        NoGraphError: why there is none; its cause reads on after the tensor's name.
    """
    with torch._C.DisableTorchFunction():
        try:
            node = asked(tensor, "grad_fn")
        except RuntimeError as error:
            raise NoGraphError(
                "is a view whose history is no longer valid: it was made under no_grad and its base was changed in "
                f"place since (torch says: {_first_line(error)[:120]}).",
                "Make the view outside of no_grad.",
            ) from None
        if node is not None:
            return node, asked(tensor, "output_nr")
        if called(tensor, "is_inference"):
            raise NoGraphError(
                "was made under inference_mode(), which records nothing.",
                "Run the forward pass without inference_mode(), and without eval loops that use it.",
            )
        if not asked(tensor, "requires_grad"):
            dtype = asked(tensor, "dtype")
            if not (dtype.is_floating_point or dtype.is_complex):
                raise NoGraphError(
                    f"is a tensor of {str(dtype).removeprefix('torch.')}, which can't have gradients.",
                    "Give a floating point tensor; argmax, round, comparisons and integer casts end the graph.",
                )
            raise NoGraphError(
                "needs no gradient, so no graph leads to it.",
                "Compute it from tensors with requires_grad=True, outside of no_grad() and without detach() or .data.",
            )
        if in_transform(tensor):
            raise NoGraphError(
                "lives inside a transform of torch.func, whose graph ends with it.",
                "Give a tensor from outside of torch.func.grad and vmap.",
            )
        if is_no_grad_view(tensor):
            raise NoGraphError(
                "is a view made under no_grad (or before its base required a gradient): it says requires_grad=True, "
                "but no gradient ever passes it.",
                "Make the view outside of no_grad.",
            )
        try:
            with torch.inference_mode(False):
                return _gathering(tensor), 0
        except AttributeError:  # inside of torch.func all that is made is wrapped
            raise NoGraphError(
                "is a leaf whose place in the graph can't be read inside of a transform of torch.func.",
                "Ask outside of torch.func.grad and vmap.",
            ) from None
        except RuntimeError as error:  # strided nested tensors: torch makes a view of them for it
            raise NoGraphError(
                f"is a leaf whose node torch can't make ({_first_line(error)[:80]}).",
                "Give what is computed from it.",
            ) from None


def in_transform(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a wrapper of `torch.func`: its history is not in the ordinary graph."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def is_no_grad_view(tensor: torch.Tensor) -> bool:
    """Whether a tensor has its requires_grad from the tensor that it is a view of, without a history of its own.

    A view of what needs no gradient, or one that was marked itself, is a leaf as any other. May raise what torch
    raises for stale views.
    """
    with torch._C.DisableTorchFunction():
        base = asked(tensor, "_base")
        if base is None or not asked(tensor, "requires_grad") or asked(tensor, "grad_fn") is not None:
            return False
        if not asked(base, "requires_grad"):
            return False
        try:
            _gathering(tensor)
        except (AttributeError, RuntimeError):  # it has no node that could take a gradient
            return True
        return False


def _gathering(leaf: torch.Tensor) -> Node:
    """The node that gathers a leaf's gradient, as `get_gradient_edge()` finds it, which would ask the leaf itself.

    Raises:
        AttributeError, RuntimeError: it has none.
    """
    with torch.enable_grad():
        view = called(leaf, "view_as", leaf)
    node: Node | None = asked(view, "grad_fn").next_functions[0][0]
    if node is None:
        raise RuntimeError("no node gathers its gradient")
    return node


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def _wrong_type(values: tuple[Any, ...]) -> OutputTypeError:
    kind = type(values[0])
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    if issubclass(kind, torch.nn.Module):
        return OutputTypeError(
            f"A module ({kind.__qualname__}) was given, but the graph belongs to what it computes.",
            "Give its output instead: GradWidget(model(x)), with names=model for the parameters' names.",
        )
    if name == "numpy.ndarray":
        return OutputTypeError(
            "A numpy array was given, and arrays know nothing of autograd.",
            "Give the tensor from before .numpy(); a value that went through numpy has lost its graph.",
        )
    article = "An" if name[0] in "aeiou" else "A"
    if isinstance(values[0], (bool, int, float, complex)):
        return OutputTypeError(
            f"{article} {name} was given, which has no graph.",
            "Give the tensor itself; .item() and float() end the graph.",
        )
    if isinstance(values[0], (Mapping, list, tuple, set, frozenset)):
        return OutputTypeError(f"The given {name} holds no tensor.", _MAKE_ONE)
    return OutputTypeError(f"{article} {name} was given, which is no tensor.", _MAKE_ONE)
