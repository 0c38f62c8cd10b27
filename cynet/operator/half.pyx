"""Operators between two conversions, in temporary memory: on the CPU, those without loops for
float16 or bfloat16 compute in float32; others have an output of another dtype.

`OperatorProperty.operator_on` asks for it: for float16 where the trait `float32_beside_half` says
so, for bfloat16 unless the hook `takes_bfloat16` does. `OutDType` asks for the others.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .._resource cimport Resource, get_space, kTempSpace
from .._typedefs cimport TBlob, aligned, dtype_size, kAddTo, kFloat32, kNullOp, kWriteTo
from ..kernels.elementwise.elementwise cimport Kernel, run_cast_add
from ..kernels.movement.strided_copy cimport StridedCopy, copy_strided
from ..kernels.table cimport find_unary
from ._base cimport Operator, OpContext

from ..base.dtype import dtype_flag
from ..base.errors import ArgumentError
from .checks.dtypes import CPU_FLOATS, require_floats


def float32_operator(prop, ctx, in_shapes, in_types):
    """Create the operator that computes `prop` on a CPU in float32, from and to narrow floats.

    Raises
    ------
    ArgumentTypeError
        Where an input that has to be float16 like the others is of another dtype.
    ArgumentError
        `prop` cannot be computed in float32 instead of bfloat16.
    """
    names = prop.list_arguments()
    single = prop.graph.traits.float32_beside_half
    narrow = ("bfloat16",)
    if single is not None:
        named = [(n, t) for n, t in zip(names, in_types) if n not in single]
        require_floats(prop, [n for n, _ in named], [t for _, t in named], CPU_FLOATS)
        narrow = ("bfloat16", "float16")
    wide = prop
    if getattr(prop, "dtype", None) in narrow:
        wide = prop.changed(dtype="float32")  # the output's dtype follows the data's
    wide_types = ["float32" if t in narrow else t for t in in_types]
    if not _wide_dtypes_agree(prop, in_types, wide, wide_types, narrow):
        raise ArgumentError(f"operator {prop.op_name} does not take arrays of bfloat16")
    operator = wide.create_checked(ctx, in_shapes, wide_types)
    if operator.runs_python:  # Python code may keep views of temporary memory
        raise ArgumentError(f"operator {prop.op_name} runs Python code, which is not given arrays "
                            f"of {narrow[0]}")
    return ConvertedOperator(operator, narrow, "float32")


def convert_around_operator(Operator operator not None, sources, str dtype):
    """Create an operator that runs `operator` in `dtype`: arrays of the dtypes `sources` are
    converted to it and back, others (lengths) are passed unchanged.

    Examples
    --------
    >>> mx.nd.softmax(mx.nd.zeros((1, 2), dtype="float16"), dtype="float64").asnumpy().dtype
    dtype('float64')
    """
    return ConvertedOperator(operator, sources, dtype)


def _wide_dtypes_agree(prop, in_types, wide, wide_types, narrow):
    """Return whether `wide` has `prop`'s dtypes, with float32 for narrow floats."""
    unknown = [None] * len(prop.list_outputs())
    _, outs, states = prop.infer_type(list(in_types), unknown)
    _, wide_outs, wide_states = wide.infer_type(list(wide_types), unknown)
    if prop.graph.traits.private_outputs and any(
            each in narrow for each in outs[prop.num_visible_outputs():]):
        return False  # a hidden output holds bytes, not numbers
    return (["float32" if t in narrow else t for t in outs] == list(wide_outs)
            and list(states) == list(wide_states))


cdef struct DtypeRule:  # which dtypes are converted, and to what
    int sources     # bit mask of the dtypes that are converted
    int wide        # dtype that they are converted to
    Kernel add[16]  # by dtype: adds numbers of dtype `wide`


cdef class ConvertedOperator(Operator):  # runs an operator on converted tensors
    """Runs `inner` on tensors converted from the dtypes `sources` to `wide`."""

    cdef Operator inner
    cdef DtypeRule rule

    def __init__(self, Operator inner not None, sources, wide):
        cdef int flag
        self.inner = inner
        self.rule.wide = dtype_flag(wide)
        for each in sources:
            flag = dtype_flag(each)
            if flag != self.rule.wide:
                self.rule.sources |= 1 << flag
                self.rule.add[flag] = find_unary(b"identity", flag, True)
        self.stateful = inner.stateful

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int n_in = ctx.n_in, n_out = ctx.n_out
        cdef char* at = _get_space(ctx, _wide_bytes(in_data, n_in, &self.rule)
                                   + _wide_bytes(out_data, n_out, &self.rule), n_in + n_out, n_out)
        cdef TBlob* inputs = <TBlob*>at
        cdef TBlob* outputs = inputs + n_in
        cdef int* requests = <int*>(outputs + n_out)
        at = _align_to_64(<char*>(requests + n_out))
        at = _widen_inputs(ctx, in_data, n_in, inputs, at, &self.rule)
        _prepare_outputs(out_data, req, n_out, outputs, requests, at, &self.rule)
        self.inner.forward(ctx, inputs, requests, outputs, aux_states)
        _narrow_outputs(ctx, outputs, out_data, req, n_out, &self.rule)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int n_in = ctx.n_in, n_out = ctx.n_out
        cdef char* at = _get_space(
            ctx, _wide_bytes(out_grad, n_out, &self.rule) + _wide_bytes(in_data, n_in, &self.rule)
            + _wide_bytes(out_data, n_out, &self.rule) + _wide_bytes(in_grad, n_in, &self.rule),
            2 * (n_in + n_out), n_in)
        cdef TBlob* heads = <TBlob*>at
        cdef TBlob* inputs = heads + n_out
        cdef TBlob* outputs = inputs + n_in
        cdef TBlob* grads = outputs + n_out
        cdef int* requests = <int*>(grads + n_in)
        at = _align_to_64(<char*>(requests + n_in))
        at = _widen_inputs(ctx, out_grad, n_out, heads, at, &self.rule)
        at = _widen_inputs(ctx, in_data, n_in, inputs, at, &self.rule)
        at = _widen_inputs(ctx, out_data, n_out, outputs, at, &self.rule)
        _prepare_outputs(in_grad, req, n_in, grads, requests, at, &self.rule)
        self.inner.backward(ctx, heads, inputs, outputs, requests, grads, aux_states)
        _narrow_outputs(ctx, grads, in_grad, req, n_in, &self.rule)
        return 0


cdef inline bint _is_converted(const TBlob* blob, const DtypeRule* rule) noexcept nogil:
    return (rule.sources >> blob.dtype) & 1 and blob.data != NULL


cdef inline size_t _wide_blob_bytes(const TBlob* blob, const DtypeRule* rule) noexcept nogil:
    return aligned(blob.size * dtype_size(rule.wide))


cdef inline char* _align_to_64(char* at) noexcept nogil:  # the next multiple of 64
    return at + (64 - <size_t>at % 64) % 64


cdef size_t _wide_bytes(const TBlob* blobs, int n, const DtypeRule* rule) noexcept nogil:
    cdef size_t total = 0
    cdef int i
    for i in range(n):
        if _is_converted(&blobs[i], rule):
            total += _wide_blob_bytes(&blobs[i], rule)
    return total


cdef char* _get_space(OpContext* ctx, size_t nbytes, int n_blobs, int n_requests) except NULL nogil:
    """Return temporary memory for tables of tensors and requests, then `nbytes` of numbers."""
    cdef Resource resource
    resource.type = kTempSpace
    resource.index = ctx.n_requested
    return <char*>get_space(
        &resource, n_blobs * sizeof(TBlob) + n_requests * sizeof(int) + 64 + nbytes)


cdef void _convert_blob(OpContext* ctx, const TBlob* source, int to_type, void* to) noexcept nogil:
    cdef StridedCopy what
    what.dst, what.src, what.dst_type, what.src_type = to, source.data, to_type, source.dtype
    what.ndim = 1
    what.shape[0] = source.size
    what.dst_stride[0] = what.src_stride[0] = 1
    copy_strided(&what, ctx.run_ctx.worker == 0)


cdef char* _widen_inputs(OpContext* ctx, const TBlob* given, int n, TBlob* to, char* at,
                         const DtypeRule* rule) noexcept nogil:
    """Copy `given` to `to`, with tensors converted in memory from `at` on; return its end."""
    cdef int i
    memcpy(to, given, n * sizeof(TBlob))
    for i in range(n):
        if _is_converted(&given[i], rule):
            to[i].data, to[i].dtype = at, rule.wide
            _convert_blob(ctx, &given[i], rule.wide, at)
            at += _wide_blob_bytes(&given[i], rule)
    return at


cdef void _prepare_outputs(const TBlob* given, const int* req, int n, TBlob* to, int* requests,
                           char* at, const DtypeRule* rule) noexcept nogil:
    """Copy outputs `given` to `to`, with memory from `at` on for those to convert back."""
    cdef int i
    memcpy(to, given, n * sizeof(TBlob))
    for i in range(n):
        requests[i] = req[i]
        if _is_converted(&given[i], rule):
            to[i].data, to[i].dtype = at, rule.wide
            at += _wide_blob_bytes(&given[i], rule)
            if req[i] != kNullOp:
                requests[i] = kWriteTo


cdef void _narrow_outputs(OpContext* ctx, const TBlob* found, TBlob* to, const int* req, int n,
                          const DtypeRule* rule) noexcept nogil:
    cdef int i
    for i in range(n):
        if req[i] == kNullOp or not _is_converted(&to[i], rule):
            continue
        if req[i] == kAddTo and rule.wide != kFloat32:
            run_cast_add(&rule.add[to[i].dtype], rule.wide, found[i].data, to[i].data, to[i].size)
            continue
        if req[i] == kAddTo:  # added in float32, then rounded once
            _add_old_values(ctx, <float*>found[i].data, &to[i])
        _convert_blob(ctx, &found[i], to[i].dtype, to[i].data)


cdef void _add_old_values(OpContext* ctx, float* sums, const TBlob* to) noexcept nogil:
    cdef float old[256]
    cdef TBlob part = to[0]
    cdef int64_t k, j, count
    for k in range(0, to.size, 256):
        count = min(<int64_t>256, to.size - k)
        part.data = <char*>to.data + <int64_t>dtype_size(to.dtype) * k
        part.size = count
        _convert_blob(ctx, &part, kFloat32, old)
        for j in range(count):
            sums[k + j] += old[j]
