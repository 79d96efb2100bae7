"""Makes the English text from two Debian packages.

`bible-kjv` and `bible-kjv-text` print the King James Version;
`r-cran-janeaustenr` holds Jane Austen's six novels as R strings. Both texts are
in the public domain. Guaranteed: plain ASCII, one paragraph or verse a line, one
blank line between chapters or books; the last part of each source is held out.
"""

import argparse
import re
import struct
import subprocess
import unicodedata
import zlib
from pathlib import Path

HELD_OUT = 0.03
CHARSXP, TYPE_MASK = 9, 0xFF


def plain(text: str) -> str:
    """ASCII, with plain quotes and dashes."""
    for fancy, simple in (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"'),
                          ("\u2014", "--"), ("\u2013", "-")):
        text = text.replace(fancy, simple)
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def bible() -> str:
    """The King James Version, a verse a line, a blank line between chapters."""
    command = ["bible", "-f", "-l", "100000", "Gen1:1-Rev22:21"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines, chapter = [], ""
    for line in printed.splitlines():
        found = re.match(r"(\w+):\d+ (.*)", line)
        if found:
            if found[1] != chapter:
                lines.append("")
                chapter = found[1]
            lines.append(found[2].strip())
    return "\n".join(lines)


def r_strings(data: bytes) -> list[str]:
    """The elements of one serialised R character vector (XDR format 3)."""
    at = data.index(b"UTF-8") + 5
    _, count = struct.unpack_from(">II", data, at)
    at += 8
    out = []
    for _ in range(count):
        flags, length = struct.unpack_from(">Ii", data, at)
        if flags & TYPE_MASK != CHARSXP:
            raise ValueError(f"not a string at byte {at}")
        at += 8
        out.append(data[at : at + max(length, 0)].decode("utf-8", "replace"))
        at += max(length, 0)
    return out


def novels(folder: Path) -> list[str]:
    """The novels of an R lazy-load file, with the lines of a paragraph joined."""
    data = (folder / "Rdata.rdb").read_bytes()
    books, at = [], 0
    while at < len(data):
        chunk = zlib.decompressobj()
        lines = r_strings(chunk.decompress(data[at + 4 :]))
        at = len(data) - len(chunk.unused_data)
        paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
        books.append("\n".join(" ".join(p.split()) for p in paragraphs if p.strip()))
    return books


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--novels", type=Path, required=True,
                        help="folder of Rdata.rdb inside the R package janeaustenr")
    parser.add_argument("--out", type=Path, required=True, help="folder for the two text files")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    train, held = [], []
    for text in map(plain, [bible(), *novels(args.novels)]):
        lines = text.split("\n")
        cut = int(len(lines) * (1 - HELD_OUT))
        train.append("\n".join(lines[:cut]))
        held.append("\n".join(lines[cut:]))
    (args.out / "train.txt").write_text("\n\n".join(train), encoding="utf-8")
    (args.out / "held-out.txt").write_text("\n\n".join(held), encoding="utf-8")


if __name__ == "__main__":
    main()
