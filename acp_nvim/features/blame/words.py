"""Texts that only the feature `blame` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

BLAME_EXPORTED: Final = "Agent trace exported to {path}"
BLAME_NOTED: Final = "Agent trace noted on commit {commit}, in {ref}"
BLAME_NOT_COMMITTED: Final = "The last commit has no lines that an agent is known to have written"
NOTES_FAILED: Final = "No note was made ({reason}). :Acp blame export FILE writes a file"
BLAME_NOTHING: Final = "No agent is known to have written lines here"
