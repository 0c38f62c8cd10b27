"""What a BucketingModule leaves to the module of the bucket in use."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

from ..base.guard import PER_BATCH, guarded
from .base_module import BaseModule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import DataBatch, DataDesc, MetricLike, NDArray, Shape, Symbol


@guarded(but=PER_BATCH)
class BucketInUse(BaseModule):
    """The part of BucketingModule that runs a bucket; it lives on BucketingModule's attributes."""

    @property
    def data_shapes(self) -> list[DataDesc]:
        self._need("data_shapes", "binded")
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        self._need("label_shapes", "binded")
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        self._need("output_shapes", "binded")
        return self._curr_module.output_shapes

    @property
    def symbol(self) -> Symbol:
        """The symbol of the bucket in use."""
        self._need("symbol", "binded")
        return self._curr_module.symbol

    def _take_turn(self, batch):
        """Use the bucket of a batch that is to be run; the lock is held."""
        if self._turns.last != get_ident():
            self._turns.take(lambda: None)  # each module leaves its outputs to other threads
        self._switch_for(batch)

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        """Run the module of the batch's bucket."""
        self._need("forward", "binded", "params_initialized")
        with self._turns.lock:
            self._take_turn(data_batch)
            self._curr_module.forward(data_batch, is_train=is_train)

    def forward_backward(self, data_batch: DataBatch | Any) -> None:
        """Both passes in the module of the batch's bucket."""
        if not self._has_own(BucketInUse, "forward", "backward"):
            super().forward_backward(data_batch)
            return
        self._need("forward_backward", "binded", "params_initialized")
        with self._turns.lock:
            self._take_turn(data_batch)
            self._curr_module.forward_backward(data_batch)

    def train_step(self, data_batch: DataBatch | Any) -> None:
        """A training step of the module of the batch's bucket."""
        own = "forward", "backward", "forward_backward", "update"
        if not self._has_own(BucketInUse, *own):
            super().train_step(data_batch)
            return
        self._need("train_step", "binded", "params_initialized", "optimizer_initialized")
        with self._turns.lock:
            self._take_turn(data_batch)
            self._curr_module.train_step(data_batch)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Run backward in the bucket of the last forward."""
        self._need("backward", "binded", "params_initialized")
        with self._turns.lock:
            self._turns.check("backward")
            self._curr_module.backward(out_grads)

    def update(self) -> None:
        """Change the shared parameters along the last gradients."""
        self._need("update", "binded", "params_initialized", "optimizer_initialized")
        self._curr_module.update()

    def clip_gradients(self, max_norm: float) -> NDArray:
        return self._curr_module.clip_gradients(max_norm)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward."""
        self._need("get_outputs", "binded", "params_initialized")
        with self._turns.lock:
            self._turns.check("get_outputs")
            return self._curr_module.get_outputs(merge_multi_context)

    def _without_padding(self, outputs, pad):
        return self._curr_module._without_padding(outputs, pad)

    def _joined_axes(self, outputs):
        return self._curr_module._joined_axes(outputs)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data of the last forward."""
        self._need("get_input_grads", "binded", "params_initialized")
        with self._turns.lock:
            self._turns.check("get_input_grads")
            return self._curr_module.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Values of the state inputs of the bucket in use."""
        self._need("get_states", "binded", "params_initialized")
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states: Sequence[Any] | None = None, value: Any = None) -> None:
        """Fill the state inputs of the bucket in use."""
        self._need("set_states", "binded", "params_initialized")
        self._curr_module.set_states(states, value)

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Give labels and the last outputs to a metric."""
        self._need("update_metric", "binded", "params_initialized")
        with self._turns.lock:
            self._turns.check("update_metric")
            self._curr_module.update_metric(eval_metric, labels, pre_sliced)
