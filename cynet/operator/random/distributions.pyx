"""Random arrays: one row a distribution, three operators a row.

`_random_X` draws an array whose parameters are numbers, `_random_X_like` one of the shape and type
of its input, `_sample_X` draws `shape` numbers for each pair of parameters in its inputs:
parameters of shape (s) give an output of shape (s, shape). Element i depends on the seed, the
operator's stream and i alone.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.rng.random cimport (
    Draw, fill, fill_integers, kExponential, kGamma, kGeneralizedNegativeBinomial,
    kNegativeBinomial, kNormal, kPoisson, kUniform
)
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..parameters import DType, Float, Int, Shape, Str
from ..property import OperatorProperty, ResourceRequest, merge_shapes

_FLOATS = ("bfloat16", "float16", "float32", "float64")
_SHAPE = "Shape of the output."
_CTX = "Device of the output, such as 'cpu(0)'; only for imperative calls."
_DTYPE = "Type of the output; by default that of `out`, else {}."


class DrawType(DType):
    """An element type out of a few."""

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


# --- what runs -----------------------------------------------------------------------------------
cdef class DrawOperator(Operator):
    """Fills its output from the run's stream; with `per_parameter` by parameters in its inputs."""

    cdef Draw draw
    cdef bint per_parameter

    def __init__(self, int distribution, double a=0, double b=0, bint per_parameter=False):
        self.draw.distribution = distribution
        self.draw.a, self.draw.b = a, b
        self.per_parameter = per_parameter

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef Draw draw = self.draw
        if req[0] == kNullOp or out_data[0].size == 0:
            return 0
        draw.seed, draw.stream = ctx.requested[0].seed, ctx.requested[0].stream
        if self.per_parameter:
            draw.a_data = in_data[0].data
            draw.b_data = in_data[1].data if ctx.n_in > 1 else NULL
            draw.param_dtype = in_data[0].dtype
            draw.each = out_data[0].size // in_data[0].size
        fill(&draw, out_data[0].data, out_data[0].dtype, out_data[0].size, req[0] == kAddTo)
        return 0


cdef class IntegerOperator(Operator):
    """Fills its output with integers of [low, low + range)."""

    cdef int64_t low
    cdef uint64_t range

    def __init__(self, low, high):
        self.low, self.range = low, high - low

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            fill_integers(ctx.requested[0].seed, ctx.requested[0].stream, self.low, self.range,
                          out_data[0].data, out_data[0].dtype, out_data[0].size, req[0] == kAddTo)
        return 0


# --- properties ----------------------------------------------------------------------------------
class _Random(OperatorProperty):
    """What all random operators share: no gradient, one random stream a run."""

    differentiable = False
    graph = GraphHooks(bfloat16_loops=True)

    def forward_resource(self, in_shapes):
        return [ResourceRequest.random]


class _Scalar(_Random):
    """Parameters are numbers, the shape is given (or comes from what the output is used for)."""

    default_type = "float32"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.check()

    def list_arguments(self):
        return []

    def infer_shape(self, in_shapes, out_shapes):
        return [], [merge_shapes(self.shape, *out_shapes)], []

    def infer_type(self, in_types, out_types):
        return [], [self.dtype or out_types[0] or self.default_type], []


class _ScalarDistribution(_Scalar):
    def check(self):
        for name, ok, words in self.row.checks:
            if not ok(self):
                raise ArgumentError(
                    f"operator {self.op_name}: {words}, got {name} = {getattr(self, name)}")

    def create_operator(self, ctx, in_shapes, in_types):
        numbers = [getattr(self, name) for name, *_ in self.row.parameters]
        return DrawOperator(self.row.code, *numbers)


class _LikeDistribution(_Random):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        _ScalarDistribution.check(self)

    inputs_doc = {"data": "Its shape and type are the output's; its values are not read."}

    def infer_type(self, in_types, out_types):
        in_types, out_types, _ = super().infer_type(in_types, out_types)
        if out_types[0] not in (None, *_FLOATS):
            raise ArgumentError(
                f"operator {self.op_name} makes {', '.join(_FLOATS)}; data is {out_types[0]}")
        return in_types, out_types, []

    def create_operator(self, ctx, in_shapes, in_types):
        return _ScalarDistribution.create_operator(self, ctx, in_shapes, in_types)


class _SampleDistribution(_Random):
    def list_arguments(self):
        return [name for name, *_ in self.row.parameters]

    def infer_shape(self, in_shapes, out_shapes):
        known = merge_shapes(*in_shapes)
        out = out_shapes[0]
        each = self.shape
        if known is None and out is not None and len(out) > len(each):
            known = out[:len(out) - len(each)]
        if known is None:
            return in_shapes, out_shapes, []
        out = merge_shapes((*known, *each), out)
        return [out[:len(known)]] * len(in_shapes), [out], []

    def infer_type(self, in_types, out_types):
        known = next((t for t in in_types if t is not None), "float32")
        return [t or known for t in in_types], [self.dtype or out_types[0] or "float32"], []

    def create_operator(self, ctx, in_shapes, in_types):
        if len(set(in_types)) > 1:
            found = ", ".join(f"{n}: {t}" for n, t in zip(self.list_arguments(), in_types))
            raise ArgumentError(
                f"operator {self.op_name}: its parameters must be of one type, got {found}")
        return DrawOperator(self.row.code, per_parameter=True)


# --- the table -----------------------------------------------------------------------------------
class Distribution:
    """One row: name, code of the kernel, parameters, checks of their values, what is drawn.

    A parameter is (name, field class, default, doc), a check (name, predicate, words).
    """

    def __init__(self, name, code, parameters, checks, text, aliases=(), sample_names=None):
        self.name, self.code, self.parameters, self.checks = name, code, parameters, checks
        self.text, self.aliases = text, aliases
        self.sample_names = sample_names or [p[0] for p in parameters]


def _finite(x):
    return -INFINITY < x < INFINITY


DISTRIBUTIONS = (
    Distribution(
        "uniform", kUniform,
        (("low", Float, 0.0, "Lower end, included."), ("high", Float, 1.0, "Upper end, excluded.")),
        (("low", lambda p: _finite(p.low), "low must be finite"),
         ("high", lambda p: _finite(p.high) and p.high >= p.low,
          "high must be finite and not below low")),
        "uniform numbers from [low, high)", aliases=("uniform",)),
    Distribution(
        "normal", kNormal,
        (("loc", Float, 0.0, "Mean."), ("scale", Float, 1.0, "Standard deviation.")),
        (("loc", lambda p: _finite(p.loc), "loc must be finite"),
         ("scale", lambda p: 0 < p.scale < INFINITY, "scale must be positive"),),
        "normally distributed numbers, given by mean and standard deviation", aliases=("normal",),
        sample_names=("mu", "sigma")),
    Distribution(
        "gamma", kGamma,
        (("alpha", Float, 1.0, "Shape of the distribution."),
         ("beta", Float, 1.0, "Scale of the distribution.")),
        (("alpha", lambda p: 0 < p.alpha < INFINITY, "alpha must be positive"),
         ("beta", lambda p: 0 < p.beta < INFINITY, "beta must be positive")),
        "gamma distributed numbers of mean alpha * beta"),
    Distribution(
        "exponential", kExponential,
        (("lam", Float, 1.0, "Rate: the mean is 1 / lam."),),
        (("lam", lambda p: 0 < p.lam < INFINITY, "lam must be positive"),),
        "exponentially distributed numbers of mean 1 / lam"),
    Distribution(
        "poisson", kPoisson,
        (("lam", Float, 1.0, "Mean."),),
        (("lam", lambda p: 0 <= p.lam < INFINITY, "lam must not be negative"),),
        "Poisson distributed counts (in a float type) of mean lam"),
    Distribution(
        "negative_binomial", kNegativeBinomial,
        (("k", Int, 1, "Failures at which the experiment ends."),
         ("p", Float, 1.0, "Probability of a failure.")),
        (("k", lambda p: p.k >= 0, "k must not be negative"),
         ("p", lambda p: 0 < p.p <= 1, "p must be in (0, 1]")),
        "counts (in a float type) of successes before the k-th failure, of mean k (1 - p) / p"),
    Distribution(
        "generalized_negative_binomial", kGeneralizedNegativeBinomial,
        (("mu", Float, 1.0, "Mean."),
         ("alpha", Float, 1.0, "Dispersion: the variance is mu + alpha mu^2.")),
        (("mu", lambda p: 0 <= p.mu < INFINITY, "mu must not be negative"),
         ("alpha", lambda p: 0 <= p.alpha < INFINITY, "alpha must not be negative")),
        "negative binomial counts (in a float type) given by their mean and dispersion"),
)


def _fields(row):
    return {name: kind(default, doc) for name, kind, default, doc in row.parameters}


def _dtype():
    return DrawType(_FLOATS, None, _DTYPE.format("float32"))


def _register(row):
    """The three operators of a row."""
    title = row.name.title().replace("_", "")
    prop = type(f"Random{title}Property", (_ScalarDistribution,), {
        **_fields(row), "shape": Shape(None, _SHAPE, low=0), "ctx": Str("", _CTX),
        "dtype": _dtype(),
        "row": row, "__module__": __name__, "__doc__": f"An array of {row.text}."})
    register_operator(f"_random_{row.name}", prop, (f"random_{row.name}", *row.aliases))

    like = type(f"Random{title}LikeProperty", (_LikeDistribution,), {
        **_fields(row), "row": row, "__module__": __name__,
        "__doc__": f"An array of {row.text}, of the shape and type of `data`."})
    register_operator(f"_random_{row.name}_like", like)

    renamed = [(new, *p[1:]) for new, p in zip(row.sample_names, row.parameters)]
    sample = type(f"Sample{title}Property", (_SampleDistribution,), {
        "shape": Shape((), "Numbers to draw for each set of parameters.", low=1), "dtype": _dtype(),
        "row": Distribution(row.name, row.code, renamed, (), row.text),
        "inputs_doc": {name: doc for name, _, _, doc in renamed}, "__module__": __name__,
        "__doc__": f"For each set of parameters {row.text}: shape (s) gives (s, shape)."})
    register_operator(f"_sample_{row.name}", sample, (f"sample_{row.name}",))


class RandintProperty(_Scalar):
    """An array of integers, each of [low, high) equally likely."""

    low = Int(doc="Lower end, included.", low=-2**63, high=2**63 - 1)
    high = Int(doc="Upper end, excluded.", low=-2**63, high=2**63 - 1)
    shape = Shape(None, _SHAPE, low=0)
    ctx = Str("", _CTX)
    dtype = DrawType(("int32", "int64"), None, _DTYPE.format("int32"))
    default_type = "int32"

    def check(self):
        if self.high <= self.low:
            raise ArgumentError(f"operator {self.op_name}: high must be above low, "
                                f"got low = {self.low}, high = {self.high}")

    def infer_type(self, in_types, out_types):
        _, (dtype,), _ = super().infer_type(in_types, out_types)
        if dtype not in ("int32", "int64"):
            raise ArgumentError(f"operator {self.op_name} makes int32 or int64, not {dtype}")
        if dtype == "int32" and not (-2**31 <= self.low and self.high <= 2**31):
            raise ArgumentError(f"operator {self.op_name}: [{self.low}, {self.high}) does not fit "
                                "int32; ask for dtype='int64'")
        return [], [dtype], []

    def create_operator(self, ctx, in_shapes, in_types):
        return IntegerOperator(self.low, self.high)


for _row in DISTRIBUTIONS:
    _register(_row)
register_operator("_random_randint", RandintProperty, aliases=("random_randint",))
