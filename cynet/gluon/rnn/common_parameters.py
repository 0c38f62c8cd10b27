"""Parameters that several docstrings of mx.gluon.rnn show.

Parameters
----------
batch_size : int
    Number of sequences.
hidden_size : int
    Size of the state.
"""

from ...operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
