"""Verbs for buffers, as events of the workspace (`lua/acp/buffers/`).

These verbs are handled on arrival and not queued. When Neovim answers a request, the host has
therefore seen everything that the user did before the answer.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.ports import BufferEdit
from acp_nvim.files.workspace import Workspace
from acp_nvim.session.session import Session

VERBS: Final = frozenset({"edited", "doubted", "saved", "leaving"})


def on_buffer_event(workspace: Workspace[Session], verb: str, args: dict[str, Any]) -> None:
    """Handle one of `VERBS`."""
    if verb == "edited":
        known = {name: value for name, value in args.items() if value is not None}
        workspace.files.buffers.on_edit(msgspec.convert(known, BufferEdit))
    elif verb == "doubted":
        workspace.files.buffers.on_unknown_change(str(args["path"]))
    elif verb == "saved":
        _on_save(workspace, str(args["path"]), args)
    else:
        workspace.files.user_edits.on_exit()
        workspace.persistence.request_exchange()


def _on_save(workspace: Workspace[Session], path: str, args: dict[str, Any]) -> None:
    edits = workspace.files.user_edits
    if args.get("stamp"):
        edits.on_save_signature(path, args["stamp"], bool(args.get("coded")))
    if args.get("idle"):
        workspace.on_idle_save(path)
    elif "bufnr" in args:
        encoding, bomb, ends = args.get("layout", ["", False, "unix"])
        layout = Format(encoding or "utf-8", bool(bomb), ends == "dos", ends == "mac")
        lines, eol = args.get("lines"), bool(args.get("eol", True))
        edits.on_save(path, lines, eol, layout, bool(args.get("unaware")))
    else:  # a buffer's text, or part of it, was written to another file
        workspace.on_other_save(path)
