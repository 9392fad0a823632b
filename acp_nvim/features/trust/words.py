"""Texts that only the feature `trust` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

TRUST_EDITS: Final = "Edits in the session's directories are allowed without asking"
TRUST_ALL: Final = "Everything but secrets and outside files is allowed without asking"
TRUST_OFF: Final = "You are asked for permission again"
