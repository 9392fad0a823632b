"""Consent to project files that start programs or instruct agents.

Such a file is not the user's own configuration. It is used only after the user agrees, once for
each content of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from acp_nvim import wording
from acp_nvim.files.bytes import private_files
from acp_nvim.protocol.text import decode_exactly, encode_exactly
from acp_nvim.session import ids
from acp_nvim.session.questions.decisions import Decision, Option, Outcome
from acp_nvim.session.session import Session

OnAnswer: TypeAlias = Callable[[bool | None], None]


class QuestionTexts(Struct, frozen=True):
    """Texts of the questions about one kind of file."""

    title: str
    """Title, with the subject as `{subject}`."""
    labels: tuple[str, str, str, str]
    """Labels of the answers: allow once, allow always, reject once, reject always."""
    allowed: str = ""
    """Line for the chat after the user has agreed."""

    @property
    def options(self) -> list[Option]:
        kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
        return [Option(kind, label, kind) for kind, label in zip(kinds, self.labels, strict=True)]


SERVERS: Final = QuestionTexts(
    wording.PASS_ON,
    (
        wording.OPTION_PASS,
        wording.OPTION_PASS_ALWAYS,
        wording.OPTION_LEAVE,
        wording.OPTION_LEAVE_ALWAYS,
    ),
    wording.MCP_ALLOWED,
)


class Project(Struct, frozen=True):
    """Project file, with a digest of its content and the lines to show to the user."""

    file: str
    digest: str
    names: Sequence[str] = ()
    lines: Sequence[str] = ()
    subject: str = ""
    """Subject of the question, or an empty string for the MCP servers."""

    @property
    def key(self) -> str:
        """Return the key of the question: this file with this content."""
        return f"{self.digest} {self.file}"

    @property
    def servers(self) -> str:
        """Return the default subject of the question: the MCP servers."""
        return wording.MCP_SERVERS.format(file=self.file, names=", ".join(self.names))


class Consent:
    """The user's answers to questions about project files.

    Permanent answers are stored in a file. The others last until the host exits.
    """

    def __init__(
        self,
        failed: Callable[[str], None] = lambda _: None,
        path: Callable[[], Path | None] = lambda: None,
        words: QuestionTexts = SERVERS,
    ) -> None:
        """`failed` is called with the reason if an answer cannot be stored.

        `path` returns the file, or None before it is known.
        """
        self._answers: dict[str, bool] = {}
        self._asked: dict[str, list[OnAnswer]] = {}
        """Functions to call with the answer to each open question."""
        self._failed = failed
        self._path = path
        self._words = words

    def answer(self, project: Project) -> bool | None:
        """Return the user's answer, or None if there is none yet."""
        return self._answers.get(project.key, self._stored_answers().get(project.key))

    def ask(self, session: Session, project: Project, then: OnAnswer = lambda _: None) -> None:
        """Ask in a session's chat, unless the question is open already, and return at once.

        `then` is called with the answer, or with None if the question is cancelled.
        """
        if project.key in self._asked:
            self._asked[project.key].append(then)
            return
        self._asked[project.key] = [then]
        title = self._words.title.format(subject=project.subject or project.servers)
        decision = Decision(
            *(ids.new("d"), "consent", title, "execute"),
            options=self._words.options,
            details=project.lines,
        )
        session.ask(decision)
        session.event("AcpNotice", severity="info", title=title)
        decision.waiters.append(lambda outcome: self._on_answer(session, project, outcome))

    def _on_answer(self, session: Session, project: Project, outcome: Outcome) -> None:
        waiting = self._asked.pop(project.key)
        is_allowed = None
        if outcome.option is not None:
            is_allowed = outcome.option.kind.startswith("allow")
            self._answers[project.key] = is_allowed
            if outcome.option.kind.endswith("always"):
                self._store(project, is_allowed)
            if is_allowed and self._words.allowed:
                session.notice("info", self._words.allowed)
        for then in waiting:
            then(is_allowed)

    def _stored_answers(self) -> dict[str, bool]:
        path = self._path()
        try:
            return _decode_answers(path.read_bytes() if path is not None else None)
        except OSError:
            return {}

    def _store(self, project: Project, allowed: bool) -> None:
        """Store the answer for a file, in place of the answer for its earlier content."""
        path = self._path()
        if path is None:
            return

        def made(data: bytes | None) -> bytes:
            stored = _decode_answers(data).items()
            others = {k: v for k, v in stored if k.partition(" ")[2] != project.file}
            return encode_exactly({**others, project.key: allowed})

        try:
            private_files.change(path, made)
        except OSError as error:
            self._failed(f"{path}: {error}")


def _decode_answers(data: bytes | None) -> dict[str, bool]:
    """Return the stored answers. An invalid file has none."""
    try:
        return decode_exactly(data or b"{}", dict[str, bool])
    except ValueError:
        return {}
