"""Attention whose projections lie interleaved by head: products of queries and keys, and of
attention and values.

Projections are (length, batch, heads * parts * dim): for each head its queries, keys and values
(parts 3), keys and values (2) or queries (1) side by side. Attention is (batch * heads, query
length, key length). ``qk`` gives ``queries keys' / sqrt(dim)`` of each head, ``valatt`` gives
``attention values``, (query length, batch, heads * dim). All are products on the projections as
they lie: nothing is transposed or copied.
"""

from cython cimport floating
from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.gemm.blas cimport gemm
from ...kernels.parallel cimport parallel_ranges, threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ShapeError
from ...kernels.gemm.blas import check_sizes
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Int
from ..precision import WIDEST, Precision
from ..property import OperatorProperty
from .attention_rewritten import SCORES, WEIGHTED_SUMS

cdef struct HeadStack:  # memory and strides of the heads' matrices
    # Offsets of the heads' matrices: that of batch b and head h begins at (b * heads + h) * step +
    # first, with rows `row` apart. NULL: absent.
    char* data
    int64_t first, step, row


cdef struct Products:  # arguments of the products of all heads
    # C (+)= alpha op(A) op(B) for each batch and head; zeros where no product writes
    int dtype
    bint trans_a, trans_b, add
    int64_t count, m, n, k
    double alpha
    HeadStack a, b, c


class InterleavedProperty(OperatorProperty):  # base: heads and shapes
    """Base: the number of heads, and shapes of the parts."""

    heads = Int(doc="Number of heads.", low=1)
    graph = GraphHooks(float32_beside_half=())
    names = ()
    projections = 1  # how many of the inputs are projections
    takes_attention = False

    def list_arguments(self):
        return list(self.names)

    def infer_shape(self, in_shapes, out_shapes):
        parts = self.projection_counts()
        known = [s for s in in_shapes[: self.projections]]
        for name, shape, part in zip(self.names, known, parts):
            if shape is None:
                continue
            if len(shape) != 3:
                raise ShapeError(
                    f"'{name}' has shape {tuple(shape)}, expected (length, batch, projections)")
            if shape[2] and shape[2] % (part * self.heads):
                raise ShapeError(
                    f"'{name}' has shape {tuple(shape)}, expected a last length that is a "
                    f"multiple of {part} * heads = {part * self.heads}")
        if any(s is None for s in known):
            return in_shapes, [None], []
        first, last = known[0], known[len(known) - 1]
        if self.projections == 2 and any(
                a and b and a != b for a, b in ((first[1], last[1]), (first[2] * 2, last[2]))):
            raise ShapeError(
                f"'{self.names[0]}' {tuple(first)} and '{self.names[1]}' {tuple(last)} do not go"
                f" together, expected equal batches and a projection of twice the size")
        if not self.takes_attention:
            return in_shapes, [(first[1] * self.heads, first[0], last[0])], []
        attention = in_shapes[1]
        rows = first[0] if parts[0] == 3 else 0
        wanted = (first[1] * self.heads, rows, first[0])
        if attention is not None:
            if len(attention) != 3 or any(
                    a and b and a != b for a, b in zip(attention, wanted)):
                raise ShapeError(
                    f"'attention' has shape {tuple(attention)}, expected {wanted} (0: any)")
            wanted = tuple(a or b for a, b in zip(wanted, attention))
        elif out_shapes[0] is not None and len(out_shapes[0]) == 3:
            wanted = (wanted[0], wanted[1] or out_shapes[0][0], wanted[2])
        out = (wanted[1], first[1], first[2] // parts[0])
        return [first, wanted], [out], []

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        data = in_shapes[0]
        dim = data[2] // (self.projection_counts()[0] * self.heads)
        if self.takes_attention:
            queries, keys = in_shapes[1][1], data[0]
        else:
            queries, keys = data[0], in_shapes[len(in_shapes) - 1][0]
        check_sizes(f"operator {self.op_name}", queries, keys, dim)
        check_sizes(f"operator {self.op_name}", data[1] * data[2], 1, 1)
        return AttentionOperator(self, data[1], dim, queries, keys, in_types[0] == "float32")


class SelfAttentionQK(InterleavedProperty, operator="_contrib_interleaved_matmul_selfatt_qk"):
    """Products of queries and keys of each head, over the root of their length.

    `queries_keys_values` (length, batch, heads * 3 * dim) has for each head queries, keys and
    values side by side; the output is (batch * heads, length, length).
    """

    names = ("queries_keys_values",)
    inputs_doc = {"queries_keys_values": "Interleaved projections."}
    second_order = SCORES
    amp = Precision(WIDEST)
    example = """
    >>> x = mx.nd.random.uniform(shape=(5, 2, 3 * 8))  # length 5, batch of 2, width 8
    >>> mx.nd.contrib.interleaved_matmul_selfatt_qk(x, heads=4).shape
    (8, 5, 5)
    """

    def projection_counts(self):  # interleaved arrays of each input
        return (3,)


class SelfAttentionValues(
    InterleavedProperty, operator="_contrib_interleaved_matmul_selfatt_valatt"
):
    """Products of attention (batch * heads, length, length) and the values of each head: (length,
    batch, heads * dim)."""

    names = ("queries_keys_values", "attention")
    takes_attention = True
    inputs_doc = {
        "queries_keys_values": "Interleaved projections (length, batch, heads * 3 * dim).",
        "attention": "Weights of the values.",
    }
    second_order = WEIGHTED_SUMS
    amp = Precision(WIDEST)
    example = """
    >>> x = mx.nd.random.uniform(shape=(5, 2, 3 * 8))  # length 5, batch of 2, width 8
    >>> attention = mx.nd.softmax(mx.nd.contrib.interleaved_matmul_selfatt_qk(x, heads=4))
    >>> mx.nd.contrib.interleaved_matmul_selfatt_valatt(x, attention, heads=4).shape
    (5, 2, 8)
    """

    def projection_counts(self):  # interleaved arrays of each input
        return (3,)


class CrossAttentionQK(InterleavedProperty, operator="_contrib_interleaved_matmul_encdec_qk"):
    """Products of queries (query length, batch, heads * dim) and the keys of each head, over the
    root of their length: (batch * heads, query length, key length)."""

    names = ("queries", "keys_values")
    projections = 2
    inputs_doc = {
        "queries": "Projections of the decoder.",
        "keys_values": "Interleaved projections (key length, batch, heads * 2 * dim).",
    }
    second_order = SCORES
    amp = Precision(WIDEST)
    example = """
    >>> queries = mx.nd.random.uniform(shape=(3, 2, 8))  # length 3, batch of 2, width 8
    >>> keys_values = mx.nd.random.uniform(shape=(5, 2, 2 * 8))  # length 5
    >>> mx.nd.contrib.interleaved_matmul_encdec_qk(queries, keys_values, heads=4).shape
    (8, 3, 5)
    """

    def projection_counts(self):  # interleaved arrays of each input
        return (1, 2)


class CrossAttentionValues(
    InterleavedProperty, operator="_contrib_interleaved_matmul_encdec_valatt"
):
    """Products of attention (batch * heads, query length, key length) and the values of each head:
    (query length, batch, heads * dim)."""

    names = ("keys_values", "attention")
    takes_attention = True
    inputs_doc = {
        "keys_values": "Interleaved projections (key length, batch, heads * 2 * dim).",
        "attention": "Weights of the values.",
    }
    second_order = WEIGHTED_SUMS
    amp = Precision(WIDEST)
    example = """
    >>> keys_values = mx.nd.random.uniform(shape=(5, 2, 2 * 8))  # length 5, batch of 2, width 8
    >>> attention = mx.nd.ones((2 * 4, 3, 5)) / 5
    >>> mx.nd.contrib.interleaved_matmul_encdec_valatt(keys_values, attention, heads=4).shape
    (3, 2, 8)
    """

    def projection_counts(self):  # interleaved arrays of each input
        return (2,)


cdef class AttentionOperator(Operator):  # products of attention's heads
    """Queries by keys, or attention by values, of `batch * heads` heads."""

    cdef bint values      # the second input is attention
    cdef bint one_input   # queries and keys lie together
    cdef bint single
    cdef int64_t count, batch, heads, dim, queries, keys, parts

    def __init__(self, prop, batch, dim, queries, keys, single):
        self.values, self.one_input = prop.takes_attention, prop.projections == 1
        self.single = single
        self.batch, self.heads, self.dim = batch, prop.heads, dim
        self.count, self.queries, self.keys = batch * prop.heads, queries, keys
        self.parts = max(prop.projection_counts())

    cdef HeadStack _heads_of(self, const void* data, int64_t parts, int64_t part) noexcept nogil:
        """The matrices of the heads in part `part` of projections with `parts` parts."""
        cdef HeadStack found
        found.data = <char*>data
        found.first, found.step = part * self.dim, parts * self.dim
        found.row = self.count * parts * self.dim
        return found

    cdef HeadStack _attention_heads(self, const void* data) noexcept nogil:
        """The matrices of the heads in the attention."""
        cdef HeadStack found
        found.data, found.first = <char*>data, 0
        found.step, found.row = self.queries * self.keys, self.keys
        return found

    cdef void _multiply(self, bint trans_a, bint trans_b, int64_t m, int64_t n, int64_t k,
                        HeadStack a, HeadStack b, HeadStack c, bint scaled, int req) noexcept nogil:
        cdef Products s
        cdef int threads
        if req == kNullOp:
            return
        s.dtype = kFloat32 if self.single else -1
        s.trans_a, s.trans_b, s.add = trans_a, trans_b, req == kAddTo
        s.count, s.m, s.n, s.k = self.count, m, n, k
        s.alpha = 1.0 / sqrt(<double>self.dim) if scaled else 1.0
        s.a, s.b, s.c = a, b, c
        threads = min(threads_for(self.count * m * n * k // 8), <int>self.count)
        parallel_ranges(threads, self.count, _multiply_heads, &s)

    cdef void _zero_parts(self, HeadStack c, int64_t rows, int64_t parts, int req) noexcept nogil:
        """Write zeros to `parts` parts of projections."""
        cdef int64_t width = 4 if self.single else 8
        cdef int64_t row, head
        if req == kNullOp or req == kAddTo:
            return
        for row in range(rows):
            for head in range(self.count):
                memset(c.data + (row * c.row + head * c.step + c.first) * width, 0,
                       parts * self.dim * width)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if self.values:
            self._multiply(
                False, False, self.queries, self.dim, self.keys,
                self._attention_heads(in_data[1].data),
                self._heads_of(in_data[0].data, self.parts, self.parts - 1),
                self._heads_of(out_data[0].data, 1, 0), False, req[0])
        elif self.one_input:
            self._multiply(
                False, True, self.queries, self.keys, self.dim,
                self._heads_of(in_data[0].data, 3, 0),
                self._heads_of(in_data[0].data, 3, 1), self._attention_heads(out_data[0].data),
                True, req[0])
        else:
            self._multiply(
                False, True, self.queries, self.keys, self.dim,
                self._heads_of(in_data[0].data, 1, 0),
                self._heads_of(in_data[1].data, 2, 0), self._attention_heads(out_data[0].data),
                True, req[0])
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t q = self.queries, k = self.keys, d = self.dim
        cdef const void* g = out_grad[0].data
        cdef int at = 0 if self.one_input else 1
        cdef int64_t of_queries = 3 if self.one_input else 1
        cdef HeadStack values
        if self.values:
            if req[0] != kNullOp:
                values = self._heads_of(in_grad[0].data, self.parts, self.parts - 1)
                self._multiply(True, False, k, d, q, self._attention_heads(in_data[1].data),
                               self._heads_of(g, 1, 0), values, False, req[0])
                self._zero_parts(self._heads_of(in_grad[0].data, self.parts, 0), k, self.parts - 1,
                                 req[0])
            if req[1] != kNullOp:
                self._multiply(False, True, q, k, d, self._heads_of(g, 1, 0),
                               self._heads_of(in_data[0].data, self.parts, self.parts - 1),
                               self._attention_heads(in_grad[1].data), False, req[1])
            return 0
        if req[0] != kNullOp:
            self._multiply(False, False, q, d, k, self._attention_heads(g),
                           self._heads_of(in_data[at].data, self.parts, self.parts - 2),
                           self._heads_of(in_grad[0].data, of_queries, 0), True, req[0])
        if req[at] != kNullOp:
            self._multiply(True, False, k, d, q, self._attention_heads(g),
                           self._heads_of(in_data[0].data, of_queries, 0),
                           self._heads_of(in_grad[at].data, self.parts, self.parts - 2), True,
                           req[at])
            self._zero_parts(self._heads_of(in_grad[at].data, self.parts, self.parts - 1), k, 1,
                             req[at])
        return 0


cdef void _multiply_heads(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef Products* s = <Products*>arg
    if s.dtype == kFloat32:
        _multiply_head_range(s, begin, end, <const float*>s.a.data, <const float*>s.b.data,
                             <float*>s.c.data)
    else:
        _multiply_head_range(s, begin, end, <const double*>s.a.data, <const double*>s.b.data,
                             <double*>s.c.data)


cdef void _multiply_head_range(const Products* s, int64_t begin, int64_t end, const floating* a,
                               const floating* b, floating* c) noexcept nogil:
    cdef int64_t i
    for i in range(begin, end):
        gemm(s.trans_a, s.trans_b, s.m, s.n, s.k, <floating>s.alpha,
             a + i * s.a.step + s.a.first, s.a.row, b + i * s.b.step + s.b.first, s.b.row,
             <floating>(1 if s.add else 0), c + i * s.c.step + s.c.first, s.c.row)
