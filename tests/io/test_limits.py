"""Exact limits, second settings and rare ways of readers: the largest that is taken, one more."""

import errno
import gzip
import io
import logging
import os
import threading

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, FileError, FormatError
from cynet.io import checkpoint, csv_iter, fetch, mnist, training_file, unpack
from cynet.io.rows_iter import check_float32, check_part, parse_flag
from cynet.ndarray.serialization import params_chunks
from tests.io.test_checkpoint import resumed, trained
from tests.io.test_mnist import idx
from tests.web import serving


# --- bytes ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 8, 9, 10, 11])
def test_so_many_bytes_are_read(size, monkeypatch):
    """And none of what follows, whatever the pieces."""
    monkeypatch.setattr(unpack, "_CHUNK_BYTES", 4)
    file = io.BytesIO(bytes(range(10)))
    assert unpack.read_exactly(file, size) == bytes(range(min(size, 10)))
    assert file.tell() == min(size, 10)


def test_an_array_from_a_pipe(tmp_path):
    """Whose size nobody can tell."""
    path, values = tmp_path / "pipe", np.arange(6, dtype="u1").reshape(2, 3)
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(idx(values)))
    thread.start()
    np.testing.assert_array_equal(mx.io.read_idx(path), values)
    thread.join()


@pytest.mark.parametrize("error", [OSError(errno.EIO, "the disk"), OSError("the data")])
def test_errors_of_a_disk_are_no_damage(error, tmp_path, monkeypatch):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"1\n"))

    def broken(self, size=-1):
        raise error

    monkeypatch.setattr(gzip.GzipFile, "read", broken)
    kind, said = (FileError, "disk") if error.errno else (FormatError, "data are damaged: the data")
    with pytest.raises(kind, match=said), unpack.read_unpacked_file(str(path)) as (file, _):
        file.read()


def csv_of(path, **more):
    return mx.io.CSVIter(str(path), (1,), **more)


@pytest.mark.parametrize(
    ("free", "times", "taken"),
    [(1000, 0, True), (999, 0, False), (0, 1, True), (0, 0, False), (1000, 1, True)],
)
def test_the_most_that_a_compressed_table_may_hold(free, times, taken, tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    packed = gzip.compress(b"1\n" * 500, mtime=0)
    path.write_bytes(packed)
    monkeypatch.setattr(csv_iter, "_MAX_UNCHECKED_BYTES", free)
    monkeypatch.setattr(csv_iter, "_MAX_SIZE_RATIO", times * -(-1000 // len(packed)))
    monkeypatch.setattr(csv_iter, "_BLOCK_CHARACTERS", 64)
    if taken:
        assert csv_of(path).num_data == 500
    else:
        with pytest.raises(FormatError, match="MB, more than 0 times the size"):
            csv_of(path)


@pytest.mark.parametrize("extra", [0, 1])
def test_the_longest_line(extra, tmp_path):
    """Of one number: 400 characters and a comment of 1024."""
    (tmp_path / "a.csv").write_text("1" + " " * (1423 + extra) + "\n2\n")
    if extra:
        with pytest.raises(FormatError, match="a line of more than 1424 characters"):
            csv_of(tmp_path / "a.csv")
    else:
        assert csv_of(tmp_path / "a.csv").num_data == 2


@pytest.mark.parametrize(
    ("cell", "options", "hint"),
    [
        ("x\n1\n", {}, "skip_header=1 leaves out"),
        ("x\n1\n", {"skip_header": 0}, "skip_header=1"),
        ("h\nx\n", {"skip_header": 1}, "usecols chooses columns of numbers"),
        ("1\n \n2\nNA\n", {}, "missing=0 takes"),
        ("1\nnull\n", {}, "missing=0 takes"),
        ("1\nnone\n", {}, "usecols chooses columns of numbers"),
    ],
)
def test_hints(cell, options, hint, tmp_path):
    (tmp_path / "a.csv").write_text(cell)
    with pytest.raises(FormatError, match=hint) as caught:
        csv_of(tmp_path / "a.csv", **options)
    hints = ("skip_header=1", "missing=0", "chooses columns of numbers")
    assert sum(each in str(caught.value) for each in hints) == 1


@pytest.mark.parametrize("missing", [None, 0])
def test_numbers_of_python_alone(missing, tmp_path):
    (tmp_path / "a.csv").write_text("1\n1_0\n")
    with pytest.raises(FormatError, match="could not convert string '1_0'"):
        csv_of(tmp_path / "a.csv", missing=missing)


@pytest.mark.parametrize(("most", "taken"), [(24, True), (23, False)])
def test_the_largest_array(most, taken, tmp_path, monkeypatch):
    """By the lengths that its header says, those of 0 left out."""
    monkeypatch.setattr(mnist, "_MAX_ARRAY_BYTES", most)
    for shape in ((2, 3, 4), (24, 0)):
        values = np.ones(shape, "u1")
        (tmp_path / "a").write_bytes(idx(values))
        if taken:
            np.testing.assert_array_equal(mx.io.read_idx(tmp_path / "a"), values)
        else:
            with pytest.raises(FormatError, match="no array has the shape"):
                mx.io.read_idx(tmp_path / "a")


@pytest.mark.parametrize(("axes", "taken"), [(1, True), (32, True), (33, False)])
def test_the_most_axes(axes, taken, tmp_path):
    (tmp_path / "a").write_bytes(
        idx(np.ones((1,), "u1"))[:3] + bytes([axes]) + bytes([0, 0, 0, 1]) * axes + b"\x01"
    )
    if taken:
        assert mx.io.read_idx(tmp_path / "a").shape == (1,) * axes
    else:
        with pytest.raises(FormatError, match="no array has the shape"):
            mx.io.read_idx(tmp_path / "a")


@pytest.mark.parametrize("content", [{}, {"meta": b"[1"}, {"meta": b"\xff"}])
def test_damaged_parts_of_ranks(content):
    arrays = {k: training_file.bytes_array(v) for k, v in content.items()}
    whole = training_file.bytes_array(b"".join(params_chunks(arrays)))
    with pytest.raises(FormatError, match="a.state: the part of a rank is damaged"):
        training_file.read_training_part(whole, "a.state")
    good = training_file.bytes_array(
        training_file.training_bytes({"a": 1}, {"x": mx.nd.ones(2)}, "w")
    )
    meta, found = training_file.read_training_part(good, "a.state")
    assert meta["a"] == 1 and found["x"].asnumpy().tolist() == [1, 1]


def test_other_errors_have_no_hint(tmp_path):
    (tmp_path / "a.csv").write_text("1\n2,3\n")
    with pytest.raises(FormatError, match=r"a.csv") as caught:
        csv_of(tmp_path / "a.csv")
    assert "usecols chooses" not in str(caught.value) and "skip_header" not in str(caught.value)


# --- flags and numbers ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "read"),
    [
        (True, True),
        (False, False),
        (1, True),
        (0, False),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("1", True),
        ("false", False),
        ("False", False),
        ("0", False),
        (None, False),
    ],
)
def test_flags(given, read):
    assert parse_flag(given) is read


@pytest.mark.parametrize("given", ["yes", "", "2", "truee"])
def test_what_is_no_flag(given):
    with pytest.raises(ArgumentError, match="True or False is expected, got"):
        parse_flag(given)


def test_the_dtypes_of_files():
    for dtype in (None, "float32", np.float32, np.dtype("float32")):
        check_float32(dtype, "Iter")
    for dtype in ("float64", np.int32, "float16"):
        with pytest.raises(ArgumentError, match="Iter: dtype is float32 or None, got"):
            check_float32(dtype, "Iter")


def test_parts():
    for index, count in ((0, 1), (0, 2), (1, 2), (6, 7)):
        check_part(index, count, "Iter")
    for index, count in ((-1, 1), (1, 1), (2, 2), (0, 0)):
        with pytest.raises(ArgumentError, match=f"part_index {index} must be from 0 to num_parts"):
            check_part(index, count, "Iter")
    for index, count in (("0", 1), (0, "1"), (0.0, 1), (0, None)):
        with pytest.raises(TypeError, match="must be an int, got"):
            check_part(index, count, "Iter")


def test_largest_shapes(tmp_path):
    (tmp_path / "a.svm").write_text("1 0:1\n")
    most = 1 << 31
    assert mx.io.LibSVMIter(tmp_path / "a.svm", (most,)).provide_data[0].shape == (1, most)
    with pytest.raises(ArgumentError, match="at least 1 and at most 2147483648 numbers"):
        mx.io.LibSVMIter(tmp_path / "a.svm", (most + 1,))


# --- downloads ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("most", "taken"), [(10, True), (9, False)])
def test_the_largest_download(most, taken, monkeypatch):
    monkeypatch.setattr(fetch, "MAX_DOWNLOAD_BYTES", most)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving({"/a": [b"0123456789"]}) as (url, _):
        if taken:
            assert fetch.fetch_bytes(f"{url}/a") == b"0123456789"
        else:
            with pytest.raises(FileError, match=f"{url}/a: more than 9 bytes"):
                fetch.fetch_bytes(f"{url}/a")


def test_how_urls_are_opened(monkeypatch):
    """With a limit of time; certificates are looked at unless that is not wanted."""
    import ssl
    import urllib.request

    seen = []

    def opened(request, **how):
        seen.append((request, how))
        raise TimeoutError

    monkeypatch.setattr(urllib.request, "urlopen", opened)
    for verify in (True, False):
        with pytest.raises(FileError, match="https://a: TimeoutError$"):
            fetch.fetch_bytes("https://a", verify)
    (first, plain), (_, trusting) = seen
    assert plain == {"timeout": 10} and first.get_header("User-agent") == "cynet"
    context = trusting.pop("context")
    assert trusting == plain
    assert context.verify_mode == ssl.CERT_NONE and not context.check_hostname


def test_the_first_error_is_told(monkeypatch):
    errors = {"a": [FileError("one"), FileError("two")], "b": [FileError("three")] * 2}

    def fetched(url):
        raise errors[url].pop(0)

    monkeypatch.setattr(fetch, "fetch_bytes", fetched)
    with pytest.raises(FileError, match="one"):
        fetch.fetch_first_valid(["a", "b"], bool)
    assert not any(errors.values())


# --- checkpoints ----------------------------------------------------------------------------------
def test_what_is_saved_is_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    prefix = str(tmp_path / "net")
    trained().save_checkpoint(prefix, 1, save_optimizer_states=True)
    assert [each.getMessage() for each in caplog.records] == [
        f'Saved optimizer state to "{prefix}-0001.states"',
        f'Saved checkpoint to "{prefix}-0001.params"',
    ]


def test_a_file_system_without_links(tmp_path, monkeypatch):
    """Old states are copied; a save that ends in between leaves the old pair whole."""

    def refused(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refused)
    prefix = str(tmp_path / "net")
    trained(1).save_checkpoint(prefix, 1, save_optimizer_states=True)
    weight = resumed(prefix, 1).get_params()[0]["fc_weight"].asnumpy()
    later = trained(2)

    class Stop(BaseException):
        pass

    with monkeypatch.context() as patch:
        finish = checkpoint.write_atomically

        def stopped(path, chunks):
            finish(path, chunks)
            if path.endswith(".states"):
                raise Stop("in between")

        patch.setattr(checkpoint, "write_atomically", stopped)
        with pytest.raises(Stop, match="in between"):
            later.save_checkpoint(prefix, 1, save_optimizer_states=True)
    assert (tmp_path / "net-0001.states.old").exists()
    assert checkpoint.states_path(prefix, 1) == f"{prefix}-0001.states.old"
    np.testing.assert_array_equal(resumed(prefix, 1).get_params()[0]["fc_weight"].asnumpy(), weight)
    for _ in range(2):  # the pair that is whole stays, however often the new one is stopped
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "write_atomically", stopped)
            with pytest.raises(Stop, match="in between"):
                later.save_checkpoint(prefix, 1, save_optimizer_states=True)
        assert checkpoint.states_path(prefix, 1) == f"{prefix}-0001.states.old"
    later.save_checkpoint(prefix, 1, save_optimizer_states=True)
    assert checkpoint.states_path(prefix, 1) == f"{prefix}-0001.states"
    assert not (tmp_path / "net-0001.states.old").exists()


def test_checkpoints_of_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mx.model.save_checkpoint("net", 3, None, {"w": mx.nd.ones(2)}, {})
    assert mx.model.find_checkpoint("net", states=False).params == "net-0003.params"
    assert list(mx.model.load_params("net", 3)[0]) == ["w"]
    checkpoint.check_prefix("net")


def test_folders_that_cannot_be_written_to(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="none does not exist; make it first"):
        checkpoint.check_prefix(str(tmp_path / "none" / "net"))
    asked = []
    monkeypatch.setattr(os, "access", lambda path, mode: asked.append((path, mode)))
    with pytest.raises(PermissionError, match=f"the folder {tmp_path} cannot be written to"):
        checkpoint.check_prefix(str(tmp_path / "net"))
    assert asked == [(str(tmp_path), os.W_OK | os.X_OK)]


# --- iterators ------------------------------------------------------------------------------------
def test_what_an_iterator_is_shown_with():
    made = mx.io.NDArrayIter({"a": np.ones((4, 2)), "b": np.ones(4)}, np.arange(4), 2)
    assert repr(made) == (
        "NDArrayIter(data=[('a', (2, 2)), ('b', (2,))], labels=[('softmax_label', (2,))],"
        " batch_size=2)"
    )
    assert repr(mx.io.NDArrayIter(np.ones(4))) == "NDArrayIter(data=[('data', (1,))], batch_size=1)"


def test_descriptions_that_are_renamed_keep_the_rest():
    class Inner(mx.io.DataIter):
        provide_data = [mx.io.DataDesc("a", (2, 3), np.int32, "NT"), ("b", (2,))]
        provide_label = [mx.io.DataDesc("l", (2,), np.int8, "N")]

        def next(self):
            raise StopIteration

    both = mx.io.PrefetchingIter([Inner(2), Inner(2)], [{"a": "c"}, {"b": "d"}], [{}, {"l": "k"}])
    told = [(d.name, d.shape, d.dtype, d.layout) for d in both.provide_data]
    assert told == [
        ("c", (2, 3), np.int32, "NT"),
        ("b", (2,), np.float32, "NCHW"),
        ("a", (2, 3), np.int32, "NT"),
        ("d", (2,), np.float32, "NCHW"),
    ]
    labels = [(d.name, d.shape, d.dtype, d.layout) for d in both.provide_label]
    assert labels == [("l", (2,), np.int8, "N"), ("k", (2,), np.int8, "N")]


def test_batches_made_ahead_have_all_that_they_had():
    """Also of iterators without labels."""

    class Inner(mx.io.DataIter):
        provide_data, provide_label = [mx.io.DataDesc("a", (1,))], []
        at = 0

        def next(self):
            self.at += 1
            if self.at > 2:
                raise StopIteration
            return mx.io.DataBatch([mx.nd.ones(1) * self.at], None, 3, np.array([self.at]), "key")

    batch = mx.io.PrefetchingIter(Inner(1)).next()
    assert (batch.pad, batch.index.tolist(), batch.bucket_key) == (3, [1], "key")
    assert batch.label == [] and batch.data[0].asscalar() == 1
    assert batch.provide_data == [("a", (1,))] and batch.provide_label == []


def test_orders_that_were_given_away_stay():
    made = mx.io.NDArrayIter(np.arange(50), batch_size=7, shuffle=True)
    state = made.state_dict()
    before = {k: np.copy(v) for k, v in state.items()}
    for _ in range(2):
        made.reset()
        list(made)
    assert all(np.array_equal(state[k], before[k]) for k in before)
