"""DataParallelExecutorGroup: one executor per device, each with its slice of the batch."""

import logging
import time

import numpy as np

from .. import ndarray as nd
from .._core.copy import copy_all
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, ShapeError, listed, shown
from ..base.kinds import check_flag
from ..context import cpu
from ..engine.trace import Span
from ..executor.bind import simple_bind
from ..executor.plan_cache import PlanCache
from ..io import DataDesc
from .batch_axes import checked_pad, output_batch_axes, slice_examples
from .inputs import _data_descriptions
from .slicing import _load_data as _load_data  # scripts also import _load_data from here
from .slicing import _load_general as _load_general
from .slicing import _load_label as _load_label
from .slicing import _merge_multi_context, _prepare_group2ctxs, _slice_batch, _split_input_slice

_FORWARD_SPAN, _BACKWARD_SPAN = Span("forward", "training"), Span("backward", "training")
_STEP_SPAN, _METRIC_SPAN = Span("step", "training"), Span("metric", "training")


class ShapeExecutors:  # executors bound for input shapes, in a PlanCache
    """Executors bound for certain input shapes, as an entry of a PlanCache.

    They and the arrays of their inputs take `nbytes`; `cached_results` are what they share.
    """

    def __init__(self, execs, inputs):
        self.execs = execs
        arrays = [each.arg_dict[name] for each in execs for name in inputs]
        self._own_bytes = sum(each.size * np.dtype(each.dtype).itemsize for each in arrays)

    @property
    def nbytes(self):
        return self._own_bytes + sum(each.nbytes for each in self.execs)

    @property
    def cached_results(self):
        return [result for each in self.execs for result in each.cached_results]


class DataParallelExecutorGroup:
    """Executors of one symbol over several devices.

    With one device nothing is sliced or merged: batches are copied straight into the executor's
    arrays, outputs are the executor's own.

    symbol: Symbol
    contexts: list of Context
    workload (list of number): Share of the batch that each device gets.
    data_shapes, label_shapes: list of DataDesc
    param_names: list of str
    for_training, inputs_need_grad: bool
    shared_group (DataParallelExecutorGroup, optional): Its parameters and gradients are used
        instead of new ones.
    logger: optional
    fixed_param_names (list of str, optional): Parameters that get no gradient.
    grad_req: str, list or dict
    state_names (list of str, optional): Inputs that are neither data nor parameters; ``set_states``
        fills them.
    group2ctxs (dict or list of dict, optional): Contexts of context groups, for each device.
    wanted_labels (list of str): Arguments without which there is no training; those that
        `label_shapes` lacks keep a shape that fits the data.
    apart (bool): As for a PlanCache: whether its executors are entries of their own.
    """

    def __init__(
        self,
        symbol,
        contexts,
        workload,
        data_shapes,
        label_shapes,
        param_names,
        for_training,
        inputs_need_grad,
        shared_group=None,
        logger=logging,
        fixed_param_names=None,
        grad_req="write",
        state_names=None,
        group2ctxs=None,
        wanted_labels=(),
        apart=True,
    ):
        self.symbol = symbol
        self.contexts = contexts
        self.workload = workload
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.param_names = param_names
        param_set = set(param_names)
        self._bound_names = [name for name in self.arg_names if name in param_set]
        self.fixed_param_names = fixed_param_names or []
        self.state_names = state_names or []
        self.wanted_labels = list(wanted_labels)
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self.group2ctxs = _prepare_group2ctxs(group2ctxs, len(contexts))
        self.shared_group = shared_group
        data_shapes = _data_descriptions("data_shapes", data_shapes)
        label_shapes = label_shapes and _data_descriptions("label_shapes", label_shapes)
        self.grad_req = self._grad_requests(grad_req, [desc[0] for desc in data_shapes])
        self.execs = None
        self._bound_shapes = PlanCache(apart)  # ShapeExecutors by input shapes
        self._monitor = None
        self._has_labels = self._has_grads = False
        self._pad = None  # padding of the last copied batch
        self.bind_exec(data_shapes, label_shapes)

    @property
    def nbytes(self):
        """The memory of its executors in bytes."""
        return self._bound_shapes.nbytes

    @property
    def cached_results(self):
        """The results of constant subgraphs that its executors share with others."""
        return self._bound_shapes.cached_results

    def _grad_requests(self, grad_req, data_names):
        """Return a dict of argument name to grad_req, for parameters and, if requested, data."""
        word = grad_req if isinstance(grad_req, str) else "write"
        wanted = set(self.param_names) - set(self.fixed_param_names)
        if self.inputs_need_grad:
            wanted.update(data_names)
        requests = {name: word if name in wanted else "null" for name in self.arg_names}
        if isinstance(grad_req, dict):
            requests.update(grad_req)
        elif isinstance(grad_req, (list, tuple)):
            if len(grad_req) != len(self.arg_names):
                raise ArgumentError(
                    f"grad_req has {len(grad_req)} words for {len(self.arg_names)}"
                    f" arguments {self.arg_names}"
                )
            requests = dict(zip(self.arg_names, grad_req))
        elif not isinstance(grad_req, str):
            raise ArgumentTypeError(f"grad_req must be a str, list or dict, got {shown(grad_req)}")
        return requests if self.for_training else dict.fromkeys(self.arg_names, "null")

    # --- binding ---

    def bind_exec(self, data_shapes, label_shapes, shared_group=None, reshape=False):
        """Bind executors for input shapes; with `reshape` they share the present parameters.

        With a `shared_group` they have its parameters and gradients.
        """
        if shared_group is not None:
            self.shared_group = shared_group
        key = self._shapes_key(data_shapes, label_shapes)
        # labels that the symbol lacks are for the metric alone
        labels = [desc for desc in label_shapes or () if desc.name in self.arg_names]
        # compute everything before any change, so that a wrong batch shape breaks nothing
        slices = self.decide_slices(data_shapes, label_shapes or [])
        entry = self._bound_shapes.get(key)
        if entry is None:
            since = time.perf_counter()
            shapes = [self._device_shapes(part, data_shapes, labels) for part in slices]
            if reshape:
                free = {*self.arg_names} - {*self.param_names}
                try:
                    execs = [
                        executor.reshape_free(each, free)
                        for executor, each in zip(self.execs, shapes)
                    ]
                except ShapeError as error:
                    raise ShapeError(self._shape_error(data_shapes, labels, error)) from None
                if self._monitor is not None:
                    self._monitor_executors(execs)
            else:
                types = {desc.name: desc.dtype for desc in [*data_shapes, *labels]}
                execs = [self._bind_executor(i, types, each) for i, each in enumerate(shapes)]
            entry = ShapeExecutors(execs, [desc.name for desc in (*data_shapes, *labels)])
            entry = self._bound_shapes.add_plan(key, entry, time.perf_counter() - since)
        execs = entry.execs
        if execs is not self.execs:
            self._has_grads = False
            for executor in execs:  # other executors hold values of another batch
                executor.has_run = False
            for executor in self.execs or ():
                executor.release_arena()
        self.execs = execs
        self.slices = slices
        self.batch_size = slices[-1].stop
        self.data_shapes = data_shapes
        self.label_shapes = label_shapes
        self.data_names = [desc.name for desc in data_shapes]
        self.label_names = [desc.name for desc in label_shapes or ()]
        self.bound_labels = [desc.name for desc in labels]
        positions = [i for i, name in enumerate(self.label_names) if name in self.bound_labels]
        self._label_positions = positions if len(positions) < len(self.label_names) else None
        self._unbound_labels = [n for n in self.wanted_labels if n not in self.bound_labels]
        self.data_axes = [DataDesc.get_batch_axis(desc.layout) for desc in data_shapes]
        self.label_axes = [DataDesc.get_batch_axis(desc.layout) for desc in label_shapes or ()]
        self._output_axes = None
        self._collect_arrays()

    def reshape(self, data_shapes, label_shapes):
        """Change the input shapes; parameters stay."""
        if data_shapes != self.data_shapes or label_shapes != self.label_shapes:
            self.bind_exec(data_shapes, label_shapes, reshape=True)

    def bind_new_executors(self):
        """Bind new executors with the same parameters; the old outputs stay unchanged."""
        types = {desc.name: desc.dtype for desc in self.data_shapes}
        types.update((d.name, d.dtype) for d in self.label_shapes or () if d.name in self.arg_names)
        labels = [desc for desc in self.label_shapes or () if desc.name in self.arg_names]
        states, outer, since = self.get_states(False), self.shared_group, time.perf_counter()
        self.shared_group = self
        try:
            self.execs = [
                self._bind_executor(i, types, self._device_shapes(part, self.data_shapes, labels))
                for i, part in enumerate(self.slices)
            ]
        finally:
            self.shared_group = outer
        self._bound_shapes.clear()
        key = self._shapes_key(self.data_shapes, self.label_shapes)
        entry = ShapeExecutors(self.execs, [*self.data_names, *self.bound_labels])
        self._bound_shapes.add_plan(key, entry, time.perf_counter() - since)
        self._has_grads = False
        self._collect_arrays()
        if self._monitor is not None:
            self._monitor_executors(self.execs)
        if states:
            self.set_states(states)

    @staticmethod
    def _shapes_key(data_shapes, label_shapes):
        return tuple((name, shape) for name, shape in [*data_shapes, *(label_shapes or ())])

    def _shape_error(self, data_shapes, labels, error):
        """Make the error for input shapes that the parameters do not allow."""
        old_shapes = dict((*self.data_shapes, *(self.label_shapes or ())))
        changed = [
            (f"input '{name}' has shape {shape}, bound was {old_shapes.get(name)}", shape)
            for name, shape in (*data_shapes, *labels)
            if shape != old_shapes.get(name)
        ]
        # a different batch size alone is no mistake, a different width is
        wide = [text for text, shape in changed if len(shape) > 1] or [text for text, _ in changed]
        message = "; ".join(wide)
        change = getattr(error, "change", None)
        if change is None:
            return f"{message}, which does not fit: {error}"
        name, old, new = change
        return (
            f"{message}: with that '{name}' of shape {old} would have to be {new}. Give data of the"
            " bound shape (another batch size is fine), or bind a module of the new one with"
            " parameters of its own"
        )

    def decide_slices(self, data_shapes, label_shapes=()):
        """Return the slice of the batch for each device."""
        batch_size = None
        for desc in [*data_shapes, *label_shapes]:
            axis = DataDesc.get_batch_axis(desc.layout)
            if axis < 0:
                continue
            if axis >= len(desc.shape):
                raise ShapeError(
                    f"input '{desc.name}' of shape {desc.shape} has no batch axis {axis}"
                )
            if batch_size is None:
                batch_size = desc.shape[axis]
            # one device takes any shapes; several devices must slice all inputs alike
            elif desc.shape[axis] != batch_size and len(self.contexts) > 1:
                raise ShapeError(
                    f"input '{desc.name}' of shape {desc.shape} has batch size"
                    f" {desc.shape[axis]}, '{data_shapes[0].name}' has {batch_size}"
                )
        if batch_size is None:
            raise ShapeError("no input has a batch axis")
        if len(self.contexts) == 1:
            return [slice(0, batch_size)]
        return _split_input_slice(batch_size, self.workload)

    def _device_shapes(self, slice_, data_shapes, labels):
        """Return a dict of input name to shape on the device that gets `slice_` of the batch."""
        shapes = {}
        for desc in [*data_shapes, *labels]:
            shape, axis = list(desc.shape), DataDesc.get_batch_axis(desc.layout)
            if len(self.contexts) > 1 and axis >= 0:
                shape[axis] = slice_.stop - slice_.start
            shapes[desc.name] = tuple(shape)
        return shapes

    def _bind_executor(self, i, types, shapes):
        shared = self.shared_group
        return simple_bind(
            self.symbol,
            self.contexts[i],
            shapes,
            self.grad_req,
            types,
            self.group2ctxs[i],
            None if shared is None else self.param_names,
            None if shared is None else shared.execs[i],
        )

    def _collect_arrays(self):
        def arrays_of(kind, names):
            dicts = [getattr(executor, kind) for executor in self.execs]
            return [[each[name] for each in dicts] for name in names]

        self.data_arrays = arrays_of("arg_dict", self.data_names)
        self.label_arrays = arrays_of("arg_dict", self.bound_labels)
        self.state_arrays = arrays_of("arg_dict", self.state_names)
        self.param_arrays = arrays_of("arg_dict", self._bound_names)
        self.grad_arrays = arrays_of("grad_dict", self._bound_names)
        self.input_grad_arrays = arrays_of("grad_dict", self.data_names)
        self.aux_arrays = arrays_of("aux_dict", self.aux_names)
        self._targets = [arrays[0] for arrays in (*self.data_arrays, *self.label_arrays)]

    # --- running ---

    def forward(self, data_batch, is_train=None):
        """Copy a batch to the devices and compute the outputs."""
        with _FORWARD_SPAN:
            if is_train is None:
                is_train = self.for_training
            self._pad = getattr(data_batch, "pad", None)
            if len(self.execs) == 1:
                data, label = data_batch.data, self._labels_to_copy(data_batch)
                self._has_labels = bool(label)
                if len(data) == len(self.data_arrays) and len(label) in (0, len(self.label_arrays)):
                    targets = self._targets[: len(data) + len(label)]
                    if self.execs[0].forward_on([*data, *label], targets, is_train):
                        return
            self.load_batch(data_batch)
            for executor in self.execs:
                executor.forward(is_train)

    def load_batch(self, data_batch):
        """Copy a batch in."""
        self._pad = getattr(data_batch, "pad", None)
        self._copy_batch("data", self.data_names, data_batch.data, self.data_arrays, self.data_axes)
        label = self._labels_to_copy(data_batch)
        self._has_labels = bool(label)
        if label:
            axes = self.label_axes
            if self._label_positions is not None:
                axes = [axes[i] for i in self._label_positions]
            self._copy_batch("label", self.bound_labels, label, self.label_arrays, axes)

    def _labels_to_copy(self, data_batch):
        """Return the labels to copy: none if the batch has none, or no output reads them."""
        label = getattr(data_batch, "label", None)
        if not label or not self.label_arrays:
            return ()
        if self._label_positions is not None and len(label) == len(self.label_names):
            return [label[i] for i in self._label_positions]
        return label

    def _require_labels(self):
        """Raise if a label array would be used in training before it was filled."""
        if not self.wanted_labels or (self._has_labels and not self._unbound_labels):
            return
        names = listed(self._unbound_labels or self.wanted_labels)
        if self._unbound_labels:
            found = f"has only {listed(self.label_names)}" if self.label_names else "is empty"
            raise ArgumentError(
                f"training needs the label {names}, and label_shapes {found}; give an iterator with"
                " labels, as NDArrayIter(data, label, batch_size), and their names as label_names"
                " of the module"
            )
        raise ArgumentError(
            f"training needs the label {names}, and the batch has no labels; give an iterator with"
            " labels, as NDArrayIter(data, label, batch_size), or DataBatch(data, label)"
        )

    def _copy_batch(self, kind, names, sources, targets, axes):
        if len(sources) != len(targets):
            raise ArgumentError(
                f"the batch has {len(sources)} {kind} arrays, the module takes"
                f" {len(targets)}: {names}"
            )
        if len(self.execs) == 1:
            for i in range(copy_all(sources, targets), len(targets)):
                _copy_input(names[i], sources[i], targets[i][0])
            return
        for name, source, arrays, axis in zip(names, sources, targets, axes):
            if len(arrays) == 1 or axis < 0:
                for target in arrays:
                    _copy_input(name, source, target)
                continue
            for target, part in zip(arrays, self.slices):
                _copy_input(name, _slice_batch(source, axis, part), target)

    @property
    def joins_steps(self):
        """Return whether `step` is faster than forward, backward and update in sequence."""
        return self.for_training and all(executor.joins_steps for executor in self.execs)

    def run_step(self, update=None):
        """Run ``Executor.step`` on all devices."""
        with _STEP_SPAN:
            self._require_labels()
            self._has_grads = True
            for executor in self.execs:
                executor.step(update)

    def backward(self, out_grads=None):
        """Compute the gradients; `out_grads` is for outputs that are not losses."""
        with _BACKWARD_SPAN:
            if not self.for_training:
                raise ArgumentError("backward: the module was bound with for_training=False")
            self._require_forward_run("backward")
            self._require_labels()
            self._has_grads = True
            if out_grads is not None and not isinstance(out_grads, (list, tuple)):
                out_grads = [out_grads]
            if len(self.execs) == 1 or out_grads is None:
                for executor in self.execs:
                    executor.backward(out_grads)
                return
            axes = self._concat_axes()
            for executor, part in zip(self.execs, self.slices):
                executor.backward(
                    [
                        _slice_batch(grad, axis, part).as_in_context(output.context)
                        for grad, output, axis in zip(out_grads, executor.outputs, axes)
                    ]
                )

    def get_outputs(self, merge_multi_context=True, begin=0, end=None):
        """Return outputs of the whole batch; without merging, a list over devices for each.

        `begin` and `end` choose among them, as a slice does.
        """
        self._require_forward_run("get_outputs")
        outputs = [executor.outputs[begin:end] for executor in self.execs]
        return self._merge_outputs(outputs, merge_multi_context, self._concat_axes()[begin:end])

    @property
    def output_batch_axes(self):
        """Return the batch axis of each output; see `batch_axes.output_batch_axes`."""
        if self._output_axes is None:
            names = {*self.arg_names}
            inputs = [d for d in [*self.data_shapes, *(self.label_shapes or ())] if d.name in names]
            order = self.data_axes[0]
            if self.label_shapes:
                first = self.label_shapes[0]
                order = self._label_batch_axis(first, self.label_axes[0], self.batch_size)
            self._output_axes = output_batch_axes(self.symbol, inputs, self.batch_size, order)
        return self._output_axes

    def _label_batch_axis(self, label, axis, size):
        """Return the batch axis of a label.

        It is `axis`, which the layout names, if that is as long as the batch. Otherwise it is the
        axis of the data, if the label is as long as the batch there.
        """
        shape, others = label.shape, self.data_axes[0]
        fits = axis < len(shape) and shape[axis] == size
        if not fits and 0 <= others < len(shape) and shape[others] == size:
            return others
        return axis

    def _concat_axes(self):
        """Return the axis along which the devices' parts of each output are concatenated."""
        if len(self.execs) == 1:
            return [0] * len(self.output_names)
        return [place[0] if place else 0 for place in self.output_batch_axes]

    def unpadded_outputs(self, outputs, pad):
        """Return outputs of the whole batch without the last `pad` examples."""
        end = self.batch_size - pad
        return [
            slice_examples(output, place, self.batch_size, 0, end)
            for output, place in zip(outputs, self.output_batch_axes)
        ]

    def _require_forward_run(self, what):
        for executor in self.execs:
            if not executor.has_run:
                raise CynetError(f"{what}: call forward first, there is nothing computed yet")

    def get_input_grads(self, merge_multi_context=True):
        """Return the gradients of the data arrays."""
        if not self.inputs_need_grad:
            raise ArgumentError("get_input_grads: the module was bound with inputs_need_grad=False")
        if not self._has_grads:
            raise CynetError("get_input_grads: call forward and backward first")
        axes = [max(axis, 0) for axis in self.data_axes]
        return self._merge_outputs(list(zip(*self.input_grad_arrays)), merge_multi_context, axes)

    def get_states(self, merge_multi_context=True):
        """Return the current values of the state inputs."""
        axes = [0] * len(self.state_arrays)
        return self._merge_outputs(list(zip(*self.state_arrays)), merge_multi_context, axes)

    def _merge_outputs(self, by_device, merge, axes):
        check_flag("get_outputs and its like", "merge_multi_context", merge)
        if not merge:
            return [list(arrays) for arrays in zip(*by_device)]
        return _merge_multi_context(list(zip(*by_device)), axes)

    def set_states(self, states=None, value=None):
        """Fill the state inputs from arrays (as ``get_states`` gave them) or with a number."""
        if (states is None) == (value is None):
            raise ArgumentError("set_states takes either states or value")
        for i, arrays in enumerate(self.state_arrays):
            for k, target in enumerate(arrays):
                if states is None:
                    target[:] = value
                else:
                    source = states[i][k] if isinstance(states[i], (list, tuple)) else states[i]
                    _copy_input(self.state_names[i], source, target)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Update a metric with labels and outputs, device by device, without padding examples."""
        with _METRIC_SPAN:
            self._require_forward_run("update_metric")
            pad = self._pad and checked_pad(self._pad, self.batch_size)
            for i, executor in enumerate(self.execs):
                if pre_sliced:
                    part = labels[i]
                elif len(self.execs) == 1 or not labels:
                    part = labels
                else:
                    part = [
                        label if axis < 0 else _slice_batch(label, axis, self.slices[i])
                        for label, axis in zip(labels, self.label_axes or [0] * len(labels))
                    ]
                outputs = executor.outputs
                if pad:
                    size = self.slices[i].stop - self.slices[i].start
                    left = min(self.batch_size - pad - self.slices[i].start, size)
                    if left <= 0:
                        continue
                    outputs = [
                        slice_examples(output, place, size, 0, left)
                        for output, place in zip(outputs, self.output_batch_axes)
                    ]
                    axes = self.label_axes or [0] * len(part or ())
                    part = [
                        slice_examples(
                            label, (self._label_batch_axis(label, axis, size), 0), size, 0, left
                        )
                        for label, axis in zip(part or (), axes)
                    ]
                names = self.label_names or self.wanted_labels
                if part and not names:  # labels that the symbol lacks
                    names = [f"label{k}" for k in range(len(part))]
                try:
                    eval_metric.update_dict(
                        dict(zip(names, part or ())), dict(zip(self.output_names, outputs))
                    )
                except (ArgumentError, IndexError) as error:
                    if part or not self.wanted_labels:
                        raise
                    raise ArgumentError(
                        f"the metric needs labels ({listed(self.wanted_labels)}), and the batch has"
                        f" none: {error}"
                    ) from error

        # --- parameters ---

    def set_params(self, arg_params, aux_params, allow_extra=False):
        """Copy parameters to all devices."""
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params, aux_params):
        """Copy parameters, averaged over devices, into the given arrays."""
        for table, names_of, blocks in (
            (arg_params, self._bound_names, self.param_arrays),
            (aux_params, self.aux_names, self.aux_arrays),
        ):
            for name, block in zip(names_of, blocks):
                if len(block) == 1:
                    block[0].copyto(table[name])
                else:
                    total = sum(
                        (each.as_in_context(cpu()) for each in block[1:]),
                        block[0].as_in_context(cpu()),
                    )
                    table[name][:] = total / len(block)

    def get_output_shapes(self):
        """Return pairs (output name, shape for the whole batch)."""
        shapes = [list(output.shape) for output in self.execs[0].outputs]
        if len(self.execs) > 1:
            for k, (shape, axis) in enumerate(zip(shapes, self._concat_axes())):
                shape[axis] = sum(executor.outputs[k].shape[axis] for executor in self.execs)
        return list(zip(self.output_names, map(tuple, shapes)))

    def install_monitor(self, mon):
        """Install a Monitor on all executors, including those for other shapes."""
        self._monitor = mon
        self._bound_shapes.keep_only(self._shapes_key(self.data_shapes, self.label_shapes))
        self._monitor_executors(self.execs)

    def _monitor_executors(self, execs):
        for executor in execs:
            self._monitor.install(executor)


def _copy_input(name, source, target):
    if source.shape != target.shape:
        raise ShapeError(
            f"input '{name}': the batch has shape {source.shape}, bound was {target.shape}"
        )
    if isinstance(source, nd.NDArray):
        source.copyto(target)
    else:
        target[:] = source
