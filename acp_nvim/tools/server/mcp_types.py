"""Messages of the Model Context Protocol for a server that only has tools.

MCP has two eras. Until 2025-11-25, a connection begins with `initialize`. Since 2026-07-28, the
protocol is stateless: each request has its version in `_meta`, and each result has its kind.
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
"""Keys of `_meta`."""
UNSUPPORTED_VERSION: Final = -32022


class Message(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """Message type with camel case names. Unset members are not sent."""


class Implementation(Message, frozen=True):
    """Name and version of a client or server."""

    name: str
    version: str
    title: str | UnsetType = UNSET


class InitializeParams(Message, frozen=True):
    """Params of `initialize`. Other members are ignored."""

    protocol_version: str


class CallToolParams(Message, frozen=True):
    """Params of `tools/call`."""

    name: str
    arguments: msgspec.Raw | UnsetType = UNSET


class CancelledParams(Message, frozen=True):
    """Params of `notifications/cancelled`."""

    request_id: int | str


class ProgressParams(Message, frozen=True):
    """Params of `notifications/progress`. `progress` counts up, and `message` describes it."""

    progress_token: int | str
    progress: int
    message: str


class SubscriptionFilter(Message, frozen=True):
    """Changes to which a client subscribes. This server offers no other kinds."""

    tools_list_changed: bool | UnsetType | None = UNSET


class ListenParams(Message, frozen=True):
    """Params of `subscriptions/listen`."""

    notifications: SubscriptionFilter


class AcknowledgedParams(Message, frozen=True):
    """Params of `notifications/subscriptions/acknowledged`: the accepted changes."""

    notifications: SubscriptionFilter
    meta: dict[str, Any] = msgspec.field(name="_meta")


class ChangedParams(Message, frozen=True):
    """Params of `notifications/tools/list_changed`. `meta` may name a subscription."""

    meta: dict[str, Any] | UnsetType = msgspec.field(default=UNSET, name="_meta")


class ToolAnnotations(Message, frozen=True, omit_defaults=False):
    """Effects of a tool. All are sent, because the defaults of the protocol are the worst case."""

    title: str
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool | UnsetType = UNSET


class ToolInfo(Message, frozen=True):
    """Tool in the result of `tools/list`."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    annotations: ToolAnnotations


class TextContent(Message, frozen=True, tag_field="type", tag="text"):
    """Text of a result."""

    text: str


class CallToolResult(Message, frozen=True):
    """Result of `tools/call`."""

    content: list[TextContent]
    structured_content: dict[str, Any] | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET


class ListToolsResult(Message, frozen=True):
    """Result of `tools/list`. All tools are on one page."""

    tools: list[ToolInfo]


class ToolsCapability(Message, frozen=True):
    """Capabilities for tools beyond listing and calling them."""

    list_changed: bool


class ServerCapabilities(Message, frozen=True):
    """Capabilities of the server: only tools."""

    tools: ToolsCapability


class InitializeResult(Message, frozen=True):
    """Result of `initialize`."""

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str


class DiscoverResult(Message, frozen=True):
    """Result of `server/discover`."""

    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str


class UnsupportedVersion(Message, frozen=True):
    """Data of the error `UNSUPPORTED_VERSION`."""

    supported: list[str]
    requested: str
