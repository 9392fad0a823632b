"""Neovim child process driven over its msgpack-rpc pipe, one request at a time.

pynvim's session can wait forever at a hit-enter prompt and cannot be used while another loop runs.
This one detects such a prompt: for a request without an answer it sends `nvim_get_mode`, which is
always answered.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgpack

from tests.support.waiting import PATIENCE_S

RESPONSE, NOTIFICATION = 1, 2
ASK_MODE_S = 0.3  # seconds without an answer until the mode is requested
STRIKES = 4  # number of blocking modes in a row after which no key is expected any more


class EditorError(Exception):
    """Neovim answered a request with an error."""


class EditorBlocked(AssertionError):
    """Neovim waits for a key (hit-enter, more prompt, pending character), so the request hangs."""


class EditorGone(AssertionError):
    """The process ended or closed its pipe."""


def _handle(code: int, data: bytes) -> int:
    """Decode buffers, windows and tabpages as plain numbers."""
    del code
    number: int = msgpack.unpackb(data)
    return number


class Connection:
    """Requests to, and notifications from, one `nvim --embed`."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, errors: Path
    ) -> None:
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                argv,
                env=env,
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in = self.process.stdin.fileno()
        self._out = self.process.stdout.fileno()
        os.set_blocking(self._in, False)
        self._packer = msgpack.Packer(unicode_errors="surrogateescape")
        self._unpacker = msgpack.Unpacker(
            raw=False,
            strict_map_key=False,
            unicode_errors="surrogateescape",
            ext_hook=_handle,
            max_buffer_size=0,
        )
        self._answers: dict[int, tuple[Any, Any]] = {}
        self._next = 0
        self.on_notification: Callable[[str, list[Any]], None] = lambda _name, _args: None

    def send(self, method: str, *args: Any) -> int:
        """Send a request and return its id for `answer`."""
        self._next += 1
        self._write(self._packer.pack([0, self._next, method, args]))
        return self._next

    def notify(self, method: str, *args: Any) -> None:
        """Send a notification, which Neovim runs without an answer."""
        self._write(self._packer.pack([NOTIFICATION, method, args]))

    def request(self, method: str, *args: Any, timeout: float = PATIENCE_S) -> Any:
        """Send a request and return its result. Raise EditorError, EditorBlocked, EditorGone."""
        return self.answer(self.send(method, *args), timeout, method)

    def answer(self, number: int, timeout: float = PATIENCE_S, what: str = "request") -> Any:
        """Wait for the answer to request `number`."""
        end = time.monotonic() + timeout
        strikes = 0
        while not self._wait_for(number, ASK_MODE_S):
            mode = self.mode()
            strikes = strikes + 1 if mode["blocking"] else 0
            if strikes >= STRIKES:
                raise EditorBlocked(f"{what}: Neovim waits for a key in mode {mode['mode']!r}")
            if time.monotonic() > end:
                raise AssertionError(f"{what}: no answer in {timeout} s, mode {mode['mode']!r}")
        error, result = self._answers.pop(number)
        if error is not None:
            raise EditorError(error[1] if isinstance(error, list) else error)
        return result

    def mode(self, timeout: float = PATIENCE_S) -> dict[str, Any]:
        """Return `nvim_get_mode()`, which is answered in every state, unless the main loop is
        stuck.
        """
        number = self.send("nvim_get_mode")
        if not self._wait_for(number, timeout):
            raise AssertionError(f"Neovim's main loop has not answered for {timeout} s")
        mode: dict[str, Any] = self._answers.pop(number)[1]
        return mode

    def pump(self, seconds: float = 0.0) -> None:
        """Read notifications and answers, waiting up to `seconds` for some."""
        if select.select([self._out], [], [], seconds)[0]:
            self._read()

    def close(self) -> None:
        """Close both pipes; the process sees the end of its input."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def _wait_for(self, number: int, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while number not in self._answers:
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.pump(left)
        return True

    def _read(self) -> None:
        data = os.read(self._out, 1 << 20)
        if not data:
            raise EditorGone("Neovim closed its pipe")
        self._unpacker.feed(data)
        for message in self._unpacker:
            if message[0] == RESPONSE:
                self._answers[message[1]] = (message[2], message[3])
            elif message[0] == NOTIFICATION:
                self.on_notification(message[1], message[2])
            else:  # a request to the test, which serves none
                refusal = [RESPONSE, message[1], [0, "the test serves no requests"], None]
                self._write(self._packer.pack(refusal))

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self._out], [self._in], [], PATIENCE_S)
            if readable:
                self._read()
            if writable:
                try:
                    view = view[os.write(self._in, view) :]
                except BrokenPipeError as error:
                    raise EditorGone("Neovim is gone") from error
            elif not readable:
                raise AssertionError(f"Neovim has not read its pipe for {PATIENCE_S} s")
