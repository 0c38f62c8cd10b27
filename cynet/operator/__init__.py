"""What an operator is, and every operator's definition: imported here, they fill the registry."""

from . import loss, nn, random, rnn, simple
from ._base import OPERATORS, Blob, Operator, get_operator, register_operator
from .build import compile_pyx, extension
from .custom import CustomOp, CustomOpProp, get_all_registered_operators, register
from .parameters import Bool, DType, Enum, Float, FloatTuple, Int, Shape, Str
from .property import OperatorProperty, OpReq, ResourceRequest
from .python_op import NDArrayOp, NumpyOp, PythonOp
from . import tensor, update
