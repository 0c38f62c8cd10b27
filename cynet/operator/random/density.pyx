"""_random_pdf_*: densities of samples under distributions whose parameters are arrays.

Parameters of shape (s) and samples (s, ...) give densities of the samples' shape; of the Dirichlet
distribution alpha (s, k) and samples (s, ..., k) give (s, ...).
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.parallel cimport threads_for
from ...kernels.rng.density cimport (
    DENSITY_EXPONENTIAL, DENSITY_GAMMA, DENSITY_GENERALIZED_NEGATIVE_BINOMIAL,
    DENSITY_NEGATIVE_BINOMIAL, DENSITY_NORMAL, DENSITY_POISSON, DENSITY_UNIFORM, density,
    density_gradient, dirichlet_backward, dirichlet_forward)
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool
from ..property import OperatorProperty, merge_shapes

cdef enum:
    COST = 32  # simple operations of a density

DIRICHLET = -1  # beside the codes of density.h


class DensityProperty(OperatorProperty):
    """Base of the rows below."""

    graph = GraphHooks(float32_beside_half=())
    is_log = Bool(False, doc="Give the logarithm of the density.")
    law = None
    parameters = ()

    def list_arguments(self):
        return ["sample", *self.parameters]

    def infer_shape(self, in_shapes, out_shapes):
        sample = merge_shapes(in_shapes[0], out_shapes[0])
        parameter = merge_shapes(*in_shapes[1:])
        if sample is None or parameter is None:
            return [sample, *[parameter] * len(self.parameters)], [sample], []
        if len(parameter) > len(sample):
            raise ShapeError(
                f"operator {self.op_name}: parameters of shape {parameter} and 'sample' of "
                f"{sample}: samples have the parameters' axes, then any others")
        n = len(parameter)
        parameter = merge_shapes(parameter, sample[:n])
        sample = (*parameter, *sample[n:])
        return [sample, *[parameter] * len(self.parameters)], [sample], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        each = prod(in_shapes[0]) // prod(in_shapes[1])
        return DensityOperator(self.law, self.is_log, each, 1)


class DirichletDensityProperty(DensityProperty):
    """Densities of samples under Dirichlet distributions, whose `alpha` is in the last axis."""

    law = DIRICHLET
    parameters = ("alpha",)
    inputs_doc = {"sample": "Samples, shape (s, ..., k).",
                  "alpha": "Concentrations, shape (s, k)."}

    def infer_shape(self, in_shapes, out_shapes):
        sample, alpha = in_shapes
        out = out_shapes[0]
        if sample is None or alpha is None:
            return [sample, alpha], [out], []
        if len(alpha) > len(sample):
            raise ShapeError(
                f"operator {self.op_name}: 'alpha' of shape {alpha} and 'sample' of {sample}: "
                "samples have the leading axes of alpha, then any others, then its last axis")
        n = len(alpha) - 1
        last, = merge_shapes(alpha[n:], sample[len(sample) - 1:])
        leading = merge_shapes(alpha[:n], sample[:n])
        sample = (*leading, *sample[n:len(sample) - 1], last)
        if out is not None and len(sample) > 1:
            sample = (*merge_shapes(sample[:len(sample) - 1], out), last)
        return [sample, (*sample[:n], last)], [sample[:len(sample) - 1] or (1,)], []

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        each = prod(in_shapes[0]) // prod(in_shapes[1])
        return DensityOperator(self.law, self.is_log, each, in_shapes[1][len(in_shapes[1]) - 1])


cdef class DensityOperator(Operator):
    """`each` samples, of `size` numbers, for each set of parameters."""

    cdef int law
    cdef bint log
    cdef int64_t each, size

    def __init__(self, law, log, each, size):
        self.law, self.log, self.each, self.size = law, log, each, size

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            _forward[float](self, ctx, in_data, req[0] == kAddTo, out_data, <float>0)
        else:
            _forward[double](self, ctx, in_data, req[0] == kAddTo, out_data, 0.0)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            _backward[float](self, ctx, out_grad, in_data, req, in_grad, <float>0)
        else:
            _backward[double](self, ctx, out_grad, in_data, req, in_grad, 0.0)
        return 0


ctypedef fused real:
    float
    double


cdef void _forward(DensityOperator self, OpContext* ctx, const TBlob* in_data, bint add,
                   TBlob* out_data, real kind) noexcept nogil:
    cdef int64_t n = out_data[0].size
    cdef int threads = threads_for(n * self.size * COST)
    cdef real* x = <real*>in_data[0].data
    cdef real* a = <real*>in_data[1].data
    cdef real* b = <real*>in_data[2].data if ctx.n_in > 2 else NULL
    if self.law < 0:
        dirichlet_forward(threads, self.log, n, self.each, self.size, x, a,
                          <real*>out_data[0].data, add)
    else:
        density(self.law, threads, self.log, n, self.each, x, a, b, <real*>out_data[0].data, add)


cdef void _backward(DensityOperator self, OpContext* ctx, const TBlob* out_grad,
                    const TBlob* in_data, const int* req, TBlob* in_grad,
                    real kind) noexcept nogil:
    cdef int64_t n = out_grad[0].size
    cdef int threads = threads_for(n * self.size * COST)
    cdef int add[3]
    cdef real* grads[3]
    cdef real* b = <real*>in_data[2].data if ctx.n_in > 2 else NULL
    cdef int i
    for i in range(3):
        grads[i] = NULL
        add[i] = 0
        if i < ctx.n_in and req[i] != kNullOp:
            grads[i] = <real*>in_grad[i].data
            add[i] = req[i] == kAddTo
    if self.law < 0:
        dirichlet_backward(threads, self.log, n, self.each, self.size, <real*>out_grad[0].data,
                           <real*>in_data[0].data, <real*>in_data[1].data, grads[0], grads[1], add)
    else:
        density_gradient(self.law, threads, self.log, n, self.each, <real*>out_grad[0].data,
                         <real*>in_data[0].data, <real*>in_data[1].data, b, grads[0], grads[1],
                         grads[2], add)


# name, law, parameters and what they are, words
cdef list ROWS = [
    ("uniform", DENSITY_UNIFORM,
     {"low": "Lower ends.", "high": "Upper ends."}, "uniform distributions over [low, high]"),
    ("normal", DENSITY_NORMAL,
     {"mu": "Means.", "sigma": "Standard deviations."}, "normal distributions"),
    ("gamma", DENSITY_GAMMA,
     {"alpha": "Shapes of the distributions.", "beta": "Rates: means are alpha / beta."},
     "gamma distributions"),
    ("exponential", DENSITY_EXPONENTIAL, {"lam": "Rates."}, "exponential distributions"),
    ("poisson", DENSITY_POISSON, {"lam": "Means."}, "Poisson distributions"),
    ("negative_binomial", DENSITY_NEGATIVE_BINOMIAL,
     {"k": "Failures at which experiments end.", "p": "Probabilities of a failure."},
     "negative binomial distributions"),
    ("generalized_negative_binomial", DENSITY_GENERALIZED_NEGATIVE_BINOMIAL,
     {"mu": "Means.", "alpha": "Dispersions: variances are mu + alpha mu^2."},
     "negative binomial distributions given by mean and dispersion"),
]

for _name, _law, _parameters, _words in ROWS:
    register_operator(f"_random_pdf_{_name}", type(f"Density_{_name}", (DensityProperty,), {
        "__doc__": f"Densities of samples under {_words}, 0 outside of what can be drawn.",
        "__module__": __name__, "law": _law, "parameters": tuple(_parameters),
        "inputs_doc": {"sample": "Samples, shape (s, ...).",
                       **{k: f"{v[:len(v) - 1]}, shape (s)." for k, v in _parameters.items()}},
    }), aliases=(f"random_pdf_{_name}",))
register_operator("_random_pdf_dirichlet", DirichletDensityProperty,
                  aliases=("random_pdf_dirichlet",))
