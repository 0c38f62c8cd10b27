"""quadratic: a x^2 + b x + c; div_sqrt_dim: x / sqrt(last length); gradientmultiplier."""

from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Double, Float
from ..second_order import Flat, Formula, Linear
from ..storage_types import elementwise_rule


class PolynomialHooks(GraphHooks):  # of operators that memory traffic limits
    def is_memory_bound(self, prop, in_shapes):
        return True


class _PolynomialProperty(KernelProperty):  # base: the gradient is linear in data
    """Base of elementwise operators whose gradient is linear in data."""

    graph = PolynomialHooks(elementwise=True)
    forward = Kernel("polynomial", in_place=(("data", "output"),))
    backward = Kernel(
        "polynomial_grad", ("d_output",), ("d_data",), in_place=(("d_output", "d_data"),)
    )
    floats = ()


class QuadraticProperty(_PolynomialProperty, operator="_contrib_quadratic"):
    """``a * data ** 2 + b * data + c``, element by element."""

    a = Float(0.0, doc="Factor of the square.")
    b = Float(0.0, doc="Factor of data.")
    c = Float(0.0, doc="Constant term.")

    sparse = elementwise_rule(lambda prop: prop.c == 0)
    backward = Kernel(
        "polynomial_grad", ("d_output", "data"), ("d_data",), in_place=(("d_output", "d_data"),)
    )
    example = """
    >>> mx.nd.contrib.quadratic(mx.nd.array([0, 1, 2]), a=1, b=2, c=3)
    [ 3.  6. 11.]
    <NDArray 3 @cpu(0)>
    """

    def kernel_params(self, in_shapes):
        return {"a": self.a, "b": self.b, "c": self.c, "p": 2 * self.a, "q": self.b}

    def gradients(self, F, g, x, y):
        """Return the gradients, composed of operators."""
        return [lambda: g[0] * (x[0] * (2 * self.a) + self.b)]

    second_order = Formula(gradients)


class DivSqrtDimProperty(_PolynomialProperty, operator="_contrib_div_sqrt_dim"):
    """``data / sqrt(d)`` with d the length of the last axis: attention's scale."""

    graph = PolynomialHooks()
    second_order = Linear()
    example = """
    >>> mx.nd.contrib.div_sqrt_dim(mx.nd.array([[2, 4, 6, 8]]))
    [[1. 2. 3. 4.]]
    <NDArray 1x4 @cpu(0)>
    """

    def kernel_params(self, in_shapes):
        scale = in_shapes[0][-1] ** -0.5
        return {"a": 0.0, "b": scale, "c": 0.0, "p": 0.0, "q": scale}


class GradientMultiplierProperty(_PolynomialProperty, operator="_contrib_gradientmultiplier"):
    """The input itself; its gradient is multiplied by `scalar` (negative: gradient reversal)."""

    scalar = Double(1.0, doc="Factor of the gradient.")
    is_int = Bool(True, doc="Part of MXNet's signature; not used.")
    second_order = Flat()
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.contrib.gradientmultiplier(x, scalar=-0.5)
    ...
    >>> y.backward()
    >>> x.grad
    [[-0.5 -0.5]
     [-0.5 -0.5]]
    <NDArray 2x2 @cpu(0)>
    """

    def kernel_params(self, in_shapes):
        return {"a": 0.0, "b": 1.0, "c": 0.0, "p": 0.0, "q": self.scalar}
