"""Template of hosts: a host after its imports, which forks a host for each process that connects.

`forked_host.py` is the other side.
"""

from __future__ import annotations

import array
import gc
import importlib
import os
import re
import select
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
from forked_host import REFUSAL, SIZE, circumstances, read  # type: ignore[import-not-found]

OF_FIRST_TURN = (
    "agent.opening.tool_trouble",
    "agent.prompts.media",
    "features.overview.shared_sessions",
    "features.permissions.verbs",
    "features.prompts.verbs",
    "features.review.listed_edits",
    "features.review.verbs",
    "features.sessions.session_restore",
    "features.tools.tool_list",
    "features.tools.tool_permissions",
    "files.checkpoints.git_store",
    "files.checkpoints.plain_tree",
    "files.review.review",
    "files.writes.writes_under_way",
    "history.bounds",
    "history.recorder",
    "history.writer",
    "host.prompting",
    "host.questions",
    "host.verbs",
    "nvim.event_batch",
    "session.questions.renewal",
)
"""Modules that nearly every host imports later, in or after its first turn."""


def serve(listener: int) -> None:
    """Fork hosts until stdin ends. Return in each of them."""
    from acp_nvim.features import FEATURES

    for name in ("main", *(f"features.{name}" for name in FEATURES), *OF_FIRST_TURN):
        importlib.import_module(f"acp_nvim.{name}")
    for name in (
        "anyio._backends._asyncio",
        "concurrent.futures.thread",
        "ctypes",
        "runpy",
        "tempfile",
    ):
        importlib.import_module(name)
    _build_decoders()
    _compile_patterns()
    gc.freeze()
    Template(socket.socket(fileno=listener)).run()


def _build_decoders() -> None:
    """Decode one message of each kind that a first turn has, since that builds the decoder."""
    from msgspec import Raw

    from acp_nvim.agent import settings
    from acp_nvim.protocol import codec

    codec.decode_result("initialize", Raw(b'{"protocolVersion": 1}'))
    codec.decode_result("session/new", Raw(b'{"sessionId": "s"}'))
    codec.decode_result("session/prompt", Raw(b'{"stopReason": "end_turn"}'))
    settings.decode({"agents": {"a": {}}, "presets": {"p": {}}} | _maps_of(settings.Settings))
    update = b'{"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": []}}'
    codec.reader("session/update", "client")(Raw(update))


def _maps_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return an empty map for each field that is a group of options."""
    fields = msgspec.structs.fields(kind)
    return {it.encode_name: {} for it in fields if isinstance(it.type, type(msgspec.Struct))}


def _compile_patterns() -> None:
    """Compile the patterns that a host compiles late, in the cache of `re`."""
    for pattern in (it for it in gc.get_objects() if type(it).__module__ == "acp_nvim.patterns"):
        re.compile(*pattern._source)


@dataclass(frozen=True)
class ForkedHost:
    pid: int
    handle: int
    """Readable once the host has exited."""
    replaced: socket.socket
    """Connection to the process that the host replaces."""


class Template:
    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._circumstances = circumstances()
        self._by_handle: dict[int, ForkedHost] = {}
        self._by_connection: dict[int, ForkedHost] = {}
        self._poll = select.poll()
        for fd in (0, listener.fileno()):
            self._poll.register(fd, select.POLLIN)

    def run(self) -> None:
        """Fork hosts until stdin ends. Return in each of them."""
        while True:
            fd = self._poll.poll()[0][0]  # one at a time, because numbers are reused
            if fd == 0:
                os._exit(0)
            elif fd in self._by_handle:
                self._on_exit(self._by_handle.pop(fd))
            elif fd in self._by_connection:
                self._on_killed(self._by_connection.pop(fd))
            elif self._accept():
                return

    def _on_exit(self, host: ForkedHost) -> None:
        """Pass on the exit code."""
        code = os.waitstatus_to_exitcode(os.waitpid(host.pid, 0)[1])
        self._poll.unregister(host.handle)
        os.close(host.handle)
        if self._by_connection.pop(host.replaced.fileno(), None) is not None:
            self._poll.unregister(host.replaced)
            with suppress(OSError):  # just killed
                host.replaced.sendall(code.to_bytes(SIZE, "big", signed=True))
        host.replaced.close()

    def _on_killed(self, host: ForkedHost) -> None:
        """Kill the host of a process that was killed."""
        self._poll.unregister(host.replaced)
        os.kill(host.pid, signal.SIGKILL)

    def _accept(self) -> bool:
        """Fork a host for a process, or refuse it. Return True in the host."""
        replaced, _ = self._listener.accept()
        files = array.array("i")
        size, ancillary, _, _ = replaced.recvmsg(SIZE, socket.CMSG_SPACE(3 * files.itemsize))
        for _, _, data in ancillary:
            files.frombytes(data)
        wanted = read(replaced, int.from_bytes(size, "big"))
        environment = read(replaced, int.from_bytes(read(replaced, SIZE), "big"))
        pid = -1 if wanted != self._circumstances else os.fork()
        if pid == 0:
            self._become_host(replaced, files, environment)
            return True
        for fd in files:
            os.close(fd)
        with suppress(OSError):  # just killed; then the connection is readable
            replaced.sendall(REFUSAL if pid < 0 else pid.to_bytes(SIZE, "big"))
        if pid > 0:
            self._watch(ForkedHost(pid, os.pidfd_open(pid), replaced))
        else:
            replaced.close()
        return False

    def _watch(self, host: ForkedHost) -> None:
        self._by_handle[host.handle] = self._by_connection[host.replaced.fileno()] = host
        self._poll.register(host.handle, select.POLLIN)
        self._poll.register(host.replaced, select.POLLIN)

    def _become_host(self, replaced: socket.socket, files: array.array[int], env: bytes) -> None:
        """Take the stdio and the environment of the replaced process, and forget the others."""
        os.setsid()
        for connection in (self._listener, replaced, *self._connections()):
            connection.close()
        for handle in self._by_handle:
            os.close(handle)
        for number, fd in enumerate(files):
            os.dup2(fd, number)
            os.close(fd)
        os.environb.clear()
        for name, _, value in (item.partition(b"=") for item in env.split(b"\0")):
            os.environb[name] = value

    def _connections(self) -> list[socket.socket]:
        return [host.replaced for host in self._by_handle.values()]
