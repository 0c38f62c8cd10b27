"""DenseNet with 121, 161, 169 or 201 layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent, Identity
from ...errors import MismatchError
from ...nn import (
    Activation,
    AvgPool2D,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    HybridSequential,
    MaxPool2D,
)
from ..model_store import ROOT
from .pretrained import CPU, loaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....base.typing import FileName
    from ...parameter.parameter import Contexts


def _dense_stage(count, bn_size, growth_rate, dropout, number):
    stage = HybridSequential(prefix=f"stage{number}_")
    with stage.name_scope():
        for _ in range(count):
            stage.add(_dense_layer(growth_rate, bn_size, dropout))
    return stage


def _dense_layer(growth_rate, bn_size, dropout):
    new = HybridSequential(prefix="")
    new.add(
        BatchNorm(),
        Activation("relu"),
        Conv2D(bn_size * growth_rate, 1, use_bias=False),
        BatchNorm(),
        Activation("relu"),
        Conv2D(growth_rate, 3, padding=1, use_bias=False),
    )
    if dropout:
        new.add(Dropout(dropout))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(Identity(), new)
    return both


def _transition(channels):
    out = HybridSequential(prefix="")
    out.add(BatchNorm(), Activation("relu"), Conv2D(channels, 1, use_bias=False), AvgPool2D(2, 2))
    return out


@guarded(but=("hybrid_forward",))
class DenseNet(HybridBlock):
    """Densely connected networks (Huang et al., 2017), images of 224 x 224.

    Parameters
    ----------
    num_init_features, growth_rate : int
        Channels of the stem, and of each layer.
    block_config : list of int
        Layers of each stage.
    bn_size : int
        Channels of a layer's first convolution, in growth rates.
    dropout : float
    classes : int
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
            self.features = HybridSequential(prefix="")
            self.features.add(
                Conv2D(num_init_features, 7, 2, 3, use_bias=False),
                BatchNorm(),
                Activation("relu"),
                MaxPool2D(3, 2, 1),
            )
            channels = num_init_features
            for i, count in enumerate(block_config):
                self.features.add(_dense_stage(count, bn_size, growth_rate, dropout, i + 1))
                channels += count * growth_rate
                if i != len(block_config) - 1:
                    channels //= 2
                    self.features.add(_transition(channels))
            self.features.add(BatchNorm(), Activation("relu"), AvgPool2D(7), Flatten())
            self.output = Dense(classes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes) of images."""
        return self.output(self.features(x))


densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def get_densenet(
    num_layers: int,
    pretrained: bool = False,
    ctx: Contexts = CPU,
    root: FileName = ROOT,
    **kwargs: Any,
) -> DenseNet:
    """DenseNet of 121, 161, 169 or 201 layers; parameters as of ``alexnet``."""
    if num_layers not in densenet_spec:
        raise MismatchError(
            f"Invalid number of layers: {num_layers}. Options are {sorted(densenet_spec)}"
        )
    net = DenseNet(*densenet_spec[num_layers], **kwargs)
    return loaded(net, f"densenet{num_layers}", pretrained, ctx, root)


def densenet121(**kwargs: Any) -> DenseNet:
    """DenseNet of 121 layers; parameters as of ``alexnet``."""
    return get_densenet(121, **kwargs)


def densenet161(**kwargs: Any) -> DenseNet:
    """DenseNet of 161 layers; parameters as of ``alexnet``."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs: Any) -> DenseNet:
    """DenseNet of 169 layers; parameters as of ``alexnet``."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs: Any) -> DenseNet:
    """DenseNet of 201 layers; parameters as of ``alexnet``."""
    return get_densenet(201, **kwargs)
