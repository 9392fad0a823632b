"""Texts that only the feature `checkpoints` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

CHECKPOINTS_OFF: Final = "Checkpoints are off (option `checkpoints`)"
FILES_APART: Final = "No checkpoints: the agent has files of its own (option `paths`)"
STILL_WORKING_REWIND: Final = "The agent is still working. Run :AcpCancel first, then rewind"
REWIND_TO: Final = "Rewind to before"
NO_PROMPTS: Final = "No prompts to go back to"
PROMPTS_NOT_IN_HISTORY: Final = (
    "The conversation is not in the history. :Acp restore brings back files only"
)
NO_SUCH_PROMPT: Final = "No prompt {n}. Prompts: {first} to {last}"
REWOUND: Final = "The conversation is back to before prompt {n}"
REWIND_UNDONE: Final = "The conversation is back to before the rewind"
FILES_WITHOUT_CHECKPOINT: Final = (
    "Files were left unchanged: no checkpoint was made before that prompt"
)
BRANCHED: Final = "Rewound to before prompt {n}, in session {session}. :Acp restore undoes it"
