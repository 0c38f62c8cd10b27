"""Descriptions of parameters that docstrings of mx.rnn have in common.

Parameters
----------
activation : str or callable
    Name of an activation, or a function of symbols.
epoch : int
    Number in the name of the parameters' file: ``prefix-0003.params`` for 3.
num_hidden : int
    Size of the state.
params : RNNParams, optional
    Weights to share; new ones by default.
prefix : str
    Prefix of its symbols' names.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
