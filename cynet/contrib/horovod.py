"""mx.contrib.horovod: the calls of ``horovod.mxnet``, for scripts that were written for it.

``import cynet.contrib.horovod as hvd`` in place of ``import horovod.mxnet as hvd``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kvstore as kvs
from .. import ndarray as nd
from ..base.dtype import NAMES
from ..base.errors import ArgumentError, ArgumentTypeError, MismatchError, shown
from ..base.guard import guarded
from ..distributed import world
from ..gluon.parameter import Parameter
from ..gluon.trainer import Trainer
from ..optimizer import Optimizer, register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..typing import NDArray, ParameterDict

__all__ = [
    "DistributedOptimizer",
    "DistributedTrainer",
    "allgather",
    "allreduce",
    "allreduce_",
    "broadcast",
    "broadcast_",
    "broadcast_parameters",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "rank",
    "shutdown",
    "size",
]
_state = {"store": None}
_classes = {}  # class of an optimizer -> the class that sums gradients before


def init(*_: Any) -> None:
    """Join the other processes; the first call of a script.

    Parameters
    ----------
    *_ : object
        Part of Horovod's signature; not used: the launcher knows the other processes.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.init()
    >>> hvd.rank(), hvd.size(), hvd.local_rank()
    (0, 1, 0)
    """
    _store()


def shutdown() -> None:
    """Do nothing: a process leaves the others when it ends.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.shutdown()
    """


def is_initialized() -> bool:
    """Whether `init` has been called.

    Returns
    -------
    bool

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.init()
    >>> hvd.is_initialized()
    True
    """
    return _state["store"] is not None


def size() -> int:
    """How many processes there are.

    Returns
    -------
    int

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.size()  # of a process that was started by itself
    1
    """
    return world().size


def rank() -> int:
    """The number of this process, from 0.

    Returns
    -------
    int

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.rank()  # of a process that was started by itself
    0
    """
    return world().rank


def local_size() -> int:
    """How many processes there are on this machine.

    Returns
    -------
    int

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.local_size()  # of a process that was started by itself
    1
    """
    return world().local_size


def local_rank() -> int:
    """The number of this process among those of this machine, from 0: that of its GPU.

    Returns
    -------
    int

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.local_rank()  # of a process that was started by itself
    0
    """
    return world().local_rank


def _store():
    if _state["store"] is None:
        _state["store"] = kvs.create("dist_sync")
    return _state["store"]


@guarded
def allreduce(
    tensor: NDArray, average: bool = True, name: str | None = None, priority: int = 0
) -> NDArray:
    """The mean of an array over all processes, or the sum.

    Parameters
    ----------
    tensor : NDArray
        An array of the same shape and dtype in all processes.
    average : bool
        Whether to take the mean; if False, the sum.
    name : str, optional
        Name of the array in errors.
    priority : int
        Arrays of higher priority are summed first.

    Returns
    -------
    NDArray
        A new array, on the context of `tensor`.

    Examples
    --------
    >>> allreduce(mx.nd.array([1, 3])).asnumpy().tolist()
    [1.0, 3.0]
    """
    return allreduce_(tensor.copy(), average, name, priority)


@guarded
def allreduce_(
    tensor: NDArray, average: bool = True, name: str | None = None, priority: int = 0
) -> NDArray:
    """`allreduce` in the array's own memory.

    Parameters
    ----------
    tensor : NDArray
        An array of the same shape and dtype in all processes.
    average : bool
        Whether to take the mean; if False, the sum.
    name : str, optional
        Name of the array in errors.
    priority : int
        Arrays of higher priority are summed first.

    Returns
    -------
    NDArray
        `tensor` itself.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> array = mx.nd.array([1, 3])
    >>> hvd.allreduce_(array, average=False) is array
    True
    """
    _store().sum_up(name or "tensor", tensor, priority)
    if average and size() > 1:
        tensor /= size()
    return tensor


@guarded
def allgather(tensor: NDArray, name: str | None = None, priority: int = 0) -> NDArray:
    """The arrays of all processes one after another along the first axis; waits.

    Parameters
    ----------
    tensor : NDArray
        An array with at least one axis. The first may have another length in each process; other
        axes and the dtype are the same.
    name, priority : optional
        See `allreduce`.

    Returns
    -------
    NDArray
        A new array, on the context of `tensor`.

    Raises
    ------
    ArgumentError
        `tensor` is not an NDArray with an axis.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.allgather(mx.nd.array([[1, 2], [3, 4]])).asnumpy()  # of a single process
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    if not isinstance(tensor, nd.NDArray) or tensor.ndim < 1:
        raise ArgumentError(f"allgather takes an NDArray with an axis, got {shown(tensor)}")
    mine, rest = tensor.host_copy(), tensor.shape[1:]
    what = f"{name or 'tensor'} (n, {str(rest)[1:]} {NAMES[tensor.dtype_flag]}"
    row = int(np.prod(rest)) * mine.itemsize
    arrays = [
        np.frombuffer(part, mine.dtype).reshape(len(part) // row if row else 0, *rest)
        for part in world().gather(mine.tobytes(), what)
    ]
    return nd.array(np.concatenate(arrays), ctx=tensor.context, dtype=tensor.dtype)


@guarded
def broadcast(
    tensor: NDArray, root_rank: int, name: str | None = None, priority: int = 0
) -> NDArray:
    """A new array with the values that `tensor` has in one process.

    Parameters
    ----------
    tensor : NDArray
        An array of the same shape and dtype in all processes.
    root_rank : int
        Number of the process whose values are taken.
    name : str, optional
        Name of the array in errors.
    priority : int
        Part of Horovod's signature; not used.

    Returns
    -------
    NDArray
        A new array.

    Raises
    ------
    ArgumentError
        There is no process `root_rank`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.broadcast(mx.nd.array([1, 2]), root_rank=0).asnumpy()
    array([1., 2.], dtype=float32)
    """
    return broadcast_(tensor.copy(), root_rank, name, priority)


@guarded
def broadcast_(
    tensor: NDArray, root_rank: int, name: str | None = None, priority: int = 0
) -> NDArray:
    """Give `tensor` the values that it has in one process.

    Parameters
    ----------
    tensor : NDArray
        An array of the same shape and dtype in all processes.
    root_rank : int
        Number of the process whose values are taken.
    name : str, optional
        Name of the array in errors.
    priority : int
        Part of Horovod's signature; not used.

    Returns
    -------
    NDArray
        `tensor` itself.

    Raises
    ------
    ArgumentError
        There is no process `root_rank`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> array = mx.nd.array([1, 2])
    >>> hvd.broadcast_(array, root_rank=0) is array
    True
    """
    _share({name or "tensor": [tensor]}, root_rank)
    return tensor


@guarded
def broadcast_parameters(
    params: Mapping[str, Any] | ParameterDict, root_rank: int = 0, prefix: str | None = None
) -> None:
    """Give parameters the values that they have in one process.

    Parameters
    ----------
    params : dict of str to NDArray, or of str to Parameter
        Parameters as ``module.get_params()`` or ``net.collect_params()`` returns them. A Parameter
        whose shape is not known yet gets the values of rank 0 from the `DistributedTrainer`, when
        it is known.
    root_rank : int
        Number of the process whose values are taken.
    prefix : str, optional
        Part of Horovod's signature; not used.

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
                arrays[name] = each._all_data()
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
        _share(arrays, root_rank)


def _share(arrays, root):
    if not isinstance(root, int) or not 0 <= root < size():
        raise ArgumentError(f"root_rank is from 0 to {size() - 1}, got {shown(root)}")
    _store().share(arrays, root)


class _Summed:
    """Before an optimizer: gradients become their mean over the processes."""

    def update_all(self, indices, weights, grads, states):
        """Sum, then update."""
        if grads:
            names = [f"gradient {i}" for i in indices]
            _store().sum_up(names, list(grads), optimizer=self)
        super().update_all(indices, weights, grads, states)

    def joined_update(self, indices, weights, grads, states):
        """None: the sum comes between backward and update."""
        return None


@guarded
def DistributedOptimizer(optimizer: Optimizer) -> Optimizer:
    """An optimizer that first takes the mean of gradients over all processes.

    It is for ``Module.fit`` with ``kvstore=None``.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer to copy; ``rescale_grad`` of the copy is divided by the number of processes.

    Returns
    -------
    Optimizer
        A copy, of a subclass of the optimizer's class.

    Raises
    ------
    ArgumentTypeError
        `optimizer` is not an Optimizer.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.DistributedOptimizer(mx.optimizer.SGD(learning_rate=0.1)).rescale_grad
    1.0
    """
    if not isinstance(optimizer, Optimizer):
        raise ArgumentTypeError(f"DistributedOptimizer takes an Optimizer, got {shown(optimizer)}")
    kind = type(optimizer)
    if kind not in _classes:
        members = {"__module__": __name__, "__doc__": kind.__doc__}
        _classes[kind] = type(f"Distributed{kind.__name__}", (_Summed, kind), members)
        register(_classes[kind])  # states in files name it
    out = copy.copy(optimizer)
    out.__class__ = _classes[kind]
    out.rescale_grad = optimizer.rescale_grad / size()
    return out


class DistributedTrainer(Trainer):
    """A Trainer that takes the mean of gradients over all processes; all begin with the values of
    rank 0.

    Parameters
    ----------
    params, optimizer, optimizer_params
        See ``gluon.Trainer``.
    compression : optional
        Only Horovod's ``Compression.none``, which is None here.
    gradient_predivide_factor : float
        Only 1: float16 gradients are summed in float32 anyway.
    prefix : str, optional
        Part of Horovod's signature; not used.
    **options
        Further arguments of ``gluon.Trainer``: ``compression_params``, ...

    Raises
    ------
    ArgumentError
        `compression` or another `gradient_predivide_factor` is asked for.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = hvd.DistributedTrainer(net.collect_params(), "sgd")
    """

    _has_told = True  # step() is given the examples of one rank, as everywhere in Horovod

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: Mapping[str, Any] | None = None,
        compression: Any = None,
        gradient_predivide_factor: float = 1.0,
        prefix: str | None = None,
        **options: Any,
    ) -> None:
        if compression is not None or gradient_predivide_factor != 1.0:
            raise ArgumentError(
                "DistributedTrainer: compression and gradient_predivide_factor are not there;"
                " halves are summed in float32. compression_params={'type': '2bit'} compresses"
            )
        store = kvs.create("dist_sync")
        options.setdefault("update_on_kvstore", False)
        super().__init__(params, optimizer, optimizer_params, kvstore=store, **options)
        self._scale /= store.num_workers
