"""Random hooks of the user's on random programs, and everything that can be seen of what they did."""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from property.programs import run

TENSOR = ["log", "scale", "clone", "in place", "zero", "remove itself", "register another", "raise once"]
NODE = ["log", "scale"]
hook = st.one_of(
    st.tuples(st.just("tensor"), st.sampled_from(TENSOR), st.integers(0, 99)),
    st.tuples(st.just("retain_grad"), st.just(""), st.integers(0, 99)),
    st.tuples(st.just("pre-hook"), st.sampled_from(NODE), st.integers(0, 99)),
    st.tuples(st.just("node hook"), st.sampled_from(NODE), st.integers(0, 99)),
    st.tuples(st.just("post-accumulate"), st.sampled_from(["log", "double"]), st.integers(0, 99)),
)
hooks = st.fixed_dictionaries({"before": st.lists(hook, max_size=5), "after": st.lists(hook, max_size=5)})


class Mistake(Exception):
    pass


class Hooked:
    """A program with its hooks; `log` is what they saw, in order."""

    def __init__(self, program):
        self.leaves, self.pool, self.output = run(program)
        self.log = []
        self.count = 0
        self.names = {}  # id of a hook -> its number
        self.kept = []
        self.nodes = []

    def hold(self, nodes):
        self.nodes = nodes

    def register(self, specifications):
        tracked = [t for t in self.pool if t.requires_grad and (t.grad_fn is not None or t._base is None)]
        inner = [n for n in self.nodes if not hasattr(n, "variable")]
        for kind, what, index in specifications:
            target = tracked[index % len(tracked)]
            if kind == "tensor":
                self._on_tensor(target, what)
            elif kind == "retain_grad":
                target.retain_grad()
            elif kind == "pre-hook":
                self._keep(inner[index % len(inner)].register_prehook, self._node(what))
            elif kind == "node hook":
                self._keep(inner[index % len(inner)].register_hook, self._node(what))
            else:
                leaf = self.leaves[index % len(self.leaves)]
                self._keep(leaf.register_post_accumulate_grad_hook, self._accumulated(what))

    def _keep(self, register, function):
        self.names[id(function)] = self.count
        self.kept.append(function)
        return register(function)

    def _number(self):
        self.count += 1
        return self.count

    def _saw(self, number, *gradients):
        self.log.append(
            (number, str([None if g is None else (g.tolist(), g.stride(), str(g.dtype)) for g in gradients]))
        )

    def _on_tensor(self, tensor, what):
        number = self._number()
        armed = [True]

        def function(g):
            self._saw(number, g)
            if g is None:  # an output that is not used
                return None
            if what == "scale":
                return g * 1.5
            if what == "clone":
                return g.clone()
            if what == "in place":
                g = g.clone()
                g.mul_(2)
                return g
            if what == "zero":
                return torch.zeros_like(g)
            if what == "remove itself":
                handle.remove()
            if what == "register another" and armed:
                armed.pop()
                self._on_tensor(tensor, "log")
            if what == "raise once" and armed:
                armed.pop()
                raise Mistake
            return None

        handle = self._keep(tensor.register_hook, function)

    def _node(self, what):
        number = self._number()

        def function(gradients, *received):
            self._saw(number, *gradients)
            if what == "scale":
                return tuple(None if g is None else g * 1.5 for g in gradients)
            return None

        return function

    def _accumulated(self, what):
        number = self._number()

        def function(tensor):
            self._saw(number, tensor.grad)
            if what == "double" and tensor.grad is not None:
                tensor.grad = tensor.grad * 2

        return function

    def backward(self, **options):
        try:
            self.output.backward(**options)
        except Mistake:
            self.log.append("raised")

    def dictionaries(self):
        """Numbers of the hooks in each dictionary, in order; None for one that is not of the user's."""
        found = [
            [self.names.get(id(hook)) for hook in (hooks or {}).values()]
            for tensor in self.pool
            for hooks in (tensor._backward_hooks, tensor._post_accumulate_grad_hooks if tensor.is_leaf else {})
        ]
        for node in self.nodes:
            for register in (node.register_prehook, node.register_hook):
                handle = register(nothing)
                hooks = handle.hooks_dict_ref()
                found.append([self.names.get(id(hook)) for hook in hooks.values() if hook is not nothing])
                handle.remove()
        return found

    def facts(self):
        """All that a neutral observer must leave as it is."""
        grads = [t.grad if t.is_leaf or t.retains_grad else None for t in self.pool]
        return {
            "log": list(self.log),
            "grads": [
                None if g is None else str((g.tolist(), g.stride(), g.requires_grad, str(g.dtype))) for g in grads
            ],
            "grad versions": [None if g is None else g._version for g in grads],
            "same objects": [[a is b for b in grads] for a in grads],
            "versions": [t._version for t in self.pool],
            "flags": [(t.requires_grad, t.is_leaf, t.retains_grad) for t in self.pool],
            "values": str([t.tolist() for t in self.pool]),
            "random": torch.get_rng_state().sum().item(),
        }


def nothing(*_):
    return None
