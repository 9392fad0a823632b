"""Elicitations: questions to the user beyond permissions (v1/elicitation).

A question becomes a `Decision` of its session, or of no session if its scope is a request without
one, such as a login. Each question is answered exactly once. A question that names a request from
the client ends with that request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.agent.serving.answering import cancel_with
from acp_nvim.agent.wire.calls import IncomingCall, OutgoingCall
from acp_nvim.agent.wire.endpoint import Endpoint
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import INVALID_PARAMS, RequestError
from acp_nvim.protocol.schema import given
from acp_nvim.session import ids
from acp_nvim.session.questions import addresses, forms
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Option, Outcome
from acp_nvim.session.session import Session

_DECLINE: Final = Option("decline", "Decline", "reject_once")
_DISMISS: Final = Option("cancel", wording.OPTION_DISMISS, "dismiss")


class Elicitations:
    """Questions from one connection."""

    def __init__(
        self,
        title: Callable[[], str],
        requests: Callable[[], Endpoint | None] = lambda: None,
        ask_unscoped: Callable[[Decision], None] = lambda decision: None,
    ) -> None:
        """`title` returns the agent's display name.

        `requests` returns the requests that a question may name, or None before the agent runs.
        `ask_unscoped` shows a question without a session.
        """
        self._title = title
        self._requests = requests
        self._ask_unscoped = ask_unscoped
        self._opened: dict[str, Decision] = {}
        """Questions with an address, by elicitation id."""

    def session_id(self, params: schema.CreateElicitationRequest) -> str | None:
        """Return the agent's id for a question's session.

        A question without a session id belongs to the session of the request that it names.
        """
        if params.session_id is not UNSET:
            return params.session_id
        request = self._request_of(params)
        return None if request is None else request.session_id

    def create(
        self, session: Session | None, params: schema.ElicitationRequest, call: IncomingCall
    ) -> Decision:
        """Show a question and return its decision.

        Raise RequestError for a mode that was not advertised, and for a request without a scope.
        """
        decision = self.decision(params)
        if session is None and params.request_id is UNSET:
            raise RequestError(INVALID_PARAMS, "neither sessionId nor requestId")
        if session is not None and session.root.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        self._end_with_request(decision, params)
        if session is None:
            self._ask_unscoped(decision)
        else:
            tool_call_id = given(params.tool_call_id)
            calls, turn = session.tool_calls, session.root.turn
            session.ask(decision, calls.current(tool_call_id, turn) if tool_call_id else None)
        if isinstance(params, schema.ElicitationUrlMode) and decision.outcome is None:
            self._opened[params.elicitation_id] = decision
            decision.waiters.append(partial(self._forget_unopened, params.elicitation_id, decision))
        cancel_with(call, decision)
        return decision

    def _forget_unopened(self, id: str, decision: Decision, outcome: Outcome) -> None:
        """Forget an address that the user did not open, since its question cannot be completed."""
        if outcome.kind != "accept" and self._opened.get(id) is decision:
            del self._opened[id]

    def _request_of(self, params: schema.CreateElicitationRequest) -> OutgoingCall | None:
        requests = self._requests()
        if params.request_id is UNSET or requests is None:
            return None
        return requests.open_request(params.request_id)

    def _end_with_request(
        self, decision: Decision, params: schema.CreateElicitationRequest
    ) -> None:
        """End the question together with the request that it names.

        Ignore an unknown id, since the user can still answer.
        """
        requests = self._requests()
        if params.request_id is UNSET or requests is None:
            return
        end = partial(decision.resolve, CANCELLED, "request ended")
        request = requests.open_request(params.request_id)
        if request is not None:
            request.when_over(end)
        elif requests.is_over(params.request_id):
            end()

    def complete(self, params: schema.CompleteElicitationNotification) -> bool:
        """Mark a question as completed in the browser. Return False unless its page was opened."""
        decision = self._opened.get(params.elicitation_id)
        if decision is None or decision.outcome is None:
            return False
        del self._opened[params.elicitation_id]
        decision.completed = decision.outcome.kind == "accept"
        decision.redraw()
        return decision.completed

    def decision(self, params: schema.ElicitationRequest) -> Decision:
        """Return the decision for a question, without showing it.

        Raise RequestError for a mode that was not advertised.
        """
        match params:
            case schema.ElicitationFormMode():
                kind, options = "form", [_DECLINE, _DISMISS]
                form = forms.fields(params.requested_schema)
                choices = sum(len(field.choices) for field in form)
                details = [f"too large to fill in (fields: {len(form):,}, choices: {choices:,})"]
                if forms.is_short(form):
                    options, details = [_open(form), *options], _fields(params, form)
            case schema.ElicitationUrlMode():
                kind, details = "url", addresses.describe_address(params.url)
                options = [_DECLINE, _DISMISS]
                if addresses.is_safe(params.url):
                    options = [Option("accept", wording.OPTION_OPEN, "allow_once"), *options]
            case _:
                mode = getattr(params, "mode", "?")
                raise RequestError(
                    INVALID_PARAMS, f"elicitation mode {mode} was not advertised", {"mode": mode}
                )
        return Decision(
            ids.new("e"),
            "elicitation",
            wording.ASKS.format(agent=self._title(), question=params.message),
            kind=kind,
            tool_call_id=given(params.tool_call_id),
            options=options,
            details=details,
            request=params,
        )


def _open(form: Sequence[forms.Field]) -> Option:
    if form:
        return Option("open", wording.OPTION_FILL_IN, "allow_once")
    return Option("accept", "Accept", "allow_once")


def _fields(params: schema.ElicitationFormMode, form: Sequence[forms.Field]) -> list[str]:
    wanted = params.requested_schema
    about = [text for text in (given(wanted.title), given(wanted.description)) if text]
    asked = ((field.label, forms.describe_accepted(field)) for field in form)
    return [*about, *(f"{label}: {accepts}" if accepts else label for label, accepts in asked)]


def response(outcome: Outcome) -> Any:
    """Return the response for the wire: accept, decline or cancel."""
    if outcome.kind == "accept":
        if outcome.content is None:
            return schema.ElicitationAcceptAction()
        return schema.ElicitationAcceptAction(content=dict(outcome.content))
    if outcome.kind == "decline":
        return schema.ElicitationDeclineAction()
    return schema.ElicitationCancelAction()
