"""KVStoreBase: the interface of a user-defined store, and the registry of stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, UndefinedError, shown
from ..base.reprs import ReprMixin
from ..ndarray import NDArray, add_n

if TYPE_CHECKING:
    from ..typing import FileName, Keys, Optimizer, Values


class KVStoreBase(ReprMixin):
    """A user-defined store, for ``fit(kvstore=...)`` and ``gluon.Trainer(kvstore=...)``.

    A subclass defines `broadcast`, `pushpull`, `is_capable`, `type`, `rank` and `num_workers`; one
    that is capable of ``'optimizer'`` also `set_optimizer`, `save_optimizer_states` and
    `load_optimizer_states`. `register` gives it a name for `create`.

    Examples
    --------
    >>> @mx.kv.KVStoreBase.register
    ... class SumStore(mx.kv.KVStoreBase):
    ...     type, rank, num_workers = "sumstore", 0, 1
    ...     def broadcast(self, key, value, out, priority=0):
    ...         for each in out if isinstance(out, list) else [out]:
    ...             if each is not value:
    ...                 value.copyto(each)
    ...     def pushpull(self, key, value, out=None, priority=0):
    ...         total = mx.nd.add_n(*value)
    ...         for each in value if out is None else out:
    ...             total.copyto(each)
    ...     def is_capable(self, capability):
    ...         return False
    >>> mx.kv.create("sumstore").type
    'sumstore'
    """

    OPTIMIZER = "optimizer"
    kv_registry: dict[str, type[KVStoreBase]] = {}

    @staticmethod
    def register(klass: type[KVStoreBase]) -> type[KVStoreBase]:
        """Register a class for `create`, by its lower-case name; it replaces an earlier one.

        Parameters
        ----------
        klass : type
            The class to register.

        Returns
        -------
        type
            The class itself, so that this is a decorator.

        Raises
        ------
        ArgumentTypeError
            `klass` is not a class.
        """
        if not isinstance(klass, type):
            raise ArgumentTypeError(f"KVStoreBase.register takes a class, got {shown(klass)}")
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass

    def _undefined_error(self, name):
        return UndefinedError(f"{type(self).__name__} defines no {name}")

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """Copy the first worker's `value` to `out` of every worker and device.

        Parameters
        ----------
        value : NDArray, list of NDArray, or list of lists
            An array for each key, or one for each device.
        out : NDArray, list of NDArray, or list of lists
            Arrays, in the form of `value`, that the first worker's arrays are written to.
        priority : int
            Calls of higher priority may be served first.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise self._undefined_error("broadcast")

    def pushpull(
        self, key: Keys, value: Values, out: Values | None = None, priority: int = 0
    ) -> None:
        """Put the sum of `value` over workers and devices into `out`, or into `value`.

        Parameters
        ----------
        value : NDArray, list of NDArray, or list of lists
            An array for each key, or one for each device.
        out : NDArray, list of NDArray, or list of lists, optional
            Arrays that the sums are written to; `value` by default.
        priority : int
            Calls of higher priority may be served first.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise self._undefined_error("pushpull")

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Let `pushpull` return weights that this optimizer has updated.

        Parameters
        ----------
        optimizer : Optimizer
            Updates the weights; what is pushed is the gradient.

        Raises
        ------
        UndefinedError
            The store is not capable of ``'optimizer'``.

        Examples
        --------
        >>> kv = mx.kv.create("local")
        >>> kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
        >>> kv.init("w", mx.nd.ones(2))
        >>> out = mx.nd.zeros(2)
        >>> kv.pushpull("w", mx.nd.ones(2), out=out)
        >>> out.asnumpy()
        array([0.5, 0.5], dtype=float32)
        """
        raise self._undefined_error("set_optimizer")

    def is_capable(self, capability: str) -> bool:
        """Return whether the store is capable of ``'optimizer'``: updates in the store.

        Parameters
        ----------
        capability : str
            ``KVStoreBase.OPTIMIZER``.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise self._undefined_error("is_capable")

    def save_optimizer_states(self, fname: FileName, dump_optimizer: bool = False) -> None:
        """Write the states of the store's optimizer, such as momenta, to a file.

        Parameters
        ----------
        fname : str
            The file to write.
        dump_optimizer : bool
            Whether to include the optimizer's settings and counts.

        Raises
        ------
        UndefinedError
            The store is not capable of ``'optimizer'``.

        Examples
        --------
        >>> kv = mx.kv.create("local")
        >>> kv.set_optimizer(mx.optimizer.SGD(momentum=0.9))
        >>> kv.init("w", mx.nd.ones(2))
        >>> kv.push("w", mx.nd.ones(2))
        >>> kv.save_optimizer_states("momenta.states")
        >>> kv.load_optimizer_states("momenta.states")
        """
        raise self._undefined_error("save_optimizer_states")

    def load_optimizer_states(self, fname: FileName) -> None:
        """Load the optimizer's states from a file that `save_optimizer_states` wrote.

        Parameters
        ----------
        fname : str
            The file that `save_optimizer_states` wrote.

        Raises
        ------
        UndefinedError
            The store is not capable of ``'optimizer'``.

        Examples
        --------
        >>> kv = mx.kv.create("local")
        >>> kv.set_optimizer(mx.optimizer.SGD(momentum=0.9))
        >>> kv.init("w", mx.nd.ones(2))
        >>> kv.push("w", mx.nd.ones(2))
        >>> kv.save_optimizer_states("momenta.states")
        >>> kv.load_optimizer_states("momenta.states")
        """
        raise self._undefined_error("load_optimizer_states")

    @property
    def type(self) -> Any:
        """The name by which `create` makes the store."""
        raise self._undefined_error("type")

    @property
    def rank(self) -> Any:
        """The rank of this worker, from 0.

        Examples
        --------
        >>> mx.kv.create("local").rank
        0
        """
        raise self._undefined_error("rank")

    @property
    def num_workers(self) -> Any:
        """The number of workers.

        Examples
        --------
        >>> mx.kv.create("local").num_workers
        1
        """
        raise self._undefined_error("num_workers")


@KVStoreBase.register
class TestStore(KVStoreBase):
    """The smallest store that sums: for tests of code that takes any store.

    Examples
    --------
    >>> kv, gradients = mx.kv.create("teststore"), [mx.nd.ones(2), mx.nd.ones(2)]
    >>> kv.pushpull("w", gradients)
    >>> gradients[1].asnumpy().tolist()
    [2.0, 2.0]
    """

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        for each in _as_list(out):
            each[:] = value

    def pushpull(
        self, key: Keys, value: Values, out: Values | None = None, priority: int = 0
    ) -> None:
        values = _as_list(value)
        total = add_n(*[each.as_in_context(values[0].context) for each in values])
        for each in values if out is None else _as_list(out):
            each[:] = total

    def is_capable(self, capability: str) -> bool:
        """Return False for ``'optimizer'``, the only known capability."""
        if not isinstance(capability, str) or capability.lower() != self.OPTIMIZER:
            raise ArgumentError(
                f"TestStore: a capability is '{self.OPTIMIZER}', got {shown(capability)}"
            )
        return False

    @property
    def type(self) -> str:
        return "teststore"

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1


def _as_list(arrays):
    return [arrays] if isinstance(arrays, NDArray) else list(arrays)
