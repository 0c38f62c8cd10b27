"""VGG with 11, 13, 16 or 19 layers, with and without batch normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import initializer
from ....base.guard import guarded
from ...block import HybridBlock
from ...errors import MismatchError
from ...nn import Activation, BatchNorm, Conv2D, Dense, Dropout, HybridSequential, MaxPool2D
from ..model_store import ROOT
from .pretrained import CPU, loaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....base.typing import FileName
    from ...parameter.parameter import Contexts

_FILTERS = (64, 128, 256, 512, 512)
vgg_spec = {
    11: ([1, 1, 2, 2, 2], [*_FILTERS]),
    13: ([2, 2, 2, 2, 2], [*_FILTERS]),
    16: ([2, 2, 3, 3, 3], [*_FILTERS]),
    19: ([2, 2, 4, 4, 4], [*_FILTERS]),
}


@guarded(but=("hybrid_forward",))
class VGG(HybridBlock):
    """VGG (Simonyan and Zisserman, 2015), images of 224 x 224.

    Parameters
    ----------
    layers, filters : list of int
        Convolutions of each stage and their channels.
    classes : int
    batch_norm : bool
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
            raise MismatchError(f"VGG: {len(layers)} stages, {len(filters)} numbers of channels")
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            with self.features.name_scope():
                for count, channels in zip(layers, filters):
                    for _ in range(count):
                        self._add_convolution(channels, batch_norm)
                    self.features.add(MaxPool2D(strides=2))
                for _ in range(2):
                    self.features.add(
                        Dense(4096, activation="relu", weight_initializer="normal"), Dropout(0.5)
                    )
            self.output = Dense(classes, weight_initializer="normal")

    def _add_convolution(self, channels, batch_norm):
        width = initializer.Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        self.features.add(Conv2D(channels, 3, padding=1, weight_initializer=width))
        if batch_norm:
            self.features.add(BatchNorm())
        self.features.add(Activation("relu"))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes) of images."""
        return self.output(self.features(x))


def get_vgg(
    num_layers: int,
    pretrained: bool = False,
    ctx: Contexts = CPU,
    root: FileName = ROOT,
    **kwargs: Any,
) -> VGG:
    """VGG of 11, 13, 16 or 19 layers; parameters as of ``alexnet``."""
    if num_layers not in vgg_spec:
        raise MismatchError(
            f"Invalid number of layers: {num_layers}. Options are {sorted(vgg_spec)}"
        )
    net = VGG(*vgg_spec[num_layers], **kwargs)
    suffix = "_bn" if kwargs.get("batch_norm") else ""
    return loaded(net, f"vgg{num_layers}{suffix}", pretrained, ctx, root)


def vgg11(**kwargs: Any) -> VGG:
    """VGG of 11 layers; parameters as of ``get_vgg``."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs: Any) -> VGG:
    """VGG of 13 layers; parameters as of ``get_vgg``."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs: Any) -> VGG:
    """VGG of 16 layers; parameters as of ``get_vgg``."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs: Any) -> VGG:
    """VGG of 19 layers; parameters as of ``get_vgg``."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG of 11 layers with batch normalization; parameters as of ``get_vgg``."""
    return get_vgg(11, **{**kwargs, "batch_norm": True})


def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG of 13 layers with batch normalization; parameters as of ``get_vgg``."""
    return get_vgg(13, **{**kwargs, "batch_norm": True})


def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG of 16 layers with batch normalization; parameters as of ``get_vgg``."""
    return get_vgg(16, **{**kwargs, "batch_norm": True})


def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG of 19 layers with batch normalization; parameters as of ``get_vgg``."""
    return get_vgg(19, **{**kwargs, "batch_norm": True})
