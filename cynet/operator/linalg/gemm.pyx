"""gemm: alpha op(A) op(B) + beta C; gemm2: alpha op(A) op(B), of stacks of matrices.

`axis` is that of the matrices' rows; columns are in the last one. The matrices of a stack are
shared out among threads, or the blocks of one product (kernels/gemm/blas.pxd).
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.gemm.blas cimport gemm
from ...kernels.parallel cimport parallel_ranges, threads_for
from .._base cimport Operator, OpContext

from math import prod

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, ShapeError
from ...kernels.gemm.blas import check_sizes
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Double, Int
from ..precision import FLOAT32, Precision
from ..property import OperatorProperty, merge_shapes
from ..second_order import Linear


class GemmHooks(GraphHooks):
    def flops(self, prop, in_shapes, out_shapes):
        _, k = prop.rows_axis_and_length(in_shapes)
        return 2 * k * prod(out_shapes[0])


_AXIS_DOC = "Axis of the matrices' rows; their columns are in the last axis."


class _ProductsProperty(OperatorProperty):  # base of products of A and B
    """Base of products of the matrices A and B."""

    inputs_doc = {"A": "The left matrices.", "B": "The right matrices."}
    transpose_a = Bool(False, doc="Take A transposed.")
    transpose_b = Bool(False, doc="Take B transposed.")
    alpha = Double(1.0, doc="A factor of the product.")

    def rows_axis(self, ndim):
        """Return `axis` as a number from 0 on, for arrays of `ndim` axes."""
        axis = self.axis + ndim if self.axis < 0 else self.axis
        if not 0 <= axis < ndim - 1:
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'axis' is {self.axis}; arrays of {ndim} axes "
                "have their rows in any but the last one")
        return axis

    def rows_axis_and_length(self, in_shapes):
        """Return (axis of the rows, length that is summed over)."""
        a = in_shapes[0]
        axis = self.rows_axis(len(a))
        return axis, a[axis] if self.transpose_a else a[len(a) - 1]

    def infer_shape(self, in_shapes, out_shapes):
        a, b = in_shapes[:2]
        out = merge_shapes(*in_shapes[2:], *out_shapes)
        if a is None or b is None:
            return [a, b, out][:len(in_shapes)], [out], []
        if len(a) != len(b) or len(a) < 2:
            raise ShapeError(f"operator {self.op_name}: 'A' of {a} and 'B' of {b} must have one "
                             "number of axes, at least two")
        last = len(a) - 1
        axis = self.rows_axis(len(a))
        m, k = (a[last], a[axis]) if self.transpose_a else (a[axis], a[last])
        other, n = (b[last], b[axis]) if self.transpose_b else (b[axis], b[last])
        if k and other and k != other:
            raise ShapeError(f"operator {self.op_name}: the product of 'A' {a} and 'B' {b} sums "
                             f"over lengths {k} and {other}")
        rest = [i for i in range(last) if i != axis]
        joint = merge_shapes(tuple([a[i] for i in rest]), tuple([b[i] for i in rest]))
        sides = [list(a), list(b), [0] * len(a)]
        for i, length in zip(rest, joint):
            for side in sides:
                side[i] = length
        sides[2][axis], sides[2][last] = m, n
        out = merge_shapes(tuple(sides[2]), out)
        return [tuple(sides[0]), tuple(sides[1]), out][:len(in_shapes)], [out], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data[:2]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        axis, k = self.rows_axis_and_length(in_shapes)
        out = self.output_shapes(in_shapes)[0]
        last = len(out) - 1
        check_sizes(f"operator {self.op_name}", *[prod(s[axis:]) for s in (*in_shapes, out)])
        return GemmOperator(self, in_types[0], prod(out[:axis]), prod(out[axis + 1:last]),
                            out[axis], out[last], k)


class Gemm2Property(_ProductsProperty, operator="_linalg_gemm2", aliases=("linalg_gemm2",)):
    """Matrix products: ``alpha op(A) op(B)``; op optionally transposes."""

    axis = Int(-2, doc=_AXIS_DOC)

    graph = GemmHooks(of_nothing=0.0)  # the sum over an axis of length 0
    second_order = Linear({0: (1,), 1: (0,)})
    amp = Precision(FLOAT32)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> mx.nd.linalg.gemm2(x, x, transpose_b=True)
    [[ 5. 11.]
     [11. 25.]]
    <NDArray 2x2 @cpu(0)>
    """


class GemmProperty(_ProductsProperty, operator="_linalg_gemm", aliases=("linalg_gemm",)):
    """Products of matrices, with a sum: ``alpha op(A) op(B) + beta C``."""

    inputs_doc = {**_ProductsProperty.inputs_doc, "C": "What is added, of the output's shape."}
    beta = Double(1.0, doc="A factor of C.")
    axis = Int(-2, doc=_AXIS_DOC)

    graph = GemmHooks(takes_empty=True)
    second_order = Linear({0: (1,), 1: (0,), 2: ()})
    amp = Precision(FLOAT32)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> mx.nd.linalg.gemm(x, x, mx.nd.ones((2, 2)), alpha=2, beta=10)
    [[24. 30.]
     [40. 54.]]
    <NDArray 2x2 @cpu(0)>
    """

    def list_arguments(self):
        return ["A", "B", "C"]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[2], out_data[0])]


cdef struct Products:  # arguments of a stack of matrix products
    # `outer` times `inner` products of m x k by k x n: a matrix's rows lie `inner` lines apart
    int dtype
    bint trans_a, trans_b
    int64_t inner, m, n, k, count
    double alpha, beta
    const char* a
    const char* b
    char* c


cdef class GemmOperator(Operator):
    """outer * inner products of m x k by k x n."""

    cdef bint trans_a, trans_b, sums
    cdef int dtype
    cdef int64_t outer, inner, m, n, k
    cdef double alpha, beta

    def __init__(self, prop, dtype, outer, inner, m, n, k):
        self.trans_a, self.trans_b = prop.transpose_a, prop.transpose_b
        self.alpha, self.beta = prop.alpha, getattr(prop, "beta", 0.0)
        self.sums = len(prop.list_arguments()) == 3
        self.dtype = dtype_flag(dtype)
        self.outer, self.inner, self.m, self.n, self.k = outer, inner, m, n, k

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if self.sums:
            _scale_matrix(self.dtype, out_data[0].size, self.beta, in_data[2].data,
                          out_data[0].data, req[0] == kAddTo)
        _multiply(self, self.trans_a, self.trans_b, self.m, self.n, self.k, in_data[0].data,
                  in_data[1].data, out_data[0].data, self.sums or req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef void* g = out_grad[0].data
        cdef void* a = in_data[0].data
        cdef void* b = in_data[1].data
        if req[0] != kNullOp:
            if self.trans_a:
                _multiply(self, self.trans_b, True, self.k, self.m, self.n, b, g, in_grad[0].data,
                          req[0] == kAddTo)
            else:
                _multiply(self, False, not self.trans_b, self.m, self.k, self.n, g, b,
                          in_grad[0].data, req[0] == kAddTo)
        if req[1] != kNullOp:
            if self.trans_b:
                _multiply(self, True, self.trans_a, self.n, self.k, self.m, g, a, in_grad[1].data,
                          req[1] == kAddTo)
            else:
                _multiply(self, not self.trans_a, False, self.k, self.n, self.m, a, g,
                          in_grad[1].data, req[1] == kAddTo)
        if self.sums and req[2] != kNullOp:
            _scale_matrix(self.dtype, in_grad[2].size, self.beta, g, in_grad[2].data,
                          req[2] == kAddTo)
        return 0


cdef void _scale_matrix(int dtype, int64_t n, double factor, const void* x, void* y,
                        bint add) noexcept nogil:
    """y = factor * x, or y += factor * x; x is not read if the factor is 0."""
    cdef int64_t i
    if dtype == kFloat32:
        for i in range(n):
            (<float*>y)[i] = ((<float*>y)[i] if add else 0) + (
                <float>factor * (<float*>x)[i] if factor != 0 else 0)
    else:
        for i in range(n):
            (<double*>y)[i] = ((<double*>y)[i] if add else 0) + (
                factor * (<double*>x)[i] if factor != 0 else 0)


cdef void _multiply(GemmOperator self, bint trans_a, bint trans_b, int64_t m, int64_t n, int64_t k,
                    const void* a, const void* b, void* c, bint add) noexcept nogil:
    cdef Products p
    if k == 0:  # only with C
        return
    p.dtype, p.trans_a, p.trans_b = self.dtype, trans_a, trans_b
    p.inner, p.m, p.n, p.k, p.count = self.inner, m, n, k, self.outer * self.inner
    p.alpha, p.beta = self.alpha, 1.0 if add else 0.0
    p.a, p.b, p.c = <const char*>a, <const char*>b, <char*>c
    # gemm splits a single product; of several, each thread computes some
    parallel_ranges(threads_for(p.count * m * n * k // 8) if p.count > 1 else 1, p.count,
                    _multiply_range, &p)


cdef void _multiply_range(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef Products* p = <Products*>arg
    cdef int64_t size = 4 if p.dtype == kFloat32 else 8
    cdef int64_t a_rows = p.k if p.trans_a else p.m, a_cols = p.m if p.trans_a else p.k
    cdef int64_t b_rows = p.n if p.trans_b else p.k, b_cols = p.k if p.trans_b else p.n
    cdef int64_t i, outer, inner
    cdef const char* a
    cdef const char* b
    cdef char* c
    for i in range(begin, end):
        outer, inner = i // p.inner, i % p.inner
        a = p.a + (outer * a_rows * p.inner + inner) * a_cols * size
        b = p.b + (outer * b_rows * p.inner + inner) * b_cols * size
        c = p.c + (outer * p.m * p.inner + inner) * p.n * size
        if p.dtype == kFloat32:
            gemm[float](p.trans_a, p.trans_b, p.m, p.n, p.k, <float>p.alpha, <const float*>a,
                        a_cols * p.inner, <const float*>b, b_cols * p.inner, <float>p.beta,
                        <float*>c, p.n * p.inner)
        else:
            gemm[double](p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, <const double*>a,
                         a_cols * p.inner, <const double*>b, b_cols * p.inner, p.beta, <double*>c,
                         p.n * p.inner)
