"""How far apart two results of one formula may be that sum in another order, or round elsewhere:
what the arithmetic says, not what one machine gave."""

import numpy as np

# Errors of single roundings are as often up as down: the sum of n of them exceeds `SURE` times the
# root of n by a chance of about 1e-8 (Hoeffding's inequality, as Higham and Mary apply it).
SURE = 6


def rounding(terms, dtype="float32"):
    """How much of the sum of the terms' sizes two sums of `terms` terms may differ by.

    Products that are joined with a sum (FMA) round less, not more. What is computed by steps, each
    of which reads the one before, has the terms of all of them.
    """
    return SURE * np.sqrt(max(terms, 1)) * np.finfo(dtype).eps / 2


def assert_summed_alike(found, wanted, terms, size=None, err_msg=""):
    """`found` and `wanted` differ by no more than sums of `terms` terms of their dtype may.

    Parameters
    ----------
    found, wanted : numpy.ndarray
        The less exact of their dtypes counts.
    terms : int
    size : float or numpy.ndarray, optional
        The sum of the terms' sizes; the largest number in `wanted` where no term is larger than
        what they come to.
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    dtype = max((found.dtype, wanted.dtype), key=lambda kind: np.finfo(kind).eps)
    size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0) if size is None else size
    far = rounding(terms, dtype) * np.broadcast_to(size, wanted.shape)
    different = ~(np.isfinite(found) & np.isfinite(wanted)) & ~(
        (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    )
    assert not different.any(), f"{err_msg} {found[different]} {wanted[different]}"
    finite = np.isfinite(wanted)
    apart = np.abs(found.astype("longdouble") - wanted.astype("longdouble"))[finite]
    worst = (apart - far[finite]).max(initial=-np.inf)
    assert worst <= 0, f"{err_msg}: {worst} more apart than {far.max()}"
