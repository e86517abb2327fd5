"""Small models in the shape of large ones, in plain torch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, w = x.shape
        q, k, v = (y.view(n, t, 2, -1).transpose(1, 2) for y in self.c_attn(x).split(w, dim=2))
        y = (q @ k.transpose(-1, -2) / 4).softmax(-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(n, t, w))


class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.mlp = Attention(width), MLP(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, width=8, layers=12, tied=False):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(20, width), nn.Embedding(16, width)
        self.h = nn.ModuleList(Block(width) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, 20, bias=False)
        if tied:
            self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def gpt(layers=12, *, tied=False):
    """(model, loss)."""
    torch.manual_seed(0)
    model, ids = GPT(layers=layers, tied=tied), torch.randint(20, (2, 6))
    return model, F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(x + y)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.layer1 = nn.Sequential(*(Residual(4) for _ in range(3)))
        self.layer2 = nn.Sequential(*(Residual(4) for _ in range(4)))
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(F.relu(self.conv1(x)))).mean((2, 3)))


def resnet():
    """(model, loss)."""
    torch.manual_seed(0)
    model = ResNet()
    return model, F.cross_entropy(model(torch.randn(2, 3, 8, 8)), torch.tensor([1, 2]))


def lstm(steps=1_000):
    """(cell, loss)."""
    cell, x = nn.LSTMCell(4, 4), torch.randn(1, 4)
    h = c = torch.zeros(1, 4)
    for _ in range(steps):
        h, c = cell(x, (h, c))
    return cell, h.sum()
