"""Text under its name, as Markdown that cannot be confused with the text around it."""

from __future__ import annotations


def quoted(name: str, text: str) -> str:
    """Return a text under its name, in a fence longer than any inside."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{name}:\n{fence}\n{text.removesuffix(chr(10))}\n{fence}"
