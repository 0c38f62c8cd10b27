"""mx.gluon.nn: layers of neural networks."""

from ...operator.namespaces import public_names as _public_names
from ..block import Block as Block
from ..block import HybridBlock as HybridBlock
from ..block import SymbolBlock as SymbolBlock
from .activations import *
from .attention import *
from .basic_layers import *
from .computed_weights import *
from .containers import *
from .conv_layers import *
from .norm_layers import *
from .pooling_layers import *
from .positions import *
from .spectral import *
from .transformer import *
from . import common_parameters  # imported last: adds shared paragraphs to the docstrings above

__all__ = _public_names(globals())
