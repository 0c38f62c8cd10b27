"""score and predict: batches run forward, without training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import metric
from .. import ndarray as nd
from ..base.errors import ShapeError
from ..base.guard import guarded
from ..base.kinds import check_numbers
from ..callback import BatchEndParam
from ..io import DataBatch, NDArrayIter
from .batch_axes import checked_pad
from .inputs import (
    call_each,
    check_batch_size,
    check_callbacks,
    check_iterator,
    is_array_like,
    refuse_batch_size,
    to_iterator,
)
from .ranks import ranks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..typing import ArrayLike, BatchEndCallback, DataIter, MetricLike, NDArray


@guarded
class Evaluation:
    """The part of BaseModule that runs a module over data; it lives on BaseModule's attributes."""

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
        """Run over `eval_data` and return the metric's figures.

        Parameters
        ----------
        eval_data : DataIter or pair of arrays
            The batches to evaluate; or data and labels, anything that ``mx.nd.array`` takes.
        eval_metric : str, list or EvalMetric
            ``"acc"``, ``["acc", "ce"]`` or a metric of ``mx.metric``.
        num_batch : int, optional
            Stop after this many batches.
        batch_end_callback, score_end_callback : callable or list of callable, optional
            Called after each batch, and at the end, as ``callback(BatchEndParam)``.
        reset : bool
            Whether to reset `eval_data` first.
        epoch : int
            Number of the epoch, for the callbacks.
        sparse_row_id_fn : callable, optional
            Passed to ``prepare``.
        batch_size : int, optional
            Rows of a batch of a pair of arrays; by default as many as the module is bound to.

        Returns
        -------
        list of (name, value)
            Where ranks train together, over the data of all of them: all of them call it.
        """
        self._need("score", "binded", "params_initialized")
        eval_data = to_iterator(self, "score", "eval_data", eval_data, batch_size=batch_size)
        check_callbacks(
            "score",
            batch_end_callback=batch_end_callback,
            score_end_callback=score_end_callback,
        )
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0
        batches = self._batches(eval_data, num_batch, reset)
        for nbatch, eval_batch in enumerate(batches):
            with self._turns.lock:
                self._predict_batch(eval_batch, sparse_row_id_fn)
                self._judge(eval_metric, eval_batch)
            if batch_end_callback is not None:
                call_each(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch += 1
        if score_end_callback is not None:
            param = BatchEndParam(epoch, actual_num_batch, eval_metric, locals())
            call_each(score_end_callback, param)
        return ranks_of(getattr(self, "_kvstore", None)).figures(eval_metric)

    def _judge(self, eval_metric, batch):
        """Let a metric see the outputs of a batch, and its labels."""
        self._note_pad(batch)
        if isinstance(batch, list):
            self.update_metric(eval_metric, [each.label for each in batch], True)
        else:
            self.update_metric(eval_metric, batch.label)

    def _note_pad(self, batch):
        """Remember how many examples of the batch only fill it up."""
        self._pad = getattr(batch, "pad", None)

    def _batches(self, data, num_batch, reset):
        """Each batch of `data`."""
        if num_batch is not None:
            check_numbers("score, predict", num_batch=num_batch)
        if reset:
            data.reset()
        for count, batch in enumerate(data):
            if count == num_batch:
                return
            yield batch

    def _predict_batch(self, batch, sparse_row_id_fn):
        """The forward pass of a batch in prediction mode."""
        self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
        self.forward(batch, is_train=False)

    def _unpadded_outputs(self, batch):
        """Outputs without the examples that only fill the batch up."""
        outputs = self.get_outputs()
        pad = getattr(batch, "pad", None)
        return self._without_padding(outputs, pad) if pad else outputs

    def _without_padding(self, outputs, pad):
        return [output[: output.shape[0] - checked_pad(pad, output.shape[0])] for output in outputs]

    def _joined_axes(self, outputs):
        """The axis along which outputs of several batches are put together."""
        return [0] * len(outputs)

    def iter_predict(
        self,
        eval_data: DataIter,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """Iterate over (outputs, number of the batch, batch); outputs are valid for that turn.

        Parameters
        ----------
        eval_data : DataIter
            The batches to predict.
        num_batch : int, optional
            Stop after this many batches.
        reset : bool
            Whether to reset `eval_data` first.
        sparse_row_id_fn : callable, optional
            Part of MXNet's signature; not called.

        Returns
        -------
        iterator of (list of NDArray, int, DataBatch)
            Outputs without the rows that fill up a batch, the batch's number, the batch.
        """
        self._need("iter_predict", "binded", "params_initialized")
        check_iterator("iter_predict", "eval_data", eval_data)
        for nbatch, batch in enumerate(self._batches(eval_data, num_batch, reset)):
            with self._turns.lock:
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
        """Outputs for all of `eval_data`.

        Parameters
        ----------
        eval_data : DataIter or array_like
            The batches to predict; an array, or what ``mx.nd.array`` makes one of, as a DataFrame,
            is one batch.
        num_batch : int, optional
            Stop after this many batches.
        merge_batches : bool
            Concatenate the batches' outputs along the first axis; if False, return a list for each
            batch.
        reset : bool
            Whether to reset `eval_data` first.
        always_output_list : bool
            Return a list even if there is only one output.
        sparse_row_id_fn : callable, optional
            Passed to ``prepare``.
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
        self._need("predict", "binded", "params_initialized")
        if batch_size is not None:
            check_batch_size("predict", batch_size)
        if is_array_like(eval_data) and batch_size is None:
            if not isinstance(eval_data, nd.NDArray):
                eval_data = nd.array(eval_data)
            with self._turns.lock:
                self.forward(DataBatch([eval_data]), is_train=False)
                return self.get_outputs()[0].copy()
        if is_array_like(eval_data):
            name = self.data_names[0]
            eval_data = NDArrayIter(nd.array(eval_data), None, batch_size, data_name=name)
        else:
            check_iterator("predict", "eval_data", eval_data)
            refuse_batch_size("predict", "eval_data", batch_size)
        results, axes = [], []
        for batch in self._batches(eval_data, num_batch, reset):
            with self._turns.lock:
                self._predict_batch(batch, sparse_row_id_fn)
                outputs = self._unpadded_outputs(batch)
                results.append([output.copy() for output in outputs])
                axes = self._joined_axes(outputs)
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
