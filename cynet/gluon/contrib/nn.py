"""mx.gluon.contrib.nn: Blocks side by side, batch normalization over devices, pixel shuffling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ndarray as nd
from ...base.guard import guarded
from ..block import HybridBlock
from ..nn import BatchNorm, Embedding, HybridSequential, Sequential
from ..nn.conv_layers import sizes_of

if TYPE_CHECKING:
    from ...base.typing import DTypeLike, InitializerLike, ShapeLike
    from ..parameter import ParameterDict

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


@guarded(but=("forward",))
class Concurrent(Sequential):
    """Blocks side by side on one input, their outputs joined.

    Parameters
    ----------
    axis : int
        Along which they are joined.

    Examples
    --------
    >>> import cynet as mx
    >>> both = Concurrent(axis=1)
    >>> both.add(Identity(), mx.gluon.nn.HybridLambda(lambda F, x: x * 2))
    >>> both(mx.nd.array([[1, 2]])).asnumpy().tolist()
    [[1.0, 2.0, 2.0, 4.0]]
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        """The outputs of all Blocks, joined."""
        return nd.concat(*[each(x) for each in self._children.values()], dim=self.axis)


@guarded(but=("forward", "hybrid_forward"))
class HybridConcurrent(HybridSequential):
    """HybridBlocks side by side on one input, their outputs joined.

    Parameters
    ----------
    axis : int
        Along which they are joined.
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any, *args: Any) -> Any:
        """The outputs of all Blocks, joined."""
        return HybridBlock.forward(self, x, *args)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The outputs of all Blocks, joined."""
        return F.concat(*[each(x) for each in self._children.values()], dim=self.axis)


@guarded(but=("hybrid_forward",))
class Identity(HybridBlock):
    """The input as it is."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The input."""
        return x


@guarded(but=("hybrid_forward",))
class SparseEmbedding(Embedding):
    """An :class:`Embedding` whose gradient MXNet keeps sparse; here it is dense."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitializerLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, dtype, weight_initializer, True, **kwargs)


@guarded(but=("hybrid_forward",))
class SyncBatchNorm(BatchNorm):
    """BatchNorm over channels of axis 1.

    With several devices each normalizes by its own part of the batch.

    Parameters
    ----------
    in_channels : int
    num_devices : int, optional
    momentum, epsilon, center, scale, use_global_stats
        See :class:`BatchNorm`.
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        running_mean_initializer: InitializerLike = "zeros",
        running_variance_initializer: InitializerLike = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )
        self._num_devices = num_devices


class _PixelShuffle(HybridBlock):
    """Channels that become pixels: (N, f1 * f2 * C, H, W) to (N, C, f1 * H, f2 * W)."""

    _axes = 1

    def __init__(self, factor: ShapeLike) -> None:
        super().__init__()
        self._factors = sizes_of("factor", factor, self._axes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The image with more pixels and fewer channels."""
        factors, axes = self._factors, self._axes
        count = 1
        for each in factors:
            count *= each
        # (N, C * f, *size) -> (N, C, f1, f2, .., size1, size2, ..)
        x = F.reshape(x, shape=(0, -4, -1, count, *(0,) * axes))
        if axes == 2:
            x = F.reshape(x, shape=(0, 0, -4, factors[0], factors[1], 0, 0))
        if axes == 3:
            x = F.reshape(x, shape=(0, 0, -4, factors[0], -1, 0, 0, 0))
            x = F.reshape(x, shape=(0, 0, 0, -4, factors[1], factors[2], 0, 0, 0))
        order = [0, 1]
        for i in range(axes):
            order += [2 + axes + i, 2 + i]
        x = F.transpose(x, axes=tuple(order))
        return F.reshape(x, shape=(0, 0, *(-3,) * axes))

    def __repr__(self) -> str:
        factors = self._factors if self._axes > 1 else self._factors[0]
        return f"{type(self).__name__}({factors})"


class PixelShuffle1D(_PixelShuffle):
    """(N, f * C, W) to (N, C, f * W).

    Parameters
    ----------
    factor : int

    Examples
    --------
    >>> import cynet as mx
    >>> PixelShuffle1D(2)(mx.nd.array([[[1, 2], [3, 4]]])).asnumpy().tolist()
    [[[1.0, 3.0, 2.0, 4.0]]]
    """


class PixelShuffle2D(_PixelShuffle):
    """(N, f1 * f2 * C, H, W) to (N, C, f1 * H, f2 * W).

    Parameters
    ----------
    factor : int or tuple of two
    """

    _axes = 2


class PixelShuffle3D(_PixelShuffle):
    """(N, f1 * f2 * f3 * C, D, H, W) to (N, C, f1 * D, f2 * H, f3 * W).

    Parameters
    ----------
    factor : int or tuple of three
    """

    _axes = 3
