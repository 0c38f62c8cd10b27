"""BaseModule: the states of a module, and the training loop."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any

from .. import metric
from .. import ndarray as nd
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    ShapeError,
    UndefinedError,
    counted,
    shown,
)
from ..base.kinds import check_numbers
from ..base.legacy import _as_list as _as_list  # scripts import _as_list from here
from ..base.reprs import ReprMixin
from ..callback import BatchEndParam, FitState, StopTraining
from ..callback.fit import end_epoch, find_nan_output, history_columns
from ..engine.trace import Span
from ..io import DataBatch, NDArrayIter
from .batch_axes import checked_pad
from .history import History, warn_of_nan
from .inputs import (
    _check_input_names as _check_input_names,  # subclasses in scripts import these three from here
)
from .inputs import _check_names_match as _check_names_match
from .inputs import _parse_data_desc as _parse_data_desc
from .inputs import (
    call_each,
    callback_list,
    check_batch_size,
    check_callbacks,
    check_fit_callbacks,
    check_iterator,
    check_monitor,
    is_array_like,
    refuse_batch_size,
    to_iterator,
)
from .interface import DEFAULT_INITIALIZER, Interface
from .progress import choose_progress, log_line
from .ranks import create_ranks
from .resume import Resume
from .thread_guard import ThreadGuard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..typing import (
        ArrayLike,
        BatchEndCallback,
        DataIter,
        EpochEndCallback,
        FileName,
        FitCallback,
        InitializerLike,
        KVStoreLike,
        Logger,
        MetricLike,
        Monitor,
        NamedArrays,
        NDArray,
        Optimizer,
        OptimizerParams,
    )

_CALLBACKS_SPAN, _EPOCH_END_SPAN = Span("callbacks", "training"), Span("epoch end", "training")
_VALIDATION_SPAN = Span("validation", "training")

# silent logger of the ranks other than 0
_OTHER_RANKS_LOGGER = logging.getLogger(f"{__name__}.other_ranks")  # silent
_OTHER_RANKS_LOGGER.addHandler(logging.NullHandler())
_OTHER_RANKS_LOGGER.propagate = False

# state of a module -> the method that sets it
_METHOD_BY_STATE = {  # state of a module -> method that sets it
    "binded": "bind",
    "params_initialized": "init_params",
    "optimizer_initialized": "init_optimizer",
}


class BaseModule(ReprMixin, Interface):
    """Base of modules: the training loop `fit`, `score` and `predict`.

    A module goes through these states, one after another:

    1. *made*: it knows its symbol and the names of its inputs;
    2. *binded*, by ``bind``: shapes are known, memory is there;
    3. *params_initialized*, by ``init_params`` or ``set_params``: it can ``forward``;
    4. *optimizer_initialized*, by ``init_optimizer``: it can ``update``.

    A training step is ``forward``, ``backward``, ``update``; outputs are had from ``get_outputs``,
    figures from ``update_metric``. ``fit`` goes through all of it.

    A subclass defines ``data_names``, ``output_names``, ``data_shapes``, ``label_shapes``,
    ``output_shapes``, ``bind``, ``init_params``, ``get_params``, ``init_optimizer``, ``forward``,
    ``backward``, ``update``, ``get_outputs``, ``get_input_grads`` and ``update_metric``.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(np.ones((8, 3)), np.zeros(8), batch_size=4)

    What ``fit`` does, step by step:

    >>> module.bind(data.provide_data, data.provide_label, inputs_need_grad=True)
    >>> module.init_params(mx.init.One())
    >>> module.init_optimizer(optimizer="sgd")
    >>> metric = mx.metric.create("acc")
    >>> for batch in data:
    ...     module.forward(batch, is_train=True)
    ...     module.backward()
    ...     norm = module.clip_gradients(1.0)
    ...     module.update()
    ...     module.update_metric(metric, batch.label)
    >>> module.data_names, module.output_names, module.symbol
    (['data'], ['softmax_output'], <Symbol softmax>)
    >>> [each.shape for each in module.data_shapes + module.label_shapes], module.output_shapes
    ([(4, 3), (4,)], [('softmax_output', (4, 2))])
    >>> module.get_outputs()[0].shape, module.get_input_grads()[0].shape
    ((4, 2), (4, 3))

    And what comes after it:

    >>> module.score(data, "acc")
    [('accuracy', 1.0)]
    >>> module.predict(data).shape
    (8, 2)
    >>> [outputs[0].shape for outputs, number, batch in module.iter_predict(data)]
    [(4, 2), (4, 2)]
    >>> arg_params, aux_params = module.get_params()
    >>> module.set_params(arg_params, aux_params)
    """

    def __init__(self, logger: Logger = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol = None
        self._optimizer_settings = None
        self._thread_guard = ThreadGuard()
        # padding of the last batch, for modules that do not read it from batches
        self._pad = None

    def _require_state(self, what, *states):
        """Raise if the module is not in one of the states that `what` requires."""
        for state in states:
            if not getattr(self, state):
                raise CynetError(f"{what}: call {_METHOD_BY_STATE[state]} first")

    def _should_keep_optimizer(self, kvstore, optimizer, optimizer_params, force_init):
        """Return whether the present optimizer stays in use; warn if another one was requested.

        Otherwise these settings are remembered as its own.
        """
        try:
            settings = kvstore, optimizer, dict(optimizer_params)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                "optimizer_params must be a dict, as {'learning_rate': 0.1}, or pairs, got"
                f" {shown(optimizer_params)}"
            ) from None
        if not self.optimizer_initialized or force_init:
            self._optimizer_settings = settings
            return False
        if not _are_settings_equal(settings, self._optimizer_settings):
            self.logger.warning(
                "optimizer already initialized, ignoring %s; init_optimizer(force_init=True)"
                " replaces it",
                settings[1:],
            )
        return True

    def _repr_settings(self):
        outputs = self.output_names
        if not self.binded:
            state = "not bound"
        else:
            state = "bound" if self.params_initialized else "bound, parameters have no values"
        shapes = (self.data_shapes, self.label_shapes) if self.binded else (None, None)
        data, labels = ([(e[0], e[1]) for e in each or ()] or None for each in shapes)
        return {
            "data": data or self.data_names,
            "labels": labels or getattr(self, "label_names", None) or None,
            "outputs": outputs,
            "context": getattr(self, "_context", None),
            "optimizer": getattr(self, "_optimizer", None),
            "state": state,
        }

    # --- score and predict ---

    def score(
        self,
        eval_data: DataIter | Sequence[ArrayLike],
        eval_metric: MetricLike,
        num_batch: int | None = None,
        batch_end_callback: BatchEndCallback | None = None,
        score_end_callback: BatchEndCallback | None = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
    ) -> list[tuple[str, float]]:
        """Evaluate a metric on `eval_data`; return its values.

        Parameters
        ----------
        eval_data : DataIter or pair of arrays
            The batches to evaluate; or data and labels, anything that ``mx.nd.array`` takes.
        eval_metric : str, list or EvalMetric
            ``"acc"``, ``["acc", "ce"]`` or a metric of ``mx.metric``.
        batch_end_callback, score_end_callback : callable or list of callable, optional
            Called after each batch, and at the end, as ``callback(BatchEndParam)``.
        epoch : int
            Number of the epoch, for the callbacks.
        batch_size : int, optional
            Rows of a batch of a pair of arrays; by default as many as the module is bound to.

        Returns
        -------
        list of (name, value)
            Where ranks train together, over the data of all of them: all of them call it.
        """
        self._require_state("score", "binded", "params_initialized")
        eval_data = to_iterator(self, "score", "eval_data", eval_data, batch_size=batch_size)
        check_callbacks(
            "score", batch_end_callback=batch_end_callback, score_end_callback=score_end_callback
        )
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0
        batches = self._limited_batches(eval_data, num_batch, reset)
        for nbatch, eval_batch in enumerate(batches):
            with self._thread_guard.lock:
                self._predict_batch(eval_batch, sparse_row_id_fn)
                self._update_metric(eval_metric, eval_batch)
            if batch_end_callback is not None:
                call_each(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch += 1
        if score_end_callback is not None:
            param = BatchEndParam(epoch, actual_num_batch, eval_metric, locals())
            call_each(score_end_callback, param)
        return create_ranks(getattr(self, "_kvstore", None)).metric_values(eval_metric)

    def _update_metric(self, eval_metric, batch):
        """Update a metric with the labels and outputs of a batch."""
        self._store_pad_count(batch)
        if isinstance(batch, list):
            self.update_metric(eval_metric, [each.label for each in batch], True)
        else:
            self.update_metric(eval_metric, batch.label)

    def _store_pad_count(self, batch):
        """Store the number of padding examples of the batch."""
        self._pad = getattr(batch, "pad", None)

    def _limited_batches(self, data, num_batch, reset):
        """Yield the batches of `data`, at most `num_batch`."""
        if num_batch is not None:
            check_numbers("score, predict", num_batch=num_batch)
        if reset:
            data.reset()
        for count, batch in enumerate(data):
            if count == num_batch:
                return
            yield batch

    def _predict_batch(self, batch, sparse_row_id_fn):
        """Run forward on a batch in prediction mode."""
        self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
        self.forward(batch, is_train=False)

    def _unpadded_outputs(self, batch):
        """Return the outputs without padding examples."""
        outputs = self.get_outputs()
        pad = getattr(batch, "pad", None)
        return self._remove_padding(outputs, pad) if pad else outputs

    def _remove_padding(self, outputs, pad):
        return [output[: output.shape[0] - checked_pad(pad, output.shape[0])] for output in outputs]

    def _output_concat_axes(self, outputs):
        """Return the axis along which each output is concatenated over batches."""
        return [0] * len(outputs)

    def iter_predict(
        self,
        eval_data: DataIter,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """Iterate over (outputs, index of the batch, batch); outputs are valid until the next.

        Parameters
        ----------
        eval_data : DataIter
            The batches to predict.
        sparse_row_id_fn : callable, optional
            Part of MXNet's signature; not called.

        Returns
        -------
        iterator of (list of NDArray, int, DataBatch)
            Outputs without the rows that fill up a batch, the batch's number, the batch.
        """
        self._require_state("iter_predict", "binded", "params_initialized")
        check_iterator("iter_predict", "eval_data", eval_data)
        for nbatch, batch in enumerate(self._limited_batches(eval_data, num_batch, reset)):
            with self._thread_guard.lock:
                self._predict_batch(batch, sparse_row_id_fn)
                outputs = self._unpadded_outputs(batch)
            yield outputs, nbatch, batch

    def predict(
        self,
        eval_data: DataIter | ArrayLike,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
    ) -> Any:
        """Compute the outputs for all of `eval_data`.

        Parameters
        ----------
        eval_data : DataIter or array_like
            The batches to predict; an array, or what ``mx.nd.array`` makes one of, as a DataFrame,
            is one batch.
        merge_batches : bool
            Concatenate the batches' outputs along the first axis; if False, return a list for each
            batch.
        always_output_list : bool
            Return a list even if there is only one output.
        batch_size : int, optional
            Rows of a batch of an array.

        Returns
        -------
        NDArray, list of NDArray, or list of lists

        Raises
        ------
        CynetError
            The module is not bound, or its parameters have no values.
        """
        self._require_state("predict", "binded", "params_initialized")
        if batch_size is not None:
            check_batch_size("predict", batch_size)
        if is_array_like(eval_data) and batch_size is None:
            if not isinstance(eval_data, nd.NDArray):
                eval_data = nd.array(eval_data)
            with self._thread_guard.lock:
                self.forward(DataBatch([eval_data]), is_train=False)
                return self.get_outputs()[0].copy()
        if is_array_like(eval_data):
            name = self.data_names[0]
            eval_data = NDArrayIter(nd.array(eval_data), None, batch_size, data_name=name)
        else:
            check_iterator("predict", "eval_data", eval_data)
            refuse_batch_size("predict", "eval_data", batch_size)
        results, axes = [], []
        for batch in self._limited_batches(eval_data, num_batch, reset):
            with self._thread_guard.lock:
                self._predict_batch(batch, sparse_row_id_fn)
                outputs = self._unpadded_outputs(batch)
                results.append([output.copy() for output in outputs])
                axes = self._output_concat_axes(outputs)
        if not results or not merge_batches:
            return results
        if len({len(outputs) for outputs in results}) > 1:
            raise ShapeError(
                "predict: batches give different numbers of outputs, so they cannot be"
                " merged; is bucketing used? Pass merge_batches=False"
            )
        merged = [
            arrays[0] if len(arrays) == 1 else nd.concat(*arrays, dim=axis)
            for arrays, axis in zip(zip(*results), axes)
        ]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    # --- training ---

    def fit(
        self,
        train_data: DataIter | Sequence[ArrayLike],
        eval_data: DataIter | Sequence[ArrayLike] | None = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: EpochEndCallback | None = None,
        batch_end_callback: BatchEndCallback | None = None,
        kvstore: KVStoreLike | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        eval_end_callback: BatchEndCallback | None = None,
        eval_batch_end_callback: BatchEndCallback | None = None,
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: MetricLike | None = None,
        monitor: Monitor | None = None,
        sparse_row_id_fn: Callable[..., Any] | None = None,
        verbose: bool | None = None,
        callbacks: Sequence[FitCallback] = (),
        clip_global_norm: float | None = None,
        resume: FileName | None = None,
        batch_size: int | None = None,
    ) -> History:
        """Train the module: bind, initialize, then run forward, backward and update on each batch.

        Called again, it goes on training; a `train_data` that is at its end starts over.

        Parameters
        ----------
        train_data : DataIter or pair of arrays
            Batches of the shapes that ``provide_data`` and ``provide_label`` say. Data and label
            of a network with one of each, which are anything that ``mx.nd.array`` takes, as a
            DataFrame, are shuffled, in batches of `batch_size` rows.
        eval_data : DataIter or pair of arrays, optional
            Scored after each epoch.
        eval_metric : str, list or EvalMetric
            Metrics of training: ``"acc"``, ``["acc", "ce"]``, a metric of your own.
        epoch_end_callback : callable or list of callable, optional
            Called after each epoch as ``callback(epoch, symbol, arg_params, aux_params)``.
        batch_end_callback : callable or list of callable, optional
            Called after each batch as ``callback(BatchEndParam)``.
        kvstore : str or KVStore
            Sums gradients over several devices or processes; one device needs none.
        optimizer : str or Optimizer
            ``"sgd"``, ``"adam"``, ...: the classes of ``mx.optimizer``.
        optimizer_params : dict or pairs
            Settings of an optimizer by name: ``{"learning_rate": 0.1, "momentum": 0.9}``.
        eval_end_callback, eval_batch_end_callback : callable or list of callable, optional
            Called after each evaluation, and after each of its batches, as
            ``callback(BatchEndParam)``.
        initializer : Initializer or str
            Gives parameters their first values, unless `arg_params` has them.
        arg_params, aux_params : dict of str to NDArray, optional
            Initial values of parameters and auxiliary states.
        allow_missing : bool
            Initialize parameters that `arg_params` does not have; if False, that is an error.
        force_rebind, force_init : bool
            Bind, or initialize, even if that has been done.
        begin_epoch, num_epoch : int
            First epoch, and the one to stop before.
        validation_metric : str, list or EvalMetric, optional
            Metric for `eval_data`; `eval_metric` by default.
        monitor : Monitor, optional
            Shows values inside of the network.
        sparse_row_id_fn : callable, optional
            Passed to ``prepare``.
        verbose : bool, optional
            Print figures of the epochs, and of batches where an epoch takes long, on stderr. By
            default only if the logger does not show INFO and there is no `batch_end_callback`.
        callbacks : list of FitCallback
            ``mx.callback.EarlyStopping``, ``BestCheckpoint``, ``HistoryFile``, ... Any callback may
            raise ``mx.callback.StopTraining``.
        clip_global_norm : float, optional
            Upper bound of the norm of all gradients together, to which they are scaled down before
            each update; see `clip_gradients`.
        resume : str, optional
            Beginning of a file name. After each epoch ``RESUME.training`` gets all that training
            depends on; where the file is there, training goes on from it as if it had never been
            stopped, and the log says where. Another learning rate or schedule, `num_epoch` and
            `clip_global_norm` count from there on; another optimizer or another setting of it is
            refused. An iterator without ``state_dict`` begins an epoch as it does when it is new.
        batch_size : int, optional
            Rows of a batch of pairs of arrays; by default as many as the module is bound to, else
            32.

        Returns
        -------
        History
            Figures and seconds of each epoch.

        Raises
        ------
        ArgumentError
            `num_epoch` is not given, or a parameter has a value that cannot be.

        Examples
        --------
        >>> points = np.random.default_rng(0).normal(size=(100, 2))
        >>> labels = points.sum(axis=1) > 0
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
        >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
        >>> history = module.fit(
        ...     mx.io.NDArrayIter(points, labels, batch_size=10),
        ...     num_epoch=5,
        ...     optimizer_params={"learning_rate": 0.5},
        ...     verbose=False,
        ... )
        >>> history.epochs, history.metrics["Train-accuracy"][-1] > 0.9
        ([0, 1, 2, 3, 4], True)
        """
        options = dict(locals())  # callbacks see the options (BatchEndParam.locals)
        if num_epoch is None:
            raise ArgumentError("fit: say how long to train with num_epoch")
        check_numbers("fit", begin_epoch=begin_epoch, num_epoch=num_epoch)
        pairs = {"batch_size": batch_size, "keeps": not force_rebind}
        train_data = to_iterator(self, "fit", "train_data", train_data, True, **pairs)
        if eval_data is not None:
            eval_data = to_iterator(self, "fit", "eval_data", eval_data, **pairs)
        check_callbacks(
            "fit",
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        callbacks = callback_list(callbacks)
        check_fit_callbacks("fit", callbacks)
        eval_metric = metric.create(eval_metric)
        validation_metric = (
            eval_metric if validation_metric is None else metric.create(validation_metric)
        )
        # set before bind, since the executors' plan depends on the ranks
        ranks = create_ranks(getattr(self, "_kvstore", None), kvstore)
        self._bind_for_fit(train_data, force_rebind)
        if monitor is not None:
            check_monitor("fit", monitor)
            self.install_monitor(monitor)
        self.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        )
        resumed = None if resume is None else Resume(resume, ranks)
        if resumed is not None:
            resumed.load_params(self)
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        options.update(
            train_data=train_data,
            eval_data=eval_data,
            eval_metric=eval_metric,
            validation_metric=validation_metric,
            callbacks=callbacks,
        )
        return _TrainingRun(self, options, ranks, resumed).run()

    def _bind_for_fit(self, train_data, force_rebind):
        if force_rebind or not self.binded:
            self.bind(
                data_shapes=train_data.provide_data,
                label_shapes=train_data.provide_label,
                for_training=True,
                force_rebind=force_rebind,
            )
        elif not self.for_training:
            raise ArgumentError(
                "fit: the module was bound with for_training=False; force_rebind=True binds it anew"
            )

    def _make_label_check(self, train_data):
        """Return a function that refuses batches whose labels do not fit the outputs, or None."""

    def _begin_epoch(self, epoch, train_data):
        """Hook at the beginning of an epoch, for modules that read all data first."""

    def _updater_with_states(self, purpose):
        """Return the updater that has the optimizer and its states."""
        raise UndefinedError(f"{purpose}: {type(self).__name__} has no optimizer states of its own")

    def _updater_to_save(self, purpose):
        """Return the updater to save: with the states of all ranks if they are sharded."""
        return self._updater_with_states(purpose)

    def _gather_states(self):
        """Gather sharded optimizer states before files are written."""


class _TrainingRun:
    """One run of ``fit`` on a module that is bound and initialized.

    module: BaseModule
    options (dict): The arguments of ``fit`` by name, its data as iterators and its metrics made.
    ranks: SingleProcess or Ranks
    resumed: Resume, optional
    """

    def __init__(self, module, options, ranks, resumed):
        self._module, self._options, self._ranks, self._resumed = module, options, ranks, resumed
        self._train_data, self._metric = options["train_data"], options["eval_metric"]
        self._callbacks, self._monitor = options["callbacks"], options["monitor"]
        self._batch_end, self._clip_norm = (
            options["batch_end_callback"],
            options["clip_global_norm"],
        )
        self._logger = module.logger if ranks.is_first else _OTHER_RANKS_LOGGER
        self._check_labels = module._make_label_check(self._train_data)
        self._history, self._state, self._warned = History(), None, False
        self._progress = choose_progress(
            options["verbose"],
            self._logger,
            self._batch_end,
            options["num_epoch"],
            self._train_data,
        )

    def run(self):
        """Train all epochs; return the History."""
        provided = self._train_data.provide_data  # a user's iterator may have None
        self._log_each_line(self._ranks.log_lines_at_start(provided[0][1][0]) if provided else ())
        begin_epoch, num_epoch = self._load_first_epoch(), self._options["num_epoch"]
        if self._history.reason is not None:  # a callback has ended the training
            return self._history
        judged = [("Train", self._metric)]
        if self._options["eval_data"] is not None:
            judged.append(("Validation", self._options["validation_metric"]))
        self._state = FitState(
            self._module,
            begin_epoch,
            num_epoch,
            self._metric,
            self._history,
            columns=history_columns(judged),
        )
        for each in self._callbacks:
            each.begin(self._state)
        if self._progress is not None:
            self._progress.start_timing(begin_epoch)
        try:
            for epoch in range(begin_epoch, num_epoch):
                if self._train_epoch(epoch) is not None:
                    break
        except StopTraining as stop:
            self._history.reason = str(stop)
            self._logger.info("Epoch[%d] training ends: %s", self._state.epoch, stop)
            self._train_data.reset()
        finally:
            with contextlib.ExitStack() as ends:  # all callbacks end, even if one raises
                if self._progress is not None:
                    ends.callback(self._progress.close)
                for each in reversed(self._callbacks):
                    ends.callback(each.end, self._state)
        self._log_each_line(self._ranks.log_lines_at_end(sum(self._history.times)))
        return self._history

    def _train_epoch(self, epoch):
        """Train and validate one epoch; return the reason why training ends, or None."""
        self._state.epoch = epoch
        tic = time.time()
        self._metric.reset()
        self._module._begin_epoch(epoch, self._train_data)
        nbatch = 0
        data_iter, batch = _first_batch(self._train_data)
        while batch is not None:
            batch = self._train_batch(epoch, nbatch, batch, data_iter, tic)
            nbatch += 1
        self._check_labels = None  # all labels are checked now
        figures = self._ranks.metric_values(self._metric)
        for name, value in figures:
            self._logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
        seconds = time.time() - tic
        self._logger.info("Epoch[%d] Time cost=%.3f", epoch, seconds)
        self._history.add(epoch, seconds, figures)
        with _EPOCH_END_SPAN:
            self._finish_epoch(epoch)
        lost = None if self._warned or not nbatch else find_nan_output(self._module)
        validation = self._run_validation(epoch)
        if nbatch and not self._warned:
            self._warned = warn_of_nan(self._history, lost)
        if self._progress is not None:
            self._progress.show_epoch_end(epoch, seconds, figures, validation, nbatch)
        self._train_data.reset()
        stop = end_epoch(self._callbacks, self._state)
        if self._resumed is not None:
            self._resumed.save(
                epoch, self._module, self._train_data, self._callbacks, self._history
            )
        return stop

    def _train_batch(self, epoch, nbatch, data_batch, data_iter, tic):
        """Train on a batch; return the next batch, or None after the last one."""
        module, metric = self._module, self._metric
        if self._check_labels is not None:
            self._check_labels(data_batch)
        if self._monitor is not None:
            self._monitor.tic()
        with module._thread_guard.lock:  # other threads may predict meanwhile
            if self._clip_norm is None:
                module.train_step(data_batch)
            else:
                module.forward_backward(data_batch)
                module.clip_gradients(self._clip_norm)
                module.update()
            # the metric is updated before the next batch, which may be the same object or memory
            module._update_metric(metric, data_batch)
        # backward and update run in the engine while the next batch is prepared
        next_batch = next(data_iter, None)
        goes_on = self._ranks.vote_on_next_batch(next_batch is not None)
        if next_batch is not None:
            module.prepare(next_batch, sparse_row_id_fn=self._options["sparse_row_id_fn"])
        if not goes_on():
            next_batch = None
        if self._monitor is not None:
            self._monitor.toc_print()
        with _CALLBACKS_SPAN:
            if self._batch_end is not None:
                seen = self._callback_locals(epoch, nbatch, data_batch, data_iter, next_batch, tic)
                call_each(self._batch_end, BatchEndParam(epoch, nbatch, metric, seen))
            if self._progress is not None:
                self._progress.show_batch_end(epoch, nbatch, metric)
            self._state.nbatch = nbatch
            for each in self._callbacks:
                each.batch_end(self._state)
        return next_batch

    def _callback_locals(self, epoch, nbatch, data_batch, data_iter, next_batch, tic):
        """Return the variables of ``fit`` for a callback, under MXNet's names."""
        last = next_batch is None
        seen = {
            **self._options,
            "epoch": epoch,
            "nbatch": nbatch,
            "data_batch": data_batch,
            "next_data_batch": data_batch if last else next_batch,
            "data_iter": data_iter,
            "end_of_batch": last,
            "tic": tic,
        }
        if last:
            seen["eval_name_vals"] = self._metric.get_global_name_value()
        return seen

    def _finish_epoch(self, epoch):
        """Finish an epoch: average states over devices and ranks, call epoch-end callbacks."""
        module = self._module
        self._ranks.average_states(module)
        if self._options["epoch_end_callback"] or self._callbacks or self._resumed:
            module._gather_states()
        arg_params, aux_params = module.get_params()
        module.set_params(arg_params, aux_params)  # devices' auxiliary states may differ
        for callback in callback_list(self._options["epoch_end_callback"]):
            callback(epoch, module.symbol, arg_params, aux_params)
        for each in self._callbacks:
            each.epoch_trained(self._state)

    def _run_validation(self, epoch):
        """Evaluate the validation data, if any; return pairs (name, value)."""
        options = self._options
        if options["eval_data"] is None:
            return []
        with _VALIDATION_SPAN:
            figures = self._module.score(
                options["eval_data"],
                options["validation_metric"],
                score_end_callback=options["eval_end_callback"],
                batch_end_callback=options["eval_batch_end_callback"],
                epoch=epoch,
            )
        for name, value in figures:
            self._logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
        self._history.add_validation(figures)
        return figures

    def _load_first_epoch(self):
        """Return the first epoch; load the file of `resume` if it exists."""
        begin_epoch, num_epoch = self._options["begin_epoch"], self._options["num_epoch"]
        if self._resumed is None:
            return begin_epoch
        next_epoch, changed = self._resumed.load(
            self._module, self._train_data, self._callbacks, self._history, self._clip_norm
        )
        if next_epoch is None:
            return begin_epoch
        lines = [f"fit: resume: {self._resumed.path} has {counted(next_epoch, 'epoch')}"]
        if self._history.reason is not None:
            lines[0] += f": nothing is left to do, training has ended: {self._history.reason}"
        elif next_epoch >= num_epoch:
            lines[0] += f": nothing is left to do for num_epoch={num_epoch}"
        else:
            lines[0] += f": training goes on with Epoch[{next_epoch}], up to num_epoch={num_epoch}"
            lines += [f"fit: resume: from here on with {each}" for each in changed]
        self._log_each_line(lines)
        return next_epoch

    def _log_each_line(self, lines):
        for line in lines:
            log_line(self._logger, self._progress, line)


def _are_settings_equal(settings, others):
    try:
        return bool(settings == others)
    except ValueError:  # values may be arrays
        return False


def _first_batch(train_data):
    """Return an iterator over the batches of an epoch, and the first batch.

    Whoever has looked at the data before, as ``score`` does, has left them at their end.
    """
    for _ in range(2):
        data_iter = iter(train_data)
        first = next(data_iter, None)
        if first is not None:
            return data_iter, first
        train_data.reset()
    raise ArgumentError("fit: train_data gives no batch, not even after a reset")
