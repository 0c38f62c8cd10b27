"""EfficientNet: squeeze-excitation blocks, scaled in width and depth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import nn
from ...block import HybridBlock
from ..model_store import ROOT
from .network import (
    Network,
    choose_option,
    network_function,
    stages_example,
    with_pretrained_weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["EfficientNet", "efficientnet_b0", "efficientnet_b1", "efficientnet_b2"]
__all__ += ["efficientnet_b3", "efficientnet_b4", "efficientnet_b5", "efficientnet_b6"]
__all__ += ["efficientnet_b7", "get_efficientnet"]

# stages of B0: (expansion factor, kernel, stride, channels, blocks), Tan and Le 2019
_B0_STAGES = (  # expansion, kernel, stride, channels, blocks
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
# number of the variant -> (width factor, depth factor, dropout before the output)
_SCALES_BY_NUMBER = {  # B0 to B7: width, depth, dropout
    0: (1.0, 1.0, 0.2),
    1: (1.0, 1.1, 0.2),
    2: (1.1, 1.2, 0.3),
    3: (1.2, 1.4, 0.3),
    4: (1.4, 1.8, 0.4),
    5: (1.6, 2.2, 0.4),
    6: (1.8, 2.6, 0.5),
    7: (2.0, 3.1, 0.5),
}
_LARGE_NORM = {"epsilon": 1e-3, "momentum": 0.99}  # BatchNorm of B5 to B7


def _round_channels(channels):
    """Round to the nearest multiple of 8 that is at least 90 % of `channels`."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


def _stage_depths(depth):
    """Return the number of blocks of each stage."""
    return [math.ceil(stage[-1] * depth) for stage in _B0_STAGES]


class _SqueezeExcitation(HybridBlock):
    """Scales each channel by a weight computed from the means of all channels."""

    def __init__(self, channels, inner, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.pool = nn.GlobalAvgPool2D()
            self.down = nn.Conv2D(inner, 1, in_channels=channels, prefix="down_")
            self.activation = nn.Swish()
            self.up = nn.Conv2D(channels, 1, in_channels=inner, prefix="up_")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The input, weighed."""
        weights = self.up(self.activation(self.down(self.pool(x))))
        return F.broadcast_mul(x, F.sigmoid(weights))


class _MobileBlock(HybridBlock):  # inverted residual block
    """Inverted residual block: 1x1 expansion, depthwise, squeeze-excitation, 1x1 projection."""

    def __init__(self, in_channels, channels, widening, kernel, stride, drop_path, norm, **kwargs):
        super().__init__(**kwargs)
        inner = _round_channels(in_channels * widening)
        self._shortcut = stride == 1 and in_channels == channels
        with self.name_scope():
            self.body = nn.HybridSequential(prefix="")
            if inner != in_channels:
                self.body.add(*_conv_norm(inner, in_channels, norm), nn.Swish())
            self.body.add(
                *_conv_norm(inner, inner, norm, kernel, stride, groups=inner),
                nn.Swish(),
                _SqueezeExcitation(inner, max(1, in_channels // 4), prefix="se_"),
                *_conv_norm(channels, inner, norm),
            )
            drop = drop_path if self._shortcut else 0.0
            self.drop_path = nn.Dropout(drop, axes=(1, 2, 3)) if drop else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The block's output."""
        y = self.body(x)
        if not self._shortcut:
            return y
        return x + (y if self.drop_path is None else self.drop_path(y))


def _conv_norm(channels, in_channels, norm, kernel=1, stride=1, groups=1):
    """Return a convolution followed by its BatchNorm."""
    layer = nn.Conv2D(
        channels,
        kernel,
        strides=stride,
        padding=kernel // 2,
        groups=groups,
        use_bias=False,
        in_channels=in_channels,
    )
    return layer, nn.BatchNorm(in_channels=channels, **norm)


class EfficientNet(Network):
    """EfficientNet, for images of 32x32 or more.

    Parameters
    ----------
    width, depth : float
        Factors of the numbers of channels and of blocks of B0.
    dropout : float
        Share of the features that training sets to 0.
    drop_path : float
        Share of the samples for which training leaves out the block after the last one; that of
        the blocks rises from 0 evenly.
    epsilon, momentum : float
        Settings of the BatchNorms.

    Examples
    --------
    >>> net = EfficientNet(width=0.25, depth=0.5, classes=10)
    >>> net.initialize()
    >>> net(mx.nd.zeros((2, 3, 64, 64))).shape
    (2, 10)
    """

    def __init__(
        self,
        width: float = 1.0,
        depth: float = 1.0,
        dropout: float = 0.2,
        drop_path: float = 0.2,
        classes: int = 1000,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        norm = {"epsilon": epsilon, "momentum": momentum}
        counts = _stage_depths(depth)
        rates = iter(drop_path * i / sum(counts) for i in range(sum(counts)))
        before = _round_channels(32 * width)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(*_conv_norm(before, 3, norm, 3, 2), nn.Swish())
            for i, (widening, kernel, stride, channels, _) in enumerate(_B0_STAGES):
                stage, size = (
                    nn.HybridSequential(prefix=f"stage{i + 1}_"),
                    _round_channels(channels * width),
                )
                with stage.name_scope():
                    for j in range(counts[i]):
                        stage.add(
                            _MobileBlock(
                                before,
                                size,
                                widening,
                                kernel,
                                1 if j else stride,
                                next(rates),
                                norm,
                                prefix=f"block{j}_",
                            )
                        )
                        before = size
                self.features.add(stage)
            self.features.add(
                *_conv_norm(4 * before, before, norm),
                nn.Swish(),
                nn.GlobalAvgPool2D(),
                nn.Flatten(),
            )
            if dropout:
                self.features.add(nn.Dropout(dropout))
            self.output = nn.Dense(classes, in_units=4 * before)


def get_efficientnet(
    number: int,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> EfficientNet:
    """EfficientNet B0 to B7: images (N, 3, H, W) to scores (N, classes).

    Parameters
    ----------
    number : int
        0 to 7; each is wider and deeper than the one before.
    pretrained : bool or str
        Load weights from ``NAME.params`` in `root`, see :func:`get_model_file`; or from a file.
    root : str
        Folder of the weights' files.
    **kwargs
        ``dropout``, ``drop_path``, ``classes``, ``prefix`` and ``params``.

    Raises
    ------
    MismatchError
        There is no such `number`.
    FileError
        `pretrained` is True, and the weights are not in `root`.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_efficientnet(0, classes=10)
    >>> net.output
    Dense(1280 -> 10, linear)
    """
    width, depth, dropout = choose_option(_SCALES_BY_NUMBER, number, "number")
    settings = {"dropout": dropout, **(_LARGE_NORM if number >= 5 else {}), **kwargs}
    net = EfficientNet(width, depth, **settings)
    return with_pretrained_weights(net, f"efficientnet_b{number}", pretrained, ctx, root)


def _builder_of(number: int, millions: str, size: int) -> Callable[..., EfficientNet]:
    width, depth, _ = _SCALES_BY_NUMBER[number]
    scaled = f"{width} times as wide and {depth} times as deep as B0" if number else "the smallest"
    return network_function(
        f"efficientnet_b{number}",
        get_efficientnet,
        {"number": number},
        f"EfficientNet B{number}, {scaled}: {millions} million weights.",
        stages_example(
            _stage_depths(depth),
            f"Dense({4 * _round_channels(_B0_STAGES[-1][3] * width)} -> 10, linear)",
        ),
        more=f"It was designed for images of {size}x{size}, and takes any from 32x32.",
        keywords="``dropout``, ``drop_path``, ``classes``",
        size=size,
    )


efficientnet_b0 = _builder_of(0, "5.3", 224)
efficientnet_b1 = _builder_of(1, "7.8", 240)
efficientnet_b2 = _builder_of(2, "9.1", 260)
efficientnet_b3 = _builder_of(3, "12.2", 300)
efficientnet_b4 = _builder_of(4, "19.3", 380)
efficientnet_b5 = _builder_of(5, "30.4", 456)
efficientnet_b6 = _builder_of(6, "43.0", 528)
efficientnet_b7 = _builder_of(7, "66.3", 600)
