"""Parameters that several docstrings of mx.ndarray.sparse show.

Parameters
----------
full_check : bool
    Whether to check every index; if False, only the lengths and ends.
name : str, optional
    Not used; only symbols have names.
out : NDArray, optional
    Array that the result is written to.
"""

from ...operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
