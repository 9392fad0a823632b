"""Records of sent prompts, beside the drafts of a Neovim."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_nvim.features.prompts.sent import SentPrompts
from acp_nvim.session import queue
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def sent(tmp_path: Path, problems: list[str]) -> SentPrompts:
    found = SentPrompts(problems.append)
    found.on_setup({"past": {"sent": str(tmp_path / "acp/drafts/1.2.host.sent")}})
    return found


def text(sent: SentPrompts) -> str:
    assert sent.path is not None
    return sent.path.read_text()


def test_sent_and_returned_prompts_are_recorded_in_private_files(sent: SentPrompts) -> None:
    sent.on_sent(Prompt("a", delivery=7))
    sent.on_sent(Prompt("no number"))
    sent.on_returned(Prompt("a", delivery=7))
    assert text(sent) == "+7\n-7\n"
    assert sent.path is not None
    assert sent.path.stat().st_mode & 0o777 == 0o600
    assert sent.path.parent.stat().st_mode & 0o777 == 0o700


def test_after_the_end_of_neovim_sent_prompts_are_recorded_and_none_returns(
    sent: SentPrompts,
) -> None:
    sent.on_sent(Prompt("a", delivery=7))
    sent.close()
    sent.on_returned(Prompt("a", delivery=7))
    sent.on_sent(Prompt("b", delivery=8))
    assert text(sent) == "+7\n+8\n"


def test_a_failed_write_is_reported_once(sent: SentPrompts, problems: list[str]) -> None:
    assert sent.path is not None
    sent.path.parent.parent.write_text("no directory")
    sent.on_sent(Prompt("a", delivery=7))
    sent.on_sent(Prompt("b", delivery=8))
    assert len(problems) == 1
    sent.tidy()


def test_records_are_deleted_with_the_host_unless_a_draft_needs_them(sent: SentPrompts) -> None:
    assert sent.path is not None
    sent.on_sent(Prompt("a", delivery=7))
    draft = sent.path.parent / "0123456789abcdef.1.2.host.json"
    draft.write_text("{}")
    sent.tidy()
    assert sent.path.exists()
    draft.unlink()
    sent.tidy()
    assert not sent.path.parent.parent.exists()


def test_held_prompts_wait_while_others_are_sent() -> None:
    session = Session(1, "agent", "/")
    going, held, later = Prompt("going"), Prompt("held"), Prompt("later")
    queue.add(session, going)
    queue.hold_first(session, [held])
    assert queue.add(session, later) == 1
    assert [prompt.text for prompt in session.queue] == ["held", "going", "later"]
    assert [queue.pop(session), queue.pop(session), queue.pop(session)] == [going, later, None]
    queue.hold_first(session, [Prompt("more")])
    assert queue.next_prompt(session) is None, "what a cancel holds is not let go"
    queue.release(session)
    assert queue.next_prompt(session) is not held
    assert [prompt.text for prompt in session.queue] == ["more", "held"]


def test_prompts_that_the_agent_returns_keep_their_order() -> None:
    for give_back in (queue.hold_returned, queue.prepend_returned):
        session = Session(1, "agent", "/")
        queue.add(session, Prompt("queued"))
        for text in ("first", "second", "third"):
            give_back(session, Prompt(text))
        texts = [prompt.text for prompt in session.queue]
        assert texts == ["first", "second", "third", "queued"]
        queue.release(session)
        again = queue.pop(session)
        assert again is not None
        give_back(session, again)
        assert [prompt.text for prompt in session.queue] == texts


def test_a_prompt_that_was_sent_before_held_ones_can_be_held() -> None:
    session = Session(1, "agent", "/")
    ahead = Prompt("ahead")
    queue.hold_first(session, [Prompt("held")])
    queue.add(session, ahead)
    assert queue.pop(session) is ahead
    queue.hold_first(session, [ahead])
    assert queue.next_prompt(session) is None
