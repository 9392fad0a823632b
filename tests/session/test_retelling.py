"""A session that is told again of what its chat shows: it is afterwards what it was, and the news
(v2/session-setup#resuming-sessions: a plain resume replays nothing, yet some agents do).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.v2 import incoming
from acp_nvim.protocol.v2 import schema as v2
from acp_nvim.session import turns, updates
from acp_nvim.session.entries import Compaction, Message, Past, PlanDocument
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.retelling import Retelling
from acp_nvim.session.session import Session

Told = dict[str, Any]


def read(update: Told) -> Any:
    params = msgspec.Raw(msgspec.json.encode({"sessionId": "s", "update": update}))
    return incoming.update(codec.decode(v2.UpdateSessionNotification, params, []).update)


def words(text: str) -> Told:
    return {"type": "text", "text": text}


def message(kind: str, id: str, *texts: str) -> Told:
    return {"sessionUpdate": kind, "messageId": id, "content": [words(it) for it in texts]}


def chunk(kind: str, id: str, text: str) -> Told:
    return {"sessionUpdate": f"{kind}_chunk", "messageId": id, "content": words(text)}


def call(id: str, **fields: Any) -> Told:
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, **fields}


def output(id: str, text: str) -> Told:
    content = {"type": "content", "content": words(text)}
    return {"sessionUpdate": "tool_call_content_chunk", "toolCallId": id, "content": content}


def plan(id: str, *steps: str) -> Told:
    entries = [{"content": it, "priority": "high", "status": "pending"} for it in steps]
    return {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": id, "entries": entries},
    }


def terminal(id: str, **fields: Any) -> Told:
    return {"sessionUpdate": "terminal_update", "terminalId": id, **fields}


def printed(id: str, text: str) -> Told:
    data = base64.b64encode(text.encode()).decode()
    return {"sessionUpdate": "terminal_output_chunk", "terminalId": id, "data": data}


class Chat:
    """A session of turns, each a prompt of the user's and what the agent told."""

    def __init__(self) -> None:
        self.session = Session(1, "x", "/w")

    def turn(self, prompt: str, id: str, told: Iterable[Told]) -> None:
        turns.begin(self.session, Prompt(prompt, blocks=[schema.TextContent(prompt)]), "X")
        self.tell([message("user_message", id, prompt), *told])
        turns.end(self.session, "end_turn")

    def tell(self, told: Iterable[Told]) -> None:
        for update in told:
            updates.apply(self.session, read(update))

    def reopen(self, told: Iterable[Told], *, asked: bool = False) -> list[Told]:
        """What comes while a request to open it again is answered. Returns what passed at once."""
        retelling = Retelling(self.session, tells=asked)
        passed: list[Told] = []
        for update in told:
            came = read(update)
            for one in retelling.news(came):
                updates.apply(self.session, one)
                passed += [update] if one is came else []
        for one in retelling.end():
            updates.apply(self.session, one)
        return passed

    @property
    def known(self) -> Any:
        """All that the chat shows, without the way in which it came."""
        session = self.session
        return (
            [_shown(it) for it in session.transcript.entries if _shown(it)],
            [_call(it) for it in session.tool_calls],
            {id: _plan(it) for id, it in session.plans.items()},
            {it.id: (it.lines(), it.launch.command, it.running) for it in session.terminals},
        )

    def says(self) -> list[str]:
        found = (it for it in self.session.transcript.entries if isinstance(it, Message))
        return [it.text() for it in found if it.text()]


def _shown(entry: Any) -> Any:
    if isinstance(entry, Message):
        return entry.text() and (entry.role, entry.text())
    if isinstance(entry, Compaction):
        return "".join(it for it in entry.summary if isinstance(it, str))
    return type(entry).__name__


def _call(call: Any) -> Any:
    text = "".join(it.content.text for it in call.content)
    return call.id, call.title, call.kind, call.status, text


def _plan(plan: Any) -> Any:
    return plan.text if isinstance(plan, PlanDocument) else [it.content for it in plan]


# -- histories ------------------------------------------------------------------------------------

TEXT = st.text("ab \n", min_size=1, max_size=6)
PIECES = st.lists(TEXT, min_size=1, max_size=3)


class Item(msgspec.Struct):
    """Something that an agent tells: in one update, or in pieces."""

    kind: str
    pieces: list[str]
    status: str = "completed"

    def told(self, id: str, *, pieces: bool) -> list[Told]:
        match self.kind:
            case "call":
                first = call(id, title=self.pieces[0], kind="read", status="in_progress")
                more = [output(id, it) for it in self.pieces]
                return [first, *more, call(id, status=self.status)]
            case "plan":
                return [plan(id, *self.pieces[:at]) for at in range(1, len(self.pieces) + 1)]
            case "terminal":
                text = "".join(self.pieces)
                data = base64.b64encode(text.encode()).decode()
                snapshot = terminal(id, command="make", output={"data": data})
                said = [printed(id, it) for it in self.pieces]
                return [terminal(id, command="make"), *said] if pieces else [snapshot]
        if pieces:
            return [chunk(self.kind, id, it) for it in self.pieces]
        return [message(self.kind, id, "".join(self.pieces))]


ITEMS = st.builds(
    Item,
    st.sampled_from(
        ["agent_message", "agent_message", "agent_thought", "call", "plan", "terminal"]
    ),
    PIECES,
    st.sampled_from(["completed", "in_progress", "failed"]),
)
TURNS = st.lists(
    st.tuples(TEXT.filter(str.strip), st.lists(ITEMS, max_size=4)), min_size=1, max_size=4
)
NEWS = st.lists(
    st.sampled_from(
        [
            message("agent_message", "new-1", "News of the day"),
            chunk("agent_message", "new-2", "More news "),
            chunk("agent_thought", "new-3", "Thinking of news "),
            call("new-4", title="News", status="in_progress"),
            output("new-4", "news "),
            call("new-4", status="completed"),
            plan("new-5", "News"),
            terminal("new-6", command="news"),
            printed("new-6", "news\n"),
            message("user_message", "new-7", "News from elsewhere"),
            {"sessionUpdate": "state_update", "state": "running"},
            {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"},
        ]
    ),
    max_size=8,
)


def life(told: list[tuple[str, list[Item]]]) -> Chat:
    chat = Chat()
    for n, (prompt, items) in enumerate(told):
        said = [it for at, item in enumerate(items) for it in item.told(f"{n}-{at}", pieces=True)]
        chat.turn(prompt, f"user-{n}", said)
    return chat


def replay(told: list[tuple[str, list[Item]]], draw: Any, prefix: str = "") -> list[Told]:
    """All of it again, message by message or in other pieces; under other ids of messages."""
    found: list[Told] = []
    for n, (prompt, items) in enumerate(told):
        if prefix or draw(st.booleans()):
            found.append(message("user_message", f"{prefix}user-{n}", prompt))
        else:
            found.append(message("user_message", f"user-{n}", prompt))
        for at, item in enumerate(items):
            named = prefix if item.kind.startswith("agent") else ""
            found += item.told(f"{named}{n}-{at}", pieces=draw(st.booleans()))
    return found


def cut(past: list[Told], end: int) -> list[Told]:
    """The beginning, but no plan by half: nobody could tell that from its newest state."""
    ids = [update.get("plan", {}).get("planId") for update in past]
    while 0 < end < len(past) and ids[end] is not None and ids[end] == ids[end - 1]:
        end += 1
    return past[:end]


def mixed(draw: Any, past: list[Told], news: list[Told]) -> list[Told]:
    """The news in their order, anywhere among the past."""
    places = sorted(draw(st.integers(0, len(past))) for _ in news)
    found = list(past)
    for place, update in reversed(list(zip(places, news, strict=True))):
        found.insert(place, update)
    return found


@settings(max_examples=250, deadline=None)
@given(TURNS, NEWS, st.data())
def test_a_session_that_is_told_again_is_as_before_with_the_news(
    told: list[tuple[str, list[Item]]], news: list[Told], data: Any
) -> None:
    past = replay(told, data.draw)
    past = cut(past, data.draw(st.integers(0, len(past))))
    chat, expected = life(told), life(told)
    passed = chat.reopen(mixed(data.draw, past, news))
    expected.tell(news)
    assert chat.known == expected.known
    assert [update for update in passed if update in news] == news, "news are shown at once"


@settings(max_examples=150, deadline=None)
@given(TURNS, NEWS, st.data())
def test_messages_are_known_under_other_ids(
    told: list[tuple[str, list[Item]]], news: list[Told], data: Any
) -> None:
    chat, expected = life(told), life(told)
    chat.reopen(mixed(data.draw, replay(told, data.draw, "other-"), news))
    expected.tell(news)
    assert chat.known == expected.known


def more_of(item: Item, id: str) -> list[Told]:
    """Something known goes on."""
    match item.kind:
        case "call":
            return [output(id, "NEWS"), call(id, status="failed")]
        case "plan":
            return [plan(id, "NEWS")]
        case "terminal":
            return [printed(id, "NEWS")]
    return [chunk(item.kind, id, "NEWS"), chunk(item.kind, id, " and more")]


@settings(max_examples=200, deadline=None)
@given(TURNS, st.booleans(), st.data())
def test_what_is_known_may_go_on(
    told: list[tuple[str, list[Item]]], is_replayed: bool, data: Any
) -> None:
    chat, expected = life(told), life(told)
    news: list[Told] = []
    mix: list[Told] = []
    for n, (prompt, items) in enumerate(told):
        mix += [message("user_message", f"user-{n}", prompt)] if is_replayed else []
        for at, item in enumerate(items):
            more = more_of(item, f"{n}-{at}") if data.draw(st.booleans()) else []
            past = item.told(f"{n}-{at}", pieces=data.draw(st.booleans())) if is_replayed else []
            mix, news = [*mix, *past, *more], [*news, *more]
    chat.reopen(mix)
    expected.tell(news)
    assert chat.known == expected.known


def test_a_prompt_of_ours_has_no_id_or_another_one() -> None:
    chat = Chat()
    chat.turn("do this", "u", [message("agent_message", "a", "Done.")])
    before = chat.known
    older = {"sessionUpdate": "user_message_chunk", "messageId": "", "content": words("do this")}
    chat.reopen([older, message("agent_message", "a", "Done.")])
    assert chat.known == before
    chat.reopen([chunk("user_message", "v", "do "), chunk("user_message", "v", "this")])
    chat.tell([message("user_message", "v", "do this")])
    assert chat.known == before, "it has that id, too, from then on"


def test_a_message_that_was_cut_is_completed_once() -> None:
    chat = Chat()
    chat.turn("go", "u", [chunk("agent_message", "a", "The answer to all of it is 4")])
    whole = "The answer to all of it is 42, of course"
    chat.reopen([message("user_message", "u", "go"), message("agent_message", "b", whole)])
    assert chat.says() == ["go", whole]
    chat.tell([chunk("agent_message", "b", "!")])
    assert chat.says() == ["go", whole + "!"]


def test_a_message_that_is_told_otherwise_is_what_the_agent_says_it_is() -> None:
    chat = Chat()
    chat.turn("go", "u", [chunk("agent_message", "a", "It was a long and winding road")])
    told = ["It was a long ", "and windy ", "road"]
    user = message("user_message", "u", "go")
    chat.reopen([user, *(chunk("agent_message", "a", it) for it in told)])
    assert chat.says() == ["go", "It was a long and windy road"]


def test_news_that_begin_like_something_known_are_shown() -> None:
    chat = Chat()
    chat.turn("go", "u", [message("agent_message", "a", "Done with it.")])
    user = message("user_message", "u", "go")
    chat.reopen([user, chunk("agent_message", "n", "Done"), chunk("agent_message", "n", " again")])
    assert chat.says() == ["go", "Done with it.", "Done again"]
    chat.reopen([user, message("agent_message", "m", "Done")])
    assert chat.says()[3:] == ["Done"]
    same = message("agent_message", "o", "Done with it.")
    chat.reopen([user, same, message("agent_message", "a", "Done with it.")])
    assert chat.says()[4:] == ["Done with it."], "the known one is told by its own id"


def test_work_that_goes_on_is_not_taken_for_the_past() -> None:
    chat = Chat()
    chat.turn("go", "u", [message("agent_message", "a", "ab"), message("agent_message", "b", "ab")])
    passed = chat.reopen([chunk("agent_message", "b", "ab"), chunk("agent_message", "b", "a")])
    assert len(passed) == 2
    assert chat.says() == ["go", "ab", "ababa"]


def test_a_replay_that_was_asked_for_may_begin_anywhere() -> None:
    chat = Chat()
    chat.turn("go", "u", [call("c", title="Look"), message("agent_message", "b", "ab")])
    before = chat.known
    chat.reopen([chunk("agent_message", "b", "ab")], asked=True)
    assert chat.known == before


def test_lines_of_an_earlier_process_stand_for_all_that_is_replayed() -> None:
    chat = Chat()
    chat.session.transcript.add(Past(["## You", "go", "", "## X", "ab"]))
    news = call("n", title="News")
    past = [message("user_message", "u", "go"), message("agent_message", "b", "ab"), call("c")]
    assert chat.reopen([news, *past]) == [news]
    assert len(chat.session.tool_calls) == 1


def test_a_compaction_is_told_again() -> None:
    chat = Chat()
    block: Told = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c"}
    told: list[Told] = [
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"},
        {**block, "content": words("We spoke ")},
        {**block, "content": words("of this")},
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"},
    ]
    chat.turn("go", "u", told)
    before = chat.known
    chat.reopen([message("user_message", "u", "go"), *told])
    assert chat.known == before
    chat.reopen([message("user_message", "u", "go"), *told[:3], {**block, "content": words("!")}])
    assert "We spoke of this!" in chat.known[0]
