"""What files answer, with buffers that are plain objects: policy, merge, memory, order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.edits.agent_bases import AgentBases
from acp_nvim.edits.hunks import apply
from acp_nvim.edits.text import Text, parse
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RequestError
from acp_nvim.workspace.agent_files import FileOptions, Files, FileSession
from acp_nvim.workspace.disk import read as read_disk
from acp_nvim.workspace.paths import Place, place
from acp_nvim.workspace.ports import BufferText, Change, Closed, Written
from tests.support.livefiles import Session


class FakeBuffers:
    """Texts by path. `meanwhile` runs in the middle of each write."""

    def __init__(self) -> None:
        self.texts: dict[str, Text] = {}
        self.ticks: dict[str, int] = {}
        self.outcomes: list[Written] = []
        self.changes: list[Change] = []
        self.stale = False
        self.meanwhile: Callable[[], Any] = lambda: None

    def open(self, path: str, content: str) -> None:
        self.texts[path] = parse(content)
        self.ticks[path] = self.ticks.get(path, 0) + 1

    def live(self, path: str) -> BufferText:
        text = self.texts[path]
        return BufferText(1, self.ticks[path], text, text, stale=self.stale)

    async def read(self, where: Place) -> BufferText | Closed:
        await anyio.lowlevel.checkpoint()
        return self.live(where.real) if where.real in self.texts else Closed()

    async def load(self, where: Place, layout: object = None) -> BufferText | Closed:
        del layout
        if where.real not in self.texts:
            self.open(where.real, (read_disk(where, 1 << 20) or b"").decode())
        return self.live(where.real)

    async def write(self, live: BufferText, change: Change) -> Written:
        self.meanwhile()
        (path,) = [p for p, text in self.texts.items() if text.lines is live.text.lines] or [""]
        if not path or self.ticks[path] != live.tick:
            return Written("moved")
        if self.outcomes:
            return self.outcomes.pop(0)
        self.changes.append(change)
        half = len(change.hunks) // 2
        self.open(path, str(Text(tuple(apply(live.text.lines, change.hunks[half:])), change.eol)))
        await anyio.lowlevel.checkpoint()
        self.open(path, str(Text(tuple(apply(live.text.lines, change.hunks)), change.eol)))
        return Written("done", "", True, self.live(path))


class Served:
    def __init__(self, root: Path, **options: Any) -> None:
        self.root = root
        self.buffers = FakeBuffers()
        self.asked: list[tuple[str, str, str]] = []
        self.answer = True
        self.located: list[tuple[str, int | None]] = []
        self.written: list[tuple[str, Text | None, Text, str]] = []
        self.files = Files(
            self.buffers,
            FileOptions(**options),
            self.ask,
            lambda _session, path, line: self.located.append((path, line)),
            lambda _session, *args: self.written.append(args),
        )
        self.session: FileSession = Session(str(root))

    async def ask(self, _session: FileSession, verb: str, where: Place, reason: str) -> bool:
        self.asked.append((verb, where.path, reason))
        return self.answer

    def path(self, name: str) -> str:
        return name if name.startswith("/") else f"{self.root}/{name}"

    async def read(self, name: str, line: int | None = None, limit: int | None = None) -> str:
        params = schema.ReadTextFileRequest("s1", self.path(name), line, limit)
        return (await self.files.read(self.session, params)).content

    async def write(self, name: str, content: str) -> None:
        params = schema.WriteTextFileRequest("s1", self.path(name), content)
        await self.files.write(self.session, params)

    async def reason(self, act: Callable[..., Any], *args: Any) -> tuple[int, str]:
        with pytest.raises(RequestError) as caught:
            await act(*args)
        assert caught.value.data["path"] == self.path(args[0])
        assert caught.value.message.isprintable()
        return caught.value.code, caught.value.data["reason"]


@pytest.fixture
def served(tmp_path: Path) -> Served:
    root = tmp_path / "work"
    root.mkdir()
    return Served(root.resolve())


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
    served: Served, line: int | None, limit: int | None, expected: str, is_open: bool
) -> None:
    (served.root / "f").write_text("a\nb\nc\n")
    if is_open:
        served.buffers.open(served.path("f"), "a\nb\nc\n")
    assert await served.read("f", line, limit) == expected
    assert served.located == [(served.path("f"), line)]


async def test_only_the_last_line_lacks_the_newline(served: Served) -> None:
    (served.root / "f").write_text("a\nb")
    assert await served.read("f") == "a\nb"
    assert await served.read("f", 2) == "b"
    assert await served.read("f", 1, 1) == "a\n"


async def test_refusals_of_reads(served: Served) -> None:
    root = served.root
    (root / "d").mkdir()
    (root / "bin").write_bytes(b"a\0b")
    (root / "big").write_text("x" * 2000)
    (root / "loop").symlink_to(root / "loop")
    served.files.options.message_bytes = 1000
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


async def test_refusals_of_writes(served: Served) -> None:
    root = served.root
    (root / "d").mkdir()
    (root / "bin").write_bytes(b"a\0b")
    cases = {
        "d": (-32602, "directory"),
        "d/": (-32602, "directory"),
        "new/": (-32602, "directory"),
        "bin": (-32602, "binary"),
        "/dev/null": (-32603, "failed"),
    }
    for name, expected in cases.items():
        assert await served.reason(served.write, name, "x\n") == expected, name
    assert (root / "bin").read_bytes() == b"a\0b"
    assert not served.written


@pytest.mark.parametrize("policy", ["ask", "deny", "allow"])
@pytest.mark.parametrize("answer", [True, False])
async def test_the_policy_for_what_is_outside(served: Served, policy: Any, answer: bool) -> None:
    outside = served.root.parent / "outside"
    outside.write_text("x\n")
    (served.root / "link").symlink_to(outside)
    served.files.options.outside = policy
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


async def test_secret_files_always_ask(served: Served) -> None:
    served.files.options.outside = "allow"
    served.files.options.secret = ["**/.env"]
    (served.root / ".env").write_text("x\n")
    assert await served.read(".env") == "x\n"
    served.answer = False
    assert await served.reason(served.read, ".env") == (-32602, "denied")
    assert await served.reason(served.write, "/elsewhere/.env", "y") == (-32602, "denied")
    assert [reason for *_, reason in served.asked] == ["secret"] * 3


async def test_a_guarded_path_does_not_tell_whether_it_exists(served: Served) -> None:
    served.files.options.outside = "deny"
    for name in ("/etc/passwd", "/etc/nothing", "/etc"):
        assert await served.reason(served.read, name) == (-32602, "outside")


async def test_the_base_is_what_this_session_last_read(served: Served) -> None:
    path = served.path("f")
    served.buffers.open(path, "a\nb\nc\nd\ne\n")
    assert await served.read("f", 2, 1) == "b\n"
    served.buffers.open(path, "a\nb\nc\nd\nuser\n")
    await served.write("f", "agent\nb\nc\nd\ne\n")
    assert str(served.buffers.texts[path]) == "agent\nb\nc\nd\nuser\n"
    await served.write("f", "agent\nb\nC\nd\ne\n")  # it still has not seen the user's line
    assert str(served.buffers.texts[path]) == "agent\nb\nC\nd\nuser\n"
    assert await served.reason(served.write, "f", "agent\nb\nC\nd\nmine\n") == (-32603, "conflict")
    served.session = Session(str(served.root), session_id="another")
    await served.write("f", "all\nnew\n")
    assert str(served.buffers.texts[path]) == "all\nnew\n"
    served.files.forget("s1")
    served.session = Session(str(served.root))
    await served.write("f", "x\n")
    assert str(served.buffers.texts[path]) == "x\n"


async def test_a_write_to_a_text_that_nobody_has_any_more_is_refused(served: Served) -> None:
    path = served.path("f")
    served.files.agent_bases = AgentBases(max_bytes=1)
    served.buffers.open(path, "a\nb\n")
    await served.read("f")
    await served.write("f", "a\nB\n")  # still the one that was read
    served.buffers.open(path, "user\nB\n")
    assert await served.reason(served.write, "f", "a\nb\nc\n") == (-32603, "conflict")
    assert str(served.buffers.texts[path]) == "user\nB\n"
    await served.read("f")
    await served.write("f", "user\nB\nc\n")
    assert str(served.buffers.texts[path]) == "user\nB\nc\n"


async def test_a_write_that_changes_nothing_is_told_to_nobody(served: Served) -> None:
    (served.root / "f").write_bytes(b"a\r\nb")
    await served.write("f", "a\nb")
    served.buffers.open(served.path("g"), "a\n")
    await served.write("g", "a\n")
    assert not served.written
    assert not served.buffers.changes
    assert list(served.buffers.texts) == [served.path("g")]


async def test_reads_see_a_write_whole_or_not_at_all(served: Served) -> None:
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
    assert not served.files._turns


async def test_writes_of_one_file_follow_each_other(served: Served) -> None:
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


async def test_the_write_that_came_last_stands_whatever_is_looked_at_before(
    served: Served,
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

    served.files.look_first = look
    async with anyio.create_task_group() as tasks:
        for content in ("two\n", "three\n", "four\n"):
            tasks.start_soon(served.write, "a.txt", content)
        tasks.start_soon(read)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        looked.set()
    assert served.buffers.texts[str(served.path("a.txt"))] == parse("four\n")
    assert found == ["four\n"]


async def test_a_write_starts_anew_when_the_buffer_moved(served: Served) -> None:
    path = served.path("f")
    served.buffers.open(path, "a\nb\nc\n")
    await served.read("f")
    served.buffers.outcomes = [Written("busy", "E565"), Written("moved")]
    await served.write("f", "a\nb\nC\n")
    assert str(served.buffers.texts[path]) == "a\nb\nC\n"


async def test_a_buffer_that_never_rests_is_an_answer_too(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_nvim.workspace.agent_write.PATIENCE_S", 0.1)
    path = served.path("f")
    served.buffers.open(path, "a\nb\nc\n")
    served.buffers.meanwhile = lambda: served.buffers.open(path, "a\nb\nc\n")
    assert await served.reason(served.write, "f", "A\nb\nc\n") == (-32603, "failed")


@pytest.mark.parametrize("reason", ["readonly", "conflict", "failed"])
async def test_what_the_editor_refuses_is_refused(served: Served, reason: Any) -> None:
    served.buffers.open(served.path("f"), "a\n")
    served.buffers.outcomes = [Written(reason, "so it\nis")]
    assert await served.reason(served.write, "f", "b\n") == (-32603, reason)
    assert not served.written


async def test_a_stale_buffer_is_read_from_its_file(served: Served) -> None:
    path = served.path("f")
    (served.root / "f").write_text("from disk\n")
    served.buffers.open(path, "old\n")
    served.buffers.stale = True
    assert await served.read("f") == "from disk\n"
    served.buffers.open(path, "from disk\n")
    await served.write("f", "written\n")
    assert served.buffers.changes[0].synced


async def test_the_first_changed_line_is_the_location(served: Served) -> None:
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


async def test_the_answer_to_a_write_waits_for_no_review(tmp_path: Path) -> None:
    served = Served(tmp_path)
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
