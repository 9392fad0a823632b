"""Files that a prompt mentions and that the user did not type: a suggestion, an earlier prompt.

A text of the agent may mention a secret out of sight. The user is asked before it goes along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.agent.settings import file_options
from acp_nvim.editor.host import Host
from acp_nvim.render.question_title import REASONS
from acp_nvim.render.text import shown_path
from acp_nvim.workspace import guard, key_files
from acp_nvim.workspace.paths import place
from acp_nvim.workspace.ports import FileOptions

Answer = Literal["with", "without", "not"]

READ_BYTES: Final = 65_536
"""Bytes of a file that are searched for a private key."""
NAMED: Final = 5
"""Files that a question names; of more it says how many."""


async def asked(
    host: Host, paths: Sequence[str], roots: Sequence[str]
) -> tuple[Answer, Mapping[str, str]]:
    """Return the user's answer about these files, and those that need one with the reasons. Nothing
    is asked if there are none.
    """
    found = await _reasons(paths, roots, file_options(host.settings()))
    if not found:
        return "with", found
    names = [f"{shown_path(path, roots[0])} ({REASONS[why]})" for path, why in found.items()]
    shown = ", ".join(names[:NAMED]) + (f" +{len(names) - NAMED}" if len(names) > NAMED else "")
    choices = (wording.MENTION_WITH, wording.MENTION_WITHOUT, wording.MENTION_NOT)
    picked = await host.choose(wording.MENTION_UNTYPED.format(files=shown), choices, "mention")
    answers: tuple[Answer, ...] = ("with", "without", "not")
    return answers[picked if picked is not None else -1], found


async def _reasons(
    paths: Sequence[str], roots: Sequence[str], options: FileOptions
) -> dict[str, str]:
    found: dict[str, str] = dict(guard.reasons("read", paths, roots, options))
    for where in [place(path) for path in paths if path not in found]:
        linked = await guard.by_link(where, roots, "read", options) is not None
        if linked or await to_thread.run_sync(_holds_key, where.real):
            found[where.path] = "secret"
    if options.outside == "allow":
        return {path: why for path, why in found.items() if why != "outside"}
    return found


def _holds_key(real: str) -> bool:
    """Return whether a regular file holds a private key."""
    path = Path(real)
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return key_files.holds_key(file.read(READ_BYTES).decode("utf-8", "replace"))
    except OSError:
        return False


def left_out(attached: Any, paths: Mapping[str, str]) -> list[Any]:
    """Return the files of the verb `prompt` without these."""
    return [
        it for it in attached or () if (it["path"] if isinstance(it, dict) else it) not in paths
    ]
