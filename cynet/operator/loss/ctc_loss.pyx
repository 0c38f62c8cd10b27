# cython: wraparound=True
"""CTCLoss: out (N,) = - log of the probability of each label sequence under softmax(data).

data (T, N, C), label (N, L), data_lengths (N,), label_lengths (N,).
"""

from cython cimport floating
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kInt64, kNullOp
from ...kernels.elementwise.elementwise cimport run_cast
from ...kernels.reduce.ctc_loss cimport (
    CTCShape, ctc_loss_backward, ctc_loss_forward, ctc_loss_space, ctc_loss_threads
)
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import agree
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Enum
from ..property import OperatorProperty, ResourceRequest


class CTCLossProperty(OperatorProperty):
    """Connectionist temporal classification (Graves et al., 2006).

    ``out[n] = - log p(label[n] | softmax(data[:, n]))``, where the probability of a label sequence
    is the sum over all sequences of T classes from which it is left when repeated classes are
    merged and then blanks are taken out. The softmax is part of the operator; the gradient is that
    of ``data``.

    With ``blank_label='first'`` class 0 is the blank, labels are 1 to C - 1 and 0 ends a sequence;
    with ``'last'`` class C - 1 is, labels are 0 to C - 2 and -1 ends a sequence. With
    `label_lengths` nothing ends a sequence but its length. A sequence that does not fit into its
    steps (a label each, and a blank between two that are equal) has loss 0 and no gradient.
    """

    use_data_lengths = Bool(False, doc="Whether `data_lengths` is given; else all have T steps.")
    use_label_lengths = Bool(False, doc="Whether `label_lengths` is given.")
    blank_label = Enum(["first", "last"], "first", doc="Which class is the blank.")

    graph = GraphHooks(float32_beside_half=("label", "data_lengths", "label_lengths"))
    inputs_doc = {
        "data": "Scores before the softmax (T, N, C).",
        "label": "Label sequences (N, L), L at most T, of any dtype.",
        "data_lengths": "Number of steps of each sample (N,); only with use_data_lengths.",
        "label_lengths": "Number of labels of each sample (N,); only with use_label_lengths.",
    }

    def list_arguments(self):
        names = ["data", "label"]
        if self.use_data_lengths:
            names.append("data_lengths")
        if self.use_label_lengths:
            names.append("label_lengths")
        return names

    def list_outputs(self):
        return ["output0"]  # MXNet's has another one, which nobody sees

    def infer_shape(self, in_shapes, out_shapes):
        data, label = in_shapes[:2]
        if data is not None and len(data) != 3:
            raise ShapeError(f"data has shape {tuple(data)}, expected (T, N, C)")
        if label is not None and len(label) != 2:
            raise ShapeError(f"label has shape {tuple(label)}, expected (N, L)")
        batch = agree("output", out_shapes[0], (0,))
        for name, shape, axis in (("data", data, 1), ("label", label, 0)):
            if shape is not None:
                batch = agree(name + "'s samples", (shape[axis],), batch)
        for name, shape in zip(self.list_arguments()[2:], in_shapes[2:]):
            batch = agree(name, shape, batch)
        if data is not None:
            data = (data[0], *batch, data[2])
        if label is not None:
            label = (*batch, label[1])
            if data is not None and data[0] and label[1] > data[0]:
                raise ShapeError(
                    f"label has shape {label}, more labels than data of shape {data} has steps")
        return [data, label, *[batch] * (len(in_shapes) - 2)], [batch], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or out_types[0]
        return [kind, *(t or kind for t in in_types[1:])], [kind], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, ["data"], in_types[:1])
        return CTCLossOperator(self, in_shapes[0], in_shapes[1][1])


cdef class CTCLossOperator(Operator):
    cdef CTCShape shape
    cdef bint has_times, has_lengths
    cdef int64_t padding
    cdef str name

    def __init__(self, prop, shape, most):
        self.name = prop.op_name
        self.has_times, self.has_lengths = prop.use_data_lengths, prop.use_label_lengths
        self.shape.steps, self.shape.batch, self.shape.classes = shape
        self.shape.most = most
        first = prop.blank_label == "first"
        self.shape.blank, self.padding = (0, 0) if first else (shape[2] - 1, -1)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            return self._forward(<const float*>in_data[0].data, ctx, in_data,
                                 <float*>out_data[0].data, add)
        return self._forward(<const double*>in_data[0].data, ctx, in_data,
                             <double*>out_data[0].data, add)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int i
        cdef bint add = req[0] == kAddTo
        for i in range(1, ctx.n_in):
            if req[i] != kNullOp and req[i] != kAddTo:
                memset(in_grad[i].data, 0, in_grad[i].size * dtype_size(in_grad[i].dtype))
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            return self._backward(<const float*>out_grad[0].data, ctx, in_data,
                                  <float*>in_grad[0].data, add)
        return self._backward(<const double*>out_grad[0].data, ctx, in_data,
                              <double*>in_grad[0].data, add)

    cdef int _forward(self, const floating* x, OpContext* ctx, const TBlob* in_data, floating* y,
                      bint add) except -1 nogil:
        cdef CTCShape shape = self.shape
        cdef int threads = ctc_loss_threads(&shape)
        cdef void* space = self._prepare(ctx, in_data, &shape, ctc_loss_space(
            &shape, False, threads) * sizeof(floating))
        ctc_loss_forward(&shape, x, y, add, <floating*>space, threads)
        return 0

    cdef int _backward(self, const floating* dy, OpContext* ctx, const TBlob* in_data, floating* dx,
                       bint add) except -1 nogil:
        cdef CTCShape shape = self.shape
        cdef int threads = ctc_loss_threads(&shape)
        cdef void* space = self._prepare(ctx, in_data, &shape, ctc_loss_space(
            &shape, True, threads) * sizeof(floating))
        ctc_loss_backward(&shape, dy, <const floating*>in_data[0].data, dx, add, <floating*>space,
                          threads)
        return 0

    cdef void* _prepare(self, OpContext* ctx, const TBlob* in_data, CTCShape* shape,
                        int64_t nbytes) except NULL nogil:
        """Read labels and lengths into temporary space, check them, and return the space of
        `nbytes` bytes behind them."""
        cdef int64_t batch = shape.batch, most = shape.most, b, i
        cdef int64_t* labels = <int64_t*>get_space(
            &ctx.requested[0], (batch * most + 2 * batch) * sizeof(int64_t) + nbytes)
        cdef int64_t* times = labels + batch * most
        cdef int64_t* lengths = times + batch
        cdef int where = 2
        shape.labels, shape.times, shape.lengths = labels, times, lengths
        run_cast(in_data[1].dtype, kInt64, in_data[1].data, labels, batch * most)
        if self.has_times:
            run_cast(in_data[where].dtype, kInt64, in_data[where].data, times, batch)
            where += 1
        if self.has_lengths:
            run_cast(in_data[where].dtype, kInt64, in_data[where].data, lengths, batch)
        for b in range(batch):
            if not self.has_times:
                times[b] = shape.steps
            elif not 0 <= times[b] <= shape.steps:
                self._refuse_length(True, b, times[b])
            if not self.has_lengths:
                lengths[b] = 0
                while lengths[b] < most and labels[b * most + lengths[b]] != self.padding:
                    lengths[b] += 1
            elif not 0 <= lengths[b] <= most:
                self._refuse_length(False, b, lengths[b])
            for i in range(b * most, b * most + lengths[b]):
                if not 0 <= labels[i] < shape.classes or labels[i] == shape.blank:
                    self._refuse_label(b, i % most, labels[i])
        return lengths + batch

    cdef int _refuse_length(self, bint time, int64_t b, int64_t value) except -1 with gil:
        what, most = "label_lengths", self.shape.most
        if time:
            what, most = "data_lengths", self.shape.steps
        raise ArgumentError(
            f"operator {self.name}: {what}[{b}] is {value}, outside of 0 to {most}")

    cdef int _refuse_label(self, int64_t b, int64_t i, int64_t value) except -1 with gil:
        low, high = (1, self.shape.classes - 1) if self.padding == 0 else (0, self.shape.blank - 1)
        raise ArgumentError(
            f"operator {self.name}: label[{b}, {i}] is {value}, expected {low} to {high} "
            f"(class {self.shape.blank} is the blank)")


register_operator("CTCLoss", CTCLossProperty,
                  aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"))
