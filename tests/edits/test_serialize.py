"""The ledger's state of its files, written as records and read in another process."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits import serialize
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import FileEdits, ParkedEdits, Pending
from acp_nvim.edits.records import NONE, Reader, Writer, batch, from_bytes, to_bytes
from acp_nvim.edits.serialize import File, Rejected
from acp_nvim.edits.text import Text
from tests.support.ledger_histories import World, fast
from tests.support.ledger_shorthand import entry, ledger, text


class Keys:
    """Keys of sessions: 3 is `s3` in all processes."""

    def key(self, n: int) -> str:
        return f"s{n}"

    def number(self, key: str) -> int:
        return int(key[1:])


KEYS = Keys()


def written(ledger: Ledger) -> list[bytes]:
    """Return one batch for each file and one for each reject."""
    writer, batches = Writer(), list[bytes]()
    for path, edits in ledger.all_edits().items():
        writer.set("file", to_bytes(path), serialize.file(writer, KEYS, path, edits))
        batches.append(batch(writer.take_records()))
    for at, level in enumerate(ledger.rejects):
        writer.set("reject", b"%d" % at, serialize.reject(writer, KEYS, level))
        batches.append(batch(writer.take_records()))
    return batches


def read(reader: Reader) -> Ledger:
    """Return another ledger with everything that can be read."""
    found = Ledger()
    for kind, key in reader.values:
        if kind == "file" and (record := reader.value(kind, key, File)):
            path = from_bytes(key)
            found.replace_file(path, serialize.file_edits(reader, KEYS, path, record))
        elif kind == "reject" and (rejected := reader.value(kind, key, list[Rejected])):
            found.replace_rejects([*found.rejects, serialize.rejects(reader, KEYS, rejected)])
    return found


class Journaled(World):
    """A world whose ledger is replaced at the end by one that was read."""

    def replace(self) -> None:
        reader = Reader(written(self.ledger))
        found = read(reader)
        assert reader.lost == 0
        assert found.all_edits() == self.ledger.all_edits()
        assert list(found.rejects) == list(self.ledger.rejects)
        self.ledger = found


@fast
@given(st.binary(min_size=4, max_size=60))
def test_a_read_ledger_continues_the_history(choices: bytes) -> None:
    world = Journaled(choices)
    world.run()
    world.replace()
    world.check()
    world.check_ends()


def test_parked_edits_are_read_with_their_authors() -> None:
    pending = Pending("/f", text("abc"), text("aXc"), None, writers=frozenset({3, 5}))
    edits = FileEdits(None, None, (), (ParkedEdits(pending, "mäin", 12.5),))
    found = Ledger()
    found.replace_file("/f", edits)
    reader = Reader(written(found))
    assert read(reader).edits_of("/f") == edits
    assert reader.lost == 0


def test_a_torn_batch_loses_only_its_file() -> None:
    found = ledger("abc", "aXc")
    found.record_agent_write("/g", text("1"), Text(("2",), eol=False), session=3)
    first, *others = written(found)
    reader = Reader([first[: len(first) // 2], *others])
    assert read(reader).files() == [entry(found, "/g")]
    assert reader.lost == 1


def test_records_of_another_version_lose_only_themselves() -> None:
    found = ledger("abc", "aXc")
    writer = Writer()
    record = serialize.file(writer, KEYS, "/f", found.edits_of("/f"))
    assert record.entry is not None
    writer.set("file", b"/f", record)
    others = {**record.entry.others, "strange": 1}
    strange = msgspec.structs.replace(record.entry, path=b"/g", others=others)
    writer.set("file", b"/g", msgspec.structs.replace(record, entry=strange))
    reader = Reader([batch(writer.take_records())])
    assert [one.path for one in read(reader).files()] == ["/f"]
    assert reader.lost == 1


def test_stored_names_of_fields_never_change() -> None:
    """A journal may be read by an older or a newer version of the plugin."""
    others = {
        "conflict": True,
        "relaid": "line endings: unix → dos",
        "overtaken": True,
        "named": False,
    }
    record = serialize.Entry(b"/f", NONE, NONE, NONE, None, ["s3"], NONE, others)
    pending = serialize.pending(Reader(), KEYS, record)
    assert pending == Pending(
        "/f",
        None,
        None,
        None,
        writers=frozenset({3}),
        is_conflict=True,
        format_change="line endings: unix → dos",
        is_overtaken=True,
        is_named=False,
    )
    assert serialize.entry(Writer(), KEYS, pending) == record
