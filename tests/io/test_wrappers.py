"""ResizeIter and PrefetchingIter."""

import gc
import threading
import time

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ShapeError

X, Y = np.arange(20).reshape(10, 2), np.arange(10)


def array_iter(batch_size=4, **options):
    return mx.io.NDArrayIter(X, Y, batch_size, **options)


def seen(it):
    return [(batch.label[0].asnumpy()[0], batch.pad) for batch in it]


def test_resize_starts_over():
    it = mx.io.ResizeIter(array_iter(), 5)
    for _ in range(2):
        assert seen(it) == [(0, 0), (4, 0), (8, 2), (0, 0), (4, 0)]
        it.reset()
    it = mx.io.ResizeIter(array_iter(), 2, reset_internal=False)
    assert seen(it) == [(0, 0), (4, 0)]
    it.reset()
    assert seen(it) == [(8, 2), (0, 0)]
    assert it.provide_data == [("data", (4, 2))]


def test_resize_of_an_iterator_without_batches():
    class Empty(mx.io.DataIter):
        """No batch."""

        provide_data = provide_label = ()

    with pytest.raises(ArgumentError, match="no batch"):
        mx.io.ResizeIter(Empty(), 2).next()


def test_prefetch():
    it = mx.io.PrefetchingIter(array_iter())
    for _ in range(3):
        assert seen(it) == [(0, 0), (4, 0), (8, 2)]
        with pytest.raises(StopIteration):
            it.next()
        it.reset()
    assert it.provide_data == [("data", (4, 2))] and it.batch_size == 4


def test_prefetch_joins_and_renames():
    it = mx.io.PrefetchingIter(
        [array_iter(), array_iter()],
        rename_data=[{"data": "d1"}, {"data": "d2"}],
        rename_label=[{"softmax_label": "l1"}, {"softmax_label": "l2"}],
    )
    assert [desc.name for desc in it.provide_data] == ["d1", "d2"]
    assert [desc.name for desc in it.provide_label] == ["l1", "l2"]
    batch = it.next()
    assert len(batch.data) == len(batch.label) == 2


def test_prefetch_of_unequal_iterators():
    it = mx.io.PrefetchingIter([array_iter(4), array_iter(5)])
    with pytest.raises(
        ShapeError, match="PrefetchingIter: iterators give different numbers of batches"
    ):
        list(it)
    with pytest.raises(
        ArgumentError, match="PrefetchingIter needs one or more iterators, got none"
    ):
        mx.io.PrefetchingIter([])


def test_an_error_in_the_thread_is_raised_where_the_batch_is_awaited():
    class Broken(mx.io.NDArrayIter):
        """Fails at its second batch."""

        def next(self):
            if self.cursor >= 0:
                raise ZeroDivisionError("second batch")
            return super().next()

    it = mx.io.PrefetchingIter(Broken(X, Y, 4))
    it.next()
    with pytest.raises(ZeroDivisionError, match="second batch"):
        it.next()


def test_threads_end_with_the_iterator():
    before = threading.active_count()
    it = mx.io.PrefetchingIter(array_iter())
    it.next()
    del it
    gc.collect()
    deadline = time.time() + 5
    while threading.active_count() > before and time.time() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_resize_iter_saved_behind_its_last_batch():
    """The state says that nothing is left, and what is loaded from it gives nothing."""

    def make():
        return mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(6.0), np.arange(6.0), 2), 4)

    it = make()
    assert len([it.next() for _ in range(4)]) == 4
    state = it.state_dict()
    assert state["cur"] == 4
    other = make()
    other.load_state_dict(state)
    assert not other.iter_next()
    other.reset()
    assert len(list(other)) == 4
    with pytest.raises(mx.errors.FormatError, match="cur is from 0 to 4, got 5"):
        other.load_state_dict({**state, "cur": 5})


class Refilled(mx.io.DataIter):
    """Twelve numbers, each a batch, in `places` batches of `kind` that are filled in turn."""

    def __init__(self, places, kind):
        super().__init__(1)
        self.provide_data = [mx.io.DataDesc("data", (1, 2))]
        self.provide_label = [mx.io.DataDesc("softmax_label", (1,))]
        self.kind, self.at = kind, 0
        made = np.zeros if kind == "NumPy" else mx.nd.zeros
        self.batches = [
            mx.io.DataBatch([made((1, 2))], [made((1,))], pad=0, index=np.zeros(1, int))
            for _ in range(places)
        ]

    def reset(self):
        self.at = 0

    def next(self):
        if self.at == 12:
            raise StopIteration
        batch = self.batches[self.at % len(self.batches)]
        x, y = np.full((1, 2), self.at), np.full(1, self.at)
        if self.kind == "lists":
            batch.data[0], batch.label[0] = mx.nd.array(x), mx.nd.array(y)
        elif self.kind == "attributes":
            batch.data, batch.label = [mx.nd.array(x)], [mx.nd.array(y)]
        elif self.kind == "views":
            batch.data[0].reshape((2, 1))[:], batch.label[0][0:1] = x.T, y
        else:
            batch.data[0][:], batch.label[0][:] = x, y
        batch.index[:] = self.at
        self.at += 1
        return batch


@pytest.mark.parametrize("places", [1, 2, 3])
@pytest.mark.parametrize("kind", ["memory", "views", "NumPy", "lists", "attributes"])
@pytest.mark.parametrize("around", ["prefetch", "prefetch a resized one", "two"])
def test_batches_of_an_iterator_that_fills_its_memory_again(places, kind, around):
    """What works ahead gives each batch with what it held, however late it is looked at."""
    source = Refilled(places, kind)
    if around == "prefetch a resized one":
        source = mx.io.ResizeIter(source, 12)
    inner = [source, Refilled(places, kind)] if around == "two" else source
    batches = mx.io.PrefetchingIter(inner)
    for _ in range(3):
        found = []
        for batch in batches:
            time.sleep(0.003)  # the thread is ahead now
            arrays = [a if kind == "NumPy" else a.asnumpy() for a in (*batch.data, *batch.label)]
            assert arrays[0].shape == (1, 2)
            found.append(({int(n) for a in arrays for n in a.ravel()}, batch.index[0]))
        assert found == [({i}, i) for i in range(12)]
        batches.reset()


def test_arrays_that_stay_are_not_copied(monkeypatch):
    """An iterator that makes new batches is copied at its beginning alone."""
    copies = []
    copy = mx.nd.NDArray.copy
    monkeypatch.setattr(mx.nd.NDArray, "copy", lambda self: copies.append(1) or copy(self))
    batches = mx.io.PrefetchingIter(mx.io.NDArrayIter(np.ones((100, 2)), np.ones(100), 1))
    for _ in range(2):
        assert sum(1 for _ in batches) == 100
        batches.reset()
    assert len(copies) <= 2 * 3


def test_batches_of_different_pads_are_refused():
    """One iterator has two whole batches, the other pads its last one."""
    one = mx.io.NDArrayIter({"a": np.zeros((8, 1))}, batch_size=4)
    two = mx.io.NDArrayIter({"b": np.zeros((5, 1))}, batch_size=4)
    both = mx.io.PrefetchingIter([one, two])
    assert both.next().pad == 0
    with pytest.raises(ShapeError, match="iterators give batches of different pad"):
        both.next()
