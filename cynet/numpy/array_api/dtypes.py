"""Dtypes of the array API: their names, kinds, limits and promotion."""

from collections import namedtuple

import numpy as onp

from ...base.errors import ArgumentTypeError, shown
from ...context import read_context
from .. import constants
from .._call import array_of

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")  # versions of the standard
__array_api_version__ = VERSIONS[-1]
DTYPES = ("bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64")
globals().update({name: onp.dtype(name) for name in DTYPES})

_KIND_DTYPES = {  # kind of the standard -> dtypes
    "bool": ("bool",),
    "signed integer": ("int8", "int32", "int64"),
    "unsigned integer": ("uint8",),
    "real floating": ("float16", "float32", "float64"),
    "complex floating": (),
}
_KIND_DTYPES["integral"] = _KIND_DTYPES["signed integer"] + _KIND_DTYPES["unsigned integer"]
_KIND_DTYPES["numeric"] = _KIND_DTYPES["integral"] + _KIND_DTYPES["real floating"]
_DEFAULT_DTYPES = {"b": "bool", "i": "int64", "u": "int64", "f": "float32"}  # letter of a kind


FloatLimits = namedtuple("FloatLimits", "bits eps max min smallest_normal dtype")  # of `finfo`
IntLimits = namedtuple("IntLimits", "bits max min dtype")  # result of `iinfo`


def default_dtype(kind):
    """The dtype of Python numbers of a kind (a letter of NumPy's): int64 and float32."""
    return onp.dtype(_DEFAULT_DTYPES[kind])


def dtype_of(value):
    """The dtype of an array, or the dtype itself."""
    return onp.dtype(getattr(value, "dtype", value))


def astype(x, dtype, /, *, copy=True, device=None):
    """The elements as another dtype: a new array, unless `copy` is False and the dtype the same."""
    x = array_of(x, "array_api.astype").astype(dtype, copy=copy)
    return x if device is None else x.to_device(read_context(device))


def can_cast(from_, to, /):
    """Return whether a dtype, or an array's, becomes another one by promotion."""
    from_, to = dtype_of(from_), dtype_of(to)
    return onp.can_cast(from_, to) if from_.kind == to.kind or from_.kind != "b" else True


def finfo(type, /):
    """The limits of a dtype of floats, as Python's numbers."""
    dtype = dtype_of(type)
    own = onp.finfo(dtype)
    limits = (float(each) for each in (own.eps, own.max, own.min, own.smallest_normal))
    return FloatLimits(own.bits, *limits, dtype)


def iinfo(type, /):
    """The limits of a dtype of integers, as Python's numbers."""
    dtype = dtype_of(type)
    own = onp.iinfo(dtype)
    return IntLimits(own.bits, own.max, own.min, dtype)


def isdtype(dtype, kind):
    """Return whether a dtype is of a kind, a name such as "integral", another dtype, or one of
    several.

    Raises
    ------
    ArgumentTypeError
        No kind has that name.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KIND_DTYPES:
            raise ArgumentTypeError(
                f"array_api.isdtype: kind is one of {', '.join(_KIND_DTYPES)}, got {shown(kind)}"
            )
        return onp.dtype(dtype).name in _KIND_DTYPES[kind]
    return onp.dtype(dtype) == onp.dtype(kind)


def result_type(*arrays_and_dtypes):
    """The dtype of arithmetic on arrays, dtypes and Python numbers; Python numbers are weak.

    Raises
    ------
    ArgumentTypeError
        Nothing is given.
    """
    if not arrays_and_dtypes:
        raise ArgumentTypeError("array_api.result_type takes one array or dtype at least")
    numbers = [e for e in arrays_and_dtypes if isinstance(e, (int, float))]
    strong = [e for e in arrays_and_dtypes if not isinstance(e, (int, float))]
    kinds = "".join(kind_of_number(e) for e in numbers)
    if not strong:
        return default_dtype("f" if "f" in kinds else "i" if "i" in kinds else "b")
    found = constants.result_type(*strong)
    if "f" in kinds and found.kind in "biu":
        return default_dtype("f")
    return default_dtype("i") if "i" in kinds and found.kind == "b" else found


def kind_of_number(number):
    """The letter of the kind of a Python number."""
    return "b" if number is True or number is False else "i" if isinstance(number, int) else "f"


class NamespaceInfo:  # result of ``__array_namespace_info__``
    """The result of `__array_namespace_info__`: devices, dtypes and defaults of the namespace."""

    __slots__ = ()

    def capabilities(self):
        """The optional parts of the standard, by name."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        """The device of new arrays."""
        from ...context import current_context

        return current_context()

    def default_dtypes(self, *, device=None):
        """The dtypes of new arrays, by kind."""
        return {
            "real floating": default_dtype("f"),
            "integral": default_dtype("i"),
            "indexing": default_dtype("i"),
        }

    def devices(self):
        """The CPU, and the available GPUs."""
        from ...context import cpu, gpu, num_gpus

        return [cpu(0), *(gpu(i) for i in range(num_gpus()))]

    def dtypes(self, *, device=None, kind=None):
        """The standard's dtypes by name, of a kind or of all."""
        return {
            n: onp.dtype(n) for n in DTYPES if n != "float16" and (kind is None or isdtype(n, kind))
        }


def __array_namespace_info__():
    """The devices, dtypes and defaults of the namespace."""
    return NamespaceInfo()


__all__ = [
    *DTYPES,
    "__array_namespace_info__",
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]
