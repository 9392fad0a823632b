"""Texts that only the feature `sessions` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

SESSION_WITHOUT_ACTIONS: Final = "{session}: the agent offers no actions for it"
SESSION_ACTIONS: Final = "{session} cannot {action}. It can: {actions}"
SESSIONS_NOT_LISTED: Final = "{agent} does not list its sessions: {reason}"
SESSION_NOT_REOPENED: Final = "This session cannot be opened again. See :Acp sessions"
SESSIONS_LATE: Final = "{agent} did not list its sessions within {seconds:g} s"
SESSIONS_MANY: Final = "{agent} has many sessions. These are the first {count:,}"
SESSION_DELETED: Final = "Deleted: {session}"
SESSION_ARCHIVED: Final = "Archived: {session}"
SESSION_UNARCHIVED: Final = "Unarchived: {session}"
TURN_CUT: Final = "The turn was interrupted"
NONE_TO_CHOOSE: Final = "No session to choose. :Acp history lists earlier ones"
NO_OTHER_MODE: Final = "The session has no other mode"
