"""Texts that only the feature `presets` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

PRESET_SET: Final = "Preset: {preset}"
PART_PRESET_MISSING: Final = ". Not available: {what}"
PART_PRESET_FIXED: Final = ". Only by :Acp new {preset}: {what}"
