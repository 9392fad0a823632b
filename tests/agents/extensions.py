"""An agent with methods of its own, which the user may ask for."""

from __future__ import annotations

import os
import signal

from tests.agents.agent import Agent
from tests.agents.loop import handshake, new_session, whole_life


@whole_life
def answers_extensions(agent: Agent) -> None:
    """Answers `_my/echo`, refuses `_my/refuse`, gives null for `_my/null`, dies at `_my/die`; says
    a word in each turn.
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
