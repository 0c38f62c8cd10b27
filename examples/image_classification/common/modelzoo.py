"""Trained networks from files: PREFIX-symbol.json and PREFIX-0001.params."""

from pathlib import Path

import cynet as mx


def load(model, option="--model"):
    """(symbol, arg_params, aux_params) of a checkpoint.

    Parameters
    ----------
    model : str
        ``PREFIX`` for the last epoch that is there, or ``PREFIX,EPOCH``.
    option : str
        What the command line calls it, for messages.
    """
    prefix, _, epoch = model.partition(",")
    if not Path(f"{prefix}-symbol.json").is_file():
        raise SystemExit(f"{option} {model}: there is no {prefix}-symbol.json")
    if epoch:
        if not epoch.isdigit():
            raise SystemExit(f"{option} {model}: PREFIX or PREFIX,EPOCH, such as resnet,12")
        number = int(epoch)
    else:
        found = Path(prefix).parent.glob(f"{Path(prefix).name}-*.params")
        endings = [path.stem.rpartition("-")[2] for path in found]
        number = max((int(each) for each in endings if each.isdigit()), default=None)
        if number is None:
            raise SystemExit(f"{option} {model}: there is no {prefix}-0001.params or a later one")
    try:
        return mx.model.load_checkpoint(prefix, number)
    except (OSError, mx.base.MXNetError) as error:
        raise SystemExit(f"{option} {model}: {error}") from None


def inputs(symbol, arg_params):
    """(name of the images, name of the labels or None): what a network has no parameters for."""
    names = [name for name in symbol.list_arguments() if name not in arg_params]
    labels = [name for name in names if name.endswith("label")]
    data = [name for name in names if name not in labels]
    if len(data) != 1 or len(labels) > 1:
        raise SystemExit(f"the network takes {', '.join(names)}, not images and a label")
    return data[0], labels[0] if labels else None
