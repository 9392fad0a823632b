"""Saving after an agent's write in a real Neovim: policy, autocommands, obstacles."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acp_nvim.protocol.errors import RequestError
from tests.support.agent_files_nvim import AgentFilesInNvim
from tests.support.editor import Editor, skip_if_substitution_blocks

CHANGED = "one\nTWO\nthree\n"
TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def live(editor: Editor) -> Iterator[AgentFilesInNvim]:
    """Return an editor in which f is open and clean."""
    live = AgentFilesInNvim(editor)
    editor.write("f", TEXT)
    editor.open("f")
    yield live
    assert editor.rpc.mode()["blocking"] is False
    for prompt in ("W10", "W11", "W12", "W13", "E325", "Press ENTER", "E37", "[Y]es", "(y/n)"):
        assert not any(prompt in row for row in editor.screen()), editor.screen()


def text(live: AgentFilesInNvim) -> str:
    found: str = live.editor.lua(
        "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufadd(...), 0, -1, true), '\\n')",
        live.path("f"),
    )
    return found + "\n"


def modified(live: AgentFilesInNvim) -> bool:
    return bool(live.editor.lua("return vim.bo[vim.fn.bufadd(...)].modified", live.path("f")))


def refused(live: AgentFilesInNvim, reason: str, code: int = -32603) -> None:
    """Check that a write is refused for this reason and has changed nothing."""
    before = text(live), live.bytes("f"), modified(live)
    assert live.reason(live.write, "f", CHANGED) == (code, reason)
    assert (text(live), live.bytes("f"), modified(live)) == before
    assert not live.writes
    assert live.editor.lua("return vim.fn.undotree(vim.fn.bufnr('f')).seq_cur") in {0, 1}


@pytest.mark.parametrize(
    ("policy", "dirty", "saved"),
    [
        ("auto", False, True),
        ("auto", True, False),
        ("always", False, True),
        ("always", True, True),
        ("never", False, False),
        ("never", True, False),
    ],
)
def test_a_write_is_saved_by_policy(
    live: AgentFilesInNvim, policy: str, dirty: bool, saved: bool
) -> None:
    live.options.save = policy  # type: ignore[assignment]
    if dirty:
        live.editor.keys("Gomine<Esc>")
    live.write("f", CHANGED)
    assert text(live) == CHANGED + ("mine\n" if dirty else "")
    assert live.bytes("f").decode() == (text(live) if saved else TEXT)
    assert modified(live) is not saved


def test_text_that_a_formatter_changed_is_read_and_written_against(live: AgentFilesInNvim) -> None:
    live.editor.cmd("autocmd BufWritePre f %s/two/formatted/e | $s/$/;/")
    live.write("f", "one\ntwo\nTHREE\n")
    assert live.read("f") == "one\nformatted\nTHREE;\n"
    assert live.bytes("f") == b"one\nformatted\nTHREE;\n"
    assert str(live.writes[0][2]) == "one\nformatted\nTHREE;\n"
    live.editor.cmd("autocmd! BufWritePre")
    live.files.bases.forget_session("s1")
    live.write("f", "one\nformatted\nthree;\n")
    live.write("f", "one\nformatted!\nthree;\n")
    assert live.read("f") == "one\nformatted!\nthree;\n"


def test_a_write_without_another_read_fits_a_formatters_text(
    live: AgentFilesInNvim,
) -> None:
    live.editor.cmd("autocmd BufWritePre f silent %s/^\\(\\l*\\)$/\\1;/e")
    live.write("f", "one\ntwo\nthree\nfour\n")
    assert live.read("f") == "one;\ntwo;\nthree;\nfour;\n"
    live.session.id = "another"
    live.read("f")
    live.session.id = "s1"
    live.write("f", "one;\ntwo;\nthree;\nfour;\nfive\n")
    assert live.read("f") == "one;\ntwo;\nthree;\nfour;\nfive;\n"


def test_the_formatters_edits_are_in_the_same_undo_step(live: AgentFilesInNvim) -> None:
    live.editor.cmd("autocmd BufWritePre f $s/$/;/")
    live.write("f", CHANGED)
    assert text(live) == "one\nTWO\nthree;\n"
    live.editor.keys("u")
    assert text(live) == TEXT


def test_autocommands_can_be_turned_off(live: AgentFilesInNvim) -> None:
    live.options.autocmds = False
    live.editor.cmd("autocmd BufWritePre,BufWritePost f let g:ran = 1")
    live.write("f", CHANGED)
    assert live.bytes("f").decode() == CHANGED
    assert live.editor.lua("return vim.g.ran") is None


def test_a_failed_save_undoes_the_edit(live: AgentFilesInNvim) -> None:
    live.editor.cmd("autocmd BufWritePre f $s/$/;/ | throw 'no, not today'")
    error = live.refused(live.write, "f", CHANGED)
    assert (error.code, error.data["reason"]) == (-32603, "failed")
    assert "no, not today" in error.message
    assert (text(live), modified(live), live.bytes("f").decode()) == (TEXT, False, TEXT)
    live.editor.cmd("autocmd! BufWritePre")
    live.write("f", CHANGED)
    assert live.bytes("f").decode() == CHANGED


def test_a_failed_save_undoes_the_edit_without_undo_levels_too(live: AgentFilesInNvim) -> None:
    live.editor.cmd("set undolevels=-1 | setlocal undolevels=-1")
    live.editor.cmd("autocmd BufWritePre f $s/$/;/ | throw 'no'")
    refused(live, "failed")


def test_an_error_after_the_save_is_not_a_failure(live: AgentFilesInNvim) -> None:
    live.editor.cmd("autocmd BufWritePost f throw 'too late'")
    live.write("f", CHANGED)
    assert (text(live), live.bytes("f").decode(), modified(live)) == (CHANGED, CHANGED, False)


@pytest.mark.parametrize("word", ["bwipeout!", "bdelete!", "bunload!"])
def test_a_buffer_that_is_closed_by_its_save_has_been_saved(
    live: AgentFilesInNvim, word: str
) -> None:
    live.editor.cmd(f"autocmd BufWritePost f ++nested {word}")
    live.write("f", CHANGED)
    assert live.bytes("f").decode() == CHANGED
    live.write("f", TEXT)
    assert live.bytes("f").decode() == TEXT


def test_a_new_file_that_cannot_be_saved_leaves_no_buffer(live: AgentFilesInNvim) -> None:
    before = live.editor.lua("return #vim.api.nvim_list_bufs()")
    assert live.reason(live.write, "f/new", "x\n") == (-32603, "failed")
    assert live.editor.lua("return #vim.api.nvim_list_bufs()") == before
    assert live.bytes("f").decode() == TEXT


def test_a_protected_buffer_or_file_is_refused_before_any_change(live: AgentFilesInNvim) -> None:
    live.editor.cmd("setlocal nomodifiable")
    refused(live, "readonly")
    live.editor.cmd("setlocal modifiable readonly")
    refused(live, "readonly")
    live.editor.cmd("setlocal noreadonly")
    Path(live.path("f")).chmod(0o444)
    refused(live, "readonly")
    assert live.editor.cmd("messages") == ""


def test_a_readonly_buffer_is_edited_if_nothing_is_to_be_saved(live: AgentFilesInNvim) -> None:
    live.options.save = "never"
    live.editor.cmd("setlocal readonly")
    live.write("f", CHANGED)
    assert text(live) == CHANGED
    assert live.editor.lua("return vim.bo.readonly") is True


@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
def test_a_file_changed_on_disk_is_merged_not_overwritten(
    live: AgentFilesInNvim, autoread: str
) -> None:
    live.editor.cmd(f"set {autoread} confirm")
    live.read("f")
    live.editor.write("f", "one\ntwo\nthree\nfour\nfive from disk\n")
    live.write("f", CHANGED)
    assert live.bytes("f").decode() == "one\nTWO\nthree\nfour\nfive from disk\n" == text(live)


def test_a_file_changed_between_check_and_write_is_merged(live: AgentFilesInNvim) -> None:
    live.read("f")
    changes = ["one\ntwo\nthree\nfour\nfive\n", "one\ntwo\nthree\nfour\n"]

    def meanwhile(function: str) -> None:
        if function == "write" and changes:
            live.editor.write("f", changes.pop())

    live.bridge.before = meanwhile
    live.write("f", CHANGED)
    assert live.bytes("f").decode() == "one\nTWO\nthree\nfour\nfive\n" == text(live)


@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
def test_unsaved_edits_are_never_saved_over_a_changed_file(
    live: AgentFilesInNvim, autoread: str
) -> None:
    live.options.save = "always"
    live.editor.cmd(f"set {autoread}")
    live.read("f")
    live.editor.keys("Gomine<Esc>")
    live.editor.write("f", "from elsewhere\n")
    for _ in range(2):
        refused(live, "conflict")
    live.options.save = "auto"
    live.write("f", CHANGED)
    assert text(live) == CHANGED + "mine\n"
    assert live.bytes("f") == b"from elsewhere\n"


def test_a_deleted_file_is_written_again(live: AgentFilesInNvim) -> None:
    live.read("f")
    Path(live.path("f")).unlink()
    assert live.reason(live.read, "f") == (-32002, "missing")
    live.write("f", CHANGED)
    assert live.bytes("f").decode() == CHANGED
    assert live.writes[-1][3] == "created"


def test_nothing_is_written_after_the_working_directory_was_renamed(
    live: AgentFilesInNvim,
) -> None:
    """Neovim would write the file in the renamed directory, by its relative name."""
    live.read("f")
    live.editor.cmd("cd .")
    assert live.editor.lua("return vim.fn.bufname()") == "f"
    work = live.editor.work
    renamed = work.rename(work.with_name("renamed"))
    with pytest.raises(RequestError, match="was renamed or removed"):
        live.write("f", CHANGED)
    assert (renamed / "f").read_text() == TEXT
    assert text(live) == TEXT
    renamed.rename(work)
    live.write("f", CHANGED)
    assert live.bytes("f").decode() == CHANGED


def test_a_file_written_twice_within_one_clock_tick_is_read_again(live: AgentFilesInNvim) -> None:
    live.read("f")
    stat = Path(live.path("f")).stat()
    live.editor.write("f", "other\n")
    os.utime(live.path("f"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert live.read("f") == "other\n"


def test_a_buffer_renamed_onto_a_file_does_not_overwrite_it(live: AgentFilesInNvim) -> None:
    live.editor.write("g", "precious\n")
    live.editor.cmd("file g")
    assert live.reason(live.write, "g", "x\n") == (-32603, "conflict")
    assert live.bytes("g") == b"precious\n"


@pytest.mark.parametrize("buftype", ["nofile", "acwrite"])
def test_a_buffer_that_is_not_a_file_is_not_written(live: AgentFilesInNvim, buftype: str) -> None:
    live.editor.write("g", "on disk\n")
    live.editor.cmd(f"enew | file g | set buftype={buftype} | call setline(1, 'in buffer')")
    expected = "on disk\n" if buftype == "nofile" else "in buffer\n"
    assert live.read("g") == expected
    assert live.reason(live.write, "g", "x\n") == (-32603, "failed")
    assert live.bytes("g") == b"on disk\n"
    assert live.editor.lua("return vim.fn.getline(1)") == "in buffer"


def test_a_swap_file_causes_no_prompt(live: AgentFilesInNvim, edit: Callable[..., Editor]) -> None:
    live.editor.write("g", "one\n")
    for editor in (other := edit(work=live.editor.work), live.editor):
        editor.cmd("set updatecount=200 directory=.")
    other.open("g")
    other.keys("ihello <Esc>")
    other.cmd("preserve")
    assert list(live.editor.work.glob(".*.swp"))
    live.write("g", "ONE\n")
    assert live.bytes("g") == b"ONE\n"
    assert live.editor.lua("return vim.fn.bufloaded('g')") == 1
    assert live.editor.rpc.mode()["blocking"] is False
    other.cmd("set updatecount=0")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_file_that_cannot_be_loaded_is_written_directly(
    live: AgentFilesInNvim, ending: bytes
) -> None:
    live.editor.cmd("autocmd BufReadPre,BufNewFile * throw 'never'")
    path = live.editor.write("g", b"\xef\xbb\xbfone" + ending + b"two")
    path.chmod(0o640)
    live.write("g", "one\nTWO")
    assert live.bytes("g") == b"\xef\xbb\xbfone" + ending + b"TWO"
    assert path.stat().st_mode & 0o777 == 0o640
    live.write("sub/new", "x\n")
    assert live.bytes("sub/new") == b"x\n"
    assert [kind for *_, kind in live.writes] == ["modified", "created"]
    assert sorted(p.name for p in live.editor.work.iterdir()) == ["f", "g", "sub"]


def test_an_unwritable_swap_directory_does_not_prevent_a_write(live: AgentFilesInNvim) -> None:
    live.editor.cmd("set updatecount=200 directory=/nowhere/at/all")
    live.editor.write("g", "one\n")
    live.write("g", "ONE\n")
    assert live.bytes("g") == b"ONE\n"
    assert live.read("g") == "ONE\n"
    live.editor.errors_expected = True


def test_modelines_in_an_agents_text_do_nothing(live: AgentFilesInNvim) -> None:
    live.editor.cmd("set modeline")
    line = "one # vim: set tabstop=77 readonly fileformat=dos :\n"
    live.write("new", line)
    live.write("new", line + "two\n")
    live.editor.write("new", line + "three\n")
    assert live.read("new") == line + "three\n"
    live.editor.write("loaded", line)
    live.write("loaded", line + "two\n")
    for name in ("new", "loaded"):
        options = live.editor.lua(
            "local o = vim.bo[vim.fn.bufadd(...)] return { o.ts, o.ro, o.ff, o.modeline }",
            live.path(name),
        )
        assert options == [8, False, "unix", True]


@pytest.mark.parametrize(
    ("keys", "mode", "back"),
    [
        ("i", "i", "<Esc>"),
        ("v", "v", "<Esc>"),
        (":echo", "c", "<Esc>"),
        ("/two", "c", "<Esc>"),
        ("d", "no", "<Esc>"),
        ("q:", "n", ":q<CR>"),
        (":terminal cat<CR>i", "t", "<C-\\><C-n>:bwipeout!<CR>"),
        (":call getchar()<CR>", "n", "x"),
        (":call input('? ')<CR>", "c", "x<CR>"),
    ],
)
def test_a_write_works_in_any_mode(live: AgentFilesInNvim, keys: str, mode: str, back: str) -> None:
    live.editor.keys(keys)
    windows = live.editor.lua("return { vim.api.nvim_list_wins(), vim.api.nvim_get_current_win() }")
    live.write("f", CHANGED)
    live.write("new", "x\n")
    assert live.editor.rpc.mode()["mode"] == mode
    assert windows == live.editor.lua(
        "return { vim.api.nvim_list_wins(), vim.api.nvim_get_current_win() }"
    )
    assert text(live) == CHANGED == live.bytes("f").decode() == live.read("f")
    live.editor.keys(back)


def test_a_write_waits_for_the_end_of_a_textlock(live: AgentFilesInNvim) -> None:
    live.editor.cmd("nnoremap <expr> Q nr2char(getchar())")
    live.editor.keys("Q")
    requests = []

    def release(function: str) -> None:
        requests.append(function)
        if function == "write" and requests.count("write") == 3:
            live.editor.keys("j")

    live.bridge.before = release
    live.write("f", CHANGED)
    assert requests.count("write") >= 3
    assert text(live) == CHANGED == live.bytes("f").decode()


def test_a_write_during_an_autocommand_that_waits_triggers_its_own(live: AgentFilesInNvim) -> None:
    """An example is a formatter that waits for its language server."""
    live.editor.cmd("autocmd User Wait call wait(30000, {-> exists('g:is_over')}, 5)")
    live.editor.cmd("autocmd BufWritePre f,new.lua $s/$/;/")
    live.editor.rpc.notify("nvim_command", "doautocmd User Wait")
    live.write("f", CHANGED)
    assert live.bytes("f").decode() == f"{CHANGED[:-1]};\n" == text(live)
    live.write("new.lua", "x = 1\n")
    assert live.bytes("new.lua") == b"x = 1;\n"
    assert live.editor.lua("return vim.bo[vim.fn.bufnr('new.lua')].filetype") == "lua"
    live.editor.lua("vim.g.is_over = true")


def test_a_write_waits_for_the_users_save_of_the_file(live: AgentFilesInNvim) -> None:
    wait = "call wait(30000, {-> exists('g:is_over')}, 5)"
    live.editor.cmd(
        f"autocmd BufWritePre f ++once let last = line('$') | {wait} | exe last 's/$/;/'"
    )
    live.read("f")
    live.editor.rpc.notify("nvim_command", "write")
    requests = []

    def release(function: str) -> None:
        requests.append(function)
        if function == "write" and requests.count("write") == 3:
            live.editor.lua("vim.g.is_over = true")

    live.bridge.before = release
    live.write("f", "zero\none\nTWO\nthree\n")
    assert requests.count("write") >= 3
    assert text(live) == "zero\none\nTWO\nthree;\n" == live.bytes("f").decode()


def test_a_write_waits_for_a_substitution_that_asks(live: AgentFilesInNvim) -> None:
    skip_if_substitution_blocks(live.editor)
    live.editor.keys(":3s/three/3/c<CR>")
    requests = []

    def answer(function: str) -> None:
        requests.append(function)
        if function == "write" and requests.count("write") == 3:
            live.editor.keys("y")

    live.bridge.before = answer
    live.write("f", "zero\n" + TEXT)
    assert text(live) == "zero\none\ntwo\n3\n"


def test_a_write_leaves_options_as_they_were(live: AgentFilesInNvim) -> None:
    names = ["shortmess", "confirm", "modeline", "fileencodings", "autoread", "hidden"]
    look = "return vim.tbl_map(function(n) return { vim.go[n], vim.o[n] } end, ...)"
    live.editor.cmd("set confirm nohidden")
    before = live.editor.lua(look, names)
    live.write("f", "one\nTWO")
    live.write("new", "x\n")
    live.editor.write("f", "other\n")
    live.read("f")
    assert live.editor.lua(look, names) == before
    assert live.editor.lua("return #vim.api.nvim_get_autocmds({ event = 'FileChangedShell' })") == 0
