"""Descriptions of parameters that docstrings of mx.profiler have in common.

Parameters
----------
domain : Domain
    Domain that it belongs to: its category in the trace.
name : str
    Name in the trace.
profile_process : str
    Only ``'worker'``; there are no servers.
state : str
    ``'run'`` or ``'stop'``.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
