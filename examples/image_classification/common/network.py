"""The network that ``--network`` names: a module of symbols/."""

import importlib
from pathlib import Path

_FOLDER = Path(__file__).parent.parent / "symbols"
_VERSIONS = {"resnet_v1": ("resnet", {"version": 1}), "resnet_v2": ("resnet", {"version": 2})}


def names():
    """The names of all networks."""
    return sorted(
        path.stem for path in _FOLDER.glob("*.py") if path.stem not in ("__init__", "layers")
    )


def get_network(args, image_shape, known=None):
    """The Symbol of ``--network`` for images of a shape.

    Parameters
    ----------
    args : argparse.Namespace
        With ``network``, ``num_layers``, ``num_classes`` and ``dtype``.
    image_shape : tuple of int
        (channels, height, width).
    known : sequence of str, optional
        The networks that may be named; None: all of them.
    """
    known = names() if known is None else known
    stem, options = _VERSIONS.get(
        args.network.replace("-", "_"), (args.network.replace("-", "_"), {})
    )
    if stem not in known:
        raise SystemExit(f"--network {args.network}: there are {', '.join(known)}")
    module = importlib.import_module(f"symbols.{stem}")
    options = dict(options)
    if args.num_layers is not None:
        options["num_layers"] = args.num_layers
    if args.dtype != "float32":
        if stem != "resnet":
            raise SystemExit(f"--dtype {args.dtype}: only resnet has it, not {args.network}")
        options["dtype"] = args.dtype
    try:
        return module.get_symbol(num_classes=args.num_classes, image_shape=image_shape, **options)
    except (TypeError, ValueError) as error:
        raise SystemExit(f"--network {args.network}: {error}") from None
