"""Makes the host under test write the names of its modules into the file `ACP_TEST_MODULES` when it
ends.

Python runs this module at startup if this folder is in PYTHONPATH.
"""

import atexit
import os
import sys
from pathlib import Path

if sys.orig_argv[1:3] == ["-m", "acp_nvim"]:
    atexit.register(lambda: Path(os.environ["ACP_TEST_MODULES"]).write_text("\n".join(sys.modules)))
