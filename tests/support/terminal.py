"""Program in a real terminal: keys go through a pty, the screen is that of a terminal emulator."""

from __future__ import annotations

import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyte
from ptyprocess import PtyProcess

from tests.support.editor import nvim_binary
from tests.support.waiting import PATIENCE_S


class Terminal:
    """Program on a pty of `columns` x `lines`, and its screen."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        size: tuple[int, int] = (120, 40),
        socket: Path | None = None,
    ) -> None:
        columns, lines = size
        self.socket = socket
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        environment = {**env, "TERM": "xterm-256color"}
        self.process = PtyProcess.spawn(
            list(argv), cwd=str(cwd), env=environment, dimensions=(lines, columns)
        )

    def keys(self, text: str) -> None:
        r"""Type, as the bytes of a keyboard: `\r` is Enter, `\x1b` Escape, `\x03` Ctrl-C."""
        self.process.write(text.encode())

    def lines(self) -> list[str]:
        """Return the current rows of the screen without trailing blanks."""
        while self._pump(0):
            pass
        return [row.rstrip() for row in self.screen.display]

    def wait(self, text: str, timeout: float = PATIENCE_S) -> None:
        """Wait until a row of the screen contains `text`."""
        end = time.monotonic() + timeout
        while not any(text in row for row in self.screen.display):
            left = end - time.monotonic()
            if left <= 0:
                screen = "\n".join(self.lines())
                raise AssertionError(f"not on the screen: {text!r}\n{screen}")
            self._pump(left)

    def wait_gone(self, text: str, timeout: float = PATIENCE_S) -> None:
        """Wait until no row of the screen contains `text`."""
        end = time.monotonic() + timeout
        while any(text in row for row in self.screen.display):
            left = end - time.monotonic()
            assert left > 0, f"still on the screen: {text!r}"
            self._pump(left)

    def settle(self, quiet: float = 0.5) -> None:
        """Wait until nothing has been drawn for `quiet` seconds."""
        while self._pump(quiet):
            pass

    def expr(self, expression: str) -> str:
        """Return the value of a Vimscript expression in the Neovim that listens on `socket`."""
        assert self.socket is not None
        argv = [nvim_binary(), "--server", str(self.socket), "--remote-expr", expression]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < end:
            self._pump(0.02)  # a full pty would block the editor
        process.kill()
        out, err = process.communicate()
        assert process.returncode == 0, err
        return out.rstrip("\n")

    def lua(self, expression: str) -> str:
        """Return the value of a Lua expression there as text."""
        quoted = expression.replace("'", "''")
        return self.expr(f"luaeval('tostring({quoted})')")

    def wait_lua(self, expression: str, wanted: str, timeout: float = PATIENCE_S) -> None:
        """Wait until the Lua expression has that value; an error in it counts as another value."""
        end = time.monotonic() + timeout
        safe = f"(select(2, pcall(function() return {expression} end)))"
        while (value := self.lua(safe)) != wanted:
            if time.monotonic() > end:
                screen = "\n".join(self.lines())
                raise AssertionError(f"{expression} is {value!r}, not {wanted!r}\n{screen}")

    def wait_end(self, timeout: float = PATIENCE_S) -> int:
        """Wait for the end of the program and return its exit code."""
        end = time.monotonic() + timeout
        while self.process.isalive():
            assert time.monotonic() < end, "\n".join(self.lines())
            self._pump(0.05)
        code: int | None = self.process.exitstatus
        return -1 if code is None else code

    def close(self) -> None:
        """End the program by any means."""
        if self.process.isalive():
            self.process.kill(signal.SIGKILL)
        self.process.close(force=True)

    def _pump(self, seconds: float) -> bool:
        if not select.select([self.process.fd], [], [], seconds)[0]:
            return False
        try:
            data = self.process.read(1 << 16)
        except EOFError:
            return False
        self._stream.feed(data)
        return True
