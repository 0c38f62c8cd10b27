"""Inception, version 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ...nn import (
    Activation,
    AvgPool2D,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    HybridSequential,
    MaxPool2D,
)
from ..model_store import ROOT
from .pretrained import CPU, loaded

if TYPE_CHECKING:
    from ....base.typing import FileName
    from ...parameter.parameter import Contexts


def _convolution(channels, kernel, strides=1, padding=0):
    out = HybridSequential(prefix="")
    out.add(
        Conv2D(channels, kernel, strides, padding, use_bias=False),
        BatchNorm(epsilon=0.001),
        Activation("relu"),
    )
    return out


def _branch(pool, *convolutions):
    """Pooling ('avg', 'max' or None), then convolutions, as arguments of `_convolution`."""
    out = HybridSequential(prefix="")
    if pool == "avg":
        out.add(AvgPool2D(3, 1, 1))
    elif pool == "max":
        out.add(MaxPool2D(3, 2))
    for each in convolutions:
        out.add(_convolution(*each))
    return out


def _split(*convolutions):
    """Convolutions, and two more of them side by side."""
    out, both = HybridSequential(prefix=""), HybridConcurrent(axis=1, prefix="")
    out.add(_branch(None, *convolutions))
    both.add(_branch(None, (384, (1, 3), 1, (0, 1))), _branch(None, (384, (3, 1), 1, (1, 0))))
    out.add(both)
    return out


def _module(prefix, make):
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        for branch in make():
            out.add(branch)
    return out


def _a(pool_channels):
    yield _branch(None, (64, 1))
    yield _branch(None, (48, 1), (64, 5, 1, 2))
    yield _branch(None, (64, 1), (96, 3, 1, 1), (96, 3, 1, 1))
    yield _branch("avg", (pool_channels, 1))


def _b():
    yield _branch(None, (384, 3, 2))
    yield _branch(None, (64, 1), (96, 3, 1, 1), (96, 3, 2))
    yield _branch("max")


def _c(narrow):
    row, column = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    yield _branch(None, (192, 1))
    yield _branch(None, (narrow, 1), (narrow, *row), (192, *column))
    yield _branch(
        None, (narrow, 1), (narrow, *column), (narrow, *row), (narrow, *column), (192, *row)
    )
    yield _branch("avg", (192, 1))


def _d():
    yield _branch(None, (192, 1), (320, 3, 2))
    yield _branch(None, (192, 1), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2))
    yield _branch("max")


def _e():
    yield _branch(None, (320, 1))
    yield _split((384, 1))
    yield _split((448, 1), (384, 3, 1, 1))
    yield _branch("avg", (192, 1))


@guarded(but=("hybrid_forward",))
class Inception3(HybridBlock):
    """Inception, version 3 (Szegedy et al., 2015), images of 299 x 299.

    Parameters
    ----------
    classes : int
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            self.features.add(
                _convolution(32, 3, 2),
                _convolution(32, 3),
                _convolution(64, 3, 1, 1),
                MaxPool2D(3, 2),
                _convolution(80, 1),
                _convolution(192, 3),
                MaxPool2D(3, 2),
            )
            for prefix, make in (
                ("A1_", lambda: _a(32)),
                ("A2_", lambda: _a(64)),
                ("A3_", lambda: _a(64)),
                ("B_", _b),
                ("C1_", lambda: _c(128)),
                ("C2_", lambda: _c(160)),
                ("C3_", lambda: _c(160)),
                ("C4_", lambda: _c(192)),
                ("D_", _d),
                ("E1_", _e),
                ("E2_", _e),
            ):
                self.features.add(_module(prefix, make))
            self.features.add(AvgPool2D(8), Dropout(0.5))
            self.output = Dense(classes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, classes) of images."""
        return self.output(self.features(x))


def inception_v3(
    pretrained: bool = False, ctx: Contexts = CPU, root: FileName = ROOT, **kwargs: Any
) -> Inception3:
    """Inception, version 3; parameters as of ``alexnet``."""
    return loaded(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)
