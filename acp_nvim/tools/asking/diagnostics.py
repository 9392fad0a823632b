"""Tool `nvim_diagnostics`: diagnostics of language servers and linters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from acp_nvim.session.session import Session
from acp_nvim.tools import files
from acp_nvim.tools.asking.places import count_with_noun, more_line
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.ports import Diagnostic, Diagnostics, Editor
from acp_nvim.tools.server.fields import Limit, Path, WaitMs
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult

SEVERITIES = ("error", "warning", "info", "hint")


class DiagnosticsArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_diagnostics`."""

    path: Annotated[Path | None, Meta(description="One file; without it, the whole workspace")] = (
        None
    )
    severity: Annotated[
        Literal["error", "warning", "info", "hint"], Meta(description="Minimum severity")
    ] = "hint"
    since: Annotated[
        Literal["turn", "all"],
        Meta(description="turn: only what your edits in this turn added and removed"),
    ] = "all"
    wait_ms: WaitMs = 1500
    limit: Limit = 100


class DiagnosticsTool:
    """Tool for the diagnostics of the editor."""

    def __init__(self, editor: Editor, files: ToolFiles) -> None:
        self._editor = editor
        self._files = files

    async def diagnostics(self, call: Call, args: DiagnosticsArguments) -> ToolResult:
        """Return the diagnostics of a file or the workspace, or the changes to them in the turn."""
        session, real = call.session, None
        if args.path is not None:
            real = (await self._files.allow(session, args.path)).real
        diagnostics = await self._editor.diagnostics(
            session,
            real,
            severity=SEVERITIES.index(args.severity) + 1,
            turn=args.since == "turn",
            wait_ms=args.wait_ms,
            limit=args.limit,
        )
        if (
            real is None
            and not diagnostics.has_server
            and not (diagnostics.items or diagnostics.removed)
        ):
            raise ToolError("no language server is running here: give the path of a file")
        return self._result(session, args, real, diagnostics)

    def _result(
        self,
        session: Session,
        args: DiagnosticsArguments,
        real: str | None,
        diagnostics: Diagnostics,
    ) -> ToolResult:
        items = [
            diagnostic
            for diagnostic in diagnostics.items
            if self._is_allowed(session, diagnostic, real)
        ]
        removed = [
            diagnostic
            for diagnostic in diagnostics.removed
            if self._is_allowed(session, diagnostic, real)
        ]
        is_for_turn = args.since == "turn"
        lines = (
            _turn_lines(session, diagnostics, items, removed)
            if is_for_turn
            else _all_lines(session, diagnostics, items)
        )
        structured = {
            "diagnostics": [_diagnostic_table(session, diagnostic) for diagnostic in items],
            "more": (diagnostics.added_count if is_for_turn else sum(diagnostics.counts.values()))
            - len(diagnostics.items),
        }
        if is_for_turn:
            structured["removed"] = [
                _diagnostic_table(session, diagnostic) for diagnostic in removed
            ]
        summary = _summary(session, diagnostics, real, is_for_turn)
        return ToolResult(
            "\n".join([*lines, *_notes(session, diagnostics)]), structured, summary, real
        )

    def _is_allowed(self, session: Session, diagnostic: Diagnostic, asked: str | None) -> bool:
        """Return whether the agent may see a file's diagnostics, which quote the file."""
        return diagnostic.path == asked or self._files.may_list(session, diagnostic.path)


def _diagnostic_table(session: Session, diagnostic: Diagnostic) -> dict[str, Any]:
    diagnostics = msgspec.structs.asdict(diagnostic) | {
        "path": files.display_path(session, diagnostic.path)
    }
    return {key: value for key, value in diagnostics.items() if value is not None}


def _diagnostic_text(diagnostic: Diagnostic) -> str:
    origin = " ".join(filter(None, (diagnostic.source, diagnostic.code)))
    return f"{diagnostic.severity}: {files.cut_line(diagnostic.message)}" + (
        f" [{origin}]" if origin else ""
    )


def _diagnostic_line(session: Session, diagnostic: Diagnostic) -> str:
    place = f"{files.display_path(session, diagnostic.path)}:{diagnostic.line}:{diagnostic.column}"
    return f"{place} {_diagnostic_text(diagnostic)}"


def _all_lines(
    session: Session, diagnostics: Diagnostics, items: Sequence[Diagnostic]
) -> list[str]:
    more = sum(diagnostics.counts.values()) - len(diagnostics.items)
    lines = [_diagnostic_line(session, diagnostic) for diagnostic in items]
    return [*lines, *more_line(more)] or ["no known problems"]


def _turn_lines(
    session: Session,
    diagnostics: Diagnostics,
    items: Sequence[Diagnostic],
    removed: Sequence[Diagnostic],
) -> list[str]:
    lines = [f"+ {_diagnostic_line(session, diagnostic)}" for diagnostic in items]
    lines += more_line(diagnostics.added_count - len(diagnostics.items))
    lines += [
        f"- {files.display_path(session, diagnostic.path)} {_diagnostic_text(diagnostic)}"
        for diagnostic in removed
    ]
    lines += more_line(diagnostics.removed_count - len(diagnostics.removed))
    return lines or ["no diagnostics were added or removed in this turn"]


def _notes(session: Session, diagnostics: Diagnostics) -> list[str]:
    """Return notes for the model about servers that have not reported or are missing."""
    notes = []
    if diagnostics.silent:
        who = ", ".join(diagnostics.silent)
        notes.append(f"({who} has not reported on the last change yet, so some may be out of date)")
    if diagnostics.unknown:
        names = ", ".join(files.display_path(session, path) for path in diagnostics.unknown)
        notes.append(
            f"(files not open when the turn began, so all their diagnostics are listed: {names})"
        )
    return notes


def _summary(session: Session, diagnostics: Diagnostics, real: str | None, turn: bool) -> str:
    where = "" if real is None else f" in {files.display_path(session, real)}"
    if turn:
        return f"{diagnostics.added_count} added, {diagnostics.removed_count} removed{where}"
    counts = [
        count_with_noun(diagnostics.counts[name], name)
        for name in SEVERITIES
        if diagnostics.counts.get(name)
    ]
    return (", ".join(counts) or "no problems") + where


def diagnostics_tools(editor: Editor, files: ToolFiles) -> list[Tool[Any]]:
    return [
        Tool(
            "nvim_diagnostics",
            "Diagnostics",
            "Errors and warnings from language servers and linters, including unsaved text. "
            "Call this after an edit instead of running a compiler or linter. since=turn "
            "returns what your edits added and removed. "
            'Example: {"path": "app.py", "severity": "warning"}',
            DiagnosticsArguments,
            DiagnosticsTool(editor, files).diagnostics,
            timeout_s=None,
        )
    ]
