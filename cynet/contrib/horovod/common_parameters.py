"""Descriptions of parameters that docstrings of mx.contrib.horovod have in common.

Parameters
----------
gradient_predivide_factor : float
    What gradients are divided by before they are summed; their sum is multiplied by it.
num_groups : int
    Part of Horovod's signature; not used: gradients are summed in buckets anyway.
prefix : str, optional
    Part of Horovod's signature; not used.
process_set : ProcessSet, optional
    The processes that take part; by default all.
root_rank : int
    Number of the process whose values are taken.
tensor : NDArray
    An array of the same shape and dtype in all processes.
"""

from ...operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
