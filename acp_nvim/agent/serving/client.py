"""Requests and notifications from an agent. Each request is answered exactly once.

`Client.on_request` runs up to its first await in wire order, so a question appears in the chat
where the agent sent the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.agent.serving.answering import answer_by, cancel_with, decision_id
from acp_nvim.agent.serving.elicitations import Elicitations, response
from acp_nvim.agent.serving.extensions import Extensions, session_of
from acp_nvim.agent.serving.file_requests import FileRequests
from acp_nvim.agent.serving.judging import guard_kind, has_rules, judge
from acp_nvim.agent.serving.mcp_messages import McpMessages, no_servers
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.serving.servers import Handler
from acp_nvim.agent.serving.session_router import ReportLimit, SessionRouter, decode_params
from acp_nvim.agent.serving.terminals import AgentTerminals
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.wire.endpoint import IncomingCall
from acp_nvim.files.bytes import guard
from acp_nvim.files.bytes.paths import targets_past_links
from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RemoteProtocolError,
    RequestError,
)
from acp_nvim.protocol.jsonrpc import Violation
from acp_nvim.render.text import one_line
from acp_nvim.session import retries
from acp_nvim.session.calls.own_tools import needs_no_question
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import permissions, requests
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Option, Outcome
from acp_nvim.session.questions.questions import (
    dotted_paths,
    is_hidden_edit,
    named_paths,
    permission_decision,
    rule_case,
)
from acp_nvim.session.questions.rules import Action, strictest
from acp_nvim.session.session import Session

MAX_QUESTIONS: Final = 25_000
"""Maximum number of open questions in one session."""


def _permission_response(outcome: Outcome) -> schema.RequestPermissionResponse:
    if outcome.option is None:
        return schema.RequestPermissionResponse(schema.CancelledPermissionOutcome())
    return schema.RequestPermissionResponse(
        schema.SelectedPermissionOutcome(option_id=outcome.option.id)
    )


def _read(method: str, params: msgspec.Raw, notes: list[str]) -> Any:
    return codec.decode_params(method, params, "client", notes)


class Client:
    """Handler of one connection's endpoint (`wire.ports.Handler`)."""

    def __init__(
        self,
        name: str,
        settings: Callable[[], Settings],
        router: SessionRouter,
        files: FileRequests,
        terminals: AgentTerminals,
        warnings: ProtocolWarnings,
        *,
        elicitations: Elicitations | None = None,
        extensions: Extensions | None = None,
        report_limit: ReportLimit = lambda limit, text, session: None,
        read: Callable[[str, msgspec.Raw, list[str]], Any] = _read,
        on_auth_status: Callable[[schema.AuthStatusUpdateNotification], None] = lambda _: None,
        mcp: McpMessages | None = None,
    ) -> None:
        """`extensions` are the user's handlers of other methods. `read` decodes params."""
        self._read = read
        self.name = name
        self.router = router
        self.warnings = warnings
        self._settings = settings
        self._elicitations = elicitations or Elicitations(lambda: name)
        self._report_limit = report_limit
        self._extensions = extensions or Extensions()
        self._on_auth_status = on_auth_status
        self._mcp = mcp or McpMessages(no_servers, lambda _: None)
        self._reported: set[str] = set()
        """Mistakes already reported to the user."""
        self._terminals = terminals
        self._handlers: Mapping[str, Handler] = {
            **terminals.handlers,
            "session/request_permission": self._permission,
            "elicitation/create": self._elicitation,
            "mcp/message": lambda _, params, __: self._mcp.send(params),
            "fs/read_text_file": lambda session, params, _: files.read(session.root, params),
            "fs/write_text_file": lambda session, params, call: files.write(
                session.root, params, call.answer
            ),
        }

    def forget(self, session: Session) -> None:
        """Stop routing to a session and its subagents, and end their terminals."""
        for child in (session, *session.children.values()):
            self._terminals.forget(child)
        self.router.forget(session)

    # -- notifications ----------------------------------------------------------------------------

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """Apply a notification. Unknown ones are ignored (v1/extensibility)."""
        if method == "session/update":
            self.router.update(params)
            return
        if method in ("auth/status_update", "_auth/status_update"):
            status = decode_params("auth/status_update", params, self.warnings)
            if status is not None:
                self._on_auth_status(status)
            return
        if method == "elicitation/complete":
            done = decode_params(method, params, self.warnings)
            if done is not None and not self._elicitations.complete(done):
                self.warnings.count("elicitation/complete ignored", done.elicitation_id)
            return
        if method == "mcp/message":  # from an MCP client, such as notifications/initialized
            return
        if retries.METHODS.match(method):
            self._show_retry(params)
        if self._extensions.has_handler(method):
            self._extensions.notify(method, params, self.name, self._number(params))
        elif not method.startswith("_") and not method.startswith("$/"):
            self.warnings.count("unknown notification", method)

    def _show_retry(self, params: msgspec.Raw) -> None:
        """Show that the agent retries.

        Show it in the session that `params` names, else in all sessions with a running turn.
        """
        named = self.router.sessions.get(session_of(params) or "")
        retry = msgspec.json.decode(params) if bytes(params) else None
        for session in [named] if named else list(self.router.sessions.values()):
            if session.in_turn:
                session.set_retry(retries.retry_reason(retry))

    def on_updates(self, messages: Sequence[schema.SessionNotification], size: int) -> None:
        """Apply updates that arrived together in `size` bytes."""
        self.router.on_updates(messages, size)

    def turn_text(self, session_id: str) -> str:
        """Return the agent's text in the running turn of a session."""
        return self.router.turn_text(session_id)

    def on_error(self, error: Exception) -> None:
        """Count an internal error in the handling of an agent's message."""
        self.warnings.on_error(error)

    def on_violation(self, violation: Violation) -> None:
        """Count a malformed message. The endpoint has sent an error response if one is due."""
        self.warnings.count(violation.kind, violation.detail)
        if violation.kind in ("json", "utf8"):
            self.warnings.keep(violation.raw)
        if violation.kind == "oversize":
            sessions = sorted(
                self.router.sessions.values(), key=lambda session: session.status != "running"
            )
            text = wording.LINE_SKIPPED.format(agent=self.name, what=violation.detail)
            self._report_limit("message_bytes", text, sessions[0] if sessions else None)

    # -- requests ---------------------------------------------------------------------------------

    def on_request(
        self, method: str, params: msgspec.Raw, call: IncomingCall
    ) -> Awaitable[Any] | None:
        """Start answering a request. A task awaits the returned awaitable."""
        if method.startswith("mcp/") and (answer := self._mcp.answer_earlier(method, params)):
            return answer
        handler = self._handlers.get(method)
        if handler is None and self._extensions.has_handler(method):
            return self._extensions.request(method, params, self.name, self._number(params), call)
        if handler is None:
            self.warnings.count("unknown request", method)
            raise RequestError(METHOD_NOT_FOUND, f"method not found: {method}")
        notes: list[str] = []
        try:
            request = self._read(method, params, notes)
        except RemoteProtocolError as error:
            code = getattr(error, "code", INVALID_PARAMS)
            is_unknown = code == METHOD_NOT_FOUND
            self.warnings.count(
                "unknown request" if is_unknown else "bad params",
                method if is_unknown else f"{method}: {error}",
            )
            raise RequestError(code, str(error)) from error
        for note in notes:
            self.warnings.count("forgiven", f"{method}: {note}")
        session = self._session_of(request)
        if session is not None:
            self.router.count_message(session)
        return handler(session, request, call)

    def _session_of(self, params: Any) -> Any:
        """Return the session of a request, or None if it needs none.

        An elicitation may belong to a request without a session. An MCP message names a server
        instead of a session. Raise RequestError for an unknown id.
        """
        if isinstance(params, schema.MessageMcpRequest):
            return None
        if not isinstance(params, schema.CreateElicitationRequest):
            return self._session(params.session_id)
        id = self._elicitations.session_id(params)
        if id is None or (params.session_id is UNSET and id not in self.router.sessions):
            return None
        return self._session(id)

    def _number(self, params: msgspec.Raw) -> int | None:
        """Return the number of the session named in an extension's params, if any."""
        session = self.router.sessions.get(session_of(params) or "")
        return session.n if session else None

    def _session(self, session_id: str) -> Session:
        session = self.router.sessions.get(session_id) or self.router.adopt_early(session_id)
        if session is None:
            raise RequestError(
                INVALID_PARAMS, f"unknown session: {session_id}", {"sessionId": session_id}
            )
        return session

    def _permission(self, session: Session, params: permissions.Asked, call: IncomingCall) -> None:
        """Answer a permission request (v1/tool-calls) by a rule, or ask the user."""
        tool_call = permissions.subject(session, params)
        shown = permissions.call_with_question(session, tool_call)
        if tool_call.meta and self._show_choices(session, params, tool_call, call):
            return
        decision = permission_decision(decision_id(), tool_call, params, shown)
        decision.set_covered(partial(permissions.covered_calls, session, tool_call))
        decision.set_judge(partial(self._judge, session, tool_call, decision))
        if session.root.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        elif self._check_question_limit(session):
            decision.resolve(CANCELLED, "limit")
        elif not decision.options:  # no other answer is allowed
            decision.resolve(CANCELLED, "no options")
        else:
            decision.judge()
        cancel_with(call, decision)
        answer_by(decision, call, _permission_response)
        session.ask(decision, shown)
        if not decision.options:
            self._report_unanswerable(session, decision)

    def _judge(self, session: Session, tool_call: ToolCall, decision: Decision) -> None:
        """Set the files that always require a question.

        Resolve the decision if a rule or the user's trust applies, or if the call of an editor's
        tool needs no question.
        """
        settings = self._settings()
        calls = [tool_call, *decision.covers]
        action = self._verdict(session, calls, settings) if has_rules(session, settings) else None
        decision.guarded = {}
        for call in calls:
            if paths := named_paths(call, session.cwd):
                kind = guard_kind(call.kind, requests.commands(call), is_hidden_edit(call))
                dotted = dotted_paths(call, session.cwd)[: guard.MAX_NAMED]
                paths = [*targets_past_links(dotted), *paths]
                reasons = guard.reasons(kind, paths, session.roots, settings.files)
                decision.guarded = {**decision.guarded, **reasons}
        if action in ("allow", "deny"):
            option = decision.first("allow_once" if action == "allow" else "reject_once")
            if option is not None:
                decision.resolve(Outcome("selected", option), "rule")
        elif (
            action is None
            and (unasked := self._option_without_question(session, decision, calls)) is not None
        ):
            decision.resolve(Outcome("selected", unasked[0]), unasked[1])
        elif action is None and not settings.tools_ask:
            option = decision.first("allow_once")
            if option is not None and all(
                needs_no_question(call, session.root.tools) for call in calls
            ):
                decision.resolve(Outcome("selected", option), "neovim's own tool")

    def _option_without_question(
        self, session: Session, decision: Decision, calls: Sequence[ToolCall]
    ) -> tuple[Option, str] | None:
        """Return the option to choose without asking, and the reason, or None to ask."""
        if session.root.trust is None and not session.root.project_rules():
            return None
        from acp_nvim.agent.serving.unasked import option_without_question

        return option_without_question(session, decision, calls, self._settings())

    def _verdict(
        self, session: Session, calls: Sequence[ToolCall], settings: Settings
    ) -> Action | None:
        """Apply the rules to the call of a permission and to open calls that it may also allow.

        If there are such calls, rules for the call itself can only deny or ask.
        """
        cases = (rule_case(call, self.name, session.cwd) for call in calls)
        own, *others = (judge(case, session, settings) for case in cases)
        if not others:
            return own
        return strictest([own, *others] if own in ("deny", "ask") else others)

    def _show_choices(
        self, session: Session, params: permissions.Asked, tool_call: ToolCall, call: IncomingCall
    ) -> bool:
        """Show a permission request that asks questions with choices. Return False for others."""
        from acp_nvim.session.questions import choices

        questions = choices.questions_of(tool_call, params.options)
        if not questions:
            return False
        if choices.is_simple(questions):
            decision = choices.make_decision(decision_id(), tool_call, questions[0], params)
        else:
            decision = self._elicitations.decision(choices.make_form(questions))
        if session.root.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        elif self._check_question_limit(session):
            decision.resolve(CANCELLED, "limit")
        cancel_with(call, decision)
        answer_by(decision, call, choices.make_responder(questions, decision, params.options))
        session.ask(decision, permissions.call_with_question(session, tool_call))
        return True

    def _report_unanswerable(self, session: Session, decision: Decision) -> None:
        """Report a question that the user cannot answer."""
        text = wording.NO_OPTIONS.format(agent=self.name, question=one_line(decision.title))
        session.notice("warning", text)
        session.event("AcpNotice", severity="warning", title=text)

    def _check_question_limit(self, session: Session) -> bool:
        """Return whether the session has the maximum number of open questions. Report that once."""
        if len(session.decisions) < MAX_QUESTIONS:
            return False
        text = wording.TOO_MANY_QUESTIONS.format(agent=self.name, count=MAX_QUESTIONS)
        if text not in self._reported:
            self._reported.add(text)
            session.notice("warning", text)
            session.event("AcpNotice", severity="warning", title=text)
        return True

    def _elicitation(
        self, session: Session | None, params: schema.ElicitationRequest, call: IncomingCall
    ) -> None:
        """Show an elicitation (v1/elicitation) and answer it with the user's decision."""
        if session is not None and self._check_question_limit(session):
            call.answer(response(CANCELLED))
            return
        answer_by(self._elicitations.create(session, params, call), call, response)
