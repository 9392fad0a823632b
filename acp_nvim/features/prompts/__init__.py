"""Prompts: sending, attachments, the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.features.prompts.sent import SentPrompts
from acp_nvim.features.prompts.turns import PromptView, TurnFiles

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.prompts.verbs", "prompt", "send", "begin", "cancel", "queue", "prompts"
    )
    app.verbs.add("acp_nvim.features.prompts.attach", "attach")
    sent = SentPrompts(app.problem)
    app.observers.on_setup.append(sent.on_setup)
    app.observers.on_closing.append(sent.close)
    app.observers.on_closed.append(sent.tidy)
    view = PromptView(app.screen, app.pace, sent, app.comments)
    files = TurnFiles(app.workspace, app.buffers)
    observers = app.conversation_observers
    observers.on_awaited.extend((view.on_awaited, app.workspace.early_scans.expect))
    observers.on_turn_starting.append(files.on_turn_starting)
    observers.on_prompt_sent.append(view.on_prompt_sent)
    observers.on_prompt_requeued.append(view.on_prompt_requeued)
    observers.on_prompt_returned.append(view.on_prompt_returned)
    observers.on_turn_answered.append(app.workspace.on_turn_answered)
    observers.on_turn_ended.extend((view.on_turn_ended, app.workspace.end_turn))
