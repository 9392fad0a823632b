"""Texts that only the feature `edit` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

EDIT_CANCELLED: Final = "Edit cancelled: {edit}"
EDIT_FAILED: Final = "Edit failed: {edit}: {reason}"
EDIT_STOPPED: Final = "Edit stopped: {edit}: {reason}"
EDIT_NOTHING: Final = "Nothing changed: {edit}"
EDIT_WITHOUT_CHANGE: Final = "Nothing changed: {edit}: {answer}"
EDIT_ANSWERED: Final = "Nothing changed; the answer is text. :Acp sessions opens it: {edit}"
EDIT_ANSWERED_HERE: Final = "Nothing changed; the answer is text. :Acp chat shows it: {edit}"
