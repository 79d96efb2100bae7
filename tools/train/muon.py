"""The optimiser: Muon for the layers' matrices, AdamW for all else.

Guaranteed: deterministic given the gradients; `step(rate)` scales both parts by
the same schedule value in 0..1.
"""

import torch
from torch import Tensor, nn


def orthogonal(g: Tensor) -> Tensor:
    """Five Newton-Schulz steps towards the nearest semi-orthogonal matrix."""
    x = g.bfloat16()
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x if wide else x.T).float()


class Muon:
    def __init__(self, model: nn.Module, muon_rate: float, adam_rate: float, decay: float):
        named = list(model.named_parameters())
        self.matrices = [p for n, p in named if p.dim() == 2 and n.startswith("blk")]
        others = [p for n, p in named if not (p.dim() == 2 and n.startswith("blk"))]
        self.momentum = [torch.zeros_like(p) for p in self.matrices]
        self.muon_rate, self.adam_rate, self.decay = muon_rate, adam_rate, decay
        self.adam = torch.optim.AdamW(others, lr=adam_rate, betas=(0.9, 0.95), weight_decay=0.0)
        self.all = [p for _, p in named]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Clips the gradient to norm 1, applies it at `rate`, and clears it."""
        nn.utils.clip_grad_norm_(self.all, 1.0)
        for p, m in zip(self.matrices, self.momentum):
            m.mul_(0.95).add_(p.grad)
            update = orthogonal(p.grad.add(m, alpha=0.95))
            size = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
            p.mul_(1 - rate * self.muon_rate * self.decay)
            p.add_(update, alpha=-rate * self.muon_rate * size)
        for group in self.adam.param_groups:
            group["lr"] = self.adam_rate * rate
        self.adam.step()
        for p in self.all:
            p.grad = None
