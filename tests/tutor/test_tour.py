"""The tour over real stdio: one step at a time, each seen to be done."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_nvim.tutor import tour_words
from acp_nvim.tutor.edits import WAVES
from acp_nvim.tutor.keys import KEYS, filled, told
from acp_nvim.tutor.session import Session
from tests.support.editor import ROOT
from tests.tutor.tutor_client import TutorClient

SAMPLE = ROOT / "acp_nvim/tutor/sample"
DASHES = 'lines.append("-" * 24)'


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TutorClient]:
    """A client without files of its own: the tutor works on the disk, where the tour looks."""
    sample = tmp_path / "sample"
    shutil.copytree(SAMPLE, sample, ignore=shutil.ignore_patterns("__pycache__"))
    meta = {"acp.nvim": {"keys": {"accept": ",a", "reject": ",r", "unknown": "x"}}}
    client = TutorClient(sample, {"terminal": True}, meta)
    client.hurry()
    yield client
    assert client.close() == 0


def till(client: TutorClient) -> Path:
    return client.cwd / "till.py"


def change(client: TutorClient, old: str, new: str) -> None:
    """The user's decision, as it is on disk."""
    text = till(client).read_text()
    assert old in text
    till(client).write_text(text.replace(old, new))


def at(client: TutorClient, heading: str) -> None:
    client.until(lambda: heading in client.said())


def test_each_step_waits_for_what_the_user_does(client: TutorClient) -> None:
    first = client.prompt("hello")
    assert "1 of 8 · Talk" in first
    assert "2 of 8" not in first
    assert "2 of 8 · Read" in client.prompt("anything")
    assert not client.asked("session/request_permission")
    said = client.prompt("go on")
    assert "3 of 8 · Allow" in said
    assert "`,a`" in said.split("4 of 8 · Review")[1], "the user's own key"
    assert WAVES in till(client).read_text()
    change(client, WAVES, DASHES)
    at(client, "5 of 8 · Undo")
    assert "6 of 8" not in client.said()
    change(client, DASHES, WAVES)
    at(client, "6 of 8 · Follow")
    number = client.begin("go on")
    at(client, "3. ")
    client.notify("session/cancel", {"sessionId": client.session})
    assert client.end(number) == "cancelled"
    assert "8 of 8 · Queue" in client.said()
    client.updates.clear()
    busy = client.begin("first")
    assert client.end(busy) == "end_turn"
    said = client.prompt("second")
    assert "waited its turn" in said
    assert "## That's the tour" in said
    assert "/tour 2" in said


def test_a_question_that_is_refused_is_asked_again(client: TutorClient) -> None:
    client.choice = "reject_once"
    client.prompt("hello")
    client.prompt("anything")
    assert "Nothing was changed" in client.prompt("go on")
    client.choice = "allow_once"
    assert "4 of 8 · Review" in client.prompt("again")


def test_a_question_that_is_cancelled_is_asked_again(client: TutorClient) -> None:
    client.prompt("hello")
    client.prompt("anything")
    client.choice = None
    number = client.begin("go on")
    client.until(lambda: client.open)
    client.notify("session/cancel", {"sessionId": client.session})
    assert client.end(number) == "cancelled"
    client.choice = "allow_once"
    assert "4 of 8 · Review" in client.prompt("again")


def test_a_step_that_waits_answers_and_goes_on_waiting(client: TutorClient) -> None:
    for text in ("hello", "anything", "go on"):
        client.prompt(text)
    assert "waits in the queue" in client.prompt("what about the queue?")
    assert "undoes them" in client.prompt("/check")
    change(client, WAVES, DASHES)
    at(client, "5 of 8 · Undo")
    assert "well reviewed" in client.prompt("/check")


def test_a_prompt_that_comes_while_the_next_step_is_told_waits_for_it(client: TutorClient) -> None:
    for text in ("hello", "anything", "go on", "/skip"):
        client.prompt(text)
    params = {"sessionId": client.session, "configId": "pace", "value": "calm"}
    client.ask("session/set_config_option", params)
    change(client, WAVES, DASHES)
    change(client, DASHES, WAVES)
    client.updates.clear()
    at(client, "6 of 8 · Follow")
    number = client.begin("go on")
    at(client, "7 of 8 · Stop")
    assert client.said().count("6 of 8") == 1
    client.notify("session/cancel", {"sessionId": client.session})
    assert client.end(number) == "cancelled"


def test_steps_can_be_skipped(client: TutorClient) -> None:
    headings = [client.prompt("/tour")]
    headings += [client.prompt("/skip") for _ in range(2)]
    assert "4 of 8 · Review" in headings[-1]
    assert "5 of 8 · Undo" in client.prompt("/skip")
    assert "6 of 8 · Follow" in client.prompt("/skip")


def test_it_goes_on_where_it_was(client: TutorClient) -> None:
    client.prompt("hello")
    client.prompt("anything")
    said = client.prompt("/tour")
    assert "Welcome back" in said
    assert "2 of 8 · Read" in said
    opened = client.ask("session/new", {"cwd": str(client.cwd), "mcpServers": []})
    client.session = opened["sessionId"]
    client.hurry()
    assert "2 of 8 · Read" in client.prompt("hello"), "in another session too"


def test_the_second_part(client: TutorClient) -> None:
    client.prompt("/help")
    assert "1 of 12 · Plan" in client.prompt("/tour 2")
    assert client.of("plan")
    assert "2 of 12 · Terminals" in client.prompt("on")
    assert client.asked("terminal/create")
    assert "3 of 12 · Modes" in client.prompt("on")
    client.updates.clear()
    client.ask("session/set_mode", {"sessionId": client.session, "modeId": "trust"})
    at(client, "4 of 12 · Comments")
    client.until(lambda: "It goes with your next prompt" in client.said())
    assert "5 of 12 · Language servers" in client.prompt("because")
    said = client.prompt("on")
    assert "I cannot ask your editor" in said
    assert "7 of 12 · Blame" in said
    assert "You have it off" in said
    assert "8 of 12 · Checkpoints" in client.prompt("on")
    assert "9 of 12 · Rewind" in client.prompt("on")
    assert '("honey", 1, 52.00)' in till(client).read_text()
    assert "10 of 12 · Sessions" in client.prompt("on"), "without a rewind it goes on, too"
    assert "11 of 12 · History" in client.prompt("on")
    assert "12 of 12 · Come back" in client.prompt("on")
    assert "Come back soon!" in till(client).read_text()
    said = client.prompt("on")
    assert "You stayed" in said
    assert "## That was part two" in said


def skipped_to(client: TutorClient, title: str) -> str:
    """Part two up to a step, which begins."""
    said = client.prompt("/tour 2")
    while f"· {title}" not in said:
        said = client.prompt("/skip")
    return said


def other_session(client: TutorClient) -> None:
    opened = client.ask("session/new", {"cwd": str(client.cwd), "mcpServers": []})
    client.session = opened["sessionId"]
    client.hurry()


def test_a_rewind_is_seen_in_the_session_that_branches_off(client: TutorClient) -> None:
    skipped_to(client, "Rewind")
    other_session(client)
    assert "9 of 12 · Rewind" in client.prompt("not yet"), "the price is still the wrong one"
    change(client, '("honey", 1, 52.00)', '("honey", 1, 5.20)')
    other_session(client)
    said = client.prompt("now")
    assert "The honey has its old price" in said
    assert "10 of 12 · Sessions" in said


def test_the_tour_goes_on_when_the_user_has_left_and_come_back(client: TutorClient) -> None:
    assert "leave with `:qa!`" in skipped_to(client, "Come back")
    meta = {"acp.nvim": {"keys": {"accept": ",a"}, "blame": True}}
    again = TutorClient(client.cwd, {"terminal": True}, meta)
    again.hurry()
    said = again.prompt("/tour")
    assert "You are back" in said
    assert "`,a` keeps it" in said
    assert "You stayed" not in said
    assert "## That was part two" in again.prompt("on")
    assert "On a line of `till.py` that I changed" in skipped_to(again, "Blame")
    assert again.close() == 0


def test_keys_that_nobody_told_are_the_defaults(tmp_path: Path) -> None:
    session = Session("s", tmp_path, keys=told({"acp.nvim": {"keys": {"accept": ",a", "x": 1}}}))
    assert filled(session, "{accept} {reject}") == f"`,a` `{KEYS['reject']}`"
    odd: object
    for odd in (None, 3, {"acp.nvim": []}, {"acp.nvim": {"keys": "a"}}):
        assert told(odd) == {}


@pytest.mark.parametrize(
    "name",
    [name for name, text in vars(tour_words).items() if name.isupper() and isinstance(text, str)],
)
def test_each_step_fits_a_narrow_chat(name: str, tmp_path: Path) -> None:
    """In 80 columns a chat has 32, and 20 rows without its line; a heading takes two."""
    session = Session("s", tmp_path)
    text = filled(
        session,
        getattr(tour_words, name),
        name="till.py",
        why="No.",
        said="till.py:13:5 error: x",
        names="a to b",
    )
    text = re.sub(r"`|\*\*", "", text)
    rows = [line for part in text.strip().split("\n") for line in textwrap.wrap(part, 31) or [""]]
    assert len(rows) <= (16 if name in ("NO_SAMPLE", "END") else 12), rows
