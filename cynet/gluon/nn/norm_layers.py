"""Normalization: BatchNorm, LayerNorm, RMSNorm, InstanceNorm, GroupNorm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.dtype import is_narrow
from ...operator.paragraphs import parameters_of, with_paragraphs
from ..block import HybridBlock

if TYPE_CHECKING:
    from ...typing import DTypeLike, InitializerLike
    from ..parameter import ParameterDict

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm"]


class _AffineNorm(HybridBlock):  # base of normalizations with gamma and beta
    """Base of normalization layers with a scale gamma and a shift beta."""

    def _make_gamma_and_beta(self, size, scale, center, gamma_initializer, beta_initializer):
        self.gamma = self.params.get(
            "gamma",
            grad_req="write" if scale else "null",
            shape=(size,),
            init=gamma_initializer,
            allow_deferred_init=True,
            differentiable=scale,
        )
        self.beta = self.params.get(
            "beta",
            grad_req="write" if center else "null",
            shape=(size,),
            init=beta_initializer,
            allow_deferred_init=True,
            differentiable=center,
        )

    def _repr_settings(self, settings):
        text = ", ".join(f"{key}={value}" for key, value in settings.items())
        return f"{type(self).__name__}({text})"


class BatchNorm(_AffineNorm):
    """Normalizes each channel over the batch, then scales and shifts it.

    In prediction, and with `use_global_stats`, by averages that training keeps.

    Parameters
    ----------
    axis : int
        The axis of the channels.
    momentum : float
        How much of the running mean and variance each training step keeps.
    use_global_stats : bool
        Normalize by the running mean and variance in training, too.

    Examples
    --------
    >>> layer = mx.gluon.nn.BatchNorm()
    >>> layer.initialize()
    >>> x = mx.nd.array([[1, 10], [3, 30]])  # two samples of two channels
    >>> with mx.autograd.record():
    ...     y = layer(x)  # training uses the batch's own mean and variance
    ...
    >>> y.asnumpy().round(2)
    array([[-1., -1.],
           [ 1.,  1.]], dtype=float32)
    >>> y.backward()
    >>> layer.running_mean.data()  # 0.9 of the old mean, 0.1 of the batch's
    [0.2 2. ]
    <NDArray 2 @cpu(0)>
    """

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        running_mean_initializer: InitializerLike = "zeros",
        running_variance_initializer: InitializerLike = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self._axis = axis
        self._make_gamma_and_beta(in_channels, scale, center, gamma_initializer, beta_initializer)
        for name, init in (
            ("running_mean", running_mean_initializer),
            ("running_var", running_variance_initializer),
        ):
            param = self.params.get(
                name,
                grad_req="null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=False,
            )
            setattr(self, name, param)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of the parameters; for float16 and bfloat16 data they become float32."""
        super().cast("float32" if is_narrow(dtype) else dtype)

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        k = self._kwargs
        return self._repr_settings(
            {
                "axis": k["axis"],
                "eps": k["eps"],
                "momentum": k["momentum"],
                "fix_gamma": k["fix_gamma"],
                "use_global_stats": k["use_global_stats"],
                "in_channels": self.gamma.shape[0] or None,
            }
        )


@with_paragraphs(parameters=parameters_of(BatchNorm))
class BatchNormReLU(BatchNorm):
    """BatchNorm with a rectifier after it; see :class:`BatchNorm`.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.nn.BatchNormReLU()
    >>> layer.initialize()
    >>> float(layer(-mx.nd.ones((1, 1))).asscalar())
    0.0
    """

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        return F.relu(super().hybrid_forward(F, x, gamma, beta, running_mean, running_var))


class LayerNorm(_AffineNorm):
    """Normalizes each sample along one axis, then scales and shifts its entries.

    Parameters
    ----------
    axis : int
        The axis to normalize along.
    in_channels : int
        Length of the axis; 0 leaves it to the first forward pass.

    Examples
    --------
    >>> layer = mx.gluon.nn.LayerNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[1, 2, 3]])).asnumpy().round(2).tolist()
    [[-1.22..., 0.0, 1.22...]]
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis}
        self._settings = {"center": center, "scale": scale}
        self._make_gamma_and_beta(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.LayerNorm(data, gamma, beta, **self._kwargs)

    def __repr__(self) -> str:
        size = {"in_channels": self.gamma.shape[0]}
        return self._repr_settings({**self._kwargs, **self._settings, **size})


class RMSNorm(HybridBlock):
    """Divides by the root mean square along the last axis, then scales its entries.

    Parameters
    ----------
    epsilon : float
        Added to the mean square.
    gamma_initializer : Initializer or str
        Initializer of the factors.
    in_channels : int
        Length of the axis; 0 leaves it to the first forward pass.

    Examples
    --------
    >>> layer = mx.gluon.nn.RMSNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[3, 4]])).asnumpy().round(3).tolist()
    [[0.849, 1.131]]
    """

    def __init__(
        self,
        epsilon: float = 1e-6,
        gamma_initializer: InitializerLike = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._epsilon = epsilon
        self.gamma = self.params.get(
            "gamma", shape=(in_channels,), init=gamma_initializer, allow_deferred_init=True
        )

    def hybrid_forward(self, F: Any, data: Any, gamma: Any) -> Any:
        square = F.mean(F.square(data), axis=-1, keepdims=True)
        return F.broadcast_mul(F.broadcast_mul(data, F.rsqrt(square + self._epsilon)), gamma)

    def infer_shape(self, data: Any, *args: Any) -> None:
        """Fill in the length of gamma from the shape of the input."""
        self.gamma.shape = (data.shape[-1],)

    def __repr__(self) -> str:
        return f"RMSNorm(eps={self._epsilon}, in_channels={self.gamma.shape[0]})"


class GroupNorm(_AffineNorm):
    """Normalizes each group of channels of each sample, then scales and shifts it.

    Parameters
    ----------
    num_groups : int
        Number of groups of consecutive channels.
    center, scale : bool
        Whether to add beta, and whether to multiply by gamma, both of shape (num_groups,).

    Examples
    --------
    >>> layer = mx.gluon.nn.GroupNorm(2)
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1], [3], [10], [30]]])).asnumpy().round(2).ravel()
    array([-1.,  1., -1.,  1.], dtype=float32)
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups}
        self._settings = {"center": center, "scale": scale}
        self._make_gamma_and_beta(num_groups, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.GroupNorm(data, gamma, beta, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return self._repr_settings({**self._kwargs, **self._settings})


class InstanceNorm(_AffineNorm):
    """Normalizes each channel of each sample over its positions, then scales and shifts it.

    Parameters
    ----------
    axis : int
        The axis of the channels.

    Examples
    --------
    >>> layer = mx.gluon.nn.InstanceNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1, 3], [10, 30]]])).asnumpy().round(2)
    array([[[-1.,  1.],
            [-1.,  1.]]], dtype=float32)
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis}
        self._settings = {"center": center, "scale": scale}
        self._make_gamma_and_beta(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        axis, eps = self._kwargs["axis"], self._kwargs["eps"]
        if axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=eps)
        out = F.InstanceNorm(F.swapaxes(x, dim1=1, dim2=axis), gamma, beta, name="fwd", eps=eps)
        return F.swapaxes(out, dim1=1, dim2=axis)

    def __repr__(self) -> str:
        size = {"in_channels": self.gamma.shape[0]}
        return self._repr_settings({**self._kwargs, **self._settings, **size})
