"""Shared context of all connections of a host: ports and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct, field

from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.serving.consent import Consent
from acp_nvim.agent.serving.extensions import Extensions
from acp_nvim.agent.serving.servers import FileServer, NoTools, OwnTools
from acp_nvim.agent.serving.session_router import ReportLimit
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.transport.base import OpenTransport, ReachAgent
from acp_nvim.agent.transport.reach import Reach
from acp_nvim.agent.wire.ports import FlowControl
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks

C = TypeVar("C")
"""Type of a connection."""


class Surroundings(Struct, Generic[C]):
    """Context of each connection, provided by the builder of the host."""

    settings: Callable[[], Settings]
    files: FileServer
    reaper: Reaper
    transport: OpenTransport
    tasks: Tasks
    flow: FlowControl
    changed: Callable[[C], None]
    """Called with a connection whose state has changed."""
    ended: Callable[[C], None]
    """Called with a connection whose agent has ended."""
    authenticated: Callable[[C], None]
    """Called with a connection whose agent reports a login."""
    cwd: Callable[[], str]
    env: Callable[[], Mapping[str, str]]
    reach: ReachAgent = field(default_factory=Reach)
    extensions: Extensions = field(default_factory=Extensions)
    consent: Consent = field(default_factory=Consent)
    tools: OwnTools = field(default_factory=NoTools)
    ask_unscoped: Callable[[Decision], None] = lambda decision: None
    new_child: Callable[[Session, str], Session] | None = None
    report_limit: ReportLimit = lambda limit, text, session: None
