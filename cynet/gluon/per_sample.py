"""Gradients of each sample of a batch, by one forward and one backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import autograd
from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, GradientError, shown
from ..base.guard import guarded
from ..ndarray import NDArray
from . import nn
from .block import Block
from .nn.conv_layers import _Conv
from .tracing import is_tracing

_ZERO_TOLERANCE = 1e-5  # relative to the largest gradient norm
# maximum relative error between the sum of gradients and the batch's gradient
_MAX_ERROR = 1e-3  # relative, of a sum of gradients


@guarded
def per_sample_gradients(
    net: Block, loss: Callable[..., NDArray], data: Any, *labels: Any
) -> dict[str, NDArray]:
    """Compute each sample's gradient, for all parameters that are trained.

    The network runs once, in training mode, and backward once. Layers of `gluon.nn` tell what each
    sample gave: Dense, convolutions (transposed ones, too), Embedding, LayerNorm, GroupNorm,
    InstanceNorm, RMSNorm, and BatchNorm by its running statistics. A layer may be called several
    times, and parameters may be shared. The gradients of parameters are those of the sum of the
    losses, as ``backward`` writes them.

    Parameters
    ----------
    net : Block
        Parameters that are trained belong to such layers; `freeze` others. Of the arrays that those
        are called with axis 0 is that of the samples.
    loss : callable
        ``loss(net(data), *labels)`` gives an array whose axis 0 is that of the samples, as the
        losses of `gluon.loss` do.
    data : NDArray, or list or tuple of NDArray
        What the network takes.
    *labels : NDArray
        What the loss takes beside the output.

    Returns
    -------
    dict of str to NDArray
        By structural name (``0.weight``): an array with an axis for the samples before the
        parameter's.

    Raises
    ------
    ArgumentError
        A parameter that is trained belongs to a layer of another kind, or to a BatchNorm that
        mixes the samples; or an axis 0 is not that of the samples.
    GradientError
        A parameter is used outside of its layer, so that a part of its gradient is not known.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> data, label = mx.nd.array([[1, 2], [3, 4], [5, 6]]), mx.nd.zeros((3, 1))
    >>> grads = mx.gluon.per_sample_gradients(net, lambda out, y: out - y, data, label)
    >>> grads["weight"].asnumpy().tolist()
    [[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]]
    >>> {name: grad.shape for name, grad in grads.items()}
    {'weight': (3, 1, 2), 'bias': (3, 1)}
    """
    if not isinstance(net, Block):
        raise ArgumentTypeError(f"per_sample_gradients takes a Block, got {shown(net)}")
    inputs = list(data) if isinstance(data, (list, tuple)) else [data]
    if not inputs or not all(isinstance(each, NDArray) for each in inputs):
        raise ArgumentTypeError(
            f"per_sample_gradients: data is an NDArray, or a list of them, got {shown(data)}"
        )
    calls, handles = [], []
    layers = _layers_of(net)
    try:
        for layer in layers:
            keeper = _CallRecorder(calls, inputs[0].shape[0])
            handles.append(layer.register_forward_hook(keeper.record_call))
            if getattr(layer, "act", None) is not None:
                handles.append(layer.act.register_forward_pre_hook(keeper.record_activation))
        with autograd.record():
            losses = loss(net(*inputs), *labels)
        _check_loss_shape(losses, inputs[0].shape[0])
        _check_layers(layers, net)  # after forward: shapes are known
        before = _gradients_before_call(net)
        losses.backward()
    finally:
        for handle in handles:
            handle.detach()
    return _gradients_by_name(net, calls, inputs[0], before)


class _LayerCall:  # a layer's input and the gradient of its output
    """One call of a layer, and the gradient of its output before the built-in activation."""

    def __init__(self, layer, data, output):
        self.layer, self.data, self.grad = layer, data.detach(), None
        output.register_hook(self.record_grad)

    def record_grad(self, grad):
        self.grad = grad


class _CallRecorder:  # records the calls of one layer
    """Records the calls of one layer."""

    def __init__(self, calls, count):
        self._calls, self._count, self._inner = calls, count, None

    def record_activation(self, act, inputs):
        """Record the array that the layer's activation is called with."""
        self._inner = inputs[0]

    def record_call(self, layer, inputs, output):
        """Record the input and output of a call of the layer."""
        output = output if self._inner is None else self._inner
        self._inner = None
        if is_tracing() or not autograd.is_recording() or not _trainable_parameters(layer):
            return
        data = inputs[0]
        if data.ndim == 0 or data.shape[0] != self._count:
            raise ArgumentError(
                f"per_sample_gradients: {layer.name} is called with an array of shape {data.shape},"
                f" and axis 0 is to be that of the {self._count} samples"
            )
        if _gradient_rule(layer) is not None:
            self._calls.append(_LayerCall(layer, data, output))


def _trainable_parameters(layer):
    return {name: p for name, p in layer._reg_params.items() if p.grad_req != "null"}


def _layers_of(net):
    """Return the Blocks that have parameters of their own, each once."""
    found = {}
    net.apply(lambda block: found.setdefault(id(block), block) if block._reg_params else None)
    return list(found.values())


def _check_layers(layers, net):
    for layer in layers:
        trained = _trainable_parameters(layer)
        if not trained:
            continue
        what = f"per_sample_gradients: {layer.name} ({type(layer).__name__})"
        if _gradient_rule(layer) is None or getattr(layer, "_weight_rule", None) is not None:
            raise ArgumentError(
                f"{what} is a layer that it does not know, and trains {', '.join(trained)}; freeze"
                " it, or compute the gradients of one sample at a time"
            )
        if isinstance(layer, nn.BatchNorm) and not layer._kwargs["use_global_stats"]:
            raise ArgumentError(
                f"{what} mixes the samples of a batch: none has a gradient of its own; take"
                " GroupNorm or LayerNorm, or use_global_stats=True"
            )


def _check_loss_shape(losses, count):
    if not isinstance(losses, NDArray):
        raise ArgumentTypeError(
            f"per_sample_gradients: the loss must be an NDArray, got {shown(losses)}"
        )
    if losses.ndim == 0 or losses.shape[0] != count:
        raise ArgumentError(
            f"per_sample_gradients: the loss has shape {losses.shape}, and axis 0 is to be that of"
            f" the {count} samples: it is not summed or averaged over them"
        )


def _to_dense(grad):
    return grad.tostype("default") if grad.stype != "default" else grad.as_nd_ndarray()


def _gradients_before_call(net):
    """Return the values of gradients of grad_req 'add' before the call, by parameter id."""
    params = net.collect_params().values()
    return {id(p): _to_dense(p.grad()).copy() for p in params if p.grad_req == "add" and p._data}


def _gradients_by_name(net, calls, data, before):
    found = {}
    for call in calls:
        if call.grad is None:  # the call's output does not contribute to the loss
            continue
        for param, grad in _gradients_of_call(call):
            old = found.get(id(param))
            found[id(param)] = grad if old is None else old + grad
    named, is_np = {}, data.as_nd_ndarray() is not data
    for name, param in net._collect_params_with_prefix().items():
        if param.grad_req == "null":
            continue
        if id(param) not in found:
            shape = data.shape[0], *param.shape
            found[id(param)] = nd.zeros(shape, ctx=data.context, dtype=param.dtype)
        own = found[id(param)]
        named[name] = own.as_np_ndarray() if is_np else own
    _check_gradient_sums(net, found, data.context, before)
    return named


def _check_gradient_sums(net, found, context, before):
    """Check that the per-sample gradients sum to the batch's gradient; if not, raise an error: the
    parameter has another use."""
    params = [each for each in net.collect_params().values() if id(each) in found]
    gaps, limit = [], None
    for each in params:
        own, whole = (
            found[id(each)].astype("float32", copy=False),
            _to_dense(each.grad(context)).astype("float32", copy=False),
        )
        if id(each) in before:
            whole = whole - before[id(each)].astype("float32", copy=False)
        sizes = nd.norm(own.reshape((own.shape[0], -1)), axis=1).sum()
        gap = nd.norm((own.sum(axis=0) - whole).reshape((-1,)))
        narrow = 30 if own.dtype != found[id(each)].dtype else 1
        gaps.append((gap - _MAX_ERROR * narrow * (sizes + nd.norm(whole.reshape((-1,))))) / narrow)
        limit = sizes if limit is None else nd.maximum(limit, sizes)
    # ignores values that are 0 up to rounding, such as a bias's before a softmax
    gaps = (nd.concat(*gaps, dim=0) - limit * _ZERO_TOLERANCE).asnumpy() if gaps else ()
    for each, gap in zip(params, gaps):
        if gap > 0:
            raise GradientError(
                f"per_sample_gradients: the gradients of the samples do not add up to that of the"
                f" batch for parameter '{each.name}': it is used outside of its layer, or a layer"
                " mixes the samples"
            )


def _gradients_of_call(call):
    """Yield pairs (Parameter, gradients of the samples) of one call."""
    with autograd.pause(train_mode=False):
        arrays = call.data.as_nd_ndarray(), call.grad.as_nd_ndarray()
        found = _gradient_rule(call.layer)(call.layer, *arrays)
    return [(each, found[name]) for name, each in _trainable_parameters(call.layer).items()]


def _gradient_rule(layer):
    return next((_GRAD_RULES[kind] for kind in type(layer).__mro__ if kind in _GRAD_RULES), None)


def _dense_layer_gradients(layer, x, grad):
    n, units = x.shape[0], grad.shape[-1]
    x = x.reshape((n, 1, -1) if layer._flatten else (n, -1, x.shape[-1]))
    grad = grad.reshape((n, -1, units))
    if x.shape[1] == 1:  # outer products are faster than a matrix product here
        weight = nd.broadcast_mul(grad.reshape((n, units, 1)), x)
    else:
        weight = nd.batch_dot(grad, x, transpose_a=True)
    return {"weight": weight, "bias": grad.sum(axis=1)}


def _conv_layer_gradients(layer, x, grad):
    """Compute gradients of a convolution's weight by im2col of its input, or of a transposed
    convolution's output."""
    settings, shape = layer._kwargs, layer.weight.shape
    is_last = settings["layout"][-1] == "C"
    if is_last:
        x, grad = nd.moveaxis(x, -1, 1), nd.moveaxis(grad, -1, 1)
        shape = (shape[0], shape[-1], *shape[1:-1])
    n, groups = x.shape[0], settings["num_group"]
    outer, inner = (x, grad) if layer._is_transposed else (grad, x)
    window = {name: settings[name] for name in ("kernel", "stride", "dilate", "pad")}
    columns = nd.im2col(inner, **window)
    columns = columns.reshape((n * groups, -1, columns.shape[2]))
    rows = outer.reshape((n * groups, outer.shape[1] // groups, -1))
    weight = nd.batch_dot(rows, columns, transpose_b=True).reshape((n, *shape))
    if is_last:
        weight = nd.moveaxis(weight, 2, -1)
    return {"weight": weight, "bias": grad.reshape((n, grad.shape[1], -1)).sum(axis=2)}


def _embedding_layer_gradients(layer, x, grad):
    """Compute gradients of an embedding's weight by one lookup in a table with a copy per
    sample."""
    n, (rows, size) = x.shape[0], layer.weight.shape
    first = nd.arange(n, dtype="int64", ctx=x.context).reshape((n, *[1] * (x.ndim - 1)))
    index = nd.broadcast_add(nd.clip(x.astype("int64"), 0, rows - 1), first * rows)
    tables = nd.zeros((n * rows, size), ctx=x.context, dtype=grad.dtype)
    tables.attach_grad()
    with autograd.record(train_mode=False):
        out = nd.Embedding(index, tables, input_dim=n * rows, output_dim=size)
    out.backward(grad)
    return {"weight": tables.grad.reshape((n, rows, size))}


def _norm_layer_gradients(layer, x, grad):
    params = layer._reg_params.items()
    values = {name: each.data(x.context).as_nd_ndarray() for name, each in params}
    values["gamma"] = nd.ones_like(values["gamma"])
    if "beta" in values:
        values["beta"] = nd.zeros_like(values["beta"])
    plain = layer.hybrid_forward(nd, x, **values)
    axis = -1 if isinstance(layer, nn.RMSNorm) else layer._kwargs.get("axis", 1)
    found = {}
    for name, terms in (("gamma", grad * plain), ("beta", grad)):
        terms = nd.moveaxis(terms, axis, 1)
        each = terms.reshape((x.shape[0], terms.shape[1], -1)).sum(axis=2)
        if isinstance(layer, nn.GroupNorm):  # GroupNorm has a mean for each group of channels
            each = each.reshape((x.shape[0], layer.gamma.shape[0], -1)).sum(axis=2)
        found[name] = each
    return found


_GRAD_RULES = {  # layer class -> function of its gradients
    nn.Dense: _dense_layer_gradients,
    _Conv: _conv_layer_gradients,
    nn.Embedding: _embedding_layer_gradients,
    nn.BatchNorm: _norm_layer_gradients,
    nn.BatchNormReLU: None,
    nn.GroupNorm: _norm_layer_gradients,
    nn.InstanceNorm: _norm_layer_gradients,
    nn.LayerNorm: _norm_layer_gradients,
    nn.RMSNorm: _norm_layer_gradients,
}
