"""Wire types of ACP v2, stable and unstable, in the order and by the names of the JSON schema.

Types that version 2 left unchanged, or whose bounds alone changed, come from `protocol.schema`.
Fields follow the same rules as there: absent is `UNSET`, `null` is `None`, and these differ in an
upsert (v2/migration). Enums are open: a `str`. `Unknown*` types contain a variant that the schema
does not list.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType, field

from acp_nvim.protocol import schema as v1
from acp_nvim.protocol.schema import Unlisted, Untagged, Wire

# An id of a request. Null is not legal in version 2 (v2/overview).
RequestId: TypeAlias = int | str


class RequestPermissionRequest(Wire, frozen=True):
    """Request for user permission. `subject` is its subject (v2/tool-calls)."""

    session_id: v1.SessionId
    title: str
    options: list[PermissionOption]
    description: str | UnsetType | None = UNSET
    subject: RequestPermissionSubject | UnsetType | None = UNSET


class ToolCallUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="tool_call_update"):
    """Upsert of a tool call. The first one creates the call (v2/tool-calls).

    An absent field keeps its value, null clears it.
    """

    tool_call_id: v1.ToolCallId
    name: str | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET
    kind: ToolKind | UnsetType | None = UNSET
    status: ToolCallStatus | UnsetType | None = UNSET
    content: list[ToolCallContent] | UnsetType | None = UNSET
    locations: list[v1.ToolCallLocation] | UnsetType | None = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    capabilities: ToolCallCapabilities | UnsetType | None = UNSET


class SubjectToolCall(ToolCallUpdate, frozen=True, tag_field=None, tag=False):
    """Upsert of a tool call inside a permission request, which has no tag."""


# Kind of a tool. Unknown ones count as `other` (v2/tool-calls).
ToolKind: TypeAlias = str

# pending, in_progress, paused, completed, failed, cancelled, or another value.
ToolCallStatus: TypeAlias = str


class Icon(Wire, frozen=True):
    """Icon of a resource (v2/content)."""

    src: str
    mime_type: MediaType | UnsetType | None = UNSET
    sizes: list[str] | UnsetType | None = UNSET
    theme: IconTheme | UnsetType | None = UNSET


# Media type as in RFC 6838.
MediaType: TypeAlias = str

# light, dark, or another value.
IconTheme: TypeAlias = str


class ResourceLink(
    v1.ResourceLink, frozen=True, kw_only=True, tag_field="type", tag="resource_link"
):
    """A resource that the agent can read (v2/content)."""

    icons: list[Icon] | UnsetType | None = UNSET


# Content of prompts, messages and tool calls (v2/content).
ContentBlock: TypeAlias = (
    v1.TextContent
    | v1.ImageContent
    | v1.AudioContent
    | ResourceLink
    | v1.EmbeddedResource
    | v1.UnknownContent
)


class Content(Wire, frozen=True, tag_field="type", tag="content"):
    """A content block of a tool call (v2/tool-calls)."""

    content: ContentBlock


class DiffChange(Wire, frozen=True):
    """Addition, deletion, change, move or copy of a file (v2/tool-calls).

    `old_path` is the origin of a move or copy.
    """

    operation: str
    path: AbsolutePath | UnsetType | None = UNSET
    old_path: AbsolutePath | UnsetType | None = UNSET
    file_type: DiffFileType | UnsetType | None = UNSET
    mime_type: MediaType | UnsetType | None = UNSET


# text, binary, directory, symlink, or another value.
DiffFileType: TypeAlias = str

# Absolute path.
AbsolutePath: TypeAlias = str


class DiffPatch(Wire, frozen=True):
    """Changes as one patch. `format` is `git_patch` or another format (v2/tool-calls)."""

    format: DiffPatchFormat
    text: str


# git_patch, or another value.
DiffPatchFormat: TypeAlias = str


class Diff(Wire, frozen=True, tag_field="type", tag="diff"):
    """Changes to files (v2/tool-calls)."""

    changes: list[DiffChange]
    patch: DiffPatch | UnsetType | None = UNSET


# Content of a tool call (v2/tool-calls).
ToolCallContent: TypeAlias = (
    Content | Diff | v1.Terminal | v1.SessionLink | v1.UnknownToolCallContent
)


class ToolCallCapabilities(Wire, frozen=True):
    """Client requests that a tool call supports (v2/tool-calls)."""

    cancel: ToolCallCancelCapabilities | UnsetType | None = UNSET


class ToolCallCancelCapabilities(Wire, frozen=True):
    """Support for `tool_call/cancel`."""


class ToolCallPermissionSubject(Wire, frozen=True, tag_field="type", tag="tool_call"):
    """Tool call as the subject of a permission, applied as an update first (v2/tool-calls)."""

    tool_call: SubjectToolCall


class CommandPermissionSubject(Wire, frozen=True, tag_field="type", tag="command"):
    """Command as the subject of a permission (v2/tool-calls)."""

    command: str
    cwd: AbsolutePath
    tool_call_id: v1.ToolCallId | UnsetType | None = UNSET
    terminal_id: v1.TerminalId | UnsetType | None = UNSET


class UnknownPermissionSubject(Unlisted, frozen=True):
    """Subject that the schema does not list."""


# Subject of a permission.
RequestPermissionSubject: TypeAlias = (
    ToolCallPermissionSubject | CommandPermissionSubject | UnknownPermissionSubject
)


class PermissionOption(Wire, frozen=True):
    """Possible answer. Its kind is a hint (v2/tool-calls)."""

    option_id: v1.PermissionOptionId
    name: str
    kind: PermissionOptionKind


# allow_once, allow_always, reject_once, reject_always, or another value.
PermissionOptionKind: TypeAlias = str


class InitializeResponse(Wire, frozen=True):
    """Negotiated version, and the agent's capabilities (v2/initialization)."""

    protocol_version: v1.ProtocolVersion
    info: v1.Implementation
    capabilities: AgentCapabilities | UnsetType | None = UNSET
    auth_methods: list[AuthMethod] | UnsetType | None = UNSET


class AgentCapabilities(Wire, frozen=True):
    """Capabilities of the agent. Even an empty object means support (v2/initialization)."""

    session: SessionCapabilities | UnsetType | None = UNSET
    auth: AgentAuthCapabilities | UnsetType | None = UNSET
    providers: v1.ProvidersCapabilities | UnsetType | None = UNSET


class SessionCapabilities(Wire, frozen=True):
    """Session methods of the baseline, and optional ones."""

    prompt: PromptCapabilities | UnsetType | None = UNSET
    mcp: McpCapabilities | UnsetType | None = UNSET
    delete: v1.SessionDeleteCapabilities | UnsetType | None = UNSET
    additional_directories: v1.SessionAdditionalDirectoriesCapabilities | UnsetType | None = UNSET
    system_prompt: v1.SessionSystemPromptCapabilities | UnsetType | None = UNSET
    fork: v1.SessionForkCapabilities | UnsetType | None = UNSET
    archive: v1.SessionArchiveCapabilities | UnsetType | None = UNSET
    status: v1.SessionStatusCapabilities | UnsetType | None = UNSET
    title: v1.SessionTitleCapabilities | UnsetType | None = UNSET
    options: v1.SessionOptionsCapabilities | UnsetType | None = UNSET


class PromptCapabilities(Wire, frozen=True):
    """Supported content of prompts beyond text and links."""

    image: PromptImageCapabilities | UnsetType | None = UNSET
    audio: PromptAudioCapabilities | UnsetType | None = UNSET
    embedded_context: PromptEmbeddedContextCapabilities | UnsetType | None = UNSET


class PromptImageCapabilities(Wire, frozen=True):
    """Support for images in prompts."""


class PromptAudioCapabilities(Wire, frozen=True):
    """Support for audio in prompts."""


class PromptEmbeddedContextCapabilities(Wire, frozen=True):
    """Support for embedded resources in prompts."""


class McpCapabilities(Wire, frozen=True):
    """Supported transports of MCP servers (v2/session-setup)."""

    stdio: McpStdioCapabilities | UnsetType | None = UNSET
    http: McpHttpCapabilities | UnsetType | None = UNSET
    acp: McpAcpCapabilities | UnsetType | None = UNSET


class McpStdioCapabilities(Wire, frozen=True):
    """Support for MCP servers that the agent starts."""


class McpHttpCapabilities(Wire, frozen=True):
    """Support for MCP servers over HTTP."""


class McpAcpCapabilities(Wire, frozen=True):
    """Support for MCP servers over this connection."""


class AgentAuthCapabilities(Wire, frozen=True):
    """Authentication capabilities of the agent."""

    status: v1.AuthStatusCapabilities | UnsetType | None = UNSET


class AuthMethodTerminal(Wire, frozen=True, tag_field="type", tag="terminal"):
    """Login by a program in a terminal (v2/authentication)."""

    method_id: v1.AuthMethodId
    name: str
    description: str | UnsetType | None = UNSET
    args: list[str] | UnsetType | None = UNSET
    env: list[v1.EnvVariable] | UnsetType | None = UNSET


class AuthMethodAgent(Wire, frozen=True, tag_field="type", tag="agent"):
    """Login by the agent itself (v2/authentication)."""

    method_id: v1.AuthMethodId
    name: str
    description: str | UnsetType | None = UNSET


class UnknownAuthMethod(Unlisted, frozen=True):
    """Login of a kind that the schema does not list."""


# Way to log in.
AuthMethod: TypeAlias = AuthMethodTerminal | AuthMethodAgent | UnknownAuthMethod


class LoginAuthResponse(Wire, frozen=True):
    """Response to `auth/login` (v2/authentication)."""


class LogoutAuthResponse(Wire, frozen=True):
    """Response to `auth/logout` (v2/authentication)."""


class NewSessionResponse(Wire, frozen=True):
    """Response to `session/new` (v2/session-setup)."""

    session_id: v1.SessionId
    config_options: list[ConfigOption] | UnsetType | None = UNSET
    available_commands: list[AvailableCommand] | UnsetType | None = UNSET


class SessionConfigOption(Wire, frozen=True):
    """Common fields of all config options (v2/session-config-options)."""

    config_id: v1.SessionConfigId
    name: str
    description: str | UnsetType | None = UNSET
    category: v1.SessionConfigOptionCategory | UnsetType | None = UNSET


class SessionConfigSelectItem(Untagged):
    """Value of a select, or a group of values."""

    __slots__ = ()


class SessionConfigSelectOption(v1.SessionConfigSelectOption, SessionConfigSelectItem, frozen=True):
    """Value of a select (v2/session-config-options)."""


class SessionConfigSelectGroup(Wire, SessionConfigSelectItem, frozen=True):
    """Group of values under a heading (v2/session-config-options)."""

    group_id: v1.SessionConfigGroupId
    name: str
    options: list[SessionConfigSelectOption]


# The values of a select, flat or in groups.
SessionConfigSelectOptions: TypeAlias = list[SessionConfigSelectItem]


class SessionConfigSelect(
    SessionConfigOption, frozen=True, kw_only=True, tag_field="type", tag="select"
):
    """Choice of one value (v2/session-config-options)."""

    current_value: v1.SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigBoolean(
    SessionConfigOption, frozen=True, kw_only=True, tag_field="type", tag="boolean"
):
    """Switch (v2/session-config-options)."""

    current_value: bool


class UnknownConfigOption(
    SessionConfigOption, frozen=True, kw_only=True, tag_field="type", tag="?"
):
    """Option of a type that the schema does not list."""

    type: str = field(name="?tag")
    raw: dict[str, Any] = field(name="?raw")


# An entry of `config_options`.
ConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean | UnknownConfigOption


class TextCommandInput(Wire, frozen=True, tag_field="type", tag="text"):
    """Free text input of a command. `hint` is shown while it is empty (v2/slash-commands)."""

    hint: str


class UnknownCommandInput(Unlisted, frozen=True):
    """Input that the schema does not list."""


# Input of a command.
AvailableCommandInput: TypeAlias = TextCommandInput | UnknownCommandInput


class Command(Wire, frozen=True, tag_field="type", tag="command"):
    """Slash command. Its name has no slash (v2/slash-commands)."""

    name: str
    description: str
    input: AvailableCommandInput | UnsetType | None = UNSET


class UnknownCommand(Unlisted, frozen=True):
    """Command of a kind that the schema does not list. It is not offered."""


# An entry of `available_commands`.
AvailableCommand: TypeAlias = Command | UnknownCommand

# Start of the next page of a list. The empty string is a cursor too (v2/session-list).
SessionListCursor: TypeAlias = str


class ForkSessionResponse(Wire, frozen=True):
    """Response to `session/fork` (rfds/session-fork)."""

    session_id: v1.SessionId
    config_options: list[ConfigOption] | UnsetType | None = UNSET
    available_commands: list[AvailableCommand] | UnsetType | None = UNSET


class SessionStatusResponse(Wire, frozen=True):
    """Response to `session/status`: whether the agent has the session in memory, and its state."""

    status: v1.SessionStatus
    state: dict[str, Any] | UnsetType | None = UNSET


class BackgroundWork(Wire, frozen=True):
    """Work that may continue while the session is idle (v2/prompt-lifecycle).

    It is a terminal, a tool call, a subagent or of another kind.
    """

    type: str
    terminal_id: v1.TerminalId | UnsetType | None = UNSET
    tool_call_id: v1.ToolCallId | UnsetType | None = UNSET
    session_id: v1.SessionId | UnsetType | None = UNSET


class StateUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="state_update"):
    """State of a session: running, idle, requires_action, unknown or another (v2/prompt-lifecycle).

    An idle state has the stop reason.
    """

    state: str
    stop_reason: str | UnsetType | None = UNSET
    error: v1.Error | UnsetType | None = UNSET
    usage: v1.Usage | UnsetType | None = UNSET
    background: list[BackgroundWork] | UnsetType | None = UNSET


# Details of an error.
ErrorData: TypeAlias = Any


class UnsupportedProtocolVersionErrorData(Wire, frozen=True):
    """Versions supported by an agent (error -32022)."""

    requested: v1.ProtocolVersion
    supported: list[v1.ProtocolVersion]


class SessionNotFoundErrorData(Wire, frozen=True):
    """Session unknown to the agent (error -32002)."""

    session_id: v1.SessionId


class ResumeSessionResponse(Wire, frozen=True):
    """Response to `session/resume` (v2/session-setup)."""

    config_options: list[ConfigOption] | UnsetType | None = UNSET
    available_commands: list[AvailableCommand] | UnsetType | None = UNSET


class CancelToolCallResponse(Wire, frozen=True):
    """Response to `tool_call/cancel`. A status update reports the end."""


class CancelTerminalResponse(Wire, frozen=True):
    """Response to `terminal/cancel`. An exit status reports the end."""


class SetSessionConfigOptionResponse(Wire, frozen=True):
    """Response with all current options."""

    config_options: list[ConfigOption]


class PromptResponse(Wire, frozen=True):
    """Response to `session/prompt` with the id of the inserted message (v2/prompt-lifecycle)."""

    message_id: v1.MessageId


class UpdateSessionNotification(Wire, frozen=True):
    """Update of a session (v2/prompt-lifecycle)."""

    session_id: v1.SessionId
    update: SessionUpdate


class ContentChunk(Wire, frozen=True):
    """Content block appended to a message."""

    message_id: v1.MessageId
    content: ContentBlock


class UserMessageChunk(
    ContentChunk, frozen=True, tag_field="sessionUpdate", tag="user_message_chunk"
):
    """Chunk of a user message."""


class AgentMessageChunk(
    ContentChunk, frozen=True, tag_field="sessionUpdate", tag="agent_message_chunk"
):
    """Chunk of an agent message."""


class AgentThoughtChunk(
    ContentChunk, frozen=True, tag_field="sessionUpdate", tag="agent_thought_chunk"
):
    """Chunk of a thought."""


class UserMessage(Wire, frozen=True, tag_field="sessionUpdate", tag="user_message"):
    """Upsert of a user message. Null clears its content."""

    message_id: v1.MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET


class AgentMessage(Wire, frozen=True, tag_field="sessionUpdate", tag="agent_message"):
    """Upsert of an agent message."""

    message_id: v1.MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET


class AgentThought(Wire, frozen=True, tag_field="sessionUpdate", tag="agent_thought"):
    """Upsert of a thought."""

    message_id: v1.MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET


class ToolCallContentChunk(
    Wire, frozen=True, tag_field="sessionUpdate", tag="tool_call_content_chunk"
):
    """Item appended to the content of a tool call (v2/tool-calls)."""

    tool_call_id: v1.ToolCallId
    content: ToolCallContent


class TerminalOutput(Wire, frozen=True):
    """All bytes of a terminal, in base64."""

    data: str


class TerminalExitStatus(Wire, frozen=True):
    """Exit status of a terminal."""

    exit_code: int | UnsetType | None = UNSET
    signal: str | UnsetType | None = UNSET


class TerminalSize(Wire, frozen=True):
    """Size of a terminal in characters."""

    cols: int
    rows: int


class TerminalCapabilities(Wire, frozen=True):
    """Client requests that a terminal supports."""

    cancel: TerminalCancelCapabilities | UnsetType | None = UNSET


class TerminalCancelCapabilities(Wire, frozen=True):
    """Support for `terminal/cancel`."""


class TerminalUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="terminal_update"):
    """Upsert of a terminal run by the agent (v2/tool-calls)."""

    terminal_id: v1.TerminalId
    command: str | UnsetType | None = UNSET
    cwd: AbsolutePath | UnsetType | None = UNSET
    output: TerminalOutput | UnsetType | None = UNSET
    exit_status: TerminalExitStatus | UnsetType | None = UNSET
    size: TerminalSize | UnsetType | None = UNSET
    capabilities: TerminalCapabilities | UnsetType | None = UNSET


class TerminalOutputChunk(
    Wire, frozen=True, tag_field="sessionUpdate", tag="terminal_output_chunk"
):
    """Bytes appended to a terminal, in base64."""

    terminal_id: v1.TerminalId
    data: str


class PlanEntry(Wire, frozen=True):
    """Step of a plan (v2/agent-plan)."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


# high, medium, low, or another value.
PlanEntryPriority: TypeAlias = str

# pending, in_progress, completed, cancelled, or another value.
PlanEntryStatus: TypeAlias = str


class PlanItems(Wire, frozen=True, tag_field="type", tag="items"):
    """Plan of steps."""

    plan_id: v1.PlanId
    entries: list[PlanEntry]


# Kinds of plans.
PlanUpdateContent: TypeAlias = PlanItems | v1.PlanFile | v1.PlanMarkdown | v1.UnknownPlan


class PlanUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="plan_update"):
    """Complete plan (v2/agent-plan)."""

    plan: PlanUpdateContent


class AvailableCommandsUpdate(
    Wire, frozen=True, tag_field="sessionUpdate", tag="available_commands_update"
):
    """Complete list of slash commands."""

    available_commands: list[AvailableCommand]


class ConfigOptionUpdate(Wire, frozen=True, tag_field="sessionUpdate", tag="config_option_update"):
    """Complete list of options."""

    config_options: list[ConfigOption]


# Content of `session/update` (v2/prompt-lifecycle).
SessionUpdate: TypeAlias = (
    UserMessageChunk
    | UserMessage
    | AgentMessageChunk
    | AgentMessage
    | AgentThoughtChunk
    | AgentThought
    | StateUpdate
    | ToolCallContentChunk
    | ToolCallUpdate
    | TerminalUpdate
    | TerminalOutputChunk
    | PlanUpdate
    | v1.PlanRemoved
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | v1.SessionInfoUpdate
    | v1.UsageUpdate
    | v1.Notice
    | v1.CompactionUpdate
    | v1.CompactionSummaryChunk
    | v1.SubagentUpdate
    | v1.SessionMessage
    | v1.SessionMessageChunk
    | v1.CursorUpdate
    | v1.UnknownUpdate
)


class InitializeRequest(Wire, frozen=True):
    """Newest version supported by the client, and its capabilities (v2/initialization)."""

    protocol_version: v1.ProtocolVersion
    info: v1.Implementation
    capabilities: ClientCapabilities


class ClientCapabilities(Wire, frozen=True):
    """Capabilities of the client."""

    auth: ClientAuthCapabilities | UnsetType | None = UNSET
    elicitation: v1.ElicitationCapabilities | UnsetType | None = UNSET


class ClientAuthCapabilities(Wire, frozen=True):
    """Kinds of logins that the client supports."""

    terminal: TerminalAuthCapabilities | UnsetType | None = UNSET


class TerminalAuthCapabilities(Wire, frozen=True):
    """Support for login programs in a terminal."""


class LoginAuthRequest(Wire, frozen=True):
    """Login request (v2/authentication)."""

    method_id: v1.AuthMethodId


class LogoutAuthRequest(Wire, frozen=True):
    """Logout request (v2/authentication)."""


class NewSessionRequest(Wire, frozen=True):
    """Request for a new session (v2/session-setup)."""

    cwd: AbsolutePath
    additional_directories: list[AbsolutePath] | UnsetType | None = UNSET
    mcp_servers: list[McpServer] | UnsetType | None = UNSET
    system_prompt: v1.SystemPrompt | UnsetType | None = UNSET
    config_options: list[InitialSessionConfigOption] | UnsetType = UNSET


class McpServerHttp(Wire, frozen=True, tag_field="type", tag="http"):
    """MCP server at an address."""

    name: str
    url: str
    headers: list[v1.HttpHeader] | UnsetType | None = UNSET


class McpServerStdio(Wire, frozen=True, tag_field="type", tag="stdio"):
    """MCP server started by the agent."""

    name: str
    command: AbsolutePath
    args: list[str] | UnsetType | None = UNSET
    env: list[v1.EnvVariable] | UnsetType | None = UNSET


# MCP server for the agent (v2/session-setup).
McpServer: TypeAlias = McpServerHttp | McpServerStdio | v1.McpServerAcp


class ListSessionsRequest(Wire, frozen=True):
    """Request for one page of stored sessions (v2/session-list)."""

    cwd: AbsolutePath | UnsetType | None = UNSET
    cursor: SessionListCursor | UnsetType | None = UNSET
    archived: v1.SessionArchiveFilter | UnsetType | None = UNSET


class ForkSessionRequest(Wire, frozen=True):
    """Request for a session with the context of another session (rfds/session-fork)."""

    session_id: v1.SessionId
    cwd: AbsolutePath
    additional_directories: list[AbsolutePath] | UnsetType | None = UNSET
    mcp_servers: list[McpServer] | UnsetType | None = UNSET
    system_prompt: v1.SystemPrompt | UnsetType | None = UNSET
    config_options: list[InitialSessionConfigOption] | UnsetType = UNSET
    cursor_id: v1.CursorId | UnsetType | None = UNSET


class ResumeSessionRequest(Wire, frozen=True):
    """Request to resume a session, with its history if `replay_from` is set (v2/session-setup)."""

    session_id: v1.SessionId
    cwd: AbsolutePath
    additional_directories: list[AbsolutePath] | UnsetType | None = UNSET
    mcp_servers: list[McpServer] | UnsetType | None = UNSET
    replay_from: ReplayFrom | UnsetType | None = UNSET
    system_prompt: v1.SystemPrompt | UnsetType | None = UNSET
    config_options: list[InitialSessionConfigOption] | UnsetType = UNSET


class ReplayFromStart(Wire, frozen=True, tag_field="type", tag="start"):
    """Replay from the beginning."""


# Start of a replay.
ReplayFrom: TypeAlias = ReplayFromStart


class CancelToolCallRequest(Wire, frozen=True):
    """Request to end one tool call (v2/tool-calls)."""

    session_id: v1.SessionId
    tool_call_id: v1.ToolCallId


class CancelTerminalRequest(Wire, frozen=True):
    """Request to end one terminal (v2/tool-calls)."""

    session_id: v1.SessionId
    terminal_id: v1.TerminalId


class SessionOptionsResponse(Wire, frozen=True):
    """Initial options and commands of a session (rfds/session-options)."""

    config_options: list[ConfigOption] | UnsetType = UNSET
    available_commands: list[AvailableCommand] | UnsetType = UNSET


class InitialSessionConfigOption(Wire, frozen=True):
    """Initial value of an option. `type` is `id` or `boolean` (rfds/session-options)."""

    config_id: v1.SessionConfigId
    type: str
    value: str | bool


class SetSessionConfigOptionRequest(Wire, frozen=True):
    """Change to an option. `type` is `id` or `boolean` (v2/session-config-options)."""

    session_id: v1.SessionId
    config_id: v1.SessionConfigId
    type: str
    value: str | bool


class PromptRequest(Wire, frozen=True):
    """User message. The answer confirms its insertion (v2/prompt-lifecycle)."""

    session_id: v1.SessionId
    prompt: list[ContentBlock]


class CancelSessionNotification(Wire, frozen=True):
    """Notification to end the foreground work of a session (v2/cancellation)."""

    session_id: v1.SessionId
