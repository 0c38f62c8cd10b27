"""mx.nd.sparse: csr and row_sparse arrays, how they are made, and the operators that take them."""

from ...base.errors import NotSupportedForSparseNDArray
from ...base.legacy import c_array_buf, check_call, integer_types, mx_real_t, numeric_types
from ...context import Context, current_context
from ...operator.namespaces import public_names as _public_names
from ..ndarray import NDArray
from . import call as _call  # imported as it registers how calls with sparse arrays run
from .arrays import *
from .creation import *
from .functions import *
from . import common_parameters  # imported last: it completes docstrings

__all__ = _public_names(globals())
