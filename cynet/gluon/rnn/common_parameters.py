"""Descriptions of parameters that several docstrings of mx.gluon.rnn share.

Parameters
----------
batch_size : int
    Number of sequences.
bidirectional : bool
    Also run backwards over the sequence; the outputs of both directions are concatenated.
dropout : float
    Share of the elements between layers that training sets to 0.
dtype : str or numpy.dtype
    Type of the parameters.
hidden_size : int
    Size of the state.
i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    Initializers of the biases that go with them.
i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
    Initializers of the weights of the input and of the state.
input_size : int
    Size of an input at one step; 0 leaves it to the first forward pass.
layout : str
    Order of the axes of inputs and outputs, ``'TNC'`` or ``'NTC'``: time, batch, channels.
num_layers : int
    Number of layers, each on the output of the one below.
use_sequence_length : bool
    Each call needs `sequence_length`, the length of each sequence: outputs after its end are
    0, and the backward direction begins there. A call that has lengths uses them in any case.
"""

from ...operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
