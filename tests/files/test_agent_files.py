"""`AgentFiles` with buffers that are plain objects: policy, merge, memory, order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.edits.agent_bases import AgentBases
from acp_nvim.edits.text import parse
from acp_nvim.files.bytes import disk
from acp_nvim.files.bytes.paths import place
from acp_nvim.files.ports import WriteResult
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import INTERNAL_ERROR, RequestError
from tests.support.agent_files import AgentFiles, Session


@pytest.fixture
def served(tmp_path: Path) -> AgentFiles:
    root = tmp_path / "work"
    root.mkdir()
    return AgentFiles(root.resolve())


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (None, None, "a\nb\nc\n"),
        (0, None, "a\nb\nc\n"),
        (1, None, "a\nb\nc\n"),
        (2, None, "b\nc\n"),
        (2, 1, "b\n"),
        (3, 1, "c\n"),
        (3, 9, "c\n"),
        (4, None, ""),
        (4, 1, ""),
        (2**32 - 1, 2**32 - 1, ""),
        (None, 2, "a\nb\n"),
        (None, 0, ""),
    ],
)
@pytest.mark.parametrize("is_open", [True, False])
async def test_lines_are_counted_from_one(
    served: AgentFiles, line: int | None, limit: int | None, expected: str, is_open: bool
) -> None:
    (served.root / "f").write_text("a\nb\nc\n")
    if is_open:
        served.buffers.open(served.path("f"), "a\nb\nc\n")
    assert await served.read("f", line, limit) == expected
    assert served.located == [(served.path("f"), line)]


async def test_a_path_that_would_crash_neovim_is_refused(served: AgentFiles) -> None:
    """Neovim aborts when it writes a file whose name does not fit into its line for messages."""
    long = "/".join(["d" * 99] * 11)
    with pytest.raises(RequestError, match="longer than 1000 bytes"):
        await served.read(long)
    with pytest.raises(RequestError, match="longer than 1000 bytes") as refused:
        await served.write(long, "x\n")
    assert refused.value.code == INTERNAL_ERROR
    assert list(served.root.iterdir()) == []


async def test_only_the_last_line_lacks_the_newline(served: AgentFiles) -> None:
    (served.root / "f").write_text("a\nb")
    assert await served.read("f") == "a\nb"
    assert await served.read("f", 2) == "b"
    assert await served.read("f", 1, 1) == "a\n"


async def test_a_file_that_a_program_has_only_truncated_is_not_taken_for_empty(
    served: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that writes a file in place truncates it first."""
    monkeypatch.setattr(disk, "EMPTIED_NS", 10**12)
    monkeypatch.setattr(disk, "EMPTIED_CHECKS", 10**6)
    file, texts = served.root / "f", []

    async def read() -> None:
        texts.append(await served.read("f"))

    async def write() -> None:
        await served.write("f", "a\nb\n")

    for act in (read, write):
        file.write_text("")
        async with anyio.create_task_group() as group:
            group.start_soon(act)
            await anyio.wait_all_tasks_blocked()
            assert file.read_text() == ""
            file.write_text("a\n")
    assert texts == ["a\n"]
    assert await served.read("f") == "a\nb\n"


async def test_refusals_of_reads(served: AgentFiles) -> None:
    root = served.root
    (root / "d").mkdir()
    (root / "bin").write_bytes(b"a\0b")
    (root / "big").write_text("x" * 2000)
    (root / "loop").symlink_to(root / "loop")
    served.options.message_bytes = 1000
    cases = {
        "nothing": (-32002, "missing"),
        "bin/under": (-32002, "missing"),
        "d": (-32602, "directory"),
        "bin": (-32602, "binary"),
        "big": (-32602, "too_large"),
        "/dev/null": (-32603, "failed"),
        "loop": (-32603, "failed"),
        "a\0b": (-32002, "missing"),
    }
    for name, expected in cases.items():
        assert await served.reason(served.read, name) == expected, name
    params = schema.ReadTextFileRequest("s1", "relative/path")
    with pytest.raises(RequestError) as caught:
        await served.files.read(served.session, params)
    assert caught.value.data == {"path": "relative/path", "reason": "relative"}


async def test_refusals_of_writes(served: AgentFiles) -> None:
    root = served.root
    (root / "d").mkdir()
    (root / "bin").write_bytes(b"a\0b")
    cases = {
        "d": (-32602, "directory"),
        "d/": (-32602, "directory"),
        "new/": (-32602, "directory"),
        "bin": (-32602, "binary"),
        "/dev/null": (-32603, "failed"),
        "n" * 300: (-32603, "failed"),
        "n" * 300 + "/under": (-32603, "failed"),
    }
    for name, expected in cases.items():
        assert await served.reason(served.write, name, "x\n") == expected, name
    assert (root / "bin").read_bytes() == b"a\0b"
    assert not served.written


@pytest.mark.parametrize("policy", ["ask", "deny", "allow"])
@pytest.mark.parametrize("answer", [True, False])
async def test_the_policy_for_files_outside(served: AgentFiles, policy: Any, answer: bool) -> None:
    outside = served.root.parent / "outside"
    outside.write_text("x\n")
    (served.root / "link").symlink_to(outside)
    served.options.outside = policy
    served.answer = answer
    for name in (str(outside), "link", "../outside"):
        served.asked.clear()
        if policy == "deny":
            assert await served.reason(served.read, name) == (-32602, "outside")
        elif policy == "ask" and not answer:
            assert await served.reason(served.write, name, "y\n") == (-32602, "denied")
        else:
            assert await served.read(name) == "x\n"
        expected = [] if policy != "ask" else [("read" if answer else "write", "outside")]
        assert [(verb, reason) for verb, _, reason in served.asked] == expected
    assert outside.read_text() == "x\n"


async def test_secret_files_always_ask(served: AgentFiles) -> None:
    served.options.outside = "allow"
    served.options.secret = ["**/.env"]
    (served.root / ".env").write_text("x\n")
    assert await served.read(".env") == "x\n"
    served.answer = False
    assert await served.reason(served.read, ".env") == (-32602, "denied")
    assert await served.reason(served.write, "/elsewhere/.env", "y") == (-32602, "denied")
    assert [reason for *_, reason in served.asked] == ["secret"] * 3


async def test_a_guarded_path_does_not_reveal_whether_it_exists(served: AgentFiles) -> None:
    served.options.outside = "deny"
    for name in ("/etc/passwd", "/etc/nothing", "/etc"):
        assert await served.reason(served.read, name) == (-32602, "outside")


async def test_the_base_is_the_text_that_this_session_last_read(served: AgentFiles) -> None:
    path = served.path("f")
    served.buffers.open(path, "a\nb\nc\nd\ne\n")
    assert await served.read("f", 2, 1) == "b\n"
    served.buffers.open(path, "a\nb\nc\nd\nuser\n")
    await served.write("f", "agent\nb\nc\nd\ne\n")
    assert str(served.buffers.texts[path]) == "agent\nb\nc\nd\nuser\n"
    await served.write("f", "agent\nb\nC\nd\ne\n")  # the agent still has not seen the user's line
    assert str(served.buffers.texts[path]) == "agent\nb\nC\nd\nuser\n"
    assert await served.reason(served.write, "f", "agent\nb\nC\nd\nmine\n") == (-32603, "conflict")
    served.session = Session(str(served.root), session_id="another")
    await served.write("f", "all\nnew\n")
    assert str(served.buffers.texts[path]) == "all\nnew\n"
    served.files.bases.forget_session("s1")
    served.session = Session(str(served.root))
    await served.write("f", "x\n")
    assert str(served.buffers.texts[path]) == "x\n"


async def test_a_write_based_on_a_forgotten_text_is_refused(served: AgentFiles) -> None:
    path = served.path("f")
    served.files = served.serve(AgentBases(max_bytes=1))
    served.buffers.open(path, "a\nb\n")
    await served.read("f")
    await served.write("f", "a\nB\n")  # still based on the text that was read
    served.buffers.open(path, "user\nB\n")
    assert await served.reason(served.write, "f", "a\nb\nc\n") == (-32603, "conflict")
    assert str(served.buffers.texts[path]) == "user\nB\n"
    await served.read("f")
    await served.write("f", "user\nB\nc\n")
    assert str(served.buffers.texts[path]) == "user\nB\nc\n"


async def test_a_write_without_a_change_makes_no_event(served: AgentFiles) -> None:
    (served.root / "f").write_bytes(b"a\r\nb")
    await served.write("f", "a\nb")
    served.buffers.open(served.path("g"), "a\n")
    await served.write("g", "a\n")
    assert not served.written
    assert not served.buffers.changes
    assert list(served.buffers.texts) == [served.path("g")]


async def test_reads_see_a_write_entirely_or_not_at_all(served: AgentFiles) -> None:
    path = served.path("f")
    old = "".join(f"{n}\n" for n in range(100))
    new = old.replace("10\n", "ten\n").replace("90\n", "ninety\n")
    served.buffers.open(path, old)
    seen: list[str] = []

    async def read_often() -> None:
        seen.extend([await served.read("f") for _ in range(20)])

    async with anyio.create_task_group() as group:
        group.start_soon(read_often)
        group.start_soon(served.write, "f", new)
        group.start_soon(read_often)
    assert set(seen) <= {old, new}
    assert seen[-1] == new
    assert not served.files.tracked[path].is_busy


async def test_writes_of_one_file_follow_each_other(served: AgentFiles) -> None:
    path = served.path("f")
    (served.root / "link").symlink_to(served.root / "f")
    served.buffers.open(path, "a\nb\nc\nd\ne\n")
    await served.read("f")
    async with anyio.create_task_group() as group:
        group.start_soon(served.write, "f", "A\nb\nc\nd\ne\n")
        group.start_soon(served.write, "link", "A\nb\nC\nd\ne\n")
        group.start_soon(served.write, "f", "A\nb\nC\nd\nE\n")
    assert str(served.buffers.texts[path]) == "A\nb\nC\nd\nE\n"
    assert len(served.written) == 3


async def test_the_last_write_wins_despite_a_slow_scan(
    served: AgentFiles,
) -> None:
    served.buffers.open(str(served.path("a.txt")), "one\n")
    looked = anyio.Event()
    first = True
    found: list[str] = []

    async def read() -> None:
        found.append(await served.read("a.txt"))

    async def look(_: str) -> None:
        nonlocal first
        if first:
            first = False
            await looked.wait()

    served.recorder.first.append(look)
    async with anyio.create_task_group() as tasks:
        for content in ("two\n", "three\n", "four\n"):
            tasks.start_soon(served.write, "a.txt", content)
        tasks.start_soon(read)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        looked.set()
    assert served.buffers.texts[str(served.path("a.txt"))] == parse("four\n")
    assert found == ["four\n"]


async def test_a_write_that_neovim_makes_is_recorded_if_its_request_ends(
    served: AgentFiles,
) -> None:
    """The agent may die while an autocommand takes its time."""
    served.buffers.open(served.path("f"), "a\nb\nc\n")
    await served.read("f")
    with anyio.CancelScope() as request:
        served.buffers.meanwhile = request.cancel
        await served.write("f", "A\nb\nC\n")
    assert str(served.buffers.texts[served.path("f")]) == "A\nb\nC\n"
    assert len(served.written) == 1


async def test_a_write_is_repeated_if_the_buffer_changed(served: AgentFiles) -> None:
    path = served.path("f")
    served.buffers.open(path, "a\nb\nc\n")
    await served.read("f")
    served.buffers.outcomes = [WriteResult("busy", "E565"), WriteResult("moved")]
    await served.write("f", "a\nb\nC\n")
    assert str(served.buffers.texts[path]) == "a\nb\nC\n"


async def test_a_buffer_that_always_changes_refuses_the_write(
    served: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_nvim.files.writes.agent_write.PATIENCE_S", 0.1)
    path = served.path("f")
    served.buffers.open(path, "a\nb\nc\n")
    served.buffers.meanwhile = lambda: served.buffers.open(path, "a\nb\nc\n")
    assert await served.reason(served.write, "f", "A\nb\nc\n") == (-32603, "failed")


async def test_a_user_who_keeps_the_buffer_busy_refuses_the_write(
    served: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_nvim.files.writes.agent_write.PATIENCE_S", 0.1)
    served.buffers.open(served.path("f"), "a\nb\nc\n")
    served.buffers.outcomes = [WriteResult("busy", "an operator of the user waits")] * 9
    assert await served.reason(served.write, "f", "A\nb\nc\n") == (-32603, "busy")
    assert str(served.buffers.texts[served.path("f")]) == "a\nb\nc\n"


@pytest.mark.parametrize("is_over", [False, True])
async def test_a_write_that_waits_is_refused_once_its_turn_is_cancelled(
    served: AgentFiles, is_over: bool
) -> None:
    """The turn may have ended, and the next one begun, before the next attempt."""

    def cancel() -> None:
        served.session.cancels += 1
        served.session.is_cancelling = not is_over

    served.buffers.open(served.path("f"), "a\nb\nc\n")
    served.buffers.outcomes = [WriteResult("busy", "an operator of the user waits")]
    served.buffers.meanwhile = cancel
    assert await served.reason(served.write, "f", "A\nb\nc\n") == (-32602, "denied")
    assert str(served.buffers.texts[served.path("f")]) == "a\nb\nc\n"
    served.buffers.meanwhile = lambda: None
    if is_over:
        await served.write("f", "A\nb\nc\n")
    else:
        assert await served.reason(served.write, "f", "A\nb\nc\n") == (-32602, "denied")


@pytest.mark.parametrize("reason", ["readonly", "conflict", "failed"])
async def test_a_refusal_of_the_editor_is_passed_on(served: AgentFiles, reason: Any) -> None:
    served.buffers.open(served.path("f"), "a\n")
    served.buffers.outcomes = [WriteResult(reason, "so it\nis")]
    assert await served.reason(served.write, "f", "b\n") == (-32603, reason)
    assert not served.written


async def test_a_stale_buffer_is_read_from_its_file(served: AgentFiles) -> None:
    path = served.path("f")
    (served.root / "f").write_text("from disk\n")
    served.buffers.open(path, "old\n")
    served.buffers.stale = True
    assert await served.read("f") == "from disk\n"
    served.buffers.open(path, "from disk\n")
    await served.write("f", "written\n")
    assert served.buffers.changes[0].is_synced


async def test_the_first_changed_line_is_the_location(served: AgentFiles) -> None:
    served.buffers.open(served.path("f"), "a\nb\nc\n")
    await served.write("f", "a\nb\nC\n")
    await served.write("new", "x\n")
    assert served.located == [(served.path("f"), 3), (served.path("new"), 1)]
    assert [(before is None, kind) for _, before, _, kind in served.written] == [
        (False, "modified"),
        (True, "created"),
    ]


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    assert place(str(tmp_path)).real == str(tmp_path.resolve())


async def test_the_answer_to_a_write_does_not_wait_for_the_review(tmp_path: Path) -> None:
    served = AgentFiles(tmp_path)
    path = served.path("a.txt")
    served.buffers.open(path, "one\n")
    texts: list[str] = []

    def answer(_: schema.WriteTextFileResponse) -> None:
        assert served.written == []
        texts.append(str(served.buffers.texts[path]))

    params = schema.WriteTextFileRequest("s1", path, "two\n")
    await served.files.write(served.session, params, answer)
    assert texts == ["two\n"]
    assert [args[0] for args in served.written] == [path]
