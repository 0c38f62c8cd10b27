# distutils: extra_compile_args = -O3
"""Operators of the functions of two elements, on arrays that broadcast against each other
(``functions/binary.py``).

``output = F(lhs, rhs)`` with axes of length 1 (and leading axes that are missing) repeated as
needed; a gradient is summed over the axes its operand was repeated along.
"""


from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kBool, kNullOp
from ...kernels.elementwise.elementwise cimport (
    Kernel, Space, broadcast_binary, broadcast_grad, make_space
)
from ...kernels.reduce.reduce cimport ReduceLoop, ReduceSpace, make_reduce_space, run_reduce
from ...kernels.table cimport find_binary, find_binary_grad, find_reduce
from .._base cimport OpContext
from .._elementwise cimport ElementwiseOperator

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, ShapeError
from ..functions.classes import register_binary
from ..graph_hooks import GraphHooks, Traits
from ..elementwise_loop import CHEAP_FUNCTORS, Loop
from ..property import OperatorProperty, ResourceRequest, is_known


def broadcast_shapes(lhs, rhs):
    """The shape two operands broadcast to; 0 where it is unknown.

    >>> broadcast_shapes((2, 1, 3), (4, 3))
    (2, 4, 3)
    """
    n = max(len(lhs), len(rhs))
    out = []
    for a, b in zip((1,) * (n - len(lhs)) + tuple(lhs), (1,) * (n - len(rhs)) + tuple(rhs)):
        if a and b:
            if a != b and a != 1 and b != 1:
                raise ShapeError(
                    f"shapes {tuple(lhs)} and {tuple(rhs)} do not broadcast: {a} against {b}")
            out.append(b if a == 1 else a)
        else:  # an unknown length broadcast with 1 stays unknown
            out.append(0 if a == 1 or b == 1 else a or b)
    return tuple(out)


class BroadcastHooks(GraphHooks):
    """Graph hooks: the operator is one loop, and has a channels-last form."""

    traits = Traits(bfloat16_loops=True)

    def channels_last_form(self, prop, in_shapes, in_types):
        lhs, rhs = in_shapes
        if len(lhs) < 3 or len(lhs) != len(rhs):
            return None
        return prop.changed(channels_last=True), [0, 1]

    def forward_loops(self, prop, in_data, out_data):
        alike = all(each.shape == out_data[0].shape for each in in_data)
        if prop.channels_last and not alike:  # axes repeat in another order than the shapes say
            return None
        return [Loop("binary", prop.functor, tuple(in_data), out_data[0])]

    def is_memory_bound(self, prop, in_shapes):
        return prop.functor in CHEAP_FUNCTORS


class BroadcastProperty(OperatorProperty):
    """Base class of broadcasting operators: two inputs, one output of their broadcast shape."""

    inputs_doc = {"lhs": "The left operand.", "rhs": "The right operand."}
    graph = BroadcastHooks()
    function = functor = gradients = None  # names of the function and of its functors
    channels_last = False  # True in the form that the layout pass makes

    @staticmethod
    def class_attributes(row, form):
        return {}

    def infer_shape(self, in_shapes, out_shapes):
        lhs, rhs = in_shapes
        if lhs is None or rhs is None:
            return [lhs, rhs], [out_shapes[0]], []
        shape = broadcast_shapes(lhs, rhs)
        known = out_shapes[0]
        if known is not None:
            if len(known) != len(shape) or any(a and b and a != b for a, b in zip(known, shape)):
                raise ShapeError(
                    f"shapes {lhs} and {rhs} broadcast to {shape}, the output is {known}")
            shape = tuple(a or b for a, b in zip(shape, known))
        return [lhs, rhs], [shape], []

    def backward_resource(self, in_shapes):
        lhs, rhs = in_shapes
        same = is_known(lhs) and lhs == rhs
        return [] if same else [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        return BroadcastOperator(self, in_types[0], *in_shapes)


cdef class BroadcastOperator(ElementwiseOperator):
    """A broadcasting operator for one dtype: its loops of forward and backward."""

    cdef Kernel write, add
    cdef Kernel grads[2][2]
    cdef ReduceLoop sum
    cdef bint reads, last

    def __init__(self, prop, dtype, lhs, rhs):
        cdef int flag = dtype_flag(dtype), side
        cdef bytes functor = prop.functor.encode(), name
        gradient = prop.gradients
        if flag == kBool and gradient.exists:
            raise ArgumentError(
                f"operator {prop.op_name} does not take arrays of bool; cast them first")
        self.write = find_binary(functor, flag, False)
        self.add = find_binary(functor, flag, True)
        self.sum = find_reduce(b"sum", flag)
        self.reads, self.last = gradient.reads, prop.channels_last
        if not self.last:
            self.set_loop(self.write, self.add, 2, -1, NULL, prop.functor)
        for side in range(2):
            name = (gradient.rhs if side else gradient.lhs).encode()
            self.grads[side][0] = find_binary_grad(name, flag, False)
            self.grads[side][1] = find_binary_grad(name, flag, True)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef Space space
        cdef TBlob blobs[3]
        cdef const TBlob* operands[3]
        cdef int i
        if req[0] == kNullOp:
            return 0
        blobs[0], blobs[1], blobs[2] = out_data[0], in_data[0], in_data[1]
        for i in range(3):
            self._to_physical_shape(&blobs[i])
            operands[i] = &blobs[i]
        make_space(&space, operands, 3)
        broadcast_binary(&self.add if req[0] == kAddTo else &self.write, &space, in_data[0].data,
                         in_data[1].data, out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef Space space
        cdef const TBlob* operands[4]
        cdef TBlob head, target
        cdef TBlob given[2]
        cdef ReduceSpace folded
        cdef bint repeated[8]
        cdef void* a
        cdef void* b
        cdef void* source
        cdef int side, i, own
        cdef bint reduces
        cdef int ndim = out_grad.ndim
        head = out_grad[0]
        self._to_physical_shape(&head)
        operands[0] = operands[1] = operands[2] = operands[3] = &head
        a = b = out_grad.data
        if self.reads:
            given[0], given[1] = in_data[0], in_data[1]
            for side in range(2):
                self._to_physical_shape(&given[side])
                operands[2 + side] = &given[side]
            a, b = in_data[0].data, in_data[1].data
        make_space(&space, operands, 4)
        for side in range(2):
            if req[side] == kNullOp:
                continue
            reduces = False
            target = in_grad[side]
            self._to_physical_shape(&target)
            for i in range(ndim):
                own = i - (ndim - target.ndim)
                repeated[i] = (own < 0 or target.shape[own] == 1) and head.shape[i] != 1
                reduces = reduces or repeated[i]
            if not reduces:
                broadcast_grad(&self.grads[side][req[side] == kAddTo], &space, out_grad.data, a, b,
                               in_grad[side].data)
                continue
            make_reduce_space(&folded, ndim, head.shape, repeated)
            source = get_space(&ctx.requested[0], out_grad.size * dtype_size(out_grad.dtype))
            broadcast_grad(&self.grads[side][0], &space, out_grad.data, a, b, source)
            run_reduce(self.sum, &folded, source, in_grad[side].data, req[side] == kAddTo, 1.0)
        return 0

    cdef void _to_physical_shape(self, TBlob* blob) noexcept nogil:
        """Change the blob's shape to (N, *size, C) if its memory is channels-last."""
        cdef int64_t channels = blob.shape[1]
        cdef int i
        if not self.last:
            return
        for i in range(1, blob.ndim - 1):
            blob.shape[i] = blob.shape[i + 1]
        blob.shape[blob.ndim - 1] = channels


register_binary(BroadcastProperty, "broadcast")
