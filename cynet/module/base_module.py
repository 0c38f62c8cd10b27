"""BaseModule: the states a module goes through, and the training loop written on top of them."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from .. import metric
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    UndefinedError,
    counted,
    shown,
)
from ..base.guard import PER_BATCH, guarded
from ..base.kinds import check_numbers
from ..base.legacy import _as_list as _as_list  # scripts import it from here
from ..base.told import Told
from ..callback import BatchEndParam, FitState, StopTraining
from ..callback.fit import columns_of, end_epoch
from ..engine.trace import Span
from .defaults import Defaults
from .evaluation import Evaluation
from .history import History, note, progress_for, warn_of_nan
from .inputs import (
    _check_input_names as _check_input_names,  # subclasses of scripts import these three here
)
from .inputs import (
    _check_names_match as _check_names_match,
)
from .inputs import (
    _parse_data_desc as _parse_data_desc,
)
from .inputs import (
    as_list,
    call_each,
    check_callbacks,
    check_fit_callbacks,
    check_monitor,
    to_iterator,
)
from .interface import DEFAULT_INITIALIZER
from .ranks import ranks_of
from .resume import Resume
from .turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
        Optimizer,
        OptimizerParams,
    )

_CALLBACKS, _EPOCH_END = Span("callbacks", "training"), Span("epoch end", "training")
_VALIDATION = Span("validation", "training")

_SILENT = logging.getLogger(f"{__name__}.other_ranks")  # of ranks that leave speaking to rank 0
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

# state of a module -> the method that leads to it
_LEADS_TO = {
    "binded": "bind",
    "params_initialized": "init_params",
    "optimizer_initialized": "init_optimizer",
}


@guarded(but=PER_BATCH)
class BaseModule(Told, Evaluation, Defaults):
    """A computation that can be trained.

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

    Parameters
    ----------
    logger : module or logging.Logger
        Receives the messages of ``fit``.

    Examples
    --------
    >>> import cynet as mx
    >>> import numpy as np
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
        self._turns = Turns()
        self._pad = None  # of the last batch, for modules that look at no batch themselves

    def _need(self, what, *states):
        """Refuse `what` where one of the states has not been reached."""
        for state in states:
            if not getattr(self, state):
                raise CynetError(f"{what}: call {_LEADS_TO[state]} first")

    def _keeps_optimizer(self, kvstore, optimizer, optimizer_params, force_init):
        """Whether the optimizer that is there stays; a warning says so where another was asked for.

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
        if not _same(settings, self._optimizer_settings):
            self.logger.warning(
                "optimizer already initialized, ignoring %s; init_optimizer(force_init=True)"
                " replaces it",
                settings[1:],
            )
        return True

    def _told(self):
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

    # --- the story ---

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
        """Train: bind, initialize, then epochs of forward, backward, update, metric.

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
        >>> import cynet as mx
        >>> import numpy as np
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
        callbacks = as_list(callbacks)
        check_fit_callbacks("fit", callbacks)
        eval_metric = metric.create(eval_metric)
        validation_metric = (
            eval_metric if validation_metric is None else metric.create(validation_metric)
        )
        # before the network is bound: its plan depends on it
        ranks = ranks_of(getattr(self, "_kvstore", None), kvstore)
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
        logger = self.logger if ranks.is_first else _SILENT
        check_labels = self._label_check(train_data)
        history = History()
        progress = progress_for(verbose, logger, batch_end_callback, num_epoch)
        provided = train_data.provide_data  # None of an iterator of one's own is no reason to stop
        for line in ranks.told(provided[0][1][0]) if provided else ():
            note(logger, progress, line)
        if resumed is not None:
            next_epoch, changed = resumed.load(
                self, train_data, callbacks, history, clip_global_norm
            )
            if next_epoch is not None:
                begin_epoch = next_epoch
                self._tell_of_resuming(
                    resumed.path, next_epoch, num_epoch, changed, history, progress
                )
            if history.reason is not None:  # a callback has ended this training
                return history
        judged = [("Train", eval_metric)]
        if eval_data is not None:
            judged.append(("Validation", validation_metric))
        state = FitState(
            self, begin_epoch, num_epoch, eval_metric, history, columns=columns_of(judged)
        )
        for each in callbacks:
            each.begin(state)

        # callbacks see this method's variables (BatchEndParam.locals), by the names of MXNet's
        try:
            for epoch in range(begin_epoch, num_epoch):
                state.epoch = epoch
                tic = time.time()
                eval_metric.reset()
                self._begin_epoch(epoch, train_data)
                nbatch = 0
                data_iter, next_data_batch = _started(train_data)
                end_of_batch = False
                while not end_of_batch:
                    data_batch = next_data_batch
                    if check_labels is not None:
                        check_labels(data_batch)
                    if monitor is not None:
                        monitor.tic()
                    with self._turns.lock:  # for threads that predict meanwhile
                        if clip_global_norm is None:
                            self.train_step(data_batch)
                        else:
                            self.forward_backward(data_batch)
                            self.clip_gradients(clip_global_norm)
                            self.update()
                        # before the next batch, which may be the same object or memory
                        self._judge(eval_metric, data_batch)
                    # backward and update go on while the next batch is made ready
                    next_data_batch = next(data_iter, None)
                    goes_on = ranks.vote(next_data_batch is not None)
                    if next_data_batch is not None:
                        self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
                    if not goes_on():
                        end_of_batch, next_data_batch = True, data_batch
                    if monitor is not None:
                        monitor.toc_print()
                    with _CALLBACKS:
                        if batch_end_callback is not None:
                            if end_of_batch:
                                eval_name_vals = eval_metric.get_global_name_value()
                            param = BatchEndParam(epoch, nbatch, eval_metric, locals())
                            call_each(batch_end_callback, param)
                        if progress is not None:
                            progress.batch(epoch, nbatch, eval_metric)
                        state.nbatch = nbatch
                        for each in callbacks:
                            each.batch_end(state)
                    nbatch += 1
                check_labels = None
                eval_name_vals = ranks.figures(eval_metric)
                for name, value in eval_name_vals:
                    logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
                seconds = time.time() - tic
                logger.info("Epoch[%d] Time cost=%.3f", epoch, seconds)
                history.add(epoch, seconds, eval_name_vals)

                with _EPOCH_END:
                    ranks.average(self)
                    arg_params, aux_params = self.get_params()
                    self.set_params(arg_params, aux_params)  # devices' auxiliary states may differ
                    for callback in as_list(epoch_end_callback):
                        callback(epoch, self.symbol, arg_params, aux_params)
                    for each in callbacks:
                        each.epoch_trained(state)
                res = []
                if eval_data is not None:
                    with _VALIDATION:
                        res = self.score(
                            eval_data,
                            validation_metric,
                            score_end_callback=eval_end_callback,
                            batch_end_callback=eval_batch_end_callback,
                            epoch=epoch,
                        )
                    for name, value in res:
                        logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
                    history.add_validation(res)
                if nbatch:
                    warn_of_nan(history)
                if progress is not None:
                    progress.epoch(epoch, seconds, eval_name_vals, res)
                train_data.reset()
                stop = end_epoch(callbacks, state)
                if resumed is not None:
                    resumed.save(epoch, self, train_data, callbacks, history)
                if stop is not None:
                    break
        except StopTraining as stop:
            history.reason = str(stop)
            logger.info("Epoch[%d] training ends: %s", state.epoch, stop)
            train_data.reset()
        finally:
            for each in callbacks:
                each.end(state)
        for line in ranks.summed_up(sum(history.times)):
            note(logger, progress, line)
        return history

    def _tell_of_resuming(self, path, epoch, num_epoch, changed, history, progress):
        """Say where training goes on, and whether anything is left of it."""
        lines = [f"fit: resume: {path} has {counted(epoch, 'epoch')}"]
        if history.reason is not None:
            lines[0] += f": nothing is left to do, training has ended: {history.reason}"
        elif epoch >= num_epoch:
            lines[0] += f": nothing is left to do for num_epoch={num_epoch}"
        else:
            lines[0] += f": training goes on with Epoch[{epoch}], up to num_epoch={num_epoch}"
            lines += [f"fit: resume: from here on with {each}" for each in changed]
        for line in lines:
            note(self.logger, progress, line)

    def _label_check(self, train_data):
        """A function that refuses a batch whose labels the outputs cannot have, or None."""

    def _begin_epoch(self, epoch, train_data):
        """``fit`` begins an epoch: for modules that look at all data first."""

    def _updater_of_states(self, purpose):
        """What holds the optimizer and its states."""
        raise UndefinedError(f"{purpose}: {type(self).__name__} has no optimizer states of its own")

    def _has_own(self, base, *names):
        """Whether these methods are those of `base`: no subclass, no object has others."""
        return all(
            getattr(getattr(self, name), "__func__", None) is getattr(base, name) for name in names
        )


def _same(settings, others):
    try:
        return bool(settings == others)
    except ValueError:  # arrays among them
        return False


def _started(train_data):
    """An iterator over the batches of an epoch, and the first of them.

    Whoever has looked at the data before, as ``score`` does, has left them at their end.
    """
    for _ in range(2):
        data_iter = iter(train_data)
        first = next(data_iter, None)
        if first is not None:
            return data_iter, first
        train_data.reset()
    raise ArgumentError("fit: train_data gives no batch, not even after a reset")
