"""The user's own keys in what the tutor says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from acp_nvim.tutor.session import Session

KEYS: Final = {
    "prompt": ":AcpPrompt",
    "send": "<C-s>",
    "allow": "y",
    "deny": "n",
    "allow_anywhere": ":Acp allow",
    "amend": ":Acp review",
    "next": "]h",
    "accept": "<localleader>a",
    "reject": "<localleader>r",
    "cancel": "<C-c>",
    "cancel_anywhere": ":AcpCancel",
    "follow": ":Acp follow",
    "help": "g?",
}
"""What is typed, by what it does, unless the client says otherwise (`_meta` of a session)."""


def told(meta: Any) -> dict[str, str]:
    """The keys in the `_meta` of a session: `{"acp.nvim": {"keys": {name: key}}}`."""
    keys = _ours(meta).get("keys")
    if not isinstance(keys, dict):
        return {}
    return {name: key for name, key in keys.items() if name in KEYS and isinstance(key, str)}


def blames(meta: Any) -> bool:
    """Whether the client knows who wrote a line: `{"acp.nvim": {"blame": true}}`."""
    return _ours(meta).get("blame") is True


def _ours(meta: Any) -> dict[str, Any]:
    ours = meta.get("acp.nvim") if isinstance(meta, dict) else None
    return ours if isinstance(ours, dict) else {}


def filled(session: Session, text: str, **more: object) -> str:
    """The text with a key in place of each of its names."""
    keys = {name: f"`{key}`" for name, key in {**KEYS, **session.keys}.items()}
    return text.format(**keys, **more)
