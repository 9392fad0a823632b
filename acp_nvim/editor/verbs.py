"""Verbs: what Lua asks the host to do. Each is one notification that carries all that is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.agent.conversation import Conversation
from acp_nvim.editor import reports
from acp_nvim.editor.host import Host
from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.errors import RemoteProtocolError
from acp_nvim.session.decisions import CANCELLED, Decision, Outcome
from acp_nvim.session.prompts import Attachment, Excerpt, FileLink, Prompt

Args = dict[str, Any]
Verb = Callable[[Host, Args], Awaitable[None] | None]

VERBS: dict[str, Verb] = {}


def verb(name: str) -> Callable[[Verb], Verb]:
    """Register a function under a verb's name."""

    def register(function: Verb) -> Verb:
        VERBS[name] = function
        return function

    return register


def run(host: Host, name: str, args: Args) -> None:
    """Run a verb; what it does at once is done in the order of the verbs, what waits gets a
    task.
    """
    function = VERBS.get(name)
    if function is None:
        host.problem(f"unknown verb {name}")
        host.echo("error", f"not available yet: {name}")
        return
    try:
        waiting = function(host, args)
    except msgspec.ValidationError as error:
        host.echo("error", f"{name}: {error}")
        return
    if waiting is not None:
        host.tasks.start_soon(_finish, host, name, waiting)


async def _finish(host: Host, name: str, waiting: Awaitable[None]) -> None:
    """A verb that fails is told to the user; it must not end the host."""
    try:
        await waiting
    except Exception as error:
        host.problem(f"{name}: {type(error).__name__}: {error}")
        host.echo("error", f"{name}: {error}")


# -- options and prompts --------------------------------------------------------------------------


@verb("setup")
def setup(host: Host, args: Args) -> None:
    """Options, at the start and after each `setup()`."""
    host.configure(args)


@verb("prompt")
def prompt(host: Host, args: Args) -> None:
    """Send a prompt, in a new session where none is or one is asked for."""
    conversation = None if args.get("new") else host.conversation(args.get("session"))
    wanted = args.get("agent")
    if (
        conversation is None
        or conversation.session.status == "closed"
        or (wanted and conversation.session.agent != wanted)
    ):
        conversation = host.new_session(args["cwd"], wanted)
    blocks = [_block(block) for block in args.get("blocks") or ()]
    text = args.get("text") or " ".join(b.text for b in blocks if isinstance(b, schema.TextContent))
    given = blocks if args.get("blocks") else ()
    sent = Prompt(text if not given else "", _attachments(args), given=given)
    if not sent.text and not sent.given and not sent.attachments:
        host.echo("warn", "an empty prompt is not sent")
        return
    conversation.submit(sent)
    if host.settings().chat.open:
        host.screen.push("open_chat", conversation.session.n)


def _block(block: Args) -> Any:
    try:
        return codec.decode(schema.ContentBlock, msgspec.json.encode(block))  # type: ignore[arg-type]
    except RemoteProtocolError as error:
        raise msgspec.ValidationError(f"not a content block: {error}") from error


def _attachments(args: Args) -> list[Attachment]:
    """The range that the command was given, then files."""
    found: list[Attachment] = []
    lines = args.get("range")
    if lines:
        found.append(
            Excerpt(_path(lines, args), lines["text"], lines.get("first"), lines.get("last"))
        )
    found += [_file(path) for path in args.get("attach") or ()]
    return found


def _path(lines: Args, args: Args) -> str:
    """A buffer without a name still needs an absolute path."""
    path = lines.get("path") or f"buffer-{lines.get('bufnr', 0)}"
    return str(Path(args["cwd"]) / path)


def _file(path: str) -> FileLink:
    file = Path(path)
    return FileLink(path, file.stat().st_size if file.is_file() else None)


@verb("cancel")
def cancel(host: Host, args: Args) -> None:
    """Cancel the running turn; with `clear` the queue is dropped as well."""
    conversation = host.conversation(args.get("session"))
    cleared = bool(args.get("clear")) and conversation is not None and _clear(conversation)
    if conversation is None or not conversation.cancel():
        host.echo("info", "the queue is empty now" if cleared else "nothing to cancel")


def _clear(conversation: Conversation) -> bool:
    had = bool(conversation.session.queue)
    conversation.session.queue.clear()
    conversation.session.change("queue")
    return had


@verb("queue")
def queue(host: Host, args: Args) -> None:
    """Replace, run or drop the waiting prompts."""
    conversation = host.conversation(args.get("session"))
    if conversation is None:
        host.echo("info", "no session, no queue")
        return
    match args.get("action"):
        case "run":
            conversation.run_queue()
        case "clear":
            _clear(conversation)
        case "set":
            _set_queue(conversation, args.get("texts") or [])


def _set_queue(conversation: Conversation, texts: list[str]) -> None:
    """A prompt whose words did not change keeps its attachments."""
    before = list(conversation.session.queue)
    after: list[Prompt] = []
    for text in texts:
        same = next((item for item in before if item.text == text), None)
        if same is not None:
            before.remove(same)
        after.append(same or Prompt(text))
    conversation.session.queue[:] = after
    conversation.session.change("queue")


# -- decisions ------------------------------------------------------------------------------------


@verb("answer")
def answer(host: Host, args: Args) -> None:
    """Answer a pending decision by our id; no choice means cancelled."""
    found = host.decision(str(args.get("id")))
    if found is None:
        host.echo("warn", f"no pending decision {args.get('id')}")
        return
    decision, choice = found[1], args.get("choice")
    if choice is None:
        decision.resolve(CANCELLED)
    elif decision.subject == "elicitation" and choice in ("accept", "decline"):
        decision.resolve(Outcome(choice, content=args.get("content") or None))
    else:
        _choose(host, decision, str(choice))


def _choose(host: Host, decision: Decision, choice: str) -> None:
    option = decision.option(choice)
    if option is None:
        host.echo("error", f"no option {choice}; there are: {_names(decision)}")
    else:
        decision.resolve(Outcome("selected", option))


def _names(decision: Decision) -> str:
    return ", ".join(option.id for option in decision.options) or "none"


@verb("allow")
def allow(host: Host, args: Args) -> None:
    """Answer the oldest pending permission; without an option by the first of kind allow_once."""
    _decide(host, args, "allow_once")


@verb("deny")
def deny(host: Host, args: Args) -> None:
    """Answer the oldest pending permission; without an option by the first of kind reject_once."""
    _decide(host, args, "reject_once")


def _decide(host: Host, args: Args, kind: str) -> None:
    decision = _oldest(host, args.get("session"))
    if decision is None:
        host.echo("info", "no permission is pending")
        return
    if args.get("option"):
        _choose(host, decision, str(args["option"]))
        return
    option = decision.first(kind)
    if option is None:
        host.echo("warn", f"no option of kind {kind}; there are: {_names(decision)}")
        return
    decision.resolve(Outcome("selected", option))


def _oldest(host: Host, n: int | None) -> Decision | None:
    """Of the current session, of any if there is none."""
    first = host.conversation(n)
    order = [first] if first else []
    order += [c for c in host.conversations.values() if c is not first] if n is None else []
    for conversation in order:
        found = next(
            (d for d in conversation.session.decisions if d.subject != "elicitation"), None
        )
        if found is not None:
            return found
    return None


# -- sessions and agents --------------------------------------------------------------------------


@verb("new")
def new(host: Host, args: Args) -> None:
    """Open a new session and its chat."""
    conversation = host.new_session(args["cwd"], args.get("agent"))
    host.screen.push("open_chat", conversation.session.n)
    conversation.open()


@verb("agent")
def agent(host: Host, args: Args) -> None:
    """Choose the agent for new sessions."""
    name = str(args["name"])
    if host.spec(name) is None:
        host.echo("error", f"no agent named {name} is configured")
        return
    host.options = msgspec.structs.replace(host.options, agent=name)
    host.echo("info", f"new sessions use {name}")


@verb("restart")
async def restart(host: Host, args: Args) -> None:
    """End an agent's process tree, start it again and reopen its sessions."""
    name = _agent_name(host, args)
    await host.agents.stop(name)
    host.agents.start(name)
    for conversation in host.conversations.values():
        if conversation.session.agent == name and conversation.session.status != "closed":
            conversation.wake()


@verb("stop")
async def stop(host: Host, args: Args) -> None:
    """End an agent's process tree."""
    name = _agent_name(host, args)
    stopped = await host.agents.stop(name)
    host.echo("info", f"{name} is stopped" if stopped else f"{name} does not run")


def _agent_name(host: Host, args: Args) -> str:
    conversation = host.conversation(None)
    name = args.get("agent") or (conversation.session.agent if conversation else host.options.agent)
    return str(name)


@verb("mode")
async def mode(host: Host, args: Args) -> None:
    """Switch the session's mode; the answer is trusted, whether or not an update follows."""
    conversation = _open(host, args)
    if conversation is None or conversation.connection is None:
        return
    session = conversation.session
    before, session.mode = session.mode, str(args["id"])
    session.change("modes")
    try:
        await conversation.connection.agent.set_mode(session.id, str(args["id"]))
    except Exception:
        session.mode = before
        session.change("modes")
        raise


@verb("option")
async def option(host: Host, args: Args) -> None:
    """Set a config option; the agent's answer is the new list."""
    conversation = _open(host, args)
    if conversation is None or conversation.connection is None:
        return
    session = conversation.session
    agent_ = conversation.connection.agent
    session.options = await agent_.set_config_option(session.id, str(args["id"]), args["value"])
    session.change("options")


def _open(host: Host, args: Args) -> Conversation | None:
    """The session at its agent, or a word why not."""
    conversation = host.conversation(args.get("session"))
    if conversation is None or not conversation.session.id:
        host.echo("warn", "no session is open")
        return None
    return conversation


# -- seeing inside --------------------------------------------------------------------------------


@verb("redraw")
def redraw(host: Host, args: Args) -> None:
    """Draw a chat again as a whole."""
    host.screen.redraw(int(args["session"]))


@verb("info")
def info(host: Host, args: Args) -> None:
    """Agents, sessions, limits, oddities."""
    host.screen.push("show", "acp://info", "acpinfo", reports.info(host))


@verb("log")
def log(host: Host, args: Args) -> None:
    """The traffic of an agent."""
    name = _agent_name(host, args)
    connection = host.agents.connections.get(name)
    if connection is None:
        host.echo("info", f"{name} has not run yet, there is no traffic")
        return
    host.screen.push(
        "show", f"acp://log/{name}", "acplog", reports.log(connection, host.options.log.redact)
    )


@verb("log_save")
def log_save(host: Host, args: Args) -> None:
    """Write the traffic of all agents to a file, redacted."""
    path = Path(str(args["file"]))
    lines = [
        line
        for connection in host.agents.connections.values()
        for line in reports.saved(connection)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    host.echo("info", f"{len(lines)} lines of traffic in {path}")


@verb("export")
def export(host: Host, args: Args) -> None:
    """The chat as Markdown, to a file or into a window."""
    conversation = host.conversation(args.get("session"))
    if conversation is None:
        host.echo("info", "no session to export")
        return
    lines = reports.markdown(conversation.session)
    if args.get("file"):
        Path(str(args["file"])).write_text("\n".join(lines) + "\n", encoding="utf-8")
        host.echo("info", f"the chat is in {args['file']}")
    else:
        host.screen.push("show", f"acp://export/{conversation.session.n}", "markdown", lines)


@verb("permissions")
def permissions(host: Host, args: Args) -> None:
    """All pending decisions, of all sessions, with what each would do."""
    host.screen.push("show", "acp://permissions", "acpinfo", reports.permissions(host))


@verb("open")
def open_target(host: Host, args: Args) -> None:
    """What `<CR>` in the chat opens in full."""
    conversation = host.conversation(args.get("session"))
    target = args.get("target") or {}
    if conversation is None:
        return
    lines = reports.whole(conversation.session, target)
    host.screen.push(
        "show",
        f"acp://content/{conversation.session.n}",
        "markdown",
        lines or ["nothing more is known of it"],
    )
