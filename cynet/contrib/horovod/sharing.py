"""Broadcast of objects and parameters to all processes, under the names of ``horovod.mxnet``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ... import ndarray as nd
from ...base.errors import ArgumentError, ArgumentTypeError, MismatchError, shown
from ...base.guard import guarded
from ...base.kinds import read_json
from ...gluon.parameter import Parameter
from .sets import ProcessSet, store, world_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...typing import ParameterDict


@guarded
def allgather_object(
    obj: Any, name: str | None = None, process_set: ProcessSet | None = None
) -> list[Any]:
    """Gather an object from each process, in the order of ranks; waits.

    Parameters
    ----------
    obj : object
        None, a number, str, bool, or lists and dicts (of str) of such: what JSON holds.
    name : str, optional
        Name in errors.

    Returns
    -------
    list

    Raises
    ------
    ArgumentTypeError
        JSON does not hold it.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.allgather_object({"loss": 0.5, "epochs": [1, 2]})
    [{'loss': 0.5, 'epochs': [1, 2]}]
    """
    try:
        text = json.dumps(obj)
        why = "" if read_json(text) == obj else "tuples, or keys that are no str"
    except (TypeError, ValueError) as error:
        why = str(error)
    if why:
        raise ArgumentTypeError(
            f"objects of other processes travel as JSON, which does not hold {shown(obj)}: {why}"
        )
    return [
        read_json(each) for each in world_of(process_set).gather(text.encode(), name or "object")
    ]


@guarded
def broadcast_object(
    obj: Any, root_rank: int = 0, name: str | None = None, process_set: ProcessSet | None = None
) -> Any:
    """Broadcast an object from one process; waits.

    Parameters
    ----------
    obj : object
        See `allgather_object`; that of other processes than `root_rank` is not looked at.
    root_rank : int
        Number of the process whose object is taken.
    name : str, optional
        Name in errors.

    Returns
    -------
    object

    Raises
    ------
    ArgumentError
        There is no process `root_rank`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.broadcast_object({"epoch": 3})
    {'epoch': 3}
    """
    some, at = world_of(process_set), rank_in_set(root_rank, process_set)
    return allgather_object(obj if some.rank == at else None, name, process_set)[at]


@guarded
def broadcast_parameters(
    params: Mapping[str, Any] | ParameterDict, root_rank: int = 0, prefix: str | None = None
) -> None:
    """Set parameters to the values that they have in one process.

    Parameters
    ----------
    params : dict of str to NDArray, or of str to Parameter
        Parameters as ``module.get_params()`` or ``net.collect_params()`` returns them. A Parameter
        whose shape is not known yet gets the values of rank 0 from the `DistributedTrainer`, when
        it is known.

    Raises
    ------
    ArgumentTypeError
        `params` is not a dict, or has something else than Parameters and arrays.
    ArgumentError
        There is no process `root_rank`.
    MismatchError
        The shape of a Parameter is not known yet, and `root_rank` is not 0.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> hvd.broadcast_parameters(net.collect_params())
    """
    if not hasattr(params, "items"):
        raise ArgumentTypeError(f"broadcast_parameters takes a dict, got {shown(params)}")
    arrays = {}
    for name, each in params.items():
        if isinstance(each, Parameter):
            if each._data is not None:
                arrays[name] = each._data_of_contexts()
            elif root_rank:
                raise MismatchError(
                    f"broadcast_parameters: the shape of '{name}' is not known yet, so it can come"
                    f" from rank 0 alone, not from {root_rank}"
                )
        elif isinstance(each, nd.NDArray):
            arrays[name] = [each]
        else:
            raise ArgumentTypeError(
                f"broadcast_parameters: expected a Parameter or NDArray as '{name}', got"
                f" {shown(each)}"
            )
    if arrays:
        broadcast_arrays(arrays, root_rank)


def broadcast_arrays(arrays, root, process_set=None):
    """Set arrays, given as lists by name, to the values that they have in one process."""
    store(process_set).share(arrays, rank_in_set(root, process_set))


def rank_in_set(root, process_set=None):
    """Return the rank within the set of the process with global rank `root`."""
    if process_set is not None and process_set.ranks is not None:
        if type(root) is int and root in process_set.ranks:
            return process_set.ranks.index(root)
        raise ArgumentError(f"root_rank is one of {process_set.ranks}, got {shown(root)}")
    size = world_of(None).size
    if not isinstance(root, int) or not 0 <= root < size:
        raise ArgumentError(f"root_rank is from 0 to {size - 1}, got {shown(root)}")
    return root
