"""An agent with extension methods that the user may call."""

from __future__ import annotations

import os
import signal

from tests.agents.agent import Agent
from tests.agents.loop import handshake, new_session, whole_life


@whole_life
def answers_extensions(agent: Agent) -> None:
    """Answer `_my/echo`, refuse `_my/refuse`, return null for `_my/null`, exit at `_my/die`.

    Send a message in each turn.
    """
    handshake(agent)
    while True:
        frame = agent.next()
        match frame["method"]:
            case "session/new":
                new_session(agent, frame)
            case "session/prompt":
                agent.session = frame["params"]["sessionId"]
                agent.turn = frame
                agent.say("word")
                agent.end()
            case "_my/echo":
                agent.reply(frame, frame["params"])
            case "_my/null":
                agent.reply(frame, None)
            case "_my/refuse":
                agent.refuse(frame, -32000, "not now", {"why": "busy"})
            case "_my/die":
                os.kill(os.getpid(), signal.SIGKILL)
