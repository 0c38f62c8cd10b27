"""_random_pdf_*: densities of samples under distributions whose parameters are arrays.

Parameters of shape (s) and samples (s, ...) give densities of the samples' shape; of the Dirichlet
distribution alpha (s, k) and samples (s, ..., k) give (s, ...).
"""

from ...base.errors import ShapeError
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool
from ..property import merge_shapes


class DensityProperty(KernelProperty):
    """Base of the rows below."""

    graph = GraphHooks(float32_beside_half=())
    is_log = Bool(False, doc="Give the logarithm of the density.")
    kernel = "density"
    law = None
    parameters = ()

    @property
    def forward(self):
        return Kernel(self.kernel, ("sample", *self.parameters))

    @property
    def backward(self):
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


class DirichletDensityProperty(DensityProperty):
    """Densities of samples under Dirichlet distributions, whose `alpha` is in the last axis."""

    kernel = "dirichlet"
    parameters = ("alpha",)
    inputs_doc = {"sample": "Samples, shape (s, ..., k).", "alpha": "Concentrations, shape (s, k)."}

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
        return [sample, (*sample[:n], last)], [sample[: len(sample) - 1] or (1,)], []


# name, parameters and what they are, words; in the order of DensityLaw of kernels/rng/density.h
ROWS = [
    (
        "uniform",
        {"low": "Lower ends.", "high": "Upper ends."},
        "uniform distributions over [low, high]",
    ),
    ("normal", {"mu": "Means.", "sigma": "Standard deviations."}, "normal distributions"),
    (
        "gamma",
        {"alpha": "Shapes of the distributions.", "beta": "Rates: means are alpha / beta."},
        "gamma distributions",
    ),
    ("exponential", {"lam": "Rates."}, "exponential distributions"),
    ("poisson", {"lam": "Means."}, "Poisson distributions"),
    (
        "negative_binomial",
        {"k": "Failures at which experiments end.", "p": "Probabilities of a failure."},
        "negative binomial distributions",
    ),
    (
        "generalized_negative_binomial",
        {"mu": "Means.", "alpha": "Dispersions: variances are mu + alpha mu^2."},
        "negative binomial distributions given by mean and dispersion",
    ),
]

for _law, (_name, _parameters, _words) in enumerate(ROWS):
    register_operator(
        f"_random_pdf_{_name}",
        type(
            f"Density_{_name}",
            (DensityProperty,),
            {
                "__doc__": f"Densities of samples under {_words}, 0 outside of what can be drawn.",
                "__module__": __name__,
                "law": _law,
                "parameters": tuple(_parameters),
                "inputs_doc": {
                    "sample": "Samples, shape (s, ...).",
                    **{k: f"{v[: len(v) - 1]}, shape (s)." for k, v in _parameters.items()},
                },
            },
        ),
        aliases=(f"random_pdf_{_name}",),
    )
register_operator(
    "_random_pdf_dirichlet", DirichletDensityProperty, aliases=("random_pdf_dirichlet",)
)
