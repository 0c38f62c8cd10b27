"""Descriptions of parameters that several docstrings of mx.gluon.nn share.

Parameters
----------
ceil_mode : bool
    Round output extents up, so that the last window may reach beyond the end.
count_include_pad : bool
    Whether padding counts, as zeros, in the mean.
epsilon : float
    Added to the variance, so that the division is stable.
in_channels : int
    Number of channels; 0 leaves it to the first forward pass.
padding : int or tuple of int
    Number of elements added on both sides of each spatial axis.
pool_size : int or tuple of int
    Extent of the window along each spatial axis.
strides : int or tuple of int, optional
    Step from window to window; `pool_size` by default.
"""

from ...operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
