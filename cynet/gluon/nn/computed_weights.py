"""WeightNorm and WeightDrop: layers whose weights are computed at each call."""

from __future__ import annotations

import math
import re
from typing import Any

from ... import autograd
from ... import ndarray as nd
from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ..block import HybridBlock
from ..errors import MismatchError
from ..parameter import Parameter
from ..parameter.parameter_dict import brief_list
from ..parameter.shapes import has_known_sizes
from ..rnn import RecurrentCell

__all__ = ["WeightDrop", "WeightNorm"]


class CompanionParameter(Parameter):  # computed from a weight at first
    """A second parameter of a weight, with initial values computed from the weight.

    Parameters
    ----------
    name : str
    weight : Parameter
    shape_rule : callable
        Gives its shape for the weight's.
    value_rule : callable
        Gives its values for an NDArray, the weight.
    **kwargs
        Arguments of Parameter.
    """

    def __init__(self, name, weight, shape_rule, value_rule, **kwargs):
        super().__init__(name, allow_deferred_init=True, dtype=weight.dtype, **kwargs)
        self._weight, self._sized, self._first = weight, shape_rule, value_rule
        if has_known_sizes(weight.shape):
            self.shape = shape_rule(weight.shape)

    def _create_arrays(self, init, contexts, default_init, values):
        if values is None and self._weight._data is None:
            return  # the weight is not initialized yet
        if has_known_sizes(self._weight.shape):
            self.shape = self._sized(self._weight.shape)
            self._var = self._weight._var = None  # cached variables have unknown shapes
        if values is None:
            with autograd.pause():
                values = self._first(self._weight._reduce()).astype(self.dtype, copy=False)
        super()._create_arrays(init, contexts, default_init, values)


class WeightRule:  # how a weight is computed from other parameters
    """Base of rules that compute weights from some of a layer's parameters.

    Parameters
    ----------
    layer : HybridBlock
    names : list of str
        Of those parameters.
    """

    def __init__(self, layer, names):
        self.params = {name: layer._reg_params[name] for name in names}

    extras = ()  # suffixes of the additional parameters' names

    def __call__(self, F, values):
        """Replace the weights among a layer's `values`, arrays or symbols, by computed weights."""
        values = dict(values)
        for name, param in self.params.items():
            more = [values.pop(f"{name}_{extra}") for extra in self.extras]
            if has_known_sizes(param.shape):  # unknown shapes are inferred without the rule
                values[name] = self.compute_weight(F, values[name], *more)
        return values


class ComputedWeights(HybridBlock):
    """Base of wrappers that compute the weights of one layer, ``wrapper.layer``."""

    _rule = None  # made by a subclass

    def __init__(self, layer, names):
        super().__init__(prefix="")
        self.layer = layer
        self._names = names

    def _set_weight_rule(self, rule):
        vars(self.layer)["_weight_rule"] = rule
        self.layer._clear_cached_op()
        self._rule = rule

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the layer's output with the computed weights."""
        return self.layer(*args, **kwargs)

    def remove(self) -> HybridBlock:
        """Undo the wrapping: return the layer, whose parameters become the computed weights.

        Examples
        --------
        >>> net = mx.gluon.nn.WeightNorm(mx.gluon.nn.Dense(2, in_units=3))
        >>> net.initialize()
        >>> layer = net.remove()
        >>> bool((layer(mx.nd.ones((1, 3))) == net(mx.nd.ones((1, 3)))).min())
        True
        """
        layer, rule = self.layer, self._rule
        with autograd.pause(train_mode=False):
            for name, param in rule.params.items():
                beside = [layer._reg_params[f"{name}_{extra}"] for extra in rule.extras]
                arrays = [each.list_data() for each in (param, *beside)]
                param.set_data(rule.compute_weight(nd, *(each[0] for each in arrays)))
        for name in rule.params:
            for extra in rule.extras:
                beside = layer._reg_params.pop(f"{name}_{extra}")
                layer._params._params.pop(beside.name)
                vars(layer).pop(f"{name}_{extra}")
        self._set_weight_rule(None)
        return layer

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.layer!r}, {', '.join(self._names)})"


def matching_parameters(wrapper, layer, pattern):
    """Return the names of the layer's own parameters that fully match a pattern."""
    if not isinstance(layer, HybridBlock):
        raise ArgumentTypeError(f"{wrapper} takes a layer, a HybridBlock, got {shown(layer)}")
    if type(layer).forward is not HybridBlock.forward:
        raise ArgumentError(
            f"{wrapper}: {layer.name} ({type(layer).__name__}) has a forward of its own; it takes"
            " layers that define hybrid_forward, which is given the weights"
        )
    if layer._weight_rule is not None:
        raise MismatchError(f"{wrapper}: the weights of {layer.name} are computed already")
    if not isinstance(pattern, str):
        raise ArgumentTypeError(
            f"{wrapper}: the name of a parameter is a str, got {shown(pattern)}"
        )
    names = [name for name in layer._reg_params if re.fullmatch(pattern, name)]
    if not names:
        own = brief_list(list(layer._reg_params)) if layer._reg_params else "none"
        raise ArgumentError(
            f"{wrapper}: {layer.name} has no parameter {shown(pattern)} of its own; it has {own}"
        )
    return names


def add_companion(layer, name, extra, shape_rule, value_rule, **kwargs):
    """Add a second parameter ``name_extra`` for a layer's parameter `name`."""
    weight = layer._reg_params[name]
    made = CompanionParameter(f"{weight.name}_{extra}", weight, shape_rule, value_rule, **kwargs)
    layer._params._params[made.name] = made
    made._is_listed = True
    setattr(layer, f"{name}_{extra}", made)


def check_axis(wrapper, weight, dim):
    """Convert the axis `dim`, which may be negative, to a non-negative index."""
    ndim = len(weight.shape)
    if isinstance(dim, bool) or not isinstance(dim, int) or not -ndim <= dim < ndim:
        raise ArgumentError(
            f"{wrapper}: dim must be one of the {ndim} axes of parameter '{weight.name}', got"
            f" {shown(dim)}"
        )
    return dim % ndim


class _WeightNormRule(WeightRule):
    extras = ("g",)

    def __init__(self, layer, names, dim):
        super().__init__(layer, names)
        self.dim = dim

    def compute_weight(self, F, weight, norms):
        return F.broadcast_mul(weight, F.broadcast_div(norms, self.norms(F, weight)))

    def norms(self, F, weight):
        """Return the norm of each slice along `dim`, or of the whole weight."""
        axes = {} if self.dim is None else {"axis": self.dim, "exclude": True}
        return F.sqrt(F.sum(F.square(weight), keepdims=True, **axes))

    def initial_norms(self, weight):
        """Return the initial values of `g`, the norms of the weight's slices."""
        return self.norms(nd, weight)

    def norms_shape(self, shape):
        """Return the shape of `g` for a weight's shape."""
        return tuple(n if i == self.dim else 1 for i, n in enumerate(shape))


class WeightNorm(ComputedWeights):
    """Wraps a layer: its weight is ``g * v / norm(v)``, with length `g` and direction `v`.

    `v` is the layer's own parameter; `g` is a parameter beside it, ``weight_g``, which begins as
    the norm of `v`. As PyTorch's ``weight_norm``; Salimans and Kingma 2016.

    Parameters
    ----------
    layer : HybridBlock
        A layer that defines `hybrid_forward`, as those of `gluon.nn` and `gluon.rnn` do.
    name : str
        A regular expression that the names of the layer's parameters match as a whole.
    dim : int, optional
        The axis along which each slice has a length of its own; None: the weight has one.

    Raises
    ------
    ArgumentError
        The layer has no such parameter, or a `forward` of its own.
    MismatchError
        A wrapper is around the layer already.

    Examples
    --------
    >>> net = mx.gluon.nn.WeightNorm(mx.gluon.nn.Dense(2, in_units=2, use_bias=False))
    >>> net.initialize()
    >>> net.layer.weight.set_data(mx.nd.array([[3, 4], [0, 2]]))
    >>> net.layer.weight_g.set_data(mx.nd.array([[10], [1]]))
    >>> net(mx.nd.array([[1, 1]])).asnumpy().tolist()
    [[14.0, 1.0]]
    >>> net.remove().weight.data().asnumpy().tolist()
    [[6.0, 8.0], [0.0, 1.0]]
    """

    def __init__(self, layer: HybridBlock, name: str = "weight", dim: int | None = 0) -> None:
        names = matching_parameters("WeightNorm", layer, name)
        for each in names:
            if dim is not None:
                dim = check_axis("WeightNorm", layer._reg_params[each], dim)
        super().__init__(layer, names)
        rule = _WeightNormRule(layer, names, dim)
        for each in names:
            add_companion(layer, each, "g", rule.norms_shape, rule.initial_norms)
        self._set_weight_rule(rule)


class _WeightDropRule(WeightRule):
    def __init__(self, layer, names, rate, axes):
        super().__init__(layer, names)
        self.rate, self.axes = rate, axes

    def compute_weight(self, F, weight):
        return F.Dropout(weight, p=self.rate, axes=self.axes) if self.rate else weight


class WeightDrop(ComputedWeights):
    """Wraps a layer: in training, dropout zeros some of its weights at each call.

    Around a recurrent layer one choice holds for all steps of a sequence, as in the AWD-LSTM of
    Merity et al. 2017; around Dense or a convolution it is DropConnect. What is left is divided by
    ``1 - rate``; a prediction uses the weights as they are.

    Parameters
    ----------
    layer : HybridBlock
        A layer that defines `hybrid_forward`, as those of `gluon.nn` and `gluon.rnn` do; no cell,
        which is called at each step.
    rate : float
        Share of the elements, from 0 to below 1.
    name : str
        A regular expression that the names of the layer's parameters match as a whole; by default
        the weights of states of recurrent layers and ``weight`` of others.
    axes : tuple of int
        Axes along which one decision holds, as of :class:`Dropout`.

    Raises
    ------
    ArgumentError
        The layer has no such parameter, is a cell, or has a `forward` of its own; `rate` is out of
        its range.
    MismatchError
        A wrapper is around the layer already.

    Examples
    --------
    >>> lstm = mx.gluon.nn.WeightDrop(mx.gluon.rnn.LSTM(4, num_layers=2), 0.5)
    >>> lstm.initialize()
    >>> lstm
    WeightDrop(LSTM(None -> 4, TNC, num_layers=2), l0_h2h_weight, l1_h2h_weight)
    >>> with mx.autograd.record():
    ...     output = lstm(mx.nd.ones((5, 2, 3)))
    >>> output.shape
    (5, 2, 4)
    """

    def __init__(
        self,
        layer: HybridBlock,
        rate: float = 0.5,
        name: str = ".*h2h_weight|weight",
        axes: tuple[int, ...] = (),
    ) -> None:
        if isinstance(layer, RecurrentCell):
            raise ArgumentError(
                f"WeightDrop: {layer.name} is a cell, each of whose steps would drop other weights;"
                " a layer of gluon.rnn keeps its choice for the whole sequence"
            )
        names = matching_parameters("WeightDrop", layer, name)
        if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate < 1:
            raise ArgumentError(f"WeightDrop: rate must be from 0 to below 1, got {shown(rate)}")
        for each in names:
            for axis in axes:
                check_axis("WeightDrop", layer._reg_params[each], axis)
        super().__init__(layer, names)
        self._set_weight_rule(_WeightDropRule(layer, names, rate, tuple(axes)))


def weight_matrix_shape(shape: tuple[int, ...], dim: int) -> tuple[int, int]:
    """Return (rows, columns) of a weight as a matrix whose rows are the axis `dim`.

    >>> weight_matrix_shape((4, 3, 2), 1)
    (3, 8)
    """
    return shape[dim], math.prod(shape) // shape[dim]
