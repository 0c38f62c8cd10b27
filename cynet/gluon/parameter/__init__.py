"""mx.gluon.parameter: Parameters of Blocks, and dictionaries of them."""

from ..errors import DeferredInitializationError
from .constant import Constant
from .parameter import Parameter, tensor_types
from .parameter_dict import ParameterDict
from .shapes import shape_is_known

__all__ = [
    "Constant",
    "DeferredInitializationError",
    "Parameter",
    "ParameterDict",
    "shape_is_known",
    "tensor_types",
]
