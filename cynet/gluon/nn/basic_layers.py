"""Dense, Embedding, Dropout, Flatten, and functions as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ndarray, symbol
from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ..block import Block, HybridBlock
from ..errors import MismatchError
from .activations import Activation
from .containers import HybridSequential, Sequential
from .norm_layers import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...typing import DTypeLike, InitializerLike

__all__ = [
    "Activation",
    "BatchNorm",
    "BatchNormReLU",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "HybridLambda",
    "HybridSequential",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "Sequential",
]


class Dense(HybridBlock):
    """A fully connected layer: ``activation(x . weight^T + bias)``.

    Parameters
    ----------
    units : int
        Size of the output.
    activation : str, optional
        Name of an activation applied to the output, see :class:`Activation`.
    use_bias : bool
        Whether to add a bias.
    flatten : bool
        Collapse all axes but the first into one; False applies the layer along the last axis.
    dtype : str or numpy.dtype
        Type of the parameters.
    weight_initializer, bias_initializer : Initializer or str, optional
        Initializers of the weight (units, in_units) and the bias (units,).
    in_units : int
        Size of the input; 0 leaves it to the first forward pass.

    Examples
    --------
    >>> layer = mx.gluon.nn.Dense(2, in_units=3)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.array([[1, 2, 3]])).asnumpy().tolist()
    [[6.0, 6.0]]
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike = "zeros",
        in_units: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._flatten = flatten
        self._units = units
        self._in_units = in_units
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(units, in_units),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias",
                    shape=(units,),
                    init=bias_initializer,
                    dtype=dtype,
                    allow_deferred_init=True,
                )
            self.act = (
                None if activation is None else Activation(activation, prefix=f"{activation}_")
            )

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        out = F.FullyConnected(
            x,
            weight,
            bias,
            no_bias=bias is None,
            num_hidden=self._units,
            flatten=self._flatten,
            name="fwd",
        )
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        shape = self.weight.shape
        act = self.act if self.act else "linear"
        return f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, {act})"


class Dropout(HybridBlock):
    """In training, sets elements to 0 with probability `rate` and divides others by ``1 - rate``.

    Parameters
    ----------
    rate : float
        Probability that an element is set to 0.
    axes : tuple of int
        Axes along which one decision holds: the mask has extent 1 there.

    Raises
    ------
    ArgumentError
        `rate` is not from 0 to 1.

    Examples
    --------
    >>> layer, x = mx.gluon.nn.Dropout(0.5), mx.nd.ones((10, 10))
    >>> with mx.autograd.record():
    ...     y = layer(x)
    ...
    >>> sorted(set(y.asnumpy().ravel().tolist()))
    [0.0, 2.0]
    >>> bool((layer(x) == x).min())  # prediction: nothing is dropped
    True
    """

    def __init__(self, rate: float, axes: Sequence[int] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= rate <= 1:
            raise ArgumentError(f"Dropout: rate must be from 0 to 1, got {shown(rate)}")
        self._rate = rate
        self._axes = tuple(axes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Maps indices to vectors, the rows of a weight (input_dim, output_dim).

    Parameters
    ----------
    dtype : str or numpy.dtype
        Type of the weight, and so of the vectors.
    weight_initializer : Initializer or str, optional
        Initializer of the matrix.
    sparse_grad : bool
        The gradient of the weight is row_sparse: it holds the rows that the batch named, and
        optimizers with lazy updates change these alone.

    Examples
    --------
    >>> layer = mx.gluon.nn.Embedding(3, 2)
    >>> layer.initialize()
    >>> layer.weight.set_data(mx.nd.array([[0, 1], [10, 11], [20, 21]]))
    >>> layer(mx.nd.array([2, 0, 2])).asnumpy().tolist()
    [[20.0, 21.0], [0.0, 1.0], [20.0, 21.0]]
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitializerLike | None = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._input_dim, self._output_dim = input_dim, output_dim
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        sizes = f"{self._input_dim} -> {self._output_dim}"
        return f"{type(self).__name__}({sizes}, {self._kwargs['dtype']})"


class Flatten(HybridBlock):
    """Flattens all axes but the first into one.

    Examples
    --------
    >>> mx.gluon.nn.Flatten()(mx.nd.ones((2, 3, 4))).shape
    (2, 12)
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Lambda(Block):
    """A function as a Block.

    Parameters
    ----------
    function : str or callable
        The name of a function of ``mx.nd``, or ``f(x, ...)``.

    Raises
    ------
    ArgumentTypeError
        `function` is neither callable nor a str.

    Examples
    --------
    >>> float(mx.gluon.nn.Lambda("tanh")(mx.nd.zeros(1)).asscalar())
    0.0
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            _check_function(function, ndarray)
            self._func_impl, self._func_name = getattr(ndarray, function), function
        elif callable(function):
            self._func_impl, self._func_name = function, getattr(function, "__name__", "function")
        else:
            raise ArgumentTypeError(
                f"{type(self).__name__} takes a function or the name of one, got {shown(function)}"
            )

    def forward(self, *args: Any) -> Any:
        """The function's value."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function as a HybridBlock.

    Parameters
    ----------
    function : str or callable
        The name of a function of ``mx.nd`` and ``mx.sym``, or ``f(F, x, ...)``.

    Raises
    ------
    ArgumentTypeError
        `function` is neither callable nor a str.

    Examples
    --------
    >>> float(mx.gluon.nn.HybridLambda(lambda F, x: F.relu(x) - 1)(mx.nd.zeros(1)).asscalar())
    -1.0
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            _check_function(function, ndarray, symbol)
            self._func, self._func_name = None, function
        elif callable(function):
            self._func, self._func_name = function, getattr(function, "__name__", "function")
        else:
            raise ArgumentTypeError(
                f"{type(self).__name__} takes a function or the name of one, got {shown(function)}"
            )

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """The function's value."""
        if self._func is None:
            return getattr(F, self._func_name)(x, *args)
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


def _check_function(name, *modules):
    for module in modules:
        if not hasattr(module, name):
            kind = module.__name__.rpartition(".")[2]
            raise MismatchError(
                f"mx.{'sym' if kind == 'symbol' else 'nd'} has no function {shown(name)}"
            )
