"""Measures `tiny` from its file: held-out loss by length, and greedy samples.

Guaranteed: the loss is over text the model never saw, in nats per token and in
bits per byte; `late` is the loss over the last quarter of a window's places.
"""

import argparse
import math

import numpy as np
import torch
import torch.nn.functional as F

from llama import greedy
from read_gguf import read
from rounding import round_activations
from tiny_vocab import BEGIN, END, load

PROMPTS = ("In the beginning", "And it came to pass", "It is a truth", "Mr. Darcy",
           "<|user|>Behold, he cometh with clouds.<|end|><|assistant|>",
           "<|system|>Speak as in a novel.<|end|><|user|>How do you do, my dear?<|end|><|assistant|>")


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--text", required=True)
    args = parser.parse_args()
    model, tokenizer = read(args.file), load(args.vocab)
    round_activations(model)
    with open(args.text, encoding="utf-8") as file:
        text = file.read()
    run = np.array(tokenizer.encode(text).ids)
    bytes_per_token = len(text.encode()) / len(run)
    for length in (256, 1024, 2047):
        losses = []
        for at in range(0, len(run) - length + 1, length):
            tokens = torch.from_numpy(np.concatenate(([BEGIN], run[at : at + length])))
            logits = model.logits(model(tokens[None, :-1]))[0]
            losses.append(F.cross_entropy(logits, tokens[1:], reduction="none"))
        mean, late = (float(torch.stack(losses)[:, start:].mean()) for start in (0, length * 3 // 4))
        bits = mean / math.log(2) / bytes_per_token
        print(f"length {length}: {mean:.4f} nats a token, {bits:.4f} bits a byte, late {late:.4f}, "
              f"tokens {len(losses) * length}", flush=True)
    for prompt in PROMPTS:
        made = greedy(model, [BEGIN, *tokenizer.encode(prompt).ids], 60, stop=END)
        print(repr(prompt), "->", repr(tokenizer.decode(made, skip_special_tokens=False)), flush=True)


if __name__ == "__main__":
    main()
