"""Verbs for inline edits."""

from __future__ import annotations

from acp_nvim.app import Host
from acp_nvim.features.edit.inline_edits import InlineEdits
from acp_nvim.verbs import Args, verb


@verb("edit")
def edit(host: Host, args: Args) -> None:
    """Change lines in place: in a new session or, with `here`, in the current one.

    The arguments are the same as for the verb `prompt`, and `edit`: the id of the edit in Neovim,
    the path of the file, the lines, and their text.
    """
    _edits(host).start(args)


@verb("cancel_edit")
def cancel_edit(host: Host, args: Args) -> None:
    """Cancel the edit with this id. Do nothing if it has ended."""
    _edits(host).cancel(int(args["id"]))


def _edits(host: Host) -> InlineEdits:
    return host.parts.get(InlineEdits, lambda: InlineEdits(host))
