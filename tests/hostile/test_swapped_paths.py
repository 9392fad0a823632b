"""An agent replaces a path by something else after a decision about it.

To add a case: a function in `SWAPS` or in `ACTS`. Each act runs on a file of each swap, all in one
editor, and on one file that is not swapped.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.pending_edits import choose_first
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

BEFORE, AFTER, OUTSIDE = "before\n", "after\n", "nothing of the agent's\n"

Swap = Callable[[Path, Path], None]
"""Replaces a part of the path `d/e/x` below the first directory.

The second directory is outside.
"""


def exchange(one: Path, other: Path) -> None:
    """Swap two names atomically."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, at_once = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    names = os.fsencode(one), os.fsencode(other)
    if renameat2 is None or renameat2(here, names[0], here, names[1], at_once) != 0:
        aside = one.with_name("aside")
        one.rename(aside)
        other.rename(one)
        aside.rename(other)


def _link(folder: Path, outside: Path, part: str) -> None:
    (folder / "away").symlink_to(outside / part)
    exchange(folder / part, folder / "away")


def _file(folder: Path, make: Callable[[Path, Path], None]) -> None:
    for path in (folder / "d/e").glob("*"):
        made = folder / f"was-{path.name}"
        make(made, path)
        exchange(path, made)


SWAPS: dict[str, Swap] = {
    "its directory is a link": lambda folder, outside: _link(folder, outside, "d/e"),
    "the directory above is a link": lambda folder, outside: _link(folder, outside, "d"),
    "it is a link": lambda folder, outside: _file(
        folder, lambda made, path: made.symlink_to(outside / path.relative_to(folder))
    ),
    "it is a pipe": lambda folder, _: _file(folder, lambda made, _: os.mkfifo(made)),
    "it is a directory": lambda folder, _: _file(folder, lambda made, _: made.mkdir()),
}
PLAIN = "nothing is swapped"

SHOWN = lua_chunk(__file__, "lines_of_all_buffers")
"""Returns the lines of all buffers."""


BLOCK = lua_chunk(__file__, "block_until")


class Stage:
    """A folder for each swap, with an existing file and one that the agent makes."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.traffic = editor.agent("script")
        self.folders = {name: f"case{n}" for n, name in enumerate([*SWAPS, PLAIN])}
        for case in self.folders.values():
            editor.write(f"{case}/d/e/{case}.txt", BEFORE)
            for name in (case, f"{case}new"):
                path = editor.home / "outside" / case / "d/e" / f"{name}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(OUTSIDE)
        self._outside = self.outside()

    def paths(self, name: str = "") -> list[Path]:
        """Return the file of each case, by the end of its name."""
        work = self.editor.work
        return [work / f"{case}/d/e/{case}{name}.txt" for case in self.folders.values()]

    def swap(self) -> None:
        """Swap all paths after the end of all turns."""
        self.editor.wait(
            "not require('acp.buffers.watch').at_work(...)", str(self.editor.work / "x")
        )
        self.swap_now()

    def swap_now(self) -> None:
        """Swap all paths while Neovim is blocked.

        Otherwise it would wait for a pipe that appears between its check of a file and its read.
        """
        blocked, resume = self.editor.home / "stands", self.editor.home / "resume"
        number = self.editor.rpc.send("nvim_exec_lua", BLOCK, [str(blocked), str(resume)])
        until(blocked.exists)
        for name, swap in SWAPS.items():
            case = self.folders[name]
            swap(self.editor.work / case, self.editor.home / "outside" / case)
        resume.touch()
        self.editor.rpc.answer(number)

    def outside(self) -> dict[str, tuple[int, int, str]]:
        """Return times, modes and texts of all files outside."""
        found: dict[str, tuple[int, int, str]] = {}
        for path in sorted((self.editor.home / "outside").rglob("*")):
            info = path.lstat()
            text = path.read_text() if stat.S_ISREG(info.st_mode) else ""
            found[str(path)] = info.st_mtime_ns, info.st_mode, text
        return found

    def write(self, name: str = "", text: str = AFTER) -> None:
        """Write the files through the editor."""
        lines = [f"write {path} {json.dumps(text)}" for path in self.paths(name)]
        self.editor.turn("\n".join(lines))

    def write_on_disk(self, name: str = "", pending: int = 0) -> None:
        """Write the files on disk. ``pending``: number of edits that are pending already."""
        lines = [f"edits_disk {path} {json.dumps(AFTER)}" for path in self.paths(name)]
        self.editor.turn("\n".join(lines))
        self.pending(pending + len(self.folders))

    def pending(self, count: int) -> None:
        self.editor.wait("#require('acp').state().sessions[1].edits == ...", count)

    def wait_message(self, text: str) -> None:
        self.editor.wait_message(text)

    def check_unchanged(self, name: str = "") -> None:
        """Wait for one line for each swapped file that says why it was left unchanged."""
        for swap, path in zip(SWAPS, self.paths(name), strict=False):
            self.wait_message(f"{path.name} was left unchanged: ")
            said = self.editor.messages().split("\n")
            line = next(line for line in said if f"{path.name} was left" in line)
            words = {"it is a pipe": "not a regular file", "it is a directory": "a directory"}
            assert words.get(swap, "has become a symbolic link") in line, (swap, line)

    def check_refused(self, method: str, reasons: dict[str, str]) -> None:
        """Check the last answers to the agent, one for each case."""
        answers = self.traffic.answers(method)[-len(self.folders) :]
        assert "result" in answers.pop()
        found = [answer["error"]["data"]["reason"] for answer in answers]
        assert dict(zip(SWAPS, found, strict=True)) == reasons
        assert all("\n" not in answer["error"]["message"] for answer in answers)

    def check(self) -> None:
        """Check that nothing outside was read, changed or deleted, and that the editor answers."""
        assert self.outside() == self._outside
        assert not self.editor.rpc.mode()["blocking"]
        assert OUTSIDE.strip() not in self.editor.lua(SHOWN)
        assert OUTSIDE.strip() not in self.traffic.path.read_text()


# ---- acts of users


def reject_all(stage: Stage) -> None:
    stage.write()
    stage.write("new")
    stage.swap()
    stage.editor.cmd("Acp reject all")
    stage.check_unchanged()
    stage.check_unchanged("new")
    until(lambda: stage.paths()[-1].read_text() == BEFORE)
    until(lambda: not stage.paths("new")[-1].exists())


def reject_without_buffers(stage: Stage) -> None:
    stage.write_on_disk()
    stage.swap()
    stage.editor.cmd("Acp reject all")
    stage.check_unchanged()
    until(lambda: stage.paths()[-1].read_text() == BEFORE)


def reject_new_files_without_buffers(stage: Stage) -> None:
    stage.write_on_disk("new")
    stage.swap()
    stage.editor.cmd("Acp reject all")
    stage.check_unchanged("new")
    until(lambda: not stage.paths("new")[-1].exists())


def _in_each(stage: Stage, command: str) -> None:
    """Run a command in the window of each file, which is opened before the agent's writes."""
    windows: list[int] = []
    for path in stage.paths():
        stage.editor.cmd("tabnew")
        stage.editor.open(path)
        windows.append(stage.editor.lua("return vim.api.nvim_get_current_win()"))
    stage.write()
    stage.swap()
    for window in windows:
        stage.editor.lua("vim.api.nvim_set_current_win(...)", window)
        stage.editor.cmd(command)
    stage.check_unchanged()
    until(lambda: stage.paths()[-1].read_text() == BEFORE)


def reject_file(stage: Stage) -> None:
    _in_each(stage, "Acp reject file")


def reject_hunk(stage: Stage) -> None:
    _in_each(stage, "Acp reject hunk")


def unreject(stage: Stage) -> None:
    stage.write()
    stage.editor.cmd("Acp reject all")
    until(lambda: all(path.read_text() == BEFORE for path in stage.paths()))
    stage.pending(0)
    stage.swap()
    stage.editor.cmd("Acp unreject")
    for path in stage.paths()[:-1]:
        stage.wait_message(f"{path.name}")
    until(lambda: stage.paths()[-1].read_text() == AFTER)


def unreject_new_files(stage: Stage) -> None:
    stage.write("new")
    stage.editor.cmd("Acp reject all")
    until(lambda: not any(path.exists() for path in stage.paths("new")))
    stage.pending(0)
    for path in stage.paths("new"):
        path.touch()
    stage.swap()
    stage.paths("new")[-1].unlink()
    stage.editor.cmd("Acp unreject")
    new = stage.paths("new")[-1]
    until(lambda: new.exists() and new.read_text() == AFTER)


def accept_conflicts(stage: Stage) -> None:
    for path in stage.paths():
        stage.editor.open(path)
        stage.editor.keys("ccmine<Esc>")
    stage.editor.lua("vim.o.hidden = true")
    stage.write_on_disk()
    stage.swap()
    stage.editor.cmd("Acp accept all")
    stage.check_unchanged()
    stage.editor.wait("vim.fn.getbufline(..., 1)[1] == 'after'", str(stage.paths()[-1]))


def restore(stage: Stage) -> None:
    stage.write()
    stage.pending(len(stage.folders))
    stage.write_on_disk("new", pending=len(stage.folders))
    stage.swap()
    stage.editor.cmd("Acp restore! 1")
    stage.wait_message("Files restored to before prompt 1")
    until(lambda: stage.paths()[-1].read_text() == BEFORE)


def undo_a_restore(stage: Stage) -> None:
    stage.write()
    stage.editor.cmd("Acp restore 1")
    stage.wait_message("Files restored to before prompt 1")
    stage.swap()
    stage.editor.cmd("Acp restore!")
    stage.wait_message("The restore was undone")
    until(lambda: stage.paths()[-1].read_text() == AFTER)


# ---- requests of agents

INSIDE = {
    "its directory is a link": "outside",
    "the directory above is a link": "outside",
    "it is a link": "outside",
    "it is a pipe": "failed",
    "it is a directory": "directory",
}


def read(stage: Stage) -> None:
    stage.editor.setup({"files": {"outside": "deny"}})
    stage.write()
    stage.swap()
    stage.editor.turn("\n".join(f"read {path}" for path in stage.paths()))
    stage.check_refused("fs/read_text_file", INSIDE)


def write(stage: Stage) -> None:
    stage.editor.setup({"files": {"outside": "deny"}})
    stage.write()
    stage.swap()
    stage.write(text="again\n")
    stage.check_refused("fs/write_text_file", INSIDE)


ACTS: list[Callable[[Stage], None]] = [
    reject_all,
    reject_without_buffers,
    reject_new_files_without_buffers,
    reject_file,
    reject_hunk,
    unreject,
    unreject_new_files,
    accept_conflicts,
    restore,
    undo_a_restore,
    read,
    write,
]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_nothing_outside_is_touched(
    edit: Callable[..., Editor], act: Callable[[Stage], None]
) -> None:
    # netrw takes the buffer of a directory
    stage = Stage(edit(init="vim.g.loaded_netrwPlugin = 1"))
    act(stage)
    stage.check()


ASKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a read outside": ("read {path}", "fs/read_text_file", {"files": {"outside": "ask"}}),
    "a write outside": ("write {path} new", "fs/write_text_file", {"files": {"outside": "ask"}}),
    "a read of a secret": ("read {path}", "fs/read_text_file", {"files": {"secret": ["*.txt"]}}),
    "a write to a secret": (
        "write {path} new",
        "fs/write_text_file",
        {"files": {"secret": ["*.txt"]}},
    ),
    "a write that runs": (
        "write {path} new",
        "fs/write_text_file",
        {"files": {"executed": ["*.txt"]}},
    ),
}


@pytest.mark.parametrize("loaded", [False, True], ids=["no buffer", "a buffer"])
@pytest.mark.parametrize("ask", ASKS)
def test_a_path_that_is_swapped_during_its_question_is_refused(
    edit: Callable[..., Editor], ask: str, loaded: bool
) -> None:
    order, method, options = ASKS[ask]
    editor = edit()
    stage = Stage(editor)
    editor.setup(options)
    if "outside" in ask:  # the project is in another directory than the files
        other = editor.home / "project"
        other.mkdir()
        editor.lua("vim.api.nvim_set_current_dir(...)", str(other))
    if loaded:
        for path in stage.paths():
            editor.open(path)
    for n, path in enumerate(stage.paths()):
        editor.prompt(order.format(path=path))
        editor.wait("#require('acp').state().sessions[1].permissions == 1")
        name = [*SWAPS, PLAIN][n]
        if name in SWAPS:
            case = stage.folders[name]
            SWAPS[name](editor.work / case, editor.home / "outside" / case)
        editor.answer("Acp allow")
        editor.wait_event("AcpTurnEnd", n + 1)
    stage.check_refused(method, dict.fromkeys(SWAPS, "failed") | {"it is a directory": "directory"})
    stage.check()


def test_unsaved_changes_are_not_compared_with_files_outside(editor: Editor) -> None:
    stage = Stage(editor)
    for path in stage.paths():
        editor.open(path)
        editor.keys("ccmine<Esc>")
    stage.swap_now()
    editor.turn("say {diff}")
    sent = json.dumps(stage.traffic.received("session/prompt"))
    assert sent.count("+mine") == len(stage.folders)
    assert sent.count("-before") == 1, "of the file that was not swapped"
    stage.check()


def swap_at(stage: Stage, event: str) -> None:
    """Replace the directory of the first file by a link when an autocommand runs."""
    stage.editor.lua(
        "local event, way, outside = ... vim.api.nvim_create_autocmd(event, { callback = "
        "function() vim.uv.fs_rename(way, way .. '.was') vim.uv.fs_symlink(outside, way) end })",
        event,
        str(stage.paths()[0].parent),
        str(stage.editor.home / "outside/case0/d/e"),
    )


def test_a_path_that_is_swapped_during_formatting_is_not_saved(edit: Callable[..., Editor]) -> None:
    stage = Stage(edit())
    path = stage.paths()[0]
    stage.editor.open(path)
    swap_at(stage, "BufWritePre")
    stage.editor.turn(f"write {path} again")
    [answer] = stage.traffic.answers("fs/write_text_file")
    assert answer["error"]["data"]["reason"] == "failed"
    assert answer["error"]["message"].endswith("the directory e has become a symbolic link")
    assert stage.editor.lines(str(path)) == [BEFORE.strip()]
    stage.check()


@pytest.mark.parametrize("name", ["", "new"])
def test_a_failed_write_restores_nothing_at_a_swapped_path(
    edit: Callable[..., Editor], name: str
) -> None:
    """A write by an autocommand of the user fails after the last check, as on a full disk."""
    stage = Stage(edit())
    path = stage.paths(name)[0]
    if not name:
        stage.editor.open(path)
    stage.editor.cmd("set backupcopy=yes")
    swap_at(stage, "BufWriteCmd")
    stage.editor.turn(f"write {path} again")
    [answer] = stage.traffic.answers("fs/write_text_file")
    assert answer["error"]["data"]["reason"] == "failed"
    assert name or "what the file held is in" in answer["error"]["message"]
    stage.check()


def test_text_of_a_path_that_is_swapped_during_a_reload_is_removed(
    edit: Callable[..., Editor],
) -> None:
    stage = Stage(edit())
    path = stage.paths()[0]
    stage.editor.open(path)
    stage.editor.turn(f"read {path}")
    stage.editor.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    swap_at(stage, "BufReadPre")
    path.write_text("changed by another program\n")
    stage.editor.turn(f"read {path}")
    answer = stage.traffic.answers("fs/read_text_file")[-1]
    assert answer["error"]["message"].endswith("the directory e has become a symbolic link")
    assert stage.editor.lines(str(path)) == [BEFORE.strip()]
    assert not stage.editor.lua("return vim.bo.modified")
    stage.editor.keys("u")
    stage.check()
    stage.editor.keys("<C-r>")
    stage.check()


def test_a_swap_during_a_turn_leads_no_decision_outside(editor: Editor) -> None:
    stage = Stage(editor)
    orders = StepwiseAgent.at_work(editor)
    for path in (*stage.paths(), *stage.paths("new")):
        orders.ask("write", str(path), AFTER)
    stage.swap_now()
    orders.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "x"))
    choose_first(editor)
    for command in ("Acp reject all", "Acp unreject", "Acp accept all", "Acp restore 1"):
        editor.cmd(command)
        editor.turn("say hello")
        stage.check()
    stage.wait_message("Files restored to before prompt 1")


def test_a_location_that_is_a_pipe_does_not_block(editor: Editor) -> None:
    editor.agent("script")
    pipe, text = editor.work / "pipe", editor.write("a.txt", "text\n")
    os.mkfifo(pipe)
    editor.turn("say hello")
    editor.cmd("Acp follow")
    for path in (pipe, text):
        editor.turn(f"runs {path} true")
    editor.wait("vim.api.nvim_buf_get_name(0):find('a.txt', 1, true)")
    assert str(pipe) not in [
        editor.lua("return vim.api.nvim_buf_get_name(...)", buffer)
        for buffer in editor.lua("return vim.api.nvim_list_bufs()")
    ]


def test_a_moved_file_that_cannot_be_moved_back_is_not_deleted(editor: Editor) -> None:
    editor.agent("script")
    editor.write("d/x.txt", BEFORE * 9)
    outside, moved = editor.home / "outside", editor.work / "d2/x.txt"
    outside.mkdir()
    editor.turn("say hello")
    editor.turn("runs " + json.dumps(f"mv d d2; ln -s {outside} d"))
    editor.wait("require('acp').state().sessions[1].edits[1].path == ...", str(moved))
    editor.cmd("Acp reject all")
    words = "x.txt was left unchanged: the directory d has become a symbolic link"
    editor.wait_message(words)
    editor.turn("say hello")
    assert moved.read_text() == BEFORE * 9
    assert list(outside.iterdir()) == []
    [edit] = editor.session()["edits"]
    assert (edit["path"], edit["kind"]) == (str(moved), "modified")
    (editor.work / "d").unlink()
    editor.cmd("Acp reject all")
    until(lambda: (editor.work / "d/x.txt").exists() and not moved.exists())
    assert (editor.work / "d/x.txt").read_text() == BEFORE * 9


def test_a_file_that_cannot_be_moved_again_stays_in_its_place(editor: Editor) -> None:
    editor.agent("script")
    editor.write("x.txt", BEFORE * 9)
    outside, moved = editor.home / "outside", editor.work / "d/x.txt"
    outside.mkdir()
    editor.turn("say hello")
    editor.turn("runs " + json.dumps("mkdir d; mv x.txt d"))
    editor.wait("require('acp').state().sessions[1].edits[1].path == ...", str(moved))
    editor.cmd("Acp reject all")
    until(lambda: (editor.work / "x.txt").exists() and not moved.exists())
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    (editor.work / "d").rmdir()
    (editor.work / "d").symlink_to(outside)
    editor.cmd("Acp unreject")
    editor.wait_message("x.txt")
    editor.turn("say hello")
    assert (editor.work / "x.txt").read_text() == BEFORE * 9
    assert list(outside.iterdir()) == []
    assert not editor.session().get("edits")
