"""Probe in an observed host: the longest blocks of its loop, with their causes.

SIGUSR1 writes the figures to the file ACP_PROBE and starts again.
"""

import asyncio
import gc
import os
import signal
import time
from pathlib import Path
from typing import Any

worst: list[tuple[float, str]] = []
held = [0.0]
run = asyncio.Handle._run


def timed(handle: Any) -> None:
    started = time.thread_time()
    run(handle)
    took = time.thread_time() - started
    if took > 0.01:
        worst.append((took, what(handle._callback)))


def what(callback: Any) -> str:
    """Return the coroutine that ran, by its innermost names."""
    task = getattr(callback, "__self__", None)
    inner = task.get_coro() if isinstance(task, asyncio.Task) else None
    names = []
    while inner is not None:
        names.append(getattr(inner, "__qualname__", ""))
        inner = getattr(inner, "cr_await", None)
    return " > ".join(names[-4:]) or repr(callback)[:150]


def collected(phase: str, info: dict[str, int]) -> None:
    if phase == "start":
        held[0] = time.thread_time()
    elif (took := time.thread_time() - held[0]) > 0.01:
        worst.append((took, f"gc {info['generation']}"))


def report_line(*_: Any) -> None:
    place = os.environ["ACP_PROBE"]
    lines = [f"{took * 1000:.1f} {what}" for took, what in sorted(worst, reverse=True)[:12]]
    kinds: dict[str, int] = {}
    for thing in gc.get_objects():
        if thing.__class__.__module__.startswith("acp_nvim"):
            kinds[thing.__class__.__name__] = kinds.get(thing.__class__.__name__, 0) + 1
    most = sorted(kinds.items(), key=lambda kind: -kind[1])[:12]
    Path(place + ".part").write_text("\n".join([*lines, f"objects {most}"]))
    Path(place + ".part").rename(place)
    worst.clear()


if os.environ.get("ACP_PROBE"):
    gc.callbacks.append(collected)
    asyncio.Handle._run = timed  # type: ignore[assignment, method-assign]
    signal.signal(signal.SIGUSR1, report_line)
