"""Trainer: one step of an optimizer over the parameters of a network."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import kvstore as kvs
from .. import optimizer as opt
from ..base.errors import ArgumentError, ArgumentTypeError, shown, wrap_error
from ..base.guard import guarded
from ..base.kinds import check_flag
from ..base.reprs import ReprMixin
from ..callback.messages import log_message
from ..engine.trace import Span
from .errors import MismatchError
from .parameter import Parameter, ParameterDict
from .tracing import change_count
from .trainer_gradients import TrainerGradients, stale_error
from .trainer_groups import TrainerGroups, split_parameter_groups, state_names_of
from .trainer_shards import TrainerShards
from .trainer_states import TrainerStates, copy_state
from .utils import clip_global_norm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..typing import KVStoreLike, Optimizer

_UPDATE_SPAN = Span("update", "training")  # time range in the profiler's trace


@guarded(but=("step", "update"))
class Trainer(ReprMixin, TrainerGradients, TrainerGroups, TrainerShards, TrainerStates):
    """Updates parameters by an optimizer: call ``step(batch_size)`` after ``backward``.

    One thread at a time uses it (docs/guide/threads.md).

    All weights of a context are updated in one call.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameter, or list of dict
        What to train: ``net.collect_params()``, for instance; or groups, each a dict of ``params``
        (a Block, a ParameterDict or a list) and settings as those of `groups`.
    optimizer : str or Optimizer
        An optimizer, or the name of one.
    optimizer_params : dict, optional
        Arguments of an optimizer that is given by name.
    kvstore : str, KVStore or None
        Sums gradients over several contexts; one context needs none.
    compression_params : dict, optional
        ``{'type': '2bit', 'threshold': 0.5}``: on several contexts, gradients are rounded before
        they are summed, as ``KVStore.set_gradient_compression`` describes.
    update_on_kvstore : bool, optional
        Whether the KVStore updates the weights; by default it does if there is one.
    groups : list of dict, optional
        ``{"select": ".*bias", "wd": 0}``: settings of the parameters whose structural or whole
        name matches from its beginning, or of a Block. ``lr`` and ``wd`` stand in place of the
        optimizer's; ``lr`` stays in its ratio to the Trainer's rate, whatever changes that.
        ``lr_mult``, ``wd_mult`` and ``grad_req`` are attributes of parameters.
    clip_global_norm : float, optional
        Upper bound of the norm of all gradients together, after the division by the batch size.
    shard_states : bool
        Of several ranks each keeps the optimizer's states of a part of the parameters, updates
        these and gives them to the others. All call `gather_states` before one saves states.

    Raises
    ------
    ArgumentError
        `params` does not hold Parameters, `clip_global_norm` is not above 0, or there is no
        optimizer or kvstore of that name.
    ArgumentTypeError
        `kvstore` is not a KVStore, a name or None.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.array([[1, 2]]))
    >>> loss.backward()
    >>> trainer.step(1)
    >>> net.weight.data().asnumpy().round(4).tolist()
    [[0.8999999761581421, 0.800000011920929]]
    """

    def __init__(
        self,
        params: ParameterDict
        | Mapping[str, Parameter]
        | Sequence[Parameter]
        | Sequence[Mapping[str, Any]],
        optimizer: str | Optimizer,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: KVStoreLike | None = "device",
        compression_params: Any = None,
        update_on_kvstore: bool | None = None,
        groups: Sequence[Mapping[str, Any]] = (),
        clip_global_norm: float | None = None,
        shard_states: bool = False,
    ) -> None:
        check_flag("Trainer", "shard_states", shard_states)
        self._shards = shard_states
        in_groups = split_parameter_groups(params)
        if in_groups is None:
            self._params = _unique_parameters(params)
            self._names, given = state_names_of(params, self._params), []
        else:
            self._params, self._names, given = in_groups
        self._add_groups([*((p, s) for p, s in given if s), *map(_split_group_dict, groups)])
        if clip_global_norm is not None and not clip_global_norm > 0:
            raise ArgumentError(
                f"Trainer: clip_global_norm must be greater than 0, got {shown(clip_global_norm)}"
            )
        self._clip = clip_global_norm
        self._param2idx = {each.name: i for i, each in enumerate(self._params)}
        self._compression = compression_params
        if isinstance(kvstore, str):
            made = kvs.create(kvstore)  # raises an error for an unknown kind
            if compression_params is not None:
                made.set_gradient_compression(compression_params)
            if isinstance(made, kvs.DistKVStore):
                kvstore = made
        elif kvstore is not None and not isinstance(kvstore, kvs.KVStoreBase):
            raise ArgumentTypeError(
                f"Trainer: kvstore must be a KVStore, a name or None, got {shown(kvstore)}"
            )
        self._wished = kvstore, update_on_kvstore
        self._stored = set()  # names of parameters that a user's KVStore holds
        self._contexts = self._check_contexts()
        self._shared = []  # parameters shared with other Trainers
        for each in self._params:
            each._set_trainer(self)
        self._init_optimizer(optimizer, optimizer_params)
        self._scale = self._optimizer.rescale_grad
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]
        self._looked_at, self._plain = -1, False  # whether no Parameter has methods of a user
        self._reset_kvstore()
        if isinstance(kvstore, kvs.DistKVStore):
            self._broadcast_parameters(self._params)

    _amp_loss_scaler = None  # set by amp.init_trainer
    _has_warned = False  # whether `_warn_of_rank_effects` has warned

    def _repr_settings(self):
        kvstore, _ = self._wished
        return {
            "optimizer": self._optimizer,
            "parameters": len(self._params),
            "contexts": self._contexts,
            "kvstore": getattr(kvstore, "type", kvstore),
        }

    def _reset_kvstore(self):
        """Make the next step decide again whether a KVStore is used."""
        self._kvstore = self._update_on_kvstore = None
        self._is_user_store = False  # whether the KVStore is of a user's class
        self._kv_initialized = False
        self._params_to_init = list(self._params)

    def _check_contexts(self):
        contexts = None
        for each in self._params:
            own = each.list_ctx()
            if contexts is not None and contexts != own:
                raise MismatchError(
                    f"Trainer: parameter '{each.name}' is on {own}, those before it on"
                    f" {contexts}; all are on the same contexts"
                )
            contexts = own
        return contexts or []

    def _init_optimizer(self, optimizer, settings):
        if isinstance(optimizer, opt.Optimizer):
            if settings:
                raise MismatchError(
                    "Trainer: optimizer_params go with the name of an optimizer, got"
                    f" {shown(settings)} beside one that is made"
                )
            self._optimizer = optimizer
        else:
            if isinstance(optimizer, str) and optimizer not in opt.base.OPTIMIZERS:
                raise ArgumentError(f"Trainer: no optimizer is named {shown(optimizer)}")
            self._optimizer = opt.create(optimizer, **dict(settings or {}))
        self._optimizer.param_dict = self._param_dict()
        self._set_group_rates()

    def _param_dict(self):
        """Parameters by the name and by the index of their states; users' scripts read it."""
        return {**dict(zip(self._names, self._params)), **dict(enumerate(self._params))}

    # --- several contexts -------------------------------------------------------------------------
    def _init_kvstore(self):
        """Decide whether a KVStore is used, and create it."""
        self._contexts = self._check_contexts()
        while len(self._updaters) < len(self._contexts):
            self._updaters.append(opt.get_updater(self._optimizer))
            self._updaters[-1].states = {
                name: copy_state(state) for name, state in self._updaters[0].states.items()
            }
            self._updaters[-1].states_synced = dict.fromkeys(self._updaters[0].states, False)
        del self._updaters[max(1, len(self._contexts)) :]
        kvstore, on_kvstore = self._wished
        several = len(self._contexts) > 1
        if isinstance(kvstore, str):
            kvstore = kvs.create(kvstore)
        own = kvstore is not None and not isinstance(kvstore, kvs.KVStore)
        if kvstore is None or not (several or own or _is_user_defined(kvstore)):
            if on_kvstore and not several and kvstore is None:
                raise ArgumentError("Trainer: update_on_kvstore=True needs a kvstore")
            self._kvstore = self._update_on_kvstore = None
        else:
            self._kvstore = kvstore
            if self._compression is not None:
                self._kvstore.set_gradient_compression(self._compression)
            capable = not own or bool(kvstore.is_capable(kvs.KVStoreBase.OPTIMIZER))
            if on_kvstore is None:
                ranks = isinstance(kvstore, kvs.DistKVStore)  # ranks need no weights in the store
                on_kvstore = capable and self._clip is None and not (ranks or self._has_sparse())
            on_kvstore = bool(on_kvstore)
            if on_kvstore and not capable:
                raise ArgumentError(
                    f"Trainer: {type(kvstore).__name__} is a store of your own that sums gradients"
                    " (is_capable('optimizer') is False); it needs update_on_kvstore=False"
                )
            if on_kvstore and self._clip is not None:
                raise ArgumentError(
                    "Trainer: clip_global_norm needs update_on_kvstore=False on several contexts"
                )
            self._update_on_kvstore = on_kvstore
            if on_kvstore and own:
                kvstore.set_optimizer(self._optimizer)
            elif on_kvstore:
                kvstore._set_updater(self._updaters[0])
            elif isinstance(kvstore, kvs.DistKVStore):
                kvstore.agree_on(self._optimizer, "Trainer")
        self._is_user_store = own
        self._check_shards()
        self._params_to_init = list(self._params)
        self._kv_initialized = True
        self._warn_of_rank_effects()

    def _has_sparse(self):
        """Return whether a gradient is row_sparse and its weight is not."""
        return any(p._grad_stype == "row_sparse" and p._stype == "default" for p in self._params)

    def _warn_of_rank_effects(self):
        """Warn once about the effect of several ranks on batch size and learning rate."""
        store = self._kvstore
        if self._has_warned or not isinstance(store, kvs.DistKVStore) or store.num_workers == 1:
            return
        self._has_warned = True
        log_message(
            "Trainer: gradients are summed over %d ranks and divided by what step() is given: the"
            " examples of all ranks; the learning rate is taken as it is given",
            store.num_workers,
        )

    def _init_params(self):
        """Initialize the KVStore with parameters whose shapes became known."""
        waiting, shared = [], {}
        for name, each in zip(self._names, self._params):
            if each not in self._params_to_init:
                continue
            if each._deferred_init:
                waiting.append(each)
            elif self._kvstore is not None:
                arrays = each._data_of_contexts()
                if isinstance(self._kvstore, kvs.DistKVStore) and not self._update_on_kvstore:
                    shared[name] = arrays
                else:
                    if name in self._stored:  # the weight is stored in a KVStore that the user made
                        self._kvstore._values.pop(name, None)
                    self._kvstore.broadcast(name, arrays[0], arrays)
                    if isinstance(self._wished[0], kvs.KVStore):
                        self._stored.add(name)
        if shared:
            self._kvstore.share(shared)
        self._params_to_init = waiting

    def _broadcast_parameters(self, params):
        """Broadcast rank 0's values, before a rank computes a gradient from other values."""
        store = self._wished[0]
        if isinstance(store, kvs.DistKVStore) and store.num_workers > 1:
            known = {id(p): name for name, p in zip(self._names, self._params)}
            ready = {known[id(p)]: p._data_of_contexts() for p in params if p._data is not None}
            if ready:
                store.share(ready)

    def _mark_for_kvstore_init(self, param):
        """Make the next step initialize the KVStore with a parameter whose values were set."""
        if self._kv_initialized and all(each is not param for each in self._params_to_init):
            self._reset_kvstore()

    def _prepare_kvstore(self):
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    # --- steps ------------------------------------------------------------------------------------
    @property
    def learning_rate(self) -> float:
        """The rate now.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        >>> trainer.set_learning_rate(0.01)
        >>> trainer.learning_rate, type(trainer.optimizer).__name__
        (0.01, 'SGD')
        """
        return self._optimizer.learning_rate

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> mx.gluon.Trainer(net.collect_params(), "adam").optimizer.beta1
        0.9
        """
        return self._optimizer

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate; raise an error if a scheduler sets it.

        Parameters
        ----------
        lr : float
            The new learning rate.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        >>> trainer.set_learning_rate(0.01)
        >>> trainer.learning_rate
        0.01
        """
        self._optimizer.set_learning_rate(lr)

    def step(
        self, batch_size: float, ignore_stale_grad: bool = False, zero_grad: bool = False
    ) -> None:
        """Sum gradients over contexts, divide by `batch_size` and update all weights.

        Parameters
        ----------
        batch_size : int
            Number of examples in the batch; gradients are divided by it.
        ignore_stale_grad : bool
            Skip parameters whose gradient no backward has written since the last step, on any
            context or rank. Where some of them have it, the others count as 0, and all copies are
            updated. All ranks say the same.
        zero_grad : bool
            Set the gradients of parameters with grad_req ``'add'`` to 0 afterwards.

        Raises
        ------
        StaleGradientError
            A UserWarning: there is such a parameter, and `ignore_stale_grad` is False.
        """
        check_flag("Trainer.step", "ignore_stale_grad", ignore_stale_grad)
        check_flag("Trainer.step", "zero_grad", zero_grad)
        with _UPDATE_SPAN:
            self._check_and_rescale_grad(self._gradient_scale(batch_size))
            self._prepare_kvstore()
            if not ignore_stale_grad and (self._kvstore is not None or len(self._contexts) > 1):
                self._check_gradients_are_fresh()
            self._allreduce_for_step(all_are_fresh=not ignore_stale_grad)
            self._update(ignore_stale_grad)
            if zero_grad:
                for each in self._params:
                    if each._grad_req == "add":
                        each.zero_grad()

    def allreduce_grads(self) -> None:
        """Sum gradients over contexts; they may be changed before `update` uses them.

        Raises
        ------
        MismatchError
            The KVStore updates the weights: the Trainer was not made with
            ``update_on_kvstore=False``.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
        >>> net.initialize(mx.init.One())
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1},
        ...                            update_on_kvstore=False)
        >>> with mx.autograd.record():
        ...     loss = net(mx.nd.array([[30, 40]]))
        ...
        >>> loss.backward()
        >>> trainer.allreduce_grads()
        >>> norm = mx.gluon.utils.clip_global_norm([net.weight.grad()], 1)
        >>> trainer.update(1)
        >>> net.weight.data()
        [[0.94 0.92]]
        <NDArray 1x2 @cpu(0)>
        """
        self._prepare_kvstore()
        if self._kvstore is not None and self._update_on_kvstore:
            raise MismatchError(
                "allreduce_grads: the KVStore updates the weights; make the Trainer with"
                " update_on_kvstore=False"
            )
        self._allreduce_grads()

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Update all weights by gradients that `allreduce_grads` has summed.

        Parameters
        ----------
        batch_size : int
            Number of examples in the batch; gradients are divided by it.
        ignore_stale_grad : bool
            Skip parameters whose gradient no backward has written since the last step; see `step`.

        Raises
        ------
        MismatchError
            The KVStore updates the weights: the Trainer was not made with
            ``update_on_kvstore=False``.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
        >>> net.initialize(mx.init.One())
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1},
        ...                            update_on_kvstore=False)
        >>> with mx.autograd.record():
        ...     loss = net(mx.nd.array([[3, 4]]))
        ...
        >>> loss.backward()
        >>> trainer.allreduce_grads()
        >>> trainer.update(batch_size=1)
        >>> net.weight.data()
        [[0.7 0.6]]
        <NDArray 1x2 @cpu(0)>
        """
        check_flag("Trainer.update", "ignore_stale_grad", ignore_stale_grad)
        self._prepare_kvstore()
        if self._kvstore is not None and self._update_on_kvstore:
            raise MismatchError(
                "update: the KVStore updates the weights; make the Trainer with"
                " update_on_kvstore=False"
            )
        self._check_and_rescale_grad(self._gradient_scale(batch_size))
        if not ignore_stale_grad and len(self._contexts) > 1:
            self._check_gradients_are_fresh()  # raises an error before any weight changes
        self._update(ignore_stale_grad)

    def _check_and_rescale_grad(self, scale):
        """Set the factor of the gradients in this step."""
        self._optimizer.rescale_grad = scale

    def _gradient_scale(self, batch_size):
        try:
            scale, fits = self._scale / batch_size, bool(0 < batch_size < math.inf)
        except ZeroDivisionError as error:
            raise wrap_error(error, "Trainer: the batch size must not be 0") from None
        except (TypeError, ValueError, OverflowError):
            raise ArgumentTypeError(
                f"Trainer: the batch size must be a number, got {shown(batch_size)}"
            ) from None
        if not fits:
            raise ArgumentError(
                f"Trainer: the batch size must be a finite number above 0, got {shown(batch_size)}"
            )
        return scale

    def _update(self, ignore_stale_grad=False):
        scaler = self._amp_loss_scaler
        if scaler is not None and scaler.has_overflow(self._params):
            for each in self._params:
                if each._grad_req != "null":
                    for array in each._data_of_contexts():
                        array._fresh_grad = False
            return
        if self._update_on_kvstore:
            for i, (name, each) in enumerate(zip(self._names, self._params)):
                if each._grad_req != "null":
                    arrays = each._data_of_contexts()
                    if not self._is_user_store:  # a user's store returned them already
                        self._kvstore.pull(name, arrays, priority=-i)
                    for array in arrays:
                        array._fresh_grad = False
            self._notify_other_trainers()
            return
        several, is_sharded = len(self._contexts) > 1, self._is_sharded()
        for k, updater in enumerate(self._updaters):
            names, params = self._names, self._params
            if any(each._grad_req == "null" for each in params):
                pairs = [(n, p) for n, p in zip(names, params) if p._grad_req != "null"]
                names, params = [n for n, _ in pairs], [p for _, p in pairs]
            plain = self._params_are_builtin()
            try:
                if plain:
                    weights = [each._data[k] for each in params]
                else:
                    weights = [each._data_of_contexts()[k] for each in params]
            except TypeError:  # a parameter without data
                for each in params:
                    each._data_of_contexts()
                raise
            fresh = [weight._fresh_grad for weight in weights]
            if False in fresh:
                if not ignore_stale_grad:
                    stale = fresh.index(False)
                    raise stale_error(params[stale], weights[stale].context)
                fresh = [own or name in self._joined for own, name in zip(fresh, names)]
                with_grad = [i for i, each in enumerate(fresh) if each]
                names = [names[i] for i in with_grad]
                params, weights = [params[i] for i in with_grad], [weights[i] for i in with_grad]
            if several and not self._optimizer.has_override("_set_current_context"):
                self._optimizer._set_current_context(k)
            if plain:
                grads = [each._grad[k] for each in params]
            else:
                grads = [each.list_grad()[k] for each in params]
            if self._clip is not None and grads:
                maximum = self._clip / self._optimizer.rescale_grad
                clip_global_norm(grads, maximum, check_isfinite=False)
            if is_sharded:
                updater(*self._updates_of_this_rank(names, grads, weights))
            else:
                updater(names, grads, weights)
            for weight in weights:
                weight._fresh_grad = False
        if is_sharded:
            self._broadcast_weights()
        self._joined = frozenset()
        if self._shared:
            self._notify_other_trainers()

    def _notify_other_trainers(self):
        """Make other Trainers update their KVStores' copies of shared parameters."""
        for each in self._shared:
            for other in each._owning_trainers():
                if other is not self and other._update_on_kvstore:
                    other._mark_for_kvstore_init(each)

    def _params_are_builtin(self):
        """Return whether no Parameter has user-defined access methods such as `data`."""
        if self._looked_at != change_count[0]:
            self._looked_at = change_count[0]
            self._plain = all(each._is_builtin() for each in self._params)
        return self._plain


def _is_user_defined(kvstore):
    """Return whether a KVStore is user-defined, so that it is called even with one context."""
    kind = type(kvstore)
    return kind is not kvs.KVStore or any(callable(getattr(kind, n, None)) for n in vars(kvstore))


def _split_group_dict(group):
    """Return (a pattern or parameters, settings) of a dict of `groups`."""
    settings = dict(group) if isinstance(group, dict) else {}
    if settings.get("select") is None:
        raise ArgumentError(
            "Trainer: a group of groups= is a dict with 'select', a regular expression or a Block,"
            f" got {shown(group)}"
        )
    return settings.pop("select"), settings


def _unique_parameters(params):
    """Return a list of the Parameters without duplicates."""
    expected = "Trainer takes a list or dict of Parameters, got "
    if isinstance(params, (dict, ParameterDict)):
        params = list(params.values())
    if not isinstance(params, (list, tuple)):
        raise ArgumentError(f"{expected}{shown(params)}")
    for each in params:
        if not isinstance(each, Parameter):
            raise ArgumentError(f"{expected}a list with {shown(each)}")
    return list({id(each): each for each in params}.values())
