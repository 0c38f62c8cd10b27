"""Parameters that several docstrings of mx.ndarray.methods show.

Parameters
----------
begin, end, step : tuple of int
    The slice, see ``mx.nd.slice``.
exclude : bool
    Reduce the axes that are not in `axis`.
inplace : bool
    Share the memory.
keepdims : bool
    Keep the axes, with length 1.
out : NDArray, optional
    Array that the result is written to.
"""

from ...operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
