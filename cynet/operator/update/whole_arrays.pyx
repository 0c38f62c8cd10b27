# distutils: extra_compile_args = -O3
"""Operators on whole arrays for optimizers, most of them on many arrays at once: all_finite,
multi_all_finite, multi_sum_sq, multi_lars, reset_arrays.

``all_finite`` gives 1 where no element of any input is infinite or NaN, else 0. ``multi_sum_sq``
gives for each input the sum of squares. ``multi_lars`` gives for each weight ``lr * eta * |w| /
(|rescale_grad * g| + wd * |w| + eps)``, and ``lr`` where one of the two norms is 0.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.reduce.whole cimport are_all_finite, sum_squares
from .._base cimport Operator, OpContext

from ..checks.dtypes import GPU_FLOATS, require_floats
from ..graph_hooks import GraphHooks
from ..parameters import MAX_ARRAYS, Bool, Float, Int
from ..property import OperatorProperty


class ManyArraysProperty(OperatorProperty):  # base of operators on several arrays
    """Base of operators on any number of arrays of one floating dtype."""

    key_var_num_args = "num_arrays"
    num_arrays = Int(doc="Number of inputs; filled in from the call.", low=1, high=MAX_ARRAYS)
    differentiable = False

    def list_arguments(self):
        return [f"array_{i}" for i in range(self.num_arrays)]

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [self.output_shape()], []

    def infer_type(self, in_types, out_types):
        # outputs are float32 for inputs of any dtype
        return super().infer_type(in_types, [])[0], ["float32"], []

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, GPU_FLOATS)
        return self.make_operator()


class AllFiniteProperty(OperatorProperty, operator="all_finite"):
    """1 where all elements are finite, else 0: an array (1,) of float32."""

    init_output = Bool(True, doc="False: what `out` holds stays where all elements are finite.")
    differentiable = False
    graph = GraphHooks(of_nothing=1.0)
    inputs_doc = {"data": "The input, of a floating dtype."}
    example = """
    >>> mx.nd.all_finite(mx.nd.array([1, 2]))
    [1.]
    <NDArray 1 @cpu(0)>
    >>> mx.nd.all_finite(mx.nd.array([1, float("inf")]))
    [0.]
    <NDArray 1 @cpu(0)>
    """

    @property
    def reads_out(self):  # whether forward reads the old output
        return not self.init_output

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [(1,)], []

    def infer_type(self, in_types, out_types):
        return in_types, ["float32"], []

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, ["data"], in_types, GPU_FLOATS)
        return FiniteOperator(self.init_output)


class MultiAllFiniteProperty(ManyArraysProperty, operator="multi_all_finite"):
    """1 where all elements of all inputs are finite, else 0: an array (1,) of float32."""

    init_output = Bool(True, doc="False: what `out` holds stays where all elements are finite.")
    graph = GraphHooks(takes_empty=True)
    example = """
    >>> mx.nd.multi_all_finite(mx.nd.ones(2), mx.nd.array([float("nan")]), num_arrays=2)
    [0.]
    <NDArray 1 @cpu(0)>
    """

    @property
    def reads_out(self):  # whether forward reads the old output
        return not self.init_output

    def output_shape(self):
        """The output's shape."""
        return (1,)

    def make_operator(self):
        """The operator that computes it."""
        return FiniteOperator(self.init_output)


cdef class FiniteOperator(Operator):
    cdef bint init_output

    def __init__(self, init_output):
        self.init_output = init_output

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef float* out = <float*>out_data[0].data
        cdef bint finite = True
        cdef int i
        if req[0] == kNullOp:
            return 0
        for i in range(ctx.n_in):
            if not are_all_finite(in_data[i].dtype, in_data[i].data, in_data[i].size):
                finite = False
                break
        if req[0] == kAddTo:
            out[0] += finite
        elif self.init_output or not finite:
            out[0] = finite
        return 0


class MultiSumSquaresProperty(ManyArraysProperty, operator="multi_sum_sq"):
    """The sum of squares of each input: an array of float32, one element an input."""

    graph = GraphHooks(takes_empty=True)
    example = """
    >>> mx.nd.multi_sum_sq(mx.nd.array([1, 2]), mx.nd.array([3]), num_arrays=2)
    [5. 9.]
    <NDArray 2 @cpu(0)>
    """

    def output_shape(self):
        """The output's shape."""
        return (self.num_arrays,)

    def make_operator(self):
        """The operator that computes it."""
        return SumSquaresOperator()


cdef class SumSquaresOperator(Operator):
    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef float* out = <float*>out_data[0].data
        cdef float total
        cdef int i
        if req[0] == kNullOp:
            return 0
        for i in range(ctx.n_in):
            total = <float>sum_squares(in_data[i].dtype, in_data[i].data, in_data[i].size)
            out[i] = out[i] + total if req[0] == kAddTo else total
        return 0


class MultiLARSProperty(OperatorProperty, operator="multi_lars"):
    """Learning rates proportional to the weights' norms over those of the gradients."""

    eta = Float(doc="Factor of that proportion.")
    eps = Float(doc="Added to the denominator.")
    rescale_grad = Float(1.0, doc="Factor of the gradients.")
    differentiable = False
    inputs_doc = {
        "lrs": "Learning rates, float32.", "weights_sum_sq": "Sums of squares of the weights.",
        "grads_sum_sq": "Sums of squares of the gradients.", "wds": "Weight decays.",
    }
    example = """
    >>> lrs, wds = mx.nd.array([0.1, 0.1]), mx.nd.array([0, 0.01])
    >>> weights, grads = mx.nd.array([4, 9]), mx.nd.array([1, 1])  # sums of squares
    >>> mx.nd.multi_lars(lrs, weights, grads, wds, eta=0.01, eps=0)
    [0.002      0.00291262]
    <NDArray 2 @cpu(0)>
    """

    def forward_inplace_option(self, in_data, out_data):
        return [(each, out_data[0]) for each in in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, ("float32",))
        return LARSOperator(self.eta, self.eps, self.rescale_grad)


cdef class LARSOperator(Operator):
    cdef float eta, eps, rescale

    def __init__(self, eta, eps, rescale):
        self.eta, self.eps, self.rescale = eta, eps, rescale

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef const float* lrs = <const float*>in_data[0].data
        cdef const float* weights = <const float*>in_data[1].data
        cdef const float* grads = <const float*>in_data[2].data
        cdef const float* wds = <const float*>in_data[3].data
        cdef float* out = <float*>out_data[0].data
        cdef float length, lr
        cdef int64_t i
        if req[0] == kNullOp:
            return 0
        for i in range(in_data[0].size):
            length, lr = <float>sqrt(weights[i]), lrs[i]
            if length > 0 and grads[i] > 0:
                lr = lr * self.eta * length / (
                    <float>sqrt(grads[i]) * self.rescale + wds[i] * length + self.eps)
            out[i] = out[i] + lr if req[0] == kAddTo else lr
        return 0


class ResetArraysProperty(OperatorProperty, operator="reset_arrays"):
    """All arrays become zeros; nothing comes out."""

    key_var_num_args = "num_arrays"
    num_arrays = Int(doc="Number of inputs; filled in from the call.", low=1, high=MAX_ARRAYS)
    differentiable = False
    graph = GraphHooks(takes_empty=True)
    example = """
    >>> x, y = mx.nd.ones(2), mx.nd.ones(1)
    >>> _ = mx.nd.reset_arrays(x, y, num_arrays=2)
    >>> x
    [0. 0.]
    <NDArray 2 @cpu(0)>
    """

    def list_arguments(self):
        return []

    def list_outputs(self):
        return []

    def list_auxiliary_states(self):
        return [f"array_{i}" for i in range(self.num_arrays)]

    def infer_shape(self, in_shapes, out_shapes):
        return [], [], [None] * self.num_arrays

    def infer_type(self, in_types, out_types):
        return [], [], [None] * self.num_arrays

    def create_operator(self, ctx, in_shapes, in_types):
        return ResetOperator()


cdef class ResetOperator(Operator):
    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int i
        for i in range(ctx.n_aux):
            memset(aux_states[i].data, 0, aux_states[i].size * dtype_size(aux_states[i].dtype))
        return 0
