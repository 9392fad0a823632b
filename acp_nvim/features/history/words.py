"""Texts that only the feature `history` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

LAST_CHAT: Final = "No session yet. Open the last one from this directory?"
HISTORY_UNREADABLE: Final = "The history cannot be read: {reason}"
HISTORY_NOT_FOUND: Final = "No match in the history: {words}"
HISTORY_DELETED: Final = "Deleted from the history: {session}"
PART_STARTED: Final = "started {time}"
HISTORY_UNUSED: Final = "No usage recorded yet"
HISTORY_EXPORT_TO: Final = "Export to (empty: a window): "
