"""Wire types of ACP v1, stable and unstable, in the order and by the names of the JSON schema.

Fields have the schema's names in snake_case (`_meta` is `meta`). An absent optional field is
`UNSET` and is omitted when encoded; `null` is `None`; `given` returns None for both. `Unknown*`
types contain a variant that the schema does not list. They are decoded, never sent. Some types have
no struct of their own in the schema: the session updates (one class per tag), the scope of an
elicitation (its fields are in the request itself) and the unions at the end of each family.

Sections are those of the protocol's documentation, https://agentclientprotocol.com/protocol.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from acp_nvim.protocol.uris import file_path

T = TypeVar("T")

# Custom data of the sender. Nothing may be assumed about it (v1/extensibility).
Meta: TypeAlias = dict[str, Any] | UnsetType | None

# A count, index or size: the schema's uint32 and uint64. A larger value is read as the largest
# integer of Neovim and SQLite.
Unsigned: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]

# A 1-based line (uint32). The schema permits 0, which is read as 1.
LineNumber: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=(1 << 32) - 1)]


def given(value: T | UnsetType | None) -> T | None:
    """Return the value of an optional field, or None if it is absent or null."""
    return None if isinstance(value, UnsetType) else value


class Plain(Struct, frozen=True, gc=False, rename="camel"):
    """Base of the few types without `_meta`: frozen, camelCase on the wire.

    Unknown fields are ignored (v1/extensibility).
    """


class Wire(Plain, frozen=True, kw_only=True):
    """Base of all other types. Their last field is `_meta`, keyword-only."""

    meta: Meta = field(default=UNSET, name="_meta")


class Unlisted(Plain, frozen=True, tag_field="type", tag="?"):
    """Base of most `Unknown*` types: a variant with another `type` (v1/extensibility)."""

    type: str = field(name="?tag")
    raw: dict[str, Any] = field(name="?raw")


class Untagged:
    """Base of unions whose members differ by shape. `codec` selects the member."""

    __slots__ = ()


# An id of a request; null is legal, and 1 is not "1" (JSON-RPC 2.0, v1/overview).
RequestId: TypeAlias = int | str | None


class WriteTextFileRequest(Wire, frozen=True):
    """Request to write content to a text file (v1/file-system)."""

    session_id: SessionId
    path: str
    content: str


# A unique identifier for a conversation session between a client and agent
# (v1/session-setup#session-id).
SessionId: TypeAlias = str


class ReadTextFileRequest(Wire, frozen=True):
    """Request to read content from a text file (v1/file-system)."""

    session_id: SessionId
    path: str
    line: LineNumber | UnsetType | None = UNSET
    limit: Unsigned | UnsetType | None = UNSET


class RequestPermissionRequest(Wire, frozen=True):
    """Request for user permission to execute a tool call (v1/tool-calls#requesting-permission)."""

    session_id: SessionId
    tool_call: PermissionToolCall
    options: list[PermissionOption]


class ToolCallUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="tool_call_update"):
    """Change to a tool call (v1/tool-calls#updating).

    Only `tool_call_id` is required. A list replaces the whole list; null and absent keep the value.
    """

    tool_call_id: ToolCallId
    kind: ToolKind | UnsetType | None = UNSET
    status: ToolCallStatus | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET
    content: list[ToolCallContent] | UnsetType | None = UNSET
    locations: list[ToolCallLocation] | UnsetType | None = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET


class PermissionToolCall(ToolCallUpdate, frozen=True, tag_field=None, tag=False):
    """Tool call of a permission request (v1/tool-calls#requesting-permission).

    It is an update without the tag, and may be the first message with that id.
    """


# Unique identifier for a tool call within a session (v1/tool-calls).
ToolCallId: TypeAlias = str

# Categories of tools that can be invoked (v1/tool-calls#creating).
ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]

# Execution status of a tool call (v1/tool-calls#status).
ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]


class Annotations(Wire, frozen=True):
    """Optional annotations for the client (v1/content)."""

    audience: list[Role] | UnsetType | None = UNSET
    last_modified: str | UnsetType | None = UNSET
    priority: float | UnsetType | None = UNSET


# The sender or recipient of messages and data in a conversation (v1/content).
Role: TypeAlias = Literal["assistant", "user"]


class TextContent(Wire, frozen=True, tag_field="type", tag="text"):
    """Text provided to or from an LLM (v1/content)."""

    text: str
    annotations: Annotations | UnsetType | None = UNSET


class ImageContent(Wire, frozen=True, tag_field="type", tag="image"):
    """An image provided to or from an LLM (v1/content)."""

    data: str
    mime_type: str
    annotations: Annotations | UnsetType | None = UNSET
    uri: str | UnsetType | None = UNSET


class AudioContent(Wire, frozen=True, tag_field="type", tag="audio"):
    """Audio provided to or from an LLM (v1/content)."""

    data: str
    mime_type: str
    annotations: Annotations | UnsetType | None = UNSET


class ResourceLink(Wire, frozen=True, tag_field="type", tag="resource_link"):
    """Resource that the server can read, in a prompt or a tool call result (v1/content)."""

    name: str
    uri: str
    annotations: Annotations | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    mime_type: str | UnsetType | None = UNSET
    size: int | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET


class EmbeddedResourceResource(Untagged):
    """Contents of an embedded resource (v1/content#embedded-resource).

    The field `text` or `blob` distinguishes its two kinds.
    """

    __slots__ = ()


class TextResourceContents(Wire, EmbeddedResourceResource, frozen=True):
    """Text-based resource contents (v1/content)."""

    text: str
    uri: str
    mime_type: str | UnsetType | None = UNSET


class BlobResourceContents(Wire, EmbeddedResourceResource, frozen=True):
    """Binary resource contents (v1/content)."""

    blob: str
    uri: str
    mime_type: str | UnsetType | None = UNSET


class EmbeddedResource(Wire, frozen=True, tag_field="type", tag="resource"):
    """The contents of a resource, embedded into a prompt or tool call result (v1/content)."""

    resource: EmbeddedResourceResource
    annotations: Annotations | UnsetType | None = UNSET


class UnknownContent(Unlisted, frozen=True):
    """Content block that the schema does not list, unchanged (v1/content)."""


# A piece of a message (v1/content).
ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | UnknownContent
)


class Content(Wire, frozen=True, tag_field="type", tag="content"):
    """A content block shown by a tool call (v1/tool-calls#content)."""

    content: ContentBlock


def _set_plain_path(item: Diff | ToolCallLocation) -> None:
    """Replace a `file:` URI, which some agents send as a path, with its path."""
    if item.path[:5].lower() == "file:" and (path := file_path(item.path)) is not None:
        msgspec.structs.force_setattr(item, "path", path)


class Diff(Wire, frozen=True, tag_field="type", tag="diff"):
    """Change to a file. A new file has no `old_text` (v1/tool-calls#content)."""

    path: str
    new_text: str
    old_text: str | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        _set_plain_path(self)


# Unique identifier for a terminal (v1/terminals).
TerminalId: TypeAlias = str


class Terminal(Wire, frozen=True, tag_field="type", tag="terminal"):
    """Live output of the terminal with this id (v1/terminals)."""

    terminal_id: TerminalId


class SessionLink(Wire, frozen=True, tag_field="type", tag="session"):
    """Child session, as content of the call that started it (v1/subagents, schema >= 1.30)."""

    session_id: SessionId


class UnknownToolCallContent(Unlisted, frozen=True):
    """Content of a tool call that the schema does not list, unchanged (v1/tool-calls#content)."""


# Content of a tool call (v1/tool-calls#content).
ToolCallContent: TypeAlias = Content | Diff | Terminal | SessionLink | UnknownToolCallContent


class ToolCallLocation(Wire, frozen=True):
    """A file location being accessed or modified by a tool (v1/tool-calls#following-the-agent)."""

    path: str
    line: LineNumber | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        _set_plain_path(self)


class PermissionOption(Wire, frozen=True):
    """An option presented to the user when requesting permission (v1/tool-calls)."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


# Unique identifier for a permission option (v1/tool-calls).
PermissionOptionId: TypeAlias = str

# Hint about the effect of an option (v1/tool-calls#permission-options). "other" replaces kinds that
# the schema does not list: such an option must still be shown.
PermissionOptionKind: TypeAlias = Literal[
    "allow_once", "allow_always", "reject_once", "reject_always", "other"
]


class CreateTerminalRequest(Wire, frozen=True):
    """Request to create a new terminal and execute a command (v1/terminals)."""

    session_id: SessionId
    command: str
    args: list[str] | UnsetType = UNSET
    env: list[EnvVariable] | UnsetType = UNSET
    cwd: str | UnsetType | None = UNSET
    output_byte_limit: Unsigned | UnsetType | None = UNSET


class EnvVariable(Wire, frozen=True):
    """An environment variable to set when launching an MCP server (v1/terminals)."""

    name: str
    value: str


class TerminalOutputRequest(Wire, frozen=True):
    """Request to get the current output and status of a terminal (v1/terminals)."""

    session_id: SessionId
    terminal_id: TerminalId


class ReleaseTerminalRequest(Wire, frozen=True):
    """Request to release a terminal and free its resources (v1/terminals)."""

    session_id: SessionId
    terminal_id: TerminalId


class WaitForTerminalExitRequest(Wire, frozen=True):
    """Request to wait for a terminal command to exit (v1/terminals)."""

    session_id: SessionId
    terminal_id: TerminalId


class KillTerminalRequest(Wire, frozen=True):
    """Request to kill a terminal without releasing it (v1/terminals)."""

    session_id: SessionId
    terminal_id: TerminalId


class CreateElicitationRequest(Wire, frozen=True):
    """Question to the user (v1/elicitation).

    Its scope is either `session_id`, with or without `tool_call_id`, or `request_id`.
    """

    message: str
    session_id: SessionId | UnsetType = UNSET
    tool_call_id: ToolCallId | UnsetType | None = UNSET
    request_id: RequestId | UnsetType = UNSET


class ElicitationSchema(Wire, frozen=True):
    """Type-safe elicitation schema for requesting structured user input (v1/elicitation)."""

    type: ElicitationSchemaType | UnsetType = UNSET
    title: str | UnsetType | None = UNSET
    properties: dict[str, ElicitationPropertySchema] | UnsetType = UNSET
    required: list[str] | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET


# Type discriminator for elicitation schemas (v1/elicitation).
ElicitationSchemaType: TypeAlias = Literal["object"]

# String format types for string properties in elicitation schemas (v1/elicitation).
StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"]


class EnumOption(Wire, frozen=True):
    """Enum option with a const value, a title and an optional description (v1/elicitation)."""

    const: str
    title: str
    description: str | UnsetType | None = UNSET


class StringPropertySchema(Wire, frozen=True, tag_field="type", tag="string"):
    """Schema for string properties in an elicitation form (v1/elicitation)."""

    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    min_length: Unsigned | UnsetType | None = UNSET
    max_length: Unsigned | UnsetType | None = UNSET
    pattern: str | UnsetType | None = UNSET
    format: StringFormat | UnsetType | None = UNSET
    default: str | UnsetType | None = UNSET
    enum: list[str] | UnsetType | None = UNSET
    one_of: list[EnumOption] | UnsetType | None = UNSET


class NumberPropertySchema(Wire, frozen=True, tag_field="type", tag="number"):
    """Schema for number (floating-point) properties in an elicitation form (v1/elicitation)."""

    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    minimum: float | UnsetType | None = UNSET
    maximum: float | UnsetType | None = UNSET
    default: float | UnsetType | None = UNSET


class IntegerPropertySchema(Wire, frozen=True, tag_field="type", tag="integer"):
    """Schema for integer properties in an elicitation form (v1/elicitation)."""

    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    minimum: int | UnsetType | None = UNSET
    maximum: int | UnsetType | None = UNSET
    default: int | UnsetType | None = UNSET


class BooleanPropertySchema(Wire, frozen=True, tag_field="type", tag="boolean"):
    """Schema for boolean properties in an elicitation form (v1/elicitation)."""

    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    default: bool | UnsetType | None = UNSET


class MultiSelectItems(Untagged):
    """Choices of a multi-select: plain strings, titled values, or a newer kind (v1/elicitation)."""

    __slots__ = ()


class StringMultiSelectItems(Wire, MultiSelectItems, frozen=True, tag_field="type", tag="string"):
    """Values without titles (v1/elicitation)."""

    enum: list[str]


class TitledMultiSelectItems(Wire, MultiSelectItems, frozen=True):
    """Values with titles (v1/elicitation)."""

    any_of: list[EnumOption]


class UnknownMultiSelectItems(Unlisted, MultiSelectItems, frozen=True):
    """Items of a type that the schema does not list, unchanged (v1/elicitation)."""


class MultiSelectPropertySchema(Wire, frozen=True, tag_field="type", tag="array"):
    """Schema for multi-select (array) properties in an elicitation form (v1/elicitation)."""

    items: MultiSelectItems
    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    min_items: Unsigned | UnsetType | None = UNSET
    max_items: Unsigned | UnsetType | None = UNSET
    default: list[str] | UnsetType | None = UNSET


class UnknownPropertySchema(Unlisted, frozen=True):
    """Form field of an unlisted type, unchanged (v1/elicitation).

    It is never shown as a field of a known type.
    """


# A field of an elicitation form.
ElicitationPropertySchema: TypeAlias = (
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema
    | UnknownPropertySchema
)

# Unique identifier for an elicitation (v1/elicitation).
ElicitationId: TypeAlias = str


class ElicitationFormMode(
    CreateElicitationRequest, frozen=True, kw_only=True, tag_field="mode", tag="form"
):
    """A form to fill in (v1/elicitation#form-mode)."""

    requested_schema: ElicitationSchema


class ElicitationUrlMode(
    CreateElicitationRequest, frozen=True, kw_only=True, tag_field="mode", tag="url"
):
    """A page to open, with the user's consent (v1/elicitation#url-mode)."""

    elicitation_id: ElicitationId
    url: str


class UnknownElicitationMode(
    CreateElicitationRequest, frozen=True, kw_only=True, tag_field="mode", tag="?"
):
    """Mode that the schema does not list. It must not be shown as a known mode (v1/elicitation)."""

    mode: str = field(name="?tag")
    raw: dict[str, Any] = field(name="?raw")


# Params of `elicitation/create`.
ElicitationRequest: TypeAlias = ElicitationFormMode | ElicitationUrlMode | UnknownElicitationMode


class MessageMcpRequest(Wire, frozen=True):
    """Request parameters for `mcp/message` (rfds/mcp-over-acp, unstable)."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    params: dict[str, Any] | UnsetType | None = UNSET


# Unique identifier for an MCP server using the ACP transport (rfds/mcp-over-acp, unstable).
McpServerAcpId: TypeAlias = str

# Identifies an inner MCP request active against a server on this ACP connection
# (rfds/mcp-over-acp, unstable).
McpRequestId: TypeAlias = str

# Params of a method outside the spec, whose name starts with `_` (v1/extensibility).
ExtRequest: TypeAlias = Any


class InitializeResponse(Wire, frozen=True):
    """Response to the `initialize` method (v1/initialization)."""

    protocol_version: ProtocolVersion
    agent_capabilities: AgentCapabilities | UnsetType = UNSET
    auth_methods: list[AuthMethod] | UnsetType = UNSET
    agent_info: Implementation | UnsetType | None = UNSET


# Protocol version identifier (v1/initialization).
ProtocolVersion: TypeAlias = Unsigned


class AgentCapabilities(Wire, frozen=True):
    """Capabilities supported by the agent (v1/initialization#agent-capabilities)."""

    load_session: bool | UnsetType = UNSET
    prompt_capabilities: PromptCapabilities | UnsetType = UNSET
    mcp_capabilities: McpCapabilities | UnsetType = UNSET
    session_capabilities: SessionCapabilities | UnsetType = UNSET
    auth: AgentAuthCapabilities | UnsetType = UNSET
    providers: ProvidersCapabilities | UnsetType | None = UNSET


class PromptCapabilities(Wire, frozen=True):
    """Content that the agent accepts in prompts (v1/initialization#prompt-capabilities)."""

    image: bool | UnsetType = UNSET
    audio: bool | UnsetType = UNSET
    embedded_context: bool | UnsetType = UNSET


class McpCapabilities(Wire, frozen=True):
    """MCP capabilities supported by the agent (v1/session-setup)."""

    http: bool | UnsetType = UNSET
    sse: bool | UnsetType = UNSET
    acp: bool | UnsetType = UNSET


class SessionCapabilities(Wire, frozen=True):
    """Session capabilities supported by the agent (v1/initialization#session-capabilities)."""

    list: SessionListCapabilities | UnsetType | None = UNSET
    delete: SessionDeleteCapabilities | UnsetType | None = UNSET
    additional_directories: SessionAdditionalDirectoriesCapabilities | UnsetType | None = UNSET
    system_prompt: SessionSystemPromptCapabilities | UnsetType | None = UNSET
    fork: SessionForkCapabilities | UnsetType | None = UNSET
    archive: SessionArchiveCapabilities | UnsetType | None = UNSET
    status: SessionStatusCapabilities | UnsetType | None = UNSET
    title: SessionTitleCapabilities | UnsetType | None = UNSET
    resume: SessionResumeCapabilities | UnsetType | None = UNSET
    close: SessionCloseCapabilities | UnsetType | None = UNSET
    options: SessionOptionsCapabilities | UnsetType | None = UNSET


class SessionOptionsCapabilities(Wire, frozen=True):
    """Support for `session/options` and of initial values of config options.

    (rfds/session-options, unstable, schema >= 1.31)
    """


class SessionListCapabilities(Wire, frozen=True):
    """Capabilities for the `session/list` method (v1/session-list)."""


class SessionDeleteCapabilities(Wire, frozen=True):
    """Capabilities for the `session/delete` method (v1/session-delete)."""


class SessionAdditionalDirectoriesCapabilities(Wire, frozen=True):
    """Capabilities for additional session directories support (v1/session-setup)."""


class SessionSystemPromptCapabilities(Wire, frozen=True):
    """Capabilities for client-provided system prompts (rfds/client-system-prompt)."""

    mode: SessionSystemPromptModeCapabilities | UnsetType | None = UNSET


class SessionSystemPromptModeCapabilities(Wire, frozen=True):
    """Ways to add a system prompt besides `append` (rfds/client-system-prompt)."""

    override: SessionSystemPromptOverrideCapabilities | UnsetType | None = UNSET


class SessionSystemPromptOverrideCapabilities(Wire, frozen=True):
    """Capabilities for the `override` system prompt mode (rfds/client-system-prompt)."""


class SessionForkCapabilities(Wire, frozen=True):
    """Capabilities for the `session/fork` method (rfds/session-fork, unstable)."""


class SessionArchiveCapabilities(Wire, frozen=True):
    """Support for `session/archive` and `session/unarchive` (rfds/session-archive, unstable)."""


class SessionStatusCapabilities(Wire, frozen=True):
    """Capabilities for the `session/status` method (rfds/session-status, unstable)."""


class SessionTitleCapabilities(Wire, frozen=True):
    """Capabilities for Client-set session titles (rfds/session-set-title, unstable)."""


class SessionResumeCapabilities(Wire, frozen=True):
    """Capabilities for the `session/resume` method (v1/session-setup)."""


class SessionCloseCapabilities(Wire, frozen=True):
    """Capabilities for the `session/close` method (v1/session-setup)."""


class AgentAuthCapabilities(Wire, frozen=True):
    """Authentication-related capabilities supported by the agent (v1/initialization)."""

    status: AuthStatusCapabilities | UnsetType | None = UNSET
    logout: LogoutCapabilities | UnsetType | None = UNSET


class AuthStatusCapabilities(Wire, frozen=True):
    """Auth status capabilities supported by the agent (rfds/get-auth-state, unstable)."""


class LogoutCapabilities(Wire, frozen=True):
    """Logout capabilities supported by the agent (v1/authentication)."""


class ProvidersCapabilities(Wire, frozen=True):
    """Support for the configuration of providers (rfds/custom-llm-endpoint, unstable)."""


# Unique identifier for a login method (v1/authentication).
AuthMethodId: TypeAlias = str


class AuthMethod(Untagged):
    """Way to log in (v1/authentication).

    A terminal login has the `type` terminal. All other logins are run by the agent.
    """

    __slots__ = ()


class AuthMethodTerminal(Wire, AuthMethod, frozen=True, tag_field="type", tag="terminal"):
    """Login in a terminal: the agent's command with `args` and `env` added (v1/authentication)."""

    id: AuthMethodId
    name: str
    description: str | UnsetType | None = UNSET
    args: list[str] | UnsetType = UNSET
    env: dict[str, str] | UnsetType = UNSET


class AuthMethodAgent(Wire, AuthMethod, frozen=True):
    """Login by the agent itself, through `authenticate` (v1/authentication).

    It has no `type` on the wire, and methods of an unknown type are read as this one.
    """

    id: AuthMethodId
    name: str
    description: str | UnsetType | None = UNSET


class AuthMethodEnvVar(Wire, AuthMethod, frozen=True, tag_field="type", tag="env_var"):
    """Login through environment variables (v1/authentication until 2026-07-27).

    Agents still send this type, the oldest ones with a single `varName`.
    """

    id: AuthMethodId
    name: str
    description: str | UnsetType | None = UNSET
    vars: list[AuthEnvVar] | UnsetType = UNSET
    var_name: str | UnsetType | None = UNSET
    link: str | UnsetType | None = UNSET


class AuthEnvVar(Wire, frozen=True):
    """A variable that an `env_var` login reads (v1/authentication until 2026-07-27)."""

    name: str
    label: str | UnsetType | None = UNSET
    secret: bool | UnsetType | None = UNSET
    optional: bool | UnsetType | None = UNSET


class Implementation(Wire, frozen=True):
    """Metadata about the implementation of the client or agent (v1/initialization)."""

    name: str
    version: str
    title: str | UnsetType | None = UNSET


class AuthenticateResponse(Wire, frozen=True):
    """Response to the `authenticate` method (v1/authentication)."""


class ListProvidersResponse(Wire, frozen=True):
    """Response to `providers/list` (rfds/custom-llm-endpoint, unstable)."""

    providers: list[ProviderInfo]


class ProviderInfo(Wire, frozen=True):
    """Information about a configurable LLM provider (rfds/custom-llm-endpoint, unstable)."""

    provider_id: ProviderId
    supported: list[LlmProtocol]
    required: bool
    current: ProviderCurrentConfig | UnsetType | None = UNSET


# Unique identifier for a configurable LLM provider (rfds/custom-llm-endpoint, unstable).
ProviderId: TypeAlias = str

# Well-known API protocol identifiers for LLM providers (rfds/custom-llm-endpoint, unstable).
# Open; known: anthropic, openai, azure, vertex, bedrock.
LlmProtocol: TypeAlias = str


class ProviderCurrentConfig(Wire, frozen=True):
    """Current settings of a provider, without secrets (rfds/custom-llm-endpoint, unstable)."""

    api_type: LlmProtocol
    base_url: str


class SetProviderResponse(Wire, frozen=True):
    """Response to `providers/set` (rfds/custom-llm-endpoint, unstable)."""


class DisableProviderResponse(Wire, frozen=True):
    """Response to `providers/disable` (rfds/custom-llm-endpoint, unstable)."""


class LogoutResponse(Wire, frozen=True):
    """Response to the `logout` method (v1/authentication)."""


class AuthStatusResponse(Wire, frozen=True):
    """Response to the `auth/status` method (rfds/get-auth-state, unstable)."""

    state: AuthState
    accounts: list[AuthAccount] | UnsetType = UNSET


# The agent's overall authentication state (rfds/get-auth-state, unstable). Open; known:
# authenticated, unauthenticated, not_required, unknown.
AuthState: TypeAlias = str


class AuthAccount(Wire, frozen=True):
    """Account or credential in the agent's settings (rfds/get-auth-state, unstable).

    Examples are a signed-in user account and an API key.
    """

    label: str
    active: bool | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET
    email: str | UnsetType | None = UNSET
    organization: str | UnsetType | None = UNSET


class NewSessionResponse(Wire, frozen=True):
    """Response from creating a new session (v1/session-setup#creating-a-session)."""

    session_id: SessionId
    modes: SessionModeState | UnsetType | None = UNSET
    config_options: list[ConfigOption] | UnsetType | None = UNSET
    models: SessionModelState | UnsetType | None = UNSET


class SessionModelState(Wire, frozen=True):
    """Available models and the current one, as sent by older agents (v1/session-modes).

    They were removed from the protocol on 2026-06-01.
    """

    current_model_id: str
    available_models: list[ModelInfo]


class ModelInfo(Wire, frozen=True):
    """A model of an older agent (v1/session-modes, removed on 2026-06-01)."""

    model_id: str
    name: str
    description: str | UnsetType | None = UNSET


class SessionModeState(Wire, frozen=True):
    """The set of modes and the one currently active (v1/session-modes)."""

    current_mode_id: SessionModeId
    available_modes: list[SessionMode]


# Unique identifier for a session mode (v1/session-modes).
SessionModeId: TypeAlias = str


class SessionMode(Wire, frozen=True):
    """A mode the agent can operate in (v1/session-modes)."""

    id: SessionModeId
    name: str
    description: str | UnsetType | None = UNSET


# Unique identifier for a session configuration option (v1/session-config-options).
SessionConfigId: TypeAlias = str

# Category of an option, for its display only (v1/session-config-options). Open; known: mode, model,
# model_config, thought_level, speed.
SessionConfigOptionCategory: TypeAlias = str


class SessionConfigOption(Wire, frozen=True):
    """Common fields of config options. Options are listed in order of priority.

    (v1/session-config-options)
    """

    id: SessionConfigId
    name: str
    description: str | UnsetType | None = UNSET
    category: SessionConfigOptionCategory | UnsetType | None = UNSET


# Unique identifier for a session configuration option value (v1/session-config-options).
SessionConfigValueId: TypeAlias = str


class SessionConfigSelectItem(Untagged):
    """Entry of a select: a value, or with `group` a group of values (v1/session-config-options)."""

    __slots__ = ()


class SessionConfigSelectOption(Wire, SessionConfigSelectItem, frozen=True):
    """A possible value for a session configuration option (v1/session-config-options)."""

    value: SessionConfigValueId
    name: str
    description: str | UnsetType | None = UNSET


class SessionConfigSelectGroup(Wire, SessionConfigSelectItem, frozen=True):
    """A group of possible values for a session configuration option (v1/session-config-options)."""

    group: SessionConfigGroupId
    name: str
    options: list[SessionConfigSelectOption]


# The values of a select. The schema requires all flat or all grouped; a mix is accepted.
SessionConfigSelectOptions: TypeAlias = list[SessionConfigSelectItem]


class SessionConfigSelect(
    SessionConfigOption, frozen=True, kw_only=True, tag_field="type", tag="select"
):
    """Choice of one option. The options are flat or in groups (v1/session-config-options)."""

    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigBoolean(
    SessionConfigOption, frozen=True, kw_only=True, tag_field="type", tag="boolean"
):
    """A switch (v1/session-config-options)."""

    current_value: bool


class UnknownConfigOption(
    SessionConfigOption, frozen=True, kw_only=True, tag_field="type", tag="?"
):
    """Option of a type that the schema does not list, to be ignored (v1/session-config-options)."""

    type: str = field(name="?tag")
    raw: dict[str, Any] = field(name="?raw")


# An entry of `config_options`.
ConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean | UnknownConfigOption

# Unique identifier for a session configuration option value group (v1/session-config-options).
SessionConfigGroupId: TypeAlias = str


class LoadSessionResponse(Wire, frozen=True):
    """Response from loading an existing session (v1/session-setup)."""

    modes: SessionModeState | UnsetType | None = UNSET
    config_options: list[ConfigOption] | UnsetType | None = UNSET
    models: SessionModelState | UnsetType | None = UNSET


class ListSessionsResponse(Wire, frozen=True):
    """Response from listing sessions (v1/session-list)."""

    sessions: list[SessionInfo]
    next_cursor: str | UnsetType | None = UNSET


class SessionInfo(Wire, frozen=True):
    """Information about a session returned by `session/list` (v1/session-list)."""

    session_id: SessionId
    cwd: str
    additional_directories: list[str] | UnsetType = UNSET
    title: str | UnsetType | None = UNSET
    updated_at: str | UnsetType | None = UNSET
    archived: bool | UnsetType | None = UNSET


class DeleteSessionResponse(Wire, frozen=True):
    """Response from deleting a session (v1/session-delete)."""


class ForkSessionResponse(Wire, frozen=True):
    """Response from forking an existing session (rfds/session-fork, unstable)."""

    session_id: SessionId
    modes: SessionModeState | UnsetType | None = UNSET
    config_options: list[ConfigOption] | UnsetType | None = UNSET
    models: SessionModelState | UnsetType | None = UNSET


class ArchiveSessionResponse(Wire, frozen=True):
    """Response from archiving a session (rfds/session-archive, unstable)."""


class UnarchiveSessionResponse(Wire, frozen=True):
    """Response from unarchiving a session (rfds/session-archive, unstable)."""


class SessionStatusResponse(Wire, frozen=True):
    """Response from checking the status of a session (rfds/session-status, unstable)."""

    status: SessionStatus


# Whether the Agent has a session in memory, as reported by `session/status` (rfds/session-status,
# unstable). Open; known: open, saved.
SessionStatus: TypeAlias = str


class SetSessionTitleResponse(Wire, frozen=True):
    """Response from setting the title of a session (rfds/session-set-title, unstable)."""

    title: str


class ResumeSessionResponse(Wire, frozen=True):
    """Response from resuming an existing session (v1/session-setup)."""

    modes: SessionModeState | UnsetType | None = UNSET
    config_options: list[ConfigOption] | UnsetType | None = UNSET
    models: SessionModelState | UnsetType | None = UNSET


class CloseSessionResponse(Wire, frozen=True):
    """Response from closing a session (v1/session-setup)."""


class SetSessionModeResponse(Wire, frozen=True):
    """Response to the `session/set_mode` method (v1/session-modes)."""


class SetSessionModelResponse(Wire, frozen=True):
    """Response to `session/set_model` (v1/session-modes, removed on 2026-06-01)."""


class SetSessionConfigOptionResponse(Wire, frozen=True):
    """Response to the `session/set_config_option` method (v1/session-config-options)."""

    config_options: list[ConfigOption]


class PromptResponse(Wire, frozen=True):
    """Response from processing a user prompt (v1/prompt-turn#4-check-for-completion)."""

    stop_reason: StopReason
    usage: Usage | UnsetType | None = UNSET


# Reason for the end of a turn (v1/prompt-turn#stop-reasons). Unknown reasons are kept.
StopReason: TypeAlias = Annotated[
    str,
    msgspec.Meta(pattern="^(end_turn|max_tokens|max_turn_requests|refusal|cancelled)$"),
]


class Usage(Wire, frozen=True):
    """Token usage information for a prompt turn (v1/prompt-turn, unstable)."""

    total_tokens: Unsigned
    input_tokens: Unsigned
    output_tokens: Unsigned
    thought_tokens: Unsigned | UnsetType | None = UNSET
    cached_read_tokens: Unsigned | UnsetType | None = UNSET
    cached_write_tokens: Unsigned | UnsetType | None = UNSET


# Result of a method outside the spec (v1/extensibility).
ExtResponse: TypeAlias = Any


class Error(Plain, frozen=True):
    """JSON-RPC error object (v1/overview)."""

    code: int
    message: str
    data: Any = UNSET


# Code of an `Error`; any other int32 is legal too, see `errors` for the names
# (v1/overview#error-handling).
ErrorCode: TypeAlias = int


class SessionNotification(Wire, frozen=True):
    """Session update from the agent (v1/prompt-turn#3-agent-reports-output)."""

    session_id: SessionId
    update: SessionUpdate


# Unique identifier for a message within a session (v1/prompt-turn).
MessageId: TypeAlias = str


class ContentChunk(Wire, frozen=True):
    """Chunk of a message, base of three updates (v1/prompt-turn#3-agent-reports-output).

    A change of `message_id` starts a new message.
    """

    content: ContentBlock
    message_id: MessageId | UnsetType | None = UNSET


class UserMessageChunk(
    ContentChunk, frozen=True, tag_field="sessionUpdate", tag="user_message_chunk"
):
    """Chunk of the user's message, replayed or echoed by the agent (v1/prompt-turn)."""


class AgentMessageChunk(
    ContentChunk, frozen=True, tag_field="sessionUpdate", tag="agent_message_chunk"
):
    """Chunk of the agent's message (v1/prompt-turn)."""


class AgentThoughtChunk(
    ContentChunk, frozen=True, tag_field="sessionUpdate", tag="agent_thought_chunk"
):
    """Chunk of the agent's reasoning (v1/prompt-turn)."""


class ToolCall(Wire, frozen=True, tag_field="sessionUpdate", tag="tool_call"):
    """Tool call requested by the model. A known id replaces the earlier call (v1/tool-calls)."""

    tool_call_id: ToolCallId
    title: str
    name: str | UnsetType | None = UNSET
    kind: ToolKind | UnsetType = UNSET
    status: ToolCallStatus | UnsetType = UNSET
    content: list[ToolCallContent] | UnsetType = UNSET
    locations: list[ToolCallLocation] | UnsetType = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET


class PlanEntry(Wire, frozen=True):
    """A single entry in the execution plan (v1/agent-plan#plan-entries)."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


# Priority levels for plan entries (v1/agent-plan#plan-entries).
PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]

# Status of a plan entry in the execution flow (v1/agent-plan#plan-entries).
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]


class Plan(Wire, frozen=True, tag_field="sessionUpdate", tag="plan"):
    """Plan, which replaces the last one (v1/agent-plan)."""

    entries: list[PlanEntry]


# Unique identifier for a plan within a session (rfds/plan-operations, unstable).
PlanId: TypeAlias = str


class PlanItems(Wire, frozen=True, tag_field="type", tag="items"):
    """A plan represented as structured entries (rfds/plan-operations, unstable)."""

    plan_id: PlanId
    entries: list[PlanEntry]


class PlanFile(Wire, frozen=True, tag_field="type", tag="file"):
    """A plan represented by a file URI (rfds/plan-operations, unstable)."""

    plan_id: PlanId
    uri: str


class PlanMarkdown(Wire, frozen=True, tag_field="type", tag="markdown"):
    """A plan represented as raw markdown content (rfds/plan-operations, unstable)."""

    plan_id: PlanId
    content: str


class UnknownPlan(Unlisted, frozen=True):
    """Plan that the schema does not list, unchanged (rfds/plan-operations)."""


# Plan with its own id (rfds/plan-operations, unstable).
PlanUpdateContent: TypeAlias = PlanItems | PlanFile | PlanMarkdown | UnknownPlan


class PlanUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="plan_update"):
    """A content update for a plan identified by ID (rfds/plan-operations, unstable)."""

    plan: PlanUpdateContent


class PlanRemoved(Wire, frozen=True, tag_field="sessionUpdate", tag="plan_removed"):
    """Removal notice for a plan identified by ID (rfds/plan-operations, unstable)."""

    plan_id: PlanId


class AvailableCommand(Wire, frozen=True):
    """Information about a command (v1/slash-commands)."""

    name: str
    description: str
    input: AvailableCommandInput | UnsetType | None = UNSET


class UnstructuredCommandInput(Wire, frozen=True):
    """All text that was typed after the command name is provided as input (v1/slash-commands)."""

    hint: str


# Input of a command; so far there is one kind (v1/slash-commands).
AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommandsUpdate(
    Wire, frozen=True, tag_field="sessionUpdate", tag="available_commands_update"
):
    """Available commands, which replace the last list (v1/slash-commands)."""

    available_commands: list[AvailableCommand]


class CurrentModeUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="current_mode_update"):
    """The current mode of the session has changed (v1/session-modes)."""

    current_mode_id: SessionModeId


class ConfigOptionUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="config_option_update"):
    """Session configuration options have been updated (v1/session-config-options)."""

    config_options: list[ConfigOption]


class SessionInfoUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="session_info_update"):
    """Metadata of the session (v1/session-list).

    An absent field keeps its value, null clears it.
    """

    title: str | UnsetType | None = UNSET
    updated_at: str | UnsetType | None = UNSET


class Cost(Wire, frozen=True):
    """Cost information for a session (v1/prompt-turn)."""

    amount: float
    currency: str


class UsageUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="usage_update"):
    """Context window and cost update for a session (v1/prompt-turn)."""

    used: Unsigned
    size: Unsigned
    cost: Cost | UnsetType | None = UNSET


# Severity hint for a session notice (rfds/session-notices). Open; known: info, warning, error.
NoticeSeverity: TypeAlias = str


class Notice(Wire, frozen=True, tag_field="sessionUpdate", tag="notice"):
    """Fire-and-forget information for the user (rfds/session-notices)."""

    severity: NoticeSeverity
    title: str
    description: str | UnsetType | None = UNSET


# Unique identifier for a context compaction within a session (rfds/session-compaction).
CompactionId: TypeAlias = str

# Lifecycle state of a context compaction (rfds/session-compaction). Open; known: in_progress,
# completed, failed, cancelled.
CompactionStatus: TypeAlias = str


class CompactionUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="compaction_update"):
    """Compaction, created or updated by its id (rfds/session-compaction).

    An absent field keeps its value, null clears it.
    """

    compaction_id: CompactionId
    status: CompactionStatus
    summary: list[ContentBlock] | UnsetType | None = UNSET
    error: str | UnsetType | None = UNSET


class CompactionSummaryChunk(
    Wire, frozen=True, tag_field="sessionUpdate", tag="compaction_summary_chunk"
):
    """A content block appended to a compaction's summary (rfds/session-compaction)."""

    compaction_id: CompactionId
    content: ContentBlock


class SubagentSessionCapabilities(Wire, frozen=True):
    """Methods that the client may use on one subagent session (v1/subagents)."""

    cancel: SessionCancelCapabilities | UnsetType | None = UNSET


class SessionCancelCapabilities(Wire, frozen=True):
    """Support for cancelling work in a subagent session that stays open (v1/subagents)."""


class RunningStateUpdate(Wire, frozen=True, tag_field="state", tag="running"):
    """Foreground work is in progress (v1/subagents)."""


class IdleStateUpdate(Wire, frozen=True, tag_field="state", tag="idle"):
    """The child is idle (v1/subagents).

    `stop_reason` gives the reason, `error` the details if it is "error".
    """

    stop_reason: str | UnsetType | None = UNSET
    error: Error | UnsetType | None = UNSET
    usage: Usage | UnsetType | None = UNSET


class RequiresActionStateUpdate(Wire, frozen=True, tag_field="state", tag="requires_action"):
    """Foreground work is blocked on user action (v1/subagents)."""


class UnknownStateUpdate(Wire, frozen=True, tag_field="state", tag="unknown"):
    """The state of the child is unknown. It must not be shown as running (v1/subagents)."""


class OtherStateUpdate(Plain, frozen=True, tag_field="state", tag="?"):
    """State that the schema does not list, unchanged (v1/subagents).

    It counts as neither idle nor running.
    """

    state: str = field(name="?tag")
    raw: dict[str, Any] = field(name="?raw")


# State of a child session (v1/subagents).
StateUpdate: TypeAlias = (
    RunningStateUpdate
    | IdleStateUpdate
    | RequiresActionStateUpdate
    | UnknownStateUpdate
    | OtherStateUpdate
)


class SubagentUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="subagent_update"):
    """Update on the parent's session about its child `session_id` (v1/subagents).

    An absent field keeps its value, null clears it.
    """

    session_id: SessionId
    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    capabilities: SubagentSessionCapabilities | UnsetType | None = UNSET
    state: StateUpdate | UnsetType | None = UNSET
    cwd: str | UnsetType | None = UNSET
    additional_directories: list[str] | UnsetType | None = UNSET


class SessionMessage(Wire, frozen=True, tag_field="sessionUpdate", tag="session_message"):
    """Message between sessions, created or updated by its id (v1/subagents).

    An absent field keeps its value, null clears it.
    """

    message_id: MessageId
    sender_session_id: SessionId | UnsetType | None = UNSET
    recipient_session_id: SessionId | UnsetType | None = UNSET
    sender_message_id: MessageId | UnsetType | None = UNSET
    recipient_message_id: MessageId | UnsetType | None = UNSET
    content: list[ContentBlock] | UnsetType | None = UNSET


class SessionMessageChunk(
    Wire, frozen=True, tag_field="sessionUpdate", tag="session_message_chunk"
):
    """A streamed content block of an inter-session message (v1/subagents)."""

    message_id: MessageId
    content: ContentBlock


class PromptSuggestion(Wire, frozen=True):
    """Prompt that the user may want to send next (rfds/prompt-suggestions, schema >= 1.31)."""

    prompt: list[ContentBlock]


class PromptSuggestionsUpdate(
    Wire, frozen=True, tag_field="sessionUpdate", tag="prompt_suggestions_update"
):
    """Suggested prompts, which replace the last list.

    The empty composer shows them as ghost text (rfds/prompt-suggestions, unstable, schema >= 1.31).
    """

    suggestions: list[PromptSuggestion]


class CursorUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="cursor_update"):
    """Position in a session, created or updated by its id.

    (rfds/session-cursors, unstable, schema >= 1.33)
    """

    cursor_id: CursorId
    capabilities: CursorCapabilities | UnsetType | None = UNSET
    anchor: CursorAnchor | UnsetType = UNSET


# Agent's id of a cursor, unique in its session (rfds/session-cursors, unstable).
CursorId: TypeAlias = str


class CursorCapabilities(Wire, frozen=True):
    """Methods that accept a cursor (rfds/session-cursors, unstable)."""

    fork: CursorForkCapabilities | UnsetType | None = UNSET


class CursorForkCapabilities(Wire, frozen=True):
    """Support for `session/fork` at a cursor (rfds/session-cursors, unstable)."""


class CursorAnchor(Wire, frozen=True):
    """Message, tool call or compaction next to a cursor (rfds/session-cursors, unstable).

    `type` is open, and says which of the ids is set: user_message, agent_message, agent_thought,
    session_message, tool_call, compaction. `position` is open; known: before, after.
    """

    type: str
    position: str
    message_id: MessageId | UnsetType = UNSET
    tool_call_id: ToolCallId | UnsetType = UNSET
    compaction_id: str | UnsetType = UNSET


class UnknownUpdate(Plain, frozen=True, tag_field="sessionUpdate", tag="?"):
    """Unlisted update, or one that cannot be decoded, unchanged (v1/prompt-turn)."""

    session_update: str = field(name="?tag")
    raw: dict[str, Any] = field(name="?raw")


# Content of `session/update` (v1/prompt-turn#3-agent-reports-output).
SessionUpdate: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
    | SubagentUpdate
    | SessionMessage
    | SessionMessageChunk
    | PromptSuggestionsUpdate
    | CursorUpdate
    | UnknownUpdate
)


class CompleteElicitationNotification(Wire, frozen=True):
    """Notification sent by the agent when a URL-based elicitation is complete (v1/elicitation)."""

    elicitation_id: ElicitationId


class AuthStatusUpdateNotification(Wire, frozen=True):
    """Change of the agent's authentication status (rfds/get-auth-state, unstable)."""

    state: AuthState
    accounts: list[AuthAccount] | UnsetType = UNSET


# Params of a notification outside the spec (v1/extensibility).
ExtNotification: TypeAlias = Any


class InitializeRequest(Wire, frozen=True):
    """Request parameters for the `initialize` method (v1/initialization)."""

    protocol_version: ProtocolVersion
    client_capabilities: ClientCapabilities | UnsetType = UNSET
    client_info: Implementation | UnsetType | None = UNSET


class ClientCapabilities(Wire, frozen=True):
    """Capabilities supported by the client (v1/initialization#client-capabilities)."""

    fs: FileSystemCapabilities | UnsetType = UNSET
    terminal: bool | UnsetType = UNSET
    session: ClientSessionCapabilities | UnsetType | None = UNSET
    subagents: SubagentCapabilities | UnsetType | None = UNSET
    plan: PlanCapabilities | UnsetType | None = UNSET
    auth: AuthCapabilities | UnsetType = UNSET
    elicitation: ElicitationCapabilities | UnsetType | None = UNSET


class FileSystemCapabilities(Wire, frozen=True):
    """File system capabilities that a client may support (v1/initialization#filesystem)."""

    read_text_file: bool | UnsetType = UNSET
    write_text_file: bool | UnsetType = UNSET


class ClientSessionCapabilities(Wire, frozen=True):
    """Session-related capabilities supported by the client (v1/initialization)."""

    compaction: CompactionCapabilities | UnsetType | None = UNSET
    config_options: SessionConfigOptionsCapabilities | UnsetType | None = UNSET
    notices: NoticeCapabilities | UnsetType | None = UNSET
    prompt_suggestions: PromptSuggestionsCapabilities | UnsetType | None = UNSET
    cursors: SessionCursorsCapabilities | UnsetType | None = UNSET


class PromptSuggestionsCapabilities(Wire, frozen=True):
    """Support for prompt suggestions (rfds/prompt-suggestions, unstable, schema >= 1.31)."""


class SessionCursorsCapabilities(Wire, frozen=True):
    """Support for `cursor_update` (rfds/session-cursors, unstable, schema >= 1.33)."""


class CompactionCapabilities(Plain, frozen=True):
    """Client support for ID-addressed context compaction updates (rfds/session-compaction)."""


class SessionConfigOptionsCapabilities(Wire, frozen=True):
    """Kinds of config options that the client supports (v1/session-config-options)."""

    boolean: BooleanConfigOptionCapabilities | UnsetType | None = UNSET


class BooleanConfigOptionCapabilities(Wire, frozen=True):
    """Capabilities for boolean session configuration options (v1/session-config-options)."""


class NoticeCapabilities(Plain, frozen=True):
    """Client support for presenting live notices to the user (rfds/session-notices)."""


class SubagentCapabilities(Wire, frozen=True):
    """Support for the agent's child sessions, with restrictions (v1/subagents)."""


class PlanCapabilities(Wire, frozen=True):
    """Support for `plan_update` and `plan_removed` (rfds/plan-operations, unstable)."""


class AuthCapabilities(Wire, frozen=True):
    """Authentication capabilities supported by the client (v1/authentication)."""

    terminal: bool | UnsetType = UNSET


class ElicitationCapabilities(Wire, frozen=True):
    """Elicitation capabilities supported by the client (v1/elicitation)."""

    form: ElicitationFormCapabilities | UnsetType | None = UNSET
    url: ElicitationUrlCapabilities | UnsetType | None = UNSET


class ElicitationFormCapabilities(Wire, frozen=True):
    """Form-based elicitation capabilities (v1/elicitation)."""


class ElicitationUrlCapabilities(Wire, frozen=True):
    """URL-based elicitation capabilities (v1/elicitation)."""


class AuthenticateRequest(Wire, frozen=True):
    """Request parameters for the `authenticate` method (v1/authentication)."""

    method_id: AuthMethodId


class ListProvidersRequest(Wire, frozen=True):
    """Request parameters for `providers/list` (rfds/custom-llm-endpoint, unstable)."""


class SetProviderRequest(Wire, frozen=True):
    """Request parameters for `providers/set` (rfds/custom-llm-endpoint, unstable)."""

    provider_id: ProviderId
    api_type: LlmProtocol
    base_url: str
    headers: dict[str, str] | UnsetType = UNSET


class DisableProviderRequest(Wire, frozen=True):
    """Request parameters for `providers/disable` (rfds/custom-llm-endpoint, unstable)."""

    provider_id: ProviderId


class LogoutRequest(Wire, frozen=True):
    """Request parameters for the `logout` method (v1/authentication)."""


class AuthStatusRequest(Wire, frozen=True):
    """Request parameters for the `auth/status` method (rfds/get-auth-state, unstable)."""


class NewSessionRequest(Wire, frozen=True):
    """Request parameters for creating a new session (v1/session-setup#creating-a-session)."""

    cwd: str
    mcp_servers: list[McpServer]
    additional_directories: list[str] | UnsetType = UNSET
    system_prompt: SystemPrompt | UnsetType | None = UNSET
    config_options: list[InitialSessionConfigOption] | UnsetType = UNSET


class HttpHeader(Wire, frozen=True):
    """An HTTP header to set when making requests to the MCP server (v1/session-setup)."""

    name: str
    value: str


class McpServer(Untagged):
    """MCP server for the agent: stdio without a `type` (v1/session-setup#mcp-servers)."""

    __slots__ = ()


class McpServerHttp(Wire, McpServer, frozen=True, tag_field="type", tag="http"):
    """HTTP transport configuration for MCP (v1/session-setup)."""

    name: str
    url: str
    headers: list[HttpHeader]


class McpServerSse(Wire, McpServer, frozen=True, tag_field="type", tag="sse"):
    """SSE transport configuration for MCP (v1/session-setup)."""

    name: str
    url: str
    headers: list[HttpHeader]


class McpServerAcp(Wire, McpServer, frozen=True, tag_field="type", tag="acp"):
    """ACP transport configuration for MCP (rfds/mcp-over-acp, unstable)."""

    name: str
    server_id: McpServerAcpId


class McpServerStdio(Wire, McpServer, frozen=True):
    """MCP server that the agent starts (v1/session-setup#mcp-servers).

    It has no `type` on the wire.
    """

    name: str
    command: str
    args: list[str]
    env: list[EnvVariable]


class SystemPrompt(Wire, frozen=True):
    """Client-provided system-level instructions for a session (rfds/client-system-prompt)."""

    mode: SystemPromptMode
    content: list[ContentBlock]


# How the Agent combines a client-provided system prompt with its own instructions
# (rfds/client-system-prompt). Open; known: append, override.
SystemPromptMode: TypeAlias = str


class LoadSessionRequest(Wire, frozen=True):
    """Request parameters for loading an existing session (v1/session-setup#loading-sessions)."""

    mcp_servers: list[McpServer]
    cwd: str
    session_id: SessionId
    additional_directories: list[str] | UnsetType = UNSET
    system_prompt: SystemPrompt | UnsetType | None = UNSET
    config_options: list[InitialSessionConfigOption] | UnsetType = UNSET


class ListSessionsRequest(Wire, frozen=True):
    """Request parameters for listing existing sessions (v1/session-list)."""

    cwd: str | UnsetType | None = UNSET
    cursor: str | UnsetType | None = UNSET
    archived: SessionArchiveFilter | UnsetType | None = UNSET


# Which sessions `session/list` returns based on their archive state (rfds/session-archive,
# unstable). Open; known: exclude, include, only.
SessionArchiveFilter: TypeAlias = str


class DeleteSessionRequest(Wire, frozen=True):
    """Request to delete a session from `session/list` (v1/session-delete)."""

    session_id: SessionId


class ForkSessionRequest(Wire, frozen=True):
    """Request parameters for forking an existing session (rfds/session-fork, unstable).

    The fork ends at the cursor if there is one, which needs schema >= 1.33.
    """

    session_id: SessionId
    cwd: str
    additional_directories: list[str] | UnsetType = UNSET
    mcp_servers: list[McpServer] | UnsetType = UNSET
    system_prompt: SystemPrompt | UnsetType | None = UNSET
    config_options: list[InitialSessionConfigOption] | UnsetType = UNSET
    cursor_id: CursorId | UnsetType | None = UNSET


class ArchiveSessionRequest(Wire, frozen=True):
    """Request parameters for archiving a session (rfds/session-archive, unstable)."""

    session_id: SessionId


class UnarchiveSessionRequest(Wire, frozen=True):
    """Request parameters for unarchiving a session (rfds/session-archive, unstable)."""

    session_id: SessionId


class SessionStatusRequest(Wire, frozen=True):
    """Request parameters for checking the status of a session (rfds/session-status, unstable)."""

    session_id: SessionId


class SessionOptionsRequest(Wire, frozen=True):
    """Request for the initial options of a session.

    (rfds/session-options, unstable, schema >= 1.31)
    """

    cwd: str
    additional_directories: list[str] | UnsetType = UNSET
    session_id: SessionId | UnsetType = UNSET


class SessionOptionsResponse(Wire, frozen=True):
    """Initial options of a session (rfds/session-options, unstable, schema >= 1.31)."""

    modes: SessionModeState | UnsetType | None = UNSET
    config_options: list[ConfigOption] | UnsetType | None = UNSET


class InitialSessionConfigOption(Wire, frozen=True):
    """Initial value of a config option. A boolean has `type="boolean"`.

    (rfds/session-options, unstable, schema >= 1.31)
    """

    config_id: SessionConfigId
    value: SessionConfigValueId | bool
    type: Literal["boolean"] | UnsetType = UNSET


class SetSessionTitleRequest(Wire, frozen=True):
    """Request parameters for setting the title of a session (rfds/session-set-title, unstable)."""

    session_id: SessionId
    title: str


class ResumeSessionRequest(Wire, frozen=True):
    """Request parameters for resuming an existing session (v1/session-setup)."""

    session_id: SessionId
    cwd: str
    additional_directories: list[str] | UnsetType = UNSET
    mcp_servers: list[McpServer] | UnsetType = UNSET
    system_prompt: SystemPrompt | UnsetType | None = UNSET
    config_options: list[InitialSessionConfigOption] | UnsetType = UNSET


class CloseSessionRequest(Wire, frozen=True):
    """Request parameters for closing an active session (v1/session-setup)."""

    session_id: SessionId


class SetSessionModeRequest(Wire, frozen=True):
    """Request parameters for setting a session mode (v1/session-modes)."""

    session_id: SessionId
    mode_id: SessionModeId


class SetSessionModelRequest(Wire, frozen=True):
    """Request to set the model of an older agent (v1/session-modes).

    It was removed from the protocol on 2026-06-01.
    """

    session_id: SessionId
    model_id: str


class SetSessionConfigOptionRequest(Wire, frozen=True):
    """Change to a config option (v1/session-config-options).

    A boolean must have `type="boolean"`, a select value must not.
    """

    session_id: SessionId
    config_id: SessionConfigId
    value: SessionConfigValueId | bool
    type: Literal["boolean"] | UnsetType = UNSET


class PromptRequest(Wire, frozen=True):
    """Request parameters for sending a user prompt to the agent (v1/prompt-turn#1-user-message)."""

    session_id: SessionId
    prompt: list[ContentBlock]


class WriteTextFileResponse(Wire, frozen=True):
    """Response to `fs/write_text_file` (v1/file-system)."""


class ReadTextFileResponse(Wire, frozen=True):
    """Response containing the contents of a text file (v1/file-system)."""

    content: str


class SelectedPermissionOutcome(Wire, frozen=True, tag_field="outcome", tag="selected"):
    """The user chose this option (v1/tool-calls#requesting-permission)."""

    option_id: PermissionOptionId


class CancelledPermissionOutcome(Plain, frozen=True, tag_field="outcome", tag="cancelled"):
    """The turn was cancelled before the user chose (v1/tool-calls#requesting-permission)."""


# Outcome of a permission request.
RequestPermissionOutcome: TypeAlias = SelectedPermissionOutcome | CancelledPermissionOutcome


class RequestPermissionResponse(Wire, frozen=True):
    """Response to a permission request (v1/tool-calls)."""

    outcome: RequestPermissionOutcome


class CreateTerminalResponse(Wire, frozen=True):
    """Response containing the ID of the created terminal (v1/terminals)."""

    terminal_id: TerminalId


class TerminalOutputResponse(Wire, frozen=True):
    """Response containing the terminal output and exit status (v1/terminals)."""

    output: str
    truncated: bool
    exit_status: TerminalExitStatus | UnsetType | None = UNSET


class TerminalExitStatus(Wire, frozen=True):
    """Exit status of a terminal command (v1/terminals)."""

    exit_code: Unsigned | UnsetType | None = UNSET
    signal: str | UnsetType | None = UNSET


class ReleaseTerminalResponse(Wire, frozen=True):
    """Response to the `terminal/release` method (v1/terminals)."""


class WaitForTerminalExitResponse(Wire, frozen=True):
    """Response containing the exit status of a terminal command (v1/terminals)."""

    exit_code: Unsigned | UnsetType | None = UNSET
    signal: str | UnsetType | None = UNSET


class KillTerminalResponse(Wire, frozen=True):
    """Response to the `terminal/kill` method (v1/terminals)."""


class CreateElicitationResponse(Wire, frozen=True):
    """Base of the three answers to an elicitation (v1/elicitation)."""


class ElicitationAcceptAction(
    CreateElicitationResponse, frozen=True, tag_field="action", tag="accept"
):
    """Acceptance: the submitted form, or the agreement to open a page (v1/elicitation)."""

    content: dict[str, ElicitationContentValue] | UnsetType | None = UNSET


class ElicitationDeclineAction(
    CreateElicitationResponse, frozen=True, tag_field="action", tag="decline"
):
    """The user declined (v1/elicitation)."""


class ElicitationCancelAction(
    CreateElicitationResponse, frozen=True, tag_field="action", tag="cancel"
):
    """The user dismissed the question, or the turn was cancelled (v1/elicitation)."""


class UnknownElicitationAction(
    CreateElicitationResponse, frozen=True, kw_only=True, tag_field="action", tag="?"
):
    """Action that the schema does not list, unchanged (v1/elicitation)."""

    action: str = field(name="?tag")
    raw: dict[str, Any] = field(name="?raw")


ElicitationResponse: TypeAlias = (
    ElicitationAcceptAction
    | ElicitationDeclineAction
    | ElicitationCancelAction
    | UnknownElicitationAction
)

# Value of a form (v1/elicitation).
ElicitationContentValue: TypeAlias = str | int | float | bool | list[str]


class MessageMcpResponse(Wire, frozen=True):
    """Answer to the inner request: a result or an MCP error (rfds/mcp-over-acp, unstable).

    Exactly one is present; the result may be null.
    """

    result: Any = UNSET
    error: McpError | UnsetType = UNSET


class McpError(Plain, frozen=True):
    """The error of an inner MCP request (rfds/mcp-over-acp, unstable)."""

    code: int
    message: str
    data: Any = UNSET


class CancelNotification(Wire, frozen=True):
    """Notification to cancel ongoing operations for a session (v1/prompt-turn#cancellation)."""

    session_id: SessionId


class MessageMcpNotification(Wire, frozen=True):
    """Notification parameters for `mcp/message` (rfds/mcp-over-acp, unstable)."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    params: dict[str, Any] | UnsetType | None = UNSET


class CancelRequestNotification(Wire, frozen=True):
    """Notification to cancel an ongoing request (v1/cancellation)."""

    request_id: RequestId


class InitializeProxyRequest(InitializeRequest, frozen=True):
    """Request parameters for `proxy/initialize` (rfds/proxy-chains, unstable)."""


class ProxySuccessorRequest(Wire, frozen=True):
    """Parameters of a `proxy/successor` request (rfds/proxy-chains, unstable)."""

    method: str
    params: Any = UNSET


class InitializeProxyResponse(InitializeResponse, frozen=True):
    """Response to `proxy/initialize` (rfds/proxy-chains, unstable)."""


# The successor's own result, opaque (rfds/proxy-chains, unstable).
ProxySuccessorResponse: TypeAlias = Any


class ProxySuccessorNotification(Wire, frozen=True):
    """Parameters of a `proxy/successor` notification (rfds/proxy-chains, unstable)."""

    method: str
    params: Any = UNSET
