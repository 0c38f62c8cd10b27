"""float16 on the CPU for operators whose loops are float's: their float32 operator between two
conversions, in temporary memory.

`OperatorProperty.operator_on` asks for it where the trait `float32_beside_half` says so.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .._resource cimport Resource, get_space, kTempSpace
from .._typedefs cimport TBlob, kAddTo, kFloat16, kFloat32, kNullOp, kWriteTo
from ..kernels.movement.strided_copy cimport StridedCopy, copy_strided
from ._base cimport Operator, OpContext

from .checks.dtypes import GPU_FLOATS, require_floats


def in_float32(prop, ctx, in_shapes, in_types):
    """The operator that computes `prop` on a CPU in float32, from and to float16.

    Raises
    ------
    ArgumentTypeError
        Where an input that has to be float16 like the others is of another dtype.
    """
    names = prop.list_arguments()
    single = prop.graph.traits.float32_beside_half
    named = [(n, t) for n, t in zip(names, in_types) if n not in single]
    require_floats(prop, [n for n, _ in named], [t for _, t in named], GPU_FLOATS)
    if getattr(prop, "dtype", None) == "float16":
        prop = prop.changed(dtype="float32")  # of the output, as data's
    wide = ["float32" if t == "float16" else t for t in in_types]
    return HalfOperator(prop.create_operator(ctx, in_shapes, wide))


cdef class HalfOperator(Operator):
    """What is float16 among the tensors is float32 to `inner`; all others are handed through."""

    cdef Operator inner

    def __init__(self, Operator inner not None):
        self.inner = inner
        self.stateful = inner.stateful

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int n_in = ctx.n_in, n_out = ctx.n_out
        cdef char* at = _room(ctx, _bytes(in_data, n_in) + _bytes(out_data, n_out),
                              n_in + n_out, n_out)
        cdef TBlob* inputs = <TBlob*>at
        cdef TBlob* outputs = inputs + n_in
        cdef int* asked = <int*>(outputs + n_out)
        at = _aligned(<char*>(asked + n_out))
        at = _widen(ctx, in_data, n_in, inputs, at)
        _offer(out_data, req, n_out, outputs, asked, at)
        self.inner.forward(ctx, inputs, asked, outputs, aux_states)
        _narrow(ctx, outputs, out_data, req, n_out)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int n_in = ctx.n_in, n_out = ctx.n_out
        cdef char* at = _room(
            ctx, _bytes(out_grad, n_out) + _bytes(in_data, n_in) + _bytes(out_data, n_out)
            + _bytes(in_grad, n_in), 2 * (n_in + n_out), n_in)
        cdef TBlob* heads = <TBlob*>at
        cdef TBlob* inputs = heads + n_out
        cdef TBlob* outputs = inputs + n_in
        cdef TBlob* grads = outputs + n_out
        cdef int* asked = <int*>(grads + n_in)
        at = _aligned(<char*>(asked + n_in))
        at = _widen(ctx, out_grad, n_out, heads, at)
        at = _widen(ctx, in_data, n_in, inputs, at)
        at = _widen(ctx, out_data, n_out, outputs, at)
        _offer(in_grad, req, n_in, grads, asked, at)
        self.inner.backward(ctx, heads, inputs, outputs, asked, grads, aux_states)
        _narrow(ctx, grads, in_grad, req, n_in)
        return 0


cdef inline bint _is_half(const TBlob* blob) noexcept nogil:
    return blob.dtype == kFloat16 and blob.data != NULL


cdef inline size_t _size(const TBlob* blob) noexcept nogil:
    return (blob.size * sizeof(float) + 63) // 64 * 64


cdef inline char* _aligned(char* at) noexcept nogil:
    return at + (64 - <size_t>at % 64) % 64


cdef size_t _bytes(const TBlob* blobs, int n) noexcept nogil:
    cdef size_t total = 0
    cdef int i
    for i in range(n):
        if _is_half(&blobs[i]):
            total += _size(&blobs[i])
    return total


cdef char* _room(OpContext* ctx, size_t nbytes, int n_blobs, int n_asked) except NULL nogil:
    """Memory for so many bytes of floats behind tables of tensors and requests: that of the request
    behind the operator's own."""
    cdef Resource resource
    resource.type = kTempSpace
    resource.index = ctx.n_requested
    return <char*>get_space(
        &resource, n_blobs * sizeof(TBlob) + n_asked * sizeof(int) + 64 + nbytes)


cdef void _convert(OpContext* ctx, const TBlob* source, int to_type, void* to) noexcept nogil:
    cdef StridedCopy what
    what.dst, what.src, what.dst_type, what.src_type = to, source.data, to_type, source.dtype
    what.ndim = 1
    what.shape[0] = source.size
    what.dst_stride[0] = what.src_stride[0] = 1
    copy_strided(&what, ctx.run_ctx.worker == 0)


cdef char* _widen(OpContext* ctx, const TBlob* given, int n, TBlob* to, char* at) noexcept nogil:
    """`to` is `given` with float32 for float16, from `at` on; returns what is behind."""
    cdef int i
    memcpy(to, given, n * sizeof(TBlob))
    for i in range(n):
        if _is_half(&given[i]):
            to[i].data, to[i].dtype = at, kFloat32
            _convert(ctx, &given[i], kFloat32, at)
            at += _size(&given[i])
    return at


cdef void _offer(const TBlob* given, const int* req, int n, TBlob* to, int* asked,
                 char* at) noexcept nogil:
    """The same for what is to be written; sums are made when it is."""
    cdef int i
    memcpy(to, given, n * sizeof(TBlob))
    for i in range(n):
        asked[i] = req[i]
        if _is_half(&given[i]):
            to[i].data, to[i].dtype = at, kFloat32
            at += _size(&given[i])
            if req[i] != kNullOp:
                asked[i] = kWriteTo


cdef void _narrow(OpContext* ctx, const TBlob* found, TBlob* to, const int* req,
                  int n) noexcept nogil:
    cdef float* sums
    cdef float old[256]
    cdef TBlob part
    cdef int64_t k, j, count
    cdef int i
    for i in range(n):
        if req[i] == kNullOp or not _is_half(&to[i]):
            continue
        if req[i] == kAddTo:
            sums = <float*>found[i].data
            part = to[i]
            for k in range(0, to[i].size, 256):
                count = min(<int64_t>256, to[i].size - k)
                part.data, part.size = <char*>to[i].data + 2 * k, count
                _convert(ctx, &part, kFloat32, old)
                for j in range(count):
                    sums[k + j] += old[j]
        _convert(ctx, &found[i], kFloat16, to[i].data)
