"""Inception v3: parallel convolutions of several sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.guard import guarded
from ... import nn
from ...contrib.nn import HybridConcurrent
from ..model_store import ROOT
from .network import NETWORKS, Network, with_pretrained_weights

if TYPE_CHECKING:
    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["Inception3", "inception_v3"]


def _conv_norm_relu(channels, kernel=1, stride=1, padding=0):
    out = nn.HybridSequential(prefix="")
    out.add(
        nn.Conv2D(channels, kernel, strides=stride, padding=padding, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )
    return out


def _build_branch(*convolutions, pool=None):
    """Return a `pool`, then convolutions, each given as arguments of `_conv_norm_relu`."""
    out = nn.HybridSequential(prefix="")
    if pool == "avg":
        out.add(nn.AvgPool2D(3, strides=1, padding=1))
    elif pool == "max":
        out.add(nn.MaxPool2D(3, strides=2))
    for each in convolutions:
        out.add(_conv_norm_relu(*each))
    return out


def _inception_block(prefix, *branches):
    """Return parallel branches; each is a function that makes one within the block's name scope."""
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        for each in branches:
            out.add(each())
    return out


def _branch_maker(*convolutions, pool=None):
    return lambda: _build_branch(*convolutions, pool=pool)


def _inception_a(pool_channels, prefix):
    return _inception_block(
        prefix,
        _branch_maker((64,)),
        _branch_maker((48,), (64, 5, 1, 2)),
        _branch_maker((64,), (96, 3, 1, 1), (96, 3, 1, 1)),
        _branch_maker((pool_channels,), pool="avg"),
    )


def _inception_b(prefix):
    return _inception_block(
        prefix,
        _branch_maker((384, 3, 2)),
        _branch_maker((64,), (96, 3, 1, 1), (96, 3, 2)),
        _branch_maker(pool="max"),
    )


_ROW_KERNEL, _COLUMN_KERNEL = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))  # kernel, stride, padding


def _inception_c(inner, prefix):
    return _inception_block(
        prefix,
        _branch_maker((192,)),
        _branch_maker((inner,), (inner, *_ROW_KERNEL), (192, *_COLUMN_KERNEL)),
        _branch_maker(
            (inner,),
            (inner, *_COLUMN_KERNEL),
            (inner, *_ROW_KERNEL),
            (inner, *_COLUMN_KERNEL),
            (192, *_ROW_KERNEL),
        ),
        _branch_maker((192,), pool="avg"),
    )


def _inception_d(prefix):
    return _inception_block(
        prefix,
        _branch_maker((192,), (320, 3, 2)),
        _branch_maker((192,), (192, *_ROW_KERNEL), (192, *_COLUMN_KERNEL), (192, 3, 2)),
        _branch_maker(pool="max"),
    )


def _fork_branch_maker(*convolutions):
    """Return convolutions followed by a 1x3 and a 3x1 convolution in parallel."""

    def make_branches():
        out = nn.HybridSequential(prefix="")
        out.add(_build_branch(*convolutions))
        out.add(
            _inception_block(
                "", _branch_maker((384, (1, 3), 1, (0, 1))), _branch_maker((384, (3, 1), 1, (1, 0)))
            )
        )
        return out

    return make_branches


def _inception_e(prefix):
    return _inception_block(
        prefix,
        _branch_maker((320,)),
        _fork_branch_maker((384,)),
        _fork_branch_maker((448,), (384, 3, 1, 1)),
        _branch_maker((192,), pool="avg"),
    )


@guarded
def make_aux(classes: int) -> nn.HybridSequential:
    """Return the auxiliary classifier for training: features (N, 768, 17, 17) to scores (N,
    classes).

    >>> make_aux(10)[-1]
    Dense(None -> 10, linear)
    """
    out = nn.HybridSequential(prefix="")
    out.add(
        nn.AvgPool2D(5, strides=3),
        _conv_norm_relu(128),
        _conv_norm_relu(768, 5),
        nn.Flatten(),
        nn.Dense(classes),
    )
    return out


class Inception3(Network):
    """Inception v3, for 299x299.

    Examples
    --------
    >>> net = Inception3(classes=10)
    >>> len(net.features), net.output
    (20, Dense(None -> 10, linear))
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                _conv_norm_relu(32, 3, 2),
                _conv_norm_relu(32, 3),
                _conv_norm_relu(64, 3, 1, 1),
                nn.MaxPool2D(3, strides=2),
                _conv_norm_relu(80),
                _conv_norm_relu(192, 3),
                nn.MaxPool2D(3, strides=2),
                _inception_a(32, "A1_"),
                _inception_a(64, "A2_"),
                _inception_a(64, "A3_"),
                _inception_b("B_"),
                _inception_c(128, "C1_"),
                _inception_c(160, "C2_"),
                _inception_c(160, "C3_"),
                _inception_c(192, "C4_"),
                _inception_d("D_"),
                _inception_e("E1_"),
                _inception_e("E2_"),
                nn.AvgPool2D(8),
                nn.Dropout(0.5),
            )
            self.output = nn.Dense(classes)


def inception_v3(
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> Inception3:
    """Inception v3: images (N, 3, 299, 299) to scores; 23.8 million weights with 1000 classes.

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
    >>> net = mx.gluon.model_zoo.vision.inception_v3(classes=10)
    >>> len(net.features), net.output
    (20, Dense(None -> 10, linear))
    """
    return with_pretrained_weights(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)


NETWORKS["inceptionv3"] = inception_v3
