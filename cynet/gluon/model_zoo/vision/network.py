"""The base of the networks: features, then an output; trained weights can be loaded into one."""

from __future__ import annotations

from typing import Any

from ....base.errors import listed, shown
from ...block import HybridBlock
from ...errors import MismatchError
from ..model_store import load_pretrained


class Network(HybridBlock):
    """A classifier of images: `features` compute what `output` weighs."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The scores (N, classes) of images (N, C, H, W)."""
        return self.output(self.features(x))


def made(network, name, pretrained, ctx, root):
    """`network`, with the trained weights of `name` where they are asked for."""
    if pretrained:
        load_pretrained(network, name, root, ctx)
    return network


def chosen(options, key, what):
    """``options[key]``; other keys are refused."""
    if key not in options:
        raise MismatchError(f"{what} must be one of {listed(options)}, got {shown(key)}")
    return options[key]


def shortened(multiplier):
    """A multiplier in the name of a network: 1.0, 0.75, 0.5, 0.25."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text
