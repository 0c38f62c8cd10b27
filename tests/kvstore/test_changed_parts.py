"""Parts of arrays that each rank has changed: all ranks get them, with nothing added or rounded."""

import numpy as np
import pytest

import cynet as mx
from cynet.kvstore import changed_parts as module
from cynet.kvstore.changed_parts import ChangedParts
from tests.distributed.together import run

N = (1 << 20) + 37  # more than a request of MPI moves at once


def numbers(shape, dtype, seed):
    bits = np.random.default_rng(seed).integers(0, 2, shape)
    return mx.nd.array(bits if dtype == "bool" else bits * 3 + seed, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "bool"])
@pytest.mark.parametrize("devices", [1, 2])
def test_every_rank_gets_every_part(dtype, devices, monkeypatch):
    """Cut and whole arrays, parts of no entries, arrays gathered in place and copied together."""
    shapes = {"cut": (N,), "small": (4, 5), "whole": (3, 2), "other": (7,)}
    bounds = {
        "cut": [(0, 400000), (400000, 400000), (400000, N)],
        "small": [(0, 16), (16, 20), (20, 20)],
        "whole": [(0, 0), (0, 6), (0, 0)],
        "other": [(0, 0), (0, 0), (0, 7)],
    }

    def everything(world):
        kv = mx.kv.create("dist_sync")
        arrays = {
            key: [
                numbers(shape, dtype, world.rank).as_in_context(mx.cpu(d)) for d in range(devices)
            ]
            for key, shape in shapes.items()
        }
        parts = ChangedParts(arrays, bounds, world.rank)
        in_place = [each.target is arrays["cut"][0] for each in parts.gathered]
        assert in_place == [False] + [True] * (devices == 1)
        assert parts.is_made_of(arrays)
        assert not parts.is_made_of({**arrays, "whole": [each.copy() for each in arrays["whole"]]})
        for _ in range(2):
            kv.gather(parts)
        return {key: [each.asnumpy() for each in group] for key, group in arrays.items()}

    found = run(monkeypatch, 3, everything)
    for key, shape in shapes.items():
        expected = numbers(shape, dtype, 0).asnumpy().copy()
        for rank, (start, stop) in enumerate(bounds[key]):
            own = numbers(shape, dtype, rank).asnumpy()
            expected.reshape(-1)[start:stop] = own.reshape(-1)[start:stop]
        for rank in range(3):
            for each in found[rank][key]:
                np.testing.assert_array_equal(each, expected, err_msg=f"{key} of rank {rank}")


def test_requests_are_few_and_large_ones_go_in_pieces(monkeypatch):
    def everything(world):
        rows = {f"w{i}": [mx.nd.full((50,), world.rank)] for i in range(20)}
        rows["large"] = [mx.nd.full((N,), world.rank)]
        half = N // 2
        bounds = {
            key: [(0, 50), (0, 0)] if int(key[1:] or 0) % 2 else [(0, 0), (0, 50)]
            for key in list(rows)[:-1]
        }
        parts = ChangedParts(rows, {**bounds, "large": [(0, half), (half, N)]}, world.rank)
        requests = [each.make_request(0) for each in parts.gathered]
        pieces = -(-(N - half) // (module._MPI_PIECE_BYTES // 4 // 2))
        assert [len(each.starts) for each in requests] == [1, pieces]
        assert [len(each.mine) for each in parts.gathered] == [10, 0]
        mx.kv.create("dist_sync").gather(parts)
        return [rows[f"w{i}"][0].asnumpy().tolist() for i in range(20)], rows["large"][0].asnumpy()

    for small, large in run(monkeypatch, 2, everything):
        assert small == [[1.0 - i % 2] * 50 for i in range(20)]
        assert not large[: N // 2].any() and large[N // 2 :].all()
