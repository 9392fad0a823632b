"""Texts that only the feature `unsaved` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

UNSAVED_ASK: Final = "The agent reads files on disk. Unsaved: {files}"
UNSAVED_ATTACH: Final = "Send the changes with the prompt"
UNSAVED_SAVE: Final = "Save first"
UNSAVED_IGNORE: Final = "Leave them out"
NOT_SAVED: Final = "{file} is not saved: {reason}"
