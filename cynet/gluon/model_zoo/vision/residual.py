"""Blocks of residual networks and the networks made of them, of version 1 (normalization behind
convolutions) and 2 (before them)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ... import nn
from ...block import HybridBlock
from ...errors import MismatchError
from .network import Network

if TYPE_CHECKING:
    from collections.abc import Sequence


def _conv3x3(channels, stride, in_channels):
    return nn.Conv2D(
        channels, 3, strides=stride, padding=1, use_bias=False, in_channels=in_channels
    )


def _conv1x1(channels, stride, in_channels):
    return nn.Conv2D(channels, 1, strides=stride, use_bias=False, in_channels=in_channels)


_DOC = """{about}

Parameters
----------
channels : int
    Number of channels of the output.
stride : int
    Stride of the {strided} convolution.
downsample : bool
    Project the input by a 1x1 convolution, which is necessary if stride or channels change.
in_channels : int
    Number of channels of the input; 0 leaves it to the first forward pass.
**kwargs
    Arguments of :class:`Block`: ``prefix`` and ``params``.

Examples
--------
>>> block = mx.gluon.model_zoo.vision.{name}(16, stride=2, downsample=True)
>>> block.initialize()
>>> block(mx.nd.zeros((1, 8, 32, 32))).shape
(1, 16, 16, 16)
"""


@guarded(but=("hybrid_forward",))
class _ResidualBlock(HybridBlock):
    """Base of residual blocks of both versions. A subclass has the first line of its docstring, and
    `_add_layers`."""

    _strided = ""  # the docstring's word for the convolution with the stride

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls._strided:
            cls.__doc__ = _DOC.format(about=cls.__doc__, strided=cls._strided, name=cls.__name__)

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._add_layers(channels, stride, in_channels)
        self.downsample = self._make_shortcut(channels, stride, in_channels) if downsample else None


class _BlockV1(_ResidualBlock):  # sum, then activation
    """Adds the body's output to the input, which is projected if sizes change."""

    _body_first = False  # order of operands of the sum, as in MXNet's files

    def _add_layers(self, channels, stride, in_channels):
        self.body = nn.HybridSequential(prefix="")
        self.body.add(*self._make_body_layers(channels, stride, in_channels), nn.BatchNorm())

    def _make_shortcut(self, channels, stride, in_channels):
        shortcut = nn.HybridSequential(prefix="")
        shortcut.add(_conv1x1(channels, stride, in_channels), nn.BatchNorm())
        return shortcut

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The block's output."""
        residual = x if self.downsample is None else self.downsample(x)
        body = self.body(x)
        total = body + residual if self._body_first else residual + body
        return F.Activation(total, act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two 3x3 convolutions, for networks of 18 and 34 layers."""

    _strided = "first"

    def _make_body_layers(self, channels, stride, in_channels):
        return (
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
        )


class BottleneckV1(_BlockV1):
    """Convolutions 1x1, 3x3 and 1x1, for networks of 50 layers and more."""

    _strided = "first 1x1"
    _body_first = True

    def _make_body_layers(self, channels, stride, in_channels):
        inner = channels // 4
        return (
            nn.Conv2D(inner, 1, strides=stride),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(inner, 1, inner),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, 1),
        )


class BottleneckV1b(_BlockV1):
    """BottleneckV1 with the stride in the 3x3 convolution, as torchvision's networks have it."""

    _strided = "3x3"
    _body_first = True

    def _make_body_layers(self, channels, stride, in_channels):
        inner = channels // 4
        return (
            _conv1x1(inner, 1, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(inner, stride, inner),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv1x1(channels, 1, inner),
        )


class _BlockV2(_ResidualBlock):
    """Adds convolutions after BatchNorm to the input, which is projected if sizes change."""

    _make_shortcut = staticmethod(_conv1x1)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The block's output."""
        residual = x
        x = F.Activation(self.bn1(x), act_type="relu")
        if self.downsample is not None:
            residual = self.downsample(x)
        x = self.conv1(x)
        x = self.conv2(F.Activation(self.bn2(x), act_type="relu"))
        if self.conv3 is not None:
            x = self.conv3(F.Activation(self.bn3(x), act_type="relu"))
        return x + residual


class BasicBlockV2(_BlockV2):
    """Two 3x3 convolutions, each after a normalization."""

    _strided = "first"
    conv3 = None

    def _add_layers(self, channels, stride, in_channels):
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)


class BottleneckV2(_BlockV2):
    """Convolutions 1x1, 3x3 and 1x1, each after a normalization."""

    _strided = "3x3"

    def _add_layers(self, channels, stride, in_channels):
        inner = channels // 4
        self.bn1 = nn.BatchNorm()
        self.conv1 = nn.Conv2D(inner, 1, use_bias=False)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(inner, stride, inner)
        self.bn3 = nn.BatchNorm()
        self.conv3 = nn.Conv2D(channels, 1, use_bias=False)


class _ResNet(Network):
    """Base of ResNetV1 and ResNetV2: the stem and the stages."""

    def _check_settings(self, layers, channels):
        if len(layers) != len(channels) - 1:
            raise MismatchError(
                f"{type(self).__name__}: {len(layers)} numbers of layers need {len(layers) + 1} of"
                f" channels, got {len(channels)}"
            )

    def _add_stem(self, channels, thumbnail):
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
            return
        self.features.add(
            nn.Conv2D(channels, 7, strides=2, padding=3, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(3, strides=2, padding=1),
        )

    def _add_stages(self, block, layers, channels):
        for i, count in enumerate(layers):
            before, size = channels[i : i + 2]
            stage = nn.HybridSequential(prefix=f"stage{i + 1}_")
            with stage.name_scope():
                stride = 1 if i == 0 else 2
                stage.add(block(size, stride, size != before, in_channels=before, prefix=""))
                for _ in range(count - 1):
                    stage.add(block(size, 1, False, in_channels=size, prefix=""))
            self.features.add(stage)


class ResNetV1(_ResNet):
    """A residual network of version 1.

    Parameters
    ----------
    block : class
        BasicBlockV1, BottleneckV1 or BottleneckV1b.
    layers : list of int
        Number of blocks in each stage.
    channels : list of int
        Number of channels of the stem, and of each stage.
    thumbnail : bool
        Use a stem for images of 32x32.

    Examples
    --------
    >>> net = ResNetV1(BasicBlockV1, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.zeros((2, 3, 32, 32))).shape
    (2, 10)
    """

    def __init__(
        self,
        block: type[HybridBlock],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._check_settings(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_stem(channels[0], thumbnail)
            self._add_stages(block, layers, channels)
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """A residual network of version 2.

    Parameters
    ----------
    block : class
        BasicBlockV2 or BottleneckV2.
    layers, channels, classes, thumbnail
        See :class:`ResNetV1`.

    Examples
    --------
    >>> net = ResNetV2(BasicBlockV2, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.zeros((2, 3, 32, 32))).shape
    (2, 10)
    """

    def __init__(
        self,
        block: type[HybridBlock],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._check_settings(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.BatchNorm(scale=False, center=False))
            self._add_stem(channels[0], thumbnail)
            self._add_stages(block, layers, channels)
            self.features.add(
                nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten()
            )
            self.output = nn.Dense(classes, in_units=channels[-1])
