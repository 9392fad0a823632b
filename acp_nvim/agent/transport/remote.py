"""Remote agents: the transport port, and the choice of a transport by address.

A package may provide transports (spec: transports, custom transports) with an entry point of the
group `acp_nvim.transports`. The name of the entry point is the scheme of the addresses. Its object
creates a `RemoteTransport` from an `Address`, like the transports for `ws`, `wss`, `http` and
`https`. This module is only loaded if an agent has a `url`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar
from importlib.metadata import entry_points
from typing import Final, Protocol

import anyio

from acp_nvim import wording
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.stderr import StderrRing
from acp_nvim.agent.transport.addresses import check_address, scheme_of
from acp_nvim.agent.transport.base import TransportError

GROUP: Final = "acp_nvim.transports"
BUILT_IN: Final = {
    **dict.fromkeys(("ws", "wss"), ("acp_nvim.agent.transport.websocket", "WebSocketTransport")),
    **dict.fromkeys(("http", "https"), ("acp_nvim.agent.transport.http", "HttpTransport")),
}
STOP_S: Final = 3.0
"""Time for closing a transport, in seconds."""
METHODS: Final = ("start", "receive", "send", "aclose")


@dataclass(slots=True, frozen=True)
class Address:
    """Address of an agent, and the data sent with each request."""

    url: str
    headers: Mapping[str, str]
    """Headers with all variables expanded. They are secret and must not occur in errors or remarks.
    """
    message_bytes: int
    """Maximum size of an incoming message (option `limits.message_bytes`).

    A transport passes a longer message on, whole or cut above this size. The reader refuses it, and
    the connection continues.
    """
    cookies: CookieJar
    """Cookies, shared by all connections to the same agent."""
    remark: Callable[[str], None]
    """Function that writes a line about the connection to `:Acp log`."""


class RemoteTransport(Protocol):
    """One connection to a remote agent, used once. All methods are called on one event loop."""

    async def start(self) -> None:
        """Connect. Raise TransportError, whose text is one line for users."""

    async def receive(self) -> bytes:
        """Return the next bytes of the message stream, in which each message is one line.

        Return `b''` at the end of the connection, or raise TransportError with the reason. A
        cancelled call must not lose data. Between calls, little should be read from the network.
        """

    def send(self, data: bytes) -> None:
        """Queue one message (a line) and return at once. Each message is sent at most once."""

    async def aclose(self) -> None:
        """Close the connection within a second or two. It is also called after a failed `start`."""


def remote_agent(
    url: str,
    *,
    headers: Mapping[str, str],
    message_bytes: int,
    on_stderr: Callable[[bytes], None],
    cookies: dict[str, CookieJar],
) -> RemoteAgent:
    """Return the transport for one connection to a remote agent. Raise TransportError.

    `headers` are sent with each request, unchanged. An incoming message may be cut slightly above
    `message_bytes`. `on_stderr` receives remarks about the connection, as lines. `cookies`
    has the jars of all addresses.
    """
    try:
        make = transport_for(scheme_of(url))
    except ImportError as error:
        raise TransportError(wording.WHY_NEEDS_REMOTE, again=False) from error
    ring = StderrRing(on_stderr)
    jar = cookies.setdefault(url, CookieJar())

    def remark(text: str) -> None:
        ring.feed(f"{text}\n".encode())

    return RemoteAgent(make(Address(url, headers, message_bytes, jar, remark)), ring)


def transport_for(scheme: str) -> Callable[[Address], RemoteTransport]:
    """Return the factory of transports for addresses of a scheme.

    Raise TransportError, or ImportError if the extra `remote` is not installed.
    """
    if scheme in BUILT_IN:
        module, name = BUILT_IN[scheme]
        importlib.invalidate_caches()  # the extra may have just been installed
        make: Callable[[Address], RemoteTransport] = getattr(importlib.import_module(module), name)
        return make
    importlib.invalidate_caches()
    entry = next(iter(entry_points(group=GROUP, name=scheme)), None)
    if entry is None:
        names = sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))})
        text = wording.WHY_NO_TRANSPORT.format(scheme=scheme, schemes=", ".join(names))
        raise TransportError(text, again=False)
    try:
        custom: Callable[[Address], RemoteTransport] = entry.load()
    except Exception as error:
        raise _scheme_error(scheme, f"{type(error).__name__}: {error}") from error
    return lambda address: _make_transport(custom, address, scheme)


def _make_transport(
    custom: Callable[[Address], RemoteTransport], address: Address, scheme: str
) -> RemoteTransport:
    try:
        made = custom(address)
    except Exception as error:
        raise _scheme_error(scheme, f"{type(error).__name__}: {error}") from error
    lacks = [name for name in METHODS if not callable(getattr(made, name, None))]
    if lacks:
        reason = wording.WHY_TRANSPORT_LACKS.format(methods=", ".join(lacks))
        raise _scheme_error(scheme, reason)
    return made


def _scheme_error(scheme: str, reason: str) -> TransportError:
    text = wording.WHY_TRANSPORT_BROKEN.format(scheme=scheme, reason=reason)
    return TransportError(text, again=False)


def address_of(address: Address) -> str:
    """Check an address and return its URL. Raise TransportError."""
    return check_address(address.url)


class RemoteAgent:
    """Remote agent as an `AgentTransport`. It has no process and no exit."""

    def __init__(self, transport: RemoteTransport, remarks: StderrRing) -> None:
        self._transport = transport
        self._remarks = remarks
        self._lost: TransportError | None = None
        self._closing = False
        self._closed = anyio.Event()
        self._receiving: anyio.CancelScope | None = None
        self._paused_until = 0.0
        """Time at which reading continues, on the monotonic clock."""

    async def start(self) -> None:
        """Connect. Raise TransportError."""
        try:
            await self._transport.start()
        except Exception as error:
            raise _as_transport_error(error) from error

    @property
    def pid(self) -> None:
        return None

    @property
    def exit(self) -> None:
        return None

    @property
    def lost(self) -> TransportError | None:
        """Return the reason why the connection ended, or None if it is open or was closed here."""
        return self._lost

    @property
    def has_closed_input(self) -> bool:
        """Return False, because a remote agent that stops reading counts as lost."""
        return False

    @property
    def inherited_variables(self) -> Mapping[str, str]:
        return {}

    def rest(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    async def receive(self) -> bytes:
        """Return the next bytes, or `b''` at the end. `lost` then has the reason."""
        if (pause := self._paused_until - time.monotonic()) > 0:
            await anyio.sleep(pause)
        if self._lost is not None or self._closing:
            await anyio.lowlevel.checkpoint()
            return b""
        data = b""
        try:
            with anyio.CancelScope() as self._receiving:
                data = await self._transport.receive()
        except Exception as error:
            self._lose(_as_transport_error(error))
        if not data:
            self._lose(TransportError(wording.WHY_CONNECTION_ENDED))
        return data

    def send(self, data: bytes) -> None:
        """Queue `data`, or drop it if the connection has ended."""
        if self._lost is not None or self._closing:
            return
        try:
            self._transport.send(data)
        except Exception as error:  # from a third-party transport
            self._remarks.feed(f"{_as_transport_error(error)}\n".encode())

    async def wait(self) -> Exit:
        """Wait forever, since the end of a remote agent cannot be observed."""
        await anyio.sleep_forever()
        raise AssertionError

    async def stop(self) -> None:
        """Close the connection, once. The agent may keep running for other clients."""
        if self._closing:
            await self._closed.wait()
            return
        self._closing = True
        try:
            with anyio.move_on_after(STOP_S):
                await self._transport.aclose()
        except Exception as error:
            self._remarks.feed(f"{_as_transport_error(error)}\n".encode())
        finally:
            self._closed.set()
            if self._receiving is not None:  # even if its end was not received
                self._receiving.cancel()

    async def aclose(self) -> None:
        await self.stop()

    def stderr(self, lines: int) -> list[str]:
        """Return the newest remarks about the connection."""
        return self._remarks.tail(lines)

    def configure(self, kill_s: float) -> None:
        """Do nothing, since there is no process to end."""

    def _lose(self, error: TransportError) -> None:
        if self._lost is None and not self._closing:
            self._lost = error


def _as_transport_error(error: Exception) -> TransportError:
    if isinstance(error, TransportError):
        return error
    reason = f"{type(error).__name__}: {error}"
    return TransportError(wording.WHY_TRANSPORT_FAILED.format(reason=reason))
