"""Lua values that describe the plugin's windows."""

from __future__ import annotations

from tests.support.lua import lua_call, lua_chunk

CARD_STATE = lua_call(__file__, "card_state")
"""`shown` or `hidden`, for the permission card that floats in the tab page; else `none`."""

DIFF_WINDOWS = lua_chunk(__file__, "diff_windows")
"""Lines of each window of the tab page that is in diff mode."""


def chat_bar(session: int = 1) -> str:
    """Return the winbar of a session's chat, as `nvim_eval_statusline` describes it."""
    return lua_call(__file__, "chat_bar", str(session))
