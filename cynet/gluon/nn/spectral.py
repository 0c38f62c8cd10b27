"""SpectralNorm: a layer whose weight is divided by its largest singular value."""

from __future__ import annotations

import numpy as np

from ... import ndarray as nd
from ...base.errors import ArgumentError, shown
from ...operator.custom.custom import CustomOp, CustomOpProp, register
from ..block import HybridBlock
from .computed_weights import (
    ComputedWeights,
    WeightRule,
    add_companion,
    check_axis,
    matching_parameters,
    weight_matrix_shape,
)
from .conv_layers import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose

__all__ = ["SpectralNorm"]

_OPERATOR_NAME = "_spectral_norm"  # name of the registered custom operator
_INITIAL_ITERATIONS = 15  # iterations from random vectors, as in PyTorch
_TRANSPOSED_LAYERS = (Conv1DTranspose, Conv2DTranspose, Conv3DTranspose)  # outputs are axis 1


def _weight_matrix(weight, dim):
    """Return the weight as a float32 matrix."""
    order = [dim, *(i for i in range(weight.ndim) if i != dim)]
    return nd.transpose(weight, order).reshape((weight.shape[dim], -1)).astype("float32")


def _normalize_vector(vector, eps):
    return vector / nd.maximum(nd.norm(vector), eps)


def _power_iteration(matrix, v, times, eps):
    """Run power iterations from a right singular vector; return (left, right) vectors."""
    u = None
    for _ in range(times):
        u = _normalize_vector(nd.dot(matrix, v), eps)
        v = _normalize_vector(nd.dot(matrix, u, transpose_a=True), eps)
    return u, v


class _SpectralNorm(CustomOp):
    """Computes ``weight / sigma`` with ``sigma = u' W v``; training updates u and v first."""

    def __init__(self, dim, times, eps):
        self._dim, self._times, self._eps = dim, times, eps

    def forward(self, is_train, req, in_data, out_data, aux):
        (weight,) = in_data
        matrix = _weight_matrix(weight, self._dim)
        if is_train:
            for old, new in zip(
                aux, _power_iteration(matrix, aux[1].astype("float32"), self._times, self._eps)
            ):
                old[:] = new.astype(old.dtype, copy=False)
        u, v = (each.astype("float32") for each in aux)
        sigma = (u * nd.dot(matrix, v)).sum()
        out = weight.astype("float32") / sigma
        self.assign(out_data[0], req[0], out.astype(weight.dtype, copy=False))
        for place, value in enumerate((u, v, sigma), 1):
            self.assign(out_data[place], req[place], value)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        weight, (_, u, v, sigma) = in_data[0].astype("float32"), out_data
        grad = out_grad[0].astype("float32")
        slope = nd.dot(u.reshape((-1, 1)), v.reshape((1, -1)))
        rest = [weight.shape[i] for i in range(weight.ndim) if i != self._dim]
        back = [i + 1 if i < self._dim else i for i in range(weight.ndim)]
        back[self._dim] = 0
        slope = nd.transpose(slope.reshape((-1, *rest)), back)
        found = (grad - slope * ((grad * weight).sum() / sigma)) / sigma
        self.assign(in_grad[0], req[0], found.astype(in_data[0].dtype, copy=False))


@register(_OPERATOR_NAME)
class _SpectralNormProp(CustomOpProp):
    """Declares the operator; its parameters are strings."""

    def __init__(self, dim="0", times="1", eps="1e-12"):
        super().__init__()
        self._settings = int(dim), int(times), float(eps)

    def list_arguments(self):
        return ["weight"]

    def list_outputs(self):
        return ["output", "left", "right", "sigma"]

    def list_auxiliary_states(self):
        return ["u", "v"]

    def infer_shape(self, in_shape):
        rows, columns = weight_matrix_shape(tuple(in_shape[0]), self._settings[0])
        return in_shape, [in_shape[0], [rows], [columns], [1]], [[rows], [columns]]

    def infer_type(self, in_type):
        single = np.float32
        return in_type, [in_type[0], single, single, single], [in_type[0], in_type[0]]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data, *out_data[1:]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _SpectralNorm(*self._settings)


class _SpectralRule(WeightRule):
    extras = ("u", "v")

    def __init__(self, layer, names, dim, times, eps):
        super().__init__(layer, names)
        self.dim, self.times, self.eps = dim, times, eps

    def compute_weight(self, F, weight, u, v):
        settings = {"dim": self.dim, "times": self.times, "eps": self.eps}
        return F.Custom(weight, u, v, op_type=_OPERATOR_NAME, **settings)[0]

    def initial_u(self, weight):
        """Return the initial left singular vector."""
        return self._singular_vectors(weight)[0]

    def initial_v(self, weight):
        """Return the initial right singular vector."""
        return self._singular_vectors(weight)[1]

    def _singular_vectors(self, weight):
        matrix = _weight_matrix(weight, self.dim)
        start = np.random.default_rng(matrix.shape).normal(size=matrix.shape[1])
        return _power_iteration(
            matrix,
            _normalize_vector(nd.array(start, dtype="float32"), self.eps),
            _INITIAL_ITERATIONS,
            self.eps,
        )


class SpectralNorm(ComputedWeights):
    """Wraps a layer: its weight is ``W / sigma(W)``, where sigma is the largest singular value.

    sigma is found by power iterations, `n_power_iterations` at each call in training; its vectors
    are parameters beside the weight, ``weight_u`` and ``weight_v``, which get no gradient. As
    PyTorch's ``parametrizations.spectral_norm``; Miyato et al. 2018. Gradients of gradients, as in
    a penalty on the slope, go through the layer where the network is not hybridized.

    Parameters
    ----------
    layer : HybridBlock
        A layer that defines `hybrid_forward`, as those of `gluon.nn` do.
    name : str
        A regular expression that the names of the layer's parameters match as a whole; these have
        two axes or more.
    n_power_iterations : int
        How often the vectors are moved at each call in training.
    eps : float
        Least norm that a vector is divided by.
    dim : int, optional
        The axis of the rows; by default 1 of transposed convolutions, else 0.

    Raises
    ------
    ArgumentError
        The layer has no such parameter, or a `forward` of its own.
    MismatchError
        A wrapper is around the layer already.

    Examples
    --------
    >>> net = mx.gluon.nn.SpectralNorm(mx.gluon.nn.Dense(2, in_units=2, use_bias=False))
    >>> net.initialize(mx.init.Constant(mx.nd.array([[3, 0], [0, 4]])))
    >>> net(mx.nd.array([[1, 1]])).asnumpy().round(4).tolist()
    [[0.75, 1.0]]
    """

    def __init__(
        self,
        layer: HybridBlock,
        name: str = "weight",
        n_power_iterations: int = 1,
        eps: float = 1e-12,
        dim: int | None = None,
    ) -> None:
        names = matching_parameters("SpectralNorm", layer, name)
        times = n_power_iterations
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise ArgumentError(
                f"SpectralNorm: n_power_iterations must be an int from 1 on, got {shown(times)}"
            )
        if dim is None:
            dim = 1 if isinstance(layer, _TRANSPOSED_LAYERS) else 0
        for each in names:
            weight = layer._reg_params[each]
            dim = check_axis("SpectralNorm", weight, dim)
            if len(weight.shape) < 2:
                raise ArgumentError(
                    f"SpectralNorm: parameter '{weight.name}' has shape {weight.shape}, and a"
                    " matrix has two axes or more"
                )
        super().__init__(layer, names)
        rule = _SpectralRule(layer, names, dim, times, eps)
        fixed = {"grad_req": "null", "differentiable": False}
        for each in names:
            for extra, place, first in (("u", 0, rule.initial_u), ("v", 1, rule.initial_v)):
                add_companion(layer, each, extra, _SingularVectorShape(dim, place), first, **fixed)
        self._set_weight_rule(rule)


class _SingularVectorShape:  # callable: weight's shape -> vector's shape
    """A function that returns a singular vector's shape for a weight's shape; can be pickled."""

    def __init__(self, dim, place):
        self._dim, self._place = dim, place

    def __call__(self, shape):
        return (weight_matrix_shape(shape, self._dim)[self._place],)
