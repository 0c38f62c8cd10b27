"""Random arrays: one row a distribution, three operators a row.

`_random_X` draws an array whose parameters are numbers, `_random_X_like` one of the shape and type
of its input, `_sample_X` draws `shape` numbers for each pair of parameters in its inputs:
parameters of shape (s) give an output of shape (s, shape). Element i depends on the seed, the
operator's stream and i alone.
"""

from collections.abc import Callable
from enum import IntEnum
from math import inf
from typing import NamedTuple

from ...base.errors import ArgumentError
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import DType, Float, Int, Shape, Str
from ..property import merge_shapes

_FLOATS = ("bfloat16", "float16", "float32", "float64")  # dtypes that can be drawn
_SHAPE_DOC = "Shape of the output."
_CTX_DOC = "Device of the output, such as 'cpu(0)'; only for imperative calls."
_DTYPE_DOC = "Type of the output; by default that of `out`, else {}."


class DtypeChoice(DType):  # a dtype parameter that accepts a few dtypes
    """A dtype parameter that accepts a few dtypes."""

    def __init__(self, choices, default=None, doc=""):
        super().__init__(default, doc)
        self.choices = choices

    def convert(self, value, where):
        name = super().convert(value, where)
        if name not in self.choices:
            self.refuse(value, where, wrong_type=False)
        return name

    def expected(self):
        return "one of " + ", ".join(map(repr, self.choices))


class _RandomProperty(KernelProperty):  # base of all random operators
    """The base of all random operators: no gradient, one random stream a run."""

    differentiable = False
    graph = GraphHooks(bfloat16_loops=True)

    floats = ()

    @property
    def forward(self):
        """The kernel that draws; it reads arrays of parameters if they are given."""
        reads = self.list_arguments() if self.per_parameter else ()
        name = "draw_by_rejection" if self.row.uses_rejection else "draw"
        return Kernel(name, tuple(reads), draws=True)

    per_parameter = False

    def kernel_dtype(self, in_types):
        return "float32"  # the kernels take the output's dtype as a parameter

    def kernel_params(self, in_shapes):
        a, b = (*(getattr(self, name) for name, *_ in self.row.parameters), 0.0)[:2]
        return {"distribution": self.row.code, "a": a, "b": b}


class _ScalarProperty(_RandomProperty):  # base: parameters are numbers
    """Base of random operators whose parameters are numbers; the shape is given or inferred."""

    default_type = "float32"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.check_parameters()

    def list_arguments(self):
        return []

    def infer_shape(self, in_shapes, out_shapes):
        return [], [merge_shapes(self.shape, *out_shapes)], []

    def infer_type(self, in_types, out_types):
        return [], [self.dtype or out_types[0] or self.default_type], []


class ScalarDistribution(_ScalarProperty):  # parameters are numbers
    def check_parameters(self):
        for each in self.row.parameters:
            value = getattr(self, each.name)
            if not each.allowed(value, self):
                raise ArgumentError(
                    f"operator {self.op_name}: {each.name} must {each.must}, got {each.name} ="
                    f" {value}"
                )


class LikeDistribution(_RandomProperty):  # the shape is that of `data`
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        ScalarDistribution.check_parameters(self)

    inputs_doc = {"data": "Its shape and type are the output's; its values are not read."}

    def infer_type(self, in_types, out_types):
        in_types, out_types, _ = super().infer_type(in_types, out_types)
        if out_types[0] not in (None, *_FLOATS):
            raise ArgumentError(
                f"operator {self.op_name} makes {', '.join(_FLOATS)}; data is {out_types[0]}"
            )
        return in_types, out_types, []


class SampleDistribution(_RandomProperty):  # parameters are arrays
    per_parameter = True

    def list_arguments(self):
        return [name for name, *_ in self.row.parameters]

    def infer_shape(self, in_shapes, out_shapes):
        known = merge_shapes(*in_shapes)
        out = out_shapes[0]
        each = self.shape
        if known is None and out is not None and len(out) > len(each):
            known = out[: len(out) - len(each)]
        if known is None:
            return in_shapes, out_shapes, []
        out = merge_shapes((*known, *each), out)
        return [out[: len(known)]] * len(in_shapes), [out], []

    def infer_type(self, in_types, out_types):
        known = next((t for t in in_types if t is not None), "float32")
        return [t or known for t in in_types], [self.dtype or out_types[0] or "float32"], []

    def create_operator(self, ctx, in_shapes, in_types):
        if len(set(in_types)) > 1:
            found = ", ".join(f"{n}: {t}" for n, t in zip(self.list_arguments(), in_types))
            raise ArgumentError(
                f"operator {self.op_name}: its parameters must be of one type, got {found}"
            )
        return super().create_operator(ctx, in_shapes, in_types)

    def kernel_params(self, in_shapes):
        return {"distribution": self.row.code, "a": 0.0, "b": 0.0}


class DistributionCode(IntEnum):  # as in random_draw.h
    """Codes of distributions: the enumeration in kernels/rng/random_draw.h."""

    Uniform = 0
    Normal = 1
    Exponential = 2
    Gamma = 3
    Poisson = 4
    NegativeBinomial = 5
    GeneralizedNegativeBinomial = 6


class Parameter(NamedTuple):  # a distribution's parameter, with its condition
    """A parameter with its condition: the text `must` and ``allowed(value, property)``."""

    name: str
    default: float
    doc: str
    must: str
    allowed: Callable
    kind: type = Float

    def as_field(self):
        """Return the parameter as a field of an operator's property."""
        return self.kind(self.default, self.doc)


class Distribution(NamedTuple):  # a row: name, code, parameters
    """A distribution: name, code of the kernel, parameters, description.

    `shown` is what examples show: numbers of the parameters and the mean of what is drawn, then two
    sets of numbers and their means. `sample_names` are the parameters' names where they are arrays.
    """

    name: str
    code: DistributionCode
    parameters: tuple
    text: str
    shown: tuple
    aliases: tuple = ()
    sample_names: tuple = ()

    @property
    def uses_rejection(self):
        """True if the kernel may draw several times for one number."""
        return self.code > DistributionCode.Exponential


_FINITE = "be finite", lambda value, _: -inf < value < inf  # error text, check of a parameter
_POSITIVE = "be positive", lambda value, _: 0 < value < inf  # error text, check
_NOT_NEGATIVE = "not be negative", lambda value, _: 0 <= value < inf  # error text, check
_NOT_BELOW_LOW = "be finite and not below low", lambda value, prop: prop.low <= value < inf
_PROBABILITY = "be in (0, 1]", lambda value, _: 0 < value <= 1  # error text, check
_FAILURES_DOC = "Number of failures at which the experiment ends."

DISTRIBUTIONS = (  # a row for each distribution
    Distribution(
        "uniform",
        DistributionCode.Uniform,
        (
            Parameter("low", 0.0, "Lower end, included.", *_FINITE),
            Parameter("high", 1.0, "Upper end, excluded.", *_NOT_BELOW_LOW),
        ),
        "uniform numbers from [low, high)",
        ("low=2, high=3", 2.5, "[0, 10] [2, 20]", "[ 1. 15.]"),
        aliases=("uniform",),
    ),
    Distribution(
        "normal",
        DistributionCode.Normal,
        (
            Parameter("loc", 0.0, "Mean.", *_FINITE),
            Parameter("scale", 1.0, "Standard deviation.", *_POSITIVE),
        ),
        "normally distributed numbers, given by mean and standard deviation",
        ("loc=5, scale=2", 5.0, "[0, 10] [1, 2]", "[-0. 10.]"),
        aliases=("normal",),
        sample_names=("mu", "sigma"),
    ),
    Distribution(
        "gamma",
        DistributionCode.Gamma,
        (
            Parameter("alpha", 1.0, "Shape of the distribution.", *_POSITIVE),
            Parameter("beta", 1.0, "Scale of the distribution.", *_POSITIVE),
        ),
        "gamma distributed numbers of mean alpha * beta",
        ("alpha=2, beta=3", 5.9, "[1, 2] [1, 3]", "[1. 6.]"),
    ),
    Distribution(
        "exponential",
        DistributionCode.Exponential,
        (Parameter("lam", 1.0, "Rate: the mean is 1 / lam.", *_POSITIVE),),
        "exponentially distributed numbers of mean 1 / lam",
        ("lam=4", 0.2, "[1, 0.25]", "[1. 4.]"),
    ),
    Distribution(
        "poisson",
        DistributionCode.Poisson,
        (Parameter("lam", 1.0, "Mean.", *_NOT_NEGATIVE),),
        "Poisson distributed counts (in a float type) of mean lam",
        ("lam=4", 4.0, "[1, 4]", "[1. 4.]"),
    ),
    Distribution(
        "negative_binomial",
        DistributionCode.NegativeBinomial,
        (
            Parameter("k", 1, _FAILURES_DOC, *_NOT_NEGATIVE, Int),
            Parameter("p", 1.0, "Probability of a failure.", *_PROBABILITY),
        ),
        "counts (in a float type) of successes before the k-th failure, of mean k (1 - p) / p",
        ("k=3, p=0.4", 4.5, "[1, 3] [0.5, 0.5]", "[1. 3.]"),
    ),
    Distribution(
        "generalized_negative_binomial",
        DistributionCode.GeneralizedNegativeBinomial,
        (
            Parameter("mu", 1.0, "Mean.", *_NOT_NEGATIVE),
            Parameter("alpha", 1.0, "Dispersion: the variance is mu + alpha mu^2.", *_NOT_NEGATIVE),
        ),
        "negative binomial counts (in a float type) given by their mean and dispersion",
        ("mu=2, alpha=0.3", 2.0, "[1, 2] [0.1, 0.3]", "[1. 2.]"),
    ),
)


_SCALAR_EXAMPLE = """
    >>> mx.random.seed(1)
    >>> x = mx.nd.random_{}({}, shape=(100, 100))
    >>> x.shape, round(float(x.mean()), 1)
    ((100, 100), {})
    """
_LIKE_EXAMPLE = """
    >>> mx.nd.op._random_{}_like(mx.nd.zeros((2, 3)), {}).shape
    (2, 3)
    """
_ROW_EXAMPLE = """
    >>> mx.random.seed(1)
    >>> {} = {}
    >>> x = mx.nd.sample_{}({}, shape=10000)
    >>> x.mean(axis=1).round()
    {}
    <NDArray 2 @cpu(0)>
    """


def _register_distribution(row):
    """Register the three operators of a row."""
    numbers, mean, arrays, means = row.shown
    names = row.sample_names or [each.name for each in row.parameters]
    arrays = f"mx.nd.array({arrays})".replace("] [", "]), mx.nd.array([")
    fields = {each.name: each.as_field() for each in row.parameters}
    dtype = DtypeChoice(_FLOATS, None, _DTYPE_DOC.format("float32"))
    own = {
        **fields,
        "shape": Shape(None, _SHAPE_DOC, low=0),
        "ctx": Str("", _CTX_DOC),
        "dtype": dtype,
        "example": _SCALAR_EXAMPLE.format(row.name, numbers, mean),
        "__doc__": f"An array of {row.text}.",
    }
    _register_property("_random_{}", "Random{}Property", ScalarDistribution, row, own, row.aliases)
    own = {
        **fields,
        "example": _LIKE_EXAMPLE.format(row.name, numbers),
        "__doc__": f"An array of {row.text}, of the shape and type of `data`.",
    }
    _register_property("_random_{}_like", "Random{}LikeProperty", LikeDistribution, row, own)
    renamed = [each._replace(name=new) for new, each in zip(names, row.parameters)]
    own = {
        "shape": Shape((), "Shape of the sample for each set of parameters.", low=1),
        "dtype": dtype,
        "example": _ROW_EXAMPLE.format(", ".join(names), arrays, row.name, ", ".join(names), means),
        "inputs_doc": {each.name: each.doc for each in renamed},
        "__doc__": f"For each set of parameters {row.text}: shape (s) gives (s, shape).",
    }
    row = row._replace(parameters=renamed)
    _register_property("_sample_{}", "Sample{}Property", SampleDistribution, row, own)


def _register_property(name, title, base, row, own, aliases=()):
    title, name = title.format(row.name.title().replace("_", "")), name.format(row.name)
    public = () if name.endswith("_like") else (name[1:],)
    prop = type(title, (base,), {"row": row, "__module__": __name__, **own})
    register_operator(name, prop, (*public, *aliases))


class RandintProperty(_ScalarProperty, operator="_random_randint", aliases=("random_randint",)):
    """An array of random integers, each of [low, high) equally likely."""

    low = Int(doc="Lower end, included.", low=-(2**63), high=2**63 - 1)
    high = Int(doc="Upper end, excluded.", low=-(2**63), high=2**63 - 1)
    shape = Shape(None, _SHAPE_DOC, low=0)
    ctx = Str("", _CTX_DOC)
    dtype = DtypeChoice(("int32", "int64"), None, _DTYPE_DOC.format("int32"))
    default_type = "int32"
    example = """
    >>> mx.random.seed(1)
    >>> x = mx.nd.random.randint(0, 10, shape=(2, 3))
    >>> x.shape, x.dtype
    ((2, 3), <class 'numpy.int32'>)
    >>> bool((x >= 0).min() and (x < 10).min())
    True
    """

    def check_parameters(self):
        if self.high <= self.low:
            raise ArgumentError(
                f"operator {self.op_name}: high must be above low, "
                f"got low = {self.low}, high = {self.high}"
            )

    def infer_type(self, in_types, out_types):
        _, (dtype,), _ = super().infer_type(in_types, out_types)
        if dtype not in ("int32", "int64"):
            raise ArgumentError(f"operator {self.op_name} makes int32 or int64, not {dtype}")
        if dtype == "int32" and not (self.low >= -(2**31) and self.high <= 2**31):
            raise ArgumentError(
                f"operator {self.op_name}: [{self.low}, {self.high}) does not fit "
                "int32; ask for dtype='int64'"
            )
        return [], [dtype], []

    forward = Kernel("draw_integers", (), draws=True)

    def kernel_params(self, in_shapes):
        return {}


for _row in DISTRIBUTIONS:
    _register_distribution(_row)
