"""MobileNet, versions 1 and 2: depthwise convolutions, then 1x1 convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import nn
from ...block import HybridBlock
from ..model_store import ROOT
from .network import Network, multiplier_text, network_function, with_pretrained_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["MobileNet", "MobileNetV2", "get_mobilenet", "get_mobilenet_v2", "mobilenet0_25"]
__all__ += ["mobilenet0_5", "mobilenet0_75", "mobilenet1_0", "mobilenet_v2_0_25"]
__all__ += ["mobilenet_v2_0_5", "mobilenet_v2_0_75", "mobilenet_v2_1_0"]


class RELU6(HybridBlock):
    """A ReLU with the upper limit 6."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Clip the input to the range from 0 to 6."""
        return F.clip(x, a_min=0, a_max=6, name="relu6")


def _conv_norm_act(channels, kernel=1, stride=1, padding=0, groups=1, activation=None):
    """Return a convolution, its BatchNorm, and an activation."""
    layer = nn.Conv2D(
        channels, kernel, strides=stride, padding=padding, groups=groups, use_bias=False
    )
    return (layer, nn.BatchNorm(), *([] if activation is None else [activation()]))


def _new_relu():
    return nn.Activation("relu")


class MobileNet(Network):
    """MobileNet, for 224x224.

    Parameters
    ----------
    multiplier : float
        Factor of the numbers of channels.

    Examples
    --------
    >>> net = MobileNet(0.25, classes=10)
    >>> len(net.features), net.output
    (83, Dense(None -> 10, linear))
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        channels = [32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024]
        channels = [int(each * multiplier) for each in channels]
        strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(*_conv_norm_act(channels[0], 3, 2, 1, activation=_new_relu))
                for before, size, stride in zip(channels, channels[1:], strides):
                    self.features.add(
                        *_conv_norm_act(before, 3, stride, 1, groups=before, activation=_new_relu),
                        *_conv_norm_act(size, activation=_new_relu),
                    )
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class LinearBottleneck(HybridBlock):
    """Inverted residual block: 1x1 expansion, depthwise, linear 1x1 projection.

    t: How many times as wide it is inside.
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        inner = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            self.out.add(
                *_conv_norm_act(inner, activation=RELU6),
                *_conv_norm_act(inner, 3, stride, 1, groups=inner, activation=RELU6),
                *_conv_norm_act(channels),
            )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The block's output."""
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNetV2(Network):
    """MobileNet version 2, for images of 224x224.

    Parameters
    ----------
    multiplier : float
        Factor of the numbers of channels.

    Examples
    --------
    >>> net = MobileNetV2(0.25, classes=10)
    >>> len(net.features), len(net.output)
    (24, 2)
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        channels = [32, 16, *[24] * 2, *[32] * 3, *[64] * 4, *[96] * 3, *[160] * 3, 320]
        channels = [int(each * multiplier) for each in channels]
        strides = (1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                self.features.add(*_conv_norm_act(channels[0], 3, 2, 1, activation=RELU6))
                for i, stride in enumerate(strides):
                    widening = 1 if i == 0 else 6
                    self.features.add(
                        LinearBottleneck(channels[i], channels[i + 1], widening, stride)
                    )
                last = int(1280 * multiplier) if multiplier > 1.0 else 1280
                self.features.add(*_conv_norm_act(last, activation=RELU6), nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def get_mobilenet(
    multiplier: float,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> MobileNet:
    """MobileNet with a width multiplier: images (N, 3, 224, 224) to scores (N, classes).

    Parameters
    ----------
    multiplier : float
        Factor of the numbers of channels; there are trained weights for 1, 0.75, 0.5 and 0.25.
    **kwargs
        ``classes``, ``prefix`` and ``params``.

    Raises
    ------
    FileError
        `pretrained` is True, and the weights are neither in `root` nor can be had.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_mobilenet(0.5, classes=10)
    >>> net.features[0].weight.shape[0]  # 32 channels, times 0.5
    16
    """
    name = f"mobilenet{multiplier_text(multiplier)}"
    return with_pretrained_weights(MobileNet(multiplier, **kwargs), name, pretrained, ctx, root)


def get_mobilenet_v2(
    multiplier: float,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> MobileNetV2:
    """MobileNet v2 with a width multiplier: images (N, 3, 224, 224) to scores (N, classes).

    Parameters
    ----------
    multiplier : float
        Factor of the numbers of channels; there are trained weights for 1, 0.75, 0.5 and 0.25.
    **kwargs
        ``classes``, ``prefix`` and ``params``.

    Raises
    ------
    FileError
        `pretrained` is True, and the weights are neither in `root` nor can be had.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_mobilenet_v2(0.5, classes=10)
    >>> net.features[0].weight.shape[0]  # 32 channels, times 0.5
    16
    """
    name = f"mobilenetv2_{multiplier_text(multiplier)}"
    return with_pretrained_weights(MobileNetV2(multiplier, **kwargs), name, pretrained, ctx, root)


def _mobilenet_v1_builder(multiplier: float, millions: str) -> Callable[..., MobileNet]:
    name = multiplier_text(multiplier)
    return network_function(
        f"mobilenet{name.replace('.', '_')}",
        get_mobilenet,
        {"multiplier": multiplier},
        f"MobileNet with {multiplier} times the channels: {millions} million weights with 1000 "
        "classes.",
        f""">>> net.features[-5].weight.shape[0], net.output
({int(1024 * multiplier)}, Dense(None -> 10, linear))""",
        known_as=f"mobilenet{name}",
    )


def _mobilenet_v2_builder(multiplier: float, millions: str) -> Callable[..., MobileNetV2]:
    name = multiplier_text(multiplier)
    return network_function(
        f"mobilenet_v2_{name.replace('.', '_')}",
        get_mobilenet_v2,
        {"multiplier": multiplier},
        f"MobileNet of version 2 with {multiplier} times the channels: {millions} million weights "
        "with 1000 classes.",
        f""">>> net.features[0].weight.shape[0], net.output[0].weight.shape[0]
({int(32 * multiplier)}, 10)""",
        known_as=f"mobilenetv2_{name}",
    )


mobilenet1_0 = _mobilenet_v1_builder(1.0, "4.23")
mobilenet0_75 = _mobilenet_v1_builder(0.75, "2.59")
mobilenet0_5 = _mobilenet_v1_builder(0.5, "1.33")
mobilenet0_25 = _mobilenet_v1_builder(0.25, "0.47")
mobilenet_v2_1_0 = _mobilenet_v2_builder(1.0, "3.50")
mobilenet_v2_0_75 = _mobilenet_v2_builder(0.75, "2.63")
mobilenet_v2_0_5 = _mobilenet_v2_builder(0.5, "1.96")
mobilenet_v2_0_25 = _mobilenet_v2_builder(0.25, "1.52")
