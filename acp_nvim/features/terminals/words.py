"""Texts that only the feature `terminals` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

NO_TERMINALS: Final = "No terminals"
TERMINAL_UNKNOWN: Final = "The agent has not reported terminal {terminal}"
PART_BYTES_LEFT_OUT: Final = "… {count} bytes not shown"
