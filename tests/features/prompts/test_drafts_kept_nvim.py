"""Drafts on a full disk, of a newer version of the plugin, behind an earlier prompt, and beside a
question: none is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.features.prompts.drafts_on_disk import SharedWorkspace, composer, run, write
from tests.support.editor import Editor
from tests.support.front_without_host import float_lines
from tests.support.small_disk import small_disk


def test_a_file_of_a_newer_version_is_left_unchanged(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    shared = SharedWorkspace(edit, tmp_path)
    first = shared.start()
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    (path,) = shared.files()
    content = path.read_text().replace('"version":1', '"version":2').replace("drafts", "texts")
    assert '"version":2' in content.replace(" ", "")
    path.write_text(content)
    second = shared.start()
    run(second, "AcpPrompt")
    second.wait_message("a newer version are left unchanged")
    assert second.lines("acp://composer/1") == [""]
    second.quit()
    assert [(p.name, p.read_text()) for p in shared.directory.iterdir()] == [(path.name, content)]


def test_a_draft_is_saved_once_a_full_disk_has_room(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "state", 256) as disk:
        shared = SharedWorkspace(edit, tmp_path)
        first = shared.start()
        write(first, "first")
        shared.wait("first")
        disk.fill()
        text = "word " * 2000
        first.lua("vim.api.nvim_buf_set_text(0, 0, 5, 0, 5, {...})", text)
        first.wait_message("Drafts are not being saved: ENOSPC")
        assert shared.drafts() == ["first"]
        disk.free()
        shared.wait("first" + text)
        first.kill()


def test_a_draft_is_saved_behind_an_earlier_prompt(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    shared = SharedWorkspace(edit, tmp_path)
    first = shared.start()
    first.turn("say one")
    write(first, "my draft")
    shared.wait("my draft")
    first.keys("<Esc><C-p>")
    assert first.lines("acp://composer/1") == ["say one"]
    shared.wait("my draft")
    first.keys("<C-s>")
    first.wait_event("AcpTurnEnd", 2)
    assert first.lines("acp://composer/1") == ["my draft"], "it is back when that is sent"
    first.keys("<C-p>Ax<Esc>")
    shared.wait("say onex", "my draft")
    first.kill()
    second = shared.start()
    assert composer(second) == ["say onex"]
    second.keys("<Esc><C-p>")
    assert second.lines("acp://composer/1") == ["my draft"]
    shared.wait("say onex")
    second.kill()
    third = shared.start()
    assert composer(third) == ["say onex"]
    third.keys("<Esc><C-p>")
    assert third.lines("acp://composer/1") == ["my draft"]


def test_the_float_of_questions_is_not_in_the_way(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    """A draft returns while a question waits, and the focus goes to the composer as usual."""
    shared = SharedWorkspace(edit, tmp_path)
    first = shared.start()
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    second = shared.start()
    second.prompt("permission p1")
    second.wait("#require('acp').state().sessions[1].permissions == 1")
    assert float_lines(second)
    second.wait_message("Your draft is back in the composer")
    second.answer("Acp deny")
    second.wait_event("AcpTurnEnd")
