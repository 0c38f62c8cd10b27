"""Updates of several weights by one call: the multi_ operators.

The inputs are, for each weight, the weight, its gradient and its states; the outputs are the new
weights. The rules are those of the operators for one weight (`update.pyx`).
"""

from inspect import cleandoc

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..parameters import MOST_ARRAYS, Float, FloatTuple, Int
from ..property import OperatorProperty, merge_shapes
from .update import UpdateOperator


class ManyWeights(OperatorProperty):
    """Base of operators that update several weights.

    Attributes
    ----------
    rule : str
        Of kernels/update/update.h.
    states : tuple of str
        What is kept of each weight; with `master`, the last is the weight in float32.
    shared : dict of str to int or None
        Inputs behind those of the weights, and whether they have one element for each weight or a
        single one.
    counter : str
        The parameter that says how many weights there are.
    """

    many_inputs = True
    differentiable = False
    graph = GraphHooks(bfloat16_loops=True)
    rule = None
    states = ()
    master = False
    shared = ()
    per_weight = ()  # parameters that have a number for each weight
    counter = "num_weights"
    rates_at = rescale_at = -1
    inputs_doc = {"data": "Weight, gradient and states of the first weight, of the second, ..."}

    @property
    def count(self):
        """How many weights there are."""
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

    def _shared_shape(self, name, shape):
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

    def numbers(self):
        """The rule's own numbers a to e, as update.h names them."""
        return ()

    def all_numbers(self):
        """For each weight learning rate, decay, factor and bound of the gradient, and the rule's
        own."""
        return [
            (lr, wd, self.rescale_grad, self.clip_gradient, *self.numbers())
            for lr, wd in zip(self.lrs, self.wds)
        ]


class MultiSGDProperty(ManyWeights):
    """Gradient descent of several weights: ``output = weight - lr * (grad + wd * weight)`` for
    each."""

    per_weight = ("lrs", "wds")
    lrs = FloatTuple(doc="Learning rates.")
    wds = FloatTuple(doc="Weight decays.")
    rescale_grad = Float(1.0, doc="Factor of the gradients.")
    clip_gradient = Float(
        -1.0, doc="Bound to which the rescaled gradients are clipped; negative means none."
    )
    num_weights = Int(1, doc="Number of weights.", low=1, high=MOST_ARRAYS)
    rule = "sgd"


class MultiSGDMomentumProperty(MultiSGDProperty):
    """Gradient descent with momentum of several weights: ``mom = momentum * mom - lr * (grad + wd *
    weight)``, ``output = weight + mom`` for each."""

    parameter_order = ("lrs", "wds", "momentum")
    momentum = Float(0.0, doc="Decay of the momentum.")
    rule = "sgd_mom"
    states = ("mom",)

    def numbers(self):
        return (self.momentum,)


class PreloadedSGDProperty(ManyWeights):
    """`multi_sgd_update` with learning rates and decays from the last two inputs."""

    shared = ("lrs", "wds")
    rescale_grad = Float(1.0, doc="Factor of the gradients.")
    clip_gradient = Float(
        -1.0, doc="Bound to which the rescaled gradients are clipped; negative means none."
    )
    num_weights = Int(1, doc="Number of weights.", low=1, high=MOST_ARRAYS)
    rule = "sgd"

    @property
    def rates_at(self):
        """Where the learning rates are among the arguments."""
        return 2 * self.num_weights

    def all_numbers(self):
        each = 0.0, 0.0, self.rescale_grad, self.clip_gradient, *self.numbers()
        return [each] * self.num_weights


class PreloadedSGDMomentumProperty(PreloadedSGDProperty):
    """`multi_sgd_mom_update` with learning rates and decays from the last two inputs."""

    parameter_order = ("momentum",)
    momentum = Float(0.0, doc="Decay of the momentum.")
    rule = "sgd_mom"
    states = ("mom",)

    def numbers(self):
        return (self.momentum,)


def with_masters(prop, name):
    """The property class of the same rule for float16 weights with float32 masters."""
    rule = cleandoc(prop.__doc__)
    text = f"{rule}\n\nComputed on `weight32`, the float32 masters of the weights."
    states = (*prop.states, "weight32")
    own = {"__doc__": text, "__module__": __name__, "master": True, "states": states}
    return type(name, (prop,), own)


for _name, _prop in (("sgd", MultiSGDProperty), ("sgd_mom", MultiSGDMomentumProperty)):
    register_operator(f"multi_{_name}_update", _prop)
    register_operator(f"multi_mp_{_name}_update", with_masters(_prop, f"MP{_prop.__name__}"))
for _name, _prop in (("sgd", PreloadedSGDProperty), ("sgd_mom", PreloadedSGDMomentumProperty)):
    register_operator(f"preloaded_multi_{_name}_update", _prop)
    _mp = with_masters(_prop, f"MP{_prop.__name__}")
    register_operator(f"preloaded_multi_mp_{_name}_update", _mp)
