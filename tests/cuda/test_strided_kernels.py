"""strided.cu, the assignments of arrays on a GPU, in the emulator against those on the CPU."""

import ctypes

import numpy as np
import pytest

import cynet as mx

from .running import kernel

TYPES = {
    "float": "float32",
    "double": "float64",
    "cynet::half": "float16",
    "unsigned char": "uint8",
    "int": "int32",
    "signed char": "int8",
    "long long": "int64",
    "bool": "bool",
}
LONG = ctypes.c_longlong


class Strides(ctypes.Structure):
    """What the kernels take."""

    _fields_ = [
        ("n", LONG),
        ("ndim", ctypes.c_int),
        ("shape", LONG * 16),
        ("to", LONG * 16),
        ("source", LONG * 16),
    ]


def strides(shape, to, source):
    return Strides(int(np.prod(shape)), len(shape), (*shape,), (*to,), (*source,))


@pytest.mark.parametrize("source", TYPES)
def test_assignments_convert_as_on_the_cpu(rng, source):
    x = (rng.standard_normal((6, 7)) * 300).astype(TYPES[source])
    if source in ("float", "double"):
        x[0, :3] = np.nan, np.inf, -np.inf
    host = mx.nd.array(x, dtype=x.dtype)
    for target, dtype in TYPES.items():
        want, got = mx.nd.zeros((7, 12), dtype=dtype), np.zeros((7, 12), dtype)
        want[:, 11::-2] = host.T
        to = got.reshape(-1)[11:]
        kernel("strided", f"assign<{target}, {source}>").launch(
            [to, x, strides((7, 6), (12, -2), (1, 7))], 2, 32
        )
        np.testing.assert_array_equal(got, want.asnumpy())


@pytest.mark.parametrize("kind", ["unsigned char", "int", "long long"])
def test_fills(kind):
    got = np.zeros((4, 6), TYPES[kind])
    value = np.array([77], got.dtype)
    given = {1: ctypes.c_uint8, 4: ctypes.c_int32, 8: ctypes.c_int64}[got.itemsize](77)
    kernel("strided", f"fill<{kind}>").launch([got, given, strides((4, 2), (6, 3), (0, 0))], 1, 32)
    want = np.zeros((4, 6), got.dtype)
    want[:, ::3] = value
    np.testing.assert_array_equal(got, want)


def test_rows(rng):
    x = rng.standard_normal((5, 3)).astype("f")
    rows = np.array([4, 0, 2])
    out = np.zeros((3, 3), "f")
    kernel("strided", "gather_rows").launch([out, x, rows, LONG(3), LONG(12)], 1, 32)
    np.testing.assert_array_equal(out, x[rows])
    kernel("strided", "scatter_rows").launch([out * 2, x, rows, LONG(3), LONG(12)], 1, 32)
    np.testing.assert_array_equal(x[rows], out * 2)
