"""Forms to fill in and addresses to open (v1/elicitation)."""

from __future__ import annotations

import json

from tests.agents.agent import Agent, Cancelled, Frame
from tests.agents.loop import new_session, scenario, serve, whole_life
from tests.agents.permissions import question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

METHOD = "elicitation/create"

EVERY = {
    "name": {"type": "string", "title": "Your name", "description": "As you like it.\nTwo lines."},
    "mail": {"type": "string", "format": "email"},
    "site": {"type": "string", "format": "uri", "default": "https://example.org/"},
    "day": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "code": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[A-Z]+$"},
    "color": {"type": "string", "enum": ["red", "green"], "default": "green"},
    "size": {
        "type": "string",
        "oneOf": [
            {"const": "s", "title": "Small"},
            {"const": "l", "title": "Large", "description": "costs more"},
        ],
    },
    "ratio": {"type": "number", "minimum": 0.5, "maximum": 2},
    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
    "sure": {"type": "boolean", "default": True},
    "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1},
    "langs": {
        "type": "array",
        "items": {"anyOf": [{"const": "py", "title": "Python"}, {"const": "lua", "title": "Lua"}]},
        "default": ["lua"],
    },
    "moon": {"type": "moon", "phase": "full"},
}


def form(properties: Frame, required: list[str] | None = None, **more: Any) -> Frame:
    """Return the parameters of a form."""
    schema = {"type": "object", "properties": properties, "required": required or [], **more}
    return {"mode": "form", "message": "Please tell", "requestedSchema": schema}


def url(address: str, id: str = "u1") -> Frame:
    """Return the parameters of an address to open."""
    return {"mode": "url", "message": "Please look", "elicitationId": id, "url": address}


def report(agent: Agent, response: Frame) -> str:
    """Print and note the user's answer."""
    if "error" in response:
        answer = f"error {response['error']['code']}"
    else:
        result = response["result"]
        content = json.dumps(result["content"], sort_keys=True) if "content" in result else ""
        answer = f"{result['action']} {content}".strip()
    agent.note(f"answered {answer}")
    agent.say(f"answered: {answer}\n")
    return answer


@scenario
def elicit_form(agent: Agent, text: str = '{"name": {"type": "string"}}', *required: str) -> None:
    """Send a form with the properties TEXT (JSON). The following names are required."""
    report(agent, agent.ask(METHOD, form(json.loads(text), list(required))))


@scenario
def elicit_every(agent: Agent) -> None:
    """Send a form with every type of property. `name` and `count` are required."""
    response = agent.ask(METHOD, form(EVERY, ["name", "count"], title="All of it"))
    report(agent, response)


@scenario
def elicit_url(agent: Agent, address: str = "https://example.org/login?x=1") -> None:
    """Send an address to open. If the user accepts, complete it at once, twice."""
    if report(agent, agent.ask(METHOD, url(address))) == "accept":
        agent.notify("elicitation/complete", {"elicitationId": "u1"})
        agent.notify("elicitation/complete", {"elicitationId": "u1"})
    agent.notify("elicitation/complete", {"elicitationId": "nobody knows this"})


@scenario
def elicit_odd(agent: Agent, which: str = "mode") -> None:
    """Send a question that must be refused: mode (unknown), scope (none), session (unknown)."""
    if which == "mode":
        report(agent, agent.ask(METHOD, {"mode": "dance", "message": "Dance"}))
        return
    params = form({"name": {"type": "string"}})
    session = {} if which == "scope" else {"sessionId": "no such session"}
    agent.send({"jsonrpc": "2.0", "id": "odd", "method": METHOD, "params": {**params, **session}})
    report(agent, agent.answer("odd"))


@scenario
def elicit_taken_back(agent: Agent) -> None:
    """Send a form and cancel it at once. It is answered nevertheless."""
    id = agent.request(METHOD, form({"name": {"type": "string"}}))
    agent.cancel_request(id)
    report(agent, agent.answer(id))


@scenario
def elicit_cancel(agent: Agent) -> None:
    """Send a form and an address at once. After the answers, wait for a cancel."""
    ids = [agent.request(METHOD, form(EVERY)), agent.request(METHOD, url("https://example.org"))]
    for id in ids:
        report(agent, agent.answer(id))
    agent.wait_for_cancel()


@scenario
def elicit_and_permission(agent: Agent) -> None:
    """Send a form and a permission request at once, and wait for both."""
    ask = agent.request(METHOD, form({"name": {"type": "string"}}))
    permission = agent.request("session/request_permission", question("p1"))
    agent.answer(ask)
    agent.answer(permission)


@scenario
def elicit_and_exit(agent: Agent) -> None:
    """Send a form and exit while it is open."""
    agent.request(METHOD, form(EVERY))
    agent.exit(3)


@scenario
def elicit_for_tool(agent: Agent) -> None:
    """Send a form that belongs to a tool call."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Deploy", "kind": "execute"}
    agent.update(call)
    params = {**form({"where": {"type": "string"}}, ["where"]), "toolCallId": "t1"}
    report(agent, agent.ask(METHOD, params))


@scenario
def elicit_of_prompt(agent: Agent, then: str = "wait") -> None:
    """Send a form that names the prompt as its request.

    Then wait for its answer (wait), end the turn at once (end), or wait for a cancel (cancel). Or
    name a request that is over (over) or that does not exist (unknown).
    """
    assert agent.turn is not None
    id = {"over": 1, "unknown": "never"}.get(then, agent.turn["id"])
    params = form({"name": {"type": "string"}})
    asked = f"asked in {agent.turn['id']}"
    agent.send(
        {"jsonrpc": "2.0", "id": asked, "method": METHOD, "params": {**params, "requestId": id}}
    )
    if then == "end":
        return
    report(agent, agent.answer(asked))
    if then == "cancel":
        agent.wait_for_cancel()


@whole_life
def elicit_login(agent: Agent, *args: str) -> None:
    """Send a form about the login request, then serve sessions as usual.

    With `answered` the login is answered while the form is open.
    """
    request = agent.expect("initialize")
    agent.client = request["params"].get("clientCapabilities", {})
    methods = [{"id": "token", "name": "Token"}]
    info = {"name": "scripted", "title": "Scripted", "version": "1"}
    agent.reply(
        request,
        {
            "protocolVersion": 1,
            "agentCapabilities": agent.capabilities,
            "agentInfo": info,
            "authMethods": methods,
        },
    )
    first = agent.expect("session/new")
    agent.refuse(first, -32000, "authentication required")
    login = agent.expect("authenticate")
    params = form({"token": {"type": "string", "title": "Token"}}, ["token"])
    agent.send(
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": METHOD,
            "params": {**params, "requestId": login["id"]},
        }
    )
    early = args == ("answered",)
    if early:
        agent.reply(login, {})
    response = agent.answer(0)
    agent.note(f"answered {json.dumps(response.get('result'), sort_keys=True)}")
    if not early:
        agent.reply(login, {})
    new_session(agent, agent.expect("session/new"))
    serve(agent, _greet, [])


def _greet(agent: Agent) -> None:
    agent.say("logged in\n")


@scenario
def elicit_while_cancelling(agent: Agent) -> None:
    """Wait for a cancel, then send a form, which is answered as cancelled."""
    try:
        agent.wait_for_cancel()
    except Cancelled:
        report(agent, agent.ask(METHOD, form(EVERY)))
        raise
