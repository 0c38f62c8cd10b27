"""Parameters that several docstrings of mx.kvstore show.

Parameters
----------
key : str, int or a list of them
    The keys.
priority : int
    A hint, see `push`.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
