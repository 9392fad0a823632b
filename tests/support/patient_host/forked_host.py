"""Replaces a process by a fork of a template (`host_template.py`), which has done the imports.

The process passes signals on and exits as the fork does. If it is killed, the template kills the
fork. Only built-in modules are imported here, because each test starts such a process.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys

SIZE = 8
REFUSAL = bytes(SIZE)
PASSED_ON = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM)
PREFIXES = (b"LANG", b"LC_", b"LD_", b"PYTHON", b"TZ")
"""Prefixes of environment variables on which Python or the imports may depend."""


def circumstances() -> bytes:
    """Return what the imports may depend on. A template refuses other ones than its own."""
    mask = os.umask(0o077)
    os.umask(mask)
    variables = [b"%b=%b" % item for item in os.environb.items() if item[0].startswith(PREFIXES)]
    interpreter = f"{os.getcwd()} {sys.executable} {sys.orig_argv[1:]} {mask}"  # noqa: PTH109
    return b"\0".join([os.fsencode(interpreter), *sorted(variables)])


def replace_by_fork(address: str) -> None:
    """Let a fork of the template do the work, and exit as it does. Return if it refuses."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, PASSED_ON)
    template = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    template.connect(f"\0{address}")
    environment = b"\0".join(b"%b=%b" % item for item in os.environb.items())
    stdio = b"".join(fd.to_bytes(4, sys.byteorder) for fd in range(3))
    for number, text in enumerate((circumstances(), environment)):
        size = len(text).to_bytes(SIZE, "big")
        files = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, stdio)] if number == 0 else []
        template.sendmsg([size], files)
        template.sendall(text)
    answer = read(template, SIZE)
    if answer == REFUSAL:
        template.close()
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, PASSED_ON)
        return
    fork = int.from_bytes(answer, "big")
    os.symlink(str(fork), f"{os.environ['ACP_TEST_FORKS']}/{os.getpid()}")  # noqa: PTH211
    for number in PASSED_ON:
        _signal.signal(number, lambda number, _: os.kill(fork, number))
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, PASSED_ON)
    os.closerange(0, 3)
    _exit(int.from_bytes(read(template, SIZE), "big", signed=True))


def read(stream: _socket.socket, size: int) -> bytes:
    """Read this number of bytes. Exit if the other end has closed."""
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            os._exit(1)
        data += part
    return data


def _exit(code: int) -> None:
    """Exit with this code; a negative one is a signal."""
    if code < 0:
        if code != -_signal.SIGKILL:
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
