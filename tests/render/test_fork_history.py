"""The first part of a fork's chat."""

from __future__ import annotations

from acp_nvim.render.calls.tools import Style
from acp_nvim.render.entry_rows import fork_history
from acp_nvim.session import turns
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message
from tests.support.chat_histories import Chat


def turn(session: Session, text: str) -> None:
    turns.begin(session, Prompt(text), "Agent")
    session.transcript.stream("agent", f"on {text}", None)


def test_a_running_turn_is_not_part_of_the_fork() -> None:
    session = Session(1, "agent", "/work")
    turn(session, "one")
    turns.end(session, "end_turn")
    turn(session, "two")
    words = [e.text() for e in fork_history(session, Style(8)) if isinstance(e, Message)]
    assert words == ["one", "on one"]
    turns.end(session, "end_turn")
    assert len(fork_history(session, Style(8))) == 6


def test_later_chunks_do_not_reach_the_fork() -> None:
    session, fork = Session(1, "agent", "/work"), Session(2, "agent", "/work")
    turn(session, "one")
    turns.end(session, "end_turn")
    fork.transcript.append_all(fork_history(session, Style(8)))
    fork.notice("info", "forked")
    turn(fork, "two")
    turn(session, "three")
    assert [e.text() for e in session.transcript.entries if isinstance(e, Message)] == [
        *("one", "on one"),
        *("three", "on three"),
    ]


def test_calls_of_the_fork_are_folded() -> None:
    chat, fork = Chat(), Chat()
    chat.call(1, "completed", "one\ntwo")
    chat.say("agent", "hi", None)
    fork.session.transcript.append_all(fork_history(chat.session, Style(8)))
    ops, _ = fork.document.draw(fork.session.transcript, 100_000)
    [folds] = [op[2] for op in ops if op[0] == "folds"]
    assert folds[1:] == [0, 3, False]
