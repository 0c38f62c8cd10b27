"""DenseNet: each layer takes the outputs of all layers before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ... import nn
from ...contrib.nn import HybridConcurrent, Identity
from ..model_store import ROOT
from .network import Network, choose_option, network_function, number_text, with_pretrained_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


def _norm_and_relu():
    return nn.BatchNorm(), nn.Activation("relu")


def _dense_layer(growth_rate, bn_size, dropout):
    """Return a layer that concatenates its input and the output of two convolutions."""
    fresh = nn.HybridSequential(prefix="")
    fresh.add(
        *_norm_and_relu(),
        nn.Conv2D(bn_size * growth_rate, 1, use_bias=False),
        *_norm_and_relu(),
        nn.Conv2D(growth_rate, 3, padding=1, use_bias=False),
    )
    if dropout:
        fresh.add(nn.Dropout(dropout))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(Identity(), fresh)
    return both


def _transition_layer(channels):
    between = nn.HybridSequential(prefix="")
    between.add(
        *_norm_and_relu(), nn.Conv2D(channels, 1, use_bias=False), nn.AvgPool2D(2, strides=2)
    )
    return between


class DenseNet(Network):
    """DenseNet, for 224x224.

    Parameters
    ----------
    num_init_features : int
        Channels of the first convolution.
    growth_rate : int
        Channels that each layer adds.
    block_config : list of int
        Number of layers in each stage.
    bn_size : int
        Channels inside a layer, in growth rates.
    dropout : float
        Share of the elements that training sets to 0 after each layer.

    Examples
    --------
    >>> net = DenseNet(8, 4, [2, 2], classes=10)
    >>> net.output
    Dense(None -> 10, linear)
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                nn.Conv2D(num_init_features, 7, strides=2, padding=3, use_bias=False),
                *_norm_and_relu(),
                nn.MaxPool2D(3, strides=2, padding=1),
            )
            channels = num_init_features
            for i, count in enumerate(block_config, 1):
                stage = nn.HybridSequential(prefix=f"stage{i}_")
                with stage.name_scope():
                    for _ in range(count):
                        stage.add(_dense_layer(growth_rate, bn_size, dropout))
                self.features.add(stage)
                channels += count * growth_rate
                if i < len(block_config):
                    channels //= 2
                    self.features.add(_transition_layer(channels))
            self.features.add(*_norm_and_relu(), nn.AvgPool2D(7), nn.Flatten())
            self.output = nn.Dense(classes)


# number of layers -> (first channels, growth rate, layers per stage); users' scripts read it
densenet_spec = {  # channels, growth rate, layers per stage
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


@guarded
def get_densenet(
    num_layers: int,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> DenseNet:
    """DenseNet of 121, 161, 169 or 201 layers: images (N, 3, 224, 224) to scores (N, classes).

    Parameters
    ----------
    num_layers : int
        121, 161, 169 or 201.
    **kwargs
        ``classes``, ``bn_size``, ``dropout``, ``prefix`` and ``params``.

    Raises
    ------
    MismatchError
        There is no such `num_layers`; the message lists those that there are.
    FileError
        `pretrained` is True, and the weights are neither in `root` nor can be had.

    Examples
    --------
    >>> from cynet.gluon.model_zoo.vision.densenet import get_densenet
    >>> get_densenet(121, classes=10).output
    Dense(None -> 10, linear)
    """
    settings = choose_option(densenet_spec, num_layers, "num_layers")
    return with_pretrained_weights(
        DenseNet(*settings, **kwargs), f"densenet{num_layers}", pretrained, ctx, root
    )


def _builder_of(layers: int, millions: str) -> Callable[..., DenseNet]:
    _, growth, lengths = densenet_spec[layers]
    return network_function(
        f"densenet{layers}",
        get_densenet,
        {"num_layers": layers},
        f"DenseNet of {layers} layers: {millions} million weights with 1000 classes.",
        """\
>>> type(net).__name__, net.output
('DenseNet', Dense(None -> 10, linear))""",
        more=f"Four stages of {number_text(lengths)} layers; each layer adds {growth} channels.",
        keywords="``classes``, ``dropout``",
    )


densenet121 = _builder_of(121, "7.98")
densenet161 = _builder_of(161, "28.7")
densenet169 = _builder_of(169, "14.1")
densenet201 = _builder_of(201, "20.0")
