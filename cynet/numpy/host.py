"""Functions of mx.np that NumPy computes on the host, as MXNet has it."""

import numpy as onp

from .dispatch import on_host

NAMES = (
    "apply_along_axis", "apply_over_axes", "argpartition", "array_repr", "block",
    "compress", "corrcoef", "correlate", "cov", "cumprod", "delete", "digitize", "extract",
    "fill_diagonal", "heaviside", "histogram", "histogram2d", "histogram_bin_edges",
    "histogramdd", "i0", "in1d", "insert", "interp", "intersect1d", "isin", "iscomplexobj",
    "isrealobj", "lexsort", "msort", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
    "nanquantile", "nanstd", "nansum", "nanvar", "packbits", "pad", "partition",
    "piecewise", "poly", "polyadd", "polydiv", "polyfit", "polyint", "polymul", "polysub",
    "polyval", "resize", "roots", "searchsorted", "select", "setdiff1d", "setxor1d",
    "sinc", "spacing", "tril_indices", "tril_indices_from", "trim_zeros", "triu_indices",
    "triu_indices_from", "union1d", "unique", "unpackbits", "unravel_index", "unwrap", "vander",
    "diag_indices_from", "ravel_multi_index", "trapezoid", "convolve", "gradient", "nan_to_num",
    "choose", "frexp", "genfromtxt", "unique_values", "unique_counts",
    "unique_inverse", "unique_all", "cumulative_prod",
)  # fmt: skip


def _made(name):
    host = getattr(onp, name)

    def function(*args, **kwargs):
        return on_host(host, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "cynet.numpy"
    function.__doc__ = f"``numpy.{name}``, computed by NumPy on the host; no gradient flows."
    return function


FUNCTIONS = {name: _made(name) for name in NAMES if hasattr(onp, name)}
FUNCTIONS["trapz"] = FUNCTIONS.get("trapezoid") or _made("trapz")  # the name before NumPy 2


def in1d(ar1, ar2, assume_unique=False, invert=False):
    """Return whether elements of one array are in another, in one axis."""
    return FUNCTIONS["isin"](ar1, ar2, assume_unique=assume_unique, invert=invert).reshape(-1)


FUNCTIONS["in1d"] = in1d

globals().update(FUNCTIONS)
__all__ = list(FUNCTIONS)
