"""A project that was renamed while no Neovim was open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.editor.composer.drafts_on_disk import SharedWorkspace, composer, write
from tests.support.days import Days
from tests.support.editor import Editor
from tests.support.fake_picker import pick
from tests.support.killed_host import is_written
from tests.support.waiting import until

HUNKS = """
local session = require('acp').state().sessions[1]
return ((session and session.edits[1] or {}).hunks or 0) == ...
"""


def test_a_renamed_project_has_its_edits_and_its_history(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    days = Days(edit, tmp_path)
    first = days.start()
    path = first.write("a.txt", "one\ntwo\nthree\n")
    first.turn(f'say earlier\nwrite {path} "one\\nTWO\\nthree\\nfour\\n"')
    first.wait(HUNKS, 2)
    until(lambda: is_written(first))
    first.quit()
    moved = days.work.rename(tmp_path / "renamed")
    days.work.mkdir()  # another project
    elsewhere = days.start()
    elsewhere.turn("say later")
    assert elsewhere.session(1)["edits"] == []
    elsewhere.quit()
    days.work = moved

    second = days.start()
    second.open("a.txt")
    second.wait(HUNKS, 2)
    second.cmd("2 | Acp reject")
    second.wait(HUNKS, 1)
    assert (moved / "a.txt").read_text() == "one\ntwo\nthree\nfour\n"
    (question,) = pick(second, "Acp history")
    assert [item.partition("  (")[0] for item in question["items"]] == [
        "say earlier",
        "say later",
    ], "those of this directory first"
    assert "work" in question["items"][1].rpartition("  (")[2], "the other one names its directory"
    second.quit()


def test_a_draft_comes_back_in_a_directory_that_was_renamed(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    shared = SharedWorkspace(edit, tmp_path)
    first = shared.start()
    first.write("a.txt", "one\n")
    first.cmd(f"Acp attach {shared.work / 'a.txt'}")
    write(first, "hello there")
    shared.wait("hello there")
    first.kill()
    copy = shared.work.with_name("copy")
    shutil.copytree(shared.work, copy)
    moved = shared.work.rename(shared.work.with_name("renamed"))
    other = shared.start(work=copy)
    assert composer(other) == [""]
    other.quit()
    second = shared.start(work=moved)
    assert composer(second) == ["hello there"]
    until(lambda: [kept["cwd"] for kept in shared.kept()] == [str(moved)])
    (draft,) = shared.kept()[0]["drafts"]
    assert draft["paths"] == [str(moved / "a.txt")]
