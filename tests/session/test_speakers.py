"""Each part of a conversation has one heading with its speaker, and notices never split a text."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.session import turns
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Heading, Line, Message, Past, ToolEntry
from acp_nvim.session.transcript.transcript import Transcript

Step = Callable[[Transcript], None]


def user(transcript: Transcript) -> None:
    transcript.stream("user", "question", None)


def agent(transcript: Transcript) -> None:
    transcript.stream("agent", "answer", None)


def thought(transcript: Transcript) -> None:
    transcript.stream("thought", "hm", None)


def tool(transcript: Transcript) -> None:
    transcript.add(ToolEntry(ToolCall("c1")))


def notice(transcript: Transcript) -> None:
    transcript.add(Line("info", "something happened"))


def turn(transcript: Transcript) -> None:
    """Add the user's own prompt, whose heading names the answering agent."""
    transcript.add(Message("user", parts=["question"], closed=True))
    transcript.add(Heading("Agent"))


def shape(transcript: Transcript) -> str:
    """Return the kinds of entries:

    `u` for the user, `h` a heading, `a` the agent, without notices.
    """
    letters = {Heading: "h", Line: "", ToolEntry: "a", Past: "p"}
    return "".join(
        ("u" if entry.role == "user" else "a")
        if isinstance(entry, Message)
        else letters[type(entry)]
        for entry in transcript.entries
    )


def transcript_of(*steps: Step, speaker: str | None = "Agent") -> Transcript:
    transcript = Transcript()
    transcript.speaker = speaker
    for step in steps:
        step(transcript)
    return transcript


def test_a_notice_does_not_replace_the_heading() -> None:
    transcript = transcript_of(user, notice, tool, agent)
    assert shape(transcript) == "uhaa"
    assert isinstance(transcript.entries[1], Line)
    assert isinstance(transcript.entries[2], Heading)


def test_no_heading_without_a_name() -> None:
    assert shape(transcript_of(user, notice, tool, user, agent, speaker=None)) == "uaua"


def test_an_earlier_part_counts() -> None:
    transcript = transcript_of()
    transcript.append_all([Message("user", parts=["question"], closed=True), Line("info", "moved")])
    agent(transcript)
    assert shape(transcript) == "uha"


@given(st.lists(st.sampled_from([user, agent, thought, tool, notice, turn])))
def test_each_change_of_speaker_has_one_heading(steps: list[Step]) -> None:
    drawn = shape(transcript_of(*steps))
    assert "ua" not in drawn
    assert "hh" not in drawn
    assert drawn.count("h") == drawn.count("uh")


NOTICES = "notice"


@given(st.lists(st.sampled_from(["a", "b", "tool", NOTICES]), max_size=12))
def test_notices_split_no_text_and_are_all_shown(steps: list[str]) -> None:
    def talk(*, notices: bool) -> Session:
        session = Session(1, "agent", "/work")
        turns.begin(session, Prompt("question"), "Agent")
        for number, step in enumerate(steps):
            if step == "tool":
                call_updates.upsert(session, schema.ToolCallUpdate(f"c{number}", title="Read"))
            elif step != NOTICES:
                session.transcript.stream("agent", step, None)
            elif notices:
                session.notice("info", f"notice {number}")
        turns.end(session, "end_turn")
        return session

    def words(session: Session) -> list[str]:
        return [e.text() for e in session.transcript.entries if isinstance(e, Message)]

    transcript_of = talk(notices=True)
    assert words(transcript_of) == words(talk(notices=False))
    lines = [e.title for e in transcript_of.transcript.entries if isinstance(e, Line)]
    lines = [line for line in lines if line != wording.TURN_WITHOUT_ANSWER]
    assert lines == [f"notice {at}" for at, step in enumerate(steps) if step == NOTICES]


def test_a_notice_is_shown_at_once_if_no_text_streams() -> None:
    session = Session(1, "agent", "/work")
    turns.begin(session, Prompt("question"), "Agent")
    session.notice("info", "before")
    assert isinstance(session.transcript.last, Line)
    session.transcript.stream("agent", "text", None)
    turns.end(session, "end_turn")
    session.notice("info", "after")
    assert isinstance(session.transcript.last, Line)
