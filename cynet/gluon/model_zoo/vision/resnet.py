"""Residual networks by their number of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model_store import ROOT
from .network import (
    Network,
    choose_option,
    network_function,
    number_text,
    stages_example,
    with_pretrained_weights,
)
from .residual import (
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV1b,
    BottleneckV2,
    ResNetV1,
    ResNetV2,
    _conv3x3,  # noqa: F401 - MXNet's module has it, too
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["BasicBlockV1", "BasicBlockV2", "BottleneckV1", "BottleneckV1b", "BottleneckV2"]
__all__ += ["ResNetV1", "ResNetV2", "get_resnet", "get_resnet_v1b", "resnet101_v1", "resnet101_v1b"]
__all__ += ["resnet18_v1", "resnet101_v2", "resnet152_v1", "resnet152_v1b", "resnet152_v2"]
__all__ += ["resnet18_v2", "resnet34_v1", "resnet34_v2", "resnet50_v1", "resnet50_v1b"]
__all__ += ["resnet50_v2"]

# number of layers -> (kind of block, blocks per stage, channels); users' scripts read it
resnet_spec = {  # kind of block, blocks per stage, channels
    18: ("basic_block", [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: ("basic_block", [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: ("bottle_neck", [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: ("bottle_neck", [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: ("bottle_neck", [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}
resnet_net_versions = [ResNetV1, ResNetV2]
resnet_block_versions = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]
_INDEX_BY_VERSION = {1: 0, 2: 1}  # index in the two lists above


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> Network:
    """ResNet of 18, 34, 50, 101 or 152 layers: images (N, 3, 224, 224) to scores (N, classes).

    Parameters
    ----------
    version : int
        1: normalization after convolutions; 2: before them.
    num_layers : int
        18, 34, 50, 101 or 152.
    **kwargs
        ``classes``, ``thumbnail`` (a stem for images of 32x32), ``prefix`` and ``params``.

    Raises
    ------
    MismatchError
        There is no such `version` or `num_layers`; the message lists those that there are.
    FileError
        `pretrained` is True, and the weights are neither in `root` nor can be had.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_resnet(1, 18, classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.zeros((1, 3, 32, 32))).shape
    (1, 10)
    """
    kind, layers, channels = choose_option(resnet_spec, num_layers, "num_layers")
    place = choose_option(_INDEX_BY_VERSION, version, "version")
    network, block = resnet_net_versions[place], resnet_block_versions[place][kind]
    name = f"resnet{num_layers}_v{version}"
    return with_pretrained_weights(
        network(block, layers, channels, **kwargs), name, pretrained, ctx, root
    )


def _builder_of(builder, layers, suffix, settings, about, kind):
    shape, lengths, channels = resnet_spec[layers]
    block = {"basic_block": "two 3x3 convolutions", "bottle_neck": "1x1, 3x3 and 1x1 convolutions"}
    return network_function(
        f"resnet{layers}_{suffix}",
        builder,
        {"num_layers": layers, **settings},
        f"ResNet of {layers} layers{about} weights with 1000 classes.",
        stages_example(lengths, f"Dense({channels[-1]} -> 10, linear)"),
        kind=kind,
        more=f"Four stages of {number_text(lengths)} blocks; each block has {block[shape]}.",
        keywords="``classes``, ``thumbnail``",
    )


def _version_builder(version: int, layers: int, millions: str) -> Callable[..., Network]:
    about = f", version {version}: {millions} million"
    kind = f"ResNetV{version}"
    return _builder_of(get_resnet, layers, f"v{version}", {"version": version}, about, kind)


resnet18_v1 = _version_builder(1, 18, "11.7")
resnet34_v1 = _version_builder(1, 34, "21.8")
resnet50_v1 = _version_builder(1, 50, "25.6")
resnet101_v1 = _version_builder(1, 101, "44.6")
resnet152_v1 = _version_builder(1, 152, "60.3")
resnet18_v2 = _version_builder(2, 18, "11.7")
resnet34_v2 = _version_builder(2, 34, "21.8")
resnet50_v2 = _version_builder(2, 50, "25.5")
resnet101_v2 = _version_builder(2, 101, "44.5")
resnet152_v2 = _version_builder(2, 152, "60.2")


def get_resnet_v1b(
    num_layers: int,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> ResNetV1:
    """ResNet v1 with strides in 3x3 convolutions: images (N, 3, 224, 224) to scores (N, classes).

    It computes what torchvision's network of as many layers computes, for which
    ``python -m cynet.tools.convert`` converts weights. For 18 and 34 layers that is version 1.

    Parameters
    ----------
    num_layers : int
        50, 101 or 152.
    pretrained : bool or str
        Load weights from ``NAME.params`` in `root`, see :func:`get_model_file`; or from a file.
    root : str
        Folder of the weights' files.
    **kwargs
        ``classes``, ``thumbnail`` (a stem for images of 32x32), ``prefix`` and ``params``.

    Raises
    ------
    MismatchError
        There is no such `num_layers`.
    FileError
        `pretrained` is True, and the weights are not in `root`.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_resnet_v1b(50, classes=10, thumbnail=True)
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    deep = {depth: spec for depth, spec in resnet_spec.items() if spec[0] == "bottle_neck"}
    _, layers, channels = choose_option(deep, num_layers, "num_layers")
    net = ResNetV1(BottleneckV1b, layers, channels, **kwargs)
    return with_pretrained_weights(net, f"resnet{num_layers}_v1b", pretrained, ctx, root)


def _torchvision_builder(layers: int, millions: str) -> Callable[..., ResNetV1]:
    about = f" as torchvision has it: {millions} million"
    return _builder_of(get_resnet_v1b, layers, "v1b", {}, about, "ResNetV1")


resnet50_v1b = _torchvision_builder(50, "25.6")
resnet101_v1b = _torchvision_builder(101, "44.5")
resnet152_v1b = _torchvision_builder(152, "60.2")
