"""Makes the host under test write the names of its modules into the file `ACP_TEST_MODULES` when it
ends.

Python runs this module at startup if this folder is in PYTHONPATH.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

_end_process = os._exit


def _record_and_exit(status: int) -> NoReturn:
    Path(os.environ["ACP_TEST_MODULES"]).write_text("\n".join(sys.modules))
    _end_process(status)


if sys.orig_argv[1:3] == ["-m", "acp_nvim"]:
    os._exit = _record_and_exit
