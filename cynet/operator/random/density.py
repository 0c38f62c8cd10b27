"""_random_pdf_*: densities of samples under distributions whose parameters are arrays.

Parameters of shape (s) and samples (s, ...) give densities of the samples' shape; of the Dirichlet
distribution alpha (s, k) and samples (s, ..., k) give (s, ...).
"""

from collections.abc import Callable
from math import inf, log, pi
from typing import NamedTuple

from ...base.errors import ShapeError
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool
from ..precision import WIDEST, Precision
from ..property import merge_shapes
from ..second_order import Rewrite


class DensityProperty(KernelProperty):  # base of operators that compute densities
    """Base of operators that compute densities."""

    graph = GraphHooks(float32_beside_half=())
    is_log = Bool(False, doc="Give the logarithm of the density.")
    kernel = "density"
    law = None
    parameters = ()
    amp = Precision(WIDEST, WIDEST)

    @property
    def forward(self):  # the kernel of the densities
        return Kernel(self.kernel, ("sample", *self.parameters))

    @property
    def backward(self):  # the kernel of the gradients
        inputs = self.forward.reads
        return Kernel(f"{self.kernel}_grad", ("d_output", *inputs), tuple(f"d_{n}" for n in inputs))

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
                f"{sample}: samples have the parameters' axes, then any others"
            )
        n = len(parameter)
        parameter = merge_shapes(parameter, sample[:n])
        sample = (*parameter, *sample[n:])
        return [sample, *[parameter] * len(self.parameters)], [sample], []


class DirichletDensityProperty(
    DensityProperty, operator="_random_pdf_dirichlet", aliases=("random_pdf_dirichlet",)
):
    """Densities of samples under Dirichlet distributions, whose `alpha` is in the last axis."""

    kernel = "dirichlet"
    parameters = ("alpha",)
    inputs_doc = {"sample": "Samples, shape (s, ..., k).", "alpha": "Concentrations, shape (s, k)."}
    example = """
    >>> x = mx.nd.array([[[0.2, 0.8], [0.5, 0.5]]])
    >>> mx.nd.random_pdf_dirichlet(x, mx.nd.array([[2, 2]]))
    [[0.96000004 1.5       ]]
    <NDArray 1x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        sample, alpha = in_shapes
        out = out_shapes[0]
        if sample is None or alpha is None:
            return [sample, alpha], [out], []
        if len(alpha) > len(sample):
            raise ShapeError(
                f"operator {self.op_name}: 'alpha' of shape {alpha} and 'sample' of {sample}: "
                "samples have the leading axes of alpha, then any others, then its last axis"
            )
        n = len(alpha) - 1
        (last,) = merge_shapes(alpha[n:], sample[len(sample) - 1 :])
        leading = merge_shapes(alpha[:n], sample[:n])
        sample = (*leading, *sample[n : len(sample) - 1], last)
        if out is not None and len(sample) > 1:
            sample = (*merge_shapes(sample[: len(sample) - 1], out), last)
        return [sample, (*sample[:n], last)], [sample[: len(sample) - 1] or self.no_axes], []

    def compose_outputs(self, F, inputs, aux, training):
        sample, alpha = inputs
        shape = (*alpha.shape[:-1], *(1,) * (sample.ndim - alpha.ndim), alpha.shape[-1])
        total = F.gammaln(F.sum(alpha, axis=-1, keepdims=True))
        constant = total - F.sum(F.gammaln(alpha), axis=-1, keepdims=True)

        def log(x):
            powers = F.broadcast_mul(F.log(x), alpha.reshape(shape) - 1)
            powers = F.sum(powers, axis=-1, keepdims=True)
            return F.broadcast_add(powers, constant.reshape((*shape[:-1], 1)))

        out = _log_density_inside(F, F.min(sample, axis=-1, keepdims=True) >= 0, log, sample)
        out = out.reshape(self.output_shapes([sample.shape, alpha.shape])[0])
        return [out if self.is_log else F.exp(out)]

    second_order = Rewrite(compose_outputs)


# Logarithms of the density at x, in terms of operators; counts x are detached.
def _log_binomial(F, x, k):
    """Return the logarithm of the number of ways to have k failures among x + k attempts."""
    x = x.detach()
    return F.gammaln(x + k) - F.gammaln(x + 1) - F.gammaln(k)


def _uniform_log_density(F, x, low, high):
    return -F.log(high - low)


def _normal_log_density(F, x, mu, sigma):
    return F.square((x - mu) / sigma) * -0.5 - F.log(sigma) - 0.5 * log(2 * pi)


def _gamma_log_density(F, x, alpha, beta):
    return alpha * F.log(beta) + (alpha - 1) * F.log(x) - beta * x - F.gammaln(alpha)


def _exponential_log_density(F, x, lam):
    return F.log(lam) - lam * x


def _poisson_log_density(F, x, lam):
    return F.log(lam) * x.detach() - lam - F.gammaln(x.detach() + 1)


def _negative_binomial_log_density(F, x, k, p):
    return _log_binomial(F, x, k) + k * F.log(p) + x.detach() * F.log1p(-p)


def _dispersed_log_density(F, x, mu, alpha):
    k, count = F.reciprocal(alpha), x.detach()
    return _log_binomial(F, x, k) + count * F.log(mu * alpha) - (count + k) * F.log1p(mu * alpha)


class DensityRow(NamedTuple):  # a distribution and its density
    """A row: a distribution.

    parameters: What they are.
    log: ``log(F, x, *parameters)``, of arrays that broadcast.
    shown: What the example shows: samples, the parameters' numbers, densities.
    inside: ``inside(x, *parameters)``: where something can be drawn.
    """

    name: str
    parameters: dict
    words: str
    log: Callable
    shown: tuple
    inside: Callable = lambda x, *_: x >= 0


# rows in the order of DensityLaw of kernels/rng/density.h
ROWS = [  # in the order of DensityLaw in density.h
    DensityRow(
        "uniform",
        {"low": "Lower ends.", "high": "Upper ends."},
        "uniform distributions over [low, high]",
        _uniform_log_density,
        ("0, 1, 2", (0, 2), "0.5 0.5 0.5"),
        lambda x, low, high: (x >= low) * (x <= high),
    ),
    DensityRow(
        "normal",
        {"mu": "Means.", "sigma": "Standard deviations."},
        "normal distributions",
        _normal_log_density,
        ("0, 1, 2", (0, 1), "0.3989423  0.24197072 0.05399097"),
        lambda x, *_: (x == x) + (x != x),  # everywhere, NaN included
    ),
    DensityRow(
        "gamma",
        {"alpha": "Shapes of the distributions.", "beta": "Rates: means are alpha / beta."},
        "gamma distributions",
        _gamma_log_density,
        ("0.5, 1, 2", (2, 1), "0.30326533 0.36787945 0.27067056"),
    ),
    DensityRow(
        "exponential",
        {"lam": "Rates."},
        "exponential distributions",
        _exponential_log_density,
        ("0, 1, 2", (1,), "1.         0.36787945 0.13533528"),
    ),
    DensityRow(
        "poisson",
        {"lam": "Means."},
        "Poisson distributions",
        _poisson_log_density,
        ("0, 1, 2", (2,), "0.13533528 0.27067056 0.27067056"),
    ),
    DensityRow(
        "negative_binomial",
        {"k": "Failures at which experiments end.", "p": "Probabilities of a failure."},
        "negative binomial distributions",
        _negative_binomial_log_density,
        ("0, 1, 2", (2, 0.5), "0.25   0.25   0.1875"),
    ),
    DensityRow(
        "generalized_negative_binomial",
        {"mu": "Means.", "alpha": "Dispersions: variances are mu + alpha mu^2."},
        "negative binomial distributions given by mean and dispersion",
        _dispersed_log_density,
        ("0, 1, 2", (2, 0.5), "0.25   0.25   0.1875"),
    ),
]
_EXAMPLE = """
    >>> x = mx.nd.array([[{}]])
    >>> mx.nd.random_pdf_{}(x, {})
    [[{}]]
    <NDArray 1x3 @cpu(0)>
    """


def _log_density_inside(F, inside, log, sample):
    """``log(sample)``, -inf with a gradient of 0 if the sample is not `inside`: log then gets
    another argument, so that there is no NaN."""
    among = F.broadcast_to(inside, shape=sample.shape)
    value = log(F.where(among, sample, F.ones_like(sample)))
    return F.where(inside, value, (F.ones_like(value) * -inf).detach())


def _density_rule(row):
    def outputs(p, F, x, aux, training):
        sample = x[0]
        wide = [a.reshape(a.shape + (1,) * (sample.ndim - a.ndim)) for a in x[1:]]
        wide = [F.broadcast_to(a, shape=sample.shape) for a in wide]
        inside = row.inside(sample, *wide)
        value = _log_density_inside(F, inside, lambda x: row.log(F, x, *wide), sample)
        return [value if p.is_log else F.exp(value)]

    return Rewrite(outputs)


def _register_density(row, law):
    samples, numbers, densities = row.shown
    arrays = ", ".join(f"mx.nd.array([{number}])" for number in numbers)
    own = {
        "__doc__": f"Densities of samples under {row.words}, 0 outside of what can be drawn.",
        "__module__": __name__,
        "law": law,
        "parameters": tuple(row.parameters),
        "inputs_doc": {
            "sample": "Samples, shape (s, ...).",
            **{k: f"{v[: len(v) - 1]}, shape (s)." for k, v in row.parameters.items()},
        },
        "second_order": _density_rule(row),
        "example": _EXAMPLE.format(samples, row.name, arrays, densities),
    }
    prop = type(f"Density_{row.name}", (DensityProperty,), own)
    register_operator(f"_random_pdf_{row.name}", prop, aliases=(f"random_pdf_{row.name}",))


for _law, _row in enumerate(ROWS):
    _register_density(_row, _law)
