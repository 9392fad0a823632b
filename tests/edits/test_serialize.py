"""What a ledger knows, written as it changes and read in another process."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import LedgerState
from acp_nvim.edits.records import Reader, Writer
from acp_nvim.edits.serialize import FILE, LedgerWriter, read
from acp_nvim.edits.text import Text
from tests.support.ledger_histories import World, fast
from tests.support.ledger_shorthand import entry, ledger, text


class Journaled(World):
    """Its ledger is written now and then, and in the end replaced by what was read of that."""

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self.writer = Writer()
        self.kept = LedgerWriter(self.writer)
        self.records: list[bytes] = []

    def write(self) -> None:
        self.kept.write(self.ledger.state())
        self.records += self.writer.take()

    def check(self) -> None:
        super().check()
        if self.pick(3):
            self.write()

    def replace(self) -> None:
        self.write()
        reader = Reader(self.records)
        found = read(reader)
        assert reader.lost == 0
        assert found == self.ledger.state()
        assert list(found.files) == list(self.ledger.state().files)
        self.ledger = Ledger()
        self.ledger.take_over(found)


@fast
@given(st.binary(min_size=4, max_size=60))
def test_another_ledger_goes_on_with_it(choices: bytes) -> None:
    world = Journaled(choices)
    world.run()
    world.replace()
    world.check()
    world.check_ends()


def test_what_did_not_change_is_not_written_again() -> None:
    found = ledger("abc", "aXc")
    found.agent_wrote("/g", text("1"), text("2"))
    writer = Writer()
    kept = LedgerWriter(writer)
    kept.write(found.state())
    assert writer.take()
    kept.write(found.state())
    assert writer.take() == []
    found.user_edited("/g", text("23"))
    kept.write(found.state())
    records = writer.take()
    assert records
    assert not any(b"/f" in record for record in records)


def test_nothing_is_read_of_nothing() -> None:
    assert read(Reader([])) == LedgerState()
    assert not LedgerState()


def test_a_torn_text_loses_its_file_alone() -> None:
    found = ledger("abc", "aXc")
    found.agent_wrote("/g", text("1"), Text(("2",), eol=False), session=3)
    writer = Writer()
    LedgerWriter(writer).write(found.state())
    reader = Reader(writer.take()[1:])
    state = read(reader)
    assert list(state.files.values()) == [entry(found, "/g")]
    assert reader.lost == 1


def test_what_another_version_has_written_is_lost_alone() -> None:
    writer = Writer()
    kept = LedgerWriter(writer)
    found = ledger("abc", "aXc")
    kept.write(found.state())
    (made,) = (made for _, made in writer.made.values())
    strange = msgspec.structs.replace(made, path=b"/g", others={**made.others, "strange": 1})
    writer.put(FILE, b"/g", strange)
    reader = Reader(writer.take())
    assert list(read(reader).files) == ["/f"]
    assert reader.lost == 1
