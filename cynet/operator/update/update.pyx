"""Update operators of the optimizers, one for each rule.

``output = rule(weight, grad, states)``, all of one shape; the states are auxiliary and move as
well. The gradient is first scaled by `rescale_grad` and clipped to [-clip_gradient, clip_gradient]
(not if that is negative). ``output`` is usually the weight itself (``out=weight``).
"""

from inspect import cleandoc

from libc.math cimport isfinite
from libcpp.vector cimport vector

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.update.update cimport UpdateArrays, UpdateLoop, UpdateParams, run_update
from ...kernels.table cimport find_update
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from .._base import register_operator
from ..checks.dtypes import CPU_FLOATS, NARROW_FLOATS
from ..graph_hooks import GraphHooks, Traits
from ..parameters import Bool, Double, Float, Int
from ..property import OperatorProperty, merge_shapes


_LAZY_DOC = "For sparse gradients: update only the rows that the gradient has."
CLIP_DOC = "Bound to which the rescaled gradient is clipped; negative means none."


class UpdateHooks(GraphHooks):
    """Graph hooks: an update is one pass over the weight."""

    traits = Traits(bfloat16_loops=True)

    def is_memory_bound(self, prop, in_shapes):
        return True


class UpdateProperty(OperatorProperty):  # base of optimizer updates of one weight
    """Base of the update operators of one weight."""

    inputs_doc = {"weight": "The weight.", "grad": "Its gradient, of the same shape."}
    lr = Float(doc="Learning rate.")
    wd = Float(0.0, doc="Weight decay.")
    rescale_grad = Float(1.0, doc="Factor of the gradient.")
    clip_gradient = Float(-1.0, doc=CLIP_DOC)
    graph = UpdateHooks()
    differentiable = False
    rule = None
    own_numbers = ()  # names of the parameters that are the rule's own
    states = ()
    master = False   # the last state is the weight in float32
    rates_index = rescale_index = -1

    def list_auxiliary_states(self):
        return list(self.states)

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes, *out_shapes)
        return [shape] * 2, [shape], [shape] * len(self.states)

    def infer_type(self, in_types, out_types):
        ins, outs, aux = super().infer_type(in_types, out_types)
        return ins, outs, ["float32"] * len(aux) if self.master else aux

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    @property
    def clip_bound(self):
        """The clipping bound of the gradient, negative for none."""
        return self.clip_gradient

    def rule_parameters(self):
        """Return the rule's own parameters a, b, c, d, e, as update.h names them."""
        return tuple([getattr(self, name) for name in self.own_numbers])

    def update_numbers_per_weight(self):
        """Return rate, decay, factor and bound of the gradient, then the rule's own parameters."""
        return [(self.lr, self.wd, self.rescale_grad, self.clip_bound, *self.rule_parameters())]

    def create_operator(self, ctx, in_shapes, in_types):
        return UpdateOperator(self, in_types[0])


cdef class UpdateOperator(Operator):
    """Runs one rule for one dtype, on one weight or several.

    The inputs are weight and gradient of the first, of the second, ..., and then what else the
    property names; the states come in the same order.
    """

    cdef UpdateLoop write, add, hold, hold_add
    cdef vector[UpdateParams] params  # parameters of each weight's update
    cdef int n_states
    cdef int rates_index    # index of the input of learning rates, before that of decays; -1: none
    cdef int rescale_index  # index of the input with the gradients' factor; -1: none

    def __init__(self, prop, dtype):
        cdef int flag = dtype_flag(dtype)
        cdef bytes rule = prop.rule.encode()
        cdef UpdateParams params
        wanted = NARROW_FLOATS if prop.master else CPU_FLOATS
        if dtype not in wanted:
            raise ArgumentError(
                f"operator {prop.op_name} takes weights of {' or '.join(wanted)}, not {dtype}")
        self.write = find_update(rule, flag, prop.master, False)
        self.add = find_update(rule, flag, prop.master, True)
        self.hold = find_update(b"hold", flag, False, False)
        self.hold_add = find_update(b"hold", flag, False, True)
        self.n_states = len(prop.states)
        self.rates_index, self.rescale_index = prop.rates_index, prop.rescale_index
        for numbers in prop.update_numbers_per_weight():
            (params.lr, params.wd, params.rescale, params.clip, params.a, params.b, params.c,
             params.d, params.e) = (*numbers, 0.0, 0.0, 0.0, 0.0, 0.0)[:9]
            self.params.push_back(params)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef UpdateArrays arrays
        cdef UpdateParams params
        cdef UpdateLoop loop
        cdef size_t i
        cdef int k
        for i in range(self.params.size()):
            if req[i] == kNullOp:
                continue
            params = self.params[i]
            loop = self.add if req[i] == kAddTo else self.write
            if self.rates_index >= 0:
                params.lr = (<const float*>in_data[self.rates_index].data)[i]
                params.wd = (<const float*>in_data[self.rates_index + 1].data)[i]
            if self.rescale_index >= 0:
                params.rescale = (<const float*>in_data[self.rescale_index].data)[0]
                if params.rescale == 0 or not isfinite(params.rescale):
                    loop = self.hold_add if req[i] == kAddTo else self.hold
            arrays.weight, arrays.grad = in_data[2 * i].data, in_data[2 * i + 1].data
            arrays.out = out_data[i].data
            for k in range(4):
                arrays.state[k] = NULL
                if k < self.n_states:
                    arrays.state[k] = aux_states[i * self.n_states + k].data
            if (loop == self.hold and arrays.out == arrays.weight):
                continue
            run_update(loop, &params, &arrays, in_data[2 * i].size)
        return 0


class SGDProperty(UpdateProperty):
    """Gradient descent: ``output = weight - lr * (grad + wd * weight)``."""

    lazy_update = Bool(True, doc=_LAZY_DOC)
    rule = "sgd"
    in_sparse = ("sgd_update",)
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> mx.nd.sgd_update(weight, grad, lr=0.1, out=weight)
    [0.95 2.05]
    <NDArray 2 @cpu(0)>
    """


class SGDMomentumProperty(UpdateProperty):
    """Gradient descent with momentum: ``mom = momentum * mom - lr * (grad + wd * weight)``,
    ``output = weight + mom``."""

    parameter_order = ("lr", "momentum")
    momentum = Float(0.0, doc="Decay of the momentum.")
    lazy_update = Bool(True, doc=_LAZY_DOC)
    rule = "sgd_mom"
    own_numbers = ("momentum",)
    states = ("mom",)
    in_sparse = ("sgd_mom_update",)
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> momentum = mx.nd.zeros(2)
    >>> mx.nd.sgd_mom_update(weight, grad, momentum, lr=0.1, momentum=0.9, out=weight)
    [0.95 2.05]
    <NDArray 2 @cpu(0)>
    """


class NAGProperty(UpdateProperty):
    """Nesterov's accelerated gradient: ``mom = momentum * mom - lr * (grad + wd * weight)``,
    ``output = weight + momentum * mom - lr * (grad + wd * weight)``."""

    parameter_order = ("lr", "momentum")
    momentum = Float(0.0, doc="Decay of the momentum.")
    rule = "nag_mom"
    own_numbers = ("momentum",)
    states = ("mom",)
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> momentum = mx.nd.zeros(2)
    >>> mx.nd.nag_mom_update(weight, grad, momentum, lr=0.1, momentum=0.9, out=weight)
    [0.905 2.095]
    <NDArray 2 @cpu(0)>
    """


class SignSGDProperty(UpdateProperty):
    """Descent by the gradient's sign: ``output = (1 - lr * wd) * weight - lr * sign(grad)``."""

    rule = "signsgd"
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> mx.nd.signsgd_update(weight, grad, lr=0.1, out=weight)
    [0.9 2.1]
    <NDArray 2 @cpu(0)>
    """


class SignumProperty(UpdateProperty):
    """Descent by the momentum's sign: ``mom = momentum * mom - (1 - momentum) * (grad + wd *
    weight)``, ``output = (1 - lr * wd_lh) * weight + lr * sign(mom)``."""

    parameter_order = ("lr", "momentum")
    momentum = Float(0.0, doc="Decay of the momentum.")
    wd_lh = Float(0.0, doc="Weight decay outside the momentum, after Loshchilov and Hutter.")
    rule = "signum"
    own_numbers = ("momentum", "wd_lh")
    states = ("mom",)
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> momentum = mx.nd.zeros(2)
    >>> mx.nd.signum_update(weight, grad, momentum, lr=0.1, momentum=0.9, out=weight)
    [0.9 2.1]
    <NDArray 2 @cpu(0)>
    """


class AdamProperty(UpdateProperty):
    """Adam: steps along the mean of gradients over the root of their mean square.

    ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var + (1 - beta2) * g ** 2``,
    ``output = weight - lr * mean / (sqrt(var) + epsilon)`` with ``g = grad + wd * weight``,
    clipped. Bias correction is the caller's, in `lr`.
    """

    parameter_order = ("lr", "beta1", "beta2", "epsilon")
    beta1 = Float(0.9, doc="Decay of the mean.")
    beta2 = Float(0.999, doc="Decay of the variance.")
    epsilon = Float(1e-8, doc="Added to the denominator.")
    lazy_update = Bool(True, doc=_LAZY_DOC)
    rule = "adam"
    own_numbers = ("beta1", "beta2", "epsilon")
    states = ("mean", "var")
    in_sparse = ("adam_update",)
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> mean, var = mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.adam_update(weight, grad, mean, var, lr=0.1, out=weight)
    [0.6837703 2.3162298]
    <NDArray 2 @cpu(0)>
    """


class AdaGradProperty(UpdateProperty):
    """AdaGrad: ``history += g ** 2``, ``output = weight - lr * (g / sqrt(history + epsilon) + wd *
    weight)`` with ``g = rescale_grad * grad``, clipped."""

    parameter_order = ("lr", "epsilon")
    epsilon = Float(1e-7, doc="Added under the root.")
    rule = "adagrad"
    own_numbers = ("epsilon",)
    states = ("history",)
    lazy_update = True
    in_sparse = ("adagrad_update",)
    example = """
    >>> weight, grad, history = mx.nd.ones(2), mx.nd.array([0.5, -0.5]), mx.nd.zeros(2)
    >>> mx.nd.sparse.adagrad_update(weight, grad, history, lr=0.1, out=weight)
    [0.90000004 1.1       ]
    <NDArray 2 @cpu(0)>
    """


class RMSPropProperty(UpdateProperty):
    """RMSProp: ``n = gamma1 * n + (1 - gamma1) * g ** 2``, ``output = weight - lr * g / sqrt(n +
    epsilon)`` with ``g = grad + wd * weight``, clipped."""

    parameter_order = ("lr", "gamma1", "epsilon")
    gamma1 = Float(0.95, doc="Decay of the squared gradient.")
    epsilon = Float(1e-8, doc="Added under the root.")
    clip_weights = Float(-1.0, doc="Bound to which the new weight is clipped; negative means none.")
    rule = "rmsprop"
    own_numbers = ("gamma1", "epsilon", "clip_weights")
    states = ("n",)
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> n = mx.nd.zeros(2)
    >>> mx.nd.rmsprop_update(weight, grad, n, lr=0.1, out=weight)
    [0.5527866 2.4472134]
    <NDArray 2 @cpu(0)>
    """


class RMSPropAlexProperty(UpdateProperty):
    """RMSProp after Graves: with the gradient's mean ``g`` and a momentum ``delta``.

    ``n = gamma1 * n + (1 - gamma1) * d ** 2``, ``g = gamma1 * g + (1 - gamma1) * d``, ``delta =
    gamma2 * delta - lr * d / sqrt(n - g ** 2 + epsilon)``, ``output = weight + delta`` with ``d =
    grad + wd * weight``, clipped.
    """

    parameter_order = ("lr", "gamma1", "gamma2", "epsilon")
    gamma1 = Float(0.95, doc="Decay of the squared gradient and of its mean.")
    gamma2 = Float(0.9, doc="Decay of the momentum.")
    epsilon = Float(1e-8, doc="Added under the root.")
    clip_weights = Float(-1.0, doc="Bound to which the new weight is clipped; negative means none.")
    rule = "rmspropalex"
    own_numbers = ("gamma1", "epsilon", "clip_weights", "gamma2")
    states = ("n", "g", "delta")
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> n, g, delta = mx.nd.zeros(2), mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.rmspropalex_update(weight, grad, n, g, delta, lr=0.1, out=weight)
    [0.5411688 2.4588313]
    <NDArray 2 @cpu(0)>
    """


class FTRLProperty(UpdateProperty):
    """Follow the regularized leader: ``z += grad - (sqrt(n + grad ** 2) - sqrt(n)) * weight / lr``,
    ``n += grad ** 2``, ``output = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where
    ``|z| > lamda1``, else 0."""

    parameter_order = ("lr", "lamda1", "beta")
    lamda1 = Float(0.01, doc="Strength of the L1 penalty.")
    beta = Float(1.0, doc="Smoothing of the per-coordinate learning rate.")
    rule = "ftrl"
    own_numbers = ("lamda1", "beta")
    states = ("z", "n")
    lazy_update = True
    in_sparse = ("ftrl_update",)
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> z, n = mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.ftrl_update(weight, grad, z, n, lr=0.1, out=weight)
    [0.2993333 0.6993333]
    <NDArray 2 @cpu(0)>
    """


class FTMLProperty(UpdateProperty):
    """Follow the moving leader (Zheng and Kwok, 2017), with ``g = grad + wd * weight``, clipped.

    ``v = beta2 * v + (1 - beta2) * g ** 2``,
    ``d = (1 - beta1 ** t) / lr * (sqrt(v / (1 - beta2 ** t)) + epsilon)``,
    ``z = beta1 * z + (1 - beta1) * g - (d - beta1 * d_before) * weight``, ``output = -z / d``.
    """

    parameter_order = ("lr", "beta1", "beta2", "epsilon", "t")
    beta1 = Float(0.6, doc="Decay of the mean.")
    beta2 = Float(0.999, doc="Decay of the variance.")
    epsilon = Double(1e-8, doc="Added to the denominator.")
    t = Int(doc="Number of this update, from 1.", low=1)
    clip_grad = Float(-1.0, doc=CLIP_DOC)
    rule = "ftml"
    states = ("d", "v", "z")
    example = """
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5])
    >>> d, v, z = mx.nd.zeros(2), mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.ftml_update(weight, grad, d, v, z, lr=0.1, t=1, out=weight)
    [0.90000004 2.1000001 ]
    <NDArray 2 @cpu(0)>
    """

    @property
    def clip_bound(self):
        """The clipping bound of the gradient, negative for none."""
        return self.clip_grad

    def rule_parameters(self):
        return (self.beta1, self.beta2, self.epsilon, self.beta1 ** self.t, self.beta2 ** self.t)


FTMLProperty.fields.pop("clip_gradient")

UPDATE_PROPERTIES = {  # operator -> its property
    "sgd_update": SGDProperty,
    "sgd_mom_update": SGDMomentumProperty,
    "nag_mom_update": NAGProperty,
    "signsgd_update": SignSGDProperty,
    "signum_update": SignumProperty,
    "adam_update": AdamProperty,
    "_sparse_adagrad_update": AdaGradProperty,
    "rmsprop_update": RMSPropProperty,
    "rmspropalex_update": RMSPropAlexProperty,
    "ftrl_update": FTRLProperty,
    "ftml_update": FTMLProperty,
}
for _name, _prop in UPDATE_PROPERTIES.items():
    register_operator(_name, _prop)

# update rules for narrow weights with a float32 master, which is the last state
_MASTER_EXAMPLES = {  # operator -> example with float32 masters
    "sgd_update": """
    >>> weight = mx.nd.array([1, 2], dtype="float16")
    >>> grad = mx.nd.array([0.5, -0.5], dtype="float16")
    >>> weight32 = weight.astype("float32")
    >>> mx.nd.mp_sgd_update(weight, grad, weight32, lr=0.1, out=weight)
    [0.95 2.05]
    <NDArray 2 @cpu(0)>
    >>> weight32
    [0.95 2.05]
    <NDArray 2 @cpu(0)>
    """,
    "sgd_mom_update": """
    >>> weight = mx.nd.array([1, 2], dtype="float16")
    >>> grad = mx.nd.array([0.5, -0.5], dtype="float16")
    >>> weight32 = weight.astype("float32")
    >>> momentum = mx.nd.zeros(2)
    >>> mx.nd.mp_sgd_mom_update(weight, grad, momentum, weight32, lr=0.1, momentum=0.9, out=weight)
    [0.95 2.05]
    <NDArray 2 @cpu(0)>
    >>> weight32
    [0.95 2.05]
    <NDArray 2 @cpu(0)>
    """,
    "nag_mom_update": """
    >>> weight = mx.nd.array([1, 2], dtype="float16")
    >>> grad = mx.nd.array([0.5, -0.5], dtype="float16")
    >>> weight32 = weight.astype("float32")
    >>> momentum = mx.nd.zeros(2)
    >>> mx.nd.mp_nag_mom_update(weight, grad, momentum, weight32, lr=0.1, momentum=0.9, out=weight)
    [0.905 2.096]
    <NDArray 2 @cpu(0)>
    >>> weight32
    [0.905 2.095]
    <NDArray 2 @cpu(0)>
    """,
}
for _name, _example in _MASTER_EXAMPLES.items():
    _prop = UPDATE_PROPERTIES[_name]
    _text = cleandoc(_prop.__doc__)
    register_operator(f"mp_{_name}", type(f"MP{_prop.__name__}", (_prop,), {
        "__doc__": f"{_text}\n\nComputed on `weight32`, the float32 master of the weight.",
        "__module__": __name__, "master": True, "states": (*_prop.states, "weight32"),
        "example": _example}))
