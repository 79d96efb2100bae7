"""The vocabulary of `recall`, and its tokenizer in the SentencePiece manner.

Guaranteed: every text has one tokenization, the one that llama.cpp's SPM
tokenizer finds; a key such as ` K7=` is one token, `code` and `;` after a space
are one token each, each character of a code is one token, and any other byte
has a token of its own.
"""

import functools
import re
import string

SPACE = "\u2581"
UNKNOWN, BOS, EOS = 0, 1, 2
NORMAL, UNKNOWN_TYPE, CONTROL, BYTE = 1, 2, 3, 6


def merged_pieces() -> list[str]:
    """Pieces of two characters or more, the likeliest merge first.

    Each is a shorter piece plus one character, so merging in this order reaches it."""
    word = [SPACE + "code"[:n] for n in range(1, 5)]
    keys = [f"{SPACE}K{n}" for n in range(100)]
    return [*word, SPACE + ";", SPACE + "K", *keys, *(key + "=" for key in keys)]


def vocabulary() -> tuple[list[str], list[float], list[int]]:
    """Pieces, scores and types, by token id."""
    pieces, scores, types = ["<unk>", "<s>", "</s>"], [0.0] * 3, [UNKNOWN_TYPE, CONTROL, CONTROL]
    for byte in range(256):
        pieces.append(f"<0x{byte:02X}>")
        scores.append(0.0)
        types.append(BYTE)
    merged = merged_pieces()
    characters = [chr(c) for c in range(0x21, 0x7F)]
    for rank, piece in enumerate([*merged, SPACE, *characters]):
        pieces.append(piece)
        scores.append(-1.0 - rank)
        types.append(NORMAL)
    return pieces, scores, types


PIECES, SCORES, _ = vocabulary()
ID = {piece: index for index, piece in enumerate(PIECES)}
CODE_WORD, SEPARATOR = ID[SPACE + "code"], ID[SPACE + ";"]
KEY = [ID[f"{SPACE}K{n}="] for n in range(100)]
SYMBOL = [ID[c] for c in string.ascii_uppercase + string.digits]


@functools.cache
def encode_word(word: str) -> tuple[int, ...]:
    """Token ids of a word with the space before it: the best merge first."""
    parts = list(word)
    while True:
        pairs = [(SCORES[ID[a + b]], -i) for i, (a, b) in enumerate(zip(parts, parts[1:]))
                 if a + b in ID]
        if not pairs:
            break
        at = -max(pairs)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    ids: list[int] = []
    for part in parts:
        ids += [ID[part]] if part in ID else [3 + byte for byte in part.encode()]
    return tuple(ids)


def encode(text: str, bos: bool = True) -> list[int]:
    """Token ids of a text, with the space that SentencePiece puts before it.

    Words can be taken one by one, for no piece has a space inside."""
    ids = [BOS] if bos else []
    spaced = (" " + text).replace(" ", SPACE) if text else ""
    for word in re.findall(f"{SPACE}?[^{SPACE}]+|{SPACE}", spaced):
        ids += encode_word(word)
    return ids


def decode(ids: list[int]) -> str:
    """The text of token ids, control tokens left out."""
    out = bytearray()
    for index in ids:
        if 3 <= index < 259:
            out.append(index - 3)
        elif index >= 259:
            out += PIECES[index].replace(SPACE, " ").encode()
    return out.decode(errors="replace")
