"""Every iterator says where it is, and another one goes on there."""

import random
import struct

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.box_batches import write as write_boxes
from tests.fixtures.record_batches import write

DATA = np.arange(22, dtype=np.float32).reshape(11, 2)


@pytest.fixture
def folder(tmp_path):
    np.savetxt(tmp_path / "a.csv", DATA, delimiter=",")
    (tmp_path / "a.svm").write_text("".join(f"{i} 0:{i} 1:{2 * i}\n" for i in range(11)))
    (tmp_path / "images").write_bytes(struct.pack(">HBB3I", 0, 8, 3, 11, 2, 2) + bytes(range(44)))
    (tmp_path / "labels").write_bytes(struct.pack(">HBBI", 0, 8, 1, 11) + bytes(range(11)))
    write(mx.recordio, tmp_path / "a.rec")
    write_boxes(mx.recordio, tmp_path / "b.rec")
    return tmp_path


def array_iter(folder, **more):
    return mx.io.NDArrayIter(DATA, np.arange(11), 3, shuffle=True, **more)


def csv_iter(folder, **more):
    return mx.io.CSVIter(data_csv=folder / "a.csv", data_shape=(2,), batch_size=3, **more)


def image_iter(folder, **more):
    return mx.image.ImageIter(
        2, (3, 8, 8), path_imgrec=folder / "a.rec", shuffle=True, rand_crop=True, **more
    )


ITERATORS = {
    "array": array_iter,
    "array_roll_over": lambda f: array_iter(f, last_batch_handle="roll_over"),
    "csv": csv_iter,
    "csv_no_round": lambda f: csv_iter(f, round_batch=False),
    "libsvm": lambda f: mx.io.LibSVMIter(f / "a.svm", (2,), batch_size=4),
    "mnist": lambda f: mx.io.MNISTIter(f / "images", f / "labels", batch_size=3, seed=2),
    "records": lambda f: mx.io.ImageRecordIter(
        path_imgrec=f / "a.rec", data_shape=(3, 8, 8), batch_size=2, shuffle=True, rand_crop=True
    ),
    "boxes": lambda f: mx.io.ImageDetRecordIter(
        path_imgrec=f / "b.rec", data_shape=(3, 8, 8), batch_size=2, rand_mirror_prob=0.5
    ),
    "images": image_iter,
    "images_roll_over": lambda f: image_iter(f, last_batch_handle="roll_over"),
    "images_with_boxes": lambda f: mx.image.ImageDetIter(
        2, (3, 8, 8), path_imgrec=f / "b.rec", shuffle=True, rand_mirror=True, skip_damaged=True
    ),
    "resized": lambda f: mx.io.ResizeIter(csv_iter(f), 6),
    "resized_on": lambda f: mx.io.ResizeIter(array_iter(f), 5, reset_internal=False),
    "ahead": lambda f: mx.io.PrefetchingIter([csv_iter(f), csv_iter(f)]),
    "sentences": lambda f: mx.rnn.BucketSentenceIter(
        [[i % 7 + 1] * (i % 3 + 1) for i in range(30)], 4, buckets=[1, 2, 3], invalid_label=0
    ),
    "resized_ahead": lambda f: mx.io.PrefetchingIter(mx.io.ResizeIter(csv_iter(f), 5)),
}


def seeded(number):
    random.seed(number)
    np.random.seed(number)


def kept():
    return random.getstate(), np.random.get_state()


def put_back(state):
    random.setstate(state[0])
    np.random.set_state(state[1])


def content(batch):
    return [x.asnumpy() for x in (*batch.data, *batch.label)], batch.pad


def steps(iterator, count):
    """The next `count` batches, over the ends of epochs."""
    out = []
    while len(out) < count:
        try:
            out.append(content(iterator.next()))
        except StopIteration:
            iterator.reset()
    return out


@pytest.mark.parametrize("name", ITERATORS)
@pytest.mark.parametrize("before", [0, 1, 3, 4, 7])
def test_goes_on(folder, name, before):
    seeded(5)
    first = ITERATORS[name](folder)
    steps(first, before)
    state, generators = first.state_dict(), kept()
    wanted = steps(first, 6)  # what it does afterwards must not change the state it gave away
    seeded(99)
    second = ITERATORS[name](folder)
    second.load_state_dict(state)
    put_back(generators)
    found = steps(second, 6)
    for (arrays, pad), (expected, expected_pad) in zip(found, wanted):
        assert pad == expected_pad
        assert all(np.array_equal(a, b) for a, b in zip(arrays, expected))


@pytest.mark.parametrize("name", ITERATORS)
def test_load_and_save_is_the_identity_everywhere(folder, name):
    """Behind each batch of an epoch, behind the last one, and where ``next`` has said that it was:
    a state loaded, saved and loaded again goes on as the first one does."""
    for before in range(9):
        seeded(before)
        first = ITERATORS[name](folder)
        count = 0
        while count < before:  # the end counts as a step, and the next one begins an epoch
            try:
                first.next()
            except StopIteration:
                count += 1
                if count == before:
                    break
                first.reset()
            count += 1
        state, generators = plain(first.state_dict()), kept()
        wanted = rest(first)
        for times in (1, 2):
            seeded(99)
            last = ITERATORS[name](folder)
            last.load_state_dict(state)
            for _ in range(times - 1):
                again, last = last, ITERATORS[name](folder)
                last.load_state_dict(again.state_dict())
            put_back(generators)
            assert same_state(plain(last.state_dict()), state)
            assert same(rest(last), wanted)


def plain(state):
    """A copy, which nothing changes."""
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in state.items()}


def same_state(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


def rest(iterator):
    """What is left of an epoch, and a batch of the next."""
    out = []
    while True:
        try:
            out.append(content(iterator.next()))
        except StopIteration:
            iterator.reset()
            return [*out, None, content(iterator.next())]


def same(found, wanted):
    if len(found) != len(wanted):
        return False
    pairs = [(a, b) for a, b in zip(found, wanted) if a is not None or b is not None]
    return all(
        a is not None and b is not None and a[1] == b[1] and all(map(np.array_equal, a[0], b[0]))
        for a, b in pairs
    )


ONE, MANY = [1], 10**6
WRONG = ["x", None, ONE, -99, MANY, 1.5, float("nan"), np.array([[1]]), np.array([-1]), {}, b"1"]


@pytest.mark.parametrize("name", ITERATORS)
def test_states_that_are_none(folder, name):
    """Each entry of each iterator's state damaged, left out, or added to; the iterator stays where
    it is."""
    seeded(3)
    iterator = ITERATORS[name](folder)
    iterator.next()
    state = plain(iterator.state_dict())
    damaged = [None, {}, [], {"cursor": -1, "rows": 11, "cur": -9, "seq": [1], "left": []}]
    damaged.append({**state, "another": 1})
    for key, value in state.items():
        optional = key.endswith(("began", "records"))
        if not optional:
            damaged.append({k: v for k, v in state.items() if k != key})
        possible = {"rolled": ONE, "left": ONE, "epoch": MANY}.get(key.rpartition(".")[2])
        damaged += [{**state, key: each} for each in WRONG if each is not possible]
        if isinstance(value, np.ndarray) and value.size:
            damaged += [
                {**state, key: each}
                for each in (value[:-1], value.astype(float) * np.nan, np.zeros_like(value) - 1)
                if not key.endswith(("rolled", "left"))
                and ".data" not in key
                and not key.startswith("data")
            ]
    for each in damaged:
        with pytest.raises(mx.errors.FormatError, match="a state of|there is no such"):
            iterator.load_state_dict(each)
    kept_state, generators = plain(iterator.state_dict()), kept()
    assert same_state(kept_state, state)
    found = content(iterator.next())
    seeded(99)
    other = ITERATORS[name](folder)
    other.load_state_dict(state)
    put_back(generators)
    assert same([found], [content(other.next())])


def test_of_other_numbers_of_samples(folder):
    write(mx.recordio, folder / "a.rec")
    cases = {
        "array": lambda f: mx.io.NDArrayIter(DATA[:7], np.arange(7), 3),
        "csv": None,
        "records": None,
        "images": None,
    }
    states = {name: ITERATORS[name](folder).state_dict() for name in cases}
    reader = mx.recordio.MXRecordIO(str(folder / "a.rec"), "r")
    records = [reader.read() for _ in range(3)]
    writer = mx.recordio.MXRecordIO(str(folder / "a.rec"), "w")
    for each in records:
        writer.write(each)
    writer.close()
    np.savetxt(folder / "a.csv", DATA[:5], delimiter=",")
    for name, make in cases.items():
        with pytest.raises(mx.errors.FormatError, match="a state of"):
            (make or ITERATORS[name])(folder).load_state_dict(states[name])


def test_of_another_file(folder):
    state = csv_iter(folder).state_dict()
    np.savetxt(folder / "a.csv", DATA[:5], delimiter=",")
    with pytest.raises(mx.errors.FormatError, match="a state of 11 rows for 5 rows"):
        csv_iter(folder).load_state_dict(state)


class Plain(mx.io.DataIter):
    """An iterator that cannot say where it is."""

    provide_data = [mx.io.DataDesc("data", (1, 2))]
    provide_label = []

    def next(self):
        raise StopIteration


def test_around_an_iterator_without_state():
    for iterator in (mx.io.ResizeIter(Plain(1), 3), mx.io.PrefetchingIter(Plain(1))):
        assert not hasattr(iterator, "state_dict")
        with pytest.raises(AttributeError, match="Plain inside has no state_dict"):
            iterator.state_dict()


# --- what iterators over files have in common -----------------------------------------------------
def test_interface(folder):
    for name in ("csv", "libsvm", "mnist", "records", "boxes"):
        iterator = ITERATORS[name](folder)
        assert isinstance(iterator, mx.io.MXDataIter)
        with pytest.raises(mx.errors.StateError, match="is at no batch"):
            iterator.getdata()
        assert iterator.iter_next()
        assert iterator.getdata().shape == iterator.provide_data[0].shape
        assert iterator.getlabel().shape == iterator.provide_label[0].shape
        assert iterator.getpad() == 0 and iterator.getindex().dtype == np.uint64
        while iterator.iter_next():
            pass
        with pytest.raises(mx.errors.StateError, match="is at no batch"):
            iterator.getlabel()
        iterator.reset()
        iterator.debug_skip_load()
        first = content(iterator.next())[0]
        for _ in range(20):
            again = content(iterator.next())[0]
        assert all(np.array_equal(a, b) for a, b in zip(first, again))
    with pytest.raises(TypeError, match=r"made by mx\.io\.CSVIter"):
        mx.io.MXDataIter("a handle")


@pytest.mark.parametrize("make", [csv_iter, ITERATORS["mnist"], ITERATORS["libsvm"]])
def test_parameters_of_mxnet(folder, make):
    """All that 1.9.1 documents are taken; what they would change is refused, so are others."""
    kind, path = {
        csv_iter: (mx.io.CSVIter, {"data_csv": folder / "a.csv", "data_shape": (2,)}),
        ITERATORS["mnist"]: (
            mx.io.MNISTIter,
            {"image": folder / "images", "label": folder / "labels"},
        ),
        ITERATORS["libsvm"]: (
            mx.io.LibSVMIter,
            {"data_libsvm": folder / "a.svm", "data_shape": (2,)},
        ),
    }[make]
    taken = kind(batch_size=2, prefetch_buffer=2, ctx="cpu", dtype=None, **path)
    assert next(taken).data[0].dtype == np.float32
    with pytest.raises(TypeError, match="round_bach"):
        kind(batch_size=2, round_bach=True, **path)
    if kind is not mx.io.CSVIter:
        with pytest.raises(ValueError, match="dtype is float32 or None"):
            kind(batch_size=2, dtype="int32", **path)
