# distutils: extra_compile_args = -Os
"""Runs one operator on NumPy arrays, without engine or executor: for tests and debugging."""


from libc.string cimport memset

from .._resource cimport Resource, draw_rng_stream
from .._typedefs cimport MAX_NDIM, TBlob, kCPU
from ._base cimport Operator, OpContext

from ..context import cpu
from ..base.dtype import dtype_flag
from .checks.shapes import known_shape, plain_shape

cdef enum:
    MAX_ARRAYS = 64  # maximum of arrays or resources of one operator in this module


cdef int _fill_blobs(TBlob* blobs, list arrays) except -1:
    cdef Py_ssize_t i, k
    memset(blobs, 0, sizeof(TBlob) * MAX_ARRAYS)
    if len(arrays) > MAX_ARRAYS:
        raise ValueError(f"at most {MAX_ARRAYS} arrays, got {len(arrays)}")
    for i, array in enumerate(arrays):
        if array is None:
            continue
        if not array.flags.c_contiguous or array.ndim > MAX_NDIM:
            raise ValueError(f"array {i} must be C-contiguous with at most {MAX_NDIM} axes")
        blobs[i].data = <void*><size_t>array.ctypes.data
        blobs[i].ndim = array.ndim
        for k in range(array.ndim):
            blobs[i].shape[k] = array.shape[k]
        blobs[i].size = array.size
        blobs[i].dtype = dtype_flag(array.dtype)
        blobs[i].dev_type = kCPU
    return 0


def prepare_op(prop, in_shapes, in_types=None):
    """Create an operator on cpu(0): (operator, out_shapes, out_types, aux_shapes, aux_types)."""
    n_out = len(prop.list_outputs())
    in_types = list(in_types or ["float32"] * len(in_shapes))
    in_shapes, out_shapes, aux_shapes = [
        [plain_shape(s) for s in each]
        for each in prop.infer_shape([known_shape(s) for s in in_shapes], [None] * n_out)]
    in_types, out_types, aux_types = prop.infer_type(in_types, [None] * n_out)
    made = prop.operator_on(cpu(), in_shapes, in_types)
    return made, out_shapes, out_types, aux_shapes, aux_types


def run_forward(Operator op, list in_data, list req, list out_data, aux=(), bint is_train=False,
                resources=()):
    """Run `op.forward` on NumPy arrays; `req` are OpReq values, `resources` the requested ones."""
    _run(op, None, in_data, req, out_data, None, list(aux), is_train, list(resources))


def run_backward(Operator op, list out_grad, list in_data, list out_data, list req, list in_grad,
                 aux=(), bint is_train=True, resources=()):
    """Run `op.backward` on NumPy arrays; None for an absent array."""
    _run(op, out_grad, in_data, req, out_data, in_grad, list(aux), is_train, list(resources))


cdef _run(Operator op, list out_grad, list in_data, list req, list out_data, list in_grad, list aux,
          bint is_train, list resources):
    cdef TBlob ins[MAX_ARRAYS]
    cdef TBlob outs[MAX_ARRAYS]
    cdef TBlob out_grads[MAX_ARRAYS]
    cdef TBlob in_grads[MAX_ARRAYS]
    cdef TBlob states[MAX_ARRAYS]
    cdef Resource requested[MAX_ARRAYS]
    cdef int reqs[MAX_ARRAYS]
    cdef OpContext ctx
    cdef Py_ssize_t i
    cdef bint back = out_grad is not None
    memset(&ctx, 0, sizeof(ctx))
    memset(requested, 0, sizeof(requested))
    _fill_blobs(ins, in_data)
    _fill_blobs(outs, out_data)
    _fill_blobs(states, aux)
    for i, r in enumerate(req):
        reqs[i] = r
    for i, kind in enumerate(resources):
        requested[i].type = kind
        requested[i].index = i
        draw_rng_stream(&requested[i], kCPU, 0)
    ctx.is_train = is_train
    ctx.run_ctx.dev_type = kCPU
    ctx.requested = requested
    ctx.n_requested = len(resources)
    ctx.n_in, ctx.n_out, ctx.n_aux = len(in_data), len(out_data), len(aux)
    if back:
        _fill_blobs(out_grads, out_grad)
        _fill_blobs(in_grads, in_grad)
        with nogil:
            op.backward(&ctx, out_grads, ins, outs, reqs, in_grads, states)
    else:
        with nogil:
            op.forward(&ctx, ins, reqs, outs, states)
