"""Texts of a prompt that an agent has received: the user's words, and the transcript of an earlier
conversation.
"""

from __future__ import annotations

from typing import Any

from tests.agents.loop import EARLIER_SESSION


def words(prompt: dict[str, Any]) -> list[str]:
    """Return the texts of the user, without the line break before an attachment."""
    return [text.removesuffix("\n") for text in _texts(prompt) if EARLIER_SESSION not in text]


def transcript_in(prompt: dict[str, Any]) -> str:
    """Return the transcript of the conversation so far, which follows the user's words."""
    texts = _texts(prompt)
    assert all(EARLIER_SESSION not in text for text in texts[:-1])
    return texts[-1] if EARLIER_SESSION in texts[-1] else ""


def _texts(prompt: dict[str, Any]) -> list[str]:
    blocks = prompt["params"]["prompt"]
    return [block.get("text") or block.get("resource", {}).get("text", "") for block in blocks]
