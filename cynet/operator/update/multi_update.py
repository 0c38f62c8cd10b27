"""Updates of several weights by one call: the multi_ operators.

The inputs are, for each weight, the weight, its gradient and its states; the outputs are the new
weights. The rules are those of the operators for one weight (`update.pyx`).
"""

from inspect import cleandoc

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..parameters import MAX_ARRAYS, Float, FloatTuple, Int
from ..property import OperatorProperty, merge_shapes
from .update import UpdateOperator

_CLIP_DOC = "Bound to which the rescaled gradients are clipped; negative means none."


class ManyWeights(OperatorProperty):  # base of optimizer updates of several weights
    """Base of operators that update several weights.

    rule: A rule of kernels/update/update.h.
    states: The states of each weight; with `master`, the last one is the weight in float32.
    shared: Inputs after those of the weights, and whether they have one element for each weight or
    a single one.
    counter: The parameter that says how many weights there are.
    """

    many_inputs = True
    differentiable = False
    graph = GraphHooks(bfloat16_loops=True)
    rule = None
    own_numbers = ()
    states = ()
    master = False
    shared = ()
    per_weight = ()  # parameters with one number for each weight
    counter = "num_weights"
    rates_index = rescale_index = -1
    inputs_doc = {"data": "Weight, gradient and states of the first weight, of the second, ..."}

    @property
    def count(self):
        """The number of weights."""
        return getattr(self, self.counter)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        for name in self.per_weight:
            given = len(getattr(self, name))
            if given != self.count:
                raise ArgumentError(
                    f"operator {self.op_name}: parameter '{name}' has {given} numbers, expected"
                    f" {self.counter} = {self.count}"
                )

    def list_arguments(self):
        names = [f"{name}_{i}" for i in range(self.count) for name in ("weight", "grad")]
        return [*names, *self.shared]

    def list_auxiliary_states(self):
        return [f"{name}_{i}" for i in range(self.count) for name in self.states]

    def list_inputs(self):
        each = ("weight", "grad", *self.states)
        return [*(f"{name}_{i}" for i in range(self.count) for name in each), *self.shared]

    def list_outputs(self):
        return [f"output{i}" for i in range(self.count)] if self.count > 1 else ["output"]

    def infer_shape(self, in_shapes, out_shapes):
        ins, outs, aux = [], [], []
        for i in range(self.count):
            shape = merge_shapes(*in_shapes[2 * i : 2 * i + 2], out_shapes[i])
            ins += [shape] * 2
            outs.append(shape)
            aux += [shape] * len(self.states)
        return [*ins, *map(self._shared_shape, self.shared, in_shapes[2 * self.count :])], outs, aux

    def _shared_shape(self, name, shape):  # checked shape of a shared input
        wanted = (1,) if name == "rescale_grad" else (self.count,)
        if shape is None:
            return wanted
        sizes = 1
        for n in shape:
            sizes *= n
        if all(shape) and sizes != wanted[0]:
            raise ShapeError(f"'{name}' has shape {shape}, expected {wanted[0]} elements")
        return shape

    def infer_type(self, in_types, out_types):
        n = 2 * self.count
        ins, outs, aux = super().infer_type(in_types[:n], out_types)
        for name, kind in zip(self.shared, in_types[n:]):
            if kind not in (None, "float32"):
                raise ArgumentError(f"'{name}' is {kind}, expected float32")
        if self.master:
            aux = ["float32"] * len(aux)
        return [*ins, *["float32"] * len(self.shared)], outs, aux

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[2 * i], out_data[i]) for i in range(self.count)]

    def create_operator(self, ctx, in_shapes, in_types):
        return UpdateOperator(self, in_types[0])

    def rule_parameters(self):
        """Return the rule's own parameters a to e, as update.h names them."""
        return tuple([getattr(self, name) for name in self.own_numbers])

    def update_numbers_per_weight(self):
        """Return for each weight: rate, decay, factor and bound of the gradient, the rule's own."""
        return [
            (lr, wd, self.rescale_grad, self.clip_gradient, *self.rule_parameters())
            for lr, wd in zip(self.lrs, self.wds)
        ]


class MultiSGDProperty(ManyWeights):
    """Gradient descent of several weights: each ``output = weight - lr * (grad + wd * weight)``."""

    per_weight = ("lrs", "wds")
    lrs = FloatTuple(doc="Learning rates.")
    wds = FloatTuple(doc="Weight decays.")
    rescale_grad = Float(1.0, doc="Factor of the gradients.")
    clip_gradient = Float(-1.0, doc=_CLIP_DOC)
    num_weights = Int(1, doc="Number of weights.", low=1, high=MAX_ARRAYS)
    rule = "sgd"
    example = """
    >>> w, v = mx.nd.array([1, 2]), mx.nd.array([3])
    >>> gw, gv = mx.nd.array([0.5, -0.5]), mx.nd.array([1])
    >>> _ = mx.nd.multi_sgd_update(w, gw, v, gv, lrs=(0.1, 0.2), wds=(0, 0), num_weights=2,
    ...                            out=[w, v])
    >>> v
    [2.8]
    <NDArray 1 @cpu(0)>
    """


class MultiSGDMomentumProperty(MultiSGDProperty):
    """Gradient descent with momentum of several weights: ``mom = momentum * mom - lr * (grad + wd *
    weight)``, ``output = weight + mom`` for each."""

    parameter_order = ("lrs", "wds", "momentum")
    momentum = Float(0.0, doc="Decay of the momentum.")
    rule = "sgd_mom"
    own_numbers = ("momentum",)
    states = ("mom",)
    example = """
    >>> w, v = mx.nd.array([1, 2]), mx.nd.array([3])
    >>> gw, gv = mx.nd.array([0.5, -0.5]), mx.nd.array([1])
    >>> mw, mv = mx.nd.zeros(2), mx.nd.zeros(1)
    >>> _ = mx.nd.multi_sgd_mom_update(w, gw, mw, v, gv, mv, lrs=(0.1, 0.2), wds=(0, 0),
    ...                                 momentum=0.9, num_weights=2, out=[w, v])
    >>> v
    [2.8]
    <NDArray 1 @cpu(0)>
    """


class PreloadedSGDProperty(ManyWeights):  # rates are an input
    """`multi_sgd_update` with learning rates and decays from the last two inputs."""

    shared = ("lrs", "wds")
    rescale_grad = Float(1.0, doc="Factor of the gradients.")
    clip_gradient = Float(-1.0, doc=_CLIP_DOC)
    num_weights = Int(1, doc="Number of weights.", low=1, high=MAX_ARRAYS)
    rule = "sgd"
    example = """
    >>> w, v = mx.nd.array([1, 2]), mx.nd.array([3])
    >>> gw, gv = mx.nd.array([0.5, -0.5]), mx.nd.array([1])
    >>> lrs, wds = mx.nd.array([0.1, 0.2]), mx.nd.zeros(2)
    >>> _ = mx.nd.preloaded_multi_sgd_update(w, gw, v, gv, lrs, wds, num_weights=2, out=[w, v])
    >>> v
    [2.8]
    <NDArray 1 @cpu(0)>
    """

    @property
    def rates_index(self):
        """The index of the learning rates among the arguments."""
        return 2 * self.num_weights

    def update_numbers_per_weight(self):
        each = 0.0, 0.0, self.rescale_grad, self.clip_gradient, *self.rule_parameters()
        return [each] * self.num_weights


class PreloadedSGDMomentumProperty(PreloadedSGDProperty):
    """`multi_sgd_mom_update` with learning rates and decays from the last two inputs."""

    parameter_order = ("momentum",)
    momentum = Float(0.0, doc="Decay of the momentum.")
    rule = "sgd_mom"
    own_numbers = ("momentum",)
    states = ("mom",)
    example = """
    >>> w, v = mx.nd.array([1, 2]), mx.nd.array([3])
    >>> gw, gv = mx.nd.array([0.5, -0.5]), mx.nd.array([1])
    >>> mw, mv = mx.nd.zeros(2), mx.nd.zeros(1)
    >>> lrs, wds = mx.nd.array([0.1, 0.2]), mx.nd.zeros(2)
    >>> _ = mx.nd.preloaded_multi_sgd_mom_update(w, gw, mw, v, gv, mv, lrs, wds, num_weights=2,
    ...                                           out=[w, v])
    >>> v
    [2.8]
    <NDArray 1 @cpu(0)>
    """


def with_masters(prop, name, example):
    """Return the property class of a rule for float16 weights with float32 masters."""
    rule = cleandoc(prop.__doc__ or "")
    text = f"{rule}\n\nComputed on `weight32`, the float32 masters of the weights."
    states = (*prop.states, "weight32")
    own = {"__doc__": text, "__module__": __name__, "master": True, "states": states}
    return type(name, (prop,), own | {"example": example})


_MASTERS_EXAMPLE = """
    >>> w, v = mx.nd.ones(2, dtype="float16"), mx.nd.ones(1, dtype="float16")
    >>> gw, gv = mx.nd.ones(2, dtype="float16"), mx.nd.ones(1, dtype="float16")
    >>> mw, mv = mx.nd.zeros(2), mx.nd.zeros(1)
    >>> w32, v32 = w.astype("float32"), v.astype("float32")
    >>> lrs, wds = (0.1, 0.2), (0, 0)
    >>> _ = mx.nd.{}({},
    ...     {}num_weights=2, out=[w, v])
    >>> v32
    [0.8]
    <NDArray 1 @cpu(0)>
    """
_MOMENTUM_EXAMPLE_LINE = ">>> mw, mv = mx.nd.zeros(2), mx.nd.zeros(1)\n    "


def _register_operators(prop):
    """Register the operators of a rule, for weights of any dtype and with masters."""
    preloaded, momentum = "lrs" in prop.shared, bool(prop.states)
    example = _MASTERS_EXAMPLE if momentum else _MASTERS_EXAMPLE.replace(_MOMENTUM_EXAMPLE_LINE, "")
    arrays = "w, gw, mw, w32, v, gv, mv, v32" if momentum else "w, gw, w32, v, gv, v32"
    if preloaded:
        example = example.replace("(0.1, 0.2), (0, 0)", "mx.nd.array([0.1, 0.2]), mx.nd.zeros(2)")
        arrays += ", lrs, wds"
    given = "momentum=0.9, " * momentum + "lrs=lrs, wds=wds, " * (not preloaded)
    prefix = "preloaded_multi" if preloaded else "multi"
    masters = f"{prefix}_mp_{prop.rule}_update"
    register_operator(f"{prefix}_{prop.rule}_update", prop)
    example = example.format(masters, arrays, given)
    register_operator(masters, with_masters(prop, f"MP{prop.__name__}", example))


for _prop in (
    MultiSGDProperty,
    MultiSGDMomentumProperty,
    PreloadedSGDProperty,
    PreloadedSGDMomentumProperty,
):
    _register_operators(_prop)
