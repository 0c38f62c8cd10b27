"""Checkpoints, helpers that training scripts import, and FeedForward, the model before Module."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import ndarray as nd
from .base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    ShapeError,
    listed,
    shown,
    warn_user,
)
from .base.guard import guarded
from .base.kinds import to_count
from .base.legacy import _as_list
from .callback import BatchEndParam, LogValidationMetricsCallback
from .context import cpu
from .io import DataIter, NDArrayIter
from .io.checkpoint import find_checkpoint, load_checkpoint, load_params, save_checkpoint
from .io.wrappers import begun_again
from .module.base_module import DEFAULT_INITIALIZER
from .module.bucketing_module import BucketingModule
from .module.module import Module
from .module.parameter_update import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
)
from .module.slicing import _check_arguments
from .symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .typing import (
        BatchEndCallback,
        ContextLike,
        EpochEndCallback,
        FileName,
        History,
        InitializerLike,
        IterData,
        KVStoreLike,
        Logger,
        MetricLike,
        Monitor,
        NamedArrays,
        Optimizer,
    )

__all__ = [
    "BatchEndParam",
    "FeedForward",
    "_create_kvstore",
    "_initialize_kvstore",
    "_multiple_callbacks",
    "_update_params",
    "_update_params_on_kvstore",
    "find_checkpoint",
    "load_checkpoint",
    "load_params",
    "save_checkpoint",
]

_LOG_VALIDATION = LogValidationMetricsCallback()


@guarded
class FeedForward:
    """A network with ``fit`` and ``predict`` on arrays or iterators; runs on a Module.

    Threads may share it for ``predict`` and ``score``.

    Parameters
    ----------
    symbol : Symbol or callable
        Data inputs are what the iterator provides, labels likewise (``softmax_label`` for arrays).
        A function of the bucket key that returns a Symbol trains on the batches of an iterator that
        has ``default_bucket_key``, as :class:`BucketingModule` does.
    ctx : Context or list of Context, optional
    num_epoch : int, optional
        Epoch to stop before.
    epoch_size : int, optional
        Batches an epoch; all by default.
    optimizer : str or Optimizer
    initializer : Initializer
    numpy_batch_size : int
        Batch size where arrays are given.
    arg_params, aux_params : dict of str to NDArray, optional
    allow_extra_params : bool
        Let the dicts have names that the symbol has not; they are passed over.
    begin_epoch : int
    **kwargs
        For the optimizer.

    Raises
    ------
    ArgumentTypeError
        A value has another type; the message names it.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: ContextLike | Sequence[ContextLike] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Optimizer | str = "sgd",
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        numpy_batch_size: int = 128,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        self.sym_gen, self._generated = None, {}
        if callable(symbol) and not isinstance(symbol, Symbol):
            self.sym_gen, symbol = symbol, None  # the data says for which key
        elif isinstance(symbol, Symbol):
            _check_arguments(symbol)
        else:
            raise ArgumentTypeError(
                "FeedForward: symbol must be a Symbol, or a function from a bucket key to one, got"
                f" {type(symbol).__name__}"
            )
        self.symbol = symbol
        self.ctx = [cpu()] if ctx is None else ctx
        self.num_epoch = num_epoch
        self.epoch_size = None if epoch_size is None else _batches(epoch_size)
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = dict(kwargs)

    def _iterator(self, data, label, is_train):
        """`data` as an iterator; labels that are missing become 0."""
        if isinstance(data, DataIter):
            return data
        if not isinstance(data, (np.ndarray, nd.NDArray)):
            raise ArgumentTypeError(
                f"FeedForward takes a DataIter or an array, got {type(data).__name__}"
            )
        if label is None:
            if is_train:
                raise ArgumentError("FeedForward.fit: y is missing")
            label = np.zeros(data.shape[0], np.float32)
        label = label.asnumpy() if isinstance(label, nd.NDArray) else np.asarray(label)
        if label.ndim == 2 and label.shape[1] == 1:
            label = label[:, 0]
        if label.ndim != 1 or len(label) != data.shape[0]:
            raise ShapeError(f"FeedForward: y has shape {label.shape}, X has shape {data.shape}")
        return NDArrayIter(
            data,
            label,
            min(data.shape[0], self.numpy_batch_size),
            shuffle=is_train,
            last_batch_handle="roll_over" if is_train else "pad",
        )

    def _choose_symbol(self, data, is_train):
        """Make the symbol that `data` is for the model's own; a prediction from what has no
        buckets is one of the bucket trained last."""
        known = self.symbol is not None and not is_train
        if self.sym_gen is None or (known and not hasattr(data, "default_bucket_key")):
            return
        if not hasattr(data, "default_bucket_key"):
            raise ArgumentError(
                "FeedForward: symbol is a function of the bucket key, so the iterator needs a"
                " default_bucket_key, and batches a bucket_key"
            )
        self.symbol = self._bucket(data.default_bucket_key)[0]
        _check_arguments(self.symbol)

    def _bucket(self, key, data_names=None, label_names=None):
        """What BucketingModule asks of a bucket; the function may say which inputs are data."""
        if key not in self._generated:
            self._generated[key] = self.sym_gen(key)
        made = self._generated[key]
        return made if isinstance(made, tuple) else (made, data_names, label_names)

    def _check_params(self, is_train):
        """Refuse given parameters that the symbol has not, or drop them where that is allowed.

        Training drops them in any case, as in MXNet, with a warning unless they are allowed: a new
        network begins with those of another.
        """
        for kind, known in (
            ("arg_params", self.symbol.list_arguments()),
            ("aux_params", self.symbol.list_auxiliary_states()),
        ):
            given = getattr(self, kind) or {}
            extra = [name for name in given if name not in known]
            message = (
                f"FeedForward: {kind} has {listed(extra)}, expected names of the symbol;"
                " allow_extra_params=True passes over them"
            )
            if extra and not self.allow_extra_params:
                if not is_train:
                    raise ArgumentError(message)
                warn_user(message)
            if extra:
                setattr(self, kind, {n: value for n, value in given.items() if n in known})

    def _trainer(self, data, work_load_list, logger):
        """The module that trains on `data`."""
        data_names = [name for name, _ in data.provide_data]
        label_names = [name for name, _ in data.provide_label or ()]
        options = {"context": self.ctx, "work_load_list": work_load_list, "logger": logger}
        if self.sym_gen is None:
            return Module(self.symbol, data_names, label_names, **options)
        return BucketingModule(
            lambda key: self._bucket(key, data_names, label_names),
            data.default_bucket_key,
            **options,
        )

    def fit(
        self,
        X: IterData | DataIter,
        y: IterData | None = None,
        eval_data: DataIter | tuple[Any, Any] | None = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: EpochEndCallback | None = None,
        batch_end_callback: BatchEndCallback | None = None,
        kvstore: KVStoreLike | None = "local",
        logger: Logger | None = None,
        work_load_list: Sequence[float] | None = None,
        monitor: Monitor | None = None,
        eval_end_callback: BatchEndCallback = _LOG_VALIDATION,
        eval_batch_end_callback: BatchEndCallback | None = None,
    ) -> History:
        """Train.

        Parameters
        ----------
        X : DataIter, NDArray or numpy.ndarray
        y : NDArray or numpy.ndarray, optional
            Labels, where `X` is an array.
        eval_data : DataIter or pair of arrays, optional
        eval_metric, epoch_end_callback, batch_end_callback, kvstore, monitor, eval_end_callback
            As ``Module.fit`` takes them.
        logger : optional
        work_load_list, eval_batch_end_callback : optional

        Returns
        -------
        History
            Figures and seconds of each epoch, as of ``Module.fit``.
        """
        logger = logging if logger is None else logger
        if eval_end_callback is _LOG_VALIDATION:
            eval_end_callback = None  # Module.fit logs the same lines
        data = self._iterator(X, y, True)
        if isinstance(eval_data, (tuple, list)) and len(eval_data) == 2:
            eval_data = self._iterator(*eval_data, False)
        if self.epoch_size is not None:
            data = _Limited(data, self.epoch_size)
        self._choose_symbol(data, True)
        self._check_params(True)
        module = self._trainer(data, work_load_list, logger)
        history = module.fit(
            data,
            eval_data=eval_data,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=_counted_from_one(batch_end_callback),
            kvstore=kvstore,
            optimizer=self.optimizer,
            optimizer_params=self.kwargs,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
            initializer=self.initializer,
            arg_params=self.arg_params,
            aux_params=self.aux_params,
            allow_missing=True,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()
        return history

    def _predictor(self, data):
        if self.arg_params is None:
            raise CynetError("FeedForward: fit, or give arg_params, before predict and score")
        self._choose_symbol(data, False)
        self._check_params(False)
        data_names = [name for name, _ in data.provide_data]
        known = {*data_names, *self.arg_params}
        labels = [n for n in self.symbol.list_arguments() if n not in known and _is_label(n, data)]
        provided = dict(data.provide_label or ())
        module = Module(self.symbol, data_names, labels, context=self.ctx)
        module.bind(
            data.provide_data,
            [desc for desc in data.provide_label or () if desc[0] in labels]
            if provided.keys() >= {*labels}
            else None,
            for_training=False,
        )
        module.set_params(self.arg_params, self.aux_params or {})
        return module

    def predict(
        self,
        X: IterData | DataIter,
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
    ) -> Any:
        """Outputs as NumPy arrays (one, or a list); with `return_data` also data and labels.

        Parameters
        ----------
        num_batch : int, optional
            Stop after so many batches.
        """
        data = self._iterator(X, None, False)
        if reset:
            data.reset()
        module = self._predictor(data)
        rows = []
        for outputs, _, batch in module.iter_predict(data, num_batch, reset=False):
            valid = data.batch_size - (batch.pad or 0)
            row = [[output.asnumpy() for output in outputs]]
            if return_data:
                row += [
                    [array.asnumpy()[:valid] for array in part or ()]
                    for part in (batch.data, batch.label)
                ]
            rows.append(row)
        joined = [[np.concatenate(arrays) for arrays in zip(*parts)] for parts in zip(*rows)]
        single = [part[0] if len(part) == 1 else part for part in joined]
        return tuple(single) if return_data else single[0]

    def score(
        self,
        X: DataIter,
        eval_metric: MetricLike = "acc",
        num_batch: int | None = None,
        batch_end_callback: BatchEndCallback | None = None,
        reset: bool = True,
    ) -> float:
        """The metric's (first) figure over `X`.

        Parameters
        ----------
        num_batch : int, optional
            Stop after so many batches.

        Returns
        -------
        float
        """
        data = self._iterator(X, None, False)
        figures = self._predictor(data).score(
            data, eval_metric, num_batch, batch_end_callback, reset=reset
        )
        return figures[0][1]

    def save(
        self, prefix: FileName, epoch: int | None = None, remove_amp_cast: bool = True
    ) -> None:
        """Write a checkpoint; `epoch` is `num_epoch` by default.

        Parameters
        ----------
        prefix : str, optional
            Beginning of the names of parameters; by default one with a number.
        epoch : int
            Number of the epoch, in the names of files.
        remove_amp_cast : bool
            Leave out what mixed precision inserted.

        Raises
        ------
        ArgumentError
            A value is not one of those allowed; the message names it.
        """
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None:
            raise ArgumentError("FeedForward.save: epoch is missing")
        save_checkpoint(
            prefix,
            epoch,
            self.symbol,
            self.arg_params,
            self.aux_params,
            remove_amp_cast=remove_amp_cast,
        )

    @staticmethod
    def load(
        prefix: FileName,
        epoch: int,
        ctx: ContextLike | Sequence[ContextLike] | None = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A model from a checkpoint.

        Parameters
        ----------
        prefix : str, optional
            Beginning of the names of parameters; by default one with a number.
        epoch : int
            Number of the epoch, in the names of files.
        ctx : Context or list of Context, optional
            The device; the current one by default.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol,
            ctx=ctx,
            arg_params=arg_params,
            aux_params=aux_params,
            begin_epoch=epoch,
            **kwargs,
        )

    @staticmethod
    def create(
        symbol: Symbol,
        X: IterData | DataIter,
        y: IterData | None = None,
        ctx: ContextLike | Sequence[ContextLike] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Optimizer | str = "sgd",
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        eval_data: DataIter | tuple[Any, Any] | None = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: EpochEndCallback | None = None,
        batch_end_callback: BatchEndCallback | None = None,
        kvstore: KVStoreLike | None = "local",
        logger: Logger | None = None,
        work_load_list: Sequence[float] | None = None,
        eval_end_callback: BatchEndCallback = _LOG_VALIDATION,
        eval_batch_end_callback: BatchEndCallback | None = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A model made and trained in one call; see ``FeedForward`` and ``fit``.

        Parameters
        ----------
        ctx : Context or list of Context, optional
            The device; the current one by default.
        eval_data : DataIter
            The data.
        """
        model = FeedForward(
            symbol,
            ctx=ctx,
            num_epoch=num_epoch,
            epoch_size=epoch_size,
            optimizer=optimizer,
            initializer=initializer,
            **kwargs,
        )
        model.fit(
            X,
            y,
            eval_data=eval_data,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            kvstore=kvstore,
            logger=logger,
            work_load_list=work_load_list,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        return model


def _is_label(name, data):
    """Whether an argument that is neither data nor a parameter can go without a value."""
    return name.endswith("label") or name in dict(data.provide_label or ())


def _counted_from_one(callbacks):
    """The batch-end callbacks of ``Module.fit`` that give those of FeedForward the number of
    batches that are done, as MXNet does there; Module counts them from 0."""

    def counted(callback):
        if not callable(callback):
            return callback  # fit refuses it
        return lambda param: callback(param._replace(nbatch=param.nbatch + 1))

    return None if callbacks is None else [counted(each) for each in _as_list(callbacks)]


def _multiple_callbacks(callbacks, *args, **kwargs):
    """Call a callback, or each of a list, or none where it is None."""
    for callback in _as_list([] if callbacks is None else callbacks):
        callback(*args, **kwargs)


def _batches(size):
    """As many batches as `size` says; Python 3 makes a fraction of samples / batch_size."""
    try:
        count = math.ceil(size)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(
            f"FeedForward: epoch_size must be a number of batches, got {shown(size)}"
        ) from None
    return to_count("FeedForward: epoch_size", count)


class _Limited(DataIter):
    """The next `size` batches of an iterator an epoch; starts it over when it ends."""

    def __init__(self, inner, size):
        super().__init__(inner.batch_size)
        self.inner, self.size, self.count = inner, size, 0
        self.provide_data, self.provide_label = inner.provide_data, inner.provide_label
        if hasattr(inner, "default_bucket_key"):
            self.default_bucket_key = inner.default_bucket_key

    def reset(self):
        self.count = 0

    def next(self):
        if self.count == self.size:
            raise StopIteration
        self.count += 1
        try:
            return self.inner.next()
        except StopIteration:
            return begun_again(self.inner, "FeedForward")
