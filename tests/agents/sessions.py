"""An agent that stores its sessions: list, load, resume, fork, close, delete, archive, titles.

The store is a file, which the next process of the agent reads.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.agent import Agent, Frame
from tests.agents.loop import SCENARIOS, handshake, prompt_text, run_turn, update_of, whole_life

MISSING = -32002


class Store:
    """Sessions of the agent: `{id: {cwd, title, updatedAt, archived, said: [[role, text]…]}}`."""

    def __init__(
        self,
        path: str,
        *,
        forks_replay: bool = False,
        quiet: bool = False,
        replays: str = "load",
    ) -> None:
        self.path = Path(path)
        self.forks_replay = forks_replay
        self.quiet = quiet
        self.replays = [f"session/{way}" for way in replays.split()]
        self.sessions: dict[str, Frame] = {}
        if self.path.exists():
            self.sessions = json.loads(self.path.read_text())

    def save(self) -> None:
        self.path.write_text(json.dumps(self.sessions))

    def put(self, agent: Agent, request: Frame, title: str | None = None) -> str:
        """Add a session."""
        agent.sessions += 1
        agent.session = f"s{len(self.sessions) + 1}"
        self.sessions[agent.session] = {
            "cwd": request["params"]["cwd"],
            "title": title,
            "said": [],
            "archived": False,
        }
        self.save()
        return agent.session


def _info(session_id: str, session: Frame) -> Frame:
    info: Frame = {"sessionId": session_id, "cwd": session["cwd"]}
    if session.get("title"):
        info["title"] = session["title"]
    if session.get("updatedAt"):
        info["updatedAt"] = session["updatedAt"]
    if session.get("archived"):
        info["archived"] = True
    return info


def _list(agent: Agent, store: Store, request: Frame, size: int) -> None:
    """Send pages of SIZE sessions with opaque cursors."""
    cursor = request["params"].get("cursor")
    if cursor is not None and not str(cursor).startswith("page-"):
        agent.refuse(request, -32602, "no such cursor")
        return
    first = int(cursor[5:]) if cursor else 0
    infos = [_info(key, session) for key, session in store.sessions.items()]
    answer: Frame = {"sessions": infos[first : first + size]}
    answer["nextCursor"] = f"page-{first + size}" if first + size < len(infos) else None
    agent.reply(request, answer)


def replay(agent: Agent, session_id: str, session: Frame) -> None:
    """Send the transcript as updates."""
    for role, text in session["said"]:
        content = {"type": "text", "text": text}
        if role == "tool":
            call = update_of(
                "tool_call", toolCallId=text, title=f"Old {text}", kind="read", status="completed"
            )
            agent.update(call, session_id)
        else:
            agent.update(update_of(f"{role}_message_chunk", content=content), session_id)


def _open(agent: Agent, store: Store, request: Frame, *, late: bool) -> None:
    """Answer `session/load` and `session/resume`."""
    session_id = request["params"]["sessionId"]
    session = store.sessions.get(session_id)
    if session is None:
        agent.refuse(request, MISSING, "no such session")
        return
    agent.session = session_id
    replays = request["method"] in store.replays
    if replays and not late:
        replay(agent, session_id, session)
    agent.reply(request, {} if store.quiet else dict(agent.new_session))
    if replays and late:
        replay(agent, session_id, session)
    commands = [{"name": "again", "description": "Again"}]
    agent.update(update_of("available_commands_update", availableCommands=commands), session_id)


def _change(agent: Agent, store: Store, request: Frame) -> None:
    """Answer all other requests about one session."""
    if request["method"] == "session/options":
        agent.reply(request, dict(agent.new_session))
        return
    session_id = request["params"]["sessionId"]
    session = store.sessions.get(session_id)
    method = request["method"].removeprefix("session/")
    if session is None:
        agent.refuse(request, MISSING, "no such session")
        return
    result: Frame = {}
    match method:
        case "delete":
            del store.sessions[session_id]
        case "archive" | "unarchive":
            session["archived"] = method == "archive"
        case "status":
            result = {"status": "open" if session_id == agent.session else "saved"}
        case "set_title":
            session["title"] = request["params"]["title"].strip().capitalize()
            result = {"title": session["title"]}
        case "fork":
            transcript = list(session["said"])
            fork = store.put(agent, request, f"fork of {session_id}")
            store.sessions[fork]["said"] = transcript
            if store.forks_replay:
                replay(agent, fork, store.sessions[fork])
            result = {"sessionId": fork, **agent.new_session}
    store.save()
    agent.reply(request, result)


def _turn(agent: Agent, store: Store, request: Frame) -> None:
    """Run a turn of the scenario `script`, and store the prompt."""
    agent.session = request["params"]["sessionId"]
    session = store.sessions[agent.session]
    session["said"] += [["user", prompt_text(request)], ["agent", "answered\n"]]
    session["title"] = session["title"] or prompt_text(request)
    store.save()
    run_turn(agent, request, SCENARIOS["script"].run, [])


def serve(agent: Agent, store: Store, *, late: bool = False, size: int = 2) -> None:
    """Answer all requests about sessions."""
    while True:
        frame = agent.next()
        match frame["method"]:
            case "session/new":
                _start_with(agent, frame)
                agent.reply(frame, {"sessionId": store.put(agent, frame), **agent.new_session})
            case "session/prompt":
                _turn(agent, store, frame)
            case "session/list":
                _list(agent, store, frame, size)
            case "session/load" | "session/resume":
                _open(agent, store, frame, late=late)
            case "session/set_mode":
                agent.reply(frame, {})
            case "session/set_config_option":
                _set_option(agent, frame)
            case method if method.startswith("session/") and "id" in frame:
                _change(agent, store, frame)
            case method if "id" in frame:
                agent.refuse(frame, -32601, f"no method {method}")


def _set_option(agent: Agent, request: Frame) -> None:
    _put(agent, request["params"])
    agent.reply(request, {"configOptions": agent.new_session["configOptions"]})


def _start_with(agent: Agent, request: Frame) -> None:
    """Set the options that the client gives for a new session (rfds/session-options)."""
    for given in request["params"].get("configOptions", ()):
        _put(agent, given)


def _put(agent: Agent, given: Frame) -> None:
    for option in agent.new_session["configOptions"]:
        if option.get("id", option.get("configId")) == given["configId"]:
            option["currentValue"] = given["value"]


@whole_life
def stores(agent: Agent, path: str, size: str = "2") -> None:
    """Store sessions in the file PATH. Lists come in pages of SIZE."""
    handshake(agent)
    serve(agent, Store(path), size=int(size))


@whole_life
def stores_late(agent: Agent, path: str) -> None:
    """Like `stores`, but answer `session/load` first and replay afterwards."""
    handshake(agent)
    serve(agent, Store(path), late=True)


@whole_life
def stores_and_replays(agent: Agent, path: str, ways: str, when: str = "before") -> None:
    """Like `stores`, but replay when a session is opened by one of WAYS (`load resume`, `none`),
    `before` the answer or `after` it.
    """
    handshake(agent)
    serve(agent, Store(path, replays=ways), late=when == "after")


@whole_life
def stores_quietly(agent: Agent, path: str) -> None:
    """Like `stores`, but open sessions again without modes and options."""
    handshake(agent)
    serve(agent, Store(path, quiet=True))


@whole_life
def stores_and_tells_forks(agent: Agent, path: str) -> None:
    """Like `stores`, but replay the transcript to a fork."""
    handshake(agent)
    serve(agent, Store(path, forks_replay=True))


@whole_life
def stores_nothing(agent: Agent, path: str) -> None:
    """List the sessions of the file PATH, but open and close none of them."""
    handshake(agent)
    store = Store(path)
    while True:
        frame = agent.next()
        match frame["method"]:
            case "session/load" | "session/resume" | "session/fork" | "session/close":
                agent.refuse(frame, -32603, "the disk is full")
            case "session/list":
                _list(agent, store, frame, 2)
            case "session/new":
                agent.reply(frame, {"sessionId": store.put(agent, frame)})
            case "session/prompt":
                _turn(agent, store, frame)
            case _ if "id" in frame:
                agent.reply(frame, {})


@whole_life
def long_history(agent: Agent, megabytes: str = "20", calls: str = "2000") -> None:
    """Replay MEGABYTES of messages with CALLS tool calls among them on `session/load`."""
    handshake(agent)
    while True:
        frame = agent.next()
        match frame["method"]:
            case "session/load":
                _replay_much(agent, int(megabytes) << 20, int(calls))
                agent.reply(frame, {})
            case "session/list":
                info = {"sessionId": "long", "cwd": "/", "title": "A long story"}
                agent.reply(frame, {"sessions": [info]})
            case "session/prompt":
                run_turn(agent, frame, SCENARIOS["hello"].run, [])
            case _ if "id" in frame:
                agent.reply(frame, {})


def _replay_much(agent: Agent, size: int, calls: int) -> None:
    agent.session = "long"
    line = "All work and no play makes a long history indeed.\n"
    turns = max(calls, 1)
    text = line * (size // turns // len(line) + 1)
    for number in range(turns):
        content = {"type": "text", "text": f"question {number}"}
        agent.update(update_of("user_message_chunk", content=content))
        call = update_of("tool_call", toolCallId=f"c{number}", title="Old", status="completed")
        agent.update(call)
        agent.say(text)


@whole_life
def stores_and_dies(agent: Agent, path: str, died: str) -> None:
    """Like `stores`, but exit amid the first replay, with an open tool call. DIED is a file that is
    created then.
    """
    handshake(agent)
    store = Store(path)
    if Path(died).exists():
        serve(agent, store)
    while (frame := agent.next())["method"] != "session/load":
        _list(agent, store, frame, 2)
    Path(died).touch()
    agent.session = frame["params"]["sessionId"]
    replay(agent, agent.session, store.sessions[agent.session])
    agent.update(update_of("tool_call", toolCallId="c1", title="Half", kind="read"))
    agent.update(update_of("plan", entries=[]))
    agent.exit(3)
