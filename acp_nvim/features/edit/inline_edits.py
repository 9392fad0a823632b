"""Inline edits of a host: their prompts, sessions, marks and results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from acp_nvim import wording
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.features.edit import words
from acp_nvim.features.edit.edit_prompt import edit_prompt
from acp_nvim.features.edit.hunk_titles import HunkTitles
from acp_nvim.files.ports import AgentSession
from acp_nvim.host.prompting import conversation_for, prompt_of, submit
from acp_nvim.protocol.errors import RequestError
from acp_nvim.render.text import one_line
from acp_nvim.session import queue
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message
from acp_nvim.verbs import Args

if TYPE_CHECKING:
    from acp_nvim.app import Host

FENCE: Final = re.compile(r"^[^\S\n]*(?:```|~~~)", re.MULTILINE)
"""Beginning of a code block."""
MARKUP: Final = re.compile(r"\*\*|`|^#+ ")
"""Marks of Markdown that a message leaves out."""
TITLE_WIDTH: Final = 40
"""Maximum number of characters of an instruction in a message."""
STOP_REASONS: Final = {
    "refusal": wording.REFUSED,
    "max_tokens": wording.TOKEN_LIMIT,
    "max_turn_requests": wording.REQUEST_LIMIT,
}


class InlineEdit(msgspec.Struct, eq=False):
    """Inline edit, from its command to the end of its turn."""

    id: int
    """Number of the edit in Neovim."""
    prompt: Prompt
    conversation: Conversation
    is_own: bool
    """Whether the session was created for this edit."""
    path: str
    """The file that the user wants to change."""
    entries: Mapping[str, Pending] = {}
    """Pending edits of the session when the turn began, by path."""
    has_begun: bool = False
    """Whether the prompt has been sent to the agent."""
    has_written: bool = False
    is_cancelled: bool = False
    failure: str = ""
    """Reason why the prompt was returned."""

    @property
    def session(self) -> Session:
        return self.conversation.session

    @property
    def name(self) -> str:
        """Return the instruction for a message."""
        return one_line(self.prompt.own_text, TITLE_WIDTH)

    @property
    def is_queued(self) -> bool:
        """Return whether the prompt is waiting, here or at the agent."""
        waiting = (*self.session.queue, *self.session.at_agent)
        return any(prompt is self.prompt for prompt in waiting)

    def begin(self, entries: Mapping[str, Pending]) -> None:
        """Record that the prompt is being sent, and the pending edits of the session."""
        self.has_begun, self.entries = True, entries

    def on_requeued(self) -> None:
        """Record that the prompt is in the queue again."""
        self.has_begun = False

    def on_write(self) -> None:
        self.has_written = True

    def fail(self, reason: str) -> None:
        """Record that the prompt was returned, with the reason."""
        self.failure = reason

    def cancel(self) -> None:
        """Record that the user has cancelled the edit."""
        self.is_cancelled = True


class Outcome(msgspec.Struct, frozen=True):
    """Outcome of an edit for the user. The message is empty if the hunks need no explanation."""

    message: str = ""
    level: Literal["info", "warn", "error"] = "info"
    keeps_session: bool = False
    """Whether the session stays open, because its chat contains an answer for the user."""


class InlineEdits:
    """Queued and running inline edits. An observer of prompts, turns and writes."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._edits: dict[int, InlineEdit] = {}
        self._awaiting: set[int] = set()
        """Edits waiting for a session under preparation."""
        self._ended: list[Conversation] = []
        """Sessions to close, because their edits have ended."""
        self._titles = HunkTitles(host.files.titles)
        host.observers.hunk_titles.append(self._titles.of)
        host.observers.on_frame.append(self._on_frame)
        host.files.authors.on_written.append(self._on_write)
        observers = host.conversation_observers
        observers.on_prompt_sent.append(self._on_prompt_sent)
        observers.on_prompt_requeued.append(self._on_prompt_requeued)
        observers.on_prompt_returned.append(self._on_prompt_returned)
        observers.on_turn_ended.append(self._on_turn_ended)

    # -- verbs ------------------------------------------------------------------------------------

    def start(self, args: Args) -> None:
        """Send the prompt of an edit, in a new session or, with `here`, in the current one.

        A session that is being prepared becomes the current one.
        """
        preparation = self._host.sessions.preparation if args.get("here") else None
        if preparation is not None:
            self._awaiting.add(int(args["id"]))
            preparation.add_prompt(partial(self._on_prepared, args))
        else:
            self._start(args)

    def _on_prepared(self, args: Args, n: int | None) -> None:
        """Start an edit in the prepared session `n`.

        If there is no session, put the instruction of the edit into the composer.
        """
        id, host = int(args["id"]), self._host
        if id not in self._awaiting:
            return  # cancelled
        self._awaiting.remove(id)
        if n is not None:
            self._start({**args, "session": n})
            return
        prompt = prompt_of(host, args)
        host.screen.push("edit_over", id)
        host.screen.push("composer", host.sessions.current, prompt.text, prompt.files(), [])

    def _start(self, args: Args) -> None:
        prompt, is_own = edit_prompt(self._host, args), not args.get("here")
        conversation = (
            self._new_session(args, prompt) if is_own else conversation_for(self._host, args)
        )
        path = str(args["edit"]["path"])
        edit = InlineEdit(int(args["id"]), prompt, conversation, is_own, path)
        self._edits[edit.id] = edit
        self._show_state(edit)
        submit(self._host, conversation, prompt)

    def _new_session(self, args: Args, prompt: Prompt) -> Conversation:
        """Create a session with the agent and the preset of the current one."""
        sessions = self._host.sessions
        current = sessions.conversation(None)
        agent = current.session.agent if current is not None else None
        preset = current.session.preset if current is not None else None
        title = one_line(prompt.text)
        conversation = sessions.new(args["cwd"], agent, title=title, preset=preset, purpose="edit")
        conversation.mark_used()
        return conversation

    def cancel(self, id: int) -> None:
        """Cancel an edit: end its turn, or take its prompt out of the queue."""
        if id in self._awaiting:
            self._awaiting.remove(id)
            self._host.screen.push("edit_over", id)
        edit = self._edits.get(id)
        if edit is None:
            return
        edit.cancel()
        if edit.has_begun:
            self._host.run("cancel", {"session": edit.session.n})
        else:
            self._withdraw(edit)

    # -- observers --------------------------------------------------------------------------------

    def _on_frame(self) -> None:
        """End the edits whose prompts the user has removed from a queue.

        Close the sessions of edits that have ended, once no question is open. A session in whose
        chat the user has written stays open.
        """
        for edit in list(self._edits.values()):
            if not (edit.has_begun or edit.is_queued):
                edit.cancel()
                self._end(edit)
        for conversation in list(self._ended):
            session = conversation.session
            if session.queue or session.in_turn:
                session.keep_open()
            elif session.is_running or session.decisions:
                continue
            else:
                self._host.tasks.start_soon(self._close, conversation)
            self._ended.remove(conversation)

    def _on_write(
        self,
        session: AgentSession,
        path: str,
        before: Text | None,
        agents_text: Text,
        after: Text,
    ) -> None:
        self._titles.on_write(session, path, before, agents_text, after)
        for edit in self._running_edits(session.n):
            edit.on_write()

    def _on_prompt_sent(self, session: Session, prompt: Prompt) -> None:
        """Begin an edit. Report work on its file, so that changes are attributed to the agent."""
        edit = self._edit_of(prompt)
        if edit is not None:
            edit.begin(self._entries(session))
            self._titles.begin(session.n, one_line(prompt.own_text))
            session.observer.on_work_at(session, edit.path)
            self._show_state(edit)

    def _on_prompt_requeued(self, session: Session, prompt: Prompt) -> None:
        edit = self._edit_of(prompt)
        if edit is not None:
            edit.on_requeued()
            self._titles.end(session.n)
            self._show_state(edit)

    def _on_prompt_returned(self, session: Session, prompt: Prompt) -> None:
        """Record that a prompt could not be sent, or that its turn has failed."""
        edit = self._edit_of(prompt)
        if edit is not None:
            edit.fail(session.error or wording.AGENT_GONE)
            if not edit.has_begun:
                self._end(edit)

    async def _on_turn_ended(self, session: Session) -> None:
        """End the edit of the turn, and edits whose prompts were returned and will not be sent.

        An edit continues if the user's reason for a refusal is sent as the next prompt.
        """
        has_reason = any(prompt.is_reason for prompt in session.queue)
        for edit in self._running_edits(session.n):
            if edit.is_cancelled or edit.failure or not has_reason:
                self._end(edit)
        for edit in list(self._edits.values()):
            if edit.session is not session:
                continue
            if edit.is_own and session.held:  # the agent is at its rate limit
                edit.fail((session.error or "").partition(". ")[0])
            if edit.is_cancelled or edit.failure:
                self._withdraw(edit)

    # -- end of an edit ---------------------------------------------------------------------------

    def _withdraw(self, edit: InlineEdit) -> None:
        """Take the prompt of an edit out of the queue, and end the edit."""
        session = edit.session
        queue.replace(session, [prompt for prompt in session.queue if prompt is not edit.prompt])
        self._end(edit)

    def _end(self, edit: InlineEdit) -> None:
        """Remove the mark, show the outcome, and close a session that was created for the edit."""
        del self._edits[edit.id]
        if edit.has_begun:
            self._titles.end(edit.session.n)
        self._host.screen.push("edit_over", edit.id)
        outcome = self._outcome(edit)
        if outcome.message:
            self._host.echo(outcome.level, outcome.message)
        if not edit.is_own:
            return
        if outcome.keeps_session:
            edit.session.keep_open()
            edit.conversation.store()
        elif edit.has_begun:
            self._ended.append(edit.conversation)
        else:
            self._host.tasks.start_soon(self._close, edit.conversation)

    def _outcome(self, edit: InlineEdit) -> Outcome:
        """Return the outcome of an edit whose turn has ended."""
        session, name = edit.session, edit.name
        if edit.is_cancelled or (not edit.failure and session.stop_reason == "cancelled"):
            return Outcome(words.EDIT_CANCELLED.format(edit=name))
        if edit.failure or session.error:
            reason = one_line(edit.failure or session.error or "")
            return Outcome(words.EDIT_FAILED.format(edit=name, reason=reason), "error")
        if session.stop_reason != "end_turn":
            reason = STOP_REASONS.get(session.stop_reason or "") or wording.TURN_ENDED.format(
                reason=session.stop_reason
            )
            return Outcome(words.EDIT_STOPPED.format(edit=name, reason=reason), "warn")
        if edit.has_written or self._has_changed(edit):
            return Outcome()
        answers = list(_answers(session))
        if any(map(FENCE.search, answers)):
            message = words.EDIT_ANSWERED if edit.is_own else words.EDIT_ANSWERED_HERE
            return Outcome(message.format(edit=name), keeps_session=True)
        if answers:
            answer = one_line(MARKUP.sub("", answers[-1].strip().partition("\n")[0]))
            return Outcome(words.EDIT_WITHOUT_CHANGE.format(edit=name, answer=answer))
        return Outcome(words.EDIT_NOTHING.format(edit=name))

    def _has_changed(self, edit: InlineEdit) -> bool:
        """Return whether the pending edits of the session have changed during the turn."""
        now = self._entries(edit.session)
        return len(now) != len(edit.entries) or any(
            edit.entries.get(path) is not entry for path, entry in now.items()
        )

    def _entries(self, session: Session) -> Mapping[str, Pending]:
        return {entry.path: entry for entry in self._host.files.ledger.files(session.n)}

    async def _close(self, conversation: Conversation) -> None:
        """Close the session of an edit. Its hunks remain pending."""
        if conversation.session.status == "closed":
            return
        self._host.sessions.leave(conversation.session.n)
        try:
            await conversation.close()
        except RequestError as error:
            if conversation.connection is not None:
                conversation.connection.warnings.count("session/close refused", str(error))

    # -- state ------------------------------------------------------------------------------------

    def _show_state(self, edit: InlineEdit) -> None:
        """Send the session and state of an edit to its mark."""
        self._host.screen.push("edit_state", edit.id, edit.session.n, edit.has_begun)

    def _edit_of(self, prompt: Prompt) -> InlineEdit | None:
        return next((edit for edit in self._edits.values() if edit.prompt is prompt), None)

    def _running_edits(self, session: int) -> list[InlineEdit]:
        """Return the edits of a session whose prompts have been sent to the agent."""
        return [
            edit for edit in self._edits.values() if edit.has_begun and edit.session.n == session
        ]


def _answers(session: Session) -> Iterator[str]:
    """Yield the agent's messages of the last turn that are not blank."""
    for entry in session.transcript.entries[session.entries_before :]:
        if isinstance(entry, Message) and entry.role == "agent" and entry.text().strip():
            yield entry.text()
