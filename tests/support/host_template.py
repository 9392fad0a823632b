"""Templates of hosts: processes that have done the imports of a host and fork the hosts under test.

The imports take most of the CPU time of a host that lives for one short test. See
`tests/support/patient_host/forked_host.py`.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import uuid
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENT_HOST = ROOT / "tests/support/patient_host"


def forked_hosts(folder: Path) -> dict[str, str]:
    """Return the environment of an editor with forked hosts. `folder` gets their process ids."""
    folder.mkdir()
    return {"ACP_TEST_TEMPLATE": template_address(), "ACP_TEST_FORKS": str(folder)}


@cache
def template_address() -> str:
    """Start the template of this process, which ends with it, and return its address."""
    address = f"acp-test-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{address}")
        listener.listen()
        fd = listener.fileno()
        env = os.environ | {"PYTHONPATH": str(PATIENT_HOST), "ACP_TEST_LISTENER": str(fd)}
        argv = [sys.executable, "-m", "acp_nvim"]
        template = subprocess.Popen(
            argv, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[fd]
        )
    atexit.register(template.communicate)  # it exits at the end of its stdin
    return address
