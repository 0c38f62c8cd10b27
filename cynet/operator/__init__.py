"""Operators: their base classes, and all definitions, which register themselves when imported."""

from typing import TYPE_CHECKING

from . import families, loss, nn, random, rnn
from .arguments import OperatorArguments, get_operator_arguments
from ._base import OPERATORS, Blob, Operator, get_operator, register_operator
from .graph_hooks import GraphHooks
from .parameters import Bool, DType, Enum, Field, Float, FloatTuple, Int, Shape, Str
from .property import OperatorProperty, OpReq, ResourceRequest
from . import sparse, tensor, update

if TYPE_CHECKING:  # other modules are imported at first use: see families.py and libinfo.py
    from . import contrib, control_flow, detection, image, linalg, quantization, vision
    from .custom import simple
    from .custom.build import compile_pyx, extension
    from .custom.custom import CustomOp, CustomOpProp, get_all_registered_operators, register
    from .custom.legacy import NDArrayOp, NumpyOp, PythonOp

__all__ = [
    "OPERATORS",
    "Blob",
    "Bool",
    "CustomOp",
    "CustomOpProp",
    "DType",
    "Enum",
    "Field",
    "Float",
    "FloatTuple",
    "Int",
    "NDArrayOp",
    "NumpyOp",
    "OpReq",
    "Operator",
    "OperatorArguments",
    "OperatorProperty",
    "PythonOp",
    "ResourceRequest",
    "Shape",
    "Str",
    "compile_pyx",
    "contrib",
    "control_flow",
    "detection",
    "extension",
    "get_all_registered_operators",
    "get_operator",
    "get_operator_arguments",
    "image",
    "linalg",
    "loss",
    "nn",
    "quantization",
    "random",
    "register",
    "register_operator",
    "rnn",
    "simple",
    "sparse",
    "tensor",
    "update",
    "vision",
]
