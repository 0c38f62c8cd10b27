"""Residual networks by their number of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ..model_store import ROOT
from .network import Network, chosen, made
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
    from ....typing import FileName
    from ...parameter.parameter import Contexts

# number of layers -> (kind of block, blocks of each stage, channels); scripts read these tables
resnet_spec = {
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
_VERSIONS = {1: 0, 2: 1}  # places in the two lists


@guarded
def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> Network:
    """A residual network of 18, 34, 50, 101 or 152 layers.

    Parameters
    ----------
    version : int
        1: normalization after convolutions; 2: before them.
    num_layers : int
        18, 34, 50, 101 or 152.
    pretrained : bool
        Load weights trained on ImageNet, which are for 1000 classes.
    ctx : Context or list of Context, optional
        Devices of the weights; the CPU by default.
    root : str
        Folder of the weights' files, which are downloaded into it if necessary.
    **kwargs
        ``classes``, ``thumbnail`` (a stem for images of 32x32), ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1 or ResNetV2
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Raises
    ------
    MismatchError
        There is no such `version` or `num_layers`; the message lists those that there are.
    FileError
        `pretrained` is asked for, and the weights are neither in `root` nor can be had.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_resnet(1, 18, classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.zeros((1, 3, 32, 32))).shape
    (1, 10)
    """
    kind, layers, channels = chosen(resnet_spec, num_layers, "num_layers")
    place = chosen(_VERSIONS, version, "version")
    network, block = resnet_net_versions[place], resnet_block_versions[place][kind]
    name = f"resnet{num_layers}_v{version}"
    return made(network(block, layers, channels, **kwargs), name, pretrained, ctx, root)


@guarded
def resnet18_v1(**kwargs: Any) -> Network:
    """ResNet of 18 layers, version 1: 11.7 million weights with 1000 classes.

    Four stages of 2, 2, 2 and 2 blocks; each block has two 3x3 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet18_v1(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [2, 2, 2, 2]
    >>> net.output
    Dense(512 -> 10, linear)
    """
    return get_resnet(1, 18, **kwargs)


@guarded
def resnet34_v1(**kwargs: Any) -> Network:
    """ResNet of 34 layers, version 1: 21.8 million weights with 1000 classes.

    Four stages of 3, 4, 6 and 3 blocks; each block has two 3x3 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet34_v1(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 4, 6, 3]
    >>> net.output
    Dense(512 -> 10, linear)
    """
    return get_resnet(1, 34, **kwargs)


@guarded
def resnet50_v1(**kwargs: Any) -> Network:
    """ResNet of 50 layers, version 1: 25.6 million weights with 1000 classes.

    Four stages of 3, 4, 6 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet50_v1(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 4, 6, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(1, 50, **kwargs)


@guarded
def resnet101_v1(**kwargs: Any) -> Network:
    """ResNet of 101 layers, version 1: 44.6 million weights with 1000 classes.

    Four stages of 3, 4, 23 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet101_v1(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 4, 23, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(1, 101, **kwargs)


@guarded
def resnet152_v1(**kwargs: Any) -> Network:
    """ResNet of 152 layers, version 1: 60.3 million weights with 1000 classes.

    Four stages of 3, 8, 36 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet152_v1(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 8, 36, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(1, 152, **kwargs)


@guarded
def get_resnet_v1b(
    num_layers: int,
    pretrained: bool = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> ResNetV1:
    """A residual network of version 1 that has its strides in 3x3 convolutions.

    It computes what torchvision's network of as many layers computes, for which
    ``python -m cynet.tools.convert`` converts weights. For 18 and 34 layers that is version 1.

    Parameters
    ----------
    num_layers : int
        50, 101 or 152.
    pretrained : bool
        Load weights from ``NAME.params`` in `root`, see :func:`get_model_file`.
    ctx : Context or list of Context, optional
        Devices of the weights; the CPU by default.
    root : str
        Folder of the weights' files.
    **kwargs
        ``classes``, ``thumbnail`` (a stem for images of 32x32), ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Raises
    ------
    MismatchError
        There is no such `num_layers`.
    FileError
        `pretrained` is asked for, and the weights are not in `root`.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_resnet_v1b(50, classes=10, thumbnail=True)
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    deep = {depth: spec for depth, spec in resnet_spec.items() if spec[0] == "bottle_neck"}
    _, layers, channels = chosen(deep, num_layers, "num_layers")
    net = ResNetV1(BottleneckV1b, layers, channels, **kwargs)
    return made(net, f"resnet{num_layers}_v1b", pretrained, ctx, root)


@guarded
def resnet50_v1b(**kwargs: Any) -> ResNetV1:
    """ResNet of 50 layers as torchvision has it: 25.6 million weights with 1000 classes.

    Four stages of 3, 4, 6 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet_v1b` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet50_v1b(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 4, 6, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet_v1b(50, **kwargs)


@guarded
def resnet101_v1b(**kwargs: Any) -> ResNetV1:
    """ResNet of 101 layers as torchvision has it: 44.5 million weights with 1000 classes.

    Four stages of 3, 4, 23 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet_v1b` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet101_v1b(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 4, 23, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet_v1b(101, **kwargs)


@guarded
def resnet152_v1b(**kwargs: Any) -> ResNetV1:
    """ResNet of 152 layers as torchvision has it: 60.2 million weights with 1000 classes.

    Four stages of 3, 8, 36 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet_v1b` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV1
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet152_v1b(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 8, 36, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet_v1b(152, **kwargs)


@guarded
def resnet18_v2(**kwargs: Any) -> Network:
    """ResNet of 18 layers, version 2: 11.7 million weights with 1000 classes.

    Four stages of 2, 2, 2 and 2 blocks; each block has two 3x3 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV2
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet18_v2(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [2, 2, 2, 2]
    >>> net.output
    Dense(512 -> 10, linear)
    """
    return get_resnet(2, 18, **kwargs)


@guarded
def resnet34_v2(**kwargs: Any) -> Network:
    """ResNet of 34 layers, version 2: 21.8 million weights with 1000 classes.

    Four stages of 3, 4, 6 and 3 blocks; each block has two 3x3 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV2
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet34_v2(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 4, 6, 3]
    >>> net.output
    Dense(512 -> 10, linear)
    """
    return get_resnet(2, 34, **kwargs)


@guarded
def resnet50_v2(**kwargs: Any) -> Network:
    """ResNet of 50 layers, version 2: 25.5 million weights with 1000 classes.

    Four stages of 3, 4, 6 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV2
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet50_v2(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 4, 6, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(2, 50, **kwargs)


@guarded
def resnet101_v2(**kwargs: Any) -> Network:
    """ResNet of 101 layers, version 2: 44.5 million weights with 1000 classes.

    Four stages of 3, 4, 23 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV2
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet101_v2(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 4, 23, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(2, 101, **kwargs)


@guarded
def resnet152_v2(**kwargs: Any) -> Network:
    """ResNet of 152 layers, version 2: 60.2 million weights with 1000 classes.

    Four stages of 3, 8, 36 and 3 blocks; each block has 1x1, 3x3 and 1x1 convolutions.

    Parameters
    ----------
    **kwargs
        What :func:`get_resnet` takes: ``pretrained``, ``ctx``, ``root``, ``classes``,
        ``thumbnail``, ``prefix`` and ``params``.

    Returns
    -------
    ResNetV2
        Takes images (N, 3, 224, 224) and gives scores (N, classes).

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.resnet152_v2(classes=10)
    >>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
    [3, 8, 36, 3]
    >>> net.output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(2, 152, **kwargs)
