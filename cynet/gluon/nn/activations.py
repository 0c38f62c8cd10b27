"""Activations: elementwise nonlinearities as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import initializer
from ...base.errors import ArgumentError, shown
from ..block import HybridBlock

if TYPE_CHECKING:
    from ...typing import InitializerLike

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "Swish"]

_PRELU_ALPHA = initializer.Constant(0.25)  # default initializer of PReLU's slope


class Activation(HybridBlock):
    """Applies an activation function, chosen by name.

    Parameters
    ----------
    activation : str
        ``'relu'``, ``'sigmoid'``, ``'tanh'``, ``'softrelu'`` or ``'softsign'``.

    Raises
    ------
    ArgumentError
        `activation` is not a str. An unknown name is refused at the first call.

    Examples
    --------
    >>> mx.gluon.nn.Activation("relu")(mx.nd.array([-1, 2])).asnumpy().tolist()
    [0.0, 2.0]
    """

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self.__dict__["_act_type"] = activation
        if not isinstance(activation, str):
            raise ArgumentError(f"Activation: a name is expected, got {shown(activation)}")
        super().__init__(**kwargs)

    def _alias(self):
        return self._act_type

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """Leaky ReLU: ``x`` above 0 and ``alpha * x`` below.

    Parameters
    ----------
    alpha : float
        Slope of the negative part, at least 0.

    Raises
    ------
    ArgumentError
        `alpha` is below 0.

    Examples
    --------
    >>> mx.gluon.nn.LeakyReLU(0.5)(mx.nd.array([-2, 2])).asnumpy().tolist()
    [-1.0, 2.0]
    """

    def __init__(self, alpha: float, **kwargs: Any) -> None:
        if not alpha >= 0:
            raise ArgumentError(f"LeakyReLU: alpha is 0 or more, got {shown(alpha)}")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """Parametric ReLU: ``x`` above 0 and ``alpha * x`` below, with a learned alpha.

    Parameters
    ----------
    alpha_initializer : Initializer
        Initializer of the slopes; 0.25 by default.
    in_channels : int
        1 for one slope in all, or the number of channels for one slope each.

    Examples
    --------
    >>> layer = mx.gluon.nn.PReLU()
    >>> layer.initialize()
    >>> layer(mx.nd.array([-2, 2])).asnumpy().tolist()
    [-0.5, 2.0]
    """

    def __init__(
        self, alpha_initializer: InitializerLike = _PRELU_ALPHA, in_channels: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: Any, alpha: Any) -> Any:
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """Exponential linear unit: ``x`` above 0 and ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    alpha : float
        Scale of the negative part.

    Examples
    --------
    >>> mx.gluon.nn.ELU()(mx.nd.array([0, 2])).asnumpy().tolist()
    [0.0, 2.0]
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """The scaled ELU of self-normalizing networks.

    Examples
    --------
    >>> f"{mx.gluon.nn.SELU()(mx.nd.ones(1)).asscalar():.4f}"
    '1.0507'
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """Gaussian error linear unit ``x * Phi(x)``, where Phi is the normal distribution function.

    Examples
    --------
    >>> f"{mx.gluon.nn.GELU()(mx.nd.ones(1)).asscalar():.4f}"
    '0.8413'
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """``x * sigmoid(beta * x)``.

    Parameters
    ----------
    beta : float
        Factor inside of the sigmoid.

    Examples
    --------
    >>> f"{mx.gluon.nn.Swish()(mx.nd.ones(1)).asscalar():.4f}"
    '0.7311'
    """

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * F.sigmoid(self._beta * x, name="fwd")
