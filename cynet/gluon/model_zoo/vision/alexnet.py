"""AlexNet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ...block import HybridBlock
from ...nn import Conv2D, Dense, Dropout, Flatten, HybridSequential, MaxPool2D
from ..model_store import ROOT
from .pretrained import CPU, loaded

if TYPE_CHECKING:
    from ....base.typing import FileName
    from ...parameter.parameter import Contexts


@guarded(but=("hybrid_forward",))
class AlexNet(HybridBlock):
    """AlexNet in its form for one device (Krizhevsky, 2014), images of 224 x 224.

    Parameters
    ----------
    classes : int
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(
                    Conv2D(64, 11, 4, 2, activation="relu"),
                    MaxPool2D(3, 2),
                    Conv2D(192, 5, padding=2, activation="relu"),
                    MaxPool2D(3, 2),
                    Conv2D(384, 3, padding=1, activation="relu"),
                    Conv2D(256, 3, padding=1, activation="relu"),
                    Conv2D(256, 3, padding=1, activation="relu"),
                    MaxPool2D(3, 2),
                    Flatten(),
                    Dense(4096, activation="relu"),
                    Dropout(0.5),
                    Dense(4096, activation="relu"),
                    Dropout(0.5),
                )
            self.output = Dense(classes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes) of images."""
        return self.output(self.features(x))


def alexnet(
    pretrained: bool = False, ctx: Contexts = CPU, root: FileName = ROOT, **kwargs: Any
) -> AlexNet:
    """AlexNet.

    Parameters
    ----------
    pretrained : bool
        Load trained parameters.
    ctx : Context or list of Context
        Where to.
    root : str
        Folder of parameter files.
    **kwargs
        For the class: classes, prefix, ...
    """
    return loaded(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)
