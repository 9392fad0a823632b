"""Verbs for the prompt library: consent to prompts of projects, and conflicts of files."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from anyio import to_thread

from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.serving.consent import Consent, Project, QuestionTexts
from acp_nvim.app import Host
from acp_nvim.features.library import words
from acp_nvim.files.checkpoints import private_git
from acp_nvim.files.checkpoints.private_git import ANY_EXIT_CODE, GitError, PrivateGit
from acp_nvim.files.checkpoints.store import StoreError
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.verbs import Args, verb

TIMEOUT_S: Final = 10.0
_NAMES: Final = {2: "ours", 1: "base", 3: "theirs"}
"""Stages of a conflict in the order of `git merge-file`, with their names."""
TEXTS: Final = QuestionTexts(
    words.SEND_PROJECT_PROMPT,
    (
        words.OPTION_SEND,
        words.OPTION_SEND_ALWAYS,
        words.OPTION_DO_NOT_SEND,
        words.OPTION_NEVER_SEND,
    ),
)


class PromptConsent(Consent):
    """The user's answers about prompts of projects."""


@verb("trust_prompt")
def trust_prompt(host: Host, args: Args) -> None:
    """Reply whether a project's prompt may be sent, or None if the user cancels the question.

    The question shows the whole text. It is asked once per text, in the chat of the session that
    would get the prompt.
    """
    file, text, cwd = str(args["file"]), str(args["text"]), str(args["cwd"])
    digest = hashlib.sha256(text.encode()).hexdigest()
    name = os.path.relpath(file, os.path.realpath(cwd))
    project = Project(file, digest, lines=text.split("\n"), subject=name)
    consent = host.parts.get(
        PromptConsent,
        lambda: PromptConsent(host.problem, lambda: host.options.data_file("prompts.json"), TEXTS),
    )

    def reply(answer: bool | None) -> None:
        host.screen.push("reply", args["id"], answer)

    answer = consent.answer(project)
    if answer is None:
        consent.ask(_conversation(host, cwd).session, project, reply)
    else:
        reply(answer)


def _conversation(host: Host, cwd: str) -> Conversation:
    """Return the current session, or a new one if none is open. Show its chat."""
    conversation = host.sessions.conversation(None)
    if conversation is None or conversation.session.status == "closed":
        conversation = host.sessions.new(cwd)
        conversation.open()
    if host.settings().chat.open:
        host.screen.push("open_chat", conversation.session.n)
    return conversation


@verb("conflicts")
async def conflicts(host: Host, args: Args) -> None:
    """Reply with the conflicts that git has recorded for a file, each with its base."""
    merged = await to_thread.run_sync(
        _merge_conflicts, str(args["path"]), agent_environment(), abandon_on_cancel=True
    )
    host.screen.push("reply", args["id"], merged)


def _merge_conflicts(path: str, env: Mapping[str, str]) -> str:
    """Return the conflicts of a file in git's diff3 style.

    The text is empty without a repository, or if git has recorded no conflict for the file.
    Programs that the repository configures are not run.
    """
    try:
        repository = private_git.find(str(Path(path).parent), env, TIMEOUT_S)
        with tempfile.TemporaryDirectory(prefix="acp-") as home:
            git = PrivateGit(repository, Path(home), env, Path(home, "index"), TIMEOUT_S)
            git.copy_index()
            name = os.path.relpath(os.path.realpath(path), repository.top)
            return _merge_file(git, name.replace(os.sep, "/"), Path(home))
    except (StoreError, OSError):
        return ""


def _merge_file(git: PrivateGit, name: str, home: Path) -> str:
    files: list[str] = []
    for stage, label in _NAMES.items():
        try:
            content = git.run(["cat-file", "blob", f":{stage}:{name}"])
        except GitError:
            if stage != 1:  # without a base, both sides have added the file
                return ""
            content = b""
        file = home / label
        file.write_bytes(content)
        files.append(str(file))
    labels = [part for label in _NAMES.values() for part in ("-L", label)]
    merged = git.run(["merge-file", "-p", "--diff3", *labels, *files], exit_codes=ANY_EXIT_CODE)
    return "".join(_blocks(merged.decode(errors="replace")))


def _blocks(text: str) -> Iterator[str]:
    """Yield the lines of each conflict, including its markers."""
    is_inside = False
    for line in text.splitlines(keepends=True):
        is_inside = is_inside or line.startswith("<<<<<<< ours")
        if is_inside:
            yield line
        is_inside = is_inside and not line.startswith(">>>>>>> theirs")
