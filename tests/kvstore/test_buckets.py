"""How arrays of several keys share out among buckets: exact limits, texts, pieces, places."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from cynet.kvstore import buckets
from cynet.kvstore.buckets import make_buckets

KB, MB = 1 << 10, 1 << 20


def rows_of(*sizes, dtype="float32"):
    """A row for each number of bytes."""
    each = np.dtype(dtype).itemsize
    return [(i, (size // each,), dtype) for i, size in enumerate(sizes)]


def keys_of(found):
    return [[entry.key for entry in bucket.entries] for bucket in found]


@pytest.mark.parametrize(
    ("sizes", "keys"),
    [
        ([], []),
        ([4], [[0]]),
        ([16 * KB], [[0]]),
        ([8 * KB, 8 * KB], [[0, 1]]),  # 16 KiB go together, however few there are
        ([8 * KB, 8 * KB + 4], [[0], [1]]),
        ([4 * KB] * 5, [[0, 1, 2, 3], [4]]),
        ([32 * KB] * 4, [[0], [1], [2], [3]]),  # four parts at least
        ([16 * KB] * 8, [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ([16 * KB] * 9, [[0, 1], [2, 3], [4, 5], [6, 7], [8]]),
        ([MB - 4, 4], [[0], [1]]),
        ([4, MB, 4], [[0], [1], [2]]),  # one that large is alone
        ([4, MB - 4, 4, 4 * MB], [[0, 1, 2], [3]]),
        ([4, 4, MB, MB], [[0, 1], [2], [3]]),
        ([4, MB, 4, 4 * MB, 8, 4 * MB, 4], [[0], [1], [2], [3], [4], [5], [6]]),
        ([600 * KB] * 20, [[i + k for k in range(5)] for i in range(0, 20, 5)]),
        ([1000 * KB] * 20, [[i + k for k in range(4)] for i in range(0, 20, 4)]),  # 4 MiB at most
    ],
)
def test_which_go_together(sizes, keys):
    found = make_buckets("sum", rows_of(*sizes), 7)
    assert keys_of(found) == keys
    assert [bucket.priority for bucket in found] == [7 - i for i in range(len(keys))]
    for bucket, own in zip(found, keys):
        nbytes = sum(sizes[key] for key in own)
        assert bucket.nbytes == nbytes and bucket.flat.shape == (nbytes // 4,)
        assert bucket.direct == (len(own) == 1 and nbytes >= MB)
        assert bucket.verb == "sum"
        rest = ", ".join(f"{key} ({sizes[key] // 4},) float32" for key in own)
        assert bucket.what == f"sum of {rest}"
        numbers = np.arange(nbytes // 4, dtype="float32")
        bucket.flat[:] = numbers
        for entry in bucket.entries:  # one behind another
            count = sizes[entry.key] // 4
            np.testing.assert_array_equal(entry.view.asnumpy(), numbers[:count])
            numbers = numbers[count:]


def test_the_most_bytes_are_a_setting(monkeypatch):
    monkeypatch.setenv("CYNET_DIST_BUCKET_KB", "32")
    assert keys_of(make_buckets("sum", rows_of(*[16 * KB] * 16), 0)) == [
        [i, i + 1] for i in range(0, 16, 2)
    ]
    assert keys_of(make_buckets("sum", rows_of(*[16 * KB] * 4), 0, parts=2)) == [[0, 1], [2, 3]]
    assert keys_of(make_buckets("sum", rows_of(*[16 * KB] * 4), 0)) == [[0], [1], [2], [3]]


def test_dtypes_travel_apart():
    dtypes = ["float32", "float16", "bfloat16", "float32", "int32", "uint8", "uint8", "int32"]
    rows = [(f"k{i}", (2, 3), dtype) for i, dtype in enumerate(dtypes)]
    found = make_buckets("sum", rows, 0)
    assert [(bucket.dtype, len(bucket.entries)) for bucket in found] == [
        ("float32", 4),
        ("int32", 1),
        ("uint8", 2),
        ("int32", 1),
    ]
    assert found[0].what == (
        "sum of 'k0' (2, 3) float32, 'k1' (2, 3) float16, 'k2' (2, 3) bfloat16, 'k3' (2, 3) float32"
    )
    assert found[0].entries[1].view.shape == (2, 3) and found[0].nbytes == 96
    shared = make_buckets("broadcast", [("a", (2,), "bool"), ("b", (3,), "uint8")], 0)
    assert [(each.dtype, each.what) for each in shared] == [
        ("uint8", "broadcast of 'a' (2,) bool, 'b' (3,) uint8")
    ]
    halves = make_buckets("sum", [("a", (MB // 4,), "float16"), ("b", (1,), "float16")], 0)
    assert [each.direct for each in halves] == [True, False]  # as it is summed, in float32
    (below,) = make_buckets("sum", [("a", (MB // 4 - 1,), "float16")], 0)
    assert not below.direct


@pytest.mark.parametrize("verb", ["sum", "broadcast"])
def test_dtypes_that_do_not_travel(verb):
    bad = "bool" if verb == "sum" else "complex64"
    with pytest.raises(ArgumentError, match=f"key 'x' is {bad}, of which ranks make no {verb}"):
        make_buckets(verb, [("x", (2,), bad), ("y", (2,), bad)], 0)


# --- requests -------------------------------------------------------------------------------------
class Comm:
    """Notes what begins."""

    def __init__(self):
        self.rows = []

    def Iallreduce(self, source, target):
        self.rows.append((source, target))

    def Ibcast(self, target, root):
        self.rows.append((root, target))


@pytest.mark.parametrize("count", [0, 1, MB // 2, MB // 2 + 1, MB, 3 * MB // 2 + 1])
def test_pieces_of_two_megabytes(count, monkeypatch):
    monkeypatch.setattr(buckets, "_mpi_in_place", lambda: "in place")
    source = mx.nd.array(np.arange(count) % 100, dtype="float32")
    (bucket,) = make_buckets("sum", [("w", (count,), "float32")], 3)
    lengths = [MB // 2] * (count // (MB // 2)) + [count % (MB // 2)] * (count % (MB // 2) > 0)
    lengths = lengths or [0]
    for request in (
        buckets.sum_request(bucket),
        buckets.sum_array_request(bucket, source),
        buckets.sum_request(bucket, source),
        buckets.broadcast_request(bucket, 0),
        buckets.broadcast_request(bucket, 2),
    ):
        assert (request.priority, request.nbytes) == (3, 4 * count)
        comm = Comm()
        for start in request.starts:
            start(comm)
        assert [len(target) for _, target in comm.rows] == lengths
        assert request.keep is not None and request.finish is None
    first, in_place, apart, root_0, root_2 = [
        (lambda c, r: [s(c) for s in r.starts] and c.rows)(Comm(), request)
        for request in (
            buckets.sum_request(bucket),
            buckets.sum_array_request(bucket, source),
            buckets.sum_request(bucket, source),
            buckets.broadcast_request(bucket, 0),
            buckets.broadcast_request(bucket, 2),
        )
    ]
    bucket.flat[:] = -1
    assert {what for what, _ in first + in_place} == {"in place"}
    assert {root for root, _ in root_0} == {0} and {root for root, _ in root_2} == {2}
    numbers = source.asnumpy()
    joined = [np.concatenate([part for _, part in rows]) for rows in (first, in_place, apart)]
    np.testing.assert_array_equal(joined[0], np.full(count, -1))
    np.testing.assert_array_equal(joined[1], numbers)
    np.testing.assert_array_equal(joined[2], np.full(count, -1))
    np.testing.assert_array_equal(np.concatenate([given for given, _ in apart]), numbers)
    what = f"sum of 'w' ({count},) float32"
    assert buckets.broadcast_request(bucket, 0).what == what
    assert buckets.broadcast_request(bucket, 2).what == f"{what} from rank 2"


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 17])
@pytest.mark.parametrize("threshold", [0.5, 2.0])
def test_sums_of_codes(count, threshold, rng):
    """Two bits an entry; what comes from all ranks is added up."""
    (bucket,) = make_buckets("sum", [("w", (count,), "float32")], 0)
    codes = rng.integers(-1, 2, (3, count))
    bucket.flat[:] = mx.nd.array(codes[1] * threshold)
    bucket.flat.wait_to_read()
    request = buckets.sum_two_bits(bucket, threshold, 3)
    assert request.what == f"sum of 'w' ({count},) float32 in 2 bits, {threshold:g}"
    nbytes = -(-count // 8)

    class Gather:
        def Iallgather(self, mine, found):
            assert mine.nbytes == 2 * nbytes and found.shape == (3, 2, nbytes)
            own = [np.packbits(codes[1] > 0), np.packbits(codes[1] < 0)]
            np.testing.assert_array_equal(mine, np.concatenate(own))
            for rank, each in enumerate(codes):
                found[rank] = np.packbits(each > 0), np.packbits(each < 0)
            return "begun"

    (start,) = request.starts
    assert start(Gather()) == "begun"
    request.finish()
    np.testing.assert_array_equal(bucket.flat.asnumpy(), codes.sum(0) * threshold)
