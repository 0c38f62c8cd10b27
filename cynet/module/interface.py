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
        """Fix input shapes and take memory.

        Parameters
        ----------
        data_shapes, label_shapes : list of (str, tuple) or DataDesc
            Names and shapes of a batch's arrays, as an iterator's ``provide_data`` gives them.
        for_training : bool
            Whether to allocate gradients.
        inputs_need_grad : bool
            Whether to compute gradients of the inputs, too.
        force_rebind : bool
            Bind again even if the module is bound already.
        shared_module : BaseModule, optional
            Module whose parameters and memory are shared.
        grad_req : str, list or dict
            ``'write'``, ``'add'`` or ``'null'``, for all parameters or by name.
        """
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
        """Give parameters their first values.

        Parameters
        ----------
        initializer : Initializer or str, optional
            Initializes parameters that `arg_params` does not have.
        arg_params, aux_params : dict of str to NDArray, optional
            Initial values of parameters and auxiliary states.
        allow_missing : bool
            Let the initializer fill what `arg_params` lacks; if False, that is an error.
        force_init : bool
            Give new values even if there are some.
        allow_extra : bool
            Ignore names that the module does not have.
        """
        raise self._undefined("init_params")

    def get_params(self) -> tuple[NamedArrays, NamedArrays]:
        """(arg_params, aux_params): dicts of arrays on the CPU.

        Returns
        -------
        arg_params, aux_params : dict of str to NDArray
            Copies, by name.
        """
        raise self._undefined("get_params")

    def init_optimizer(
        self,
        kvstore: KVStoreLike | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Choose how ``update`` changes parameters.

        Parameters
        ----------
        kvstore : str or KVStore
            Sums gradients over several devices.
        optimizer : str or Optimizer
            An optimizer, or the name of one: ``"sgd"``, ``"adam"``, ...
        optimizer_params : dict or pairs
            Arguments of an optimizer that is given by name.
        force_init : bool
            Begin with a new optimizer even if there is one.
        """
        raise self._undefined("init_optimizer")

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch.

        Parameters
        ----------
        data_batch : DataBatch
            The batch: arrays of the shapes that were bound.
        is_train : bool, optional
            Whether to run in training mode; by default as bound.
        """
        raise self._undefined("forward")

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients of the last forward.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            Gradients of the outputs; losses need none.
        """
        raise self._undefined("backward")

    def update(self) -> None:
        """Change the parameters along the gradients."""
        raise self._undefined("update")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward.

        Parameters
        ----------
        merge_multi_context : bool
            Concatenate the parts of several devices; if False, each entry is a list of them.

        Returns
        -------
        list of NDArray
            One for each output, the first axis is that of examples.
        """
        raise self._undefined("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs.

        Parameters
        ----------
        merge_multi_context : bool
            Concatenate the parts of several devices; if False, each entry is a list of them.

        Returns
        -------
        list of NDArray
            One for each data input.
        """
        raise self._undefined("get_input_grads")

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Give labels and the last outputs to a metric.

        Parameters
        ----------
        eval_metric : EvalMetric
            The metric to update.
        labels : list of NDArray
            The batch's labels.
        pre_sliced : bool
            Whether `labels` is a list for each device.
        """
        raise self._undefined("update_metric")

    def install_monitor(self, mon: Monitor) -> None:
        """Let a Monitor watch the computation.

        Parameters
        ----------
        mon : Monitor
            It sees values from the next batch on.

        Examples
        --------
        >>> import cynet as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1, 2))], for_training=False)
        >>> module.init_params(mx.init.One())
        >>> monitor = mx.mon.Monitor(1, stat_func=lambda x: x.sum(), pattern="fc_output")
        >>> module.install_monitor(monitor)
        >>> monitor.tic()
        >>> module.forward(mx.io.DataBatch([mx.nd.ones((1, 2))]))
        >>> [(name, value.strip()) for _, name, value in monitor.toc()]
        [('fc_output', '2.0')]
        """
        raise self._undefined("install_monitor")
