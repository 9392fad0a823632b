"""Child sessions of a session: names, state and questions (v1/subagents).

A child has its own transcript and number. Its questions are in the list of the topmost session,
under the child's name. The client never opens, prompts or closes a child.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.protocol.schema import given
from acp_nvim.session import lists
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.decisions import CANCELLED, Decision
from acp_nvim.session.session import Session, Status
from acp_nvim.session.transcript.entries import Heading, SessionMessage, Subagent, add_part

SHARED_ID: Final = ""
"""Id of the shared child for all children beyond the first `lists.NEWEST`."""

_QUESTION_LISTS = ("permissions", "elicitations")
_QUESTION_EVENTS = ("AcpPermission", "AcpPermissionDone", "AcpElicitation")

_STATUS: dict[str, Status] = {
    "running": "running",
    "requires_action": "running",
    "gone": "failed",
}
"""Session status by the child's state. Any other state is idle."""


class Child(Session):
    """Session that another session's agent has started."""

    def __init__(self, n: int, parent: Session, link: Subagent) -> None:
        """`link` is the entry in the parent's transcript."""
        root = parent.root
        super().__init__(n, parent.agent, root.cwd, root.directories, parent.observer)
        self.id = link.id
        self.parent_session = parent
        self.user = "Task"
        self.parent = parent.n
        self.link = link
        self.root = root
        self.decisions = root.decisions
        self.status = "idle"
        self.change("id", "parent")
        self._add_heading()
        link.n = n
        root.children[link.id] = self
        self.follow()

    def follow(self) -> None:
        """Take title and status from the parent's entry."""
        link = self.link
        self.title, self.status = link.title, _STATUS.get(link.state, "idle")
        self.stop_reason, self.error = link.stop_reason, link.error
        if self.status != "running":
            self.transcript.release()
        self.change("title", "status", "stop_reason", "error")

    def replace_link(self, link: Subagent) -> None:
        """Set the subagent's entry after a failed replay of the parent was dropped."""
        self.link, link.n = link, self.n
        self._add_heading()

    def _add_heading(self) -> None:
        self.transcript.add(Heading(f"{self.link.label} (subagent of session {self.parent})"))

    def change(self, *names: str) -> None:
        """Mark state as changed. Questions are state of the topmost session."""
        own_names = [name for name in names if name not in _QUESTION_LISTS]
        super().change(*own_names)
        if len(own_names) < len(names):
            self.root.change(*(name for name in names if name in _QUESTION_LISTS))

    def event(self, name: str, **data: Any) -> None:
        """Queue an event. Events about questions go to the topmost session."""
        if name in _QUESTION_EVENTS:
            self.root.event(name, subagent=self.n, **data)
        else:
            super().event(name, **data)

    @property
    def is_silent(self) -> bool:
        """Return whether events are suppressed, because the topmost session is replayed."""
        return self.root.replaying

    def ask(self, decision: Decision, call: ToolCall | None = None) -> None:
        """Ask here and in the topmost session, under the child's name."""
        decision.asker, decision.agent = self, self.link.label
        decision.title = f"{self.link.label} › {decision.title}"
        super().ask(decision, call)
        self.link.decisions.append(decision)
        self._on_change()
        decision.waiters.append(lambda _: self._on_change())

    def on_call(self, call: ToolCall) -> None:
        """Show the subagent's latest call in the parent's chat too."""
        super().on_call(call)
        self.link.calls, self.link.latest = len(self.tool_calls), call.title or call.name or call.id
        self._on_change()

    def _on_change(self) -> None:
        self.parent_session.transcript.touch(self.link)
        self.parent_session.observer.on_change(self.parent_session)

    def cancel_asked(self) -> None:
        """Cancel the child's questions after the child was cancelled."""
        for decision in self.decisions:
            if decision.asker is self:
                decision.resolve(CANCELLED, "cancel")


def child_of(
    parent: Session, session_id: str, make: Callable[[Session, Subagent], Child]
) -> Session:
    """Return the child that the parent has named, created on first use.

    A session has a limited number of children with their own chats. The others share one.
    """
    root, link = parent.root, parent.reported.links[session_id]
    known = root.children.get(session_id)
    if known is not None:
        return known
    if len(root.children) < lists.NEWEST:
        return make(parent, link)
    shared = root.children.get(SHARED_ID)
    if shared is None:
        others = Subagent(SHARED_ID, title=wording.MORE_SUBAGENTS, state="idle")
        root.transcript.add(others)
        shared = make(root, others)
    link.n = shared.n
    return shared


def shown_child(session: Session, session_id: str) -> Session | None:
    """Return the child whose chat shows a subagent, or None if it is unknown."""
    children = session.root.children
    return children.get(session_id) or (
        children.get(SHARED_ID) if session_id in session.reported.links else None
    )


def is_id_of_another(session: Session, session_id: str, routed: Session | None) -> bool:
    """Return whether a reported child has the id of another session.

    That may be the session itself, one above it, or one that the user opened. `routed` is the
    session known by that id.
    """
    if session_id in (SHARED_ID, session.id, session.root.id):
        return True
    above, current = [session.root], session
    while isinstance(current, Child):
        above.append(current)
        current = current.parent_session
    return routed is not None and (routed in above or routed.root is not session.root)


def apply(session: Session, update: schema.SubagentUpdate) -> Subagent:
    """Apply a parent's update of a child, and return the child's entry in the chat.

    The first update adds the entry. An absent field leaves its value unchanged, a null field clears
    it.
    """
    link = session.reported.links.get(update.session_id)
    if link is None:
        link = session.reported.links[update.session_id] = Subagent(update.session_id)
        session.transcript.add(link)
        if isinstance(child := session.root.children.get(update.session_id), Child):
            child.replace_link(link)
        if len(session.reported.links) > lists.NEWEST:
            session.change("more")
    if update.title is not UNSET:
        link.title = update.title
    if update.description is not UNSET:
        link.description = update.description
    if update.capabilities is not UNSET:
        capabilities = given(update.capabilities)
        link.cancellable = capabilities is not None and given(capabilities.cancel) is not None
    if update.state is not UNSET:
        _set_state(link, update.state)
    session.transcript.touch(link)
    session.change("subagents")
    return link


def _set_state(link: Subagent, state: schema.StateUpdate | None) -> None:
    link.stop_reason = link.error = None
    match state:
        case schema.RunningStateUpdate():
            link.state = "running"
        case schema.RequiresActionStateUpdate():
            link.state = "requires_action"
        case schema.IdleStateUpdate():
            link.state, link.stop_reason = "idle", given(state.stop_reason)
            error = given(state.error)
            link.error = error.message if error is not None else None
        case schema.OtherStateUpdate():
            link.state = state.state
        case _:
            link.state = "unknown"


def abandon(session: Session) -> None:
    """End all children, when the agent has ended or the session is closed.

    Close their open calls as failed, and mark those that were not idle as gone.
    """
    for child in session.children.values():
        assert isinstance(child, Child)
        call_updates.close_open(child, "failed")
        if child.link.state != "idle":
            child.link.state = "gone"
        child.follow()
        child.parent_session.transcript.touch(child.link)
        child.parent_session.change("subagents")


# -- messages between sessions --------------------------------------------------------------------


def update_message(session: Session, update: schema.SessionMessage) -> None:
    """Create a message between sessions, or update the one with its id. Null clears a field."""
    message = _message(session, update.message_id)
    if update.sender_session_id is not UNSET:
        message.sender = update.sender_session_id
    if update.recipient_session_id is not UNSET:
        message.recipient = update.recipient_session_id
    if update.content is not UNSET:
        message.parts = [_part(block) for block in update.content or ()]
    message.names = _names(session, message)
    session.observer.on_change(session)


def append_message(session: Session, update: schema.SessionMessageChunk) -> None:
    """Append a chunk to a message between sessions."""
    add_part(_message(session, update.message_id).parts, _part(update.content))
    session.observer.on_change(session)


def _message(session: Session, message_id: str) -> SessionMessage:
    message = session.reported.messages.get(message_id)
    if message is not None:
        session.transcript.touch(message)
        return message
    message = session.reported.messages[message_id] = SessionMessage(message_id)
    session.transcript.add(message)
    return message


def _names(session: Session, message: SessionMessage) -> dict[str, str]:
    return {id: _name(session, id) for id in (message.sender, message.recipient) if id}


def _name(session: Session, session_id: str) -> str:
    root = session.root
    if session_id == session.id:
        return "this session"
    if session_id == root.id:
        return root.title or root.agent
    if (link := session.reported.links.get(session_id)) is not None:
        return link.label
    child = root.children.get(session_id)
    return (child.title or "") if child is not None else ""


def _part(block: Any) -> Any:
    return block.text if isinstance(block, schema.TextContent) else block
