"""Python runs this as it starts where this folder is in PYTHONPATH: the host under test takes its
time to look at the files before a prompt is sent.

A scripted agent changes files in the same millisecond in which it has its prompt, which no real one
does. On a busy machine it would be done before the look is, and what it did would count as what
was there.

`ACP_TEST_LIMITS` sets limits of `acp_nvim.workspace.snapshots.store`, so that small files exceed
them.
"""

import json
import os
import sys

if sys.orig_argv[1:3] == ["-m", "acp_nvim"]:
    from acp_nvim.workspace import workspace
    from acp_nvim.workspace.snapshots import store

    workspace.PATIENCE_S = 10.0  # type: ignore[misc]
    for name, value in json.loads(os.environ.get("ACP_TEST_LIMITS", "{}")).items():
        assert hasattr(store, name), name
        setattr(store, name, value)
