"""Bytes on disk after reads and writes, for files of every format, open and closed."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import pytest

from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.file_format import BinaryError, clean, decode
from tests.support.agent_files_nvim import AgentFilesInNvim
from tests.support.editor import Editor
from tests.support.lua import lua_chunk

FILES: dict[str, bytes] = {
    "unix": b"one\ntwo\nthree\n",
    "dos": b"one\r\ntwo\r\nthree\r\n",
    "dos without final newline": b"one\r\ntwo\r\nthree",
    "mixed line ends": b"one\r\ntwo\nthree\r\n",
    "carriage returns": b"one\rtwo\rthree",
    "trailing carriage return": b"one\r\ntwo\r\nthree\r",
    "double carriage return": b"one\r\r\ntwo\r\nthree\r\n",
    "bom": b"\xef\xbb\xbfone\ntwo\nthree\n",
    "bom and dos": b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n",
    "bom alone": b"\xef\xbb\xbf",
    "latin1": b"one\ncaf\xe9\nthree\n",
    "latin1 control bytes": b"one\n\x80\x9f\xa0\nthree\n",
    "utf-16 little": b"\xff\xfe" + "one\ntwö\nthree\n".encode("utf-16-le"),
    "utf-16 big": b"\xfe\xff" + "one\ntwö 😀\nthree\n".encode("utf-16-be"),
    "utf-16 dos": b"\xff\xfe" + "one\r\ntwö\r\nthree".encode("utf-16-le"),
    "utf-32": b"\xff\xfe\0\0" + "one\ntwö 😀\nthree\n".encode("utf-32-le"),
    "no final newline": b"one\ntwo\nthree",
    "empty": b"",
    "one newline": b"\n",
    "two newlines": b"\n\n",
    "odd line ends": "one\u2028x\u2029y\x85z\x0b\x0c\ntwo\x1c\x1d\x1e\nthree\n".encode(),
    "trailing blanks": b"one  \t\n  \n\t\nthree \n\n\n",
    "long line": b"one\n" + b"x" * 300_000 + b"\nthree\n",
    "wide": "one\n日本語 🧑‍💻 é\nthree\n".encode(),
    "escape": b"one\n\x1b[31mred\x07\x01\x7f\nthree\n",
    "modeline": b"one\nvim: set ts=77 ff=dos noeol :\nthree\n",
    "control z": b"one\r\ntwo\r\nthree\r\n\x1a",
}


@pytest.fixture
def live(editor: Editor) -> AgentFilesInNvim:
    return AgentFilesInNvim(editor)


def is_open(live: AgentFilesInNvim, name: str = "f") -> None:
    live.editor.open(name)


def is_closed(live: AgentFilesInNvim, name: str = "f") -> None:
    del live, name


states = pytest.mark.parametrize("state", [is_open, is_closed])
State = Callable[..., None]


@states
def test_writing_the_text_that_was_read_changes_no_byte(
    live: AgentFilesInNvim, state: State
) -> None:
    for name, data in FILES.items():
        path = live.editor.write(name, data)
        state(live, name)
        before = path.stat().st_mtime_ns
        buffers = live.editor.lua("return #vim.api.nvim_list_bufs()")
        live.write(name, live.read(name))
        assert live.bytes(name) == data, name
        assert path.stat().st_mtime_ns == before, name
        assert not live.writes, name
        assert live.editor.lua("return #vim.api.nvim_list_bufs()") == buffers, name
        assert live.editor.lua("return vim.bo.modified") is False, name


def test_a_file_reads_the_same_open_and_closed(live: AgentFilesInNvim) -> None:
    for name, data in FILES.items():
        live.editor.write(name, data)
        closed = live.read(name)
        live.editor.open(name)
        assert live.read(name) == closed, name
        assert not closed.startswith("\ufeff"), name


def encoding(data: bytes) -> str:
    """Return the encoding of ASCII letters in one of the files."""
    for mark, name in ((b"\xff\xfe\0\0", "utf-32-le"), (b"\xff\xfe", "utf-16-le")):
        if data.startswith(mark):
            return name
    return "utf-16-be" if data.startswith(b"\xfe\xff") else "ascii"


@states
def test_a_changed_line_changes_only_its_bytes(live: AgentFilesInNvim, state: State) -> None:
    for name, data in FILES.items():
        live.editor.write(name, data)
        state(live, name)
        text = live.read(name)
        live.write(name, text.replace("one", "ONE"))
        old, new = ("one".encode(encoding(data)), "ONE".encode(encoding(data)))
        assert live.bytes(name) == data.replace(old, new), name
        assert live.read(name) == text.replace("one", "ONE"), name


def test_any_text_over_any_file_reads_back(live: AgentFilesInNvim) -> None:
    contents = ("", "\n", "a", "a\n", "a\nb", "\n\n", "one\ntwo\n", "three", "ö\n\n")
    for (kind, data), (n, content) in product(FILES.items(), enumerate(contents)):
        name = f"{kind} {n}"
        live.editor.write(name, data)
        live.read(name)
        live.write(name, content)
        assert live.read(name) == content, name
        expected = decode(live.bytes(name))
        live.editor.cmd("%bwipeout!")
        if data != b"\xef\xbb\xbf":
            assert str(expected.text) == content, name
            assert live.read(name) == content, name


@states
def test_a_final_newline_is_added_and_removed_as_asked(
    live: AgentFilesInNvim, state: State
) -> None:
    live.editor.write("f", b"one\ntwo\n")
    state(live)
    for content in ("one\ntwo", "one\ntwo\n", "one\nTWO", "", "\n", "", "x"):
        live.write("f", content)
        assert live.bytes("f") == content.encode()
        assert live.read("f") == content


def test_a_character_that_the_end_of_a_latin1_file_cuts_off_is_kept(live: AgentFilesInNvim) -> None:
    live.editor.write("f", b"one\ncaf\xe9")
    assert live.read("f") == "one\ncafé"
    live.write("f", "ONE\ncafé")
    assert live.bytes("f") == b"ONE\ncaf\xe9"


def test_carriage_returns_of_an_agent_are_line_ends_in_a_dos_file(live: AgentFilesInNvim) -> None:
    live.editor.write("f", b"one\r\ntwo\r\n")
    live.editor.open("f")
    live.write("f", "one\r\nTWO\r\nthree\n")
    assert live.bytes("f") == b"one\r\nTWO\r\nthree\r\n"
    assert live.editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")[1] == "TWO"


@states
def test_a_control_z_at_the_end_returns_with_the_last_line_end(
    live: AgentFilesInNvim, state: State
) -> None:
    data = FILES["control z"]
    live.editor.write("f", data)
    state(live)
    text = live.read("f")
    live.write("f", text + "four")
    assert live.bytes("f") == data[:-1] + b"four"
    live.write("f", text)
    assert live.bytes("f") == data
    live.editor.cmd("autocmd BufWritePre f throw 'no'")
    live.refused(live.write, "f", text + "four")
    live.editor.cmd("autocmd! BufWritePre f")
    live.write("f", text + "four\n")
    assert live.bytes("f") == data[:-1] + b"four\r\n\x1a"


@pytest.mark.parametrize("how", ["edit f", "edit ++bin f"])
def test_a_nul_in_an_open_file_is_text(live: AgentFilesInNvim, how: str) -> None:
    """The agent has not read the file since the user changed it."""
    live.editor.write("f", b"one\0\ntwo\nthree\n")
    live.editor.cmd(how)
    live.editor.lua("vim.fn.setline(3, 'mine')")
    live.options.save = "always"
    live.write("f", "one\0\nTWO\nthree\n")
    assert live.bytes("f") == b"one\0\nTWO\nmine\n"


def test_a_write_to_a_file_that_is_open_as_binary_succeeds(live: AgentFilesInNvim) -> None:
    data = FILES["utf-16 little"]
    live.editor.write("f", data)
    live.editor.cmd("edit ++bin f")
    text = live.read("f")
    assert "\0" in text
    live.write("f", text + "four")
    assert live.bytes("f") == data + b"four"
    assert live.read("f") == text + "four"


def test_a_character_that_the_encoding_lacks_is_refused(live: AgentFilesInNvim) -> None:
    live.editor.write("f", b"caf\xe9\none\n")
    error = live.refused(live.write, "f", "café\n10 €\n")
    assert error.data["reason"] == "failed"
    assert "line 2" in error.message
    assert "latin1" in error.message
    assert live.bytes("f") == b"caf\xe9\none\n"
    assert live.read("f") == "café\none\n"


def test_bytes_that_are_not_text_survive_beside_an_edit(live: AgentFilesInNvim) -> None:
    live.editor.write("f", b"one\n\xff\xfe bad \xc3\nthree\nx\xffy three\n")
    live.editor.cmd("edit ++enc=utf-8 ++bad=keep f")
    text = live.read("f")
    assert text == "one\n\ufffd\ufffd bad \ufffd\nthree\nx\ufffdy three\n"
    live.write("f", text.replace("three", "THREE"))
    found = live.editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")
    assert found[1].encode("utf-8", "surrogateescape") == b"\xff\xfe bad \xc3"
    assert live.bytes("f") == b"one\n\xff\xfe bad \xc3\nTHREE\nx\xffy THREE\n"


@pytest.mark.parametrize("command", ["edit ++ff=mac f", "set fileformats+=mac | edit f"])
def test_a_file_whose_lines_end_in_carriage_returns_keeps_them(
    live: AgentFilesInNvim, command: str
) -> None:
    live.editor.write("f", b"one\rtwo\rthree\r")
    live.editor.cmd(command)
    assert live.read("f") == "one\ntwo\nthree\n"
    live.write("f", "one\ntwo\nthree\n")
    assert live.bytes("f") == b"one\rtwo\rthree\r"
    live.write("f", "one\nTWO\nthree\nfour")
    assert live.bytes("f") == b"one\rTWO\rthree\rfour"
    assert live.read("f") == "one\nTWO\nthree\nfour"
    live.editor.cmd("set fileformats+=mac | bwipeout!")
    assert live.read("f") == "one\nTWO\nthree\nfour"


@pytest.mark.parametrize("formats", ["unix,dos", "unix,dos,mac", "dos,mac", "mac,unix", "mac"])
def test_a_file_decodes_as_neovim_decodes_it(live: AgentFilesInNvim, formats: str) -> None:
    """For random bytes, lines, encoding, byte order mark, format and final newline are the same."""
    live.editor.cmd(f"set fileformats={formats}")
    chance = random.Random(7)
    parts = [b"a", b"\n", b"\r\n", b"\r", b"\xe9", "é€😀".encode(), b"\xef\xbb\xbf", b"\xff\xfe"]
    parts += [b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\x80", b"\xfe\xff", b"\x1a", b" "]
    parts += [b"\xf4\x90\x80\x80", b"\xef\xbf\xbf", b"\x85"]
    for number in range(400 if formats == "unix,dos" else 100):
        data = b"".join(chance.choices(parts, k=chance.randint(0, 8)))
        path = live.editor.write(f"r{number}", data)
        try:
            found = decode(data, fileformats=formats)
        except BinaryError:
            continue
        theirs = live.editor.lua(lua_chunk(__file__, "buffer_format"), str(path))
        if theirs.pop():
            continue  # ends in the middle of a character: Neovim shows `?` and protects the file
        ours = [list(found.text.lines), found.format.encoding, found.format.bomb]
        ours += [found.format.fileformat, found.text.eol]
        if len(theirs[0]) == 1 and not theirs[4]:
            if formats == "dos,mac":
                continue  # a ^Z that is the whole file
            theirs[3] = ours[3]  # the format of a file without line ends is a default
        shown = clean(Text(tuple(theirs[0])))
        assert ours == [list(shown.lines), *theirs[1:]], data
