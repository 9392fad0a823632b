"""The messages of the Model Context Protocol that a server with tools alone needs.

MCP has two eras. Until 2025-11-25 a connection begins with `initialize`. Since 2026-07-28 it has no
state: each request says its version in `_meta`, and each result its kind.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: Final = ("2026-07-28",)

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"
"""Members of `_meta`."""
UNSUPPORTED_VERSION: Final = -32022


class Wire(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """Camel case on the wire; what is not set is not sent."""


class Implementation(Wire, frozen=True):
    """Who speaks."""

    name: str
    version: str
    title: str | UnsetType = UNSET


class InitializeParams(Wire, frozen=True):
    """`initialize`; what else the client says of itself changes nothing here."""

    protocol_version: str


class CallToolParams(Wire, frozen=True):
    """`tools/call`."""

    name: str
    arguments: msgspec.Raw | UnsetType = UNSET


class CancelledParams(Wire, frozen=True):
    """`notifications/cancelled`."""

    request_id: int | str


class ProgressParams(Wire, frozen=True):
    """`notifications/progress`: ``progress`` counts up, the message says how far it is."""

    progress_token: int | str
    progress: int
    message: str


class SubscriptionFilter(Wire, frozen=True):
    """What a client wants to be told of. There is more to ask for, of which we have nothing."""

    tools_list_changed: bool | UnsetType | None = UNSET


class ListenParams(Wire, frozen=True):
    """`subscriptions/listen`."""

    notifications: SubscriptionFilter


class AcknowledgedParams(Wire, frozen=True):
    """`notifications/subscriptions/acknowledged`: what of it the client will be told."""

    notifications: SubscriptionFilter
    meta: dict[str, Any] = msgspec.field(name="_meta")


class ChangedParams(Wire, frozen=True):
    """`notifications/tools/list_changed`; ``meta`` names the subscription, if it is one."""

    meta: dict[str, Any] | UnsetType = msgspec.field(default=UNSET, name="_meta")


class ToolAnnotations(Wire, frozen=True, omit_defaults=False):
    """What a tool may do. All are said, since the protocol's defaults are the worst case."""

    title: str
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool | UnsetType = UNSET


class ToolInfo(Wire, frozen=True):
    """A tool of `tools/list`."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    annotations: ToolAnnotations


class TextContent(Wire, frozen=True, tag_field="type", tag="text"):
    """A text of a result."""

    text: str


class CallToolResult(Wire, frozen=True):
    """The result of `tools/call`."""

    content: list[TextContent]
    structured_content: dict[str, Any] | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET


class ListToolsResult(Wire, frozen=True):
    """The result of `tools/list`: all of them on one page."""

    tools: list[ToolInfo]


class ToolsCapability(Wire, frozen=True):
    """What can be done with tools besides listing and calling them."""

    list_changed: bool


class ServerCapabilities(Wire, frozen=True):
    """Tools, and nothing else."""

    tools: ToolsCapability


class InitializeResult(Wire, frozen=True):
    """The result of `initialize`."""

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str


class DiscoverResult(Wire, frozen=True):
    """The result of `server/discover`."""

    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str


class UnsupportedVersion(Wire, frozen=True):
    """Data of the error `UNSUPPORTED_VERSION`."""

    supported: list[str]
    requested: str
