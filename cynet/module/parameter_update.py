"""Update of weights by gradients: through a KVStore, or by an updater alone."""

import math
from collections import defaultdict

import numpy as np

from .. import kvstore as kvs
from .. import ndarray as nd
from .._core.put_rows import put_rows
from ..base.errors import ArgumentTypeError, shown

# Above this many entries in one array, a local KVStore only sums gradients: keeping a further copy
# of the weights there and updating it would cost more than updating each device's own.
_LARGE_PARAMETER_SIZE = 1024 * 1024 * 16  # entries


def _create_kvstore(kvstore, num_device, arg_params):
    """Return the KVStore for training, and whether it updates the weights.

    kvstore (KVStoreBase, str or None): One device needs none unless it is distributed or one's own.
    num_device: int
    arg_params: dict of str to NDArray

    Returns (KVStore or None, bool).
    """
    update_on_kvstore = True
    if kvstore is None:
        kv = None
    elif isinstance(kvstore, kvs.KVStoreBase):
        kv = kvstore
    elif isinstance(kvstore, str):
        kv = kvs.create(kvstore)  # raises for an unknown type, even if no store is needed
        if isinstance(kv, kvs.KVStore) and num_device == 1 and "dist" not in kvstore:
            kv = None
        else:
            if kvstore == "local":
                largest = max((math.prod(each.shape) for each in arg_params.values()), default=0)
                update_on_kvstore = largest <= _LARGE_PARAMETER_SIZE
    else:
        raise ArgumentTypeError(f"kvstore must be a KVStore, a name or None, got {shown(kvstore)}")
    if isinstance(kv, kvs.DistKVStore):
        update_on_kvstore = False  # another copy of the weights would be useless
    elif kv is not None and not isinstance(kv, kvs.KVStore):
        update_on_kvstore = bool(kv.is_capable(kvs.KVStoreBase.OPTIMIZER))
    return kv, kv is not None and update_on_kvstore


def _initialize_kvstore(kvstore, param_arrays, arg_params, param_names, update_on_kvstore):
    """Initialize the KVStore with the weights; if it updates them, copy them to all devices. All
    ranks begin with the weights of rank 0."""
    if isinstance(kvstore, kvs.DistKVStore):
        kvstore.share(
            {name: [arg_params[name], *arrays] for name, arrays in zip(param_names, param_arrays)}
        )
        return
    for index, (name, arrays) in enumerate(zip(param_names, param_arrays)):
        if not isinstance(kvstore, kvs.KVStore):
            kvstore.broadcast(name, arg_params[name], out=arrays, priority=-index)
            continue
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, arrays, priority=-index)


def _update_params_on_kvstore(param_arrays, grad_arrays, kvstore, param_names):
    """Push gradients to a KVStore that updates the weights, and pull the new weights.

    Priorities make the first layers' weights come back first: the next forward needs them first.
    """
    for index, (name, weights, grads) in enumerate(zip(param_names, param_arrays, grad_arrays)):
        if grads[0] is None:
            continue
        if weights[0].stype == "default":
            kvstore.pushpull(name, grads, out=weights, priority=-index)
            continue
        kvstore.push(name, grads, priority=-index)
        _pull_rows(kvstore, name, grads, weights, -index)


def _pull_rows(kvstore, name, grads, weights, priority):
    """Pull the rows that row_sparse gradients contain into the weights, which have all rows."""
    rows = np.unique(np.concatenate([grad.parts()[1][0] for grad in grads]))
    if not len(rows):
        return
    out = nd.sparse.zeros("row_sparse", weights[0].shape, dtype=weights[0].dtype)
    ids = nd.array(rows, dtype="int64")
    kvstore.row_sparse_pull(name, out=out, priority=priority, row_ids=ids)
    for weight in weights:
        put_rows(weight.parts()[0], out.parts()[0], rows)


def _sum_over_devices(grads):
    """Replace the gradients of all devices by their sum; row_sparse gradients stay row_sparse."""
    total = nd.add_n(*[grad.as_in_context(grads[0].context) for grad in grads])
    for grad in grads:
        grad[:] = total


def _update_params(
    param_arrays, grad_arrays, updater, num_device, kvstore=None, param_names=None, numbers=None
):
    """Update each device's weights, after summing gradients through `kvstore` if there is one.

    param_arrays, grad_arrays (list of lists of NDArray): Arrays of all devices for each parameter.
    updater: callable
    num_device: int
    kvstore: KVStore, optional
    param_names (list of str): Keys of the KVStore.
    numbers (list of int, optional): Numbers of the parameters, by which the updater knows them;
        their places by default.
    """
    updates = defaultdict(lambda: ([], [], []))
    for place, (weights, grads) in enumerate(zip(param_arrays, grad_arrays)):
        if grads[0] is None:
            continue
        index = place if numbers is None else numbers[place]
        if kvstore is not None:
            name = param_names[place]
            if grads[0].stype == "default":
                kvstore.pushpull(name, grads, out=grads, priority=-index)
            else:
                _sum_over_devices(grads)
        for device, (weight, grad) in enumerate(zip(weights, grads)):
            indices, all_grads, all_weights = updates[device]
            # a state for each device: the updater distinguishes them by index
            indices.append(index * num_device + device)
            all_grads.append(grad)
            all_weights.append(weight)
    for indices, all_grads, all_weights in updates.values():
        updater(indices, all_grads, all_weights)
