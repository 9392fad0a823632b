"""Export of lines to a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.files.bytes import private_files


def write_lines(host: Host, path: Path, lines: Iterable[str]) -> bool:
    """Write lines to a file, or report the error. Return whether they were written.

    Only the user can read a new file.
    """
    try:
        with open(path, "w", encoding="utf-8", opener=private_files.opener) as file:
            file.write("\n".join(lines) + "\n")
    except OSError as error:
        host.echo("error", wording.CANNOT_WRITE.format(path=path, reason=error.strerror or error))
        return False
    return True
