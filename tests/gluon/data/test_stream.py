"""Streamed datasets: the same samples for any workers, and a state from which one goes on."""

import itertools
import json

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data import (
    ArrayDataset,
    DataLoader,
    IterableDataset,
    SequentialSampler,
    sample_generator,
)

WORKERS = [(0, False), (2, False), (3, False), (2, True)]


class Count(IterableDataset):
    """0, 1, 2, ...; a subclass without a source."""

    def __init__(self, length):
        self.length = length

    def __iter__(self):
        yield from range(self.length)


class Seeking:
    """An iterable of another package that can be put back, as those of Hugging Face: each loop
    begins at the state that was loaded last, and its state is one dict. It counts what was read."""

    def __init__(self, length, broken=None):
        self.length, self.broken = length, broken
        self.start, self.state, self.read, self.epochs = 0, {"at": 0}, 0, []

    def __iter__(self):
        for i in range(self.start, self.length):
            if i == self.broken:
                raise ValueError("the disk")
            self.state["at"], self.read = i + 1, self.read + 1
            yield np.array([i])

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.start = state["at"]
        self.state = state

    def set_epoch(self, number):
        self.epochs.append(number)


def noisy(x):
    return np.float64(x) + sample_generator().uniform()


def values(batches):
    return [batch.asnumpy().ravel().tolist() for batch in batches]


def loader_of(stream, size=3, workers=(0, False), **settings):
    count, threads = workers
    return DataLoader(stream, size, num_workers=count, thread_pool=threads, **settings)


# --- streams --------------------------------------------------------------------------------------
def test_what_a_stream_is_made_of():
    assert list(IterableDataset([1, 2])) == list(IterableDataset(lambda: iter([1, 2]))) == [1, 2]
    assert list(IterableDataset({3: 1})) == [3] and list(Count(3)) == [0, 1, 2]
    stream = IterableDataset(itertools.count)
    assert list(stream.take(2)) == list(stream.take(2)) == [0, 1]  # anew
    for bad in (iter([1]), (i for i in ()), open):
        if bad is not open:
            with pytest.raises(mx.errors.ArgumentTypeError, match="gives its samples once"):
                IterableDataset(bad)
    for bad in (3, 1.5):
        with pytest.raises(mx.errors.ArgumentTypeError, match="what can be iterated"):
            IterableDataset(bad)
    with pytest.raises(mx.errors.UndefinedError, match="IterableDataset has no source"):
        iter(IterableDataset())
    with pytest.raises(mx.errors.ArgumentTypeError, match="transform takes a function"):
        Count(3).transform(3)


def test_changes_are_those_of_itertools():
    stream, plain = Count(23), range(23)
    for shards in (1, 2, 5, 30):
        for i in range(shards):
            assert list(stream.shard(shards, i)) == list(plain)[i::shards]
    for count in (0, 1, 22, 23, 99):
        assert list(stream.take(count)) == list(plain)[:count]
    assert list(stream.filter(lambda x: x % 3 == 0)) == list(plain)[::3]
    assert list(stream.transform(str).filter(lambda x: len(x) > 1).take(2)) == ["10", "11"]
    pairs = IterableDataset([(1, "a"), (2, "b")])
    assert list(pairs.transform_first(lambda x: -x)) == [(-1, "a"), (-2, "b")]
    assert list(pairs.transform(lambda n, text: text * n)) == ["a", "bb"]
    assert len(IterableDataset([1, 2, 3]).transform(str)._source._source) == 3
    for call in (lambda: stream.shard(3, 3), lambda: stream.shard(3, -1), lambda: stream.take(-1)):
        with pytest.raises(mx.errors.CynetError, match=r"none has index|0 or more"):
            call()
    with pytest.raises(mx.errors.ArgumentError, match="1 or more"):
        stream.shuffle(0)


@pytest.mark.parametrize("size", [1, 2, 7, 23, 100])
def test_shuffled_streams_have_all_samples_near_their_places(size, seed):
    mx.random.seed(seed)
    stream = Count(23).shuffle(size)
    first, second = list(stream), list(stream)
    assert sorted(first) == sorted(second) == list(range(23))
    assert all(place >= x - size for place, x in enumerate(first))  # none comes before it is held
    assert (first == second) == (size == 1) or size == 2
    mx.random.seed(seed)
    assert [list(stream), list(stream)] == [first, second]


# --- loaders --------------------------------------------------------------------------------------
@pytest.mark.parametrize("last_batch", [None, "keep", "discard"])
def test_batches_are_the_same_for_any_workers(last_batch, seed):
    stream, found = Count(11).shuffle(4).transform(noisy), []
    for workers in WORKERS:
        mx.random.seed(seed)
        loader = loader_of(stream, workers=workers, last_batch=last_batch)
        found.append([values(loader), values(loader)])
        loader.close()
    assert all(each == found[0] for each in found)
    sizes = [3, 3, 3, 2][: 3 if last_batch == "discard" else 4]
    assert [[len(batch) for batch in epoch] for epoch in found[0]] == [sizes, sizes]
    if last_batch != "discard":
        whole = sorted(int(x) for batch in found[0][0] for x in batch)
        assert whole == list(range(11))


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("given", [0, 1, 3, 4])
def test_a_state_goes_on_exactly(workers, given, seed):
    """In another loader, with another number of workers, through JSON."""
    stream = Count(11).shuffle(4).filter(lambda x: x != 5).transform(noisy)
    mx.random.seed(seed)
    loader = loader_of(stream, workers=workers)
    values(loader)  # the second epoch is saved
    batches = iter(loader)
    begin = values(itertools.islice(batches, given))
    state = json.loads(json.dumps(loader.state_dict()))
    wanted = [values(batches), values(loader)]
    assert sum(map(len, begin)) + sum(map(len, wanted[0])) == 10
    for others in WORKERS:
        mx.random.seed(seed)
        after = loader_of(stream, workers=others)
        after.load_state_dict(state)
        found = [values(after), values(after)]
        assert found == wanted
        after.close()
    loader.close()


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_source_that_seeks_is_put_back_and_read_once(workers, wrapped):
    def stream():
        source = Seeking(20)
        return source, IterableDataset(source).transform(lambda x: 2 * x) if wrapped else source

    source, given = stream()
    loader = loader_of(given, 3, workers)
    batches = iter(loader)
    next(batches), next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["stream"] == {"at": 6}  # not where workers have read ahead
    wanted = values(batches)
    source, given = stream()
    after = loader_of(given, 3, workers)
    after.load_state_dict(state)
    assert after.state_dict()["stream"] == {"at": 6}
    assert values(after) == wanted and source.read == 14
    factor = 1 + wrapped
    assert sum(map(len, values(after))) == 20 and source.read == 34  # the next epoch is whole
    assert wanted[0] == [factor * i for i in (6, 7, 8)] and source.epochs == [0, 1]
    for each in (loader, after):
        each.close()
    with pytest.raises(mx.errors.FormatError, match="a stream with load_state_dict"):
        loader_of(Count(20)).load_state_dict(state)
    with pytest.raises(mx.errors.FormatError, match="a stream with load_state_dict"):
        DataLoader(ArrayDataset(np.arange(20)), 3).load_state_dict(state)


def test_numbers_of_samples_behind_a_place():
    loader = loader_of(Seeking(20))
    next(iter(loader))
    after = loader_of(Seeking(20, broken=8))
    after.load_state_dict(loader.state_dict())
    batches = iter(after)
    assert values([next(batches)]) == [[3, 4, 5]]
    with pytest.raises(ValueError, match=r"the disk \(DataLoader: in the stream, at sample 8\)"):
        next(batches)


def test_a_state_behind_the_end_of_a_stream():
    loader = loader_of(Count(5))
    batches = iter(loader)
    values(itertools.islice(batches, 2))
    state = loader.state_dict()
    shorter = loader_of(Count(3))
    shorter.load_state_dict(state)
    with pytest.raises(mx.errors.FormatError, match="behind 2 batches of an epoch that has 1"):
        iter(shorter)


def test_streams_have_no_indices():
    for settings in (
        {"shuffle": True},
        {"sampler": SequentialSampler(3)},
        {"batch_sampler": [[0]]},
    ):
        size = None if "batch_sampler" in settings else 2
        with pytest.raises(mx.errors.ArgumentError, match="a stream has no indices"):
            DataLoader(Count(3), size, **settings)
    with pytest.raises(mx.errors.ArgumentError, match="keeps indices"):
        DataLoader(Count(3), 2, last_batch="rollover")
    with pytest.raises(mx.errors.ArgumentError, match="give a batch_size"):
        DataLoader(Count(3))
    with pytest.raises(mx.errors.ArgumentTypeError, match="gives its samples once"):
        DataLoader((i for i in range(3)), 2)


def test_lengths_where_they_are_known():
    assert len(loader_of(IterableDataset(list(range(10))).transform(str), 3)) == 4
    with pytest.raises(
        TypeError, match="_IteratorTransform is a stream, whose length is not known"
    ):
        len(loader_of(Count(10).filter(bool)))
    assert "stream Count" in repr(loader_of(Count(10)))


@pytest.mark.parametrize("workers", WORKERS)
def test_errors_name_the_sample_behind_the_batches_before_it(workers):
    def broken():
        yield from range(7)
        raise ValueError("the disk")

    batches = iter(loader_of(IterableDataset(broken), 3, workers))
    assert values([next(batches), next(batches)]) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match=r"the disk \(DataLoader: in the stream, at sample 7\)"):
        next(batches)
    batches = iter(loader_of(Count(9).transform(lambda x: 1 // (x - 4)), 3, workers))
    next(batches)
    with pytest.raises(ZeroDivisionError, match=r"in sample 4\)"):
        next(batches)


def test_any_iterable_without_a_length_is_a_stream():
    class Lines:
        def __iter__(self):
            return iter([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    class OfTorch(Lines):
        def __getitem__(self, index):
            raise NotImplementedError

    for kind in (Lines, OfTorch):
        loader = DataLoader(kind(), 2)
        assert values(loader) == values(loader) == [[1, 2, 3, 4], [5, 6]]


def test_training_by_the_estimator_and_its_exact_resume(seed):
    """A network trained from a stream has the weights of one that was trained from arrays."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(40, 3)).astype("float32"), rng.integers(0, 2, 40)

    def trained(data):
        mx.random.seed(1)
        net = mx.gluon.nn.Dense(2, in_units=3)
        net.initialize(mx.init.Xavier())
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        estimator = mx.gluon.contrib.estimator.Estimator(
            net, loss, train_metrics=mx.metric.Accuracy(), trainer=trainer
        )
        estimator.fit(DataLoader(data, 8), epochs=2)
        return net.weight.data().asnumpy()

    stream = IterableDataset(lambda: zip(x, y))
    np.testing.assert_array_equal(trained(stream), trained(ArrayDataset(x, y)))
