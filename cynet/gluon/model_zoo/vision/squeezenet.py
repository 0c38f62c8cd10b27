"""SqueezeNet: few weights, by 1x1 convolutions before each wider layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import shown
from ....base.guard import guarded
from ... import nn
from ...contrib.nn import HybridConcurrent
from ...errors import MismatchError
from ..model_store import ROOT
from .network import Network, network_function, with_pretrained_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


def _conv_relu(channels, kernel, padding=0):
    out = nn.HybridSequential(prefix="")
    out.add(nn.Conv2D(channels, kernel, padding=padding), nn.Activation("relu"))
    return out


def _fire_module(squeezed, channels):
    """Return a fire module: a 1x1 convolution to few channels, then 1x1 and 3x3 convolutions."""
    expand = HybridConcurrent(axis=1, prefix="")
    out = nn.HybridSequential(prefix="")
    out.add(_conv_relu(squeezed, 1))
    expand.add(_conv_relu(channels, 1), _conv_relu(channels, 3, 1))
    out.add(expand)
    return out


# version -> the first convolution, and the fire modules between poolings
_FIRES_BY_VERSION = {  # first convolution, channels of the fire modules
    "1.0": ((96, 7), ((16, 16, 32), (32, 48, 48, 64), (64,))),
    "1.1": ((64, 3), ((16, 16), (32, 32), (48, 48, 64, 64))),
}


class SqueezeNet(Network):
    """SqueezeNet, for 224x224.

    Parameters
    ----------
    version : str
        ``'1.0'`` or ``'1.1'``.

    Raises
    ------
    MismatchError
        `version` is another one.

    Examples
    --------
    >>> net = SqueezeNet("1.1", classes=10)
    >>> len(net.features), len(net.output)
    (14, 4)
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if version not in _FIRES_BY_VERSION:
            raise MismatchError(f"SqueezeNet: version must be '1.0' or '1.1', got {shown(version)}")
        (channels, kernel), groups = _FIRES_BY_VERSION[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(channels, kernel, strides=2), nn.Activation("relu"))
            for group in groups:
                self.features.add(nn.MaxPool2D(3, strides=2, ceil_mode=True))
                for squeezed in group:
                    self.features.add(_fire_module(squeezed, 4 * squeezed))
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(
                nn.Conv2D(classes, 1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten()
            )


@guarded
def get_squeezenet(
    version: str,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> SqueezeNet:
    """SqueezeNet 1.0 or 1.1: images (N, 3, 224, 224) to scores (N, classes).

    Parameters
    ----------
    version : str
        ``'1.0'`` or ``'1.1'``.
    **kwargs
        ``classes``, ``prefix`` and ``params``.

    Raises
    ------
    MismatchError
        `version` is another one.
    FileError
        `pretrained` is True, and the weights are neither in `root` nor can be had.

    Examples
    --------
    >>> from cynet.gluon.model_zoo.vision.squeezenet import get_squeezenet
    >>> get_squeezenet("1.1", classes=10).features[0]
    Conv2D(None -> 64, kernel_size=(3, 3), stride=(2, 2))
    """
    return with_pretrained_weights(
        SqueezeNet(version, **kwargs), f"squeezenet{version}", pretrained, ctx, root
    )


def _builder_of(version: str, about: str) -> Callable[..., SqueezeNet]:
    (channels, kernel), _ = _FIRES_BY_VERSION[version]
    return network_function(
        f"squeezenet{version.replace('.', '_')}",
        get_squeezenet,
        {"version": version},
        about,
        f"""\
>>> net.features[0], net.output[0].weight.shape[0]
(Conv2D(None -> {channels}, kernel_size=({kernel}, {kernel}), stride=(2, 2)), 10)""",
        known_as=f"squeezenet{version}",
    )


squeezenet1_0 = _builder_of("1.0", "SqueezeNet 1.0: 1.25 million weights with 1000 classes.")
squeezenet1_1 = _builder_of(
    "1.1",
    "SqueezeNet 1.1, a third of the work of 1.0 at the same accuracy: 1.24 million weights with\n"
    "1000 classes.",
)
