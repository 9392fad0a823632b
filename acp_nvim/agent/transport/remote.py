"""Agents elsewhere, reached by an address: what a transport is there, and how one is chosen.

A package may bring transports of its own (spec: transports, custom transports): an entry point of
the group `acp_nvim.transports`, whose name is the scheme of the addresses, and whose object makes a
`RemoteTransport` of an `Address`. Those for `ws`, `wss`, `http` and `https` are made the same way.
Nothing here is loaded where no agent has a `url`.
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
from acp_nvim.agent.transport.addresses import checked, scheme_of
from acp_nvim.agent.transport.base import TransportError

GROUP: Final = "acp_nvim.transports"
OWN: Final = {
    **dict.fromkeys(("ws", "wss"), ("acp_nvim.agent.transport.websocket", "WebSocketTransport")),
    **dict.fromkeys(("http", "https"), ("acp_nvim.agent.transport.http", "HttpTransport")),
}
STOP_S: Final = 3.0
"""How long a transport may take to close, in seconds."""
METHODS: Final = ("start", "receive", "send", "aclose")


@dataclass(slots=True, frozen=True)
class Address:
    """Where an agent is, and what goes with each request there."""

    url: str
    headers: Mapping[str, str]
    """With all variables filled in. They are secret: no error and no remark may show a value."""
    message_bytes: int
    """The most bytes of a message that comes (option `limits.message_bytes`). One that is longer is
    handed on beyond that, or all of it, and refused there: the connection goes on.
    """
    cookies: CookieJar
    """Kept from one connection to the next one of the same agent."""
    remark: Callable[[str], None]
    """Writes a line about the connection into `:Acp log`."""


class RemoteTransport(Protocol):
    """One connection to an agent elsewhere, used once. All is called on one loop."""

    async def start(self) -> None:
        """Connect. Raises TransportError, whose text is one line for users."""

    async def receive(self) -> bytes:
        """Return the next bytes of the stream of messages: each message is one line that ends with
        a newline. `b''` when the connection has ended, or TransportError, which says why. It may be
        cancelled at any time, and loses nothing then. As long as it is not called, little more is
        to be read from the network.
        """

    def send(self, data: bytes) -> None:
        """Queue one message, a line, and return at once. Each message is sent once at most."""

    async def aclose(self) -> None:
        """Close the connection, within a second or two. Also called when `start` has failed."""


class Remotes:
    """Makes the transports of a host (`ReachAgent`), and keeps the cookies of each address."""

    def __init__(self) -> None:
        """No connection yet."""
        self._cookies: dict[str, CookieJar] = {}

    def __call__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        message_bytes: int,
        on_stderr: Callable[[bytes], None],
    ) -> RemoteAgent:
        make = transport_for(scheme_of(url))
        ring = StderrRing(on_stderr)
        cookies = self._cookies.setdefault(url, CookieJar())

        def remark(text: str) -> None:
            ring.feed(f"{text}\n".encode())

        return RemoteAgent(make(Address(url, headers, message_bytes, cookies, remark)), ring)


def transport_for(scheme: str) -> Callable[[Address], RemoteTransport]:
    """Return what makes transports for addresses of that scheme. Raises TransportError, and
    ImportError where the extra `remote` is not installed.
    """
    if scheme in OWN:
        module, name = OWN[scheme]
        importlib.invalidate_caches()  # it may have been installed a moment ago
        make: Callable[[Address], RemoteTransport] = getattr(importlib.import_module(module), name)
        return make
    importlib.invalidate_caches()
    found = next(iter(entry_points(group=GROUP, name=scheme)), None)
    if found is None:
        names = sorted({*OWN, *(one.name for one in entry_points(group=GROUP))})
        text = wording.WHY_NO_TRANSPORT.format(scheme=scheme, schemes=", ".join(names))
        raise TransportError(text, again=False)
    try:
        custom: Callable[[Address], RemoteTransport] = found.load()
    except Exception as error:
        raise _broken(scheme, f"{type(error).__name__}: {error}") from error
    return lambda address: _made(custom, address, scheme)


def _made(
    custom: Callable[[Address], RemoteTransport], address: Address, scheme: str
) -> RemoteTransport:
    try:
        made = custom(address)
    except Exception as error:
        raise _broken(scheme, f"{type(error).__name__}: {error}") from error
    lacks = [name for name in METHODS if not callable(getattr(made, name, None))]
    if lacks:
        reason = wording.WHY_TRANSPORT_LACKS.format(methods=", ".join(lacks))
        raise _broken(scheme, reason)
    return made


def _broken(scheme: str, reason: str) -> TransportError:
    text = wording.WHY_TRANSPORT_BROKEN.format(scheme=scheme, reason=reason)
    return TransportError(text, again=False)


def address_of(address: Address) -> str:
    """Return the url of an address, after a look at it. Raises TransportError."""
    return checked(address.url)


class RemoteAgent:
    """An agent elsewhere as a connection sees it (`AgentTransport`): no process, no exit."""

    def __init__(self, way: RemoteTransport, remarks: StderrRing) -> None:
        """Nothing is sent yet."""
        self._way = way
        self._remarks = remarks
        self._lost: TransportError | None = None
        self._closing = False
        self._receiving: anyio.CancelScope | None = None
        self._rested = 0.0
        """When reading goes on, on the monotonic clock."""

    async def start(self) -> None:
        """Connect. Raises TransportError."""
        try:
            await self._way.start()
        except Exception as error:
            raise _as_loss(error) from error

    @property
    def pid(self) -> None:
        """None: it runs elsewhere."""
        return None

    @property
    def exit(self) -> None:
        """None: nobody here can know."""
        return None

    @property
    def lost(self) -> TransportError | None:
        """Why the connection ended; None while it has not, and where we have closed it."""
        return self._lost

    @property
    def deaf(self) -> bool:
        """False: a connection that takes nothing is lost."""
        return False

    @property
    def inherited(self) -> Mapping[str, str]:
        """Empty: it starts nothing here."""
        return {}

    def rest(self, seconds: float) -> None:
        """Receive nothing for so long."""
        self._rested = max(self._rested, time.monotonic() + seconds)

    async def receive(self) -> bytes:
        """The next bytes, `b''` at the end; `lost` says why that came."""
        if (pause := self._rested - time.monotonic()) > 0:
            await anyio.sleep(pause)
        if self._lost is not None or self._closing:
            await anyio.lowlevel.checkpoint()
            return b""
        data = b""
        try:
            with anyio.CancelScope() as self._receiving:
                data = await self._way.receive()
        except Exception as error:
            self._lose(_as_loss(error))
        if not data:
            self._lose(TransportError(wording.WHY_CONNECTION_ENDED))
        return data

    def send(self, data: bytes) -> None:
        """Queue `data`; once the connection has ended it is dropped."""
        if self._lost is not None or self._closing:
            return
        try:
            self._way.send(data)
        except Exception as error:  # of a transport that others wrote
            self._remarks.feed(f"{_as_loss(error)}\n".encode())

    async def wait(self) -> Exit:
        """Wait for ever: nobody here can know how it ends."""
        await anyio.sleep_forever()
        raise AssertionError

    async def stop(self) -> None:
        """Close the connection; the agent may run on for others."""
        self._closing = True
        try:
            with anyio.move_on_after(STOP_S):
                await self._way.aclose()
        except Exception as error:
            self._remarks.feed(f"{_as_loss(error)}\n".encode())
        finally:
            if self._receiving is not None:  # whether or not the end of it has come
                self._receiving.cancel()

    async def aclose(self) -> None:
        """See `Transport.aclose`: the same as `stop`."""
        await self.stop()

    def stderr(self, lines: int) -> list[str]:
        """The newest remarks about the connection."""
        return self._remarks.tail(lines)

    def configure(self, kill_s: float) -> None:
        """Nothing here is ended by signals."""

    def _lose(self, error: TransportError) -> None:
        if self._lost is None and not self._closing:
            self._lost = error


def _as_loss(error: Exception) -> TransportError:
    if isinstance(error, TransportError):
        return error
    reason = f"{type(error).__name__}: {error}"
    return TransportError(wording.WHY_TRANSPORT_FAILED.format(reason=reason))
