"""LAMB, for one weight in two phases or several at once: Adam with a step length proportional to
the weight's norm. You et al., https://arxiv.org/abs/1904.00962.

Phase 1 gives the step ``mean' / (sqrt(var') + epsilon) + wd * weight``, with Adam's means, scaled
up by ``1 - beta ** t`` if `bias_correction`; phase 2 gives ``weight - lr * r1 / r2 * step`` for the
norms ``r1`` of the weight, which `lower_bound` and `upper_bound` limit, and ``r2`` of the step (the
ratio is 1 where one is 0). `_multi_lamb_update` does both for each weight, with a buffer for one
step.
"""

from libc.math cimport sqrt
from libcpp.vector cimport vector

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kFloat64, kNullOp
from ...kernels.reduce.whole cimport sum_squares
from ...kernels.update.update cimport UpdateArrays, UpdateLoop, UpdateParams, run_update
from ...kernels.table cimport find_update
from .._base cimport Operator, OpContext

from math import inf, prod

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import CPU_FLOATS, NARROW_FLOATS
from ..graph_hooks import GraphHooks
from ..parameters import MAX_ARRAYS, Bool, Float, FloatTuple, Int, Shape
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from .multi_update import ManyWeights, with_masters
from .update import CLIP_DOC


cdef double first_element(const TBlob* x) noexcept nogil:
    """Return the first element of a tensor of float32 or float64."""
    return (<const double*>x.data)[0] if x.dtype == kFloat64 else (<const float*>x.data)[0]


cdef double trust_ratio(double length, double size, double lower, double upper) noexcept nogil:
    """Return the ratio of the norms of a weight and its step; a negative bound is ignored."""
    if lower >= 0 and length < lower:
        length = lower
    if upper >= 0 and length > upper:
        length = upper
    return 1.0 if length == 0 or size == 0 else length / size


def check_weight_dtype(prop, dtype):
    """Raise an error for a dtype of weights that has no loop."""
    wanted = NARROW_FLOATS if prop.master else CPU_FLOATS
    if dtype not in wanted:
        raise ArgumentError(
            f"operator {prop.op_name} takes weights of {' or '.join(wanted)}, not {dtype}")


class MomentParameters(OperatorProperty):  # beta1, beta2, ... of LAMB
    """Base with the parameters of Adam's running means."""

    graph = GraphHooks(bfloat16_loops=True)
    beta1 = Float(0.9, doc="Decay of the mean.")
    beta2 = Float(0.999, doc="Decay of the variance.")
    epsilon = Float(1e-6, doc="Added to the denominator.")
    bias_correction = Bool(
        True, doc="Whether to correct the means of the first steps for their start at 0."
    )
    rescale_grad = Float(1.0, doc="Factor of the gradient.")
    clip_gradient = Float(-1.0, doc=CLIP_DOC)

    def lamb_step_parameters(self, wd, t):
        """Return the parameters of the rule lamb_step, for the t-th update of a weight."""
        first, second = 1.0, 1.0
        if self.bias_correction:
            first, second = 1 - self.beta1**t, sqrt(1 - self.beta2**t)
        return (0.0, wd, self.rescale_grad, self.clip_gradient, self.beta1, self.beta2,
                self.epsilon * second, second / first if first else inf)


class LambPhase1Property(MomentParameters, operator="lamb_update_phase1"):
    """The first phase of LAMB: Adam's step with weight decay, ``mean' / (sqrt(var') + epsilon) + wd
    * weight``."""

    parameter_order = ("beta1", "beta2", "epsilon", "t", "bias_correction", "wd")
    t = Int(doc="Number of this update, from 1.", low=1)
    wd = Float(doc="Weight decay.")
    differentiable = False
    master = False
    inputs_doc = {"weight": "The weight.", "grad": "Its gradient, of the same shape."}
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> mean, var = mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.lamb_update_phase1(weight, grad, mean, var, t=1, wd=0.01)
    [ 1.0100048 -0.9800048]
    <NDArray 2 @cpu(0)>
    """

    def list_arguments(self):
        return ["weight", "grad", *(["weight32"] if self.master else [])]

    def list_auxiliary_states(self):
        return ["mean", "var"]

    def list_inputs(self):
        return ["weight", "grad", "mean", "var", *(["weight32"] if self.master else [])]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes, *out_shapes)
        return [shape] * len(in_shapes), [shape], [shape] * 2

    def infer_type(self, in_types, out_types):
        if not self.master:
            return super().infer_type(in_types, out_types)
        weight, grad = super().infer_type(in_types[:2], [])[0]
        return [weight, grad, "float32"], ["float32"], ["float32"] * 2

    def create_operator(self, ctx, in_shapes, in_types):
        check_weight_dtype(self, in_types[0])
        return LambPhase1Operator(self, in_types[0])


class MPLambPhase1Property(LambPhase1Property, operator="mp_lamb_update_phase1"):
    """The first phase of LAMB for float16 weights, computed on `weight32`, their float32 masters;
    the step is float32."""

    master = True
    inputs_doc = {**LambPhase1Property.inputs_doc, "weight32": "The float32 master; it stays."}
    example = """
    >>> weight = mx.nd.array([1, 2], dtype="float16")
    >>> grad = mx.nd.array([0.5, -0.5], dtype="float16")
    >>> weight32 = weight.astype("float32")
    >>> mean, var = mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.mp_lamb_update_phase1(weight, grad, mean, var, weight32, t=1, wd=0.01)
    [ 1.0100048 -0.9800048]
    <NDArray 2 @cpu(0)>
    """


cdef class LambPhase1Operator(Operator):
    cdef UpdateLoop write, add
    cdef UpdateParams params
    cdef bint master

    def __init__(self, prop, dtype):
        cdef int flag = dtype_flag(dtype)
        self.master = prop.master
        self.write = find_update(b"lamb_step", flag, self.master, False)
        self.add = find_update(b"lamb_step", flag, self.master, True)
        set_update_params(&self.params, prop.lamb_step_parameters(prop.wd, prop.t))

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef UpdateArrays arrays
        if req[0] == kNullOp:
            return 0
        arrays.weight, arrays.grad, arrays.out = in_data[0].data, in_data[1].data, out_data[0].data
        arrays.state[0], arrays.state[1] = aux_states[0].data, aux_states[1].data
        arrays.state[2] = in_data[2].data if self.master else NULL
        arrays.state[3] = NULL
        run_update(self.add if req[0] == kAddTo else self.write, &self.params, &arrays,
                   in_data[0].size)
        return 0


cdef int set_update_params(UpdateParams* params, tuple numbers) except -1:
    (params.lr, params.wd, params.rescale, params.clip, params.a, params.b, params.c,
     params.d) = numbers
    return 0


class LambPhase2Property(OperatorProperty, operator="lamb_update_phase2"):
    """The second phase of LAMB: ``output = weight - lr * r1 / r2 * g`` for the step ``g`` that the
    first gave and the norms ``r1`` of the weight and ``r2`` of the step."""

    lr = Float(doc="Learning rate.")
    lower_bound = Float(-1.0, doc="Lower bound of the weight's norm; negative means none.")
    upper_bound = Float(-1.0, doc="Upper bound of the weight's norm; negative means none.")
    differentiable = False
    graph = GraphHooks(bfloat16_loops=True)
    master = False
    inputs_doc = {
        "weight": "The weight.", "g": "The step, of the same shape.",
        "r1": "Norm of the weight, one element.", "r2": "Norm of the step, one element.",
    }
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> mx.nd.lamb_update_phase2(weight, grad, weight.norm(), grad.norm(), lr=0.1)
    [0.8418861 2.158114 ]
    <NDArray 2 @cpu(0)>
    """

    def list_auxiliary_states(self):
        return ["weight32"] if self.master else []

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes[:2], *out_shapes)
        norms = []
        for name, given in zip(("r1", "r2"), in_shapes[2:]):
            if given is not None and all(given) and prod(given) != 1:
                raise ShapeError(f"'{name}' has shape {given}, expected one element")
            norms.append(given or (1,))
        return [shape, shape, *norms], [shape], [shape] * self.master

    def infer_type(self, in_types, out_types):
        weight = next((t for t in (in_types[0], out_types[0]) if t is not None), None)
        if not self.master:
            weight = super().infer_type(in_types[:2], out_types)[0][0]
        of_step = "float32" if self.master else weight
        norms = [t or ("float64" if weight == "float64" else "float32") for t in in_types[2:]]
        return [weight, of_step, *norms], [weight], ["float32"] * self.master

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        check_weight_dtype(self, in_types[0])
        for name, dtype in zip(("r1", "r2"), in_types[2:]):
            if dtype not in ("float32", "float64"):
                raise ArgumentError(
                    f"operator {self.op_name}: '{name}' is {dtype}, expected float32 or float64")
        return LambPhase2Operator(self, in_types[0])


class MPLambPhase2Property(LambPhase2Property, operator="mp_lamb_update_phase2"):
    """The second phase of LAMB for float16 weights, computed on `weight32`, their float32 masters,
    which move, too."""

    master = True
    example = """
    >>> weight = mx.nd.array([1, 2], dtype="float16")
    >>> grad = mx.nd.array([0.5, -0.5], dtype="float16")
    >>> weight32 = weight.astype("float32")
    >>> g = grad.astype("float32")
    >>> _ = mx.nd.mp_lamb_update_phase2(weight, g, weight32.norm(), g.norm(), weight32, lr=0.1,
    ...                                 out=weight)
    >>> weight32
    [0.8418861 2.158114 ]
    <NDArray 2 @cpu(0)>
    """


cdef class LambPhase2Operator(Operator):
    cdef UpdateLoop write, add
    cdef double lr, lower, upper
    cdef bint master

    def __init__(self, prop, dtype):
        cdef int flag = dtype_flag(dtype)
        self.master = prop.master
        self.write = find_update(b"along", flag, self.master, False)
        self.add = find_update(b"along", flag, self.master, True)
        self.lr, self.lower, self.upper = prop.lr, prop.lower_bound, prop.upper_bound

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        cdef double ratio = trust_ratio(first_element(&in_data[2]), first_element(&in_data[3]),
                                        self.lower, self.upper)
        subtract_step(self.add if req[0] == kAddTo else self.write, self.lr * ratio,
                      in_data[0].data, in_data[1].data, out_data[0].data,
                      aux_states[0].data if self.master else NULL, in_data[0].size)
        return 0


cdef void subtract_step(UpdateLoop loop, double lr, const void* weight, const void* step, void* out,
                        void* master, long long n) noexcept nogil:
    """The weight after a step."""
    cdef UpdateArrays arrays
    cdef UpdateParams params
    params.lr, params.wd, params.rescale, params.clip = lr, 0, 1, -1
    params.a = params.b = params.c = params.d = params.e = 0
    arrays.weight, arrays.grad, arrays.out, arrays.state[0] = weight, step, out, master
    arrays.state[1] = arrays.state[2] = arrays.state[3] = NULL
    run_update(loop, &params, &arrays, n)


class MultiLambProperty(MomentParameters, ManyWeights, operator="_multi_lamb_update"):
    """LAMB of several weights: both phases for each, with the norms that they need."""

    parameter_order = ("learning_rates", "beta1", "beta2", "epsilon", "wds", "rescale_grad",
                       "lower_bound", "upper_bound", "clip_gradient", "bias_correction")
    per_weight = ("learning_rates", "wds", "step_count")
    counter = "num_tensors"
    learning_rates = FloatTuple(doc="Learning rates.")
    wds = FloatTuple(doc="Weight decays.")
    step_count = Shape(doc="Numbers of the updates, from 1.", low=1)
    lower_bound = Float(-1.0, doc="Lower bound of a weight's norm; negative means none.")
    upper_bound = Float(-1.0, doc="Upper bound of a weight's norm; negative means none.")
    num_tensors = Int(1, doc="Number of weights.", low=1, high=MAX_ARRAYS)
    states = ("mean", "var")
    example = """
    >>> w, v = mx.nd.array([1, 2]), mx.nd.array([3])
    >>> gw, gv = mx.nd.array([0.5, -0.5]), mx.nd.array([1])
    >>> mw, mv, vw, vv = mx.nd.zeros(2), mx.nd.zeros(1), mx.nd.zeros(2), mx.nd.zeros(1)
    >>> _ = mx.nd.op._multi_lamb_update(w, gw, mw, vw, v, gv, mv, vv, learning_rates=(0.1, 0.2),
    ...     wds=(0, 0), step_count=(1, 1), num_tensors=2, out=[w, v])
    >>> v
    [2.4]
    <NDArray 1 @cpu(0)>
    """

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        check_weight_dtype(self, in_types[0])
        return MultiLambOperator(self, in_types[0], max(prod(s) for s in in_shapes))


cdef class MultiLambOperator(Operator):
    cdef UpdateLoop step, write, add
    cdef vector[UpdateParams] params
    cdef vector[double] lrs
    cdef double lower, upper
    cdef bint master
    cdef int of_steps  # dtype of the buffer
    cdef size_t nbytes

    def __init__(self, prop, dtype, size):
        cdef int flag = dtype_flag(dtype)
        cdef UpdateParams params
        self.master = prop.master
        self.step = find_update(b"lamb_step", flag, self.master, False)
        self.write = find_update(b"along", flag, self.master, False)
        self.add = find_update(b"along", flag, self.master, True)
        self.of_steps = kFloat32 if self.master else flag
        self.nbytes = size * dtype_size(self.of_steps)
        self.lower, self.upper = prop.lower_bound, prop.upper_bound
        for lr, wd, t in zip(prop.learning_rates, prop.wds, prop.step_count):
            set_update_params(&params, prop.lamb_step_parameters(wd, t))
            self.params.push_back(params)
            self.lrs.push_back(lr)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* step = get_space(&ctx.requested[0], self.nbytes)
        cdef int n_states = 3 if self.master else 2
        cdef UpdateArrays arrays
        cdef const TBlob* weight
        cdef const TBlob* states
        cdef double length
        cdef void* master
        cdef size_t i
        for i in range(self.params.size()):
            if req[i] == kNullOp:
                continue
            weight, states = &in_data[2 * i], &aux_states[n_states * i]
            master = states[2].data if self.master else NULL
            arrays.weight, arrays.grad, arrays.out = weight.data, in_data[2 * i + 1].data, step
            arrays.state[0], arrays.state[1] = states[0].data, states[1].data
            arrays.state[2], arrays.state[3] = master, NULL
            run_update(self.step, &self.params[i], &arrays, weight.size)
            if self.master:
                length = sqrt(sum_squares(kFloat32, master, weight.size))
            else:
                length = sqrt(sum_squares(weight.dtype, weight.data, weight.size))
            length = trust_ratio(length, sqrt(sum_squares(self.of_steps, step, weight.size)),
                                 self.lower, self.upper)
            subtract_step(self.add if req[i] == kAddTo else self.write, self.lrs[i] * length,
                          weight.data, step, out_data[i].data, master, weight.size)
        return 0


_MP_EXAMPLE = """
    >>> w, v = mx.nd.ones(2, dtype="float16"), mx.nd.ones(1, dtype="float16")
    >>> gw, gv = mx.nd.ones(2, dtype="float16"), mx.nd.ones(1, dtype="float16")
    >>> mw, mv, vw, vv = mx.nd.zeros(2), mx.nd.zeros(1), mx.nd.zeros(2), mx.nd.zeros(1)
    >>> w32, v32 = w.astype("float32"), v.astype("float32")
    >>> _ = mx.nd.op._multi_mp_lamb_update(w, gw, mw, vw, w32, v, gv, mv, vv, v32,
    ...     learning_rates=(0.1, 0.2), wds=(0, 0), step_count=(1, 1), num_tensors=2, out=[w, v])
    >>> v32
    [0.8]
    <NDArray 1 @cpu(0)>
    """
register_operator("_multi_mp_lamb_update",
                  with_masters(MultiLambProperty, "MPMultiLambProperty", _MP_EXAMPLE))
