"""What programs that we start find in their environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

from acp_nvim.agent.wire.secret_names import secret_values


@cache
def agent_environment() -> Mapping[str, str]:
    """The user's whole environment, without what Neovim set for itself. Ours is what it was when
    this process began.
    """
    return {
        key: value
        for key, value in os.environ.items()
        if key not in ("NVIM", "NVIM_LISTEN_ADDRESS", "VIMRUNTIME", "VIM", "MYVIMRC")
    }


@cache
def secret_environment() -> list[str]:
    """The values of the user's environment that are secret."""
    return secret_values(agent_environment())
