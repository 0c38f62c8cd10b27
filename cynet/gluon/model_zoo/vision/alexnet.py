"""AlexNet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import nn
from ..model_store import ROOT
from .network import NETWORKS, Network, with_pretrained_weights

if TYPE_CHECKING:
    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["AlexNet", "alexnet"]


class AlexNet(Network):
    """AlexNet for one device: five convolutions and three dense layers, for 224x224.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.alexnet(classes=10)
    >>> len(net.features), net.output
    (13, Dense(None -> 10, linear))
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(
                    nn.Conv2D(64, 11, strides=4, padding=2, activation="relu"),
                    nn.MaxPool2D(3, strides=2),
                    nn.Conv2D(192, 5, padding=2, activation="relu"),
                    nn.MaxPool2D(3, strides=2),
                    nn.Conv2D(384, 3, padding=1, activation="relu"),
                    nn.Conv2D(256, 3, padding=1, activation="relu"),
                    nn.Conv2D(256, 3, padding=1, activation="relu"),
                    nn.MaxPool2D(3, strides=2),
                    nn.Flatten(),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                )
            self.output = nn.Dense(classes)


def alexnet(
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> AlexNet:
    """AlexNet: images (N, 3, 224, 224) to scores; 61.1 million weights with 1000 classes.

    Parameters
    ----------
    **kwargs
        ``classes``, ``prefix`` and ``params``.

    Raises
    ------
    FileError
        `pretrained` is True, and the weights are neither in `root` nor can be had.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.alexnet(classes=10)
    >>> net.features[9], net.output
    (Dense(None -> 4096, Activation(relu)), Dense(None -> 10, linear))
    """
    return with_pretrained_weights(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)


NETWORKS["alexnet"] = alexnet
