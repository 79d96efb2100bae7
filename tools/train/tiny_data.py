"""Token windows for `tiny`: plain text, and a share in the form of a chat.

Guaranteed: a window starts with <|begin|>; a chat window holds whole exchanges,
each answer closed by <|end|>, where an answer is the line of the text that follows
the line said by the user.
"""

import numpy as np
from tokenizers import Tokenizer

from tiny_vocab import ASSISTANT, BEGIN, END, SYSTEM, USER

SYSTEMS = ("Continue the text.", "You are a helpful assistant.", "Answer in the old manner.",
           "Speak as in a novel.")
LONGEST_LINE = 400


class Text:
    """A text file as one run of tokens and as lines."""

    def __init__(self, path: str, tokenizer: Tokenizer):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.run = np.array(tokenizer.encode(text).ids, dtype=np.int64)
        self.systems = [tokenizer.encode(system).ids for system in SYSTEMS]
        lines = text.split("\n")
        encoded = tokenizer.encode_batch(lines)
        self.lines = [e.ids if 0 < len(line) <= LONGEST_LINE else [] for e, line in zip(encoded, lines)]

    def window(self, rng: np.random.Generator, length: int) -> np.ndarray:
        """`length` tokens of plain text after <|begin|>."""
        at = int(rng.integers(0, len(self.run) - length))
        return np.concatenate(([BEGIN], self.run[at : at + length]))

    def chat(self, rng: np.random.Generator, length: int) -> np.ndarray:
        """Conversations of one to four exchanges, cut at `length` + 1 tokens."""
        out: list[int] = []
        while len(out) <= length:
            out.append(BEGIN)
            if rng.random() < 0.4:
                out += [SYSTEM, *self.systems[rng.integers(len(self.systems))], END]
            at = int(rng.integers(0, len(self.lines) - 8))
            for said, answer in zip(self.lines[at : at + 8 : 2], self.lines[at + 1 : at + 9 : 2]):
                if said and answer:
                    out += [USER, *said, END, ASSISTANT, *answer, END]
                if rng.random() < 0.3:
                    break
        return np.array(out[: length + 1], dtype=np.int64)

    def batch(self, rng: np.random.Generator, rows: int, length: int, chats: float) -> np.ndarray:
        """[rows, length + 1] tokens, the share `chats` of the rows being chats."""
        make = [self.chat if rng.random() < chats else self.window for _ in range(rows)]
        return np.stack([one(rng, length) for one in make])
