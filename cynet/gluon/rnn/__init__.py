"""mx.gluon.rnn: recurrent layers, and cells that are unrolled step by step."""

from ...operator.namespaces import public_names as _public_names
from .rnn_cell import *
from .rnn_layer import *
from . import common_parameters  # imported last: adds shared paragraphs to the docstrings above

__all__ = _public_names(globals())
