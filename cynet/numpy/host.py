"""Functions of mx.np that NumPy computes on the host, as MXNet has it."""

import numpy as onp

from .dispatch import on_host

NAMES = (
    "apply_along_axis",
    "apply_over_axes",
    "argpartition",
    "array_repr",
    "digitize",
    "fill_diagonal",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "i0",
    "in1d",
    "intersect1d",
    "isin",
    "iscomplexobj",
    "isrealobj",
    "lexsort",
    "nanargmax",
    "nanargmin",
    "packbits",
    "partition",
    "polydiv",
    "roots",
    "searchsorted",
    "setdiff1d",
    "setxor1d",
    "spacing",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "union1d",
    "unique",
    "unpackbits",
    "unravel_index",
    "diag_indices_from",
    "ravel_multi_index",
    "choose",
    "frexp",
    "genfromtxt",
    "unique_values",
    "unique_counts",
    "unique_inverse",
    "unique_all",
)


def _made(name):
    host = getattr(onp, name)

    def function(*args, **kwargs):
        return on_host(host, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "cynet.numpy"
    function.__doc__ = f"``numpy.{name}``, computed by NumPy on the host; no gradient flows."
    return function


FUNCTIONS = {name: _made(name) for name in NAMES if hasattr(onp, name)}


def in1d(ar1, ar2, assume_unique=False, invert=False):
    """Whether elements of one array are in another, in one axis."""
    return FUNCTIONS["isin"](ar1, ar2, assume_unique=assume_unique, invert=invert).reshape(-1)


FUNCTIONS["in1d"] = in1d

globals().update(FUNCTIONS)
__all__ = list(FUNCTIONS)
