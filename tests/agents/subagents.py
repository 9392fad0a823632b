"""Child sessions, and messages between sessions (v1/subagents)."""

from __future__ import annotations

from tests.agents import quick_json as json
from tests.agents.agent import Agent, Frame
from tests.agents.loop import scenario, update_of
from tests.agents.permissions import METHOD, chosen, question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHILD = "child-session-1"


def child(agent: Agent, *, id: str = CHILD, **fields: Any) -> None:
    """Send a `subagent_update` for a child of the current session."""
    agent.update(update_of("subagent_update", sessionId=id, **fields))


def child_says(agent: Agent, text: str, id: str = CHILD) -> None:
    """Send a message of the child."""
    content = {"type": "text", "text": text}
    agent.update(update_of("agent_message_chunk", content=content), id)


def announced(agent: Agent, title: str = "Explorer", *, cancel: bool = False) -> None:
    """Announce a running child. `cancel`: it can be cancelled separately."""
    capabilities: Frame = {"cancel": {}} if cancel else {}
    state = {"state": "running"}
    text = "looks around"
    child(agent, title=title, capabilities=capabilities, description=text, state=state)


def done(agent: Agent, reason: str = "end_turn") -> None:
    """End the child's work."""
    child(agent, state={"state": "idle", "stopReason": reason})


@scenario
def subagent(agent: Agent) -> None:
    """Run a child from its announcement to its end, with all its updates.

    The tool call links to it.
    """
    link = [{"type": "session", "sessionId": CHILD}]
    agent.update(
        update_of("tool_call", toolCallId="task", title="Task", kind="think", content=link)
    )
    announced(agent)
    task = {"type": "text", "text": "Find the bug"}
    agent.update(update_of("user_message_chunk", content=task), CHILD)
    child_says(agent, "I am ")
    child_says(agent, "looking.\n")
    call = update_of("tool_call", toolCallId="c1", title="Grep", kind="search", status="completed")
    agent.update(call, CHILD)
    done(agent)
    agent.update(update_of("tool_call_update", toolCallId="task", status="completed"))
    agent.say("The child is done.\n")


@scenario
def subagent_asks(agent: Agent) -> None:
    """Ask for a permission as a child. The parent prints the answer."""
    announced(agent)
    params = {"sessionId": CHILD, **question("c1")}
    choice = chosen(agent.ask(METHOD, params))
    agent.note(f"chosen {choice}")
    agent.say(f"child: {choice}\n")
    done(agent)


@scenario
def subagent_reads(agent: Agent, path: str) -> None:
    """Read a file through the client as a child."""
    announced(agent)
    response = agent.ask("fs/read_text_file", {"sessionId": CHILD, "path": path})
    agent.say(f"child read: {response['result']['content']}\n")
    done(agent)


@scenario
def subagent_form(agent: Agent) -> None:
    """Send a form as a child."""
    announced(agent)
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    params = {"mode": "form", "message": "Who?", "requestedSchema": schema, "sessionId": CHILD}
    agent.say(f"child: {json.dumps(agent.ask('elicitation/create', params)['result'])}\n")


@scenario
def subagent_waits(agent: Agent) -> None:
    """Start a child with an open permission request, and wait for a cancel."""
    announced(agent)
    id = agent.request(METHOD, {"sessionId": CHILD, **question("c1")})
    agent.note(f"chosen {chosen(agent.answer(id))}")
    agent.wait_for_cancel()


@scenario
def subagent_stays(agent: Agent, cancel: str = "yes") -> None:
    """Start a child that runs after the turn. `yes`: it can be cancelled separately."""
    announced(agent, cancel=cancel == "yes")
    agent.say("The child goes on.\n")


@scenario
def subagent_states(agent: Agent, text: str) -> None:
    """Start one child for each state in a list of JSON. null clears a state."""
    for number, state in enumerate(json.loads(text)):
        state_of = {} if state == "unset" else {"state": state}
        child(agent, id=f"kid-{number}", title=f"Kid {number}", **state_of)


@scenario
def subagent_early(agent: Agent) -> None:
    """Send updates of a child before its announcement, and of a session that is never announced."""
    child_says(agent, "early words\n")
    child_says(agent, "lost words\n", "nobody")
    announced(agent)


@scenario
def subagent_patch(agent: Agent) -> None:
    """Update a child: absent members stay, null clears. The child has a child."""
    announced(agent, cancel=True)
    child(agent, description=None)
    child(agent, title="Renamed")
    grand = update_of("subagent_update", sessionId="grand", title="Grandchild")
    agent.update(grand, CHILD)
    child_says(agent, "deep words\n", "grand")


@scenario
def subagent_and_exit(agent: Agent) -> None:
    """Start a child with an open permission request, and exit."""
    announced(agent)
    agent.request(METHOD, {"sessionId": CHILD, **question("c1")})
    agent.exit(3)


@scenario
def letters(agent: Agent) -> None:
    """Send messages between the session and its child: upserted, cleared, in chunks."""
    announced(agent)
    text = {"type": "text", "text": "first draft"}
    agent.update(
        update_of(
            "session_message",
            messageId="l1",
            senderSessionId=agent.session,
            recipientSessionId=CHILD,
            content=[text],
        )
    )
    agent.say("between\n")
    final = [{"type": "text", "text": "Look at main.py"}]
    agent.update(update_of("session_message", messageId="l1", content=final))
    for word in ("It ", "is ", "fine."):
        chunk = {"type": "text", "text": word}
        agent.update(update_of("session_message_chunk", messageId="l2", content=chunk))
    agent.update(update_of("session_message", messageId="l2", senderSessionId=CHILD))
    agent.update(update_of("session_message", messageId="l3", content=[text]))
    agent.update(update_of("session_message", messageId="l3", content=None))


@scenario
def subagents(agent: Agent, count: str) -> None:
    """Start COUNT children, each of which ends at once."""
    for number in range(int(count)):
        id, title = f"kid-{number}", f"Kid {number}"
        child(agent, id=id, title=title, description="x" * 50, state={"state": "running"})
    for number in range(int(count)):
        child(agent, id=f"kid-{number}", state={"state": "idle", "stopReason": "end_turn"})
