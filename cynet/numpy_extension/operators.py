"""Layers and other operators of networks, on arrays of mx.np: mx.nd's operators with MXNet's names
and parameters."""

import functools

import numpy as onp

from ..base.errors import ArgumentTypeError, shown
from ..context import read_context
from ..numpy._call import array_of, fill_out, ops, refuse_order, with_aliases
from ..numpy.shapes import broadcast_to, reshape_view


def _to_np_arrays(*given):
    return [array_of(each, "npx") for each in given if each is not None]


def _as_float_array(x, where):
    x = array_of(x, where)
    return x.astype("float32") if onp.dtype(x.dtype).kind in "biu" else x


def _accept_old_keywords(**words):
    """A decorator: the function also accepts MXNet 1.9's argument names, `out` and `name`."""

    def decorate(function):
        named = with_aliases(**words)(function)

        @functools.wraps(function)
        def run(*args, out=None, name=None, **kwargs):
            result = named(*args, **kwargs)
            if out is None:
                return result
            if isinstance(result, (list, tuple)):
                return [fill_out(each, to) for each, to in zip(result, out, strict=True)]
            return fill_out(result, out)

        run.aliases = words
        return run

    return decorate


def _order_axis_and_length(axis, length):
    """`axis` and `length` of a softmax; MXNet 1.9 has `length` as the second positional argument
    instead of `axis`."""
    return (-1, axis) if hasattr(axis, "shape") else (axis, length)


@_accept_old_keywords()
def softmax(data, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
    """Exponentials that add up to 1 along an axis; with `use_length` only over the first `length`
    elements."""
    return _call_softmax(ops.softmax, data, axis, length, temperature, use_length, dtype)


def _call_softmax(run, data, axis, length, temperature, use_length, dtype):
    axis, length = _order_axis_and_length(axis, length)
    more = {} if temperature is None else {"temperature": temperature}
    if use_length:
        more["use_length"] = True
    lengths = _to_np_arrays(length) if use_length else ()
    data = _as_float_array(data, "npx.softmax")
    if data.ndim == 0 and not lengths:  # an array without axes counts as one element
        out = reshape_view(run(reshape_view(data, (1,)), axis=axis, **more), ())
    else:
        out = run(data, *lengths, axis=axis, **more)
    return out if dtype is None else out.astype(dtype)


@_accept_old_keywords()
def log_softmax(data, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
    """The logarithm of `softmax`."""
    return _call_softmax(ops.log_softmax, data, axis, length, temperature, use_length, dtype)


@_accept_old_keywords()
def masked_softmax(data, mask, axis=-1, temperature=1.0, normalize=True):
    """`softmax` of the elements whose mask is not 0; 0 for the others."""
    from ..numpy import where

    data = _as_float_array(data, "npx.masked_softmax")
    mask = array_of(mask, "npx.masked_softmax").astype("bool")
    return where(mask, softmax(where(mask, data / temperature, -1e30), axis), 0.0)


@_accept_old_keywords()
def masked_log_softmax(data, mask, axis=-1, temperature=1.0, normalize=True):
    """The logarithm of `masked_softmax`; minus infinity for the others."""
    from ..numpy import where

    data = _as_float_array(data, "npx.masked_log_softmax")
    mask = array_of(mask, "npx.masked_log_softmax").astype("bool")
    return where(mask, log_softmax(where(mask, data / temperature, -1e30), axis), -onp.inf)


@_accept_old_keywords()
def activation(data, act_type="relu"):
    """An activation by name: 'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'."""
    return ops.Activation(*_to_np_arrays(data), act_type=act_type)


@_accept_old_keywords()
def leaky_relu(data, gamma=None, act_type="leaky", slope=0.25, **kwargs):
    """A rectifier by `act_type`: leaky, PReLU, RReLU, ELU, SELU or GELU."""
    return ops.LeakyReLU(*_to_np_arrays(data, gamma), act_type=act_type, slope=slope, **kwargs)


@_accept_old_keywords(data="x")
def fully_connected(x, weight, bias=None, num_hidden=None, no_bias=True, flatten=True):
    """``x`` times the transpose of a weight, and a bias."""
    weight = array_of(weight, "npx.fully_connected")
    hidden = weight.shape[0] if num_hidden is None else num_hidden
    return ops.FullyConnected(
        *_to_np_arrays(x, weight, bias), num_hidden=hidden, no_bias=bias is None, flatten=flatten
    )


@_accept_old_keywords()
def convolution(data, weight, bias=None, no_bias=False, **kwargs):
    """A convolution; parameters as of ``mx.nd.Convolution``."""
    return ops.Convolution(*_to_np_arrays(data, weight, bias), no_bias=bias is None, **kwargs)


@_accept_old_keywords()
def deconvolution(data, weight, bias=None, no_bias=False, **kwargs):
    """A transposed convolution; parameters as of ``mx.nd.Deconvolution``."""
    return ops.Deconvolution(*_to_np_arrays(data, weight, bias), no_bias=bias is None, **kwargs)


@_accept_old_keywords()
def pooling(data, **kwargs):
    """Pooling; parameters as of ``mx.nd.Pooling``."""
    return ops.Pooling(*_to_np_arrays(data), **kwargs)


@_accept_old_keywords(data="x", moving_mean="running_mean", moving_var="running_var")
def batch_norm(x, gamma, beta, running_mean, running_var, **kwargs):
    """Batch normalization; parameters as of ``mx.nd.BatchNorm``."""
    return ops.BatchNorm(*_to_np_arrays(x, gamma, beta, running_mean, running_var), **kwargs)


@_accept_old_keywords()
def layer_norm(data, gamma, beta, axis=-1, eps=1e-5, output_mean_var=False):
    """Normalization along an axis, scaled and shifted."""
    return ops.LayerNorm(
        *_to_np_arrays(data, gamma, beta), axis=axis, eps=eps, output_mean_var=output_mean_var
    )


@_accept_old_keywords()
def group_norm(data, gamma, beta, num_groups=1, eps=1e-3, output_mean_var=False):
    """Normalization of groups of channels; `gamma` and `beta` scale and shift each channel, as in
    MXNet 2.0, or each group, as in 1.9.1: by how many numbers they hold."""
    data, gamma, beta = _to_np_arrays(data, gamma, beta)
    if gamma.shape == data.shape[1:2] != (num_groups,):
        ones = array_of(onp.ones(num_groups, gamma.dtype), "npx.group_norm")
        found = ops.GroupNorm(
            data, ones, ones * 0, num_groups=num_groups, eps=eps, output_mean_var=output_mean_var
        )
        first, *rest = found if output_mean_var else (found,)
        wide = (1, -1, *(1,) * (data.ndim - 2))
        scaled = first * gamma.reshape(wide) + beta.reshape(wide)
        return [scaled, *rest] if output_mean_var else scaled
    return ops.GroupNorm(
        *_to_np_arrays(data, gamma, beta),
        num_groups=num_groups,
        eps=eps,
        output_mean_var=output_mean_var,
    )


@_accept_old_keywords()
def instance_norm(data, gamma, beta, eps=1e-3):
    """Normalization of each channel of each sample, scaled and shifted."""
    return ops.InstanceNorm(*_to_np_arrays(data, gamma, beta), eps=eps)


@_accept_old_keywords()
def l2_normalization(data, eps=1e-10, mode="instance"):
    """The data divided by their norm."""
    return ops.L2Normalization(*_to_np_arrays(data), eps=eps, mode=mode)


@_accept_old_keywords()
def dropout(data, p=0.5, mode="training", axes=(), cudnn_off=False):
    """Zeros in place of a share of the elements, in training."""
    return ops.Dropout(*_to_np_arrays(data), p=p, mode=mode, axes=axes, cudnn_off=cudnn_off)


@_accept_old_keywords()
def embedding(data, weight, input_dim=None, output_dim=None, dtype="float32", sparse_grad=False):
    """The rows of `weight` at the indices in `data`."""
    weight = array_of(weight, "npx.embedding")
    rows, width = weight.shape
    return ops.Embedding(
        *_to_np_arrays(data, weight),
        input_dim=rows if input_dim is None else input_dim,
        output_dim=width if output_dim is None else output_dim,
        dtype=dtype,
    )


@_accept_old_keywords()
def rnn(data=None, parameters=None, state=None, state_cell=None, sequence_length=None, **kwargs):
    """A recurrent layer; parameters as of ``mx.nd.RNN``."""
    given = _to_np_arrays(data, parameters, state, state_cell, sequence_length)
    return ops.RNN(*given, **kwargs)


@_accept_old_keywords(indices="data")
def one_hot(data, depth=None, on_value=1.0, off_value=0.0, dtype="float32"):
    """Rows of zeros with a 1 at each index."""
    return ops.one_hot(
        *_to_np_arrays(data), depth=depth, on_value=on_value, off_value=off_value, dtype=dtype
    )


@_accept_old_keywords()
def pick(data, index, axis=-1, mode="clip", keepdims=False):
    """One element of each row along an axis, by index."""
    return ops.pick(*_to_np_arrays(data, index), axis=axis, mode=mode, keepdims=keepdims)


@_accept_old_keywords()
def topk(data, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
    """The k largest elements along an axis, or their indices."""
    return ops.topk(
        *_to_np_arrays(data), axis=axis, k=k, ret_typ=ret_typ, is_ascend=is_ascend, dtype=dtype
    )


@_accept_old_keywords(lhs="a", rhs="b")
def batch_dot(a, b, transpose_a=False, transpose_b=False, forward_stype="default"):
    """Products of the matrices of two stacks."""
    return ops.batch_dot(*_to_np_arrays(a, b), transpose_a=transpose_a, transpose_b=transpose_b)


@_accept_old_keywords(data="x")
def batch_flatten(x):
    """The array with all axes after the first flattened into one."""
    return ops.Flatten(*_to_np_arrays(x))


@_accept_old_keywords()
def reshape_like(lhs, rhs, **kwargs):
    """An array with the shape of another."""
    return ops.reshape_like(*_to_np_arrays(lhs, rhs), **kwargs)


@_accept_old_keywords()
def broadcast_like(lhs, rhs, **kwargs):
    """An array repeated to the shape of another."""
    return ops.broadcast_like(*_to_np_arrays(lhs, rhs), **kwargs)


@_accept_old_keywords()
def slice(data, begin, end, step=None):
    """A part of an array by bounds of each axis."""
    return ops.slice(
        *_to_np_arrays(data), begin=begin, end=end, **({} if step is None else {"step": step})
    )


@_accept_old_keywords()
def arange_like(data, start=0.0, step=1.0, repeat=1, axis=None, ctx=None):
    """Evenly spaced numbers, as many as an axis is long."""
    if ctx is not None and read_context(ctx) != data.context:
        raise ArgumentTypeError(
            f"mx.npx.arange_like: ctx is that of data, {data.context}, got {shown(ctx)}"
        )
    more = {} if axis is None else {"axis": axis}
    return ops._contrib_arange_like(
        *_to_np_arrays(data), start=start, step=step, repeat=repeat, **more
    )


@_accept_old_keywords()
def sequence_mask(data, sequence_length=None, use_sequence_length=False, value=0.0, axis=0):
    """Sequences whose elements after the end of each are `value`."""
    return ops.SequenceMask(
        *_to_np_arrays(data, sequence_length if use_sequence_length else None),
        use_sequence_length=use_sequence_length,
        value=value,
        axis=axis,
    )


@_accept_old_keywords()
def gather_nd(data, indices):
    """Elements at the coordinates that lie along the first axis of `indices`."""
    return ops.gather_nd(*_to_np_arrays(data, indices))


@_accept_old_keywords()
def smooth_l1(data, scalar=1.0):
    """A loss that is quadratic near 0 and linear beyond."""
    return ops.smooth_l1(*_to_np_arrays(data), scalar=scalar)


@_accept_old_keywords()
def stop_gradient(data):
    """A copy of the data through which no gradient flows."""
    return ops.BlockGrad(*_to_np_arrays(data))


@_accept_old_keywords()
def ctc_loss(data, label, data_lengths=None, label_lengths=None, **kwargs):
    """The connectionist temporal classification loss."""
    return ops.CTCLoss(*_to_np_arrays(data, label, data_lengths, label_lengths), **kwargs)


@_accept_old_keywords()
def roi_pooling(data, rois, pooled_size, spatial_scale):
    """Pool regions of an image to one size."""
    return ops.ROIPooling(
        *_to_np_arrays(data, rois), pooled_size=pooled_size, spatial_scale=spatial_scale
    )


@_accept_old_keywords()
def multibox_prior(
    data, sizes=(1.0,), ratios=(1.0,), clip=False, steps=(-1.0, -1.0), offsets=(0.5, 0.5)
):
    """Anchor boxes around each pixel."""
    return ops._contrib_MultiBoxPrior(
        *_to_np_arrays(data), sizes=sizes, ratios=ratios, clip=clip, steps=steps, offsets=offsets
    )


@_accept_old_keywords()
def multibox_target(anchor, label, cls_pred, **kwargs):
    """The targets of a detector of anchor boxes."""
    return ops._contrib_MultiBoxTarget(*_to_np_arrays(anchor, label, cls_pred), **kwargs)


@_accept_old_keywords()
def multibox_detection(cls_prob, loc_pred, anchor, **kwargs):
    """Boxes from the predictions of a detector."""
    return ops._contrib_MultiBoxDetection(*_to_np_arrays(cls_prob, loc_pred, anchor), **kwargs)


@_accept_old_keywords()
def cast(data, dtype):
    """The elements as another dtype."""
    return array_of(data, "npx.cast").astype(dtype)


@_accept_old_keywords()
def shape_array(data):
    """The shape of an array as an array of int64."""
    shape = array_of(data, "npx.shape_array").shape
    return array_of(onp.asarray(shape, "int64"), "npx.shape_array")


@_accept_old_keywords()
def nonzero(a):
    """The indices of elements that are not 0, an int64 row for each element."""
    from ..numpy import argwhere

    return argwhere(a)


def _broadcast_values(a, ind, val, where):
    """The array, the indices, and the values broadcast to the selected elements."""
    a, ind = array_of(a, where), array_of(ind, where)
    val = array_of(val, where, a.dtype).astype(a.dtype)
    full = (*ind.shape[1:], *a.shape[ind.shape[0] :])
    return a, ind, val if val.shape == full else broadcast_to(val, full)


def index_update(a, ind, val):
    """A copy of an array with other values at unique indices."""
    from ..numpy import where

    a, ind, val = _broadcast_values(a, ind, val, "npx.index_update")
    ones = ops.BlockGrad(ops.ones_like(val))
    named = ops._backward_gather_nd(ones, ind, shape=a.shape) > 0
    return where(named, ops.scatter_nd(val, ind, shape=a.shape), a)


def index_add(a, ind, val):
    """A copy of an array with values added at indices, repeated indices several times."""
    a, ind, val = _broadcast_values(a, ind, val, "npx.index_add")
    return a + ops._backward_gather_nd(val, ind, shape=a.shape)


def cond(pred, then_func, else_func, inputs=None, name="cond"):
    """Call one of two functions: with `inputs`, which `pred` gets, too, if it is a function, as in
    MXNet 2.0; without arguments if there are none, as in ``mx.nd.contrib.cond``."""
    from ..ndarray import control_flow

    if inputs is None:
        return control_flow.cond(pred, then_func, else_func)
    given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    chosen = pred(*given) if callable(pred) else pred
    return control_flow.cond(chosen, lambda: then_func(*given), lambda: else_func(*given))


@_accept_old_keywords(x="input")
def constraint_check(input, msg="Constraint violated!"):
    """Return True if all elements are true; else raise an error with the text `msg`."""
    from ..base.errors import ArgumentError

    if not array_of(input, "npx.constraint_check").all():
        raise ArgumentError(msg)
    return array_of(True, "npx.constraint_check")


def reshape(a, newshape, reverse=False, order="C"):
    """Reshape: -2 keeps an axis, -1 is inferred, -5 joins two, -6 splits one in two."""
    refuse_order(order, "mx.npx.reshape")
    a, out, axis = array_of(a, "npx.reshape"), [], 0
    codes = list(newshape) if isinstance(newshape, (tuple, list)) else [newshape]
    shape = list(a.shape)
    if reverse:
        shape, codes = shape[::-1], codes[::-1]
    i = 0
    while i < len(codes):
        code = codes[i]
        if code == -2:
            out.append(shape[axis])
            axis += 1
        elif code == -3:
            axis += 1
        elif code == -4:
            out.extend(shape[axis:])
            axis = len(shape)
        elif code == -5:
            out.append(shape[axis] * shape[axis + 1])
            axis += 2
        elif code == -6:
            first, second = codes[i + 1 : i + 3]
            first = shape[axis] // second if first == -1 else first
            second = shape[axis] // first if second == -1 else second
            out.extend((first, second))
            axis += 1
            i += 2
        else:
            out.append(code)
            axis += 1
        i += 1
    out = out[::-1] if reverse else out
    known = 1
    for n in out:
        known *= n if n != -1 else 1
    return reshape_view(a, tuple(a.size // known if n == -1 else n for n in out))


_NOT_PUBLIC = ["with_aliases", "array_of", "broadcast_to", "fill_out", "functools", "onp", "ops"]
_NOT_PUBLIC += ["reshape_view", "refuse_order", "read_context", "ArgumentTypeError", "shown"]
__all__ = [name for name in dir() if not name.startswith("_") and name not in _NOT_PUBLIC]
