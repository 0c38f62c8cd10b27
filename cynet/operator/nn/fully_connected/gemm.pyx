# cython: wraparound=True
"""FullyConnected in float32 by the products of kernels/gemm/small.h, with an activation folded in.

out = act(data weight^T + bias); data (N, K), weight (M, K), bias (M,), out (N, M). Convolutions of
1x1 without stride or pad over channels-last data are the same with N pixels.
"""

from libc.stdint cimport int64_t

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ....kernels.parallel cimport threads_for
from ....kernels.gemm.small cimport (
    Product, ProductKernel, run_product, pack_operand, product_packed_size, product_shares_a,
    product_workspace_bytes
)
from ....kernels.movement.strided cimport STRIDED_WRITE, StridedSpace, run_strided, set_copy_space
from ..._base cimport Operator, OpContext
from ..fused_activation cimport FoldedActivation, aligned_float_bytes

from ...products import ProductDesc, choose_own_loop, kernel_code
from ...tensor.strided_moves import whole_view


def layer_product_descs(rows, units, hidden, dtype="float32", packed=False):
    """The ProductDesc of the three products of a layer: "forward" and the gradients of "data" and
    "weight", in this order."""
    return {
        "forward": ProductDesc(rows, hidden, units, dtype, False, True, packed, weight=True),
        "data": ProductDesc(rows, units, hidden, dtype, weight=True),
        "weight": ProductDesc(hidden, units, rows, dtype, True, weight=True),
    }


def packed_weight_floats(units, hidden):
    """Floats of a weight (hidden, units) as PackProductWeight makes it."""
    return product_packed_size(hidden, units)


cdef class PackProductWeight(Operator):  # packs a weight for our product loops
    """Weights (hidden, units) in the form that ``ProductFullyConnected(packed=True)`` reads."""

    cdef int64_t units, hidden

    def __init__(self, units, hidden):
        self.units, self.hidden = units, hidden

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        pack_operand(<const float*>in_data[0].data, self.units, True, self.units, self.hidden,
                     <float*>out_data[0].data, threads_for(self.units * self.hidden))
        return 0


cdef class ProductFullyConnected(Operator):  # by our own product loops
    """`packed`: weights are in the order of PackProductWeight; `picked`: the View of the rows of
    data to read, for predictions (None: all)."""

    cdef int64_t rows, units, hidden
    cdef StridedSpace picked
    cdef size_t picked_bytes
    cdef bint has_bias, gives_masked, packed
    cdef ProductKernel forward_algorithm, data_algorithm, weight_algorithm
    cdef FoldedActivation activation

    def __init__(self, prop, rows, units, hidden, packed=False, picked=None):
        self.rows, self.units, self.hidden, self.packed = rows, units, hidden, packed
        self.has_bias, self.gives_masked = not prop.no_bias, prop.gives_masked
        self.activation = FoldedActivation(prop, rows * hidden)
        products = layer_product_descs(rows, units, hidden, packed=packed)
        cdef int[3] algorithms = [kernel_code(choose_own_loop(desc)) for desc in products.values()]
        self.forward_algorithm = <ProductKernel>algorithms[0]
        self.data_algorithm = <ProductKernel>algorithms[1]
        self.weight_algorithm = <ProductKernel>algorithms[2]
        self.picked_bytes = 0
        if picked is not None:
            set_copy_space(&self.picked, whole_view(picked.shape), picked)
            self.picked_bytes = aligned_float_bytes(rows * units)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int threads = self._thread_count()
        cdef Product p
        cdef void* rows
        if req[0] == kNullOp:
            return 0
        p.m, p.n, p.k = self.rows, self.hidden, self.units
        p.a, p.a_row, p.a_transposed = <const float*>in_data[0].data, p.k, False
        p.b, p.b_row, p.b_transposed = <const float*>in_data[1].data, p.k, True
        if self.packed:
            p.packed = p.b
            p.b = NULL
        p.c, p.c_row = <float*>out_data[0].data, p.n
        p.relu, p.add = self.activation.relu, req[0] == kAddTo
        p.bias = <const float*>(in_data[2].data if self.has_bias else NULL)
        if self.picked_bytes:
            rows = get_space(
                &ctx.requested[0], self.picked_bytes + product_workspace_bytes(threads))
            run_strided(&self.picked, kFloat32, STRIDED_WRITE, rows, p.a)
            p.a = <const float*>rows
        self._run_gemm(ctx, &p, self.forward_algorithm, threads, self.picked_bytes)
        if self.activation.apart:
            self.activation.apply_in_place(p.c)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef size_t reserved = self.activation.nbytes
        cdef int threads = self._thread_count()
        # requested once for all: growing the space would move it
        cdef char* space = <char*>get_space(
            &ctx.requested[0], reserved + product_workspace_bytes(threads))
        cdef const float* grad
        cdef Product p
        cdef bint sums = self.has_bias and req[2] != kNullOp
        if sums and req[1] == kNullOp:
            grad = <const float*>self.activation.mask_and_sum_columns(
                out_grad[0].data, out_data[0].data, space, self.hidden, <float*>in_grad[2].data,
                req[2] == kAddTo)
        else:
            grad = <const float*>self.activation.mask_gradient(
                out_grad[0].data, out_data[0].data, space)
        p.bias = NULL
        p.a, p.a_row, p.relu, p.b_transposed = grad, self.hidden, False, False
        p.n = p.b_row = p.c_row = self.units
        if req[1] != kNullOp:
            p.m, p.k, p.a_transposed, p.add = self.hidden, self.rows, True, req[1] == kAddTo
            p.b, p.c = <const float*>in_data[0].data, <float*>in_grad[1].data
            if sums:
                p.sums, p.add_sums = <float*>in_grad[2].data, req[2] == kAddTo
            p.b_shared = product_shares_a(self.forward_algorithm, self.rows, self.hidden, threads)
            self._run_gemm(ctx, &p, self.weight_algorithm, threads, reserved)
            p.b_shared = False
            p.sums = NULL
        if req[0] != kNullOp:
            p.m, p.k, p.a_transposed, p.add = self.rows, self.hidden, False, req[0] == kAddTo
            p.b, p.c = <const float*>in_data[1].data, <float*>in_grad[0].data
            p.mask = <const float*>in_data[0].data if self.gives_masked else NULL
            self._run_gemm(ctx, &p, self.data_algorithm, threads, reserved)
        return 0

    cdef int _thread_count(self) noexcept nogil:
        """The number of threads, read at each call since it may change."""
        return threads_for(self.rows * self.units * self.hidden // 8)

    cdef int _run_gemm(self, OpContext* ctx, const Product* p, ProductKernel algorithm, int threads,
                       size_t reserved) except -1 nogil:
        """Run a product; its scratch lies behind `reserved` bytes of the temporary space."""
        cdef char* space = <char*>get_space(
            &ctx.requested[0], reserved + product_workspace_bytes(threads))
        run_product(p, algorithm, threads, space + reserved)
        return 0
