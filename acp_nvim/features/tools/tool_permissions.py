"""Permissions for changes by the editor's tools and for calls of the user's tools.

For each question the plugin adds a tool call and a permission request to the session. Therefore the
user's rules, the card, its review in diff mode and the events are the same as for an agent's
permission requests.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Final

import anyio.lowlevel
import msgspec
from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.agent.serving.answering import decision_id, wait
from acp_nvim.agent.serving.judging import judge
from acp_nvim.agent.settings import Settings
from acp_nvim.app import Host
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import EMPTY, Text, keys
from acp_nvim.edits.unified import unified_rows
from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.protocol import schema
from acp_nvim.session.calls import call_updates, own_tools
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import requests
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Option, Outcome
from acp_nvim.session.questions.proposals import WHOLE
from acp_nvim.session.questions.questions import permission_decision, rule_case
from acp_nvim.session.questions.requests import Command
from acp_nvim.session.questions.rules import Action, Case
from acp_nvim.session.session import Session
from acp_nvim.tools.changing.change_ports import ProposedChanges, Run

OPTIONS: Final = (
    schema.PermissionOption("allow_once", wording.OPTION_ALLOW, "allow_once"),
    schema.PermissionOption("allow_always", wording.OPTION_ALLOW_EDITS, "allow_always"),
    schema.PermissionOption("reject_once", "Refuse", "reject_once"),
)


ONCE: Final = (OPTIONS[0], OPTIONS[2])
"""Options for commands, which cannot be allowed for the whole session."""

EDITS: Final = ""
NOTHING: Final = "-"
BY_RULE: Final = "a rule of the user refuses"
CANCELLED_BY_USER: Final = "the user cancelled"


class _Question(msgspec.Struct, frozen=True):
    """Question about a tool call.

    `verdict` is the action of the user's rules. `about` is the scope of `allow_always`:
    `EDITS`, `NOTHING`, or the name of a tool.
    """

    options: Sequence[schema.PermissionOption]
    verdict: Action | None
    about: str
    guarded: Mapping[str, str] = {}
    agent_call: ToolCall | None = None
    """The tool call that the agent itself reported."""


class ToolPermissions:
    """Implementation of `Permissions` and `CallPermissions`, with the grants of each session."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        wait_for_cancels: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
    ) -> None:
        """`wait_for_cancels` returns when the cancels that the user has sent are handled."""
        self._settings = settings
        self._wait_for_cancels = wait_for_cancels
        self._allowed: set[tuple[int, str]] = set()

    @asynccontextmanager
    async def ask(self, session: Session, proposed: ProposedChanges) -> AsyncIterator[str]:
        call = call_updates.upsert(session, _edit_call(session, proposed))
        if proposed.runs is not None:
            verdict = self._run_action(session, call, proposed.runs)
            question = _Question(ONCE, verdict, NOTHING, agent_call=proposed.agent_call)
        else:
            verdict = self._action(session, call, proposed.changes, proposed.guarded)
            question = _Question(OPTIONS, verdict, EDITS, proposed.guarded, proposed.agent_call)
        async with self._ask(session, call, question) as why_not:
            yield why_not

    def forbidden(self, session: Session, changes: Sequence[FileChange]) -> str:
        call = ToolCall("", kind="edit", content=list(_diffs(changes)), raw_input=_patch(changes))
        return BY_RULE if self._action(session, call, changes) == "deny" else ""

    @asynccontextmanager
    async def ask_to_call(
        self,
        session: Session,
        name: str,
        arguments: Mapping[str, Any],
        agent_call: ToolCall | None = None,
        *,
        executes: bool = False,
    ) -> AsyncIterator[str]:
        call = call_updates.upsert(session, _user_tool_call(name, arguments, executes=executes))
        call.call_user_tool(name)
        verdict = self._call_action(
            session, call, [requests.editor_command(name)] if executes else []
        )
        question = _Question(_options(name), verdict, name, agent_call=agent_call)
        async with self._ask(session, call, question) as why_not:
            yield why_not

    @asynccontextmanager
    async def _ask(
        self, session: Session, call: ToolCall, question: _Question
    ) -> AsyncIterator[str]:
        """Ask about a call. The body of the context makes the call."""
        if question.agent_call is not None:
            own_tools.on_call(session, question.agent_call, call)
        decision = self._decision(session, call, question)
        session.ask(decision, call)
        why_not = ""
        try:
            cancels = session.cancels
            outcome = await wait(decision)
            await self._wait_for_cancels()
            why_not = self._refusal_reason(session, question, decision, outcome)
            if session.is_cancelling or session.cancels != cancels:
                why_not = CANCELLED_BY_USER
            _update(session, call, "failed" if why_not else "in_progress")
            yield why_not
        except Exception as error:
            _update(session, call, "failed", *([] if why_not else [str(error)]))
            raise
        except BaseException:
            _update(session, call, "cancelled")
            raise
        _update(session, call, "completed")

    def _decision(self, session: Session, call: ToolCall, question: _Question) -> Decision:
        asked = schema.PermissionToolCall(call.id)
        request = schema.RequestPermissionRequest(session.id, asked, list(question.options))
        decision = permission_decision(decision_id(), call, request)
        decision.guarded = question.guarded
        action = question.verdict
        is_allowed = (session.n, question.about) in self._allowed and not question.guarded
        if session.root.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        elif action in ("allow", "deny"):
            option = decision.first("allow_once" if action == "allow" else "reject_once")
            decision.resolve(Outcome("selected", option), "rule")
        elif (
            action is None
            and (unasked := self._option_without_question(session, call, decision)) is not None
        ):
            decision.resolve(Outcome("selected", unasked[0]), unasked[1])
        elif action is None and is_allowed:
            decision.resolve(Outcome("selected", decision.first("allow_always")), "session")
        return decision

    def _option_without_question(
        self, session: Session, call: ToolCall, decision: Decision
    ) -> tuple[Option, str] | None:
        """Return the option to choose without asking, and the reason, or None to ask."""
        if session.root.trust is None and not session.root.project_rules():
            return None
        from acp_nvim.agent.serving.unasked import option_without_question

        return option_without_question(session, decision, [call], self._settings())

    def _run_action(self, session: Session, call: ToolCall, runs: Run) -> Action | None:
        """Return the action of the user's rules about commands. Rules about edits do not apply."""
        case = rule_case(call, session.agent, session.cwd)
        named = [requests.editor_command(name) for name in runs.commands]
        others = [
            command
            for command in case.commands
            if command.argv not in {known.argv for known in named}
        ]
        case = msgspec.structs.replace(case, commands=[*named, *others])
        return judge(case, session, self._settings())

    def _action(
        self,
        session: Session,
        call: ToolCall,
        changes: Sequence[FileChange],
        guarded: Mapping[str, str] = MappingProxyType({}),
    ) -> Action | None:
        """Return the action of the user's rules about edits, deletions and moves."""
        settings = self._settings()
        case = rule_case(call, session.agent, session.cwd)
        kinds = {"edit", *(_kind(change) for change in changes)}
        actions = {
            judge(msgspec.structs.replace(case, kind=kind), session, settings) for kind in kinds
        }
        if "deny" in actions:
            return "deny"
        if actions == {"allow"}:
            return "ask" if guarded else "allow"
        return None if actions == {None} else "ask"

    def _call_action(
        self, session: Session, call: ToolCall, commands: Sequence[Command]
    ) -> Action | None:
        """Return the action of the user's rules about a call.

        The agent can add any argument. Therefore arguments can match a rule that denies the call,
        but not one that allows it.
        """
        settings = self._settings()
        case = rule_case(call, session.agent, session.cwd)
        case = msgspec.structs.replace(case, commands=[*commands, *case.commands])
        bare = Case(
            case.kind,
            commands=commands,
            agent=case.agent,
            cwd=case.cwd,
            roots=case.roots,
            texts=case.texts,
        )
        whole, bare_one = (judge(judged, session, settings) for judged in (case, bare))
        if "deny" in (whole, bare_one):
            return "deny"
        if whole == "ask":
            return "ask"
        return bare_one if whole == "allow" else None

    def _refusal_reason(
        self, session: Session, question: _Question, decision: Decision, outcome: Outcome
    ) -> str:
        """Return the reason for a refusal, for the model, or an empty string."""
        option = outcome.option
        if option is None:
            return CANCELLED_BY_USER
        if option.kind == "allow_always":
            self._allowed.add((session.n, question.about))
        if option.kind.startswith("allow"):
            return ""
        return BY_RULE if decision.by == "rule" else "the user refused"


def _id() -> str:
    """Return an id that agents cannot guess. Otherwise they could update the tool call."""
    return f"nvim-{secrets.token_urlsafe(12)}"


# -- tool calls ----------------------------------------------------------------------------------


def _options(name: str) -> list[schema.PermissionOption]:
    """Return the options for a call of the user's tool."""
    always = wording.OPTION_ALLOW_TOOL.format(tool=name)
    return [
        msgspec.structs.replace(option, name=always) if option.kind == "allow_always" else option
        for option in OPTIONS
    ]


def _user_tool_call(name: str, arguments: Mapping[str, Any], *, executes: bool) -> schema.ToolCall:
    """Return the tool call for a call of the user's tool."""
    return schema.ToolCall(
        _id(),
        f"Call {name}",
        kind="execute" if executes else "other",
        status="pending",
        raw_input=dict(arguments),
    )


def _edit_call(session: Session, proposed: ProposedChanges) -> schema.ToolCall:
    if proposed.runs is not None:
        return _command_call(proposed, proposed.runs)
    return schema.ToolCall(
        _id(),
        proposed.title,
        kind="edit",
        status="pending",
        content=list(_diffs(proposed.changes)),
        locations=list(_locations(proposed)),
        raw_input=_patch(proposed.changes),
        meta={WHOLE: True},
    )


def _command_call(proposed: ProposedChanges, runs: Run) -> schema.ToolCall:
    return schema.ToolCall(
        _id(),
        proposed.title,
        kind="execute",
        status="pending",
        locations=list(_locations(proposed)),
        raw_input={"commands": [[name] for name in runs.commands], **runs.details},
    )


def _update(session: Session, call: ToolCall, status: Any, *errors: str) -> None:
    """Set the status of a call with error texts, unless the call is finished."""
    if call.is_finished or session.tool_calls.get(call.id) is not call:
        return
    texts = [schema.Content(schema.TextContent(text)) for text in errors]
    content = [*call.content, *texts] if texts else UNSET
    call_updates.upsert(session, schema.ToolCallUpdate(call.id, status=status, content=content))


def _diffs(changes: Sequence[FileChange]) -> Iterator[schema.Diff]:
    for change in changes:
        if change.after is not None and change.origin is None:
            yield schema.Diff(
                change.path,
                str(change.after),
                None if change.before is None else str(change.before),
            )


def _locations(proposed: ProposedChanges) -> Iterator[schema.ToolCallLocation]:
    for change in proposed.changes:
        hunks = diff(keys(change.before), keys(change.after)) if change.after is not None else ()
        yield schema.ToolCallLocation(change.path, hunks[0].new_start + 1 if hunks else 1)
    if proposed.path is not None and not proposed.changes:
        yield schema.ToolCallLocation(proposed.path)


def _patch(changes: Sequence[FileChange]) -> dict[str, str] | None:
    """Return deleted and moved files, which a diff cannot express, as a patch for the card."""
    rows: list[str] = []
    for change in changes:
        if change.after is None:
            rows.append(f"*** Delete File: {change.path}")
        elif change.origin is not None:
            rows += [f"*** Update File: {change.origin}", f"*** Move to: {change.path}"]
            rows += _rows(change.before or EMPTY, change.after)
    return {"patch": "\n".join(["*** Begin Patch", *rows, "*** End Patch", ""])} if rows else None


def _rows(before: Text, after: Text) -> list[str]:
    return [row for row in unified_rows(before, after) if not row.startswith("\\ ")]


def _kind(change: FileChange) -> str:
    return "delete" if change.after is None else "move" if change.origin is not None else "edit"


def permissions(host: Host) -> ToolPermissions:
    """Return the permissions of all tools, which remember the user's answers."""
    wait_for_cancels = host.nvim.buffers.wait_for_cancels
    return host.parts.get(ToolPermissions, lambda: ToolPermissions(host.settings, wait_for_cancels))
