"""Makes the host under test lack the packages of the extra `remote`.

Python runs this module at startup if this folder is in PYTHONPATH.
"""

import sys

if sys.orig_argv[1:3] == ["-m", "acp_nvim"]:
    for name in ("websockets", "httpx", "h2", "certifi"):
        sys.modules[name] = None  # type: ignore[assignment]
