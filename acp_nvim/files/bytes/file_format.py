"""File formats: decode bytes to the text that Neovim would show, and encode it back.

It follows 'fileencodings', 'fileformats' and 'bomb' as `:edit` does (`:help 'fileencodings'`,
`:help file-formats`), so a file reads the same whether or not it is open. `FormatChange` describes
a change to line endings or BOM by an agent.
"""

from __future__ import annotations

import codecs
import locale
from collections.abc import Sequence
from typing import Final

import msgspec

from acp_nvim.edits.text import Text, parse
from acp_nvim.patterns import late

FILEENCODINGS: Final = "ucs-bom,utf-8,default,latin1"
FILEFORMATS: Final = "unix,dos"

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "ucs-4le"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF32_BE, "ucs-4"),
)
"""BOMs of 'ucs-bom' in Neovim's order, with Neovim's names. Big-endian is the default."""

_CODECS: Final = {
    "latin1": "latin-1",
    "ucs-2": "utf-16-be",
    "ucs-2be": "utf-16-be",
    "ucs-2le": "utf-16-le",
    "utf-16": "utf-16-be",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "ucs-4": "utf-32-be",
    "ucs-4be": "utf-32-be",
    "ucs-4le": "utf-32-le",
    "utf-32": "utf-32-be",
    "utf-32be": "utf-32-be",
    "utf-32le": "utf-32-le",
    "": "utf-8",
}
"""Neovim's encoding names that Python does not know or understands differently."""

_SWAPPED: Final = {10: 13, 13: 10}
"""Translation for 'fileformat' mac: lines end in CR, and a newline within a line is shown as CR."""

_LONE = late("[\ud800-\udfff]")

_LOOSE_UTF8 = late(
    rb"(?:[\x00-\x7f]++|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}"
    rb"|[\xf8-\xfb][\x80-\xbf]{4}|[\xfc\xfd][\x80-\xbf]{5})*+"
)
"""UTF-8 as Neovim accepts it, with surrogates, overlong forms, and sequences of 5 and 6 bytes."""


class BinaryError(ValueError):
    """Failure to decode bytes because they contain a NUL."""


class Format(msgspec.Struct, frozen=True):
    """Format of a file by Neovim's options 'fileencoding', 'bomb', 'fileformat' and 'binary'."""

    encoding: str = "utf-8"
    bomb: bool = False
    dos: bool = False
    mac: bool = False
    binary: bool = False
    """With 'binary', a BOM and carriage returns are part of the text."""

    @property
    def fileformat(self) -> str:
        return "dos" if self.dos else "mac" if self.mac else "unix"

    def with_crs(self) -> Format:
        """Return the same format with CR LF line endings."""
        return msgspec.structs.replace(self, dos=True, mac=False)


class Decoded(msgspec.Struct, frozen=True):
    """A file's text, without lone surrogates, and its format."""

    text: Text
    format: Format


def decode(
    data: bytes, fileencodings: str = FILEENCODINGS, fileformats: str = FILEFORMATS
) -> Decoded:
    """Decode with the first of 'fileencodings' that fits. Raise BinaryError for a NUL."""
    for name in fileencodings.split(","):
        decoded = _with_bom(data) if name == "ucs-bom" else _with_name(data, name)
        if decoded is not None:
            break
    else:
        decoded = data.decode("utf-8", "surrogateescape"), Format()
    return _decode_lines(*decoded, fileformats)


def decode_as(data: bytes, file_format: Format | None, *, allows_nul: bool = False) -> Decoded:
    """Decode in a given format if the bytes are valid in it. For None, detect the format.

    Raise BinaryError for a NUL unless it is allowed.
    """
    if file_format is None:
        return decode(data)
    decoded = None if file_format.binary else _with_name(data, file_format.encoding)
    if decoded is None:
        decoded = data.decode("utf-8", "surrogateescape"), file_format
    return _decode_lines(*decoded, file_format.fileformat, allows_nul)


def fitting(buffer: Format, data: bytes) -> Format:
    """Return the format that an empty buffer takes when its file gets these bytes.

    That is the buffer's format if the bytes are valid in it, otherwise the detected one. Raise
    BinaryError for a NUL.
    """
    if buffer.binary or _with_name(data, buffer.encoding) is not None:
        return buffer
    return decode(data).format


def text_of(data: bytes | None, file_format: Format | None) -> Text | None:
    """Return the text of `decode_as`, or None if there is no file. Raise BinaryError."""
    return None if data is None else decode_as(data, file_format).text


def encode(text: Text, file_format: Format) -> bytes:
    """Encode a text. Raise UnicodeEncodeError if the encoding lacks a character."""
    codec = codec_of(file_format.encoding) or "utf-8"
    content = str(text)
    if file_format.dos:
        content = content.replace("\n", "\r\n")
    elif file_format.mac:
        content = content.translate(_SWAPPED)
    bom = "\ufeff".encode(codec) if file_format.bomb else b""
    return bom + content.encode(codec)


def in_bytes(text: Text, file_format: Format | None) -> bytes:
    """Encode a text, as UTF-8 if its format is unknown or lacks a character."""
    data = encodable(text, file_format or Format())
    return str(text).encode("utf-8", "surrogatepass") if data is None else data


def encodable(text: Text, file_format: Format) -> bytes | None:
    """Encode a text, or return None if the encoding lacks a character."""
    try:
        return encode(text, file_format)
    except UnicodeEncodeError:
        return None


def shows_cr(text: Text) -> bool:
    """Return whether carriage returns of line endings are part of the lines."""
    whole = "\n".join(text.lines)
    return "\r\n" in whole or whole.endswith("\r")


def codec_of(fileencoding: str) -> str | None:
    """Return Python's name of a 'fileencoding', or None if Python has no such codec."""
    name = fileencoding.lower().removeprefix("8bit-").removeprefix("2byte-")
    if name == "default":
        name = locale.getencoding()
    try:
        return codecs.lookup(_CODECS.get(name, name)).name
    except LookupError:
        return None


def clean(text: Text) -> Text:
    """Replace each byte that is not UTF-8 with U+FFFD. Return the same object if there is none."""
    whole = "".join(text.lines)  # whether one string is ASCII is known without a scan
    if whole.isascii() or not _LONE.search(whole):
        return text
    return Text(tuple(_LONE.sub("\ufffd", line) for line in text.lines), text.eol)


def _with_bom(data: bytes) -> tuple[str, Format] | None:
    for bom, name in _BOMS:
        if data.startswith(bom):
            return _with_name(data, name)
    return None


def _with_name(data: bytes, name: str) -> tuple[str, Format] | None:
    """Return content and format if the bytes are valid in that encoding."""
    codec = codec_of(name)
    if codec is None:
        return None
    bom = "\ufeff".encode(codec) if codec.startswith("utf") else b""
    has_bom = bool(bom) and data.startswith(bom)
    text = data[len(bom) if has_bom else 0 :]
    try:
        content = text.decode(codec)
    except UnicodeDecodeError:
        if codec != "utf-8" or not _LOOSE_UTF8.fullmatch(text):
            return None
        content = text.decode("utf-8", "surrogateescape")
    return content, Format(name, has_bom)


def _decode_lines(
    content: str, file_format: Format, fileformats: str, allows_nul: bool = False
) -> Decoded:
    if "\0" in content and not allows_nul:
        raise BinaryError("the bytes contain a NUL")
    if _is_dos(content, fileformats):
        content = content.replace("\r\n", "\n").removesuffix("\x1a")
        file_format = Format(file_format.encoding, file_format.bomb, dos=True)
    elif _is_mac(content, fileformats.split(",")):
        content = content.translate(_SWAPPED)
        file_format = Format(file_format.encoding, file_format.bomb, mac=True)
    return Decoded(clean(parse(content)), file_format)


def _is_dos(content: str, fileformats: str) -> bool:
    """Return whether every line ends in CR LF, or any line if 'fileformats' lacks unix."""
    formats = fileformats.split(",")
    ends = content.count("\n")
    if not ends or "dos" not in formats:
        return False
    return "unix" not in formats or content.count("\r\n") == ends


def _is_mac(content: str, formats: Sequence[str]) -> bool:
    """Return whether there are more CRs than newlines, and a CR before the first newline.

    Always true if mac is the only item of 'fileformats'.
    """
    if "mac" not in formats or len(formats) == 1:
        return "mac" in formats
    line, newline, _ = content.partition("\n")
    if "\r" not in line or not newline:
        return "\r" in line
    return "unix" in formats and content.count("\r") > content.count("\n")


# -- formats changed by agents --------------------------------------------------------------------


class FormatChange(msgspec.Struct, frozen=True):
    """Format of a file before and after an agent's change."""

    old: Format
    new: Format

    @property
    def is_change(self) -> bool:
        return self.old != self.new

    def in_encoding(self, name: str) -> FormatChange:
        """Return the same change to a file in another encoding."""
        old, new = (msgspec.structs.replace(side, encoding=name) for side in (self.old, self.new))
        return FormatChange(old, new)

    def applied_to(self, buffer: Format | None) -> tuple[Format | None, Format | None]:
        """Return the formats with which to decode the old and the new bytes.

        If there is a buffer, they are its format with the line endings and the BOM that the agent
        changed.
        """
        if not self.is_change:
            return buffer, buffer
        return with_ends(buffer or self.old, self.old), with_ends(buffer or self.new, self.new)


def format_change(
    known: Format | None, before: bytes | None, after: bytes | None
) -> FormatChange | None:
    """Compare the formats of both contents. Return None for a deleted file.

    `known` is the format before the change, used when `before` does not determine it. A new file
    has the same format before and after. A file with mixed line endings, or an empty one, keeps the
    format it had.
    """
    if after is None:
        return None
    old = known or decode(after if before is None else before).format
    is_wide = (codec_of(old.encoding) or "").startswith(("utf-16", "utf-32"))
    if is_wide or old.mac or old.binary:
        return FormatChange(old, old)
    dos = _are_dos(after)
    if dos is None or (known is None and before is not None and _are_dos(before) is None):
        dos = old.dos
    has_bom = old.encoding == "utf-8" and after != b""
    bomb = after.startswith(codecs.BOM_UTF8) if has_bom else old.bomb
    return FormatChange(old, msgspec.structs.replace(old, dos=dos, bomb=bomb))


def format_as_written(text: Text, buffer: Format | None) -> Format | None:
    """Return the format of a file after its buffer was written.

    A CR at the end of a line in the buffer is part of the line ending on disk.
    """
    if buffer is None or not shows_cr(text):
        return buffer
    file_format = format_change(buffer, None, in_bytes(text, buffer))
    return file_format.new if file_format else buffer


def describe_change(old: Format, new: Format) -> str:
    """Describe the difference for the user. Return an empty string if there is none."""
    changes: list[str] = []
    if old.fileformat != new.fileformat:
        changes.append(f"line endings: {old.fileformat} → {new.fileformat}")
    if old.bomb != new.bomb:
        changes.append("BOM added" if new.bomb else "BOM removed")
    return ", ".join(changes)


def format_to_write(
    users: Format | None, present: Format | None, before: Text | None, after: Text, whole: bool
) -> Format | None:
    """Return the format in which to write `after` over `before`, or None for the current one.

    `users` is the format from before agents changed the file, `present` is the current one (None:
    no file). With `whole`, no part of the agent's edit remains in the file. Otherwise the agent's
    change to the format is kept, like the rest of its edit.
    """
    if users is None or users == present or encodable(after, users) is None:
        return None
    if present is None or before is None or whole:
        return users
    return users if encodable(before, users) == encodable(before, present) else None


def _are_dos(data: bytes) -> bool | None:
    """Return whether all lines end in CR LF, or None if only some do or there is no newline."""
    ends, pairs = data.count(b"\n"), data.count(b"\r\n")
    if not ends or 0 < pairs < ends:
        return None
    return pairs == ends


def with_ends(file_format: Format, ends: Format) -> Format:
    """Return the format with the line endings and the BOM of another."""
    return msgspec.structs.replace(file_format, dos=ends.dos, mac=ends.mac, bomb=ends.bomb)
