"""Parallel layers, pixel shuffles, SyncBatchNorm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .... import autograd
from ....base.errors import ArgumentError, shown
from ....base.guard import guarded
from ....base.kinds import to_index
from ....distributed.launched import is_launched
from ...block import HybridBlock
from ...nn import BatchNorm, HybridSequential, Sequential
from ...nn.conv_layers import axis_sizes
from ...rnn.cell import ops_of
from .sync_norm import OPERATOR_NAME, unique_layer_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....typing import InitializerLike
    from ...parameter import ParameterDict

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SyncBatchNorm",
]


class Concurrent(Sequential):
    """Applies several Blocks to one input, and concatenates their outputs.

    Parameters
    ----------
    axis : int
        The axis along which outputs are concatenated.

    Examples
    --------
    >>> net = mx.gluon.contrib.nn.Concurrent(axis=1)
    >>> net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.Lambda(lambda x: x * 2))
    >>> net.initialize(mx.init.One())
    >>> net(mx.nd.array([[1, 2]])).asnumpy().tolist()
    [[3.0, 3.0, 2.0, 4.0]]
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any, *args: Any) -> Any:
        """The concatenated outputs."""
        return _concat_block_outputs(ops_of(x), self, x)


class HybridConcurrent(HybridSequential):
    """Applies several HybridBlocks to one input, and concatenates their outputs.

    Parameters
    ----------
    axis : int
        The axis along which outputs are concatenated.

    Examples
    --------
    >>> net = mx.gluon.contrib.nn.HybridConcurrent(axis=1)
    >>> net.add(mx.gluon.contrib.nn.Identity(), mx.gluon.nn.HybridLambda(lambda F, x: x * 2))
    >>> net(mx.nd.array([[1, 2]])).asnumpy().tolist()
    [[1.0, 2.0, 2.0, 4.0]]
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """The concatenated outputs."""
        return _concat_block_outputs(F, self, x)


def _concat_block_outputs(F, blocks, x):
    outputs = [each(x) for each in blocks]
    if not outputs:
        raise ArgumentError(f"{blocks.name} has no Blocks whose outputs it could concatenate")
    return F.concat(*outputs, dim=blocks.axis)


class Identity(HybridBlock):
    """Returns its input; a skip connection in a HybridConcurrent.

    Examples
    --------
    >>> mx.gluon.contrib.nn.Identity()(mx.nd.array([1, 2])).asnumpy().tolist()
    [1.0, 2.0]
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The input."""
        return x


@guarded
class SyncBatchNorm(BatchNorm):
    """BatchNorm whose statistics span all processes that train together (``mx.distributed``).

    Of one process it is BatchNorm. Over several ranks its layers find one another by their names.
    A network that is exported after a step of training has an operator of cynet's own in place of
    BatchNorm; call it once in prediction before.

    Parameters
    ----------
    in_channels : int
        Number of channels; 0 leaves it to the first forward pass.
    num_devices : int, optional
        Number of devices in this process; only 1, or None for that.
    momentum, epsilon, center, scale, use_global_stats
        See :class:`~cynet.gluon.nn.BatchNorm`.

    Raises
    ------
    ArgumentError
        `num_devices` is more than 1: statistics are shared by processes, not by devices.

    Examples
    --------
    >>> layer = mx.gluon.contrib.nn.SyncBatchNorm(num_devices=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
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
        if num_devices not in (None, 1):
            raise ArgumentError(
                f"SyncBatchNorm: num_devices={shown(num_devices)}, and statistics over several"
                " devices are not there; 1 makes it a BatchNorm"
            )
        super().__init__(
            axis=1,
            momentum=momentum,
            epsilon=epsilon,
            center=center,
            scale=scale,
            use_global_stats=use_global_stats,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            running_mean_initializer=running_mean_initializer,
            running_variance_initializer=running_variance_initializer,
            in_channels=in_channels,
            **kwargs,
        )
        self._is_of_several = is_launched()  # this process may join other ranks later
        self._key = unique_layer_name(self.name)

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        settings = self._kwargs
        if settings["use_global_stats"] or not (autograd.is_training() and self._is_of_several):
            return super().hybrid_forward(F, x, gamma, beta, running_mean, running_var)
        names = ("eps", "momentum", "fix_gamma")
        return F.Custom(
            *(x, gamma, beta, running_mean, running_var),
            op_type=OPERATOR_NAME,
            key=self._key,
            name="fwd",
            **{name: settings[name] for name in names},
        )[0]


class _PixelShuffle(HybridBlock):
    """Moves channels to pixels: (N, C*f1*f2.., D1, D2, ..) to (N, C, D1*f1, D2*f2, ..)."""

    _dims = 0

    def __init__(self, factor):
        super().__init__()
        what = f"{type(self).__name__}: factor"
        factors = axis_sizes(what, factor, self._dims)
        self._factors = tuple(to_index(what, each) for each in factors)
        if min(self._factors) < 1:
            raise ArgumentError(f"{what} must be 1 or more, got {shown(factor)}")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The shuffled array."""
        dims, factors = self._dims, self._factors
        x = F.reshape(x, shape=(0, -4, -1, math.prod(factors), *(0,) * dims))
        for i, factor in enumerate(factors[:-1]):
            x = F.reshape(x, shape=(0, 0, *(0,) * i, -4, factor, -1, *(0,) * dims))
        pairs = [(2 + dims + i, 2 + i) for i in range(dims)]
        x = F.transpose(x, axes=(0, 1, *(axis for pair in pairs for axis in pair)))
        return F.reshape(x, shape=(0, 0, *(-3,) * dims))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors[0] if self._dims == 1 else self._factors})"


class PixelShuffle1D(_PixelShuffle):
    """Rearranges channels to steps: (N, C*f, W) to (N, C, W*f).

    Parameters
    ----------
    factor : int or tuple of int
        Factor of the width.

    Examples
    --------
    >>> layer = mx.gluon.contrib.nn.PixelShuffle1D(2)
    >>> layer(mx.nd.arange(6).reshape((1, 2, 3))).asnumpy().tolist()
    [[[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]]]
    """

    _dims = 1

    def __init__(self, factor: int | Sequence[int]) -> None:
        super().__init__(factor)


class PixelShuffle2D(_PixelShuffle):
    """Rearranges channels to pixels: (N, C*f1*f2, H, W) to (N, C, H*f1, W*f2).

    Parameters
    ----------
    factor : int or tuple of int
        One factor for both axes, or one for each.

    Examples
    --------
    >>> layer = mx.gluon.contrib.nn.PixelShuffle2D(2)
    >>> layer(mx.nd.arange(4).reshape((1, 4, 1, 1))).asnumpy().tolist()
    [[[[0.0, 1.0], [2.0, 3.0]]]]
    """

    _dims = 2

    def __init__(self, factor: int | Sequence[int]) -> None:
        super().__init__(factor)


class PixelShuffle3D(_PixelShuffle):
    """Rearranges channels to voxels: (N, C*f1*f2*f3, D, H, W) to (N, C, D*f1, H*f2, W*f3).

    Parameters
    ----------
    factor : int or tuple of int
        One factor for all axes, or one for each.

    Examples
    --------
    >>> mx.gluon.contrib.nn.PixelShuffle3D((2, 3, 4))(mx.nd.zeros((1, 48, 3, 5, 7))).shape
    (1, 2, 6, 15, 28)
    """

    _dims = 3

    def __init__(self, factor: int | Sequence[int]) -> None:
        super().__init__(factor)
