"""File requests (v1/file-system), answered by the workspace, and questions about their paths."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from msgspec import UNSET, UnsetType

from acp_nvim import wording
from acp_nvim.agent.serving.answering import decision_id, wait
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Reason, Refusal
from acp_nvim.files.writes.agent_files import AgentFiles
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    RequestError,
)
from acp_nvim.render.question_title import REASONS
from acp_nvim.render.text import path_line, remote_path
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Option
from acp_nvim.session.session import Session

CODES: Final[dict[Reason, int]] = {
    "missing": RESOURCE_NOT_FOUND,
    "relative": INVALID_PARAMS,
    "directory": INVALID_PARAMS,
    "binary": INVALID_PARAMS,
    "too_large": INVALID_PARAMS,
    "outside": INVALID_PARAMS,
    "denied": INVALID_PARAMS,
    "conflict": INTERNAL_ERROR,
    "readonly": INTERNAL_ERROR,
    "busy": INTERNAL_ERROR,
    "failed": INTERNAL_ERROR,
}
"""Code of the JSON-RPC error for each reason."""
WORDS: Final[dict[Reason, str]] = {"missing": "Resource not found: "}
"""Start of the error message, as in the official SDKs.

Some agents recognize the error only by these words, and then create a new file.
"""
OPTIONS: Final = (
    Option("allow_once", wording.OPTION_ALLOW, "allow_once"),
    Option("allow_always", wording.OPTION_ALLOW_FILE, "allow_always"),
    Option("reject_once", "Refuse", "reject_once"),
)


class FileRequests:
    """Server of `fs/*` requests from live buffers, for all sessions."""

    def __init__(
        self,
        files: AgentFiles[Session],
        on_read: Callable[[Session, str], None] = lambda session, path: None,
    ) -> None:
        """`on_read` is called for each file that an agent reads."""
        self._files = files
        self._on_read = on_read
        self._warned: set[str] = set()
        """Keys of the sessions that have a notice about files on the agent's own machine."""

    async def read(
        self, session: Session, params: schema.ReadTextFileRequest
    ) -> schema.ReadTextFileResponse:
        """Answer `fs/read_text_file`. Raise RequestError with `data = {path, reason}`."""
        line, limit = _number(params.line), _number(params.limit)
        try:
            content = await self._files.read(session, params.path, line, limit)
        except Refusal as refusal:
            raise self._error(session, refusal) from refusal
        self._on_read(session, params.path)
        return schema.ReadTextFileResponse(content)

    async def write(
        self,
        session: Session,
        params: schema.WriteTextFileRequest,
        answer: Callable[[schema.WriteTextFileResponse], None],
    ) -> schema.WriteTextFileResponse:
        """Answer `fs/write_text_file`. `answer` is called as soon as the file is written.

        Raise RequestError with `data = {path, reason}`.
        """
        done = schema.WriteTextFileResponse()
        try:
            await self._files.write(session, params.path, params.content, lambda: answer(done))
        except Refusal as refusal:
            raise self._error(session, refusal) from refusal
        return done

    def _error(self, session: Session, refusal: Refusal) -> RequestError:
        """Return the error for an agent. Notify the user once about files on another machine.

        The user is not asked about such a file, since it cannot be read or written from here.
        """
        path = remote_path(refusal.path)
        if path is not None and session.key not in self._warned:
            self._warned.add(session.key)
            text = wording.REMOTE_FILE_REFUSED.format(file=path_line(path), name=session.agent)
            session.notice("info", text)
        message = f"{WORDS.get(refusal.reason, '')}{refusal}"
        data = {"path": refusal.path, "reason": refusal.reason}
        return RequestError(CODES[refusal.reason], message, data)


def announce_location(session: Session, path: str, line: int | None) -> None:
    """Fire the event for a location that an agent reads or writes."""
    session.event("AcpLocation", path=path, line=line)


def _number(value: int | UnsetType | None) -> int | None:
    return None if value is UNSET or isinstance(value, UnsetType) else value


# -- questions about paths -------------------------------------------------------------------------


class Access:
    """Questions about paths that are outside of the session, secret, or executed by other programs.

    A file allowed for a whole session is stored by its path at that time, with links resolved.
    """

    def __init__(self) -> None:
        self._allowed: set[tuple[int, str, str]] = set()
        """Files allowed for a whole session: its number, the verb, the path."""

    async def __call__(self, session: Session, verb: str, where: Place, reason: str) -> bool:
        """Ask whether the agent may `read` or `write` a path. Return the user's answer.

        `reason` is `outside`, `secret` or `executed`.
        """
        key = (session.n, verb, where.real)
        if key in self._allowed:
            return True
        kind = "read" if verb == "read" else "edit"
        title = f"{verb} {REASONS[reason]}: {_path_with_target(where)}"
        decision = Decision(decision_id(), "access", title, kind=kind, options=OPTIONS)
        if session.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        session.ask(decision)
        outcome = await wait(decision)
        if outcome.option is None:
            return False
        if outcome.option.id == "allow_always":
            self._allowed.add(key)
        return outcome.option.kind.startswith("allow")


def _path_with_target(where: Place) -> str:
    """Return a path as the agent spelled it, and its target if that differs."""
    is_link = where.real != os.path.normpath(where.path)
    return f"{where.path} ({where.real})" if is_link else where.path
