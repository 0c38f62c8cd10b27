"""mx.nd: NDArray, its creation, and a function for every operator of the registry."""

from .._ndarray import waitall
from . import _internal, contrib, image, linalg, op, random
from .legacy.binary import (
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
from .composed import concatenate, histogram, isnan, moveaxis, onehot_encode, split_v2, where
from .creation import arange, array, empty, eye, full, linspace, ones, ones_like, zeros, zeros_like
from .dlpack import from_dlpack, from_numpy, to_dlpack_for_read, to_dlpack_for_write
from .functions import __dir__, __getattr__
from .ndarray import NDArray
from .methods import einsum, matmul
from .methods.numpy_functions import bincount, diff, meshgrid, nonzero, quantile, tril, triu, unique
from .serialization import load, load_frombuffer, save, save_tobuffer
from . import sparse
from .sparse.functions import cast_storage
