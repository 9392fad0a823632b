"""Reads and writes in a real Neovim with a screen: text, marks, undo, merge."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent_files_nvim import AgentFilesInNvim
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until


@pytest.fixture
def live(editor: Editor) -> Iterator[AgentFilesInNvim]:
    live = AgentFilesInNvim(editor)
    yield live
    assert editor.rpc.mode()["blocking"] is False
    for prompt in ("W10", "W11", "W12", "W13", "E325", "Press ENTER", "E37"):
        assert not any(prompt in row for row in editor.screen()), editor.screen()


def lines(live: AgentFilesInNvim, name: str | Path = "a.txt") -> list[str]:
    found: list[str] = live.editor.lua(
        "return vim.api.nvim_buf_get_lines(vim.fn.bufadd(...), 0, -1, true)", live.path(name)
    )
    return found


WAIT_BEFORE_READ = lua_chunk(__file__, "wait_before_read")
NUMBERED = "".join(f"line {n}\n" for n in range(1, 101))


@pytest.fixture
def opened(live: AgentFilesInNvim) -> AgentFilesInNvim:
    """Show a.txt, of 100 lines, in the window."""
    live.editor.write("a.txt", NUMBERED)
    live.editor.open("a.txt")
    return live


# ---- reading


def test_unsaved_text_is_read_from_the_buffer(opened: AgentFilesInNvim) -> None:
    opened.editor.keys("ggIunsaved <Esc>")
    assert opened.read("a.txt") == NUMBERED.replace("line 1\n", "unsaved line 1\n", 1)
    assert opened.read("a.txt", 1, 1) == "unsaved line 1\n"


@pytest.mark.parametrize(
    "spelling", ["a.txt", "sub/../a.txt", "./a.txt", "file-link", "dir-link/a.txt", "hard-link"]
)
def test_the_buffer_is_found_however_the_path_is_spelled(
    opened: AgentFilesInNvim, spelling: str
) -> None:
    work = opened.editor.work
    (work / "sub").mkdir()
    (work / "file-link").symlink_to(work / "a.txt")
    (work / "dir-link").symlink_to(work)
    os.link(work / "a.txt", work / "hard-link")
    opened.editor.keys("ggIunsaved <Esc>")
    assert opened.read(spelling, 1, 1) == "unsaved line 1\n"
    opened.write(spelling, opened.read(spelling).replace("line 50\n", "line fifty\n"))
    assert lines(opened)[49] == "line fifty"
    assert lines(opened)[0] == "unsaved line 1"


def test_a_buffer_is_found_by_a_link_after_its_file_was_replaced(opened: AgentFilesInNvim) -> None:
    work = opened.editor.work
    (work / "link").symlink_to(work / "a.txt")
    opened.editor.keys("ggIunsaved <Esc>")
    (work / "new").write_text("replaced\n")
    (work / "new").rename(work / "a.txt")
    assert opened.read("link", 1, 1) == "unsaved line 1\n"


def test_a_buffer_that_neovim_is_reading_has_the_text_of_its_file(
    opened: AgentFilesInNvim,
) -> None:
    """The buffer is empty while an autocommand waits before `:edit` reads the file.

    A write waits, even if no buffer has the file when it begins.
    """
    editor, calls = opened.editor, list[str]()
    opened.read("a.txt")
    reading, resume = editor.home / "reading", editor.home / "resume"
    editor.lua(WAIT_BEFORE_READ, str(reading), str(resume))
    number = editor.rpc.send("nvim_command", "edit!")
    until(reading.exists)
    assert opened.read("a.txt") == NUMBERED

    def resume_at_second_read(function: str) -> None:
        calls.append(function)
        if calls.count("read") == 2:
            resume.touch()

    opened.bridge.before = resume_at_second_read
    changed = NUMBERED.replace("line 50\n", "line fifty\n")
    opened.write("a.txt", changed)
    editor.rpc.answer(number)
    assert resume.exists()
    assert opened.bytes("a.txt") == changed.encode()
    assert [*lines(opened), ""] == opened.bytes("a.txt").decode().split("\n")

    numbers = list[int]()
    for path in (reading, resume):
        path.unlink()
    (editor.work / "b.txt").write_text("one\ntwo\n")

    def open_before_load(function: str) -> None:
        if function == "load" and not numbers:
            editor.lua(WAIT_BEFORE_READ, str(reading), str(resume))
            numbers.append(editor.rpc.send("nvim_command", "edit b.txt"))
            until(reading.exists)
        elif function == "read" and numbers:
            resume.touch()

    opened.bridge.before = open_before_load
    opened.read("b.txt")
    opened.write("b.txt", "one\n2\n")
    editor.rpc.answer(numbers[0])
    assert (lines(opened, "b.txt"), opened.bytes("b.txt")) == (["one", "2"], b"one\n2\n")


def test_a_circle_of_links_is_reported_as_one(opened: AgentFilesInNvim) -> None:
    work = opened.editor.work
    (work / "one").symlink_to(work / "two")
    (work / "two").symlink_to(work / "one")
    for name in ("one", "one/below.txt"):
        for refused in (opened.refused(opened.read, name), opened.refused(opened.write, name, "x")):
            assert refused.message.endswith("its symbolic links lead in a circle")


@pytest.mark.parametrize("name", ["[1].txt", "{1,2}.txt", "a*.txt", "a b%#.txt", "$HOME.txt"])
def test_a_name_is_not_used_as_a_pattern(live: AgentFilesInNvim, name: str) -> None:
    for other in ["1.txt", "1", "2.txt", "abc.txt", name]:
        live.editor.write(other, f"{other}\n")
        live.editor.lua("vim.fn.bufload(vim.fn.bufadd(...))", live.path(other))
    assert live.read(name) == f"{name}\n"
    live.write(name, "written\n")
    assert live.bytes(name) == b"written\n"
    live.editor.write("a.txt.bak", "bak\n")
    live.editor.open("a.txt.bak")
    assert live.reason(live.read, "a.txt") == (-32002, "missing")


def test_a_clean_buffer_whose_file_changed_is_reloaded(opened: AgentFilesInNvim) -> None:
    for autoread in ("autoread", "noautoread"):
        opened.editor.cmd(f"set {autoread}")
        opened.editor.write("a.txt", f"{autoread}\n")
        assert opened.read("a.txt") == f"{autoread}\n"
        assert lines(opened) == [autoread]


@pytest.mark.parametrize("ignored", ["all", "User", "FileChangedShell", "BufRead"])
@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
def test_ignored_events_do_not_hold_up_a_read(
    opened: AgentFilesInNvim, ignored: str, autoread: str
) -> None:
    opened.editor.cmd(f"set {autoread} eventignore={ignored}")
    opened.editor.write("a.txt", "from elsewhere\n")
    assert opened.read("a.txt") == "from elsewhere\n"
    assert lines(opened) == ["from elsewhere"]
    opened.write("a.txt", "from elsewhere\nfrom the agent\n")
    assert opened.bytes("a.txt") == b"from elsewhere\nfrom the agent\n"
    assert opened.editor.lua("return vim.o.eventignore") == ignored
    assert opened.editor.rpc.mode()["blocking"] is False


def test_a_dirty_buffer_is_never_reloaded(opened: AgentFilesInNvim) -> None:
    opened.editor.keys("ggIunsaved <Esc>")
    opened.editor.write("a.txt", "from elsewhere\n")
    assert opened.read("a.txt", 1, 1) == "unsaved line 1\n"
    assert opened.editor.lua("return vim.bo.modified") is True


def test_reading_a_closed_file_loads_nothing(live: AgentFilesInNvim) -> None:
    live.editor.write("a.txt", "x\n")
    before = live.editor.lua("return #vim.api.nvim_list_bufs()")
    assert live.read("a.txt") == "x\n"
    assert live.editor.lua("return #vim.api.nvim_list_bufs()") == before


def test_a_buffer_older_than_its_file_is_read_without_a_prompt(live: AgentFilesInNvim) -> None:
    live.editor.open("new.txt")
    assert live.read("new.txt") == ""
    live.editor.write("new.txt", "made by somebody\n")
    assert live.read("new.txt") == "made by somebody\n"
    live.write("new.txt", "made by the agent\n")
    assert live.bytes("new.txt") == b"made by the agent\n"


def test_an_open_buffer_costs_one_small_request(opened: AgentFilesInNvim) -> None:
    opened.read("a.txt")
    opened.bridge.calls.clear()
    opened.read("a.txt", 10, 5)
    assert [name for name, _ in opened.bridge.calls] == ["read"]
    opened.editor.cmd("set noeol nofixeol")
    assert not opened.read("a.txt").endswith("\n")


# ---- writing


def test_a_write_changes_only_what_differs(opened: AgentFilesInNvim) -> None:
    lua = opened.editor.lua
    lua(lua_chunk(__file__, "set_marks_and_folds"))
    opened.read("a.txt")
    text = NUMBERED.replace("line 10\n", "line 10\nadded\nadded\n").replace(
        "line 50\n", "line 50 changed\n"
    )
    opened.write("a.txt", text)
    marks = lua(lua_chunk(__file__, "marks_and_folds"))
    assert marks == [[[4, 5], [51, 5], [81, 5]], [62, 0], 92, 97, [72, 3], 72]
    assert opened.bytes("a.txt") == text.encode()
    assert opened.editor.lua("return vim.bo.modified") is False
    assert "".join(line + "\n" for line in lines(opened)) == text


def test_other_windows_keep_their_view(opened: AgentFilesInNvim) -> None:
    lua = opened.editor.lua
    lua("""
      vim.cmd('split | normal! 40Gzt')
      vim.cmd('wincmd w | normal! 80Gzt')
      vim.cmd('tabnew | edit other.txt | normal! Ihello')
    """)
    look = lua_chunk(__file__, "window_views")
    before = lua(look), lua("return vim.api.nvim_get_current_win()")
    opened.write("a.txt", "first\n" * 7 + NUMBERED.replace("line 60\n", ""))
    assert (lua(look), lua("return vim.api.nvim_get_current_win()")) == before
    assert opened.editor.lua("return vim.fn.tabpagenr('$')") == 2


def test_a_write_is_one_undo_step(opened: AgentFilesInNvim) -> None:
    opened.read("a.txt")
    opened.write("a.txt", NUMBERED.replace("line 2\n", "two\n").replace("line 80\n", "eighty\n"))
    opened.editor.keys("u")
    assert lines(opened) == NUMBERED.split("\n")[:-1]


def test_a_write_while_the_user_types_is_an_undo_step_of_its_own(opened: AgentFilesInNvim) -> None:
    opened.read("a.txt")
    opened.editor.keys("Gofirst")
    opened.write("a.txt", NUMBERED.replace("line 2\n", "two\n"))
    opened.editor.keys(" second<Esc>")
    assert lines(opened)[-1] == "first second"
    opened.editor.keys("u")
    assert (lines(opened)[-1], lines(opened)[1]) == ("first", "two")
    opened.editor.keys("u")
    assert (lines(opened)[-1], lines(opened)[1]) == ("first", "line 2")
    opened.editor.keys("u")
    assert lines(opened)[-1] == "line 100"


def test_unsaved_edits_survive_and_are_not_saved(opened: AgentFilesInNvim) -> None:
    opened.read("a.txt")
    opened.editor.keys("ggIunsaved <Esc>")
    opened.write("a.txt", NUMBERED.replace("line 50\n", "fifty\n"))
    assert (lines(opened)[0], lines(opened)[49]) == ("unsaved line 1", "fifty")
    assert opened.bytes("a.txt") == NUMBERED.encode()
    opened.write("a.txt", NUMBERED.replace("line 50\n", "fifty\n").replace("line 60\n", "60\n"))
    assert (lines(opened)[0], lines(opened)[59]) == ("unsaved line 1", "60")
    assert [kind for *_, kind in opened.writes] == ["modified", "modified"]


def test_without_a_read_the_saved_file_is_the_base(opened: AgentFilesInNvim) -> None:
    opened.editor.keys("ggIunsaved <Esc>")
    opened.write("a.txt", NUMBERED.replace("line 50\n", "fifty\n"))
    assert (lines(opened)[0], lines(opened)[49]) == ("unsaved line 1", "fifty")


def test_changes_to_the_same_lines_are_refused_and_named(opened: AgentFilesInNvim) -> None:
    opened.read("a.txt")
    opened.editor.keys("50GSmine<Esc>")
    tick = opened.editor.lua("return vim.b.changedtick")
    error = opened.refused(
        opened.write, "a.txt", NUMBERED.replace("line 50\n", "fifty\n").replace("line 2\n", "2\n")
    )
    assert (error.code, error.data["reason"]) == (-32603, "conflict")
    assert "line 50" in error.message
    assert opened.editor.lua("return vim.b.changedtick") == tick
    assert opened.bytes("a.txt") == NUMBERED.encode()
    assert not opened.writes


def test_writing_the_text_that_was_read_does_nothing(opened: AgentFilesInNvim) -> None:
    text = opened.read("a.txt")
    path = opened.editor.work / "a.txt"
    before = opened.editor.lua("return vim.b.changedtick"), path.stat().st_mtime_ns
    opened.write("a.txt", text)
    assert (opened.editor.lua("return vim.b.changedtick"), path.stat().st_mtime_ns) == before
    assert not opened.writes


def test_a_write_is_repeated_if_the_buffer_changed_meanwhile(opened: AgentFilesInNvim) -> None:
    opened.read("a.txt")
    left = ["80GSeighty<Esc>", "90GSninety<Esc>"]

    def type_meanwhile(function: str) -> None:
        if function == "write" and left:
            opened.editor.keys(left.pop())

    opened.bridge.before = type_meanwhile
    opened.write("a.txt", NUMBERED.replace("line 50\n", "fifty\n"))
    found = lines(opened)
    assert (found[49], found[79], found[89]) == ("fifty", "eighty", "ninety")
    assert not left


def test_a_write_whose_buffer_is_renamed_or_wiped_meanwhile_goes_to_its_file(
    opened: AgentFilesInNvim,
) -> None:
    text = NUMBERED
    for line, command in (("line 50", ":file b.txt<CR>"), ("line 60", ":bwipeout!<CR>")):
        opened.editor.open("a.txt")
        opened.read("a.txt")
        opened.editor.keys("90GSninety<Esc>")
        left = [command]

        def run_meanwhile(function: str, left: list[str] = left) -> None:
            if function == "write" and left:
                opened.editor.keys(left.pop())

        opened.bridge.before = run_meanwhile
        text = text.replace(f"{line}\n", "agent\n")
        opened.write("a.txt", text)
        assert opened.bytes("a.txt").decode() == text
        assert not left


@pytest.mark.parametrize("command", ["saveas", "file", "noautocmd saveas", "noautocmd file"])
def test_a_buffer_with_a_new_name_is_written_as_that_file(
    opened: AgentFilesInNvim, command: str
) -> None:
    opened.read("a.txt")
    opened.editor.cmd(f"silent {command} b.txt")
    opened.editor.keys("90GSninety<Esc>")
    text = opened.read("b.txt").replace("line 50\n", "fifty\n")
    opened.write("b.txt", text)
    assert (lines(opened, "b.txt")[49], lines(opened, "b.txt")[89]) == ("fifty", "ninety")
    opened.editor.keys("80GSeighty<Esc>")
    assert opened.read("b.txt") == text.replace("line 80\n", "eighty\n")
    opened.write("a.txt", opened.read("a.txt").replace("line 1\n", "one\n"))
    assert opened.bytes("a.txt").decode() == NUMBERED.replace("line 1\n", "one\n")
    assert opened.read("b.txt") == text.replace("line 80\n", "eighty\n")


def test_a_file_without_a_buffer_is_loaded_hidden_and_listed(live: AgentFilesInNvim) -> None:
    live.editor.write("a.txt", "a\nb\n")
    live.write("a.txt", "a\nB\n")
    assert live.bytes("a.txt") == b"a\nB\n"
    info = live.editor.lua("return vim.fn.getbufinfo(...)[1]", live.path("a.txt"))
    assert (info["loaded"], info["listed"], info["hidden"], info["windows"]) == (1, 1, 1, [])
    assert live.writes[0][3] == "modified"


def test_a_new_file_is_created_with_its_parents(live: AgentFilesInNvim) -> None:
    live.write("deep/er/new.txt", "hello\n")
    assert live.bytes("deep/er/new.txt") == b"hello\n"
    path, before, after, kind = live.writes[0]
    assert (path, before, str(after), kind) == (
        live.path("deep/er/new.txt"),
        None,
        "hello\n",
        "created",
    )
    live.write("empty.txt", "")
    assert live.bytes("empty.txt") == b""
    assert live.read("empty.txt") == ""
