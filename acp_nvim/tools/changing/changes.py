"""The one way in which tools change files: a question with diffs, a merge into the live texts, and
pending hunks for review. All files are changed or none.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import Text, keys
from acp_nvim.files.bytes.paths import place
from acp_nvim.files.writes.agent_files import AgentFiles, Landed
from acp_nvim.files.writes.change_set import ChangeSets, FileChange, Seen
from acp_nvim.session.session import Session
from acp_nvim.tools.changing.change_ports import Permissions, Proposed, Run
from acp_nvim.tools.server.tool import Call, ToolError, ToolResult

LISTED: Final = 100
"""Files that an answer names; of more the rest is counted."""
AMENDED: Final = "the user changed your edit before they allowed it, so read the file again"


def absolute(session: Session, path: str) -> str:
    """A path of an argument, which may be relative to the session's directory."""
    return os.path.join(session.cwd, path)  # noqa: PTH118


def shown(session: Session, path: str) -> str:
    """A real path as answers have it: relative where it lies in the session's directory."""
    root, found = Path(os.path.realpath(session.cwd)), Path(path)
    return str(found.relative_to(root)) if found.is_relative_to(root) else path


def row_of(name: str, text: Text, line: int) -> int:
    """The 0-based row of a line. ToolError where the file has no such one."""
    if not 1 <= line <= len(text.lines):
        raise ToolError(f"{name} has {len(text.lines)} lines, there is no line {line}")
    return line - 1


class Changes:
    """Asks for changes and makes them."""

    def __init__(
        self,
        files: AgentFiles[Session],
        change_sets: ChangeSets[Session],
        permissions: Permissions,
    ) -> None:
        self._files = files
        self._change_sets = change_sets
        self._permissions = permissions

    async def seen(self, path: str, *, saved: bool = False) -> Seen:
        """The live text of a file (real path), or the saved one, for tools that do not show it.
        Refusal.
        """
        return await self._change_sets.seen(path, saved=saved)

    async def look(self, session: Session, path: str) -> Text:
        """The live text of an argument's file, for an answer about it: a guarded one is asked
        about. The agent has not read it. Refusal.
        """
        return (await self._files.look(session, absolute(session, path)))[1]

    async def shows(self, session: Session, path: str) -> bool:
        """Whether lines of a file (real path) may stand in an answer without a question."""
        return await self._files.guard.shows(session, path)

    async def make(
        self, call: Call, title: str, changes: Sequence[FileChange], *, knows: bool = False
    ) -> ToolResult:
        """Ask for the changes and make them. ``knows``: the agent has given the texts itself.

        ToolError where the user refuses, Refusal where a file may not or cannot be changed.
        """
        wanted = [it for it in changes if it.before != it.after or it.origin is not None]
        if not wanted:
            return ToolResult("nothing to change", {"files": []}, summary="nothing to change")
        session = call.session
        guarded = await self._guarded(session, wanted)
        await self._change_sets.check(wanted)
        proposed = Proposed(title, wanted, guarded, shown=call.shown)
        async with self._permissions.asked(session, proposed) as refused:
            if refused:
                raise ToolError(refused)
            landed = await self._change_sets.carry_out(session, wanted, knows=knows)
        return _result(session, wanted, landed)

    async def run(
        self,
        call: Call,
        title: str,
        path: str,
        runs: Run,
        work: Callable[[], Awaitable[Sequence[FileChange]]],
    ) -> ToolResult:
        """Ask for commands that compute changes, under a title and the real path of a file; run
        them and make the changes. A file that is always asked about is refused, and one that a
        rule denies.
        """
        session = call.session
        found: list[FileChange] = []
        landed: list[Landed] = []
        proposed = Proposed(title, path=path, runs=runs, shown=call.shown)
        async with self._permissions.asked(session, proposed) as refused:
            if refused:
                raise ToolError(refused)
            found += await work()
            for guarded, why in (await self._guarded(session, found)).items():
                raise ToolError(f"{shown(session, guarded)}: {why}, so the user has to be asked")
            if forbidden := self._permissions.forbidden(session, found):
                raise ToolError(forbidden)
            landed += await self._change_sets.carry_out(session, found, knows=False)
        if not found:
            return ToolResult("done; no file was changed", {"files": []}, summary="no file changed")
        return _result(session, found, landed)

    async def _guarded(self, session: Session, changes: Sequence[FileChange]) -> Mapping[str, str]:
        """The files that are always asked about. Refusal for one that an option forbids."""
        found: dict[str, str] = {}
        for path in {path: None for it in changes for path in (it.path, it.origin) if path}:
            _, why = await self._files.guard.needed(session, "write", path)
            if why is not None:
                found[path] = why
        return found


def real_path(session: Session, path: str) -> str:
    """The real path of an argument. Refusal for one that no file can have."""
    return place(absolute(session, path)).real


# -- answers --------------------------------------------------------------------------------------


def _result(session: Session, wanted: Sequence[FileChange], landed: Sequence[Landed]) -> ToolResult:
    origins = {it.path: it.origin for it in wanted if it.origin is not None}
    done: dict[str, list[Landed]] = {}
    for one in landed:
        done.setdefault(one.path, []).append(one)
    files = [_file(session, path, its, origins.get(path)) for path, its in done.items()]
    lines = [_line(one) for one in files[:LISTED]]
    if len(files) > LISTED:
        lines.append(f"... and {len(files) - LISTED} files more")
    text = "\n".join(lines) or "nothing to change: the files are like that already"
    return ToolResult(text, {"files": files[:LISTED]}, summary=_summary(files))


def _file(
    session: Session, path: str, landed: Sequence[Landed], origin: str | None
) -> dict[str, Any]:
    before, after = landed[0].before, landed[-1].after
    hunks = diff(keys(before), keys(after))
    kind = "moved" if origin else "created" if before is None else "edited"
    found: dict[str, Any] = {
        "path": shown(session, path),
        "kind": "deleted" if after is None else kind,
        "added": sum(len(hunk.lines) for hunk in hunks),
        "removed": sum(hunk.end - hunk.start for hunk in hunks),
    }
    if origin:
        found["from"] = shown(session, origin)
    if any(one.amended for one in landed):
        found["amended"] = True
    return found


def _line(one: Mapping[str, Any]) -> str:
    origin = f" from {one['from']}" if "from" in one else ""
    counts = f": +{one['added']} -{one['removed']}" if one["added"] or one["removed"] else ""
    amended = f"; {AMENDED}" if "amended" in one else ""
    return f"{one['kind']} {one['path']}{origin}{counts}, pending review{amended}"


def _summary(files: Sequence[Mapping[str, Any]]) -> str:
    if len(files) != 1:
        return f"{len(files)} files"
    return f"{files[0]['path']} +{files[0]['added']} -{files[0]['removed']}"
