"""The vocabulary of `tiny`: byte-level BPE with GPT-2's pre-tokenizer.

Guaranteed: any bytes can be encoded; the control tokens have the first ids and
are never made from plain text.
"""

import argparse
import json

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CONTROL = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
BEGIN, END, SYSTEM, USER, ASSISTANT = range(5)
SIZE = 3072


def learn(text: str, out: str) -> None:
    """Learns the merges from a text file and writes them to `out`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train([text], trainers.BpeTrainer(
        vocab_size=SIZE, special_tokens=CONTROL, initial_alphabet=alphabet, show_progress=False))
    tokenizer.save(out)


def load(path: str) -> Tokenizer:
    return Tokenizer.from_file(path)


def pieces_and_merges(path: str) -> tuple[list[str], list[str]]:
    """The tokens by id and the merges by rank, as GGUF wants them."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    return pieces, [" ".join(merge) for merge in model["merges"]]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    learn(args.text, args.out)
