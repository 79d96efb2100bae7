"""A llama-architecture decoder whose weights go into a GGUF file as they are.

Guaranteed: rotary pairs are interleaved (2i, 2i+1), as llama.cpp's `llama`
architecture rotates them, so no tensor is permuted on export; RMSNorm, SwiGLU,
grouped-query attention, no biases.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """All that fixes the tensors of a model."""

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    context: int = 2048
    rope_base: float = 10000.0
    eps: float = 1e-5
    tied: bool = True

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads


def rope_table(shape: Shape, length: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines, each [length, head_dim / 2]."""
    half = torch.arange(0, shape.head_dim, 2, dtype=torch.float64) / shape.head_dim
    angle = torch.outer(torch.arange(length, dtype=torch.float64), shape.rope_base ** -half)
    return angle.cos().float(), angle.sin().float()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates the pairs (2i, 2i+1) of x, [batch, heads, time, head_dim]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Norm(nn.Module):
    """RMSNorm in f32."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape.hidden))
        self.eps = shape.eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, self.eps)


class Block(nn.Module):
    """One layer: attention, then the gated feed-forward, each on a residual."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        kv = shape.kv_heads * shape.head_dim
        self.attn_norm = Norm(shape)
        self.attn_q = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.attn_k = nn.Linear(shape.hidden, kv, bias=False)
        self.attn_v = nn.Linear(shape.hidden, kv, bias=False)
        self.attn_output = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.ffn_norm = Norm(shape)
        self.ffn_gate = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.ffn_up = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.ffn_down = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def split(self, x: Tensor, heads: int) -> Tensor:
        return x.unflatten(-1, (heads, self.shape.head_dim)).transpose(1, 2)

    def attend(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        shape = self.shape
        q = rotate(self.split(self.attn_q(x), shape.heads), cos, sin)
        k = rotate(self.split(self.attn_k(x), shape.kv_heads), cos, sin)
        v = self.split(self.attn_v(x), shape.kv_heads)
        group = shape.heads // shape.kv_heads
        k, v = (t.to(q.dtype).repeat_interleave(group, 1) for t in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.attn_output(mixed.transpose(1, 2).flatten(-2))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attend(self.attn_norm(x), cos, sin)
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class Llama(nn.Module):
    """The decoder; `forward` gives the final norm's output, `logits` scores it."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocab, shape.hidden)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.output_norm = Norm(shape)
        self.output = nn.Linear(shape.hidden, shape.vocab, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                last = name.endswith(("attn_output.weight", "ffn_down.weight"))
                scale = 0.02 if "token_embd" in name else weight.shape[1] ** -0.5
                nn.init.normal_(weight, std=scale * ((2 * shape.layers) ** -0.5 if last else 1))
        if shape.tied:
            self.output.weight = self.token_embd.weight
        cos, sin = rope_table(shape, shape.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token_embd(tokens)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        for block in self.blk:
            x = block(x, cos, sin)
        return self.output_norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.output(hidden)


@torch.no_grad()
def greedy(model: Llama, tokens: list[int], count: int, stop: int | None = None) -> list[int]:
    """Continues `tokens` by the most likely ones, without a cache."""
    out = list(tokens)
    for _ in range(count):
        hidden = model(torch.tensor([out]))[:, -1]
        out.append(int(model.logits(hidden).argmax()))
        if out[-1] == stop:
            break
    return out[len(tokens) :]
