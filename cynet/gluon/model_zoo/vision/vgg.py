"""VGG: stacks of 3x3 convolutions, with and without batch normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ....initializer import Xavier
from ... import nn
from ...errors import MismatchError
from ..model_store import ROOT
from .network import Network, chosen, made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....typing import FileName
    from ...parameter.parameter import Contexts

# number of layers -> (convolutions of each stage, filters); scripts read this table
vgg_spec = {
    11: ([1, 1, 2, 2, 2], [64, 128, 256, 512, 512]),
    13: ([2, 2, 2, 2, 2], [64, 128, 256, 512, 512]),
    16: ([2, 2, 3, 3, 3], [64, 128, 256, 512, 512]),
    19: ([2, 2, 4, 4, 4], [64, 128, 256, 512, 512]),
}


@guarded(but=("hybrid_forward",))
class VGG(Network):
    """VGG, for 224x224.

    Parameters
    ----------
    layers, filters : list of int
        Convolutions in each stack, and the channels of each.
    classes : int
    batch_norm : bool
        Normalize behind each convolution.
    **kwargs
        prefix and params of :class:`Block`.

    Examples
    --------
    >>> import cynet as mx
    >>> net = mx.gluon.model_zoo.vision.VGG([1, 1], [8, 16], classes=10)
    >>> len(net.features), net.output
    (10, Dense(None -> 10, linear))
    """

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise MismatchError(
                f"VGG: {len(layers)} numbers of layers and {len(filters)} of filters do not fit"
            )
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            for count, channels in zip(layers, filters):
                for _ in range(count):
                    init = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                    self.features.add(nn.Conv2D(channels, 3, padding=1, weight_initializer=init))
                    if batch_norm:
                        self.features.add(nn.BatchNorm())
                    self.features.add(nn.Activation("relu"))
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                self.features.add(
                    nn.Dense(4096, activation="relu", weight_initializer="normal"), nn.Dropout(0.5)
                )
            self.output = nn.Dense(classes, weight_initializer="normal")


@guarded
def get_vgg(
    num_layers: int,
    pretrained: bool = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> VGG:
    """VGG of 11, 13, 16 or 19 layers.

    Parameters
    ----------
    num_layers : int
    pretrained : bool
        Load weights that were trained on ImageNet.
    ctx : Context or list of Context, optional
        Where they go.
    root : str
        Folder of the files of weights.
    **kwargs
        batch_norm, classes, prefix, params.
    """
    layers, filters = chosen(vgg_spec, num_layers, "num_layers")
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return made(VGG(layers, filters, **kwargs), name, pretrained, ctx, root)


@guarded
def vgg11(**kwargs: Any) -> VGG:
    """VGG of 11 layers; see :func:`get_vgg`."""
    return get_vgg(11, **kwargs)


@guarded
def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG of 11 layers with batch normalization; see :func:`get_vgg`."""
    return get_vgg(11, batch_norm=True, **kwargs)


@guarded
def vgg13(**kwargs: Any) -> VGG:
    """VGG of 13 layers; see :func:`get_vgg`."""
    return get_vgg(13, **kwargs)


@guarded
def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG of 13 layers with batch normalization; see :func:`get_vgg`."""
    return get_vgg(13, batch_norm=True, **kwargs)


@guarded
def vgg16(**kwargs: Any) -> VGG:
    """VGG of 16 layers; see :func:`get_vgg`."""
    return get_vgg(16, **kwargs)


@guarded
def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG of 16 layers with batch normalization; see :func:`get_vgg`."""
    return get_vgg(16, batch_norm=True, **kwargs)


@guarded
def vgg19(**kwargs: Any) -> VGG:
    """VGG of 19 layers; see :func:`get_vgg`."""
    return get_vgg(19, **kwargs)


@guarded
def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG of 19 layers with batch normalization; see :func:`get_vgg`."""
    return get_vgg(19, batch_norm=True, **kwargs)
