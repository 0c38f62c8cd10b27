"""The custom operator of SyncBatchNorm, for eager calls and graphs."""

from __future__ import annotations

from collections import Counter
from itertools import count

import numpy as np

from .... import ndarray as nd
from ....base.dtype import is_narrow
from ....distributed import is_joined, world
from ....operator.custom.custom import CustomOp, CustomOpProp, register

OPERATOR_NAME = "_sync_batch_norm"  # name of the registered custom operator
_layer_counts = Counter()  # layer name -> number of layers with this name
_forward_counters = {}  # unique layer name -> counter of forward passes


def unique_layer_name(name):
    """Return a unique name of a layer, equal on all ranks."""
    _layer_counts[name] += 1
    return name if _layer_counts[name] == 1 else f"{name} ({_layer_counts[name]})"


class _SyncBatchNorm(CustomOp):
    """BatchNorm operator with statistics over the examples of all ranks.

    Threads of the engine run it in any order, so each sum says which call of which layer it belongs
    to. A layer's calls have one order, for all of them write its moving means.
    """

    def __init__(self, key, eps, momentum, fix_gamma):
        self._key, self._eps, self._momentum, self._fix_gamma = key, eps, momentum, fix_gamma

    def _sums_over_ranks(self, what, call, *values):
        """Sum each array over all ranks."""
        flat = np.concatenate([each.astype(np.float64).ravel() for each in values])
        if is_joined():
            flat = world().allreduce(flat, f"{what} of '{self._key}', call {call}", in_order=False)
        return np.split(flat, np.cumsum([each.size for each in values])[:-1])

    def forward(self, is_train, req, in_data, out_data, aux):
        data, gamma, beta = in_data
        dtype = np.dtype(gamma.dtype)
        x = data.astype(dtype, copy=False)
        axes, form = _axes_but_channels(x)
        call, total = -1, 0  # a call without training
        if is_train:
            call = next(_forward_counters.setdefault(self._key, count()))
            number = np.array([x.size / x.shape[1]])  # ranks' batch sizes may differ
            mean, (total,) = self._sums_over_ranks("mean", call, x.sum(axis=axes).asnumpy(), number)
            mean = (mean / total).astype(dtype)
            centred = x - nd.array(mean, dtype=dtype).reshape(form)
            (var,) = self._sums_over_ranks("variance", call, (centred**2).sum(axis=axes).asnumpy())
            var = (var / total).astype(dtype)
        else:
            mean, var = (each.asnumpy().astype(dtype) for each in aux)
            centred = x - nd.array(mean, dtype=dtype).reshape(form)
        inverse = nd.array(1 / np.sqrt(var + self._eps), dtype=dtype)
        scale = inverse if self._fix_gamma else inverse * gamma
        self.assign(out_data[0], req[0], centred * scale.reshape(form) + beta.reshape(form))
        self.assign(out_data[1], req[1], mean)
        self.assign(out_data[2], req[2], var)
        self.assign(out_data[3], req[3], np.array([call, total]))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        data, gamma, _ = in_data
        _, mean, var, numbers = out_data
        dtype = np.dtype(gamma.dtype)
        inverse = nd.rsqrt(var + self._eps)
        x, head = (each.astype(dtype, copy=False) for each in (data, out_grad[0]))
        axes, form = _axes_but_channels(x)
        normal = (x - mean.reshape(form)) * inverse.reshape(form)
        of_beta, of_gamma = head.sum(axis=axes), (head * normal).sum(axis=axes)
        call, total = numbers.asnumpy()
        if call >= 0:
            sums = self._sums_over_ranks(
                "gradient", int(call), of_beta.asnumpy(), of_gamma.asnumpy()
            )
            first, second = (nd.array(each / total, dtype=dtype).reshape(form) for each in sums)
            head = head - first - normal * second
            for moving, new in zip(aux, (mean, var)):  # updated in backward, as in BatchNorm
                moving[:] = moving * self._momentum + new * (1 - self._momentum)
        scale = inverse if self._fix_gamma else inverse * gamma
        self.assign(in_grad[0], req[0], (head * scale.reshape(form)).astype(data.dtype, copy=False))
        self.assign(in_grad[1], req[1], of_gamma * 0 if self._fix_gamma else of_gamma)
        self.assign(in_grad[2], req[2], of_beta)


def _axes_but_channels(x):
    """Return all axes but the channels', and the broadcast shape of per-channel arrays."""
    return tuple(i for i in range(x.ndim) if i != 1), (1, -1, *[1] * (x.ndim - 2))


@register(OPERATOR_NAME)
class _SyncBatchNormProp(CustomOpProp):
    """Declares the operator; its parameters are strings."""

    def __init__(self, key="", eps="1e-5", momentum="0.9", fix_gamma="False"):
        super().__init__()
        self._settings = key, float(eps), float(momentum), fix_gamma == "True"

    def list_arguments(self):
        return ["data", "gamma", "beta"]

    def list_outputs(self):
        return ["output", "mean", "var", "numbers"]

    def list_auxiliary_states(self):
        return ["moving_mean", "moving_var"]

    def infer_shape(self, in_shape):
        channels = [in_shape[0][1]]
        inputs = [in_shape[0], channels, channels]
        return inputs, [in_shape[0], channels, channels, [2]], [channels, channels]

    def infer_type(self, in_type):
        own = np.float32 if is_narrow(in_type[0]) else in_type[0]
        return [in_type[0], own, own], [in_type[0], own, own, np.float64], [own, own]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data[:2], *out_data[1:]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _SyncBatchNorm(*self._settings)
