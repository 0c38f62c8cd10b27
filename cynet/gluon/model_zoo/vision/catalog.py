"""get_model: creates a network by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, shown
from .network import NETWORKS

if TYPE_CHECKING:
    from ...block import HybridBlock

__all__ = ["get_model"]


def _suggest_names(name):
    """Return the text that suggests similar names for an unknown network."""
    if not isinstance(name, str):
        return ""
    start = name[:40].lower().replace("-", "_")
    near = [each for each in NETWORKS if start and each.startswith(start)]
    near = near[:3] or difflib.get_close_matches(start, NETWORKS, 3)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def get_model(name: str, **kwargs: Any) -> HybridBlock:
    """A network by name.

    Parameters
    ----------
    name : str
        ``'resnet18_v1'``, ``'vgg16_bn'``, ``'mobilenet1.0'``, ...; case is ignored.
    **kwargs
        Arguments of that network's function: ``pretrained``, ``ctx``, ``root``, ``classes``, ...
        ``pretrained`` is True, or a file of weights: ``.params``, ``.npz`` or ``.safetensors``,
        with the names of the zoo or of torchvision.

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
    if not isinstance(name, str) or name.lower() not in NETWORKS:
        known = ", ".join(sorted(NETWORKS))
        raise ArgumentError(
            f"get_model: there is no network {shown(name)}{_suggest_names(name)}; there are {known}"
        )
    return NETWORKS[name.lower()](**kwargs)
