"""Trains `recall` and writes checkpoints; see README.md for the commands.

The first layer's heads start out looking one to five tokens back, and all weights
are then learnt. The sequences grow from 128 to 2,048 tokens; a run that starts
from a checkpoint mixes their lengths instead, from a lower rate.
"""

import argparse
import math
import random
import time

import torch
import torch.nn.functional as F

from llama import Llama, Shape
from muon import Muon
from recall_data import RECALLED, Entries, other_text
from recall_vocab import PIECES

SHAPE = Shape(vocab=len(PIECES), hidden=320, layers=2, heads=5, kv_heads=5, ffn=256,
              rope_base=1e7, tied=False)
# (sequence length, share of the steps)
STAGES = ((128, 0.10), (256, 0.15), (512, 0.20), (1024, 0.30), (2048, 0.25))
MIXTURE = (256, 512, 512, 1024, 1024, 1024, 2048)
TOKENS = 8192


@torch.no_grad()
def look_back(model: Llama) -> None:
    """Gives all tokens one common coordinate and lets head h of the first layer
    use it to look h + 1 tokens back."""
    shape = model.shape
    model.token_embd.weight.normal_(std=1.0)
    model.token_embd.weight[:, 0] = 4.0
    block, pairs = model.blk[0], 12
    for head in range(shape.heads):
        for i in range(pairs):
            row = head * shape.head_dim + 2 * i
            angle = (head + 1) * shape.rope_base ** (-2 * i / shape.head_dim)
            block.attn_q.weight[row, 0] = 2 * math.cos(angle)
            block.attn_q.weight[row + 1, 0] = -2 * math.sin(angle)
            block.attn_k.weight[row, 0] = 2.0
            block.attn_k.weight[row + 1, 0] = 0.0


def stage(done: float) -> int:
    """Sequence length after the share `done` of the steps."""
    for length, share in STAGES:
        if done < share:
            return length
        done -= share
    return STAGES[-1][0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True, help="the English text made by corpus.py")
    parser.add_argument("--out", required=True)
    parser.add_argument("--resume", help="checkpoint to go on from")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = Llama(SHAPE)
    look_back(model)
    seen, peak = 0, 1.0
    if args.resume:
        saved = torch.load(args.resume, weights_only=False)
        model.load_state_dict(saved["weights"])
        seen, peak = saved["tokens"], 0.5
    mixed = random.Random(args.seed)
    optimiser = Muon(model, muon_rate=0.02, adam_rate=0.003, decay=0.05)
    entries = Entries(args.seed, other_text(args.text))
    began = time.time()
    for step in range(args.steps):
        done = step / args.steps
        length = mixed.choice(MIXTURE) if args.resume else stage(done)
        rows = TOKENS // length
        tokens, weights = (torch.from_numpy(a) for a in entries.batch(rows, length))
        target, weight = tokens[:, 1:].flatten(), weights[:, 1:].flatten()
        with torch.autocast("cpu", torch.bfloat16, enabled=done < 0.75):
            logits = model.logits(model(tokens[:, :-1])).float().flatten(0, 1)
        loss = (F.cross_entropy(logits, target, reduction="none") * weight).sum() / weight.sum()
        loss.backward()
        optimiser.step(peak * min(1.0, (step + 1) / 50, 0.02 + (1 - done) / 0.6))
        seen += rows * length
        if step % 50 == 0 or step == args.steps - 1:
            recalled = weight == RECALLED
            right = (logits.argmax(-1) == target)[recalled].float().mean()
            print(f"{step} length {length} loss {loss:.4f} right {right:.4f} "
                  f"tokens {seen} seconds {time.time() - began:.0f}", flush=True)
        if step % 500 == 499 or step == args.steps - 1:
            torch.save({"shape": SHAPE, "weights": model.state_dict(), "step": step + 1,
                        "tokens": seen, "seconds": time.time() - began}, args.out)


if __name__ == "__main__":
    main()
