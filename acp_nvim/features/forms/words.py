"""Texts that only the feature `forms` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

NO_ANSWER: Final = "No answer {answer}. Answers: {answers}"
FORM_HELP: Final = "Fill in the form; :w shows a summary before sending. <CR> ticks a box"
FORM_VALUES: Final = "Form values must be a table keyed by name"
ADDRESS_REFUSED: Final = "This address is not safe to open"
AND_MORE: Final = "{first} (and {count} more)"
