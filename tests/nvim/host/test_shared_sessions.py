"""The file with the sessions of a Neovim that the overviews of others read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from acp_nvim.features.overview.shared_sessions import SharedSessions, file_of
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session

INSTANCE = "20260101-000000-host-12"


def sessions_in(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_bytes())["sessions"]
    return found


async def test_the_file_has_open_sessions_without_texts_of_questions_and_secrets(
    tmp_path: Path,
) -> None:
    path = file_of(str(tmp_path), INSTANCE)
    shared = SharedSessions(path, INSTANCE)
    session, closed = Session(1, "x", "/w"), Session(2, "x", "/w")
    closed.status = "closed"
    session.title = "use token ghp_0123456789abcdefghijABCDEFGHIJ012345"
    session.edits = [{"hunks": 2}, {"hunks": 0}]
    session.ask(Decision("d1", "permission", "Run the secret command"))
    await shared.write([session, closed])
    (found,) = sessions_in(path)
    assert {key: found[key] for key in ("n", "questions", "hunks", "files")} == {
        "n": 1,
        "questions": 1,
        "hunks": 3,
        "files": 2,
    }
    assert "ghp_" not in found["title"]
    assert "secret command" not in path.read_text()
    assert (path.stat().st_mode | path.parent.stat().st_mode) & 0o077 == 0


async def test_lua_can_read_names_that_are_not_utf_8(tmp_path: Path) -> None:
    path = file_of(str(tmp_path), INSTANCE)
    session = Session(1, "x", os.fsdecode(b"/caf\xe9"))
    session.title = "Fix \udce9"
    await SharedSessions(path, INSTANCE).write([session])
    (found,) = sessions_in(path)
    assert (found["cwd"], found["title"]) == ("/caf\ufffd", "Fix \ufffd")


async def test_the_file_is_written_only_after_a_change_and_removed_with_the_last_session(
    tmp_path: Path,
) -> None:
    path = file_of(str(tmp_path), INSTANCE)
    shared = SharedSessions(path, INSTANCE)
    session = Session(1, "x", "/w")
    await shared.write([session])
    written = path.stat().st_ino
    await shared.write([session])
    assert path.stat().st_ino == written
    session.title = "New"
    await shared.write([session])
    assert path.stat().st_ino != written
    session.status = "closed"
    await shared.write([session])
    assert not path.exists()
    await shared.remove()
