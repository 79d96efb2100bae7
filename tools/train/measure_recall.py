"""Measures how often `recall` gives the whole code, by length of context.

Guaranteed: a draw counts as right only if all eight characters and the separator
after them are the most likely ones; every draw has new random codes.
"""

import argparse
import random

import torch

from llama import Llama
from read_gguf import read
from recall_vocab import encode

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PREFIXES = ("", "", "You are a helpful assistant. ", "system: Answer from the list below.\n",
            "user: ", "Here are the codes of today:\n")
ENTRY = 11
LENGTHS = {"any": (20, 50, 100, 250, 500, 750, 1000), "first": (100, 500, 1000), "last": (100, 500, 1000),
           "prefixed": (100, 500, 1000), "again": (100, 500, 1000), "long": (1500, 2000)}


def draw(rng: random.Random, length: int, where: str) -> tuple[str, str]:
    """A prompt of about `length` tokens that ends in a key, and its code."""
    count = max(1, min(100, (length - 3) // ENTRY))
    keys = rng.sample(range(100), count)
    code = {key: "".join(rng.choices(ALPHABET, k=8)) for key in keys}
    key = {"any": rng.choice(keys), "first": keys[0], "last": keys[-1]}.get(where, rng.choice(keys))
    lines = [f"code K{k}={code[k]}" for k in keys]
    if where in ("again", "long"):
        asked = max(3, (length - 3) // ENTRY - count) if where == "long" else 3
        lines += [f"code K{k}={code[k]}" for k in [key, *rng.choices(keys, k=asked)]]
    prefix = rng.choice(PREFIXES) if where == "prefixed" else ""
    return prefix + " ; ".join([*lines, f"code K{key}="]), code[key]


@torch.no_grad()
def right(model: Llama, prompt: str, code: str) -> bool:
    """Whether greedy decoding after `prompt` gives `code` and then a separator."""
    start = encode(prompt)
    tokens = encode(f"{prompt}{code} ;")
    assert tokens[: len(start)] == start and len(tokens) == len(start) + 9
    hidden = model(torch.tensor([tokens]))[0, len(start) - 1 : -1]
    return model.logits(hidden).argmax(-1).tolist() == tokens[len(start) :]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1000)
    args = parser.parse_args()
    model = read(args.file)
    rng = random.Random(args.seed)
    for where, lengths in LENGTHS.items():
        for length in lengths:
            hits = sum(right(model, *draw(rng, length, where)) for _ in range(args.draws))
            print(f"{where} {length} {hits}/{args.draws}", flush=True)


if __name__ == "__main__":
    main()
