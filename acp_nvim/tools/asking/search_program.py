"""Program that searches for lines in files. It needs only the standard library.

A regular expression may take forever. In a separate process it does not block the host, and the
process can be killed. The job is one line of JSON on stdin:

pattern      a regular expression of Python
ignore_case
texts        {path: text}: texts to search instead of the files
files        paths of files to search
roots        directories to search, except below `.git`

Each line of the output is `[path, line, column, text]`. Lines and columns count from 1, columns in
characters. The last line is `null` if the search was complete.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import TypedDict

MAX_BYTES = 8 * 1024 * 1024
"""Maximum size of a file that is searched, in bytes."""
MAX_LINE = 2000
"""Maximum number of characters in a line of the output."""
BINARY_HEAD = 8192


class Job(TypedDict):
    """Files and texts to search, decoded from stdin."""

    pattern: str
    ignore_case: bool
    texts: dict[str, str]
    files: list[str]
    roots: list[str]


def walk_files(root: str) -> Iterator[str]:
    """Yield all files below a directory, except in `.git`."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != ".git")
        yield from (os.path.join(folder, name) for name in sorted(names))  # noqa: PTH118


def read_text(path: str) -> str:
    """Return the text of a file. It is empty for links, pipes and binary files."""
    try:
        info = os.lstat(path)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
            return ""
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
    except OSError:
        return ""
    return "" if b"\0" in data[:BINARY_HEAD] else data.decode("utf-8-sig", "replace")


def texts_to_search(job: Job) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each file to search, each file once."""
    yield from job["texts"].items()
    seen = set(job["texts"])
    files: list[Iterable[str]] = [job["files"], *map(walk_files, job["roots"])]
    for path in (path for paths in files for path in paths):
        if path not in seen:
            seen.add(path)
            yield path, read_text(path)


def run(job: Job) -> None:
    """Print the matches of a job."""
    pattern = re.compile(job["pattern"], re.IGNORECASE if job["ignore_case"] else 0)
    for path, text in texts_to_search(job):
        for number, line in enumerate(text.split("\n"), 1):
            line = line.removesuffix("\r")
            hit = pattern.search(line)
            if hit:
                match = [path, number, hit.start() + 1, line[:MAX_LINE]]
                sys.stdout.write(json.dumps(match) + "\n")
    sys.stdout.write("null\n")


if __name__ == "__main__":
    run(json.loads(sys.stdin.readline()))
