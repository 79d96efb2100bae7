"""Engine arithmetic for Q8_0 weights, simulated.

Guaranteed: each row entering a matrix is rounded in blocks of 32 to int8 times a
half-precision scale (absmax / 127), as llama.cpp does for Q8_0 matrices.
"""

import torch
from torch import Tensor

from llama import Llama


def rounded(x: Tensor) -> Tensor:
    """x as blocks of 32 int8 values and one scale each would hold it."""
    blocks = x.unflatten(-1, (-1, 32))
    scale = blocks.abs().amax(-1, keepdim=True) / 127
    steps = torch.where(scale > 0, blocks / scale, torch.zeros_like(blocks)).round()
    return (steps * scale.half().float()).flatten(-2)


def round_activations(model: Llama) -> None:
    """Makes every matrix of the model round what enters it."""
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(lambda _, args: (rounded(args[0]),))
