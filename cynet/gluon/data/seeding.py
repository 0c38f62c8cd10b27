"""Random numbers of data loading: one seed determines the order of samples and the draws of each
batch.

The seed is that of ``mx.random.seed`` once it was called, else NumPy's global state. An epoch's
seed follows from it and the number of the epoch; a batch's from the epoch's and its number, so that
workers, however many, draw the same.
"""

import hashlib
import random
import threading
from contextlib import contextmanager

import numpy as np

from ... import random as mx_random
from ..._resource import use_own_random_streams
from ...base.numpy_state import numpy_state_token, seeded_numpy
from ...base.tracing import has_trace
from ..block.traced import UntraceableError


class _ThreadRandomState(threading.local):  # generator and seed of a thread
    seed = None  # seed of the current batch
    generator = None  # the generator, created at its first use


_thread_state = _ThreadRandomState()  # random generator and seed of this thread


def sample_generator():
    """Return the NumPy Generator that transforms draw from.

    While a batch is made it is that of the batch, so that the seed says what is drawn, whichever
    thread or process makes it; outside of batches it is a new one.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    UntraceableError
        It is called while a graph is made of a Block, which could not draw anew.

    Examples
    --------
    >>> sample_generator().uniform() < 1
    True
    """
    if has_trace():
        raise UntraceableError("random numbers that Python draws cannot be part of a graph")
    if _thread_state.generator is None and _thread_state.seed is not None:
        _thread_state.generator = np.random.default_rng(_thread_state.seed)
    if _thread_state.generator is not None:
        return _thread_state.generator
    drawn = mx_random.next_shuffle_number()
    return np.random.default_rng(
        np.random.randint(1 << 31) if drawn is None else _seed_from_parts(*drawn)
    )


def new_shuffle_generator():
    """Return the generator of the next order: NumPy's global one, or one made from the seed."""
    drawn = mx_random.next_shuffle_number()
    return np.random if drawn is None else np.random.RandomState(_seed_from_parts(*drawn))


def permutation(length):
    """Return the indices 0 to length - 1 in random order."""
    return new_shuffle_generator().permutation(length)


def epoch_seed(number):
    """Return the seed of a loader's epoch; draws no random number."""
    if mx_random.last_seed() is not None:
        return _seed_from_parts(mx_random.last_seed(), number)
    return _seed_from_parts(*numpy_state_token()[:2], number)


def batch_seed(epoch, number):
    """Return the seed of a batch of an epoch."""
    return _seed_from_parts(epoch, number)


def _seed_from_parts(*parts):
    text = repr(parts).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "little")


def seed_process(seed):
    """Seed all generators of a worker process for a batch."""
    np.random.seed(seed)
    random.seed(seed)
    mx_random.seed(seed)
    _thread_state.seed, _thread_state.generator = seed, None


@contextmanager
def seed_thread(seed):
    """Seed this thread's `sample_generator` and operators for a batch, then restore them."""
    before = _thread_state.seed, _thread_state.generator
    _thread_state.seed, _thread_state.generator = seed, None
    streams = use_own_random_streams((seed, 0))
    try:
        yield
    finally:
        _thread_state.seed, _thread_state.generator = before
        use_own_random_streams(streams)


@contextmanager
def seed_all_streams(seed):
    """Seed NumPy's, Python's and cynet's generators for a batch, then restore them."""
    python_before, own = random.getstate(), mx_random.get_state()
    random.seed(seed)
    mx_random.seed(seed)
    try:
        with seeded_numpy(seed), seed_thread(seed):
            yield
    finally:
        random.setstate(python_before)
        mx_random.set_state(own)
