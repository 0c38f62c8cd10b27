"""DataLoader: batches in process, by threads, by processes; errors, seeds, resuming, no leaks."""

import collections
import contextlib
import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.gluon import data

MODES = [(0, False), (2, False), (2, True)]


@pytest.fixture(params=MODES, ids=["here", "processes", "threads"])
def mode(request):
    workers, threads = request.param
    return {"num_workers": workers, "thread_pool": threads}


def lists(loader):
    return [
        [each.asnumpy().tolist() for each in batch]
        if isinstance(batch, list)
        else batch.asnumpy().tolist()
        for batch in loader
    ]


class Drawn(data.Dataset):
    """Samples that draw numbers."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.array([np.random.rand(), random.random(), data.sample_generator().uniform()])


def test_batches(mode):
    dataset = data.ArrayDataset(np.ones((5, 2)), np.arange(5))
    loader = data.DataLoader(dataset, 2, **mode)
    for _ in range(2):
        batches = list(loader)
        assert [each[0].shape for each in batches] == [(2, 2), (2, 2), (1, 2)]
        assert [each[1].asnumpy().tolist() for each in batches] == [[0, 1], [2, 3], [4]]
        x, y = batches[0]
        assert x.dtype == np.float64 and y.dtype == np.int64 and x.context == mx.cpu(0)
        assert isinstance(batches[0], list)


def test_ndarray_datasets(mode):
    dataset = data.ArrayDataset(nd.array(np.arange(10).reshape(5, 2)), nd.arange(5))
    batches = list(data.DataLoader(dataset, 2, **mode))
    assert batches[1][0].asnumpy().tolist() == [[4, 5], [6, 7]]
    assert batches[1][0].dtype == np.float32


def test_order_is_numpys(mode):
    np.random.seed(5)
    loader = data.DataLoader(data.SimpleDataset(list(range(8))), 3, shuffle=True, **mode)
    assert lists(loader) == [[7, 2, 4], [1, 0, 5], [6, 3]]


def test_one_seed_gives_the_same_batches():
    """In MXNet all workers draw the same numbers."""
    found = []
    for workers in (0, 1, 2):
        np.random.seed(3)
        loader = data.DataLoader(Drawn(), 2, num_workers=workers)
        found.append([lists(loader), lists(loader)])
    assert found[0] == found[1] == found[2]
    numbers = np.ravel(found[0])
    assert len(np.unique(numbers)) == len(numbers)
    np.random.seed(3)
    threads = data.DataLoader(Drawn(), 2, num_workers=2, thread_pool=True)
    assert (np.array(lists(threads))[..., 2] == np.array(found[0][0])[..., 2]).all()


def test_user_streams_stay_where_they_are():
    np.random.seed(1)
    random.seed(1)
    wanted = np.random.rand(), random.random()
    np.random.seed(1)
    random.seed(1)
    list(data.DataLoader(Drawn(), 2))
    assert (np.random.rand(), random.random()) == wanted


def test_errors_name_the_sample(mode):
    def fail(x):
        if x == 3:
            raise ValueError("bad sample 3")
        return x

    loader = data.DataLoader(data.SimpleDataset(list(range(8))).transform(fail), 2, **mode)
    with pytest.raises(ValueError, match="bad sample 3.*sample 3") as caught:
        list(loader)
    assert isinstance(caught.value, mx.MXNetError)
    ragged = data.SimpleDataset([np.ones(2), np.ones(3)])
    with pytest.raises(mx.MXNetError, match=r"has shape \(3,\), the first \(2,\)"):
        list(data.DataLoader(ragged, 2, **mode))


def test_lengths_and_refusals():
    ten = data.SimpleDataset(list(range(10)))
    assert len(data.DataLoader(ten, 3)) == 4
    assert len(data.DataLoader(ten, 3, last_batch="discard")) == 3
    with pytest.raises(ValueError, match="give a batch_size, or a batch_sampler"):
        data.DataLoader(ten)
    with pytest.raises(ValueError, match="a sampler decides the order, so shuffle cannot"):
        data.DataLoader(ten, 2, shuffle=True, sampler=data.SequentialSampler(3))
    for settings in ({"batch_size": 2}, {"shuffle": True}, {"last_batch": "keep"}):
        with pytest.raises(ValueError, match="with a batch_sampler there is no batch_size"):
            data.DataLoader(ten, batch_sampler=[[1]], **settings)
    with pytest.raises(ValueError, match="batch_size must be an int from 1 on"):
        data.DataLoader(ten, 0)
    with pytest.raises(AssertionError, match="timeout"):
        data.DataLoader(ten, 2, timeout=0)
    assert data.DataLoader(ten, 2, num_workers=-1)._num_workers == 0


def test_batches_of_ones_own(mode):
    """A function that cannot be pickled is none for MXNet's processes."""
    one_to_five = data.SimpleDataset([1, 2, 3, 4, 5])
    loader = data.DataLoader(one_to_five, 2, batchify_fn=lambda batch: list(batch), **mode)
    assert list(loader) == [[1, 2], [3, 4], [5]]
    loader = data.DataLoader(one_to_five, batch_sampler=[[0, 2], [1]], **mode)
    assert lists(loader) == [[1, 3], [2]]
    dicts = data.SimpleDataset([{"x": i, "name": str(i)} for i in range(4)])
    batch = next(iter(data.DataLoader(dicts, 2, **mode)))
    assert batch["x"].asnumpy().tolist() == [0, 1] and batch["name"] == ["0", "1"]


def test_large_batches_come_through_shared_memory():
    dataset = data.SimpleDataset([np.full((64, 64), i, "float32") for i in range(20)])
    held = []
    for k, batch in enumerate(data.DataLoader(dataset, 10, num_workers=2)):
        held.append(batch)
        batch += 1
        assert batch[3, 0, 0].asscalar() == 10 * k + 4
    assert held[0][0, 0, 0].asscalar() == 1


def test_who_makes_batches():
    def who(_):
        time.sleep(0.01)
        return os.getpid(), threading.get_ident()

    dataset = data.SimpleDataset(list(range(40))).transform(who)
    pids = {
        row[0] for b in data.DataLoader(dataset, 1, num_workers=2) for row in zip(*lists([b])[0])
    }
    assert len(pids) == 2 and os.getpid() not in pids
    threads = [lists([b])[0] for b in data.DataLoader(dataset, 1, num_workers=2, thread_pool=True)]
    assert {row[0][0] for row in threads} == {os.getpid()}
    assert 1 <= len({row[1][0] for row in threads} - {threading.get_ident()}) <= 2


def test_pinned_memory():
    batch = next(iter(data.DataLoader([1, 2], 2, pin_memory=True)))
    assert batch.context == mx.cpu_pinned(0)


def test_two_iterators_and_break(mode):
    loader = data.DataLoader(data.SimpleDataset(list(range(20))), 2, **mode)
    pairs = [(a.asnumpy().tolist(), b.asnumpy().tolist()) for a, b in zip(loader, loader)]
    assert len(pairs) == 10 and all(a == b for a, b in pairs)
    for batch in loader:
        assert batch.asnumpy().tolist() == [0, 1]
        break
    assert len(list(loader)) == 10


def test_auto_reload(mode):
    loader = data.DataLoader(data.SimpleDataset(list(range(6))), 2, auto_reload=True, **mode)
    for _ in range(3):
        assert lists(loader) == [[0, 1], [2, 3], [4, 5]]
    loader.clean()
    assert len(list(loader)) == 3
    loader.close()


def test_an_iterator_keeps_its_loader(mode):
    batches = iter(data.DataLoader(data.SimpleDataset(list(range(6))), 2, **mode))
    gc.collect()
    assert len(list(batches)) == 3


def test_a_slow_batch():
    loader = data.DataLoader(
        data.SimpleDataset([0, 1]).transform(lambda x: time.sleep(30)), 1, num_workers=2, timeout=1
    )
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"samples \[0\] took longer than timeout=1 seconds"):
        list(loader)
    loader.close()
    assert time.monotonic() - start < 5


def test_a_dead_worker_is_an_error_at_once():
    """In MXNet the loader waits for its timeout of two minutes."""

    def die(x):
        if x == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    start = time.monotonic()
    loader = data.DataLoader(data.SimpleDataset(list(range(8))).transform(die), 2, num_workers=2)
    with pytest.raises(mx.MXNetError, match=r"died \(signal SIGKILL.*batch of samples \[2, 3\]"):
        list(loader)
    assert time.monotonic() - start < 5
    with pytest.raises(mx.MXNetError, match="died"):
        list(loader)  # by new workers


def test_resuming(mode):
    dataset = Drawn()
    if mode["thread_pool"]:  # threads share NumPy's and Python's streams
        drawn = data.SimpleDataset(list(range(8)))
        dataset = drawn.transform(lambda x: (x, data.sample_generator().uniform()))
    settings = {"shuffle": True, "last_batch": "rollover", **mode}
    np.random.seed(7)
    loader = data.DataLoader(dataset, 3, **settings)
    first = lists(loader)
    batches = iter(loader)
    begun = [next(batches) for _ in range(2)]
    state = json.loads(json.dumps(loader.state_dict()))
    rest, later = lists(batches), lists(loader)
    assert (len(first), len(begun), len(rest), len(later)) == (2, 2, 1, 3)
    np.random.seed(99)
    other = data.DataLoader(dataset, 3, **settings)
    other.load_state_dict(state)
    assert lists(other) == rest and lists(other) == later
    with pytest.raises(mx.MXNetError, match="expected a state of (a|this) DataLoader"):
        other.load_state_dict({})


def open_files():
    return len(os.listdir("/proc/self/fd"))


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read().split()


def test_nothing_is_left_behind(rng):
    gc.collect()
    files, processes = open_files(), len(children())
    dataset = data.SimpleDataset([np.zeros((64, 64), "float32")] * 40)
    for _ in range(6):
        loader = data.DataLoader(dataset, 8, num_workers=3)
        batches = iter(loader)
        for _ in range(rng.integers(0, 4)):
            next(batches)
        del loader, batches
    gc.collect()
    assert open_files() == files and len(children()) == processes


@pytest.mark.parametrize("how", ["kill", "terminate", "break", "interrupt"])
def test_loaders_that_end_at_a_random_point(how, rng):
    gc.collect()
    files, start = open_files(), time.monotonic()
    dataset = data.SimpleDataset([np.zeros((64, 64), "float32")] * 240)
    for _ in range(3):
        loader = data.DataLoader(dataset, 8, num_workers=2)
        batches, at = iter(loader), int(rng.integers(0, 10))
        ends = (
            contextlib.nullcontext()
            if how == "break"
            else pytest.raises(
                KeyboardInterrupt if how == "interrupt" else mx.MXNetError,
                match="DataLoader: worker process|^$",
            )
        )
        with ends:
            for k, _batch in enumerate(batches):
                if k == at and how == "break":
                    break
                if k == at and how == "interrupt":
                    signal.raise_signal(signal.SIGINT)
                if k == at and how in ("kill", "terminate"):
                    getattr(loader._pool._workers[k % 2], how)()
        loader.close()
        del loader, batches
    gc.collect()
    assert time.monotonic() - start < 15 and open_files() <= files + 1


PARENT = """
import sys, time, numpy as np
from cynet.gluon import data
dataset = data.SimpleDataset([np.zeros((64, 64), "float32")] * 1000)
batches = iter(data.DataLoader(dataset, 8, num_workers=2))
next(batches)
import multiprocessing
print(*[each.pid for each in multiprocessing.active_children()], flush=True)
for batch in batches:
    time.sleep(0.01)
time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(how):
    command = [sys.executable, "-c", PARENT]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdout=pipe, stderr=null, text=True) as parent:
        workers = [int(each) for each in parent.stdout.readline().split()]
        assert len(workers) == 2
        parent.send_signal(how)
        parent.wait(10)
    until = time.monotonic() + 5
    while any(map(lives, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(lives, workers))


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


Point = collections.namedtuple("Point", "x y")


class Record(dict):
    """A dict of the user's own class."""


SHAPES = {
    "namedtuple": lambda x: Point(x, x + 1),
    "tuple": lambda x: (x, x + 1),
    "list": lambda x: [x, x + 1],
    "dict": lambda x: {"x": x},
    "ordered": lambda x: collections.OrderedDict(x=x, y=x),
    "own": lambda x: Record(x=x),
    "nested": lambda x: {"a": [Point(x, (x,)), [x]], "b": ()},
    "none": lambda x: (None, x, "text", 3),
}


def _types(batch):
    if isinstance(batch, dict):
        return type(batch), [(key, _types(each)) for key, each in batch.items()]
    if isinstance(batch, (list, tuple)):
        return type(batch), [_types(each) for each in batch]
    return type(batch), batch.asnumpy().tolist() if hasattr(batch, "asnumpy") else batch


@pytest.mark.parametrize("form", SHAPES)
def test_forms_of_batches_are_those_without_workers(form):
    def batchify(samples):
        return SHAPES[form](mx.nd.array(samples))

    found = [
        [_types(each) for each in data.DataLoader(range(4), 2, batchify_fn=batchify, num_workers=n)]
        for n in (0, 1)
    ]
    assert found[0] == found[1] and len(found[0]) == 2
