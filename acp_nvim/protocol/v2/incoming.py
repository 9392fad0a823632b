"""Translation of incoming messages of version 2 into the types that sessions use.

A cleared field (null) becomes the empty value, so that later code need not distinguish null from
absent (v2/migration).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from acp_nvim.protocol import schema as v1
from acp_nvim.protocol import updates
from acp_nvim.protocol.uris import file_path
from acp_nvim.protocol.v2 import schema as s

_CHUNKS: Final[dict[updates.Role, Callable[[Any], updates.SessionUpdate]]] = {
    "user": v1.UserMessageChunk,
    "agent": v1.AgentMessageChunk,
    "thought": v1.AgentThoughtChunk,
}

_ESCAPES: Final = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\a": "\\a", "\b": "\\b"}
    | {"\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r"}
)
"""Git's escapes for characters of a quoted path."""

# -- updates --------------------------------------------------------------------------------------


def update(wire: Any) -> updates.SessionUpdate:
    """Return an update of version 2 as one that a session accepts."""
    translate = _UPDATES.get(wire.__class__)
    return wire if translate is None else translate(wire)


def _chunk(role: updates.Role) -> Callable[[Any], updates.SessionUpdate]:
    """Return a function that translates chunks.

    A chunk without an id, which violates the protocol, becomes a chunk of version 1.
    """
    older = _CHUNKS[role]

    def translate(update: Any) -> updates.SessionUpdate:
        if not update.message_id:
            return older(update.content)
        return updates.MessageChunk(role, update.message_id, update.content)

    return translate


def _message(role: updates.Role) -> Callable[[Any], updates.SessionUpdate]:
    """Return a function that translates whole messages.

    Absent content leaves the content unchanged.
    """

    def translate(update: Any) -> updates.SessionUpdate:
        if update.content is UNSET:
            return updates.MessageUnchanged(role, update.message_id)
        return updates.MessageContent(role, update.message_id, update.content or ())

    return translate


def call(update: s.ToolCallUpdate) -> updates.CallPatch:
    """Return the patch of a tool call. Cleared fields become empty."""
    content = update.content
    return updates.CallPatch(
        update.tool_call_id,
        title=_empty(update.title, ""),
        name=_empty(update.name, ""),
        kind=_empty(update.kind, "other"),
        status=_empty(update.status, "pending"),
        content=UNSET
        if content is UNSET
        else [content_item for part in content or () for content_item in item(part)],
        locations=_empty(update.locations, []),
        raw_input=_empty(update.raw_input, {}),
        raw_output=_empty(update.raw_output, {}),
        cancellable=_can_cancel(update.capabilities),
        meta=update.meta,
    )


def item(content: Any) -> Iterator[Any]:
    """Yield the translation of an item of a tool call's content."""
    match content:
        case s.Content():
            yield v1.Content(content.content, meta=content.meta)
        case s.Diff():
            yield changes(content)
        case _:
            yield content


def _call_content(update: s.ToolCallContentChunk) -> updates.CallContent:
    return updates.CallContent(update.tool_call_id, next(item(update.content)))


def _state(update: s.StateUpdate) -> updates.Work:
    error = v1.given(update.error)
    background = update.background
    return updates.Work(
        update.state,
        v1.given(update.stop_reason),
        error.message if error else None,
        error.code if error else None,
        error.data if error else UNSET,
        v1.given(update.usage),
        UNSET if background is UNSET else len(background or ()),
    )


def _plan(update: s.PlanUpdate) -> v1.PlanUpdate:
    plan: Any = update.plan
    if isinstance(plan, s.PlanItems):
        entries: Any = plan.entries
        plan = v1.PlanItems(plan.plan_id, entries)
    return v1.PlanUpdate(plan)


def _commands(update: s.AvailableCommandsUpdate) -> v1.AvailableCommandsUpdate:
    return v1.AvailableCommandsUpdate(commands(update.available_commands))


def _options(update: s.ConfigOptionUpdate) -> v1.ConfigOptionUpdate:
    return v1.ConfigOptionUpdate(options(update.config_options))


def _usage(update: v1.UsageUpdate) -> updates.UsageState:
    return updates.UsageState(update.used, update.size, update.cost)


# -- terminals ------------------------------------------------------------------------------------


def _terminal(update: s.TerminalUpdate) -> updates.TerminalState:
    output = update.output
    return updates.TerminalState(
        update.terminal_id,
        command=_empty(update.command, ""),
        cwd=_empty(update.cwd, ""),
        output=UNSET if output is UNSET else decode_base64(output.data) if output else b"",
        exit=_exit(update.exit_status),
        cancellable=_can_cancel(update.capabilities),
    )


def _exit(status: Any) -> v1.TerminalExitStatus | UnsetType | None:
    if not status:
        return UNSET if status is UNSET else None
    return v1.TerminalExitStatus(status.exit_code, status.signal)


def _terminal_bytes(update: s.TerminalOutputChunk) -> updates.TerminalBytes:
    return updates.TerminalBytes(update.terminal_id, decode_base64(update.data))


def decode_base64(data: str) -> bytes:
    """Decode a base64 string, which is complete in itself (v2/tool-calls).

    Raise ValidationError.
    """
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise msgspec.ValidationError(f"data: not base64: {error}") from error


# -- file changes --------------------------------------------------------------------------------


def changes(diff: s.Diff) -> updates.FileChanges:
    """Return a diff as text: its patch in a fence, and a line for each change outside the patch."""
    patch, kind = (diff.patch.text, diff.patch.format) if diff.patch else ("", "")
    is_known = kind == "git_patch"
    heads, added, removed = _read_patch(patch if is_known else "")
    unnamed = (change for change in diff.changes if not _is_named_in_patch(change, heads))
    lines = [_describe_change(change) for change in unnamed]
    fence = "```"
    while fence in patch:
        fence += "`"
    language = "diff" if is_known else ""
    fenced = [f"{fence}{language}\n{patch.rstrip()}\n{fence}"] if patch.strip() else []
    return updates.FileChanges(
        v1.TextContent("\n".join([*fenced, *lines])),
        paths=_paths(diff.changes),
        added=added,
        removed=removed,
        meta=diff.meta,
    )


def _paths(changed: Sequence[s.DiffChange]) -> tuple[str, ...]:
    named = (path for change in changed for path in (change.old_path, change.path) if path)
    return tuple(dict.fromkeys(file_path(path) or path for path in named))


def _is_named_in_patch(change: s.DiffChange, heads: Sequence[str]) -> bool:
    """Return whether the heads of a patch name the file of a change.

    Git writes the path at the end of a line, quoted if it is unusual.
    """
    path = change.path or change.old_path
    if not path:
        return False
    plain = path.translate(_ESCAPES)
    octal = "".join(c if c < "\x7f" else "".join(f"\\{b:o}" for b in c.encode()) for c in plain)
    names = {path, f'{plain}"', f'{octal}"'}
    ends = tuple(before + name for name in names for before in (" ", ' "', " a", " b", '"a', '"b'))
    return any(head.endswith(ends) for head in heads)


def _describe_change(change: s.DiffChange) -> str:
    """Return a change as text: `move /a/b → /a/c (binary)`."""
    where = " → ".join(str(path) for path in (change.old_path, change.path) if path)
    kind = v1.given(change.file_type)
    return f"{change.operation} {where}" + (f" ({kind})" if kind and kind != "text" else "")


def _read_patch(patch: str) -> tuple[list[str], int, int]:
    """Return the lines of a patch outside of hunks, and the numbers of added and removed lines."""
    heads: list[str] = []
    added = removed = 0
    is_in_hunk = False
    for line in patch.split("\n"):
        is_in_hunk = line.startswith("@@") or (is_in_hunk and not line.startswith("diff --git "))
        added += is_in_hunk and line.startswith("+")
        removed += is_in_hunk and line.startswith("-")
        if not is_in_hunk:
            heads.append(line.rstrip("\t\r"))
    return heads, added, removed


# -- answers --------------------------------------------------------------------------------------


def result(response: Any) -> Any:
    """Return the result of a request as in version 1."""
    change = _RESULTS.get(response.__class__)
    return response if change is None else change(response)


def _initialize_response(response: s.InitializeResponse) -> v1.InitializeResponse:
    capabilities = response.capabilities or s.AgentCapabilities()
    session = capabilities.session or s.SessionCapabilities()
    methods = [_method(login) for login in logins(response)]
    auth = capabilities.auth or s.AgentAuthCapabilities()
    return v1.InitializeResponse(
        response.protocol_version,
        agent_capabilities=v1.AgentCapabilities(
            load_session=True,
            prompt_capabilities=_prompts(session.prompt or s.PromptCapabilities()),
            mcp_capabilities=_servers(session.mcp or s.McpCapabilities()),
            session_capabilities=_sessions(session),
            auth=v1.AgentAuthCapabilities(
                logout=v1.LogoutCapabilities() if response.auth_methods else UNSET,
                status=auth.status,
            ),
            providers=capabilities.providers,
            meta=capabilities.meta,
        ),
        auth_methods=methods,
        agent_info=response.info,
    )


def _prompts(prompt: s.PromptCapabilities) -> v1.PromptCapabilities:
    return v1.PromptCapabilities(
        image=_is_given(prompt.image),
        audio=_is_given(prompt.audio),
        embedded_context=_is_given(prompt.embedded_context),
    )


def _servers(mcp: s.McpCapabilities) -> v1.McpCapabilities:
    return v1.McpCapabilities(http=_is_given(mcp.http), acp=_is_given(mcp.acp))


def _sessions(capabilities: s.SessionCapabilities) -> v1.SessionCapabilities:
    """Return the session capabilities. The baseline includes list, resume and close."""
    return v1.SessionCapabilities(
        list=v1.SessionListCapabilities(),
        resume=v1.SessionResumeCapabilities(),
        close=v1.SessionCloseCapabilities(),
        delete=capabilities.delete,
        additional_directories=capabilities.additional_directories,
        system_prompt=capabilities.system_prompt,
        fork=capabilities.fork,
        archive=capabilities.archive,
        status=capabilities.status,
        title=capabilities.title,
        options=capabilities.options,
    )


def logins(response: s.InitializeResponse) -> list[s.AuthMethodTerminal | s.AuthMethodAgent]:
    """Return the usable logins. Only some types support `auth/login` (v2/authentication)."""
    known = (s.AuthMethodTerminal, s.AuthMethodAgent)
    return [method for method in response.auth_methods or () if isinstance(method, known)]


def _method(method: s.AuthMethodTerminal | s.AuthMethodAgent) -> v1.AuthMethod:
    if isinstance(method, s.AuthMethodTerminal):
        env = {variable.name: variable.value for variable in method.env or ()}
        args = list(method.args or ())
        return v1.AuthMethodTerminal(
            method.method_id, method.name, method.description, args, env, meta=method.meta
        )
    return v1.AuthMethodAgent(method.method_id, method.name, method.description, meta=method.meta)


def _open_response(kind: type) -> Callable[[Any], Any]:
    def change(response: Any) -> Any:
        fields: dict[str, Any] = {"meta": response.meta}
        if response.config_options is not UNSET:
            fields["config_options"] = options(response.config_options or ())
        if kind is not v1.LoadSessionResponse:
            fields |= {"session_id": response.session_id} if hasattr(response, "session_id") else {}
        return kind(**fields)

    return change


def options(wire_options: Sequence[Any]) -> list[Any]:
    """Return config options with the names of version 1, including those of unknown types."""
    return [_option(option) for option in wire_options]


def _option(wire: Any) -> Any:
    about = {
        "id": wire.config_id,
        "name": wire.name,
        "description": wire.description,
        "category": wire.category,
        "meta": wire.meta,
    }
    match wire:
        case s.SessionConfigSelect():
            values = [_value(option) for option in wire.options]
            return v1.SessionConfigSelect(current_value=wire.current_value, options=values, **about)
        case s.SessionConfigBoolean():
            return v1.SessionConfigBoolean(current_value=wire.current_value, **about)
        case _:
            return v1.UnknownConfigOption(type=wire.type, raw=wire.raw, **about)


def _value(wire: Any) -> Any:
    if isinstance(wire, s.SessionConfigSelectGroup):
        return v1.SessionConfigSelectGroup(wire.group_id, wire.name, list(wire.options))
    return wire


def commands(wire: Sequence[Any]) -> list[v1.AvailableCommand]:
    """Return the commands, except commands of unknown kinds."""
    return [_command(command) for command in wire if isinstance(command, s.Command)]


def _command(command: s.Command) -> v1.AvailableCommand:
    input = command.input
    hint = input.hint if isinstance(input, s.TextCommandInput) else ""
    input_hint = v1.UnstructuredCommandInput(hint) if hint else UNSET
    return v1.AvailableCommand(command.name, command.description, input_hint)


# -- permissions ----------------------------------------------------------------------------------


def permission(request: s.RequestPermissionRequest) -> updates.PermissionRequest:
    """Return a permission with its subject: a tool call or another subject."""
    subject = v1.given(request.subject)
    tool_call = (
        call(subject.tool_call) if isinstance(subject, s.ToolCallPermissionSubject) else None
    )
    return updates.PermissionRequest(
        request.session_id,
        request.title,
        request.options,
        description=v1.given(request.description),
        tool_call=tool_call,
        subject=None if subject is None or tool_call is not None else _subject(subject),
    )


def _subject(wire: Any) -> updates.Subject:
    if isinstance(wire, s.CommandPermissionSubject):
        return updates.Subject(
            "command",
            command=wire.command,
            cwd=wire.cwd,
            tool_call_id=v1.given(wire.tool_call_id),
            terminal_id=v1.given(wire.terminal_id),
        )
    return updates.Subject(wire.type, raw=wire.raw)


def _can_cancel(capabilities: Any) -> bool | UnsetType:
    """Return whether `cancel` is offered, or UNSET if the capabilities are absent."""
    if isinstance(capabilities, UnsetType):
        return UNSET
    return capabilities is not None and _is_given(capabilities.cancel)


def _is_given(marker: Any) -> bool:
    return marker is not UNSET and marker is not None


def _empty(value: Any, instead: Any) -> Any:
    return instead if value is None else value


_UPDATES: Final[dict[type, Callable[[Any], updates.SessionUpdate]]] = {
    s.UserMessageChunk: _chunk("user"),
    s.AgentMessageChunk: _chunk("agent"),
    s.AgentThoughtChunk: _chunk("thought"),
    s.UserMessage: _message("user"),
    s.AgentMessage: _message("agent"),
    s.AgentThought: _message("thought"),
    s.StateUpdate: _state,
    s.ToolCallUpdate: call,
    s.ToolCallContentChunk: _call_content,
    s.TerminalUpdate: _terminal,
    s.TerminalOutputChunk: _terminal_bytes,
    s.PlanUpdate: _plan,
    s.AvailableCommandsUpdate: _commands,
    s.ConfigOptionUpdate: _options,
    v1.UsageUpdate: _usage,
}

_RESULTS: Final[dict[type, Callable[[Any], Any]]] = {
    s.InitializeResponse: _initialize_response,
    s.NewSessionResponse: _open_response(v1.NewSessionResponse),
    s.ForkSessionResponse: _open_response(v1.ForkSessionResponse),
    s.ResumeSessionResponse: _open_response(v1.ResumeSessionResponse),
    s.SetSessionConfigOptionResponse: lambda response: v1.SetSessionConfigOptionResponse(
        options(response.config_options)
    ),
    s.SessionOptionsResponse: lambda response: v1.SessionOptionsResponse(
        config_options=options(response.config_options or ())
    ),
    s.SessionStatusResponse: lambda response: v1.SessionStatusResponse(response.status),
}
