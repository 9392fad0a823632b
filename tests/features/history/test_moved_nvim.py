"""A project that was renamed while no Neovim was open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.features.prompts.drafts_on_disk import SharedWorkspace, composer, write
from tests.support.days import Days
from tests.support.editor import Editor
from tests.support.fake_picker import pick
from tests.support.killed_host import is_written
from tests.support.waiting import until

HUNKS = """
local session = require('acp').state().sessions[1]
return ((session and session.edits[1] or {}).hunks or 0) == ...
"""


def test_pending_edits_stay_under_the_old_path(edit: Callable[..., Editor], tmp_path: Path) -> None:
    days = Days(edit, tmp_path)
    first = days.start()
    path = first.write("a.txt", "one\ntwo\nthree\n")
    first.turn(f'say earlier\nwrite {path} "one\\nTWO\\nthree\\nfour\\n"')
    first.wait(HUNKS, 2)
    until(lambda: is_written(first))
    first.quit()
    work = days.work
    days.work = work.rename(tmp_path / "renamed")

    second = days.start()
    second.open("a.txt")
    (question,) = pick(second, "Acp history")
    (item,) = question["items"]
    assert item.startswith("say earlier")
    assert "work" in item.rpartition("  (")[2], "it names its directory"
    second.turn("say later")
    assert second.session(1)["edits"] == []
    second.quit()

    days.work = days.work.rename(work)
    third = days.start()
    third.open("a.txt")
    third.wait(HUNKS, 2)
    third.cmd("2 | Acp reject")
    third.wait(HUNKS, 1)
    assert path.read_text() == "one\ntwo\nthree\nfour\n"
    third.quit()


def test_a_draft_stays_under_the_old_path(edit: Callable[..., Editor], tmp_path: Path) -> None:
    shared = SharedWorkspace(edit, tmp_path)
    first = shared.start()
    write(first, "hello there")
    shared.wait("hello there")
    first.kill()
    moved = shared.work.rename(shared.work.with_name("renamed"))
    second = shared.start(work=moved)
    assert composer(second) == [""]
    second.quit()
    moved.rename(shared.work)
    third = shared.start()
    assert composer(third) == ["hello there"]
