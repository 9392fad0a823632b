"""Verbs of the prompt library."""

from __future__ import annotations

import hashlib
import os
from typing import Final

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.serving.consent import Consent, Project, QuestionTexts
from acp_nvim.app import Host
from acp_nvim.features.library import conflict_base
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.session.questions.decisions import Option
from acp_nvim.verbs import Args, verb

WORDS: Final = QuestionTexts(
    wording.SEND_PROJECT_PROMPT,
    (
        Option("allow_once", wording.OPTION_SEND, "allow_once"),
        Option("allow_always", wording.OPTION_SEND_ALWAYS, "allow_always"),
        Option("reject_once", wording.OPTION_DO_NOT_SEND, "reject_once"),
        Option("reject_always", wording.OPTION_NEVER_SEND, "reject_always"),
    ),
)


class PromptConsent(Consent):
    """The user's answers about prompts of projects."""


@verb("trust_prompt")
def trust_prompt(host: Host, args: Args) -> None:
    """Reply whether a project's prompt may be sent, None if the user cancels the question.

    The question shows the whole text. It is asked once for each text, in the chat of the session to
    which the prompt would go.
    """
    file, text, cwd = str(args["file"]), str(args["text"]), str(args["cwd"])
    digest = hashlib.sha256(text.encode()).hexdigest()
    name = os.path.relpath(file, os.path.realpath(cwd))
    project = Project(file, digest, lines=text.split("\n"), subject=name)
    consent = host.part(
        PromptConsent,
        lambda: PromptConsent(host.problem, lambda: host.options.data_file("prompts.json"), WORDS),
    )

    def reply(answer: bool | None) -> None:
        host.screen.push("reply", args["id"], answer)

    answer = consent.answer(project)
    if answer is None:
        consent.ask(_conversation(host, cwd).session, project, reply)
    else:
        reply(answer)


def _conversation(host: Host, cwd: str) -> Conversation:
    """Return the current session, or a new one if none is open. Show its chat as for a prompt."""
    found = host.sessions.conversation(None)
    if found is None or found.session.status == "closed":
        found = host.sessions.new(cwd)
        found.open()
    if host.settings().chat.open:
        host.screen.push("open_chat", found.session.n)
    return found


@verb("conflicts")
async def conflicts(host: Host, args: Args) -> None:
    """Reply with the conflicts that git has recorded for a file, each with its base."""
    found = await to_thread.run_sync(
        conflict_base.conflicts, str(args["path"]), agent_environment(), abandon_on_cancel=True
    )
    host.screen.push("reply", args["id"], found)
