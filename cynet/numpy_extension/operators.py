"""Layers and other operators of networks, on arrays of mx.np: those of mx.nd, with MXNet's names
and parameters."""

import numpy as onp

from ..numpy._call import array_of, ops
from ..numpy.shapes import broadcast_to, reshaped


def _arrays(*given):
    return [array_of(each, "npx") for each in given if each is not None]


def _floats(x, where):
    x = array_of(x, where)
    return x.astype("float32") if onp.dtype(x.dtype).kind in "biu" else x


def softmax(data, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
    """Exponentials that add up to 1 along an axis."""
    data, more = _floats(data, "npx.softmax"), {} if temperature is None else {
        "temperature": temperature}  # fmt: skip
    if use_length:
        return ops.softmax(data, *_arrays(length), axis=axis, use_length=True, **more)
    out = ops.softmax(data, axis=axis, **more)
    return out if dtype is None else out.astype(dtype)


def log_softmax(data, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
    """The logarithm of `softmax`."""
    more = {} if temperature is None else {"temperature": temperature}
    out = ops.log_softmax(_floats(data, "npx.log_softmax"), axis=axis, **more)
    return out if dtype is None else out.astype(dtype)


def masked_softmax(data, mask, axis=-1, temperature=1.0, normalize=True):
    """`softmax` of the elements whose mask is not 0; 0 for the others."""
    from ..numpy import where

    data = _floats(data, "npx.masked_softmax")
    mask = array_of(mask, "npx.masked_softmax").astype("bool")
    return where(mask, softmax(where(mask, data / temperature, -1e30), axis), 0.0)


def masked_log_softmax(data, mask, axis=-1, temperature=1.0, normalize=True):
    """The logarithm of `masked_softmax`; minus infinity for the others."""
    from ..numpy import where

    data = _floats(data, "npx.masked_log_softmax")
    mask = array_of(mask, "npx.masked_log_softmax").astype("bool")
    return where(mask, log_softmax(where(mask, data / temperature, -1e30), axis), -onp.inf)


def activation(data, act_type="relu", **kwargs):
    """An activation by name: 'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'."""
    return ops.Activation(*_arrays(data), act_type=act_type)


def leaky_relu(data, gamma=None, act_type="leaky", slope=0.25, **kwargs):
    """Rectified linear with a slope below 0, and its kin."""
    return ops.LeakyReLU(*_arrays(data, gamma), act_type=act_type, slope=slope, **kwargs)


def fully_connected(x, weight, bias=None, num_hidden=None, no_bias=True, flatten=True, **kwargs):
    """``x`` times the transpose of a weight, and a bias."""
    weight = array_of(weight, "npx.fully_connected")
    hidden = weight.shape[0] if num_hidden is None else num_hidden
    return ops.FullyConnected(
        *_arrays(x, weight, bias), num_hidden=hidden, no_bias=bias is None, flatten=flatten
    )


def convolution(data, weight, bias=None, no_bias=False, **kwargs):
    """A convolution; parameters as of ``mx.nd.Convolution``."""
    return ops.Convolution(*_arrays(data, weight, bias), no_bias=bias is None, **kwargs)


def deconvolution(data, weight, bias=None, no_bias=False, **kwargs):
    """A transposed convolution; parameters as of ``mx.nd.Deconvolution``."""
    return ops.Deconvolution(*_arrays(data, weight, bias), no_bias=bias is None, **kwargs)


def pooling(data, **kwargs):
    """Pooling; parameters as of ``mx.nd.Pooling``."""
    return ops.Pooling(*_arrays(data), **kwargs)


def batch_norm(x, gamma, beta, running_mean, running_var, **kwargs):
    """Batch normalization; parameters as of ``mx.nd.BatchNorm``."""
    return ops.BatchNorm(*_arrays(x, gamma, beta, running_mean, running_var), **kwargs)


def layer_norm(data, gamma, beta, axis=-1, eps=1e-5, output_mean_var=False):
    """Normalization along an axis, scaled and shifted."""
    return ops.LayerNorm(
        *_arrays(data, gamma, beta), axis=axis, eps=eps, output_mean_var=output_mean_var
    )


def group_norm(data, gamma, beta, num_groups=1, eps=1e-3, output_mean_var=False):
    """Normalization of groups of channels; `gamma` and `beta` scale and shift each channel, as in
    MXNet 2.0, or each group, as in 1.9.1: by how many numbers they hold."""
    data, gamma, beta = _arrays(data, gamma, beta)
    if gamma.shape == data.shape[1:2] != (num_groups,):
        ones = array_of(onp.ones(num_groups, gamma.dtype), "npx.group_norm")
        found = ops.GroupNorm(data, ones, ones * 0, num_groups=num_groups, eps=eps,
                              output_mean_var=output_mean_var)  # fmt: skip
        first, *rest = found if output_mean_var else (found,)
        wide = (1, -1, *(1,) * (data.ndim - 2))
        scaled = first * gamma.reshape(wide) + beta.reshape(wide)
        return [scaled, *rest] if output_mean_var else scaled
    return ops.GroupNorm(
        *_arrays(data, gamma, beta), num_groups=num_groups, eps=eps,
        output_mean_var=output_mean_var,
    )  # fmt: skip


def instance_norm(data, gamma, beta, eps=1e-3):
    """Normalization of each channel of each sample, scaled and shifted."""
    return ops.InstanceNorm(*_arrays(data, gamma, beta), eps=eps)


def l2_normalization(data, eps=1e-10, mode="instance"):
    """The data divided by their norm."""
    return ops.L2Normalization(*_arrays(data), eps=eps, mode=mode)


def dropout(data, p=0.5, mode="training", axes=(), **kwargs):
    """Zeros in place of a share of the elements, in training."""
    return ops.Dropout(*_arrays(data), p=p, mode=mode, axes=axes)


def embedding(data, weight, input_dim=None, output_dim=None, dtype="float32", sparse_grad=False):
    """The rows of a weight by number."""
    weight = array_of(weight, "npx.embedding")
    rows, width = weight.shape
    return ops.Embedding(
        *_arrays(data, weight), input_dim=rows if input_dim is None else input_dim,
        output_dim=width if output_dim is None else output_dim, dtype=dtype,
    )  # fmt: skip


def rnn(data=None, parameters=None, state=None, state_cell=None, **kwargs):
    """A recurrent layer; parameters as of ``mx.nd.RNN``."""
    return ops.RNN(*_arrays(data, parameters, state, state_cell), **kwargs)


def one_hot(data, depth=None, on_value=1.0, off_value=0.0, dtype="float32"):
    """Rows of zeros with a one at each index."""
    return ops.one_hot(
        *_arrays(data), depth=depth, on_value=on_value, off_value=off_value, dtype=dtype
    )


def pick(data, index, axis=-1, mode="clip", keepdims=False):
    """One element of each row along an axis, by index."""
    return ops.pick(*_arrays(data, index), axis=axis, mode=mode, keepdims=keepdims)


def topk(data, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
    """The k largest elements along an axis, or their places."""
    return ops.topk(
        *_arrays(data), axis=axis, k=k, ret_typ=ret_typ, is_ascend=is_ascend, dtype=dtype
    )


def batch_dot(a, b, transpose_a=False, transpose_b=False, forward_stype="default"):
    """Products of the matrices of two stacks."""
    return ops.batch_dot(*_arrays(a, b), transpose_a=transpose_a, transpose_b=transpose_b)


def batch_flatten(x):
    """The axes behind the first as one."""
    return ops.Flatten(*_arrays(x))


def reshape_like(lhs, rhs, **kwargs):
    """An array with the shape of another."""
    return ops.reshape_like(*_arrays(lhs, rhs), **kwargs)


def broadcast_like(lhs, rhs, **kwargs):
    """An array repeated to the shape of another."""
    return ops.broadcast_like(*_arrays(lhs, rhs), **kwargs)


def slice(data, begin, end, step=None, **kwargs):
    """A part of an array by bounds of each axis."""
    return ops.slice(
        *_arrays(data), begin=begin, end=end, **({} if step is None else {"step": step})
    )


def arange_like(data, start=0.0, step=1.0, repeat=1, axis=None, **kwargs):
    """Evenly spaced numbers, as many as an axis is long."""
    more = {} if axis is None else {"axis": axis}
    return ops._contrib_arange_like(*_arrays(data), start=start, step=step, repeat=repeat, **more)


def sequence_mask(data, sequence_length=None, use_sequence_length=False, value=0.0, axis=0):
    """Sequences with a value behind their ends."""
    return ops.SequenceMask(
        *_arrays(data, sequence_length if use_sequence_length else None),
        use_sequence_length=use_sequence_length, value=value, axis=axis,
    )  # fmt: skip


def gather_nd(data, indices):
    """Elements by the coordinates in the first axis of `indices`."""
    return ops.gather_nd(*_arrays(data, indices))


def smooth_l1(data, scalar=1.0):
    """A square near 0 and a line beyond."""
    return ops.smooth_l1(*_arrays(data), scalar=scalar)


def stop_gradient(data):
    """The same values, which no gradient goes through."""
    return ops.BlockGrad(*_arrays(data))


def ctc_loss(data, label, data_lengths=None, label_lengths=None, **kwargs):
    """The connectionist temporal classification loss."""
    return ops.CTCLoss(*_arrays(data, label, data_lengths, label_lengths), **kwargs)


def roi_pooling(data, rois, pooled_size, spatial_scale):
    """Pooling of regions to one size."""
    return ops.ROIPooling(
        *_arrays(data, rois), pooled_size=pooled_size, spatial_scale=spatial_scale
    )


def multibox_prior(data, sizes=(1.0,), ratios=(1.0,), clip=False, steps=(-1.0, -1.0),
                   offsets=(0.5, 0.5)):  # fmt: skip
    """Anchor boxes around each pixel."""
    return ops._contrib_MultiBoxPrior(
        *_arrays(data), sizes=sizes, ratios=ratios, clip=clip, steps=steps, offsets=offsets
    )


def multibox_target(anchor, label, cls_pred, **kwargs):
    """What a detector of anchor boxes is to predict."""
    return ops._contrib_MultiBoxTarget(*_arrays(anchor, label, cls_pred), **kwargs)


def multibox_detection(cls_prob, loc_pred, anchor, **kwargs):
    """Boxes from the predictions of a detector."""
    return ops._contrib_MultiBoxDetection(*_arrays(cls_prob, loc_pred, anchor), **kwargs)


def cast(data, dtype):
    """The elements as another dtype."""
    return array_of(data, "npx.cast").astype(dtype)


def shape_array(data):
    """The shape of an array as an array of int64."""
    shape = array_of(data, "npx.shape_array").shape
    return array_of(onp.asarray(shape, "int64"), "npx.shape_array")


def nonzero(a):
    """The places of elements that are not 0, as rows of int64."""
    from ..numpy import argwhere

    return argwhere(a)


def index_update(a, ind, val):
    """A copy of an array with other values at places."""
    a, ind = array_of(a, "npx.index_update").copy(), array_of(ind, "npx.index_update")
    a[tuple(ind[i] for i in range(ind.shape[0]))] = val
    return a


def index_add(a, ind, val):
    """A copy of an array with values added at places, as often as they are named."""
    a, ind = array_of(a, "npx.index_add"), array_of(ind, "npx.index_add")
    val = array_of(val, "npx.index_add", a.dtype).astype(a.dtype)
    full = (*ind.shape[1:], *a.shape[ind.shape[0] :])
    val = val if val.shape == full else broadcast_to(val, full)
    added = ops._backward_gather_nd(val, ind, shape=a.shape)
    return a + added


def constraint_check(input, msg="Constraint violated!"):
    """True where all elements are; else an error with the message."""
    from ..base.errors import ArgumentError

    if not array_of(input, "npx.constraint_check").all():
        raise ArgumentError(msg)
    return array_of(True, "npx.constraint_check")


def reshape(a, newshape, reverse=False, order="C"):
    """Another shape; -2 keeps an axis, -1 is inferred, -5 joins two, -6 splits one in two."""
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
    return reshaped(a, tuple(a.size // known if n == -1 else n for n in out))


__all__ = [name for name in dir() if not name.startswith("_") and name not in (
    "array_of", "broadcast_to", "ops", "reshaped", "onp")]  # fmt: skip
