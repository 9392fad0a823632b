"""What programs that we start find in their environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache


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
