"""clip_global_norm: scales the gradients of all weights by one factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import ndarray as nd
from ..base.dtype import is_narrow
from ..base.errors import ArgumentError, shown, warn_user
from ..base.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence


@guarded
def clip_global_norm(
    arrays: Sequence[nd.NDArray], max_norm: float, check_isfinite: bool = True
) -> np.float32 | nd.NDArray:
    """Scale arrays in place so that the norm of all together is at most `max_norm`.

    Parameters
    ----------
    arrays : list of NDArray
        Arrays that are scaled in place, all by one factor.
    max_norm : float
        Upper bound of their common norm.
    check_isfinite : bool
        Wait for the norm, warn where it is NaN or infinite, and return it as a number; False only
        queues the work, and returns an array (1,).

    Returns
    -------
    numpy.float32 or NDArray
        The norm before.

    Raises
    ------
    ArgumentError
        `arrays` is not a list with at least one array, or `max_norm` is below 0.

    Examples
    --------
    >>> grad = mx.nd.array([3, 4])
    >>> float(clip_global_norm([grad], 1)), grad.asnumpy().round(4).tolist()
    (5.0, [0.6000000238418579, 0.800000011920929])
    """
    if not isinstance(arrays, (list, tuple)) or not arrays:
        raise ArgumentError(f"clip_global_norm takes a list of arrays, got {shown(arrays)}")
    if not max_norm >= 0:
        raise ArgumentError(f"clip_global_norm: max_norm must be 0 or more, got {shown(max_norm)}")
    ctx = arrays[0].context
    # squares of 16-bit floats would overflow
    wide = [each.astype("float32") if is_narrow(each.dtype) else each for each in arrays]
    squares = [nd.sum(nd.square(each)).astype("float32").as_in_context(ctx) for each in wide]
    total = nd.sqrt(nd.add_n(*squares))
    if check_isfinite:
        found = np.float32(total.asscalar())
        if not np.isfinite(found):
            warn_user(
                "clip_global_norm: the norm is NaN or infinite, and so are the arrays it scales"
            )
        scale = max_norm / (found + 1e-8)
        if scale < 1.0:
            for each in arrays:
                each *= float(scale)
        return found
    scale = nd.minimum(max_norm / (total + 1e-8), 1.0)
    for each in arrays:
        each[:] = nd.broadcast_mul(each, scale.astype(each.dtype).as_in_context(each.context))
    return total
