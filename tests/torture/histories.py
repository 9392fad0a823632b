"""Runs of random histories from the command line."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

LONGEST = 20_000
"""Maximum number of characters of a failure that are printed."""


def run_async(history: Callable[..., Awaitable[None]], *args: Any) -> str:
    """Run one history in its own directory and return the failure, or ""."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        try:
            anyio.run(history, Path(os.path.realpath(root)), *args)
        except (AssertionError, BaseExceptionGroup) as error:
            found: BaseException = error
            while isinstance(found, BaseExceptionGroup):
                found = found.exceptions[0]
            return str(found) or repr(found)
    return ""


def main(run: Callable[..., str], steps: int | None = None) -> int:
    """Run histories by the words `SEED [STEPS] [COUNT] [both]` of the command line.

    Return the number of failures. ``steps`` is the default of STEPS; None if there is no such word.
    """
    words = sys.argv[1:]
    first, *more = (int(word) for word in words if word != "both")
    options: dict[str, Any] = {"both": True} if "both" in words else {}
    if steps is not None:
        options["steps"] = more.pop(0) if more else steps
    count = more[0] if more else 1
    failed = 0
    for seed in range(first, first + count):
        why = run(seed, **options)
        if why:
            failed += 1
            print(seed, "FAILED", why[-LONGEST:], sep="\n", flush=True)
    print(f"{count} histories, {failed} failed")
    return failed
