"""VGG: stacks of 3x3 convolutions, with and without batch normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....initializer import Xavier
from ... import nn
from ...errors import MismatchError
from ..model_store import ROOT
from .network import Network, choose_option, network_function, with_pretrained_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["VGG", "get_vgg", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19"]
__all__ += ["vgg19_bn"]

# number of layers -> (convolutions per stage, filters); users' scripts read it
vgg_spec = {  # convolutions per stage, filters
    11: ([1, 1, 2, 2, 2], [64, 128, 256, 512, 512]),
    13: ([2, 2, 2, 2, 2], [64, 128, 256, 512, 512]),
    16: ([2, 2, 3, 3, 3], [64, 128, 256, 512, 512]),
    19: ([2, 2, 4, 4, 4], [64, 128, 256, 512, 512]),
}


class VGG(Network):
    """VGG, for images of 224x224: stacks of 3x3 convolutions with a pooling layer after each.

    Parameters
    ----------
    layers, filters : list of int
        Convolutions in each stack, and the channels of each.
    batch_norm : bool
        Normalize after each convolution.

    Raises
    ------
    MismatchError
        `layers` and `filters` have different lengths.

    Examples
    --------
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


def get_vgg(
    num_layers: int,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> VGG:
    """VGG of 11, 13, 16 or 19 layers: images (N, 3, 224, 224) to scores (N, classes).

    Parameters
    ----------
    num_layers : int
        11, 13, 16 or 19.
    **kwargs
        ``batch_norm``, ``classes``, ``prefix`` and ``params``.

    Raises
    ------
    MismatchError
        There is no such `num_layers`; the message lists those that there are.
    FileError
        `pretrained` is True, and the weights are neither in `root` nor can be had.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_vgg(11, batch_norm=True, classes=10)
    >>> net.features[:3]
    HybridSequential(
      (0): Conv2D(None -> 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)) (1):
      BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False,
      in_channels=None) (2): Activation(relu)
    )
    """
    layers, filters = choose_option(vgg_spec, num_layers, "num_layers")
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return with_pretrained_weights(VGG(layers, filters, **kwargs), name, pretrained, ctx, root)


def _builder_of(layers: int, millions: str, batch_norm: bool = False) -> Callable[..., VGG]:
    count = sum(vgg_spec[layers][0])
    normalized = ", each normalized" if batch_norm else ""
    return network_function(
        f"vgg{layers}{'_bn' if batch_norm else ''}",
        get_vgg,
        {"num_layers": layers, **({"batch_norm": True} if batch_norm else {})},
        f"VGG of {layers} layers{', with batch normalization' if batch_norm else ''}: {millions} "
        "million weights with 1000 classes.",
        f"""\
>>> sum(isinstance(layer, mx.gluon.nn.Conv2D) for layer in net.features)
{count}
>>> net.output
Dense(None -> 10, linear)""",
        more=f"{count} convolutions of 3x3{normalized}, in five stacks, then three dense layers.",
    )


vgg11 = _builder_of(11, "132.9")
vgg11_bn = _builder_of(11, "132.9", batch_norm=True)
vgg13 = _builder_of(13, "133.0")
vgg13_bn = _builder_of(13, "133.1", batch_norm=True)
vgg16 = _builder_of(16, "138.4")
vgg16_bn = _builder_of(16, "138.4", batch_norm=True)
vgg19 = _builder_of(19, "143.7")
vgg19_bn = _builder_of(19, "143.7", batch_norm=True)
