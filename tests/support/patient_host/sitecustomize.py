"""Prepares hosts under test. Python runs this module at startup if this folder is in PYTHONPATH.

A host scans all files before it sends a prompt, however long that takes. A scripted agent changes
files in the millisecond in which its prompt arrives, which no real agent does. On a busy machine it
would finish before the scan, and its changes would count as earlier ones. `edit(env=HURRIED_HOST)`
starts an editor without this.

`ACP_TEST_LIMITS`, a JSON object, sets limits of `acp_nvim.files.checkpoints.store`, so that small
files exceed them. `ACP_TEST_PORTABLE` takes away the functions of Linux.

If `ACP_TEST_TEMPLATE` names a template (`tests/support/host_template.py`), a fork of the template
becomes the host, because it has done the imports. See `forked_host.py`.
"""

import gc
import os
import sys

if sys.orig_argv[1:3] == ["-m", "acp_nvim"]:
    gc.disable()  # as the host does before its imports
    if "ACP_TEST_TEMPLATE" in os.environ:
        from forked_host import replace_by_fork  # type: ignore[import-not-found]

        replace_by_fork(os.environ["ACP_TEST_TEMPLATE"])

    import json
    from pathlib import Path
    from runpy import run_path

    sys.path.insert(0, str(Path.cwd()))  # `-m` does this later; the plugin may be a copy
    from acp_nvim.files import workspace
    from acp_nvim.files.checkpoints import store

    workspace.SCAN_WAIT_S = 60.0  # type: ignore[misc]
    if os.environ.get("ACP_TEST_PORTABLE"):
        run_path(str(Path(__file__).parent.parent / "portable.py"))["hide_linux_functions"]()
    if "ACP_TEST_LISTENER" in os.environ:
        from host_template import serve  # type: ignore[import-not-found]

        serve(int(os.environ["ACP_TEST_LISTENER"]))
    for name, value in json.loads(os.environ.get("ACP_TEST_LIMITS", "{}")).items():
        assert hasattr(store, name), name
        setattr(store, name, value)
