"""Questions to the user."""

from __future__ import annotations

import os

from tests.agents import quick_json as json
from tests.agents.agent import Agent, Cancelled, Frame
from tests.agents.loop import scenario, update_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPTIONS = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
    {"optionId": "never", "name": "Always reject", "kind": "reject_always"},
]

METHOD = "session/request_permission"


def question(id: str, options: list[Frame] | None = None, **call: Any) -> Frame:
    """Return the parameters of a permission request for tool call `id`."""
    tool_call = {"toolCallId": id, "title": f"Run {id}", "kind": "execute", **call}
    return {"toolCall": tool_call, "options": OPTIONS if options is None else options}


def chosen(response: Frame) -> str:
    """Return the user's choice: an optionId, `cancelled`, or `error CODE`."""
    if "error" in response:
        return f"error {response['error']['code']}"
    outcome = response["result"]["outcome"]
    return str(outcome.get("optionId", outcome["outcome"]))


def report(agent: Agent, id: str, response: Frame) -> str:
    """Print and note the choice."""
    choice = chosen(response)
    agent.note(f"chosen {id} {choice}")
    agent.say(f"{id}: {choice}\n")
    return choice


@scenario
def one_id_twice(agent: Agent, *path: str) -> None:
    """Ask the user, and read the file under the same id while the question is open.

    Print both answers in the order in which they come.
    """
    agent.request(METHOD, question("p1"), id="same")
    agent.request("fs/read_text_file", {"path": " ".join(path)}, id="same")
    for when in ("first", "then"):
        agent.say(f"{when} {json.dumps(agent.answer('same'))}\n")


@scenario
def asks_after_turn(agent: Agent) -> None:
    """End the turn and then ask, as background work does."""
    agent.end()
    agent.request(METHOD, question("late"))


@scenario
def permission_taken_back_later(agent: Agent, path: str) -> None:
    """Ask, and cancel the question once a file exists."""
    asks_about(agent, "p1")
    while not os.path.exists(path):
        agent.check_cancel(0.01)
    takes_back(agent, "p1")
    agent.answer("about p1")


@scenario
def asks_about(agent: Agent, id: str, call: str = "{}") -> None:
    """Ask about tool call ID with the fields CALL (JSON), without waiting for the answer."""
    agent.request(METHOD, question(id, **json.loads(call)), id=f"about {id}")


@scenario
def announces(agent: Agent, id: str, call: str) -> None:
    """Begin tool call ID with the fields CALL (JSON)."""
    agent.update(
        update_of("tool_call", toolCallId=id, **{"status": "in_progress", **json.loads(call)})
    )


@scenario
def confirms(agent: Agent, *calls: str) -> None:
    """Begin these CALLS (JSON) one after the other, and ask about each with an empty call under the
    same id, as OpenHands does.
    """
    for number, call in enumerate(calls):
        announces(agent, f"c{number}", call)
        report(agent, f"c{number}", agent.ask(METHOD, confirmation()))
        agent.update(update_of("tool_call_update", toolCallId=f"c{number}", status="completed"))


def confirmation() -> Frame:
    """Return the parameters of a permission request that does not name its action."""
    return question(
        "confirmation-s1", title="Confirm Agent Actions", kind="other", status="pending"
    )


@scenario
def takes_back(agent: Agent, id: str) -> None:
    """Cancel the question about tool call ID."""
    agent.cancel_request(f"about {id}")


@scenario
def tells_more(agent: Agent, id: str, call: str) -> None:
    """Update tool call ID with CALL (JSON)."""
    agent.update(update_of("tool_call_update", toolCallId=id, **json.loads(call)))


@scenario
def permission(agent: Agent, id: str = "p1") -> None:
    """Ask one question with the four usual options and print the answer. A cancel ends the turn."""
    agent.update(update_of("tool_call", toolCallId=id, title=f"Run {id}", kind="execute"))
    choice = report(agent, id, agent.ask(METHOD, question(id)))
    status = "completed" if choice in ("allow", "always") else "failed"
    agent.update(update_of("tool_call_update", toolCallId=id, status=status))
    if choice == "cancelled":
        raise Cancelled


@scenario
def permissions(agent: Agent, count: str = "3") -> None:
    """Ask COUNT questions at once, and print the answers in the order of the questions."""
    asked = {f"p{n}": agent.request(METHOD, question(f"p{n}")) for n in range(1, int(count) + 1)}
    choices = {name: report(agent, name, agent.answer(id)) for name, id in asked.items()}
    if "cancelled" in choices.values():
        agent.check_cancel()


@scenario
def permissions_half_cancelled(agent: Agent, count: str = "50") -> None:
    """Ask COUNT questions at once, and cancel every second one by `$/cancel_request`."""
    asked = {f"p{n}": agent.request(METHOD, question(f"p{n}")) for n in range(1, int(count) + 1)}
    for number, id in enumerate(asked.values()):
        if number % 2:
            agent.cancel_request(id)
    for name, id in asked.items():
        report(agent, name, agent.answer(id))


@scenario
def permission_taken_back(agent: Agent) -> None:
    """Ask, and cancel at once by `$/cancel_request`. The question is answered nevertheless."""
    id = agent.request(METHOD, question("back"))
    agent.cancel_request(id)
    report(agent, "back", agent.answer(id))


@scenario
def permission_odd(agent: Agent, which: str = "two_always") -> None:
    """Ask with odd options: two_always, none, free_text, unknown_kind, many, bad."""
    report(agent, which, agent.ask(METHOD, question(which, odd_options(which))))


def odd_options(which: str) -> list[Frame]:
    """Return unusual option lists that each client must accept."""
    match which:
        case "two_always":
            return [
                {"optionId": "folder", "name": "Always in this folder", "kind": "allow_always"},
                {"optionId": "everywhere", "name": "Always everywhere", "kind": "allow_always"},
                {"optionId": "no", "name": "No", "kind": "reject_once"},
            ]
        case "free_text":
            names = ("Yes, and don't ask again for `rm -rf *`", "Nein, danke 🙂", "a\nb\tc")
            return [{"optionId": name, "name": name, "kind": "allow_once"} for name in names]
        case "unknown_kind":
            return [{"optionId": "maybe", "name": "Maybe", "kind": "allow_sometimes"}, *OPTIONS]
        case "many":
            return [
                {"optionId": f"o{n}", "name": f"Option {n}", "kind": "allow_once"}
                for n in range(1, 13)
            ]
        case _:
            return [*OPTIONS[:1], {"name": "no id"}, 42]  # type: ignore[list-item]


@scenario
def permission_rich(agent: Agent, path: str = "/tmp/file.txt") -> None:
    """Ask with everything that can be shown: a long title, command, diff, locations, raw input."""
    long = " && ".join(f"echo step {n}" for n in range(30))
    diff = {"type": "diff", "path": path, "oldText": "old\n", "newText": "new\n"}
    call = question(
        "rich",
        title=long,
        kind="edit",
        content=[diff, {"type": "content", "content": {"type": "text", "text": "Because."}}],
        locations=[{"path": path, "line": 1}],
        rawInput={"command": long, "cwd": "/tmp"},
    )
    report(agent, "rich", agent.ask(METHOD, call))


@scenario
def permission_json(agent: Agent, text: str) -> None:
    """Ask with parameters in JSON."""
    report(agent, "json", agent.ask(METHOD, json.loads(text)))


@scenario
def permission_and_exit(agent: Agent, code: str = "3") -> None:
    """Ask, and exit while the question is open."""
    agent.request(METHOD, question("doomed"))
    agent.exit(int(code))


@scenario
def permission_ignores_answer(agent: Agent) -> None:
    """Ask, end the turn without waiting for the answer, and read the answer later."""
    id = agent.request(METHOD, question("ignored"))
    agent.end()
    report(agent, "ignored", agent.answer(id))
