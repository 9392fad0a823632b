"""Texts that only the feature `rules` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

NO_RULES: Final = "No rules. The option permission.rules sets some, and Y on a question keeps one"
PART_RULE_PRESET: Final = "preset {preset}"
PART_RULE_OPTION: Final = "permission.rules"
PART_RULE_PROJECT: Final = "this project"
PART_RULE_TRUST: Final = "trust in this session"
KEEP_RULE: Final = "Always in this project: {action}"
RULE_KEEP: Final = "Keep this rule"
RULE_KEEP_NOT: Final = "No"
RULE_KEPT: Final = "Kept for this project. :Acp rules lists it"
RULE_GONE: Final = "The rule is gone"
RULE_NOT_KEPT: Final = "Only rules of this project can be taken away here"
