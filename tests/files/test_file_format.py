"""Bytes and text without Neovim. test_buffers_bytes.py compares with Neovim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.file_format import (
    BinaryError,
    Decoded,
    Format,
    clean,
    codec_of,
    decode,
    decode_as,
    encode,
)

pieces = st.sampled_from(
    [b"a", b"\n", b"\r\n", b"\r", b"\xe9", "é€😀".encode(), b"\xef\xbb\xbf", b"\xff\xfe", b" \t"]
)


@given(st.lists(pieces, max_size=12).map(b"".join))
def test_decoded_bytes_encode_to_the_same_bytes(data: bytes) -> None:
    try:
        found = decode(data)
    except BinaryError:
        return
    assert encode(found.text, found.format) == data


@given(
    content=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\x1a\ufeff"))
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16le", "ucs-4", "ucs-4le"])
@pytest.mark.parametrize("dos", [False, True])
def test_unicode_text_is_recognized_by_its_byte_order_mark(
    content: str, encoding: str, dos: bool
) -> None:
    layout = Format(encoding, bomb=True, dos=dos)
    text = decode(content.encode()).text
    found = decode(encode(text, layout))
    assert found.text == text
    assert found.format == Format(encoding, bomb=True, dos=dos and "\n" in content)
    assert decode_as(encode(text, layout), layout).text == text


@pytest.mark.parametrize(
    ("data", "encodings", "text", "encoding"),
    [
        (b"caf\xe9", "ucs-bom,utf-8,default,latin1", "café", "latin1"),
        (b"caf\xe9", "utf-8,cp1251", "cafй", "cp1251"),
        (b"\xb1\xe0", "utf-8,euc-kr,latin1", b"\xb1\xe0".decode("euc-kr"), "euc-kr"),
        ("é".encode(), "latin1", "Ã©", "latin1"),
        (b"\xef\xbb\xbfx", "utf-8,latin1", "x", "utf-8"),
        (b"\xef\xbb\xbfx", "latin1", "ï»¿x", "latin1"),
        (b"x\xff", "utf-8", "x\ufffd", "utf-8"),
        (b"x\xff", "", "x\ufffd", "utf-8"),
        (b"x\xff", "no-such-thing,latin1", "xÿ", "latin1"),
    ],
)
def test_the_first_matching_encoding_is_used(
    data: bytes, encodings: str, text: str, encoding: str
) -> None:
    found = decode(data, encodings)
    assert (str(found.text), found.format.encoding) == (text, encoding)


@pytest.mark.parametrize(
    ("data", "formats", "lines", "dos"),
    [
        (b"a\r\nb\r\n", "unix,dos", ("a", "b"), True),
        (b"a\r\nb\n", "unix,dos", ("a\r", "b"), False),
        (b"a\r\nb\n", "dos", ("a", "b"), True),
        (b"a\r\nb\r\n", "unix", ("a\r", "b\r"), False),
        (b"a\r\nb\r\n", "", ("a\r", "b\r"), False),
        (b"a\rb", "unix,dos", ("a\rb",), False),
        (b"a\r\n\x1a", "unix,dos", ("a",), True),
    ],
)
def test_line_ends_are_found(data: bytes, formats: str, lines: tuple[str, ...], dos: bool) -> None:
    found = decode(data, "utf-8", formats)
    assert (found.text.lines, found.format.dos) == (lines, dos)


@pytest.mark.parametrize(
    ("data", "formats", "lines", "eol"),
    [
        (b"a\rb\r", "mac", ("a", "b"), True),
        (b"a\rb", "mac", ("a", "b"), False),
        (b"a\rb\nc\r", "mac", ("a", "b\rc"), True),
        (b"a\rb\r", "unix,dos,mac", ("a", "b"), True),
        (b"a\rb\rc\n", "unix,mac", ("a", "b", "c\r"), False),
        (b"", "mac", ("",), False),
    ],
)
def test_carriage_returns_end_lines_with_the_format_mac(
    data: bytes, formats: str, lines: tuple[str, ...], eol: bool
) -> None:
    """In such a line a newline is shown as a carriage return (`:help file-formats`)."""
    found = decode(data, "utf-8", formats)
    assert found == Decoded(Text(lines, eol), Format(mac=True))
    assert decode_as(data, found.format) == found
    assert encode(found.text, found.format) == data


@pytest.mark.parametrize(
    ("data", "formats", "layout"),
    [
        (b"a\rb\r", "unix,dos", Format()),
        (b"a\rb\nc\n", "unix,mac", Format()),
        (b"a\r\nb\r\n", "unix,dos,mac", Format(dos=True)),
        (b"a", "unix,dos,mac", Format()),
    ],
)
def test_other_files_do_not_have_the_format_mac(data: bytes, formats: str, layout: Format) -> None:
    found = decode(data, "utf-8", formats)
    assert found.format == layout
    assert encode(found.text, found.format) == data


@pytest.mark.parametrize("data", [b"a\0b", b"\0", b"\x7fELF\0\0\xff", "a\0".encode("utf-16")])
def test_bytes_with_a_nul_are_not_text(data: bytes) -> None:
    with pytest.raises(BinaryError):
        decode(data)


def test_lines_end_at_newlines_only() -> None:
    content = "a\x0bb\x0cc\x1cd\x85e\u2028f\n"
    assert decode(content.encode()).text.lines == (content[:-1],)


def test_an_empty_file_is_not_an_empty_line() -> None:
    assert decode(b"").text == EMPTY
    assert decode(b"\n").text == Text(("",), eol=True)


def test_cleaning_keeps_every_character_in_its_place() -> None:
    text = Text(("é", "a\udcffb\udc80", "c"))
    assert clean(text).lines == ("é", "a\ufffdb\ufffd", "c")
    clear = Text(("é", "c"))
    assert clean(clear) is clear


def test_characters_that_an_encoding_lacks_cannot_be_encoded() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode(Text(("€",)), Format("latin1"))
    assert codec_of("8bit-cp1252") == "cp1252"
    assert codec_of("martian") is None
