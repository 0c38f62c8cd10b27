"""Parameters that several docstrings of mx.callback show.

Parameters
----------
state : FitState
    The module, the epoch, the metric and the history of this training.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
