"""get_model: every network of the zoo by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError
from ....base.guard import guarded
from . import densenet, mobilenet, resnet, vgg
from .alexnet import alexnet
from .inception import inception_v3
from .squeezenet import squeezenet1_0, squeezenet1_1

if TYPE_CHECKING:
    from .network import Network

_MULTIPLIERS = {"0.25": "0_25", "0.5": "0_5", "0.75": "0_75", "1.0": "1_0"}


def _named(module, names):
    """Dict of the names of models to functions of a module, from pairs of both names."""
    return {name: getattr(module, function) for name, function in names}


_MODELS = {
    "alexnet": alexnet,
    "inceptionv3": inception_v3,
    "squeezenet1.0": squeezenet1_0,
    "squeezenet1.1": squeezenet1_1,
    **_named(densenet, [(f"densenet{n}",) * 2 for n in (121, 161, 169, 201)]),
    **_named(resnet, [(f"resnet{n}_v{v}",) * 2 for n in (18, 34, 50, 101, 152) for v in (1, 2)]),
    **_named(vgg, [(f"vgg{n}{bn}",) * 2 for n in (11, 13, 16, 19) for bn in ("", "_bn")]),
    **_named(mobilenet, [(f"mobilenet{m}", f"mobilenet{x}") for m, x in _MULTIPLIERS.items()]),
    **_named(
        mobilenet, [(f"mobilenetv2_{m}", f"mobilenet_v2_{x}") for m, x in _MULTIPLIERS.items()]
    ),
}


@guarded
def get_model(name: str, **kwargs: Any) -> Network:
    """A network by its name.

    Parameters
    ----------
    name : str
        alexnet, densenet121, 161, 169, 201, inceptionv3, mobilenet0.25, 0.5, 0.75, 1.0,
        mobilenetv2_0.25, 0.5, 0.75, 1.0, resnet18_v1, 34, 50, 101, 152, also v2, squeezenet1.0,
        1.1, vgg11, 13, 16, 19, also with _bn.
    **kwargs
        pretrained, ctx, root, classes, prefix, params, and what the network takes.

    Returns
    -------
    HybridBlock

    Raises
    ------
    ArgumentError
        A ValueError: there is none of this name.

    Examples
    --------
    >>> net = get_model("resnet18_v1", classes=10)
    >>> len(net.features), net.output
    (9, Dense(512 -> 10, linear))
    """
    found = _MODELS.get(name.lower()) if isinstance(name, str) else None
    if found is None:
        options = "\n\t".join(sorted(_MODELS))
        raise ArgumentError(f"Model {name} is not supported. Available options are\n\t{options}")
    return found(**kwargs)
