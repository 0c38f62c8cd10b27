"""Parameters that several docstrings of mx.symbol show.

Parameters
----------
group2ctx : dict of str to Context, optional
    Device of each ``ctx_group``.
indices_or_sections : int or tuple of int
    Number of equal parts, or indices at which the parts after the first begin.
inplace : bool
    Not used: a symbol has no memory.
shape : int or tuple of int
    Shape; 0 is a dimension that inference finds.
shared_exec : Executor, optional
    Executor whose memory may be reused, as for buckets.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
