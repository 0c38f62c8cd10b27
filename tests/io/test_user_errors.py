"""Exceptions of a user's code inside of iterators: none ends an epoch early, none is waited for.

Each place that calls such code, with a StopIteration, errors, and what is no Exception.
"""

import multiprocessing
import os
import random

import numpy as np
import pytest

import cynet as mx

X = np.arange(20, dtype=np.float32).reshape(10, 2)
HOOKS = (
    "read_image",
    "imdecode",
    "check_valid_image",
    "augmentation_transform",
    "postprocess_data",
)
KINDS = [StopIteration, ValueError, KeyError, SystemExit, KeyboardInterrupt, GeneratorExit]


class Own(mx.io.NDArrayIter):
    """An iterator that fails in one of its methods."""

    def __init__(self, place=None, kind=None):
        self.place = self.kind = None
        super().__init__(X, np.arange(10), 2)
        self.place, self.kind = place, kind

    def _fail(self, place):
        if self.place == place:
            raise self.kind("needle")

    def next(self):
        if self.cursor >= 4:
            self._fail("next")
        return super().next()

    def reset(self):
        self._fail("reset")
        super().reset()

    def state_dict(self):
        if self.cursor >= 4:
            self._fail("state_dict")
        return super().state_dict()


def wanted(kind):
    """What a loop gets: a StopIteration is an error of another class."""
    return RuntimeError if kind is StopIteration else kind


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["next", "state_dict"])
def test_ahead(kind, place):
    batches = mx.io.PrefetchingIter(Own(place, kind))
    count = 0
    if (place, kind) == ("next", StopIteration):  # that is how an iterator says that it has ended
        assert len(list(batches)) == 3
        return
    with pytest.raises(wanted(kind), match="needle"):
        for _ in batches:
            count += 1
    assert count == (3 if place == "next" else 2)
    assert list(batches) == []
    batches.iters[0].place = None
    batches.reset()
    assert len(list(batches)) == 5


@pytest.mark.timeout(20)
def test_ahead_of_two():
    """The other iterator's batch is no hindrance."""
    batches = mx.io.PrefetchingIter([Own(), Own("next", SystemExit)])
    with pytest.raises(SystemExit, match="needle"):
        list(batches)


@pytest.mark.parametrize("kind", KINDS)
def test_around(kind):
    with pytest.raises(wanted(kind), match="needle"):
        list(mx.io.ResizeIter(Own("reset", kind), 7))
    if kind is not StopIteration:
        with pytest.raises(kind, match="needle"):
            list(mx.io.ResizeIter(Own("next", kind), 7))


def _second_half(batches, pipe):
    try:
        pipe.send(len(list(batches)))
    except mx.errors.StateError as error:
        pipe.send(str(error))
    os._exit(0)


@pytest.mark.timeout(30)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_behind_a_fork():
    """The thread is not there: it is said, and not waited for."""
    batches = mx.io.PrefetchingIter(Own())
    next(batches)
    mine, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_second_half, args=(batches, theirs))
    child.start()
    assert mine.poll(20)
    assert "its thread has ended" in str(mine.recv())
    child.join()
    assert len(list(batches)) == 4


# --- images ---------------------------------------------------------------------------------------
def pictures(folder):
    image = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    for i in range(5):
        content = mx.recordio.pack_img((0, 0.0, 0, 0), image, 3, ".png")[24:]
        (folder / f"{i}.png").write_bytes(content)
    boxes = [2, 5, 1, 0.1, 0.1, 0.8, 0.8]
    lists = [[0, f"{i}.png"] for i in range(5)], [[*boxes, f"{i}.png"] for i in range(5)]
    return {"path_root": str(folder)}, *lists


def failing(base, kind, place):
    """A subclass of an iterator of images one of whose hooks fails at the third image."""

    class Iterator(base):
        count = 0

        def _hook(self, name, *args):
            if name == place:
                self.count += 1
                if self.count == 3:
                    raise kind("needle")
            return getattr(super(), name)(*args)

    for name in HOOKS:
        if hasattr(base, name):
            setattr(Iterator, name, lambda self, *args, name=name: self._hook(name, *args))
    return Iterator


class Augmenter(mx.image.Augmenter):
    def __init__(self, kind):
        super().__init__()
        self.kind, self.count = kind, 0

    def __call__(self, src):
        self.count += 1
        if self.count == 3:
            raise self.kind("needle")
        return src


class BoxAugmenter(mx.image.DetAugmenter):
    def __init__(self, kind):
        super().__init__()
        self.kind, self.count = kind, 0

    def __call__(self, src, label):
        self.count += 1
        if self.count == 3:
            raise self.kind("needle")
        return src, label


@pytest.mark.parametrize("kind", KINDS)
def test_images(kind, tmp_path):
    root, plain, boxes = pictures(tmp_path)
    makers = [
        lambda: mx.image.ImageIter(2, (3, 8, 8), imglist=plain, aug_list=[Augmenter(kind)], **root),
        lambda: mx.image.ImageIter(
            2,
            (3, 8, 8),
            imglist=plain,
            aug_list=[mx.image.SequentialAug([Augmenter(kind)])],
            skip_damaged=True,
            **root,
        ),
        lambda: mx.image.ImageDetIter(
            2, (3, 8, 8), imglist=boxes, aug_list=[BoxAugmenter(kind)], **root
        ),
    ]
    for place in HOOKS:
        own = failing(mx.image.ImageIter, kind, place)
        makers.append(lambda own=own: own(2, (3, 8, 8), imglist=plain, **root))
        own = failing(mx.image.ImageDetIter, kind, place)
        makers.append(lambda own=own: own(2, (3, 8, 8), imglist=boxes, **root))
    for make in makers:
        random.seed(1)
        iterator, count = make(), 0
        with pytest.raises(wanted(kind), match="needle"):
            for _ in iterator:
                count += 1
        assert count == 1


def test_a_label_that_stops(tmp_path):
    root, _, boxes = pictures(tmp_path)
    iterator = mx.image.ImageDetIter(2, (3, 8, 8), imglist=boxes, **root)
    iterator._parse_label = lambda label: next(iter([]))
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(iterator)


def test_record_iterators_tell_what_their_threads_raise(tmp_path, monkeypatch):
    writer = mx.recordio.MXRecordIO(tmp_path / "a.rec", "w")
    for i in range(4):
        image = np.full((8, 8, 3), i, np.uint8)
        writer.write(mx.recordio.pack_img((0, float(i), i, 0), image, 3, ".png"))
    writer.close()
    for kind in KINDS:
        iterator = mx.io.ImageRecordIter(
            path_imgrec=tmp_path / "a.rec", data_shape=(3, 8, 8), batch_size=2, prefetch_buffer=1
        )
        monkeypatch.setattr(iterator._work, "_fill_sample", raiser(kind))
        with pytest.raises(wanted(kind), match="needle"):
            list(iterator)
        iterator.close()


def raiser(kind):
    def fail(*_):
        raise kind("needle")

    return fail


def test_a_feed_forward_over_an_iterator_that_cannot_begin_again():
    from cynet.model.feeding import LimitedIter

    with pytest.raises(RuntimeError, match="needle"):
        list(LimitedIter(Own("reset", StopIteration), 7))
