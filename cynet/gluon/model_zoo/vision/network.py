"""The base of image classifiers, and their public functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import listed, shown
from ....base.guard import guarded
from ...block import HybridBlock
from ...errors import MismatchError
from ..model_store import load_pretrained

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    NetworkType = TypeVar("NetworkType", bound="Network")

NETWORKS: dict[str, Callable[..., HybridBlock]] = {}  # get_model's names
_DOC_TEMPLATE = """{about}

{more}Parameters
----------
**kwargs
    What :func:`{builder}` takes: ``pretrained``, ``ctx``, ``root``,
    {keywords}, ``prefix`` and ``params``.

Returns
-------
{kind}
    Takes images (N, 3, {size}, {size}) and gives scores (N, classes).

Examples
--------
>>> net = mx.gluon.model_zoo.vision.{name}(classes=10)
{example}
"""
_STAGES_EXAMPLE = """\
>>> [len(stage) for stage in net.features if isinstance(stage, mx.gluon.nn.HybridSequential)]
{}
>>> net.output
{}"""


class Network(HybridBlock):
    """A classifier of images: `features`, then `output`."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Compute the scores (N, classes) of images (N, C, H, W)."""
        return self.output(self.features(x))


def with_pretrained_weights(network, name, pretrained, ctx, root):
    """Load trained weights, by name or from a file, if `pretrained`; return the network."""
    if pretrained:
        load_pretrained(network, name, pretrained, root, ctx)
    return network


def choose_option(options, key, what):
    """Return ``options[key]``; raise an error for other keys."""
    if key not in options:
        raise MismatchError(f"{what} must be one of {listed(options)}, got {shown(key)}")
    return options[key]


def multiplier_text(multiplier):
    """Return a multiplier as it stands in the name of a network: 1.0, 0.75, 0.5, 0.25."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def network_function(
    name: str,
    builder: Callable[..., NetworkType],
    settings: dict[str, Any],
    about: str,
    example: str,
    *,
    kind: str | None = None,
    more: str = "",
    known_as: str = "",
    keywords: str = "``classes``",
    size: int = 224,
) -> Callable[..., NetworkType]:
    """Create the public function that builds one network.

    name: Name of the function.
    builder: Function that makes the network, one of many.
    settings: Keywords for `builder` that tell which.
    about, more: First line of the docstring, and a paragraph behind it.
    example: What the docstring shows of ``net``, the network with ten classes.
    kind: Class of the network; by default what `builder` is annotated with.
    known_as: Name for `get_model` where that is another one.
    keywords: Names of the keywords that networks of this kind take.
    size: Sides of the images.
    """

    def build(**kwargs: Any) -> NetworkType:
        return builder(**settings, **kwargs)

    kind = kind or builder.__annotations__["return"]
    build.__name__ = build.__qualname__ = name
    build.__module__ = builder.__module__
    build.__annotations__ = {"kwargs": "Any", "return": builder.__annotations__["return"]}
    build.__doc__ = _DOC_TEMPLATE.format(
        about=about,
        more=more + "\n\n" if more else "",
        builder=builder.__name__,
        keywords=keywords,
        kind=kind,
        size=size,
        name=name,
        example=example,
    )
    NETWORKS[known_as or name] = build = guarded(build)
    return build


def stages_example(lengths, output):
    """Return a docstring example: the number of blocks of each stage, and the last layer."""
    return _STAGES_EXAMPLE.format(list(lengths), output)


def number_text(lengths):
    """Format several numbers as part of a sentence.

    >>> number_text([3, 4, 6, 3])
    '3, 4, 6 and 3'
    """
    return f"{', '.join(map(str, lengths[:-1]))} and {lengths[-1]}"
