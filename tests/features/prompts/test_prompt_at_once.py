"""Prompts are shown and sent at once, however long the scan of the files takes."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.editor import HURRIED_HOST, Editor
from tests.support.git import repository
from tests.support.lua import lua_chunk
from tests.support.pending_edits import choose_first, counts, edits, reject_all
from tests.support.stalled_agent import let_answer, stalled_agent
from tests.support.waiting import until

GIT = """#!/bin/sh
case " $* " in *" diff-files "*)
  while ! [ -e {gate} ]; do touch {gate}.asked; sleep 0.01; done
esac
exec {git} "$@"
"""


@dataclass
class Gate:
    """Git that scans files only while this gate is open, in the work tree of an editor."""

    path: Path
    editor: Editor

    def open(self) -> None:
        self.path.touch()

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        self._requested.unlink(missing_ok=True)

    @property
    def _requested(self) -> Path:
        return self.path.with_name(f"{self.path.name}.asked")

    @property
    def waits(self) -> bool:
        """Return whether a scan has begun since the gate was closed and is not over."""
        return self._requested.exists() and not self.path.exists()


@pytest.fixture
def gate(edit: Callable[..., Editor], tmp_path: Path) -> Iterator[Gate]:
    """Return a closed gate."""
    git = shutil.which("git")
    assert git is not None
    work, bin_ = tmp_path / "work", tmp_path / "bin"
    bin_.mkdir()
    work.mkdir()
    (work / "a.txt").write_text("one\ntwo\n")
    (work / "b.txt").write_text("one\ntwo\n")
    repository(work)
    (bin_ / "git").write_text(GIT.format(gate=tmp_path / "gate", git=git))
    (bin_ / "git").chmod(0o755)
    env = {**HURRIED_HOST, "PATH": f"{bin_}:{os.environ['PATH']}"}
    editor = edit(work=work, env=env)
    editor.agent("script")
    found = Gate(tmp_path / "gate", editor)
    yield found
    found.open()


def restore(editor: Editor, n: int, changed: str) -> None:
    choose_first(editor)
    editor.cmd(f"Acp restore {n}")
    message = f"Files restored to before prompt {n}: {changed} changed"
    editor.wait_message(message)


def tick(probe: Path) -> None:
    """Wait until the clock of the file system has caught up with the time."""
    now = time.time_ns()

    def later() -> bool:
        probe.touch()
        return probe.stat().st_ctime_ns > now

    until(later)


def change_after_read(editor: Editor, path: Path) -> None:
    """Let an agent name a file and change it once the host has read it.

    Where the file system records no access times, the agent waits for three seconds.
    """
    (editor.home / "now").touch()
    os.utime(path, ns=(0, path.stat().st_mtime_ns))
    was_read = f'[ -n "$(find {path} -anewer {editor.home / "now"})" ]'
    wait = f"for i in $(seq 150); do {was_read} && break; sleep 0.02; done"
    editor.turn(f"runs {path} " + json.dumps(f"{wait}; sed -i s/two/TWO/ {path}"))


def test_a_prompt_does_not_wait_for_the_scan(gate: Gate) -> None:
    for text in ("one", "two", "three"):
        gate.editor.turn(f"say {text}")
        assert text in gate.editor.chat()
        until(lambda: gate.waits)


def test_a_file_that_is_named_before_the_scan_can_be_reviewed(gate: Gate) -> None:
    slow, path = gate.editor, gate.editor.work / "a.txt"
    change_after_read(slow, path)
    until(lambda: gate.waits)
    gate.open()
    slow.wait("#require('acp').state().sessions[1].edits == 1")
    edit = slow.session()["edits"][0]
    assert (edit["path"], edit["hunks"], edit["kind"]) == (str(path), 1, "modified")
    reject_all(slow)
    slow.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.read_text() == "one\ntwo\n"


def test_changes_before_and_after_the_prompt_are_distinguished(gate: Gate) -> None:
    slow = gate.editor
    gate.open()
    slow.turn("say first")
    slow.cmd("Acp checkpoints")  # waits for the scan
    slow.wait("vim.fn.bufnr('acp://checkpoints/1') > 0")
    (slow.work / "a.txt").write_text("one\nmine\n")
    slow.wait("vim.uv.now() > ...", slow.lua("return vim.uv.now()") + 100)
    gate.close()
    slow.turn("silently " + json.dumps("sed -i s/two/TWO/ b.txt"))
    until(lambda: gate.waits)
    gate.open()
    slow.wait("#require('acp').state().sessions[1].edits == 1")
    assert slow.session()["edits"][0]["path"] == str(slow.work / "b.txt")


def test_changes_right_after_a_turn_are_the_users(gate: Gate) -> None:
    """The last scan of that turn is not done yet, and the next prompt has been sent."""
    slow, path = gate.editor, gate.editor.work / "new.txt"
    gate.open()
    slow.turn("say first")
    slow.cmd("Acp checkpoints")
    slow.wait("vim.fn.bufnr('acp://checkpoints/1') > 0")
    gate.close()
    slow.turn("say second")
    tick(slow.home / "probe")
    path.write_text("one\ntwo\n")
    slow.prompt(f"write {path} " + json.dumps("one\nTWO\n"))
    slow.traffic[0].wait("session/prompt", 3)
    until(lambda: gate.waits)
    gate.open()
    slow.wait_event("AcpTurnEnd", 3)
    slow.wait("#(require('acp').state().sessions[1].edits or {}) == 1")
    slow.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    until(lambda: counts(slow) == [(1, 1, 1)])
    assert edits(slow)[0]["kind"] == "modified"
    reject_all(slow)
    slow.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.read_text() == "one\ntwo\n"


def two_sessions(gate: Gate) -> Editor:
    """Open the gate, and start two sessions of two agents."""
    slow = gate.editor
    gate.open()
    slow.turn("say first")
    slow.agent("script", name="other")
    slow.cmd("Acp new")
    slow.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    return slow


def test_a_session_that_has_ended_gets_no_change_made_before_the_scan(
    gate: Gate,
) -> None:
    slow = two_sessions(gate)
    prompt = "require('acp').prompt(...)"
    slow.lua(prompt, f"until_there {slow.home}/1", {"session": 1})
    change = json.dumps("sed -i s/two/TWO/ b.txt")
    waits = f"until_there {slow.home}/2"
    slow.lua(prompt, f"runs true\n{waits}\nsilently {change}\n{waits}end", {"session": 2})
    slow.wait("#require('acp').state().sessions[2].tool_calls == 1")
    slow.wait("require('acp').state().sessions[2].tool_calls[1].status == 'completed'")
    gate.close()
    (slow.home / "1").touch()
    slow.wait_event("AcpTurnEnd", 2)
    tick(slow.home / "probe")
    (slow.home / "2").touch()
    until(lambda: "TWO" in (slow.work / "b.txt").read_text())
    gate.open()
    slow.wait("#(require('acp').state().sessions[2].edits or {}) == 1")
    (slow.home / "2end").touch()
    slow.wait_event("AcpTurnEnd", 3)


@pytest.mark.parametrize("names", ["b.txt ", ""])
def test_a_session_at_work_gets_no_change_by_another_session(gate: Gate, names: str) -> None:
    slow = two_sessions(gate)
    end = f"until_there {slow.home}/end"
    first = "runs a.txt " + json.dumps("sed -i s/two/TWO/ a.txt")
    slow.lua("require('acp').prompt(...)", f"{first}\n{end}", {"session": 1})
    slow.wait("#(require('acp').state().sessions[1].edits or {}) == 1")
    gate.close()
    second = f"runs {names}" + json.dumps("sed -i s/two/TWO/ b.txt")
    slow.lua("require('acp').prompt(...)", f"{second}\n{end}", {"session": 2})
    until(lambda: "TWO" in (slow.work / "b.txt").read_text())
    gate.open()
    slow.wait("#(require('acp').state().sessions[2].edits or {}) == 1")
    (slow.home / "end").touch()
    slow.wait_event("AcpTurnEnd", 3)
    slow.wait("not require('acp.buffers.watch').at_work(...)", str(slow.work / "a.txt"))
    until(lambda: [Path(it["path"]).name for it in edits(slow, 1)] == ["a.txt"])
    until(lambda: [Path(it["path"]).name for it in edits(slow, 2)] == ["b.txt"])


SAVES = lua_chunk(__file__, "write_before_expect")
"""Makes the user save just before a prompt is sent, at which point Neovim learns of the turn."""


@pytest.mark.parametrize("first", ["true", "sed -i s/one/first/ a.txt"])
def test_a_save_just_before_the_prompt_is_sent_is_the_users(gate: Gate, first: str) -> None:
    """In one case an earlier change to the file was the agent's."""
    slow, path = gate.editor, gate.editor.work / "a.txt"
    gate.open()
    slow.turn("runs a.txt " + json.dumps(first))
    slow.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    slow.cmd("Acp accept all")
    slow.wait("#(require('acp').state().sessions[1].edits or {}) == 0")
    slow.cmd("wincmd t | edit a.txt")
    slow.cmd("call setline(1, 'mine')")
    slow.lua(SAVES)
    gate.close()
    slow.turn("runs a.txt " + json.dumps("sed -i s/two/TWO/ a.txt"))
    until(lambda: gate.waits)
    assert path.read_text() == "mine\nTWO\n"
    gate.open()
    slow.wait("#(require('acp').state().sessions[1].edits or {}) == 1")
    assert slow.session()["edits"][0]["added"] == 1
    reject_all(slow)
    slow.wait("#require('acp').state().sessions[1].edits == 0")
    until(lambda: path.read_text() == "mine\ntwo\n")


def test_the_format_of_a_file_saved_before_the_prompt_is_known(gate: Gate) -> None:
    """The agent changes it before the scan."""
    slow, path = gate.editor, gate.editor.work / "a.txt"
    gate.open()
    slow.open("a.txt")
    slow.turn("runs true")
    slow.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    slow.cmd("set fileformat=dos | call setline(1, 'mine') | silent write")
    gate.close()
    slow.prompt(
        "runs a.txt " + json.dumps("sed -i s/two/TWO/ a.txt") + f"\nuntil_there {slow.home}/1\n"
        "runs a.txt " + json.dumps("sed -i 's/\\r$//' a.txt")
    )
    until(lambda: b"TWO" in path.read_bytes())
    until(lambda: gate.waits)
    gate.open()
    slow.wait("#(require('acp').state().sessions[1].edits or {}) == 1")
    (slow.home / "1").touch()
    slow.wait("require('acp').state().sessions[1].edits[1].note == 'line endings: dos → unix'")
    reject_all(slow)
    slow.wait("#require('acp').state().sessions[1].edits == 0")
    until(lambda: path.read_bytes() == b"mine\r\ntwo\r\n")


def test_the_checkpoint_has_the_files_from_before_the_prompt(gate: Gate) -> None:
    """By the time of the scan the agent has changed them."""
    slow, a, b = gate.editor, gate.editor.work / "a.txt", gate.editor.work / "b.txt"
    gate.open()
    slow.turn("say first")
    slow.cmd("Acp checkpoints")
    slow.wait("vim.fn.bufnr('acp://checkpoints/1') > 0")
    gate.close()
    before = a.read_text(), b.read_text()
    commands = f"sed -i s/two/TWO/ {a}; chmod +x {b}; rm {b}; echo new > new.txt"
    slow.turn("silently " + json.dumps(commands))
    until(lambda: gate.waits)
    gate.open()
    slow.wait("#require('acp').state().sessions[1].edits == 3")
    restore(slow, 2, "3 files")
    assert (a.read_text(), b.read_text()) == before
    assert not (slow.work / "new.txt").exists()


def test_the_checkpoint_of_a_prompt_right_after_a_turn_is_complete(gate: Gate) -> None:
    """The last scan of that turn is not done yet."""
    slow, path = gate.editor, gate.editor.work / "a.txt"
    gate.open()
    slow.turn("say first")
    slow.cmd("Acp checkpoints")  # waits for the scan
    slow.wait("vim.fn.bufnr('acp://checkpoints/1') > 0")
    slow.prompt("runs b.txt " + json.dumps("rm b.txt") + f"\nuntil_there {slow.home}/end")
    slow.wait("#(require('acp').state().sessions[1].edits or {}) == 1")
    gate.close()
    (slow.home / "end").touch()
    slow.wait_event("AcpTurnEnd", 2)
    slow.turn("silently " + json.dumps("sed -i s/two/TWO/ a.txt"))
    gate.open()
    slow.wait("#(require('acp').state().sessions[1].edits or {}) == 2")
    slow.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    restore(slow, 3, "1 file")
    assert path.read_text() == "one\ntwo\n"


@pytest.mark.parametrize("decided", [True, False])
def test_the_checkpoint_includes_the_users_changes_since_the_last_scan(
    gate: Gate, decided: bool
) -> None:
    slow, path = gate.editor, gate.editor.work / "a.txt"
    gate.open()
    slow.turn("runs a.txt " + json.dumps("sed -i s/two/TWO/ a.txt"))
    slow.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    slow.cmd("wincmd t | edit a.txt")
    if decided:
        reject_all(slow)
        slow.wait("#require('acp').state().sessions[1].edits == 0")
        until(lambda: path.read_text() == "one\ntwo\n")
    else:
        slow.cmd("call setline(1, 'mine') | silent write")
    before = path.read_text()
    gate.close()
    slow.turn("silently " + json.dumps("echo more >> a.txt"))
    until(lambda: gate.waits)
    gate.open()
    slow.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    restore(slow, 2, "1 file")
    assert path.read_text() == before


def test_the_checkpoint_of_a_first_prompt_includes_files_named_before_the_scan(gate: Gate) -> None:
    slow, path = gate.editor, gate.editor.work / "a.txt"
    change_after_read(slow, path)
    until(lambda: gate.waits)
    gate.open()
    slow.wait("#require('acp').state().sessions[1].edits == 1")
    restore(slow, 1, "1 file")
    assert path.read_text() == "one\ntwo\n"


def test_a_prompt_is_shown_while_the_agent_starts(editor: Editor) -> None:
    stalled_agent(editor, "initialize")
    editor.cmd("AcpPrompt hello there")
    editor.wait("(require('acp').state().sessions[1] or {}).chat_bufnr")
    editor.wait(
        "vim.list_contains(vim.api.nvim_buf_get_lines("
        "require('acp').state().sessions[1].chat_bufnr, 0, -1, false), 'hello there')"
    )
    assert editor.session()["status"] == "starting"
    let_answer(editor, "initialize")
    editor.wait_event("AcpTurnEnd")
    assert editor.chat().count("hello there") == 1


def test_a_prompt_that_is_held_back_is_marked(editor: Editor) -> None:
    stalled_agent(editor, "initialize")
    editor.cmd("AcpPrompt hello there")
    editor.cmd("AcpCancel")
    editor.wait("#require('acp').state().sessions[1].queue == 1")
    let_answer(editor, "initialize")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    assert "Not sent" in "\n".join(editor.chat())
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd")
    assert editor.chat().count("hello there") == 2


def test_a_composer_names_its_session_as_soon_as_there_is_one(editor: Editor) -> None:
    editor.agent("script")
    editor.cmd("AcpPrompt")
    editor.wait_screen("Message Script · starting ")
    editor.wait_screen("Message Scripted  ")
    editor.keys("say hi<C-s><Esc>")
    editor.wait_event("AcpTurnEnd")
    assert len(editor.traffic[0].received("session/new")) == 1


def test_the_chat_scrolls_to_its_end_when_the_user_sends_from_the_composer(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 600")
    chat = "vim.fn.bufwinid('acp://chat/1')"
    editor.lua(f"vim.api.nvim_win_set_cursor({chat}, {{ 3, 0 }})")
    editor.lua("require('acp').prompt('say a prompt of a script moves nothing')")
    editor.wait_event("AcpTurnEnd", 2)
    assert editor.lua(f"return vim.api.nvim_win_get_cursor({chat})[1]") == 3
    editor.cmd("AcpPrompt")
    editor.keys("say the very end<C-s>")
    editor.wait_event("AcpTurnEnd", 3)
    editor.wait(f"vim.fn.line('.', {chat}) == vim.fn.line('$', {chat})")
    editor.wait_screen("the very end")


def test_a_prompt_that_returns_to_a_hidden_composer_is_reported(editor: Editor) -> None:
    editor.agent("script")
    editor.setup({"agent": "gone", "agents": {"gone": {"command": ["no-such-program"]}}})
    editor.prompt("precious words")
    message = "acp: Your prompt is back in the composer. :AcpPrompt goes there"
    editor.wait_message(message)
    editor.cmd("messages clear")
    editor.cmd("AcpPrompt")
    assert editor.lines("acp://composer/1") == ["precious words"]
    editor.keys("<C-s>")
    editor.wait("vim.api.nvim_buf_get_lines(0, 0, -1, false)[1] == 'precious words'")
    assert message not in editor.messages()
