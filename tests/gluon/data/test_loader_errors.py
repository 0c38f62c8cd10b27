"""Exceptions of a user's code under a DataLoader: told as what they are, wherever they arise.

Kinds x places x ways to make batches: class, text, file and function are in what the loop raises,
which never ends early and never waits for ever.
"""

import builtins
import os
import sys
import threading
import traceback

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import data
from tests.pairs import pairwise

MODES = {
    "here": {},
    "threads": {"num_workers": 2, "thread_pool": True},
    "process": {"num_workers": 1},
    "processes": {"num_workers": 3},
}


class TwoArguments(Exception):
    """Pickle loads it with one."""

    def __init__(self, place, reason):
        super().__init__(f"{place}: {reason}")
        self.place = place


class HoldsALock(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()


class NoText(Exception):
    def __str__(self):
        raise ValueError("no text")


class Refuses(ValueError):
    def __reduce__(self):
        raise TypeError("never pickled")


class Unidentified(OSError):
    pass


class Exit(BaseException):
    pass


def local():
    class Local(LookupError):
        pass

    return Local("needle")


def group():
    kind = builtins.ExceptionGroup  # Python 3.10 has none
    return kind("needle", [ValueError("one"), KeyError("two")])


KINDS = {
    "ValueError": lambda: ValueError("needle"),
    "KeyError": lambda: KeyError("needle"),
    "IndexError": lambda: IndexError("needle"),
    "OSError": lambda: OSError("needle"),
    "FileNotFoundError": lambda: os.stat("needle"),
    "MissingFileError": lambda: mx.nd.load("needle"),
    "PermissionError": lambda: PermissionError(13, "needle", "file"),
    "TimeoutError": lambda: TimeoutError("needle"),
    "ConnectionError": lambda: ConnectionError("needle"),
    "BrokenPipeError": lambda: BrokenPipeError("needle"),
    "EOFError": lambda: EOFError("needle"),
    "Unidentified": lambda: Unidentified("needle"),
    "TwoArguments": lambda: TwoArguments("needle", "why"),
    "HoldsALock": lambda: HoldsALock("needle"),
    "NoText": lambda: NoText("needle"),
    "Refuses": lambda: Refuses("needle"),
    "Local": local,
    "UnicodeDecodeError": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "needle"),
    "StopIteration": lambda: StopIteration("needle"),
    "StopAsyncIteration": lambda: StopAsyncIteration("needle"),
    "GeneratorExit": lambda: GeneratorExit("needle"),
    "SystemExit": lambda: SystemExit("needle"),
    "KeyboardInterrupt": lambda: KeyboardInterrupt("needle"),
    "Exit": lambda: Exit("needle"),
    **({"ExceptionGroup": group} if sys.version_info >= (3, 11) else {}),
}


def fail_here(kind):
    raise KINDS[kind]()


class Data:
    def __init__(self, kind, place):
        self.kind, self.place = kind, place

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if self.place == "sample" and index == 5:
            fail_here(self.kind)
        return np.full(2, index)

    def transformed(self, x):
        if self.place == "transform" and x[0] == 5:
            fail_here(self.kind)
        return x

    def batchify(self, samples):
        if self.place == "batchify" and samples[0][0] == 4:
            fail_here(self.kind)
        return mx.nd.array(np.stack(samples))


class Order(data.Sampler):
    """A sampler that is an iterator of its own: what it raises is its error."""

    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return 8

    def __iter__(self):
        for index in range(8):
            if index == 5:
                fail_here(self.kind)
            yield index


def loader_of(kind, place, mode):
    made = Data(kind, place)
    dataset = made
    if place == "transform":
        dataset = data.SimpleDataset(made).transform(made.transformed)
    more = {"sampler": Order(kind)} if place == "sampler" else {}
    return data.DataLoader(dataset, 2, batchify_fn=made.batchify, **more, **MODES[mode])


@pytest.mark.parametrize(
    ("kind", "place", "mode"),
    [
        *pairwise(list(KINDS), ["sample", "transform", "batchify", "sampler"], list(MODES)),
        *[(kind, "sample", "processes") for kind in KINDS],
    ],
)
@pytest.mark.timeout(30)
def test_what_is_told(kind, place, mode):
    loader, count, caught = loader_of(kind, place, mode), 0, None
    try:
        for batch in loader:
            assert batch[0, 0].asscalar() == 2 * count
            count += 1
    except BaseException as error:
        caught = error
    loader.close()
    assert caught is not None, f"an epoch of {count} batches without an error"
    if place != "sampler" or isinstance(caught, Exception):
        assert count == 2, "the batches before the error are given"
    told = "".join(traceback.format_exception(type(caught), caught, caught.__traceback__))
    assert "fail_here" in told and __file__ in told
    assert kind in told
    if kind != "NoText":
        assert "needle" in (told if place == "sampler" else str(caught))
    try:
        raise KINDS[kind]()
    except BaseException as error:
        original = type(error)
    if kind == "StopIteration":
        assert isinstance(caught, RuntimeError)
        return
    if kind == "Local":  # in another process the nearest base of what cannot be pickled
        original = LookupError
    assert isinstance(caught, original)
    if place in ("sample", "transform") and isinstance(caught, Exception):
        assert "in sample 5" in str(caught)
    elif place == "batchify" and isinstance(caught, Exception):
        assert "in the batch of samples [4, 5]" in str(caught)
    if isinstance(caught, OSError) and kind == "PermissionError":
        assert caught.errno == 13


@pytest.mark.parametrize("mode", MODES)
def test_a_real_exit_of_the_main_thread_is_no_sample(mode):
    """What the loop's own body raises leaves the loader as it is."""
    loader = data.DataLoader(data.SimpleDataset(list(range(8))), 2, **MODES[mode])
    with pytest.raises(SystemExit):
        for _ in loader:
            raise SystemExit(3)
    assert len(list(loader)) == 4
    loader.close()


class Unloadable:
    """It can be pickled, and not loaded."""

    def __reduce__(self):
        return open, ("needle",)


class Unpicklable:
    def __reduce__(self):
        raise FileNotFoundError("needle")


@pytest.mark.parametrize("kind", [Unloadable, Unpicklable])
def test_batches_that_cannot_be_sent(kind):
    loader = data.DataLoader([0, 1, 2, 3], 2, num_workers=1, batchify_fn=lambda _: kind())
    with pytest.raises(FileNotFoundError, match=r"needle.*batch of samples \[0, 1\]"):
        list(loader)
    loader.close()


@pytest.mark.parametrize("kind", [Unloadable, Unpicklable])
def test_samples_that_cannot_be_sent(kind):
    loader = data.DataLoader([0, 1], batch_sampler=[[kind()]], num_workers=1)
    with pytest.raises(FileNotFoundError, match="needle"):
        list(loader)
    loader.close()


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_an_iterator_whose_loader_was_closed(mode):
    """It says so, and does not wait for batches that nobody makes."""
    loader = data.DataLoader(data.SimpleDataset(list(range(64))), 2, **MODES[mode])
    batches = iter(loader)
    next(batches)
    loader.close()
    with pytest.raises(mx.errors.StateError, match="its workers were ended"):
        for _ in range(32):
            next(batches)
    assert len(list(loader)) == 32
    loader.close()


def test_a_batch_sampler_may_not_give_none():
    with pytest.raises(TypeError, match="'NoneType' object is not iterable"):
        list(data.DataLoader([1, 2], batch_sampler=[[0], None, [1]]))


# --- datasets under for ---------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [IndexError, StopIteration, KeyError])
def test_no_dataset_ends_early_under_for(kind):
    """Python's own loop over ``__getitem__`` ends at these without a word."""

    def fail(x):
        if x == 2:
            raise kind("needle")
        return x

    whole = data.SimpleDataset([0, 1, 2, 3])
    for make in (
        lambda: list(whole.transform(fail)),
        lambda: whole.transform(fail, lazy=False),
        lambda: whole.transform_first(fail, lazy=False),
        lambda: list(whole.filter(lambda x: x).transform(fail)),
    ):
        with pytest.raises((kind, RuntimeError), match="needle|generator raised StopIteration"):
            make()
    assert list(whole) == [0, 1, 2, 3]
    assert list(data.ArrayDataset([1, 2], [3, 4])) == [(1, 3), (2, 4)]

    class WithoutLength(data.Dataset):
        def __getitem__(self, index):
            return [5, 6][index]

    assert [x for x in WithoutLength()] == [5, 6]  # noqa: C416  list() asks for a length


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "longdouble"])
def test_numpys_arrays_stay_what_a_function_gave(dtype):
    """A batchify_fn's NumPy arrays came as NDArrays from workers, or were refused."""

    def batchify(samples):
        return {"x": np.stack(samples), "y": (mx.nd.zeros(2), np.arange(40000, dtype="int32"))}

    found = []
    for workers in (0, 1):
        rows = [np.ones(3, dtype)] * 4
        batch = next(iter(data.DataLoader(rows, 2, batchify_fn=batchify, num_workers=workers)))
        x, (y, z) = batch["x"], batch["y"]
        assert type(x) is type(z) is np.ndarray and isinstance(y, mx.nd.NDArray)
        z[0] = 5  # it may be written
        found.append((x.dtype, x.tolist(), z.dtype, z.sum()))
    assert found[0] == found[1]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    "sample",
    [
        np.array([1 + 2j], "complex64"),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.array(["a"]),
        np.zeros(1, [("a", "i4")]),
        np.array([None], object),
    ],
    ids=lambda sample: str(sample.dtype),
)
def test_dtypes_that_no_array_has(sample, workers):
    """Refused in workers as they are without; they came out as NumPy's arrays there."""
    with pytest.raises(mx.errors.CynetError, match="no NDArray has dtype"):
        next(iter(data.DataLoader([sample] * 4, 2, num_workers=workers)))
