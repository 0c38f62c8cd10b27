"""mx.nd: NDArray, its creation, and a function for every operator of the registry."""

from .._ndarray import waitall
from . import _internal, contrib, image, linalg, op, random
from .binary import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)
from .composed import histogram
from .creation import (
    arange,
    array,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    linspace,
    moveaxis,
    onehot_encode,
    ones,
    ones_like,
    split_v2,
    to_dlpack_for_read,
    to_dlpack_for_write,
    zeros,
    zeros_like,
)
from .functions import __dir__, __getattr__
from .ndarray import NDArray
from .numpy_like import einsum, matmul
from .serialization import load, load_frombuffer, save, save_tobuffer
from . import sparse
from .sparse.functions import cast_storage
