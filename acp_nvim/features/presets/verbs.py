"""Verb for presets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from acp_nvim import wording
from acp_nvim.agent.opening import initial_options
from acp_nvim.agent.opening.initial_options import InitialOptions
from acp_nvim.agent.settings import PresetSettings
from acp_nvim.app import Host
from acp_nvim.features.presets import words
from acp_nvim.host.current_session import uncertainty
from acp_nvim.session.session import Session
from acp_nvim.tasks import true_within
from acp_nvim.verbs import Args, verb

OPEN_S: Final = 60.0
"""Seconds that an agent may take to open the session."""


@verb("preset")
async def preset(host: Host, args: Args) -> None:
    """Apply a preset to a session. If no session is open, start one with it."""
    if (problem := uncertainty(host, args)) is not None:
        host.echo("warn", problem)
        return
    name = str(args["name"])
    conversation = host.sessions.conversation(args.get("session"))
    if conversation is None or conversation.session.status == "closed":
        conversation = host.sessions.new(args["cwd"], preset=name)
        host.screen.push("open_chat", conversation.session.n, args.get("instead"))
        conversation.open()
        return
    session = conversation.session
    await true_within(lambda: session.status != "starting", OPEN_S)
    connection = conversation.connection
    if connection is None or not conversation.is_open:
        host.echo("warn", wording.AGENT_NOT_RUNNING.format(agent=session.agent))
        return
    wanted = host.settings().preset(name)
    session.preset = name
    session.change("preset")
    values = InitialOptions(wanted.mode, wanted.options, model=wanted.model)
    problems = await initial_options.apply(connection.agent, session, values)
    for line in problems.values():
        session.notice("warning", line)
    host.echo("info", _result(name, [*problems], [*_fixed_settings(session, wanted)]))


def _fixed_settings(session: Session, wanted: PresetSettings) -> Iterator[str]:
    """Yield the names of settings that cannot be changed in an open session."""
    if wanted.agent not in (None, session.agent):
        yield "agent"
    if wanted.tools is not None:
        yield "tools"
    if wanted.system_prompt:
        yield "system_prompt"


def _result(name: str, missing: Sequence[str], fixed: Sequence[str]) -> str:
    line = words.PRESET_SET.format(preset=name)
    if missing:
        line += words.PART_PRESET_MISSING.format(what=", ".join(missing))
    if fixed:
        line += words.PART_PRESET_FIXED.format(preset=name, what=", ".join(fixed))
    return line
