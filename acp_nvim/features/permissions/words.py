"""Texts that only the feature `permissions` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

NEW_QUESTION: Final = "New question: press again"
CHOOSE: Final = "Choose an answer: :Acp allow {options}"
ONLY_A_PIECE: Final = "The text to replace is not in {file}. Only the new text is shown"
FILL_IN: Final = "Fill in the form, then :w for a summary. :Acp deny declines"
SEE_ADDRESS: Final = ":Acp permissions shows the address to open. :Acp deny declines"
SEE_FORM: Final = ":Acp permissions opens the form. :Acp deny declines"
