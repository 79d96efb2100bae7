"""Trains `tiny` and writes checkpoints; see README.md for the commands.

Most steps see sequences of 256 tokens, then some of 1,024, and the last ones
2,048, so that the model holds up over its whole context. A run that starts from a
checkpoint goes the same way again, from a lower rate.
"""

import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F

from llama import Llama, Shape
from muon import Muon
from tiny_data import Text
from tiny_vocab import SIZE, load

SHAPE = Shape(vocab=SIZE, hidden=256, layers=4, heads=4, kv_heads=2, ffn=704, tied=True)
# (sequence length, share of the steps)
STAGES = ((256, 0.75), (1024, 0.15), (2048, 0.10))
TOKENS = 4096
CHATS = 0.15


def stage(done: float) -> int:
    """Sequence length after the share `done` of the steps."""
    for length, share in STAGES:
        if done < share:
            return length
        done -= share
    return STAGES[-1][0]


@torch.no_grad()
def held_out_loss(model: Llama, text: Text, length: int, windows: int = 16) -> float:
    """Mean loss per token, in nats, over evenly spread windows of plain text."""
    starts = np.linspace(0, len(text.run) - length - 1, windows).astype(int)
    total = 0.0
    for at in starts:
        tokens = torch.from_numpy(np.concatenate(([0], text.run[at : at + length])))
        logits = model.logits(model(tokens[None, :-1]))[0]
        total += float(F.cross_entropy(logits, tokens[1:]))
    return total / windows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True, help="folder made by corpus.py")
    parser.add_argument("--vocab", required=True, help="file made by tiny_vocab.py")
    parser.add_argument("--out", required=True)
    parser.add_argument("--resume", help="checkpoint to go on from")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    tokenizer = load(args.vocab)
    text, held_out = (Text(f"{args.text}/{name}.txt", tokenizer) for name in ("train", "held-out"))
    model = Llama(SHAPE)
    seen, peak = 0, 1.0
    if args.resume:
        saved = torch.load(args.resume, weights_only=False)
        model.load_state_dict(saved["weights"])
        seen, peak = saved["tokens"], 0.6
    optimiser = Muon(model, muon_rate=0.02, adam_rate=0.004, decay=0.05)
    began = time.time()
    for step in range(args.steps):
        done = step / args.steps
        length = stage(done)
        rows = TOKENS // length
        tokens = torch.from_numpy(text.batch(rng, rows, length, CHATS))
        with torch.autocast("cpu", torch.bfloat16):
            logits = model.logits(model(tokens[:, :-1])).flatten(0, 1)
        loss = F.cross_entropy(logits.float(), tokens[:, 1:].flatten())
        loss.backward()
        optimiser.step(peak * min(1.0, (step + 1) / 50, 0.02 + (1 - done) / 0.6))
        seen += rows * length
        if step % 50 == 0:
            print(f"{step} length {length} loss {loss:.4f} tokens {seen} "
                  f"seconds {time.time() - began:.0f}", flush=True)
        if step % 250 == 249 or step == args.steps - 1:
            print(f"{step} held out at 256: {held_out_loss(model, held_out, 256):.4f} "
                  f"at 2048: {held_out_loss(model, held_out, 2048):.4f}", flush=True)
            torch.save({"shape": SHAPE, "weights": model.state_dict(), "step": step + 1,
                        "tokens": seen, "seconds": time.time() - began}, args.out)


if __name__ == "__main__":
    main()
