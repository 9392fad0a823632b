"""File changes by tools: ask the user with diffs, merge into the live texts, add pending hunks.

All tools change files through this module. A call changes all of its files or none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import Text, keys
from acp_nvim.files.bytes.paths import place
from acp_nvim.files.writes.agent_files import AgentFiles, WrittenFile
from acp_nvim.files.writes.change_set import ChangeSets, FileChange, LiveText
from acp_nvim.session.session import Session
from acp_nvim.tools.changing.change_ports import Permissions, ProposedChanges, Run
from acp_nvim.tools.files import absolute, display_path
from acp_nvim.tools.server.tool import Call, ToolError, ToolResult

MAX_LISTED: Final = 100
"""Number of files that an answer names. The others are counted."""
AMENDED: Final = "the user changed your edit before they allowed it, so read the file again"


def row_of(name: str, text: Text, line: int) -> int:
    """Return the 0-based row of a line. Raise ToolError if the file has no such line."""
    if not 1 <= line <= len(text.lines):
        raise ToolError(f"{name} has {len(text.lines)} lines; there is no line {line}")
    return line - 1


class Changes:
    """File changes by tools, made once the user agrees."""

    def __init__(
        self,
        files: AgentFiles[Session],
        change_sets: ChangeSets[Session],
        permissions: Permissions,
    ) -> None:
        self._files = files
        self._change_sets = change_sets
        self._permissions = permissions

    async def current(self, path: str, *, saved: bool = False) -> LiveText:
        """Return the live or saved text of a file (real path) for tools that do not quote it.

        Raise Refusal.
        """
        return await self._change_sets.live_text(path, saved=saved)

    async def read(self, session: Session, path: str) -> Text:
        """Return the live text of a file that an argument names, for use in an answer.

        A guarded file requires a question. The text does not count as read by the agent. Raise
        Refusal.
        """
        return (await self._files.locate(session, absolute(session, path)))[1]

    async def may_quote(self, session: Session, path: str) -> bool:
        """Return whether an answer may quote a file (real path) without asking the user."""
        return await self._files.guard.may_show(session, path)

    async def ask_and_make(
        self, call: Call, title: str, changes: Sequence[FileChange], *, is_known: bool = False
    ) -> ToolResult:
        """Ask the user to allow the changes, then make them.

        `is_known` is true if the agent itself wrote the new texts. Raise ToolError if the user
        refuses, and Refusal if a file may not or cannot be changed.
        """
        wanted = [
            change
            for change in changes
            if change.before != change.after or change.origin is not None
        ]
        if not wanted:
            return ToolResult("nothing to change", {"files": []}, summary="nothing to change")
        session = call.session
        guarded = await self._guarded_files(session, wanted)
        await self._change_sets.check(wanted)
        proposed = ProposedChanges(title, wanted, guarded, agent_call=call.agent_call)
        async with self._permissions.ask(session, proposed) as refused:
            if refused:
                raise ToolError(refused)
            written = await self._change_sets.carry_out(session, wanted, is_known=is_known)
        return _result(session, wanted, written)

    async def ask_and_run(
        self,
        call: Call,
        title: str,
        path: str,
        runs: Run,
        work: Callable[[], Awaitable[Sequence[FileChange]]],
    ) -> ToolResult:
        """Ask the user to allow commands, run them, and make the changes that they compute.

        `path` is the real path of the affected file. Raise ToolError if the changes include a
        file that always requires a question or that a rule denies.
        """
        session = call.session
        changes: list[FileChange] = []
        written: list[WrittenFile] = []
        proposed = ProposedChanges(title, path=path, runs=runs, agent_call=call.agent_call)
        async with self._permissions.ask(session, proposed) as refused:
            if refused:
                raise ToolError(refused)
            changes += await work()
            for guarded, why in (await self._guarded_files(session, changes)).items():
                raise ToolError(
                    f"{display_path(session, guarded)}: {why}, so the user has to be asked"
                )
            if forbidden := self._permissions.forbidden(session, changes):
                raise ToolError(forbidden)
            written += await self._change_sets.carry_out(session, changes, is_known=False)
        if not changes:
            return ToolResult("done; no file was changed", {"files": []}, summary="no file changed")
        return _result(session, changes, written)

    async def _guarded_files(
        self, session: Session, changes: Sequence[FileChange]
    ) -> Mapping[str, str]:
        """Return the files that always require a question. Raise Refusal for a forbidden file."""
        files: dict[str, str] = {}
        for path in {
            path: None for change in changes for path in (change.path, change.origin) if path
        }:
            _, why = await self._files.guard.reason_to_ask(session, "write", path)
            if why is not None:
                files[path] = why
        return files


def real_path(session: Session, path: str) -> str:
    """Return the real path of a path argument. Raise Refusal for an invalid path."""
    return place(absolute(session, path)).real


# -- answers --------------------------------------------------------------------------------------


def _result(
    session: Session, wanted: Sequence[FileChange], written: Sequence[WrittenFile]
) -> ToolResult:
    origins = {change.path: change.origin for change in wanted if change.origin is not None}
    written_by_path: dict[str, list[WrittenFile]] = {}
    for change in written:
        written_by_path.setdefault(change.path, []).append(change)
    files = [
        _file_table(session, path, parts, origins.get(path))
        for path, parts in written_by_path.items()
    ]
    lines = [_file_line(file) for file in files[:MAX_LISTED]]
    if len(files) > MAX_LISTED:
        lines.append(f"... and {len(files) - MAX_LISTED} more files")
    text = "\n".join(lines) or "nothing to change: the files already have this text"
    return ToolResult(text, {"files": files[:MAX_LISTED]}, summary=_summary(files))


def _file_table(
    session: Session, path: str, written: Sequence[WrittenFile], origin: str | None
) -> dict[str, Any]:
    before, after = written[0].before, written[-1].after
    hunks = diff(keys(before), keys(after))
    kind = "moved" if origin else "created" if before is None else "edited"
    table: dict[str, Any] = {
        "path": display_path(session, path),
        "kind": "deleted" if after is None else kind,
        "added": sum(len(hunk.lines) for hunk in hunks),
        "removed": sum(hunk.end - hunk.start for hunk in hunks),
    }
    if origin:
        table["from"] = display_path(session, origin)
    if any(file.is_amended for file in written):
        table["amended"] = True
    return table


def _file_line(file: Mapping[str, Any]) -> str:
    origin = f" from {file['from']}" if "from" in file else ""
    counts = f": +{file['added']} -{file['removed']}" if file["added"] or file["removed"] else ""
    amended = f"; {AMENDED}" if "amended" in file else ""
    return f"{file['kind']} {file['path']}{origin}{counts}, pending review{amended}"


def _summary(files: Sequence[Mapping[str, Any]]) -> str:
    if len(files) != 1:
        return f"{len(files)} files"
    return f"{files[0]['path']} +{files[0]['added']} -{files[0]['removed']}"
