"""Makes the host under test scan all files before it sends a prompt, however long that takes.

Python runs this module at startup if this folder is in PYTHONPATH.

A scripted agent changes files in the millisecond in which its prompt arrives, which no real agent
does. On a busy machine it would finish before the scan, and its changes would count as earlier
ones. `edit(env=HURRIED_HOST)` starts an editor without this.

`ACP_TEST_LIMITS`, a JSON object, sets limits of `acp_nvim.files.checkpoints.store`, so that small
files exceed them. `ACP_TEST_PORTABLE` takes away the functions of Linux.
"""

import gc
import json
import os
import sys
from pathlib import Path
from runpy import run_path

if sys.orig_argv[1:3] == ["-m", "acp_nvim"]:
    gc.disable()  # as the host does before its imports
    sys.path.insert(0, str(Path.cwd()))  # `-m` does this later; the plugin may be a copy
    from acp_nvim.files import workspace
    from acp_nvim.files.checkpoints import store

    workspace.PATIENCE_S = 60.0  # type: ignore[misc]
    if os.environ.get("ACP_TEST_PORTABLE"):
        run_path(str(Path(__file__).parent.parent / "portable.py"))["take_away"]()
    for name, value in json.loads(os.environ.get("ACP_TEST_LIMITS", "{}")).items():
        assert hasattr(store, name), name
        setattr(store, name, value)
