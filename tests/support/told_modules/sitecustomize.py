"""The host under test writes the names of its modules into the file `ACP_TEST_MODULES` as it ends.

Python runs this module as it starts, where this folder is in PYTHONPATH.
"""

import atexit
import os
import sys
from pathlib import Path

if sys.orig_argv[1:3] == ["-m", "acp_nvim"]:
    atexit.register(lambda: Path(os.environ["ACP_TEST_MODULES"]).write_text("\n".join(sys.modules)))
