"""What the tests of the kernels share: running an instance, samples, comparing."""

import ctypes
import functools

import numpy as np
from cynet_cuda_cpu.device import EmulatedDevice

from cynet.cuda import families

INT, LONG, DOUBLE = ctypes.c_int, ctypes.c_longlong, ctypes.c_double
DTYPES = {
    "float": "float32",
    "double": "float64",
    "cynet::half": "float16",
    "unsigned char": "uint8",
    "signed char": "int8",
    "int": "int32",
    "long long": "int64",
}
TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "float16": 2e-3}


@functools.cache
def _device():
    return EmulatedDevice()


def instances(source):
    """Those that are tried one by one: bfloat16's differ from float16's in how elements are read
    and written alone (tests/operator/cuda/test_bfloat16.py), and take as long to compile."""
    return [name for name in families.kernel_instances(source) if "bfloat16" not in name]


def kernel(source, instance):
    """The kernel of an instance, compiled with all of its source as the emulated device does it:
    the tests of forms launch the same objects.

    With CYNET_CHECK_KERNELS=1 in the checking mode, for whoever looks for an access out of bounds.
    """
    return _device().module(source).get(instance)


def types_of(source, template, first=None):
    """The types that a template has instances for, after the argument `first`."""
    start = f"{template}<{first}, " if first else f"{template}<"
    found = [n[len(start) : -1] for n in instances(source) if n.startswith(start)]
    assert found, start
    return found


def close(got, want, dtype, rtol=None):
    if dtype in TOLERANCE:
        rtol = rtol or TOLERANCE[dtype]
        np.testing.assert_allclose(got.astype("d"), want.astype("d"), rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(got, want)


def samples(dtype, n=257, low=-3, high=3):
    """Numbers on both sides of 0, and 0."""
    if dtype in TOLERANCE:
        return np.linspace(low, high, n).astype(dtype)
    return (np.arange(n) * 7 % 23 - (0 if dtype == "uint8" else 11)).astype(dtype)
