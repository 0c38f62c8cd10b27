"""Residual networks, version 1 (activation behind the sum) and 2 (in front of convolutions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import UndefinedError
from ....base.guard import guarded
from ...block import HybridBlock
from ...errors import MismatchError
from ...nn import (
    Activation,
    BatchNorm,
    Conv2D,
    Dense,
    Flatten,
    GlobalAvgPool2D,
    HybridSequential,
    MaxPool2D,
)
from ..model_store import ROOT
from .pretrained import CPU, loaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....base.typing import FileName
    from ...parameter.parameter import Contexts


def _conv3x3(channels, stride, in_channels):
    return Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=in_channels)


class _BlockV1(HybridBlock):
    """A residual block of version 1: `body`, and `downsample` for the input where it is needed."""

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.body = HybridSequential(prefix="")
        self._fill_body(channels, stride, in_channels)
        self.downsample = None
        if downsample:
            self.downsample = HybridSequential(prefix="")
            self.downsample.add(
                Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels), BatchNorm()
            )

    def _fill_body(self, channels, stride, in_channels):
        raise UndefinedError(f"{type(self).__name__} defines no _fill_body")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """``relu(body(x) + x)``."""
        residual = x if self.downsample is None else self.downsample(x)
        return F.Activation(residual + self.body(x), act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two convolutions 3 x 3.

    Parameters
    ----------
    channels, stride : int
    downsample : bool
        Whether the input changes its shape.
    in_channels : int
    """

    def _fill_body(self, channels, stride, in_channels):
        self.body.add(
            _conv3x3(channels, stride, in_channels),
            BatchNorm(),
            Activation("relu"),
            _conv3x3(channels, 1, channels),
            BatchNorm(),
        )


class BottleneckV1(_BlockV1):
    """Convolutions 1 x 1, 3 x 3 and 1 x 1, the first two with a quarter of the channels.

    Parameters
    ----------
    channels, stride : int
    downsample : bool
        Whether the input changes its shape.
    in_channels : int
    """

    def _fill_body(self, channels, stride, in_channels):
        narrow = channels // 4
        self.body.add(
            Conv2D(narrow, 1, stride),
            BatchNorm(),
            Activation("relu"),
            _conv3x3(narrow, 1, narrow),
            BatchNorm(),
            Activation("relu"),
            Conv2D(channels, 1, 1),
            BatchNorm(),
        )


class BasicBlockV2(HybridBlock):
    """Two convolutions 3 x 3, each behind normalization and activation.

    Parameters
    ----------
    channels, stride : int
    downsample : bool
        Whether the input changes its shape.
    in_channels : int
    """

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.bn1 = BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self.downsample = None
        if downsample:
            self.downsample = Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The sum of the input and of what the convolutions make of it."""
        residual = x
        x = F.Activation(self.bn1(x), act_type="relu")
        if self.downsample is not None:
            residual = self.downsample(x)
        x = self.conv1(x)
        x = self.conv2(F.Activation(self.bn2(x), act_type="relu"))
        return x + residual


class BottleneckV2(HybridBlock):
    """Convolutions 1 x 1, 3 x 3 and 1 x 1, each behind normalization and activation.

    Parameters
    ----------
    channels, stride : int
    downsample : bool
        Whether the input changes its shape.
    in_channels : int
    """

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        narrow = channels // 4
        self.bn1 = BatchNorm()
        self.conv1 = Conv2D(narrow, 1, 1, use_bias=False)
        self.bn2 = BatchNorm()
        self.conv2 = _conv3x3(narrow, stride, narrow)
        self.bn3 = BatchNorm()
        self.conv3 = Conv2D(channels, 1, 1, use_bias=False)
        self.downsample = None
        if downsample:
            self.downsample = Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The sum of the input and of what the convolutions make of it."""
        residual = x
        x = F.Activation(self.bn1(x), act_type="relu")
        if self.downsample is not None:
            residual = self.downsample(x)
        x = self.conv1(x)
        x = self.conv2(F.Activation(self.bn2(x), act_type="relu"))
        x = self.conv3(F.Activation(self.bn3(x), act_type="relu"))
        return x + residual


def _stage(block, count, channels, stride, number, in_channels):
    stage = HybridSequential(prefix=f"stage{number}_")
    with stage.name_scope():
        stage.add(block(channels, stride, channels != in_channels, in_channels, prefix=""))
        for _ in range(count - 1):
            stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
    return stage


def _stem(features, channels, thumbnail):
    if thumbnail:
        features.add(_conv3x3(channels, 1, 0))
    else:
        features.add(
            Conv2D(channels, 7, 2, 3, use_bias=False),
            BatchNorm(),
            Activation("relu"),
            MaxPool2D(3, 2, 1),
        )


class _ResNet(HybridBlock):
    """What both versions share."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes) of images."""
        return self.output(self.features(x))


def _check_stages(layers, channels):
    if len(layers) != len(channels) - 1:
        raise MismatchError(
            f"a residual network of {len(layers)} stages needs {len(layers) + 1} numbers of"
            f" channels, got {len(channels)}"
        )


@guarded(but=("hybrid_forward",))
class ResNetV1(_ResNet):
    """Deep residual learning (He et al., 2015), images of 224 x 224.

    Parameters
    ----------
    block : class
        BasicBlockV1 or BottleneckV1.
    layers, channels : list of int
        Blocks of each stage; channels of the stem and of each stage.
    classes : int
    thumbnail : bool
        For small images: a stem of one convolution.
    """

    def __init__(
        self,
        block: type,
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        _check_stages(layers, channels)
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            _stem(self.features, channels[0], thumbnail)
            for i, count in enumerate(layers):
                stride = 1 if i == 0 else 2
                self.features.add(_stage(block, count, channels[i + 1], stride, i + 1, channels[i]))
            self.features.add(GlobalAvgPool2D())
            self.output = Dense(classes, in_units=channels[-1])


@guarded(but=("hybrid_forward",))
class ResNetV2(_ResNet):
    """Identity mappings in deep residual networks (He et al., 2016), images of 224 x 224.

    Parameters
    ----------
    block : class
        BasicBlockV2 or BottleneckV2.
    layers, channels : list of int
        Blocks of each stage; channels of the stem and of each stage.
    classes : int
    thumbnail : bool
        For small images: a stem of one convolution.
    """

    def __init__(
        self,
        block: type,
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        _check_stages(layers, channels)
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            self.features.add(BatchNorm(scale=False, center=False))
            _stem(self.features, channels[0], thumbnail)
            for i, count in enumerate(layers):
                stride = 1 if i == 0 else 2
                self.features.add(_stage(block, count, channels[i + 1], stride, i + 1, channels[i]))
            self.features.add(BatchNorm(), Activation("relu"), GlobalAvgPool2D(), Flatten())
            self.output = Dense(classes, in_units=channels[-1])


_BASIC, _BOTTLENECK = [64, 64, 128, 256, 512], [64, 256, 512, 1024, 2048]
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], _BASIC),
    34: ("basic_block", [3, 4, 6, 3], _BASIC),
    50: ("bottle_neck", [3, 4, 6, 3], _BOTTLENECK),
    101: ("bottle_neck", [3, 4, 23, 3], _BOTTLENECK),
    152: ("bottle_neck", [3, 8, 36, 3], _BOTTLENECK),
}
resnet_net_versions = [ResNetV1, ResNetV2]
resnet_block_versions = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    ctx: Contexts = CPU,
    root: FileName = ROOT,
    **kwargs: Any,
) -> ResNetV1 | ResNetV2:
    """A residual network of version 1 or 2 and 18, 34, 50, 101 or 152 layers.

    Parameters
    ----------
    version, num_layers : int
    pretrained, ctx, root, **kwargs
        As of ``alexnet``.
    """
    if num_layers not in resnet_spec:
        raise MismatchError(
            f"Invalid number of layers: {num_layers}. Options are {sorted(resnet_spec)}"
        )
    if version not in (1, 2):
        raise MismatchError(f"Invalid resnet version: {version}. Options are 1 and 2.")
    kind, layers, channels = resnet_spec[num_layers]
    block = resnet_block_versions[version - 1][kind]
    net = resnet_net_versions[version - 1](block, layers, channels, **kwargs)
    return loaded(net, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


def resnet18_v1(**kwargs: Any) -> ResNetV1:
    """ResNet of 18 layers, version 1; parameters as of ``get_resnet``."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs: Any) -> ResNetV1:
    """ResNet of 34 layers, version 1; parameters as of ``get_resnet``."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs: Any) -> ResNetV1:
    """ResNet of 50 layers, version 1; parameters as of ``get_resnet``."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs: Any) -> ResNetV1:
    """ResNet of 101 layers, version 1; parameters as of ``get_resnet``."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs: Any) -> ResNetV1:
    """ResNet of 152 layers, version 1; parameters as of ``get_resnet``."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs: Any) -> ResNetV2:
    """ResNet of 18 layers, version 2; parameters as of ``get_resnet``."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs: Any) -> ResNetV2:
    """ResNet of 34 layers, version 2; parameters as of ``get_resnet``."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs: Any) -> ResNetV2:
    """ResNet of 50 layers, version 2; parameters as of ``get_resnet``."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs: Any) -> ResNetV2:
    """ResNet of 101 layers, version 2; parameters as of ``get_resnet``."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs: Any) -> ResNetV2:
    """ResNet of 152 layers, version 2; parameters as of ``get_resnet``."""
    return get_resnet(2, 152, **kwargs)
