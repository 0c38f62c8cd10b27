"""One file from which training goes on as if it had never stopped."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from .. import optimizer as opt
from .. import random as mx_random
from ..base.errors import ArgumentTypeError, FormatError, shown
from ..base.guard import guarded
from .block.files import check_names
from .parameter.parameter_dict import named_arrays, whole_array

if TYPE_CHECKING:
    from ..base.typing import FileName
    from .block import Block
    from .data import DataLoader
    from .trainer import Trainer

_META, _TRAINER, _PARAM = "meta", "trainer", "param:"
_FORM = "cynet training 1"


@guarded
def save_training(
    path: FileName,
    net: Block,
    trainer: Trainer | None = None,
    loader: DataLoader | None = None,
    extra: Any = None,
) -> None:
    """Write all that training depends on into one file, whole or not at all.

    Parameters
    ----------
    path : str
    net : Block
        Its parameters, by structural name.
    trainer : Trainer, optional
        Its optimizer, counts, schedule and states.
    loader : DataLoader, optional
        Where it is in its epoch.
    extra : optional
        What else is to come back: anything that JSON can hold.

    Examples
    --------
    >>> import os, tempfile
    >>> import cynet as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "training")
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    >>> mx.gluon.save_training(path, net, trainer, extra={"epoch": 3})
    >>> mx.gluon.load_training(path, net, trainer)
    {'epoch': 3}
    """
    name, keys, *others = np.random.get_state()
    version, internal, gauss = random.getstate()
    meta = {
        "form": _FORM,
        "random": mx_random.get_state(),
        "numpy": [name, keys.tolist(), *others],
        "python": [version, list(internal), gauss],
        "loader": None if loader is None else loader.state_dict(),
        "extra": extra,
    }
    try:
        text = json.dumps(meta)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"save_training: extra must be what JSON can hold: {error}"
        ) from None
    arrays = {_META: _as_array(text.encode())}
    if trainer is not None:
        trainer._prepare()
        arrays[_TRAINER] = _as_array(b"".join(trainer._chunks()))
    for key, each in net._collect_params_with_prefix().items():
        arrays[_PARAM + key] = whole_array(each)
    nd.save(path, arrays)


@guarded
def load_training(
    path: FileName,
    net: Block,
    trainer: Trainer | None = None,
    loader: DataLoader | None = None,
) -> Any:
    """Go on where `save_training` was called: parameters, optimizer, random numbers, batches.

    Returns
    -------
    extra

    Raises
    ------
    FormatError
        That is no such file.
    MismatchError
        It is of another network.
    """
    arrays = named_arrays(path)
    if _META not in arrays:
        raise FormatError(f"{path}: this is no file of save_training: it has no '{_META}'")
    try:
        meta = json.loads(arrays[_META].asnumpy().tobytes())
        form, numpy_state = meta["form"], meta["numpy"]
        version, internal, gauss = meta["python"]
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: '{_META}' is damaged: {error}") from None
    if form != _FORM:
        raise FormatError(f"{path}: its form is {shown(form)}, {_FORM!r} is known")
    params = net._collect_params_with_prefix()
    values = {k.removeprefix(_PARAM): v for k, v in arrays.items() if k.startswith(_PARAM)}
    check_names(params, values, path, False, False)
    if (trainer is None) != (_TRAINER not in arrays):
        word = "none" if trainer is None else "one"
        raise FormatError(f"{path}: {word} of the Trainers was given, the file says otherwise")
    for key, array in values.items():
        params[key]._load_init(array, None)
    if trainer is not None:
        loaded = opt.get_updater(trainer.optimizer)
        loaded.set_states(arrays[_TRAINER].asnumpy().tobytes())
        trainer._take_over(loaded, path)
    if loader is not None and meta["loader"] is not None:
        loader.load_state_dict(meta["loader"])
    mx_random.set_state(meta["random"])
    name, keys, *others = numpy_state
    np.random.set_state((name, np.asarray(keys, np.uint32), *others))
    random.setstate((version, tuple(internal), gauss))
    return meta["extra"]


def _as_array(content):
    return nd.array(np.frombuffer(content, np.uint8), dtype="uint8")
