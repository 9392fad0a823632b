"""Columns of a line in the encodings of language servers (LSP 3.17, positionEncodings).

A column here counts characters (code points) from 0. A server counts bytes ("utf-8"), UTF-16 code
units ("utf-16") or code points ("utf-32") from 0. A position past the end of the line means its
end, as LSP requires. A position inside a character means the start of the character.
"""

from __future__ import annotations

from acp_nvim.tools.ports import Encoding


def _width(char: str, encoding: Encoding) -> int:
    if encoding == "utf-16":
        return 2 if ord(char) > 0xFFFF else 1
    return len(char.encode("utf-8", "surrogatepass"))


def to_column(line: str, character: int, encoding: Encoding) -> int:
    """Return the column of a server's position in `line`."""
    if encoding == "utf-32" or line.isascii():
        return max(0, min(character, len(line)))
    passed = 0
    for column, char in enumerate(line):
        passed += _width(char, encoding)
        if passed > character:
            return column
    return len(line)
