"""The networks by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, shown
from ....base.guard import guarded
from .alexnet import alexnet
from .convnext import convnext_base, convnext_small, convnext_tiny
from .densenet import densenet121, densenet161, densenet169, densenet201
from .efficientnet import (
    efficientnet_b0,
    efficientnet_b1,
    efficientnet_b2,
    efficientnet_b3,
    efficientnet_b4,
    efficientnet_b5,
    efficientnet_b6,
    efficientnet_b7,
)
from .inception import inception_v3
from .mobilenet import (
    mobilenet0_5,
    mobilenet0_25,
    mobilenet0_75,
    mobilenet1_0,
    mobilenet_v2_0_5,
    mobilenet_v2_0_25,
    mobilenet_v2_0_75,
    mobilenet_v2_1_0,
)
from .resnet import (
    resnet18_v1,
    resnet18_v2,
    resnet34_v1,
    resnet34_v2,
    resnet50_v1,
    resnet50_v1b,
    resnet50_v2,
    resnet101_v1,
    resnet101_v1b,
    resnet101_v2,
    resnet152_v1,
    resnet152_v1b,
    resnet152_v2,
)
from .squeezenet import squeezenet1_0, squeezenet1_1
from .vgg import vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn
from .vit import vit_b_16, vit_b_32, vit_l_16, vit_s_16

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...block import HybridBlock

_MODELS: dict[str, Callable[..., HybridBlock]] = {
    "alexnet": alexnet,
    "convnext_base": convnext_base,
    "convnext_small": convnext_small,
    "convnext_tiny": convnext_tiny,
    "densenet121": densenet121,
    "densenet161": densenet161,
    "densenet169": densenet169,
    "densenet201": densenet201,
    "efficientnet_b0": efficientnet_b0,
    "efficientnet_b1": efficientnet_b1,
    "efficientnet_b2": efficientnet_b2,
    "efficientnet_b3": efficientnet_b3,
    "efficientnet_b4": efficientnet_b4,
    "efficientnet_b5": efficientnet_b5,
    "efficientnet_b6": efficientnet_b6,
    "efficientnet_b7": efficientnet_b7,
    "inceptionv3": inception_v3,
    "mobilenet0.25": mobilenet0_25,
    "mobilenet0.5": mobilenet0_5,
    "mobilenet0.75": mobilenet0_75,
    "mobilenet1.0": mobilenet1_0,
    "mobilenetv2_0.25": mobilenet_v2_0_25,
    "mobilenetv2_0.5": mobilenet_v2_0_5,
    "mobilenetv2_0.75": mobilenet_v2_0_75,
    "mobilenetv2_1.0": mobilenet_v2_1_0,
    "resnet101_v1": resnet101_v1,
    "resnet101_v1b": resnet101_v1b,
    "resnet101_v2": resnet101_v2,
    "resnet152_v1": resnet152_v1,
    "resnet152_v1b": resnet152_v1b,
    "resnet152_v2": resnet152_v2,
    "resnet18_v1": resnet18_v1,
    "resnet18_v2": resnet18_v2,
    "resnet34_v1": resnet34_v1,
    "resnet34_v2": resnet34_v2,
    "resnet50_v1": resnet50_v1,
    "resnet50_v1b": resnet50_v1b,
    "resnet50_v2": resnet50_v2,
    "squeezenet1.0": squeezenet1_0,
    "squeezenet1.1": squeezenet1_1,
    "vgg11": vgg11,
    "vgg11_bn": vgg11_bn,
    "vgg13": vgg13,
    "vgg13_bn": vgg13_bn,
    "vgg16": vgg16,
    "vgg16_bn": vgg16_bn,
    "vgg19": vgg19,
    "vgg19_bn": vgg19_bn,
    "vit_b_16": vit_b_16,
    "vit_b_32": vit_b_32,
    "vit_l_16": vit_l_16,
    "vit_s_16": vit_s_16,
}


def _meant(name):
    """The names of networks that begin like a name that no network has."""
    if not isinstance(name, str):
        return ""
    start = name[:40].lower().replace("-", "_")
    near = [each for each in _MODELS if start and each.startswith(start)]
    near = near[:3] or difflib.get_close_matches(start, _MODELS, 3)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


@guarded
def get_model(name: str, **kwargs: Any) -> HybridBlock:
    """A network by name.

    Parameters
    ----------
    name : str
        ``'resnet18_v1'``, ``'vgg16_bn'``, ``'mobilenet1.0'``, ...; case is ignored.
    **kwargs
        Arguments of that network's function: ``pretrained``, ``ctx``, ``root``, ``classes``, ...

    Returns
    -------
    HybridBlock
        Takes images (N, 3, 224, 224), of ``'inceptionv3'`` (N, 3, 299, 299), and gives scores
        (N, classes).

    Raises
    ------
    ArgumentError
        A ValueError: the name is not known; the message lists all.

    Examples
    --------
    >>> net = get_model("squeezenet1.1", classes=10)
    >>> type(net).__name__
    'SqueezeNet'
    """
    if not isinstance(name, str) or name.lower() not in _MODELS:
        known = ", ".join(sorted(_MODELS))
        raise ArgumentError(
            f"get_model: there is no network {shown(name)}{_meant(name)}; there are {known}"
        )
    return _MODELS[name.lower()](**kwargs)
