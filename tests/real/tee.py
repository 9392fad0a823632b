"""`python tee.py LOG PROGRAM [ARG …]`: run an agent and record its traffic.

The log has the format of scripted agents (tests/support/traffic.py). This module uses only the
standard library, since it runs as a separate program.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

_lock = threading.Lock()


def record(log: IO[bytes], direction: str, **what: object) -> None:
    """Write one entry to the log."""
    entry = {"t": time.monotonic(), "dir": direction, **what}
    with _lock:
        log.write(json.dumps(entry).encode() + b"\n")


def line_of(log: IO[bytes], direction: str, line: bytes) -> None:
    """Record a line as a frame, or as text if it is not JSON."""
    try:
        record(log, direction, frame=json.loads(line))
    except ValueError:
        record(log, direction, raw=line[:1000].decode(errors="backslashreplace"))


def pump(source: int, target: int, log: IO[bytes], direction: str) -> None:
    """Pass bytes on until one side closes, then close the target."""
    rest = b""
    while data := os.read(source, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:  # first, so that the log has an answer after its request
            line_of(log, direction, line)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(target, view) :]
        except BrokenPipeError:
            record(log, "note", note=f"broken pipe {direction}")
            break
    os.close(target)


def main(path: str, *command: str) -> int:
    """Run the agent and return its exit code."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    pipe = subprocess.PIPE
    with Path(path).open("ab", buffering=0) as log:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=env)
        assert process.stdin
        assert process.stdout
        record(log, "note", note=f"start {process.pid}")
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        inward = threading.Thread(
            target=pump, args=(0, process.stdin.fileno(), log, "in"), daemon=True
        )
        inward.start()
        pump(process.stdout.fileno(), 1, log, "out")
        code = process.wait()
        record(log, "note", note=f"exit {code}")
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
