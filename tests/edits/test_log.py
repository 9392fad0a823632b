"""Records in an append-only file: a torn or damaged record loses only itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.log import MARK, frame, join_records, read_records

payloads = st.lists(st.binary(max_size=30) | st.just(MARK) | st.just(frame(b"inner")), max_size=8)


def split_records(data: bytes) -> tuple[list[bytes], int]:
    """Return the complete records in order, and the number of bytes outside of records."""
    found, lost, end = read_records(data)
    return found, lost + len(data) - end


@given(payloads)
def test_written_records_are_read(records: list[bytes]) -> None:
    assert split_records(join_records(records)) == (records, 0)


@given(payloads, st.data())
def test_a_torn_end_loses_only_the_last_record(records: list[bytes], data: st.DataObject) -> None:
    whole = join_records(records)
    cut = data.draw(st.integers(0, len(whole)))
    found, lost = split_records(whole[:cut])
    ends = [len(join_records(records[: n + 1])) for n in range(len(records))]
    assert found[: sum(end <= cut for end in ends)] == records[: sum(end <= cut for end in ends)]
    assert sum(len(frame(one)) for one in found) + lost == cut


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=8), st.data())
def test_a_damaged_byte_loses_one_record(records: list[bytes], data: st.DataObject) -> None:
    damaged = bytearray(join_records(records))
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    hit = next(n for n in range(len(records)) if len(join_records(records[: n + 1])) > at)
    found, lost = split_records(bytes(damaged))
    assert found == records[:hit] + records[hit + 1 :]
    assert lost == len(frame(records[hit]))


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(noise: bytes) -> None:
    found, lost = split_records(noise)
    assert sum(len(frame(one)) for one in found) + lost == len(noise)
