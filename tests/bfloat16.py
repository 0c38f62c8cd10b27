"""bfloat16 in NumPy: its bits in integer arithmetic, in arrays of the dtype that cynet and MXNet
have for it."""

import numpy as np

from cynet.base.dtype import BFLOAT16


def narrowed(values):
    """Numbers as bfloat16: the nearest, of two the even one."""
    values = np.asarray(values)
    if values.dtype == BFLOAT16:
        return values
    with np.errstate(all="ignore"):
        exact = values.astype(np.float64)
        near = exact.astype(np.float32)
        back = near.astype(np.float64)
    # a float32 that is no bfloat16, nor in the middle of two, on the side where `exact` is
    bits = near.view(np.uint32).astype(np.int64)
    away = np.abs(exact) > np.abs(back)
    inexact = (exact != back) & np.isfinite(exact)
    bits = np.where(inexact, np.where(away, bits, bits - 1) | 1, bits)
    low, kept = bits & 0xFFFF, bits >> 16
    kept += (low > 0x8000) | ((low == 0x8000) & (kept & 1 == 1))
    kept = np.where(np.isnan(exact), (bits >> 16) | 0x40, kept)
    return kept.astype(np.uint16).view(BFLOAT16).reshape(values.shape)


def widened(array):
    """Arrays of bfloat16 as float32, exactly; others as they are."""
    array = np.asarray(array)
    if array.dtype != BFLOAT16:
        return array
    bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32).reshape(array.shape)


def as_type(array, dtype):
    """``astype`` that knows bfloat16."""
    array = np.asarray(array)
    if dtype in ("bfloat16", BFLOAT16):
        return narrowed(array)
    array = widened(array)
    if np.dtype(dtype).kind == "u" and array.dtype.kind == "f":
        array = array.astype(np.int64)  # of a number below 0 C says nothing: machines differ
    return array.astype(dtype)
