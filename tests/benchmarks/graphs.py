"""The graphs that are measured, each as a function that runs a forward pass and gives its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def toy() -> Callable[[], torch.Tensor]:
    a, b, c = (torch.tensor(x, requires_grad=True) for x in (1.1, 1.2, 1.3))
    return lambda: a * b * c


def mlp() -> Callable[[], torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    x, y = torch.randn(32, 64), torch.randint(10, (32,))
    return lambda: nn.functional.cross_entropy(model(x), y)


def lstm(steps: int = 1_000) -> Callable[[], torch.Tensor]:
    torch.manual_seed(0)
    cell, x = nn.LSTMCell(16, 16), torch.randn(1, 16)

    def run() -> torch.Tensor:
        h = c = torch.zeros(1, 16)
        for _ in range(steps):
            h, c = cell(x, (h, c))
        return h.sum()

    return run


def chain(length: int = 100_000) -> Callable[[], torch.Tensor]:
    x = torch.ones((), requires_grad=True)

    def run() -> torch.Tensor:
        y = x
        for _ in range(length):
            y = y + 1
        return y

    return run


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, w = x.shape
        q, k, v = (y.view(n, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(w, dim=2))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, w))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def transformer(width: int = 768, layers: int = 12, tokens: int = 32) -> Callable[[], torch.Tensor]:
    """GPT-2 in size and shape: 124 million parameters with the default arguments."""
    torch.manual_seed(0)
    vocabulary = 50_257 if width == 768 else 1_000
    embedding, position = nn.Embedding(vocabulary, width), nn.Embedding(1_024, width)
    blocks = nn.ModuleList(_Block(width, width // 64) for _ in range(layers))
    norm = nn.LayerNorm(width)
    ids = torch.randint(vocabulary, (1, tokens))

    def run() -> torch.Tensor:
        x = embedding(ids) + position(torch.arange(tokens))
        for block in blocks:
            x = block(x)
        logits = norm(x) @ embedding.weight.T
        return nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:])

    return run


def gpt2() -> tuple[Callable[[], torch.Tensor], nn.Module, Any]:
    """GPT-2 of `transformers`, 124 million random parameters, 32 tokens: its loss, the model and its input."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config())
    ids = torch.randint(50_257, (1, 32))
    return lambda: model(ids, labels=ids).loss, model, ids


def resnet50() -> tuple[Callable[[], torch.Tensor], nn.Module, Any]:
    """ResNet-50 of `transformers`, random parameters, two pictures of 64 x 64: its loss, the model and its input."""
    from transformers import ResNetConfig, ResNetForImageClassification

    torch.manual_seed(0)
    model = ResNetForImageClassification(ResNetConfig())
    pictures = torch.randn(2, 3, 64, 64)
    return lambda: model(pictures).logits.logsumexp(1).sum(), model, pictures
