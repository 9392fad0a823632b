"""`:Acp log save` and `:Acp export`: permissions of the file, and its redacted content."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from acp_nvim.agent.wire.redact import REDACTED
from acp_nvim.agent.wire.traffic import Recorded, Traffic
from acp_nvim.app import Host
from acp_nvim.features.chat import verbs as view
from tests.support.editor import Editor
from tests.support.sample_secrets import KINDS
from tests.support.waiting import until

OWN = "zq-of-our-environment"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_saved_log_is_private_and_has_no_value_of_the_environment(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = edit(env={"MY_API_TOKEN": OWN, "DATABASE_URL": f"postgres://me:{OWN}-db@localhost/x"})
    editor.agent("script")
    editor.turn(f"say it is {OWN}, or {OWN}-db, in base64 or not")
    saved, exported = tmp_path / "log", tmp_path / "chat.md"
    saved.write_text("older and readable\n")
    saved.chmod(0o644)
    editor.cmd(f"Acp log save {saved}")
    editor.cmd(f"Acp export {exported}")
    until(lambda: "session/prompt" in saved.read_text())
    until(exported.exists)
    until(lambda: "in base64 or not" in exported.read_text())
    assert mode(saved) == 0o600
    assert OWN not in saved.read_text()
    assert REDACTED in saved.read_text()
    assert OWN not in exported.read_text()


async def test_a_log_is_redacted_outside_of_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long log takes seconds, during which other messages must not wait."""
    threads: list[threading.Thread] = []

    def save(path: Path, logs: Mapping[str, Recorded]) -> int:
        threads.append(threading.current_thread())
        return 0

    monkeypatch.setattr(view, "save_log", save)
    host = SimpleNamespace(agents=SimpleNamespace(connections={}), echo=lambda *_: None)
    await view.log_save(cast("Host", host), {"file": str(tmp_path / "x")})
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("mask", [0o022, 0])
def test_a_new_log_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        view.save_log(tmp_path / "log", {})
    finally:
        os.umask(before)
    assert mode(tmp_path / "log") == 0o600


def test_a_key_in_several_lines_is_removed() -> None:
    (kind,) = (kind for kind in KINDS if kind.name == "RSA key")
    traffic = Traffic()
    for line in f"before\n{kind.text}\nafter".split("\n"):
        traffic.add("err", line.encode() + b"\n")
    text = "\n".join(traffic.redacted())
    assert not any(secret in text for secret in kind.secrets)
    assert "before" in text
    assert "after" in text


def test_half_of_a_secret_is_removed() -> None:
    traffic = Traffic(secrets=[OWN])
    traffic.add("err", b"x" * 65_520 + b" " + OWN[:12].encode() + b"y" * 99 + b"\n")
    traffic.add("err", f"more, and then {OWN[:9]}".encode())
    text = "\n".join(traffic.redacted())
    assert OWN[:5] not in text


def test_an_unreadable_line_changes_no_other_line() -> None:
    traffic = Traffic()
    deep = b'{"jsonrpc":"2.0","method":"a","params":' + b"[" * 20_000 + b"]" * 20_000 + b"}\n"
    traffic.add("in", deep)
    traffic.add("in", b'{"jsonrpc":"2.0","method":"b","params":{"a":"\\ud800"}}\n')
    traffic.add(
        "in", b'[{"jsonrpc":"2.0","params":{"env":{"A":"zq-secret"}},"cut":' + b"x" * 99_999
    )
    traffic.add("in", b'\n{"jsonrpc":"2.0","method":"after","params":{}}\n')
    lines = list(traffic.redacted())
    assert lines[-1].endswith("<- after 46 B {}")
    assert "zq-secret" not in "".join(lines)
    assert len(lines) == 4
