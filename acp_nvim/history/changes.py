"""What the loop tells the thread that writes: values that nothing changes any more.

`n` is our number of a session, `place` the position of an entry in its transcript.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from acp_nvim.edits.text import Text
from acp_nvim.history.records import Record, Said
from acp_nvim.session.transcript.entries import Part


class Facts(Struct, frozen=True):
    """What is known of a session beside its transcript. `topic` stands for its title as long as it
    has none. `tokens` are those that the agent counted
    in the turns of this process, `used` and `size` those of its context, `cost` that of the session
    so far.
    """

    agent: str
    agent_id: str
    cwd: str
    title: str
    topic: str
    stop_reason: str | None
    prompts: int
    tokens: int
    used: int | None
    size: int | None
    cost: float | None
    currency: str | None


class Replay(Struct, frozen=True):
    """What an agent has replayed of a session: the texts of its prompts, the place where each
    begins, and the number of all entries.
    """

    prompts: Sequence[str]
    places: Sequence[int]
    count: int


class Begin(Struct, frozen=True):
    """A session is kept from now on: in a record of its own (`uid`), or in one that is there, which
    is `record`, or that of the agent's session that was loaded or resumed (`brought`). `shown`: so
    many entries at the beginning are in that record already.
    """

    n: int
    uid: str
    facts: Facts
    parent: int | None = None
    record: int | None = None
    brought: bool = False
    shown: int = 0
    replay: Replay | None = None


class Know(Struct, frozen=True):
    """The facts of a session have changed."""

    n: int
    facts: Facts


class Put(Struct, frozen=True, gc=False):
    """An entry as it is now."""

    n: int
    place: int
    record: Record


class Grow(Struct, frozen=True, gc=False):
    """Content was appended to a message; `anew`: it is all of its content."""

    n: int
    place: int
    record: Said
    parts: Sequence[Part]
    anew: bool = False


class Settle(Struct, frozen=True, gc=False):
    """A message is complete, as far as one knows."""

    n: int
    place: int


class Prompted(Struct, frozen=True):
    """The user has sent a text."""

    text: str
    cwd: str


class Delete(Struct, frozen=True):
    """The user deletes a record."""

    record: int


class Wrote(Struct, frozen=True):
    """An agent has written a file: the text before, as the agent wrote it, and with what the user
    and their formatters made of it at once. `sent`, `prompt` and `words` are the time, the number
    and the beginning of the prompt that it worked on.
    """

    n: int
    path: str
    before: Text | None
    agents: Text
    after: Text
    sent: float
    prompt: int
    words: str


class Adopted(Struct, frozen=True):
    """An agent of another process had written a file when that was killed. `uid`, `agent` and
    `agent_id` name the session; `wrote` has no number of it.
    """

    uid: str
    agent: str
    agent_id: str
    wrote: Wrote


class Moved(Struct, frozen=True):
    """An agent has moved a file."""

    n: int
    old: str
    new: str


Change = Begin | Know | Put | Grow | Settle | Prompted | Delete | Wrote | Adopted | Moved
