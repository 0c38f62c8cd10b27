"""_sample_multinomial and _shuffle: draws from tables of probabilities, random orders.

Multinomial: data (s, k) holds a table of k weights in each row; the output (s, shape) holds indices
below k, each drawn with probability weight / (sum of the row). With get_prob a second output of the
same shape holds the logarithm of the drawn entries' probabilities, and its gradient reaches data:
in_grad[r, j] = sum over draws i of row r with index j of out_grad[i] / data[r, j].

Shuffle: rows of data (n, ...) in random order.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport (
    TBlob, dtype_size, kAddTo, kFloat16, kFloat32, kFloat64, kInt8, kInt32, kInt64, kNullOp, kUint8)
from ...kernels.parallel cimport threads_for
from ...kernels.rng.random cimport (
    choose, gather_rows, load_number, log_share, permutation, running_sums
)
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError, shown
from .._base import register_operator
from ..parameters import Bool, DType, Shape
from ..property import OperatorProperty, ResourceRequest, merge_shapes

cdef extern from "common/half.h" namespace "cynet" nogil:
    cppclass half:
        half()
        half(float)

_FLOATS = ("bfloat16", "float16", "float32", "float64")
_INDEX_TYPES = ("float16", "float32", "float64", "int32", "int64", "uint8")


# --- numbers into arrays of a type known at run time ---------------------------------------------
cdef inline void _put(void* out, int dtype, int64_t i, double value, bint add) noexcept nogil:
    if add:
        value += load_number(out, dtype, i)
    if dtype == kFloat32:
        (<float*>out)[i] = <float>value
    elif dtype == kFloat64:
        (<double*>out)[i] = value
    elif dtype == kFloat16:
        (<half*>out)[i] = half(<float>value)
    elif dtype == kInt32:
        (<int32_t*>out)[i] = <int32_t>value
    elif dtype == kInt64:
        (<int64_t*>out)[i] = <int64_t>value
    elif dtype == kUint8:
        (<uint8_t*>out)[i] = <uint8_t>value
    elif dtype == kInt8:
        (<int8_t*>out)[i] = <int8_t>value
    else:
        (<uint8_t*>out)[i] = value != 0


cdef int _bad_row(int64_t row) except -1 with gil:
    raise ArgumentError(
        f"operator _sample_multinomial: row {row} of data is no table of probabilities: its "
        "entries must not be negative, and one must be positive and all finite")


cdef class MultinomialOperator(Operator):
    cdef int64_t k

    def __init__(self, k):
        self.k = k

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t n = out_data[0].size
        cdef int64_t rows = in_data[0].size // self.k
        cdef int64_t bad, i, row
        cdef int64_t each = n // rows
        cdef void* data = in_data[0].data
        cdef double* sums = <double*>get_space(&ctx.requested[1], rows * self.k * sizeof(double))
        cdef int64_t* choices = <int64_t*>get_space(&ctx.requested[2], n * sizeof(int64_t))
        cdef double weight
        if in_data[0].dtype == kFloat32:
            bad = running_sums(<float*>data, sums, rows, self.k)
        elif in_data[0].dtype == kFloat64:
            bad = running_sums(<double*>data, sums, rows, self.k)
        else:
            bad = running_sums(<half*>data, sums, rows, self.k)
        if bad >= 0:
            _bad_row(bad)
        choose(ctx.requested[0].seed, ctx.requested[0].stream, sums, rows, self.k, each, choices,
               threads_for(n * 32))
        if req[0] != kNullOp:
            for i in range(n):
                _put(out_data[0].data, out_data[0].dtype, i, <double>choices[i], req[0] == kAddTo)
        if ctx.n_out > 1 and req[1] != kNullOp:
            for i in range(n):
                row = i // each
                weight = load_number(data, in_data[0].dtype, row * self.k + choices[i])
                _put(out_data[1].data, out_data[1].dtype, i,
                     log_share(weight, sums[(row + 1) * self.k - 1]), req[1] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t rows, each, i, at
        cdef double grad, weight, drawn
        if req[0] == kNullOp:
            return 0
        if req[0] != kAddTo:
            memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(in_grad[0].dtype))
        if ctx.n_out < 2 or out_grad[1].data == NULL:
            return 0
        rows = in_data[0].size // self.k
        each = out_data[0].size // rows
        for i in range(out_data[0].size):
            drawn = load_number(out_data[0].data, out_data[0].dtype, i)
            if not drawn < self.k:  # its dtype could not hold it: infinity in float16
                drawn = self.k - 1
            at = (i // each) * self.k + (<int64_t>drawn if drawn > 0 else 0)
            grad = load_number(out_grad[1].data, out_grad[1].dtype, i)
            weight = load_number(in_data[0].data, in_data[0].dtype, at)
            _put(in_grad[0].data, in_grad[0].dtype, at, grad / weight, True)
        return 0


class MultinomialProperty(OperatorProperty):
    """Indices drawn with the probabilities in each row of `data`.

    Rows need not add up to 1: each is divided by its sum. The output has the leading axes of `data`
    and then `shape`; without `shape` each row gives one number.
    """

    shape = Shape((), "Numbers to draw from each row.", low=1)
    get_prob = Bool(False, "Also return the logarithm of the probabilities of what was drawn.")
    dtype = DType("int32", "Type of the indices.")
    inputs_doc = {"data": "Weights that are not negative, shape (s, k)."}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.dtype not in _INDEX_TYPES:
            raise ArgumentError(f"operator {self.op_name}: parameter 'dtype' takes one of "
                                f"{', '.join(_INDEX_TYPES)}, got {shown(self.dtype)}")
        self.differentiable = self.get_prob

    def list_outputs(self):
        return ["output0", "output1"] if self.get_prob else ["output"]

    def infer_shape(self, in_shapes, out_shapes):
        data = in_shapes[0]
        if data is None:
            return in_shapes, out_shapes, []
        if len(data) == 1:
            out = self.shape or (1,)
        else:
            out = (*data[:len(data) - 1], *self.shape)
        out = merge_shapes(out, *out_shapes)
        return [data], [out] * len(out_shapes), []

    def infer_type(self, in_types, out_types):
        data = in_types[0] or (out_types[1] if self.get_prob else None) or "float32"
        if data not in _FLOATS:
            raise ArgumentError(
                f"operator {self.op_name}: data must be {', '.join(_FLOATS)}, got {data}")
        return [data], [self.dtype, data] if self.get_prob else [self.dtype], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.random, ResourceRequest.temp_space, ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data, out_data[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        return MultinomialOperator(in_shapes[0][len(in_shapes[0]) - 1])


cdef class ShuffleOperator(Operator):
    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t n = in_data[0].shape[0]
        cdef int64_t width = in_data[0].size // n
        cdef int64_t nbytes = width * dtype_size(in_data[0].dtype)
        cdef int64_t i, j
        cdef int64_t* order
        if req[0] == kNullOp:
            return 0
        order = <int64_t*>get_space(&ctx.requested[1], n * sizeof(int64_t))
        permutation(ctx.requested[0].seed, ctx.requested[0].stream, order, n)
        if req[0] != kAddTo:
            gather_rows(<const char*>in_data[0].data, <char*>out_data[0].data, order, n, nbytes,
                        threads_for(n * (nbytes // 8 + 4)))
            return 0
        for i in range(n):
            for j in range(width):
                _put(out_data[0].data, out_data[0].dtype, i * width + j,
                     load_number(in_data[0].data, in_data[0].dtype, order[i] * width + j), True)
        return 0


class ShuffleProperty(OperatorProperty):
    """The rows of `data` (its first axis) in random order."""

    differentiable = False
    inputs_doc = {"data": "Array of any shape."}

    def forward_resource(self, in_shapes):
        return [ResourceRequest.random, ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        return ShuffleOperator()


register_operator("_sample_multinomial", MultinomialProperty, aliases=("sample_multinomial",))
register_operator("_shuffle", ShuffleProperty, aliases=("shuffle",))
