"""Markdown fences that the quoted text cannot close."""

from __future__ import annotations


def fence_text(name: str, text: str) -> str:
    """Return text below its name, in a fence longer than any fence in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{name}:\n{fence}\n{text.removesuffix(chr(10))}\n{fence}"
