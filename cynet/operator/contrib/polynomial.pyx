"""quadratic: a x^2 + b x + c; div_sqrt_dim: x / sqrt(last length); gradientmultiplier: x, whose
gradient is multiplied."""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.elementwise.polynomial cimport polynomial
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Double, Float
from ..property import OperatorProperty


class PolynomialHooks(GraphHooks):
    def one_pass(self, prop, in_shapes):
        return True


class _PolynomialProperty(OperatorProperty):
    """Base: elementwise, with a gradient that is linear in data."""

    graph = PolynomialHooks(elementwise=True)
    reads_data = False

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data] if self.reads_data else out_grad

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        if in_types[0] == "bool":
            raise ArgumentError(f"operator {self.op_name} does not take arrays of bool")
        return PolynomialOperator(*self.coefficients(in_shapes[0]))


class QuadraticProperty(_PolynomialProperty):
    """``a * data ** 2 + b * data + c``, element by element."""

    a = Float(0.0, doc="Factor of the square.")
    b = Float(0.0, doc="Factor of data.")
    c = Float(0.0, doc="What is added.")
    reads_data = True

    def coefficients(self, shape):
        return (self.a, self.b, self.c), (2 * self.a, self.b)


class DivSqrtDimProperty(_PolynomialProperty):
    """``data / sqrt(d)`` with d the length of the last axis: attention's scale."""

    graph = PolynomialHooks()

    def coefficients(self, shape):
        scale = shape[len(shape) - 1] ** -0.5
        return (0.0, scale, 0.0), (0.0, scale)


class GradientMultiplierProperty(_PolynomialProperty):
    """The input itself; its gradient is multiplied by `scalar` (negative: gradient reversal)."""

    scalar = Double(1.0, doc="Factor of the gradient.")
    is_int = Bool(True, doc="Accepted for files, without effect.")

    def coefficients(self, shape):
        return (0.0, 1.0, 0.0), (0.0, self.scalar)


cdef class PolynomialOperator(Operator):
    """y = a x^2 + b x + c, dx = dy (p x + q)."""

    cdef double a, b, c, p, q

    def __init__(self, forward, backward):
        self.a, self.b, self.c = forward
        self.p, self.q = backward

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t n = out_data[0].size
        if req[0] != kNullOp:
            polynomial(out_data[0].dtype, threads_for(n), self.a, self.b, self.c, NULL,
                       in_data[0].data, out_data[0].data, n, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t n = out_grad[0].size
        if req[0] != kNullOp:
            polynomial(out_grad[0].dtype, threads_for(n), 0, self.p, self.q, out_grad[0].data,
                       in_data[0].data, in_grad[0].data, n, req[0] == kAddTo)
        return 0


register_operator("_contrib_quadratic", QuadraticProperty)
register_operator("_contrib_div_sqrt_dim", DivSqrtDimProperty)
register_operator("_contrib_gradientmultiplier", GradientMultiplierProperty)
