"""What a prompt that an agent has received says: the user's words, and what it tells of an earlier
conversation.
"""

from __future__ import annotations

from typing import Any

from tests.agents.loop import RETOLD


def words(prompt: dict[str, Any]) -> list[str]:
    """Return the texts of the user, without the line break before an attachment."""
    return [text.removesuffix("\n") for text in _texts(prompt) if RETOLD not in text]


def told(prompt: dict[str, Any]) -> str:
    """What is told of the conversation so far; it stands behind the user's words."""
    texts = _texts(prompt)
    assert all(RETOLD not in text for text in texts[:-1])
    return texts[-1] if RETOLD in texts[-1] else ""


def _texts(prompt: dict[str, Any]) -> list[str]:
    blocks = prompt["params"]["prompt"]
    return [block.get("text") or block.get("resource", {}).get("text", "") for block in blocks]
