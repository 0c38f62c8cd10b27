"""Optimizer: learning rates, weight decay and update counts; the registry of optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from ..base.dtype import is_narrow, name_of
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    UndefinedError,
    shown,
    warn_user,
    wrap_error,
)
from ..base.guard import guarded
from ..base.kinds import FLAG, count, number
from ..base.overrides import overridden_methods
from ..registry import Registry
from .legacy_arrays import as_nd_array
from .settings import check_factors, check_real, check_settings, indices_by_dtype, warn_of_two_rates
from .shown import OptimizerRepr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Class, LRScheduler, NDArray, State, Symbol

OPTIMIZERS = Registry("optimizer", ignore_case=True)  # optimizer classes by name

# Methods that a joint step of several weights calls only if a user overrides them.
STEP_METHODS = frozenset(  # not called by joint steps
    (
        "update",
        "update_multi_precision",
        "_update_count",
        "_get_lr",
        "_get_lrs",
        "_get_wd",
        "_get_wds",
        "_set_current_context",
    )
)


@guarded
def register(klass: Class) -> Class:
    """Register `klass`, a subclass of Optimizer, for :func:`create`; usable as a decorator.

    Raises
    ------
    ArgumentTypeError
        `klass` is not a subclass of Optimizer.

    Examples
    --------
    >>> @mx.optimizer.register
    ... class Halve(mx.optimizer.Optimizer):
    ...     def create_state(self, index, weight):
    ...         return None
    ...
    ...     def update(self, index, weight, grad, state):
    ...         weight[:] = weight / 2
    >>> type(mx.optimizer.create("halve")).__name__
    'Halve'
    """
    if not (isinstance(klass, type) and issubclass(klass, Optimizer)):
        raise ArgumentTypeError(f"register takes a subclass of Optimizer, got {shown(klass)}")
    return OPTIMIZERS.register(klass.__name__, klass, override=True)


@guarded
def create(name: str, **kwargs: Any) -> Optimizer:
    """Create an optimizer by name.

    Parameters
    ----------
    name : str
        ``'sgd'``, ``'adam'``, ...; case is ignored.
    **kwargs
        Arguments of the class.

    Raises
    ------
    ArgumentError
        No optimizer has this name.

    Examples
    --------
    >>> create("sgd", learning_rate=0.5).learning_rate
    0.5
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"an optimizer is created from its name, got {shown(name)}")
    return OPTIMIZERS.get(name)(**kwargs)


class Optimizer(OptimizerRepr):
    """Base of optimizers.

    One thread at a time uses it (docs/guide/threads.md).

    A subclass defines ``create_state(index, weight)``, what it remembers of a weight (None, an
    NDArray or a tuple), and ``update(index, weight, grad, state)``, which changes weight and state
    in place.

    Parameters
    ----------
    rescale_grad : float
        Factor of the gradients; Module sets it to 1 / batch size.
    param_idx2name : dict of int to str, optional
        Names of the weights by index, for `lr_mult` and `wd_mult`.
    wd : float
        Weight decay. Weights whose names end neither with ``_weight`` nor ``_gamma`` get none
        unless ``set_wd_mult`` says otherwise.
    clip_gradient : float, optional
        Gradients are clipped to ``[-clip_gradient, clip_gradient]`` after rescaling.
    learning_rate : float, optional
        Size of a step; 0.01 by default.
    lr_scheduler : LRScheduler, optional
        Decides the learning rate at each update. Its ``base_lr`` is set to `learning_rate` if that
        is given; if it has one of its own, a warning says which of the two is used.
    sym : Symbol, optional
        Symbol whose variables may have attributes ``lr_mult`` and ``wd_mult``.
    begin_num_update : int
        Where the count of updates starts.
    param_dict : dict, optional
        Objects with attributes ``lr_mult`` and ``wd_mult``, by index.

    Attributes
    ----------
    aggregate_num : int
        Number of weights of one dtype that a subclass's ``update_multi_precision`` gets in one
        call, as tuples and a list of states; 0 gives it one weight, without tuples. What cynet
        computes itself is the same in any case.

    Raises
    ------
    ArgumentTypeError
        `param_idx2name` is not a dict, or a setting is not a number.

    Examples
    --------
    One whose steps have the length of the learning rate:

    >>> class Normalized(mx.optimizer.Optimizer):
    ...     def create_state(self, index, weight):
    ...         return None
    ...     def update(self, index, weight, grad, state):
    ...         self._update_count(index)
    ...         weight -= self._get_lr(index) * grad / mx.nd.norm(grad)
    >>> optimizer = Normalized(learning_rate=0.5)
    >>> weight, grad = mx.nd.zeros(2), mx.nd.array([30, 40])
    >>> optimizer.update(0, weight, grad, optimizer.create_state(0, weight))
    >>> weight.asnumpy()
    array([-0.3, -0.4], dtype=float32)

    Narrow weights have a copy in float32 as a part of their state:

    >>> optimizer = mx.optimizer.SGD(learning_rate=0.5, multi_precision=True)
    >>> weight = mx.nd.ones(2, dtype="float16")
    >>> state = optimizer.create_state_multi_precision(0, weight)
    >>> optimizer.update_multi_precision(0, weight, mx.nd.ones(2, dtype="float16"), state)
    >>> weight.asnumpy()
    array([0.5, 0.5], dtype=float16)
    """

    serialized_fields = {  # attributes stored in files; subclasses add more
        "rescale_grad": number(),
        "lr": number(),
        "wd": number(),
        "num_update": count(),
        "begin_num_update": count(),
        "multi_precision": FLAG,
        "clip_gradient": number().or_none(),
    }

    _decayed = ("_weight", "_gamma")  # name suffixes of weights that decay
    aggregate_num = 0
    _copy_is_last = False  # states are (state, float32 copy), as in MXNet's SGD
    _draws = False  # whether steps draw random numbers
    _couples_weights = False  # whether a weight's step depends on other weights
    _by_entry = False  # whether the update is elementwise; not inherited
    _group_rates: dict[Any, float] = {}  # learning rate factors of a Trainer's groups
    _group_decays: dict[Any, float] = {}  # replace `wd`
    _takes_lists = True  # whether `update` accepts lists of weights
    # methods of STEP_METHODS that a user overrides, for the class and for this object
    _of_user: frozenset[str] = frozenset()
    _on_object: frozenset[str] = frozenset()

    def __new__(cls, *args, **kwargs):
        given = check_settings(cls, args, kwargs)
        found = overridden_methods(cls, STEP_METHODS)
        if cls._of_user != found:
            cls._of_user = found
        made = super().__new__(cls)
        if given.get("learning_rate") is not None:
            made._rate_is_given = True  # __init__ reads and clears it
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in STEP_METHODS:  # reading __dict__ instead would slow down all attributes
            super().__setattr__("_on_object", self._on_object | {name})

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if name in STEP_METHODS:
            super().__setattr__("_on_object", self._on_object - {name})

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: dict[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        sym: Symbol | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: dict[Any, Any] | None = None,
    ) -> None:
        self.rescale_grad, self.lr_scheduler = rescale_grad, lr_scheduler
        given = vars(self).pop("_rate_is_given", False)
        if lr_scheduler is None:
            self.lr = 0.01 if learning_rate is None else learning_rate
        else:
            if learning_rate is not None:
                warn_of_two_rates(type(self).__name__, learning_rate, lr_scheduler, given)
                lr_scheduler.base_lr = learning_rate
            self.lr = lr_scheduler.base_lr
        self.wd, self.clip_gradient = wd, clip_gradient
        self.multi_precision = multi_precision
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        if param_idx2name is not None and not isinstance(param_idx2name, dict):
            raise ArgumentTypeError(
                f"param_idx2name must be a dict of index to name, got {shown(param_idx2name)}"
            )
        self.idx2name = dict(param_idx2name or {})
        self.param_dict = dict(param_dict or {})
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.set_lr_mult({})
        self.set_wd_mult({})

    opt_registry = OPTIMIZERS.table
    create_optimizer = staticmethod(create)
    register = staticmethod(register)

    def create_state(self, index: Any, weight: NDArray) -> State:
        """Create the state of one weight; None by default.

        Parameters
        ----------
        weight : NDArray
            The weight that the state is for.

        Returns
        -------
        None, NDArray, or nested tuple of NDArray
            What the optimizer remembers of this weight.
        """

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        """Change `weight` and `state` in place by one step along `grad`.

        Parameters
        ----------
        weight : NDArray
            The weight to change.
        grad : NDArray
            Its gradient, of the same shape.
        state : None, NDArray or tuple
            What `create_state` returned; it is changed in place.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise UndefinedError(f"{type(self).__name__} defines no update")

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> State:
        """Create the state; with ``multi_precision`` after a float32 copy of a 16-bit weight.

        Parameters
        ----------
        weight : NDArray
            The weight that the state is for.

        Returns
        -------
        None, NDArray, or nested tuple of NDArray
            For a weight of 16 bits under ``multi_precision``, its float32 copy, too.
        """
        weight = as_nd_array(weight)
        if is_narrow(weight.dtype):
            if self.multi_precision:
                master = weight.astype("float32")
                return self._swap_master_and_state((master, self.create_state(index, master)))
            warn_user(
                f"{name_of(weight.dtype)} weights lose small updates; multi_precision=True keeps a"
                " float32 copy of them"
            )
        return self.create_state(index, weight)

    def update_multi_precision(
        self, index: Any, weight: NDArray, grad: NDArray, state: State
    ) -> None:
        """Update a weight, by its float32 copy if there is one.

        Parameters
        ----------
        weight : NDArray
            The weight to change.
        grad : NDArray
            Its gradient, of the same shape.
        state : None, NDArray or tuple
            What `create_state_multi_precision` returned; it is changed in place.
        """
        if not isinstance(index, (list, tuple)):
            self._update_one_weight(index, weight, grad, state)
        elif self._takes_lists and not self.multi_precision:
            self.update(index, weight, grad, state)
        else:
            for each in zip(index, weight, grad, state):
                self._update_one_weight(*each)

    def _swap_master_and_state(self, pair):
        """Swap between (float32 copy, state) and the order in which the optimizer stores them."""
        return pair[::-1] if self._copy_is_last else pair

    def _update_one_weight(self, index, weight, grad, state):
        weight, grad = as_nd_array(weight), as_nd_array(grad)
        if self.multi_precision and is_narrow(weight.dtype):
            master, inner = self._swap_master_and_state(state)
            self.update(index, master, grad.astype("float32"), inner)
            weight[:] = master
        else:
            self.update(index, weight, grad, state)

    def update_all(
        self,
        indices: Sequence[Any],
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        states: Sequence[State],
    ) -> None:
        """Update several weights; a subclass may do so in one call.

        Parameters
        ----------
        indices : list of int or str
            Numbers or names of the weights.
        weights, grads : list of NDArray
            The weights and their gradients.
        states : list
            What `create_state_multi_precision` returned for each; they are changed in place.

        Examples
        --------
        >>> optimizer = mx.optimizer.SGD(learning_rate=0.5)
        >>> weights, grads = [mx.nd.ones(1), mx.nd.ones(2)], [mx.nd.ones(1), mx.nd.zeros(2)]
        >>> optimizer.update_all([0, 1], weights, grads, [None, None])
        >>> [weight.asnumpy().tolist() for weight in weights]
        [[0.5], [1.0, 1.0]]
        """
        update = self.update_multi_precision
        if self.has_override("_set_current_context") and weights:
            self._set_current_context(weights[0].context.device_id)
        maximum = self.aggregate_num
        if maximum <= 0:
            for index, weight, grad, state in zip(indices, weights, grads, states):
                update(index, weight, grad, state)
            return
        for positions in indices_by_dtype(weights, maximum):
            update(
                *(tuple([each[i] for i in positions]) for each in (indices, weights, grads)),
                [states[i] for i in positions],
            )

    def has_override(self, *names: str) -> bool:
        """Return whether a user has overridden one of these methods, in the class or the object.

        >>> create("sgd").has_override("update", "_get_lr")
        False

        Parameters
        ----------
        *names : str
            Names of methods.
        """
        return not (self._of_user.isdisjoint(names) and self._on_object.isdisjoint(names))

    def joined_update(self, indices, weights, grads, states):
        """Count a step of several weights and return it as one function, ready to be pushed.

        ``Module`` has it run with the backward pass. What it is called with, and how, is not for
        users.

        Parameters
        ----------
        indices, weights, grads, states : list
            See `update_all`.

        Returns
        -------
        (JoinedUpdate, tuple) or None
            With the arguments of its call; None where only `update_all` can do the step.

        Examples
        --------
        >>> weights, grads = [mx.nd.ones(1)], [mx.nd.ones(1)]
        >>> sgd = mx.optimizer.SGD(learning_rate=0.5)
        >>> joined, numbers = sgd.joined_update([0], weights, grads, [None])
        >>> joined(*numbers)
        >>> weights[0].asnumpy()
        array([0.5], dtype=float32)
        >>> mx.optimizer.SGLD().joined_update([0], weights, grads, [None]) is None
        True
        """

    @property
    def learning_rate(self) -> float:
        """The current learning rate, before any multiplier.

        Examples
        --------
        >>> sgd = mx.optimizer.SGD(learning_rate=0.1)
        >>> sgd.set_learning_rate(0.01)
        >>> sgd.learning_rate
        0.01
        """
        if self.lr_scheduler is not None:
            return self.lr_scheduler(self.num_update)
        return self.lr

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate; raise an error if a scheduler sets it.

        Parameters
        ----------
        lr : float
            The new learning rate.

        Raises
        ------
        MXNetError
            There is a schedule, which says the rate.

        Examples
        --------
        >>> sgd = mx.optimizer.SGD()
        >>> sgd.set_learning_rate(0.5)
        >>> sgd.learning_rate
        0.5
        """
        if self.lr_scheduler is not None:
            text = f"set_learning_rate({shown(lr)}): lr_scheduler decides the rate; change that"
            raise wrap_error(UserWarning(text), text)  # MXNet's is a UserWarning
        check_real("set_learning_rate: lr", lr)
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: dict[Any, float]) -> None:
        """Set factors of the learning rate by name or index; they override the symbol's factors.

        Parameters
        ----------
        args_lr_mult : dict of str or int to float
            Factors of the learning rate, by the weight's name or number.

        Examples
        --------
        >>> sgd = mx.optimizer.SGD(param_idx2name={0: "fc_weight"})
        >>> sgd.set_lr_mult({"fc_weight": 0.1})
        """
        self.lr_mult = {**self._symbol_factors("__lr_mult__"), **check_factors("lr", args_lr_mult)}

    def set_wd_mult(self, args_wd_mult: dict[Any, float]) -> None:
        """Set factors of the weight decay by name or index; they override the symbol's factors.

        Parameters
        ----------
        args_wd_mult : dict of str or int to float
            Factors of the weight decay, by the weight's name or number.

        Examples
        --------
        >>> sgd = mx.optimizer.SGD(wd=0.01, param_idx2name={0: "fc_weight"})
        >>> sgd.set_wd_mult({"fc_weight": 0.0})
        """
        spared = {name: 0.0 for name in self.idx2name.values() if not name.endswith(self._decayed)}
        given = check_factors("wd", args_wd_mult)
        self.wd_mult = {**spared, **self._symbol_factors("__wd_mult__"), **given}

    def _symbol_factors(self, key):  # factors in the symbol's attributes
        if not self.sym_info:
            return {}
        attributes, arguments = self.sym_info
        found = {}
        for name in arguments:
            text = attributes.get(name, {}).get(key)
            if text is not None:
                try:
                    found[name] = float(text)
                except ValueError:
                    raise ArgumentError(
                        f"variable '{name}': expected a number as attribute {key}, got "
                        f"{shown(text)}"
                    ) from None
        return found

    def _set_current_context(self, device_id):
        # update counts per device, because every device runs every step
        counts = self._all_index_update_counts.setdefault(device_id, {})
        self._index_update_count = counts

    def _update_count(self, index):
        counts, begin, maximum = self._index_update_count, self.begin_num_update, self.num_update
        for each in index if isinstance(index, (list, tuple)) else (index,):
            count = counts[each] = counts.get(each, begin) + 1
            if count > maximum:
                maximum = count
        self.num_update = maximum

    def _weight_factor(self, index, table, attribute):  # its lr_mult or wd_mult
        if index in self.param_dict:
            return getattr(self.param_dict[index], attribute)
        if index in table:
            return table[index]
        name = self.idx2name.get(index)
        return table.get(name, 1.0) if name is not None else 1.0

    def _get_lr(self, index):
        return self._get_lrs([index])[0]

    def _get_lrs(self, indices):
        lr, own = self.learning_rate, self._group_rates
        if not self.lr_mult and not self.param_dict:
            return [lr] * len(indices)
        return [
            lr * own.get(i, 1.0) * self._weight_factor(i, self.lr_mult, "lr_mult") for i in indices
        ]

    def _get_wd(self, index):
        return self._get_wds([index])[0]

    def _get_wds(self, indices):
        wd, own = self.wd, self._group_decays
        if wd == 0 and not own:
            return [0.0] * len(indices)
        return [own.get(i, wd) * self._weight_factor(i, self.wd_mult, "wd_mult") for i in indices]

    def _count_and_get_rates(self, index):
        """Count an update of `index`; return (learning rate, weight decay, update count)."""
        self._update_count(index)
        return self._get_lr(index), self._get_wd(index), self._index_update_count[index]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_joined"}

    def _prepare_gradient(self, grad, decay=None):
        """Rescale the gradient, add the array `decay` if given, and clip the sum."""
        grad = grad * self.rescale_grad
        if decay is not None:
            grad = grad + decay
        if self.clip_gradient is not None:
            grad = nd.clip(grad, -self.clip_gradient, self.clip_gradient)
        return grad


def zeros_like(weight: NDArray) -> NDArray:
    """Return a zero array of the weight's shape, dtype and context, as a state."""
    return nd.zeros(weight.shape, ctx=weight.context, dtype=weight.dtype)
