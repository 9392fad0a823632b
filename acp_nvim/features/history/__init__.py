"""History: record sessions; search, open, continue and export them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from acp_nvim.features.history.history import History
from acp_nvim.features.history.stored_chats import StoredChats
from acp_nvim.host.transcripts import Transcripts
from acp_nvim.nvim.environment import agent_environment

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.history.verbs",
        "history",
        "history_stats",
        "history_ask",
        "history_do",
        "last_chat",
    )
    history = History(
        app.foreign_sessions.own,
        lambda: app.workspace.persistence.keys.instance,
        lambda: app.agents.secrets(agent_environment()),
        partial(app.echo, "warn"),
        app.nvim.bridge.loop,
    )
    chats = StoredChats(app, history)
    app.parts.add(chats)
    app.parts.add(chats, Transcripts)
    app.files.authors.recorders.append(history)
    app.observers.on_setup.append(partial(_on_setup, app, history))
    app.observers.on_frame.append(history.on_frame)
    app.observers.on_exit.append(history.on_exit)
    app.observers.on_processes_ended.append(history.on_processes_ended)
    app.conversation_observers.on_prompt_sent.append(history.on_prompt_sent)


def _on_setup(app: Host, history: History, args: dict[str, Any]) -> None:
    history.configure(app.settings().history, app.options.data_file("history.db"))
