"""The framing of records: reading with NumPy alone, damage, and what is skipped."""

import struct

import numpy as np
import pytest

import cynet as mx
from cynet.recordio import framing
from cynet.recordio.framing import MAGIC, RecordFile, frame_record

WORD = struct.pack("<I", MAGIC)


def parts_with_numpy(content):
    """(kind, bytes) of each part of a file, by a loop over NumPy's uint32 of it."""
    words, at, found = np.frombuffer(content, "<u4"), 0, []
    while at < len(words):
        assert words[at] == 0xCED7230A
        kind, length = int(words[at + 1]) >> 29, int(words[at + 1]) & 0x1FFFFFFF
        found.append((kind, words[at + 2 :].tobytes()[:length]))
        at += 2 + -(-length // 4)
    return found


def made(path, *records):
    path.write_bytes(b"".join(b"".join(frame_record(each)) for each in records))
    return RecordFile(path)


@pytest.mark.parametrize(
    "record, parts",
    [
        (b"", [(0, b"")]),
        (b"abcde", [(0, b"abcde")]),
        (WORD, [(1, b""), (3, b"")]),
        (b"abc" + WORD, [(0, b"abc" + WORD)]),
        (b"abcd" + WORD + b"x", [(1, b"abcd"), (3, b"x")]),
        (WORD + b"abcd" + WORD, [(1, b""), (2, b"abcd"), (3, b"")]),
    ],
)
def test_parts(tmp_path, record, parts):
    content = b"".join(frame_record(record))
    assert parts_with_numpy(content) == parts
    file = made(tmp_path / "a.rec", record, b"next")
    assert file.read(0) == (record, len(content))
    assert file.read_at(len(content))[0] == b"next"
    assert list(file.record_offsets()) == [0, len(content)]


def test_random_records(tmp_path, rng):
    records = []
    for _ in range(200):
        words = rng.choice([MAGIC, 0, 1 << 29], rng.integers(0, 9)).astype("<u4").tobytes()
        records.append(words + bytes(rng.integers(0, 256, rng.integers(0, 5), dtype=np.uint8)))
    file, at = made(tmp_path / "a.rec", *records), 0
    for record in records:
        found, at = file.read(at)
        assert found == record
    assert file.read(at) == (None, at) and at == file.size


def test_a_writer_goes_on_behind_the_end(tmp_path):
    path = tmp_path / "a.rec"
    file = made(path, b"one")
    _, at = file.read(0)
    assert file.read(at)[0] is None
    with open(path, "ab") as more:
        more.write(b"".join(frame_record(b"two")))
    assert file.read(at)[0] == b"two"


@pytest.mark.parametrize(
    "at, byte, says",
    [
        (12, 0xFF, "offset 12: a record begins with 0xced7230a, not"),
        (19, 0x80, "offset 12: there is no part of kind 4"),
        (19, 0x60, "offset 12: a part of kind 3 cannot stand here"),
        (17, 0xFF, "offset 12: 65284 bytes are said to follow, 16 do"),
    ],
)
def test_damage(tmp_path, at, byte, says):
    path = tmp_path / "a.rec"
    made(path, b"one1", b"two2", b"tri3")
    content = bytearray(path.read_bytes())
    content[at] = byte
    path.write_bytes(content)
    file = RecordFile(path)
    assert file.read(0) == (b"one1", 12)
    with pytest.raises(mx.errors.FormatError, match="damaged record at offset 12") as caught:
        file.read(12)
    assert "a.rec" in str(caught.value) and says in str(caught.value)
    assert file.next_record_offset(12) == 24
    skipped = []
    assert list(file.record_offsets(skipped.append)) == [0, 24] and len(skipped) == 1


def test_an_end_that_is_cut_off(tmp_path):
    path = tmp_path / "a.rec"
    made(path, b"abcd" + WORD + b"efgh")
    content = path.read_bytes()
    for length in range(1, len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(mx.errors.FormatError, match="offset"):
            RecordFile(path).read(0)


def test_damage_is_passed_in_long_files(tmp_path):
    """The next record is found across blocks, and the word where none begins is passed over."""
    path = tmp_path / "a.rec"
    rubbish = (b"\0" * 11 + WORD) * 60_000 + WORD
    path.write_bytes(rubbish + b"\0" * (-len(rubbish) % 4) + b"".join(frame_record(b"found")))
    file = RecordFile(path)
    at = file.next_record_offset(0)
    while file.read(at)[0] != b"found":
        at = file.next_record_offset(at)
    assert at == file.size - 16


def test_what_is_no_file_of_records(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file or directory"):
        RecordFile(tmp_path / "none.rec")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        RecordFile(tmp_path)
    file = made(tmp_path / "a.rec", b"one")
    with pytest.raises(IndexError, match="no record at offset 12: it has 12 bytes"):
        file.read_at(12)
    with pytest.raises(IndexError, match="has no record at offset -4: it has 12 bytes"):
        file.read_at(-4)
    file.close()
    with pytest.raises(mx.errors.StateError, match="is closed"):
        file.read(0)


@pytest.mark.parametrize("rest", range(4))
def test_records_behind_much_damage(tmp_path, rest):
    """More than is read at once: the next record begins in any block, and over its end."""
    path, one = tmp_path / "a.rec", b"".join(frame_record(b"one"))
    for size in (0, 1, 2, 3):
        for beyond in (-12, -8, -4, 0, 4):
            length = max(size * framing._READ_AHEAD_BYTES + beyond, 0) // 4 * 4
            path.write_bytes(one + b"\x0a" * length + one + one)
            file = RecordFile(path)
            offsets = list(file.record_offsets(skip=lambda error: None))
            behind = len(one) + length
            assert offsets == [0, behind, behind + len(one)], (size, beyond)
            assert file.read_at(offsets[1])[0] == b"one"
            file.close()
    path.write_bytes(one + b"\x0a" * (2 * framing._READ_AHEAD_BYTES + rest))
    file = RecordFile(path)
    assert file.next_record_offset(len(one)) == file.size
