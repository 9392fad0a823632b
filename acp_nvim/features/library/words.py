"""Texts that only the feature `library` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

SEND_PROJECT_PROMPT: Final = "Send the project's prompt {subject}?"
OPTION_SEND: Final = "Send it without asking until Neovim ends"
OPTION_SEND_ALWAYS: Final = "Send it while the file is unchanged"
OPTION_DO_NOT_SEND: Final = "Do not send it until Neovim ends"
OPTION_NEVER_SEND: Final = "Do not send it while the file is unchanged"
