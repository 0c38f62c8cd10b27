"""Arguments of kernels: the C structures of ``cuda/kernels``, and C names of dtypes."""

import ctypes
from math import prod

import numpy as np

from ...base.errors import ArgumentError

INT, LONG = ctypes.c_int, ctypes.c_longlong  # int and long long in C
# bool arrays are moved and compared as bytes
C_TYPES = {  # dtype -> its C type
    "float32": "float",
    "float64": "double",
    "float16": "cynet::half",
    "bfloat16": "cynet::bfloat16",
    "uint8": "unsigned char",
    "int32": "int",
    "int8": "signed char",
    "int64": "long long",
    "bool": "unsigned char",
}
SIZEOF = {  # bytes of a C type
    "float": 4,
    "double": 8,
    "cynet::half": 2,
    "cynet::bfloat16": 2,
    "unsigned char": 1,
    "int": 4,
    "signed char": 1,
    "long long": 8,
    "bool": 1,
}


class IndexSpace(ctypes.Structure):  # kernel argument: a shape and operands' strides
    """An index space, and strides of the operands a, b and g over it (broadcast.cu)."""

    _fields_ = [("n", LONG), ("ndim", INT)]
    _fields_ += [(name, LONG * 8) for name in ("shape", "a", "b", "g")]


class Axes(ctypes.Structure):  # kernel argument: preserved and reduced axes
    """Preserved and reduced axes of an array (reduce.cu)."""

    _fields_ = [
        ("preserved_size", LONG),
        ("reduced_size", LONG),
        ("n_preserved", INT),
        ("n_reduced", INT),
    ]
    _fields_ += [
        (n, LONG * 8) for n in ("preserved", "preserved_stride", "reduced", "reduced_stride")
    ]


class Layout(ctypes.Structure):  # kernel argument: two strided views of one shape
    """Two strided views of one shape (index.cu)."""

    _fields_ = [("n", LONG), ("to_start", LONG), ("start", LONG), ("ndim", INT)]
    _fields_ += [(name, LONG * 16) for name in ("shape", "to", "from")]


def strides_of(shape):
    """Row-major strides in elements.

    >>> strides_of((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def join_axes(shape, *strides):
    """Collapse an iteration to fewer axes: axes of length 1 are dropped, and neighbors are joined
    if every operand steps from one into the other. Returns (shape, list of strides).

    >>> join_axes((2, 1, 3, 4), (12, 12, 4, 1), (4, 0, 0, 1))
    ((2, 3, 4), [(12, 4, 1), (4, 0, 1)])
    >>> join_axes((2, 3), (3, 1), (3, 1))
    ((6,), [(1,), (1,)])
    """
    lengths, steps = [], []
    for n, *step in zip(shape, *strides):
        if n == 1:
            continue
        if lengths and all(a == b * n for a, b in zip(steps[-1], step)):
            lengths[-1] *= n
            steps[-1] = step
        else:
            lengths.append(n)
            steps.append(step)
    if not lengths:
        lengths, steps = [1], [[0] * len(strides)]
    return tuple(lengths), [tuple(s[k] for s in steps) for k in range(len(strides))]


def c_int64_array(values, maximum=8):
    """Convert lengths or strides to a C array."""
    if len(values) > maximum:
        raise ArgumentError(f"more than {maximum} separate axes: {tuple(values)}")
    return (LONG * maximum)(*values)


def broadcast_strides(shape, out):
    """Strides of an array of `shape` broadcast to `out`.

    >>> broadcast_strides((3, 1), (2, 3, 4))
    (0, 1, 0)
    """
    own = strides_of(shape)
    missing = len(out) - len(shape)
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in zip(shape, own))


def space_of(shape, a, b, g=None):
    """The IndexSpace of an output of `shape`, with strides of a, b and g (None: row-major)."""
    n = prod(shape)
    shape, (a, b, g) = join_axes(shape, a, b, strides_of(shape) if g is None else g)
    return IndexSpace(
        n, len(shape), c_int64_array(shape), c_int64_array(a), c_int64_array(b), c_int64_array(g)
    )


def axes_of(shape, reduced):
    """The Axes of a reduction of an array of `shape` over the axes `reduced`."""
    own, lists = strides_of(shape), []
    for chosen in ([i for i in range(len(shape)) if i not in reduced], list(reduced)):
        lengths, (steps,) = join_axes([shape[i] for i in chosen], [own[i] for i in chosen])
        lists.append((lengths, steps))
    return make_axes(*lists)


def make_axes(outer, reduced):
    """The Axes of preserved and reduced dimensions, each given as (lengths, strides)."""
    sizes = [prod(lengths) for lengths, _ in (outer, reduced)]
    return Axes(*sizes, len(outer[0]), len(reduced[0]), *map(c_int64_array, (*outer, *reduced)))


def layout_args(shape, to, source, to_start=0, start=0):
    """The Layout of ``dst[to_start + i . to] = src[start + i . source]`` for all i of `shape`."""
    n = prod(shape)
    shape, (to, source) = join_axes(shape, to, source)
    lists = [c_int64_array(values, 16) for values in (shape, to, source)]
    return Layout(n, to_start, start, len(shape), *lists)


def dtype_of_c_type(kind):
    """The dtype of a C type.

    >>> dtype_of_c_type("long long")
    'int64'
    """
    return next(name for name, own in C_TYPES.items() if own == kind)


def round_to_dtype(values, dtype):
    """Return numbers rounded to `dtype`, a NumPy array of that dtype; of float32 for bfloat16.

    >>> round_to_dtype([1.01, 3], "bfloat16")
    array([1.0078125, 3.       ], dtype=float32)
    """
    if dtype != "bfloat16":
        return np.asarray(values).astype(dtype)
    bits = np.asarray(values).astype("float32").view("uint32")
    near = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)  # ties to even
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(is_nan, np.uint32(0x7FC00000), near).astype("uint32").view("float32")


def bytes_of_numbers(values, dtype):
    """Convert numbers to the bytes of an array of `dtype`.

    >>> bytes_of_numbers([1.0], "bfloat16").hex()
    '803f'
    """
    values = round_to_dtype(values, dtype)
    if dtype == "bfloat16":
        values = (values.view("uint32") >> 16).astype("uint16")
    return values.tobytes()


def cast_type(dtype):
    """The C type that `cast` writes for a dtype: as in C_TYPES, but bool is 0 or 1."""
    return "bool" if dtype == "bool" else C_TYPES[dtype]
