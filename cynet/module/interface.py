"""What a module must define; those who do not find here which method is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import UndefinedError
from ..base.guard import PER_BATCH, guarded
from ..initializer import Uniform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import (
        DataBatch,
        DataDesc,
        DataShapes,
        GradReq,
        InitializerLike,
        KVStoreLike,
        MetricLike,
        Monitor,
        NamedArrays,
        NDArray,
        Optimizer,
        OptimizerParams,
        Shape,
    )
    from .base_module import BaseModule

DEFAULT_INITIALIZER = Uniform(0.01)


@guarded(but=PER_BATCH)
class Interface:
    """The part of BaseModule that a subclass defines."""

    def _undefined(self, name):
        return UndefinedError(f"{type(self).__name__} defines no {name}")

    @property
    def data_names(self) -> list[str]:
        """Names of the data inputs."""
        raise self._undefined("data_names")

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        raise self._undefined("output_names")

    @property
    def data_shapes(self) -> list[DataDesc]:
        """DataDesc of each data input."""
        raise self._undefined("data_shapes")

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """DataDesc of each label, or None."""
        raise self._undefined("label_shapes")

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        """Pairs (name, shape) of the outputs."""
        raise self._undefined("output_shapes")

    def bind(
        self,
        data_shapes: DataShapes,
        label_shapes: DataShapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BaseModule | None = None,
        grad_req: GradReq = "write",
    ) -> None:
        """Fix input shapes and take memory."""
        raise self._undefined("bind")

    def init_params(
        self,
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters their first values."""
        raise self._undefined("init_params")

    def get_params(self) -> tuple[NamedArrays, NamedArrays]:
        """(arg_params, aux_params): dicts of arrays on the CPU."""
        raise self._undefined("get_params")

    def init_optimizer(
        self,
        kvstore: KVStoreLike | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Choose how ``update`` changes parameters."""
        raise self._undefined("init_optimizer")

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch."""
        raise self._undefined("forward")

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients of the last forward."""
        raise self._undefined("backward")

    def update(self) -> None:
        """Change the parameters along the gradients."""
        raise self._undefined("update")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward."""
        raise self._undefined("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs."""
        raise self._undefined("get_input_grads")

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Give labels and the last outputs to a metric."""
        raise self._undefined("update_metric")

    def install_monitor(self, mon: Monitor) -> None:
        """Let a Monitor watch the computation."""
        raise self._undefined("install_monitor")
