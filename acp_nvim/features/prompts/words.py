"""Texts that only the feature `prompts` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

MENTION_UNTYPED: Final = "The prompt attaches files that you did not type: {files}"
VARIABLE_OF_FILES: Final = "{{{name}}} of {files}"
PART_NO_FILE: Final = "a buffer without a file"
OPTION_SEND_WITH_FILES: Final = "Send it with these files"
OPTION_SEND_WITHOUT_FILES: Final = "Send it without these files"
OPTION_SEND_NOTHING: Final = "Do not send it"
QUEUE_CLEARED: Final = "The queue is empty now"
QUEUE_EMPTY: Final = "The queue is empty"
ADDED: Final = "Sent to the running turn"
NOTHING_TO_SEND: Final = "Nothing to send: no text, and the queue is empty"
CANCELLING: Final = "Already cancelling. :Acp restart ends the agent"
ONE_ON_HOLD: Final = "1 prompt on hold. :Acp queue run sends it"
ON_HOLD: Final = "{count} prompts on hold. :Acp queue run sends them"
NOTHING_TO_CANCEL: Final = "Nothing to cancel"
OTHERS_RUN: Final = "Nothing to cancel here. Other sessions are running. See :Acp overview"
LOGIN_CANCELLED: Final = "Login to {agent} cancelled. :Acp login tries again"
