"""Environment of the programs that the host starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache


@cache
def agent_environment() -> Mapping[str, str]:
    """Return the environment of this process without the variables that Neovim sets for itself."""
    return {
        key: value
        for key, value in os.environ.items()
        if key not in ("NVIM", "NVIM_LISTEN_ADDRESS", "VIMRUNTIME", "VIM", "MYVIMRC")
    }
