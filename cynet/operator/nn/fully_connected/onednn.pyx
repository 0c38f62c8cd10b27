# cython: wraparound=True
"""FullyConnected in float32 or bfloat16 by oneDNN's matrix products, with an activation folded in.

out = act(data weight^T + bias); data (N, K), weight (M, K), bias (M,), out (N, M).
"""

from libc.stdint cimport int64_t, uint16_t
from libcpp.vector cimport vector

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kNullOp
from ....kernels.conv.onednn_matmul cimport Matmul
from ..._base cimport Operator, OpContext
from ..fused_activation cimport FoldedActivation

cdef enum:
    FORWARD = 0  # the product that computes the output
    DATA = 1  # the product that computes the data's gradient
    WEIGHT = 2  # the product that computes the weight's gradient
    BIAS = 3  # the product that computes the bias's gradient
    BFLOAT16_ONE = 0x3F80  # bits of 1.0 in bfloat16


cdef class MatmulFullyConnected(Operator):  # by products of oneDNN
    """Three products, created for writing or adding at their first run; in bfloat16 a fourth, of
    ones and the output's gradient, computes the bias's gradient."""

    cdef int64_t rows, units, hidden
    cdef bint has_bias
    cdef object act_type
    cdef FoldedActivation activation
    cdef str dtype
    cdef vector[uint16_t] ones  # a 1.0 in bfloat16 for each row
    cdef void* products[4][2]  # Matmuls by kind and whether they add; `_made` holds them
    cdef list _made

    def __init__(self, prop, rows, units, hidden, dtype="float32"):
        self.stateful, self.dtype = True, dtype
        self.rows, self.units, self.hidden = rows, units, hidden
        self.has_bias, self.act_type, self._made = not prop.no_bias, prop.activation, []
        self.activation = FoldedActivation(prop, rows * hidden, dtype)
        if self.has_bias and dtype == "bfloat16":
            self.ones.assign(<size_t>self.rows, <uint16_t>BFLOAT16_ONE)
        self._make_product(FORWARD, prop.sums)

    cdef void* _get_product(self, int kind, bint add) except NULL nogil:  # made if missing
        if self.products[kind][add] == NULL:
            with gil:
                self._make_product(kind, add)
        return self.products[kind][add]

    cdef int _make_product(self, int kind, bint add) except -1:  # kind: FORWARD, DATA, WEIGHT, BIAS
        cdef int64_t n = self.rows, k = self.units, m = self.hidden
        cdef Matmul made
        bias, activation = False, None
        if kind == FORWARD:
            shape, transposed = (n, m, k), (False, True)
            bias, activation = self.has_bias, self.act_type
        elif kind == DATA:
            shape, transposed = (n, k, m), (False, False)
        elif kind == WEIGHT:
            shape, transposed = (m, k, n), (True, False)
        else:
            shape, transposed = (1, m, n), (False, False)
        made = Matmul(shape, *transposed, self.dtype, bias, activation, add)
        self._made.append(made)
        self.products[kind][add] = <void*>made
        return 0

    cdef int _run_product(self, OpContext* ctx, int kind, bint add, void** tensors,
                          size_t reserved) except -1 nogil:
        """Run a product; its scratch lies behind `reserved` bytes of the temporary space."""
        cdef void* product = self._get_product(kind, add)
        cdef size_t need = reserved + (<Matmul>product).scratch_bytes
        cdef char* space = <char*>get_space(&ctx.requested[0], need)
        return (<Matmul>product).run(tensors, space + reserved)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* tensors[4]
        cdef int n = 2
        if req[0] == kNullOp:
            return 0
        tensors[0], tensors[1] = in_data[0].data, in_data[1].data
        if self.has_bias:
            tensors[2] = in_data[2].data
            n = 3
        tensors[n] = out_data[0].data
        return self._run_product(ctx, FORWARD, req[0] == kAddTo, tensors, 0)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef void* tensors[3]
        cdef void* grad = out_grad[0].data
        cdef size_t reserved = self.activation.nbytes, need = reserved
        cdef void* space = NULL
        cdef int kind
        if reserved:
            for kind in range(DATA, BIAS + 1 if self.ones.size() else BIAS):
                if req[kind - DATA] != kNullOp:  # made now: growing the space moves it
                    need = max(need, reserved + <size_t>(<Matmul>self._get_product(
                        kind, req[kind - DATA] == kAddTo)).scratch_bytes)
            space = get_space(&ctx.requested[0], need)
        if self.has_bias and req[2] != kNullOp and self.ones.empty():
            grad = self.activation.mask_and_sum_columns(grad, out_data[0].data, space, self.hidden,
                                                        <float*>in_grad[2].data, req[2] == kAddTo)
        else:
            grad = self.activation.mask_gradient(grad, out_data[0].data, space)
        if self.has_bias and req[2] != kNullOp and not self.ones.empty():
            tensors[0], tensors[1], tensors[2] = self.ones.data(), grad, in_grad[2].data
            self._run_product(ctx, BIAS, req[2] == kAddTo, tensors, reserved)
        if req[1] != kNullOp:
            tensors[0], tensors[1], tensors[2] = grad, in_data[0].data, in_grad[1].data
            self._run_product(ctx, WEIGHT, req[1] == kAddTo, tensors, reserved)
        if req[0] != kNullOp:
            tensors[0], tensors[1], tensors[2] = grad, in_data[1].data, in_grad[0].data
            self._run_product(ctx, DATA, req[0] == kAddTo, tensors, reserved)
        return 0
