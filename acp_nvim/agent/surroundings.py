"""Context of a connection: start of the agent, services for the agent, observers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio.lowlevel
from msgspec import Struct, field

from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.serving.consent import Consent
from acp_nvim.agent.serving.extensions import Extensions
from acp_nvim.agent.serving.file_requests import FileRequests
from acp_nvim.agent.serving.servers import NoTools, OwnTools
from acp_nvim.agent.serving.session_router import ReportLimit
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.transport.base import OpenTransport
from acp_nvim.agent.wire.ports import FlowControl
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks

if TYPE_CHECKING:
    from http.cookiejar import CookieJar

C = TypeVar("C")
"""Type of a connection."""


class AgentLaunch(Struct, frozen=True, eq=False):
    """Start of an agent's program, or connection to its address."""

    transport: OpenTransport
    reaper: Reaper
    cwd: Callable[[], str]
    """Working directory of agents without the option `cwd`."""
    env: Callable[[], Mapping[str, str]]
    via: Callable[[str], Awaitable[list[str]]] | None = None
    """Function that calls the user's function in the option `via`. Raises AgentStartError."""
    cookies: dict[str, CookieJar] = field(default_factory=dict)
    """Cookies of remote agents by address, kept for the next connection."""


class AgentServices(Struct, frozen=True, eq=False):
    """Parts of the editor that answer an agent's requests."""

    files: FileRequests
    tools: OwnTools = field(default_factory=NoTools)
    extensions: Extensions = field(default_factory=Extensions)
    consent: Consent = field(default_factory=Consent)
    ask_unscoped: Callable[[Decision], None] = lambda decision: None
    """Function that asks the user a question that belongs to no session."""
    new_child: Callable[[Session, str], Session] | None = None
    """Function that finds or creates the session of a subagent."""
    wait_for_cancels: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
    """Function that waits until the cancels that the user has sent are handled."""


class ConnectionObservers(Struct, Generic[C], frozen=True, eq=False):
    """Observers of all connections of a host, called in order."""

    on_changed: list[Callable[[C], None]] = field(default_factory=list)
    """The state of a connection has changed."""
    on_ended: list[Callable[[C], None]] = field(default_factory=list)
    """The agent of a connection has ended."""
    on_authenticated: list[Callable[[C], None]] = field(default_factory=list)
    """The agent reports a login."""
    on_limit_exceeded: list[ReportLimit] = field(default_factory=list)
    """A message exceeded an option `limits.*`."""


class Surroundings(Struct, Generic[C], frozen=True, eq=False):
    """Context of each connection, provided by the builder of the host."""

    settings: Callable[[], Settings]
    tasks: Tasks
    flow: FlowControl
    launch: AgentLaunch
    services: AgentServices
    observers: ConnectionObservers[C]
