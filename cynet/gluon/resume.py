"""One file for resuming training exactly where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import optimizer as opt
from ..base.errors import FormatError
from ..base.guard import guarded
from ..io.training_file import bytes_array, read_training, restore_random_states, write_training
from .block.files import check_parameter_names

if TYPE_CHECKING:
    from ..typing import FileName
    from .averaging import EMA, SWA
    from .block import Block
    from .data import DataLoader
    from .trainer import Trainer

_TRAINER_KEY, _PARAM_PREFIX, _AVERAGE_PREFIX = "trainer", "param:", "average:"  # keys in the file
_FILE_FORMAT = "cynet training 1"  # name of the format, in the file


@guarded
def save_training(
    path: FileName,
    net: Block,
    trainer: Trainer | None = None,
    loader: DataLoader | None = None,
    extra: Any = None,
    average: EMA | SWA | None = None,
) -> None:
    """Write the complete state of a training to one file, atomically.

    Parameters
    ----------
    path : str
        The file to write.
    net : Block
        Block whose parameters are saved, by structural name.
    trainer : Trainer, optional
        Trainer whose optimizer, counts, schedule and states are saved.
    loader : DataLoader, optional
        Loader whose place in the epoch is saved.
    extra : optional
        Anything else to save, as long as JSON can hold it.
    average : EMA or SWA, optional
        Averages whose means are saved.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "training")
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    >>> mx.gluon.save_training(path, net, trainer, extra={"epoch": 3})
    >>> mx.gluon.load_training(path, net, trainer)
    {'epoch': 3}
    """
    meta = {"loader": None if loader is None else loader.state_dict(), "extra": extra}
    arrays = {}
    if trainer is not None:
        trainer._prepare_kvstore()
        arrays[_TRAINER_KEY] = bytes_array(b"".join(trainer._state_file_chunks()))
    for key, each in net._collect_params_with_prefix().items():
        arrays[_PARAM_PREFIX + key] = each._reduce()
    if average is not None:
        arrays.update({f"{_AVERAGE_PREFIX}{k}": v for k, v in average.state_dict().items()})
    write_training(path, _FILE_FORMAT, meta, arrays, "save_training: extra")


@guarded
def load_training(
    path: FileName,
    net: Block,
    trainer: Trainer | None = None,
    loader: DataLoader | None = None,
    average: EMA | SWA | None = None,
) -> Any:
    """Restore the state that `save_training` wrote: parameters, optimizer, generators, loader.

    Parameters
    ----------
    path : str
        The file that `save_training` wrote.
    net : Block
        A Block of the same structure; it need not be initialized.
    trainer : Trainer, optional
        Receives the optimizer with its states; needed if one was saved.
    loader : DataLoader, optional
        Continues with the batch after the last one.
    average : EMA or SWA, optional
        Receives the means; needed if they were saved.

    Returns
    -------
    object
        What `save_training` was given as `extra`.

    Raises
    ------
    FormatError
        That is no such file.
    MismatchError
        It is of another network.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize(mx.init.One())
    >>> path = mx.gluon.save_training("run", net, extra={"epoch": 3})
    >>> again = mx.gluon.nn.Dense(1, in_units=2)
    >>> mx.gluon.load_training("run", again)
    {'epoch': 3}
    >>> again.weight.data()
    [[1. 1.]]
    <NDArray 1x2 @cpu(0)>
    """
    meta, arrays = read_training(path, _FILE_FORMAT)
    params = net._collect_params_with_prefix()
    values = {
        k.removeprefix(_PARAM_PREFIX): v for k, v in arrays.items() if k.startswith(_PARAM_PREFIX)
    }
    check_parameter_names(params, values, path, False, False)
    if (trainer is None) != (_TRAINER_KEY not in arrays):
        word = "none" if trainer is None else "one"
        raise FormatError(f"{path}: {word} of the Trainers was given, the file says otherwise")
    for key, array in values.items():
        params[key]._load_init(array, None)
    means = {
        k.removeprefix(_AVERAGE_PREFIX): v
        for k, v in arrays.items()
        if k.startswith(_AVERAGE_PREFIX)
    }
    if (average is None) != (not means):
        word = "it has means, give the average that takes them" if means else "it has no means"
        raise FormatError(f"{path}: {word}")
    if average is not None:
        average.load_state_dict(means, path)
    if trainer is not None:
        loaded = opt.get_updater(trainer.optimizer)
        loaded.set_states(arrays[_TRAINER_KEY].asnumpy().tobytes())
        trainer._adopt_updater(loaded, path)
    if loader is not None and meta["loader"] is not None:
        loader.load_state_dict(meta["loader"])
    restore_random_states(meta)
    return meta["extra"]
