"""ConvNeXt: residual blocks of a 7x7 depthwise convolution and two dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....initializer import Constant
from ... import nn
from ...block import HybridBlock
from ...errors import MismatchError
from ..model_store import ROOT
from .network import (
    Network,
    choose_option,
    network_function,
    number_text,
    stages_example,
    with_pretrained_weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["ConvNeXt", "convnext_base", "convnext_small", "convnext_tiny", "get_convnext"]

# name -> (blocks per stage, channels per stage, stochastic depth rate), Liu et al. 2022
_SETTINGS_BY_SIZE = {  # blocks and channels per stage, drop rate
    "tiny": ((3, 3, 9, 3), (96, 192, 384, 768), 0.1),
    "small": ((3, 3, 27, 3), (96, 192, 384, 768), 0.4),
    "base": ((3, 3, 27, 3), (128, 256, 512, 1024), 0.5),
}
_NORM_EPSILON = 1e-6  # of the LayerNorms


class _ConvNeXtBlock(HybridBlock):
    """A residual block: depthwise convolution, then dense layers over each pixel's channels."""

    def __init__(self, channels, drop_path, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(channels, 1, 1), init=Constant(1e-6))
            self.conv = nn.Conv2D(
                channels, 7, padding=3, groups=channels, in_channels=channels, prefix="conv_"
            )
            self.norm = nn.LayerNorm(epsilon=_NORM_EPSILON, in_channels=channels, prefix="norm_")
            self.linear1 = nn.Dense(
                4 * channels, flatten=False, in_units=channels, prefix="linear1_"
            )
            self.activation = nn.GELU()
            self.linear2 = nn.Dense(
                channels, flatten=False, in_units=4 * channels, prefix="linear2_"
            )
            self.drop_path = nn.Dropout(drop_path, axes=(1, 2, 3)) if drop_path else None

    def hybrid_forward(self, F: Any, x: Any, scale: Any) -> Any:
        """The block's output."""
        y = self.norm(F.transpose(self.conv(x), axes=(0, 2, 3, 1)))
        y = self.linear2(self.activation(self.linear1(y)))
        y = F.broadcast_mul(y, F.reshape(scale, shape=(1, 1, 1, -1)))
        y = F.transpose(y, axes=(0, 3, 1, 2))
        return x + (y if self.drop_path is None else self.drop_path(y))


class ConvNeXt(Network):
    """ConvNeXt, for images of 32x32 or more.

    Parameters
    ----------
    layers : sequence of int
        Number of blocks in each stage.
    channels : sequence of int
        Number of channels of each stage.
    drop_path : float
        Share of the samples for which training leaves out the last block; that of the blocks before
        it rises from 0 evenly.

    Raises
    ------
    MismatchError
        `layers` and `channels` are not of one length.

    Examples
    --------
    >>> net = ConvNeXt((1, 2), (8, 16), classes=10)
    >>> net.initialize()
    >>> net(mx.nd.zeros((2, 3, 32, 32))).shape
    (2, 10)
    """

    def __init__(
        self,
        layers: Sequence[int],
        channels: Sequence[int],
        drop_path: float = 0.0,
        classes: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(channels):
            raise MismatchError(
                f"ConvNeXt: {len(layers)} numbers of layers and {len(channels)} of channels"
            )
        rates = iter(drop_path * i / max(sum(layers) - 1, 1) for i in range(sum(layers)))
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            for i, (count, size) in enumerate(zip(layers, channels)):
                if i == 0:
                    self.features.add(nn.Conv2D(size, 4, strides=4), self._layer_norm(size, axis=1))
                else:
                    self.features.add(
                        self._layer_norm(channels[i - 1], axis=1),
                        nn.Conv2D(size, 2, strides=2, in_channels=channels[i - 1]),
                    )
                stage = nn.HybridSequential(prefix=f"stage{i + 1}_")
                with stage.name_scope():
                    for j in range(count):
                        stage.add(_ConvNeXtBlock(size, next(rates), prefix=f"block{j}_"))
                self.features.add(stage)
            self.features.add(
                nn.GlobalAvgPool2D(), nn.Flatten(), self._layer_norm(channels[-1], axis=1)
            )
            self.output = nn.Dense(classes, in_units=channels[-1])

    @staticmethod
    def _layer_norm(channels, axis):
        return nn.LayerNorm(axis=axis, epsilon=_NORM_EPSILON, in_channels=channels)


def get_convnext(
    size: str,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> ConvNeXt:
    """ConvNeXt of a named size: images (N, 3, 224, 224) to scores (N, classes).

    Parameters
    ----------
    size : str
        ``'tiny'``, ``'small'`` or ``'base'``.
    pretrained : bool or str
        Load weights from ``NAME.params`` in `root`, see :func:`get_model_file`; or from a file.
    root : str
        Folder of the weights' files.
    **kwargs
        ``drop_path``, ``classes``, ``prefix`` and ``params``.

    Raises
    ------
    MismatchError
        There is no such `size`.
    FileError
        `pretrained` is True, and the weights are not in `root`.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_convnext("tiny", classes=10)
    >>> net.output
    Dense(768 -> 10, linear)
    """
    layers, channels, drop_path = choose_option(_SETTINGS_BY_SIZE, size, "size")
    net = ConvNeXt(layers, channels, **{"drop_path": drop_path, **kwargs})
    return with_pretrained_weights(net, f"convnext_{size}", pretrained, ctx, root)


def _builder_of(size: str, millions: str) -> Callable[..., ConvNeXt]:
    lengths, channels, _ = _SETTINGS_BY_SIZE[size]
    return network_function(
        f"convnext_{size}",
        get_convnext,
        {"size": size},
        f"The {size} ConvNeXt: {millions} million weights with 1000 classes.",
        stages_example(lengths, f"Dense({channels[-1]} -> 10, linear)"),
        more=f"Four stages of {number_text(lengths)} blocks with {number_text(channels)} channels.",
        keywords="``drop_path``, ``classes``",
    )


convnext_tiny = _builder_of("tiny", "28.6")
convnext_small = _builder_of("small", "50.2")
convnext_base = _builder_of("base", "88.6")
