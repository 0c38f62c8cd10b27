"""DistKVStore: values by key, shared by all processes that train together."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .._core.sparse_kind import dense_of
from ..base.dtype import NAMES
from ..base.errors import ArgumentError, MismatchError, shown
from ..base.guard import guarded
from ..context import cpu
from ..distributed import world
from ..distributed.requests import SAME_SIZE_HINT
from ..optimizer import Updater
from ..optimizer.terms import all_settings, brief_settings, describe_rank_differences, state_digest
from .buckets import broadcast_request, make_buckets, sum_array_request, sum_request, sum_two_bits
from .compression import make_compression
from .kvstore import KVStore
from .rows_of_ranks import are_row_sparse, sum_row_sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..distributed import World
    from ..ndarray import NDArray
    from ..typing import FileName, Keys, Optimizer, Values
    from .changed_parts import ChangedParts

_MAX_CACHED_CALLS = 16  # calls whose buckets are cached: training repeats its calls in each step


@guarded
class DistKVStore(KVStore):
    """A KVStore of several processes: pushed values are summed over all devices of all ranks.

    All ranks make the same calls in the same order, with the same keys, shapes and dtypes.
    Everything is asynchronous, as in a store of one process. Updates run on every rank, on equal
    sums, so that weights stay equal.

    Started by ``python -m cynet.launch``, `mpiexec` or `srun`; a process that is started by itself
    is the one of one.

    Parameters
    ----------
    kind : str
        Name of the kind, ``'local'``, ``'device'``, ``'dist_sync'``, ...; use `create`.
    group : Group, optional
        Of ranks that share it; by default all.

    Examples
    --------
    >>> kv = mx.kv.create("dist_sync")
    >>> kv.rank, kv.num_workers, kv.local_rank
    (0, 1, 0)
    """

    def __init__(self, kind: str, group: World | None = None) -> None:
        super().__init__(kind)
        self._world = world() if group is None else group
        self._world.check()
        self._calls = OrderedDict()  # (verb, rows) -> buckets
        self._first = None  # the key that was pushed first
        self._terms = ""  # terms that the ranks compare in the next request

    @property
    def rank(self) -> int:
        """The index of this process among all processes."""
        return self._world.rank

    @property
    def num_workers(self) -> int:
        """The number of processes that share the store."""
        return self._world.size

    @property
    def local_rank(self) -> int:
        """Rank of this process on its machine, from 0: the index of its GPU."""
        return self._world.local_rank

    def init(self, key: Keys, value: NDArray | Sequence[NDArray]) -> None:
        """Set the initial value of one or several new keys to rank 0's value, on all ranks."""
        pairs = self._checked_pairs("init", key, value)
        with self._lock:
            for each, _ in pairs:
                if each in self._values:
                    raise ArgumentError(f"kvstore init: key {shown(each)} has a value already")
            for each, arrays in pairs:
                self._values[each] = dense_of(arrays[0]).copyto(cpu())
            self.share({each: [self._values[each]] for each, _ in pairs})

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sum a key's arrays over all devices and ranks: the sum replaces its value, or goes to the
        updater.

        Parameters
        ----------
        key : str, int or a list of them
            The same on all ranks. Keys of one call travel together.
        value : NDArray, list of NDArray, or a list of such lists
        priority : int
            Of sums that all ranks are ready for, those of higher priority come first.

        Raises
        ------
        PeerError
            When another rank has failed.
        NotFoundError, ShapeError, ArgumentError
            As in a store of one process.
        """
        grouped = {}
        for each, arrays in self._checked_pairs("push", key, value):
            grouped.setdefault(each, []).extend(arrays)
        for each, arrays in grouped.items():
            self._check_shapes("push", each, arrays)
        with self._lock:
            self._world.check()
            self._first = next(iter(grouped)) if self._first is None else self._first
            if self._first in grouped:  # the key that comes first in each step
                self._world.count_step()
            self._attach_optimizer_terms(getattr(self._updater, "optimizer", None))
            found = self._sum_over_ranks(grouped, priority)
            if self._updater is None:
                self._values.update(zip(found, _dense_arrays(found.values())))
                return
            for each, total in found.items():
                stored = self._values[each]
                if total.dtype != grouped[each][0].dtype:
                    total = total.astype(grouped[each][0].dtype)
                self._updater(each, total.as_in_context(stored.context), stored)

    def sum_up(
        self, key: Keys, value: Values, priority: int = 0, optimizer: Optimizer | None = None
    ) -> None:
        """Put the sum of each key's arrays, over all devices and ranks, into these arrays; the
        stored values stay.

        Parameters
        ----------
        key, value, priority
            See `push`; the keys need no value.
        optimizer : Optimizer, optional
            Whose next step uses the sums: it is an error where ranks' settings of it differ.

        Examples
        --------
        >>> kv, gradient = mx.kv.create("dist_sync"), mx.nd.ones(2)
        >>> kv.sum_up("w", gradient)
        >>> gradient.asnumpy().tolist()
        [1.0, 1.0]
        """
        handed = dict(self._checked_pairs("sum_up", key, value))
        by_rows = {}
        if self._compress is None:
            by_rows = {each: arrays for each, arrays in handed.items() if are_row_sparse(arrays)}
        given = {
            each: _dense_arrays(arrays) for each, arrays in handed.items() if each not in by_rows
        }
        with self._lock:
            self._world.check()
            if optimizer is not None:  # without an optimizer, states are summed, not gradients
                self._world.count_step()
            self._attach_optimizer_terms(optimizer)
            for each, arrays in by_rows.items():
                total = self._sum_row_sparse(each, arrays, priority)
                for array in arrays:
                    total.copyto(array)
            alone = self._compress is None and self._world.size == 1
            if alone and all(len(arrays) == 1 for arrays in given.values()):
                return
            buckets = self._buckets_for("sum", self._array_specs(given), priority)
            for bucket in reversed(buckets):
                arrays = given[bucket.entries[0].key]
                if self._compress is None and _can_sum_in_place(bucket, arrays):
                    if self._world.size > 1:
                        self._send_request(sum_array_request(bucket, arrays[0]), (), arrays)
                    continue
                self._send_bucket(bucket, given)
                for entry in bucket.entries:
                    for array in given[entry.key]:
                        entry.view.copyto(array)
            for each, totals in given.items():
                for array, total in zip(handed[each], totals):
                    if array is not total:
                        total.copyto(array)

    def share(self, arrays: dict[Any, Sequence[NDArray]], root: int = 0) -> None:
        """Broadcast the values of one rank's first arrays to the arrays of all devices and ranks.

        Parameters
        ----------
        arrays : dict of key to list of NDArray
            Arrays of the devices of this rank, by key.
        root : int
            Rank whose values are taken.

        Examples
        --------
        >>> mx.kv.create("dist_sync").share({"w": [mx.nd.ones(2)]})
        """
        with self._lock:
            self._world.check()
            for bucket in self._buckets_for("broadcast", self._array_specs(arrays), 0, keep=False):
                first = arrays[bucket.entries[0].key]
                if _can_sum_in_place(bucket, first[:1]):
                    if self._world.size > 1:
                        self._send_request(broadcast_request(bucket, root, first[0]), (), first[:1])
                    for array in first[1:]:
                        first[0].copyto(array)
                    continue
                for entry in bucket.entries:
                    arrays[entry.key][0].copyto(entry.view)
                if self._world.size > 1:
                    self._world.hand_in(broadcast_request(bucket, root), (), [bucket.flat])
                for entry in bucket.entries:
                    for array in arrays[entry.key]:
                        entry.view.copyto(array)

    def gather(self, parts: ChangedParts) -> None:
        """Send the parts that each rank has changed to all ranks.

        Parameters
        ----------
        parts : ChangedParts
            Of which arrays, and of whom.

        Examples
        --------
        >>> from cynet.kvstore.changed_parts import ChangedParts
        >>> weight = mx.nd.ones(2)
        >>> mx.kv.create("dist_sync").gather(ChangedParts({"w": [weight]}, {"w": [(0, 2)]}, rank=0))
        """
        with self._lock:
            self._world.check()
            for i, each in enumerate(parts.gathered):
                for view, arrays in each.mine:
                    arrays[0].copyto(view)
                if self._world.size > 1:
                    self._world.hand_in(each.make_request(-i), (), [each.target])
                for view, arrays in each.others:
                    for array in arrays:
                        view.copyto(array)

    def set_updater(self, updater: Callable[[Any, NDArray, NDArray], Any]) -> None:
        """Set ``updater(key, pushed, stored)``, which changes `stored` at each push, on every rank.

        All ranks set it, with the same optimizer where it has one.
        """
        super().set_updater(updater)
        if isinstance(updater, Updater):
            self.agree_on(updater.optimizer, "set_optimizer")
        else:
            name = getattr(updater, "__qualname__", type(updater).__name__)
            self._check_ranks_agree("set_updater", {"updater": name})

    _set_updater = set_updater

    def agree_on(self, optimizer: Optimizer, where: str = "optimizer") -> None:
        """Wait for all ranks, and refuse optimizers that differ: each rank updates its own weights.

        Parameters
        ----------
        optimizer : Optimizer
            That of this rank.
        where : str
            What the message begins with.

        Raises
        ------
        MismatchError
            On all ranks, with the settings that differ.

        Examples
        --------
        >>> mx.kv.create("dist_sync").agree_on(mx.optimizer.SGD(learning_rate=0.1))
        """
        if self._world.size > 1:
            self._check_ranks_agree(where, all_settings(optimizer))

    def agree_on_states(self, updater: Updater, where: str) -> None:
        """Wait for all ranks, and refuse optimizers' states, such as momenta, that differ.

        Parameters
        ----------
        updater : Updater
            That of this rank.
        where : str
            What the message begins with.

        Raises
        ------
        MismatchError
            On all ranks.

        Examples
        --------
        >>> updater = mx.optimizer.get_updater(mx.optimizer.SGD())
        >>> mx.kv.create("dist_sync").agree_on_states(updater, "load_states")
        """
        if self._world.size > 1:
            self._check_ranks_agree(
                where, {**all_settings(updater.optimizer), **state_digest(updater)}
            )

    def load_optimizer_states(self, fname: FileName) -> None:
        """Load the states that `save_optimizer_states` wrote, the same on all ranks."""
        super().load_optimizer_states(fname)
        if isinstance(self._updater, Updater):
            self.agree_on_states(self._updater, "load_optimizer_states")

    def _check_ranks_agree(self, where, terms):
        """Refuse terms, a dict of texts, that differ between ranks."""
        rows = self._world.gather(json.dumps(terms).encode(), f"what {where} is given")
        found = describe_rank_differences([json.loads(each) for each in rows])
        if found:
            raise MismatchError(
                f"{where}: ranks must have the same optimizer, each of them updates its own"
                f" weights: {'; '.join(found[:5])}"
                + (f"; {SAME_SIZE_HINT}" if any(map(_is_rescale_difference, found)) else "")
            )

    def barrier(self) -> None:
        """Wait until all ranks have called `barrier`."""
        self._world.barrier()

    _barrier = barrier

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Send gradients in two bits an entry; the rounding error is added to the next push.

        The arrays of a rank's devices are summed first.

        Parameters
        ----------
        compression_params : dict
            ``{'type': '2bit', 'threshold': 0.5}``, the same on all ranks.
        """
        self._compress = make_compression(compression_params, self._type)

    def _array_specs(self, arrays):
        return tuple((k, each[0].shape, NAMES[each[0].dtype_flag]) for k, each in arrays.items())

    def _buckets_for(self, verb, rows, priority, keep=True):
        """Return the buckets of a call; a repeated call reuses its buckets."""
        call = verb, rows, priority
        found = self._calls.pop(call, None)
        if found is None:
            # a broadcast overlaps no backward pass: several buckets would only be more requests
            found = make_buckets(
                verb, rows, priority, **({"parts": 1} if verb == "broadcast" else {})
            )
        if keep:
            self._calls[call] = found
            if len(self._calls) > _MAX_CACHED_CALLS:
                self._calls.popitem(last=False)
        return found

    def _sum_over_ranks(self, given, priority):
        """Return {key: sum over devices and ranks}; dense sums are views of buckets."""
        found = {}
        if self._compress is None:
            for each, arrays in given.items():
                if are_row_sparse(arrays):
                    found[each] = self._sum_row_sparse(each, arrays, priority)
        whole, given = given, {k: _dense_arrays(a) for k, a in given.items() if k not in found}
        # the last gradients are ready first
        for bucket in reversed(self._buckets_for("sum", self._array_specs(given), priority)):
            arrays = given[bucket.entries[0].key]
            sums_here = self._compress is None and _can_sum_in_place(bucket, arrays)
            if sums_here and self._world.size > 1:
                self._send_request(sum_request(bucket, arrays[0]), arrays, [bucket.flat])
            else:
                self._send_bucket(bucket, given)
            found.update((entry.key, entry.view) for entry in bucket.entries)
        return {key: found[key] for key in whole}

    def _sum_row_sparse(self, key, arrays, priority):
        def request_sum(what, array):
            (bucket,) = self._buckets_for(
                "sum", self._array_specs({what: [array]}), priority, keep=False
            )
            array.copyto(bucket.entries[0].view)
            self._send_request(sum_request(bucket), (), [bucket.flat])
            return bucket.entries[0].view

        arrays = [each.as_in_context(cpu()) for each in arrays]
        return sum_row_sparse(key, arrays, self._world.rank, self._world.size, request_sum)

    def _send_bucket(self, bucket, given):
        """Copy arrays into a bucket, and request its sum over the ranks."""
        for entry in reversed(bucket.entries):
            arrays = given[entry.key]
            merged = self._sum_devices(arrays, entry.view)
            if self._compress is not None:
                (merged,) = self._compress(entry.key, [merged.astype(bucket.dtype)])
            if merged is not entry.view:
                merged.copyto(entry.view)
        if self._world.size == 1:
            return
        if self._compress is None:
            request = sum_request(bucket)
        else:
            request = sum_two_bits(bucket, self._compress.threshold, self._world.size)
        self._send_request(request, (), [bucket.flat])

    def _attach_optimizer_terms(self, optimizer):
        """Let the next request compare the ranks' terms while it sums."""
        if optimizer is not None and self._world.size > 1:
            self._terms = brief_settings(optimizer)

    def _send_request(self, request, reads, writes):
        terms, self._terms = self._terms, ""
        self._world.hand_in(request.add_settings(terms) if terms else request, reads, writes)

    def _sum_devices(self, arrays, stored):
        """Return the sum of the arrays of this rank's devices, in the dtype of `stored`."""
        if len(arrays) == 1:
            return arrays[0]
        if "device" not in self._type:
            arrays = [each.as_in_context(cpu()) for each in arrays]
        context = arrays[0].context
        merged = arrays[0].astype(stored.dtype)
        for array in arrays[1:]:
            merged += array.as_in_context(context).astype(stored.dtype, copy=False)
        return merged


def _is_rescale_difference(difference):
    return difference.startswith("rescale_grad ")


def _dense_arrays(arrays):
    """Convert the sparse arrays of a list to dense ones."""
    return [dense_of(each) for each in arrays]


def _can_sum_in_place(bucket, arrays):
    """Return whether a bucket's only array is sent from its own memory, without a copy."""
    return (
        bucket.direct
        and len(arrays) == 1
        and arrays[0].context.device_type.startswith("cpu")
        and NAMES[arrays[0].dtype_flag] == bucket.dtype
    )
