"""FeedForward, the model before Module."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, listed, warn_user
from ..base.guard import guarded
from ..callback import LogValidationMetricsCallback
from ..context import cpu
from ..io import DataIter
from ..io.checkpoint import load_checkpoint, save_checkpoint
from ..module.base_module import DEFAULT_INITIALIZER
from ..module.bucketing_module import BucketingModule
from ..module.module import Module
from ..module.slicing import _check_arguments
from ..symbol import Symbol
from .feeding import LimitedIter, count_batches_from_1, is_label, make_iterator, round_up_batches
from .predicting import CachedPredictor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import (
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

_LOG_VALIDATION = LogValidationMetricsCallback()  # default callback of `fit`


@guarded
class FeedForward:
    """A network with ``fit`` and ``predict`` on arrays or iterators; runs on a Module.

    Threads may share it for ``predict`` and ``score``.

    Parameters
    ----------
    symbol : Symbol or callable
        The network, whose inputs are named as the iterator names its arrays (``data`` and
        ``softmax_label`` for plain arrays). A function of the bucket key that returns a Symbol
        trains on the batches of an iterator that has ``default_bucket_key``, as
        :class:`BucketingModule` does.
    ctx : Context or list of Context, optional
        Devices, the CPU by default; several split each batch among them.
    num_epoch : int, optional
        Epoch to stop before; ``fit`` needs it.
    epoch_size : int, optional
        Number of batches in an epoch; all by default.
    optimizer : str or Optimizer
        An optimizer, or the name of one.
    initializer : Initializer
        Initializes parameters that `arg_params` does not have.
    numpy_batch_size : int
        Batch size if arrays are given; the number of rows if the array has fewer.
    arg_params, aux_params : dict of str to NDArray, optional
        Values of parameters and auxiliary states, for ``predict`` or to start from.
    allow_extra_params : bool
        Ignore names in the dicts that the symbol does not have.
    begin_epoch : int
        Number of the first epoch.
    **kwargs
        Arguments of the optimizer: ``learning_rate=0.1``.

    Raises
    ------
    ArgumentTypeError
        `symbol` is neither a Symbol nor a function.
    ArgumentError
        Two arguments of the symbol have one name, or `epoch_size` is not a number of batches.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
    >>> points = np.array([[-2, 0], [-1, 1], [1, -1], [2, 0]])
    >>> labels = np.array([0, 0, 1, 1])
    >>> model = mx.model.FeedForward(net, num_epoch=20, numpy_batch_size=2, learning_rate=0.5)
    >>> history = model.fit(points, labels)
    >>> model.predict(np.array([[-3, 0], [3, 0]])).argmax(axis=1)
    array([0, 1])
    >>> float(model.score(mx.io.NDArrayIter(points, labels, batch_size=4)))
    1.0
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
            self.sym_gen, symbol = symbol, None  # the data selects the bucket key
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
        self.epoch_size = None if epoch_size is None else round_up_batches(epoch_size)
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = dict(kwargs)
        self._predictors = []  # predictors that are not in use

    def __getstate__(self):
        return {**vars(self), "_predictors": []}

    def _choose_symbol(self, data, is_train):
        """Set the symbol to that of the default bucket of `data`, if a `sym_gen` makes symbols."""
        known = self.symbol is not None and not is_train
        if self.sym_gen is None or (known and not hasattr(data, "default_bucket_key")):
            return
        if not hasattr(data, "default_bucket_key"):
            raise ArgumentError(
                "FeedForward: symbol is a function of the bucket key, so the iterator needs a"
                " default_bucket_key, and batches a bucket_key"
            )
        self.symbol = self._bucket_symbol(data.default_bucket_key)[0]
        _check_arguments(self.symbol)

    def _bucket_symbol(self, key, data_names=None, label_names=None):
        """Return (symbol, data names, label names) of a bucket, as BucketingModule requires."""
        if key not in self._generated:
            self._generated[key] = self.sym_gen(key)
        made = self._generated[key]
        return made if isinstance(made, tuple) else (made, data_names, label_names)

    def _check_params(self, is_train):
        """Refuse given parameters that the symbol lacks, or drop them if that is allowed.

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

    def _training_module(self, data, work_load_list, logger):
        """Make the module that trains on `data`."""
        data_names = [name for name, _ in data.provide_data]
        label_names = [name for name, _ in data.provide_label or ()]
        options = {"context": self.ctx, "work_load_list": work_load_list, "logger": logger}
        if self.sym_gen is None:
            return Module(self.symbol, data_names, label_names, **options)
        return BucketingModule(
            lambda key: self._bucket_symbol(key, data_names, label_names),
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
            The data; of an array the first axis is that of the examples, which each epoch shuffles.
        y : NDArray or numpy.ndarray, optional
            Labels (n,) or (n, 1), if `X` is an array.
        eval_data : DataIter or pair of arrays, optional
            Evaluated after each epoch.
        eval_metric, epoch_end_callback, batch_end_callback, kvstore, monitor, eval_end_callback
            As ``Module.fit`` takes them, but that a batch-end callback counts batches from 1.
        logger : logging.Logger, optional
            Receives the metrics of each epoch.
        work_load_list : list of number, optional
            Share of the batch for each context.
        eval_batch_end_callback : callable or list of callable, optional
            Like `batch_end_callback`, for the evaluation.

        Returns
        -------
        History
            Figures and seconds of each epoch, as of ``Module.fit``.

        Raises
        ------
        ArgumentTypeError
            `X` is neither an iterator nor an array.
        ArgumentError
            `y` is missing, or the model was made without ``num_epoch``.
        ShapeError
            `y` is not one label for each row of `X`.
        """
        logger = logging if logger is None else logger
        self._predictors.clear()
        if eval_end_callback is _LOG_VALIDATION:
            eval_end_callback = None  # Module.fit logs the same lines
        data = make_iterator(X, y, True, self.numpy_batch_size)
        if isinstance(eval_data, (tuple, list)) and len(eval_data) == 2:
            eval_data = make_iterator(*eval_data, False, self.numpy_batch_size)
        if self.epoch_size is not None:
            data = LimitedIter(data, self.epoch_size)
        self._choose_symbol(data, True)
        self._check_params(True)
        module = self._training_module(data, work_load_list, logger)
        history = module.fit(
            data,
            eval_data=eval_data,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=count_batches_from_1(batch_end_callback),
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

    def _predicting_module(self, data):
        if self.arg_params is None:
            raise CynetError("FeedForward: fit, or give arg_params, before predict and score")
        self._choose_symbol(data, False)
        self._check_params(False)
        data_names = [name for name, _ in data.provide_data]
        known = {*data_names, *self.arg_params}
        labels = [n for n in self.symbol.list_arguments() if n not in known and is_label(n, data)]
        provided = dict(data.provide_label or ())
        label_shapes = None
        if provided.keys() >= {*labels}:
            label_shapes = [desc for desc in data.provide_label or () if desc[0] in labels]
        form = self.symbol, self.ctx, data_names, labels, data.provide_data, label_shapes
        made = self._take_or_make_predictor(form)
        made.set_params(self.arg_params, self.aux_params or {})
        return made

    def _take_or_make_predictor(self, input_key):
        """Take a predictor for this kind of input that no other call uses, or make a new one."""
        with contextlib.suppress(IndexError):  # another thread has taken the predictor
            last = self._predictors.pop()
            if last.is_bound_for(input_key):
                return last
        return CachedPredictor(input_key)

    def _return_predictor(self, predictor):
        if not self._predictors:
            self._predictors.append(predictor)

    def predict(
        self,
        X: IterData | DataIter,
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
    ) -> Any:
        """Compute the outputs as NumPy arrays.

        Parameters
        ----------
        X : DataIter, NDArray or numpy.ndarray
            The data; of an array the first axis is that of the examples.
        num_batch : int, optional
            Stop after this many batches.
        return_data : bool
            Also return data and labels, as the iterator gave them.
        reset : bool
            Whether to reset the iterator first.

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            The output, or a list if there are several; rows that filled up the last batch are left
            out. With `return_data` a tuple (outputs, data, labels).

        Raises
        ------
        CynetError
            There are no parameters yet.
        ArgumentError
            ``arg_params`` or ``aux_params`` have names that the symbol has not.

        Examples
        --------
        >>> data = mx.sym.Variable("data")
        >>> net = mx.sym.FullyConnected(data, num_hidden=1, no_bias=True, name="fc")
        >>> weight = mx.nd.array([[1, 10]])
        >>> model = mx.model.FeedForward(net, arg_params={"fc_weight": weight}, numpy_batch_size=2)
        >>> model.predict(np.array([[1, 2], [3, 4], [5, 6]])).ravel()
        array([21., 43., 65.], dtype=float32)
        >>> outputs, data, labels = model.predict(mx.nd.ones((3, 2)), return_data=True)
        >>> data.shape
        (3, 2)
        """
        data = make_iterator(X, None, False, self.numpy_batch_size)
        if reset:
            data.reset()
        predictor = self._predicting_module(data)
        rows = []
        for outputs, _, batch in predictor.module.iter_predict(data, num_batch, reset=False):
            valid = data.batch_size - (batch.pad or 0)
            row = [[output.asnumpy() for output in outputs]]
            if return_data:
                row += [
                    [array.asnumpy()[:valid] for array in part or ()]
                    for part in (batch.data, batch.label)
                ]
            rows.append(row)
        self._return_predictor(predictor)
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
        """Compute a metric over `X`; the first value if the metric has several.

        Parameters
        ----------
        X : DataIter
            Gives data and labels.
        eval_metric : str, EvalMetric or callable
            Passed to ``mx.metric.create``.
        num_batch : int, optional
            Stop after this many batches.
        batch_end_callback : callable or list of callable, optional
            Called with a `BatchEndParam` after each batch.
        reset : bool
            Whether to reset the iterator first.
        """
        data = make_iterator(X, None, False, self.numpy_batch_size)
        predictor = self._predicting_module(data)
        figures = predictor.module.score(
            data, eval_metric, num_batch, batch_end_callback, reset=reset
        )
        self._return_predictor(predictor)
        return figures[0][1]

    def save(
        self, prefix: FileName, epoch: int | None = None, remove_amp_cast: bool = True
    ) -> None:
        """Write a checkpoint, ``prefix-symbol.json`` and ``prefix-0001.params``.

        Parameters
        ----------
        prefix : str
            Beginning of the files' names.
        epoch : int, optional
            The number in ``prefix-0001.params``; ``num_epoch`` of the model by default.
        remove_amp_cast : bool
            Leave out the casts that mixed precision inserted.

        Raises
        ------
        ArgumentError
            Neither `epoch` nor ``num_epoch`` is given.

        Examples
        --------
        >>> import os
        >>> data = mx.sym.Variable("data")
        >>> net = mx.sym.FullyConnected(data, num_hidden=1, no_bias=True, name="fc")
        >>> weight = mx.nd.array([[1, 10]])
        >>> model = mx.model.FeedForward(net, arg_params={"fc_weight": weight}, aux_params={})
        >>> model.save("net", 3)
        >>> sorted(os.listdir("."))
        ['net-0003.params', 'net-symbol.json']
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
        prefix : str
            Beginning of the files' names.
        epoch : int
            The number in ``prefix-0001.params``, from which ``fit`` counts on.
        ctx : Context or list of Context, optional
            Devices; the CPU by default.
        **kwargs
            Arguments of ``FeedForward``.

        Raises
        ------
        MissingFileError
            There is no file of this prefix and epoch.
        FormatError
            A file is damaged, or of something else.

        Examples
        --------
        >>> data = mx.sym.Variable("data")
        >>> net = mx.sym.FullyConnected(data, num_hidden=1, no_bias=True, name="fc")
        >>> mx.model.save_checkpoint("net", 3, net, {"fc_weight": mx.nd.array([[1, 10]])}, {})
        >>> model = mx.model.FeedForward.load("net", 3)
        >>> model.begin_epoch, model.predict(mx.nd.array([[1, 2]]))
        (3, array([[21.]], dtype=float32))
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
        """Make and train a model in one call; see ``FeedForward`` and ``fit``.

        Parameters
        ----------
        symbol, ctx, num_epoch, epoch_size, optimizer, initializer
            As `FeedForward` takes them.
        X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, logger
            As `fit` takes them.
        work_load_list, eval_end_callback, eval_batch_end_callback
            As `fit` takes them.
        **kwargs
            For ``FeedForward``: ``numpy_batch_size``, ``arg_params``, settings of the optimizer,
            ...

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
        >>> points = np.array([[-2, 0], [-1, 1], [1, -1], [2, 0]])
        >>> labels = np.array([0, 0, 1, 1])
        >>> model = mx.model.FeedForward.create(
        ...     net, points, labels, num_epoch=20, learning_rate=0.5
        ... )
        >>> model.predict(np.array([[-3, 0], [3, 0]])).argmax(axis=1)
        array([0, 1])
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
