"""mx.rnn: recurrent networks as symbols, stepwise or fused, and batches of sentences."""

from ..operator.namespaces import public_names as _public_names
from .base import *
from .cells import *
from .checkpoint import *
from .conv import *
from .fused import *
from .io import *
from .modifiers import *
from .stacks import *
from . import common_parameters  # imported last: inserts text into docstrings

__all__ = _public_names(globals())
