"""Unsaved text, for agents that read files on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.features.unsaved.unsaved_changes import UnsavedChanges

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    changes = UnsavedChanges(app.nvim.buffers, app.options.files, app.choose)
    app.observers.on_file_read.append(changes.on_file_read)
    observers = app.conversation_observers
    observers.on_turn_starting.append(changes.on_turn_starting)
    observers.on_prompt_sent.append(changes.on_prompt_sent)
    observers.on_prompt_returned.append(changes.on_prompt_returned)
    observers.on_turn_ended.append(changes.on_turn_ended)
