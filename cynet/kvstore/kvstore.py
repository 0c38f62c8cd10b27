"""KVStore: values by key; pushes of devices are summed, a pull copies the value."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, NotFoundError, ShapeError, shown
from ..base.files import read_file, write_atomically
from ..base.guard import guarded
from ..context import cpu
from ..ndarray import NDArray
from ..optimizer import Optimizer, get_updater
from .base import KVStoreBase
from .compression import make_compression
from .rows import pull_rows, row_ids_per_output

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..distributed import Group
    from ..typing import FileName, Keys, Values

# Types of KVStore that sum gradients on the CPU, and on the device of the first gradient.
_CPU_TYPES = ("local", "local_update_cpu", "local_allreduce_cpu")  # sum gradients on the CPU
_DEVICE_TYPES = ("device", "local_allreduce_device")  # sum on the first gradient's device
# over several processes
_DISTRIBUTED_TYPES = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device")
_REPLACED_TYPES = {  # refused type -> what to use instead
    "async": "ranks that do not wait for one another train to other weights in each run; use"
    " 'dist_sync', whose sums overlap the computation",
    "nccl": "'device' sums on the GPUs of this process, 'dist_sync' over several processes",
    "p3": "'dist_sync' sends what the next forward needs first before the rest",
    "horovod": "'dist_sync' does the same, mx.contrib.horovod has Horovod's calls",
    "byteps": "'dist_sync' does the same",
}


@guarded
class KVStore(KVStoreBase):
    """Values by key, shared by the devices of one process. `create` makes one.

    A key is a str or an int, all of one store of the same kind. Methods take one key with its array
    (or a list of arrays, one per device), or lists of both. Everything is asynchronous: the calls
    return at once, and reading an array that was pulled waits for it. Threads may share a store.

    Parameters
    ----------
    kind : str
        Name of the kind, ``'local'``, ``'device'``, ``'dist_sync'``, ...; use `create`.

    Examples
    --------
    >>> kv = mx.kv.create("local")
    >>> kv.init("w", mx.nd.zeros(2))
    >>> kv.push("w", [mx.nd.ones(2), mx.nd.ones(2)])  # two devices' gradients
    >>> out = mx.nd.zeros(2)
    >>> kv.pull("w", out=out)
    >>> out.asnumpy().tolist()
    [2.0, 2.0]
    """

    def __init__(self, kind: str) -> None:
        self._type = kind
        self._values = {}
        self._key_type = None
        self._updater = None
        self._compress = None
        self._lock = threading.RLock()

    def _repr_settings(self):
        workers = self.num_workers
        return {
            "type": self.type,
            "keys": len(self._values),
            "rank": f"{self.rank} of {workers}" if workers > 1 else None,
            "optimizer": getattr(self._updater, "optimizer", None),
        }

    @property
    def type(self) -> str:
        """The name of the type that the store was created with."""
        return self._type

    @property
    def rank(self) -> int:
        """Index of this worker among all workers: always 0."""
        return 0

    @property
    def num_workers(self) -> int:
        """The number of workers that share the store: 1."""
        return 1

    @staticmethod
    def is_capable(capability: str) -> bool:
        """True for ``'optimizer'``: updates can run in the store."""
        return isinstance(capability, str) and capability.lower() == "optimizer"

    def init(self, key: Keys, value: NDArray | Sequence[NDArray]) -> None:
        """Set the first value of one or several new keys.

        Parameters
        ----------
        key : str, int or a list of them
            The new keys.
        value : NDArray or a list of them
            Their first values; the store keeps copies of the same storage type.

        Raises
        ------
        ArgumentError
            When a key has a value already, or the lists differ in length.
        """
        for each, arrays in self._checked_pairs("init", key, value):
            if each in self._values:
                raise ArgumentError(f"kvstore init: key {shown(each)} has a value already")
            context = cpu() if self._type in _CPU_TYPES else arrays[0].context
            self._values[each] = arrays[0].copyto(context)

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sum a key's arrays: the sum replaces its value, or goes to the updater.

        Parameters
        ----------
        value : NDArray, list of NDArray, or a list of such lists
            Arrays of the values' shapes; all arrays of a key that occurs twice are summed.
        priority : int
            A hint of MXNet's scripts; not used.

        Raises
        ------
        NotFoundError, ShapeError, ArgumentError
            For a key without a value, another shape, lists that do not match; naming the key.
        """
        grouped = {}
        for each, arrays in self._checked_pairs("push", key, value):
            grouped.setdefault(each, []).extend(arrays)
        for each, arrays in grouped.items():
            self._check_shapes("push", each, arrays)
        with self._lock:
            for each, arrays in grouped.items():
                stored = self._values[each]
                if self._compress is not None:
                    self._refuse_sparse("push", each, arrays)
                    arrays = self._compress(each, arrays)
                merged = self._sum_devices(arrays, stored)
                if self._updater is None:
                    merged.copyto(stored)
                else:
                    self._updater(each, merged, stored)

    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copy the values of one or several keys into arrays.

        Parameters
        ----------
        out : NDArray, list of NDArray, or a list of such lists
            Arrays that values are written to; a list for a single key gets a copy in each array.
        ignore_sparse : bool
            Leave sparse arrays of `out` as they are; `row_sparse_pull` is for these.

        Raises
        ------
        NotFoundError, ShapeError, ArgumentError
            As for `push`.
        """
        if out is None:
            raise ArgumentError("kvstore pull: 'out' is missing: the arrays to write to")
        pairs = self._checked_pairs("pull", key, out)
        for each, arrays in pairs:
            self._check_shapes("pull", each, arrays)
        for each, arrays in pairs:
            for array in arrays:
                if array.stype == "default" or not ignore_sparse:
                    self._values[each].copyto(array)

    def pushpull(
        self, key: Keys, value: Values, out: Values | None = None, priority: int = 0
    ) -> None:
        """Call `push`, then `pull` into `out`, or into `value` if `out` is None."""
        with self._lock:
            out = value if out is None else out
            # all keys are checked before any changes
            for each, arrays in self._checked_pairs("pushpull", key, out):
                self._check_shapes("pushpull", each, arrays)
            self.push(key, value, priority)
            self.pull(key, out, priority, ignore_sparse=False)

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """Call `init`, then `pull` into `out`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, row_ids: Any = None
    ) -> None:
        """Write rows of the values of one or several keys to row_sparse arrays.

        Parameters
        ----------
        out : RowSparseNDArray, list of them, or a list of such lists
            Arrays that become the rows which `row_ids` names.
        row_ids : NDArray or list of NDArray
            Numbers of rows, of any shape and dtype, for all arrays or for each of them; this waits
            for them.

        Raises
        ------
        NotFoundError, ShapeError, ArgumentError
            As for `push`; for a row that is not there, and an array that is not row_sparse.

        Examples
        --------
        >>> kv = mx.kv.create("local")
        >>> kv.init("w", mx.nd.ones((5, 1)).tostype("row_sparse"))
        >>> out = mx.nd.sparse.zeros("row_sparse", (5, 1))
        >>> kv.row_sparse_pull("w", out=out, row_ids=mx.nd.array([3, 1, 3]))
        >>> out.indices.asnumpy().tolist()
        [1, 3]
        """
        if out is None:
            raise ArgumentError("kvstore row_sparse_pull: 'out' is missing: the arrays to write to")
        pairs = self._checked_pairs("row_sparse_pull", key, out)
        for each, arrays in pairs:
            self._check_shapes("row_sparse_pull", each, arrays)
        targets = [(each, array) for each, arrays in pairs for array in arrays]
        for (each, array), ids in zip(targets, row_ids_per_output(len(targets), row_ids)):
            pull_rows(each, self._values[each], array, ids)

    def set_updater(self, updater: Callable[[Any, NDArray, NDArray], Any]) -> None:
        """Set ``updater(key, pushed, stored)``, which changes `stored` at each push.

        Parameters
        ----------
        updater : callable
            Called with the key as it was given, the sum of what was pushed, and the store's own
            array.

        Raises
        ------
        ArgumentTypeError
            `updater` cannot be called.

        Examples
        --------
        >>> kv = mx.kv.create("local")
        >>> kv.init("w", mx.nd.zeros(2))
        >>> def step(key, pushed, stored):
        ...     stored -= 0.1 * pushed
        >>> kv.set_updater(step)
        >>> kv.push("w", mx.nd.array([1, 2]))
        >>> out = mx.nd.zeros(2)
        >>> kv.pull("w", out=out)
        >>> out.asnumpy(), kv.updater is step
        (array([-0.1, -0.2], dtype=float32), True)
        """
        if not callable(updater):
            raise ArgumentTypeError(
                f"kvstore set_updater takes a callable, got {type(updater).__name__}"
            )
        self._updater = updater

    _set_updater = set_updater

    @property
    def updater(self) -> Any:
        """The updater that changes stored values at each push; None: a push replaces the value by
        the sum.

        Examples
        --------
        >>> kv = mx.kv.create("local")
        >>> kv.updater is None
        True
        >>> kv.set_optimizer(mx.optimizer.SGD())
        >>> type(kv.updater.optimizer).__name__
        'SGD'
        """
        return self._updater

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Let an Optimizer update the stored weights with the pushed gradients."""
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(
                f"kvstore set_optimizer takes an Optimizer, got {type(optimizer).__name__}"
            )
        self.set_updater(get_updater(optimizer))

    def save_optimizer_states(self, fname: FileName, dump_optimizer: bool = False) -> None:
        """Write the optimizer's states, such as momenta, to a file atomically.

        Parameters
        ----------
        fname : str or path
        dump_optimizer : bool
            Write the optimizer's settings and counts too.
        """
        updater = self._updater_with_states("save")
        write_atomically(fname, getattr(updater, "chunks", updater.get_states)(dump_optimizer))

    def load_optimizer_states(self, fname: FileName) -> None:
        """Load the states that `save_optimizer_states` wrote.

        Raises
        ------
        FormatError
            When the file is damaged or of another format.
        """
        updater = self._updater_with_states("load")
        updater.set_states(read_file(fname))

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Push gradients in two bits an entry; the rounding error is added to the next push.

        In one process it saves nothing: it shows what training does with it.

        Parameters
        ----------
        compression_params : dict
            The type and its settings: ``{'type': '2bit', 'threshold': 0.5}``.

        Raises
        ------
        ArgumentError
            Another type, a `threshold` of 0 or less, or a store that sums on the CPU, as in MXNet.

        Examples
        --------
        >>> kv = mx.kv.create("device")
        >>> kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        >>> kv.init("w", mx.nd.zeros(3))
        >>> out = mx.nd.zeros(3)

        An entry becomes -0.5, 0 or 0.5; the rest of 0.3 is added to the next push:

        >>> for _ in range(2):
        ...     kv.push("w", mx.nd.array([0.3, 0.7, -2]))
        ...     kv.pull("w", out=out)
        ...     print(out.asnumpy())
        [ 0.   0.5 -0.5]
        [ 0.5  0.5 -0.5]
        """
        self._compress = make_compression(compression_params, self._type)

    def barrier(self) -> None:
        """Wait for all workers; with one worker it returns at once.

        Examples
        --------
        >>> mx.kv.create("local").barrier()
        """

    _barrier = barrier

    def _updater_with_states(self, verb):
        if not hasattr(self._updater, "get_states"):
            raise ArgumentError(
                f"kvstore {verb}_optimizer_states: no optimizer is set; call set_optimizer first"
            )
        return self._updater

    def _checked_pairs(self, where, key, value):
        """Check a method's arguments; return [(key, [NDArray, ...]), ...]."""
        if isinstance(key, (list, tuple)):
            if not isinstance(value, (list, tuple)) or len(key) != len(value):
                found = len(value) if isinstance(value, (list, tuple)) else type(value).__name__
                raise ArgumentError(
                    f"kvstore {where}: {len(key)} keys need a list of as many values, got {found}"
                )
            return [pair for k, v in zip(key, value) for pair in self._checked_pairs(where, k, v)]
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            raise ArgumentTypeError(
                f"kvstore {where}: a key must be a str or an int, got {type(key).__name__} "
                f"{shown(key)}"
            )
        kind = str if isinstance(key, str) else int
        if self._key_type is None:
            self._key_type = kind
        if kind is not self._key_type:
            raise ArgumentTypeError(
                f"kvstore {where}: key {shown(key)} is {kind.__name__}, the keys before were "
                f"{self._key_type.__name__}; they may not be mixed"
            )
        arrays = list(value) if isinstance(value, (list, tuple)) else [value]
        for array in arrays:
            if not isinstance(array, NDArray):
                raise ArgumentTypeError(
                    f"kvstore {where}: key {shown(key)} needs an NDArray, got "
                    f"{type(array).__name__}"
                )
        if not arrays:
            raise ArgumentError(f"kvstore {where}: key {shown(key)} has an empty list of arrays")
        return [(key, arrays)]

    def _refuse_sparse(self, where, key, arrays):
        for array in arrays:
            if array.stype != "default":
                raise ArgumentError(
                    f"kvstore {where}: key {shown(key)} is {array.stype}; gradient compression is"
                    " for dense arrays"
                )

    def _check_shapes(self, where, key, arrays):
        if key not in self._values:
            raise NotFoundError(f"kvstore {where}: key {shown(key)} has no value; call init first")
        shape = self._values[key].shape
        for array in arrays:
            if array.shape != shape:
                raise ShapeError(
                    f"kvstore {where}: key {shown(key)} has shape {shape}, got an array of "
                    f"{array.shape}"
                )

    def _sum_devices(self, arrays, stored):
        """Return the sum of the arrays, computed on the device that this type of store sums on."""
        context = arrays[0].context if self._type in _DEVICE_TYPES else stored.context
        merged = arrays[0].as_in_context(context)
        if any(array.stype != "default" for array in arrays):
            for array in arrays[1:]:
                merged = merged + array.as_in_context(context)
        elif len(arrays) > 1:
            if merged is arrays[0]:
                merged = merged + arrays[1].as_in_context(context)
            else:
                merged += arrays[1].as_in_context(context)
            for array in arrays[2:]:
                merged += array.as_in_context(context)
        return merged.as_in_context(stored.context)


@guarded
def create(name: str = "local", group: Group | None = None) -> KVStore | Any:
    """Create a KVStore of a type, or a store that ``KVStoreBase.register`` has registered.

    Parameters
    ----------
    name : str
        ``'local'`` sums what devices push on the CPU, ``'device'`` on the device of the first; also
        MXNet's older ``'local_update_cpu'``, ``'local_allreduce_cpu'`` and
        ``'local_allreduce_device'``. ``'dist_sync'`` (``'dist'``, ``'dist_device_sync'``,
        ``'dist_sync_device'``) sums over several processes, too: see `DistKVStore`.
    group : Group, optional
        For ``'dist_sync'``: the ranks that share the store, as ``mx.distributed.group`` gives them;
        by default all.

    Returns
    -------
    KVStore

    Raises
    ------
    ArgumentTypeError, ArgumentError
        When the name is not a str, or no kind there is, or `group` goes with another kind.

    Examples
    --------
    >>> mx.kv.create("device").type
    'device'
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"kvstore create: the type must be a str, got {shown(name)}")
    kind = name.lower()
    if group is not None and kind not in _DISTRIBUTED_TYPES:
        raise ArgumentError(f"kvstore create: a group goes with 'dist_sync', got {shown(name)}")
    if kind in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[kind]()
    if kind in (*_CPU_TYPES, *_DEVICE_TYPES):
        return KVStore(kind)
    known = ", ".join(map(repr, (*_CPU_TYPES, *_DEVICE_TYPES, *_DISTRIBUTED_TYPES)))
    if kind in _DISTRIBUTED_TYPES:
        from .dist import DistKVStore

        return DistKVStore(kind, group)
    instead = next((text for name, text in _REPLACED_TYPES.items() if name in kind), None)
    if instead is not None:
        raise ArgumentError(f"kvstore {shown(name)} is not there: {instead}; kinds: {known}")
    raise ArgumentError(f"kvstore {shown(name)} is not known; kinds: {known}")
