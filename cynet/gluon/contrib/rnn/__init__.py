"""mx.gluon.contrib.rnn: convolutional cells, LSTM with a projection, variational dropout."""

from ....operator.namespaces import public_names as _public_names
from . import conv_rnn_cell, rnn_cell
from .conv_rnn_cell import *
from .rnn_cell import *

__all__ = ["conv_rnn_cell", "rnn_cell", *_public_names(globals())]
