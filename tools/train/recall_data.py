"""Random sequences of keys and codes for `recall`, made on the fly.

Guaranteed: codes are uniformly random and no key has two codes in one sequence,
so a queried code can be known from the context alone. Text that is no entry
may stand before, between and after entries.
"""

import random

import numpy as np

from recall_vocab import BOS, CODE_WORD, KEY, SEPARATOR, SYMBOL, encode

NEWLINE = 3 + 10
NOVEL, FRAME, RECALLED = 0.01, 0.2, 1.0


def other_text(path: str, lines: int = 4000) -> list[list[int]]:
    """Short token runs of English, to stand where entries do not."""
    rng = random.Random(7)
    with open(path, encoding="utf-8") as file:
        words = [line.strip() for line in file if line.strip()]
    runs = [encode(rng.choice(words)[: rng.randint(4, 60)], bos=False) for _ in range(lines)]
    prompts = ("What is the code?", "system: answer from the codes.", "user:", "assistant:",
               "Remember these:", "Here they are", "You are a helpful assistant.", "\n", "\n\n")
    return runs + [encode(prompt, bos=False) for prompt in prompts] * (lines // 20)


class Entries:
    """Draws one sequence after another from a seed."""

    def __init__(self, seed: int, other: list[list[int]]):
        self.rng = random.Random(seed)
        self.other = other

    def code(self) -> list[int]:
        return self.rng.choices(SYMBOL, k=8)

    def asked(self, known: list[int], last: int) -> int:
        """A known key: mostly any, sometimes the last one seen or the first."""
        draw = self.rng.random()
        return last if draw < 0.2 else known[0] if draw < 0.25 else self.rng.choice(known)

    def sequence(self, length: int) -> tuple[list[int], list[float]]:
        """`length` + 1 tokens, and for each the weight of predicting it."""
        rng = self.rng
        tokens, weights = [], []

        def put(ids: list[int], weight: float) -> None:
            tokens.extend(ids)
            weights.extend([weight] * len(ids))

        if rng.random() < 0.9:
            put([BOS], 0.0)
        if rng.random() < 0.5:
            for _ in range(rng.randint(1, 3)):
                put(rng.choice(self.other), NOVEL)
        interrupted = rng.choice((0.0, 0.0, 0.03, 0.1))
        early = rng.choice((0.0, 0.2, 0.4))
        first_use = int(length * rng.uniform(0.25, 0.95))
        keys = rng.sample(range(100), 100)
        codes: dict[int, list[int]] = {}
        last = keys[0]
        while len(tokens) <= length:
            growing = len(codes) < 100 and len(tokens) < first_use and rng.random() >= early
            fresh = growing or not codes
            if fresh:
                key = keys[len(codes)]
                codes[key] = self.code()
            else:
                key = self.asked(keys[: len(codes)], last)
            last = key
            put([CODE_WORD], FRAME)
            put([KEY[key]], NOVEL)
            put(codes[key], NOVEL if fresh else RECALLED)
            if rng.random() < interrupted:
                put(rng.choice(([NEWLINE], [SEPARATOR, NEWLINE], [])), 0.0)
                put(rng.choice(self.other), NOVEL)
            else:
                put([SEPARATOR], FRAME)
        return tokens[: length + 1], weights[: length + 1]

    def batch(self, rows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Tokens and weights, each [rows, length + 1]."""
        drawn = [self.sequence(length) for _ in range(rows)]
        return np.array([t for t, _ in drawn]), np.array([w for _, w in drawn], dtype=np.float32)
