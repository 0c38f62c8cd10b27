"""Buckets: arrays of several keys in one piece of memory, which ranks sum or broadcast at once."""

import numpy as np

from .. import ndarray as nd
from ..base import config
from ..base.compat import optional
from ..base.errors import ArgumentError, shown
from ..distributed._work import host_view
from ..distributed.requests import SUM_DTYPES, Request

# dtype -> dtype of its sums: narrow floats overflow and lose small gradients.
_SUM_DTYPES = {"float16": "float32", "bfloat16": "float32"}  # dtype -> dtype of its sums
_BROADCAST_DTYPES = {**_SUM_DTYPES, "bool": "uint8"}  # dtype -> dtype that is sent
# an array of this many bytes is not copied: it is a bucket of its own
_MIN_OWN_BUCKET_BYTES = 1 << 20  # bytes of an array that is its own bucket
_MIN_BUCKETS = 4  # minimum of buckets, if there are enough arrays: their sums overlap with backward


def mpi_dtype(verb, dtype):
    """Return the dtype in which ranks sum or broadcast arrays of `dtype`; both are names."""
    return (_SUM_DTYPES if verb == "sum" else _BROADCAST_DTYPES).get(dtype, dtype)


# Bytes of one MPI operation: with 64 MB in one operation, Open MPI is several times slower.
_MPI_PIECE_BYTES = 2 << 20  # bytes of one MPI operation


class BucketEntry:  # a key and its slice of a bucket
    """A key and the slice of a bucket that holds its array."""

    __slots__ = ("key", "view")

    def __init__(self, key, view):
        self.key, self.view = key, view


class Bucket:  # memory that several arrays share
    """Memory that several arrays are copied into, one after another.

    verb (str): ``'sum'`` or ``'broadcast'``.
    rows (list of (key, shape, dtype)): Of one dtype as they are summed.
    priority: int
    """

    def __init__(self, verb, rows, priority):
        (self.dtype,) = {mpi_dtype(verb, dtype) for _, _, dtype in rows}
        if self.dtype not in SUM_DTYPES:
            key, _, dtype = rows[0]
            raise ArgumentError(
                f"kvstore: key {shown(key)} is {dtype}, of which ranks make no {verb}"
            )
        sizes = [int(np.prod(shape)) for _, shape, _ in rows]
        self.flat = nd.zeros((sum(sizes),), dtype=self.dtype)
        self.nbytes = self.flat.size * np.dtype(self.dtype).itemsize
        self.entries, start = [], 0
        for (key, shape, _), size in zip(rows, sizes):
            self.entries.append(BucketEntry(key, self.flat._view(shape, start)))
            start += size
        self.direct = len(rows) == 1 and self.nbytes >= _MIN_OWN_BUCKET_BYTES
        self.verb, self.priority = verb, priority
        texts = [f"{shown(key)} {shape} {dtype}" for key, shape, dtype in rows]
        self.what = f"{verb} of {', '.join(texts)}"

    def make_request(self, start, keep, finish=None, note=""):
        """Create a Request for the bucket."""
        return Request(self.what + note, self.priority, self.nbytes, start, finish, keep)


def make_buckets(verb, rows, priority, parts=_MIN_BUCKETS):
    """Return the buckets for some arrays, in the order of the arrays.

    verb: str
    rows: list of (key, shape, dtype)
    priority (int): Of the first bucket; each further one has one less.
    parts (int): Aim at so many buckets.

    Returns list of Bucket.
    """
    sizes = [
        int(np.prod(shape)) * np.dtype(mpi_dtype(verb, dtype)).itemsize for _, shape, dtype in rows
    ]
    maximum = config.get("CYNET_DIST_BUCKET_KB") << 10
    goal = max(min(maximum, sum(sizes) // parts), 1 << 14)
    out, group, nbytes = [], [], 0

    def close_bucket():
        nonlocal group, nbytes
        if group:
            out.append(Bucket(verb, group, priority - len(out)))
        group, nbytes = [], 0

    for row, size in zip(rows, sizes):
        other = bool(group) and mpi_dtype(verb, group[0][2]) != mpi_dtype(verb, row[2])
        if other or nbytes + size > goal or size >= _MIN_OWN_BUCKET_BYTES:
            close_bucket()
        group.append(row)
        nbytes += size
        if size >= _MIN_OWN_BUCKET_BYTES:
            close_bucket()
    close_bucket()
    return out


def sum_request(bucket, source=None):
    """Create the request that sums a bucket over the ranks, in place.

    source (NDArray, optional): The array that is summed instead of the bucket: with ``source is not
        bucket.flat`` the sum is written to the bucket and `source` stays.
    """
    target = host_view(bucket.flat)
    given = None if source is None else host_view(source)
    return bucket.make_request(_make_sum_starters(given, target), (target, given))


def sum_array_request(bucket, array):
    """Create the request that sums an array over the ranks, in place of a bucket."""
    target = host_view(array)
    return bucket.make_request(_make_sum_starters(None, target), target)


def _make_sum_starters(given, target):
    """Return the functions that start the sums of an array's pieces; None sums in place."""

    def make_starter(part):
        source = _mpi_in_place() if given is None else given[part]
        return lambda comm: comm.Iallreduce(source, target[part])

    return [make_starter(part) for part in _piece_slices(target)]


def _piece_slices(array):
    n = _MPI_PIECE_BYTES // array.itemsize
    return [slice(i, i + n) for i in range(0, max(len(array), 1), n)]


def broadcast_request(bucket, root, array=None):
    """Create the request that broadcasts a bucket, or an array instead, from one rank to all."""
    target, note = (
        host_view(bucket.flat if array is None else array),
        f" from rank {root}" * (root > 0),
    )
    starts = [
        lambda comm, part=part: comm.Ibcast(target[part], root) for part in _piece_slices(target)
    ]
    return bucket.make_request(starts, target, note=note)


def sum_two_bits(bucket, threshold, size):
    """Create the request that sums entries of `threshold`, ``-threshold`` or 0: each rank sends two
    bits an entry."""
    target = host_view(bucket.flat)
    n = len(target)
    nbytes = (n + 7) // 8
    mine, found = np.empty(2 * nbytes, np.uint8), np.empty((size, 2, nbytes), np.uint8)

    def start(comm):
        mine[:nbytes] = np.packbits(target > 0)
        mine[nbytes:] = np.packbits(target < 0)
        return comm.Iallgather(mine, found)

    def finish():
        count = np.zeros(n, np.int32)
        for more, less in found:
            count += np.unpackbits(more, count=n)
            count -= np.unpackbits(less, count=n)
        np.multiply(
            count, np.float32(threshold), out=target, dtype=target.dtype, casting="same_kind"
        )

    return bucket.make_request(start, (target, mine, found), finish, f" in 2 bits, {threshold:g}")


def _mpi_in_place():
    return optional("mpi4py.MPI", "training in several processes").IN_PLACE
