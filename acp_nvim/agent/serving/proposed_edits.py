"""Proposed edits of permissions, and the user's amendments to them.

The user may amend the edits in diff mode before allowing them. If the agent then writes through the
editor in the same turn, the amendment becomes part of that write. If the agent writes the file
itself, the amendment is merged into the file at the end of the turn. The next prompt reports all
amendments to the agent, including those that could not be written.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.agent.prompts.comments import Comments
from acp_nvim.edits import unified
from acp_nvim.edits.agent_bases import ChangeKind
from acp_nvim.edits.patch import FilePatch
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes import disk
from acp_nvim.files.bytes.file_format import clean
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.files import Files
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.files.writes.file_writer import FileWriter, Refused
from acp_nvim.protocol import schema, updates
from acp_nvim.protocol.fence import fence_text
from acp_nvim.render.rows import cut_middle
from acp_nvim.render.text import path_line, remote_path, visible
from acp_nvim.session.calls.named_files import resolve
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import effects
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.questions.patches import patches_of
from acp_nvim.session.questions.proposals import (
    Change,
    PlacedPatch,
    Proposal,
    amended_text,
    changes_of,
    merge_amendment,
    pieces,
    propose,
    propose_patches,
)
from acp_nvim.session.session import Session


class Amendment(msgspec.Struct):
    """The user's version of one file of an allowed permission.

    Once the agent begins to write, `agent_text` is the agent's text and `replacement` the text
    written instead. `is_in_file` is set when the file has the replacement.
    """

    proposal: Proposal
    text: Text
    agent_text: Text | None = None
    replacement: Text | None = None
    is_in_file: bool = False


class ProposedEdits:
    """Proposals of pending permissions, and the user's amendments to them (port `Amendments`)."""

    def __init__(self, files: Files, live: LiveTexts, comments: Comments) -> None:
        self._files = files
        self._live = live
        self._comments = comments
        self._shown: dict[Decision, dict[str, Proposal]] = {}
        """Proposals of each pending permission, by path."""
        self._made: dict[int, list[Amendment]] = {}
        """Amendments that the agent has not written yet, by session."""
        self._writer = FileWriter(files)

    # -- proposals --------------------------------------------------------------------------------

    async def show(self, session: Session, decision: Decision) -> list[Proposal]:
        """Return the proposals, and store them as the texts that the user may amend."""
        proposals = await self.proposals(session, decision)
        if decision.outcome is None:
            if decision not in self._shown:
                decision.waiters.append(lambda _: self._forget(decision))
            self._shown[decision] = {proposal.path: proposal for proposal in proposals}
        return proposals

    async def proposals(self, session: Session, decision: Decision) -> list[Proposal]:
        """Return the files that a requested call would write, with their texts before and after."""
        by_path: dict[str, list[Change]] = {}
        for change in _changes(session, decision):
            by_path.setdefault(_real(session.cwd, change.path), []).append(change)
        proposed = [await self._proposal(session, *item) for item in by_path.items()]
        return proposed + await self._patch_proposals(session, decision, by_path)

    async def check(self, session: Session, decision: Decision) -> None:
        """Show in the question of a permission why its patches do not apply."""
        sources = proposal_sources(session, decision)
        diffs = {_real(session.cwd, change.path) for change in _changes(session, decision)}
        proposals = await self._patch_proposals(session, decision, diffs)
        if has_other_sources(session, decision, sources):
            return  # the next question starts another check
        cwd = session.cwd
        problems = [
            f"{_name(cwd, proposal.path)}: {proposal.problem}"
            for proposal in proposals
            if proposal.problem
        ]
        if problems != decision.problems and decision.outcome is None:
            decision.problems = problems
            decision.redraw()
            session.change(decision.listed)

    async def _patch_proposals(
        self, session: Session, decision: Decision, others: Container[str]
    ) -> list[Proposal]:
        """Return the proposals from a request's patches, except for the files in `others`."""
        cwd = (decision.asker or session).cwd
        placed = [
            PlacedPatch(patch, _real(cwd, patch.path), patch.origin and _real(cwd, patch.origin))
            for patch in _patches(session, decision)
        ]
        placed = [patch for patch in placed if patch.path not in others]
        live: dict[str, Text | None] = {}
        unread: list[Proposal] = []
        for path in dict.fromkeys(path for patch in placed for path in (patch.path, patch.origin)):
            if path is None:
                continue
            try:
                live[path] = await self._live.text(path)
            except Refusal as error:
                unread.append(Proposal(path, EMPTY, EMPTY, is_whole=False, problem=str(error)))
        readable = [
            patch for patch in placed if {patch.path, patch.origin or patch.path} <= live.keys()
        ]
        # In a thread, because the search for hunks takes time.
        return unread + await to_thread.run_sync(propose_patches, readable, live)

    def _forget(self, decision: Decision) -> None:
        del self._shown[decision]

    async def _proposal(self, session: Session, path: str, changes: list[Change]) -> Proposal:
        if remote_path(path) is not None:
            return pieces(path, changes)
        try:
            live = await self._live.text(path)
            known = [self._files.bases.last_seen(session.key, path), await self._saved_text(path)]
        except Refusal:
            return pieces(path, changes)  # no text
        return propose(path, live, changes, [text for text in known if text is not None])

    async def _saved_text(self, path: str) -> Text | None:
        """Return the text on disk if the buffer is modified, otherwise None.

        Agents that read the disk see that text.
        """
        live = self._files.buffers.get(path)
        if live is None or not live.is_modified:
            return None
        limit, place = self._files.options().message_bytes, Place(path, path)
        return await to_thread.run_sync(disk.saved_text, place, limit, live.format)

    # -- amendments -------------------------------------------------------------------------------

    def on_answer(self, session: Session, decision: Decision, texts: Mapping[str, str]) -> None:
        """Store the user's versions of the proposed files, just before the permission is allowed.

        `texts` are the versions by path.
        """
        shown = self._shown.get(decision, {})
        for path, proposal in shown.items():
            content = texts.get(path)
            text = proposal.text if content is None else clean(amended_text(proposal.text, content))
            if text != proposal.text:
                self._made.setdefault(session.n, []).append(Amendment(proposal, text))

    def _open_amendments(self, session: Session, real: str) -> Iterator[Amendment]:
        for amendment in self._made.get(session.n, ()):
            proposal = amendment.proposal
            if proposal.path == real and proposal.is_whole and not amendment.is_in_file:
                yield amendment

    def apply(self, session: Session, real: str, text: Text) -> Text:
        """Apply the oldest open amendment of a file to a write. Return the text to write.

        The amendment records both texts.
        """
        amendment = next(self._open_amendments(session, real), None)
        if amendment is None:
            return text
        amendment.agent_text = text
        amendment.replacement = merge_amendment(amendment.proposal.text, amendment.text, text)
        return amendment.replacement

    def on_written(self, session: Session, real: str) -> None:
        for amendment in self._open_amendments(session, real):
            amendment.is_in_file = True
            return

    # -- end of a turn ----------------------------------------------------------------------------

    async def on_turn_end(self, session: Session, scan: Callable[[str], Awaitable[None]]) -> None:
        """Merge the remaining amendments into the files that the agent wrote itself.

        Add all amendments to the next prompt.
        """
        made = self._made.get(session.n)
        if not made:
            return
        paths = [amendment.proposal.path for amendment in made]
        for path in dict.fromkeys(paths):
            await scan(path)
        async with self._live.hold(*paths):
            del self._made[session.n]
            for amendment in made:
                has_amendment = amendment.is_in_file and await self._has_amendment(amendment)
                await self._report_to_agent(
                    session, amendment, has_amendment or await self._merge(amendment)
                )

    async def _merge(self, amendment: Amendment) -> bool:
        """Merge an amendment into the agent's text and write the result to the file.

        Record the result in the ledger as an edit by the user, in the checkpoints and in the
        amendment. Return whether the file has the amendment now. Return False if the agent wrote
        nothing or the file cannot be written.
        """
        proposal = amendment.proposal
        path, files = proposal.path, self._files
        if not proposal.is_whole:
            return False
        try:
            live = await self._live.sync(path)
            if live is None or live == proposal.base:
                return False
            after = merge_amendment(proposal.text, amendment.text, live)
            if after != live:
                async with self._live.as_one_change([path], ChangeKind.TYPED):
                    await self._writer.write(path, live, after)
        except (Refused, Refusal):
            return False
        amendment.agent_text, amendment.replacement = live, after
        files.ledger.record_user_edit(path, after)
        files.checkpoints.record(path, live, after, agent=False)
        files.pending_view.refresh(path)
        return True

    async def _report_to_agent(self, session: Session, amendment: Amendment, is_kept: bool) -> None:
        path, before, after = amendment.proposal.path, amendment.proposal.text, amendment.text
        if is_kept and amendment.agent_text is not None and amendment.replacement is not None:
            before, after = amendment.agent_text, amendment.replacement
        name = _name(session.cwd, path)
        patch = await to_thread.run_sync(unified.format_patch, name, before, after)
        if not patch:
            return
        self._comments.note(session.n, fence_text((KEPT if is_kept else LOST).format(name), patch))
        words = KEPT_SHOWN if is_kept else LOST_SHOWN
        session.notice(
            "info" if is_kept else "warning", wording.NOTE.format(file=Path(path).name, note=words)
        )

    async def _has_amendment(self, amendment: Amendment) -> bool:
        """Return whether the file still has the amendment.

        Some agents write the file again on disk.
        """
        try:
            live = await self._live.text(amendment.proposal.path)
        except Refusal:
            return False
        return live != amendment.agent_text or amendment.agent_text == amendment.replacement


KEPT = (
    "I changed your edit of {} before I allowed it. The file has my version; "
    "compared with what you wrote"
)
LOST = (
    "I changed your edit of {} before I allowed it, but my changes could not be written to the "
    "file. Please make them"
)
KEPT_SHOWN = wording.AMENDED
LOST_SHOWN = wording.AMENDMENT_NOT_WRITTEN


def _real(cwd: str, path: str) -> str:
    return resolve(os.path.join(cwd, path))  # noqa: PTH118


def _name(cwd: str, path: str) -> str:
    """Return a path, relative to the session's directory if it is inside that directory."""
    name, root = Path(path), Path(os.path.realpath(cwd))
    return str(name.relative_to(root)) if name.is_relative_to(root) else path


def has_edits(session: Session, decision: Decision) -> bool:
    """Return whether a question is a permission that shows edits."""
    return bool(_changes(session, decision) or _patches(session, decision))


def has_patches(session: Session, decision: Decision) -> bool:
    """Return whether a question is a permission that shows patches, which may not apply."""
    return bool(_patches(session, decision))


def _changes(session: Session, decision: Decision) -> list[Change]:
    call = _tool_call_of(session, decision)
    return [] if call is None else changes_of(call)


def _patches(session: Session, decision: Decision) -> list[FilePatch]:
    call = _tool_call_of(session, decision)
    patches = [] if call is None else patches_of(call)
    return [patch for patch in patches if "\0" not in f"{patch.path}{patch.origin}"]


def _tool_call_of(session: Session, decision: Decision) -> ToolCall | None:
    """Return the tool call of a permission, as the question shows it."""
    request = decision.request
    if not isinstance(request, schema.RequestPermissionRequest | updates.PermissionRequest):
        return None
    asker = decision.asker or session
    return asker.tool_calls.get(decision.tool_call_id or "")


def proposal_sources(session: Session, decision: Decision) -> tuple[Any, ...]:
    """Return the objects from which the proposals of a permission are made.

    If the proposals change, at least one of these objects is replaced.
    """
    call = _tool_call_of(session, decision)
    return () if call is None else (call.content, call.raw_input)


def has_other_sources(session: Session, decision: Decision, sources: Sequence[Any]) -> bool:
    """Return whether the agent has changed the edits of a permission that had these sources."""
    return list(map(id, proposal_sources(session, decision))) != list(map(id, sources))


def diagnostic_marks(decision: Decision, proposal: Proposal) -> list[list[Any]]:
    """Return the row, severity and text of each diagnostic that a proposal adds."""
    checked = next((effect for effect in decision.effects if effect.path == proposal.path), None)
    if checked is None or not proposal.is_whole:
        return []
    marks = effects.marks(checked, proposal.base, proposal.text)
    return [[mark.row, mark.severity, visible(cut_middle(mark.text))] for mark in marks]


def proposal_table(proposal: Proposal) -> dict[str, Any]:
    """Return a proposal for the frame operation `propose`."""
    table: dict[str, Any] = {
        "path": proposal.path,
        "proposal": list(proposal.text.lines),
        "proposal_eol": proposal.text.eol,
    }
    if proposal.base is not None:
        table["base"] = list(proposal.base.lines)
    if proposal.is_deletion:
        table["kind"] = "deleted"
    if proposal.problem:
        table["label"] = path_line(proposal.problem)
    elif proposal.origin is not None:
        table["label"] = wording.PART_PROPOSED_FROM.format(file=path_line(proposal.origin))
    return table
