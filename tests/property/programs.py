"""Small random programs, drawn by hypothesis: each a list of steps over a pool of tensors."""

from __future__ import annotations

import torch
from hypothesis import strategies as st


class Twice(torch.autograd.Function):
    """Two outputs, a non-tensor argument, saved tensors and an attribute of ctx."""

    @staticmethod
    def forward(ctx, x, factor, y):
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return x * factor, x + y

    @staticmethod
    def backward(ctx, g, h):
        return g * ctx.factor + h, None, h


class Lazy(Twice):
    @staticmethod
    def forward(ctx, x, factor, y):
        ctx.set_materialize_grads(False)
        ctx.factor = factor
        return x * factor, x + y

    @staticmethod
    def backward(ctx, g, h):
        first = None if g is None else g * ctx.factor
        return (first if h is None else h if first is None else first + h), None, h


UNARY = {
    "sin": torch.sin,
    "exp": lambda x: (x * 0.1).exp(),
    "tanh": torch.tanh,
    "neg": torch.neg,
    "relu": torch.relu,
    "square": lambda x: x * x,
    "abs": torch.abs,
    "add constant": lambda x: x + 1,
    "times constant tensor": lambda x: x * torch.ones(x.shape),
    "clone": torch.clone,
    "softmax": lambda x: x.softmax(-1),
    "cumsum": lambda x: x.cumsum(-1),
    "flip": lambda x: x.flip(-1),
    "double": lambda x: x.double().float(),
    "where": lambda x: torch.where(x > 0, x, torch.zeros(())),
    "pow": lambda x: x**3,
    "layer norm": lambda x: torch.layer_norm(x, x.shape[-1:]),
}
BINARY = {
    "add": torch.add,
    "mul": torch.mul,
    "sub": torch.sub,
    "maximum": torch.maximum,
    "matmul": torch.matmul,
    "atan2": lambda x, y: x * y.sin(),
    "cat and narrow": lambda x, y: torch.cat([x, y, x])[1:3],
    "stack": lambda x, y: torch.stack([x, y]).sum(0),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
}
SEVERAL = {
    "split": lambda x: [torch.cat([a, a]) for a in x.split(1)],
    "unbind": lambda x: [a.expand(2, 2) for a in x.unbind()],
    "topk": lambda x: [x.topk(2).values],
    "max": lambda x: [x.max(0, keepdim=True).values.expand(2, 2)],
    "chunk": lambda x: [a.expand(2, 2) for a in x.chunk(2, 1)],
    "var_mean": lambda x: [a.expand(2, 2) for a in torch.var_mean(x)],
}
VIEWS = {
    "t": torch.t,
    "view": lambda x: x.reshape(4).view(2, 2),
    "index": lambda x: x[[1, 0]],
    "unsqueeze": lambda x: x.unsqueeze(0)[0],
    "sum": lambda x: x.sum().expand(2, 2),
    "mean": lambda x: x.mean(0).expand(2, 2),
    "select": lambda x: x[0].expand(2, 2),
}
IN_PLACE = ["mul", "view add", "row zero", "copy"]
ALL = {**UNARY, **VIEWS}

step = st.one_of(
    st.tuples(st.just("one"), st.sampled_from(sorted(ALL)), st.integers(0, 99)),
    st.tuples(st.just("two"), st.sampled_from(sorted(BINARY)), st.integers(0, 99), st.integers(0, 99)),
    st.tuples(st.just("several"), st.sampled_from(sorted(SEVERAL)), st.integers(0, 99)),
    st.tuples(st.just("in place"), st.sampled_from(IN_PLACE), st.integers(0, 99), st.integers(0, 99)),
    st.tuples(st.just("cut"), st.sampled_from(["no_grad", "detach", "no_grad view"]), st.integers(0, 99)),
    st.tuples(st.just("function"), st.sampled_from(["Twice", "Lazy"]), st.integers(0, 99), st.integers(0, 99)),
)
programs = st.fixed_dictionaries(
    {
        "leaves": st.integers(1, 3),
        "steps": st.lists(step, min_size=1, max_size=14),
        "ends": st.lists(st.integers(0, 99), min_size=1, max_size=3),
    }
)


def run(program):
    """(leaves, pool, output), with the same numbers in each run; the output is None if nothing needs a gradient."""
    generator = torch.Generator().manual_seed(5)
    leaves = [torch.randn(2, 2, generator=generator, requires_grad=True) for _ in range(program["leaves"])]
    pool = [*leaves, torch.randn(2, 2, generator=generator)]
    for kind, *arguments in program["steps"]:
        pool.extend(_step(kind, arguments, pool))
    ends = [pool[-1 - end % len(pool)] for end in program["ends"]]
    output = torch.stack([end.sum() * (i + 1) for i, end in enumerate(ends)]).sum()
    return leaves, pool, output if output.requires_grad and output.grad_fn is not None else None


def _step(kind, arguments, pool):
    pick = lambda i: pool[-1 - i % len(pool)]
    name, *indices = arguments
    first = pick(indices[0])
    if kind == "one":
        return [ALL[name](first)]
    if kind == "two":
        return [BINARY[name](first, pick(indices[1]))]
    if kind == "several":
        return SEVERAL[name](first)
    if kind == "function":
        return list({"Twice": Twice, "Lazy": Lazy}[name].apply(first, 2.5, pick(indices[1])))
    if kind == "cut":
        if name == "detach":
            return [first.detach()]
        with torch.no_grad():
            return [first * 2 if name == "no_grad" else first.t().clone()]
    target = first * 1  # an in-place edit of its own tensor: everybody else's saved values stay valid
    other = pick(indices[1]).detach() if name == "copy" else None
    if name == "mul":
        target.mul_(0.5)
    elif name == "view add":
        target.t()[1].add_(first[0])
    elif name == "row zero":
        target[0].zero_()
    else:
        target[:, 1].copy_(other[:, 0])
    return [target]
