"""mx.recordio against files that MXNet 1.9.1 has written (tests/fixtures/expected_records.py)."""

import multiprocessing
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.expected_records import HEADERS, RECORDS

recordio = mx.recordio
FIXTURE = np.load(Path(__file__).parent.parent / "fixtures" / "records.npz")


@pytest.fixture
def files(tmp_path):
    for name in ("index", "records", "packed"):
        (tmp_path / name).write_bytes(FIXTURE[name].tobytes())
    return tmp_path


@pytest.fixture
def indexed(files):
    return recordio.MXIndexedRecordIO(files / "index", files / "records", "r")


def test_mxnet_s_records(files, indexed):
    record = recordio.MXRecordIO(files / "records", "r")
    assert [record.read() for _ in RECORDS] == RECORDS
    assert record.read() is None and record.read() is None
    record.reset()
    assert record.read() == RECORDS[0]
    assert indexed.keys == [3 * i for i in range(len(RECORDS))]
    for i in reversed(range(len(RECORDS))):
        assert indexed.read_idx(3 * i) == RECORDS[i]


def test_the_same_bytes_are_written(files, tmp_path):
    record = recordio.MXIndexedRecordIO(tmp_path / "a.idx", str(tmp_path / "a.rec"), "w")
    places = []
    for i, each in enumerate(RECORDS):
        places.append(record.tell())
        record.write_idx(3 * i, each)
    assert record.tell() == len(FIXTURE["records"])
    record.close()
    record.close()
    assert (
        list(recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r").idx.values())
        == places
    )
    assert (tmp_path / "a.idx").read_bytes() == FIXTURE["index"].tobytes()
    assert (tmp_path / "a.rec").read_bytes() == FIXTURE["records"].tobytes()
    record = recordio.MXRecordIO(tmp_path / "b.rec", "w")
    for header in HEADERS:
        record.write(recordio.pack(recordio.IRHeader(*header), b"image"))
    record.close()
    assert (tmp_path / "b.rec").read_bytes() == FIXTURE["packed"].tobytes()


def test_headers(files):
    record = recordio.MXRecordIO(files / "packed", "r")
    for _, label, id, id2 in HEADERS:
        header, content = recordio.unpack(record.read())
        assert content == b"image" and (header.id, header.id2) == (id, id2)
        if np.ndim(label):
            assert header.flag == len(label)
            if header.flag:
                assert header.label.dtype == np.float32
            assert np.array_equal(np.ravel(header.label), [0.0] if len(label) == 0 else label)
        else:
            assert header.flag == 0 and header.label == label
    assert repr(header).startswith("IRHeader(flag=6, label=array(")


def test_headers_that_are_wrong():
    header = recordio.IRHeader(0, 1.0, -1, 0)
    with pytest.raises(ValueError, match="id and id2 are ints"):
        recordio.pack(header, b"")
    with pytest.raises(TypeError, match="s is bytes, got str"):
        recordio.pack(recordio.IRHeader(0, 1.0, 1, 0), "text")
    with pytest.raises(mx.errors.FormatError, match="24 bytes of header, this has 5"):
        recordio.unpack(b"short")
    packed = recordio.pack(recordio.IRHeader(0, [1.0, 2.0, 3.0], 1, 0), b"")
    with pytest.raises(mx.errors.FormatError, match="3 numbers, and has 8 bytes"):
        recordio.unpack(packed[:-4])


def test_after_a_key(indexed):
    indexed.seek(6)
    assert indexed.read() == RECORDS[2] and indexed.read() == RECORDS[3]
    assert indexed.read_idx(0) == RECORDS[0] and indexed.read() == RECORDS[1]
    with pytest.raises(KeyError, match="has no key 1, but 13 others"):
        indexed.read_idx(1)


def test_keys_of_other_types(tmp_path):
    paths = tmp_path / "a.idx", tmp_path / "a.rec"
    record = recordio.MXIndexedRecordIO(*paths, "w", key_type=str)
    record.write_idx("a b", b"x")
    record.write_idx("a", b"xx")
    with pytest.raises(ValueError, match="must not have tabs"):
        record.write_idx("a\tb", b"")
    record.close()
    assert paths[0].read_bytes() == b"a b\t0\na\t12\n"
    assert recordio.MXIndexedRecordIO(*paths, "r", key_type=str).read_idx("a") == b"xx"


def test_wrong_calls(files, indexed, tmp_path):
    writer = recordio.MXRecordIO(tmp_path / "w.rec", "w")
    for wrong in (
        lambda: indexed.write(b""),
        lambda: indexed.write_idx(0, b""),
        indexed.tell,
        writer.read,
    ):
        with pytest.raises(mx.errors.StateError, match="flag"):
            wrong()
    for wrong in ("text", 3, None, np.zeros(3, np.uint8)):
        with pytest.raises(TypeError, match="a record is bytes"):
            writer.write(wrong)
    writer.close()
    with pytest.raises(RuntimeError, match="closed"):
        writer.write(b"")
    with pytest.raises(ValueError, match="flag"):
        recordio.MXRecordIO(files / "records", "a")
    with pytest.raises(FileNotFoundError, match="none"):
        recordio.MXRecordIO(files / "none", "r")
    with pytest.raises(FileNotFoundError, match="none"):
        recordio.MXIndexedRecordIO(files / "none", files / "records", "r")


def test_a_writer_that_is_reset_begins_anew(tmp_path):
    record = recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    record.write_idx(1, b"one")
    record.reset()
    assert record.tell() == 0 and not record.keys
    record.write_idx(2, b"two")
    record.close()
    record = recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")
    assert record.keys == [2] and record.read() == b"two"


def test_pickling(files, indexed, tmp_path):
    indexed.read()
    again = pickle.loads(pickle.dumps(indexed))
    assert again.read() == RECORDS[0] and again.read_idx(9) == RECORDS[3]
    assert indexed.read() == RECORDS[1]
    indexed.close()
    assert not pickle.loads(pickle.dumps(indexed)).is_open
    with pytest.raises(mx.errors.StateError, match="cannot be pickled"):
        pickle.dumps(recordio.MXRecordIO(tmp_path / "w.rec", "w"))


def _in_a_child(indexed, plain, writer, answers):
    found = [indexed.read_idx(6) == RECORDS[2]]
    for call in (plain.read, lambda: writer.write(b"child")):
        try:
            call()
            found.append(False)
        except mx.errors.StateError as error:
            found.append("another process" in str(error))
    plain.reset()
    found.append(plain.read() == RECORDS[0])
    answers.put(found)


def test_after_fork(files, indexed, tmp_path):
    plain = recordio.MXRecordIO(files / "records", "r")
    writer = recordio.MXRecordIO(tmp_path / "w.rec", "w")
    plain.read()
    writer.write(b"parent")
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    child = fork.Process(target=_in_a_child, args=(indexed, plain, writer, answers))
    child.start()
    assert answers.get(timeout=60) == [True] * 4
    child.join()
    assert plain.read() == RECORDS[1]
    writer.write(b"more")
    writer.close()
    again = recordio.MXRecordIO(tmp_path / "w.rec", "r")
    assert [again.read() for _ in range(3)] == [b"parent", b"more", None]


def test_threads_read_at_once(indexed):
    wrong = []

    def run(seed):
        for i in np.random.RandomState(seed).randint(0, len(RECORDS), 2000):
            if indexed.read_idx(3 * i) != RECORDS[i]:
                wrong.append(i)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


@pytest.mark.parametrize("read", ["read", "read_idx"])
def test_a_read_while_the_file_is_closed_is_of_that_file(indexed, tmp_path, monkeypatch, read):
    """Another file may get the number of the closed one: its bytes are not what a read gives. A
    record that takes one more read is refused."""
    other = tmp_path / "other"
    other.write_bytes(bytes(10**5))
    pread, kept = os.pread, []

    def closed_in_between(*args):
        indexed.close()
        kept.append(open(other, "rb"))  # noqa: SIM115
        return pread(*args)

    monkeypatch.setattr(os, "pread", closed_in_between)
    call = indexed.read if read == "read" else lambda: indexed.read_idx(3 * 4)
    if read == "read":
        assert call() == RECORDS[0]
    else:
        with pytest.raises(RuntimeError, match="is closed"):
            call()
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="is closed"):
        call()
    for each in kept:
        each.close()
    assert len(kept) == 1


@pytest.mark.parametrize("kind", ["plain", "indexed"])
def test_threads_that_write_while_it_is_closed(tmp_path, kind):
    """Each record is in the file whole, or its writer is told that the file is closed."""
    names = [tmp_path / "index", tmp_path / "records"]
    for _ in range(20):
        if kind == "plain":
            writer = recordio.MXRecordIO(names[1], "w")
        else:
            writer = recordio.MXIndexedRecordIO(*names, "w")
        written, refused = [], []

        def run(i, writer=writer, written=written, refused=refused):
            try:
                for k in range(100 * i, 100 * i + 100):
                    if i == 0 and k == 20:
                        writer.close()
                    writer.write(numbered(k)) if kind == "plain" else writer.write_idx(
                        k, numbered(k)
                    )
                    written.append(numbered(k))
            except mx.base.MXNetError as error:
                refused.append(str(error))

        in_threads(run)
        assert refused and {each[-9:] for each in refused} == {"is closed"}
        reader = recordio.MXRecordIO(names[1], "r")
        assert sorted(iter(reader.read, None)) == sorted(written)
        reader.close()


def test_damage_is_skipped_on_request(files):
    content = bytearray((files / "records").read_bytes())
    content[8:12] = b"\0\0\0\0"  # the second record's first word; the first has no bytes
    (files / "records").write_bytes(content)
    record = recordio.MXRecordIO(files / "records", "r")
    assert record.read() == b""
    for _ in range(2):
        with pytest.raises(mx.errors.FormatError, match=r"records': damaged record at offset 8:"):
            record.read()
    record = recordio.MXRecordIO(files / "records", "r", skip_damaged=True)
    found = list(iter(record.read, None))
    assert found == [RECORDS[0], *RECORDS[2:]] and record.skipped == 1
    indexed = recordio.MXIndexedRecordIO(files / "index", files / "records", "r", skip_damaged=True)
    with pytest.raises(mx.errors.FormatError, match="offset 8"):
        indexed.read_idx(3)


def test_an_index_that_is_wrong(files):
    index, records = files / "index", files / "records"
    index.write_bytes(b"0\t0\n3\t100000000\n")
    with pytest.raises(IndexError, match="no record at offset 100000000: it has"):
        recordio.MXIndexedRecordIO(index, records, "r").read_idx(3)
    for line in (b"3", b"3 4", b"3\tx", b"x\t3", b"\xff\t3", b"3\t-4", b""):
        index.write_bytes(b"0\t0\n" + line + b"\n")
        with pytest.raises(mx.errors.FormatError, match=r"index'.*, line 2"):
            recordio.MXIndexedRecordIO(index, records, "r")


THREADS = 8


def in_threads(run):
    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def numbered(i):
    return i.to_bytes(4, "little") * (1 + i % 500)


@pytest.mark.parametrize("skip_damaged", [False, True])
@pytest.mark.parametrize("kind", ["plain", "indexed"])
def test_threads_read_each_record_once(tmp_path, kind, skip_damaged):
    names = [tmp_path / "index", tmp_path / "records"]
    writer = recordio.MXIndexedRecordIO(*names, "w")
    for i in range(2000):
        writer.write_idx(i, numbered(i))
    writer.close()
    if kind == "plain":
        reader = recordio.MXRecordIO(names[1], "r", skip_damaged)
    else:
        reader = recordio.MXIndexedRecordIO(*names, "r", skip_damaged=skip_damaged)
    for _ in range(2):
        got = []
        in_threads(lambda _: got.extend(iter(reader.read, None)))  # noqa: B023
        assert sorted(got) == sorted(numbered(i) for i in range(2000))
        reader.reset()


@pytest.mark.parametrize("kind", ["plain", "indexed"])
def test_threads_write_whole_records(tmp_path, kind):
    names = [tmp_path / "index", tmp_path / "records"]
    indexed = kind == "indexed"
    writer = recordio.MXIndexedRecordIO(*names, "w") if indexed else None
    writer = writer or recordio.MXRecordIO(names[1], "w")

    def write(number):
        for i in range(number, 1600, THREADS):
            if indexed:
                writer.write_idx(i, numbered(i))
            else:
                writer.write(numbered(i))

    in_threads(write)
    writer.close()
    if indexed:
        reader = recordio.MXIndexedRecordIO(*names, "r")
        assert sorted(reader.keys) == list(range(1600))
        assert all(reader.read_idx(i) == numbered(i) for i in reader.keys)
    else:
        reader = recordio.MXRecordIO(names[1], "r")
        assert sorted(iter(reader.read, None)) == sorted(numbered(i) for i in range(1600))
