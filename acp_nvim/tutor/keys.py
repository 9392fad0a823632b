"""The user's keys, filled into the texts of the tutor."""

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
    "next": "]h",
    "accept": "<localleader>a",
    "reject": "<localleader>r",
    "cancel": "<C-c>",
    "cancel_anywhere": ":AcpCancel",
    "follow": ":Acp follow",
    "help": "g?",
}
"""Default keys, by the names in braces in the texts."""


def keys_from(meta: Any) -> dict[str, str]:
    """Return the user's keys from `_meta` of a session: `{"acp.nvim": {"keys": {name: key}}}`."""
    client = meta.get("acp.nvim") if isinstance(meta, dict) else None
    keys = client.get("keys") if isinstance(client, dict) else None
    if not isinstance(keys, dict):
        return {}
    return {name: key for name, key in keys.items() if name in KEYS and isinstance(key, str)}


def with_keys(session: Session, text: str, **fields: object) -> str:
    """Replace the names of keys, and other fields, in `text`."""
    keys = {name: f"`{key}`" for name, key in {**KEYS, **session.keys}.items()}
    return text.format(**keys, **fields)
