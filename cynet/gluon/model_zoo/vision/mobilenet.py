"""MobileNet and MobileNetV2, in four widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ...block import HybridBlock
from ...nn import (
    Activation,
    BatchNorm,
    Conv2D,
    Dense,
    Flatten,
    GlobalAvgPool2D,
    HybridSequential,
)
from ..model_store import ROOT
from .pretrained import CPU, loaded

if TYPE_CHECKING:
    from ....base.typing import FileName
    from ...parameter.parameter import Contexts


@guarded(but=("hybrid_forward",))
class RELU6(HybridBlock):
    """``min(max(x, 0), 6)``."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The layer's output."""
        return F.clip(x, 0, 6, name="relu6")


def _add_conv(out, channels, kernel=1, stride=1, padding=0, groups=1, active=True, relu6=False):
    out.add(Conv2D(channels, kernel, stride, padding, groups=groups, use_bias=False), BatchNorm())
    if active:
        out.add(RELU6() if relu6 else Activation("relu"))


@guarded(but=("hybrid_forward",))
class LinearBottleneck(HybridBlock):
    """An inverted residual: wide in the middle, by a convolution of each channel apart.

    Parameters
    ----------
    in_channels, channels, t, stride : int
        `t` is how much wider.
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = HybridSequential()
            _add_conv(self.out, wide, relu6=True)
            _add_conv(self.out, wide, 3, stride, 1, groups=wide, relu6=True)
            _add_conv(self.out, channels, active=False)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The block's output."""
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


@guarded(but=("hybrid_forward",))
class MobileNet(HybridBlock):
    """MobileNet (Howard et al., 2017), images of 224 x 224.

    Parameters
    ----------
    multiplier : float
        Of the numbers of channels.
    classes : int
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        widths = [32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024]
        strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1]
        channels = [int(each * multiplier) for each in widths]
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            with self.features.name_scope():
                _add_conv(self.features, channels[0], 3, 2, 1)
                for before, after, stride in zip(channels, channels[1:], strides):
                    _add_conv(self.features, before, 3, stride, 1, groups=before)
                    _add_conv(self.features, after)
                self.features.add(GlobalAvgPool2D(), Flatten())
            self.output = Dense(classes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes) of images."""
        return self.output(self.features(x))


@guarded(but=("hybrid_forward",))
class MobileNetV2(HybridBlock):
    """MobileNetV2 (Sandler et al., 2018), images of 224 x 224.

    Parameters
    ----------
    multiplier : float
        Of the numbers of channels.
    classes : int
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # (channels, wider by, blocks, stride of the first)
        stages = [(16, 1, 1, 1), (24, 6, 2, 2), (32, 6, 3, 2), (64, 6, 4, 2), (96, 6, 3, 1),
                  (160, 6, 3, 2), (320, 6, 1, 1)]  # fmt: skip
        with self.name_scope():
            self.features = HybridSequential(prefix="features_")
            with self.features.name_scope():
                before = int(32 * multiplier)
                _add_conv(self.features, before, 3, 2, 1, relu6=True)
                for width, t, count, first in stages:
                    channels = int(width * multiplier)
                    for i in range(count):
                        stride = first if i == 0 else 1
                        self.features.add(LinearBottleneck(before, channels, t, stride))
                        before = channels
                last = int(1280 * multiplier) if multiplier > 1.0 else 1280
                _add_conv(self.features, last, relu6=True)
                self.features.add(GlobalAvgPool2D())
            self.output = HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(Conv2D(classes, 1, use_bias=False, prefix="pred_"), Flatten())

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes) of images."""
        return self.output(self.features(x))


def _suffix(multiplier):
    return f"{multiplier:.2f}"[:-1] if multiplier in (1.0, 0.5) else f"{multiplier:.2f}"


def get_mobilenet(
    multiplier: float,
    pretrained: bool = False,
    ctx: Contexts = CPU,
    root: FileName = ROOT,
    **kwargs: Any,
) -> MobileNet:
    """MobileNet of a width; parameters as of ``alexnet``."""
    net = MobileNet(multiplier, **kwargs)
    return loaded(net, f"mobilenet{_suffix(multiplier)}", pretrained, ctx, root)


def get_mobilenet_v2(
    multiplier: float,
    pretrained: bool = False,
    ctx: Contexts = CPU,
    root: FileName = ROOT,
    **kwargs: Any,
) -> MobileNetV2:
    """MobileNetV2 of a width; parameters as of ``alexnet``."""
    net = MobileNetV2(multiplier, **kwargs)
    return loaded(net, f"mobilenetv2_{_suffix(multiplier)}", pretrained, ctx, root)


def mobilenet1_0(**kwargs: Any) -> MobileNet:
    """MobileNet of width 1.0; parameters as of ``alexnet``."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet0_75(**kwargs: Any) -> MobileNet:
    """MobileNet of width 0.75; parameters as of ``alexnet``."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet0_5(**kwargs: Any) -> MobileNet:
    """MobileNet of width 0.5; parameters as of ``alexnet``."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet0_25(**kwargs: Any) -> MobileNet:
    """MobileNet of width 0.25; parameters as of ``alexnet``."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_1_0(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of width 1.0; parameters as of ``alexnet``."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet_v2_0_75(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of width 0.75; parameters as of ``alexnet``."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet_v2_0_5(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of width 0.5; parameters as of ``alexnet``."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet_v2_0_25(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of width 0.25; parameters as of ``alexnet``."""
    return get_mobilenet_v2(0.25, **kwargs)
