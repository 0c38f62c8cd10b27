"""Descriptions of parameters that several docstrings of mx.callback share.

Parameters
----------
state : FitState
    The module, the epoch, the metric and the history of this training.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
