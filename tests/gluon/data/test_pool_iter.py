"""MXNet's iterator over a pool, inherited from as packages do it; ``_worker_pool`` of a loader."""

import io
import multiprocessing
import multiprocessing.pool
import pickle
import warnings
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import data
from cynet.gluon.data import dataloader
from cynet.gluon.data.dataloader import DataLoader, _MultiWorkerIter

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
_kept = None


def _keep(dataset):
    global _kept
    _kept = dataset


def _transformed(samples, function, batchify):
    """A package's own worker function: it gives the pickled batch."""
    dataset = _kept.transform(function)
    out = io.BytesIO()
    ForkingPickler(out, pickle.HIGHEST_PROTOCOL).dump(batchify([dataset[i] for i in samples]))
    return out.getvalue()


def plus(by):
    return _Plus(by)


class _Plus:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x + np.float32(self.by)


class _Changing(_MultiWorkerIter):
    """It hands another transform with each batch."""

    def __init__(self, functions, pool, batchify, sampler, prefetch, **more):
        super().__init__(pool, batchify, sampler, worker_fn=_transformed, prefetch=0, **more)
        self._functions = functions
        for _ in range(prefetch):
            self._push_next()

    def _push_next(self):
        samples = next(self._iter, None)
        if samples is None:
            return
        function = self._functions[self._sent_idx % len(self._functions)]
        self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(
            self._worker_fn, (samples, function, self._batchify_fn)
        )
        self._sent_idx += 1


class ChangingLoader(DataLoader):
    """A loader with a pool of its own, as GluonCV's that draws transforms."""

    def __init__(self, functions, dataset, batch_size, workers):
        super().__init__(dataset, batch_size, num_workers=0, pin_memory=False)
        self._functions = functions
        self._num_workers = workers
        self._worker_pool = multiprocessing.Pool(workers, _keep, [self._dataset])
        self._batchify_fn = dataloader.default_mp_batchify_fn

    def __iter__(self):
        return _Changing(
            self._functions,
            self._worker_pool,
            self._batchify_fn,
            self._batch_sampler,
            3,
            pin_memory=self._pin_memory,
            pin_device_id=self._pin_device_id,
        )

    def __del__(self):
        assert isinstance(self._worker_pool, multiprocessing.pool.Pool)
        self._worker_pool.terminate()


def test_a_package_of_its_own_pool():
    dataset = data.SimpleDataset(np.arange(10, dtype="float32"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        loader = ChangingLoader([plus(100), plus(200)], dataset, 4, 2)
    for _ in range(2):
        batches = [batch.asnumpy().tolist() for batch in loader]
        assert batches == [[100, 101, 102, 103], [204, 205, 206, 207], [108, 109]]
    assert len(iter(loader)) == 3


@pytest.mark.parametrize("threads", [False, True])
def test_over_a_loaders_pool(threads):
    dataset = data.ArrayDataset(np.arange(7.0), np.arange(7))
    loader = DataLoader(dataset, 3, num_workers=2, thread_pool=threads)
    assert isinstance(loader._worker_pool, multiprocessing.pool.Pool)
    assert loader._worker_pool is loader._worker_pool
    batches = _MultiWorkerIter(
        loader._worker_pool,
        loader._batchify_fn,
        loader._batch_sampler,
        pin_memory=True,
        worker_fn=dataloader._thread_worker_fn if threads else dataloader._worker_fn,
        prefetch=2,
        dataset=dataset if threads else None,
        data_loader=loader,
    )
    assert batches.next()[0].context == mx.cpu_pinned(0)
    assert [batch[1].asnumpy().tolist() for batch in batches] == [[3, 4, 5], [6]]
    assert len(batches) == 3 and batches.__next__ and iter(batches) is batches
    loader.close()
    assert len(list(loader)) == 3  # by its own workers
    loader.close()
    assert DataLoader(dataset, 3)._worker_pool is None


def _stop(samples, batchify, dataset=None):
    return next(iter([]))


@pytest.mark.parametrize("threads", [False, True])
def test_errors_pass(threads):
    """A StopIteration is an error, and no end."""
    dataset = data.SimpleDataset([1, 2, 3])
    with DataLoaderPool(dataset, threads) as pool:
        batches = _MultiWorkerIter(pool, list, [[0], [7]], dataset=dataset if threads else None)
        assert next(batches) == [1]
        with pytest.raises(IndexError, match="list index out of range"):
            next(batches)
        batches = _MultiWorkerIter(pool, list, [[0]], worker_fn=_stop)
        with pytest.raises(RuntimeError, match="StopIteration"):
            list(batches)


class DataLoaderPool:
    """A loader's pool for the time of a block."""

    def __init__(self, dataset, threads):
        self.loader = DataLoader(dataset, 1, num_workers=1, thread_pool=threads)

    def __enter__(self):
        return self.loader._worker_pool

    def __exit__(self, *_):
        self.loader.close()
