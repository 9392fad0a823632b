"""A Neovim on a real terminal, observed from outside.

The other end of its pty is here: bytes that arrive count as a paint, and keys are written as bytes.
A connection to Neovim's socket sends `nvim_eval` again and again, as a ping. The time until its
answer is the time for which the main loop was blocked.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import socket
import struct
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack

COLUMNS, ROWS = 160, 45
AT_ONCE = 1 << 16
"""Maximum number of bytes per read. Larger reads would slow the observed process."""
LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
"""Keys, typed one after another. No workload contains them, so their echo is recognized."""


@dataclass
class Watched:
    """Observations of one run, in milliseconds."""

    wall: float = 0.0
    gaps: list[float] = field(default_factory=list)
    """Times from a ping to its answer."""
    keys: list[float] = field(default_factory=list)
    """Times from a key to its echo."""
    paints: list[float] = field(default_factory=list)
    """Intervals between paints."""
    cpu_nvim: float = 0.0
    cpu_host: float = 0.0
    text: list[str] = field(default_factory=list)


class Editor:
    """Neovim process in its own terminal."""

    def __init__(self, argv: list[str], env: Mapping[str, str], home: Path) -> None:
        self.address = str(home / "nvim.sock")
        Path(self.address).unlink(missing_ok=True)  # left by an earlier editor
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(home)
            os.execvpe(argv[0], [*argv, "--listen", self.address], dict(env))
        self.messages: list[tuple[str, list[Any]]] = []
        self._answers: dict[int, tuple[Any, Any]] = {}
        self._next = 0
        self._unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=0)
        self._painted = bytearray()
        self.socket = self._connect()
        self.server: int = self.lua("return vim.fn.getpid()")
        self.channel: int = self.request("nvim_get_api_info")[0]

    # ---- requests

    def request(self, method: str, *args: Any) -> Any:
        number = self._send(method, *args)
        while number not in self._answers:
            self._pump(1.0)
        error, value = self._answers.pop(number)
        if error is not None:
            raise RuntimeError(error)
        return value

    def lua(self, code: str, *args: Any) -> Any:
        return self.request("nvim_exec_lua", code, list(args))

    def wait(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Process events until `condition` is true."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(self.lua("return vim.api.nvim_exec2('messages', {output=true})"))
            self._pump(0.05)

    def pump_for(self, seconds: float) -> None:
        """Process events for a number of seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._pump(left)

    # ---- watching

    def watch(self, done: Callable[[], bool], every: float, keys: bool = False) -> Watched:
        """Measure until `done` returns true. Raise TimeoutError after 30 seconds.

        Send a ping every `every` seconds and, with `keys`, a key whenever the previous one has been
        painted.
        """
        seen = Watched()
        ping, pinged, next_ping = 0, 0.0, 0.0
        key, typed, next_key, count = b"", 0.0, 0.0, 0
        end = time.monotonic() + 30
        last_paint = time.monotonic()
        while not done():
            now = time.monotonic()
            if now > end:
                raise TimeoutError("the run does not end")
            if not ping and now >= next_ping:
                ping, pinged = self._send("nvim_eval", "1"), now
            if keys and not key and now >= next_key:
                key, typed = LETTERS[count % len(LETTERS)].encode(), now
                count += 1
                self._painted.clear()
                os.write(self.terminal, key)
            painted = self._pump(0.001)
            now = time.monotonic()
            if painted:
                seen.paints.append((now - last_paint) * 1000)
                last_paint = now
            if ping and self._answers.pop(ping, None) is not None:
                seen.gaps.append((now - pinged) * 1000)
                ping, next_ping = 0, pinged + every
            if key and key in self._painted:
                seen.keys.append((now - typed) * 1000)
                key, next_key = b"", now + 0.002
        seen.paints.append((time.monotonic() - last_paint) * 1000)
        if ping:  # a last ping may still be open
            self.wait(lambda: ping in self._answers)
            del self._answers[ping]
            seen.gaps.append((time.monotonic() - pinged) * 1000)
        if key:
            self.wait(lambda: key in self._painted)
            seen.keys.append((time.monotonic() - typed) * 1000)
        return seen

    # ---- the end

    def close(self) -> None:
        """Kill Neovim. Its host exits when its pipe is closed."""
        self.socket.close()
        for pid in (self.server, self.pid):
            os.kill(pid, signal.SIGKILL)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)

    # ---- the two descriptors

    def _connect(self) -> socket.socket:
        end = time.monotonic() + 10
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(self.address)
            except OSError:
                connection.close()
                if time.monotonic() > end:
                    raise
                if select.select([self.terminal], [], [], 0.01)[0]:
                    os.read(self.terminal, 1 << 16)
            else:
                return connection

    def _send(self, method: str, *args: Any) -> int:
        self._next += 1
        self.socket.sendall(msgpack.packb([0, self._next, method, args]))
        return self._next

    def _pump(self, seconds: float) -> bool:
        """Wait for data. Store responses, messages and painted bytes.

        Return whether the terminal was painted.
        """
        ready = select.select([self.terminal, self.socket.fileno()], [], [], seconds)[0]
        if self.socket.fileno() in ready:
            data = self.socket.recv(AT_ONCE)
            if not data:
                raise EOFError("Neovim is gone")
            self._unpacker.feed(data)
            for message in self._unpacker:
                if message[0] == 1:
                    self._answers[message[1]] = (message[2], message[3])
                else:
                    self.messages.append((message[1], message[2]))
        if self.terminal not in ready:
            return False
        self._painted += os.read(self.terminal, AT_ONCE)
        if len(self._painted) > 2 * AT_ONCE:
            del self._painted[:-AT_ONCE]
        return True
