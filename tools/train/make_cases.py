"""Writes what PyTorch makes of a GGUF file, for compare.mjs to hold against llama.cpp.

The cases: token ids of random strings, greedy continuations, and the most likely
token at each of 20 x 64 teacher-forced places, once in f32 and once with
activations rounded as for Q8_0 matrices. `tiny` continues with rounded activations,
`recall`, whose matrices are F32, without.
"""

import argparse
import json
import random

import torch

import recall_vocab
import tiny_vocab
from llama import Llama, greedy
from measure_recall import draw
from read_gguf import read
from rounding import round_activations

ROWS, COLUMNS = 20, 64
ODD = ("", " ", "  two  spaces ", "tab\there", "line\nline\n\nline", "caf\u00e9 \u20ac \U0001f600",
       "don't we'll I'M", "1234567 x2", "code K7=ABC", "K7=", " ;;  ; ")
PROMPTS = ("In the beginning", "Mr. Darcy", "And it came to pass", "She was",
           "<|user|>Who art thou?<|end|><|assistant|>")


def strings(rng: random.Random, count: int) -> list[str]:
    """Random mixtures of words, symbols and odd characters."""
    words = ("the", "And", "Lord", "Elizabeth", "code", "K7=", "K71=", ";", "house", "1813", "won't")
    plain = "abcXYZ019 .,;'\"-_=<>\n\t\u00e9\u03bb\u4e16"
    out = list(ODD)
    while len(out) < count:
        parts = [rng.choice((rng.choice(words), rng.choice(plain), " ", "".join(rng.choices(plain, k=3))))
                 for _ in range(rng.randint(1, 20))]
        out.append("".join(parts))
    return out


@torch.no_grad()
def most_likely(model: Llama, rows: list[list[int]]) -> list[list[int]]:
    return model.logits(model(torch.tensor(rows))).argmax(-1).tolist()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("tiny", "recall"), required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--vocab", help="file made by tiny_vocab.py, for tiny")
    parser.add_argument("--text", help="held-out text, for tiny")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    rng = random.Random(5)
    model = read(args.file)
    if args.model == "tiny":
        tokenizer = tiny_vocab.load(args.vocab)
        begin = [tiny_vocab.BEGIN]
        encode = lambda text: begin + tokenizer.encode(text).ids
        decode = tokenizer.decode
        with open(args.text, encoding="utf-8") as file:
            run = tokenizer.encode(file.read()).ids
        starts = [rng.randrange(len(run) - COLUMNS) for _ in range(ROWS)]
        rows = [begin + run[at : at + COLUMNS - 1] for at in starts]
        prompts = list(PROMPTS)
    else:
        encode, decode = recall_vocab.encode, recall_vocab.decode
        texts = [draw(rng, 40, "any")[0] + draw(rng, 60, "any")[0] for _ in range(ROWS)]
        rows = [encode(text)[:COLUMNS] for text in texts]
        prompts = [draw(rng, length, "any")[0] for length in (30, 100, 300, 600, 1000)]

    def continuations() -> list[dict]:
        ids = [encode(prompt) for prompt in prompts]
        made = [greedy(model, i, 48 if args.model == "tiny" else 12) for i in ids]
        return [{"ids": i, "made": m, "text": decode(m)} for i, m in zip(ids, made)]

    cases = {"strings": [{"text": text, "ids": encode(text)} for text in strings(rng, 400)],
             "rows": rows, "argmax": most_likely(model, rows)}
    if args.model == "recall":
        cases["greedy"] = continuations()
    round_activations(model)
    cases["argmax_rounded"] = most_likely(model, rows)
    if args.model == "tiny":
        cases["greedy"] = continuations()
    with open(args.out, "w", encoding="utf-8") as file:
        json.dump(cases, file)


if __name__ == "__main__":
    main()
