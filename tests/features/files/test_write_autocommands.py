"""Autocommands of the user at each step of an agent's write.

A success means that buffer and file have the result. A refusal changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from shutil import rmtree

import pytest

from acp_nvim.protocol.errors import RequestError
from tests.support.agent_files_nvim import AgentFilesInNvim
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, edits_by_name, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

TEXT = "one\ntwo\nthree\n"
CHANGED = "one\nTWO\nthree\n"

ACTS = {
    "fails": "throw 'no'",
    "changes": "call append(0, 'added')",
    "undoes": "silent undo",
    "undoes all": "silent undo 0",
    "reads again": "silent edit!",
    "wipes": "bwipeout!",
    "unloads": "bunload!",
    "goes elsewhere": "silent edit! other",
    "renames": "silent file renamed",
    "saves": "noautocmd silent write",
    "opens and closes": "silent new other | close",
    "removes": "call delete(expand('<afile>:p'))",
}
EVENTS = ["BufWritePre", "BufWritePost"]


def begin(editor: Editor, *, dirty: bool = False) -> AgentFilesInNvim:
    """Return files in which f is open, with an unsaved line of the user if `dirty`."""
    editor.cmd("silent %bwipeout!")
    for path in editor.work.iterdir():
        rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    live = AgentFilesInNvim(editor)
    editor.write("f", TEXT)
    editor.write("other", "other\n")
    editor.open("f")
    editor.errors_expected = True
    if dirty:
        live.options.save = "always"
        editor.keys("Gomine<Esc>")
    return live


@pytest.fixture
def live(editor: Editor) -> AgentFilesInNvim:
    return begin(editor)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acp_nvim.files.writes.agent_write.PATIENCE_S", 0.2)


def buffer_text(live: AgentFilesInNvim) -> str | None:
    """Return the text of the loaded buffer of f."""
    lines = live.editor.lua(
        "local n = vim.fn.bufnr('^' .. ... .. '$')"
        " return vim.api.nvim_buf_is_loaded(n) and n > 0 and"
        " vim.api.nvim_buf_get_lines(n, 0, -1, true) or nil",
        live.path("f"),
    )
    return None if lines is None else "".join(f"{line}\n" for line in lines)


def file_text(live: AgentFilesInNvim) -> str | None:
    path = Path(live.path("f"))
    return path.read_text() if path.exists() else None


def written(live: AgentFilesInNvim) -> bool:
    """Return whether the agent's write succeeds."""
    try:
        live.write("f", CHANGED)
    except RequestError:
        return False
    return True


either = pytest.mark.parametrize("dirty", [False, True], ids=["clean", "dirty"])


@either
@pytest.mark.parametrize("event", EVENTS)
def test_a_write_with_the_users_autocommands_at_each_step(
    editor: Editor, event: str, dirty: bool
) -> None:
    for act, nested in product(ACTS, ("", "++nested")):
        live = begin(editor, dirty=dirty)
        editor.cmd(f"autocmd {event} f {nested} {ACTS[act]}")
        success = written(live)
        editor.cmd(f"autocmd! {event}")
        assert_whole(live, success, act, dirty)
        may_fail = {"undoes", "undoes all", "removes"}
        if event == "BufWritePost":
            assert success is (act not in may_fail), act
        else:
            impossible = {"undoes", "undoes all", "reads again", "wipes", "unloads"}
            may_fail |= impossible | {"goes elsewhere", "renames", "fails"}
            assert success or act in may_fail, act
            assert not success or act not in impossible, act
        assert not editor.rpc.mode()["blocking"], act


def assert_whole(live: AgentFilesInNvim, success: bool, act: str, dirty: bool) -> None:
    """Assert that buffer and file have the agent's text, or that neither has."""
    before = TEXT + "mine\n" * dirty
    buffer, file = buffer_text(live), file_text(live)
    if success:
        assert file is not None, act
        assert "TWO" in file, act
        assert "mine" in file or not dirty, act
        assert buffer is None or "TWO" in buffer, act
    else:
        kept = {TEXT, before} if act == "saves" or act.startswith("undoes") else {TEXT}
        assert file in kept or act == "removes", act
        assert buffer in (None, before), act
        assert buffer is not None or act in ("wipes", "unloads", "goes elsewhere", "renames"), act


SWAPS = {
    "a pipe": "vim.fn.system({ 'mkfifo', name })",
    "a socket": "local socket = vim.uv.new_pipe(false) socket:bind(name) _G.socket = socket",
    "a folder": "vim.fn.mkdir(name)",
    "a link": "vim.uv.fs_symlink(name .. '.was', name)",
    "another file": "vim.fn.writefile({ 'theirs' }, name)",
}
SWAP = lua_chunk(__file__, "swap_at_event")
"""Makes an agent replace a file while a formatter runs."""


def swap_at(editor: Editor, event: str, path: Path, swap: str) -> None:
    editor.lua(SWAP, str(path), event, SWAPS[swap])


def same(path: Path, swap: str) -> bool:
    """Return whether the path is still the replacement."""
    kinds: dict[str, Callable[[], bool]] = {
        "a pipe": path.is_fifo,
        "a socket": path.is_socket,
        "a folder": path.is_dir,
        "a link": path.is_symlink,
        "another file": lambda: path.read_text() == "theirs\n",
    }
    return kinds[swap]()


@either
@pytest.mark.parametrize("event", EVENTS)
def test_the_path_is_checked_last(editor: Editor, event: str, dirty: bool) -> None:
    before = TEXT + "mine\n" * dirty
    for swap in SWAPS:
        live = begin(editor, dirty=dirty)
        path = Path(live.path("f"))
        live.read("f")
        swap_at(editor, event, path, swap)
        success = written(live)
        editor.cmd(f"autocmd! {event}")
        assert same(path, swap) or success, swap
        if event == "BufWritePre":
            assert (path.parent / "f.was").read_text() == TEXT, swap
            assert not success, swap
            assert buffer_text(live) == before or swap == "another file"
            assert editor.lua("return vim.bo.modified") is dirty, swap
        assert not editor.rpc.mode()["blocking"], swap


def test_a_file_that_another_process_creates_in_the_meantime_is_not_new(
    live: AgentFilesInNvim,
) -> None:
    path = Path(live.path("new"))
    live.editor.cmd("autocmd BufWritePre new ++once call writefile(['theirs'], expand('<afile>'))")
    live.write("new", CHANGED)
    assert path.read_text() == CHANGED
    assert str(live.writes[0][1]) == "theirs\n", "a reject brings it back"


@pytest.mark.parametrize("verb", ["reject all", "unreject"])
@pytest.mark.parametrize("swap", [name for name in SWAPS if name != "another file"])
def test_a_decision_writes_into_no_pipe(editor: Editor, verb: str, swap: str) -> None:
    path = editor.write("a.txt", LINES)
    editor.agent("script")
    editor.open(path)
    agent = StepwiseAgent.at_work(editor)
    agent.ask("replace", str(path), "line 12\n", "twelve\n")
    agent.end()
    wait_edits(editor, a="modified")
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    if verb == "unreject":
        editor.cmd("Acp reject all")
        wait_edits(editor)
    lines = editor.lines(str(path))
    swap_at(editor, "BufWritePre", path, swap)
    editor.cmd(f"Acp {verb}")
    editor.wait_message("a.txt was left unchanged: ")
    assert same(path, swap)
    assert editor.lines(str(path)) == lines
    assert not editor.rpc.mode()["blocking"]


AGAIN = lua_chunk(__file__, "read_turns_before_write")
"""Makes the host report turns while an autocommand of a write waits for a program."""


@pytest.mark.parametrize("told", ["nothing", "the turn", "its end", "its end and the next"])
@pytest.mark.parametrize("swap", ["a pipe", "a socket", "a folder"])
def test_the_user_s_own_write_waits_for_no_pipe(editor: Editor, swap: str, told: str) -> None:
    path = editor.write("a.txt", LINES)
    editor.agent("script")
    editor.open(path)
    swap_at(editor, "BufWritePre", path, swap)
    here = [f"{editor.work}/"]
    roots = {"nothing": [], "the turn": [here], "its end": [[]]}
    editor.lua(AGAIN, roots.get(told, [[], here]))
    agent = StepwiseAgent.at_work(editor)
    agent.ask("read", str(path))
    editor.keys("ggOmine<Esc>:write<CR>")
    until(lambda: same(path, swap))
    assert not editor.rpc.mode()["blocking"]
    assert editor.lua("return vim.bo.modified")
    assert editor.lines(str(path))[0] == "mine"
    editor.wait_message("a.txt is a ")
    assert not editor.rpc.mode()["blocking"]
    editor.errors_expected = True
    agent.end()


@pytest.mark.parametrize("act", ["wipes", "unloads", "renames"])
@pytest.mark.parametrize("verb", ["reject", "accept"])
def test_a_buffer_that_is_put_away_when_it_is_saved(editor: Editor, verb: str, act: str) -> None:
    """The user's text that was just saved stays, and the agent's hunk is pending."""
    path = editor.write("a.txt", LINES)
    editor.agent("script")
    editor.setup({"files": {"save": "always"}})
    editor.open(path)
    agent = StepwiseAgent.at_work(editor)
    agent.ask("read", str(path))
    editor.keys("2G0Cmine<Esc>")
    editor.wait("vim.bo.modified")
    editor.cmd(f"autocmd BufWritePost a.txt ++once {ACTS[act]}")
    agent.ask("replace", str(path), "line 12\n", "twelve\n")
    mine = LINES.replace("line 2\n", "mine\n")
    assert path.read_text() == mine.replace("line 12", "twelve")
    agent.end()
    wait_edits(editor, a="modified")
    assert edits_by_name(editor)["a.txt"]["hunks"] == 1
    editor.cmd(f"autocmd BufWritePost a.txt ++once {ACTS[act]}")
    editor.cmd(f"Acp {verb} all")
    wait_edits(editor)
    wanted = mine if verb == "reject" else mine.replace("line 12", "twelve")
    until(lambda: path.read_text() == wanted)
    if verb == "reject":
        editor.cmd("Acp unreject")
        wait_edits(editor, a="modified")
        until(lambda: path.read_text() == mine.replace("line 12", "twelve"))
