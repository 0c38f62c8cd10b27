"""Interface: the methods of a module; a method that a class does not define raises an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, UndefinedError
from ..base.guard import PER_BATCH_METHODS, Guarded
from ..initializer import Uniform
from ..io.checkpoint import read_params, save_params

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import (
        DataBatch,
        DataDesc,
        DataShapes,
        FileName,
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
        Symbol,
    )
    from .base_module import BaseModule

DEFAULT_INITIALIZER = Uniform(0.01)  # of `init_params`


class Interface(Guarded):  # the methods that all modules have
    """The interface of modules: methods that a subclass must define, or may inherit."""

    _unguarded = PER_BATCH_METHODS

    def _undefined_error(self, name):
        return UndefinedError(f"{type(self).__name__} defines no {name}")

    @property
    def data_names(self) -> list[str]:
        """Names of the data inputs."""
        raise self._undefined_error("data_names")

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        raise self._undefined_error("output_names")

    @property
    def data_shapes(self) -> list[DataDesc]:
        """The DataDesc of each data input."""
        raise self._undefined_error("data_shapes")

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """The DataDesc of each label, or None."""
        raise self._undefined_error("label_shapes")

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        """Pairs (name, shape) of the outputs."""
        raise self._undefined_error("output_shapes")

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
        """Bind the module to input shapes, and allocate memory.

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
        raise self._undefined_error("bind")

    def init_params(
        self,
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialize the parameters.

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
        raise self._undefined_error("init_params")

    def get_params(self) -> tuple[NamedArrays, NamedArrays]:
        """Return (arg_params, aux_params): dicts of arrays on the CPU.

        Returns
        -------
        arg_params, aux_params : dict of str to NDArray
            Copies, by name.
        """
        raise self._undefined_error("get_params")

    def init_optimizer(
        self,
        kvstore: KVStoreLike | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set the optimizer that ``update`` applies.

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
        raise self._undefined_error("init_optimizer")

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch.

        Parameters
        ----------
        is_train : bool, optional
            Whether to run in training mode; by default as bound.
        """
        raise self._undefined_error("forward")

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients of the last forward.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            Gradients of the outputs; losses need none.
        """
        raise self._undefined_error("backward")

    def update(self) -> None:
        """Change the parameters along the gradients."""
        raise self._undefined_error("update")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the outputs of the last forward.

        Parameters
        ----------
        merge_multi_context : bool
            Concatenate the parts of several devices; if False, each entry is a list of them.

        Returns
        -------
        list of NDArray
            One for each output, the first axis is that of examples.
        """
        raise self._undefined_error("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of the data inputs.

        Parameters
        ----------
        merge_multi_context : bool
            Concatenate the parts of several devices; if False, each entry is a list of them.

        Returns
        -------
        list of NDArray
            One for each data input.
        """
        raise self._undefined_error("get_input_grads")

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Update a metric with labels and the last outputs.

        Parameters
        ----------
        eval_metric : EvalMetric
            The metric to update.
        labels : list of NDArray
            The batch's labels.
        pre_sliced : bool
            Whether `labels` is a list for each device.
        """
        raise self._undefined_error("update_metric")

    def install_monitor(self, mon: Monitor) -> None:
        """Install a Monitor that watches the computation.

        Parameters
        ----------
        mon : Monitor
            It sees values from the next batch on.

        Examples
        --------
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
        raise self._undefined_error("install_monitor")

    # --- methods that a subclass may inherit ---

    def forward_backward(self, data_batch: DataBatch | Any) -> None:
        """Run forward in training mode, then backward.

        Examples
        --------
        ``module.forward_backward(batch)``, then ``module.update()``.

        >>> net = mx.sym.MakeLoss(mx.sym.Variable("data") * mx.sym.Variable("w_weight", shape=(1,)))
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1,))])
        >>> module.init_params(mx.init.One())
        >>> module.init_optimizer(optimizer_params={"learning_rate": 0.1})
        >>> module.forward_backward(mx.io.DataBatch([mx.nd.array([3])]))
        >>> module.update()
        >>> round(module.get_params()[0]["w_weight"].asscalar().item(), 4)
        0.7
        """
        self.forward(data_batch, is_train=True)
        self.backward()

    def train_step(self, data_batch: DataBatch | Any) -> None:
        """Run ``forward_backward``, then ``update``; ``fit`` calls it with each batch.

        Nobody looks at gradients between the two, so a module may compute all of it in one go.

        Examples
        --------
        >>> net = mx.sym.MakeLoss(mx.sym.Variable("data") * mx.sym.Variable("w_weight", shape=(1,)))
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1,))])
        >>> module.init_params(mx.init.One())
        >>> module.init_optimizer(optimizer_params={"learning_rate": 0.1})

        The gradient of the weight is the data, 3, so the step is 0.3:

        >>> module.train_step(mx.io.DataBatch([mx.nd.array([3])]))
        >>> round(module.get_params()[0]["w_weight"].asscalar().item(), 4)
        0.7
        """
        self.forward_backward(data_batch)
        self.update()

    def clip_gradients(self, max_norm: float) -> Any:
        """Scale all gradients, between ``backward`` and ``update``, so that their global norm,
        times the optimizer's ``rescale_grad``, is at most `max_norm`.

        Parameters
        ----------
        max_norm : float
            Upper bound of the norm.

        Returns
        -------
        NDArray
            (1,), the norm before.

        Raises
        ------
        CynetError
            On several devices, whose gradients are summed up by ``update``.
        """
        raise self._undefined_error("clip_gradients")

    def set_params(
        self,
        arg_params: NamedArrays,
        aux_params: NamedArrays,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set the parameters; missing or additional names raise unless allowed.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
            Values of parameters and of auxiliary states, by name.
        allow_missing : bool
            Leave parameters that are not given as they are; if False, that is an error.
        force_init : bool
            Overwrite parameters that have values.
        allow_extra : bool
            Ignore names that the module does not have.
        """
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname: FileName) -> None:
        """Write the parameters to a ``.params`` file.

        Parameters
        ----------
        fname : str
            Ends in ``.params``, ``.npz`` or ``.safetensors``, which decides the format.

        Examples
        --------
        >>> import os, tempfile
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1, 2))], for_training=False)
        >>> module.init_params()
        >>> path = os.path.join(tempfile.mkdtemp(), "net.params")
        >>> module.save_params(path)
        >>> sorted(mx.nd.load(path))
        ['arg:fc_bias', 'arg:fc_weight']
        """
        save_params(fname, *self.get_params())

    def load_params(self, fname: FileName) -> None:
        """Load parameters from a ``.params`` file.

        Parameters
        ----------
        fname : str
            A file that `save_params` or ``save_checkpoint`` wrote.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "net.params")
        >>> mx.nd.save(path, {"arg:w": mx.nd.array([5])})
        >>> net = mx.sym.Variable("data") * mx.sym.Variable("w", shape=(1,))
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1,))], for_training=False)
        >>> module.load_params(path)
        >>> module.predict(mx.nd.array([2])).asscalar().item()
        10.0
        """
        self.set_params(*read_params(fname))

    @property
    def symbol(self) -> Symbol:
        """The Symbol, or None."""
        return self._symbol

    def prepare(
        self, data_batch: DataBatch | Any, sparse_row_id_fn: Callable[..., Any] | None = None
    ) -> None:
        """Prepare the module for the next batch.

        ``fit`` calls it with the batch after the one that runs. A :class:`BucketingModule` binds
        the bucket of that batch; other modules have nothing to do.

        Parameters
        ----------
        data_batch : DataBatch
            The batch that comes next.
        sparse_row_id_fn : callable, optional
            Part of MXNet's signature; not called.

        Examples
        --------
        >>> def sym_gen(length):  # the network of sequences of this length
        ...     total = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True)
        ...     return mx.sym.FullyConnected(total, num_hidden=2, name="fc"), ["data"], None
        >>> module = mx.mod.BucketingModule(sym_gen, default_bucket_key=5)
        >>> module.bind([("data", (1, 5))], for_training=False)
        >>> module.init_params()
        >>> short = [("data", (1, 3))]
        >>> module.prepare(mx.io.DataBatch([mx.nd.ones((1, 3))], bucket_key=3, provide_data=short))

        The bucket in use stays what it was:

        >>> module.data_shapes[0].shape
        (1, 5)
        """

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the values of the state inputs, which ``state_names`` lists.

        Parameters
        ----------
        merge_multi_context : bool
            Concatenate the parts of several devices along the first axis; if False, each entry is a
            list of them.

        Returns
        -------
        list of NDArray
            One for each of ``state_names``, of the shape that was bound; empty if there are none.

        Examples
        --------
        >>> total = mx.sym.Variable("data") + mx.sym.Variable("total", shape=(2,))
        >>> module = mx.mod.Module(total, label_names=None, state_names=["total"])
        >>> module.bind([("data", (2,))], for_training=False)
        >>> module.init_params()
        >>> module.set_states(value=10)

        What a batch computes is the state of the next one:

        >>> for number in range(3):
        ...     module.forward(mx.io.DataBatch([mx.nd.array([1, 2])]))
        ...     module.set_states(module.get_outputs())
        >>> module.get_states()[0].asnumpy()
        array([13., 16.], dtype=float32)
        """
        self._require_state("get_states", "binded", "params_initialized")
        return []

    def set_states(self, states: Sequence[Any] | None = None, value: Any = None) -> None:
        """Fill the state inputs, which ``state_names`` lists.

        Parameters
        ----------
        states : list of NDArray, optional
            A value for each of ``state_names``, as `get_states` gives them; or for each a list over
            the devices.
        value : number, optional
            One value for all of them instead.

        Raises
        ------
        ArgumentError
            Neither or both of `states` and `value` are given, or the module has no states.

        Examples
        --------
        >>> net = mx.sym.Variable("data") * mx.sym.Variable("scale", shape=(2,))
        >>> module = mx.mod.Module(net, label_names=None, state_names=["scale"])
        >>> module.bind([("data", (2,))], for_training=False)
        >>> module.init_params()
        >>> module.set_states([mx.nd.array([1, 10])])
        >>> module.forward(mx.io.DataBatch([mx.nd.array([3, 4])]))
        >>> module.get_outputs()[0].asnumpy()
        array([ 3., 40.], dtype=float32)
        """
        self._require_state("set_states", "binded", "params_initialized")
        if states or value:
            raise ArgumentError("set_states: this module has no states")
