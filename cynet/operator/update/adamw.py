"""AdamW, for one weight or several: Adam with decoupled weight decay.

``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var + (1 - beta2) * g ** 2``, ``output =
weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)`` with the gradient ``g`` times
`rescale_grad`, clipped. Loshchilov and Hutter, https://arxiv.org/abs/1711.05101. `rescale_grad` is
an array, so that it may come from a computation; where it is 0, infinite or NaN, nothing changes.
"""

from .._base import register_operator
from ..parameters import MAX_ARRAYS, Float, FloatTuple, Int
from .multi_update import ManyWeights, with_masters
from .update import CLIP_DOC


class AdamWBase(ManyWeights):  # base of AdamW operators
    """Base of all forms of AdamW."""

    shared = ("rescale_grad",)
    beta1 = Float(0.9, doc="Decay of the mean.")
    beta2 = Float(0.999, doc="Decay of the variance.")
    epsilon = Float(1e-8, doc="Added to the denominator.")
    clip_gradient = Float(-1.0, doc=CLIP_DOC)
    rule = "adamw"
    states = ("mean", "var")

    @property
    def rescale_index(self):
        """The index of `rescale_grad` among the arguments."""
        return 2 * self.count

    def weight_rates(self):
        """Return [(lr, wd, eta)] of the weights."""
        return zip(self.lrs, self.wds, self.etas)

    def update_numbers_per_weight(self):
        own = self.beta1, self.beta2, self.epsilon
        return [(eta, wd, 1.0, self.clip_gradient, *own, lr) for lr, wd, eta in self.weight_rates()]


class AdamWProperty(AdamWBase, operator="_adamw_update"):
    """Adam with weight decay apart from the gradient: ``mean = beta1 * mean + (1 - beta1) * g``,
    ``var = beta2 * var + (1 - beta2) * g ** 2``, ``output = weight - eta * (lr * mean / (sqrt(var)
    + epsilon) + wd * weight)`` with ``g = rescale_grad * grad``, clipped.

    Where `rescale_grad` is 0, infinite or NaN, nothing changes. Bias correction is the caller's.
    """

    parameter_order = ("lr", "beta1", "beta2", "epsilon", "wd", "eta")
    many_inputs = False
    count = 1
    lr = Float(doc="Learning rate of the adaptive step.")
    wd = Float(0.0, doc="Weight decay.")
    eta = Float(doc="Learning rate of the whole step.")
    inputs_doc = {
        "weight": "The weight.",
        "grad": "Its gradient, of the same shape.",
        "rescale_grad": "Factor of the gradient, one element of float32.",
    }
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> mean, var = mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.contrib.adamw_update(weight, grad, mean, var, mx.nd.ones(1), lr=0.1, eta=1, wd=0.01,
    ...                            out=weight)
    [0.6737703 2.2962296]
    <NDArray 2 @cpu(0)>
    """

    def list_arguments(self):
        return ["weight", "grad", "rescale_grad"]

    def list_auxiliary_states(self):
        return list(self.states)

    def list_inputs(self):
        return ["weight", "grad", *self.states, "rescale_grad"]

    def weight_rates(self):
        return [(self.lr, self.wd, self.eta)]


class MultiAdamWProperty(AdamWBase, operator="_multi_adamw_update"):
    """`_adamw_update` of several weights, with one `rescale_grad`, the last input."""

    parameter_order = ("lrs", "beta1", "beta2", "epsilon", "wds", "etas")
    per_weight = ("lrs", "wds", "etas")
    lrs = FloatTuple(doc="Learning rates of the adaptive steps.")
    wds = FloatTuple(doc="Weight decays.")
    etas = FloatTuple(doc="Learning rates of the whole steps.")
    num_weights = Int(1, doc="Number of weights.", low=1, high=MAX_ARRAYS)
    example = """
    >>> w, v = mx.nd.array([1, 2]), mx.nd.array([3])
    >>> gw, gv = mx.nd.array([0.5, -0.5]), mx.nd.array([1])
    >>> mw, mv, vw, vv = mx.nd.zeros(2), mx.nd.zeros(1), mx.nd.zeros(2), mx.nd.zeros(1)
    >>> _ = mx.nd.op._multi_adamw_update(w, gw, mw, vw, v, gv, mv, vv, mx.nd.ones(1),
    ...     lrs=(0.1, 0.2), wds=(0, 0), etas=(1, 1), num_weights=2, out=[w, v])
    >>> v
    [2.3675404]
    <NDArray 1 @cpu(0)>
    """


_MP_EXAMPLE = """
    >>> weight = mx.nd.array([1, 2], dtype="float16")
    >>> grad = mx.nd.array([0.5, -0.5], dtype="float16")
    >>> weight32 = weight.astype("float32")
    >>> mean, var = mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.contrib.mp_adamw_update(weight, grad, mean, var, weight32, mx.nd.ones(1), lr=0.1,
    ...                               eta=1, out=weight)
    [0.6836 2.316 ]
    <NDArray 2 @cpu(0)>
    >>> weight32
    [0.6837703 2.3162298]
    <NDArray 2 @cpu(0)>
    """
register_operator("_mp_adamw_update", with_masters(AdamWProperty, "MPAdamWProperty", _MP_EXAMPLE))
_MP_EXAMPLE = """
    >>> w, v = mx.nd.ones(2, dtype="float16"), mx.nd.ones(1, dtype="float16")
    >>> gw, gv = mx.nd.ones(2, dtype="float16"), mx.nd.ones(1, dtype="float16")
    >>> mw, mv, vw, vv = mx.nd.zeros(2), mx.nd.zeros(1), mx.nd.zeros(2), mx.nd.zeros(1)
    >>> w32, v32 = w.astype("float32"), v.astype("float32")
    >>> _ = mx.nd.op._multi_mp_adamw_update(w, gw, mw, vw, w32, v, gv, mv, vv, v32, mx.nd.ones(1),
    ...     lrs=(0.1, 0.2), wds=(0, 0), etas=(1, 1), num_weights=2, out=[w, v])
    >>> v32
    [0.36754048]
    <NDArray 1 @cpu(0)>
    """
register_operator(
    "_multi_mp_adamw_update", with_masters(MultiAdamWProperty, "MPMultiAdamWProperty", _MP_EXAMPLE)
)
