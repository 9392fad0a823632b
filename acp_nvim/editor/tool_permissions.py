"""Questions about changes that an agent asks for by the editor's own tools (port `Permissions`).

Each is a tool call of ours in the session, with a permission request of ours: the user's rules, the
card, its review in diff mode and the events are those of an agent's own permissions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.agent.answering import decision_id, wait
from acp_nvim.agent.judging import judge
from acp_nvim.agent.settings import Settings
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import EMPTY, Text, keys
from acp_nvim.edits.unified import unified
from acp_nvim.protocol import schema
from acp_nvim.session import ids
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Outcome
from acp_nvim.session.questions.proposals import WHOLE
from acp_nvim.session.questions.questions import permission_decision, rule_case
from acp_nvim.session.questions.rules import Action
from acp_nvim.session.session import Session
from acp_nvim.session.tool_calls import ToolCall
from acp_nvim.tools.change_ports import Proposed
from acp_nvim.workspace.change_set import FileChange

OPTIONS: Final = (
    schema.PermissionOption("allow_once", wording.OPTION_ALLOW, "allow_once"),
    schema.PermissionOption("allow_always", wording.OPTION_ALLOW_EDITS, "allow_always"),
    schema.PermissionOption("reject_once", "Refuse", "reject_once"),
)


class ToolPermissions:
    """See `Permissions`. Remembers the sessions whose edits are allowed without a question."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._allowed: set[int] = set()

    @asynccontextmanager
    async def asked(self, session: Session, proposed: Proposed) -> AsyncIterator[str]:
        """See `Permissions`."""
        call = session.upsert_call(_call(session, proposed))
        decision = self._decision(session, call, proposed)
        session.ask(decision, call)
        why_not = ""
        try:
            outcome = await wait(decision)
            why_not = self._refused(session, decision, outcome)
            _update(session, call, "failed" if why_not else "in_progress")
            yield why_not
        except Exception as error:
            _update(session, call, "failed", *([] if why_not else [str(error)]))
            raise
        except BaseException:
            _update(session, call, "cancelled")
            raise
        _update(session, call, "completed")

    def _decision(self, session: Session, call: ToolCall, proposed: Proposed) -> Decision:
        asked = schema.PermissionToolCall(call.id)
        request = schema.RequestPermissionRequest(session.id, asked, list(OPTIONS))
        decision = permission_decision(decision_id(), call, request)
        decision.guarded = proposed.guarded
        action = self._action(session, call, proposed)
        if session.root.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        elif action in ("allow", "deny"):
            option = decision.first("allow_once" if action == "allow" else "reject_once")
            decision.resolve(Outcome("selected", option), "rule")
        elif action is None and not proposed.guarded and session.n in self._allowed:
            decision.resolve(Outcome("selected", decision.first("allow_always")), "session")
        return decision

    def _action(self, session: Session, call: ToolCall, proposed: Proposed) -> Action | None:
        """What the user's rules say: of edits, and of deletions and moves where there are some."""
        settings = self._settings()
        case = rule_case(call, session.agent, session.cwd)
        kinds = {"edit", *(_kind(change) for change in proposed.changes)}
        found = {
            judge(msgspec.structs.replace(case, kind=kind), session, settings) for kind in kinds
        }
        if "deny" in found:
            return "deny"
        if found == {"allow"}:
            return "ask" if proposed.guarded else "allow"
        return None if found == {None} else "ask"

    def _refused(self, session: Session, decision: Decision, outcome: Outcome) -> str:
        """Why not, for the model; empty where it was allowed."""
        option = outcome.option
        if option is None:
            return "the user cancelled"
        if option.kind == "allow_always":
            self._allowed.add(session.n)
        if option.kind.startswith("allow"):
            return ""
        return "a rule of the user refuses" if decision.by == "rule" else "the user refused"


# -- the tool call --------------------------------------------------------------------------------


def _call(session: Session, proposed: Proposed) -> schema.ToolCall:
    return schema.ToolCall(
        ids.new("t"),
        proposed.title,
        kind="edit",
        status="pending",
        content=list(_diffs(proposed.changes)),
        locations=list(_locations(proposed)),
        raw_input=_patch(proposed.changes),
        meta={WHOLE: True},
    )


def _update(session: Session, call: ToolCall, status: Any, *said: str) -> None:
    """Set the status of our call, unless it is over; say what went wrong."""
    if call.finished or session.tool_calls.get(call.id) is not call:
        return
    texts = [schema.Content(schema.TextContent(text)) for text in said]
    content = [*call.content, *texts] if texts else UNSET
    session.upsert_call(schema.ToolCallUpdate(call.id, status=status, content=content))


def _diffs(changes: Sequence[FileChange]) -> Iterator[schema.Diff]:
    for it in changes:
        if it.after is not None and it.origin is None:
            yield schema.Diff(it.path, str(it.after), None if it.before is None else str(it.before))


def _locations(proposed: Proposed) -> Iterator[schema.ToolCallLocation]:
    for it in proposed.changes:
        hunks = diff(keys(it.before), keys(it.after)) if it.after is not None else ()
        yield schema.ToolCallLocation(it.path, hunks[0].new_start + 1 if hunks else 1)
    if proposed.path is not None and not proposed.changes:
        yield schema.ToolCallLocation(proposed.path)


def _patch(changes: Sequence[FileChange]) -> dict[str, str] | None:
    """What no diff says, as a patch that the card and its review can read: files that go, and those
    that move.
    """
    rows: list[str] = []
    for it in changes:
        if it.after is None:
            rows.append(f"*** Delete File: {it.path}")
        elif it.origin is not None:
            rows += [f"*** Update File: {it.origin}", f"*** Move to: {it.path}"]
            rows += _rows(it.before or EMPTY, it.after)
    return {"patch": "\n".join(["*** Begin Patch", *rows, "*** End Patch", ""])} if rows else None


def _rows(before: Text, after: Text) -> list[str]:
    return [row for row in unified(before, after) if not row.startswith("\\ ")]


def _kind(change: FileChange) -> str:
    return "delete" if change.after is None else "move" if change.origin is not None else "edit"
