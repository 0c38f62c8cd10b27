"""Fake quantization: rounds floats to values that integers can represent, with straight-through
gradients, and observes the range of activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import gluon
from ... import ndarray as nd
from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ...operator.custom.custom import CustomOp, CustomOpProp, register

__all__ = ["FakeQuantize"]

DATA_OPERATOR, WEIGHT_OPERATOR = "_fake_quantize", "_fake_quantize_weight"  # operators
OBSERVER_STATES = ("low", "high", "seen")  # `seen` is 1 once a range is known
_HALF_STEP = 0.5 + 1e-4  # in steps, with a margin for rounding errors of the division
_QUANTIZED_DTYPES = ("auto", "int8", "uint8")


def check_bits(what, bits):
    """Raise ArgumentError unless integers of this many bits are supported."""
    if isinstance(bits, bool) or not isinstance(bits, int) or not 2 <= bits <= 8:
        raise ArgumentError(f"{what} must be from 2 to 8, got {shown(bits)}")


def check_averaging_rate(averaging):
    """Raise ArgumentError unless `averaging` is a share above 0."""
    number = isinstance(averaging, (int, float)) and not isinstance(averaging, bool)
    if not number or not 0 < averaging <= 1:
        raise ArgumentError(f"averaging must be above 0 and at most 1, got {shown(averaging)}")


def quantization_grid(low, high, bits, dtype):
    """Return (step, lowest, highest integer) for a range, as in `quantize_v2` and int8 layers.

    >>> quantization_grid(-1.0, 2.0, 8, "auto") == (2 / 127.5, -128, 127)
    True
    >>> quantization_grid(0.0, 31.0, 4, "auto")
    (2.0, 0, 15)
    """
    reach = max(abs(low), abs(high)) or 1.0
    if dtype == "uint8" or (dtype == "auto" and low >= 0):
        return reach / (2**bits - 0.5), 0, 2**bits - 1
    return reach / (2 ** (bits - 1) - 0.5), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _quantize_dequantize(data, step, least, maximum):
    return nd.clip(nd.rint(data / step), least, maximum) * step


class _FakeQuantize(CustomOp):
    """Rounds data to a range; in training it updates the range first. The first batch sets it."""

    def __init__(self, bits, dtype, averaging):
        self._bits, self._dtype, self._averaging = bits, dtype, averaging

    def forward(self, is_train, req, in_data, out_data, aux):
        (data,) = in_data
        low, high, seen = (float(each.asnumpy()[0]) for each in aux)
        if is_train or not seen:
            found = float(data.min().asnumpy()[0]), float(data.max().asnumpy()[0])
            share = self._averaging if seen else 1.0
            moved = (old + share * (new - old) for old, new in zip((low, high), found))
            low, high = (float(np.float32(each)) for each in moved)  # rounded to float32, as stored
            if is_train:
                for each, value in zip(aux, (low, high, 1.0)):
                    each[:] = value
        step, least, maximum = quantization_grid(low, high, self._bits, self._dtype)
        self.assign(out_data[0], req[0], _quantize_dequantize(data, step, least, maximum))
        self.assign(out_data[1], req[1], np.array([step, least, maximum], np.float32))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        step, least, maximum = out_data[1].asnumpy().tolist()
        steps = in_data[0] / step  # a range ends half a step beyond the last integer
        inside = (steps >= least - _HALF_STEP) * (steps <= maximum + _HALF_STEP)
        self.assign(in_grad[0], req[0], out_grad[0] * inside)


class _FakeQuantizeBaseProp(CustomOpProp):
    """Base of the two operators' properties; parameters arrive as strings."""

    def list_outputs(self):
        return ["output", "grid"]

    def infer_type(self, in_type):
        single = np.float32
        return [single], [single, single], [single] * len(self.list_auxiliary_states())


@register(DATA_OPERATOR)
class _FakeQuantizeProp(_FakeQuantizeBaseProp):
    def __init__(self, bits="8", dtype="auto", averaging="0.01"):
        super().__init__()
        self._settings = int(bits), dtype, float(averaging)

    def list_arguments(self):
        return ["data"]

    def list_auxiliary_states(self):
        return list(OBSERVER_STATES)

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], [3]], [[1], [1], [1]]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], out_data[1]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _FakeQuantize(*self._settings)


class _FakeQuantizeWeight(CustomOp):
    """Round a weight, by the largest absolute value of each filter, or of all filters."""

    def __init__(self, levels, tensor_wise):
        self._levels, self._tensor_wise = levels, tensor_wise

    def forward(self, is_train, req, in_data, out_data, aux):
        (weight,) = in_data
        form = (weight.shape[0], *(1,) * (weight.ndim - 1))
        maximum = nd.abs(weight).reshape((weight.shape[0], -1)).max(axis=1)
        if self._tensor_wise:
            maximum = nd.broadcast_axis(maximum.max(), axis=0, size=weight.shape[0])
        step = nd.where(maximum > 0, maximum / self._levels, nd.ones_like(maximum))
        rounded = nd.rint(nd.broadcast_div(weight, step.reshape(form)))
        self.assign(out_data[0], req[0], nd.broadcast_mul(rounded, step.reshape(form)))
        self.assign(out_data[1], req[1], step)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


@register(WEIGHT_OPERATOR)
class _FakeQuantizeWeightProp(_FakeQuantizeBaseProp):
    def __init__(self, bits="8", tensor_wise="False"):
        super().__init__()
        self._settings = max_weight_level(int(bits)), tensor_wise == "True"

    def list_arguments(self):
        return ["weight"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], in_shape[0][:1]], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _FakeQuantizeWeight(*self._settings)


def max_weight_level(bits):
    """Return the largest integer of a quantized weight with `bits` bits.

    >>> max_weight_level(8), max_weight_level(4)
    (127, 7)
    """
    return 2 ** (bits - 1) - 1


class FakeQuantize(gluon.HybridBlock):
    """Rounds its input to the values that integers of `bits` bits can represent.

    Training moves its range, ``low`` and ``high``, a share of the way to the least and the largest
    value of each batch; the first batch sets it. The gradient goes straight through the rounding,
    and is 0 for what lies outside of the range. `prepare_qat` puts such steps into a network.

    Parameters
    ----------
    bits : int
        From 2 to 8.
    dtype : str
        ``'int8'`` for integers on both sides of 0, ``'uint8'`` from 0 on; ``'auto'`` is the second
        while no value is negative.
    averaging : float
        The share.
    **kwargs
        Arguments of :class:`mx.gluon.Block`: ``prefix`` and ``params``.

    Raises
    ------
    ArgumentError
        A setting is out of its range.

    Examples
    --------
    >>> block = mx.contrib.quantization.FakeQuantize(bits=2)
    >>> block.initialize()
    >>> x = mx.nd.array([0.1, 1.4, 3.5])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = block(x)
    >>> y.asnumpy().tolist(), block.high.data().asnumpy().tolist()
    ([0.0, 1.0, 3.0], [3.5])
    """

    def __init__(
        self, bits: int = 8, dtype: str = "auto", averaging: float = 0.01, **kwargs: Any
    ) -> None:
        check_bits("FakeQuantize: bits", bits)
        check_averaging_rate(averaging)
        if dtype not in _QUANTIZED_DTYPES:
            raise ArgumentTypeError(
                f"dtype is {shown(dtype)}, expected one of {', '.join(_QUANTIZED_DTYPES)}"
            )
        super().__init__(**kwargs)
        self._settings = {"bits": bits, "dtype": dtype, "averaging": averaging}
        fixed = {"shape": (1,), "init": "zeros", "grad_req": "null", "differentiable": False}
        with self.name_scope():
            self.low, self.high, self.seen = (self.params.get(n, **fixed) for n in OBSERVER_STATES)

    def hybrid_forward(self, F: Any, x: Any, low: Any, high: Any, seen: Any) -> Any:
        """The array, rounded."""
        return F.Custom(x, low, high, seen, op_type=DATA_OPERATOR, **self._settings)[0]
