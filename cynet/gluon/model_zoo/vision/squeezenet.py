"""SqueezeNet 1.0 and 1.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ...errors import MismatchError
from ...nn import Activation, AvgPool2D, Conv2D, Dropout, Flatten, HybridSequential, MaxPool2D
from ..model_store import ROOT
from .pretrained import CPU, loaded

if TYPE_CHECKING:
    from ....base.typing import FileName
    from ...parameter.parameter import Contexts


def _convolution(channels, kernel, padding=0):
    out = HybridSequential(prefix="")
    out.add(Conv2D(channels, kernel, padding=padding), Activation("relu"))
    return out


def _fire(squeezed, wide):
    paths = HybridConcurrent(axis=1, prefix="")
    out = HybridSequential(prefix="")
    out.add(_convolution(squeezed, 1))
    paths.add(_convolution(wide, 1), _convolution(wide, 3, 1))
    out.add(paths)
    return out


_POOL = None  # stands for pooling in a list of (squeezed, wide) channels
_VERSIONS = {
    "1.0": (96, 7, [_POOL, (16, 64), (16, 64), (32, 128), _POOL, (32, 128), (48, 192), (48, 192),
                    (64, 256), _POOL, (64, 256)]),
    "1.1": (64, 3, [_POOL, (16, 64), (16, 64), _POOL, (32, 128), (32, 128), _POOL, (48, 192),
                    (48, 192), (64, 256), (64, 256)]),
}  # fmt: skip


@guarded(but=("hybrid_forward",))
class SqueezeNet(HybridBlock):
    """SqueezeNet (Iandola et al., 2016), images of 224 x 224.

    Parameters
    ----------
    version : str
        ``'1.0'`` or ``'1.1'``.
    classes : int
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if version not in _VERSIONS:
            raise MismatchError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
        channels, kernel, modules = _VERSIONS[version]
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            self.features.add(Conv2D(channels, kernel, 2), Activation("relu"))
            for each in modules:
                self.features.add(
                    MaxPool2D(3, 2, ceil_mode=True) if each is _POOL else _fire(*each)
                )
            self.features.add(Dropout(0.5))
            self.output = HybridSequential(prefix="")
            self.output.add(Conv2D(classes, 1), Activation("relu"), AvgPool2D(13), Flatten())

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes) of images."""
        return self.output(self.features(x))


def get_squeezenet(
    version: str,
    pretrained: bool = False,
    ctx: Contexts = CPU,
    root: FileName = ROOT,
    **kwargs: Any,
) -> SqueezeNet:
    """SqueezeNet of version '1.0' or '1.1'; parameters as of ``alexnet``."""
    return loaded(SqueezeNet(version, **kwargs), f"squeezenet{version}", pretrained, ctx, root)


def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0; parameters as of ``alexnet``."""
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1; parameters as of ``alexnet``."""
    return get_squeezenet("1.1", **kwargs)
