"""Texts that only the feature `review` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

DECIDED: Final = "{done} {hunks} in {files}"
OPTION_REJECT_TOO: Final = "Reject them too"
OPTION_LEAVE_PENDING: Final = "Leave them pending"
NOT_REJECTED: Final = "Nothing was rejected"
PART_LEFT_PENDING: Final = "; not named by the agent and left pending: {count}"
NO_EDITS_OF_SESSION: Final = "This session has no pending edits"
PART_OF_OTHERS: Final = ". Pending in other sessions: {files}. :Acp edits lists them"
UNREJECTED: Final = "The last reject is undone in {files}"
EDITS_TITLE: Final = "Pending edits"
COMMENTED_AS: Final = "Comment on {place}, sent with your next prompt: {text}"
COMMENTED: Final = "Comment on {place}, sent with your next prompt"
PART_OVERTAKEN: Final = "conflict: you have changed the same lines since"
PART_UNSAVED: Final = "conflict: changed on disk while the buffer has unsaved edits"
PARKED_TITLE: Final = "Parked edits"
NOTHING_PARKED: Final = "No edits are parked"
PART_PARKED_ON: Final = "parked on {branch}: {text}"
PART_PARKED: Final = "parked: {text}"
PARKED_DROPPED: Final = "Dropped the parked edits of {files}"
