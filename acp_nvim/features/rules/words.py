"""Texts that only the feature `rules` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

NO_RULES: Final = "No rules. Set option permission.rules, or press Y on a question"
PART_RULE_PRESET: Final = "preset {preset}"
PART_RULE_OPTION: Final = "permission.rules"
PART_RULE_PROJECT: Final = "this project"
PART_RULE_TRUST: Final = "trust in this session"
KEEP_RULE: Final = "Always in this project: {action}"
OPTION_KEEP_RULE: Final = "Keep this rule"
OPTION_NO_RULE: Final = "No"
RULE_STORED: Final = "Stored for this project. :Acp rules lists it"
RULE_REMOVED: Final = "Rule removed"
RULE_NOT_REMOVABLE: Final = "Only rules of this project can be removed here"
