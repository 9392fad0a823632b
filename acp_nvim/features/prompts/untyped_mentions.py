"""Attachments that the user did not type: files and variables in a suggestion or earlier prompt.

An agent's text may mention a secret file off screen. Therefore the user is asked before such a file
is attached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from anyio import to_thread
from msgspec import Struct

from acp_nvim.agent.prompts import git_changes
from acp_nvim.agent.settings import file_options
from acp_nvim.app import Host
from acp_nvim.features.prompts import words
from acp_nvim.files.bytes import guard, key_files
from acp_nvim.files.bytes.paths import place
from acp_nvim.files.ports import FileOptions
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.render.question_title import REASONS
from acp_nvim.render.text import display_path
from acp_nvim.session.prompts import Prompt, Variable

Answer = Literal["with", "without", "not"]

READ_BYTES: Final = 65_536
"""Number of bytes of a file that are searched for a private key."""
MAX_NAMED: Final = 5
"""Maximum number of files that a question names. It counts the others."""


class UntypedVariable(Struct, frozen=True):
    """Variable and the files whose text it contains. A buffer without a file has an empty path."""

    name: str
    files: Sequence[str] = ()


class UntypedRange(Struct, frozen=True):
    """Lines of a file (an absolute path), 1-based and inclusive."""

    path: str
    first: int
    last: int


class UntypedAttachments(Struct, frozen=True):
    """Files (absolute paths), lines and variables of a prompt that the user did not type."""

    files: Sequence[str] = ()
    ranges: Sequence[UntypedRange] = ()
    variables: Sequence[UntypedVariable] = ()


def untyped_of(value: Any) -> UntypedAttachments:
    """Return the argument `untyped` of the verb `prompt`."""
    return msgspec.convert(value, UntypedAttachments)


async def ask(
    host: Host, untyped: UntypedAttachments, cwd: str, roots: Sequence[str]
) -> tuple[Answer, UntypedAttachments]:
    """Ask about guarded attachments, if there are any. Return the answer and the attachments."""
    variables = [await _with_changes(variable, cwd) for variable in untyped.variables]
    paths = dict.fromkeys([*untyped.files, *(lines.path for lines in untyped.ranges)])
    paths |= dict.fromkeys(path for variable in variables for path in variable.files)
    options = file_options(host.settings())
    reasons = await _reasons([path for path in paths if path], roots, options)
    files = [path for path in untyped.files if path in reasons]
    ranges = [lines for lines in untyped.ranges if lines.path in reasons]
    guarded = [v for v in variables if any(not file or file in reasons for file in v.files)]
    if not files and not ranges and not guarded:
        return "with", UntypedAttachments()
    attachments = UntypedAttachments(files, ranges, guarded)
    names = _names_in_question(attachments, reasons, roots[0])
    choices = (
        words.OPTION_SEND_WITH_FILES,
        words.OPTION_SEND_WITHOUT_FILES,
        words.OPTION_SEND_NOTHING,
    )
    question = words.MENTION_UNTYPED.format(files=_first_names(names))
    picked = await host.choose(question, choices, "mention")
    answers: tuple[Answer, ...] = ("with", "without", "not")
    return answers[-1 if picked is None else picked], attachments


def _names_in_question(
    guarded: UntypedAttachments, reasons: Mapping[str, str], cwd: str
) -> list[str]:
    """Return the names of guarded files, and of variables with the guarded files in them."""
    paths = dict.fromkeys([*guarded.files, *(lines.path for lines in guarded.ranges)])
    names = [_file_name(path, reasons, cwd) for path in paths]
    for variable in guarded.variables:
        inside = [path for path in variable.files if not path or path in reasons]
        files = _first_names([_file_name(path, reasons, cwd) for path in inside])
        names.append(words.VARIABLE_OF_FILES.format(name=variable.name, files=files))
    return names


async def _with_changes(variable: UntypedVariable, cwd: str) -> UntypedVariable:
    """Return the variable with the files of git's diff, if it is `diff`."""
    if variable.name != "diff":
        return variable
    changed = await git_changes.changed_files(cwd, agent_environment())
    return UntypedVariable(variable.name, list(dict.fromkeys([*variable.files, *changed])))


def _file_name(path: str, reasons: Mapping[str, str], cwd: str) -> str:
    """Return a file for the question, with the reason for asking."""
    return f"{display_path(path, cwd)} ({REASONS[reasons[path]]})" if path else words.PART_NO_FILE


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMED]) + (
        f" +{len(names) - MAX_NAMED}" if len(names) > MAX_NAMED else ""
    )


def apply(answer: Answer, untyped: UntypedAttachments, prompt: Prompt) -> None:
    """Apply an answer to a prompt: remove the attachments that the user refused."""
    prompt.untyped = None
    if answer == "with":
        return
    names = {variable.name for variable in untyped.variables}
    attachments = prompt.attachments
    prompt.attachments = [item for item in attachments if not _is_refused(item, names, untyped)]
    if "diff" in names:  # the only variable that is resolved when the prompt is sent
        prompt.late = None


def _is_refused(attachment: Any, names: Iterable[str], untyped: UntypedAttachments) -> bool:
    if isinstance(attachment, Variable):
        return attachment.name in names
    if first := getattr(attachment, "first", None):
        place = attachment.path, first
        return any((lines.path, lines.first) == place for lines in untyped.ranges)
    return attachment.path in untyped.files


async def _reasons(
    paths: Sequence[str], roots: Sequence[str], options: FileOptions
) -> dict[str, str]:
    reasons: dict[str, str] = dict(guard.reasons("read", paths, roots, options))
    for where in [place(path) for path in paths if path not in reasons]:
        is_guarded = await guard.guarded_by_link(where, roots, "read", options) is not None
        if is_guarded or await to_thread.run_sync(_contains_key, where.real):
            reasons[where.path] = "secret"
    if options.outside == "allow":
        return {path: why for path, why in reasons.items() if why != "outside"}
    return reasons


def _contains_key(real: str) -> bool:
    """Return whether a regular file contains a private key."""
    path = Path(real)
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return key_files.holds_key(file.read(READ_BYTES).decode("utf-8", "replace"))
    except OSError:
        return False
