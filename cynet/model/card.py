"""Model card: a file next to a checkpoint with inputs, outputs, metrics, date and author."""

from __future__ import annotations

import json
import math
import numbers
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, shown
from ..base.files import file_name, read_file, write_atomically
from ..base.guard import guarded
from ..base.kinds import read_json
from ..libinfo import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..typing import FileName, History, Module

_FORMAT = "cynet card 1"  # marks the file format
_TENSOR_FIELDS = {"name": str, "dtype": str, "shape": list}  # of inputs and outputs
_CARD_FIELDS = {  # name of a field -> type
    "form": str,
    "name": str,
    "version": str,
    "note": str,
    "made": str,
    "cynet": str,
    "parameters": int,
    "inputs": list,
    "outputs": list,
    "metrics": dict,
}


@guarded
def save_card(
    prefix: FileName,
    module: Module,
    metrics: Mapping[str, float] | History | None = None,
    version: str = "1",
    note: str = "",
) -> dict[str, Any]:
    """Write the model card ``prefix-card.json`` next to a checkpoint; a server shows it.

    Parameters
    ----------
    prefix : str
        Beginning of the checkpoint's file names.
    module : Module
        The trained network, which is bound: inputs, outputs and the number of parameters are its.
    metrics : dict of str to float, or History, optional
        How good it is; of what ``fit`` returned the figures of the last epoch.
    version, note : str
        What else is to be known: which data, by whom, for what it is not.

    Returns
    -------
    dict
        What was written.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        A metric is no finite number; texts that are none.
    CynetError
        The module is not bound or has no parameters.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> history = module.fit((mx.nd.ones((8, 3)), mx.nd.zeros(8)), num_epoch=1, verbose=False)
    >>> module.save_checkpoint("model", 1)
    >>> card = mx.model.save_card("model", module, history, note="digits of 1998")
    >>> card["inputs"], card["parameters"]
    ([{'name': 'data', 'dtype': 'float32', 'shape': [3]}], 8)
    >>> mx.model.load_card("model") == card
    True
    """
    for what, text in (("version", version), ("note", note)):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"save_card: {what} is a str, got {shown(text)}")
    prefix = file_name(prefix)
    if hasattr(metrics, "epochs"):
        metrics = {name: values[-1] for name, values in metrics.metrics.items() if values}
    found = dict(metrics or {})
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, numbers.Real):
            raise ArgumentTypeError(
                f"save_card: metrics are numbers by name, got {shown(name)}: {shown(value)}"
            )
        if not math.isfinite(value):
            raise ArgumentError(f"save_card: metric {shown(name)} is {value}")
    arguments, states = module.get_params()
    inputs = [
        {"name": each.name, "dtype": str(dtype_name(each.dtype)), "shape": list(each.shape[1:])}
        for each in module.data_shapes
    ]
    outputs = [
        {"name": name, "dtype": "float32", "shape": list(shape[1:])}
        for name, shape in module.output_shapes
    ]
    card = {
        "form": _FORMAT,
        "name": prefix.rpartition("/")[2],
        "version": version,
        "note": note,
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cynet": __version__,
        "parameters": sum(each.size for each in (*arguments.values(), *states.values())),
        "inputs": inputs,
        "outputs": outputs,
        "metrics": {name: float(value) for name, value in found.items()},
    }
    write_atomically(f"{prefix}-card.json", [json.dumps(card, indent=1).encode()])
    return card


@guarded
def load_card(prefix: FileName) -> dict[str, Any]:
    """Load the model card next to a checkpoint.

    Parameters
    ----------
    prefix : str
        Beginning of the checkpoint's file names.

    Returns
    -------
    dict
        What `save_card` wrote.

    Raises
    ------
    FormatError
        The file is none of `save_card`.
    MissingFileError
        There is none.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(net, label_names=None)
    >>> module.bind([("data", (1, 3))], for_training=False)
    >>> module.init_params()
    >>> card = mx.model.save_card("model", module, {"accuracy": 0.75})
    >>> mx.model.load_card("model")["metrics"]
    {'accuracy': 0.75}
    """
    path = f"{file_name(prefix)}-card.json"
    data = read_file(path)
    try:
        card = read_json(data)
    except ValueError as error:
        raise FormatError(f"{shown(path)} is no card of a model ({error})") from None
    kind = "a dict" if isinstance(card, dict) else type(card).__name__
    wrong = [
        name
        for name, wanted in _CARD_FIELDS.items()
        if not isinstance(card, dict) or type(card.get(name)) is not wanted
    ]
    if not wrong:
        wrong += [name for name in ("inputs", "outputs") if not all(map(_is_tensor, card[name]))]
        wrong += ["form"] if card["form"] != _FORMAT else []
    if wrong:
        raise FormatError(f"{shown(path)} is no card of a model: {kind} with a bad {wrong[0]!r}")
    return card


def dtype_name(dtype):
    """Return the name of a dtype; None means float32.

    >>> dtype_name(None), dtype_name(np.uint8)
    ('float32', 'uint8')
    """
    return getattr(dtype, "__name__", None) or ("float32" if dtype is None else str(dtype))


def _is_tensor(each):
    fits = isinstance(each, dict) and all(type(each.get(k)) is v for k, v in _TENSOR_FIELDS.items())
    return fits and all(type(n) is int and n >= -1 for n in each["shape"])
