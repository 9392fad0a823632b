"""The tour over real stdio, one step at a time."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_nvim.tutor import tour_words
from acp_nvim.tutor.edits import DASHES, WAVES
from acp_nvim.tutor.keys import KEYS, keys_from, with_keys
from acp_nvim.tutor.session import Session
from tests.support.editor import ROOT
from tests.tutor.tutor_client import TutorClient

SAMPLE = ROOT / "acp_nvim/tutor/sample"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TutorClient]:
    sample = tmp_path / "sample"
    shutil.copytree(SAMPLE, sample, ignore=shutil.ignore_patterns("__pycache__"))
    meta = {"acp.nvim": {"keys": {"accept": ",a", "reject": ",r", "unknown": "x"}}}
    client = TutorClient(sample, meta=meta)
    client.files = {str(path): path.read_text() for path in sample.iterdir()}
    client.hurry()
    yield client
    assert client.close() == 0


def change(client: TutorClient, old: str, new: str) -> None:
    """Change the sample as the user's review does."""
    path = str(client.cwd / "till.py")
    assert old in client.files[path]
    client.files[path] = client.files[path].replace(old, new)


def skip_to(client: TutorClient, title: str) -> str:
    """Skip to a step of the tour and return the text of the last turn."""
    reply = client.prompt("/tour")
    while f"· {title}" not in reply:
        reply = client.prompt("/skip")
    return reply


def test_each_step_has_one_action_of_the_user(client: TutorClient) -> None:
    first = client.prompt("hello")
    assert "1 of 10 · Talk" in first
    assert "2 of 10" not in first
    assert "2 of 10 · Read" in client.prompt("anything")
    assert not client.asked("session/request_permission")
    reply = client.prompt("go on")
    assert "3 of 10 · Allow" in reply
    assert "`,a`" in reply.split("4 of 10 · Review")[1], "the user's own key"
    change(client, WAVES, DASHES)
    assert "5 of 10 · Undo" in client.prompt("go on")
    change(client, DASHES, WAVES)
    assert "6 of 10 · Follow" in client.prompt("go on")
    number = client.begin("go on")
    client.until(lambda: "3. " in client.said())
    client.notify("session/cancel", {"sessionId": client.session})
    assert client.end(number) == "cancelled"
    assert "7 of 10 · Stop" in client.said()
    assert "8 of 10 · Queue" in client.said()
    client.updates.clear()
    busy = client.begin("first")
    assert client.end(busy) == "end_turn"
    reply = client.prompt("second")
    assert "waited its turn" in reply
    assert "9 of 10 · Checkpoints" in reply
    assert "10 of 10 · Sessions" in client.prompt("go on")
    assert "## That's the tour" in client.prompt("go on")
    assert "no model" in client.prompt("go on"), "the tour is over"
    assert "1 of 10 · Talk" in client.prompt("/tour"), "it can be taken again"


@pytest.mark.parametrize(
    ("title", "old", "new"), [("Review", WAVES, DASHES), ("Undo", DASHES, WAVES)]
)
def test_a_step_that_is_not_done_is_explained_again(
    client: TutorClient, title: str, old: str, new: str
) -> None:
    skip_to(client, "Review")
    if title == "Undo":
        change(client, WAVES, DASHES)
        client.prompt("go on")
    reply = client.prompt("what about the queue?")
    assert "Not done yet" in reply
    assert "go to the next" not in reply
    change(client, old, new)
    assert f"· {title}" not in client.prompt("go on")


def test_a_sample_that_is_already_fixed_is_not_reviewed(client: TutorClient) -> None:
    change(client, "basket[:-1]:", "basket:")
    reply = skip_to(client, "Allow")
    assert "already fixed" in reply
    assert "6 of 10 · Follow" in reply
    assert not client.asked("session/request_permission")


def test_the_tour_resumes_in_another_session(client: TutorClient) -> None:
    client.prompt("hello")
    client.prompt("anything")
    reply = client.prompt("/tour")
    assert "Welcome back" in reply
    assert "2 of 10 · Read" in reply
    opened = client.ask("session/new", {"cwd": str(client.cwd), "mcpServers": []})
    client.session = opened["sessionId"]
    client.hurry()
    assert "2 of 10 · Read" in client.prompt("hello")


def test_a_question_that_is_refused_is_asked_again(client: TutorClient) -> None:
    client.choice = "reject_once"
    client.prompt("hello")
    client.prompt("anything")
    assert "Nothing was changed" in client.prompt("go on")
    client.choice = "allow_once"
    assert "4 of 10 · Review" in client.prompt("again")


def test_a_question_that_is_cancelled_is_asked_again(client: TutorClient) -> None:
    client.prompt("hello")
    client.prompt("anything")
    client.choice = None
    number = client.begin("go on")
    client.until(lambda: client.open)
    client.notify("session/cancel", {"sessionId": client.session})
    assert client.end(number) == "cancelled"
    client.choice = "allow_once"
    assert "4 of 10 · Review" in client.prompt("again")


def test_unknown_keys_are_the_defaults(tmp_path: Path) -> None:
    session = Session(
        "s", tmp_path, keys=keys_from({"acp.nvim": {"keys": {"accept": ",a", "x": 1}}})
    )
    assert with_keys(session, "{accept} {reject}") == f"`,a` `{KEYS['reject']}`"
    odd: object
    for odd in (None, 3, {"acp.nvim": []}, {"acp.nvim": {"keys": "a"}}):
        assert keys_from(odd) == {}


@pytest.mark.parametrize(
    "name",
    [name for name, text in vars(tour_words).items() if name.isupper() and isinstance(text, str)],
)
def test_each_step_fits_a_narrow_chat(name: str, tmp_path: Path) -> None:
    """In 80 columns a chat has 32, and 20 rows without its status line.

    A heading takes two rows.
    """
    session = Session("s", tmp_path)
    text = with_keys(
        session,
        getattr(tour_words, name),
        name="till.py",
        why="No.",
    )
    text = re.sub(r"`|\*\*", "", text)
    rows = [line for part in text.strip().split("\n") for line in textwrap.wrap(part, 31) or [""]]
    assert len(rows) <= (16 if name in ("NO_SAMPLE", "END") else 12), rows
