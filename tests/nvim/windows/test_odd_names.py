"""Odd names in proposals, exports, follow mode, and as the directory of a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start
from tests.support.lua import lua_chunk
from tests.support.odd_names import BYTES, ODD_NAMES, make_odd_files
from tests.support.pending_edits import wait_count
from tests.support.review_frames import apply

CARD = {
    "id": "p1",
    "lines": ["Edit"],
    "spans": [],
    "options": [{"id": "yes", "name": "Yes", "kind": "allow_once"}],
}
SIDES = lua_chunk(__file__, "diffed_paths")


def test_a_proposal_for_each_name_is_shown_in_diff_mode(edit: Start) -> None:
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(120, 60))
    paths = [f"{editor.work}/{name}" for name in ODD_NAMES]
    apply(editor, ["cards", 1, [CARD]])
    editor.cmd("Acp permissions")
    editor.keys("d")
    files = [{"path": path, "base": ["one"], "proposal": ["two"]} for path in paths]
    apply(editor, ["propose", "p1", files, CARD["options"]])
    for path in paths:
        assert editor.lua(SIDES) == [path, path]
        editor.keys("]f")
    assert len(editor.lines("acp://review")) == len(paths)


def test_the_chat_is_exported_to_each_name(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hello")
    for name in ODD_NAMES:
        path = Path(f"{editor.work}/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        argument = editor.lua("return require('acp.base.paths').quote_argument(...)", name)
        editor.cmd(f"Acp export {argument}")
        editor.wait("vim.uv.fs_stat(...) ~= nil", str(path))
    assert len(list(editor.work.rglob("*.*"))) >= len(ODD_NAMES) - 10


def test_each_location_is_followed(editor: Editor) -> None:
    make_odd_files(editor.work)
    editor.agent("script")
    editor.setup({"follow": True, "chat": {"open": False}})
    editor.open("plain.txt")
    editor.cmd("Acp follow")
    odd = [name for name in ODD_NAMES if name != BYTES and not name.isalnum()][::4]
    for n, name in enumerate(odd):
        path = f"{editor.work}/{name}"
        call = {
            "sessionUpdate": "tool_call",
            "toolCallId": f"t{n}",
            "title": "look",
            "kind": "read",
            "status": "in_progress",
            "locations": [{"path": path, "line": 1}],
        }
        editor.turn(f"update {json.dumps(call)}")
        editor.wait("vim.api.nvim_buf_get_name(0) == ...", path)


@pytest.mark.parametrize("name", ["line\nbreak $HOME", "a [1] {b,c} %", "~"])
def test_a_session_works_in_a_directory_with_an_odd_name(
    edit: Start, tmp_path: Path, name: str
) -> None:
    work = tmp_path / "in" / name
    editor = edit(work=work)
    path = editor.write("a b.txt", "one\n")
    agent = editor.agent("script")
    editor.open("a b.txt")
    editor.lua("require('acp').prompt('say see @a\\\\ b.txt')")
    editor.wait_event("AcpTurnEnd")
    assert agent.wait("session/new")["params"]["cwd"] == str(work)
    for root in ("/", str(work), f"{work}/"):
        assert editor.lua("return require('acp.base.paths').is_below(...)", str(path), [root])
    blocks = agent.wait("session/prompt")["params"]["prompt"]
    assert any(path.as_uri() in json.dumps(block) for block in blocks[1:])
    path.write_text("two\n", encoding="utf-8")
    script = tmp_path / "change.py"
    script.write_text(f"open({str(path)!r}, 'w').write('agent\\n')", encoding="utf-8")
    editor.turn("runs " + json.dumps(f"python3 {script}"))
    wait_count(editor, 1)
    editor.cmd("Acp review a\\ b.txt")
    editor.wait("vim.wo.diff and vim.api.nvim_buf_get_name(0) == ...", str(path))
